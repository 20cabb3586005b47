/*
 * plainloop [-t SECONDS] [-s SIZE[,SIZE]...] [-j] [-V] - the plain classic loop, kept apart from the
 * other benchmarks so that it can check them: it shares no code with them, is compiled with the
 * original's headers and libraries, and runs on either.
 *
 * With -V each message carries its number and a pattern that depends on it, every byte of every
 * message is looked at on delivery, and order, length and number must be right.
 */
#include <corosync/corotypes.h>
#include <corosync/cpg.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* Messages start at a place in the pattern that depends on their number. */
#define PLACES 4093
#define LARGEST 4000000

static cpg_handle_t handle;
static volatile sig_atomic_t over;
static int verify;
static uint32_t own_pid;
static atomic_ulong received, wrong;
static atomic_int joined, dispatch_ended;
static atomic_size_t current_size;
static unsigned char pattern[LARGEST + PLACES];

static void on_alarm(int number)
{
	(void)number;
	over = 1;
}

static void fail(const char *what, int code)
{
	fflush(stdout);
	fprintf(stderr, "plainloop: %s (%d)\n", what, code);
	_exit(1);
}

static const unsigned char *pattern_of(uint64_t number)
{
	return pattern + number * 2654435761u % PLACES;
}

/* The number comes first where there is room for it, the pattern is behind. */
static int is_right(const void *msg, size_t len, uint64_t number)
{
	uint64_t carried;

	if (len != atomic_load(&current_size))
		return 0;
	if (len < sizeof(carried))
		return memcmp(msg, pattern_of(number), len) == 0;
	memcpy(&carried, msg, sizeof(carried));
	return carried == number && memcmp((const char *)msg + sizeof(carried), pattern_of(number),
					   len - sizeof(carried)) == 0;
}

static void deliver(cpg_handle_t h, const struct cpg_name *group, uint32_t node, uint32_t pid, void *msg, size_t len)
{
	unsigned long number = atomic_load_explicit(&received, memory_order_relaxed);

	(void)h, (void)group, (void)node;
	if (pid != own_pid)
		return;
	if (verify && !is_right(msg, len, number))
		atomic_fetch_add(&wrong, 1);
	atomic_store_explicit(&received, number + 1, memory_order_release);
}

static void confchg(cpg_handle_t h, const struct cpg_name *group, const struct cpg_address *members, size_t m,
		    const struct cpg_address *left, size_t l, const struct cpg_address *joiners, size_t j)
{
	size_t i;

	(void)h, (void)group, (void)members, (void)m, (void)left, (void)l;
	for (i = 0; i < j; i++)
		if (joiners[i].pid == own_pid)
			atomic_store(&joined, 1);
}

static void *dispatch(void *unused)
{
	(void)unused;
	cpg_dispatch(handle, CS_DISPATCH_BLOCKING);
	atomic_store(&dispatch_ended, 1);
	return NULL;
}

static void wait_until(double seconds, int (*done)(unsigned long), unsigned long wanted, const char *what)
{
	unsigned long seen = 0, now;
	double waited = 0;

	while (!done(wanted)) {
		now = atomic_load(&received);
		waited = now == seen ? waited + 0.0002 : 0;
		seen = now;
		if (atomic_load(&dispatch_ended))
			fail("dispatching has ended", 0);
		if (waited > seconds)
			fail(what, 0);
		usleep(200);
	}
}

static int has_joined(unsigned long unused)
{
	(void)unused;
	return atomic_load(&joined);
}

static int has_received(unsigned long wanted)
{
	return atomic_load(&received) >= wanted;
}

static void loop(size_t size, double seconds, int json, char *data)
{
	struct itimerval timer = {{0, 0}, {(time_t)seconds, (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6)}};
	struct timeval begin, end;
	struct iovec iov = {data, size};
	unsigned long writes = 0, in_time;
	uint64_t number;
	cs_error_t result;
	double took, rate;

	atomic_store(&received, 0);
	atomic_store(&current_size, size);
	over = 0;
	setitimer(ITIMER_REAL, &timer, NULL);
	gettimeofday(&begin, NULL);
	do {
		if (verify) {
			number = writes;
			if (size < sizeof(number)) {
				memcpy(data, pattern_of(number), size);
			} else {
				memcpy(data, &number, sizeof(number));
				memcpy(data + sizeof(number), pattern_of(number), size - sizeof(number));
			}
		}
		result = cpg_mcast_joined(handle, CPG_TYPE_AGREED, &iov, 1);
		if (result == CS_OK)
			writes++;
		else if (result != CS_ERR_TRY_AGAIN)
			fail("cpg_mcast_joined", (int)result);
	} while (!over && !atomic_load_explicit(&dispatch_ended, memory_order_relaxed));
	gettimeofday(&end, NULL);
	in_time = atomic_load(&received);
	wait_until(20, has_received, writes, "accepted messages were lost");
	if (atomic_load(&wrong) != 0)
		fail("messages differ from what was sent", (int)atomic_load(&wrong));
	took = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_usec - begin.tv_usec) / 1e6;
	rate = (double)in_time / took;
	if (json)
		printf("{\"program\": \"plainloop\", \"size\": %zu, \"seconds\": %.6f, \"per_second\": %.3f, "
		       "\"delivered\": %lu, \"writes\": %lu, \"verified\": %s}\n",
		       size, took, rate, atomic_load(&received), writes, verify ? "true" : "false");
	else
		printf("%5lu messages received %5zu bytes per write %7.3f Seconds runtime %9.3f TP/s %7.3f MB/s.%s\n",
		       in_time, size, took, rate, rate * (double)size / 1e6, verify ? " verified" : "");
	fflush(stdout);
}

static void prepare(void)
{
	static cpg_callbacks_t callbacks = {.cpg_deliver_fn = deliver, .cpg_confchg_fn = confchg};
	struct cpg_name group = {.length = 9, .value = "plainloop"};
	uint64_t random = 88172645463325252u;
	pthread_t thread;
	cs_error_t result;
	sigset_t alarm_only;
	size_t i;

	for (i = 0; i < sizeof(pattern); i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		pattern[i] = (unsigned char)random;
	}
	own_pid = (uint32_t)getpid();
	result = cpg_initialize(&handle, &callbacks);
	if (result != CS_OK)
		fail("cpg_initialize: is a daemon running?", (int)result);
	/* the alarm is for the sender: the thread inherits the mask */
	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm_only, NULL);
	if (pthread_create(&thread, NULL, dispatch, NULL) != 0)
		fail("no second thread", 0);
	pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
	signal(SIGALRM, on_alarm);
	result = cpg_join(handle, &group);
	if (result != CS_OK)
		fail("cpg_join", (int)result);
	wait_until(20, has_joined, 0, "the join was not delivered");
}

int main(int argc, char **argv)
{
	static char data[LARGEST];
	static const char usual[] = "64,320,1600,8000,40000,200000,1000000";
	const char *sizes = usual;
	double seconds = 10;
	int json = 0, option;
	char *end;

	while ((option = getopt(argc, argv, "t:s:jV")) != -1) {
		if (option == 't')
			seconds = atof(optarg);
		else if (option == 's')
			sizes = optarg;
		else if (option == 'j')
			json = 1;
		else if (option == 'V')
			verify = 1;
		else
			return 2;
	}
	if (optind < argc || seconds < 0.001) {
		fputs("usage: plainloop [-t SECONDS] [-s SIZE[,SIZE]...] [-j] [-V]\n", stderr);
		return 2;
	}
	prepare();
	do {
		unsigned long size = strtoul(sizes, &end, 10);

		if (end == sizes || size > LARGEST || (*end != '\0' && *end != ','))
			fail("a size is no number up to 4000000", 2);
		loop(size, seconds, json, data);
		sizes = end + 1;
	} while (*end == ',');
	return cpg_finalize(handle) == CS_OK ? 0 : 1;
}
