/* Iterations over names, over the members of one group, over everything; wrong arguments; ends. */
#include "observe.h"

static cpg_handle_t handles[3];

static void through(const char *title, cpg_iteration_type_t type, const struct cpg_name *group)
{
	struct cpg_iteration_description_t step;
	cpg_iteration_handle_t iteration = 0;
	cs_error_t error;
	int i;

	error = cpg_iteration_initialize(handles[0], type, group, &iteration);
	SAY(title, error);
	if (error != CS_OK)
		return;
	for (i = 0; i < 20; i++) {
		memset(&step, 0xee, sizeof(step));
		error = cpg_iteration_next(iteration, &step);
		if (error != CS_OK)
			break;
		printf("  ");
		print_name(&step.group);
		printf(" %u:%s\n", step.nodeid, who(step.pid));
	}
	SAY("  end", error);
	SAY("  after it", cpg_iteration_next(iteration, &step));
	SAY("  finalize", cpg_iteration_finalize(iteration));
	SAY("  again", cpg_iteration_finalize(iteration));
	SAY("  next", cpg_iteration_next(iteration, &step));
}

int main(void)
{
	static const int wrong[] = {0, 4, 99, -1};
	struct cpg_name first = named("it-b"), second = named("it-a"), none = named("it-none"), too_long = named("it-b");
	struct cpg_iteration_description_t step;
	cpg_iteration_handle_t iteration = 0, another = 0;
	unsigned int i;
	char title[40];

	begin();
	section("nothing there");
	cpg_initialize(&handles[0], &both);
	through("names", CPG_ITERATION_NAME_ONLY, NULL);
	through("everything", CPG_ITERATION_ALL, NULL);
	through("one group", CPG_ITERATION_ONE_GROUP, &none);

	section("two groups");
	cpg_initialize(&handles[1], &both);
	cpg_initialize(&handles[2], &both);
	SOON(cpg_join(handles[0], &first));
	SOON(cpg_join(handles[1], &second));
	pump(handles[0], &changes, 1);
	pump(handles[1], &changes, 2);
	through("names", CPG_ITERATION_NAME_ONLY, NULL);
	through("names, with a group", CPG_ITERATION_NAME_ONLY, &first);
	through("everything", CPG_ITERATION_ALL, NULL);
	through("everything, with a group", CPG_ITERATION_ALL, &first);
	through("one group", CPG_ITERATION_ONE_GROUP, &first);
	through("the other", CPG_ITERATION_ONE_GROUP, &second);
	through("a group that is not there", CPG_ITERATION_ONE_GROUP, &none);
	through("one group, null", CPG_ITERATION_ONE_GROUP, NULL);
	too_long.length = 129;
	through("one group, name too long", CPG_ITERATION_ONE_GROUP, &too_long);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(title, sizeof(title), "type %d", wrong[i]);
		through(title, (cpg_iteration_type_t)wrong[i], NULL);
	}
	SHOW(cpg_iteration_initialize(handles[0], CPG_ITERATION_ALL, NULL, NULL));

	section("two iterations at a time");
	SHOW(cpg_iteration_initialize(handles[0], CPG_ITERATION_NAME_ONLY, NULL, &iteration));
	SHOW(cpg_iteration_initialize(handles[0], CPG_ITERATION_NAME_ONLY, NULL, &another));
	printf("%s\n", iteration != another ? "different" : "the same");
	SHOW(cpg_iteration_next(iteration, &step));
	SHOW(cpg_iteration_next(another, &step));
	SHOW(cpg_iteration_next(iteration, NULL));
	SHOW(cpg_iteration_finalize(iteration));
	SHOW(cpg_iteration_next(another, &step));

	section("finalize ends an iteration");
	SHOW(cpg_finalize(handles[0]));
	SHOW(cpg_iteration_next(another, &step));
	SHOW(cpg_iteration_finalize(another));

	section("what is seen is as of the beginning");
	let_go();
	SHOW(cpg_iteration_initialize(handles[2], CPG_ITERATION_NAME_ONLY, NULL, &iteration));
	SHOW(cpg_finalize(handles[1]));
	let_go();
	SHOW(cpg_iteration_next(iteration, &step));
	SHOW(cpg_iteration_next(iteration, &step));
	SHOW(cpg_iteration_finalize(iteration));
	SHOW(cpg_finalize(handles[2]));
	return 0;
}
