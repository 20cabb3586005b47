/* Case B20: the atomic limit, what is said about it, and messages at it and beyond; whole or not at all. */
#include "observe.h"

static size_t got;
static uint32_t sum;

static void take(cpg_handle_t handle, const struct cpg_name *group, uint32_t node, uint32_t pid, void *msg, size_t len)
{
	(void)handle, (void)group, (void)node, (void)pid;
	messages++;
	got = len;
	sum = checksum(msg, len);
}

static void mcast(cpg_handle_t handle, const char *title, void *data, size_t len)
{
	int before = messages;
	cs_error_t error = send_bytes(handle, data, len);

	SAY(title, error);
	if (error == CS_OK && pump(handle, &messages, before + 1))
		printf("  %s, %s\n", got == len ? "whole" : "cut", sum == checksum(data, len) ? "as sent" : "DIFFERENT");
}

int main(void)
{
	cpg_callbacks_t callbacks = {take, NULL};
	cpg_handle_t handle;
	uint32_t limit = 0;
	void *data;

	begin();
	data = malloc(16 << 20);
	fill(data, 16 << 20, 5);
	handle = joined(&callbacks, "b20");
	cpg_dispatch(handle, CS_DISPATCH_ONE);
	SHOW(cpg_max_atomic_msgsize_get(handle, &limit));
	printf("limit: %u\n", limit);
	mcast(handle, "limit - 1", data, limit - 1);
	mcast(handle, "limit", data, limit);
	mcast(handle, "limit + 1", data, limit + 1);
	mcast(handle, "twice the limit", data, 2 * (size_t)limit);
	mcast(handle, "16 MiB", data, 16 << 20);
	mcast(handle, "nothing", data, 0);
	show_readable(handle, 0);
	SHOW(cpg_finalize(handle));
	return 0;
}
