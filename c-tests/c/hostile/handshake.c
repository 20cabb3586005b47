/*
 * Everything that can go wrong in the handshake: garbage, other versions, services that are not
 * there, half a hello, descriptors nobody asked for, no reading, no talking at all.
 *
 * handshake SEED ROUNDS. Prints one line for each rule that was broken; exit code 0: none was.
 */
#include "wire.h"

static int broken;

static void expect(int holds, const char *what, uint32_t got)
{
	if (!holds) {
		printf("broken: %s (%u)\n", what, got);
		broken++;
	}
}

static void garbage(void)
{
	unsigned char bytes[256];
	size_t len = 64 + below(192);
	int fd = reach();

	for (size_t at = 0; at < len; at++)
		bytes[at] = any();
	send(fd, bytes, len, MSG_NOSIGNAL);
	expect(hung_up(fd, 2000), "garbage leaves the connection open", len);
	close(fd);
}

static void refused(uint32_t first, uint32_t last, uint32_t service, uint32_t status, const char *what)
{
	uint32_t words[16] = {MAGIC, first, last, service, (uint32_t)getpid()};
	int memory, fd = reach();
	struct welcome welcome = greet(fd, words, &memory);

	expect(welcome.magic == MAGIC && welcome.status == status, what, welcome.status);
	expect(memory == -1, "memory comes with a refusal", memory);
	expect(hung_up(fd, 2000), "the connection stays open after a refusal", status);
	close(fd);
}

/* Half a hello, then nothing; some are left open for the time that the daemon grants. */
static void half(int stay)
{
	uint32_t words[16] = {MAGIC, 1, 1, CPG, 1};
	int fd = reach();

	send(fd, words, 1 + below(63), MSG_NOSIGNAL);
	if (!stay)
		close(fd);
}

/* The hello byte by byte is as good as any. */
static void drop_by_drop(void)
{
	uint32_t words[16] = {MAGIC, 1, 1, CPG, (uint32_t)getpid()};
	int memory, fd = reach();
	struct welcome welcome;

	for (int at = 0; at < 64; at++)
		send(fd, (unsigned char *)words + at, 1, MSG_NOSIGNAL);
	welcome = answer(fd, &memory);
	expect(welcome.status == 1 && memory >= 0, "a hello in pieces is not taken", welcome.status);
	close(memory);
	close(fd);
}

/* Descriptors that come with the hello must not stay in the daemon. */
static void descriptors(uint32_t service)
{
	enum { COUNT = 64 };
	uint32_t words[16] = {MAGIC, 1, 1, service, (uint32_t)getpid()};
	char control[CMSG_SPACE(sizeof(int) * COUNT)];
	struct iovec part = {words, 64};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
				 .msg_controllen = sizeof control};
	struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
	int fds[COUNT], fd = reach();

	for (int at = 0; at < COUNT; at++)
		fds[at] = STDIN_FILENO;
	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof fds);
	memcpy(CMSG_DATA(rights), fds, sizeof fds);
	sendmsg(fd, &message, MSG_NOSIGNAL);
	/* sometimes gone before the answer */
	if (below(2))
		usleep(below(2000));
	close(fd);
}

/* Let in, then only talk: the answer is never read, the doorbell is pressed until it sticks. */
static void talk_only(void)
{
	uint32_t words[16] = {MAGIC, 1, 1, CPG, (uint32_t)getpid()};
	char bytes[1024];
	int fd = reach();

	memset(bytes, 'R', sizeof bytes);
	send(fd, words, 64, MSG_NOSIGNAL);
	for (int at = 0; at < 200; at++)
		send(fd, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 1;

	if (argc < 2)
		return 2;
	state = strtoull(argv[1], NULL, 0);
	for (int round = 0; round < rounds; round++) {
		garbage();
		refused(0, 0, CPG, 3, "an old version is not refused with CS_ERR_VERSION");
		refused(2 + below(1000), 0xffffffff, CPG, 3, "a new version is not refused with CS_ERR_VERSION");
		refused(1, 1, 3 + below(16), 19, "a service that is not there is not refused");
		refused(0, 0xffffffff, 0x14000014, 19, "a service with high bits is not refused");
		half(round % 4 == 0);
		drop_by_drop();
		descriptors(CPG);
		descriptors(EVS);
		talk_only();
	}
	printf("rounds %d broken %d\n", rounds, broken);
	return broken > 0;
}
