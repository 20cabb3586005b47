/* The callback for changes of the ring, with and without the flag for the first one; where it stands among the other callbacks. */
#include "observe.h"

static int rings;
static struct cpg_ring_id seen_ring;

static void on_ring(cpg_handle_t handle, struct cpg_ring_id ring, uint32_t count, const uint32_t *members)
{
	(void)handle;
	rings++;
	printf("  ring of %u, number %s, members [", ring.nodeid, ring.seq ? "not 0" : "0");
	for (uint32_t i = 0; i < count; i++)
		printf("%s%u", i ? " " : "", members[i]);
	printf("]%s\n", rings == 1 ? "" : memcmp(&ring, &seen_ring, sizeof(ring)) == 0 ? ", as before" : ", another");
	seen_ring = ring;
}

static void with(const char *title, unsigned int flags, int callback, int expected)
{
	struct cpg_name group = named("totem");
	cpg_model_v1_data_t data;
	cpg_handle_t handle;
	int start = changes, before = rings;

	section(title);
	memset(&data, 0, sizeof(data));
	data.model = CPG_MODEL_V1;
	data.cpg_confchg_fn = on_change;
	data.cpg_totem_confchg_fn = callback ? on_ring : NULL;
	data.flags = flags;
	SOON(cpg_model_initialize(&handle, CPG_MODEL_V1, (cpg_model_data_t *)&data, NULL));
	show_readable(handle, 0);
	SOON(cpg_join(handle, &group));
	pump(handle, &changes, start + 1);
	if (expected)
		pump(handle, &rings, before + 1);
	if (!callback && flags) {
		printf("the event that nobody wants\n");
		show_readable(handle, 1);
		SHOW(cpg_dispatch(handle, CS_DISPATCH_ONE));
	}
	show_readable(handle, 0);
	printf("calls: %d\n", rings - before);
	SHOW(cpg_finalize(handle));
}

int main(void)
{
	begin();
	with("callback and flag", CPG_MODEL_V1_DELIVER_INITIAL_TOTEM_CONF, 1, 1);
	with("callback and flag, again", CPG_MODEL_V1_DELIVER_INITIAL_TOTEM_CONF, 1, 1);
	with("callback without flag", 0, 1, 0);
	with("flag without callback", CPG_MODEL_V1_DELIVER_INITIAL_TOTEM_CONF, 0, 0);
	return 0;
}
