/*
 * Many threads that share a handle: several send and several dispatch, and nothing is lost or
 * doubled. On the original, senders that do not take turns spoil the connection.
 */
#define SENDERS 4
#define EACH 500
#include "../behaviour/threads.h"

static void round_of(const char *title, int dispatchers)
{
	long errors = run_threads(title, dispatchers);

	printf("delivered %d, twice %d, errors %ld", delivered, doubled, errors);
	/* with several dispatchers the callbacks themselves race */
	printf(", out of order %s\n", dispatchers > 1 ? "not looked at" : disordered ? "some" : "none");
	SHOW(cpg_finalize(shared));
}

static void *own_handle(void *argument)
{
	char name[16];
	cpg_handle_t handle;
	struct cpg_name group;
	long errors = 0;

	snprintf(name, sizeof(name), "own-%d", (int)(intptr_t)argument);
	group = named(name);
	for (int i = 0; i < 20; i++) {
		errors += cpg_initialize(&handle, NULL) != CS_OK;
		errors += cpg_join(handle, &group) != CS_OK;
		errors += send_text(handle, "x") != CS_OK;
		errors += cpg_dispatch(handle, CS_DISPATCH_ONE) != CS_OK;
		errors += cpg_dispatch(handle, CS_DISPATCH_ONE) != CS_OK;
		errors += cpg_leave(handle, &group) != CS_OK;
		errors += cpg_finalize(handle) != CS_OK;
	}
	return (void *)errors;
}

int main(void)
{
	pthread_t threads[8];
	long errors = 0;
	void *result;

	begin();
	round_of("four send, one dispatches", 1);
	round_of("four send, three dispatch", 3);
	section("eight threads with handles of their own");
	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, own_handle, (void *)(intptr_t)i);
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], &result);
		errors += (long)result;
	}
	printf("errors: %ld\n", errors);
	return 0;
}
