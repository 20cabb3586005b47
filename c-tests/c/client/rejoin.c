/*
 * A handle that left a group can join again, the same group or another one, and hears nothing in
 * between. (With the original the second cpg_join never returns.)
 */
#include <corosync/cpg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int messages, joins, leaves;
static char last_group[CPG_MAX_NAME_LENGTH + 1];

#define CHECK(condition)                                                                     \
	do {                                                                                  \
		if (!(condition)) {                                                           \
			fprintf(stderr, "line %d: %s\n", __LINE__, #condition);               \
			exit(1);                                                              \
		}                                                                             \
	} while (0)

static void note(const struct cpg_name *group)
{
	memcpy(last_group, group->value, group->length);
	last_group[group->length] = 0;
}

static void deliver(cpg_handle_t h, const struct cpg_name *group, uint32_t node, uint32_t pid, void *msg, size_t len)
{
	(void)h, (void)node, (void)pid, (void)msg, (void)len;
	note(group);
	messages++;
}

static void confchg(cpg_handle_t h, const struct cpg_name *group, const struct cpg_address *members, size_t m,
		    const struct cpg_address *left, size_t l, const struct cpg_address *joined, size_t j)
{
	(void)h, (void)members, (void)m, (void)left, (void)joined;
	note(group);
	joins += (int)j;
	leaves += (int)l;
}

static struct cpg_name named(const char *text)
{
	struct cpg_name name = {.length = (uint32_t)strlen(text)};

	memcpy(name.value, text, name.length);
	return name;
}

static void send_one(cpg_handle_t handle)
{
	struct iovec iov = {"hello", 5};

	CHECK(cpg_mcast_joined(handle, CPG_TYPE_AGREED, &iov, 1) == CS_OK);
}

static void expect(cpg_handle_t handle, int *what, const char *group)
{
	int before = *what;

	while (*what == before)
		CHECK(cpg_dispatch(handle, CS_DISPATCH_ONE) == CS_OK);
	CHECK(*what == before + 1 && !strcmp(last_group, group));
}

int main(void)
{
	static cpg_callbacks_t callbacks = {deliver, confchg};
	static const char *names[] = {"one", "two", "one", "one", "two"};
	struct cpg_name other = named("other"), group;
	cpg_handle_t handle, stays;
	int i;

	alarm(30);
	CHECK(cpg_initialize(&handle, &callbacks) == CS_OK);
	CHECK(cpg_initialize(&stays, NULL) == CS_OK);
	CHECK(cpg_join(stays, &other) == CS_OK);
	for (i = 0; i < 5; i++) {
		group = named(names[i]);
		CHECK(cpg_join(handle, &group) == CS_OK);
		CHECK(cpg_leave(handle, &other) == CS_ERR_NOT_EXIST);
		send_one(handle);
		expect(handle, &joins, names[i]);
		expect(handle, &messages, names[i]);
		CHECK(cpg_leave(handle, &group) == CS_OK);
		send_one(handle);
		expect(handle, &leaves, names[i]);
		CHECK(cpg_dispatch(handle, CS_DISPATCH_ONE_NONBLOCKING) == CS_ERR_TRY_AGAIN);
	}
	CHECK(cpg_join(handle, &other) == CS_ERR_EXIST);
	CHECK(cpg_finalize(stays) == CS_OK);
	while (cpg_join(handle, &other) == CS_ERR_TRY_AGAIN)
		usleep(1000);
	expect(handle, &joins, "other");
	CHECK(cpg_finalize(handle) == CS_OK);
	printf("joined and left %d times\n", i);
	return 0;
}
