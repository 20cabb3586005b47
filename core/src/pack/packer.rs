//! The sending half: a staging buffer that becomes a frame's payload when it is full, or when
//! the token is there. The last piece of a large message shares its frame with what follows
//! (the original sends it alone; receivers do not depend on it).

use super::{PACK_HEADER, PAYLOAD_MAX, PAYLOAD_MIN, PIECE_COST};
use crate::wire::cursor::{Order, Writer};

/// How many frames a message of `len` bytes takes when nothing else is staged and `limit`
/// bytes of payload go into a frame: what [`Packer::push`] and a flush would build.
#[inline]
pub fn frames_for(len: u64, limit: usize) -> u32 {
    let room = (limit - PACK_HEADER - PIECE_COST) as u64;
    if len <= room {
        return 1;
    }
    u32::try_from(len.div_ceil(room)).expect("messages are bounded")
}

/// A payload with one piece in it, step `fragmented` of a chain after step `continuation`, and
/// `head` zero bytes in front.
pub fn chain_payload(head: usize, fragmented: u8, continuation: u8, piece: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(head + PACK_HEADER + PIECE_COST + piece.len());
    let mut writer = Writer::new(&mut out, Order::NATIVE);
    writer.zeros(head);
    writer.u32(0);
    writer.u8(fragmented);
    writer.u8(continuation);
    writer.u16(1);
    writer.u16(u16::try_from(piece.len()).expect("a piece fits into a payload"));
    writer.bytes(piece);
    out
}

/// Packs messages into payloads of one size.
#[derive(Debug)]
pub struct Packer {
    /// Largest payload.
    limit: usize,
    /// Bytes left free in front of each payload, for the header of its frame.
    head: usize,
    /// Lengths of the pieces staged.
    lengths: Vec<u16>,
    /// Their bytes.
    staged: Vec<u8>,
    /// `continuation` of the frame that is staged.
    continuation: u8,
}

impl Packer {
    /// A packer for payloads of at most `limit` bytes, brought into the range possible. Each
    /// comes with `head` zero bytes in front.
    pub fn new(limit: usize, head: usize) -> Packer {
        let limit = limit.clamp(PAYLOAD_MIN, PAYLOAD_MAX);
        Packer { limit, head, lengths: Vec::new(), staged: Vec::with_capacity(limit), continuation: 0 }
    }

    /// Payloads of another size from now on; nothing may be staged.
    pub fn set_limit(&mut self, limit: usize) {
        debug_assert!(self.is_empty());
        self.limit = limit.clamp(PAYLOAD_MIN, PAYLOAD_MAX);
    }

    /// Forgets what is staged, and that a chain was begun.
    pub fn clear(&mut self) {
        self.lengths.clear();
        self.staged.clear();
        self.continuation = 0;
    }

    /// Largest payload that comes out.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Whether nothing is staged.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Adds a message, given in parts that are laid one behind the other, not all empty;
    /// payloads that become full go to `emit`.
    pub fn push(&mut self, parts: &[&[u8]], mut emit: impl FnMut(Vec<u8>)) {
        let mut left: usize = parts.iter().map(|part| part.len()).sum();
        debug_assert!(left > 0, "a message has a header at least");
        let mut parts = parts.iter().copied();
        let mut part: &[u8] = &[];
        while left > 0 {
            let room = self.room();
            if room == 0 {
                self.emit(0, &mut emit);
                continue;
            }
            let mut wanted = left.min(room);
            self.lengths.push(u16::try_from(wanted).expect("a piece fits into a payload"));
            left -= wanted;
            while wanted > 0 {
                if part.is_empty() {
                    part = parts.next().expect("the parts add up to the length");
                    continue;
                }
                let (now, later) = part.split_at(wanted.min(part.len()));
                self.staged.extend_from_slice(now);
                wanted -= now.len();
                part = later;
            }
            if left > 0 {
                let step = self.continuation.checked_add(1).unwrap_or(1);
                self.emit(step, &mut emit);
            }
        }
    }

    /// Emits what is staged, if anything.
    pub fn flush(&mut self, mut emit: impl FnMut(Vec<u8>)) {
        if !self.is_empty() {
            self.emit(0, &mut emit);
        }
    }

    /// Bytes of one more piece that fit.
    fn room(&self) -> usize {
        let used = PACK_HEADER + PIECE_COST * (self.lengths.len() + 1) + self.staged.len();
        self.limit.saturating_sub(used)
    }

    /// Emits the staged payload. `fragmented` counts the steps of a chain from 1 and jumps
    /// over 0 when it wraps. A chain that starts in a frame in which another one ends goes on
    /// with the numbers of that one.
    fn emit(&mut self, fragmented: u8, emit: &mut impl FnMut(Vec<u8>)) {
        let size = self.head + PACK_HEADER + PIECE_COST * self.lengths.len() + self.staged.len();
        let mut out = Vec::with_capacity(size);
        let mut writer = Writer::new(&mut out, Order::NATIVE);
        writer.zeros(self.head);
        writer.u16(0);
        writer.u16(0);
        writer.u8(fragmented);
        writer.u8(self.continuation);
        writer.u16(u16::try_from(self.lengths.len()).expect("pieces of a payload are bounded by its size"));
        for length in &self.lengths {
            writer.u16(*length);
        }
        writer.bytes(&self.staged);
        self.lengths.clear();
        self.staged.clear();
        self.continuation = fragmented;
        emit(out);
    }
}
