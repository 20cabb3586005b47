/* evs dispatching: each flag, finalize and others inside of callbacks, a thread cancelled or left waiting. Case B93 for evs. */
#include "evs.h"
#include <pthread.h>

static evs_handle_t shared;

static void flags(void)
{
	evs_handle_t handle = evs_joined(&evs_both, "d");

	section("flags");
	SHOW(evs_dispatch(handle, CS_DISPATCH_ONE));
	evs_send(handle, "1", 1);
	evs_send(handle, "2", 1);
	evs_send(handle, "3", 1);
	evs_show_readable(handle, 1);
	SHOW(evs_dispatch(handle, CS_DISPATCH_ONE));
	evs_show_readable(handle, 1);
	SHOW(evs_dispatch(handle, CS_DISPATCH_ONE_NONBLOCKING));
	evs_show_readable(handle, 1);
	SHOW(evs_dispatch(handle, CS_DISPATCH_ALL));
	evs_show_readable(handle, 0);
	SHOW(evs_dispatch(handle, CS_DISPATCH_ALL));
	SHOW(evs_finalize(handle));
}

static void acting_deliver(hdb_handle_t handle, unsigned int node, const void *msg, size_t len)
{
	struct evs_group group = group_of("acts");

	evs_deliver(handle, node, msg, len);
	if (len == 5 && !memcmp(msg, "leave", 5)) {
		SHOW(evs_leave(handle, &group, 1));
		SHOW(evs_join(handle, &group, 1));
		SHOW(evs_context_set(handle, NULL));
		SHOW(evs_send(handle, "end", 3));
	} else if (len == 3 && !memcmp(msg, "end", 3)) {
		SHOW(evs_finalize(handle));
		SHOW(evs_finalize(handle));
	}
}

static void acting_configuration(hdb_handle_t handle, const unsigned int *members, size_t members_count,
				 const unsigned int *left, size_t left_count, const unsigned int *joined_list,
				 size_t joined_count, const struct evs_ring_id *ring)
{
	evs_configuration(handle, members, members_count, left, left_count, joined_list, joined_count, ring);
	SHOW(evs_finalize(handle));
}

static void inside(void)
{
	static const int all[] = {CS_DISPATCH_ONE, CS_DISPATCH_ALL, CS_DISPATCH_BLOCKING, 0, 99};
	evs_callbacks_t callbacks = {acting_deliver, NULL}, configuration = {NULL, acting_configuration};
	cs_error_t error;
	evs_handle_t handle;

	section("inside of callbacks");
	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		printf("flag %d\n", all[i]);
		handle = evs_joined(&callbacks, "acts");
		evs_send(handle, "leave", 5);
		do
			error = evs_dispatch(handle, (cs_dispatch_flags_t)all[i]);
		while (error == CS_OK);
		SAY("dispatch", error);
	}
	printf("in a configuration\n");
	handle = evs_joined(&configuration, "acts");
	SHOW(evs_dispatch(handle, CS_DISPATCH_ONE));
	SHOW(evs_finalize(handle));
}

static void *waiter(void *argument)
{
	return (void *)(intptr_t)evs_dispatch(shared, (cs_dispatch_flags_t)(intptr_t)argument);
}

static void waiting(const char *title, int cancel)
{
	pthread_t thread;
	void *result;

	section(title);
	shared = evs_joined(&evs_both, "waiting");
	evs_pump(shared, &configurations, configurations + 1);
	pthread_create(&thread, NULL, waiter, (void *)(intptr_t)CS_DISPATCH_BLOCKING);
	usleep(30000);
	if (cancel) {
		pthread_cancel(thread);
		pthread_join(thread, &result);
		printf("thread: %s\n", result == PTHREAD_CANCELED ? "cancelled" : "ended");
		SHOW(evs_send(shared, "after it", 8));
		evs_pump(shared, &messages, messages + 1);
		SHOW(evs_finalize(shared));
	} else {
		SHOW(evs_finalize(shared));
		pthread_join(thread, &result);
		SAY("thread", (cs_error_t)(intptr_t)result);
	}
}

int main(void)
{
	begin();
	flags();
	inside();
	waiting("a thread cancelled while it waits", 1);
	waiting("finalize while a thread waits", 0);
	return 0;
}
