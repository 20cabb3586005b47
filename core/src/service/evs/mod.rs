//! Extended virtual synchrony, as corosync up to 1.4 served it.
//!
//! Groups are local: a node does not tell others which ones its clients are in. A message
//! names its groups, and every node gives it once to each client that is in any of them.
//! Every client hears every configuration, transitional and regular, the last one at once
//! when it connects.

pub mod wire;

use std::collections::VecDeque;
use std::sync::Arc;

use super::clients::Clients;
use super::Status;
use crate::ids::{ClientId, EvsGroup, NodeId, RingId};
use crate::input::Payload;
use crate::ipc::request::EVS_JOIN_GROUPS_MAX;
use crate::output::{Output, TotemConfchg};

/// Most groups that one client may be in, counted as often as it joined them. The original
/// has no limit; its messages carry all of them.
pub const CLIENT_GROUPS_MAX: usize = 1024;

/// The service.
#[derive(Debug)]
pub struct Evs {
    me: NodeId,
    /// Groups of each client, in the order of joining.
    clients: Clients<Arc<[EvsGroup]>>,
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
        Evs { me, clients: Clients::default(), config: Arc::new(config), last_groups: None, last_receivers: Vec::new() }
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
        self.clients.remove(client);
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
        self.last_groups = None;
        Ok(())
    }

    /// evs_leave. A group that the client is not in ends it; those before it are left.
    pub fn leave(&mut self, client: ClientId, groups: &[EvsGroup]) -> Result<(), Status> {
        let joined = self.clients.get_mut(client).ok_or(Status::BadHandle)?;
        let mut rest = joined.to_vec();
        let mut result = Ok(());
        for group in groups {
            let Some(at) = rest.iter().position(|other| other == group) else {
                result = Err(Status::NotExist);
                break;
            };
            rest.remove(at);
        }
        *joined = Arc::from(rest);
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
        if self.last_groups.as_deref() == Some(groups) {
            into.extend_from_slice(&self.last_receivers);
        } else {
            let reached = |joined: &[EvsGroup]| joined.iter().any(|group| groups.contains(group));
            into.extend(self.clients.iter().filter(|(_, joined)| reached(joined)).map(|(client, _)| client));
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
        let same = self.last_groups.as_ref().is_some_and(|last| Arc::ptr_eq(last, groups) || **last == **groups);
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
