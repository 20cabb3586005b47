/* Zero-copy buffers: allocating, sending the whole or a part, again from the same buffer, freeing, states and sizes in which it fails. */
#include "observe.h"

static void *data_of(cpg_handle_t handle, size_t size)
{
	void *buffer = NULL;

	if (cpg_zcb_alloc(handle, size, &buffer) != CS_OK)
		printf("no buffer of %zu\n", size);
	return buffer;
}

static void sent(cpg_handle_t handle, void *buffer, size_t len, cpg_guarantee_t guarantee)
{
	int before = messages;
	cs_error_t error;
	char title[64];

	fill(buffer, len, (uint32_t)len);
	while ((error = cpg_zcb_mcast_joined(handle, guarantee, buffer, len)) == CS_ERR_TRY_AGAIN)
		usleep(500);
	snprintf(title, sizeof(title), "sent %zu, guarantee %d, sum %08x", len, (int)guarantee, checksum(buffer, len));
	SAY(title, error);
	if (error == CS_OK)
		pump(handle, &messages, before + 1);
}

int main(void)
{
	static const size_t sizes[] = {1, 8, 100, 4096, 65536, 1000000, 1048576, 3000000};
	static const int guarantees[] = {CPG_TYPE_UNORDERED, CPG_TYPE_FIFO, CPG_TYPE_SAFE, 99};
	struct cpg_name group = named("z");
	void *buffer, *second, *several[8];
	cpg_handle_t handle;
	unsigned int i;

	begin();
	section("outside of a group");
	SOON(cpg_initialize(&handle, &both));
	SHOW(cpg_zcb_alloc(handle, 100, &buffer));
	memset(buffer, 'a', 100);
	SOON(cpg_zcb_mcast_joined(handle, CPG_TYPE_AGREED, buffer, 100));
	SHOW(cpg_zcb_free(handle, buffer));
	show_readable(handle, 0);

	section("sizes");
	SOON(cpg_join(handle, &group));
	pump(handle, &changes, 1);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		printf("buffer of %zu\n", sizes[i]);
		buffer = data_of(handle, sizes[i]);
		sent(handle, buffer, sizes[i] < 1000000 ? sizes[i] : 1000000, CPG_TYPE_AGREED);
		sent(handle, buffer, (sizes[i] < 1000000 ? sizes[i] : 1000000) / 2, CPG_TYPE_AGREED);
		SHOW(cpg_zcb_free(handle, buffer));
	}

	section("guarantees");
	buffer = data_of(handle, 1000);
	for (i = 0; i < sizeof(guarantees) / sizeof(guarantees[0]); i++)
		sent(handle, buffer, 1000, (cpg_guarantee_t)guarantees[i]);

	section("more than may be sent");
	second = data_of(handle, 2000000);
	memset(second, 0, 2000000);
	SOON(cpg_zcb_mcast_joined(handle, CPG_TYPE_AGREED, second, 1048577));
	SOON(cpg_zcb_mcast_joined(handle, CPG_TYPE_AGREED, second, 2000000));
	show_readable(handle, 0);
	SHOW(cpg_zcb_free(handle, second));

	section("several at a time");
	for (i = 0; i < 8; i++) {
		several[i] = data_of(handle, 5000);
		memset(several[i], 'a' + (int)i, 5000);
	}
	for (i = 0; i < 8; i++)
		SOON(cpg_zcb_mcast_joined(handle, CPG_TYPE_AGREED, several[7 - i], 20 + i));
	pump(handle, &messages, messages + 8);
	for (i = 0; i < 8; i += 2)
		SHOW(cpg_zcb_free(handle, several[i]));

	section("mixed with the other call");
	SHOW(send_text(handle, "one"));
	memcpy(several[1], "two", 3);
	SOON(cpg_zcb_mcast_joined(handle, CPG_TYPE_AGREED, several[1], 3));
	SHOW(send_text(handle, "three"));
	pump(handle, &messages, messages + 3);

	section("after leaving");
	SOON(cpg_leave(handle, &group));
	pump(handle, &changes, 2);
	SOON(cpg_zcb_mcast_joined(handle, CPG_TYPE_AGREED, several[1], 3));
	show_readable(handle, 0);

	section("finalize with buffers left");
	SHOW(cpg_finalize(handle));
	SHOW(cpg_zcb_free(handle, several[1]));
	SOON(cpg_zcb_mcast_joined(handle, CPG_TYPE_AGREED, several[1], 3));
	return 0;
}
