/* Case B93, what the original cannot do: leave and join again from inside of each callback. */
#include "../behaviour/observe.h"

static int rounds;

static void again(cpg_handle_t handle, const struct cpg_name *group)
{
	struct cpg_name name = *group;

	if (rounds-- <= 0)
		return;
	SOON(cpg_leave(handle, &name));
	SOON(cpg_join(handle, &name));
	SHOW(send_text(handle, "again"));
}

static void acting_deliver(cpg_handle_t handle, const struct cpg_name *group, uint32_t node, uint32_t pid, void *msg,
			   size_t len)
{
	on_deliver(handle, group, node, pid, msg, len);
	again(handle, group);
}

static void acting_change(cpg_handle_t handle, const struct cpg_name *group, const struct cpg_address *members,
			  size_t members_count, const struct cpg_address *left, size_t left_count,
			  const struct cpg_address *joined_list, size_t joined_count)
{
	on_change(handle, group, members, members_count, left, left_count, joined_list, joined_count);
	again(handle, group);
}

int main(void)
{
	cpg_callbacks_t deliver = {acting_deliver, on_change}, change = {on_deliver, acting_change};
	cpg_handle_t handle;

	begin();
	section("in deliver");
	rounds = 2;
	handle = joined(&deliver, "b93-again");
	SHOW(send_text(handle, "first"));
	pump(handle, &messages, 3);
	pump(handle, &changes, 5);
	show_readable(handle, 0);
	SHOW(cpg_finalize(handle));
	section("in a change");
	rounds = 2;
	messages = changes = 0;
	handle = joined(&change, "b93-change");
	pump(handle, &changes, 5);
	pump(handle, &messages, 1);
	show_readable(handle, 0);
	SHOW(cpg_finalize(handle));
	return 0;
}
