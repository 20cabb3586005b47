/*
 * The socket handshake and the shared memory, spoken by hand: what a program can do that does not
 * use the library. Numbers are those of core/src/ipc/layout.rs.
 */
#ifndef WIRE_H
#define WIRE_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MAGIC 0x65767331u
#define CPG 2u
#define EVS 20u
enum { REQUEST_TAIL = 64, REQUEST_HEAD = 128, REQUEST_ASLEEP = 192, EVENT_TAIL = 320, EVENT_HEAD = 384,
       EVENT_ARMED = 448, REPLY_SEQ = 512, CLOSED = 704, CONTROL = 4096 };
enum { CPG_JOIN = 0x0201, CPG_LEAVE, CPG_MCAST, CPG_PARTIAL, CPG_MEMBERSHIP, CPG_LOCAL, CPG_ITERATE, CPG_NEXT,
       CPG_END, CPG_FINALIZE, EVS_JOIN = 0x1401, EVS_LEAVE, EVS_MCAST, EVS_GROUPS, EVS_MEMBERSHIP };

struct welcome {
	uint32_t magic, version, status, size, request_at, request_size, event_at, event_size, reply_at, reply_size,
		max_atomic, zero[5];
};

struct record {
	uint32_t len;
	uint16_t kind, flags;
	uint32_t a, b;
};

struct link {
	int fd, memory_fd;
	unsigned char *memory;
	struct welcome welcome;
	uint32_t tail;
};

static uint64_t state;

/* splitmix64: a seed gives the same run everywhere */
static inline uint32_t any(void)
{
	uint64_t z = (state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (z ^ (z >> 31)) >> 16;
}

static inline uint32_t below(uint32_t limit)
{
	return any() % limit;
}

static inline int reach(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof address.sun_path, "%s/ipc.sock", getenv("EVENSONG_RUN_DIR"));
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address)) {
		printf("cannot connect: %s\n", strerror(errno));
		exit(1);
	}
	return fd;
}

/* 1: closed or hung up within the time, 0: not */
static inline int hung_up(int fd, int ms)
{
	struct pollfd polled = {fd, POLLIN, 0};
	char bytes[4096];

	while (poll(&polled, 1, ms) > 0) {
		if (polled.revents & (POLLHUP | POLLERR))
			return 1;
		if (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) <= 0)
			return 1;
	}
	return 0;
}

/* The daemon's answer to a hello, all zero when there is none. */
static inline struct welcome answer(int fd, int *memory_fd)
{
	struct welcome welcome = {0};
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec part = {&welcome, sizeof welcome};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
				 .msg_controllen = sizeof control};
	struct pollfd polled = {fd, POLLIN, 0};
	struct cmsghdr *rights;

	*memory_fd = -1;
	if (poll(&polled, 1, 5000) != 1 || recvmsg(fd, &message, MSG_CMSG_CLOEXEC) <= 0)
		return welcome;
	rights = CMSG_FIRSTHDR(&message);
	if (rights && rights->cmsg_type == SCM_RIGHTS)
		memcpy(memory_fd, CMSG_DATA(rights), sizeof(int));
	return welcome;
}

static inline struct welcome greet(int fd, const uint32_t words[16], int *memory_fd)
{
	send(fd, words, 64, MSG_NOSIGNAL);
	return answer(fd, memory_fd);
}

/* A connection as the library makes it; 0 when it was refused. */
static inline int open_link(struct link *link, uint32_t service)
{
	uint32_t words[16] = {MAGIC, 1, 1, service, (uint32_t)getpid()};

	link->fd = reach();
	link->tail = 0;
	link->welcome = greet(link->fd, words, &link->memory_fd);
	if (link->welcome.status != 1 || link->memory_fd < 0) {
		close(link->fd);
		return 0;
	}
	link->memory = mmap(NULL, link->welcome.size, PROT_READ | PROT_WRITE, MAP_SHARED, link->memory_fd, 0);
	return link->memory != MAP_FAILED;
}

static inline void close_link(struct link *link)
{
	munmap(link->memory, link->welcome.size);
	close(link->memory_fd);
	close(link->fd);
}

static inline uint32_t *word(struct link *link, int at)
{
	return (uint32_t *)(link->memory + at);
}

static inline void ring(struct link *link)
{
	send(link->fd, ".", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Makes the tail known and wakes the daemon, whatever it thinks. */
static inline void publish(struct link *link, uint32_t tail)
{
	__atomic_store_n(word(link, REQUEST_TAIL), tail, __ATOMIC_SEQ_CST);
	ring(link);
}

/* Writes a record at the tail, whatever its header says; `bytes` of body go along. */
static inline void put(struct link *link, struct record record, const void *body, uint32_t bytes)
{
	uint32_t step = (16 + bytes + 15) & ~15u;

	if (link->tail + step + 16 > link->welcome.request_size) {
		struct record jump = {0, 0, 0, 0, 0};

		memcpy(link->memory + link->welcome.request_at + link->tail, &jump, 16);
		link->tail = 0;
	}
	memcpy(link->memory + link->welcome.request_at + link->tail, &record, 16);
	if (bytes)
		memcpy(link->memory + link->welcome.request_at + link->tail + 16, body, bytes);
	link->tail += step;
}

/* Waits until the daemon has read everything; 0 when it does not. */
static inline int taken(struct link *link, int ms)
{
	while (__atomic_load_n(word(link, REQUEST_HEAD), __ATOMIC_ACQUIRE) != link->tail) {
		if (ms-- <= 0 || hung_up(link->fd, 0))
			return 0;
		usleep(1000);
	}
	return 1;
}

/* A sensible cpg_join. */
static inline void join(struct link *link, uint32_t pid, const char *group)
{
	unsigned char body[140] = {0};
	uint32_t len = strlen(group);

	memcpy(body, &pid, 4);
	memcpy(body + 8, &len, 4);
	memcpy(body + 12, group, len);
	put(link, (struct record){140, CPG_JOIN, 0, 0, 1}, body, 140);
	publish(link, link->tail);
}

#endif
