/*
 * Groups of evs up to the limits: as many for a handle and for a message as a message of 1 MiB
 * carries; beyond, errors and nothing else.
 */
#include <corosync/evs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 1 MiB less the header of the original's request, 32 bytes a group */
#define BYTES_MAX (1024 * 1024 - 48)
#define GROUPS_MAX (BYTES_MAX / 32)

static struct evs_group groups[GROUPS_MAX + 2];
static char message[1024 * 1024];
static unsigned received;
static size_t last_len;

#define CHECK(condition)                                                                     \
	do {                                                                                  \
		if (!(condition)) {                                                           \
			fprintf(stderr, "line %d: %s\n", __LINE__, #condition);               \
			exit(1);                                                              \
		}                                                                             \
	} while (0)

static void deliver(hdb_handle_t handle, unsigned node, const void *msg, size_t len)
{
	(void)handle, (void)node, (void)msg;
	received++;
	last_len = len;
}

static evs_error_t send_groups(evs_handle_t handle, size_t count, size_t len)
{
	struct iovec iov = {message, len};

	return evs_mcast_groups(handle, EVS_TYPE_AGREED, groups, count, &iov, 1);
}

static evs_error_t send_joined(evs_handle_t handle, size_t len)
{
	struct iovec iov = {message, len};

	return evs_mcast_joined(handle, EVS_TYPE_AGREED, &iov, 1);
}

static void expect(evs_handle_t handle, size_t len)
{
	unsigned before = received;

	while (received == before)
		CHECK(evs_dispatch(handle, EVS_DISPATCH_ONE) == EVS_OK);
	CHECK(received == before + 1 && last_len == len);
}

int main(void)
{
	static evs_callbacks_t callbacks = {.evs_deliver_fn = deliver};
	evs_handle_t many, one;
	size_t i, step;

	alarm(60);
	for (i = 0; i < GROUPS_MAX + 2; i++)
		snprintf(groups[i].key, sizeof(groups[i].key), "group %zu", i);
	CHECK(evs_initialize(&many, &callbacks) == EVS_OK);
	CHECK(evs_initialize(&one, &callbacks) == EVS_OK);
	CHECK(evs_join(one, &groups[GROUPS_MAX - 1], 1) == EVS_OK);
	CHECK(evs_join(many, groups, 51) == EVS_ERR_TOO_MANY_GROUPS);
	for (i = 0; i < GROUPS_MAX; i += step) {
		step = GROUPS_MAX - i < 50 ? GROUPS_MAX - i : 50;
		CHECK(evs_join(many, &groups[i], step) == EVS_OK);
	}
	CHECK(evs_join(many, &groups[GROUPS_MAX], 1) == CS_ERR_NO_RESOURCES);

	CHECK(send_groups(one, GROUPS_MAX, BYTES_MAX - 32 * GROUPS_MAX) == EVS_OK);
	expect(one, BYTES_MAX - 32 * GROUPS_MAX);
	expect(many, BYTES_MAX - 32 * GROUPS_MAX);
	CHECK(send_groups(one, GROUPS_MAX, BYTES_MAX - 32 * GROUPS_MAX + 1) == EVS_ERR_INVALID_PARAM);
	CHECK(send_groups(one, GROUPS_MAX + 1, 0) == EVS_ERR_INVALID_PARAM);
	CHECK(send_groups(one, 1000, BYTES_MAX - 32000) == EVS_OK);
	expect(many, BYTES_MAX - 32000);
	CHECK(send_groups(one, 1000, BYTES_MAX - 32000 + 1) == EVS_ERR_INVALID_PARAM);

	CHECK(send_joined(many, BYTES_MAX - 32 * GROUPS_MAX + 1) == EVS_ERR_INVALID_PARAM);
	CHECK(send_joined(many, 7) == EVS_OK);
	expect(one, 7);
	expect(many, 7);

	CHECK(evs_leave(many, groups, GROUPS_MAX - 1) == EVS_OK);
	CHECK(send_joined(many, 900000) == EVS_OK);
	expect(one, 900000);
	expect(many, 900000);
	CHECK(evs_leave(many, &groups[GROUPS_MAX - 1], 2) == EVS_ERR_NOT_EXIST);
	CHECK(send_joined(one, 8) == EVS_OK);
	expect(one, 8);
	CHECK(evs_dispatch(many, 4) == EVS_ERR_TRY_AGAIN);
	CHECK(evs_finalize(many) == EVS_OK && evs_finalize(one) == EVS_OK);
	printf("%d groups: done\n", GROUPS_MAX);
	return 0;
}
