/*
 * cpglat -m poll|spin [-t SECONDS] [-s SIZE[,SIZE]...] [-j] - round trips of one cpg member with one
 * message outstanding: from the call that sends it to the callback that delivers it.
 *
 * poll: waits in poll() on the descriptor and dispatches, as event loops do. spin: dispatches
 * without ever sleeping. Times go into a histogram whose steps are a thousandth of the value.
 * Without options: 100 bytes, ten seconds, poll.
 */
#include "bench.h"
#include <corosync/cpg.h>
#include <poll.h>

/* Histogram: values below 2^STEP_BITS ns exactly, then 2^(STEP_BITS-1) steps per power of two. */
#define STEP_BITS 11
#define HALF (1u << (STEP_BITS - 1))
#define BUCKETS ((64 - STEP_BITS + 2) * HALF)

static uint64_t histogram[BUCKETS];
static uint64_t count, longest;

static uint32_t own_node, own_pid;
static int joined, arrived, spin;

static unsigned int bucket_of(uint64_t value)
{
	unsigned int shift;

	if (value < 2 * HALF)
		return (unsigned int)value;
	shift = 63u - (unsigned int)__builtin_clzll(value) - (STEP_BITS - 1);
	return shift * HALF + (unsigned int)(value >> shift);
}

/* The largest value that falls into a bucket. */
static uint64_t bucket_end(unsigned int bucket)
{
	unsigned int shift;

	if (bucket < 2 * HALF)
		return bucket;
	shift = bucket / HALF - 1;
	return ((uint64_t)(bucket - shift * HALF + 1) << shift) - 1;
}

/* In microseconds; per thousand, so that 99.9 % is a whole number. */
static double percentile(unsigned int per_thousand)
{
	uint64_t wanted = (count * per_thousand + 999) / 1000, sum = 0;
	unsigned int bucket;

	for (bucket = 0; bucket < BUCKETS; bucket++) {
		sum += histogram[bucket];
		if (sum >= wanted && sum > 0)
			return (double)(bucket_end(bucket) < longest ? bucket_end(bucket) : longest) / 1e3;
	}
	return (double)longest / 1e3;
}

static void deliver(cpg_handle_t handle, const struct cpg_name *group, uint32_t node, uint32_t pid, void *msg,
		    size_t len)
{
	(void)handle, (void)group, (void)msg, (void)len;
	if (pid == own_pid && node == own_node)
		arrived = 1;
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

static uint64_t nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Dispatches until `flag` is set; after the drain time it fails. */
static void await(const struct bench_options *options, cpg_handle_t handle, int fd, const int *flag)
{
	struct pollfd entry;
	uint64_t turns = 0;
	double deadline = 0;
	int ready;

	entry.fd = fd;
	entry.events = POLLIN;
	while (!*flag) {
		if (!spin) {
			ready = poll(&entry, 1, (int)(BENCH_DRAIN_SECONDS * 1000));
			if (ready < 0 && errno == EINTR)
				continue;
			if (ready <= 0)
				bench_fail(options, "nothing came back within %.0f s", BENCH_DRAIN_SECONDS);
		} else if (++turns % 1048576 == 0) {
			/* the clock is looked at rarely: this loop is what is measured */
			if (deadline == 0)
				deadline = bench_now() + BENCH_DRAIN_SECONDS;
			else if (bench_now() > deadline)
				bench_fail(options, "nothing came back within %.0f s", BENCH_DRAIN_SECONDS);
		}
		bench_check(options, "cpg_dispatch", cpg_dispatch(handle, CS_DISPATCH_ALL));
	}
}

static void run(const struct bench_options *options, cpg_handle_t handle, int fd, size_t size, char *data)
{
	struct iovec iov;
	cs_error_t code;
	uint64_t before, took, again = 0;

	iov.iov_base = data;
	iov.iov_len = size;
	memset(histogram, 0, sizeof(histogram));
	count = longest = 0;
	bench_start_alarm(options->seconds);
	while (!bench_time_over) {
		arrived = 0;
		before = nanoseconds();
		while ((code = cpg_mcast_joined(handle, CPG_TYPE_AGREED, &iov, 1)) == CS_ERR_TRY_AGAIN) {
			again++;
			bench_check(options, "cpg_dispatch", cpg_dispatch(handle, CS_DISPATCH_ALL));
		}
		bench_check(options, "cpg_mcast_joined", code);
		await(options, handle, fd, &arrived);
		took = nanoseconds() - before;
		histogram[bucket_of(took)]++;
		count++;
		if (took > longest)
			longest = took;
	}
	if (options->json)
		printf("{\"program\": \"%s\", \"mode\": \"%s\", \"size\": %zu, \"delivered\": %llu, \"refused\": %llu, "
		       "\"p50_us\": %.3f, \"p90_us\": %.3f, \"p99_us\": %.3f, \"p999_us\": %.3f, \"max_us\": %.3f}\n",
		       options->program, spin ? "spin" : "poll", size, (unsigned long long)count,
		       (unsigned long long)again, percentile(500), percentile(900), percentile(990), percentile(999),
		       (double)longest / 1e3);
	else
		printf("%5llu round trips %5zu bytes per write, %s: p50 %.1f p90 %.1f p99 %.1f p99.9 %.1f max %.1f us\n",
		       (unsigned long long)count, size, spin ? "spin" : "poll", percentile(500), percentile(900),
		       percentile(990), percentile(999), (double)longest / 1e3);
	fflush(stdout);
}

static int own_option(const struct bench_options *options, int option, const char *value)
{
	(void)options;
	if (option != 'm' || (strcmp(value, "poll") != 0 && strcmp(value, "spin") != 0))
		return 0;
	spin = strcmp(value, "spin") == 0;
	return 1;
}

int main(int argc, char **argv)
{
	static cpg_callbacks_t callbacks = {.cpg_deliver_fn = deliver, .cpg_confchg_fn = confchg};
	struct bench_options options;
	struct cpg_name group = {.length = 7, .value = "cpg_lat"};
	cpg_handle_t handle;
	unsigned int node;
	char *data;
	int fd, i;

	bench_options(&options, argc, argv, "", "m:", own_option);
	if (options.size_count == 0)
		bench_add_size(&options, 100);
	data = calloc(1, bench_largest(&options));
	if (data == NULL)
		bench_fail(&options, "no memory");
	bench_check(&options, "cpg_initialize", cpg_initialize(&handle, &callbacks));
	bench_check(&options, "cpg_local_get", cpg_local_get(handle, &node));
	own_node = node;
	own_pid = (uint32_t)getpid();
	bench_check(&options, "cpg_fd_get", cpg_fd_get(handle, &fd));
	bench_check(&options, "cpg_join", cpg_join(handle, &group));
	await(&options, handle, fd, &joined);
	for (i = 0; i < options.size_count; i++)
		run(&options, handle, fd, options.sizes[i], data);
	bench_check(&options, "cpg_finalize", cpg_finalize(handle));
	free(data);
	return 0;
}
