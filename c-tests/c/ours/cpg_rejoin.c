/*
 * Joining again after leaving, on the same handle or another of the process: on the original the
 * first never returns and the second is refused. And leaving a group by a wrong name.
 */
#include "../behaviour/observe.h"

static void members_of(cpg_handle_t handle, const char *text)
{
	struct cpg_address list[CPG_MEMBERS_MAX];
	struct cpg_name name = named(text);
	int count = CPG_MEMBERS_MAX;

	SHOW(cpg_membership_get(handle, &name, list, &count));
	printf("%s: %d members\n", text, count);
}

int main(void)
{
	struct cpg_name a = named("again-a"), b = named("again-b");
	cpg_handle_t one, two;

	begin();
	section("the same handle, the same group");
	cpg_initialize(&one, &both);
	for (int i = 0; i < 3; i++) {
		SOON(cpg_join(one, &a));
		SHOW(send_text(one, "once"));
		SOON(cpg_leave(one, &a));
		pump(one, &changes, 2 * i + 2);
	}
	section("the same handle, another group");
	SOON(cpg_join(one, &b));
	pump(one, &changes, changes + 1);
	SHOW(send_text(one, "in b"));
	pump(one, &messages, messages + 1);
	members_of(one, "again-a");
	section("another handle");
	cpg_initialize(&two, &both);
	SOON(cpg_leave(one, &b));
	SOON(cpg_join(two, &b));
	pump(two, &changes, changes + 1);
	pump(one, &changes, changes + 1);
	SHOW(send_text(one, "not in a group"));
	show_readable(two, 0);
	section("leaving by another name");
	SHOW(cpg_leave(two, &a));
	members_of(two, "again-b");
	SHOW(send_text(two, "still there?"));
	readable(two, 500);
	SHOW(cpg_dispatch(two, CS_DISPATCH_ALL));
	SHOW(cpg_leave(two, &b));
	readable(two, 500);
	SHOW(cpg_dispatch(two, CS_DISPATCH_ALL));
	members_of(two, "again-b");
	SHOW(cpg_finalize(one));
	SHOW(cpg_finalize(two));
	return 0;
}
