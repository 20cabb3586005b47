//! Local clients: accepting them, their shared memory, serving their requests, delivering to
//! them, holding senders back for members that lag.
//!
//! `listener` lets clients in, `link` is one client's wire (our own dialect: two rings and a
//! reply area in a sealed memfd; libqb's would be a second one), `clients` keeps all of them
//! and delivers, `serve` takes requests, `pace` decides about members that do not read.

mod access;
mod clients;
mod link;
mod listener;
mod pace;
mod serve;

pub use access::Access;
pub use clients::Clients;
pub use link::{Bell, Link};
pub use listener::{Admitted, Arrival, Listener, Progress, ARRIVALS_MAX};
pub use serve::{serve, Now, Scratch, Served, TURN_LEAST};

use std::time::Duration;

/// Limits of the local clients, from the `evensong` section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Size of each of the two rings of a connection, in bytes.
    pub ring_size: u32,
    /// Most connections at a time.
    pub clients_max: usize,
    /// Most bytes of shared memory and backlog over all connections.
    pub memory_max: u64,
    /// How long a member may stay without reading while others wait for it.
    pub reader_timeout: Duration,
    /// Most bytes kept for one member beyond its ring.
    pub backlog_max: u64,
    /// Longest time that the daemon spins for the next request before it sleeps.
    pub spin_max: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            ring_size: evensong_core::ipc::DEFAULT_RING,
            clients_max: 1024,
            memory_max: 16 << 30,
            reader_timeout: Duration::from_millis(4000),
            backlog_max: 32 << 20,
            spin_max: Duration::from_micros(50),
        }
    }
}
