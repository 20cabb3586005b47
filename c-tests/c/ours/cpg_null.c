/* Null pointers where an argument or an answer is needed: the original crashes, ours says so. */
#include "../behaviour/observe.h"

static void calls(const char *title, cpg_handle_t handle)
{
	struct cpg_address list[CPG_MEMBERS_MAX];
	struct cpg_iteration_description_t step;
	cpg_iteration_handle_t iteration;
	struct cpg_name group = named("null");
	struct iovec hole = {NULL, 10};
	int count = CPG_MEMBERS_MAX;

	section(title);
	SHOW(cpg_fd_get(handle, NULL));
	SHOW(cpg_max_atomic_msgsize_get(handle, NULL));
	SHOW(cpg_context_get(handle, NULL));
	SHOW(cpg_context_set(handle, NULL));
	SHOW(cpg_join(handle, NULL));
	SHOW(cpg_leave(handle, NULL));
	SHOW(cpg_mcast_joined(handle, CPG_TYPE_AGREED, NULL, 1));
	SHOW(cpg_mcast_joined(handle, CPG_TYPE_AGREED, &hole, 1));
	SHOW(cpg_membership_get(handle, NULL, list, &count));
	SHOW(cpg_membership_get(handle, &group, NULL, &count));
	SHOW(cpg_membership_get(handle, &group, list, NULL));
	SHOW(cpg_local_get(handle, NULL));
	SHOW(cpg_flow_control_state_get(handle, NULL));
	SHOW(cpg_zcb_alloc(handle, 100, NULL));
	SHOW(cpg_zcb_free(handle, NULL));
	SHOW(cpg_zcb_mcast_joined(handle, CPG_TYPE_AGREED, NULL, 10));
	SHOW(cpg_iteration_initialize(handle, CPG_ITERATION_ALL, NULL, NULL));
	SHOW(cpg_iteration_initialize(handle, CPG_ITERATION_ONE_GROUP, NULL, &iteration));
	if (cpg_iteration_initialize(handle, CPG_ITERATION_NAME_ONLY, NULL, &iteration) == CS_OK) {
		SHOW(cpg_iteration_next(iteration, NULL));
		SHOW(cpg_iteration_next(iteration, &step));
		SHOW(cpg_iteration_finalize(iteration));
	}
}

int main(void)
{
	cpg_handle_t handle = 0;

	begin();
	SHOW(cpg_initialize(NULL, &both));
	SHOW(cpg_model_initialize(NULL, CPG_MODEL_V1, NULL, NULL));
	cpg_initialize(&handle, &both);
	calls("outside of a group", handle);
	cpg_finalize(handle);
	handle = joined(&both, "null");
	pump(handle, &changes, 1);
	calls("in a group", handle);
	show_readable(handle, 0);
	cpg_finalize(handle);
	calls("finalized", handle);
	return 0;
}
