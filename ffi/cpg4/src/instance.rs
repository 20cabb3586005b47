//! What stands behind a handle.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};

use evensong_client::{code, Connection, Handles};
use parking_lot::Mutex;

use crate::assembly::Assemblies;
use crate::buffers::Buffers;
use crate::names::Names;
use crate::types::{cpg_confchg_fn_t, cpg_deliver_fn_t, cpg_totem_confchg_fn_t};

/// Handles of `cpg_initialize`.
pub static HANDLES: Handles<Instance> = Handles::new();

/// The program's functions; fixed for the life of a handle.
#[derive(Clone, Copy, Default)]
pub struct Callbacks {
    /// For messages.
    pub deliver: cpg_deliver_fn_t,
    /// For changes of the group.
    pub confchg: cpg_confchg_fn_t,
    /// For changes of the ring.
    pub totem_confchg: cpg_totem_confchg_fn_t,
}

/// One connection with its state.
pub struct Instance {
    /// The connection.
    pub connection: Connection,
    /// The program's functions.
    pub callbacks: Callbacks,
    /// Flags of the model, for cpg_join.
    pub flags: u32,
    /// The program's pointer.
    pub context: AtomicPtr<c_void>,
    /// cpg_finalize was called.
    pub finalized: AtomicBool,
    /// In a group: cpg_join said OK and cpg_leave has not yet.
    pub joined: AtomicBool,
    /// Local node id, 0 until the first cpg_join.
    pub node: AtomicU32,
    /// Group names.
    pub names: Names,
    /// Large messages being received.
    pub assemblies: Mutex<Assemblies>,
    /// Held while the pieces of a large message are sent, which must not mix.
    pub large: Mutex<()>,
    /// Buffers of cpg_zcb_alloc.
    pub buffers: Buffers,
    /// Iterations begun on this handle.
    pub iterations: Mutex<Vec<u64>>,
}

impl Instance {
    /// A new one; not yet in a group.
    pub fn new(connection: Connection, callbacks: Callbacks, flags: u32, context: *mut c_void) -> Instance {
        Instance {
            connection,
            callbacks,
            flags,
            context: AtomicPtr::new(context),
            finalized: AtomicBool::new(false),
            joined: AtomicBool::new(false),
            node: AtomicU32::new(0),
            names: Names::new(),
            assemblies: Mutex::default(),
            large: Mutex::new(()),
            buffers: Buffers::default(),
            iterations: Mutex::default(),
        }
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
