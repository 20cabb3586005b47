//! Iterations over groups: a copy of what was there at the start, stepped through later.
//!
//! Order and stepping are the original's: a group seen for the first time goes to the front;
//! within a group the first process stays first and each later one goes right behind it.
//! The step after the last answers `NO_SECTIONS`, and the one after that begins anew.

use super::groups::Groups;
use crate::ids::{GroupName, NodeId};
use crate::input::IterationKind;

/// One thing an iteration shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Group.
    pub group: GroupName,
    /// Node, 0 when only names are wanted.
    pub node: NodeId,
    /// Process, 0 when only names are wanted.
    pub pid: u32,
}

/// An iteration under way.
#[derive(Debug)]
pub struct Iteration {
    items: Vec<Item>,
    /// Items shown in this round; one more than there are: the end was shown.
    shown: usize,
}

impl Iteration {
    /// Copies what `kind` asks for.
    pub fn start(groups: &Groups, kind: IterationKind, group: &GroupName) -> Iteration {
        let only = groups.find(group);
        let mut items: Vec<Item> = Vec::new();
        for process in groups.processes() {
            let name = groups.get(process.group).name;
            let first = items.iter().position(|item| item.group == name);
            let item = match kind {
                IterationKind::NameOnly if first.is_some() => continue,
                IterationKind::NameOnly => Item { group: name, node: NodeId(0), pid: 0 },
                IterationKind::OneGroup if only != Some(process.group) => continue,
                IterationKind::OneGroup | IterationKind::All => {
                    Item { group: name, node: process.node, pid: process.pid }
                }
            };
            items.insert(first.map_or(0, |at| at + 1), item);
        }
        Iteration { items, shown: 0 }
    }

    /// The next item; `None` at the end.
    pub fn step(&mut self) -> Option<Item> {
        let item = self.items.get(self.shown).copied();
        self.shown = if item.is_some() { self.shown + 1 } else { 0 };
        item
    }
}
