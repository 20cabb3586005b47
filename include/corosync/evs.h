/*
 * Extended virtual synchrony: libevs.
 * Generated from the library's sources; change those, then run
 * `cargo run -p evensong-headers`.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef EVENSONG_EVS_H
#define EVENSONG_EVS_H

#include <stddef.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <sys/uio.h>
#include <corosync/corotypes.h>
#include <corosync/hdb.h>

/* Bytes that hold an address of any family. */
#ifndef TOTEMIP_ADDRLEN
#define TOTEMIP_ADDRLEN (sizeof(struct in6_addr))
#endif

/* Names of corosync 1 for the common codes and flags. */
#define EVS_DISPATCH_ONE CS_DISPATCH_ONE
#define EVS_DISPATCH_ALL CS_DISPATCH_ALL
#define EVS_DISPATCH_BLOCKING CS_DISPATCH_BLOCKING
#define EVS_OK CS_OK
#define EVS_ERR_LIBRARY CS_ERR_LIBRARY
#define EVS_ERR_TIMEOUT CS_ERR_TIMEOUT
#define EVS_ERR_TRY_AGAIN CS_ERR_TRY_AGAIN
#define EVS_ERR_INVALID_PARAM CS_ERR_INVALID_PARAM
#define EVS_ERR_NO_MEMORY CS_ERR_NO_MEMORY
#define EVS_ERR_BAD_HANDLE CS_ERR_BAD_HANDLE
#define EVS_ERR_ACCESS CS_ERR_ACCESS
#define EVS_ERR_NOT_EXIST CS_ERR_NOT_EXIST
#define EVS_ERR_EXIST CS_ERR_EXIST
#define EVS_ERR_NOT_SUPPORTED CS_ERR_NOT_SUPPORTED
#define EVS_ERR_SECURITY CS_ERR_SECURITY
#define EVS_ERR_TOO_MANY_GROUPS CS_ERR_TOO_MANY_GROUPS
#define evs_error_t cs_error_t

/**
 * What is promised about the delivery of a message.
 */
enum evs_guarantee_t {
  /**
   * Served as agreed.
   */
  EVS_TYPE_UNORDERED,
  /**
   * Served as agreed.
   */
  EVS_TYPE_FIFO,
  /**
   * One order for all members.
   */
  EVS_TYPE_AGREED,
  /**
   * As agreed, and delivered only when every member has it.
   */
  EVS_TYPE_SAFE,
};

/**
 * Handle of a connection, from `evs_initialize`. 0 is never valid.
 */
typedef uint64_t evs_handle_t;

/**
 * Gets a message; `msg` is valid until the function returns.
 */
typedef void (*evs_deliver_fn_t)(hdb_handle_t handle,
                                 unsigned int nodeid,
                                 const void *msg,
                                 size_t msg_len);

/**
 * Identity of a ring.
 */
struct evs_ring_id {
  /**
   * Its representative.
   */
  unsigned int nodeid;
  /**
   * Its number.
   */
  unsigned long long seq;
};

/**
 * Gets a configuration: its members, who left, who joined, and the ring (never NULL).
 */
typedef void (*evs_confchg_fn_t)(hdb_handle_t handle,
                                 const unsigned int *member_list,
                                 size_t member_list_entries,
                                 const unsigned int *left_list,
                                 size_t left_list_entries,
                                 const unsigned int *joined_list,
                                 size_t joined_list_entries,
                                 const struct evs_ring_id *ring_id);

/**
 * Callbacks of `evs_initialize`; events without a callback are skipped.
 */
struct evs_callbacks_t {
  /**
   * For messages.
   */
  evs_deliver_fn_t evs_deliver_fn;
  /**
   * For configurations.
   */
  evs_confchg_fn_t evs_confchg_fn;
};

/**
 * A group: 32 bytes, compared as such.
 */
struct evs_group {
  /**
   * The bytes.
   */
  char key[32];
};



#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Connects to the daemon. `callbacks` may be NULL, and so may its functions.
 */
cs_error_t evs_initialize(evs_handle_t *handle, struct evs_callbacks_t *callbacks);

/**
 * Closes the connection; the handle is bad from now on.
 */
cs_error_t evs_finalize(evs_handle_t handle);

/**
 * A descriptor to poll: readable while `evs_dispatch` has something to do. Not to be read from,
 * not to be closed.
 */
cs_error_t evs_fd_get(evs_handle_t handle, int *fd);

/**
 * The pointer that the program keeps with the handle.
 */
cs_error_t evs_context_get(evs_handle_t handle, void **context);

/**
 * Sets the pointer that the program keeps with the handle.
 */
cs_error_t evs_context_set(evs_handle_t handle, void *context);

/**
 * Calls the program's functions for what is due, and waits if `dispatch_types` says so. A
 * function may call anything of this library, `evs_finalize` too.
 */
cs_error_t evs_dispatch(evs_handle_t handle, cs_dispatch_flags_t dispatch_types);

/**
 * Joins groups, at most 50 a call; a handle can be in any number.
 */
cs_error_t evs_join(evs_handle_t handle, const struct evs_group *groups, size_t group_cnt);

/**
 * Leaves groups. At the first that was not joined it stops.
 */
cs_error_t evs_leave(evs_handle_t handle, const struct evs_group *groups, size_t group_cnt);

/**
 * Sends a message to all groups that the handle is in. `CS_ERR_TRY_AGAIN`: nothing was sent,
 * there is no room just now.
 */
cs_error_t evs_mcast_joined(evs_handle_t handle,
                            enum evs_guarantee_t guarantee,
                            const struct iovec *iovec,
                            unsigned int iov_len);

/**
 * Sends a message to the groups named here, joined or not. `CS_ERR_TRY_AGAIN`: nothing was
 * sent, there is no room just now.
 */
cs_error_t evs_mcast_groups(evs_handle_t handle,
                            enum evs_guarantee_t guarantee,
                            const struct evs_group *groups,
                            size_t group_cnt,
                            const struct iovec *iovec,
                            unsigned int iov_len);

/**
 * Local node and members of the configuration told last. `member_list_entries` says how many
 * fit into `member_list` and gets how many are in it; the other two may be NULL.
 */
cs_error_t evs_membership_get(evs_handle_t handle,
                              unsigned int *local_nodeid,
                              unsigned int *member_list,
                              size_t *member_list_entries);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

typedef enum evs_guarantee_t evs_guarantee_t;
typedef struct evs_callbacks_t evs_callbacks_t;

#endif /* EVENSONG_EVS_H */
