/*
 * Case B18: messages around every boundary at which they are cut, each followed by a large one;
 * once in one part and once in several, some of them empty. Each arrives once and whole.
 */
#include "observe.h"

static unsigned char *data;
static size_t expected_len[4096];
static uint32_t expected_sum[4096];
static int sent, wrong;

static void take(cpg_handle_t handle, const struct cpg_name *group, uint32_t node, uint32_t pid, void *msg, size_t len)
{
	(void)handle, (void)group, (void)node, (void)pid;
	if (len != expected_len[messages] || checksum(msg, len) != expected_sum[messages]) {
		if (wrong++ < 5)
			printf("message %d: %zu bytes, expected %zu\n", messages, len, expected_len[messages]);
	}
	messages++;
}

static void mcast(cpg_handle_t handle, size_t len, unsigned int parts)
{
	struct iovec list[63];
	size_t at = 0;
	cs_error_t error;

	data[0] = (unsigned char)sent;
	for (unsigned int i = 0; i < parts; i++) {
		size_t part = i + 1 == parts ? len - at : i % 4 == 1 ? 0 : len / parts;

		list[i].iov_base = data + at;
		list[i].iov_len = part;
		at += part;
	}
	expected_len[sent] = len;
	expected_sum[sent++] = checksum(data, len);
	while ((error = cpg_mcast_joined(handle, CPG_TYPE_AGREED, list, parts)) == CS_ERR_TRY_AGAIN)
		pump(handle, &messages, messages + 1);
	if (error != CS_OK)
		printf("%zu in %u parts: %s\n", len, parts, code(error));
}

int main(void)
{
	static const size_t bases[] = {1408, 2816, 65536, 1048576 - 1024};
	static const unsigned int parts[] = {1, 2, 5, 60};
	cpg_callbacks_t callbacks = {take, NULL};
	cpg_handle_t handle;

	begin();
	data = malloc(2000000);
	fill(data, 2000000, 3);
	handle = joined(&callbacks, "b18");
	cpg_dispatch(handle, CS_DISPATCH_ONE);
	for (unsigned int i = 0; i < 4; i++) {
		int step = i < 2 ? 13 : i == 2 ? 37 : 113, before = sent;

		for (int offset = -300; offset <= 300; offset += step) {
			unsigned int turn = (unsigned int)(offset + 300) / (unsigned int)step % 4;

			mcast(handle, bases[i] + offset, parts[turn]);
			/* the large one follows at once, as it did in the field */
			mcast(handle, i < 2 && turn ? 3000 : 300000, 1);
			if (!pump(handle, &messages, sent - 1))
				return 1;
		}
		pump(handle, &messages, sent);
		printf("around %zu: %d messages, %d wrong\n", bases[i], sent - before, wrong);
	}
	show_readable(handle, 0);
	SHOW(cpg_finalize(handle));
	return 0;
}
