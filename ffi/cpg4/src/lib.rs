//! `libcpg.so.4`: closed process groups, entry points only.
//!
//! Rules for pointers, which a function repeats only where it differs: a pointer is NULL or leads
//! to what its type says, readable and, where the function answers through it, writable, for
//! the time of the call. NULL is refused with `CS_ERR_INVALID_PARAM` where an answer or an
//! argument is needed. Nothing is kept after the call returns but the context and the functions
//! of `cpg_initialize`.
//!
//! Functions check, convert and call one safe function, all inside the guard; `cpg_dispatch` is
//! the exception, see `dispatch`.

#![allow(non_camel_case_types)]
#![allow(clippy::missing_safety_doc, reason = "the pointer rules are in the head of this file")]

mod assembly;
mod buffers;
mod calls;
mod dispatch;
mod instance;
mod iteration;
mod names;
mod send;
pub mod types;

use std::ffi::{c_int, c_uint, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;

use evensong_client::{code, guard, guard_quick};
use evensong_core::ids::GroupName;
use evensong_core::input::IterationKind;
use evensong_types::{cs_dispatch_flags_t, cs_error_t, number};
use libc::iovec;

use dispatch::{Active, Step};
use instance::{with, Callbacks};
use types::*;

/// `CS_ERR_NAME_TOO_LONG`.
const NAME_TOO_LONG: u32 = 13;

fn status(body: impl FnOnce() -> u32) -> cs_error_t {
    cs_error_t::from_number(guard(body))
}

/// The group of a C name, or the error it deserves.
///
/// # Safety
/// NULL or a name.
unsafe fn group_of(name: *const cpg_name) -> Result<GroupName, u32> {
    // SAFETY: the caller's promise.
    let name = unsafe { name.as_ref() }.ok_or(code::INVALID_PARAM)?;
    names::group_name(name).ok_or(NAME_TOO_LONG)
}

/// Stores an answer.
///
/// # Safety
/// `place` is writable.
unsafe fn answer<T>(place: *mut T, result: Result<T, u32>) -> u32 {
    match result {
        Ok(value) => {
            // SAFETY: the caller's promise.
            unsafe { place.write(value) };
            code::OK
        }
        Err(error) => error,
    }
}

/// Connects to the daemon. `callbacks` may be NULL, and so may its functions.
#[no_mangle]
pub unsafe extern "C" fn cpg_initialize(handle: *mut cpg_handle_t, callbacks: *mut cpg_callbacks_t) -> cs_error_t {
    status(|| {
        if handle.is_null() {
            return code::INVALID_PARAM;
        }
        // SAFETY: NULL or the callbacks.
        let given = unsafe { callbacks.as_ref() };
        let callbacks = given.map_or(Callbacks::default(), |given| Callbacks {
            deliver: given.cpg_deliver_fn,
            confchg: given.cpg_confchg_fn,
            totem_confchg: None,
        });
        // SAFETY: checked for NULL above.
        unsafe { answer(handle, calls::initialize(callbacks, 0, std::ptr::null_mut())) }
    })
}

/// Connects to the daemon, with the struct of `model`, which may be NULL, and a context.
#[no_mangle]
pub unsafe extern "C" fn cpg_model_initialize(
    handle: *mut cpg_handle_t,
    model: MaybeUninit<cpg_model_t>,
    model_data: *mut cpg_model_data_t,
    context: *mut c_void,
) -> cs_error_t {
    status(|| {
        // SAFETY: arguments of a C call are initialized.
        if unsafe { number(model) } != cpg_model_t::CPG_MODEL_V1 as u32 || handle.is_null() {
            return code::INVALID_PARAM;
        }
        // SAFETY: NULL or, for this model, a struct of this type.
        let data = unsafe { model_data.cast::<cpg_model_v1_data_t>().as_ref() };
        let callbacks = data.map_or(Callbacks::default(), |data| Callbacks {
            deliver: data.cpg_deliver_fn,
            confchg: data.cpg_confchg_fn,
            totem_confchg: data.cpg_totem_confchg_fn,
        });
        let flags = data.map_or(0, |data| data.flags);
        // SAFETY: checked for NULL above.
        unsafe { answer(handle, calls::initialize(callbacks, flags, context)) }
    })
}

/// Closes the connection; the handle and its iterations are bad from now on.
#[no_mangle]
pub extern "C" fn cpg_finalize(handle: cpg_handle_t) -> cs_error_t {
    status(|| calls::finalize(handle))
}

/// A descriptor to poll: readable while `cpg_dispatch` has something to do. Not to be read from,
/// not to be closed.
#[no_mangle]
pub unsafe extern "C" fn cpg_fd_get(handle: cpg_handle_t, fd: *mut c_int) -> cs_error_t {
    status(|| {
        // SAFETY: NULL is refused inside.
        unsafe { get(handle, fd, |instance| instance.connection.fd()) }
    })
}

/// Largest message that is sent in one piece, in bytes. Larger ones are cut up on the way.
#[no_mangle]
pub unsafe extern "C" fn cpg_max_atomic_msgsize_get(handle: cpg_handle_t, size: *mut u32) -> cs_error_t {
    status(|| {
        // SAFETY: NULL is refused inside.
        unsafe { get(handle, size, |instance| instance.connection.max_atomic()) }
    })
}

/// The pointer that the program keeps with the handle.
#[no_mangle]
pub unsafe extern "C" fn cpg_context_get(handle: cpg_handle_t, context: *mut *mut c_void) -> cs_error_t {
    status(|| {
        // SAFETY: NULL is refused inside.
        unsafe { get(handle, context, |instance| instance.context.load(Ordering::Relaxed)) }
    })
}

/// Sets the pointer that the program keeps with the handle.
#[no_mangle]
pub extern "C" fn cpg_context_set(handle: cpg_handle_t, context: *mut c_void) -> cs_error_t {
    status(|| {
        with(handle, |instance| {
            instance.context.store(context, Ordering::Relaxed);
            code::OK
        })
    })
}

/// Something of a handle, stored where the program wants it.
///
/// # Safety
/// `place` is NULL or writable.
unsafe fn get<T>(handle: cpg_handle_t, place: *mut T, what: impl FnOnce(&instance::Instance) -> T) -> u32 {
    with(handle, |instance| {
        if place.is_null() {
            return code::INVALID_PARAM;
        }
        // SAFETY: checked for NULL above.
        unsafe { answer(place, Ok(what(instance))) }
    })
}

/// Calls the program's functions for what is due, and waits if `dispatch_types` says so. A
/// function may call anything of this library, `cpg_finalize` too.
#[no_mangle]
pub extern "C-unwind" fn cpg_dispatch(
    handle: cpg_handle_t,
    dispatch_types: MaybeUninit<cs_dispatch_flags_t>,
) -> cs_error_t {
    // SAFETY: arguments of a C call are initialized.
    let turn = match Active::begin(handle, unsafe { number(dispatch_types) }) {
        Ok(turn) => turn,
        Err(error) => return cs_error_t::from_number(error),
    };
    loop {
        match turn.step() {
            Step::Deliver { call: Some(call), name, node, pid, msg, len } => {
                // SAFETY: the program's function; the pointers hold until the next step.
                unsafe { call(handle, name, node, pid, msg, len) }
            }
            Step::Confchg { call: Some(call), name, members, left, joined } => {
                // SAFETY: as above.
                unsafe {
                    call(handle, name, members.start, members.len, left.start, left.len, joined.start, joined.len);
                }
            }
            Step::TotemConfchg { call: Some(call), ring, members, count } => {
                // SAFETY: as above.
                unsafe { call(handle, ring, count, members) }
            }
            Step::Wait(fd) => evensong_client::wait(fd),
            Step::Return(error) => return cs_error_t::from_number(error),
            Step::Deliver { .. } | Step::Confchg { .. } | Step::TotemConfchg { .. } => {}
        }
    }
}

/// Joins a group. A handle is in one group at a time.
#[no_mangle]
pub unsafe extern "C" fn cpg_join(handle: cpg_handle_t, group: *const cpg_name) -> cs_error_t {
    // SAFETY: NULL or a name.
    status(|| match unsafe { group_of(group) } {
        Ok(group) => with(handle, |instance| calls::join(instance, &group)),
        Err(error) => error,
    })
}

/// Leaves a group.
#[no_mangle]
pub unsafe extern "C" fn cpg_leave(handle: cpg_handle_t, group: *const cpg_name) -> cs_error_t {
    // SAFETY: NULL or a name.
    status(|| match unsafe { group_of(group) } {
        Ok(group) => with(handle, |instance| calls::leave(instance, &group)),
        Err(error) => error,
    })
}

/// Sends a message to the group that the handle is in, the sender included. `CS_ERR_TRY_AGAIN`:
/// nothing was sent, there is no room just now.
#[no_mangle]
pub unsafe extern "C" fn cpg_mcast_joined(
    handle: cpg_handle_t,
    guarantee: MaybeUninit<cpg_guarantee_t>,
    iovec: *const iovec,
    iov_len: c_uint,
) -> cs_error_t {
    cs_error_t::from_number(guard_quick(|| {
        with(handle, |instance| {
            let parts = match (iovec.is_null(), iov_len) {
                (_, 0) => &[],
                (true, _) => return code::INVALID_PARAM,
                // SAFETY: an array of that many entries.
                (false, len) => unsafe { std::slice::from_raw_parts(iovec, len as usize) },
            };
            // SAFETY: arguments of a C call are initialized; entries describe readable memory.
            unsafe { send::mcast(instance, number(guarantee), parts) }
        })
    }))
}

/// Members of a group. `member_list` has room for `CPG_MEMBERS_MAX` entries.
#[no_mangle]
#[allow(non_snake_case)]
pub unsafe extern "C" fn cpg_membership_get(
    handle: cpg_handle_t,
    groupName: *mut cpg_name,
    member_list: *mut cpg_address,
    member_list_entries: *mut c_int,
) -> cs_error_t {
    status(|| {
        // SAFETY: NULL or a name.
        let group = match unsafe { group_of(groupName) } {
            Ok(group) => group,
            Err(error) => return error,
        };
        if member_list.is_null() || member_list_entries.is_null() {
            return code::INVALID_PARAM;
        }
        with(handle, |instance| {
            let (error, members) = match calls::membership(instance, &group) {
                Ok(answer) => answer,
                Err(error) => return error,
            };
            let members = &members[..members.len().min(CPG_MEMBERS_MAX)];
            for (at, member) in members.iter().enumerate() {
                let address = cpg_address { nodeid: member.node.0, pid: member.pid, reason: member.reason };
                // SAFETY: the program's list has room for so many.
                unsafe { member_list.add(at).write(address) };
            }
            // SAFETY: checked for NULL above.
            unsafe { member_list_entries.write(members.len() as c_int) };
            error
        })
    })
}

/// Node id of the local node.
#[no_mangle]
pub unsafe extern "C" fn cpg_local_get(handle: cpg_handle_t, local_nodeid: *mut c_uint) -> cs_error_t {
    status(|| {
        with(handle, |instance| {
            if local_nodeid.is_null() {
                return code::INVALID_PARAM;
            }
            // SAFETY: checked for NULL above.
            unsafe { answer(local_nodeid, calls::local(instance)) }
        })
    })
}

/// Whether messages should be held back for a member that lags behind.
#[no_mangle]
pub unsafe extern "C" fn cpg_flow_control_state_get(
    handle: cpg_handle_t,
    flow_control_enabled: *mut cpg_flow_control_state_t,
) -> cs_error_t {
    let state = |enabled| match enabled {
        false => cpg_flow_control_state_t::CPG_FLOW_CONTROL_DISABLED,
        true => cpg_flow_control_state_t::CPG_FLOW_CONTROL_ENABLED,
    };
    status(|| {
        // SAFETY: NULL is refused inside.
        unsafe { get(handle, flow_control_enabled, |instance| state(instance.connection.flow_control())) }
    })
}

/// Gets a buffer for `cpg_zcb_mcast_joined`, page aligned.
#[no_mangle]
pub unsafe extern "C" fn cpg_zcb_alloc(handle: cpg_handle_t, size: usize, buffer: *mut *mut c_void) -> cs_error_t {
    status(|| {
        with(handle, |instance| {
            if buffer.is_null() {
                return code::INVALID_PARAM;
            }
            let start = instance.buffers.alloc(size).map(|start| start.as_ptr()).ok_or(code::NO_MEMORY);
            // SAFETY: checked for NULL above.
            unsafe { answer(buffer, start) }
        })
    })
}

/// Gives a buffer of `cpg_zcb_alloc` back.
#[no_mangle]
pub extern "C" fn cpg_zcb_free(handle: cpg_handle_t, buffer: *mut c_void) -> cs_error_t {
    status(|| {
        with(handle, |instance| match instance.buffers.free(buffer) {
            true => code::OK,
            false => code::INVALID_PARAM,
        })
    })
}

/// Sends the first bytes of a buffer of `cpg_zcb_alloc`. The buffer may be written again when
/// the call returns.
#[no_mangle]
pub extern "C" fn cpg_zcb_mcast_joined(
    handle: cpg_handle_t,
    guarantee: MaybeUninit<cpg_guarantee_t>,
    msg: *mut c_void,
    msg_len: usize,
) -> cs_error_t {
    cs_error_t::from_number(guard_quick(|| {
        with(handle, |instance| {
            // SAFETY: arguments of a C call are initialized.
            let guarantee = unsafe { number(guarantee) };
            send::mcast_buffer(instance, guarantee, msg, msg_len)
        })
    }))
}

/// Begins to go through groups or members. `group` is for `CPG_ITERATION_ONE_GROUP`, else NULL.
#[no_mangle]
pub unsafe extern "C" fn cpg_iteration_initialize(
    handle: cpg_handle_t,
    iteration_type: MaybeUninit<cpg_iteration_type_t>,
    group: *const cpg_name,
    cpg_iteration_handle: *mut cpg_iteration_handle_t,
) -> cs_error_t {
    status(|| {
        // SAFETY: NULL or a name.
        let name = match unsafe { group_of(group) } {
            Err(NAME_TOO_LONG) => return NAME_TOO_LONG,
            other => other.ok(),
        };
        // SAFETY: arguments of a C call are initialized.
        let kind = iteration::kind(unsafe { number(iteration_type) });
        let begun = match (kind, name) {
            _ if cpg_iteration_handle.is_null() => return code::INVALID_PARAM,
            (Some(IterationKind::OneGroup), Some(name)) => iteration::begin(handle, IterationKind::OneGroup, &name),
            (None | Some(IterationKind::OneGroup), _) | (_, Some(_)) => return code::INVALID_PARAM,
            (Some(kind), None) => match GroupName::new(&[]) {
                Some(none) => iteration::begin(handle, kind, &none),
                None => return code::LIBRARY,
            },
        };
        // SAFETY: checked for NULL above.
        unsafe { answer(cpg_iteration_handle, begun) }
    })
}

/// The next step of an iteration; `CS_ERR_NO_SECTIONS` at the end.
#[no_mangle]
pub unsafe extern "C" fn cpg_iteration_next(
    handle: cpg_iteration_handle_t,
    description: *mut cpg_iteration_description_t,
) -> cs_error_t {
    status(|| match description.is_null() {
        true => code::INVALID_PARAM,
        // SAFETY: checked for NULL.
        false => unsafe { answer(description, iteration::next(handle)) },
    })
}

/// Ends an iteration.
#[no_mangle]
pub extern "C" fn cpg_iteration_finalize(handle: cpg_iteration_handle_t) -> cs_error_t {
    status(|| iteration::end(handle))
}

#[cfg(not(any(test, feature = "unversioned")))]
include!(concat!(env!("OUT_DIR"), "/symver.rs"));
