//! What a run did: a hash of everything, and, if wanted, the last lines of it in words.

use std::collections::VecDeque;

use crate::rng::mix;

/// Record of a run.
#[derive(Debug, Default)]
pub struct Trace {
    /// How many lines are kept; 0: none are made.
    keep: usize,
    lines: VecDeque<String>,
    /// Hash of all steps.
    pub hash: u64,
}

impl Trace {
    /// A record that keeps so many lines.
    pub fn new(keep: usize) -> Trace {
        Trace { keep, ..Trace::default() }
    }

    /// Whether lines are kept at all.
    pub fn speaks(&self) -> bool {
        self.keep > 0
    }

    /// Adds a step to the hash.
    pub fn step(&mut self, what: u64, which: u64) {
        self.hash = mix(self.hash ^ what ^ which.rotate_left(32));
    }

    /// Adds a line, at `now` nanoseconds.
    pub fn line(&mut self, now: u64, text: &str) {
        if self.keep == 0 {
            return;
        }
        if self.lines.len() == self.keep {
            self.lines.pop_front();
        }
        self.lines.push_back(format!("{:>6}.{:06} ms {text}", now / 1_000_000, now % 1_000_000));
    }

    /// The lines kept.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }
}

/// A hash of bytes; only as good as telling two runs apart needs.
pub fn hash(bytes: &[u8]) -> u64 {
    let mut hash = bytes.len() as u64;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    hash
}
