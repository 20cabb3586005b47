//! The calls that ask the daemon and wait for its answer.

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use evensong_client::{code, Connection, Service};
use evensong_core::ids::GroupName;
use evensong_core::ipc::{reply, request};
use evensong_core::output::CpgMember;

use crate::instance::{Callbacks, Instance, HANDLES};
use crate::iteration;

/// `CS_ERR_BUSY`.
const BUSY: u32 = 10;

/// The one flag of model 1.
const KNOWN_FLAGS: u32 = crate::types::CPG_MODEL_V1_DELIVER_INITIAL_TOTEM_CONF;

/// Connects and makes a handle. Flags are looked at after connecting, as in the original: without
/// a daemon that is the error.
pub fn initialize(callbacks: Callbacks, flags: u32, context: *mut std::ffi::c_void) -> Result<u64, u32> {
    let connection = Connection::connect(Service::Cpg)?;
    if flags & !KNOWN_FLAGS != 0 {
        return Err(code::INVALID_PARAM);
    }
    HANDLES.insert(Instance::new(connection, callbacks, flags, context))
}

/// Ends a handle, its iterations and its connection, whatever the daemon says.
pub fn finalize(handle: u64) -> u32 {
    let Some(instance) = HANDLES.get(handle) else { return code::BAD_HANDLE };
    if instance.finalized.swap(true, Ordering::AcqRel) {
        return code::BAD_HANDLE;
    }
    let answer = instance.call(request::kind::CPG_FINALIZE, &[]);
    iteration::end_all(&instance);
    HANDLES.remove(handle);
    instance.connection.shut_down();
    answer.map_or_else(|error| error, |_| code::OK)
}

/// How soon a call is repeated.
const BUSY_PAUSE: Duration = Duration::from_micros(200);

/// Repeats a call while the daemon says that an earlier one is still under way: until the ring
/// has delivered it.
fn while_busy(instance: &Instance, kind: u16, arguments: &[u8]) -> u32 {
    loop {
        match instance.call(kind, arguments) {
            Ok((BUSY, _)) => std::thread::sleep(BUSY_PAUSE),
            Ok((error, _)) => return error,
            Err(error) => return error,
        }
    }
}

/// Joins a group. The process id is that of now: after a fork it is the child's.
pub fn join(instance: &Instance, group: &GroupName) -> u32 {
    if instance.node.load(Ordering::Relaxed) == 0 {
        if let Ok(node) = local(instance) {
            instance.node.store(node, Ordering::Relaxed);
        }
    }
    let arguments = request::cpg_join(std::process::id(), group, instance.flags);
    let error = while_busy(instance, request::kind::CPG_JOIN, &arguments);
    if error == code::OK {
        instance.joined.store(true, Ordering::Relaxed);
    }
    error
}

/// Leaves a group.
pub fn leave(instance: &Instance, group: &GroupName) -> u32 {
    let arguments = request::cpg_leave(std::process::id(), group);
    let error = while_busy(instance, request::kind::CPG_LEAVE, &arguments);
    if error == code::OK {
        instance.joined.store(false, Ordering::Relaxed);
    }
    error
}

/// Members of a group: the daemon's error and the list, empty when it sent none.
pub fn membership(instance: &Instance, group: &GroupName) -> Result<(u32, Vec<CpgMember>), u32> {
    let (error, body) = instance.call(request::kind::CPG_MEMBERSHIP, &request::cpg_membership(group))?;
    if error != code::OK && body.is_empty() {
        return Ok((error, Vec::new()));
    }
    let members = reply::decode_cpg_membership(&body).map_err(|_| code::LIBRARY)?;
    Ok((error, members))
}

/// The local node id.
pub fn local(instance: &Instance) -> Result<u32, u32> {
    match instance.call(request::kind::CPG_LOCAL_GET, &[])? {
        (code::OK, body) => reply::decode_node(&body).map(|node| node.0).map_err(|_| code::LIBRARY),
        (error, _) => Err(error),
    }
}

/// A reference that outlives the lookup.
pub fn instance(handle: u64) -> Result<Arc<Instance>, u32> {
    HANDLES.get(handle).ok_or(code::BAD_HANDLE)
}
