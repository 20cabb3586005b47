//! Everything a node can ask its caller to do. Drain after every input, in order.

use std::sync::Arc;

use bytes::Bytes;

use crate::ids::{ClientId, GroupName, LinkId, NodeId, RingId};
use crate::input::{Part, Payload};

/// One effect. Small on purpose: the hot ones are moved millions of times a second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Send a frame to peers.
    Send {
        /// Link to use.
        link: LinkId,
        /// Who gets it; 0: every peer.
        to: NodeId,
        /// The frame, immutable and shareable (retransmission, send workers).
        frame: Bytes,
    },
    /// Answer of the oldest unanswered synchronous request of the client.
    Reply {
        /// Who asked.
        client: ClientId,
        /// The answer.
        reply: Box<Reply>,
    },
    /// A cpg message for a local member.
    CpgDeliver {
        /// Who gets it.
        to: ClientId,
        /// Node of the sender.
        node: NodeId,
        /// Process of the sender.
        pid: u32,
        /// The message.
        payload: Payload,
    },
    /// A piece of a large cpg message for a local member.
    CpgPartialDeliver {
        /// Who gets it.
        to: ClientId,
        /// Node of the sender.
        node: NodeId,
        /// Process of the sender.
        pid: u32,
        /// Which piece.
        part: Part,
        /// Length of the whole message.
        total: u32,
        /// The piece.
        payload: Payload,
    },
    /// A change of a group, for a local member.
    CpgConfchg {
        /// Who gets it.
        to: ClientId,
        /// The change.
        change: Arc<CpgConfchg>,
    },
    /// A change of the ring, for a local cpg client.
    CpgTotemConfchg {
        /// Who gets it.
        to: ClientId,
        /// The change.
        change: Arc<TotemConfchg>,
    },
    /// An evs message for a local client.
    EvsDeliver {
        /// Who gets it.
        to: ClientId,
        /// Node of the sender.
        node: NodeId,
        /// The message.
        payload: Payload,
    },
    /// A configuration change, for a local evs client.
    EvsConfchg {
        /// Who gets it.
        to: ClientId,
        /// The change.
        change: Arc<TotemConfchg>,
    },
    /// The node must not go on: stop it in order, for the reason given.
    Shutdown {
        /// Why, for the log.
        reason: &'static str,
    },
    /// The number of the ring must be durable before any output behind this one is carried out.
    StoreRingSeq {
        /// Ring sequence number.
        seq: u64,
    },
    /// Something worth a log line.
    Log(Box<LogEvent>),
}

/// One process of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpgMember {
    /// Its node.
    pub node: NodeId,
    /// Its process id.
    pub pid: u32,
    /// Why it is in this list (`cpg_reason_t`): 0 undefined, 1 join, 2 leave, 3 nodedown,
    /// 4 nodeup, 5 procdown.
    pub reason: u32,
}

/// A change of a process group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpgConfchg {
    /// The group.
    pub group: GroupName,
    /// Members after the change, sorted by node and pid.
    pub members: Vec<CpgMember>,
    /// Who left.
    pub left: Vec<CpgMember>,
    /// Who joined.
    pub joined: Vec<CpgMember>,
}

/// A change of the ring's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TotemConfchg {
    /// Transitional or regular.
    pub transitional: bool,
    /// The ring.
    pub ring: RingId,
    /// Its members, sorted.
    pub members: Vec<NodeId>,
    /// Who left (transitional only).
    pub left: Vec<NodeId>,
    /// Who joined (regular only).
    pub joined: Vec<NodeId>,
}

/// Answer to a synchronous request: an error code and what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// A `cs_error_t` value, 1 = OK.
    pub error: u32,
    /// What was asked for.
    pub body: ReplyBody,
}

/// The data of a [`Reply`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyBody {
    /// Nothing but the code.
    None,
    /// Members of a group.
    CpgMembership(Vec<CpgMember>),
    /// The local node id.
    NodeId(NodeId),
    /// Number of a new iteration.
    Iteration(u64),
    /// One step of an iteration.
    IterationItem {
        /// Group.
        group: GroupName,
        /// Node, 0 when only names are wanted.
        node: NodeId,
        /// Process, 0 when only names are wanted.
        pid: u32,
    },
    /// Local node and members of the last configuration that evs clients were told.
    EvsMembership {
        /// Local node id.
        local: NodeId,
        /// Members.
        members: Vec<NodeId>,
    },
}

/// Severity of a log event, syslog's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// The operator must act.
    Error,
    /// Something is wrong but goes on.
    Warning,
    /// Normal but significant.
    Notice,
    /// Informational.
    Info,
    /// For developers.
    Debug,
}

/// Something worth a log line, as the core sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEvent {
    /// Severity.
    pub level: LogLevel,
    /// Subsystem as in `logger_subsys` (`TOTEM`, `CPG`, `EVS`, `SYNC`, ...).
    pub subsystem: &'static str,
    /// The text.
    pub text: String,
}
