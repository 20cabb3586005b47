//! Types of `corosync/evs.h`, as they lie in the memory of C programs.

use std::ffi::{c_char, c_uint, c_ulonglong, c_void};

use evensong_types::CEnum;

/// Handle of a connection, from `evs_initialize`. 0 is never valid.
pub type evs_handle_t = u64;

/// The same as `corosync/hdb.h` names it; callbacks use that name.
pub type hdb_handle_t = u64;

/// What is promised about the delivery of a message.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum evs_guarantee_t {
    /// Served as agreed.
    EVS_TYPE_UNORDERED,
    /// Served as agreed.
    EVS_TYPE_FIFO,
    /// One order for all members.
    EVS_TYPE_AGREED,
    /// As agreed, and delivered only when every member has it.
    EVS_TYPE_SAFE,
}

/// A group: 32 bytes, compared as such.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct evs_group {
    /// The bytes.
    pub key: [c_char; 32],
}

/// Identity of a ring.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct evs_ring_id {
    /// Its representative.
    pub nodeid: c_uint,
    /// Its number.
    pub seq: c_ulonglong,
}

/// Gets a message; `msg` is valid until the function returns.
pub type evs_deliver_fn_t =
    Option<unsafe extern "C-unwind" fn(handle: hdb_handle_t, nodeid: c_uint, msg: *const c_void, msg_len: usize)>;

/// Gets a configuration: its members, who left, who joined, and the ring (never NULL).
pub type evs_confchg_fn_t = Option<
    unsafe extern "C-unwind" fn(
        handle: hdb_handle_t,
        member_list: *const c_uint,
        member_list_entries: usize,
        left_list: *const c_uint,
        left_list_entries: usize,
        joined_list: *const c_uint,
        joined_list_entries: usize,
        ring_id: *const evs_ring_id,
    ),
>;

/// Callbacks of `evs_initialize`; events without a callback are skipped.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct evs_callbacks_t {
    /// For messages.
    pub evs_deliver_fn: evs_deliver_fn_t,
    /// For configurations.
    pub evs_confchg_fn: evs_confchg_fn_t,
}

// SAFETY: a `repr(C)` enum of four bytes, checked below.
unsafe impl CEnum for evs_guarantee_t {}
const _: () = {
    assert!(size_of::<evs_guarantee_t>() == 4);
    assert!(size_of::<evs_group>() == 32 && align_of::<evs_group>() == 1);
};
