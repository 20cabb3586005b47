/* Zero-copy calls with what they never gave out: the original crashes or ends the program, ours says so. */
#include "../behaviour/observe.h"

int main(void)
{
	static char foreign[100];
	cpg_handle_t handle, other;
	void *buffer = NULL, *second = NULL;

	begin();
	handle = joined(&both, "zw");
	other = joined(&both, "zw-other");
	pump(handle, &changes, 1);
	pump(other, &changes, 2);
	SHOW(cpg_zcb_alloc(handle, 0, &buffer));
	printf("of 0 bytes: %s\n", buffer ? "a buffer" : "null");
	SHOW(cpg_zcb_free(handle, buffer));
	SHOW(cpg_zcb_alloc(handle, SIZE_MAX, &buffer));
	SHOW(cpg_zcb_alloc(handle, SIZE_MAX / 2, &buffer));
	SHOW(cpg_zcb_alloc(handle, (size_t)1 << 46, &buffer));
	SHOW(cpg_zcb_alloc(handle, 5000, &buffer));
	printf("aligned: %s\n", (uintptr_t)buffer % 4096 == 0 ? "yes" : "no");
	memset(buffer, 'a', 5000);
	SHOW(cpg_zcb_mcast_joined(handle, CPG_TYPE_AGREED, foreign, 10));
	SHOW(cpg_zcb_mcast_joined(handle, CPG_TYPE_AGREED, (char *)buffer + 1, 10));
	SHOW(cpg_zcb_mcast_joined(handle, CPG_TYPE_AGREED, buffer, 1000000));
	SHOW(cpg_zcb_mcast_joined(other, CPG_TYPE_AGREED, buffer, 10));
	SHOW(cpg_zcb_mcast_joined(handle, CPG_TYPE_AGREED, buffer, (size_t)1 << 40));
	SHOW(cpg_zcb_free(handle, foreign));
	SHOW(cpg_zcb_free(handle, (char *)buffer + 1));
	SHOW(cpg_zcb_free(other, buffer));
	SHOW(cpg_zcb_free(handle, buffer));
	SHOW(cpg_zcb_free(handle, buffer));
	SHOW(cpg_zcb_mcast_joined(handle, CPG_TYPE_AGREED, buffer, 10));
	section("all the memory there is");
	for (int i = 0; i < 64; i++) {
		if (cpg_zcb_alloc(handle, 1000000, &buffer) != CS_OK)
			printf("no buffer %d\n", i);
	}
	SHOW(cpg_zcb_alloc(handle, 10, &second));
	show_readable(handle, 0);
	SHOW(cpg_finalize(handle));
	SHOW(cpg_finalize(other));
	return 0;
}
