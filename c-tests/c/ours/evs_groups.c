/* evs groups: joining and leaving one and many, limits, who gets what is sent to which groups. */
#include "evs.h"

static struct evs_group many[600];

static void limits(void)
{
	evs_handle_t handle;
	struct evs_group list[3];

	section("joining and leaving");
	evs_initialize(&handle, &evs_both);
	evs_pump(handle, &configurations, configurations + 1);
	list[0] = group_of("a");
	list[1] = group_of("b");
	list[2] = group_of("c");
	SHOW(evs_leave(handle, list, 1));
	SHOW(evs_join(handle, list, 0));
	SHOW(evs_join(handle, list, 2));
	SHOW(evs_join(handle, list, 2));
	SHOW(evs_leave(handle, list, 3));
	SHOW(evs_leave(handle, &list[2], 1));
	SHOW(evs_leave(handle, list, 0));
	SHOW(evs_join(handle, many, 50));
	SHOW(evs_join(handle, many, 51));
	SHOW(evs_join(handle, &many[50], 50));
	SHOW(evs_leave(handle, many, 100));
	SHOW(evs_leave(handle, many, 1));
	evs_show_readable(handle, 0);
	SHOW(evs_finalize(handle));
}

static void sent_to(evs_handle_t from, const char *title, const struct evs_group *groups, size_t count)
{
	struct iovec part = {(void *)(uintptr_t)title, strlen(title)};
	cs_error_t error;
	size_t room = 0;

	if (groups)
		error = evs_mcast_groups(from, EVS_TYPE_AGREED, groups, count, &part, 1);
	else
		error = evs_mcast_joined(from, EVS_TYPE_AGREED, &part, 1);
	SAY(title, error);
	/* messages of different handles have an order only when one is answered before the other is sent */
	evs_membership_get(from, NULL, NULL, &room);
}

static void drain(const char *title, evs_handle_t handle)
{
	printf("%s gets\n", title);
	while (evs_readable(handle, 50))
		evs_dispatch(handle, CS_DISPATCH_ALL);
}

static void who_gets_what(void)
{
	evs_handle_t a = evs_joined(&evs_both, "a"), b = evs_joined(&evs_both, "b"), both_of = evs_joined(&evs_both, "a"), none;
	struct evs_group list[2] = {group_of("a"), group_of("b")}, longer = group_of("a");

	section("who gets what");
	SHOW(evs_join(both_of, &list[1], 1));
	evs_initialize(&none, &evs_both);
	longer.key[31] = 1;
	sent_to(a, "to its own", NULL, 0);
	sent_to(both_of, "to both of its own", NULL, 0);
	sent_to(none, "from outside to a", list, 1);
	sent_to(a, "to a and b", list, 2);
	sent_to(a, "to none", list, 0);
	sent_to(none, "to its own, it has none", NULL, 0);
	sent_to(a, "to a key that differs in the last byte", &longer, 1);
	drain("a", a);
	drain("b", b);
	drain("member of both", both_of);
	drain("member of none", none);
	SHOW(evs_leave(both_of, list, 1));
	sent_to(a, "after the leave", NULL, 0);
	drain("a", a);
	drain("member of both", both_of);
	SHOW(evs_finalize(a));
	SHOW(evs_finalize(b));
	SHOW(evs_finalize(both_of));
	SHOW(evs_finalize(none));
}

static void many_groups(void)
{
	static const size_t counts[] = {50, 51, 100, 512, 600};
	evs_handle_t handle = evs_joined(&evs_both, "many-0");
	char title[64];

	section("to many groups");
	evs_pump(handle, &configurations, configurations + 1);
	for (unsigned int i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		snprintf(title, sizeof(title), "to %zu groups", counts[i]);
		sent_to(handle, title, many, counts[i]);
		drain("once", handle);
	}
	SHOW(evs_finalize(handle));
}

int main(void)
{
	begin();
	for (int i = 0; i < 600; i++) {
		char name[32];

		snprintf(name, sizeof(name), "many-%d", i);
		many[i] = group_of(name);
	}
	limits();
	who_gets_what();
	many_groups();
	return 0;
}
