/*
 * Programs that end without finalize: what the others of the group are told, and that a later
 * process has the group for itself.
 */
#include "family.h"

static cpg_handle_t handle;

static void obey(const char *command)
{
	struct cpg_name group = named("exit");
	struct cpg_address list[CPG_MEMBERS_MAX];
	int count = CPG_MEMBERS_MAX;

	cpg_initialize(&handle, &both);
	SOON(cpg_join(handle, &group));
	if (!strcmp(command, "exit"))
		exit(0);
	if (!strcmp(command, "_exit"))
		_exit(5);
	if (!strcmp(command, "abort")) {
		signal(SIGABRT, SIG_DFL);
		abort();
	}
	if (!strcmp(command, "full")) {
		/* with messages that nobody has taken */
		for (int i = 0; i < 100; i++)
			send_text(handle, "untaken");
		/* the original may drop what it has not read when the sender ends: this is behind it */
		cpg_membership_get(handle, &group, list, &count);
		_exit(6);
	}
	if (!strcmp(command, "exec")) {
		/* the connection must not live on in another program */
		answer();
		execlp("sleep", "sleep", "100", NULL);
	}
}

static void count_deliver(cpg_handle_t ours, const struct cpg_name *group, uint32_t node, uint32_t pid, void *msg,
			  size_t len)
{
	(void)ours, (void)group, (void)node, (void)pid, (void)msg, (void)len;
	messages++;
}

int main(void)
{
	cpg_callbacks_t callbacks = {count_deliver, on_change};
	static const char *const ways[] = {"exit", "_exit", "abort", "kill", "full"};
	struct cpg_address list[CPG_MEMBERS_MAX];
	struct cpg_name group = named("exit");
	int seen = 1, count = CPG_MEMBERS_MAX;
	char line[32];

	begin();
	signal(SIGPIPE, SIG_IGN);
	handle = joined(&callbacks, "exit");
	pump(handle, &changes, 1);
	for (int i = 0; i < 5; i++) {
		born(i);
		printf("%s\n", ways[i]);
		snprintf(line, sizeof(line), "%s\n", ways[i]);
		if (write(children[i].commands, line, strlen(line)) < 0)
			printf("p%d does not listen\n", i);
		pump(handle, &changes, ++seen);
		if (!strcmp(ways[i], "kill"))
			kill(children[i].pid, SIGKILL);
		pump(handle, &changes, ++seen);
		if (!strcmp(ways[i], "full"))
			printf("messages: %d\n", messages);
		gone(i, 0);
	}
	printf("exec\n");
	born(5);
	tell(5, "exec");
	pump(handle, &changes, seen + 1);
	if (readable(handle, 1000))
		pump(handle, &changes, seen + 2);
	else
		printf("still a member\n");
	gone(5, SIGKILL);
	pump(handle, &changes, seen + 2);
	SHOW(cpg_membership_get(handle, &group, list, &count));
	printf("members: %d\n", count);
	/* and this one ends without finalize, too */
	return 0;
}
