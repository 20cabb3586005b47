//! Groups and the processes in them, as every node knows them alike, and which local clients
//! listen.
//!
//! A group has a fixed place in a table while anyone uses it, so that a message needs no
//! search by name. All processes also stand in one list, sorted by node and pid: iterations go
//! through it in that order.

use std::collections::BTreeMap;

use crate::ids::{ClientId, GroupName, NodeId};
use crate::service::GroupIndex;

/// A process group.
#[derive(Debug)]
pub struct Group {
    /// Its name.
    pub name: GroupName,
    /// Its processes (node, pid), sorted.
    pub members: Vec<(NodeId, u32)>,
    /// Local clients that belong to it in whatever state.
    pub attached: Vec<ClientId>,
    /// Those of them that get its messages.
    pub listeners: Vec<ClientId>,
}

impl Group {
    /// Whether any process of the node is a member.
    #[inline]
    pub fn has_node(&self, node: NodeId) -> bool {
        let at = self.members.partition_point(|member| member.0 < node);
        self.members.get(at).is_some_and(|member| member.0 == node)
    }

    /// Whether this process is a member.
    pub fn has(&self, node: NodeId, pid: u32) -> bool {
        self.members.binary_search(&(node, pid)).is_ok()
    }
}

/// One process of one group.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    /// Its node.
    pub node: NodeId,
    /// Its process id.
    pub pid: u32,
    /// Its group.
    pub group: GroupIndex,
}

/// All groups.
#[derive(Debug, Default)]
pub struct Groups {
    by_name: BTreeMap<GroupName, GroupIndex>,
    table: Vec<Group>,
    unused: Vec<GroupIndex>,
    /// Sorted by node and pid; of several groups of one process in the order of joining.
    processes: Vec<Process>,
}

impl Groups {
    /// The group at a place.
    #[inline]
    pub fn get(&self, index: GroupIndex) -> &Group {
        &self.table[index.0 as usize]
    }

    /// The group at a place.
    pub fn get_mut(&mut self, index: GroupIndex) -> &mut Group {
        &mut self.table[index.0 as usize]
    }

    /// The place of a group in use.
    pub fn find(&self, name: &GroupName) -> Option<GroupIndex> {
        self.by_name.get(name).copied()
    }

    /// All processes of all groups.
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// The place of a group, made if there is none. Whoever opens it must attach a client or
    /// insert a process.
    pub fn open(&mut self, name: &GroupName) -> GroupIndex {
        if let Some(index) = self.find(name) {
            return index;
        }
        let group = Group { name: *name, members: Vec::new(), attached: Vec::new(), listeners: Vec::new() };
        let index = if let Some(index) = self.unused.pop() {
            self.table[index.0 as usize] = group;
            index
        } else {
            self.table.push(group);
            GroupIndex(u32::try_from(self.table.len() - 1).expect("each group has a client or a process"))
        };
        self.by_name.insert(*name, index);
        index
    }

    /// Frees the place of a group that nobody uses any more.
    pub fn close_if_unused(&mut self, index: GroupIndex) {
        let group = self.get(index);
        if group.members.is_empty() && group.attached.is_empty() {
            let name = group.name;
            self.by_name.remove(&name);
            self.unused.push(index);
        }
    }

    /// Adds a process; false if it is in the group already.
    pub fn insert(&mut self, index: GroupIndex, node: NodeId, pid: u32) -> bool {
        let members = &mut self.get_mut(index).members;
        let Err(at) = members.binary_search(&(node, pid)) else { return false };
        members.insert(at, (node, pid));
        let at = self.processes.partition_point(|process| (process.node, process.pid) <= (node, pid));
        self.processes.insert(at, Process { node, pid, group: index });
        true
    }

    /// Takes a process out of a group.
    pub fn remove(&mut self, index: GroupIndex, node: NodeId, pid: u32) {
        let members = &mut self.get_mut(index).members;
        let Ok(at) = members.binary_search(&(node, pid)) else { return };
        members.remove(at);
        let same = |process: &Process| process.group == index && process.node == node && process.pid == pid;
        self.processes.retain(|process| !same(process));
    }

    /// Adds a local client to a group.
    pub fn attach(&mut self, index: GroupIndex, client: ClientId) {
        self.get_mut(index).attached.push(client);
    }

    /// Takes a local client out of a group.
    pub fn detach(&mut self, index: GroupIndex, client: ClientId) {
        let group = self.get_mut(index);
        group.attached.retain(|other| *other != client);
        group.listeners.retain(|other| *other != client);
        self.close_if_unused(index);
    }
}
