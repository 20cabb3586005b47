/*
 * More messages than fit anywhere: the sender is told to try again and does, and every message
 * arrives once, in order, at a reader that is slow to begin.
 */
#include "observe.h"
#include <pthread.h>

#define COUNT 6000
#define SIZE 2000

static cpg_handle_t handle;
static int delivered, wrong;

static void take(cpg_handle_t ours, const struct cpg_name *group, uint32_t node, uint32_t pid, void *msg, size_t len)
{
	int number = -1;

	(void)ours, (void)group, (void)node, (void)pid;
	if (len >= sizeof(number))
		memcpy(&number, msg, sizeof(number));
	wrong += len != SIZE || number != delivered;
	delivered++;
}

static cpg_callbacks_t callbacks = {take, NULL};

static void send_all(void)
{
	char message[SIZE];
	struct iovec part = {message, SIZE};

	memset(message, 's', SIZE);
	for (int number = 0; number < COUNT; number++) {
		cs_error_t error;

		memcpy(message, &number, sizeof(number));
		while ((error = cpg_mcast_joined(handle, CPG_TYPE_AGREED, &part, 1)) == CS_ERR_TRY_AGAIN)
			usleep(500);
		if (error != CS_OK) {
			printf("send: %s\n", code(error));
			return;
		}
	}
}

static void *own_sender(void *argument)
{
	(void)argument;
	send_all();
	return NULL;
}

static void receive(const char *title)
{
	for (long until = now_ms() + MUST_COME; delivered < COUNT && now_ms() < until;) {
		if (readable(handle, 100))
			cpg_dispatch(handle, CS_DISPATCH_ALL);
	}
	printf("%s: %d of %d, %d wrong\n", title, delivered, COUNT, wrong);
}

int main(void)
{
	cpg_flow_control_state_t state = 77;
	pthread_t thread;

	begin();
	handle = joined(&callbacks, "flow-own");
	pthread_create(&thread, NULL, own_sender, NULL);
	usleep(100000);
	receive("two threads");
	pthread_join(thread, NULL);
	SHOW(cpg_flow_control_state_get(handle, &state));
	printf("state at the end: %d\n", (int)state);
	show_readable(handle, 0);
	SHOW(cpg_finalize(handle));
	return 0;
}
