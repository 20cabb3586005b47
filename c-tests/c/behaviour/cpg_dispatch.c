/* Dispatching: each flag, with and without callbacks, finalize and others inside of callbacks, the descriptor. */
#include "observe.h"
#include <pthread.h>

static cpg_handle_t other;
static int inside;

static void flags(void)
{
	cpg_handle_t handle = joined(&both, "d-flags");

	section("flags");
	show_readable(handle, 1);
	SHOW(cpg_dispatch(handle, CS_DISPATCH_ONE));
	show_readable(handle, 0);
	SHOW(cpg_dispatch(handle, CS_DISPATCH_ONE_NONBLOCKING));
	SHOW(cpg_dispatch(handle, CS_DISPATCH_ALL));
	SHOW(send_text(handle, "1"));
	SHOW(send_text(handle, "2"));
	SHOW(send_text(handle, "3"));
	show_readable(handle, 1);
	SHOW(cpg_dispatch(handle, CS_DISPATCH_ONE));
	show_readable(handle, 1);
	SHOW(cpg_dispatch(handle, CS_DISPATCH_ONE));
	show_readable(handle, 1);
	SHOW(cpg_dispatch(handle, CS_DISPATCH_ONE));
	show_readable(handle, 0);
	SHOW(send_text(handle, "4"));
	SHOW(send_text(handle, "5"));
	while (messages < 5) {
		readable(handle, MUST_COME);
		if (cpg_dispatch(handle, CS_DISPATCH_ALL) != CS_OK)
			break;
	}
	show_readable(handle, 0);
	SHOW(cpg_finalize(handle));
}

static void *send_later(void *argument)
{
	usleep(50000);
	send_text(*(cpg_handle_t *)argument, "woken");
	return NULL;
}

static void one_waits(void)
{
	cpg_handle_t handle = joined(&both, "d-waits");
	pthread_t thread;

	section("one waits");
	pump(handle, &changes, changes + 1);
	pthread_create(&thread, NULL, send_later, &handle);
	SHOW(cpg_dispatch(handle, CS_DISPATCH_ONE));
	pthread_join(thread, NULL);
	SHOW(cpg_finalize(handle));
}

static void on_deliver_end(cpg_handle_t handle, const struct cpg_name *group, uint32_t node, uint32_t pid, void *msg,
			   size_t len)
{
	on_deliver(handle, group, node, pid, msg, len);
	if (len == 3 && memcmp(msg, "end", 3) == 0) {
		SHOW(cpg_finalize(handle));
		SHOW(cpg_finalize(handle));
		SHOW(cpg_dispatch(handle, CS_DISPATCH_ALL));
	}
}

/* Any flag but the four blocks; a finalize inside of a callback is the way out. */
static void ends_inside(int flag)
{
	cpg_callbacks_t callbacks = {on_deliver_end, on_change};
	cpg_handle_t handle = joined(&callbacks, "d-inside");
	cs_error_t error;

	printf("flag %d\n", flag);
	send_text(handle, "one");
	send_text(handle, "end");
	send_text(handle, "not shown");
	do
		error = cpg_dispatch(handle, (cs_dispatch_flags_t)flag);
	while (error == CS_OK || error == CS_ERR_TRY_AGAIN);
	SAY("dispatch", error);
}

static void finalize_in_change(cpg_handle_t handle, const struct cpg_name *group, const struct cpg_address *members,
			       size_t members_count, const struct cpg_address *left, size_t left_count,
			       const struct cpg_address *joined_list, size_t joined_count)
{
	on_change(handle, group, members, members_count, left, left_count, joined_list, joined_count);
	SHOW(cpg_finalize(handle));
}

static void finalize_inside(void)
{
	static const int all[] = {CS_DISPATCH_ONE, CS_DISPATCH_ALL, CS_DISPATCH_BLOCKING, CS_DISPATCH_ONE_NONBLOCKING, 0, 5,
				  99, -1};
	cpg_callbacks_t callbacks = {on_deliver, finalize_in_change};
	cpg_handle_t handle;
	unsigned int i;

	section("finalize inside of a callback");
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		ends_inside(all[i]);
	printf("in a change\n");
	handle = joined(&callbacks, "d-change");
	SHOW(cpg_dispatch(handle, CS_DISPATCH_ONE));
	SHOW(cpg_finalize(handle));
}

static void without(const char *title, cpg_callbacks_t *callbacks)
{
	cpg_handle_t handle = joined(callbacks, "d-without");
	int round;

	printf("%s\n", title);
	for (round = 0; round < 2; round++) {
		show_readable(handle, 1);
		SHOW(cpg_dispatch(handle, CS_DISPATCH_ONE));
		show_readable(handle, 0);
		SHOW(cpg_dispatch(handle, CS_DISPATCH_ONE_NONBLOCKING));
		SHOW(send_text(handle, "unseen"));
	}
	show_readable(handle, 1);
	SHOW(cpg_dispatch(handle, CS_DISPATCH_ONE_NONBLOCKING));
	SHOW(send_text(handle, "unseen"));
	show_readable(handle, 1);
	SHOW(cpg_dispatch(handle, CS_DISPATCH_ALL));
	show_readable(handle, 0);
	SHOW(cpg_finalize(handle));
}

static void without_callbacks(void)
{
	cpg_callbacks_t none = {NULL, NULL}, deliver = {on_deliver, NULL}, change = {NULL, on_change};

	section("without callbacks");
	without("null", NULL);
	without("both functions null", &none);
	without("only deliver", &deliver);
	without("only change", &change);
}

static void busy_deliver(cpg_handle_t handle, const struct cpg_name *group, uint32_t node, uint32_t pid, void *msg,
			 size_t len)
{
	struct cpg_name more = named("d-more");
	struct cpg_address list[CPG_MEMBERS_MAX];
	int count = CPG_MEMBERS_MAX;
	void *context = NULL;

	on_deliver(handle, group, node, pid, msg, len);
	memset(msg, 'x', len);
	if (inside++)
		return;
	SHOW(cpg_context_set(handle, &inside));
	SHOW(cpg_context_get(handle, &context));
	SHOW(send_text(handle, "from inside"));
	SOON(cpg_join(handle, &more));
	SOON(cpg_initialize(&other, &both));
	SOON(cpg_join(other, &more));
	SHOW(cpg_membership_get(other, &more, list, &count));
	SOON(cpg_leave(handle, group));
	printf("context: %s\n", context == &inside ? "as set" : "another");
}

static void others_inside(void)
{
	cpg_callbacks_t callbacks = {busy_deliver, on_change};
	cpg_handle_t handle = joined(&callbacks, "d-busy");
	int start = messages, before = changes;

	section("other calls inside of a callback");
	send_text(handle, "first");
	pump(handle, &messages, start + 2);
	pump(handle, &changes, before + 2);
	show_readable(handle, 0);
	pump(other, &changes, before + 3);
	SHOW(cpg_finalize(other));
	SHOW(cpg_finalize(handle));
}

static void nested_deliver(cpg_handle_t handle, const struct cpg_name *group, uint32_t node, uint32_t pid, void *msg,
			   size_t len)
{
	on_deliver(handle, group, node, pid, msg, len);
	if (len == 5 && memcmp(msg, "outer", 5) == 0) {
		readable(handle, MUST_COME);
		SAY("inner dispatch", cpg_dispatch(handle, CS_DISPATCH_ONE_NONBLOCKING));
		printf("outer message still: %.*s\n", (int)len, (char *)msg);
	}
}

static void nested(void)
{
	cpg_callbacks_t callbacks = {nested_deliver, on_change};
	cpg_handle_t handle = joined(&callbacks, "d-nested");
	int start = messages;

	section("a dispatch inside of a callback");
	pump(handle, &changes, changes + 1);
	send_text(handle, "outer");
	send_text(handle, "inner");
	send_text(handle, "last");
	usleep(20000);
	SAY("outer dispatch", cpg_dispatch(handle, CS_DISPATCH_ONE));
	pump(handle, &messages, start + 3);
	show_readable(handle, 0);
	SHOW(cpg_finalize(handle));
}

int main(void)
{
	begin();
	flags();
	one_waits();
	finalize_inside();
	without_callbacks();
	others_inside();
	nested();
	return 0;
}
