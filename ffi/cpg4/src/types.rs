//! Types of `corosync/cpg.h`, as they lie in the memory of C programs.

use std::ffi::{c_char, c_uint, c_void};
use std::mem::MaybeUninit;

use evensong_types::CEnum;

/// Handle of a connection, from `cpg_initialize`. 0 is never valid.
pub type cpg_handle_t = u64;

/// Handle of an iteration, from `cpg_iteration_initialize`.
pub type cpg_iteration_handle_t = u64;

/// What is promised about the delivery of a message.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum cpg_guarantee_t {
    /// Served as agreed.
    CPG_TYPE_UNORDERED,
    /// Served as agreed.
    CPG_TYPE_FIFO,
    /// One order for all members.
    CPG_TYPE_AGREED,
    /// As agreed, and delivered only when every member has it.
    CPG_TYPE_SAFE,
}

/// Whether a program should hold back messages.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum cpg_flow_control_state_t {
    /// Messages may be sent.
    CPG_FLOW_CONTROL_DISABLED,
    /// Messages should be held back.
    CPG_FLOW_CONTROL_ENABLED,
}

/// Why a process is in a list of a configuration change.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum cpg_reason_t {
    /// No reason given (lists of all members).
    CPG_REASON_UNDEFINED = 0,
    /// It joined.
    CPG_REASON_JOIN = 1,
    /// It left.
    CPG_REASON_LEAVE = 2,
    /// Its node went down.
    CPG_REASON_NODEDOWN = 3,
    /// Its node came up.
    CPG_REASON_NODEUP = 4,
    /// It ended without leaving.
    CPG_REASON_PROCDOWN = 5,
}

/// What an iteration goes through.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum cpg_iteration_type_t {
    /// Names of all groups.
    CPG_ITERATION_NAME_ONLY = 1,
    /// Members of one group.
    CPG_ITERATION_ONE_GROUP = 2,
    /// Members of all groups.
    CPG_ITERATION_ALL = 3,
}

/// Which struct `cpg_model_initialize` is given.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum cpg_model_t {
    /// `cpg_model_v1_data_t`.
    CPG_MODEL_V1 = 1,
}

/// A process of a group.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct cpg_address {
    /// Its node.
    pub nodeid: u32,
    /// Its process id, as it sees it itself.
    pub pid: u32,
    /// A `cpg_reason_t`.
    pub reason: u32,
}

/// Longest name of a group, in bytes.
pub const CPG_MAX_NAME_LENGTH: usize = 128;

/// Name of a group: a length and that many bytes, which may be any.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cpg_name {
    /// Bytes of `value` in use.
    pub length: u32,
    /// The bytes.
    pub value: [c_char; CPG_MAX_NAME_LENGTH],
}

/// Most members of a group.
pub const CPG_MEMBERS_MAX: usize = 128;

/// One step of an iteration.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cpg_iteration_description_t {
    /// The group.
    pub group: cpg_name,
    /// Node of the member; 0 when only names are gone through.
    pub nodeid: u32,
    /// Process id of the member; 0 when only names are gone through.
    pub pid: u32,
}

/// Identity of a ring.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cpg_ring_id {
    /// Its representative.
    pub nodeid: u32,
    /// Its number.
    pub seq: u64,
}

/// Gets a message. `msg` may be written to; it is valid until the function returns.
pub type cpg_deliver_fn_t = Option<
    unsafe extern "C-unwind" fn(
        handle: cpg_handle_t,
        group_name: *const cpg_name,
        nodeid: u32,
        pid: u32,
        msg: *mut c_void,
        msg_len: usize,
    ),
>;

/// Gets a change of a group: all members after it, who left, who joined.
pub type cpg_confchg_fn_t = Option<
    unsafe extern "C-unwind" fn(
        handle: cpg_handle_t,
        group_name: *const cpg_name,
        member_list: *const cpg_address,
        member_list_entries: usize,
        left_list: *const cpg_address,
        left_list_entries: usize,
        joined_list: *const cpg_address,
        joined_list_entries: usize,
    ),
>;

/// Gets a change of the ring.
pub type cpg_totem_confchg_fn_t = Option<
    unsafe extern "C-unwind" fn(
        handle: cpg_handle_t,
        ring_id: cpg_ring_id,
        member_list_entries: u32,
        member_list: *const u32,
    ),
>;

/// Callbacks of `cpg_initialize`; events without a callback are skipped.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cpg_callbacks_t {
    /// For messages.
    pub cpg_deliver_fn: cpg_deliver_fn_t,
    /// For changes of the group.
    pub cpg_confchg_fn: cpg_confchg_fn_t,
}

/// What the structs of all models start with.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cpg_model_data_t {
    /// The model.
    pub model: MaybeUninit<cpg_model_t>,
}

/// Flag of model 1: deliver the present ring when the handle first joins a group.
pub const CPG_MODEL_V1_DELIVER_INITIAL_TOTEM_CONF: c_uint = 1;

/// Callbacks and flags of model 1.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cpg_model_v1_data_t {
    /// The model; the argument of `cpg_model_initialize` counts, not this.
    pub model: MaybeUninit<cpg_model_t>,
    /// For messages.
    pub cpg_deliver_fn: cpg_deliver_fn_t,
    /// For changes of the group.
    pub cpg_confchg_fn: cpg_confchg_fn_t,
    /// For changes of the ring.
    pub cpg_totem_confchg_fn: cpg_totem_confchg_fn_t,
    /// `CPG_MODEL_V1_DELIVER_INITIAL_TOTEM_CONF` or 0.
    pub flags: c_uint,
}

// SAFETY: `repr(C)` enums of four bytes, checked below.
unsafe impl CEnum for cpg_guarantee_t {}
// SAFETY: as above.
unsafe impl CEnum for cpg_iteration_type_t {}
// SAFETY: as above.
unsafe impl CEnum for cpg_model_t {}
const _: () = {
    assert!(size_of::<cpg_guarantee_t>() == 4);
    assert!(size_of::<cpg_iteration_type_t>() == 4);
    assert!(size_of::<cpg_model_t>() == 4);
    assert!(size_of::<cpg_name>() == 132);
    assert!(size_of::<cpg_address>() == 12);
    assert!(size_of::<cpg_iteration_description_t>() == 140);
};
