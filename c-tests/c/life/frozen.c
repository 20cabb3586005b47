/*
 * A daemon that is stopped but not dead. frozen fresh|connected
 *
 * fresh: waits for a line, then initializes cpg and evs, and prints both codes.
 * connected: joins, prints "ready", waits for a line, prints "readable N" (whether the descriptor
 * says so while nothing is due), asks for the local node and the members, and prints the codes.
 */
#include <corosync/cpg.h>
#include <corosync/evs.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

static void confchg(cpg_handle_t handle, const struct cpg_name *group, const struct cpg_address *members,
		    size_t member_count, const struct cpg_address *left, size_t left_count,
		    const struct cpg_address *added, size_t added_count)
{
	(void)handle, (void)group, (void)members, (void)member_count;
	(void)left, (void)left_count, (void)added, (void)added_count;
}

static void wait_for_line(void)
{
	char line[16];

	printf("ready\n");
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		line[0] = 0;
}

int main(int argc, char **argv)
{
	cpg_callbacks_t callbacks = {NULL, confchg};
	struct cpg_address members[16];
	struct cpg_name group = {6, "frozen"};
	struct pollfd polled = {-1, POLLIN, 0};
	unsigned int node = 0;
	cpg_handle_t cpg = 0;
	evs_handle_t evs = 0;
	int count = 16, first, second;

	if (argc > 1 && !strcmp(argv[1], "fresh")) {
		wait_for_line();
		first = cpg_initialize(&cpg, &callbacks);
		second = evs_initialize(&evs, NULL);
		printf("codes %d %d\n", first, second);
		return 0;
	}
	if (cpg_initialize(&cpg, &callbacks) != CS_OK)
		return 1;
	group.length = snprintf(group.value, sizeof group.value, "frozen%d", argc > 2 ? argv[2][0] : 0);
	if (cpg_join(cpg, &group) != CS_OK)
		return 1;
	cpg_fd_get(cpg, &polled.fd);
	/* one event is due: the join itself */
	while (poll(&polled, 1, 1000) == 1)
		if (cpg_dispatch(cpg, CS_DISPATCH_ALL) != CS_OK)
			return 1;
	wait_for_line();
	printf("readable %d\n", poll(&polled, 1, 0));
	fflush(stdout);
	first = cpg_local_get(cpg, &node);
	second = cpg_membership_get(cpg, &group, members, &count);
	printf("codes %d %d node %u members %d\n", first, second, node, count);
	return 0;
}
