//! The network between the hosts: for each ordered pair its own delay, loss and reach.
//!
//! What the wire may do: lose a frame, hold it up, let others overtake it, deliver it twice,
//! cut it short, lengthen it or fill it with noise. A flipped bit is not among them, except
//! where a run asks for it: datagrams carry a checksum.

use bytes::Bytes;

use crate::queue::{Event, Queue};
use crate::rng::Rng;

/// How one direction between two hosts behaves. Chances are per million.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Shortest delay in nanoseconds.
    pub delay: u64,
    /// Most that is added to it.
    pub jitter: u64,
    /// Frames that are lost.
    pub loss: u32,
    /// Frames that may be overtaken, held up by as much as `held_up`.
    pub reorder: u32,
    /// Most that an overtaken frame is late, in nanoseconds.
    pub held_up: u64,
    /// Frames that arrive twice.
    pub duplicate: u32,
    /// Frames that arrive cut, lengthened or as noise.
    pub damage: u32,
    /// Frames that arrive with wrong bits.
    pub flip: u32,
    /// Frames longer than the first number are late by the second.
    pub long_late: Option<(usize, u64)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    link: Link,
    /// Nothing passes.
    cut: bool,
    /// When the last frame that keeps its place arrives.
    last: u64,
}

/// What became of the frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Given to the network, one per receiver.
    pub sent: u64,
    /// Lost by chance.
    pub lost: u64,
    /// Lost at a cut.
    pub cut: u64,
    /// Delivered twice.
    pub duplicated: u64,
    /// Delivered with other bytes.
    pub damaged: u64,
}

/// The network.
#[derive(Debug)]
pub struct Network {
    hosts: usize,
    pairs: Vec<Pair>,
    rng: Rng,
    /// What became of the frames.
    pub counters: Counters,
}

impl Network {
    /// A network of so many hosts, all pairs alike.
    pub fn new(hosts: usize, link: Link, rng: Rng) -> Network {
        let pair = Pair { link, ..Pair::default() };
        Network { hosts, pairs: vec![pair; hosts * hosts], rng, counters: Counters::default() }
    }

    /// The direction `from` → `to`.
    pub fn link_mut(&mut self, from: usize, to: usize) -> &mut Link {
        &mut self.pairs[from * self.hosts + to].link
    }

    /// Changes all directions.
    pub fn for_all(&mut self, mut change: impl FnMut(&mut Link)) {
        self.pairs.iter_mut().for_each(|pair| change(&mut pair.link));
    }

    /// Cuts or joins the direction `from` → `to`.
    pub fn set_cut(&mut self, from: usize, to: usize, cut: bool) {
        self.pairs[from * self.hosts + to].cut = cut;
    }

    /// Whether the direction is cut.
    pub fn is_cut(&self, from: usize, to: usize) -> bool {
        self.pairs[from * self.hosts + to].cut
    }

    /// Everyone reaches everyone.
    pub fn heal(&mut self) {
        self.pairs.iter_mut().for_each(|pair| pair.cut = false);
    }

    /// Sends a frame at `now`.
    pub fn send(&mut self, queue: &mut Queue, now: u64, from: usize, to: usize, frame: &Bytes) {
        self.counters.sent += 1;
        let pair = &mut self.pairs[from * self.hosts + to];
        if pair.cut {
            self.counters.cut += 1;
            return;
        }
        let (link, rng) = (pair.link, &mut self.rng);
        if rng.chance(link.loss) {
            self.counters.lost += 1;
            return;
        }
        let mut at = now + link.delay;
        if link.jitter > 0 {
            at += rng.below(link.jitter + 1);
        }
        if let Some((_, late)) = link.long_late.filter(|(length, _)| frame.len() > *length) {
            at += late;
        }
        if rng.chance(link.reorder) {
            at += rng.below(link.held_up + 1);
        } else if link.long_late.is_none() {
            at = at.max(pair.last);
            pair.last = at;
        }
        if rng.chance(link.duplicate) {
            self.counters.duplicated += 1;
            let again = at + rng.below(link.jitter + link.held_up + 1);
            queue.push(again, Event::Packet { host: to, frame: frame.clone() });
        }
        let mut frame = frame.clone();
        if rng.chance(link.damage) {
            self.counters.damaged += 1;
            frame = damaged(&frame, rng);
        }
        if rng.chance(link.flip) {
            self.counters.damaged += 1;
            frame = flipped(&frame, rng);
        }
        queue.push(at, Event::Packet { host: to, frame });
    }
}

/// A frame that was cut, lengthened, or is noise under a sound or broken header.
fn damaged(frame: &Bytes, rng: &mut Rng) -> Bytes {
    let mut bytes = frame.to_vec();
    match rng.below(6) {
        0 => bytes.truncate(rng.index(bytes.len() + 1)),
        1 => bytes.truncate(bytes.len() - rng.index(bytes.len().min(100) + 1)),
        2 => {
            for _ in 0..rng.between(1, 100) {
                bytes.push(rng.draw() as u8);
            }
        }
        3 => {
            let length = rng.index(201);
            bytes = (0..length).map(|_| rng.draw() as u8).collect();
        }
        4 => {
            // magic or version
            let at = rng.index(3);
            bytes[at] ^= 1 << rng.below(8);
        }
        _ => {
            // a type that there is not
            bytes[3] = rng.between(6, 255) as u8;
        }
    }
    Bytes::from(bytes)
}

fn flipped(frame: &Bytes, rng: &mut Rng) -> Bytes {
    let mut bytes = frame.to_vec();
    for _ in 0..rng.between(1, 4) {
        let at = if rng.one_in(2) { rng.index(bytes.len().min(64)) } else { rng.index(bytes.len()) };
        bytes[at] = match rng.below(3) {
            0 => bytes[at] ^ 1 << rng.below(8),
            1 => rng.pick(&[0, 1, 0x7f, 0x80, 0xff]),
            _ => rng.draw() as u8,
        };
    }
    Bytes::from(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(link: Link, frames: u8) -> Vec<(u64, u8)> {
        let mut queue = Queue::default();
        let mut network = Network::new(2, link, Rng::new(1, 1));
        for n in 0..frames {
            network.send(&mut queue, u64::from(n), 0, 1, &Bytes::from(vec![n; 50]));
        }
        std::iter::from_fn(|| queue.pop(u64::MAX))
            .map(|(at, event)| match event {
                Event::Packet { host: 1, frame } => (at, frame[0]),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn jitter_keeps_the_order_and_reordering_does_not() {
        let link = Link { delay: 100, jitter: 50, ..Link::default() };
        let order: Vec<u8> = arrivals(link, 100).into_iter().map(|(_, n)| n).collect();
        assert!(order.is_sorted() && order.len() == 100);
        let link = Link { reorder: 300_000, held_up: 500, ..link };
        let order: Vec<u8> = arrivals(link, 100).into_iter().map(|(_, n)| n).collect();
        assert!(!order.is_sorted() && order.len() == 100);
    }

    #[test]
    fn loss_and_duplication_come_about_as_often_as_asked() {
        let lost = arrivals(Link { loss: 500_000, ..Link::default() }, 200).len();
        assert!((60..140).contains(&lost), "{lost}");
        let doubled = arrivals(Link { duplicate: 500_000, ..Link::default() }, 200).len();
        assert!((260..340).contains(&doubled), "{doubled}");
    }

    #[test]
    fn a_cut_has_a_direction() {
        let mut queue = Queue::default();
        let mut network = Network::new(2, Link::default(), Rng::new(1, 1));
        network.set_cut(0, 1, true);
        network.send(&mut queue, 0, 0, 1, &Bytes::from_static(b"lost"));
        network.send(&mut queue, 0, 1, 0, &Bytes::from_static(b"there"));
        assert!(matches!(queue.pop(9), Some((0, Event::Packet { host: 0, .. }))));
        assert!(queue.pop(9).is_none());
        network.heal();
        assert!(!network.is_cut(0, 1));
    }
}
