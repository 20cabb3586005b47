//! Groups across a change of the ring: who was lost, who came, told once per group.
//!
//! While the change is worked off every node tells the processes of its own (joinlist). When
//! all have, everyone draws the same conclusions: processes of nodes that were away are gone
//! (nodedown), what the others told and was not known is new (nodeup), what was known of
//! another node and not told again is gone (procdown). Then the ring's change is told.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::wire::{self, Downlist};
use super::{listed, Cpg, REASON_NODEDOWN, REASON_NODEUP, REASON_PROCDOWN};
use crate::ids::{GroupName, NodeId};
use crate::output::{CpgMember, Output, TotemConfchg};
use crate::service::GroupIndex;

/// A change of the ring that is being worked off.
#[derive(Debug)]
pub(super) struct Change {
    /// Nodes that stayed together through all changes since the last one that was worked off;
    /// `None`: there was no change since.
    together: Option<Vec<NodeId>>,
    /// The configuration that was reached.
    config: Arc<TotemConfchg>,
    /// Processes that nodes told of.
    told: Vec<(NodeId, u32, GroupName)>,
}

impl Change {
    pub fn new(config: Arc<TotemConfchg>) -> Change {
        Change { together: None, config, told: Vec::new() }
    }
}

/// Most entries of one joinlist message: it must stay below the largest message.
const JOINLIST_MAX: usize = 4096;

impl Cpg {
    /// The ring changed. It takes effect when all members are ready for it.
    pub fn on_config(&mut self, change: &Arc<TotemConfchg>) {
        self.change.told.clear();
        if change.transitional {
            let stays = |node: &NodeId| change.members.contains(node);
            self.change.together = Some(match self.change.together.take() {
                Some(together) => together.into_iter().filter(stays).collect(),
                None => change.members.clone(),
            });
        } else {
            self.change.config = Arc::clone(change);
        }
    }

    /// Members before the change that were away.
    fn lost(&self) -> Vec<NodeId> {
        let Some(together) = &self.change.together else { return Vec::new() };
        self.config.members.iter().copied().filter(|node| !together.contains(node)).collect()
    }

    /// What this node tells the others.
    pub fn sync_messages(&self) -> Vec<Vec<u8>> {
        let old_members = u32::try_from(self.config.members.len()).unwrap_or(u32::MAX);
        let mut downlist = Vec::new();
        wire::encode_downlist(&Downlist { old_members, left: self.lost() }, &mut downlist);
        let own: Vec<(u32, GroupName)> = self
            .groups
            .processes()
            .iter()
            .filter(|process| process.node == self.me)
            .map(|process| (process.pid, self.groups.get(process.group).name))
            .collect();
        let joinlists = own.chunks(JOINLIST_MAX).map(|chunk| {
            let mut out = Vec::new();
            wire::encode_joinlist(chunk, &mut out);
            out
        });
        std::iter::once(downlist).chain(joinlists).collect()
    }

    /// Processes of a node, told while the change is worked off.
    pub fn on_joinlist(&mut self, origin: NodeId, list: Vec<(u32, GroupName)>) {
        if origin != self.me {
            self.change.told.extend(list.into_iter().map(|(pid, group)| (origin, pid, group)));
        }
    }

    /// All members have told: the change takes effect.
    pub fn activate(&mut self, outputs: &mut VecDeque<Output>) {
        let lost = self.lost();
        self.change.together = None;
        self.config = Arc::clone(&self.change.config);
        let told = std::mem::take(&mut self.change.told);
        self.remove_nodes(&lost, outputs);
        self.insert_told(&told, outputs);
        self.remove_untold(&told, outputs);
        for (client, state) in self.clients.iter() {
            if !state.finalized {
                outputs.push_back(Output::CpgTotemConfchg { to: client, change: Arc::clone(&self.config) });
            }
        }
    }

    fn remove_nodes(&mut self, down: &[NodeId], outputs: &mut VecDeque<Output>) {
        if down.is_empty() {
            return;
        }
        let mut lost: BTreeMap<_, (GroupIndex, Vec<CpgMember>)> = BTreeMap::new();
        for process in self.groups.processes().iter().filter(|process| down.contains(&process.node)) {
            let name = self.groups.get(process.group).name;
            let left = &mut lost.entry(name).or_insert((process.group, Vec::new())).1;
            left.push(listed((process.node, process.pid), REASON_NODEDOWN));
        }
        for (index, left) in lost.into_values() {
            self.lose(index, &left, outputs);
        }
    }

    fn lose(&mut self, index: GroupIndex, left: &[CpgMember], outputs: &mut VecDeque<Output>) {
        for member in left {
            self.groups.remove(index, member.node, member.pid);
        }
        self.notify(index, &[], left, outputs);
        self.groups.close_if_unused(index);
    }

    fn insert_told(&mut self, told: &[(NodeId, u32, GroupName)], outputs: &mut VecDeque<Output>) {
        let mut fresh: BTreeMap<GroupName, (GroupIndex, Vec<CpgMember>)> = BTreeMap::new();
        for (node, pid, group) in told {
            let index = self.groups.open(group);
            if self.groups.insert(index, *node, *pid) {
                let joined = &mut fresh.entry(*group).or_insert((index, Vec::new())).1;
                joined.push(listed((*node, *pid), REASON_NODEUP));
            }
        }
        for (index, joined) in fresh.into_values() {
            self.notify(index, &joined, &[], outputs);
        }
    }

    fn remove_untold(&mut self, told: &[(NodeId, u32, GroupName)], outputs: &mut VecDeque<Output>) {
        let mut gone = Vec::new();
        for process in self.groups.processes().iter().filter(|process| process.node != self.me) {
            let group = self.groups.get(process.group).name;
            if !told.contains(&(process.node, process.pid, group)) {
                gone.push((process.group, listed((process.node, process.pid), REASON_PROCDOWN)));
            }
        }
        for (index, member) in gone {
            self.lose(index, &[member], outputs);
        }
    }
}
