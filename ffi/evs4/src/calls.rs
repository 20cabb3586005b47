//! The calls that ask the daemon and wait for its answer.

use std::sync::atomic::Ordering;
use std::sync::Arc;

use evensong_client::{code, Connection, Service};
use evensong_core::ids::{EvsGroup, NodeId};
use evensong_core::ipc::{reply, request, MAX_BODY};

use crate::instance::{Instance, HANDLES};
use crate::types::evs_callbacks_t;

/// Most groups that one request can name at all.
pub const GROUPS_MAX: usize = MAX_BODY as usize / size_of::<EvsGroup>();

/// Connects and makes a handle.
pub fn initialize(callbacks: Option<evs_callbacks_t>) -> Result<u64, u32> {
    let connection = Connection::connect(Service::Evs)?;
    let none = evs_callbacks_t { evs_deliver_fn: None, evs_confchg_fn: None };
    HANDLES.insert(Instance::new(connection, callbacks.unwrap_or(none)))
}

/// Ends a handle and its connection. The daemon is not asked, as in the original.
pub fn finalize(handle: u64) -> u32 {
    let Some(instance) = HANDLES.get(handle) else { return code::BAD_HANDLE };
    if instance.finalized.swap(true, Ordering::AcqRel) {
        return code::BAD_HANDLE;
    }
    HANDLES.remove(handle);
    instance.connection.shut_down();
    code::OK
}

/// Joins groups; too many are for the daemon to refuse, which needs to see one too many.
pub fn join(instance: &Instance, groups: &[EvsGroup]) -> u32 {
    let shown = &groups[..groups.len().min(request::EVS_JOIN_GROUPS_MAX + 1)];
    let error = answer(instance.call(request::kind::EVS_JOIN, &request::evs_groups(shown)));
    if error == code::OK {
        instance.groups.fetch_add(groups.len(), Ordering::Relaxed);
    }
    error
}

/// Leaves groups.
pub fn leave(instance: &Instance, groups: &[EvsGroup]) -> u32 {
    if groups.len() > GROUPS_MAX {
        return code::INVALID_PARAM;
    }
    let error = answer(instance.call(request::kind::EVS_LEAVE, &request::evs_groups(groups)));
    if error == code::OK {
        instance.groups.fetch_sub(groups.len(), Ordering::Relaxed);
    }
    error
}

fn answer(result: Result<(u32, Vec<u8>), u32>) -> u32 {
    result.map_or_else(|error| error, |(error, _)| error)
}

/// Local node and members of the configuration told last.
pub fn membership(instance: &Instance) -> Result<(u32, Vec<NodeId>), u32> {
    match instance.call(request::kind::EVS_MEMBERSHIP, &[])? {
        (code::OK, body) => {
            let (local, members) = reply::decode_evs_membership(&body).map_err(|_| code::LIBRARY)?;
            Ok((local.0, members))
        }
        (error, _) => Err(error),
    }
}

/// A reference that outlives the lookup.
pub fn instance(handle: u64) -> Result<Arc<Instance>, u32> {
    HANDLES.get(handle).ok_or(code::BAD_HANDLE)
}
