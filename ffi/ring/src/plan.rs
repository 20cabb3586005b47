//! Where the next record goes: the arithmetic of a ring whose records never wrap.
//!
//! Records are contiguous, so that a consumer can hand out a pointer to a whole message. When
//! the end is reached, or when the start is free and still warm in the cache, a filler record
//! sends the consumer back to offset 0. Positions are offsets; head == tail means empty, so
//! the producer never lets the tail catch up with the head from behind.

use evensong_core::ipc::RECORD_HEADER;

/// Bytes that a record with a body of `len` takes in a ring.
pub const fn record_size(len: u32) -> u32 {
    RECORD_HEADER + len.next_multiple_of(RECORD_HEADER)
}

/// Where a record goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the tail.
    Here,
    /// At offset 0, after a filler record at the tail.
    Start,
}

/// Decides the place of a record of `need` bytes, or `None` while there is no room.
///
/// `warm` is the size of the part at the start that is preferred: beyond it the producer goes
/// back to the start as soon as the consumer is close behind, so that a pair that keeps pace
/// works in memory that stays in the cache and the rest of the ring is never touched.
pub fn place(tail: u32, head: u32, need: u32, size: u32, warm: u32) -> Option<Place> {
    if tail < head {
        return (u64::from(tail) + u64::from(need) + u64::from(RECORD_HEADER) <= u64::from(head))
            .then_some(Place::Here);
    }
    // One header's room stays free at the end for the filler.
    let forward = u64::from(tail) + u64::from(need) + u64::from(RECORD_HEADER) <= u64::from(size);
    let back = u64::from(need) + u64::from(RECORD_HEADER) <= u64::from(head);
    if back && (!forward || (tail >= warm && tail - head <= warm / 4)) {
        return Some(Place::Start);
    }
    forward.then_some(Place::Here)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u32 = 4096;

    #[test]
    fn empty_ring_takes_a_record_of_nearly_half_its_size_wherever_it_stands() {
        for at in (0..SIZE).step_by(16) {
            assert!(place(at, at, SIZE / 2 - 32, SIZE, SIZE).is_some(), "at {at}");
        }
    }

    #[test]
    fn tail_never_reaches_head_from_behind() {
        assert_eq!(place(0, 64, 64, SIZE, SIZE), None);
        assert_eq!(place(0, 80, 64, SIZE, SIZE), Some(Place::Here));
        assert_eq!(place(SIZE - 64, 64, 64, SIZE, SIZE), None);
        assert_eq!(place(SIZE - 64, 80, 64, SIZE, SIZE), Some(Place::Start));
    }

    #[test]
    fn goes_back_early_only_when_the_consumer_is_close() {
        assert_eq!(place(2048, 2000, 64, SIZE, 1024), Some(Place::Start));
        assert_eq!(place(2048, 512, 64, SIZE, 1024), Some(Place::Here));
        assert_eq!(place(512, 512, 64, SIZE, 1024), Some(Place::Here));
    }
}
