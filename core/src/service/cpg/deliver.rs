//! What the ring delivers to the cpg service: joins, leaves, messages. All
//! nodes get the same in the same order and so agree on every group.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{listed, Cpg, State, REASON_JOIN, REASON_UNDEFINED};
use crate::ids::{ClientId, NodeId};
use crate::input::{Part, Payload};
use crate::ipc::event::CPG_MEMBERS_MAX;
use crate::output::{CpgConfchg, CpgMember, Output};
use crate::service::{GroupIndex, Membership};

/// A piece of a large message.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Which piece.
    pub part: Part,
    /// Length of the whole message.
    pub total: u32,
    /// The piece.
    pub payload: Payload,
}

impl Cpg {
    /// A process joined; whatever the message says, the reason is join.
    pub fn on_join(&mut self, origin: NodeId, join: &Membership, outputs: &mut VecDeque<Output>) {
        let index = self.groups.open(&join.group);
        if self.groups.insert(index, origin, join.pid) {
            self.complete_join(index, origin, join.pid);
            self.notify(index, &[listed((origin, join.pid), REASON_JOIN)], &[], outputs);
        }
    }

    /// Local clients that waited for this join listen from now on.
    fn complete_join(&mut self, index: GroupIndex, origin: NodeId, pid: u32) {
        if origin != self.me {
            return;
        }
        let group = self.groups.get_mut(index);
        for client in &group.attached {
            let joined = self.clients.get_mut(*client).and_then(|state| state.joined.as_mut());
            if let Some(joined) = joined.filter(|joined| joined.pid == pid && joined.state == State::JoinStarted) {
                joined.state = State::JoinCompleted;
                group.listeners.push(*client);
            }
        }
    }

    /// A process left. The change is told even if it was no member, as in the original.
    pub fn on_leave(&mut self, origin: NodeId, leave: &Membership, outputs: &mut VecDeque<Output>) {
        let Some(index) = self.groups.find(&leave.group) else { return };
        self.notify(index, &[], &[listed((origin, leave.pid), leave.reason)], outputs);
        self.groups.remove(index, origin, leave.pid);
        if origin == self.me {
            self.complete_leave(index, leave.pid);
        }
        self.groups.close_if_unused(index);
    }

    /// The local client that waited for this leave hears no more of the group and may join again.
    fn complete_leave(&mut self, index: GroupIndex, pid: u32) {
        let left = |joined: &super::Joined| joined.pid == pid && joined.state == State::LeaveStarted;
        let clients = &mut self.clients;
        let group = self.groups.get_mut(index);
        group.attached.retain(|client| {
            let joined = clients.get_mut(*client).map(|state| &mut state.joined);
            let Some(joined) = joined.filter(|joined| joined.as_ref().is_some_and(left)) else { return true };
            *joined = None;
            group.listeners.retain(|listener| listener != client);
            false
        });
    }

    /// Place of the group of a message out of a frame.
    pub fn find(&self, group: &crate::ids::GroupName) -> Option<GroupIndex> {
        self.groups.find(group)
    }

    /// A message: to all listeners of its group, unless its sender's node has no process there.
    #[inline]
    pub fn on_mcast(
        &mut self,
        origin: NodeId,
        group: GroupIndex,
        pid: u32,
        payload: Payload,
        outputs: &mut VecDeque<Output>,
    ) {
        for to in self.receivers(origin, group) {
            outputs.push_back(Output::CpgDeliver { to: *to, node: origin, pid, payload });
        }
    }

    /// A piece of a large message.
    pub fn on_partial(
        &mut self,
        origin: NodeId,
        group: GroupIndex,
        pid: u32,
        piece: Piece,
        outputs: &mut VecDeque<Output>,
    ) {
        let Piece { part, total, payload } = piece;
        for to in self.receivers(origin, group) {
            outputs.push_back(Output::CpgPartialDeliver { to: *to, node: origin, pid, part, total, payload });
        }
    }

    #[inline]
    fn receivers(&mut self, origin: NodeId, group: GroupIndex) -> &[ClientId] {
        let group = self.groups.get(group);
        if group.has_node(origin) {
            return &group.listeners;
        }
        self.unknown_node += 1;
        &[]
    }

    /// Tells all listeners of a group about a change. Members are those that remain; lists are
    /// cut at what a library can show.
    pub(super) fn notify(
        &mut self,
        index: GroupIndex,
        joined: &[CpgMember],
        left: &[CpgMember],
        outputs: &mut VecDeque<Output>,
    ) {
        let group = self.groups.get(index);
        if !group.listeners.is_empty() {
            let remains = |(node, pid): &(NodeId, u32)| !left.iter().any(|gone| gone.node == *node && gone.pid == *pid);
            let members = group.members.iter().filter(|member| remains(member)).take(CPG_MEMBERS_MAX);
            let change = Arc::new(CpgConfchg {
                group: group.name,
                members: members.map(|member| listed(*member, REASON_UNDEFINED)).collect(),
                left: left.iter().copied().take(CPG_MEMBERS_MAX).collect(),
                joined: joined.iter().copied().take(CPG_MEMBERS_MAX).collect(),
            });
            for to in &group.listeners {
                outputs.push_back(Output::CpgConfchg { to: *to, change: Arc::clone(&change) });
                if let Some(state) = self.clients.get_mut(*to) {
                    state.transitions += 1;
                }
            }
        }
        self.deliver_initial(outputs);
    }

    /// Clients that asked for the configuration of the ring get it behind the first change of
    /// any group, normally their own join.
    fn deliver_initial(&mut self, outputs: &mut VecDeque<Output>) {
        if self.initial_due == 0 {
            return;
        }
        self.initial_due = 0;
        for (to, state) in self.clients.iter_mut() {
            if std::mem::take(&mut state.initial_due) {
                outputs.push_back(Output::CpgTotemConfchg { to, change: Arc::clone(&self.config) });
            }
        }
    }
}
