//! Services: replicated state machines that the messages of the ring drive, and the requests
//! of local clients. A service never sends to the network; it returns the message to send,
//! and acts when the ring delivers it.

pub mod capability;
mod clients;
pub mod cmap;
pub mod cpg;
pub mod evs;
pub mod sync_wire;
pub mod wire;

use std::sync::Arc;

use crate::ids::{EvsGroup, GroupName};
use crate::input::{Part, Payload};

/// Answers to requests, values of `cs_error_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Status {
    /// Done.
    Ok = 1,
    /// No such iteration.
    Library = 2,
    /// Not now.
    TryAgain = 6,
    /// The request makes no sense.
    InvalidParam = 7,
    /// The connection is not for this service, or was finalized.
    BadHandle = 9,
    /// A join or leave is under way.
    Busy = 10,
    /// Not a member.
    NotExist = 12,
    /// A member already.
    Exist = 14,
    /// The membership changed between the pieces of a message.
    Interrupt = 16,
    /// A limit per client is reached.
    NoResources = 18,
    /// An iteration is at its end.
    NoSections = 27,
    /// More groups than one call may name.
    TooManyGroups = 30,
}

/// Place of a group in the table of the cpg service; valid while the group is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupIndex(pub u32);

/// Joining or leaving of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The group.
    pub group: GroupName,
    /// The process.
    pub pid: u32,
    /// Why: 1 join, 2 leave, 5 procdown.
    pub reason: u32,
}

/// A message of a service on its way around the ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A cpg message.
    CpgMcast {
        /// Group of sender and receivers.
        group: GroupIndex,
        /// Sending process.
        pid: u32,
        /// The message.
        payload: Payload,
    },
    /// A piece of a large cpg message.
    CpgPartial {
        /// Group of sender and receivers.
        group: GroupIndex,
        /// Sending process.
        pid: u32,
        /// Which piece.
        part: Part,
        /// Length of the whole message.
        total: u32,
        /// The piece.
        payload: Payload,
    },
    /// A process joins.
    CpgJoin(Box<Membership>),
    /// A process leaves.
    CpgLeave(Box<Membership>),
    /// An evs message.
    EvsMcast {
        /// Who in any of these groups gets it.
        groups: Arc<[EvsGroup]>,
        /// The message.
        payload: Payload,
    },
}

impl Message {
    /// Its data, if it has any.
    pub fn payload(&self) -> Option<Payload> {
        match self {
            Message::CpgMcast { payload, .. }
            | Message::CpgPartial { payload, .. }
            | Message::EvsMcast { payload, .. } => Some(*payload),
            Message::CpgJoin(_) | Message::CpgLeave(_) => None,
        }
    }

    /// The same message with its data elsewhere.
    #[must_use]
    pub fn with_payload(mut self, held: Payload) -> Message {
        match &mut self {
            Message::CpgMcast { payload, .. }
            | Message::CpgPartial { payload, .. }
            | Message::EvsMcast { payload, .. } => *payload = held,
            Message::CpgJoin(_) | Message::CpgLeave(_) => {}
        }
        self
    }

    /// How many bytes it takes on the wire.
    #[inline]
    pub fn wire_len(&self) -> u64 {
        let own = match self {
            Message::CpgMcast { payload, .. } => cpg::wire::MCAST_SIZE as u64 + u64::from(payload.len()),
            Message::CpgPartial { payload, .. } => cpg::wire::PARTIAL_SIZE as u64 + u64::from(payload.len()),
            Message::CpgJoin(_) | Message::CpgLeave(_) => cpg::wire::MEMBERSHIP_SIZE as u64,
            Message::EvsMcast { groups, payload } => evs::wire::size(groups.len()) as u64 + u64::from(payload.len()),
        };
        wire::GROUP_HEADER.len() as u64 + own
    }
}

#[cfg(test)]
mod tests;
