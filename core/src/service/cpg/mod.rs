//! Closed process groups, as corosync 3.1 serves them.
//!
//! This file: the local clients and their requests. A client is unjoined, then a join is
//! started and completed when the ring delivers it, then a leave is started; when the ring
//! delivers that, the client is told and is unjoined again. (The original means to, but never
//! gets there: a client that left goes on hearing its group and can join no more.)
//! What the ring delivers is handled in `deliver`.

mod change;
mod deliver;
mod groups;
mod iteration;
pub mod wire;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use self::deliver::Piece;
use self::groups::Groups;
use self::iteration::{Item, Iteration};
use super::clients::Clients;
use super::{GroupIndex, Membership, Message, Status};
use crate::ids::{ClientId, GroupName, NodeId, RingId};
use crate::input::{IterationKind, Part};
use crate::ipc::event::CPG_MEMBERS_MAX;
use crate::output::{CpgMember, TotemConfchg};

/// Most iterations that one client may have under way; each holds a copy of what it shows.
pub const ITERATIONS_MAX: usize = 32;

/// Model flag: deliver the initial totem configuration.
const FLAG_INITIAL_TOTEM: u32 = 1;

const REASON_UNDEFINED: u32 = 0;
const REASON_JOIN: u32 = 1;
const REASON_LEAVE: u32 = 2;
const REASON_NODEDOWN: u32 = 3;
const REASON_NODEUP: u32 = 4;
const REASON_PROCDOWN: u32 = 5;

/// How far a client is with its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    JoinStarted,
    JoinCompleted,
    LeaveStarted,
}

/// A client's group.
#[derive(Clone, Copy, Debug)]
struct Joined {
    group: GroupIndex,
    pid: u32,
    state: State,
}

#[derive(Debug, Default)]
struct Client {
    /// `None`: unjoined.
    joined: Option<Joined>,
    /// The client finalized: it hears and asks no more.
    finalized: bool,
    /// The initial totem configuration was asked for and not delivered yet.
    initial_due: bool,
    /// Group changes this client was told of.
    transitions: u64,
    /// Their number when the first piece of its large message came.
    transitions_at_first: u64,
    iterations: BTreeMap<u64, Iteration>,
}

/// The service.
#[derive(Debug)]
pub struct Cpg {
    me: NodeId,
    clients: Clients<Client>,
    groups: Groups,
    /// Number of the iteration started last.
    last_iteration: u64,
    /// Clients whose initial totem configuration is due.
    initial_due: usize,
    /// Last regular configuration whose change was worked off.
    config: Arc<TotemConfchg>,
    /// The change that is being worked off.
    change: change::Change,
    /// Messages dropped because no process of their sender's node is in the group.
    pub unknown_node: u64,
}

impl Cpg {
    /// The service on node `me`.
    pub fn new(me: NodeId) -> Cpg {
        let config = TotemConfchg {
            transitional: false,
            ring: RingId::default(),
            members: Vec::new(),
            left: Vec::new(),
            joined: Vec::new(),
        };
        Cpg {
            me,
            clients: Clients::default(),
            groups: Groups::default(),
            last_iteration: 0,
            initial_due: 0,
            change: change::Change::new(Arc::new(config.clone())),
            config: Arc::new(config),
            unknown_node: 0,
        }
    }

    /// A client connected.
    pub fn connect(&mut self, client: ClientId) {
        self.clients.insert(client, Client::default());
    }

    /// A client is gone: what it leaves behind. Where the original leaves a process in its
    /// group for ever (the name is empty), it leaves here.
    pub fn disconnect(&mut self, client: ClientId) -> Option<Message> {
        let state = self.clients.remove(client)?;
        self.initial_due -= usize::from(state.initial_due);
        let joined = state.joined?;
        let group = self.groups.get(joined.group).name;
        if !state.finalized {
            self.groups.detach(joined.group, client);
        }
        let membership = Membership { group, pid: joined.pid, reason: REASON_PROCDOWN };
        (joined.state != State::LeaveStarted).then(|| Message::CpgLeave(Box::new(membership)))
    }

    /// The state of a client that may ask.
    fn client(&mut self, client: ClientId) -> Result<&mut Client, Status> {
        self.clients.get_mut(client).filter(|state| !state.finalized).ok_or(Status::BadHandle)
    }

    /// cpg_join.
    pub fn join(&mut self, client: ClientId, pid: u32, group: &GroupName, flags: u32) -> Result<Message, Status> {
        let state = self.client(client)?.joined.map(|joined| joined.state);
        if let Some(index) = self.groups.find(group) {
            let group = self.groups.get(index);
            let is_same = |other: &Client| other.joined.is_some_and(|joined| joined.pid == pid);
            if group.attached.iter().any(|other| self.clients.get(*other).is_some_and(is_same)) {
                return Err(Status::Exist);
            }
            if group.has(self.me, pid) {
                return Err(Status::TryAgain);
            }
        }
        match state {
            None => {}
            Some(State::LeaveStarted) => return Err(Status::Busy),
            Some(State::JoinStarted | State::JoinCompleted) => return Err(Status::Exist),
        }
        let index = self.groups.open(group);
        self.groups.attach(index, client);
        let wants_initial = flags & FLAG_INITIAL_TOTEM != 0;
        self.initial_due += usize::from(wants_initial);
        let state = self.client(client)?;
        state.initial_due = wants_initial;
        state.joined = Some(Joined { group: index, pid, state: State::JoinStarted });
        Ok(Message::CpgJoin(Box::new(Membership { group: *group, pid, reason: REASON_JOIN })))
    }

    /// cpg_leave. Another group than the client's own is one that it is not in. (The original
    /// takes it: it tells the members of that group, while the client's own goes on showing it.)
    pub fn leave(&mut self, client: ClientId, group: &GroupName) -> Result<Message, Status> {
        let named = self.groups.find(group);
        let Some(joined) = &mut self.client(client)?.joined else { return Err(Status::NotExist) };
        match joined.state {
            _ if named != Some(joined.group) => Err(Status::NotExist),
            State::LeaveStarted => Err(Status::NotExist),
            State::JoinStarted => Err(Status::Busy),
            State::JoinCompleted => {
                joined.state = State::LeaveStarted;
                let membership = Membership { group: *group, pid: joined.pid, reason: REASON_LEAVE };
                Ok(Message::CpgLeave(Box::new(membership)))
            }
        }
    }

    /// cpg_finalize: no more events; the process leaves when the connection closes.
    pub fn finalize(&mut self, client: ClientId) -> Result<(), Status> {
        let state = self.client(client)?;
        state.finalized = true;
        state.iterations.clear();
        let was_due = std::mem::take(&mut state.initial_due);
        let joined = state.joined;
        self.initial_due -= usize::from(was_due);
        if let Some(joined) = joined {
            self.groups.detach(joined.group, client);
        }
        Ok(())
    }

    /// Group and process in whose name a client sends now.
    #[inline]
    pub fn sender(&self, client: ClientId) -> Result<(GroupIndex, u32), Status> {
        let state = self.clients.get(client).filter(|state| !state.finalized).ok_or(Status::BadHandle)?;
        match &state.joined {
            Some(joined) if joined.state != State::LeaveStarted => Ok((joined.group, joined.pid)),
            _ => Err(Status::NotExist),
        }
    }

    /// As [`Cpg::sender`], for a piece of a large message: all pieces must see one membership.
    pub fn partial_sender(&mut self, client: ClientId, part: Part) -> Result<(GroupIndex, u32), Status> {
        let sender = self.sender(client);
        let state = self.client(client)?;
        if part == Part::First {
            state.transitions_at_first = state.transitions;
        }
        if state.transitions == state.transitions_at_first {
            sender
        } else {
            Err(Status::Interrupt)
        }
    }

    /// Local clients that get the messages of a group.
    #[inline]
    pub fn listeners(&self, group: GroupIndex) -> &[ClientId] {
        &self.groups.get(group).listeners
    }

    /// Name of a group.
    pub fn name(&self, group: GroupIndex) -> &GroupName {
        &self.groups.get(group).name
    }

    /// cpg_membership_get.
    pub fn membership(&mut self, client: ClientId, group: &GroupName) -> Result<Vec<CpgMember>, Status> {
        self.client(client)?;
        let members = self.groups.find(group).map_or(&[][..], |index| &self.groups.get(index).members);
        Ok(members.iter().take(CPG_MEMBERS_MAX).map(|member| listed(*member, REASON_UNDEFINED)).collect())
    }

    /// cpg_local_get.
    pub fn local(&mut self, client: ClientId) -> Result<NodeId, Status> {
        self.client(client)?;
        Ok(self.me)
    }

    /// cpg_iteration_initialize.
    pub fn iteration_start(&mut self, client: ClientId, kind: IterationKind, group: &GroupName) -> Result<u64, Status> {
        if self.client(client)?.iterations.len() >= ITERATIONS_MAX {
            return Err(Status::NoResources);
        }
        let iteration = Iteration::start(&self.groups, kind, group);
        self.last_iteration += 1;
        let number = self.last_iteration;
        self.client(client)?.iterations.insert(number, iteration);
        Ok(number)
    }

    /// cpg_iteration_next.
    pub fn iteration_next(&mut self, client: ClientId, iteration: u64) -> Result<Item, Status> {
        let iteration = self.client(client)?.iterations.get_mut(&iteration).ok_or(Status::Library)?;
        iteration.step().ok_or(Status::NoSections)
    }

    /// cpg_iteration_finalize.
    pub fn iteration_end(&mut self, client: ClientId, iteration: u64) -> Result<(), Status> {
        self.client(client)?.iterations.remove(&iteration).map(|_| ()).ok_or(Status::Library)
    }
}

fn listed((node, pid): (NodeId, u32), reason: u32) -> CpgMember {
    CpgMember { node, pid, reason }
}

#[cfg(test)]
mod tests;
