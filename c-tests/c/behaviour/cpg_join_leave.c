/* Joining and leaving in every state, names of every length, the members of a group, the changes that are shown. */
#include "observe.h"

static void members_of(cpg_handle_t handle, struct cpg_name *name)
{
	struct cpg_address list[CPG_MEMBERS_MAX];
	int count = CPG_MEMBERS_MAX;
	cs_error_t error = cpg_membership_get(handle, name, list, &count);

	printf("members of ");
	print_name(name);
	printf(": %s", code(error));
	if (error == CS_OK)
		print_list("", list, (size_t)count);
	putchar('\n');
}

static void states(void)
{
	struct cpg_name a = named("jl-a"), b = named("jl-b");
	cpg_handle_t handle;

	section("states");
	cpg_initialize(&handle, &both);
	members_of(handle, &a);
	SOON(cpg_leave(handle, &a));
	SOON(cpg_join(handle, &a));
	pump(handle, &changes, 1);
	members_of(handle, &a);
	members_of(handle, &b);
	SOON(cpg_join(handle, &a));
	SOON(cpg_join(handle, &b));
	show_readable(handle, 0);
	SOON(cpg_leave(handle, &a));
	pump(handle, &changes, 2);
	members_of(handle, &a);
	SOON(cpg_leave(handle, &a));
	SOON(cpg_leave(handle, &b));
	show_readable(handle, 0);
	SHOW(cpg_finalize(handle));
}

static void two_handles(void)
{
	struct cpg_name a = named("jl-two"), b = named("jl-two-b");
	cpg_handle_t one, two;
	int start = changes;

	section("two handles of a process");
	cpg_initialize(&one, &both);
	cpg_initialize(&two, &both);
	SOON(cpg_join(one, &a));
	SOON(cpg_join(two, &a));
	SOON(cpg_join(two, &b));
	pump(one, &changes, start + 1);
	pump(two, &changes, start + 2);
	members_of(one, &b);
	members_of(two, &a);
	SHOW(cpg_finalize(one));
	let_go();
	members_of(two, &a);
	show_readable(two, 0);
	SHOW(cpg_finalize(two));
}

static void after_finalize(void)
{
	struct cpg_name a = named("jl-again");
	cpg_handle_t handle;
	int i;

	section("a new handle after a finalize in the group");
	for (i = 0; i < 3; i++) {
		int start = changes;

		SOON(cpg_initialize(&handle, &both));
		SOON(cpg_join(handle, &a));
		pump(handle, &changes, start + 1);
		SHOW(cpg_finalize(handle));
		let_go();
	}
}

static void with_name(const char *title, struct cpg_name *name)
{
	cpg_handle_t handle;
	cs_error_t error;
	int start = changes;

	printf("%s\n", title);
	cpg_initialize(&handle, &both);
	while ((error = cpg_join(handle, name)) == CS_ERR_TRY_AGAIN)
		usleep(1000);
	SAY("join", error);
	if (error == CS_OK) {
		pump(handle, &changes, start + 1);
		members_of(handle, name);
		SAY("leave", cpg_leave(handle, name));
		pump(handle, &changes, start + 2);
	} else {
		SAY("leave", cpg_leave(handle, name));
		SAY("members", cpg_membership_get(handle, name, NULL, NULL));
	}
	cpg_finalize(handle);
}

static void names(void)
{
	static const uint32_t lengths[] = {0, 1, 127, 128, 129, 255, 0x7fffffff, 0x80000000u, 0xffffffffu};
	struct cpg_name name;
	unsigned int i;
	char title[64];

	section("names");
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		memset(name.value, 'a', sizeof(name.value));
		name.length = lengths[i];
		snprintf(title, sizeof(title), "%u bytes", lengths[i]);
		with_name(title, &name);
	}
	name = named("jl-zero");
	name.length++;
	with_name("the zero at the end counted", &name);
	name = named("a b\n\x01\xff\xc3\xa4");
	with_name("bytes that are no letters", &name);
	memset(&name, 0, sizeof(name));
	name.length = 3;
	with_name("three zeros", &name);
}

static void bytes_beyond_the_length(void)
{
	struct cpg_name plain = named("jl-x"), noisy, zero;
	cpg_handle_t one, two;
	int start = changes;

	section("only the bytes of the length count");
	memset(&noisy, 'z', sizeof(noisy));
	noisy.length = plain.length;
	memcpy(noisy.value, plain.value, plain.length);
	zero = plain;
	zero.length++;
	cpg_initialize(&one, &both);
	cpg_initialize(&two, &both);
	SOON(cpg_join(one, &noisy));
	SOON(cpg_join(two, &zero));
	pump(one, &changes, start + 1);
	pump(two, &changes, start + 2);
	members_of(one, &plain);
	members_of(one, &zero);
	SOON(cpg_leave(one, &plain));
	pump(one, &changes, start + 3);
	cpg_finalize(one);
	cpg_finalize(two);
}

static void membership_arguments(void)
{
	struct cpg_address list[CPG_MEMBERS_MAX];
	struct cpg_name name = named("jl-args");
	cpg_handle_t handle = joined(&both, "jl-args");
	int count;

	section("arguments of membership_get");
	pump(handle, &changes, changes + 1);
	SHOW(cpg_membership_get(handle, &name, NULL, &count));
	SHOW(cpg_membership_get(handle, &name, list, NULL));
	for (count = -1; count < 2; count++) {
		int entries = count;

		SAY("a length", cpg_membership_get(handle, &name, list, &entries));
		printf("said %d, answered %d\n", count, entries);
	}
	cpg_finalize(handle);
}

int main(void)
{
	begin();
	states();
	two_handles();
	after_finalize();
	names();
	bytes_beyond_the_length();
	membership_arguments();
	return 0;
}
