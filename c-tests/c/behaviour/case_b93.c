/* Case B93: leaving, finalizing and the like from inside of each callback, and in the wrong order. */
#include "observe.h"

static int act;

static void acts(cpg_handle_t handle, const struct cpg_name *group)
{
	struct cpg_name name = *group;

	switch (act) {
	case 1:
		SHOW(cpg_finalize(handle));
		break;
	case 2:
		SOON(cpg_leave(handle, &name));
		SHOW(cpg_finalize(handle));
		break;
	case 3:
		SOON(cpg_leave(handle, &name));
		SOON(cpg_leave(handle, &name));
		break;
	case 4:
		SHOW(cpg_context_set(handle, &act));
		SHOW(cpg_finalize(handle));
		SHOW(cpg_context_set(handle, NULL));
		break;
	}
	act = 0;
}

static void acting_deliver(cpg_handle_t handle, const struct cpg_name *group, uint32_t node, uint32_t pid, void *msg,
			   size_t len)
{
	on_deliver(handle, group, node, pid, msg, len);
	acts(handle, group);
}

static void acting_change(cpg_handle_t handle, const struct cpg_name *group, const struct cpg_address *members,
			  size_t members_count, const struct cpg_address *left, size_t left_count,
			  const struct cpg_address *joined_list, size_t joined_count)
{
	on_change(handle, group, members, members_count, left, left_count, joined_list, joined_count);
	acts(handle, group);
}

static void acting_ring(cpg_handle_t handle, struct cpg_ring_id ring, uint32_t count, const uint32_t *members)
{
	struct cpg_name group = named("b93");

	(void)ring, (void)members;
	printf("  ring, %u members\n", count);
	acts(handle, &group);
}

static void inside(const char *where, int what)
{
	cpg_model_v1_data_t data;
	struct cpg_name group = named("b93");
	cpg_handle_t handle;
	cs_error_t error = CS_OK;

	printf("%s, %d\n", where, what);
	memset(&data, 0, sizeof(data));
	data.cpg_deliver_fn = *where == 'd' ? acting_deliver : on_deliver;
	data.cpg_confchg_fn = *where == 'c' ? acting_change : on_change;
	data.cpg_totem_confchg_fn = *where == 'r' ? acting_ring : NULL;
	data.flags = *where == 'r' ? CPG_MODEL_V1_DELIVER_INITIAL_TOTEM_CONF : 0;
	SOON(cpg_model_initialize(&handle, CPG_MODEL_V1, (cpg_model_data_t *)&data, NULL));
	act = what;
	SOON(cpg_join(handle, &group));
	SHOW(send_text(handle, "message"));
	for (int i = 0; i < 8 && error == CS_OK; i++) {
		if (!readable(handle, 200))
			break;
		error = cpg_dispatch(handle, CS_DISPATCH_ONE);
	}
	SAY("last dispatch", error);
	SHOW(cpg_dispatch(handle, CS_DISPATCH_ALL));
	SHOW(cpg_finalize(handle));
	SHOW(cpg_finalize(handle));
}

int main(void)
{
	static const char *const places[] = {"deliver", "change", "ring"};
	struct cpg_name group = named("b93");
	cpg_handle_t handle;

	begin();
	for (int place = 0; place < 3; place++) {
		section(places[place]);
		for (int what = 1; what <= 4; what++)
			inside(places[place], what);
	}
	section("leave, then finalize, nothing dispatched");
	handle = joined(&both, "b93");
	SHOW(send_text(handle, "unseen"));
	SOON(cpg_leave(handle, &group));
	SHOW(cpg_finalize(handle));
	SHOW(cpg_dispatch(handle, CS_DISPATCH_ALL));
	SOON(cpg_leave(handle, &group));
	SHOW(cpg_finalize(handle));
	return 0;
}
