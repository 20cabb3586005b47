//! The operational state: the token, what waits for it, and what a visit of it does.
//!
//! With one member the token never leaves the node: a visit happens whenever something waits.
//! Numbers, order, the rule for safe messages and delivery are those of any ring. Only the
//! building of frames may be skipped while nobody else would read them; the numbers that the
//! frames would have taken are used up all the same.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use super::window::{Entry, Window};
use super::{Delivery, Event};
use crate::frames::Memory;
use crate::ids::{NodeId, RingId};
use crate::pack::{frames_for, Assembler, Packer, Piece};
use crate::seq::Seq;
use crate::wire::cursor::Order;
use crate::wire::frame::{Mcast, MCAST_HEADER, ORDINARY};

/// Guarantee of a safe frame on the wire (agreed is 0).
const WIRE_SAFE: u32 = 3;

/// The circulating right to send.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Token {
    /// Highest number given to a frame.
    pub seq: Seq,
    /// All frames up to here are with every member, as far as known.
    pub aru: Seq,
}

/// A packed payload that waits for the token.
#[derive(Debug)]
struct Waiting {
    payload: Vec<u8>,
    safe: bool,
}

/// What has its numbers.
#[derive(Debug)]
enum Content<M> {
    /// A frame, header and all.
    Frame(Bytes),
    /// A message that stays on this node.
    Local(M),
}

/// A ring that works.
#[derive(Debug)]
pub(super) struct Operational<M> {
    pub ring: RingId,
    /// Members, sorted.
    pub members: Vec<NodeId>,
    token: Token,
    /// Frames this node ever sent; goes on from ring to ring.
    pub sent: u32,
    packer: Packer,
    /// Whether a safe message is in the staging buffer.
    staged_safe: bool,
    waiting: VecDeque<Waiting>,
    window: Window<Content<M>>,
    assemblers: BTreeMap<NodeId, Assembler>,
    /// Messages out of the frame delivered last.
    unpacked: VecDeque<Event<M>>,
    /// Frames whose payload made no sense, since the ring was formed.
    pub bad_frames: u64,
}

impl<M> Operational<M> {
    pub fn new(ring: RingId, members: Vec<NodeId>, sent: u32, payload_limit: usize) -> Operational<M> {
        Operational {
            ring,
            members,
            token: Token::default(),
            sent,
            packer: Packer::new(payload_limit),
            staged_safe: false,
            waiting: VecDeque::new(),
            window: Window::default(),
            assemblers: BTreeMap::new(),
            unpacked: VecDeque::new(),
            bad_frames: 0,
        }
    }

    /// Frames of another size from now on. What is staged leaves in the old size.
    pub fn set_payload_limit(&mut self, limit: usize) {
        self.stage_flush();
        self.packer = Packer::new(limit);
    }

    /// Highest number given out.
    pub fn seq(&self) -> Seq {
        self.token.seq
    }

    /// A message that nobody else needs, `len` bytes long as it would stand on the wire. It
    /// gets its numbers at once: with one member the token is always here.
    #[inline]
    pub fn mcast_local(&mut self, me: NodeId, message: M, len: u64, safe: bool) {
        debug_assert!(self.members.len() == 1);
        if !self.waiting.is_empty() || !self.packer.is_empty() {
            self.visit(me);
        }
        let frames = frames_for(len, self.packer.limit());
        self.number(me, frames, safe, Content::Local(message));
    }

    /// A message for the wire, in parts.
    pub fn mcast(&mut self, parts: &[&[u8]], safe: bool) {
        if self.staged_safe != safe {
            self.stage_flush();
        }
        self.staged_safe = safe;
        let waiting = &mut self.waiting;
        self.packer.push(parts, |payload| {
            waiting.push_back(Waiting { payload, safe });
        });
    }

    fn stage_flush(&mut self) {
        let (waiting, safe) = (&mut self.waiting, self.staged_safe);
        self.packer.flush(|payload| {
            waiting.push_back(Waiting { payload, safe });
        });
    }

    /// The next event. The token is here, so what waits gets its numbers first.
    #[inline]
    pub fn poll_event(&mut self, me: NodeId) -> Option<Event<M>> {
        loop {
            if let Some(event) = self.unpacked.pop_front() {
                return Some(event);
            }
            if !self.waiting.is_empty() || !self.packer.is_empty() {
                self.visit(me);
            }
            let entry = self.window.deliver()?;
            match entry.content {
                Content::Local(message) => return Some(Event::Local { origin: entry.origin, message }),
                Content::Frame(frame) => self.unpack(entry.origin, &frame),
            }
        }
    }

    /// The token is here: everything that waits gets its numbers.
    fn visit(&mut self, me: NodeId) {
        self.stage_flush();
        while let Some(Waiting { payload, safe }) = self.waiting.pop_front() {
            let frame = self.frame(me, self.token.seq.next(), safe, &payload);
            self.number(me, 1, safe, Content::Frame(frame));
        }
    }

    /// Gives the next numbers to a frame, or to the frames that a message would have taken.
    #[inline]
    fn number(&mut self, me: NodeId, frames: u32, safe: bool, content: Content<M>) {
        let first = self.token.seq.next();
        self.token.seq = self.token.seq.plus(frames);
        self.sent = self.sent.wrapping_add(frames);
        let taken = self.window.insert(Entry { first, frames, origin: me, safe, content });
        debug_assert!(taken, "own frames come in order");
        self.token.aru = self.window.my_aru();
        if self.members.len() == 1 {
            self.window.set_stable(self.token.aru);
        }
    }

    fn frame(&self, me: NodeId, seq: Seq, safe: bool, payload: &[u8]) -> Bytes {
        let mut bytes = Vec::with_capacity(MCAST_HEADER + payload.len());
        let guarantee = if safe { WIRE_SAFE } else { 0 };
        Mcast { encapsulated: ORDINARY, from: me, seq, sent: self.sent, ring: self.ring, guarantee }
            .encode(Order::NATIVE, &mut bytes);
        bytes.extend_from_slice(payload);
        Bytes::from(bytes)
    }

    fn unpack(&mut self, origin: NodeId, frame: &Bytes) {
        let assembler = self.assemblers.entry(origin).or_default();
        let order = Order::NATIVE;
        let Ok(unpacked) = assembler.take(&frame[MCAST_HEADER..], order) else {
            self.bad_frames += 1;
            return;
        };
        self.bad_frames += u64::from(unpacked.discarded);
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
            let delivery = Delivery { origin, order, memory, range };
            self.unpacked.push_back(Event::Delivery(Box::new(delivery)));
        }
    }

    /// Restates what must always hold.
    pub fn check(&self) {
        assert!(self.members.is_sorted() && !self.members.is_empty());
        assert!(self.token.aru.is_up_to(self.token.seq));
        assert!(self.window.my_aru().is_up_to(self.token.seq));
        self.window.check();
    }
}
