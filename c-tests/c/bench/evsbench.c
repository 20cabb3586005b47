/*
 * evsbench [-t SECONDS] [-s SIZE[,SIZE]...] [-S SERIES] [-j] - writes a second of one evs member in
 * three groups that sends to all of them and dispatches after each write.
 *
 * The classic line counts writes. A second one says how many came back: a message goes to three
 * groups but is delivered once, and each accepted one must be delivered before the next size.
 * Without options: 1, 1001, 2001, ... bytes, ten seconds each.
 */
#include "bench.h"
#include <corosync/evs.h>
#include <poll.h>

static uint64_t delivered;

static void deliver(hdb_handle_t handle, unsigned int node, const void *msg, size_t len)
{
	(void)handle, (void)node, (void)msg, (void)len;
	delivered++;
}

static void confchg(hdb_handle_t handle, const unsigned int *members, size_t member_count, const unsigned int *left,
		    size_t left_count, const unsigned int *joiners, size_t joiner_count,
		    const struct evs_ring_id *ring)
{
	(void)handle, (void)members, (void)member_count, (void)left, (void)left_count, (void)joiners;
	(void)joiner_count, (void)ring;
}

/* Waits for something to dispatch, at most a tenth of a second, and dispatches all. */
static void wait_and_dispatch(const struct bench_options *options, evs_handle_t handle)
{
	struct pollfd entry;

	entry.events = POLLIN;
	bench_check(options, "evs_fd_get", evs_fd_get(handle, &entry.fd));
	poll(&entry, 1, 100);
	bench_check(options, "evs_dispatch", evs_dispatch(handle, CS_DISPATCH_ALL));
}

static void run(const struct bench_options *options, evs_handle_t handle, size_t size, char *data,
		struct bench_result *result)
{
	struct iovec iov;
	cs_error_t code;
	double start;

	memset(result, 0, sizeof(*result));
	result->size = size;
	iov.iov_base = data;
	iov.iov_len = size;
	delivered = 0;
	bench_start_alarm(options->seconds);
	start = bench_now();
	do {
		code = evs_mcast_joined(handle, EVS_TYPE_AGREED, &iov, 1);
		if (code == CS_OK)
			result->writes++;
		else if (code == CS_ERR_TRY_AGAIN)
			result->refused++;
		else
			bench_check(options, "evs_mcast_joined", code);
		bench_check(options, "evs_dispatch", evs_dispatch(handle, CS_DISPATCH_ALL));
	} while (!bench_time_over);
	bench_drain(options, result, start, &delivered, wait_and_dispatch, handle);
}

int main(int argc, char **argv)
{
	static evs_callbacks_t callbacks;
	struct bench_options options;
	struct bench_result result;
	struct evs_group groups[3];
	evs_handle_t handle;
	char *data;
	int i;

	bench_options(&options, argc, argv, "evs", "", NULL);
	data = calloc(1, bench_largest(&options));
	if (data == NULL)
		bench_fail(&options, "no memory");
	callbacks.evs_deliver_fn = deliver;
	callbacks.evs_confchg_fn = confchg;
	bench_check(&options, "evs_initialize", evs_initialize(&handle, &callbacks));
	/* an evs message does not say which process sent it, so the groups are this process's own */
	memset(groups, 0, sizeof(groups));
	for (i = 0; i < 3; i++)
		snprintf(groups[i].key, sizeof(groups[i].key), "key%d of %ld", i + 1, (long)getpid());
	bench_check(&options, "evs_join", evs_join(handle, groups, 3));
	for (i = 0; i < options.size_count; i++) {
		run(&options, handle, options.sizes[i], data, &result);
		bench_check_lost(&options, &result);
		bench_print(&options, &result, "Writes", result.writes);
		if (!options.json)
			printf("      all delivered, %llu of them within the time: %.3f deliveries a second\n",
			       (unsigned long long)result.in_time, bench_rate(&result, result.in_time));
	}
	bench_check(&options, "evs_finalize", evs_finalize(handle));
	free(data);
	return 0;
}
