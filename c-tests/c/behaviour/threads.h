/*
 * Threads that send numbered messages on one handle, and threads that dispatch it. Whoever includes
 * this defines SENDERS and EACH, the number of messages of each.
 */
#include "observe.h"
#include <pthread.h>

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

/* Starts all, waits until all is delivered, and ends them; returns what went wrong. */
static long run_threads(const char *title, int dispatchers)
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
	return errors;
}
