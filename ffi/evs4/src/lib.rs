//! `libevs.so.4`: extended virtual synchrony, entry points only.
//!
//! Rules for pointers, which a function repeats only where it differs: a pointer is NULL or leads
//! to what its type says, readable and, where the function answers through it, writable, for
//! the time of the call. NULL is refused with `CS_ERR_INVALID_PARAM` where an answer or an
//! argument is needed. Nothing is kept after the call returns but the context and the functions
//! of `evs_initialize`.
//!
//! Functions check, convert and call one safe function, all inside the guard; `evs_dispatch` is
//! the exception, see `dispatch`.

#![allow(non_camel_case_types)]
#![allow(clippy::missing_safety_doc, reason = "the pointer rules are in the head of this file")]

mod calls;
mod dispatch;
mod instance;
mod send;
pub mod types;

use std::ffi::{c_int, c_uint, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;

use evensong_client::{code, guard, guard_quick};
use evensong_core::ids::EvsGroup;
use evensong_types::{cs_dispatch_flags_t, cs_error_t, number};
use libc::iovec;

use dispatch::{Active, Step};
use instance::{with, Instance};
use types::*;

fn status(body: impl FnOnce() -> u32) -> cs_error_t {
    cs_error_t::from_number(guard(body))
}

/// The entries of a C array; NULL is refused unless it is empty.
///
/// # Safety
/// NULL, or an array of that many entries.
unsafe fn entries<'a, T>(start: *const T, len: usize) -> Result<&'a [T], u32> {
    if len == 0 {
        return Ok(&[]);
    }
    if start.is_null() || len > isize::MAX as usize / size_of::<T>() {
        return Err(code::INVALID_PARAM);
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(start, len) })
}

/// Groups as the core has them; no more than a message could name, whose surplus the daemon
/// or the caller refuses.
///
/// # Safety
/// As [`entries`].
unsafe fn groups_of(start: *const evs_group, len: usize) -> Result<Vec<EvsGroup>, u32> {
    // SAFETY: the caller's promise.
    let groups = unsafe { entries(start, len) }?;
    Ok(groups.iter().take(calls::GROUPS_MAX + 1).map(|group| EvsGroup(group.key.map(|byte| byte as u8))).collect())
}

/// Something of a handle, stored where the program wants it.
///
/// # Safety
/// `place` is NULL or writable.
unsafe fn get<T>(handle: evs_handle_t, place: *mut T, what: impl FnOnce(&Instance) -> T) -> u32 {
    with(handle, |instance| {
        if place.is_null() {
            return code::INVALID_PARAM;
        }
        // SAFETY: checked for NULL above.
        unsafe { place.write(what(instance)) };
        code::OK
    })
}

/// Connects to the daemon. `callbacks` may be NULL, and so may its functions.
#[no_mangle]
pub unsafe extern "C" fn evs_initialize(handle: *mut evs_handle_t, callbacks: *mut evs_callbacks_t) -> cs_error_t {
    status(|| {
        if handle.is_null() {
            return code::INVALID_PARAM;
        }
        // SAFETY: NULL or the callbacks.
        match calls::initialize(unsafe { callbacks.as_ref() }.copied()) {
            Ok(new) => {
                // SAFETY: checked for NULL above.
                unsafe { handle.write(new) };
                code::OK
            }
            Err(error) => error,
        }
    })
}

/// Closes the connection; the handle is bad from now on.
#[no_mangle]
pub extern "C" fn evs_finalize(handle: evs_handle_t) -> cs_error_t {
    status(|| calls::finalize(handle))
}

/// A descriptor to poll: readable while `evs_dispatch` has something to do. Not to be read from,
/// not to be closed.
#[no_mangle]
pub unsafe extern "C" fn evs_fd_get(handle: evs_handle_t, fd: *mut c_int) -> cs_error_t {
    status(|| {
        // SAFETY: NULL is refused inside.
        unsafe { get(handle, fd, |instance| instance.connection.fd()) }
    })
}

/// The pointer that the program keeps with the handle.
#[no_mangle]
pub unsafe extern "C" fn evs_context_get(handle: evs_handle_t, context: *mut *mut c_void) -> cs_error_t {
    status(|| {
        // SAFETY: NULL is refused inside.
        unsafe { get(handle, context, |instance| instance.context.load(Ordering::Relaxed)) }
    })
}

/// Sets the pointer that the program keeps with the handle.
#[no_mangle]
pub extern "C" fn evs_context_set(handle: evs_handle_t, context: *mut c_void) -> cs_error_t {
    status(|| {
        with(handle, |instance| {
            instance.context.store(context, Ordering::Relaxed);
            code::OK
        })
    })
}

/// Calls the program's functions for what is due, and waits if `dispatch_types` says so. A
/// function may call anything of this library, `evs_finalize` too.
#[no_mangle]
pub extern "C-unwind" fn evs_dispatch(
    handle: evs_handle_t,
    dispatch_types: MaybeUninit<cs_dispatch_flags_t>,
) -> cs_error_t {
    // SAFETY: arguments of a C call are initialized.
    let turn = match Active::begin(handle, unsafe { number(dispatch_types) }) {
        Ok(turn) => turn,
        Err(error) => return cs_error_t::from_number(error),
    };
    loop {
        match turn.step() {
            Step::Deliver { call: Some(call), node, msg, len } => {
                // SAFETY: the program's function; the pointers hold until the next step.
                unsafe { call(handle, node, msg, len) }
            }
            Step::Confchg { call: Some(call), ring, members, left, joined } => {
                // SAFETY: as above.
                unsafe {
                    call(
                        handle,
                        members.start,
                        members.len,
                        left.start,
                        left.len,
                        joined.start,
                        joined.len,
                        &raw const ring,
                    );
                }
            }
            Step::Wait(fd) => evensong_client::wait(fd),
            Step::Return(error) => return cs_error_t::from_number(error),
            Step::Deliver { .. } | Step::Confchg { .. } => {}
        }
    }
}

/// Joins groups, at most 50 a call; a handle can be in any number.
#[no_mangle]
pub unsafe extern "C" fn evs_join(handle: evs_handle_t, groups: *const evs_group, group_cnt: usize) -> cs_error_t {
    status(|| {
        with(handle, |instance| {
            // SAFETY: NULL or so many groups.
            match unsafe { groups_of(groups, group_cnt) } {
                Ok(groups) => calls::join(instance, &groups),
                Err(error) => error,
            }
        })
    })
}

/// Leaves groups. At the first that was not joined it stops.
#[no_mangle]
pub unsafe extern "C" fn evs_leave(handle: evs_handle_t, groups: *const evs_group, group_cnt: usize) -> cs_error_t {
    status(|| {
        with(handle, |instance| {
            // SAFETY: NULL or so many groups.
            match unsafe { groups_of(groups, group_cnt) } {
                Ok(groups) => calls::leave(instance, &groups),
                Err(error) => error,
            }
        })
    })
}

/// Sends a message to all groups that the handle is in. `CS_ERR_TRY_AGAIN`: nothing was sent,
/// there is no room just now.
#[no_mangle]
pub unsafe extern "C" fn evs_mcast_joined(
    handle: evs_handle_t,
    guarantee: MaybeUninit<evs_guarantee_t>,
    iovec: *const iovec,
    iov_len: c_uint,
) -> cs_error_t {
    cs_error_t::from_number(guard_quick(|| {
        with(handle, |instance| {
            // SAFETY: NULL or an array of that many entries.
            match unsafe { entries(iovec, iov_len as usize) } {
                // SAFETY: arguments of a C call are initialized; entries describe readable memory.
                Ok(parts) => unsafe { send::mcast_joined(instance, number(guarantee), parts) },
                Err(error) => error,
            }
        })
    }))
}

/// Sends a message to the groups named here, joined or not. `CS_ERR_TRY_AGAIN`: nothing was
/// sent, there is no room just now.
#[no_mangle]
pub unsafe extern "C" fn evs_mcast_groups(
    handle: evs_handle_t,
    guarantee: MaybeUninit<evs_guarantee_t>,
    groups: *const evs_group,
    group_cnt: usize,
    iovec: *const iovec,
    iov_len: c_uint,
) -> cs_error_t {
    cs_error_t::from_number(guard_quick(|| {
        with(handle, |instance| {
            // SAFETY: NULL or arrays of that many entries.
            let (groups, parts) = unsafe { (groups_of(groups, group_cnt), entries(iovec, iov_len as usize)) };
            match (groups, parts) {
                // SAFETY: arguments of a C call are initialized; entries describe readable memory.
                (Ok(groups), Ok(parts)) => unsafe { send::mcast_groups(instance, number(guarantee), &groups, parts) },
                (Err(error), _) | (_, Err(error)) => error,
            }
        })
    }))
}

/// Local node and members of the configuration told last. `member_list_entries` says how many
/// fit into `member_list` and gets how many are in it; the other two may be NULL.
#[no_mangle]
pub unsafe extern "C" fn evs_membership_get(
    handle: evs_handle_t,
    local_nodeid: *mut c_uint,
    member_list: *mut c_uint,
    member_list_entries: *mut usize,
) -> cs_error_t {
    status(|| {
        with(handle, |instance| {
            if member_list_entries.is_null() {
                return code::INVALID_PARAM;
            }
            let (local, members) = match calls::membership(instance) {
                Ok(answer) => answer,
                Err(error) => return error,
            };
            // SAFETY: checked for NULL above.
            let fits = unsafe { member_list_entries.read() }.min(members.len());
            if !local_nodeid.is_null() {
                // SAFETY: checked for NULL.
                unsafe { local_nodeid.write(local) };
            }
            if !member_list.is_null() {
                for (at, member) in members.iter().take(fits).enumerate() {
                    // SAFETY: the program's list has room for so many.
                    unsafe { member_list.add(at).write(member.0) };
                }
            }
            // SAFETY: checked for NULL above.
            unsafe { member_list_entries.write(fits) };
            code::OK
        })
    })
}

#[cfg(not(any(test, feature = "unversioned")))]
include!(concat!(env!("OUT_DIR"), "/symver.rs"));
