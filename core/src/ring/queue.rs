//! What waits for the token: messages packed into payloads, in two queues.
//!
//! While a change of membership is being worked off, only what belongs to that goes out: it
//! has a queue and a chain of fragments of its own (the original's transitional queue), so
//! that a large message which the change cut in two can be continued afterwards.
//!
//! Continued, such a message is lost to those who joined by the change: they never saw its
//! beginning, while the others deliver it. So it is begun anew where every member is known to
//! take that well. Nodes of the original do not: they throw away frames that do not continue
//! what they have, so with them on the ring it is continued, as they do it.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::pack::{chain_payload, Packed, Packer, PACK_HEADER, PIECE_COST};
use crate::wire::cursor::Order;
use crate::wire::frame::MCAST_HEADER;

/// Bytes of payload after which a queue takes no more from clients.
const QUEUE_FULL: usize = 2 << 20;

/// A packed payload, with room in front for the header of its frame.
#[derive(Debug)]
pub struct Waiting {
    /// Header space and payload.
    pub bytes: Vec<u8>,
    /// Whether it holds safe messages.
    pub safe: bool,
}

/// One queue.
#[derive(Debug)]
pub struct Queue {
    packer: Packer,
    /// Whether what is staged is safe.
    staged_safe: bool,
    waiting: VecDeque<Waiting>,
    /// Bytes in `waiting`.
    bytes: usize,
    /// Frames that went out with parts of a message whose end has not; the message is the last
    /// piece of the first frame and all of the others.
    begun: Vec<Bytes>,
    /// Whether that message is safe.
    begun_safe: bool,
}

impl Queue {
    /// An empty queue for payloads of at most `limit` bytes.
    pub fn new(limit: usize) -> Queue {
        Queue {
            packer: Packer::new(limit, MCAST_HEADER),
            staged_safe: false,
            waiting: VecDeque::new(),
            bytes: 0,
            begun: Vec::new(),
            begun_safe: false,
        }
    }

    /// Largest payload.
    pub fn limit(&self) -> usize {
        self.packer.limit()
    }

    /// Payloads of another size from now on. What is staged leaves in the old size.
    pub fn set_limit(&mut self, limit: usize) {
        self.flush();
        self.packer.set_limit(limit);
    }

    /// Adds a message, given in parts that are laid one behind the other.
    pub fn push(&mut self, parts: &[&[u8]], safe: bool) {
        if self.staged_safe != safe {
            self.flush();
            self.staged_safe = safe;
        }
        let Queue { packer, waiting, bytes: total, .. } = self;
        packer.push(parts, |bytes| {
            *total += bytes.len();
            waiting.push_back(Waiting { bytes, safe });
        });
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.packer.clear();
        self.waiting.clear();
        self.bytes = 0;
        self.begun.clear();
    }

    /// What is staged becomes a payload of its own.
    pub fn flush(&mut self) {
        let Queue { packer, waiting, bytes: total, staged_safe, .. } = self;
        packer.flush(|bytes| {
            *total += bytes.len();
            waiting.push_back(Waiting { bytes, safe: *staged_safe });
        });
    }

    /// The payload that is next.
    pub fn pop(&mut self) -> Option<Waiting> {
        let waiting = self.waiting.pop_front()?;
        self.bytes -= waiting.bytes.len();
        Some(waiting)
    }

    /// A payload that was next went out as this frame.
    pub fn sent(&mut self, frame: &Bytes, safe: bool) {
        let Some((fragmented, starts)) = Self::chain_step(frame) else { return };
        if fragmented == 0 || starts {
            self.begun.clear();
        }
        if fragmented != 0 {
            self.begun.push(frame.clone());
            self.begun_safe = safe;
        }
    }

    /// The step of a chain that a frame is, 0 for its end, and whether a message starts in it
    /// as its last piece.
    fn chain_step(frame: &Bytes) -> Option<(u8, bool)> {
        let packed = Packed::decode(frame.get(MCAST_HEADER..)?, Order::NATIVE).ok()?;
        Some((packed.fragmented, packed.continuation == 0 || packed.count() > 1))
    }

    /// A message of which the beginning went out is begun anew.
    pub fn restart(&mut self) {
        let begun = std::mem::take(&mut self.begun);
        let Some((last_step, _)) = begun.last().and_then(Self::chain_step) else { return };
        let mut message = Vec::new();
        for frame in &begun {
            let payload = &frame[MCAST_HEADER..];
            let Ok(packed) = Packed::decode(payload, Order::NATIVE) else { return };
            if let Some(piece) = packed.ranges().last() {
                message.extend_from_slice(&payload[piece]);
            }
        }
        let room = self.packer.limit() - PACK_HEADER - PIECE_COST;
        // The numbers of the steps are such that what waits goes on with the last one.
        let mut step = last_step;
        let pieces: Vec<&[u8]> = message.chunks(room).collect();
        for (at, piece) in pieces.iter().enumerate().rev() {
            let before = if at == 0 { 0 } else { step.checked_sub(1).filter(|step| *step != 0).unwrap_or(u8::MAX) };
            let bytes = chain_payload(MCAST_HEADER, step, before, piece);
            self.bytes += bytes.len();
            self.waiting.push_front(Waiting { bytes, safe: self.begun_safe });
            step = before;
        }
    }

    /// How many payloads wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether nothing waits, nothing staged either.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.packer.is_empty()
    }

    /// Whether clients may add to it.
    pub fn has_room(&self) -> bool {
        self.bytes < QUEUE_FULL
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::{Assembler, Piece};
    use crate::wire::frame::{Mcast, ORDINARY};

    fn send(queue: &mut Queue) -> Option<Bytes> {
        let waiting = queue.pop()?;
        let (from, seq) = (crate::ids::NodeId(1), crate::seq::Seq(1));
        let ring = crate::ids::RingId::default();
        let mut frame = Vec::new();
        Mcast { encapsulated: ORDINARY, from, seq, sent: 0, ring, guarantee: 0 }.encode(Order::NATIVE, &mut frame);
        frame.extend_from_slice(&waiting.bytes[MCAST_HEADER..]);
        let frame = Bytes::from(frame);
        queue.sent(&frame, waiting.safe);
        Some(frame)
    }

    fn take(assembler: &mut Assembler, frame: &Bytes) -> Vec<usize> {
        let unpacked = assembler.take(&frame[MCAST_HEADER..], Order::NATIVE).expect("it was packed here");
        let length = |piece: &Piece| match piece {
            Piece::Inside(range) => range.len(),
            Piece::Joined(bytes) => bytes.len(),
        };
        unpacked.messages.iter().map(length).collect()
    }

    /// However much of a message went out, those who come new get it whole, those who have its
    /// beginning get it once, and what follows stays as it was.
    #[test]
    fn a_message_that_was_cut_in_two_is_begun_anew() {
        for before in 0..8 {
            let mut queue = Queue::new(100);
            for length in [30, 600, 20, 5] {
                queue.push(&[&vec![7; length]], false);
            }
            queue.flush();
            let mut old = Assembler::default();
            let mut seen: Vec<usize> = Vec::new();
            for _ in 0..before {
                seen.extend(take(&mut old, &send(&mut queue).expect("eight frames")));
            }
            queue.restart();
            let mut new = Assembler::default();
            let mut later = Vec::new();
            while let Some(frame) = send(&mut queue) {
                let got = take(&mut old, &frame);
                assert_eq!(got, take(&mut new, &frame));
                later.extend(got);
            }
            seen.extend(&later);
            assert_eq!(seen, [30, 600, 20, 5], "after {before} frames");
            assert!(queue.begun.is_empty());
        }
    }
}
