/*
 * Threads that are cancelled in dispatch, waiting or inside a callback, or that end themselves in a
 * callback: descriptor and mapping go with cpg_finalize, and the ring is not blocked.
 */
#include <corosync/cpg.h>
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WAITING, IN_CALLBACK, PTHREAD_EXIT };

static atomic_int inside, way;
static atomic_long received;
static atomic_int calm;

#define CHECK(condition)                                                                     \
	do {                                                                                  \
		if (!(condition)) {                                                           \
			fprintf(stderr, "line %d: %s\n", __LINE__, #condition);               \
			exit(1);                                                              \
		}                                                                             \
	} while (0)

static void deliver(cpg_handle_t h, const struct cpg_name *group, uint32_t node, uint32_t pid, void *msg, size_t len)
{
	(void)h, (void)group, (void)node, (void)pid, (void)msg, (void)len;
	received++;
	if (calm)
		return;
	if (way == PTHREAD_EXIT)
		pthread_exit(NULL);
	inside = 1;
	for (;;)
		pause();
}

static void *dispatch(void *argument)
{
	cpg_dispatch(*(cpg_handle_t *)argument, CS_DISPATCH_BLOCKING);
	return NULL;
}

static void send_one(cpg_handle_t handle, size_t len)
{
	static char message[100000];
	struct iovec iov = {message, len};
	cs_error_t error;

	while ((error = cpg_mcast_joined(handle, CPG_TYPE_AGREED, &iov, 1)) == CS_ERR_TRY_AGAIN)
		CHECK(cpg_dispatch(handle, CS_DISPATCH_ALL) == CS_OK);
	CHECK(error == CS_OK);
}

static int lines(const char *path, const char *with)
{
	FILE *file = fopen(path, "r");
	char line[512];
	int count = 0;

	CHECK(file != NULL);
	while (fgets(line, sizeof(line), file) != NULL)
		count += strstr(line, with) != NULL;
	fclose(file);
	return count;
}

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	CHECK(dir != NULL);
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count;
}

/* Ends a thread in one of the ways, several times on one handle, then uses the handle up. */
static void round_of(int how)
{
	static cpg_callbacks_t callbacks = {.cpg_deliver_fn = deliver};
	struct cpg_name group = {.length = 6, .value = "cancel"};
	cpg_handle_t handle;
	pthread_t thread;
	long before;
	int i;

	way = how;
	calm = 0;
	CHECK(cpg_initialize(&handle, &callbacks) == CS_OK);
	CHECK(cpg_join(handle, &group) == CS_OK);
	for (i = 0; i < 5; i++) {
		inside = 0;
		CHECK(pthread_create(&thread, NULL, dispatch, &handle) == 0);
		if (how == WAITING) {
			usleep(2000);
		} else {
			send_one(handle, 50000);
			while (how == IN_CALLBACK && !inside)
				usleep(100);
		}
		if (how != PTHREAD_EXIT)
			CHECK(pthread_cancel(thread) == 0);
		pthread_join(thread, NULL);
	}
	/* more than the ring holds: a place that is not given back would stop it */
	calm = 1;
	before = received;
	for (i = 0; i < 200; i++)
		send_one(handle, 100000);
	while (received < before + 200)
		CHECK(cpg_dispatch(handle, CS_DISPATCH_ONE) == CS_OK);
	CHECK(cpg_finalize(handle) == CS_OK);
}

int main(void)
{
	int how, files, maps, i;

	alarm(60);
	calm = 1;
	files = descriptors();
	maps = lines("/proc/self/maps", "memfd:evensong");
	for (how = WAITING; how <= PTHREAD_EXIT; how++)
		for (i = 0; i < 3; i++)
			round_of(how);
	CHECK(descriptors() == files);
	CHECK(lines("/proc/self/maps", "memfd:evensong") == maps);
	printf("nothing left behind\n");
	return 0;
}
