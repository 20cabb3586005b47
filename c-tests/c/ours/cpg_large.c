/*
 * Messages of many pieces: the descriptor does not become readable for each piece, one dispatch
 * gives the whole message, and a handle that wants no messages passes over the pieces.
 */
#include "../behaviour/observe.h"
#include <pthread.h>

#define LARGE (10u << 20)

static unsigned char *data;

/*
 * While the descriptor is readable, a dispatch calls a function; once in a while pieces of a
 * message are shown before the rest of it, as when the ring has no room for more.
 */
static void exact(cpg_handle_t handle, int wanted)
{
	int empty = 0, calls = 0;

	while (calls < wanted) {
		int before = messages + changes;

		if (!readable(handle, MUST_COME)) {
			printf("NOTHING COMES: %d of %d\n", calls, wanted);
			return;
		}
		if (cpg_dispatch(handle, CS_DISPATCH_ONE) != CS_OK)
			printf("dispatch failed\n");
		if (messages + changes == before)
			empty++;
		calls += messages + changes - before;
	}
	printf("calls %d, readable without a call: %s\n", calls, empty > 1 ? "often" : "once at most");
}

static void *send_large(void *argument)
{
	cpg_handle_t handle = *(cpg_handle_t *)argument;

	if (send_bytes(handle, data, 1900000) != CS_OK)
		printf("not sent\n");
	send_text(handle, "small, behind a large one");
	return NULL;
}

static void readable_when_whole(void)
{
	cpg_handle_t handle = joined(&both, "large");
	pthread_t thread;

	section("readable when a whole message is due");
	pump(handle, &changes, 1);
	for (int i = 0; i < 4; i++) {
		pthread_create(&thread, NULL, send_large, &handle);
		messages = changes = 0;
		exact(handle, 2);
		pthread_join(thread, NULL);
	}
	show_readable(handle, 0);
	SHOW(cpg_finalize(handle));
}

static void nobody_wants_it(void)
{
	cpg_callbacks_t change = {NULL, on_change};
	cpg_handle_t handle = joined(&change, "large-no");
	int rounds = 0;

	section("without a deliver function");
	pump(handle, &changes, changes + 1);
	SHOW(send_bytes(handle, data, LARGE));
	while (readable(handle, 300) && rounds++ < 1000) {
		if (cpg_dispatch(handle, CS_DISPATCH_ALL) != CS_OK)
			break;
	}
	printf("passed over: %s\n", rounds > 0 && rounds < 1000 ? "yes" : "no");
	show_readable(handle, 0);
	SHOW(cpg_finalize(handle));
}

static int cut;

static void take(cpg_handle_t handle, const struct cpg_name *group, uint32_t node, uint32_t pid, void *msg, size_t len)
{
	size_t wanted = pid == (uint32_t)getpid() ? 3000001 : 3000000;

	(void)handle, (void)group, (void)node;
	messages++;
	cut += len != wanted || memcmp(msg, data, len) != 0;
}

static void *send_three(void *argument)
{
	for (int i = 0; i < 3; i++)
		send_bytes(*(cpg_handle_t *)argument, data, 3000001);
	return NULL;
}

/* The other process: takes its own copies and the parent's while it sends. */
static int other_process(void)
{
	cpg_callbacks_t callbacks = {take, NULL};
	cpg_handle_t handle = joined(&callbacks, "large-two");

	for (int i = 0; i < 3; i++) {
		send_bytes(handle, data, 3000000);
		cpg_dispatch(handle, CS_DISPATCH_ALL);
	}
	for (long until = now_ms() + MUST_COME; messages < 3 && now_ms() < until; usleep(1000))
		cpg_dispatch(handle, CS_DISPATCH_ALL);
	cpg_finalize(handle);
	return messages < 3;
}

static void two_senders(void)
{
	cpg_callbacks_t callbacks = {take, NULL};
	cpg_handle_t handle;
	pthread_t thread;
	pid_t child = fork();
	int status = -1;

	messages = 0;
	if (child == 0)
		_exit(other_process());
	section("two senders of large messages at a time");
	handle = joined(&callbacks, "large-two");
	pthread_create(&thread, NULL, send_three, &handle);
	/* its own three for sure; of the other's those behind its join */
	while (waitpid(child, &status, WNOHANG) == 0 || messages < 3) {
		if (readable(handle, 10))
			cpg_dispatch(handle, CS_DISPATCH_ALL);
	}
	pthread_join(thread, NULL);
	printf("cut: %d, child ended with %d\n", cut, WEXITSTATUS(status));
	SHOW(cpg_finalize(handle));
}

int main(void)
{
	begin();
	data = malloc(LARGE + 10);
	fill(data, LARGE + 10, 13);
	readable_when_whole();
	nobody_wants_it();
	two_senders();
	free(data);
	return 0;
}
