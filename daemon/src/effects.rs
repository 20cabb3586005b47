//! What carrying out a node's outputs leaves for the event loop: nothing of it concerns clients.

use evensong_core::output::LogEvent;

use crate::net::Outbox;

/// Collected over one or several inputs.
#[derive(Debug, Default)]
pub struct Effects {
    /// Number of a ring that must be stored before anything in the box goes out.
    pub ring_seq: Option<u64>,
    /// The node must not go on, for this reason.
    pub shutdown: Option<&'static str>,
    /// Frames for other nodes.
    pub outbox: Outbox,
    /// Lines for the log.
    pub log: Vec<LogEvent>,
}
