//! Everything that can happen to a node, as plain values: a run is the list of its inputs.

use bytes::Bytes;

use crate::config::NodeConfig;
use crate::ids::{ClientId, EvsGroup, GroupName, LinkId};
use crate::ipc::Service;

/// One input of [`crate::node::Node::handle`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The daemon is ready: form the first ring.
    Start,
    /// `now` has reached the deadline that the node asked for; early or repeated is harmless.
    Tick,
    /// A datagram arrived from the network.
    Packet {
        /// Link it came over.
        link: LinkId,
        /// Its bytes.
        bytes: Bytes,
    },
    /// The configuration changed at run time.
    Reconfigure(Box<NodeConfig>),
    /// A client connected.
    Connect {
        /// Its number.
        client: ClientId,
        /// The service it wants.
        service: Service,
        /// Its process id.
        pid: u32,
    },
    /// A client is gone: its process died, or its connection was closed.
    Disconnect {
        /// Its number.
        client: ClientId,
    },
    /// A client asks for something.
    Request {
        /// Its number.
        client: ClientId,
        /// What it asks.
        request: Request,
    },
    /// Orderly stop: leave the ring.
    Stop,
}

/// Delivery guarantee of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Guarantee {
    /// No order promised (served as agreed).
    Unordered = 0,
    /// Sender order (served as agreed).
    Fifo = 1,
    /// One order on all members.
    Agreed = 2,
    /// As agreed, and delivered only when every member has it.
    Safe = 3,
}

/// Where the bytes of a message are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// With the caller, who keeps them until the outputs of this input are drained: allowed
    /// only while `Node::placement` says [`Placement::Caller`]. The key is the caller's own.
    Caller {
        /// The caller's name for the bytes; comes back in the outputs.
        key: u64,
        /// How many bytes.
        len: u32,
    },
    /// In memory that `Node::reserve` handed out and the caller has filled, or that arrived
    /// in frames; read it with `Node::payload`.
    Frame {
        /// The node's name for the bytes.
        key: u64,
        /// How many bytes.
        len: u32,
    },
}

impl Payload {
    /// Length in bytes.
    pub fn len(self) -> u32 {
        match self {
            Payload::Caller { len, .. } | Payload::Frame { len, .. } => len,
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

/// What `Node::placement` answers: where the bytes of the next message have to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// They may stay with the caller: nobody but local clients will read them, at once.
    Caller,
    /// They must be put into memory from `Node::reserve`: frames for peers are built of them.
    Frame,
}

/// Which piece of a message larger than the atomic limit this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Part {
    /// The first piece.
    First = 1,
    /// Neither first nor last.
    Continued = 2,
    /// The last piece.
    Last = 3,
}

/// What an iteration over groups goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum IterationKind {
    /// Names of all groups.
    NameOnly = 1,
    /// Members of one group.
    OneGroup = 2,
    /// Members of all groups.
    All = 3,
}

/// A request of a client. Synchronous ones are answered by one [`crate::output::Output::Reply`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// cpg_join (synchronous). `flags` bit 0: deliver the initial totem configuration.
    CpgJoin {
        /// Process id of the caller.
        pid: u32,
        /// Group to join.
        group: Box<GroupName>,
        /// Model flags.
        flags: u32,
    },
    /// cpg_leave (synchronous).
    CpgLeave {
        /// Process id of the caller.
        pid: u32,
        /// Group to leave.
        group: Box<GroupName>,
    },
    /// cpg_finalize (synchronous): no more events; the disconnect follows.
    CpgFinalize,
    /// cpg_mcast_joined (no reply).
    CpgMcast {
        /// Guarantee asked for.
        guarantee: Guarantee,
        /// The message.
        payload: Payload,
    },
    /// A piece of a large message (synchronous, as in the original).
    CpgPartialMcast {
        /// Guarantee asked for.
        guarantee: Guarantee,
        /// Which piece.
        part: Part,
        /// Length of the whole message.
        total: u32,
        /// The piece.
        payload: Payload,
    },
    /// cpg_membership_get (synchronous).
    CpgMembership {
        /// Group asked about.
        group: Box<GroupName>,
    },
    /// cpg_local_get (synchronous).
    CpgLocalGet,
    /// cpg_iteration_initialize (synchronous).
    CpgIterationStart {
        /// What to go through.
        kind: IterationKind,
        /// The group, for [`IterationKind::OneGroup`].
        group: Box<GroupName>,
    },
    /// cpg_iteration_next (synchronous).
    CpgIterationNext {
        /// Number that the start returned.
        iteration: u64,
    },
    /// cpg_iteration_finalize (synchronous).
    CpgIterationEnd {
        /// Number that the start returned.
        iteration: u64,
    },
    /// evs_join (synchronous).
    EvsJoin {
        /// Groups to join.
        groups: Vec<EvsGroup>,
    },
    /// evs_leave (synchronous).
    EvsLeave {
        /// Groups to leave.
        groups: Vec<EvsGroup>,
    },
    /// evs_mcast_joined (no reply).
    EvsMcastJoined {
        /// Guarantee asked for.
        guarantee: Guarantee,
        /// The message.
        payload: Payload,
    },
    /// evs_mcast_groups (no reply).
    EvsMcastGroups {
        /// Guarantee asked for.
        guarantee: Guarantee,
        /// Groups to send to.
        groups: Vec<EvsGroup>,
        /// The message.
        payload: Payload,
    },
    /// evs_membership_get (synchronous).
    EvsMembership,
}

impl Request {
    /// The same request with its message elsewhere.
    #[must_use]
    pub fn with_payload(mut self, held: Payload) -> Request {
        match &mut self {
            Request::CpgMcast { payload, .. }
            | Request::CpgPartialMcast { payload, .. }
            | Request::EvsMcastJoined { payload, .. }
            | Request::EvsMcastGroups { payload, .. } => *payload = held,
            _ => {}
        }
        self
    }
}
