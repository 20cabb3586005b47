//! From one ring to the next: the two configuration changes that every member sees.
//!
//! Extended virtual synchrony shows a change of membership as two steps. The transitional
//! configuration has those who come from the same ring as this node; who is not among them
//! has left. The regular one has all members of the new ring. A node that was away between the two rings (restarted,
//! or in another partition meanwhile) is in both lists of the same change. Both carry the new
//! ring's id.

use crate::ids::{NodeId, RingId};
use crate::output::TotemConfchg;

/// Transitional and regular change from `old` members to `new` ones, of whom `together` come
/// from the same ring as this node. All lists are sorted.
pub fn changes(ring: RingId, old: &[NodeId], together: &[NodeId], new: &[NodeId]) -> [TotemConfchg; 2] {
    let without = |nodes: &[NodeId]| nodes.iter().copied().filter(|node| !together.contains(node)).collect();
    let transitional =
        TotemConfchg { transitional: true, ring, members: together.to_vec(), left: without(old), joined: Vec::new() };
    let regular =
        TotemConfchg { transitional: false, ring, members: new.to_vec(), left: Vec::new(), joined: without(new) };
    [transitional, regular]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_came_and_went() {
        let nodes = |ids: &[u32]| ids.iter().copied().map(NodeId).collect::<Vec<_>>();
        let ring = RingId { rep: NodeId(1), seq: 12 };
        let [transitional, regular] = changes(ring, &nodes(&[1, 2, 3]), &nodes(&[1, 2]), &nodes(&[1, 2, 3, 4]));
        assert_eq!((transitional.members, transitional.left), (nodes(&[1, 2]), nodes(&[3])));
        assert_eq!(transitional.joined, []);
        assert_eq!((regular.members, regular.joined), (nodes(&[1, 2, 3, 4]), nodes(&[3, 4])));
        assert_eq!(regular.left, []);
        let [transitional, regular] = changes(ring, &[], &[], &nodes(&[1]));
        assert!(transitional.members.is_empty() && transitional.left.is_empty());
        assert_eq!(regular.joined, nodes(&[1]));
    }
}
