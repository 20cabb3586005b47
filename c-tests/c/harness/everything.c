/* Calls into all three libraries at once: shows that they can be linked together, as archives too. */
#include <corosync/corodefs.h>
#include <corosync/corotypes.h>
#include <corosync/cpg.h>
#include <corosync/evs.h>
#include <corosync/hdb.h>
#include <stdio.h>

int main(void)
{
	cpg_handle_t cpg = 0;
	evs_handle_t evs = 0;
	cs_error_t first = cpg_initialize(&cpg, NULL), second = evs_initialize(&evs, NULL);

	printf("cpg %s, evs %s\n", cs_strerror(first), cs_strerror(second));
	if (first == CS_OK)
		printf("%s\n", cs_strerror(cpg_finalize(cpg)));
	if (second == CS_OK)
		printf("%s\n", cs_strerror(evs_finalize(evs)));
	return 0;
}
