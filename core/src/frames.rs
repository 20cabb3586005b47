//! Memory for the bytes of messages.
//!
//! A pure core cannot borrow the shared memory of its clients, so it hands out memory that
//! the caller fills before the request. Once the request is in, the bytes are immutable.
//! Messages that arrived in frames are held as a piece of the frame, which may be shared with
//! the retransmission window. Everything is held until the outputs that name it are drained:
//! what one input brought is let go when the next one comes.

use std::ops::Range;

use bytes::Bytes;

use crate::input::Payload;

/// Bytes that are held.
#[derive(Debug)]
pub enum Memory {
    /// Handed out to the caller, or put together from several frames.
    Own(Vec<u8>),
    /// Part of a frame.
    Frame(Bytes),
}

impl Memory {
    fn bytes(&self) -> &[u8] {
        match self {
            Memory::Own(bytes) => bytes,
            Memory::Frame(bytes) => bytes,
        }
    }
}

#[derive(Debug)]
struct Slot {
    memory: Memory,
    range: Range<usize>,
}

/// What is held now. Keys count up and are never given twice.
#[derive(Debug, Default)]
pub struct Frames {
    /// Key of `slots[0]`.
    base: u64,
    slots: Vec<Slot>,
    /// Slots of inputs that have been handled: let go with the next input.
    handled: usize,
    /// One buffer kept for the next reservation.
    spare: Vec<u8>,
}

/// Largest buffer worth keeping for the next reservation, in bytes.
const SPARE_MAX: usize = 2 << 20;

impl Frames {
    /// Hands out `len` zeroed or formerly used bytes for the caller to fill.
    pub fn reserve(&mut self, len: u32) -> (Payload, &mut [u8]) {
        let mut bytes = std::mem::take(&mut self.spare);
        bytes.resize(len as usize, 0);
        let payload = self.hold(Memory::Own(bytes), 0..len as usize);
        let Some(Slot { memory: Memory::Own(bytes), .. }) = self.slots.last_mut() else {
            unreachable!("it was pushed just now")
        };
        (payload, bytes)
    }

    /// Holds a message that lies at `range` of `memory`.
    pub fn hold(&mut self, memory: Memory, range: Range<usize>) -> Payload {
        debug_assert!(range.end <= memory.bytes().len());
        let key = self.base + self.slots.len() as u64;
        let len = u32::try_from(range.len()).expect("messages are bounded");
        self.slots.push(Slot { memory, range });
        Payload::Frame { key, len }
    }

    /// The bytes of a payload; `None` for one with the caller, or that is no longer held.
    pub fn bytes(&self, payload: Payload) -> Option<&[u8]> {
        let Payload::Frame { key, len } = payload else { return None };
        let slot = self.slots.get(usize::try_from(key.checked_sub(self.base)?).ok()?)?;
        let bytes = slot.memory.bytes().get(slot.range.clone())?;
        (bytes.len() == len as usize).then_some(bytes)
    }

    /// A new input begins: lets go what earlier inputs brought.
    pub fn begin_input(&mut self) {
        if self.handled == 0 {
            return;
        }
        self.base += self.handled as u64;
        for slot in self.slots.drain(..self.handled) {
            match slot.memory {
                Memory::Own(bytes) if bytes.capacity() > self.spare.capacity() && bytes.capacity() <= SPARE_MAX => {
                    self.spare = bytes;
                }
                _ => {}
            }
        }
        self.handled = 0;
    }

    /// The input has been handled: its memory stays until the next one begins.
    pub fn end_input(&mut self) {
        self.handled = self.slots.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_lives_until_the_next_input() {
        let mut frames = Frames::default();
        let (first, bytes) = frames.reserve(3);
        bytes.copy_from_slice(b"abc");
        frames.begin_input();
        let second = frames.hold(Memory::Frame(Bytes::from_static(b"0123456789")), 2..5);
        frames.end_input();
        assert_eq!(frames.bytes(first), Some(&b"abc"[..]));
        assert_eq!(frames.bytes(second), Some(&b"234"[..]));
        let (third, _) = frames.reserve(0);
        assert_eq!(frames.bytes(first), Some(&b"abc"[..]), "a reservation alone lets nothing go");
        frames.begin_input();
        frames.end_input();
        assert_eq!(frames.bytes(first), None);
        assert_eq!(frames.bytes(second), None);
        assert_eq!(frames.bytes(third), Some(&b""[..]));
    }

    #[test]
    fn keys_that_lie_are_refused() {
        let mut frames = Frames::default();
        let (payload, _) = frames.reserve(4);
        let Payload::Frame { key, .. } = payload else { panic!("frame expected") };
        assert_eq!(frames.bytes(Payload::Frame { key, len: 5 }), None);
        assert_eq!(frames.bytes(Payload::Frame { key: key + 1, len: 4 }), None);
        assert_eq!(frames.bytes(Payload::Caller { key, len: 4 }), None);
    }
}
