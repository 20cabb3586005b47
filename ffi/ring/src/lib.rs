//! The memory that one client and the daemon share, and the rings in it.
//!
//! One connection has two rings of variable-length records, each with one producer and one
//! consumer: requests (client to daemon) and events (daemon to client). Layout and words are
//! [`evensong_core::ipc`]'s; this crate holds what needs `unsafe`: the mapping, the copies in
//! and out, the atomics, the futex. Neither side trusts the other: positions are kept privately
//! and only the peer's are read, checked before use; record headers are copied once, then
//! judged. A peer that lies gets [`Corrupt`] on the other side and loses its connection.
//!
//! `plan` is the arithmetic, `ring` the two ends, `signal` who wakes whom (explored by loom,
//! see `tests/loom.rs`), `memory` the sealed memfd, `control` the words of the control page.

mod control;
mod futex;
mod memory;
mod plan;
mod ring;
pub mod signal;

pub use control::{Control, Word};
pub use futex::{futex_wait, futex_wake};
pub use memory::{Area, Memory};
pub use plan::{place, record_size, Place};
pub use ring::{Body, Consumer, Corrupt, Producer, Record};
