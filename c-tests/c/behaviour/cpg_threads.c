/*
 * Threads that share a handle: one sends and one dispatches, and nothing is lost or doubled; a
 * thread that is cancelled while it waits in cpg_dispatch, as fence_virtd does it.
 */
#include "observe.h"
#include <pthread.h>

#define SENDERS 1
#define EACH 2000

static cpg_handle_t shared;
static unsigned char seen[SENDERS][EACH];
static int delivered, doubled, disordered, last[SENDERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int done;

static void take(cpg_handle_t handle, const struct cpg_name *group, uint32_t node, uint32_t pid, void *msg, size_t len)
{
	int numbers[2];

	(void)handle, (void)group, (void)node, (void)pid;
	if (len < sizeof(numbers))
		return;
	memcpy(numbers, msg, sizeof(numbers));
	pthread_mutex_lock(&lock);
	doubled += seen[numbers[0]][numbers[1]]++ != 0;
	disordered += numbers[1] < last[numbers[0]];
	last[numbers[0]] = numbers[1];
	delivered++;
	pthread_mutex_unlock(&lock);
}

static void *sender(void *argument)
{
	char message[300];
	int numbers[2] = {(int)(intptr_t)argument, 0};

	memset(message, 'm', sizeof(message));
	for (; numbers[1] < EACH; numbers[1]++) {
		memcpy(message, numbers, sizeof(numbers));
		if (send_bytes(shared, message, 8 + (size_t)numbers[1] % 292) != CS_OK)
			return (void *)1;
	}
	return NULL;
}

static void *dispatcher(void *argument)
{
	long errors = 0;

	(void)argument;
	while (!done) {
		cs_error_t error = cpg_dispatch(shared, CS_DISPATCH_ALL);

		errors += error != CS_OK && error != CS_ERR_TRY_AGAIN;
		usleep(200);
	}
	return (void *)errors;
}

static void round_of(const char *title, int dispatchers)
{
	cpg_callbacks_t callbacks = {take, NULL};
	pthread_t threads[SENDERS + 8];
	long until, errors = 0;
	void *result;
	int i;

	section(title);
	memset(seen, 0, sizeof(seen));
	memset(last, 0, sizeof(last));
	delivered = doubled = disordered = done = 0;
	shared = joined(&callbacks, "threads");
	for (i = 0; i < SENDERS; i++)
		pthread_create(&threads[i], NULL, sender, (void *)(intptr_t)i);
	for (; i < SENDERS + dispatchers; i++)
		pthread_create(&threads[i], NULL, dispatcher, NULL);
	for (until = now_ms() + MUST_COME; delivered < SENDERS * EACH && now_ms() < until;)
		usleep(1000);
	done = 1;
	for (i = 0; i < SENDERS + dispatchers; i++) {
		pthread_join(threads[i], &result);
		errors += (long)result;
	}
	printf("delivered %d, twice %d, errors %ld", delivered, doubled, errors);
	printf(", out of order %s\n", disordered ? "some" : "none");
	SHOW(cpg_finalize(shared));
}

static void *waiter(void *argument)
{
	int flag = (int)(intptr_t)argument;

	cpg_dispatch(shared, (cs_dispatch_flags_t)flag);
	printf("CAME BACK\n");
	return NULL;
}

static void cancelled(const char *title, int flag)
{
	struct cpg_name group = named("cancel");
	pthread_t thread;
	void *result = NULL;
	int before = messages;

	printf("%s\n", title);
	shared = joined(&both, "cancel");
	pump(shared, &changes, changes + 1);
	pthread_create(&thread, NULL, waiter, (void *)(intptr_t)flag);
	usleep(50000);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	printf("thread: %s\n", result == PTHREAD_CANCELED ? "cancelled" : "ended");
	SHOW(send_text(shared, "after the cancel"));
	pump(shared, &messages, before + 1);
	SOON(cpg_leave(shared, &group));
	SHOW(cpg_finalize(shared));
	SHOW(cpg_finalize(shared));
}

int main(void)
{
	begin();
	round_of("one sends, one dispatches", 1);
	section("cancelled while waiting");
	cancelled("one", CS_DISPATCH_ONE);
	cancelled("blocking", CS_DISPATCH_BLOCKING);
	return 0;
}
