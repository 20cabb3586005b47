//! A change of the ring, worked off: the synchronization's steps, and what nodes say about
//! themselves in it (version of their configuration, what they can do).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Node;
use crate::ids::{NodeId, RingId};
use crate::output::{LogEvent, LogLevel, Output, TotemConfchg};
use crate::service::capability::{self, Capability};
use crate::service::cmap::wire::{self as cmap, ConfigVersion, Reason};
use crate::service::cpg;
use crate::service::cpg::wire::Exec;
use crate::service::sync_wire::SyncMessage;
use crate::service::wire::Incoming;
use crate::sync::Step;
use crate::wire::cursor::{DecodeError, Order};

/// Services of this node that take part in the synchronization.
const SERVICES: [u32; 3] = [cmap::SERVICE, cpg::wire::SERVICE, capability::SERVICE];

/// What the nodes of a ring said about themselves.
#[derive(Debug, Default)]
pub(super) struct Peers {
    /// The ring of the last regular configuration.
    ring: RingId,
    /// Whether this node came to it together with others, or from a ring of its own.
    came_from_ring: bool,
    /// Highest version of a configuration, this node's own included.
    highest_version: u64,
    /// Whether versions were compared once.
    compared: bool,
    /// What the members can do.
    capabilities: BTreeMap<NodeId, Capability>,
}

impl Node {
    pub(super) fn on_config(&mut self, change: &Arc<TotemConfchg>) {
        self.cpg.on_config(change);
        self.evs.on_config(change, &mut self.outputs);
        if change.transitional {
            self.sync.abort();
            self.peers.came_from_ring = !change.members.is_empty();
            return;
        }
        self.peers.ring = change.ring;
        self.peers.highest_version = self.config.config_version;
        self.peers.capabilities.clear();
        let steps = self.sync.start(change.ring, &change.members, &SERVICES);
        self.take_steps(steps);
    }

    fn take_steps(&mut self, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::Send(message) => {
                    let mut out = Vec::new();
                    message.encode(&mut out);
                    self.send_change(&out);
                }
                Step::Process(service) => self.process(service),
                Step::Activate(cmap::SERVICE) => self.compare_versions(),
                Step::Activate(cpg::wire::SERVICE) => self.cpg.activate(&mut self.outputs),
                Step::Activate(capability::SERVICE) => self.use_capabilities(),
                Step::Activate(_) => {}
                Step::Done => self.ring.sync_done(),
            }
        }
    }

    fn send_change(&mut self, message: &[u8]) {
        self.ring.mcast_change(&[message], self.now, &mut self.outputs);
    }

    fn process(&mut self, service: u32) {
        let mut out = Vec::new();
        match service {
            cmap::SERVICE => {
                let version = Some(self.config.config_version).filter(|version| *version != 0);
                ConfigVersion { reason: Reason::Sync, version }.encode(&mut out);
            }
            cpg::wire::SERVICE => {
                for message in self.cpg.sync_messages() {
                    self.send_change(&message);
                }
            }
            capability::SERVICE => {
                let (window, max_messages) = self.config.totem.wide.unwrap_or_default();
                let version = capability::VERSION;
                Capability { version, flags: 0, ring: self.peers.ring, window, max_messages }.encode(&mut out);
            }
            _ => {}
        }
        if !out.is_empty() {
            self.send_change(&out);
        }
    }

    /// A message of the synchronization's own group.
    pub(super) fn on_sync_message(&mut self, origin: NodeId, message: &SyncMessage) {
        let steps = self.sync.take(origin, message);
        self.take_steps(steps);
    }

    /// Messages that only belong to a change; false for others.
    pub(super) fn take_change(
        &mut self,
        origin: NodeId,
        incoming: &Incoming<'_>,
        order: Order,
    ) -> Result<bool, DecodeError> {
        let Incoming { service, function, bytes, .. } = *incoming;
        match service {
            cmap::SERVICE => {
                if let Some(told) = ConfigVersion::decode(function, bytes, order)? {
                    self.peers.highest_version = self.peers.highest_version.max(told.version.unwrap_or(0));
                }
                Ok(true)
            }
            capability::SERVICE if function == capability::ANNOUNCE => {
                if let Some(told) = Capability::decode(function, bytes, order)? {
                    if told.ring == self.peers.ring {
                        self.peers.capabilities.insert(origin, told);
                    }
                }
                Ok(true)
            }
            cpg::wire::SERVICE => match cpg::wire::decode(function, bytes, order)? {
                Some(Exec::Joinlist(list)) => {
                    self.cpg.on_joinlist(origin, list);
                    Ok(true)
                }
                Some(Exec::Downlist(_)) => Ok(true),
                _ => Ok(false),
            },
            _ => Ok(false),
        }
    }

    /// A node with another version than a cluster that it comes to must not stay: it has an
    /// old file. Only once in its life, as in the original, and never without a version.
    fn compare_versions(&mut self) {
        let own = self.config.config_version;
        if !self.peers.came_from_ring || std::mem::replace(&mut self.peers.compared, true) {
            return;
        }
        if own != 0 && self.peers.highest_version != own {
            let text = format!(
                "Received config version ({}) is different than my config version ({own})! Exiting",
                self.peers.highest_version
            );
            self.outputs.push_back(Output::Log(Box::new(LogEvent { level: LogLevel::Error, subsystem: "MAIN", text })));
            self.outputs.push_back(Output::Shutdown { reason: "config_version differs from the cluster's" });
        }
    }

    /// What is possible when every member of this very ring is one of ours; more frames at a
    /// time, if all said that they take them.
    fn use_capabilities(&mut self) {
        let told = &self.peers.capabilities;
        if self.ring.members().iter().all(|node| told.contains_key(node)) {
            self.ring.restart_message();
        }
        let members = self.ring.members();
        let takes = |node: &NodeId| told.get(node).filter(|told| told.window > 0 && told.max_messages > 0);
        let all: Option<Vec<&Capability>> = members.iter().map(takes).collect();
        if let Some(all) = all.filter(|all| !all.is_empty()) {
            let window = all.iter().map(|told| told.window).min().unwrap_or(0);
            let most = all.iter().map(|told| told.max_messages).min().unwrap_or(0);
            self.ring.set_wide(window, most);
        }
    }
}
