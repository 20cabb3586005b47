//! The frames of one ring that are not delivered yet: numbers, all-received-up-to, delivery in
//! order.
//!
//! An entry is a frame, or a run of numbers that stands for the frames of a message which no
//! peer needs and which were therefore never built. Delivery goes by number and stops at the
//! first gap; a safe entry also waits until every member is known to have it, and holds back
//! what comes after it.

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

/// What is under way on a ring.
#[derive(Debug)]
pub struct Window<C> {
    /// Sorted by number, without overlaps; gaps are frames that are missing.
    entries: VecDeque<Entry<C>>,
    /// All numbers up to here were received.
    my_aru: Seq,
    /// All numbers up to here were delivered.
    delivered: Seq,
    /// All numbers up to here are known to be with every member.
    stable: Seq,
}

impl<C> Default for Window<C> {
    fn default() -> Window<C> {
        Window { entries: VecDeque::new(), my_aru: Seq(0), delivered: Seq(0), stable: Seq(0) }
    }
}

impl<C> Window<C> {
    /// All numbers up to here were received.
    pub fn my_aru(&self) -> Seq {
        self.my_aru
    }

    /// All numbers up to here are known to be with every member; never goes back.
    #[inline]
    pub fn set_stable(&mut self, seq: Seq) {
        if self.stable.is_before(seq) {
            self.stable = seq;
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
        if entry.first == self.my_aru.next() && self.entries.back().is_none_or(|last| last.first.is_before(entry.first))
        {
            self.my_aru = entry.last();
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
        self.entries.insert(at, entry);
        for entry in self.entries.iter().skip(at) {
            if entry.first != self.my_aru.next() {
                break;
            }
            self.my_aru = entry.last();
        }
        true
    }

    /// The next entry whose turn to be delivered has come.
    #[inline]
    pub fn deliver(&mut self) -> Option<Entry<C>> {
        let next = self.entries.front()?;
        if next.first != self.delivered.next() || next.safe && !next.last().is_up_to(self.stable) {
            return None;
        }
        self.delivered = next.last();
        self.entries.pop_front()
    }

    /// Restates what must always hold.
    pub fn check(&self) {
        assert!(self.delivered.is_up_to(self.my_aru));
        let mut before = self.delivered;
        for entry in &self.entries {
            assert!(before.is_before(entry.first));
            before = entry.last();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(first: u32, frames: u32, safe: bool) -> Entry<u32> {
        Entry { first: Seq(first), frames, origin: NodeId(1), safe, content: first }
    }

    fn delivered(window: &mut Window<u32>) -> Vec<u32> {
        window.check();
        std::iter::from_fn(|| window.deliver()).map(|entry| entry.content).collect()
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
        let mut window = Window { my_aru: Seq(u32::MAX - 1), delivered: Seq(u32::MAX - 1), ..Window::default() };
        assert!(window.insert(entry(u32::MAX, 800, false)));
        assert_eq!(window.my_aru(), Seq(798));
        assert!(window.insert(entry(799, 1, false)));
        assert_eq!(delivered(&mut window), [u32::MAX, 799]);
    }
}
