/*
 * A member of a group that checks what it gets. It sends numbered, checksummed messages (if told
 * to), and of every sender it expects each number once and in order. It ends when its standard
 * input ends and its count of messages is sent: then it waits for the rest of its own messages and
 * prints the sums.
 *
 * member GROUP [send=BYTES] [gap_us=N] [count=N] [deaf=1] [quiet=1]
 *
 * Lines: "joined", "member PID", "left PID REASON", "error CODE WHERE", and at the end
 * "sent N own N others N wrong N again N". Exit code 0: all own messages came, nothing was wrong.
 */
#include <corosync/cpg.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LONGEST 1000000
#define SENDERS 64
#define MAGIC 0x6d656d62u

struct head {
	uint32_t magic, length, pid, sum;
	uint64_t number;
};

static struct sender {
	uint32_t pid;
	uint64_t next;
} senders[SENDERS];
static int sender_count;
static unsigned long long sent, own, others, wrong, again;
static int joined, quiet;
static uint32_t self;

static uint32_t sum(const unsigned char *bytes, size_t len)
{
	uint32_t value = 2166136261u;

	for (size_t at = 0; at < len; at++)
		value = (value ^ bytes[at]) * 16777619u;
	return value;
}

static void deliver(cpg_handle_t handle, const struct cpg_name *group, uint32_t node, uint32_t pid, void *msg,
		    size_t len)
{
	struct head head;
	int at;

	(void)handle, (void)group, (void)node;
	if (len < sizeof head) {
		others++;
		return;
	}
	memcpy(&head, msg, sizeof head);
	if (head.magic != MAGIC || head.pid != pid) {
		others++; /* of another kind of program */
		return;
	}
	if (head.length != len || sum((unsigned char *)msg + sizeof head, len - sizeof head) != head.sum) {
		printf("wrong content: %zu bytes of %u, number %llu\n", len, pid, (unsigned long long)head.number);
		wrong++;
	}
	for (at = 0; at < sender_count && senders[at].pid != pid; at++)
		;
	if (at == sender_count) {
		if (at == SENDERS)
			return;
		sender_count++;
		senders[at].pid = pid;
		/* others may have sent before this member was there */
		senders[at].next = pid == self ? 0 : head.number;
	}
	if (senders[at].next != head.number) {
		printf("wrong number of %u: %llu, expected %llu\n", pid, (unsigned long long)head.number,
		       (unsigned long long)senders[at].next);
		wrong++;
	}
	senders[at].next = head.number + 1;
	if (pid == self)
		own++;
	else
		others++;
}

static void confchg(cpg_handle_t handle, const struct cpg_name *group, const struct cpg_address *members,
		    size_t member_count, const struct cpg_address *left, size_t left_count,
		    const struct cpg_address *added, size_t added_count)
{
	(void)handle, (void)group, (void)members, (void)member_count;
	for (size_t at = 0; at < left_count; at++)
		if (!quiet)
			printf("left %u %u\n", left[at].pid, left[at].reason);
	for (size_t at = 0; at < added_count; at++) {
		if (added[at].pid == self) {
			joined = 1;
			printf("joined\n");
		} else if (!quiet) {
			printf("member %u\n", added[at].pid);
		}
	}
	fflush(stdout);
}

static int failed(const char *where, cs_error_t error)
{
	printf("error %d %s\n", error, where);
	fflush(stdout);
	return 3;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static long option(int argc, char **argv, const char *name, long otherwise)
{
	size_t len = strlen(name);

	for (int at = 2; at < argc; at++)
		if (!strncmp(argv[at], name, len) && argv[at][len] == '=')
			return atol(argv[at] + len + 1);
	return otherwise;
}

static cs_error_t send_one(cpg_handle_t handle, unsigned char *buffer, size_t len)
{
	struct head head = {MAGIC, len, self, 0, sent};
	struct iovec part = {buffer, len};
	cs_error_t error;

	memset(buffer + sizeof head, (int)(sent * 7 + 1), len - sizeof head);
	head.sum = sum(buffer + sizeof head, len - sizeof head);
	memcpy(buffer, &head, sizeof head);
	error = cpg_mcast_joined(handle, CPG_TYPE_AGREED, &part, 1);
	if (error == CS_OK)
		sent++;
	else if (error == CS_ERR_TRY_AGAIN)
		again++;
	return error;
}

int main(int argc, char **argv)
{
	static unsigned char buffer[LONGEST];
	cpg_callbacks_t callbacks = {deliver, confchg};
	struct cpg_name group;
	cpg_handle_t handle;
	cs_error_t error;
	int fd, ending = 0, full = 0;
	double until = 0, next = 0;
	long size = option(argc, argv, "send", 0), count = option(argc, argv, "count", 0);
	long gap = option(argc, argv, "gap_us", 0), deaf = option(argc, argv, "deaf", 0);

	if (argc < 2 || size > LONGEST)
		return 2;
	quiet = option(argc, argv, "quiet", 0);
	if (size && size < (long)sizeof(struct head))
		size = sizeof(struct head);
	self = getpid();
	group.length = strlen(argv[1]);
	memcpy(group.value, argv[1], group.length);
	error = cpg_initialize(&handle, &callbacks);
	if (error != CS_OK)
		return failed("initialize", error);
	while ((error = cpg_join(handle, &group)) == CS_ERR_TRY_AGAIN)
		usleep(1000);
	if (error != CS_OK)
		return failed("join", error);
	cpg_fd_get(handle, &fd);
	if (deaf) {
		/* it will not hear that it is a member, and may send all the same */
		joined = 1;
		printf("joined\n");
		fflush(stdout);
	}
	for (;;) {
		int sends = joined && size && (count ? (long)sent < count : !ending);
		struct pollfd polled[2] = {{deaf ? -1 : fd, POLLIN, 0}, {ending ? -1 : STDIN_FILENO, POLLIN, 0}};
		int wait = 100;

		if (sends && !full)
			wait = gap && now() < next ? 1 : 0;
		else if (full || ending)
			wait = 1;
		if (poll(polled, 2, wait) < 0 && errno != EINTR)
			return failed("poll", 0);
		if (polled[1].revents) {
			char bytes[64];

			if (read(STDIN_FILENO, bytes, sizeof bytes) <= 0) {
				ending = 1;
				until = now() + 10;
			}
		}
		if (!deaf) {
			error = cpg_dispatch(handle, CS_DISPATCH_ALL);
			if (error != CS_OK)
				return failed("dispatch", error);
		}
		full = 0;
		for (int burst = 0; sends && burst < 64 && !full; burst++) {
			if (gap && now() < next)
				break;
			error = send_one(handle, buffer, size);
			if (error == CS_ERR_TRY_AGAIN)
				full = 1;
			else if (error != CS_OK)
				return failed("mcast", error);
			else if (gap)
				next = now() + gap / 1e6;
			if (count && (long)sent >= count)
				break;
		}
		if (ending && (now() > until || (!sends && (deaf || !size || own == sent))))
			break;
	}
	printf("sent %llu own %llu others %llu wrong %llu again %llu\n", sent, own, others, wrong, again);
	fflush(stdout);
	if (cpg_finalize(handle) != CS_OK)
		return failed("finalize", 0);
	return wrong || (!deaf && own != sent);
}
