//! Frames to and from other nodes.
//!
//! `plan` is what the configuration says, `transport` the whole as the event loop sees it:
//! `outbox` collects what the node wants sent, `ports` are the sockets of udpu and udp, `port`
//! is one socket with its batches and runs, `buffers` the memory that datagrams arrive in.
//! `interface` knows whether the own address is there, `names` looks names up. Nothing here
//! blocks, and nothing that goes wrong on a network ends the daemon: it is counted, said in
//! the log, and tried again; what was lost the ring repairs.

mod buffers;
mod counters;
mod interface;
mod names;
mod outbox;
mod peers;
mod plan;
mod port;
mod ports;
mod transport;

pub use counters::Counters;
pub use outbox::Outbox;
pub use plan::{IpVersion, NetConfig, Peer, Transport};
pub use transport::Net;

#[cfg(test)]
mod tests;
