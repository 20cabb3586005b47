/*
 * What the programs of this folder share. Each prints what it observes, line by line, so that the
 * lines of two runs can be compared, one on the original and one on ours: codes by their names,
 * processes by labels, nothing that differs from run to run.
 */
#ifndef OBSERVE_H
#define OBSERVE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <corosync/corotypes.h>
#include <corosync/cpg.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))

/* Longest wait for something that must come, and for something that must not come, in ms. */
#define MUST_COME 5000
#define MUST_NOT_COME 60

/* Prints a call as it stands in the source, and the name of what it returned. */
#define SHOW(call) printf("%s: %s\n", #call, code(call))
/* The same for calls that the original may refuse for a moment, while its queues are full. */
#define SOON(call) \
	do { \
		cs_error_t soon_; \
		while ((soon_ = (call)) == CS_ERR_TRY_AGAIN) \
			usleep(1000); \
		SAY(#call, soon_); \
	} while (0)
/* The same for calls that stand in a loop: the text before it is given. */
#define SAY(text, call) printf("%s: %s\n", text, code(call))

UNUSED static const char *code(cs_error_t error)
{
	static const char *const names[] = {
		"0?", "CS_OK", "CS_ERR_LIBRARY", "CS_ERR_VERSION", "CS_ERR_INIT", "CS_ERR_TIMEOUT", "CS_ERR_TRY_AGAIN",
		"CS_ERR_INVALID_PARAM", "CS_ERR_NO_MEMORY", "CS_ERR_BAD_HANDLE", "CS_ERR_BUSY", "CS_ERR_ACCESS",
		"CS_ERR_NOT_EXIST", "CS_ERR_NAME_TOO_LONG", "CS_ERR_EXIST", "CS_ERR_NO_SPACE", "CS_ERR_INTERRUPT",
		"CS_ERR_NAME_NOT_FOUND", "CS_ERR_NO_RESOURCES", "CS_ERR_NOT_SUPPORTED", "CS_ERR_BAD_OPERATION",
		"CS_ERR_FAILED_OPERATION", "CS_ERR_MESSAGE_ERROR", "CS_ERR_QUEUE_FULL", "CS_ERR_QUEUE_NOT_AVAILABLE",
		"CS_ERR_BAD_FLAGS", "CS_ERR_TOO_BIG", "CS_ERR_NO_SECTIONS", "CS_ERR_CONTEXT_NOT_FOUND", "29?",
		"CS_ERR_TOO_MANY_GROUPS", "CS_ERR_SECURITY",
	};
	static char other[16];

	if ((unsigned int)error < sizeof(names) / sizeof(names[0]))
		return names[error];
	snprintf(other, sizeof(other), "%d?", (int)error);
	return other;
}

/* Processes that a program started, for labels; shared between them. */
struct people {
	pid_t pids[16];
};
static struct people *people;

UNUSED static const char *who(uint32_t pid)
{
	static char label[4][16];
	static int turn;
	int i;

	for (i = 0; people && i < 16; i++) {
		if (people->pids[i] != 0 && (uint32_t)people->pids[i] == pid) {
			turn = (turn + 1) % 4;
			snprintf(label[turn], sizeof(label[turn]), "p%d", i);
			return label[turn];
		}
	}
	return pid == (uint32_t)getpid() ? "me" : pid == 0 ? "0" : "somebody";
}

/* Begins a program: lines go out one by one, and a program that hangs ends with a signal. */
UNUSED static void begin(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	people = mmap(NULL, sizeof(*people), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	alarm(25);
}

UNUSED static void section(const char *title)
{
	printf("\n== %s\n", title);
}

UNUSED static struct cpg_name named(const char *text)
{
	struct cpg_name name;

	memset(&name, 0, sizeof(name));
	name.length = (uint32_t)strlen(text);
	memcpy(name.value, text, name.length);
	return name;
}

/* The name as text; bytes that are no characters as numbers. */
UNUSED static void print_name(const struct cpg_name *name)
{
	uint32_t i;

	for (i = 0; i < name->length && i < CPG_MAX_NAME_LENGTH; i++) {
		if (name->length > 40 && i == 10) {
			printf("...(%u)", name->length);
			break;
		}
		if (name->value[i] > 32 && name->value[i] < 127)
			putchar(name->value[i]);
		else
			printf("\\%u", (unsigned char)name->value[i]);
	}
}

UNUSED static void print_list(const char *title, const struct cpg_address *list, size_t count)
{
	size_t i;

	printf(" %s [", title);
	for (i = 0; i < count; i++)
		printf("%s%u:%s/%u", i ? " " : "", list[i].nodeid, who(list[i].pid), list[i].reason);
	printf("]");
}

/* The original takes note of an end only when it comes to it; nothing tells when. */
UNUSED static void let_go(void)
{
	usleep(50000);
}

/* How many callbacks there were. */
static int messages, changes;

UNUSED static uint32_t checksum(const void *data, size_t len)
{
	const unsigned char *bytes = data;
	uint32_t sum = 2166136261u;
	size_t i;

	for (i = 0; i < len; i++)
		sum = (sum ^ bytes[i]) * 16777619u;
	return sum;
}

/* Bytes that differ from message to message. */
UNUSED static void fill(void *data, size_t len, uint32_t seed)
{
	unsigned char *bytes = data;
	size_t i;

	for (i = 0; i < len; i++) {
		seed = seed * 1664525u + 1013904223u;
		bytes[i] = (unsigned char)(seed >> 24);
	}
}

UNUSED static int is_text(const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] < 32 || bytes[i] > 126)
			return 0;
	}
	return 1;
}

UNUSED static void on_deliver(cpg_handle_t handle, const struct cpg_name *group, uint32_t node, uint32_t pid,
			      void *msg, size_t len)
{
	(void)handle;
	messages++;
	printf("  deliver ");
	print_name(group);
	printf(" from %u:%s, %zu bytes", node, who(pid), len);
	if (len > 0 && len <= 40 && is_text(msg, len))
		printf(": %.*s", (int)len, (const char *)msg);
	else if (len > 0)
		printf(", sum %08x", checksum(msg, len));
	putchar('\n');
}

UNUSED static void on_change(cpg_handle_t handle, const struct cpg_name *group, const struct cpg_address *members,
			     size_t members_count, const struct cpg_address *left, size_t left_count,
			     const struct cpg_address *joined, size_t joined_count)
{
	(void)handle;
	changes++;
	printf("  change ");
	print_name(group);
	print_list("members", members, members_count);
	print_list("left", left, left_count);
	print_list("joined", joined, joined_count);
	putchar('\n');
}

static cpg_callbacks_t both UNUSED = {on_deliver, on_change};

UNUSED static int fd_of(cpg_handle_t handle)
{
	int fd = -1;

	cpg_fd_get(handle, &fd);
	return fd;
}

/* Whether the descriptor is readable, or becomes so in that time. */
UNUSED static int readable(cpg_handle_t handle, int ms)
{
	struct pollfd entry = {fd_of(handle), POLLIN, 0};

	return poll(&entry, 1, ms) == 1 && (entry.revents & POLLIN);
}

UNUSED static void show_readable(cpg_handle_t handle, int expected)
{
	printf("fd: %s\n", readable(handle, expected ? MUST_COME : MUST_NOT_COME) ? "readable" : "quiet");
}

/* Dispatches until a counter has reached a value. */
UNUSED static int pump(cpg_handle_t handle, const int *counter, int value)
{
	while (*counter < value) {
		cs_error_t error;

		if (!readable(handle, MUST_COME)) {
			printf("  NOTHING COMES: %d of %d\n", *counter, value);
			return 0;
		}
		error = cpg_dispatch(handle, CS_DISPATCH_ONE_NONBLOCKING);
		if (error != CS_OK && error != CS_ERR_TRY_AGAIN) {
			printf("  dispatch: %s\n", code(error));
			return 0;
		}
	}
	return 1;
}

/* Sends a text; waits while there is no room. */
UNUSED static cs_error_t send_bytes(cpg_handle_t handle, const void *data, size_t len)
{
	struct iovec part;
	cs_error_t error;

	part.iov_base = (void *)(uintptr_t)data;
	part.iov_len = len;
	while ((error = cpg_mcast_joined(handle, CPG_TYPE_AGREED, &part, 1)) == CS_ERR_TRY_AGAIN)
		usleep(1000);
	return error;
}

UNUSED static cs_error_t send_text(cpg_handle_t handle, const char *text)
{
	return send_bytes(handle, text, strlen(text));
}

/* A handle that has joined a group and seen itself do so, silently. */
UNUSED static cpg_handle_t joined(cpg_callbacks_t *callbacks, const char *group)
{
	struct cpg_name name = named(group);
	cpg_handle_t handle = 0;
	cs_error_t error;

	while ((error = cpg_initialize(&handle, callbacks)) == CS_ERR_TRY_AGAIN)
		usleep(1000);
	if (error == CS_OK)
		while ((error = cpg_join(handle, &name)) == CS_ERR_TRY_AGAIN)
			usleep(1000);
	if (error != CS_OK)
		printf("cannot join %s: %s\n", group, code(error));
	return handle;
}

UNUSED static int open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

UNUSED static long now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

#endif
