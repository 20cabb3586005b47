//! The ring: who is a member, in which order messages are delivered, what everyone is told
//! when the membership changes.
//!
//! Follows the single-ring Totem protocol of Amir, Moser, Melliar-Smith, Agarwal and Ciarfella
//! (1995) with the frames, timers and rules of corosync 3.1 (`docs/PROTOCOL.md` lists where and
//! why it differs from either). One file for each step: `gather` agrees on members, `commit`
//! takes their agreement around, `recovery` brings those who come from the same old ring to
//! the same messages, `install` changes over, `visit` is the regular token's work, `operational`
//! receives, delivers, and is the ring of one, whose token never leaves the node.
//!
//! The ring knows nothing of what messages mean: those that stay on the node pass through as
//! values of type `M`, those for the wire as bytes. Configuration changes come out between the
//! messages, in their place in the order.

mod commit;
mod confchg;
mod flow;
mod gather;
mod install;
pub mod mutation;
mod operational;
mod queue;
mod recovery;
mod timers;
mod visit;
mod window;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use self::flow::Flow;
use self::gather::Forming;
use self::mutation::{Mutation, Switch};
use self::operational::Content;
use self::queue::Queue;
use self::recovery::Recovery;
use self::timers::{Timer, Timers};
use self::window::{Entry, Window};
use crate::config::{NodeConfig, TotemConfig};
use crate::frames::Memory;
use crate::ids::{LinkId, NodeId, RingId};
use crate::output::{LogEvent, LogLevel, Output, TotemConfchg};
use crate::pack::Assembler;
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::cursor::Order;
use crate::wire::frame::{FrameHeader, FrameType, MCAST_HEADER};

/// Numbers of successive rings are this far apart, as in the original.
const RING_SEQ_STEP: u64 = 4;
/// Ring numbers beyond this are not believed: the next ones would wrap.
const RING_SEQ_MAX: u64 = u64::MAX >> 8;

/// What the outputs of the ring go into.
type Outputs = VecDeque<Output>;

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

/// What comes before anything else of the ring when a new one is installed.
#[derive(Debug)]
enum Pending<M> {
    /// A frame of the old ring.
    Frame(Entry<Content<M>>),
    /// A change of configuration.
    Config(Arc<TotemConfchg>),
    /// The old ring's messages are through; these nodes are gone.
    OldRingDone(Vec<NodeId>),
}

/// The states of the membership protocol.
#[derive(Debug)]
enum State<M> {
    /// Not started.
    Idle,
    /// Looking for agreement on who is there.
    Gather,
    /// The commit token goes around for these members.
    Commit(Vec<NodeId>),
    /// Messages of the old rings are exchanged.
    Recovery(Box<Recovery<M>>),
    /// Messages are ordered and delivered.
    Operational,
    /// Stopped.
    Left,
}

/// What happened on the network, since the node was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingCounters {
    /// Frames that made no sense.
    pub bad_frames: u64,
    /// Frames of rings that this node is not on.
    pub foreign: u64,
    /// Frames sent again because others asked.
    pub resent: u64,
    /// Frames asked for.
    pub asked: u64,
    /// Tokens sent again.
    pub token_resent: u64,
    /// Times that the token was lost.
    pub token_lost: u64,
    /// Times that members were looked for.
    pub gathered: u64,
    /// Rings that this node was on.
    pub rings: u64,
}

/// A node's part of the ring.
#[derive(Debug)]
pub struct Ring<M> {
    me: NodeId,
    config: TotemConfig,
    /// Whether other nodes are configured.
    has_peers: bool,
    honour_safe: bool,
    always_frame: bool,
    state: State<M>,
    /// The ring that this node is on or has agreed to.
    ring: RingId,
    /// Highest number of a ring that this node has heard of.
    seen_seq: u64,
    /// Members of the last configuration, sorted, and its ring: where `window` belongs.
    members: Vec<NodeId>,
    member_ring: RingId,
    forming: Forming,
    flow: Flow,
    window: Window<Content<M>>,
    /// Messages that wait for the token, and those that go first while a change of membership
    /// is worked off.
    regular: Queue,
    change: Queue,
    /// Whether a change of membership is being worked off: for sending, and for receiving.
    syncing: bool,
    /// Until then strangers are not looked at while the change is worked off.
    settles_by: Instant,
    receives_change: bool,
    /// Parts of messages, by sender: ordinary ones and those about a change.
    assemblers: BTreeMap<NodeId, Assembler>,
    change_assemblers: BTreeMap<NodeId, Assembler>,
    /// Space for the header of a frame.
    header: Vec<u8>,
    /// Frames this node ever sent.
    sent: u32,
    /// Frames in a rotation and in a visit that all members of this ring take, if more.
    wide: Option<(u32, u32)>,
    timers: Timers,
    pending: VecDeque<Pending<M>>,
    /// Messages out of the frame delivered last.
    unpacked: VecDeque<Event<M>>,
    /// When this node last did anything, to notice that it was stopped meanwhile.
    awake: Instant,
    /// Join messages of this moment may be old: the node was stopped.
    dozed: Option<Instant>,
    chance: u64,
    rules: Switch,
    counters: RingCounters,
}

/// Payload of a frame: a frame of the old ring, header and all, must fit into one of the new
/// ring when it is copied during recovery, so two headers are taken off.
fn payload_limit(config: &NodeConfig) -> usize {
    (config.frame_size as usize).saturating_sub(2 * MCAST_HEADER)
}

impl<M> Ring<M> {
    /// A ring that waits for [`Ring::start`].
    pub fn new(config: &NodeConfig) -> Ring<M> {
        // The original counts one start as a change of the number.
        let last = config.last_ring_seq.min(RING_SEQ_MAX) + 1;
        let ring = RingId { rep: config.node, seq: last };
        Ring {
            me: config.node,
            config: config.totem,
            has_peers: config.nodes.iter().any(|node| *node != config.node),
            honour_safe: config.honour_safe,
            always_frame: config.always_frame,
            state: State::Idle,
            ring,
            seen_seq: last,
            members: Vec::new(),
            member_ring: ring,
            forming: Forming::default(),
            flow: Flow::default(),
            window: Window::default(),
            regular: Queue::new(payload_limit(config)),
            change: Queue::new(payload_limit(config)),
            syncing: true,
            settles_by: Instant(0),
            receives_change: true,
            assemblers: BTreeMap::new(),
            change_assemblers: BTreeMap::new(),
            header: Vec::with_capacity(MCAST_HEADER),
            sent: 0,
            wide: None,
            timers: Timers::default(),
            pending: VecDeque::new(),
            unpacked: VecDeque::new(),
            awake: Instant(0),
            dozed: None,
            chance: config.seed ^ u64::from(config.node.0) ^ 0x9e37_79b9_7f4a_7c15,
            rules: Switch::default(),
            counters: RingCounters::default(),
        }
    }

    /// Switches a rule of the protocol off.
    #[cfg(feature = "mutation")]
    pub fn switch_off(&mut self, rule: Mutation) {
        self.rules.switch_off(rule);
    }

    /// Takes over what may change at run time; ids may not.
    pub fn reconfigure(&mut self, config: &NodeConfig) {
        self.config = config.totem;
        self.has_peers = config.nodes.iter().any(|node| *node != config.node);
        self.honour_safe = config.honour_safe;
        self.always_frame = config.always_frame;
        let limit = payload_limit(config);
        self.regular.set_limit(limit);
        self.change.set_limit(limit);
    }

    /// Looks for others; a node that is alone forms a ring by itself at once.
    pub fn start(&mut self, now: Instant, outputs: &mut Outputs) {
        if matches!(self.state, State::Idle) {
            self.awake = now;
            self.enter_gather(now, outputs);
        }
    }

    /// Leaves the ring for good, and says so.
    pub fn stop(&mut self, outputs: &mut Outputs) {
        if self.has_peers && !matches!(self.state, State::Idle | State::Left) {
            self.send_leave(outputs);
        }
        self.timers.stop_all();
        self.state = State::Left;
    }

    /// A frame arrived.
    pub fn packet(&mut self, frame: &Bytes, now: Instant, outputs: &mut Outputs) {
        if matches!(self.state, State::Idle | State::Left) {
            return;
        }
        self.stay_awake(now);
        if self.frame(frame, now, outputs).is_none() {
            self.counters.bad_frames += 1;
        }
    }

    /// Leads a frame to where it is handled; `None` if it makes no sense.
    fn frame(&mut self, frame: &Bytes, now: Instant, outputs: &mut Outputs) -> Option<()> {
        use crate::wire::{commit::CommitToken, frame, join::Join, token::Token};
        let header = FrameHeader::decode(frame).ok()?;
        let order = header.order;
        match header.kind {
            FrameType::Mcast => self.on_mcast(frame, header, now, outputs)?,
            FrameType::Token => self.on_token(Token::decode(frame, order).ok()?, now, outputs),
            FrameType::Join => self.on_join(&Join::decode(frame, order).ok()?, now, outputs),
            FrameType::CommitToken => self.on_commit(CommitToken::decode(frame, order).ok()?, now, outputs),
            FrameType::MergeDetect => {
                let (from, ring) = frame::decode_merge_detect(frame, order).ok()?;
                self.on_merge_detect(from, ring, now, outputs);
            }
            FrameType::HoldCancel => self.on_hold_cancel(frame::decode_hold_cancel(frame, order).ok()?, now, outputs),
        }
        Some(())
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Instant, outputs: &mut Outputs) {
        self.stay_awake(now);
        while let Some(timer) = self.timers.expired(now) {
            match timer {
                Timer::Token => self.on_token_loss("token timeout", now, outputs),
                Timer::Heartbeat => self.on_token_loss("heartbeat timeout", now, outputs),
                Timer::TokenRetransmit => self.resend_token(now, outputs),
                Timer::Hold => self.release_token(now, outputs),
                Timer::MergeDetect => self.look_for_others(now, outputs),
                Timer::Join => self.send_join(now, outputs),
                Timer::Consensus => self.on_consensus_timeout(now, outputs),
            }
        }
    }

    /// Notices that the node was stopped for a while: what is read then may be old.
    fn stay_awake(&mut self, now: Instant) {
        if now.since(self.awake).0 > self.config.token.0 / 2 {
            self.dozed = Some(now);
        }
        self.awake = now;
    }

    /// When [`Ring::tick`] is due.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Whether the node is on a ring or on its way to one: what is sent gets its place.
    #[inline]
    pub fn is_started(&self) -> bool {
        !matches!(self.state, State::Idle | State::Left)
    }

    /// Whether messages are being ordered.
    #[inline]
    pub fn is_operational(&self) -> bool {
        matches!(self.state, State::Operational)
    }

    /// Whether messages of clients can be taken now.
    #[inline]
    pub fn has_room(&self) -> bool {
        let worked_off = !self.syncing || !self.rules.on(Mutation::HoldBack);
        worked_off && self.is_started() && self.regular.has_room()
    }

    /// Whether the node is alone on its ring, the change to it worked off.
    #[inline]
    fn is_alone(&self) -> bool {
        self.members.len() == 1 && self.is_operational()
    }

    /// Whether messages have to be put into frames.
    #[inline]
    pub fn builds_frames(&self) -> bool {
        self.always_frame || self.syncing || !self.is_alone()
    }

    /// Highest number given to a frame of the ring; 0 while there is none.
    pub fn seq(&self) -> Seq {
        self.window.high()
    }

    /// What happened on the network.
    pub fn counters(&self) -> RingCounters {
        self.counters
    }

    /// Members of the last configuration.
    pub fn members(&self) -> &[NodeId] {
        &self.members
    }

    /// All members of this very ring take `window` frames in a rotation and `most` in a visit.
    pub fn set_wide(&mut self, window: u32, most: u32) {
        let bound = window.min(window::WINDOW / 4);
        self.wide = self.config.wide.map(|_| (bound, most.min(bound)));
    }

    /// All members of this very ring are ours: a message that the change cut in two is begun
    /// anew, so that those who have joined get it too.
    pub fn restart_message(&mut self) {
        self.regular.restart();
    }

    /// The change of membership is worked off: ordinary messages go out again.
    pub fn sync_done(&mut self) {
        self.syncing = false;
        self.receives_change = false;
    }

    /// Sends a message that nobody else needs; it would take `len` bytes on the wire.
    #[inline]
    pub fn mcast_local(&mut self, message: M, len: u64, safe: bool) {
        debug_assert!(!self.builds_frames());
        self.number_local(message, len, safe && self.honour_safe);
    }

    /// Sends a message, given in parts that are laid one behind the other.
    pub fn mcast(&mut self, parts: &[&[u8]], safe: bool, now: Instant, outputs: &mut Outputs) {
        self.regular.push(parts, safe && self.honour_safe);
        if !self.syncing {
            self.wake_holder(now, outputs);
        }
    }

    /// Sends a message that belongs to the change of membership which is worked off.
    pub fn mcast_change(&mut self, parts: &[&[u8]], now: Instant, outputs: &mut Outputs) {
        self.change.push(parts, false);
        self.wake_holder(now, outputs);
    }

    /// A number that cannot be told beforehand, below `bound`.
    fn chance(&mut self, bound: u64) -> u64 {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        self.chance % bound.max(1)
    }

    fn log(outputs: &mut Outputs, level: LogLevel, text: String) {
        outputs.push_back(Output::Log(Box::new(LogEvent { level, subsystem: "TOTEM", text })));
    }

    fn send(outputs: &mut Outputs, to: NodeId, frame: Bytes) {
        outputs.push_back(Output::Send { link: LinkId(0), to, frame });
    }

    /// Restates all invariants.
    pub fn check(&self) {
        self.window.check();
        assert!(self.members.is_sorted());
        assert!(self.ring.seq <= self.seen_seq || matches!(self.state, State::Idle));
        match &self.state {
            State::Operational => {
                assert!(self.members.contains(&self.me), "a node is on its own ring");
                assert_eq!(self.ring, self.member_ring);
                assert_eq!(self.flow.is_reset(), self.members.len() == 1);
            }
            State::Recovery(recovery) => recovery.check(self.me),
            State::Gather => assert!(self.forming.proc.contains(&self.me)),
            State::Commit(members) => assert!(members.contains(&self.me)),
            State::Idle | State::Left => {}
        }
    }
}

#[cfg(test)]
mod tests;
