/*
 * Closed process groups: libcpg.
 * Generated from the library's sources; change those, then run
 * `cargo run -p evensong-headers`.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef EVENSONG_CPG_H
#define EVENSONG_CPG_H

#include <stddef.h>
#include <netinet/in.h>
#include <sys/uio.h>
#include <corosync/corotypes.h>

/**
 * Longest name of a group, in bytes.
 */
#define CPG_MAX_NAME_LENGTH 128

/**
 * Most members of a group.
 */
#define CPG_MEMBERS_MAX 128

/**
 * Flag of model 1: deliver the present ring when the handle first joins a group.
 */
#define CPG_MODEL_V1_DELIVER_INITIAL_TOTEM_CONF 1

/**
 * Whether a program should hold back messages.
 */
enum cpg_flow_control_state_t {
  /**
   * Messages may be sent.
   */
  CPG_FLOW_CONTROL_DISABLED,
  /**
   * Messages should be held back.
   */
  CPG_FLOW_CONTROL_ENABLED,
};

/**
 * What is promised about the delivery of a message.
 */
enum cpg_guarantee_t {
  /**
   * Served as agreed.
   */
  CPG_TYPE_UNORDERED,
  /**
   * Served as agreed.
   */
  CPG_TYPE_FIFO,
  /**
   * One order for all members.
   */
  CPG_TYPE_AGREED,
  /**
   * As agreed, and delivered only when every member has it.
   */
  CPG_TYPE_SAFE,
};

/**
 * What an iteration goes through.
 */
enum cpg_iteration_type_t {
  /**
   * Names of all groups.
   */
  CPG_ITERATION_NAME_ONLY = 1,
  /**
   * Members of one group.
   */
  CPG_ITERATION_ONE_GROUP = 2,
  /**
   * Members of all groups.
   */
  CPG_ITERATION_ALL = 3,
};

/**
 * Which struct `cpg_model_initialize` is given.
 */
enum cpg_model_t {
  /**
   * `cpg_model_v1_data_t`.
   */
  CPG_MODEL_V1 = 1,
};

/**
 * Why a process is in a list of a configuration change.
 */
enum cpg_reason_t {
  /**
   * No reason given (lists of all members).
   */
  CPG_REASON_UNDEFINED = 0,
  /**
   * It joined.
   */
  CPG_REASON_JOIN = 1,
  /**
   * It left.
   */
  CPG_REASON_LEAVE = 2,
  /**
   * Its node went down.
   */
  CPG_REASON_NODEDOWN = 3,
  /**
   * Its node came up.
   */
  CPG_REASON_NODEUP = 4,
  /**
   * It ended without leaving.
   */
  CPG_REASON_PROCDOWN = 5,
};

/**
 * Handle of a connection, from `cpg_initialize`. 0 is never valid.
 */
typedef uint64_t cpg_handle_t;

/**
 * Name of a group: a length and that many bytes, which may be any.
 */
struct cpg_name {
  /**
   * Bytes of `value` in use.
   */
  uint32_t length;
  /**
   * The bytes.
   */
  char value[CPG_MAX_NAME_LENGTH];
};

/**
 * Gets a message. `msg` may be written to; it is valid until the function returns.
 */
typedef void (*cpg_deliver_fn_t)(cpg_handle_t handle,
                                 const struct cpg_name *group_name,
                                 uint32_t nodeid,
                                 uint32_t pid,
                                 void *msg,
                                 size_t msg_len);

/**
 * A process of a group.
 */
struct cpg_address {
  /**
   * Its node.
   */
  uint32_t nodeid;
  /**
   * Its process id, as it sees it itself.
   */
  uint32_t pid;
  /**
   * A `cpg_reason_t`.
   */
  uint32_t reason;
};

/**
 * Gets a change of a group: all members after it, who left, who joined.
 */
typedef void (*cpg_confchg_fn_t)(cpg_handle_t handle,
                                 const struct cpg_name *group_name,
                                 const struct cpg_address *member_list,
                                 size_t member_list_entries,
                                 const struct cpg_address *left_list,
                                 size_t left_list_entries,
                                 const struct cpg_address *joined_list,
                                 size_t joined_list_entries);

/**
 * Callbacks of `cpg_initialize`; events without a callback are skipped.
 */
struct cpg_callbacks_t {
  /**
   * For messages.
   */
  cpg_deliver_fn_t cpg_deliver_fn;
  /**
   * For changes of the group.
   */
  cpg_confchg_fn_t cpg_confchg_fn;
};

/**
 * What the structs of all models start with.
 */
struct cpg_model_data_t {
  /**
   * The model.
   */
  enum cpg_model_t model;
};

/**
 * Handle of an iteration, from `cpg_iteration_initialize`.
 */
typedef uint64_t cpg_iteration_handle_t;

/**
 * One step of an iteration.
 */
struct cpg_iteration_description_t {
  /**
   * The group.
   */
  struct cpg_name group;
  /**
   * Node of the member; 0 when only names are gone through.
   */
  uint32_t nodeid;
  /**
   * Process id of the member; 0 when only names are gone through.
   */
  uint32_t pid;
};

/**
 * Identity of a ring.
 */
struct cpg_ring_id {
  /**
   * Its representative.
   */
  uint32_t nodeid;
  /**
   * Its number.
   */
  uint64_t seq;
};

/**
 * Gets a change of the ring.
 */
typedef void (*cpg_totem_confchg_fn_t)(cpg_handle_t handle,
                                       struct cpg_ring_id ring_id,
                                       uint32_t member_list_entries,
                                       const uint32_t *member_list);

/**
 * Callbacks and flags of model 1.
 */
struct cpg_model_v1_data_t {
  /**
   * The model; the argument of `cpg_model_initialize` counts, not this.
   */
  enum cpg_model_t model;
  /**
   * For messages.
   */
  cpg_deliver_fn_t cpg_deliver_fn;
  /**
   * For changes of the group.
   */
  cpg_confchg_fn_t cpg_confchg_fn;
  /**
   * For changes of the ring.
   */
  cpg_totem_confchg_fn_t cpg_totem_confchg_fn;
  /**
   * `CPG_MODEL_V1_DELIVER_INITIAL_TOTEM_CONF` or 0.
   */
  unsigned int flags;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Connects to the daemon. `callbacks` may be NULL, and so may its functions.
 */
cs_error_t cpg_initialize(cpg_handle_t *handle, struct cpg_callbacks_t *callbacks);

/**
 * Connects to the daemon, with the struct of `model`, which may be NULL, and a context.
 */
cs_error_t cpg_model_initialize(cpg_handle_t *handle,
                                enum cpg_model_t model,
                                struct cpg_model_data_t *model_data,
                                void *context);

/**
 * Closes the connection; the handle and its iterations are bad from now on.
 */
cs_error_t cpg_finalize(cpg_handle_t handle);

/**
 * A descriptor to poll: readable while `cpg_dispatch` has something to do. Not to be read from,
 * not to be closed.
 */
cs_error_t cpg_fd_get(cpg_handle_t handle, int *fd);

/**
 * Largest message that is sent in one piece, in bytes. Larger ones are cut up on the way.
 */
cs_error_t cpg_max_atomic_msgsize_get(cpg_handle_t handle, uint32_t *size);

/**
 * The pointer that the program keeps with the handle.
 */
cs_error_t cpg_context_get(cpg_handle_t handle, void **context);

/**
 * Sets the pointer that the program keeps with the handle.
 */
cs_error_t cpg_context_set(cpg_handle_t handle, void *context);

/**
 * Calls the program's functions for what is due, and waits if `dispatch_types` says so. A
 * function may call anything of this library, `cpg_finalize` too.
 */
cs_error_t cpg_dispatch(cpg_handle_t handle, cs_dispatch_flags_t dispatch_types);

/**
 * Joins a group. A handle is in one group at a time.
 */
cs_error_t cpg_join(cpg_handle_t handle, const struct cpg_name *group);

/**
 * Leaves a group.
 */
cs_error_t cpg_leave(cpg_handle_t handle, const struct cpg_name *group);

/**
 * Sends a message to the group that the handle is in, the sender included. `CS_ERR_TRY_AGAIN`:
 * nothing was sent, there is no room just now.
 */
cs_error_t cpg_mcast_joined(cpg_handle_t handle,
                            enum cpg_guarantee_t guarantee,
                            const struct iovec *iovec,
                            unsigned int iov_len);

/**
 * Members of a group. `member_list` has room for `CPG_MEMBERS_MAX` entries.
 */
cs_error_t cpg_membership_get(cpg_handle_t handle,
                              struct cpg_name *groupName,
                              struct cpg_address *member_list,
                              int *member_list_entries);

/**
 * Node id of the local node.
 */
cs_error_t cpg_local_get(cpg_handle_t handle, unsigned int *local_nodeid);

/**
 * Whether messages should be held back for a member that lags behind.
 */
cs_error_t cpg_flow_control_state_get(cpg_handle_t handle,
                                      enum cpg_flow_control_state_t *flow_control_enabled);

/**
 * Gets a buffer for `cpg_zcb_mcast_joined`, page aligned.
 */
cs_error_t cpg_zcb_alloc(cpg_handle_t handle, size_t size, void **buffer);

/**
 * Gives a buffer of `cpg_zcb_alloc` back.
 */
cs_error_t cpg_zcb_free(cpg_handle_t handle, void *buffer);

/**
 * Sends the first bytes of a buffer of `cpg_zcb_alloc`. The buffer may be written again when
 * the call returns.
 */
cs_error_t cpg_zcb_mcast_joined(cpg_handle_t handle,
                                enum cpg_guarantee_t guarantee,
                                void *msg,
                                size_t msg_len);

/**
 * Begins to go through groups or members. `group` is for `CPG_ITERATION_ONE_GROUP`, else NULL.
 */
cs_error_t cpg_iteration_initialize(cpg_handle_t handle,
                                    enum cpg_iteration_type_t iteration_type,
                                    const struct cpg_name *group,
                                    cpg_iteration_handle_t *cpg_iteration_handle);

/**
 * The next step of an iteration; `CS_ERR_NO_SECTIONS` at the end.
 */
cs_error_t cpg_iteration_next(cpg_iteration_handle_t handle,
                              struct cpg_iteration_description_t *description);

/**
 * Ends an iteration.
 */
cs_error_t cpg_iteration_finalize(cpg_iteration_handle_t handle);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

typedef enum cpg_guarantee_t cpg_guarantee_t;
typedef enum cpg_flow_control_state_t cpg_flow_control_state_t;
typedef enum cpg_reason_t cpg_reason_t;
typedef enum cpg_iteration_type_t cpg_iteration_type_t;
typedef enum cpg_model_t cpg_model_t;
typedef struct cpg_callbacks_t cpg_callbacks_t;
typedef struct cpg_model_data_t cpg_model_data_t;
typedef struct cpg_model_v1_data_t cpg_model_v1_data_t;

#endif /* EVENSONG_CPG_H */
