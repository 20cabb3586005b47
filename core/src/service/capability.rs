//! What a node of ours tells the others after every new ring: service 20, function 1. Nodes of
//! the original know no service 20 and pass over it, so a ring in which every member has sent
//! this message consists of our nodes only, and may use what they all can do.
//!
//! | offset | width | field |
//! |---|---|---|
//! | 0 | 16 | service header: 20 << 16, 1 |
//! | 16 | 4 | version of the sender's message, 1 |
//! | 20 | 4 | lowest version whose readers understand it, 1 |
//! | 24 | 8 | flags, see [`Capability::flags`] |
//! | 32 | 12 | ring it was sent for, packed; padding |
//! | 48 | 4 | window the sender could work with, frames in a rotation |
//! | 52 | 4 | frames the sender could send in one visit of the token |
//!
//! 56 bytes. How it may change: a later version appends fields, keeps these, and raises the
//! version; readers pass over what they do not know, flags included. Only a version in which a
//! field here means something else raises the lowest version: older readers then take the
//! sender for a node of the original. The ring is in it because a message may wait in a queue
//! until the ring after the one that it was made for.

use crate::ids::RingId;
use crate::service::wire::{begin, SERVICE_HEADER};
use crate::wire::cursor::{DecodeError, Order, Reader, Writer};
use crate::wire::frame::{read_ring, write_ring, RING_ID};

/// Number of the service, shared with evs.
pub const SERVICE: u32 = super::evs::wire::SERVICE;
/// Number of the function.
pub const ANNOUNCE: u32 = 1;
/// The version that this build sends.
pub const VERSION: u32 = 1;
const SIZE: usize = SERVICE_HEADER + 2 * 4 + 8 + RING_ID + 4 + 2 * 4;
const _: () = assert!(SIZE == 56);

/// What a node can do beyond the original.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capability {
    /// Version of the message; [`VERSION`] from this build.
    pub version: u32,
    /// Bits for single abilities; none is given out yet. Unknown ones are kept as they came.
    pub flags: u64,
    /// The ring that it is said for.
    pub ring: RingId,
    /// Window the node could work with, frames in a rotation.
    pub window: u32,
    /// Frames it could send in one visit of the token.
    pub max_messages: u32,
}

impl Capability {
    /// Appends group header and message, always as [`VERSION`].
    pub fn encode(&self, out: &mut Vec<u8>) {
        begin(out, SERVICE, ANNOUNCE, SIZE);
        let mut writer = Writer::new(out, Order::NATIVE);
        writer.u32(VERSION);
        writer.u32(1);
        writer.u64(self.flags);
        write_ring(&mut writer, self.ring);
        writer.u32(0);
        writer.u32(self.window);
        writer.u32(self.max_messages);
    }

    /// Reads a message from its service header on; `None` for other functions, and for versions
    /// that this build does not understand.
    pub fn decode(function: u32, bytes: &[u8], order: Order) -> Result<Option<Capability>, DecodeError> {
        if function != ANNOUNCE {
            return Ok(None);
        }
        let mut reader = Reader::new(bytes, order);
        reader.skip(SERVICE_HEADER, "service header")?;
        let version = reader.u32("version")?;
        let lowest = reader.u32("lowest version")?;
        if version == 0 || lowest > VERSION {
            return Ok(None);
        }
        let flags = reader.u64("flags")?;
        let ring = read_ring(&mut reader)?;
        reader.skip(4, "padding")?;
        let window = reader.u32("window")?;
        Ok(Some(Capability { version, flags, ring, window, max_messages: reader.u32("max_messages")? }))
    }
}
