/*
 * Threads that share a handle: one sends and one dispatches, and nothing is lost or doubled; a
 * thread that is cancelled while it waits in cpg_dispatch, as fence_virtd does it.
 */
#define SENDERS 1
#define EACH 2000
#include "threads.h"

static void round_of(const char *title, int dispatchers)
{
	long errors = run_threads(title, dispatchers);

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
