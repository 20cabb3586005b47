/* Joins a group and waits for its own message: shows that a daemon serves and a program finds it. */
#include <corosync/cpg.h>
#include <stdio.h>
#include <string.h>

static int delivered;

static void deliver(cpg_handle_t handle, const struct cpg_name *group, uint32_t node, uint32_t pid, void *msg,
		    size_t len)
{
	(void)handle, (void)node, (void)pid;
	printf("%.*s: %.*s\n", (int)group->length, group->value, (int)len, (char *)msg);
	delivered = 1;
}

int main(void)
{
	cpg_callbacks_t callbacks = {deliver, NULL};
	struct cpg_name group = {5, "hello"};
	struct iovec part = {"world", 5};
	cpg_handle_t handle;
	cs_error_t error;

	error = cpg_initialize(&handle, &callbacks);
	if (error == CS_OK)
		error = cpg_join(handle, &group);
	if (error == CS_OK)
		error = cpg_mcast_joined(handle, CPG_TYPE_AGREED, &part, 1);
	while (error == CS_OK && !delivered)
		error = cpg_dispatch(handle, CS_DISPATCH_ONE);
	if (error != CS_OK) {
		fprintf(stderr, "error %d\n", error);
		return 1;
	}
	return 0;
}
