//! Receiving and delivering, and the ring of one.
//!
//! With one member the token never leaves the node: a visit happens whenever something waits.
//! Numbers, order, the rule for safe messages and delivery are those of any ring. Only the
//! building of frames may be skipped while nobody else would read them; the numbers that the
//! frames would have taken are used up all the same.

use bytes::Bytes;

use super::mutation::Mutation;
use super::window::{Entry, Share};
use super::{Delivery, Event, Outputs, Ring, State};
use crate::frames::Memory;
use crate::ids::NodeId;
use crate::pack::{check_mcast, frames_for, Piece};
use crate::time::Instant;
use crate::wire::frame::{FrameHeader, Mcast, MCAST_HEADER, ORDINARY, RECOVERY};

/// Guarantee of a safe frame on the wire (agreed is 0).
const WIRE_SAFE: u32 = 3;

/// The guarantee of a frame on the wire.
pub(super) fn guarantee(safe: bool) -> u32 {
    if safe {
        WIRE_SAFE
    } else {
        0
    }
}

/// What has its numbers.
#[derive(Debug)]
pub(super) enum Content<M> {
    /// A frame, header and all.
    Frame(Bytes),
    /// A frame with a whole frame of an old ring in it.
    Copy(Bytes),
    /// A message that stays on this node.
    Local(M),
}

impl<M> Content<M> {
    /// The frame as it goes to others.
    pub fn frame(&self) -> Option<&Bytes> {
        match self {
            Content::Frame(frame) | Content::Copy(frame) => Some(frame),
            Content::Local(_) => None,
        }
    }
}

impl<M> Share for Content<M> {
    fn share(&self) -> Option<Content<M>> {
        match self {
            Content::Frame(frame) => Some(Content::Frame(frame.clone())),
            Content::Copy(frame) => Some(Content::Copy(frame.clone())),
            Content::Local(_) => None,
        }
    }
}

impl<M> Ring<M> {
    /// A multicast frame; `None` if it makes no sense.
    pub(super) fn on_mcast(
        &mut self,
        frame: &Bytes,
        header: FrameHeader,
        now: Instant,
        outputs: &mut Outputs,
    ) -> Option<()> {
        let mcast = Mcast::decode(frame, header.order).ok()?;
        check_mcast(frame).ok()?;
        self.beat(now);
        if mcast.from == self.me || mcast.from == NodeId(0) {
            return Some(());
        }
        let copy = header.encapsulated == RECOVERY;
        if !copy && header.encapsulated != ORDINARY {
            return None;
        }
        let right = mcast.ring == self.member_ring || !self.rules.on(Mutation::RingCheck);
        let own_ring = right && !self.members.is_empty();
        let content = if copy { Content::Copy(frame.clone()) } else { Content::Frame(frame.clone()) };
        let entry = self.entry(mcast, content);
        let (window, members) = match &mut self.state {
            State::Recovery(recovery) if mcast.ring == self.ring => (&mut recovery.window, &recovery.members),
            // In gather as well: as long as this node has not said what it has, more of the old
            // ring is welcome.
            State::Operational | State::Gather if own_ring => (&mut self.window, &self.members),
            State::Operational | State::Gather => {
                let stale = self.members.contains(&mcast.from) && mcast.ring.seq < self.ring.seq;
                self.counters.foreign += 1;
                if !stale {
                    self.on_stranger(mcast.from, now, outputs);
                }
                return Some(());
            }
            _ => return Some(()),
        };
        if members.contains(&mcast.from) {
            window.insert(entry);
        }
        Some(())
    }

    /// A frame with its place in the window.
    pub(super) fn entry(&self, mcast: Mcast, content: Content<M>) -> Entry<Content<M>> {
        let safe = mcast.guarantee == WIRE_SAFE && self.honour_safe && self.rules.on(Mutation::SafeWait);
        Entry { first: mcast.seq, frames: 1, origin: mcast.from, safe, content }
    }

    /// A message that nobody else needs, `len` bytes long as it would stand on the wire. It
    /// gets its numbers at once: with one member the token is always here.
    #[inline]
    pub(super) fn number_local(&mut self, message: M, len: u64, safe: bool) {
        if !self.regular.is_empty() || !self.change.is_empty() {
            self.visit_alone();
        }
        let frames = frames_for(len, self.regular.limit());
        self.number_alone(frames, safe, Content::Local(message));
    }

    /// The token of a ring of one is here: everything that waits gets its numbers.
    fn visit_alone(&mut self) {
        self.regular.flush();
        self.change.flush();
        loop {
            let (waiting, regular) = match self.change.pop() {
                Some(waiting) => (waiting, false),
                None if self.syncing => return,
                None => match self.regular.pop() {
                    Some(waiting) => (waiting, true),
                    None => return,
                },
            };
            let mcast = Mcast {
                encapsulated: ORDINARY,
                from: self.me,
                seq: self.window.high().next(),
                sent: self.sent,
                ring: self.ring,
                guarantee: guarantee(waiting.safe),
            };
            let frame = self.fill_header(waiting.bytes, mcast);
            if regular {
                self.regular.sent(&frame, waiting.safe);
            }
            self.number_alone(1, waiting.safe, Content::Frame(frame));
        }
    }

    /// Gives the next numbers to a frame, or to the frames that a message would have taken.
    #[inline]
    fn number_alone(&mut self, frames: u32, safe: bool, content: Content<M>) {
        let first = self.window.high().next();
        self.sent = self.sent.wrapping_add(frames);
        let taken = self.window.insert(Entry { first, frames, origin: self.me, safe, content });
        debug_assert!(taken, "own frames come in order");
        self.window.set_stable(self.window.my_aru());
    }

    /// The next event, in order.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event<M>> {
        if !self.unpacked.is_empty() || !self.pending.is_empty() {
            if let Some(event) = self.next_pending() {
                return Some(event);
            }
        }
        if !self.is_operational() {
            return None;
        }
        loop {
            if self.members.len() == 1 && (!self.regular.is_empty() || !self.change.is_empty()) {
                self.visit_alone();
            }
            let entry = self.window.deliver()?;
            if let Some(event) = self.open(entry.origin, entry.content) {
                return Some(event);
            }
        }
    }

    /// The first message of an entry whose turn has come; more go to `unpacked`.
    #[inline]
    pub(super) fn open(&mut self, origin: NodeId, content: Content<M>) -> Option<Event<M>> {
        match content {
            Content::Local(message) => Some(Event::Local { origin, message }),
            Content::Frame(frame) => {
                self.unpack(origin, &frame);
                self.unpacked.pop_front()
            }
            Content::Copy(_) => None,
        }
    }

    fn unpack(&mut self, origin: NodeId, frame: &Bytes) {
        let Ok(header) = FrameHeader::decode(frame) else { return };
        let assemblers = if self.receives_change { &mut self.change_assemblers } else { &mut self.assemblers };
        let assembler = assemblers.entry(origin).or_default();
        let Ok(unpacked) = assembler.take(&frame[MCAST_HEADER..], header.order) else {
            self.counters.bad_frames += 1;
            return;
        };
        self.counters.bad_frames += u64::from(unpacked.discarded);
        for piece in unpacked.messages {
            let (memory, range) = match piece {
                Piece::Inside(range) => {
                    let range = range.start + MCAST_HEADER..range.end + MCAST_HEADER;
                    (Memory::Frame(frame.clone()), range)
                }
                Piece::Joined(bytes) => {
                    let len = bytes.len();
                    (Memory::Own(bytes), 0..len)
                }
            };
            let delivery = Delivery { origin, order: header.order, memory, range };
            self.unpacked.push_back(Event::Delivery(Box::new(delivery)));
        }
    }
}
