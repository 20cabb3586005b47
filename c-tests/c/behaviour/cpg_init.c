/* Handles: initialize in both forms, finalize, context, descriptor, node, limits; every function on bad handles. */
#include "observe.h"

static struct cpg_name group;

static void plain(void)
{
	cpg_handle_t handle = 0, other = 0;
	struct stat status;
	void *context = &handle;
	unsigned int node = 77, again = 78;
	uint32_t size = 77;
	cpg_flow_control_state_t state = 77;
	int fd = -1, same = -2, before = open_descriptors();

	section("plain");
	SOON(cpg_initialize(&handle, &both));
	SOON(cpg_initialize(&other, NULL));
	printf("handles: %s, %s\n", handle && other ? "not 0" : "0", handle != other ? "different" : "the same");
	SHOW(cpg_fd_get(handle, &fd));
	SHOW(cpg_fd_get(handle, &same));
	printf("descriptor: %s, %s\n", fd >= 0 && fd == same ? "always the same" : "odd",
	       fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) ? "a socket" : "no socket");
	SHOW(cpg_fd_get(other, &same));
	printf("of the other handle: %s\n", fd != same ? "another" : "the same");
	SHOW(cpg_context_get(handle, &context));
	printf("context: %s\n", context == NULL ? "null" : "not null");
	SHOW(cpg_context_set(handle, &size));
	SHOW(cpg_context_get(handle, &context));
	printf("context: %s\n", context == &size ? "as set" : "another");
	SHOW(cpg_context_set(handle, NULL));
	SHOW(cpg_context_get(handle, &context));
	printf("context: %s\n", context == NULL ? "null" : "not null");
	SHOW(cpg_local_get(handle, &node));
	SHOW(cpg_local_get(other, &again));
	printf("node: %u, %u\n", node, again);
	SHOW(cpg_max_atomic_msgsize_get(handle, &size));
	printf("size: %u\n", size);
	SHOW(cpg_flow_control_state_get(handle, &state));
	printf("flow control: %d\n", (int)state);
	show_readable(handle, 0);
	SHOW(cpg_dispatch(handle, CS_DISPATCH_ALL));
	SHOW(cpg_dispatch(handle, CS_DISPATCH_ONE_NONBLOCKING));
	SHOW(cpg_finalize(handle));
	SHOW(cpg_finalize(handle));
	SHOW(cpg_finalize(other));
	printf("descriptors: %s\n", open_descriptors() == before ? "as before" : "some are left");
}

static void models(void)
{
	static const unsigned int flags[] = {0, 1, 2, 3, 0x80000000u};
	static const int unknown[] = {0, 2, 99, -1};
	cpg_model_v1_data_t data;
	cpg_handle_t handle = 0;
	void *context = NULL;
	unsigned int i;
	char text[64];

	section("models");
	memset(&data, 0, sizeof(data));
	data.model = CPG_MODEL_V1;
	data.cpg_deliver_fn = on_deliver;
	SOON(cpg_model_initialize(&handle, CPG_MODEL_V1, (cpg_model_data_t *)&data, &data));
	SHOW(cpg_context_get(handle, &context));
	printf("context: %s\n", context == &data ? "as given" : "another");
	SHOW(cpg_finalize(handle));
	SOON(cpg_model_initialize(&handle, CPG_MODEL_V1, NULL, NULL));
	SHOW(cpg_context_get(handle, &context));
	printf("context: %s\n", context == NULL ? "null" : "not null");
	SHOW(cpg_finalize(handle));
	data.model = 99;
	printf("a model in the data that is not the argument\n");
	SOON(cpg_model_initialize(&handle, CPG_MODEL_V1, (cpg_model_data_t *)&data, NULL));
	SHOW(cpg_finalize(handle));
	for (i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		snprintf(text, sizeof(text), "model %d", unknown[i]);
		SAY(text, cpg_model_initialize(&handle, (cpg_model_t)unknown[i], (cpg_model_data_t *)&data, NULL));
	}
	data.model = CPG_MODEL_V1;
	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		cs_error_t error;

		data.flags = flags[i];
		snprintf(text, sizeof(text), "flags %#x", flags[i]);
		error = cpg_model_initialize(&handle, CPG_MODEL_V1, (cpg_model_data_t *)&data, NULL);
		SAY(text, error);
		if (error == CS_OK)
			SHOW(cpg_finalize(handle));
	}
}

static void many(void)
{
	cpg_handle_t handles[40];
	int i, j, bad = 0, same = 0;

	section("40 handles");
	for (i = 0; i < 40; i++) {
		bad += cpg_initialize(&handles[i], &both) != CS_OK;
		for (j = 0; j < i; j++)
			same += handles[i] == handles[j];
	}
	for (i = 39; i >= 0; i--)
		bad += cpg_finalize(handles[i]) != CS_OK;
	for (i = 0; i < 40; i++)
		bad += cpg_finalize(handles[i]) != CS_ERR_BAD_HANDLE;
	printf("errors: %d, the same: %d\n", bad, same);
}

static void bad(const char *title, cpg_handle_t handle)
{
	struct cpg_address members[CPG_MEMBERS_MAX];
	struct cpg_iteration_description_t description;
	cpg_iteration_handle_t iteration = 0;
	cpg_flow_control_state_t state;
	struct iovec part = {"x", 1};
	unsigned int node;
	int count, fd;
	uint32_t size;
	void *pointer;

	section(title);
	SHOW(cpg_finalize(handle));
	SHOW(cpg_fd_get(handle, &fd));
	SHOW(cpg_max_atomic_msgsize_get(handle, &size));
	SHOW(cpg_context_get(handle, &pointer));
	SHOW(cpg_context_set(handle, NULL));
	SHOW(cpg_dispatch(handle, CS_DISPATCH_ONE));
	SHOW(cpg_dispatch(handle, CS_DISPATCH_ALL));
	SHOW(cpg_dispatch(handle, CS_DISPATCH_BLOCKING));
	SHOW(cpg_dispatch(handle, CS_DISPATCH_ONE_NONBLOCKING));
	SOON(cpg_join(handle, &group));
	SOON(cpg_leave(handle, &group));
	SHOW(cpg_mcast_joined(handle, CPG_TYPE_AGREED, &part, 1));
	count = CPG_MEMBERS_MAX;
	SHOW(cpg_membership_get(handle, &group, members, &count));
	SHOW(cpg_local_get(handle, &node));
	SHOW(cpg_flow_control_state_get(handle, &state));
	SHOW(cpg_zcb_alloc(handle, 100, &pointer));
	SHOW(cpg_iteration_initialize(handle, CPG_ITERATION_ALL, NULL, &iteration));
	SHOW(cpg_iteration_next(handle, &description));
	SHOW(cpg_iteration_finalize(handle));
}

int main(void)
{
	cpg_handle_t handle = 0;

	begin();
	group = named("init");
	plain();
	models();
	many();
	bad("handle 0", 0);
	bad("handle of ones", UINT64_MAX);
	bad("handle 1", 1);
	cpg_initialize(&handle, &both);
	cpg_finalize(handle);
	bad("finalized handle", handle);
	return 0;
}
