/* evs messages: sizes, parts, guarantees, more than fits at a time; none lost, in order. */
#include "evs.h"
#include <pthread.h>

#define MIB (1024u * 1024u)

static unsigned char *data;

static void sizes(evs_handle_t handle)
{
	static const size_t all[] = {0, 1, 2, 7, 8, 9, 1001, 65536, 500000, MIB - 1024 - 1, MIB - 1024};
	static const size_t large[] = {MIB + 1, 2 * MIB};
	char title[64];

	section("sizes");
	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		cs_error_t error = evs_send(handle, data, all[i]);

		snprintf(title, sizeof(title), "%zu, sum %08x", all[i], checksum(data, all[i]));
		SAY(title, error);
		if (error == CS_OK)
			evs_pump(handle, &messages, messages + 1);
	}
	for (unsigned int i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
		snprintf(title, sizeof(title), "%zu", large[i]);
		SAY(title, evs_send(handle, data, large[i]));
	}
	evs_show_readable(handle, 0);
}

static void parts(evs_handle_t handle)
{
	static const unsigned int counts[] = {0, 1, 3, 63, 64, 500};
	struct evs_group group = group_of("mcast");
	struct iovec list[500];
	char title[64];

	section("parts");
	for (unsigned int i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		cs_error_t error;

		for (unsigned int j = 0; j < counts[i]; j++) {
			list[j].iov_base = data + 10 * j;
			list[j].iov_len = j % 4;
		}
		snprintf(title, sizeof(title), "%u parts", counts[i]);
		while ((error = evs_mcast_joined(handle, EVS_TYPE_AGREED, list, counts[i])) == CS_ERR_TRY_AGAIN)
			usleep(500);
		SAY(title, error);
		evs_pump(handle, &messages, messages + 1);
		while ((error = evs_mcast_groups(handle, EVS_TYPE_AGREED, &group, 1, list, counts[i])) == CS_ERR_TRY_AGAIN)
			usleep(500);
		SAY(title, error);
		evs_pump(handle, &messages, messages + 1);
	}
}

static void guarantees(evs_handle_t handle)
{
	static const int values[] = {EVS_TYPE_UNORDERED, EVS_TYPE_FIFO, EVS_TYPE_AGREED, EVS_TYPE_SAFE, 4, 99, -1};
	struct iovec part = {"text", 4};
	char title[64];

	section("guarantees");
	for (unsigned int i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		cs_error_t error = evs_mcast_joined(handle, (evs_guarantee_t)values[i], &part, 1);

		snprintf(title, sizeof(title), "guarantee %d", values[i]);
		SAY(title, error);
		if (error == CS_OK)
			evs_pump(handle, &messages, messages + 1);
	}
}

#define COUNT 5000
static int next, wrong;

static void take(hdb_handle_t handle, unsigned int node, const void *msg, size_t len)
{
	int number = -1;

	(void)handle, (void)node;
	if (len == 2000)
		memcpy(&number, msg, sizeof(number));
	wrong += number != next;
	next++;
}

static void *send_all(void *argument)
{
	unsigned char message[2000];
	evs_handle_t handle = *(evs_handle_t *)argument;

	memset(message, 'm', sizeof(message));
	for (int number = 0; number < COUNT; number++) {
		memcpy(message, &number, sizeof(number));
		if (evs_send(handle, message, sizeof(message)) != CS_OK)
			return argument;
	}
	return NULL;
}

static void more_than_fits(void)
{
	evs_callbacks_t callbacks = {take, NULL};
	evs_handle_t handle = evs_joined(&callbacks, "flow");
	pthread_t thread;
	void *failed;

	section("more than fits");
	pthread_create(&thread, NULL, send_all, &handle);
	usleep(50000);
	for (long until = now_ms() + MUST_COME; next < COUNT && now_ms() < until;) {
		if (evs_readable(handle, 100))
			evs_dispatch(handle, CS_DISPATCH_ALL);
	}
	pthread_join(thread, &failed);
	printf("%d of %d, %d wrong, sender %s\n", next, COUNT, wrong, failed ? "failed" : "done");
	SHOW(evs_finalize(handle));
}

int main(void)
{
	evs_handle_t handle;

	begin();
	data = malloc(2 * MIB);
	fill(data, 2 * MIB, 9);
	handle = evs_joined(&evs_both, "mcast");
	evs_pump(handle, &configurations, 1);
	sizes(handle);
	parts(handle);
	guarantees(handle);
	SHOW(evs_finalize(handle));
	more_than_fits();
	free(data);
	return 0;
}
