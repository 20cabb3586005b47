/*
 * cpgbenchzc [-t SECONDS] [-s SIZE[,SIZE]...] [-S SERIES] [-j] - as cpgbench, with a zero-copy
 * buffer (cpg_zcb_alloc, cpg_zcb_mcast_joined) and one thread that sends and dispatches in turn.
 *
 * Without options: 1000 to 50000 bytes in steps of 1000, ten seconds each.
 */
#include "bench.h"
#include <corosync/cpg.h>
#include <poll.h>

static uint32_t own_node, own_pid;
static uint64_t delivered;
static int joined;

static void deliver(cpg_handle_t handle, const struct cpg_name *group, uint32_t node, uint32_t pid, void *msg,
		    size_t len)
{
	(void)handle, (void)group, (void)msg, (void)len;
	if (pid == own_pid && node == own_node)
		delivered++;
}

static void confchg(cpg_handle_t handle, const struct cpg_name *group, const struct cpg_address *members,
		    size_t member_count, const struct cpg_address *left, size_t left_count,
		    const struct cpg_address *joiners, size_t joiner_count)
{
	size_t i;

	(void)handle, (void)group, (void)members, (void)member_count, (void)left, (void)left_count;
	for (i = 0; i < joiner_count; i++)
		joined |= joiners[i].pid == own_pid && joiners[i].nodeid == own_node;
}

/* Waits for something to dispatch, at most a tenth of a second, and dispatches all. */
static void wait_and_dispatch(const struct bench_options *options, cpg_handle_t handle)
{
	struct pollfd entry;

	entry.events = POLLIN;
	bench_check(options, "cpg_fd_get", cpg_fd_get(handle, &entry.fd));
	poll(&entry, 1, 100);
	bench_check(options, "cpg_dispatch", cpg_dispatch(handle, CS_DISPATCH_ALL));
}

static void run(const struct bench_options *options, cpg_handle_t handle, size_t size, void *data,
		struct bench_result *result)
{
	cpg_flow_control_state_t held;
	cs_error_t code;
	double start;

	memset(result, 0, sizeof(*result));
	result->size = size;
	delivered = 0;
	bench_start_alarm(options->seconds);
	start = bench_now();
	do {
		bench_check(options, "cpg_flow_control_state_get", cpg_flow_control_state_get(handle, &held));
		if (held == CPG_FLOW_CONTROL_DISABLED) {
			code = cpg_zcb_mcast_joined(handle, CPG_TYPE_AGREED, data, size);
			if (code == CS_ERR_TRY_AGAIN)
				result->refused++;
			else if (code == CS_OK)
				result->writes++;
			else
				bench_check(options, "cpg_zcb_mcast_joined", code);
		}
		/* when told to try again as well: room may need this program to read */
		bench_check(options, "cpg_dispatch", cpg_dispatch(handle, CS_DISPATCH_ALL));
	} while (!bench_time_over);
	bench_drain(options, result, start, &delivered, wait_and_dispatch, handle);
}

int main(int argc, char **argv)
{
	static cpg_callbacks_t callbacks = {.cpg_deliver_fn = deliver, .cpg_confchg_fn = confchg};
	struct bench_options options;
	struct bench_result result;
	struct cpg_name group = {.length = 6, .value = "cpg_bm"};
	cpg_handle_t handle;
	unsigned int node;
	double deadline;
	void *data;
	int i;

	bench_options(&options, argc, argv, "thousands", "", NULL);
	bench_check(&options, "cpg_initialize", cpg_initialize(&handle, &callbacks));
	bench_check(&options, "cpg_local_get", cpg_local_get(handle, &node));
	own_node = node;
	own_pid = (uint32_t)getpid();
	bench_check(&options, "cpg_zcb_alloc", cpg_zcb_alloc(handle, bench_largest(&options), &data));
	bench_check(&options, "cpg_join", cpg_join(handle, &group));
	for (deadline = bench_now() + BENCH_DRAIN_SECONDS; !joined;) {
		wait_and_dispatch(&options, handle);
		if (bench_now() > deadline)
			bench_fail(&options, "the join was not delivered within %.0f s", BENCH_DRAIN_SECONDS);
	}
	for (i = 0; i < options.size_count; i++) {
		run(&options, handle, options.sizes[i], data, &result);
		bench_check_lost(&options, &result);
		bench_print(&options, &result, "messages received", result.in_time);
	}
	bench_check(&options, "cpg_zcb_free", cpg_zcb_free(handle, data));
	bench_check(&options, "cpg_finalize", cpg_finalize(handle));
	return 0;
}
