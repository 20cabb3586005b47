/*
 * Common types of the corosync interfaces, as evensong serves them.
 * Generated from the libraries' sources; change those, then run
 * `cargo run -p evensong-headers`.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef EVENSONG_COROTYPES_H
#define EVENSONG_COROTYPES_H

#include <stdint.h>
#include <inttypes.h>
#include <errno.h>
#include <time.h>
#include <sys/time.h>

#define CS_FALSE 0
#define CS_TRUE !CS_FALSE
#define CS_MAX(x, y) (((x) > (y)) ? (x) : (y))
#define CS_TIME_END ((cs_time_t)0x7FFFFFFFFFFFFFFFULL)

/* How node and ring ids are printed. */
#define CS_PRI_NODE_ID "%" PRIu32
#define CS_PRI_NODE_ID_PADDED "%10" PRIu32
#define CS_PRI_RING_ID_SEQ "%" PRIx64
#define CS_PRI_RING_ID "%" PRIx32 ".%" PRIx64

/* Timeout of the library's own calls: none. */
#define CS_IPC_TIMEOUT_MS -1

#define CS_TIME_MS_IN_SEC 1000ULL
#define CS_TIME_US_IN_SEC 1000000ULL
#define CS_TIME_NS_IN_SEC 1000000000ULL
#define CS_TIME_US_IN_MSEC 1000ULL
#define CS_TIME_NS_IN_MSEC 1000000ULL
#define CS_TIME_NS_IN_USEC 1000ULL

/**
 * Longest name in a `cs_name_t`, in bytes.
 */
#define CS_MAX_NAME_LENGTH 256

/**
 * Tracking: tell the present state.
 */
#define CS_TRACK_CURRENT 1

/**
 * Tracking: tell every change, with all members.
 */
#define CS_TRACK_CHANGES 2

/**
 * Tracking: tell every change, with the changed members only.
 */
#define CS_TRACK_CHANGES_ONLY 4

/**
 * How much a dispatch call does, and whether it waits.
 */
enum cs_dispatch_flags_t {
  /**
   * Wait for one event and hand it out.
   */
  CS_DISPATCH_ONE = 1,
  /**
   * Hand out what is there, without waiting.
   */
  CS_DISPATCH_ALL = 2,
  /**
   * Hand out events until the handle is finalized.
   */
  CS_DISPATCH_BLOCKING = 3,
  /**
   * Hand out one event if there is one, else return `CS_ERR_TRY_AGAIN`.
   */
  CS_DISPATCH_ONE_NONBLOCKING = 4,
};

/**
 * Result of a call.
 */
enum cs_error_t {
  /**
   * The call succeeded.
   */
  CS_OK = 1,
  /**
   * The daemon is not there, went away, or something failed inside the library.
   */
  CS_ERR_LIBRARY = 2,
  /**
   * Version not supported.
   */
  CS_ERR_VERSION = 3,
  /**
   * Initialization failed.
   */
  CS_ERR_INIT = 4,
  /**
   * Time ran out.
   */
  CS_ERR_TIMEOUT = 5,
  /**
   * Not possible just now; the same call may succeed later.
   */
  CS_ERR_TRY_AGAIN = 6,
  /**
   * An argument is wrong.
   */
  CS_ERR_INVALID_PARAM = 7,
  /**
   * Out of memory.
   */
  CS_ERR_NO_MEMORY = 8,
  /**
   * The handle is unknown or finalized.
   */
  CS_ERR_BAD_HANDLE = 9,
  /**
   * In use by someone else.
   */
  CS_ERR_BUSY = 10,
  /**
   * Not permitted.
   */
  CS_ERR_ACCESS = 11,
  /**
   * What was named does not exist.
   */
  CS_ERR_NOT_EXIST = 12,
  /**
   * A name is longer than allowed.
   */
  CS_ERR_NAME_TOO_LONG = 13,
  /**
   * It exists already.
   */
  CS_ERR_EXIST = 14,
  /**
   * No space.
   */
  CS_ERR_NO_SPACE = 15,
  /**
   * Interrupted.
   */
  CS_ERR_INTERRUPT = 16,
  /**
   * No such name.
   */
  CS_ERR_NAME_NOT_FOUND = 17,
  /**
   * Out of some resource.
   */
  CS_ERR_NO_RESOURCES = 18,
  /**
   * Not supported.
   */
  CS_ERR_NOT_SUPPORTED = 19,
  /**
   * The operation is not allowed here.
   */
  CS_ERR_BAD_OPERATION = 20,
  /**
   * The operation failed.
   */
  CS_ERR_FAILED_OPERATION = 21,
  /**
   * A message is damaged.
   */
  CS_ERR_MESSAGE_ERROR = 22,
  /**
   * A queue is full.
   */
  CS_ERR_QUEUE_FULL = 23,
  /**
   * A queue is not available.
   */
  CS_ERR_QUEUE_NOT_AVAILABLE = 24,
  /**
   * Unknown or conflicting flags.
   */
  CS_ERR_BAD_FLAGS = 25,
  /**
   * Larger than the limit.
   */
  CS_ERR_TOO_BIG = 26,
  /**
   * Nothing left to go through.
   */
  CS_ERR_NO_SECTIONS = 27,
  /**
   * No such context.
   */
  CS_ERR_CONTEXT_NOT_FOUND = 28,
  /**
   * More groups than allowed.
   */
  CS_ERR_TOO_MANY_GROUPS = 30,
  /**
   * Refused for security reasons.
   */
  CS_ERR_SECURITY = 100,
};

/**
 * A point in time or a span, in nanoseconds.
 */
typedef int64_t cs_time_t;

/**
 * A name: a length and that many bytes.
 */
struct cs_name_t {
  /**
   * Bytes of `value` in use.
   */
  uint16_t length;
  /**
   * The bytes, not ended by a NUL.
   */
  uint8_t value[CS_MAX_NAME_LENGTH];
};

/**
 * A version: a letter and two numbers.
 */
struct cs_version_t {
  /**
   * Release letter.
   */
  char releaseCode;
  /**
   * Major number.
   */
  unsigned char majorVersion;
  /**
   * Minor number.
   */
  unsigned char minorVersion;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Turns a result of the libqb kind (0 or more: fine, negative: minus an errno) into an
 * error code.
 */
enum cs_error_t qb_to_cs_error(int result);

/**
 * Text of an error code; never NULL, not to be freed.
 */
const char *cs_strerror(enum cs_error_t err);

/**
 * Turns a result of the handle database of `corosync/hdb.h` (0 or minus an errno) into an
 * error code.
 */
enum cs_error_t hdb_error_to_cs(int res);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

typedef struct cs_name_t cs_name_t;
typedef struct cs_version_t cs_version_t;
typedef enum cs_dispatch_flags_t cs_dispatch_flags_t;
typedef enum cs_error_t cs_error_t;

/**
 * Nanoseconds of a clock that only goes forward, where the system has one.
 */
static inline uint64_t cs_timestamp_get(void)
{
#ifdef CLOCK_MONOTONIC
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * CS_TIME_NS_IN_SEC + (uint64_t)now.tv_nsec;
#else
  struct timeval now;

  gettimeofday(&now, 0);
  return (uint64_t)now.tv_sec * CS_TIME_NS_IN_SEC + (uint64_t)now.tv_usec * CS_TIME_NS_IN_USEC;
#endif
}

#endif /* EVENSONG_COROTYPES_H */
