/*
 * Holds connections and does nothing: idle CPG [EVS]. Prints the code of each initialize that does
 * not succeed, then "open N" with the number of handles, and waits until its standard input ends.
 */
#include <corosync/cpg.h>
#include <corosync/evs.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST 2000

int main(int argc, char **argv)
{
	static cpg_handle_t cpg[MOST];
	static evs_handle_t evs[MOST];
	int cpg_count = argc > 1 ? atoi(argv[1]) : 1, evs_count = argc > 2 ? atoi(argv[2]) : 0, open = 0;
	char byte;

	for (int at = 0; at < cpg_count && at < MOST; at++) {
		cs_error_t error = cpg_initialize(&cpg[at], NULL);

		if (error == CS_OK)
			open++;
		else
			printf("initialize %d\n", error), cpg[at] = 0;
	}
	for (int at = 0; at < evs_count && at < MOST; at++) {
		evs_error_t error = evs_initialize(&evs[at], NULL);

		if (error == EVS_OK)
			open++;
		else
			printf("initialize %d\n", error), evs[at] = 0;
	}
	printf("open %d\n", open);
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	for (int at = 0; at < cpg_count && at < MOST; at++)
		if (cpg[at])
			cpg_finalize(cpg[at]);
	for (int at = 0; at < evs_count && at < MOST; at++)
		if (evs[at])
			evs_finalize(evs[at]);
	return 0;
}
