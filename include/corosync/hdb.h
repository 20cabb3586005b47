/*
 * Handle database: numbers that stand for reference-counted objects.
 *
 * For programs that keep such a database of their own; the libraries do not
 * use it. Everything is inline, so that a program needs no further library.
 * The names are those of libqb's qb/qbhdb.h, which corosync 2 and 3 wrap: if a
 * program included that before, this header adds the corosync names to it;
 * else it takes its place, and a later include of it does nothing.
 *
 * A handle is an entry's index with a random check value above it. Functions
 * return 0 or minus an errno. A check value of all ones matches any entry.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef EVENSONG_HDB_H
#define EVENSONG_HDB_H

/* The header always asked for the extensions of the C library. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef QB_HDB_H_DEFINED
#define QB_HDB_H_DEFINED

typedef uint64_t qb_handle_t;

#define QB_HDB_D_FORMAT "%" PRIu64
#define QB_HDB_X_FORMAT "%" PRIx64

enum qb_hdb_entry_state { QB_HDB_EMPTY, QB_HDB_ENDING, QB_HDB_ACTIVE };

struct qb_hdb_handle {
	int32_t state;
	void *instance;
	int32_t check;
	int32_t ref_count;
};

struct qb_hdb {
	uint32_t handle_count;
	struct qb_hdb_handle *handles;
	uint32_t iterator;
	void (*destructor)(void *);
	pthread_mutex_t lock;
};

#define QB_HDB_DECLARE(database_name, destructor_function) \
	static struct qb_hdb database_name = { \
		0, NULL, 0, destructor_function, PTHREAD_MUTEX_INITIALIZER \
	};

static inline void qb_hdb_create(struct qb_hdb *hdb)
{
	memset(hdb, 0, sizeof(*hdb));
	pthread_mutex_init(&hdb->lock, NULL);
}

static inline void qb_hdb_destroy(struct qb_hdb *hdb)
{
	free(hdb->handles);
	pthread_mutex_destroy(&hdb->lock);
	memset(hdb, 0, sizeof(*hdb));
}

/* The entry of a handle in use, or NULL; called with the lock held. */
static inline struct qb_hdb_handle *qb_hdb_entry_of(struct qb_hdb *hdb, qb_handle_t handle)
{
	uint32_t index = (uint32_t)handle;
	uint32_t check = (uint32_t)(handle >> 32);
	struct qb_hdb_handle *entry;

	if (index >= hdb->handle_count) {
		return NULL;
	}
	entry = &hdb->handles[index];
	if (entry->state == QB_HDB_EMPTY) {
		return NULL;
	}
	return check == UINT32_MAX || check == (uint32_t)entry->check ? entry : NULL;
}

/* An empty entry, or NULL when there is no memory; called with the lock held. */
static inline struct qb_hdb_handle *qb_hdb_empty_entry(struct qb_hdb *hdb)
{
	struct qb_hdb_handle *grown;
	uint32_t index;

	for (index = 0; index < hdb->handle_count; index++) {
		if (hdb->handles[index].state == QB_HDB_EMPTY) {
			return &hdb->handles[index];
		}
	}
	grown = (struct qb_hdb_handle *)realloc(hdb->handles, (index + 1) * sizeof(*grown));
	if (grown == NULL) {
		return NULL;
	}
	memset(&grown[index], 0, sizeof(*grown));
	hdb->handles = grown;
	hdb->handle_count = index + 1;
	return &grown[index];
}

static inline int32_t qb_hdb_handle_create(struct qb_hdb *hdb, int32_t instance_size, qb_handle_t *handle_id_out)
{
	void *instance = calloc(1, instance_size > 0 ? (size_t)instance_size : 1);
	struct qb_hdb_handle *entry;

	if (instance == NULL) {
		return -ENOMEM;
	}
	pthread_mutex_lock(&hdb->lock);
	entry = qb_hdb_empty_entry(hdb);
	if (entry == NULL) {
		pthread_mutex_unlock(&hdb->lock);
		free(instance);
		return -ENOMEM;
	}
	do {
		entry->check = (int32_t)rand();
	} while (entry->check <= 0);
	entry->state = QB_HDB_ACTIVE;
	entry->instance = instance;
	entry->ref_count = 1;
	*handle_id_out = (uint64_t)(uint32_t)entry->check << 32 | (uint64_t)(entry - hdb->handles);
	pthread_mutex_unlock(&hdb->lock);
	return 0;
}

static inline int32_t qb_hdb_handle_get(struct qb_hdb *hdb, qb_handle_t handle_in, void **instance)
{
	struct qb_hdb_handle *entry;
	int32_t result = -EBADF;

	*instance = NULL;
	pthread_mutex_lock(&hdb->lock);
	entry = qb_hdb_entry_of(hdb, handle_in);
	if (entry != NULL && entry->state == QB_HDB_ACTIVE) {
		entry->ref_count++;
		*instance = entry->instance;
		result = 0;
	}
	pthread_mutex_unlock(&hdb->lock);
	return result;
}

static inline int32_t qb_hdb_handle_get_always(struct qb_hdb *hdb, qb_handle_t handle_in, void **instance)
{
	return qb_hdb_handle_get(hdb, handle_in, instance);
}

/* Gives a reference back, and ends the handle first if asked to. */
static inline int32_t qb_hdb_give_back(struct qb_hdb *hdb, qb_handle_t handle_in, int ending)
{
	struct qb_hdb_handle *entry;
	void *instance = NULL;

	pthread_mutex_lock(&hdb->lock);
	entry = qb_hdb_entry_of(hdb, handle_in);
	if (entry == NULL) {
		pthread_mutex_unlock(&hdb->lock);
		return -EBADF;
	}
	if (ending) {
		entry->state = QB_HDB_ENDING;
	}
	if (--entry->ref_count == 0) {
		instance = entry->instance;
		memset(entry, 0, sizeof(*entry));
	}
	pthread_mutex_unlock(&hdb->lock);
	if (instance != NULL) {
		if (hdb->destructor != NULL) {
			hdb->destructor(instance);
		}
		free(instance);
	}
	return 0;
}

static inline int32_t qb_hdb_handle_put(struct qb_hdb *hdb, qb_handle_t handle_in)
{
	return qb_hdb_give_back(hdb, handle_in, 0);
}

static inline int32_t qb_hdb_handle_destroy(struct qb_hdb *hdb, qb_handle_t handle_in)
{
	return qb_hdb_give_back(hdb, handle_in, 1);
}

static inline int32_t qb_hdb_handle_refcount_get(struct qb_hdb *hdb, qb_handle_t handle_in)
{
	struct qb_hdb_handle *entry;
	int32_t result;

	pthread_mutex_lock(&hdb->lock);
	entry = qb_hdb_entry_of(hdb, handle_in);
	result = entry != NULL ? entry->ref_count : -EBADF;
	pthread_mutex_unlock(&hdb->lock);
	return result;
}

static inline void qb_hdb_iterator_reset(struct qb_hdb *hdb)
{
	hdb->iterator = 0;
}

/* The next object in use, with a reference that the caller gives back; -1 at the end. */
static inline int32_t qb_hdb_iterator_next(struct qb_hdb *hdb, void **instance, qb_handle_t *handle)
{
	int32_t result = -1;

	pthread_mutex_lock(&hdb->lock);
	while (result != 0 && hdb->iterator < hdb->handle_count) {
		struct qb_hdb_handle *entry = &hdb->handles[hdb->iterator];

		*handle = (uint64_t)(uint32_t)entry->check << 32 | hdb->iterator;
		hdb->iterator++;
		*instance = NULL;
		result = -EBADF;
		if (entry->state == QB_HDB_ACTIVE) {
			entry->ref_count++;
			*instance = entry->instance;
			result = 0;
		}
	}
	pthread_mutex_unlock(&hdb->lock);
	return result;
}

static inline uint32_t qb_hdb_base_convert(qb_handle_t handle)
{
	return (uint32_t)handle;
}

static inline uint64_t qb_hdb_nocheck_convert(uint32_t handle)
{
	return (uint64_t)UINT32_MAX << 32 | handle;
}

#endif /* QB_HDB_H_DEFINED */

typedef qb_handle_t hdb_handle_t;

#define HDB_D_FORMAT QB_HDB_D_FORMAT
#define HDB_X_FORMAT QB_HDB_X_FORMAT

#define hdb_handle_database qb_hdb
#define DECLARE_HDB_DATABASE QB_HDB_DECLARE

static inline void hdb_database_lock(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
}

static inline void hdb_database_unlock(pthread_mutex_t *mutex)
{
	pthread_mutex_unlock(mutex);
}

static inline void hdb_database_lock_init(pthread_mutex_t *mutex)
{
	pthread_mutex_init(mutex, NULL);
}

static inline void hdb_database_lock_destroy(pthread_mutex_t *mutex)
{
	pthread_mutex_destroy(mutex);
}

static inline void hdb_create(struct hdb_handle_database *database)
{
	qb_hdb_create(database);
}

static inline void hdb_destroy(struct hdb_handle_database *database)
{
	qb_hdb_destroy(database);
}

static inline int hdb_handle_create(struct hdb_handle_database *database, int instance_size, hdb_handle_t *handle_out)
{
	return qb_hdb_handle_create(database, instance_size, handle_out);
}

static inline int hdb_handle_get(struct hdb_handle_database *database, hdb_handle_t handle, void **instance)
{
	return qb_hdb_handle_get(database, handle, instance);
}

static inline int hdb_handle_get_always(struct hdb_handle_database *database, hdb_handle_t handle, void **instance)
{
	return qb_hdb_handle_get_always(database, handle, instance);
}

static inline int hdb_handle_put(struct hdb_handle_database *database, hdb_handle_t handle)
{
	return qb_hdb_handle_put(database, handle);
}

static inline int hdb_handle_destroy(struct hdb_handle_database *database, hdb_handle_t handle)
{
	return qb_hdb_handle_destroy(database, handle);
}

static inline int hdb_handle_refcount_get(struct hdb_handle_database *database, hdb_handle_t handle)
{
	return qb_hdb_handle_refcount_get(database, handle);
}

static inline void hdb_iterator_reset(struct hdb_handle_database *database)
{
	qb_hdb_iterator_reset(database);
}

static inline int hdb_iterator_next(struct hdb_handle_database *database, void **instance, hdb_handle_t *handle)
{
	return qb_hdb_iterator_next(database, instance, handle);
}

static inline unsigned int hdb_base_convert(hdb_handle_t handle)
{
	return qb_hdb_base_convert(handle);
}

static inline unsigned long long hdb_nocheck_convert(unsigned int handle)
{
	return qb_hdb_nocheck_convert(handle);
}

#endif /* EVENSONG_HDB_H */
