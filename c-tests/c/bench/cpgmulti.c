/*
 * cpgmulti -p PROCESSES -g GROUPS [-t SECONDS] [-s SIZE[,SIZE]...] [-j] - many processes in many
 * groups, all flooding at once; each counts its own messages delivered.
 *
 * Each process does what cpgbench does (two threads, see flood.h) in group number i modulo GROUPS,
 * and so receives what the others of its group send as well. The parent forks before anything is
 * connected, waits until all have joined, lets them start together and ends them at one moment of
 * the clock. One that fails, dies or hangs ends all others and is an error. Reported are the sum
 * and the slowest process compared with the median and the fastest. Without options: 10 processes
 * in 10 groups, 64 bytes, ten seconds.
 */
#include "flood.h"
#include <limits.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PROCESSES_MAX 4096
/* How long all may take to join, and after the end to get their last messages. */
#define PATIENCE 60.0

/* One per process, written by it. */
struct slot {
	/* 2 * round + 1: ready for that round; 2 * round + 2: done with it */
	atomic_int progress;
	struct flood flood;
	struct bench_result result;
	/* not in one cache line with another process's */
	char apart[64];
};

/* Seen by all processes. */
struct board {
	/* rounds started so far, a futex; beyond the last round: finish */
	atomic_int started;
	/* when sending ends, seconds on the monotonic clock */
	double end;
	struct slot slots[];
};

static struct bench_options options;
static struct board *board;
static int processes = 10, groups = 10;
static pid_t children[PROCESSES_MAX];
static unsigned long long counts_before[PROCESSES_MAX], counts_after[PROCESSES_MAX];
static volatile sig_atomic_t stop_signal;

static void on_stop(int number)
{
	stop_signal = number;
}

static void kill_all(void)
{
	int i;

	for (i = 0; i < processes; i++)
		if (children[i] > 0)
			kill(children[i], SIGKILL);
	for (i = 0; i < processes; i++)
		if (children[i] > 0)
			while (waitpid(children[i], NULL, 0) < 0 && errno == EINTR)
				;
}

static void __attribute__((noreturn)) give_up(const char *why, int number)
{
	kill_all();
	bench_fail(&options, why, number);
}

/* The parent looks after its children while it waits. */
static void look_after_children(void)
{
	int status, i, early;
	pid_t pid;

	if (stop_signal != 0) {
		kill_all();
		signal(stop_signal, SIG_DFL);
		raise(stop_signal);
		_exit(1);
	}
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (i = 0; i < processes && children[i] != pid; i++)
			;
		if (i == processes)
			continue;
		children[i] = 0;
		early = atomic_load(&board->slots[i].progress) < 2 * options.size_count;
		if (WIFSIGNALED(status))
			give_up("a process was ended by signal %d", WTERMSIG(status));
		if (WEXITSTATUS(status) != 0 || early)
			give_up("a process failed with status %d", WEXITSTATUS(status));
	}
}

static void wait_for_progress(int progress, double deadline, const char *late)
{
	int i = 0;

	while (i < processes) {
		if (atomic_load(&board->slots[i].progress) >= progress) {
			i++;
			continue;
		}
		look_after_children();
		if (bench_now() > deadline)
			give_up(late, i + 1);
		bench_nap(5000);
	}
}

/* Starts a round, or the end, for all at once. */
static void start_round(int number)
{
	atomic_store(&board->started, number);
	syscall(SYS_futex, &board->started, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void wait_for_start(int number)
{
	struct timespec second = {1, 0};
	int started;

	while ((started = atomic_load(&board->started)) < number) {
		flood_check(&options);
		syscall(SYS_futex, &board->started, FUTEX_WAIT, started, &second, NULL, 0);
	}
}

/* A child: joins, waits for the start of each round, floods. */
static void __attribute__((noreturn)) child(int index, pid_t parent)
{
	struct slot *slot = &board->slots[index];
	char group[32];
	char *data = calloc(1, bench_largest(&options));
	int round;

	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	/* none outlives the parent, however that ends */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
		_exit(1);
	if (data == NULL)
		bench_fail(&options, "no memory");
	flood = &slot->flood;
	snprintf(group, sizeof(group), "cpg_multi_%d", index % groups);
	flood_start(&options, group);
	for (round = 0; round < options.size_count; round++) {
		atomic_store(&slot->progress, 2 * round + 1);
		wait_for_start(round + 1);
		flood_run(&options, options.sizes[round], data, board->end - bench_now(), &slot->result);
		atomic_store(&slot->progress, 2 * round + 2);
	}
	/* nobody leaves while others still wait for their messages */
	wait_for_start(options.size_count + 1);
	flood_end(&options);
	_exit(0);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The number of messages that each process has got so far, all within some microseconds. */
static void take_counts(unsigned long long *counts)
{
	int i;

	for (i = 0; i < processes; i++)
		counts[i] = atomic_load(&board->slots[i].flood.delivered);
}

static void report(int round, double seconds)
{
	static double rates[PROCESSES_MAX];
	struct bench_result sum;
	double least, median, most;
	int i;

	memset(&sum, 0, sizeof(sum));
	sum.size = options.sizes[round];
	sum.seconds = seconds;
	for (i = 0; i < processes; i++) {
		struct bench_result *result = &board->slots[i].result;

		if (result->delivered != result->writes) {
			kill_all();
			bench_check_lost(&options, result);
		}
		rates[i] = (double)(counts_after[i] - counts_before[i]) / seconds;
		sum.writes += result->writes;
		sum.in_time += counts_after[i] - counts_before[i];
		sum.delivered += result->delivered;
		sum.refused += result->refused;
	}
	qsort(rates, (size_t)processes, sizeof(rates[0]), compare);
	least = rates[0];
	most = rates[processes - 1];
	median = (rates[(processes - 1) / 2] + rates[processes / 2]) / 2;
	if (!options.json) {
		bench_print(&options, &sum, "messages received", sum.in_time);
		printf("      %d processes, %d groups: slowest %.1f, median %.1f, fastest %.1f a second\n", processes,
		       groups, least, median, most);
	} else {
		printf("{\"program\": \"%s\", \"size\": %zu, \"processes\": %d, \"groups\": %d, \"seconds\": %.6f, "
		       "\"per_second\": %.3f, \"writes\": %llu, \"delivered\": %llu, \"refused\": %llu, "
		       "\"min\": %.3f, \"median\": %.3f, \"max\": %.3f, \"min_over_median\": %.4f, "
		       "\"min_over_max\": %.4f}\n",
		       options.program, sum.size, processes, groups, seconds, bench_rate(&sum, sum.in_time),
		       (unsigned long long)sum.writes, (unsigned long long)sum.delivered,
		       (unsigned long long)sum.refused, least, median, most, median > 0 ? least / median : 0,
		       most > 0 ? least / most : 0);
	}
	fflush(stdout);
}

static int own_option(const struct bench_options *shared, int option, const char *value)
{
	if (option == 'p')
		processes = (int)bench_number(shared, option, value, 1, PROCESSES_MAX);
	else if (option == 'g')
		groups = (int)bench_number(shared, option, value, 1, PROCESSES_MAX);
	else
		return 0;
	return 1;
}

static void start_children(void)
{
	size_t bytes = sizeof(*board) + (size_t)processes * sizeof(struct slot);
	pid_t parent = getpid();
	int i;

	board = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (board == MAP_FAILED)
		bench_fail(&options, "%s", strerror(errno));
	for (i = 0; i < processes; i++) {
		children[i] = fork();
		if (children[i] == 0)
			child(i, parent);
		if (children[i] < 0) {
			children[i] = 0;
			give_up("no further process (%d)", errno);
		}
	}
}

/* One size: all start, the counts are taken at one moment by the parent, all finish. */
static void run_round(int round)
{
	double start, now;

	wait_for_progress(2 * round + 1, bench_now() + PATIENCE, "process %d could not join in time");
	take_counts(counts_before);
	start = bench_now();
	board->end = start + options.seconds;
	start_round(round + 1);
	while ((now = bench_now()) < board->end) {
		look_after_children();
		bench_nap(board->end - now < 0.02 ? (long)((board->end - now) * 1e6) + 1 : 20000);
	}
	take_counts(counts_after);
	now = bench_now();
	wait_for_progress(2 * round + 2, now + PATIENCE, "process %d did not get its messages in time");
	report(round, now - start);
}

static void wait_for_ends(void)
{
	double deadline = bench_now() + PATIENCE;
	int i, left = 1;

	while (left > 0) {
		look_after_children();
		for (i = 0, left = 0; i < processes; i++)
			left += children[i] > 0;
		if (left > 0 && bench_now() > deadline)
			give_up("%d processes do not end", left);
		bench_nap(2000);
	}
}

int main(int argc, char **argv)
{
	struct sigaction action;
	int round;

	bench_options(&options, argc, argv, "", "p:g:", own_option);
	if (options.size_count == 0)
		bench_add_size(&options, 64);
	memset(&action, 0, sizeof(action));
	action.sa_handler = on_stop;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	start_children();
	for (round = 0; round < options.size_count; round++)
		run_round(round);
	start_round(options.size_count + 1);
	wait_for_ends();
	return 0;
}
