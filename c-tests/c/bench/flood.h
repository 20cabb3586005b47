/*
 * The classic flood, used by cpgbench and by each process of cpgmulti: one thread sends as fast as
 * it can, a second one dispatches for ever. It counts this process's own messages only, so that
 * others in the group do not matter.
 */
#ifndef FLOOD_H
#define FLOOD_H

#include "bench.h"
#include <corosync/cpg.h>
#include <pthread.h>
#include <stdatomic.h>

struct flood {
	cpg_handle_t handle;
	uint32_t node;
	uint32_t pid;
	atomic_int joined;
	/* own messages that came back */
	atomic_ullong delivered;
	/* the code with which dispatching ended, 0 while it goes on */
	atomic_int ended;
	atomic_int finishing;
};

/* cpgmulti lets it point to memory that its parent sees as well */
static struct flood flood_own, *flood = &flood_own;

static inline void flood_deliver(cpg_handle_t handle, const struct cpg_name *group, uint32_t node, uint32_t pid,
				 void *msg, size_t len)
{
	(void)handle, (void)group, (void)msg, (void)len;
	/* only this thread writes, so no locked addition is needed */
	if (pid == flood->pid && node == flood->node)
		atomic_store_explicit(&flood->delivered,
				      atomic_load_explicit(&flood->delivered, memory_order_relaxed) + 1,
				      memory_order_release);
}

static inline void flood_confchg(cpg_handle_t handle, const struct cpg_name *group, const struct cpg_address *members,
				 size_t member_count, const struct cpg_address *left, size_t left_count,
				 const struct cpg_address *joiners, size_t joiner_count)
{
	size_t i;

	(void)handle, (void)group, (void)members, (void)member_count, (void)left, (void)left_count;
	for (i = 0; i < joiner_count; i++)
		if (joiners[i].pid == flood->pid && joiners[i].nodeid == flood->node)
			atomic_store(&flood->joined, 1);
}

static inline void *flood_dispatch(void *unused)
{
	cs_error_t result = cpg_dispatch(flood->handle, CS_DISPATCH_BLOCKING);

	(void)unused;
	/* CS_OK also when the handle was finalized, which nobody waits for */
	if (!atomic_load(&flood->finishing))
		atomic_store(&flood->ended, result == CS_OK ? CS_ERR_LIBRARY : (int)result);
	return NULL;
}

static inline void flood_check(const struct bench_options *options)
{
	int ended = atomic_load_explicit(&flood->ended, memory_order_relaxed);

	if (ended != 0)
		bench_check(options, "cpg_dispatch", (cs_error_t)ended);
}

/* Connects, joins and waits until the join is delivered. */
static inline void flood_start(const struct bench_options *options, const char *group_name)
{
	static cpg_callbacks_t callbacks;
	struct cpg_name group;
	sigset_t all, before;
	pthread_t thread;
	cs_error_t result;
	double deadline;
	unsigned int node;

	callbacks.cpg_deliver_fn = flood_deliver;
	callbacks.cpg_confchg_fn = flood_confchg;
	/* the original refuses for a moment when many connect at once */
	deadline = bench_now() + BENCH_DRAIN_SECONDS;
	while ((result = cpg_initialize(&flood->handle, &callbacks)) == CS_ERR_TRY_AGAIN && bench_now() < deadline)
		bench_nap(10000);
	bench_check(options, "cpg_initialize", result);
	bench_check(options, "cpg_local_get", cpg_local_get(flood->handle, &node));
	flood->node = node;
	flood->pid = (uint32_t)getpid();
	memset(&group, 0, sizeof(group));
	group.length = (uint32_t)strlen(group_name);
	memcpy(group.value, group_name, group.length);

	/* the alarm is for the sender */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, flood_dispatch, NULL) != 0)
		bench_fail(options, "no second thread");
	pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);

	deadline = bench_now() + BENCH_DRAIN_SECONDS;
	while ((result = cpg_join(flood->handle, &group)) == CS_ERR_TRY_AGAIN && bench_now() < deadline)
		bench_nap(1000);
	bench_check(options, "cpg_join", result);
	while (!atomic_load(&flood->joined)) {
		flood_check(options);
		if (bench_now() > deadline)
			bench_fail(options, "the join was not delivered within %.0f s", BENCH_DRAIN_SECONDS);
		bench_nap(500);
	}
}

/* Sends until the time is over and waits for what is under way. */
static inline void flood_run(const struct bench_options *options, size_t size, char *data, double seconds,
			     struct bench_result *result)
{
	struct iovec iov;
	unsigned long long before = atomic_load(&flood->delivered), seen, now;
	cs_error_t code;
	double start, progress;

	memset(result, 0, sizeof(*result));
	result->size = size;
	iov.iov_base = data;
	iov.iov_len = size;
	bench_start_alarm(seconds);
	start = bench_now();
	do {
		code = cpg_mcast_joined(flood->handle, CPG_TYPE_AGREED, &iov, 1);
		if (code == CS_OK) {
			result->writes++;
		} else if (code == CS_ERR_TRY_AGAIN) {
			result->refused++;
			flood_check(options);
		} else {
			bench_check(options, "cpg_mcast_joined", code);
		}
	} while (!bench_time_over);
	result->in_time = atomic_load(&flood->delivered) - before;
	progress = bench_now();
	result->seconds = progress - start;
	/* the limit is for standing still: a slow daemon may have a long queue */
	for (seen = 0; (now = atomic_load(&flood->delivered) - before) < result->writes;) {
		flood_check(options);
		if (now != seen) {
			seen = now;
			progress = bench_now();
		} else if (bench_now() > progress + BENCH_DRAIN_SECONDS) {
			break;
		}
		bench_nap(200);
	}
	result->delivered = now;
}

static inline void flood_end(const struct bench_options *options)
{
	atomic_store(&flood->finishing, 1);
	bench_check(options, "cpg_finalize", cpg_finalize(flood->handle));
}

#endif
