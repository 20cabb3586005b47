//! The receiving half: one assembler for each originating node.
//!
//! A receiver that comes into the middle of a chain, or misses a frame of it, loses that one
//! message; it is in step again at the next piece that starts in its frame. (The original
//! discards whole frames until a chain ends at the end of one.) What is held is bounded: a
//! message longer than [`ASSEMBLY_MAX`] is discarded.

use std::ops::Range;

use super::Packed;
use crate::wire::cursor::{DecodeError, Order};

/// Largest message put together: 1 MiB and room for headers, as in the original.
pub const ASSEMBLY_MAX: usize = (1 << 20) + (64 << 10);

/// A message that is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// It lies within the frame's payload.
    Inside(Range<usize>),
    /// It was put together from several frames.
    Joined(Vec<u8>),
}

/// What a frame gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// Complete messages, in order.
    pub messages: Vec<Piece>,
    /// Whether pieces of this frame were thrown away.
    pub discarded: bool,
}

/// Puts together what one node packed.
#[derive(Debug, Default)]
pub struct Assembler {
    /// Beginning of a message that is not complete; `None` when there is none, or when a part
    /// of it is missing.
    held: Option<Vec<u8>>,
    /// `fragmented` of the frame before.
    last: u8,
}

impl Assembler {
    /// Takes the payload of a frame. After an error nothing has changed.
    pub fn take(&mut self, payload: &[u8], order: Order) -> Result<Unpacked, DecodeError> {
        let packed = Packed::decode(payload, order)?;
        let mut unpacked = Unpacked::default();
        let continues = packed.continuation != 0;
        let mut held = self.held.take().filter(|_| continues && packed.continuation == self.last);
        let complete = packed.count() - usize::from(packed.fragmented != 0);
        for (number, range) in packed.ranges().enumerate() {
            let is_complete = number < complete;
            if number == 0 && continues {
                held = held.filter(|held| held.len() + range.len() <= ASSEMBLY_MAX);
                match &mut held {
                    Some(bytes) => bytes.extend_from_slice(&payload[range]),
                    None => unpacked.discarded = true,
                }
                if is_complete {
                    unpacked.messages.extend(held.take().map(Piece::Joined));
                }
            } else if is_complete {
                unpacked.messages.push(Piece::Inside(range));
            } else {
                held = Some(payload[range].to_vec());
            }
        }
        self.held = held;
        self.last = packed.fragmented;
        Ok(unpacked)
    }
}
