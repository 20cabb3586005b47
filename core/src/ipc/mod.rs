//! What a client library and the daemon say to one another: the layout of the shared memory,
//! the handshake, and codecs for requests, events and replies. Codecs only; whoever calls
//! them owns the memory and the sockets.

mod layout;

pub use layout::*;
