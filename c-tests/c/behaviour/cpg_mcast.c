/* Sending: any number of parts, sizes from none to many times the ring, every guarantee, states in which it fails. */
#include "observe.h"

#define MIB (1024u * 1024u)

static unsigned char *data;
static size_t got;
static uint32_t got_sum;

static void count_deliver(cpg_handle_t handle, const struct cpg_name *group, uint32_t node, uint32_t pid, void *msg,
			  size_t len)
{
	(void)handle, (void)group, (void)node, (void)pid;
	messages++;
	got = len;
	got_sum = checksum(msg, len);
}

/* Sends and waits for the message; prints only what came of it. */
static void round_trip(cpg_handle_t handle, const char *title, const struct iovec *parts, unsigned int count,
		       size_t total, cpg_guarantee_t guarantee)
{
	uint32_t sum = 2166136261u;
	int before = messages;
	unsigned int i;
	size_t j;
	cs_error_t error;

	for (i = 0; i < count; i++)
		for (j = 0; j < parts[i].iov_len; j++)
			sum = (sum ^ ((unsigned char *)parts[i].iov_base)[j]) * 16777619u;
	while ((error = cpg_mcast_joined(handle, guarantee, parts, count)) == CS_ERR_TRY_AGAIN)
		usleep(500);
	printf("%s: %s", title, code(error));
	if (error == CS_OK && pump(handle, &messages, before + 1))
		printf(", %zu of %zu bytes, %s", got, total, sum == got_sum ? "as sent" : "DIFFERENT");
	putchar('\n');
}

static void sizes(cpg_handle_t handle)
{
	static const size_t plain[] = {0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 1400, 1401, 4095, 4096, 4097, 65535, 65536, 65537, 500000};
	uint32_t limit = 0;
	struct iovec part;
	unsigned int i;
	char title[64];
	int delta;

	section("sizes");
	part.iov_base = data;
	for (i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		part.iov_len = plain[i];
		snprintf(title, sizeof(title), "%zu", plain[i]);
		round_trip(handle, title, &part, 1, plain[i], CPG_TYPE_AGREED);
	}
	cpg_max_atomic_msgsize_get(handle, &limit);
	for (delta = -2; delta <= 2; delta++) {
		part.iov_len = limit + delta;
		snprintf(title, sizeof(title), "the limit %+d", delta);
		round_trip(handle, title, &part, 1, part.iov_len, CPG_TYPE_AGREED);
	}
	for (delta = -1; delta <= 1; delta++) {
		part.iov_len = MIB + delta;
		snprintf(title, sizeof(title), "1 MiB %+d", delta);
		round_trip(handle, title, &part, 1, part.iov_len, CPG_TYPE_AGREED);
		part.iov_len = 2 * limit + delta;
		snprintf(title, sizeof(title), "twice the limit %+d", delta);
		round_trip(handle, title, &part, 1, part.iov_len, CPG_TYPE_AGREED);
	}
	part.iov_len = 5 * MIB + 77;
	round_trip(handle, "5 MiB and 77", &part, 1, part.iov_len, CPG_TYPE_AGREED);
}

static void parts(cpg_handle_t handle)
{
	static const unsigned int counts[] = {1, 2, 3, 5, 16, 62, 63};
	struct iovec list[64];
	unsigned int i, j;
	char title[64];

	section("parts");
	round_trip(handle, "no part, null", NULL, 0, 0, CPG_TYPE_AGREED);
	round_trip(handle, "no part", list, 0, 0, CPG_TYPE_AGREED);
	list[0].iov_base = NULL;
	list[0].iov_len = 0;
	round_trip(handle, "one part, null", list, 1, 0, CPG_TYPE_AGREED);
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		size_t total = 0;

		/* lengths 0, 3, 6, 0, 3 ... beginning with none */
		for (j = 0; j < counts[i]; j++) {
			list[j].iov_base = data + 10 * j;
			list[j].iov_len = j % 3 * 3;
			total += list[j].iov_len;
		}
		snprintf(title, sizeof(title), "%u small parts", counts[i]);
		round_trip(handle, title, list, counts[i], total, CPG_TYPE_AGREED);
		for (total = 0, j = 0; j < counts[i]; j++) {
			list[j].iov_len = j == 1 ? 0 : 16000;
			total += list[j].iov_len;
		}
		snprintf(title, sizeof(title), "%u parts of 16000", counts[i]);
		round_trip(handle, title, list, counts[i], total, CPG_TYPE_AGREED);
	}
	for (j = 0; j < 5; j++) {
		list[j].iov_base = data + j;
		list[j].iov_len = j == 2 ? 0 : 700001;
	}
	round_trip(handle, "5 parts, 2.8 MB", list, 5, 4 * 700001, CPG_TYPE_AGREED);
}

static void guarantees(cpg_handle_t handle)
{
	static const int values[] = {CPG_TYPE_UNORDERED, CPG_TYPE_FIFO, CPG_TYPE_AGREED, CPG_TYPE_SAFE, 4, 99, -1};
	struct iovec part = {data, 100};
	unsigned int i;
	char title[64];

	section("guarantees");
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		snprintf(title, sizeof(title), "guarantee %d", values[i]);
		part.iov_len = 100;
		round_trip(handle, title, &part, 1, 100, (cpg_guarantee_t)values[i]);
		snprintf(title, sizeof(title), "guarantee %d, large", values[i]);
		part.iov_len = MIB + 500000;
		round_trip(handle, title, &part, 1, part.iov_len, (cpg_guarantee_t)values[i]);
	}
}

static void outside(void)
{
	struct cpg_name group = named("m-out");
	cpg_handle_t handle;
	struct iovec part = {data, 100};

	section("outside of a group");
	cpg_initialize(&handle, &both);
	SHOW(cpg_mcast_joined(handle, CPG_TYPE_AGREED, &part, 1));
	part.iov_len = 2 * MIB;
	SHOW(cpg_mcast_joined(handle, CPG_TYPE_AGREED, &part, 1));
	show_readable(handle, 0);
	printf("joined, left\n");
	SOON(cpg_join(handle, &group));
	pump(handle, &changes, changes + 1);
	SOON(cpg_leave(handle, &group));
	part.iov_len = 100;
	SHOW(cpg_mcast_joined(handle, CPG_TYPE_AGREED, &part, 1));
	part.iov_len = 2 * MIB;
	SHOW(cpg_mcast_joined(handle, CPG_TYPE_AGREED, &part, 1));
	pump(handle, &changes, changes + 1);
	show_readable(handle, 0);
	SHOW(cpg_finalize(handle));
}

static void buffer_is_free(cpg_handle_t handle)
{
	static char buffer[100];
	int i, before = messages, wrong = 0;
	struct iovec part = {buffer, sizeof(buffer)};

	section("the buffer is the caller's again at once");
	for (i = 0; i < 50; i++) {
		memset(buffer, 'a' + i % 26, sizeof(buffer));
		while (cpg_mcast_joined(handle, CPG_TYPE_AGREED, &part, 1) == CS_ERR_TRY_AGAIN)
			usleep(500);
		memset(buffer, 0, sizeof(buffer));
	}
	for (i = 0; i < 50; i++) {
		memset(buffer, 'a' + i % 26, sizeof(buffer));
		if (!pump(handle, &messages, before + i + 1))
			break;
		wrong += got_sum != checksum(buffer, sizeof(buffer));
	}
	printf("wrong: %d\n", wrong);
}

int main(void)
{
	cpg_callbacks_t callbacks = {count_deliver, on_change};
	cpg_handle_t handle;

	begin();
	data = malloc(6 * MIB);
	fill(data, 6 * MIB, 7);
	outside();
	handle = joined(&callbacks, "m");
	pump(handle, &changes, changes + 1);
	sizes(handle);
	parts(handle);
	guarantees(handle);
	buffer_is_free(handle);
	show_readable(handle, 0);
	SHOW(cpg_finalize(handle));
	free(data);
	return 0;
}
