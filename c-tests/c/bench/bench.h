/*
 * What the benchmark programs share: options, series of sizes, the clock, the classic output line
 * and the JSON line, errors.
 *
 * Every program is one C file that includes this, so all functions are inline. Each takes
 *   -t SECONDS       per write size, fractions allowed
 *   -s SIZE[,SIZE]   write sizes in bytes
 *   -S SERIES        sizes by name: classic (100 to 1400), x5 (64, then five times as much each),
 *                    thousands (1000 to 50000), evs (1, 1001, ... 199001)
 *   -j               one JSON line per size instead of the classic line
 * An error is one line on stderr and exit status 1; wrong usage is status 2.
 */
#ifndef BENCH_H
#define BENCH_H

#include <corosync/corotypes.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define BENCH_SIZES_MAX 256
#define BENCH_SIZE_MAX (64u * 1024 * 1024)
/* How long accepted messages may take to come back once sending is over. */
#define BENCH_DRAIN_SECONDS 20.0

struct bench_options {
	const char *program;
	double seconds;
	size_t sizes[BENCH_SIZES_MAX];
	int size_count;
	int json;
};

/* What one size gave. */
struct bench_result {
	size_t size;
	/* from the first write to the end of sending */
	double seconds;
	/* messages that the library took */
	uint64_t writes;
	/* messages that came back while sending went on: what the classic programs count */
	uint64_t in_time;
	/* messages that came back at all */
	uint64_t delivered;
	/* calls that were told to try again */
	uint64_t refused;
};

static inline void __attribute__((noreturn, format(printf, 2, 3)))
bench_fail(const struct bench_options *options, const char *format, ...)
{
	va_list arguments;

	fflush(stdout);
	fprintf(stderr, "%s: ", options->program);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	/* not exit(): another thread may be inside the library */
	_exit(1);
}

/* A code by name; the libraries' own function is in a library that not every program links. */
static inline const char *bench_error(cs_error_t code)
{
	switch ((int)code) {
	case CS_ERR_LIBRARY:
		return "CS_ERR_LIBRARY (2): no daemon answers";
	case CS_ERR_TIMEOUT:
		return "CS_ERR_TIMEOUT (5)";
	case CS_ERR_TRY_AGAIN:
		return "CS_ERR_TRY_AGAIN (6)";
	case CS_ERR_INVALID_PARAM:
		return "CS_ERR_INVALID_PARAM (7)";
	case CS_ERR_NO_MEMORY:
		return "CS_ERR_NO_MEMORY (8)";
	case CS_ERR_BAD_HANDLE:
		return "CS_ERR_BAD_HANDLE (9)";
	case CS_ERR_ACCESS:
		return "CS_ERR_ACCESS (11): the daemon does not admit this user";
	case CS_ERR_NO_RESOURCES:
		return "CS_ERR_NO_RESOURCES (18)";
	case CS_ERR_TOO_BIG:
		return "CS_ERR_TOO_BIG (26)";
	default:
		return "an unexpected code";
	}
}

static inline void bench_check(const struct bench_options *options, const char *call, cs_error_t code)
{
	if (code != CS_OK)
		bench_fail(options, "%s returned %d, %s", call, (int)code, bench_error(code));
}

static inline double bench_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline void bench_nap(long microseconds)
{
	struct timespec nap = {microseconds / 1000000, microseconds % 1000000 * 1000};

	nanosleep(&nap, NULL);
}

/* The alarm that ends a size, as in the classic programs: a look at the clock for every message
 * would cost more than some messages do. */
static volatile sig_atomic_t bench_time_over;

static inline void bench_on_alarm(int number)
{
	(void)number;
	bench_time_over = 1;
}

static inline void bench_start_alarm(double seconds)
{
	struct sigaction action;
	struct itimerval timer;

	memset(&action, 0, sizeof(action));
	action.sa_handler = bench_on_alarm;
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, NULL);
	memset(&timer, 0, sizeof(timer));
	if (seconds < 1e-6)
		seconds = 1e-6;
	timer.it_value.tv_sec = (time_t)seconds;
	timer.it_value.tv_usec = (suseconds_t)((seconds - (double)timer.it_value.tv_sec) * 1e6);
	if (timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0)
		timer.it_value.tv_usec = 1;
	bench_time_over = 0;
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* The rate that the classic line and per_second speak of. */
static inline double bench_rate(const struct bench_result *result, uint64_t count)
{
	return result->seconds > 0 ? (double)count / result->seconds : 0;
}

/* The classic line: scripts take it apart, so its words and order stay. */
static inline void bench_print(const struct bench_options *options, const struct bench_result *result,
			       const char *what, uint64_t count)
{
	double rate = bench_rate(result, count);

	if (options->json) {
		printf("{\"program\": \"%s\", \"size\": %zu, \"seconds\": %.6f, \"per_second\": %.3f, "
		       "\"mb_per_second\": %.3f, \"writes\": %llu, \"in_time\": %llu, \"delivered\": %llu, "
		       "\"lost\": %llu, \"refused\": %llu}\n",
		       options->program, result->size, result->seconds, bench_rate(result, result->in_time),
		       bench_rate(result, result->in_time) * (double)result->size / 1e6,
		       (unsigned long long)result->writes, (unsigned long long)result->in_time,
		       (unsigned long long)result->delivered,
		       (unsigned long long)(result->writes - result->delivered),
		       (unsigned long long)result->refused);
	} else {
		printf("%5llu %s %5zu bytes per write %7.3f Seconds runtime %9.3f TP/s %7.3f MB/s.\n",
		       (unsigned long long)count, what, result->size, result->seconds, rate,
		       rate * (double)result->size / 1e6);
	}
	fflush(stdout);
}

/* Fails when what was taken did not come back. */
static inline void bench_check_lost(const struct bench_options *options, const struct bench_result *result)
{
	if (result->delivered != result->writes)
		bench_fail(options, "%zu bytes: %llu of %llu accepted messages did not come back within %.0f s",
			   result->size, (unsigned long long)(result->writes - result->delivered),
			   (unsigned long long)result->writes, BENCH_DRAIN_SECONDS);
}

static inline void bench_add_size(struct bench_options *options, unsigned long size)
{
	if (size > BENCH_SIZE_MAX) {
		fprintf(stderr, "%s: a write size can be at most %u\n", options->program, BENCH_SIZE_MAX);
		exit(2);
	}
	if (options->size_count == BENCH_SIZES_MAX) {
		fprintf(stderr, "%s: more than %d sizes\n", options->program, BENCH_SIZES_MAX);
		exit(2);
	}
	options->sizes[options->size_count++] = size;
}

/* Sizes by name; 0 when there is no such series. */
static inline int bench_add_series(struct bench_options *options, const char *name)
{
	unsigned long size;

	if (strcmp(name, "classic") == 0) {
		for (size = 100; size <= 1400; size += 100)
			bench_add_size(options, size);
	} else if (strcmp(name, "x5") == 0) {
		for (size = 64; size <= 1000000; size *= 5)
			bench_add_size(options, size);
	} else if (strcmp(name, "thousands") == 0) {
		for (size = 1000; size <= 50000; size += 1000)
			bench_add_size(options, size);
	} else if (strcmp(name, "evs") == 0) {
		for (size = 1; size <= 199001; size += 1000)
			bench_add_size(options, size);
	} else {
		return 0;
	}
	return 1;
}

static inline double bench_number(const struct bench_options *options, int option, const char *text, double least,
				  double most)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (end == text || *end != '\0' || errno != 0 || !(value >= least && value <= most)) {
		fprintf(stderr, "%s: -%c %s: not a number from %g to %g\n", options->program, option, text, least, most);
		exit(2);
	}
	return value;
}

static inline void bench_add_sizes(struct bench_options *options, const char *text)
{
	char *end;
	unsigned long size;

	do {
		errno = 0;
		size = strtoul(text, &end, 10);
		if (end == text || errno != 0 || *text == '-' || (*end != ',' && *end != '\0')) {
			fprintf(stderr, "%s: -s %s: not a list of sizes\n", options->program, text);
			exit(2);
		}
		bench_add_size(options, size);
		text = end + 1;
	} while (*end == ',');
}

/* Called for options that only one program has; 0 when it does not know them either. */
typedef int (*bench_option_fn)(const struct bench_options *options, int option, const char *value);

/* Reads the command line. `more` names the program's own options as getopt() wants them. */
static inline void bench_options(struct bench_options *options, int argc, char **argv, const char *series,
				 const char *more, bench_option_fn own)
{
	char letters[64];
	int option;

	options->program = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	options->seconds = 10;
	options->size_count = 0;
	options->json = 0;
	snprintf(letters, sizeof(letters), "t:s:S:j%s", more);
	while ((option = getopt(argc, argv, letters)) != -1) {
		if (option == 't') {
			options->seconds = bench_number(options, option, optarg, 0.001, 86400);
		} else if (option == 's') {
			bench_add_sizes(options, optarg);
		} else if (option == 'S' && bench_add_series(options, optarg)) {
			continue;
		} else if (option == 'j') {
			options->json = 1;
		} else if (option == '?' || own == NULL || !own(options, option, optarg)) {
			fprintf(stderr,
				"usage: %s [-t SECONDS] [-s SIZE[,SIZE]...] [-S classic|x5|thousands|evs] [-j]%s%s\n",
				options->program, *more ? "  further options: " : "", more);
			exit(2);
		}
	}
	if (optind < argc) {
		fprintf(stderr, "%s: what is %s?\n", options->program, argv[optind]);
		exit(2);
	}
	if (options->size_count == 0)
		bench_add_series(options, series);
}

/* The largest size asked for, at least 1. */
static inline size_t bench_largest(const struct bench_options *options)
{
	size_t largest = 1;
	int i;

	for (i = 0; i < options->size_count; i++)
		if (options->sizes[i] > largest)
			largest = options->sizes[i];
	return largest;
}

/*
 * The time is over: dispatches until all that was written has come back, or nothing came for
 * BENCH_DRAIN_SECONDS. For programs that send and dispatch in turn.
 */
static inline void bench_drain(const struct bench_options *options, struct bench_result *result, double start,
			       const uint64_t *delivered,
			       void (*wait_and_dispatch)(const struct bench_options *, uint64_t), uint64_t handle)
{
	double progress = bench_now();
	uint64_t seen;

	result->in_time = *delivered;
	result->seconds = progress - start;
	while (*delivered < result->writes && bench_now() < progress + BENCH_DRAIN_SECONDS) {
		seen = *delivered;
		wait_and_dispatch(options, handle);
		if (*delivered != seen)
			progress = bench_now();
	}
	result->delivered = *delivered;
}

#endif
