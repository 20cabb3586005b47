/* evs handles: initialize, context, descriptor, membership, finalize; every function on bad handles and with null pointers. */
#include "evs.h"

static void every(const char *title, evs_handle_t handle)
{
	unsigned int node, list[64];
	struct evs_group group = group_of("g");
	struct iovec part = {"x", 1};
	size_t count = 64;
	void *context;
	int fd;

	section(title);
	SHOW(evs_fd_get(handle, &fd));
	SHOW(evs_context_get(handle, &context));
	SHOW(evs_context_set(handle, NULL));
	SHOW(evs_dispatch(handle, CS_DISPATCH_ONE));
	SHOW(evs_dispatch(handle, CS_DISPATCH_ALL));
	SHOW(evs_dispatch(handle, CS_DISPATCH_BLOCKING));
	SHOW(evs_join(handle, &group, 1));
	SHOW(evs_leave(handle, &group, 1));
	SHOW(evs_mcast_joined(handle, EVS_TYPE_AGREED, &part, 1));
	SHOW(evs_mcast_groups(handle, EVS_TYPE_AGREED, &group, 1, &part, 1));
	SHOW(evs_membership_get(handle, &node, list, &count));
	SHOW(evs_finalize(handle));
}

static void nulls(evs_handle_t handle)
{
	unsigned int node, list[64];
	struct evs_group group = group_of("g");
	struct iovec part = {"x", 1}, hole = {NULL, 10};
	size_t count = 64;

	section("null pointers");
	SHOW(evs_initialize(NULL, &evs_both));
	SHOW(evs_fd_get(handle, NULL));
	SHOW(evs_context_get(handle, NULL));
	SHOW(evs_join(handle, NULL, 1));
	SHOW(evs_join(handle, NULL, 0));
	SHOW(evs_leave(handle, NULL, 1));
	SHOW(evs_leave(handle, NULL, 0));
	SHOW(evs_mcast_joined(handle, EVS_TYPE_AGREED, NULL, 1));
	SHOW(evs_mcast_joined(handle, EVS_TYPE_AGREED, &hole, 1));
	SHOW(evs_mcast_groups(handle, EVS_TYPE_AGREED, NULL, 1, &part, 1));
	SHOW(evs_mcast_groups(handle, EVS_TYPE_AGREED, &group, 1, NULL, 1));
	SHOW(evs_membership_get(handle, NULL, list, &count));
	SHOW(evs_membership_get(handle, &node, NULL, &count));
	SHOW(evs_membership_get(handle, &node, list, NULL));
}

int main(void)
{
	evs_handle_t handle = 0, other = 0;
	unsigned int node = 77, list[64] = {0};
	size_t count = 64;
	void *context = &handle;
	struct stat status;
	int fd = -1, same = -2, before;

	begin();
	before = open_descriptors();
	SHOW(evs_initialize(&handle, &evs_both));
	SHOW(evs_initialize(&other, NULL));
	printf("handles: %s\n", handle && other && handle != other ? "different" : "odd");
	SHOW(evs_fd_get(handle, &fd));
	SHOW(evs_fd_get(handle, &same));
	printf("descriptor: %s\n", fd == same && fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) ? "a socket" : "odd");
	SHOW(evs_context_get(handle, &context));
	printf("context: %s\n", context ? "not null" : "null");
	SHOW(evs_context_set(handle, &count));
	SHOW(evs_context_get(handle, &context));
	printf("context: %s\n", context == &count ? "as set" : "another");
	section("the first configuration comes without a join");
	evs_show_readable(handle, 1);
	SHOW(evs_dispatch(handle, CS_DISPATCH_ONE));
	evs_show_readable(handle, 0);
	SHOW(evs_dispatch(handle, CS_DISPATCH_ALL));
	SHOW(evs_dispatch(handle, CS_DISPATCH_ONE_NONBLOCKING));
	SHOW(evs_membership_get(handle, &node, list, &count));
	printf("node %u, members %zu, the first %u\n", node, count, list[0]);
	for (count = 0; count < 2; count++) {
		size_t room = count;

		list[0] = 0;
		SAY("with less room", evs_membership_get(handle, &node, list, &room));
		printf("said %zu, answered %zu, the first %u\n", count, room, list[0]);
	}
	section("null callbacks");
	evs_show_readable(other, 1);
	SHOW(evs_dispatch(other, CS_DISPATCH_ONE));
	evs_show_readable(other, 0);
	nulls(handle);
	section("finalize");
	SHOW(evs_finalize(handle));
	SHOW(evs_finalize(handle));
	SHOW(evs_finalize(other));
	printf("descriptors: %s\n", open_descriptors() == before ? "as before" : "some are left");
	every("handle 0", 0);
	every("handle of ones", UINT64_MAX);
	every("finalized handle", handle);
	return 0;
}
