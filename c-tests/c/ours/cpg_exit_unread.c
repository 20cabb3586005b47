/* A process that sends and ends at once: everything it has sent is delivered before its leave. The original may drop some of it. */
#include "../behaviour/family.h"

static cpg_handle_t handle;

static void obey(const char *command)
{
	handle = joined(NULL, "unread");
	for (int i = 0; i < 200; i++)
		send_text(handle, command);
	_exit(0);
}

static void count_deliver(cpg_handle_t ours, const struct cpg_name *group, uint32_t node, uint32_t pid, void *msg,
			  size_t len)
{
	(void)ours, (void)group, (void)node, (void)pid, (void)msg, (void)len;
	messages++;
}

int main(void)
{
	cpg_callbacks_t callbacks = {count_deliver, on_change};

	begin();
	handle = joined(&callbacks, "unread");
	pump(handle, &changes, 1);
	born(0);
	if (write(children[0].commands, "message\n", 8) != 8)
		printf("p0 does not listen\n");
	pump(handle, &changes, 3);
	printf("messages: %d\n", messages);
	gone(0, 0);
	SHOW(cpg_finalize(handle));
	return 0;
}
