//! The ring: who is a member, in which order messages are delivered, what everyone is told
//! when the membership changes.
//!
//! Follows the single-ring Totem protocol of Amir, Moser, Melliar-Smith, Agarwal and Ciarfella
//! (1995) with the frames of corosync 3.1. The ring knows nothing of what messages mean: those
//! that stay on the node pass through as values of type `M`, those for the wire as bytes.
//! Configuration changes come out between the messages, in their place in the order.

mod confchg;
mod operational;
mod timers;
mod window;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use self::operational::Operational;
use self::timers::{Timer, Timers};
use crate::config::NodeConfig;
use crate::frames::Memory;
use crate::ids::{LinkId, NodeId, RingId};
use crate::output::{LogEvent, LogLevel, Output, TotemConfchg};
use crate::seq::Seq;
use crate::time::{Instant, Span};
use crate::wire::cursor::Order;
use crate::wire::frame::{self, MCAST_HEADER};

/// Numbers of successive rings are this far apart, as in the original.
const RING_SEQ_STEP: u64 = 4;
/// How often the representative of an idle ring looks for others (`totem.merge`).
const MERGE_INTERVAL: Span = Span::from_millis(200);

/// Something that the ring hands up, in delivery order.
#[derive(Debug)]
pub enum Event<M> {
    /// A message that never left the node.
    Local {
        /// Its sender.
        origin: NodeId,
        /// The message.
        message: M,
    },
    /// A message out of frames.
    Delivery(Box<Delivery>),
    /// The configuration changed.
    Config(Arc<TotemConfchg>),
}

/// A message out of frames.
#[derive(Debug)]
pub struct Delivery {
    /// Its sender.
    pub origin: NodeId,
    /// The sender's byte order.
    pub order: Order,
    /// Where the bytes are.
    pub memory: Memory,
    /// Which of them are the message.
    pub range: Range<usize>,
}

/// The states of the membership protocol; each owns what only it needs. Gather, commit and
/// recovery stand beside these once rings are formed over the network.
#[derive(Debug)]
enum State<M> {
    /// Not started.
    Idle,
    /// Messages are ordered and delivered.
    Operational(Box<Operational<M>>),
    /// Stopped.
    Left,
}

/// A node's part of the ring.
#[derive(Debug)]
pub struct Ring<M> {
    me: NodeId,
    /// Ring number used last, by this node or seen by it.
    last_seq: u64,
    /// Bytes of payload in a frame.
    payload_limit: usize,
    /// Whether other nodes are configured that might form rings of their own.
    has_peers: bool,
    honour_safe: bool,
    always_frame: bool,
    state: State<M>,
    timers: Timers,
    /// Configuration changes that come before anything of the ring.
    events: VecDeque<Event<M>>,
}

/// Payload of a frame: a frame of the old ring, header and all, must fit into one of the new
/// ring when it is copied during recovery, so two headers are taken off.
fn payload_limit(config: &NodeConfig) -> usize {
    (config.frame_size as usize).saturating_sub(2 * MCAST_HEADER)
}

impl<M> Ring<M> {
    /// A ring that waits for [`Ring::start`].
    pub fn new(config: &NodeConfig) -> Ring<M> {
        Ring {
            me: config.node,
            // The original counts one start as a change of the number.
            last_seq: config.last_ring_seq + 1,
            payload_limit: payload_limit(config),
            has_peers: config.nodes.iter().any(|node| *node != config.node),
            honour_safe: config.honour_safe,
            always_frame: config.always_frame,
            state: State::Idle,
            timers: Timers::default(),
            events: VecDeque::new(),
        }
    }

    /// Takes over what may change at run time; membership and ids may not.
    pub fn reconfigure(&mut self, config: &NodeConfig) {
        self.payload_limit = payload_limit(config);
        self.honour_safe = config.honour_safe;
        self.always_frame = config.always_frame;
        if let State::Operational(operational) = &mut self.state {
            operational.set_payload_limit(self.payload_limit);
        }
    }

    /// Forms the first ring, of this node alone.
    pub fn start(&mut self, now: Instant, outputs: &mut VecDeque<Output>) {
        if matches!(self.state, State::Idle) {
            let ring = RingId { rep: self.me, seq: self.last_seq + RING_SEQ_STEP };
            self.enter_operational(now, ring, &[], vec![self.me], outputs);
        }
    }

    /// Leaves the ring for good.
    pub fn stop(&mut self) {
        self.timers.stop_all();
        self.state = State::Left;
    }

    /// `members` agreed on `ring`; those in `together` come from this node's old ring.
    fn enter_operational(
        &mut self,
        now: Instant,
        ring: RingId,
        together: &[NodeId],
        members: Vec<NodeId>,
        outputs: &mut VecDeque<Output>,
    ) {
        assert!(ring.seq > self.last_seq, "numbers of rings grow");
        assert!(members.contains(&self.me), "a node is on its own ring");
        let (old, sent) = match &self.state {
            State::Operational(operational) => (operational.members.clone(), operational.sent),
            State::Idle | State::Left => (Vec::new(), 0),
        };
        outputs.push_back(Output::StoreRingSeq { seq: ring.seq });
        let [transitional, regular] = confchg::changes(ring, &old, together, &members);
        outputs.push_back(Output::Log(Box::new(formed(&regular, &transitional))));
        self.events.push_back(Event::Config(Arc::new(transitional)));
        self.events.push_back(Event::Config(Arc::new(regular)));
        self.last_seq = ring.seq;
        if self.has_peers && ring.rep == self.me {
            self.timers.set(Timer::MergeDetect, now.after(MERGE_INTERVAL));
        }
        self.state = State::Operational(Box::new(Operational::new(ring, members, sent, self.payload_limit)));
        self.check();
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Instant, outputs: &mut VecDeque<Output>) {
        while let Some(timer) = self.timers.expired(now) {
            match timer {
                Timer::MergeDetect => self.on_merge_detect(now, outputs),
            }
        }
    }

    fn on_merge_detect(&mut self, now: Instant, outputs: &mut VecDeque<Output>) {
        let State::Operational(operational) = &self.state else { return };
        let frame = Bytes::from(frame::merge_detect(self.me, operational.ring));
        outputs.push_back(Output::Send { link: LinkId(0), to: NodeId(0), frame });
        self.timers.set(Timer::MergeDetect, now.after(MERGE_INTERVAL));
    }

    /// When [`Ring::tick`] is due.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Whether messages can be taken.
    #[inline]
    pub fn is_operational(&self) -> bool {
        matches!(self.state, State::Operational(_))
    }

    /// Whether messages have to be put into frames.
    #[inline]
    pub fn builds_frames(&self) -> bool {
        match &self.state {
            State::Operational(operational) => self.always_frame || operational.members.len() > 1,
            State::Idle | State::Left => true,
        }
    }

    /// Highest number given to a frame of the ring; 0 while there is none.
    pub fn seq(&self) -> Seq {
        match &self.state {
            State::Operational(operational) => operational.seq(),
            State::Idle | State::Left => Seq(0),
        }
    }

    /// Frames that made no sense, since the ring was formed.
    pub fn bad_frames(&self) -> u64 {
        match &self.state {
            State::Operational(operational) => operational.bad_frames,
            State::Idle | State::Left => 0,
        }
    }

    /// Sends a message that nobody else needs; it would take `len` bytes on the wire.
    #[inline]
    pub fn mcast_local(&mut self, message: M, len: u64, safe: bool) {
        debug_assert!(!self.builds_frames());
        if let State::Operational(operational) = &mut self.state {
            operational.mcast_local(self.me, message, len, safe && self.honour_safe);
        }
    }

    /// Sends a message, given in parts that are laid one behind the other.
    pub fn mcast(&mut self, parts: &[&[u8]], safe: bool) {
        if let State::Operational(operational) = &mut self.state {
            operational.mcast(parts, safe && self.honour_safe);
        }
    }

    /// The next event; while this node holds the token, what waits is sent first.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event<M>> {
        if let Some(event) = self.events.pop_front() {
            return Some(event);
        }
        match &mut self.state {
            State::Operational(operational) => operational.poll_event(self.me),
            State::Idle | State::Left => None,
        }
    }

    /// Restates all invariants.
    pub fn check(&self) {
        if let State::Operational(operational) = &self.state {
            operational.check();
            assert!(operational.members.contains(&self.me));
            assert!(operational.ring.seq <= self.last_seq);
        }
    }
}

/// The log line that operators know: ring in hexadecimal, who joined, who left.
fn formed(regular: &TotemConfchg, transitional: &TotemConfchg) -> LogEvent {
    let mut text = format!("A new membership ({}.{:x}) was formed. Members", regular.ring.rep.0, regular.ring.seq);
    for (word, nodes) in [("joined", &regular.joined), ("left", &transitional.left)] {
        if !nodes.is_empty() {
            text.push_str(&format!(" {word}:"));
            for node in nodes {
                text.push_str(&format!(" {}", node.0));
            }
        }
    }
    LogEvent { level: LogLevel::Notice, subsystem: "TOTEM", text }
}

#[cfg(test)]
mod tests;
