/*
 * Several processes in one group: who sees whom come and go, for which reason, in which order; and
 * the messages between the changes. Ways to go: leave, finalize, exit, kill.
 */
#include "family.h"

static cpg_handle_t handle;

/* join | leave | finalize | send TEXT | changes N | messages N | exit | quiet */
static void obey(const char *command)
{
	static struct cpg_name group;

	group = named("members");
	if (!strcmp(command, "join")) {
		cpg_initialize(&handle, &both);
		SOON(cpg_join(handle, &group));
	} else if (!strcmp(command, "leave")) {
		SOON(cpg_leave(handle, &group));
	} else if (!strcmp(command, "finalize")) {
		SHOW(cpg_finalize(handle));
	} else if (!strncmp(command, "send ", 5)) {
		if (send_text(handle, command + 5) != CS_OK)
			printf("not sent\n");
	} else if (!strncmp(command, "changes ", 8)) {
		pump(handle, &changes, atoi(command + 8));
	} else if (!strncmp(command, "messages ", 9)) {
		pump(handle, &messages, atoi(command + 9));
	} else if (!strcmp(command, "quiet")) {
		show_readable(handle, 0);
	} else if (!strcmp(command, "exit")) {
		exit(7);
	}
}

static void all(int from, int to, const char *command)
{
	for (int i = from; i <= to; i++)
		tell(i, command);
}

int main(void)
{
	int lines[CHILDREN];

	begin();
	for (int i = 0; i < 6; i++) {
		born(i);
		lines[i] = lines_of(i);
	}
	/* p0 sees all of it, the others come one by one */
	tell(0, "join");
	tell(0, "changes 1");
	for (int i = 1; i < 6; i++) {
		char command[32];

		tell(i, "join");
		tell(i, "changes 1");
		for (int j = 0; j < i; j++) {
			snprintf(command, sizeof(command), "changes %d", i - j + 1);
			tell(j, command);
		}
	}
	tell(1, "send a");
	tell(0, "messages 1");
	tell(5, "send b");
	tell(0, "send c");
	all(0, 5, "messages 3");
	/* the ways to go, from the last to the first */
	tell(5, "leave");
	tell(5, "changes 2");
	tell(5, "quiet");
	tell(0, "changes 7");
	tell(4, "finalize");
	tell(0, "changes 8");
	kill(children[3].pid, SIGKILL);
	tell(0, "changes 9");
	if (write(children[2].commands, "exit\n", 5) != 5)
		printf("p2 does not listen\n");
	tell(0, "changes 10");
	/* a message between two changes is seen between them by those who stay */
	tell(1, "send before the leave");
	tell(1, "leave");
	tell(0, "changes 11");
	tell(1, "changes 10");
	tell(1, "messages 4");
	tell(0, "messages 4");
	all(0, 1, "quiet");
	tell(0, "send alone");
	tell(0, "messages 5");
	tell(0, "finalize");
	for (int i = 0; i < 6; i++)
		transcript(i, lines[i]);
	section("ends");
	for (int i = 0; i < 6; i++)
		gone(i, 0);
	return 0;
}
