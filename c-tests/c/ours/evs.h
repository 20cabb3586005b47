/* What the evs programs share: callbacks that print, groups by a letter, joining in one step. */
#ifndef EVS_OBSERVE_H
#define EVS_OBSERVE_H

#include "../behaviour/observe.h"
#include <corosync/evs.h>

static int configurations;

UNUSED static struct evs_group group_of(const char *text)
{
	struct evs_group group;

	memset(&group, 0, sizeof(group));
	strncpy(group.key, text, sizeof(group.key) - 1);
	return group;
}

UNUSED static void evs_deliver(hdb_handle_t handle, unsigned int node, const void *msg, size_t len)
{
	(void)handle;
	messages++;
	printf("  deliver from %u, %zu bytes", node, len);
	if (len > 0 && len <= 40 && is_text(msg, len))
		printf(": %.*s", (int)len, (const char *)msg);
	else if (len > 0)
		printf(", sum %08x", checksum(msg, len));
	putchar('\n');
}

UNUSED static void print_nodes(const char *title, const unsigned int *list, size_t count)
{
	printf(" %s [", title);
	for (size_t i = 0; i < count; i++)
		printf("%s%u", i ? " " : "", list[i]);
	printf("]");
}

UNUSED static void evs_configuration(hdb_handle_t handle, const unsigned int *members, size_t members_count,
				     const unsigned int *left, size_t left_count, const unsigned int *joined_list,
				     size_t joined_count, const struct evs_ring_id *ring)
{
	(void)handle;
	configurations++;
	printf("  configuration");
	print_nodes("members", members, members_count);
	print_nodes("left", left, left_count);
	print_nodes("joined", joined_list, joined_count);
	if (ring)
		printf(" ring of %u, number %s\n", ring->nodeid, ring->seq ? "not 0" : "0");
	else
		printf(" no ring\n");
}

static evs_callbacks_t evs_both UNUSED = {evs_deliver, evs_configuration};

UNUSED static int evs_readable(evs_handle_t handle, int ms)
{
	struct pollfd entry = {-1, POLLIN, 0};

	evs_fd_get(handle, &entry.fd);
	return poll(&entry, 1, ms) == 1 && (entry.revents & POLLIN);
}

UNUSED static void evs_show_readable(evs_handle_t handle, int expected)
{
	printf("fd: %s\n", evs_readable(handle, expected ? MUST_COME : MUST_NOT_COME) ? "readable" : "quiet");
}

UNUSED static int evs_pump(evs_handle_t handle, const int *counter, int value)
{
	while (*counter < value) {
		if (!evs_readable(handle, MUST_COME)) {
			printf("  NOTHING COMES: %d of %d\n", *counter, value);
			return 0;
		}
		if (evs_dispatch(handle, CS_DISPATCH_ONE) != CS_OK) {
			printf("  dispatch failed\n");
			return 0;
		}
	}
	return 1;
}

/* A handle that has joined a group and taken the first configuration, silently. */
UNUSED static evs_handle_t evs_joined(evs_callbacks_t *callbacks, const char *text)
{
	struct evs_group group = group_of(text);
	evs_handle_t handle = 0;

	if (evs_initialize(&handle, callbacks) != CS_OK || evs_join(handle, &group, 1) != CS_OK)
		printf("cannot join %s\n", text);
	return handle;
}

UNUSED static cs_error_t evs_send(evs_handle_t handle, const void *data, size_t len)
{
	struct iovec part = {(void *)(uintptr_t)data, len};
	cs_error_t error;

	while ((error = evs_mcast_joined(handle, EVS_TYPE_AGREED, &part, 1)) == CS_ERR_TRY_AGAIN)
		usleep(1000);
	return error;
}

#endif
