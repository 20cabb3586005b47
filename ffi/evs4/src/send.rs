//! Sending. What is larger than the limits gets `CS_ERR_INVALID_PARAM`, as in the original.

use std::sync::atomic::Ordering;

use evensong_client::code;
use evensong_core::ids::EvsGroup;
use evensong_core::input::Guarantee;
use evensong_core::ipc::request;

use crate::instance::Instance;

/// The guarantee of a C value; values that mean nothing count as agreed, as in the original.
fn guarantee(number: u32) -> Guarantee {
    match number {
        0 => Guarantee::Unordered,
        1 => Guarantee::Fifo,
        3 => Guarantee::Safe,
        _ => Guarantee::Agreed,
    }
}

/// Sends to the groups that the handle is in.
///
/// # Safety
/// Every entry of `iov` with an address and a length describes readable memory.
pub unsafe fn mcast_joined(instance: &Instance, number: u32, iov: &[libc::iovec]) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { send(instance, request::kind::EVS_MCAST_JOINED, number, &[], iov) }
}

/// Sends to the groups named.
///
/// # Safety
/// As [`mcast_joined`].
pub unsafe fn mcast_groups(instance: &Instance, number: u32, groups: &[EvsGroup], iov: &[libc::iovec]) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { send(instance, request::kind::EVS_MCAST_GROUPS, number, groups, iov) }
}

/// # Safety
/// As [`mcast_joined`].
unsafe fn send(instance: &Instance, kind: u16, number: u32, groups: &[EvsGroup], iov: &[libc::iovec]) -> u32 {
    let mut total = 0usize;
    for part in iov {
        total = total.saturating_add(part.iov_len);
        if part.iov_base.is_null() && part.iov_len != 0 {
            return code::INVALID_PARAM;
        }
    }
    let carried = match kind {
        request::kind::EVS_MCAST_JOINED => instance.groups.load(Ordering::Relaxed),
        _ => groups.len(),
    };
    if total > instance.connection.max_atomic() as usize || !request::evs_fits(carried, total) {
        return code::INVALID_PARAM;
    }
    let a = groups.len() as u32;
    let head = if groups.is_empty() { Vec::new() } else { request::evs_groups(groups) };
    let flags = request::mcast_flags(guarantee(number));
    // SAFETY: the caller's promise; entries without an address have length 0.
    match unsafe { instance.connection.send(kind, flags, a, &head, iov) } {
        Ok(()) => code::OK,
        Err(error) => error,
    }
}
