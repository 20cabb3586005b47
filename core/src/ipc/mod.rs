//! What a client library and the daemon say to one another: the layout of the shared memory,
//! the handshake, and codecs for requests, events and replies. Codecs only; whoever calls
//! them owns the memory and the sockets. All numbers are in host byte order: both ends run on
//! one machine.

pub mod event;
mod fields;
mod layout;
pub mod reply;
pub mod request;

pub use layout::*;

#[cfg(test)]
mod tests;
