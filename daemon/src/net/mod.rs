//! Frames to and from other nodes.
//!
//! `plan` is what the configuration says of it.

mod plan;

pub use plan::{IpVersion, NetConfig, Peer, Transport};
