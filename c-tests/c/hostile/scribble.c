/*
 * A client that is let in properly and then writes nonsense into the memory it shares with the
 * daemon: garbage everywhere, and lies that look well.
 *
 * scribble SEED ROUNDS GROUP. Prints "round N KIND SEED" before each round, so that a round can be
 * repeated, and "broken: ..." for each rule that does not hold. Exit code 0: all held.
 */
#define _GNU_SOURCE
#include "wire.h"
#include <pthread.h>
#include <time.h>

static int broken;
static const char *group;
static volatile int stop;

static void expect(int holds, const char *what)
{
	if (!holds) {
		printf("broken: %s\n", what);
		broken++;
	}
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void request(struct link *link, uint16_t kind, uint16_t flags, uint32_t a, uint32_t b, uint32_t len)
{
	static unsigned char body[2000];

	for (size_t at = 0; at < sizeof body; at += 61)
		body[at] = any();
	put(link, (struct record){len, kind, flags, a, b}, body, len < sizeof body ? len : sizeof body);
}

/* The daemon must end this connection: its word is that, and the hang-up. */
static void must_close(struct link *link, const char *what)
{
	expect(hung_up(link->fd, 3000), what);
	expect(*word(link, CLOSED) == 1, "a closed connection is not marked in its memory");
}

static void garbage_in_requests(struct link *link)
{
	for (uint32_t at = 0; at < 65536; at++)
		link->memory[link->welcome.request_at + at] = any();
	/* a first record that no daemon takes: of a kind that is nobody's */
	memcpy(link->memory + link->welcome.request_at, &(struct record){16, 0x7fff, 0, 0, 0}, 16);
	publish(link, 32768);
	must_close(link, "garbage in the request ring is taken");
}

static void tail_beyond(struct link *link)
{
	uint32_t size = link->welcome.request_size;
	uint32_t lies[] = {size + 16, 0x80000000u, 0xfffffff0u, size * 2, 8, 17, size - 1, 0xffffffffu};

	publish(link, lies[below(8)]);
	must_close(link, "an impossible tail is taken");
}

static void length_lies(struct link *link)
{
	uint32_t lies[] = {0xffffffffu, 0x7fffffffu, 0xfffffff0u, link->welcome.request_size, 4096, 65 + below(1000)};

	put(link, (struct record){lies[below(6)], CPG_MCAST, 2, 0, 0}, "x", 1);
	publish(link, link->tail);
	must_close(link, "a record longer than what is published is taken");
}

static void unknown_kinds(struct link *link)
{
	static const uint16_t kinds[] = {0x0200, 0x020b, 0xffff, 0x1400, 0x1406, 1, 0x0100, EVS_MCAST, EVS_JOIN, EVS_GROUPS};

	request(link, kinds[below(10)], 2, 0, 1, below(100));
	publish(link, link->tail);
	must_close(link, "a request of no kind or of another service is taken");
}

static void bad_fields(struct link *link)
{
	switch (below(7)) {
	case 0: /* synchronous, yet without a number */
		request(link, CPG_LOCAL, 0, 0, 0, 0);
		break;
	case 1: /* a guarantee that is none */
		request(link, CPG_MCAST, 4 + below(200), 0, 0, 10);
		break;
	case 2: /* a piece of no kind */
		request(link, CPG_PARTIAL, 2 | (4 + below(200)) << 8, 100, 1, 10);
		break;
	case 3: /* a piece longer than the whole */
		request(link, CPG_PARTIAL, 2 | 1 << 8, 5, 1, 10);
		break;
	case 4: /* arguments that are cut off */
		request(link, CPG_JOIN, 0, 0, 1, below(140));
		break;
	case 5: /* a name longer than names are */ {
		unsigned char body[140] = {0};
		uint32_t len = 129 + below(100000);

		memcpy(body + 8, &len, 4);
		put(link, (struct record){140, CPG_JOIN, 0, 0, 1}, body, 140);
		break;
	}
	default: /* an iteration of no kind */
		request(link, CPG_ITERATE, 0, 0, 1, 140);
	}
	publish(link, link->tail);
	must_close(link, "a request with a wrong field is taken");
}

static void groups_beyond(struct link *link)
{
	uint32_t counts[] = {2, 513, 0x08000000u, 0x08000001u, 0xffffffffu, 100 + below(400)};

	request(link, EVS_GROUPS, 2, counts[below(6)], 0, 32 + below(31));
	publish(link, link->tail);
	must_close(link, "more groups than there are bytes are taken");
}

/* An event is due, but the client says it has read what was never written. */
static void head_lies(struct link *link)
{
	uint32_t size = link->welcome.event_size;
	uint32_t lies[] = {size + 16, 8, 0xffffffffu, 0x80000000u};

	*word(link, EVENT_HEAD) = lies[below(4)];
	join(link, getpid(), group);
	for (int at = 0; at < 5000 && !hung_up(link->fd, 0); at++) {
		request(link, CPG_MCAST, 2, 0, 0, 1500);
		publish(link, link->tail);
		if (!taken(link, 100))
			break;
	}
	must_close(link, "an impossible position of the reader is taken");
}

static void *change(void *argument)
{
	struct link *link = argument;
	unsigned char *at = link->memory + link->welcome.request_at;
	uint64_t bits = 88172645463325252u;

	while (!stop) {
		bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
		at[bits % 8192] = bits >> 32;
	}
	return NULL;
}

/* Headers and bodies change while the daemon reads them. */
static void changing(struct link *link)
{
	pthread_t thread;

	join(link, getpid(), group);
	taken(link, 1000);
	stop = 0;
	pthread_create(&thread, NULL, change, link);
	for (int at = 0; at < 300 && !hung_up(link->fd, 0); at++) {
		request(link, CPG_MCAST, 2, 0, 0, below(1000));
		publish(link, link->tail);
		*word(link, EVENT_HEAD) = *word(link, EVENT_TAIL);
		usleep(below(100));
	}
	stop = 1;
	pthread_join(thread, NULL);
}

/* All words of the control page, again and again. */
static void control_words(struct link *link)
{
	join(link, getpid(), group);
	for (int at = 0; at < 2000 && !hung_up(link->fd, 0); at++) {
		*word(link, below(1024) * 4) = below(2) ? any() : below(link->welcome.size / 16) * 16;
		ring(link);
	}
}

/* Pieces of large messages that do not belong together, for members who will put them together. */
static void false_pieces(struct link *link)
{
	static const uint32_t totals[] = {1, 10, 0xffffffffu, 0x80000000u, 100000, 2000};

	join(link, getpid(), group);
	taken(link, 1000);
	for (int at = 0; at < 200 && !hung_up(link->fd, 0); at++) {
		uint32_t len = below(1500), total = totals[below(6)];

		request(link, CPG_PARTIAL, 2 | (1 + below(3)) << 8, total < len ? len : total, 1, len);
		publish(link, link->tail);
		if (!taken(link, 500))
			break;
		*word(link, EVENT_HEAD) = *word(link, EVENT_TAIL);
	}
}

/* Iterations that are never ended, membership questions without number, answers unread. */
static void hoard(struct link *link)
{
	for (int at = 0; at < 20000 && !hung_up(link->fd, 0); at++) {
		unsigned char body[140] = {3};

		put(link, (struct record){140, CPG_ITERATE, 0, 0, 1 + at}, body, 140);
		if (at % 256 == 255) {
			publish(link, link->tail);
			taken(link, 1000);
		}
	}
}

/*
 * Shuts its socket, keeps the memory, and goes on sending as long as it is listened to: the ring
 * is full of requests that are good, only the tail has to move.
 */
static void after_the_end(struct link *link)
{
	uint32_t size = link->welcome.request_size, at;
	double until = now() + 2;

	for (at = 0; at < size; at += 16)
		memcpy(link->memory + link->welcome.request_at + at,
		       &(struct record){0, at + 16 == size ? 0 : CPG_LOCAL, 0, 0, 1}, 16);
	publish(link, 16);
	for (int turn = 0; now() < until; turn++) {
		at = __atomic_load_n(word(link, REQUEST_HEAD), __ATOMIC_RELAXED) + size / 4 * 2;
		if (at >= size - 16)
			at = at % size + 16;
		__atomic_store_n(word(link, REQUEST_TAIL), at, __ATOMIC_RELEASE);
		if (turn == 1000)
			shutdown(link->fd, SHUT_WR);
		if (turn > 1000 && turn % 1000 == 0 && hung_up(link->fd, 0))
			return;
	}
	expect(0, "a client that hung up is listened to for ever");
}

/* Presses the bell and asks for rings back, reads nothing. */
static void bell(struct link *link)
{
	char bytes[4096];

	memset(bytes, 'R', sizeof bytes);
	for (int at = 0; at < 300; at++)
		send(link->fd, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Cuts the memory short, or makes it longer, under the daemon: sealed, so it cannot. */
static void truncate_memory(struct link *link)
{
	expect(ftruncate(link->memory_fd, 0) < 0 && errno == EPERM, "the memory can be cut off");
	expect(ftruncate(link->memory_fd, 1 << 28) < 0 && errno == EPERM, "the memory can be made larger");
	expect(fcntl(link->memory_fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) < 0, "seals can be added");
	fallocate(link->memory_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, link->welcome.size);
	join(link, getpid(), group);
}

static const struct kind {
	const char *name;
	uint32_t service;
	void (*run)(struct link *link);
} kinds[] = {
	{"garbage", CPG, garbage_in_requests}, {"tail", CPG, tail_beyond},	{"length", CPG, length_lies},
	{"kind", CPG, unknown_kinds},	       {"fields", CPG, bad_fields},	{"groups", EVS, groups_beyond},
	{"head", CPG, head_lies},	       {"changing", CPG, changing},	{"control", CPG, control_words},
	{"pieces", CPG, false_pieces},	       {"hoard", CPG, hoard},		{"after", CPG, after_the_end},
	{"bell", CPG, bell},		       {"truncate", CPG, truncate_memory},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

int main(int argc, char **argv)
{
	const char *only = argc > 4 ? argv[4] : NULL;
	uint64_t seed;

	if (argc < 4)
		return 2;
	seed = strtoull(argv[1], NULL, 0);
	group = argv[3];
	for (int round = 0; round < atoi(argv[2]); round++) {
		const struct kind *kind = &kinds[round % KINDS];
		struct link link;

		if (only && strcmp(only, kind->name))
			continue;
		state = seed + round;
		printf("round %d %s %llu\n", round, kind->name, (unsigned long long)state);
		fflush(stdout);
		if (!open_link(&link, kind->service)) {
			printf("broken: not let in (%u)\n", link.welcome.status);
			return 1;
		}
		kind->run(&link);
		close_link(&link);
	}
	printf("end broken %d\n", broken);
	return broken > 0;
}
