/* More parts than the original can take (63): up to thousands, small and large, with empty ones among them. Case B20. */
#include "../behaviour/observe.h"

static void sent(cpg_handle_t handle, const struct iovec *parts, unsigned int count)
{
	int before = messages;
	cs_error_t error;
	char title[64];

	while ((error = cpg_mcast_joined(handle, CPG_TYPE_AGREED, parts, count)) == CS_ERR_TRY_AGAIN)
		usleep(500);
	snprintf(title, sizeof(title), "%u parts", count);
	SAY(title, error);
	if (error == CS_OK)
		pump(handle, &messages, before + 1);
}

int main(void)
{
	static const unsigned int counts[] = {64, 65, 100, 255, 256, 1023, 1024, 1025, 5000};
	cpg_handle_t handle;
	struct iovec *parts = calloc(5000, sizeof(*parts));
	unsigned char *data = malloc(5000 * 1000);

	begin();
	fill(data, 5000 * 1000, 11);
	handle = joined(&both, "parts");
	pump(handle, &changes, 1);
	for (unsigned int i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		size_t total = 0;

		for (unsigned int j = 0; j < counts[i]; j++) {
			parts[j].iov_base = data + j * 1000;
			parts[j].iov_len = j % 3;
			total += j % 3;
		}
		printf("small, %zu bytes\n", total);
		sent(handle, parts, counts[i]);
		for (unsigned int j = 0; j < counts[i]; j++)
			parts[j].iov_len = j % 7 ? 1000 : 0;
		printf("large\n");
		sent(handle, parts, counts[i]);
	}
	SHOW(cpg_finalize(handle));
	free(data);
	free(parts);
	return 0;
}
