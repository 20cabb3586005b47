/* A thread that waits in cpg_dispatch while another ends the handle, or is cancelled there: nobody hangs, and the process is no member any more. */
#include "../behaviour/observe.h"
#include <pthread.h>

static cpg_handle_t handle;
static volatile int waiting;

static void *waiter(void *argument)
{
	cs_error_t error;

	waiting = 1;
	error = cpg_dispatch(handle, (cs_dispatch_flags_t)(intptr_t)argument);
	return (void *)(intptr_t)error;
}

static int members(void)
{
	struct cpg_address list[CPG_MEMBERS_MAX];
	struct cpg_name group = named("waiting");
	int count = CPG_MEMBERS_MAX;
	cpg_handle_t other;

	cpg_initialize(&other, NULL);
	cpg_membership_get(other, &group, list, &count);
	cpg_finalize(other);
	return count;
}

static void round_of(const char *title, int flag, int cancel)
{
	pthread_t thread;
	void *result;
	int before = open_descriptors();

	section(title);
	handle = joined(&both, "waiting");
	pump(handle, &changes, changes + 1);
	waiting = 0;
	pthread_create(&thread, NULL, waiter, (void *)(intptr_t)flag);
	while (!waiting)
		usleep(1000);
	usleep(30000);
	if (cancel) {
		pthread_cancel(thread);
		pthread_join(thread, &result);
		printf("thread: %s\n", result == PTHREAD_CANCELED ? "cancelled" : "ended");
		SHOW(cpg_finalize(handle));
	} else {
		SHOW(cpg_finalize(handle));
		pthread_join(thread, &result);
		SAY("thread", (cs_error_t)(intptr_t)result);
	}
	let_go();
	printf("members: %d\n", members());
	printf("descriptors: %s\n", open_descriptors() <= before + cancel ? "closed" : "some are left");
}

int main(void)
{
	begin();
	round_of("finalize, one", CS_DISPATCH_ONE, 0);
	round_of("finalize, blocking", CS_DISPATCH_BLOCKING, 0);
	round_of("cancel, one", CS_DISPATCH_ONE, 1);
	round_of("cancel, blocking", CS_DISPATCH_BLOCKING, 1);
	return 0;
}
