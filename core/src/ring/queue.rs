//! What waits for the token: messages packed into payloads, in two queues.
//!
//! While a change of membership is being worked off, only what belongs to that goes out: it
//! has a queue and a chain of fragments of its own (the original's transitional queue), so
//! that a large message which the change cut in two can be continued afterwards.

use std::collections::VecDeque;

use crate::pack::Packer;
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
}

impl Queue {
    /// An empty queue for payloads of at most `limit` bytes.
    pub fn new(limit: usize) -> Queue {
        Queue { packer: Packer::new(limit, MCAST_HEADER), staged_safe: false, waiting: VecDeque::new(), bytes: 0 }
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
