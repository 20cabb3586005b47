/*
 * What a program sees when the daemon is killed, and that it can go on with the next one.
 *
 * gone blocked|polling|calling|sending|zerocopy|evs|later. Prints "ready"; when the daemon is gone
 * "gone CODE" with what the waiting call returned; then tries every other call, finalizes, waits for
 * a daemon, serves itself one message, and prints "again". Exit code 0: all as it should be.
 */
#include <corosync/cpg.h>
#include <corosync/evs.h>
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int delivered, broken;

static void deliver(cpg_handle_t handle, const struct cpg_name *group, uint32_t node, uint32_t pid, void *msg,
		    size_t len)
{
	(void)handle, (void)group, (void)node, (void)pid, (void)msg, (void)len;
	delivered++;
}

static void evs_deliver(hdb_handle_t handle, unsigned int node, const void *msg, size_t len)
{
	(void)handle, (void)node, (void)msg, (void)len;
}

static void evs_confchg(hdb_handle_t handle, const unsigned int *members, size_t member_count,
			const unsigned int *left, size_t left_count, const unsigned int *joined,
			size_t joined_count, const struct evs_ring_id *ring)
{
	(void)handle, (void)members, (void)member_count, (void)left, (void)left_count;
	(void)joined, (void)joined_count, (void)ring;
}

static cpg_callbacks_t callbacks = {deliver, NULL};
static struct cpg_name name = {4, "gone"};

static void expect(int got, int wanted, const char *what)
{
	if (got != wanted) {
		printf("broken: %s is %d, not %d\n", what, got, wanted);
		broken++;
	}
}

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (dir && readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* Until the daemon is gone; returns what the call said then. */
static int watch(const char *how, cpg_handle_t handle, evs_handle_t evs, int fd)
{
	struct iovec part = {"message", 7};
	struct pollfd polled = {fd, POLLIN, 0};
	cs_error_t error = CS_OK;
	unsigned int node;
	void *buffer;
	char line[16];

	if (!strcmp(how, "blocked"))
		return cpg_dispatch(handle, CS_DISPATCH_BLOCKING);
	if (!strcmp(how, "evs"))
		return evs_dispatch(evs, EVS_DISPATCH_BLOCKING);
	if (!strcmp(how, "later")) {
		if (!fgets(line, sizeof line, stdin))
			return -1;
		return cpg_local_get(handle, &node);
	}
	if (!strcmp(how, "zerocopy") && cpg_zcb_alloc(handle, 100, &buffer) != CS_OK)
		return -1;
	for (;;) {
		if (!strcmp(how, "polling")) {
			int ready = poll(&polled, 1, 10000);

			error = cpg_dispatch(handle, CS_DISPATCH_ALL);
			if (error == CS_OK && ready && polled.revents & POLLHUP)
				return -2;
		} else if (!strcmp(how, "calling")) {
			error = cpg_local_get(handle, &node);
		} else if (!strcmp(how, "sending")) {
			error = cpg_mcast_joined(handle, CPG_TYPE_AGREED, &part, 1);
			cpg_dispatch(handle, CS_DISPATCH_ALL);
		} else {
			error = cpg_zcb_mcast_joined(handle, CPG_TYPE_AGREED, buffer, 100);
			cpg_dispatch(handle, CS_DISPATCH_ALL);
		}
		if (error != CS_OK && error != CS_ERR_TRY_AGAIN)
			return error;
	}
}

static void everything_fails(cpg_handle_t handle)
{
	struct cpg_address members[8];
	struct iovec part = {"message", 7};
	unsigned int node;
	int count = 8;

	/* what was due before is still handed out, once */
	if (cpg_dispatch(handle, CS_DISPATCH_ALL) == CS_OK)
		expect(cpg_dispatch(handle, CS_DISPATCH_ALL), CS_ERR_LIBRARY, "dispatch");
	expect(cpg_dispatch(handle, CS_DISPATCH_ONE), CS_ERR_LIBRARY, "dispatch of one");
	expect(cpg_join(handle, &name), CS_ERR_LIBRARY, "join");
	expect(cpg_leave(handle, &name), CS_ERR_LIBRARY, "leave");
	expect(cpg_mcast_joined(handle, CPG_TYPE_AGREED, &part, 1), CS_ERR_LIBRARY, "mcast");
	expect(cpg_membership_get(handle, &name, members, &count), CS_ERR_LIBRARY, "membership");
	expect(cpg_local_get(handle, &node), CS_ERR_LIBRARY, "local");
}

static int starts_again(void)
{
	struct iovec part = {"message", 7};
	cpg_handle_t handle;

	for (int tries = 0; cpg_initialize(&handle, &callbacks) != CS_OK; tries++) {
		if (tries > 2000)
			return 0;
		usleep(5000);
	}
	expect(cpg_join(handle, &name), CS_OK, "join of the new handle");
	expect(cpg_mcast_joined(handle, CPG_TYPE_AGREED, &part, 1), CS_OK, "mcast of the new handle");
	delivered = 0;
	while (!delivered && cpg_dispatch(handle, CS_DISPATCH_ONE) == CS_OK)
		;
	expect(delivered, 1, "messages of the new handle");
	expect(cpg_finalize(handle), CS_OK, "finalize of the new handle");
	return 1;
}

int main(int argc, char **argv)
{
	evs_callbacks_t evs_callbacks = {evs_deliver, evs_confchg};
	struct pollfd polled = {-1, POLLIN, 0};
	int before = descriptors(), code, evs_wanted;
	cpg_handle_t handle;
	evs_handle_t evs = 0;

	if (argc < 2)
		return 2;
	evs_wanted = !strcmp(argv[1], "evs");
	expect(cpg_initialize(&handle, &callbacks), CS_OK, "initialize");
	expect(cpg_join(handle, &name), CS_OK, "join");
	cpg_fd_get(handle, &polled.fd);
	if (evs_wanted)
		expect(evs_initialize(&evs, &evs_callbacks), EVS_OK, "evs initialize");
	printf("ready\n");
	fflush(stdout);
	code = watch(argv[1], handle, evs, polled.fd);
	printf("gone %d\n", code);
	fflush(stdout);
	everything_fails(handle);
	expect(poll(&polled, 1, 2000), 1, "poll");
	expect(!!(polled.revents & POLLHUP), 1, "hang-up of the descriptor");
	code = cpg_finalize(handle);
	printf("finalize %d\n", code);
	expect(cpg_finalize(handle), CS_ERR_BAD_HANDLE, "second finalize");
	if (evs_wanted) {
		evs_finalize(evs);
		expect(evs_finalize(evs), EVS_ERR_BAD_HANDLE, "second evs finalize");
	}
	expect(starts_again(), 1, "a new start");
	expect(descriptors(), before, "number of descriptors");
	printf("again\n");
	return broken > 0;
}
