//! Sequence numbers of messages on a ring.
//!
//! They wrap: at millions of frames a second 32 bits last for minutes. Comparison is by
//! distance, so any two numbers less than half the range apart compare rightly; the window of
//! a ring is 16384. (The original shifts both numbers before an unsigned comparison; within
//! the window the answers are the same.)

/// Number of a frame within a ring; the first frame of a ring is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seq(pub u32);

impl Seq {
    /// The number `frames` later.
    #[must_use]
    pub const fn plus(self, frames: u32) -> Seq {
        Seq(self.0.wrapping_add(frames))
    }

    /// The next number.
    #[must_use]
    pub const fn next(self) -> Seq {
        self.plus(1)
    }

    /// How many numbers lie between `earlier` and this one; meaningless if it is not earlier.
    pub const fn distance_from(self, earlier: Seq) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }

    /// Whether this number comes before `other`.
    pub const fn is_before(self, other: Seq) -> bool {
        let distance = other.distance_from(self);
        distance != 0 && distance < 1 << 31
    }

    /// Whether this number comes before `other` or is the same.
    pub const fn is_up_to(self, other: Seq) -> bool {
        !other.is_before(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_the_wrap() {
        for start in [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, u32::MAX] {
            let seq = Seq(start);
            for frames in [1, 2, 16384, 0x7fff_ffff] {
                assert!(seq.is_before(seq.plus(frames)), "{start} + {frames}");
                assert!(!seq.plus(frames).is_before(seq));
                assert_eq!(seq.plus(frames).distance_from(seq), frames);
            }
            assert!(seq.is_up_to(seq) && !seq.is_before(seq));
        }
    }

    #[test]
    fn the_initial_aru_is_before_the_first_message() {
        assert!(Seq(u32::MAX).is_before(Seq(0)));
    }
}
