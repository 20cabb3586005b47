//! What will happen and when. Of events at the same instant, the one put in first comes first.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use bytes::Bytes;

use crate::faults::Fault;

/// Something that happens at an instant.
#[derive(Debug)]
pub enum Event {
    /// A frame reaches a host.
    Packet {
        /// Which host.
        host: usize,
        /// Its bytes.
        frame: Bytes,
    },
    /// A host's deadline may have come.
    Tick {
        /// Which host.
        host: usize,
        /// In which of its lives.
        life: u32,
    },
    /// A host that was busy looks at what arrived meanwhile.
    Run {
        /// Which host.
        host: usize,
        /// In which of its lives.
        life: u32,
    },
    /// A client acts.
    Client {
        /// Number of the client in the whole run.
        client: usize,
    },
    /// A fault begins or ends.
    Fault(Fault),
    /// A host's daemon starts.
    Start {
        /// Which host.
        host: usize,
        /// After which of its lives.
        life: u32,
    },
}

#[derive(Debug)]
struct Entry {
    at: u64,
    order: u64,
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// Events in the order of time.
#[derive(Debug, Default)]
pub struct Queue {
    heap: BinaryHeap<Reverse<Entry>>,
    order: u64,
}

impl Queue {
    /// Puts an event in.
    pub fn push(&mut self, at: u64, event: Event) {
        self.order += 1;
        self.heap.push(Reverse(Entry { at, order: self.order, event }));
    }

    /// Takes the next event that is due by `until`.
    pub fn pop(&mut self, until: u64) -> Option<(u64, Event)> {
        if self.heap.peek()?.0.at > until {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_time_then_of_coming() {
        let mut queue = Queue::default();
        for (at, host) in [(5, 0), (3, 1), (5, 2), (3, 3)] {
            queue.push(at, Event::Start { host, life: 0 });
        }
        let mut order = Vec::new();
        while let Some((at, Event::Start { host, .. })) = queue.pop(4) {
            order.push((at, host));
        }
        while let Some((at, Event::Start { host, .. })) = queue.pop(9) {
            order.push((at, host));
        }
        assert_eq!(order, [(3, 1), (3, 3), (5, 0), (5, 2)]);
    }
}
