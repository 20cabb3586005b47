//! The frames of one ring: numbers, all-received-up-to, delivery in order, what is kept so that
//! others can ask for it again.
//!
//! An entry is a frame, or a run of numbers that stands for the frames of a message which no
//! peer needs and which were therefore never built. Delivery goes by number and stops at the
//! first gap; a safe entry also waits until every member is known to have it, and holds back
//! what comes after it. What was delivered stays until every member is known to have it.

use std::collections::VecDeque;

use crate::ids::NodeId;
use crate::seq::Seq;

/// Most numbers that may be under way.
pub const WINDOW: u32 = 16384;

/// One frame, or the run of frames of one message that were not built.
#[derive(Debug)]
pub struct Entry<C> {
    /// Its first number.
    pub first: Seq,
    /// How many numbers it takes.
    pub frames: u32,
    /// Who sent it.
    pub origin: NodeId,
    /// Whether it waits for every member to have it.
    pub safe: bool,
    /// What it carries.
    pub content: C,
}

impl<C> Entry<C> {
    #[inline]
    fn last(&self) -> Seq {
        self.first.plus(self.frames - 1)
    }
}

/// What can be delivered and kept at the same time.
pub trait Share: Sized {
    /// Another handle on the same content; `None` for what exists once only.
    fn share(&self) -> Option<Self>;
}

/// What is under way on a ring.
#[derive(Debug)]
pub struct Window<C> {
    /// Sorted by number, without overlaps; gaps are frames that are missing.
    entries: VecDeque<Entry<C>>,
    /// How many entries at the front were delivered and are kept for others.
    kept: usize,
    /// All numbers up to here were received.
    my_aru: Seq,
    /// Highest number received.
    high: Seq,
    /// All numbers up to here were delivered.
    delivered: Seq,
    /// All numbers up to here are known to be with every member.
    stable: Seq,
}

impl<C> Default for Window<C> {
    fn default() -> Window<C> {
        Window { entries: VecDeque::new(), kept: 0, my_aru: Seq(0), high: Seq(0), delivered: Seq(0), stable: Seq(0) }
    }
}

impl<C> Window<C> {
    /// All numbers up to here were received.
    #[inline]
    pub fn my_aru(&self) -> Seq {
        self.my_aru
    }

    /// Highest number received.
    pub fn high(&self) -> Seq {
        self.high
    }

    /// All numbers up to here were delivered.
    pub fn delivered(&self) -> Seq {
        self.delivered
    }

    /// All numbers up to here are with every member, and nobody will ask for them again.
    pub fn stable(&self) -> Seq {
        self.stable
    }

    /// All numbers up to here are known to be with every member; never goes back. What was
    /// delivered of them is let go.
    #[inline]
    pub fn set_stable(&mut self, seq: Seq) {
        if self.stable.is_before(seq) {
            self.stable = seq;
            if self.kept > 0 {
                self.release();
            }
        }
    }

    fn release(&mut self) {
        while self.kept > 0 && self.entries.front().is_some_and(|entry| entry.last().is_up_to(self.stable)) {
            self.entries.pop_front();
            self.kept -= 1;
        }
    }

    /// Takes an entry in; one that is there already, or was, is dropped. An entry of this node
    /// may be longer than the window: its frames exist in numbers only.
    #[inline]
    pub fn insert(&mut self, entry: Entry<C>) -> bool {
        debug_assert!(entry.frames > 0);
        if !self.my_aru.is_before(entry.first) {
            return false;
        }
        if entry.first == self.my_aru.next() && self.my_aru == self.high {
            self.my_aru = entry.last();
            self.high = self.my_aru;
            self.entries.push_back(entry);
            return true;
        }
        self.insert_apart(entry)
    }

    /// An entry behind a gap, or one that closes it.
    fn insert_apart(&mut self, entry: Entry<C>) -> bool {
        if entry.last().distance_from(self.my_aru) > WINDOW {
            return false;
        }
        let at = self.entries.partition_point(|other| other.first.is_before(entry.first));
        let overlaps = self.entries.get(at).is_some_and(|other| other.first.is_up_to(entry.last()));
        if overlaps || at > 0 && entry.first.is_up_to(self.entries[at - 1].last()) {
            return false;
        }
        if self.high.is_before(entry.last()) {
            self.high = entry.last();
        }
        self.entries.insert(at, entry);
        for entry in self.entries.iter().skip(at) {
            if entry.first != self.my_aru.next() {
                break;
            }
            self.my_aru = entry.last();
        }
        true
    }

    /// The entry with this number, if it is here.
    pub fn get(&self, seq: Seq) -> Option<&Entry<C>> {
        let at = self.entries.partition_point(|entry| entry.last().is_before(seq));
        self.entries.get(at).filter(|entry| entry.first.is_up_to(seq))
    }

    /// Calls `missing` for every number from all-received-up-to to `last` that is not here,
    /// `most` of them at most.
    pub fn each_missing(&self, last: Seq, most: usize, mut missing: impl FnMut(Seq)) {
        let mut at = self.entries.partition_point(|entry| entry.first.is_up_to(self.my_aru));
        let mut seq = self.my_aru.next();
        let mut left = most;
        while seq.is_up_to(last) && left > 0 {
            match self.entries.get(at) {
                Some(entry) if entry.first == seq => {
                    seq = entry.last().next();
                    at += 1;
                }
                _ => {
                    missing(seq);
                    left -= 1;
                    seq = seq.next();
                }
            }
        }
    }

    /// All entries in the order of their numbers.
    pub fn entries(&self) -> impl Iterator<Item = &Entry<C>> {
        self.entries.iter()
    }

    /// Counts everything up to `seq`, which was received, as delivered.
    pub fn skip_to(&mut self, seq: Seq) {
        debug_assert!(seq.is_up_to(self.my_aru));
        if self.delivered.is_before(seq) {
            self.delivered = seq;
            self.kept = self.entries.partition_point(|entry| entry.last().is_up_to(seq));
            self.release();
        }
    }

    /// Restates what must always hold.
    pub fn check(&self) {
        assert!(self.delivered.is_up_to(self.my_aru) && self.my_aru.is_up_to(self.high));
        assert!(self.kept <= self.entries.len());
        for (entry, next) in self.entries.iter().zip(self.entries.iter().skip(1)) {
            assert!(entry.last().is_before(next.first));
        }
        for (at, entry) in self.entries.iter().enumerate() {
            assert_eq!(at < self.kept, entry.last().is_up_to(self.delivered));
        }
        assert!(self.entries.back().is_none_or(|entry| entry.last().is_up_to(self.high)));
    }
}

impl<C: Share> Window<C> {
    /// The next entry whose turn to be delivered has come.
    #[inline]
    pub fn deliver(&mut self) -> Option<Entry<C>> {
        let next = self.entries.get(self.kept)?;
        let last = next.last();
        if next.first != self.delivered.next() || next.safe && !last.is_up_to(self.stable) {
            return None;
        }
        self.delivered = last;
        if self.kept == 0 && last.is_up_to(self.stable) {
            return self.entries.pop_front();
        }
        let content = next.content.share()?;
        let entry = Entry { first: next.first, frames: next.frames, origin: next.origin, safe: next.safe, content };
        self.kept += 1;
        Some(entry)
    }

    /// The ring is over: what is left is taken out. First what is contiguous, in any case;
    /// behind the first gap only what `wanted` says of its sender.
    pub fn drain(&mut self, wanted: impl Fn(NodeId) -> bool) -> Vec<Entry<C>> {
        let rest = self.entries.split_off(self.kept);
        self.entries.clear();
        self.kept = 0;
        let mut contiguous = true;
        let mut out = Vec::new();
        let mut next = self.delivered.next();
        for entry in rest {
            contiguous &= entry.first == next;
            next = entry.last().next();
            if contiguous || wanted(entry.origin) {
                out.push(entry);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Share for u32 {
        fn share(&self) -> Option<u32> {
            Some(*self)
        }
    }

    fn entry(first: u32, frames: u32, safe: bool) -> Entry<u32> {
        Entry { first: Seq(first), frames, origin: NodeId(1), safe, content: first }
    }

    fn delivered(window: &mut Window<u32>) -> Vec<u32> {
        window.check();
        let out = std::iter::from_fn(|| window.deliver()).map(|entry| entry.content).collect();
        window.check();
        out
    }

    #[test]
    fn order_and_gaps() {
        let mut window = Window::default();
        assert!(window.insert(entry(3, 1, false)));
        assert!(window.insert(entry(1, 1, false)));
        assert_eq!((window.my_aru(), delivered(&mut window)), (Seq(1), vec![1]));
        assert!(!window.insert(entry(3, 1, false)), "it is there");
        assert!(!window.insert(entry(1, 1, false)), "it was delivered");
        assert!(window.insert(entry(4, 1, false)));
        assert!(window.insert(entry(2, 1, false)));
        assert_eq!((window.my_aru(), delivered(&mut window)), (Seq(4), vec![2, 3, 4]));
        assert!(!window.insert(entry(4 + WINDOW + 1, 1, false)), "too far ahead");
        window.set_stable(Seq(3));
        assert!(window.get(Seq(3)).is_none() && window.get(Seq(4)).is_some());
    }

    #[test]
    fn safe_waits_for_all_and_holds_back_the_rest() {
        let mut window = Window::default();
        for seq in 1..=3 {
            assert!(window.insert(entry(seq, 1, seq == 2)));
        }
        assert_eq!(delivered(&mut window), [1]);
        window.set_stable(Seq(2));
        assert_eq!(delivered(&mut window), [2, 3]);
    }

    #[test]
    fn runs_and_the_wrap() {
        let start = Seq(u32::MAX - 1);
        let mut window = Window { my_aru: start, high: start, delivered: start, stable: start, ..Window::default() };
        assert!(window.insert(entry(u32::MAX, 800, false)));
        assert_eq!(window.my_aru(), Seq(798));
        assert!(window.insert(entry(799, 1, false)));
        assert_eq!(delivered(&mut window), [u32::MAX, 799]);
    }

    #[test]
    fn what_is_missing() {
        let mut window = Window::default();
        for seq in [1, 4, 6] {
            window.insert(entry(seq, 1, false));
        }
        let missing = |last, most| {
            let mut out = Vec::new();
            window.each_missing(Seq(last), most, |seq| out.push(seq.0));
            out
        };
        assert_eq!(missing(8, 100), [2, 3, 5, 7, 8]);
        assert_eq!(missing(8, 2), [2, 3]);
        assert_eq!(missing(1, 100), [0; 0]);
        assert_eq!(window.high(), Seq(6));
    }

    #[test]
    fn the_end_of_a_ring() {
        let mut window = Window::default();
        for (seq, origin) in [(1, 1), (2, 9), (4, 9), (5, 1)] {
            window.insert(Entry { origin: NodeId(origin), ..entry(seq, 1, seq == 2) });
        }
        assert_eq!(delivered(&mut window), [1]);
        let rest: Vec<u32> = window.drain(|origin| origin == NodeId(1)).iter().map(|entry| entry.content).collect();
        assert_eq!(rest, [2, 5], "2 is contiguous, 4 is behind a gap and its sender is gone");
        window.check();
    }
}
