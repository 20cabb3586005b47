/*
 * cpgidle [-w] - joins a group as soon as a daemon answers, says so, and stays.
 *
 * It is started before the daemon, prints "ready", and tries once a millisecond. When the join was
 * delivered it prints "joined SECONDS" on the monotonic clock. Then it waits in poll() until its
 * standard input ends; with -w it leaves at once. After ten seconds without a daemon it gives up.
 */
#include <corosync/cpg.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int joined;

static void deliver(cpg_handle_t handle, const struct cpg_name *group, uint32_t nodeid, uint32_t pid, void *msg,
		    size_t len)
{
	(void)handle, (void)group, (void)nodeid, (void)pid, (void)msg, (void)len;
}

static void confchg(cpg_handle_t handle, const struct cpg_name *group, const struct cpg_address *members,
		    size_t member_count, const struct cpg_address *left, size_t left_count,
		    const struct cpg_address *joiners, size_t joiner_count)
{
	(void)handle, (void)group, (void)members, (void)member_count, (void)left, (void)left_count, (void)joiners;
	if (joiner_count > 0)
		joined = 1;
}

static int try_join(cpg_handle_t *handle)
{
	cpg_callbacks_t callbacks;
	struct cpg_name group;

	memset(&callbacks, 0, sizeof(callbacks));
	callbacks.cpg_deliver_fn = deliver;
	callbacks.cpg_confchg_fn = confchg;
	if (cpg_initialize(handle, &callbacks) != CS_OK)
		return 0;
	memset(&group, 0, sizeof(group));
	strcpy(group.value, "idle");
	group.length = 4;
	if (cpg_join(*handle, &group) == CS_OK)
		return 1;
	cpg_finalize(*handle);
	return 0;
}

int main(int argc, char **argv)
{
	cpg_handle_t handle = 0;
	struct timespec nap = {0, 1000000}, now;
	struct pollfd fds[2];
	int fd, tries;

	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	for (tries = 0; !try_join(&handle); tries++) {
		if (tries == 10000) {
			fputs("cpgidle: no daemon\n", stderr);
			return 1;
		}
		nanosleep(&nap, NULL);
	}
	while (!joined) {
		if (cpg_dispatch(handle, CS_DISPATCH_ONE) != CS_OK) {
			fputs("cpgidle: dispatch failed\n", stderr);
			return 1;
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("joined %lld.%09ld\n", (long long)now.tv_sec, now.tv_nsec);
	if (argc > 1 && strcmp(argv[1], "-w") == 0)
		return cpg_finalize(handle) == CS_OK ? 0 : 1;
	cpg_fd_get(handle, &fd);
	fds[0].fd = fd;
	fds[1].fd = STDIN_FILENO;
	fds[0].events = fds[1].events = POLLIN;
	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return 1;
		if (fds[1].revents != 0)
			break;
		if (fds[0].revents != 0 && cpg_dispatch(handle, CS_DISPATCH_ALL) != CS_OK)
			return 1;
	}
	return cpg_finalize(handle) == CS_OK ? 0 : 1;
}
