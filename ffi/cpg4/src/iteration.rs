//! Iterations over groups and members: handles of their own, which end with the connection's.

use std::sync::Arc;

use evensong_client::{code, Handles};
use evensong_core::ids::GroupName;
use evensong_core::input::IterationKind;
use evensong_core::ipc::{reply, request};

use crate::calls;
use crate::instance::Instance;
use crate::names::c_name;
use crate::types::cpg_iteration_description_t;

static ITERATIONS: Handles<Iteration> = Handles::new();

struct Iteration {
    instance: Arc<Instance>,
    /// The daemon's number.
    number: u64,
}

/// The kind with a C number.
pub fn kind(number: u32) -> Option<IterationKind> {
    [IterationKind::NameOnly, IterationKind::OneGroup, IterationKind::All]
        .into_iter()
        .find(|kind| *kind as u32 == number)
}

/// Begins an iteration.
pub fn begin(handle: u64, kind: IterationKind, group: &GroupName) -> Result<u64, u32> {
    let instance = calls::instance(handle)?;
    let arguments = request::cpg_iteration_start(kind, group);
    let number = match instance.call(request::kind::CPG_ITERATION_START, &arguments)? {
        (code::OK, body) => reply::decode_iteration(&body).map_err(|_| code::LIBRARY)?,
        (error, _) => return Err(error),
    };
    let iteration = ITERATIONS.insert(Iteration { instance: Arc::clone(&instance), number })?;
    instance.iterations.lock().push(iteration);
    if instance.finalized.load(std::sync::atomic::Ordering::Acquire) {
        // Finalized meanwhile; its clean-up may have run before the push.
        end_all(&instance);
        return Err(code::BAD_HANDLE);
    }
    Ok(iteration)
}

/// The next step; `CS_ERR_NO_SECTIONS` from the daemon at the end.
pub fn next(handle: u64) -> Result<cpg_iteration_description_t, u32> {
    let iteration = ITERATIONS.get(handle).ok_or(code::BAD_HANDLE)?;
    let arguments = request::cpg_iteration(iteration.number);
    match iteration.instance.call(request::kind::CPG_ITERATION_NEXT, &arguments)? {
        (code::OK, body) => {
            let (group, node, pid) = reply::decode_iteration_item(&body).map_err(|_| code::LIBRARY)?;
            Ok(cpg_iteration_description_t { group: c_name(&group), nodeid: node.0, pid })
        }
        (error, _) => Err(error),
    }
}

/// Ends an iteration. Its handle stays when the daemon could not be asked, as in the original.
pub fn end(handle: u64) -> u32 {
    let Some(iteration) = ITERATIONS.get(handle) else { return code::BAD_HANDLE };
    let arguments = request::cpg_iteration(iteration.number);
    match iteration.instance.call(request::kind::CPG_ITERATION_END, &arguments) {
        Ok((error, _)) => {
            ITERATIONS.remove(handle);
            iteration.instance.iterations.lock().retain(|other| *other != handle);
            error
        }
        Err(error) => error,
    }
}

/// Ends all iterations of a connection that is being finalized.
pub fn end_all(instance: &Instance) {
    for handle in std::mem::take(&mut *instance.iterations.lock()) {
        ITERATIONS.remove(handle);
    }
}
