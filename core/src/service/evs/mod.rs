//! Extended virtual synchrony, as corosync up to 1.4 served it.
//!
//! Groups are local: a node does not tell others which ones its clients are in. A message
//! names its groups, and every node gives it once to each client that is in any of them.
//! Every client hears every configuration, transitional and regular, the last one at once
//! when it connects.

mod index;
pub mod wire;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use self::index::Index;
use super::clients::Clients;
use super::Status;
use crate::ids::{ClientId, EvsGroup, NodeId, RingId};
use crate::input::Payload;
use crate::ipc::request::{EVS_JOIN_GROUPS_MAX, EVS_MCAST_GROUPS_MAX};
use crate::output::{Output, TotemConfchg};

/// Most groups that one client may be in, counted as often as it joined them. The original
/// has no limit, but its messages carry all of them and have to fit.
pub const CLIENT_GROUPS_MAX: usize = EVS_MCAST_GROUPS_MAX;

/// The service.
#[derive(Debug)]
pub struct Evs {
    me: NodeId,
    /// Groups of each client, in the order of joining.
    clients: Clients<Arc<[EvsGroup]>>,
    /// The same, by group.
    index: Index,
    config: Arc<TotemConfchg>,
    /// Groups of the last message and who got it: most messages go where the last one went.
    last_groups: Option<Arc<[EvsGroup]>>,
    last_receivers: Vec<ClientId>,
}

impl Evs {
    /// The service on node `me`.
    pub fn new(me: NodeId) -> Evs {
        let config = TotemConfchg {
            transitional: false,
            ring: RingId::default(),
            members: Vec::new(),
            left: Vec::new(),
            joined: Vec::new(),
        };
        Evs {
            me,
            clients: Clients::default(),
            index: Index::default(),
            config: Arc::new(config),
            last_groups: None,
            last_receivers: Vec::new(),
        }
    }

    /// A client connected.
    pub fn connect(&mut self, client: ClientId, outputs: &mut VecDeque<Output>) {
        if self.clients.insert(client, Arc::from([])) {
            self.last_groups = None;
            outputs.push_back(Output::EvsConfchg { to: client, change: Arc::clone(&self.config) });
        }
    }

    /// A client is gone.
    pub fn disconnect(&mut self, client: ClientId) {
        for group in self.clients.remove(client).iter().flat_map(|joined| joined.iter()) {
            self.index.remove(group, client);
        }
        self.last_groups = None;
    }

    /// evs_join.
    pub fn join(&mut self, client: ClientId, groups: &[EvsGroup]) -> Result<(), Status> {
        let joined = self.clients.get_mut(client).ok_or(Status::BadHandle)?;
        if groups.len() > EVS_JOIN_GROUPS_MAX {
            return Err(Status::TooManyGroups);
        }
        if joined.len() + groups.len() > CLIENT_GROUPS_MAX {
            return Err(Status::NoResources);
        }
        *joined = joined.iter().chain(groups).copied().collect();
        for group in groups {
            self.index.add(*group, client);
        }
        self.last_groups = None;
        Ok(())
    }

    /// evs_leave. A group that the client is not in ends it; those before it are left.
    pub fn leave(&mut self, client: ClientId, groups: &[EvsGroup]) -> Result<(), Status> {
        let joined = self.clients.get_mut(client).ok_or(Status::BadHandle)?;
        let mut result = Ok(());
        let mut left: BTreeMap<EvsGroup, usize> = BTreeMap::new();
        for group in groups {
            if !self.index.remove(group, client) {
                result = Err(Status::NotExist);
                break;
            }
            *left.entry(*group).or_default() += 1;
        }
        let stays = |group: &&EvsGroup| match left.get_mut(*group) {
            Some(times) if *times > 0 => {
                *times -= 1;
                false
            }
            _ => true,
        };
        *joined = joined.iter().filter(stays).copied().collect();
        self.last_groups = None;
        result
    }

    /// Groups that a client is in.
    #[inline]
    pub fn groups(&self, client: ClientId) -> Result<&Arc<[EvsGroup]>, Status> {
        self.clients.get(client).ok_or(Status::BadHandle)
    }

    /// evs_membership_get.
    pub fn membership(&self, client: ClientId) -> Result<(NodeId, Vec<NodeId>), Status> {
        self.groups(client)?;
        Ok((self.me, self.config.members.clone()))
    }

    /// Adds the clients that a message to `groups` reaches.
    pub fn receivers(&self, groups: &[EvsGroup], into: &mut Vec<ClientId>) {
        if self.last_groups.as_deref().is_some_and(|last| is_same(last, groups)) {
            into.extend_from_slice(&self.last_receivers);
        } else {
            self.index.members(groups, into);
        }
    }

    /// A message.
    pub fn on_mcast(
        &mut self,
        origin: NodeId,
        groups: &Arc<[EvsGroup]>,
        payload: Payload,
        outputs: &mut VecDeque<Output>,
    ) {
        let same = self.last_groups.as_ref().is_some_and(|last| is_same(last, groups));
        if !same {
            let mut receivers = std::mem::take(&mut self.last_receivers);
            receivers.clear();
            self.last_groups = None;
            self.receivers(groups, &mut receivers);
            self.last_receivers = receivers;
            self.last_groups = Some(Arc::clone(groups));
        }
        for to in &self.last_receivers {
            outputs.push_back(Output::EvsDeliver { to: *to, node: origin, payload });
        }
    }

    /// The ring changed.
    pub fn on_config(&mut self, change: &Arc<TotemConfchg>, outputs: &mut VecDeque<Output>) {
        self.config = Arc::clone(change);
        for (to, _) in self.clients.iter() {
            outputs.push_back(Output::EvsConfchg { to, change: Arc::clone(change) });
        }
    }
}

/// Whether two lists are the same; looked at only when they are not one list in memory.
fn is_same(one: &[EvsGroup], other: &[EvsGroup]) -> bool {
    std::ptr::eq(one, other) || one == other
}

#[cfg(test)]
mod tests;
