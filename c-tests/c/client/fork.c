/*
 * A handle after a fork: parent and child send, ask and dispatch on it in turn, and every message
 * comes once, in order. A lock that another thread held at the fork does not stop the child for
 * ever.
 */
#include <corosync/cpg.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static unsigned expected, received;

#define CHECK(condition)                                                                     \
	do {                                                                                  \
		if (!(condition)) {                                                           \
			fprintf(stderr, "line %d: %s\n", __LINE__, #condition);               \
			_exit(1);                                                             \
		}                                                                             \
	} while (0)

static void deliver(cpg_handle_t h, const struct cpg_name *group, uint32_t node, uint32_t pid, void *msg, size_t len)
{
	unsigned number;

	(void)h, (void)group, (void)node, (void)pid;
	CHECK(len >= sizeof(number));
	memcpy(&number, msg, sizeof(number));
	CHECK(number == expected);
	expected++;
	received++;
}

static cpg_handle_t joined_handle(const char *name)
{
	static cpg_callbacks_t callbacks = {.cpg_deliver_fn = deliver};
	struct cpg_name group = {.length = (uint32_t)strlen(name)};
	cpg_handle_t handle;

	memcpy(group.value, name, group.length);
	CHECK(cpg_initialize(&handle, &callbacks) == CS_OK);
	CHECK(cpg_join(handle, &group) == CS_OK);
	return handle;
}

static void send_some(cpg_handle_t handle, unsigned first, unsigned count)
{
	static char message[9000];
	struct iovec iov = {message, 0};
	unsigned number;
	int error;

	for (number = first; number < first + count; number++) {
		memcpy(message, &number, sizeof(number));
		iov.iov_len = sizeof(number) + number * 37 % (sizeof(message) - sizeof(number));
		do
			error = cpg_mcast_joined(handle, CPG_TYPE_AGREED, &iov, 1);
		while (error == CS_ERR_TRY_AGAIN);
		CHECK(error == CS_OK);
	}
}

static void ask(cpg_handle_t handle, pid_t member)
{
	struct cpg_name group = {.length = 4, .value = "fork"};
	struct cpg_address members[CPG_MEMBERS_MAX];
	int count = 0;

	CHECK(cpg_membership_get(handle, &group, members, &count) == CS_OK);
	CHECK(count == 1 && members[0].pid == (uint32_t)member);
}

static void receive(cpg_handle_t handle, unsigned upto)
{
	while (expected < upto)
		CHECK(cpg_dispatch(handle, CS_DISPATCH_ONE) == CS_OK);
	CHECK(cpg_dispatch(handle, CS_DISPATCH_ONE_NONBLOCKING) == CS_ERR_TRY_AGAIN);
}

static void wait_for(pid_t child)
{
	int status;

	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Each round: the child sends, asks and, in odd rounds, dispatches; then the parent does. */
static void in_turn(void)
{
	cpg_handle_t handle = joined_handle("fork");
	pid_t parent = getpid(), child;
	unsigned sent = 0, round, k = 150;

	for (round = 0; round < 20; round++) {
		child = fork();
		CHECK(child >= 0);
		if (child == 0) {
			send_some(handle, sent, k);
			ask(handle, parent);
			if (round % 2)
				receive(handle, sent + k);
			_exit(0);
		}
		wait_for(child);
		if (round % 2)
			expected += k;
		sent += k;
		ask(handle, parent);
		send_some(handle, sent, k);
		sent += k;
		receive(handle, sent);
		ask(handle, parent);
	}
	CHECK(received == 20 * k + 10 * k);
	printf("in turn: %u messages\n", sent);
	CHECK(cpg_finalize(handle) == CS_OK);
}

static atomic_int stop;

static void *keep_busy(void *argument)
{
	cpg_handle_t handle = *(cpg_handle_t *)argument, other;
	unsigned node;

	while (!stop) {
		CHECK(cpg_local_get(handle, &node) == CS_OK);
		CHECK(cpg_initialize(&other, NULL) == CS_OK);
		CHECK(cpg_finalize(other) == CS_OK);
	}
	return NULL;
}

/* Threads of the parent hold locks at any time; what the child calls ends, well or not. */
static void with_threads(void)
{
	cpg_handle_t handle, own;
	pthread_t threads[2];
	unsigned round, node;
	pid_t child;
	int i, error;

	CHECK(cpg_initialize(&handle, NULL) == CS_OK);
	for (i = 0; i < 2; i++)
		CHECK(pthread_create(&threads[i], NULL, keep_busy, &handle) == 0);
	for (round = 0; round < 30; round++) {
		child = fork();
		CHECK(child >= 0);
		if (child == 0) {
			alarm(20);
			error = cpg_initialize(&own, NULL);
			CHECK(error == CS_OK || error == CS_ERR_TRY_AGAIN);
			if (error == CS_OK)
				CHECK(cpg_local_get(own, &node) == CS_OK);
			_exit(0);
		}
		wait_for(child);
	}
	stop = 1;
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("with threads: done\n");
	CHECK(cpg_finalize(handle) == CS_OK);
}

int main(void)
{
	in_turn();
	with_threads();
	return 0;
}
