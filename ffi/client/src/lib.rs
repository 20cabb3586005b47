//! What stands behind every C library of evensong: the connection to the daemon, the handle
//! table, and the guard that keeps panics and cancellation inside.
//!
//! The C packages hold entry points only; they convert arguments and call in here. Nothing in
//! this crate starts a thread, installs a signal handler or prints.

mod connect;
mod connection;
mod guard;
mod handles;
mod lock;
mod sys;
mod take;
mod turns;

pub use connection::Connection;
pub use evensong_core::ipc::Service;
pub use guard::{guard, guard_quick};
pub use handles::Handles;
pub use take::{Event, Take, Ticket};
pub use turns::{wait, Active, Turn, Turns, AGAIN_MAX};

/// `cs_error_t` values that this crate itself returns.
pub mod code {
    /// Success.
    pub const OK: u32 = 1;
    /// The daemon is gone, or something broke inside.
    pub const LIBRARY: u32 = 2;
    /// Not now; the same call may work later.
    pub const TRY_AGAIN: u32 = 6;
    /// An argument is wrong.
    pub const INVALID_PARAM: u32 = 7;
    /// No memory.
    pub const NO_MEMORY: u32 = 8;
    /// No such handle, or it was finalized.
    pub const BAD_HANDLE: u32 = 9;
    /// The daemon does not let this user in.
    pub const ACCESS: u32 = 11;
    /// A limit of the daemon is reached.
    pub const NO_RESOURCES: u32 = 18;
    /// Larger than any record can be.
    pub const TOO_BIG: u32 = 26;
}
