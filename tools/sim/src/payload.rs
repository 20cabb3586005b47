//! Bytes of messages. A message of eight bytes or more starts with its number in the run and
//! goes on with bytes that the number determines, so that each can be told from all others
//! and any wrong byte is seen. Shorter ones are the first bytes of such a number.

use crate::rng::mix;

/// Longest message.
pub const LONGEST: usize = 256 << 10;
/// Bytes that a message has to have to carry its number.
pub const NUMBERED: usize = 8;
/// Different starts within the pattern.
const STARTS: usize = 1 << 16;

/// The pattern that messages are cut from.
#[derive(Debug)]
pub struct Content {
    pattern: Vec<u8>,
}

impl Default for Content {
    fn default() -> Content {
        Content::new()
    }
}

impl Content {
    /// The pattern, the same in every run.
    pub fn new() -> Content {
        let words = (STARTS + LONGEST) / 8;
        let mut pattern = Vec::with_capacity(words * 8);
        let mut word = 1u64;
        for _ in 0..words {
            word = mix(word);
            pattern.extend_from_slice(&word.to_le_bytes());
        }
        Content { pattern }
    }

    fn rest(&self, number: u64, len: usize) -> &[u8] {
        let start = (number.wrapping_mul(37) % STARTS as u64) as usize;
        &self.pattern[start..start + len]
    }

    /// Writes message `number` into `bytes`.
    pub fn fill(&self, number: u64, bytes: &mut [u8]) {
        if bytes.len() < NUMBERED {
            let len = bytes.len();
            bytes.copy_from_slice(&number.to_le_bytes()[..len]);
            return;
        }
        let (head, rest) = bytes.split_at_mut(NUMBERED);
        head.copy_from_slice(&number.to_le_bytes());
        rest.copy_from_slice(self.rest(number, rest.len()));
    }

    /// The number of a message long enough to carry it.
    pub fn number(bytes: &[u8]) -> Option<u64> {
        bytes.first_chunk::<NUMBERED>().map(|head| u64::from_le_bytes(*head))
    }

    /// Whether these are the bytes of message `number`.
    pub fn is_intact(&self, number: u64, bytes: &[u8]) -> bool {
        bytes.len() <= LONGEST && bytes[NUMBERED..] == *self.rest(number, bytes.len() - NUMBERED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wrong_byte_is_seen() {
        let content = Content::new();
        for (number, len) in [(0, 8), (1, 100), (77, 200_000)] {
            let mut bytes = vec![0; len];
            content.fill(number, &mut bytes);
            assert_eq!(Content::number(&bytes), Some(number));
            assert!(content.is_intact(number, &bytes));
            if len > NUMBERED {
                bytes[len - 1] ^= 1;
                assert!(!content.is_intact(number, &bytes));
            }
        }
        let mut short = [0; 3];
        content.fill(0x0001_0203_0405, &mut short);
        assert_eq!((Content::number(&short), short), (None, [5, 4, 3]));
    }
}
