/*
 * A process that forks: the child has a connection of its own beside the parent's, its end does
 * not touch the parent's, and it can send on the parent's handle while the parent does not.
 */
#include "observe.h"

static cpg_handle_t handle;

/* Runs a function in a child and waits for its end. */
static void in_child(const char *title, int (*body)(void))
{
	int status = 0;
	pid_t pid;

	section(title);
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(body());
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		printf("child: signal %d\n", WTERMSIG(status));
	else
		printf("child: %d\n", WEXITSTATUS(status));
}

/* That the parent's handle is whole. */
static void parent_works(void)
{
	int before = messages;

	SHOW(send_text(handle, "from the parent"));
	pump(handle, &messages, before + 1);
}

static int nothing(void)
{
	return 0;
}

static int own_connection(void)
{
	struct cpg_name group = named("fork-child");
	cpg_handle_t own;

	people->pids[1] = getpid();
	SOON(cpg_initialize(&own, &both));
	SOON(cpg_join(own, &group));
	pump(own, &changes, changes + 1);
	SHOW(send_text(own, "from the child"));
	pump(own, &messages, messages + 1);
	SHOW(cpg_finalize(own));
	return 4;
}

static int sends(void)
{
	SHOW(send_text(handle, "by the child on the parent's handle"));
	return 5;
}

static int same_group(void)
{
	struct cpg_name group = named("fork");
	cpg_handle_t own;

	people->pids[2] = getpid();
	SOON(cpg_initialize(&own, &both));
	SOON(cpg_join(own, &group));
	pump(own, &changes, changes + 1);
	return 6;
}

int main(void)
{
	begin();
	people->pids[0] = getpid();
	handle = joined(&both, "fork");
	pump(handle, &changes, 1);
	in_child("a child that ends at once", nothing);
	parent_works();
	in_child("a child with a connection of its own", own_connection);
	parent_works();
	in_child("a child in the parent's group", same_group);
	pump(handle, &changes, 3);
	parent_works();
	in_child("a child that sends on the parent's handle", sends);
	pump(handle, &messages, messages + 1);
	parent_works();
	SHOW(cpg_finalize(handle));
	return 0;
}
