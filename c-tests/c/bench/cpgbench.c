/*
 * cpgbench [-t SECONDS] [-s SIZE[,SIZE]...] [-S SERIES] [-j] - messages a second of one cpg member
 * that sends to its group and receives its own messages.
 *
 * One thread sends in a loop, one dispatches, as in the classic program of this name; the line of
 * each size counts messages delivered. In addition all accepted messages must come back before the
 * next size begins. Without options: 64 to 1000000 bytes, ten seconds each.
 */
#include "flood.h"

int main(int argc, char **argv)
{
	struct bench_options options;
	struct bench_result result;
	char *data;
	int i;

	bench_options(&options, argc, argv, "x5", "", NULL);
	data = calloc(1, bench_largest(&options));
	if (data == NULL)
		bench_fail(&options, "no memory");
	flood_start(&options, "cpg_bm");
	for (i = 0; i < options.size_count; i++) {
		flood_run(&options, options.sizes[i], data, options.seconds, &result);
		bench_check_lost(&options, &result);
		bench_print(&options, &result, "messages received", result.in_time);
	}
	flood_end(&options);
	return 0;
}
