//! What stands behind a handle.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};

use evensong_client::{code, Connection, Handles};

use crate::types::evs_callbacks_t;

/// Handles of `evs_initialize`.
pub static HANDLES: Handles<Instance> = Handles::new();

/// One connection with its state.
pub struct Instance {
    /// The connection.
    pub connection: Connection,
    /// The program's functions; fixed for the life of a handle.
    pub callbacks: evs_callbacks_t,
    /// The program's pointer.
    pub context: AtomicPtr<c_void>,
    /// evs_finalize was called.
    pub finalized: AtomicBool,
    /// Groups that the handle is in, at most: a leave that ends at a wrong one is not counted.
    pub groups: AtomicUsize,
}

impl Instance {
    /// A new one; in no group.
    pub fn new(connection: Connection, callbacks: evs_callbacks_t) -> Instance {
        let (context, finalized) = (AtomicPtr::default(), AtomicBool::new(false));
        Instance { connection, callbacks, context, finalized, groups: AtomicUsize::new(0) }
    }

    /// A synchronous request without a message.
    pub fn call(&self, kind: u16, arguments: &[u8]) -> Result<(u32, Vec<u8>), u32> {
        // SAFETY: no memory besides the slice is named.
        unsafe { self.connection.call(kind, 0, 0, arguments, &[]) }
    }
}

/// Does something with the instance of a handle.
pub fn with(handle: u64, body: impl FnOnce(&Instance) -> u32) -> u32 {
    HANDLES.get(handle).map_or(code::BAD_HANDLE, |instance| body(&instance))
}
