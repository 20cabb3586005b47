//! Memory that datagrams arrive in.
//!
//! The kernel fills one buffer per datagram, or with many that it merged. A buffer that is
//! well filled is lent out: its frames are slices of it, and it is used again when the last of
//! them is gone. Frames of one that is nearly empty are copied out: each would otherwise hold
//! a whole buffer for as long as the ring keeps it.

use std::collections::VecDeque;
use std::io::IoSliceMut;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use quinn_udp::BATCH_SIZE;

/// Size of a buffer: nothing larger comes out of a UDP socket, merged or not.
const BUFFER: usize = 65_536;
/// Bytes from which on a buffer is lent out.
const LEND_FROM: usize = 20_000;
/// Most buffers that are remembered while lent out; others are freed when they come back.
const LENT_MAX: usize = 64;
/// How many of the oldest lent buffers are looked at for one that has come back.
const LOOK_AT: usize = 4;
/// Size of the memory that small frames are copied to, piece by piece.
const ARENA: usize = 65_536;

/// A buffer that its frames hold.
struct Lent(Arc<Vec<u8>>);

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The buffers of one transport.
#[derive(Debug)]
pub struct Buffers {
    ready: Vec<Arc<Vec<u8>>>,
    lent: VecDeque<Arc<Vec<u8>>>,
    arena: BytesMut,
}

impl Buffers {
    /// No buffers yet: they are made when first needed.
    pub fn new() -> Buffers {
        Buffers { ready: Vec::with_capacity(BATCH_SIZE), lent: VecDeque::new(), arena: BytesMut::new() }
    }

    /// Buffers for one batch, for the kernel to fill.
    pub fn batch(&mut self) -> [IoSliceMut<'_>; BATCH_SIZE] {
        while self.ready.len() < BATCH_SIZE {
            let fresh = self.take_back().unwrap_or_else(|| Arc::new(vec![0; BUFFER]));
            self.ready.push(fresh);
        }
        let mut ready = self.ready.iter_mut();
        std::array::from_fn(|_| {
            let buffer = ready.next().expect("filled up above");
            IoSliceMut::new(Arc::get_mut(buffer).expect("a ready buffer has one owner"))
        })
    }

    /// A lent buffer that has come back.
    fn take_back(&mut self) -> Option<Arc<Vec<u8>>> {
        let at = self.lent.iter_mut().take(LOOK_AT).position(|buffer| Arc::get_mut(buffer).is_some())?;
        self.lent.remove(at)
    }

    /// The first `len` bytes of buffer `at` of the batch, cut every `stride` bytes.
    pub fn take(&mut self, at: usize, len: usize, stride: usize, frames: &mut Vec<Bytes>) {
        let stride = stride.max(1);
        if len < LEND_FROM {
            return self.copy(at, len, stride, frames);
        }
        let fresh = self.take_back().unwrap_or_else(|| Arc::new(vec![0; BUFFER]));
        let filled = std::mem::replace(&mut self.ready[at], fresh);
        let whole = Bytes::from_owner(Lent(filled.clone()));
        if self.lent.len() == LENT_MAX {
            self.lent.pop_front();
        }
        self.lent.push_back(filled);
        frames.extend((0..len).step_by(stride).map(|from| whole.slice(from..(from + stride).min(len))));
    }

    fn copy(&mut self, at: usize, len: usize, stride: usize, frames: &mut Vec<Bytes>) {
        if self.arena.capacity() < len {
            // Uses the old memory again when nobody holds a frame in it.
            self.arena.clear();
            self.arena.reserve(ARENA);
        }
        for frame in self.ready[at][..len].chunks(stride) {
            self.arena.extend_from_slice(frame);
            frames.push(self.arena.split().freeze());
        }
    }

    /// Bytes of memory held for buffers, those included that are lent out and remembered.
    #[cfg(test)]
    fn held(&self) -> usize {
        (self.ready.len() + self.lent.len()) * BUFFER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(buffers: &mut Buffers, at: usize, byte: u8) {
        buffers.batch()[at].fill(byte);
    }

    #[test]
    fn a_full_buffer_is_cut_and_comes_back() {
        let mut buffers = Buffers::new();
        let mut frames = Vec::new();
        fill(&mut buffers, 0, 7);
        buffers.take(0, 30_000, 1455, &mut frames);
        assert_eq!(frames.len(), 21);
        assert!(frames[..20].iter().all(|frame| frame.len() == 1455 && frame[0] == 7));
        assert_eq!(frames[20].len(), 30_000 - 20 * 1455);
        // The frames keep their bytes while the next batch is filled.
        fill(&mut buffers, 0, 8);
        assert_eq!(frames[3][9], 7);
        let most = buffers.held();
        for round in 0..200 {
            frames.clear();
            fill(&mut buffers, round % BATCH_SIZE, 9);
            buffers.take(round % BATCH_SIZE, 60_000, 1455, &mut frames);
        }
        assert!(buffers.held() <= most + 2 * BUFFER, "buffers must be used again: {}", buffers.held());
    }

    #[test]
    fn small_ones_are_copied_and_memory_stays_bounded() {
        let mut buffers = Buffers::new();
        let mut frames = Vec::new();
        fill(&mut buffers, 1, 3);
        buffers.take(1, 57, 57, &mut frames);
        buffers.take(1, 0, 0, &mut frames);
        fill(&mut buffers, 1, 4);
        assert_eq!((frames.len(), frames[0].len(), frames[0][0]), (1, 57, 3));
        let mut kept = Vec::new();
        for _ in 0..1000 {
            buffers.take(0, 65_000, 1000, &mut kept);
            buffers.batch();
        }
        assert!(buffers.held() <= (BATCH_SIZE + LENT_MAX) * BUFFER);
    }
}
