//! The layout of a packed payload, see the module's head, read without allocating.

use std::ops::Range;

use super::{PACK_HEADER, PIECE_COST};
use crate::wire::cursor::{DecodeError, Fault, Order, Reader};
use crate::wire::frame::{FrameHeader, FrameType, Mcast, MCAST_HEADER, RECOVERY};

/// A payload whose lengths were found to add up.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    /// 0 if the last message ends here, else the number of this step of a chain.
    pub fragmented: u8,
    /// 0 if the first message starts here, else `fragmented` of the frame before.
    pub continuation: u8,
    lengths: &'a [u8],
    order: Order,
}

impl<'a> Packed<'a> {
    /// Reads a payload; its length must be exactly what its fields say.
    pub fn decode(payload: &'a [u8], order: Order) -> Result<Packed<'a>, DecodeError> {
        let mut reader = Reader::new(payload, order);
        for field in ["version", "type"] {
            let at = reader.clone();
            if reader.u16(field)? != 0 {
                return Err(at.error(field, Fault::Value));
            }
        }
        let (fragmented, continuation) = (reader.u8("fragmented")?, reader.u8("continuation")?);
        let at_count = reader.clone();
        let count = usize::from(reader.u16("number of pieces")?);
        if count == 0 {
            return Err(at_count.error("number of pieces", Fault::Value));
        }
        let lengths = reader.take(count * PIECE_COST, "number of pieces")?;
        let packed = Packed { fragmented, continuation, lengths, order };
        reader.skip(packed.lengths().sum(), "pieces")?;
        reader.finish("pieces")?;
        Ok(packed)
    }

    /// Number of pieces, at least 1.
    pub fn count(&self) -> usize {
        self.lengths.len() / PIECE_COST
    }

    /// Length of each piece.
    pub fn lengths(&self) -> impl Iterator<Item = usize> + 'a {
        let order = self.order;
        self.lengths.chunks_exact(PIECE_COST).map(move |length| {
            let length = [length[0], length[1]];
            usize::from(if order == Order::Little { u16::from_le_bytes(length) } else { u16::from_be_bytes(length) })
        })
    }

    /// Where in the payload each piece is.
    pub fn ranges(&self) -> impl Iterator<Item = Range<usize>> + 'a {
        let mut at = PACK_HEADER + self.lengths.len();
        self.lengths().map(move |length| {
            let range = at..at + length;
            at = range.end;
            range
        })
    }
}

/// Whether a multicast frame came as it was sent, as far as its lengths can tell. A frame cut
/// on its way is refused here, before it takes the place of the whole one: asked for again, it
/// comes whole. Looks into recovery copies, and into copies of copies (a ring that breaks just
/// after a recovery makes those).
pub fn check_mcast(frame: &[u8]) -> Result<(), DecodeError> {
    let mut rest = frame;
    loop {
        let header = FrameHeader::decode(rest)?;
        if header.kind != FrameType::Mcast {
            return Err(DecodeError { field: "type", offset: 3, fault: Fault::Value });
        }
        let mcast = Mcast::decode(rest, header.order)?;
        rest = &rest[MCAST_HEADER..];
        if mcast.encapsulated != RECOVERY {
            return Packed::decode(rest, header.order).map(|_| ());
        }
    }
}
