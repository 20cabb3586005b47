//! Which clients are in which groups: so that a message, or a list of thousands of groups,
//! costs a look for each of its groups, whatever the clients have joined.

use std::collections::BTreeMap;

use crate::ids::{ClientId, EvsGroup};

/// Receivers are put in order whenever so many more have come together, so that many groups with
/// many clients take no more memory than that.
const SETTLE_EVERY: usize = 4096;

/// A client in a group, and how often it joined it.
#[derive(Debug)]
struct Member {
    client: ClientId,
    times: usize,
}

/// All groups that any client is in.
#[derive(Debug, Default)]
pub struct Index(BTreeMap<EvsGroup, Vec<Member>>);

impl Index {
    /// A client joins a group, perhaps once more.
    pub fn add(&mut self, group: EvsGroup, client: ClientId) {
        let members = self.0.entry(group).or_default();
        match members.binary_search_by_key(&client, |member| member.client) {
            Ok(at) => members[at].times += 1,
            Err(at) => members.insert(at, Member { client, times: 1 }),
        }
    }

    /// A client leaves a group, as often as it joined it; false when it was not in it.
    pub fn remove(&mut self, group: &EvsGroup, client: ClientId) -> bool {
        let Some(members) = self.0.get_mut(group) else { return false };
        let Ok(at) = members.binary_search_by_key(&client, |member| member.client) else { return false };
        members[at].times -= 1;
        if members[at].times == 0 {
            members.remove(at);
        }
        if members.is_empty() {
            self.0.remove(group);
        }
        true
    }

    /// Adds the clients that are in any of the groups, each once, sorted.
    pub fn members(&self, groups: &[EvsGroup], into: &mut Vec<ClientId>) {
        let start = into.len();
        let mut settled = start;
        for group in groups {
            into.extend(self.0.get(group).into_iter().flatten().map(|member| member.client));
            if into.len() - settled > SETTLE_EVERY {
                settle(into, start);
                settled = into.len();
            }
        }
        if groups.len() > 1 {
            settle(into, start);
        }
    }
}

/// Sorts what stands behind `start` and drops what is there twice.
fn settle(clients: &mut Vec<ClientId>, start: usize) {
    clients[start..].sort_unstable();
    let mut last = None;
    let mut at = 0;
    clients.retain(|client| {
        at += 1;
        at <= start || last.replace(*client) != Some(*client)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(key: u16) -> EvsGroup {
        let mut group = EvsGroup([0; 32]);
        group.0[..2].copy_from_slice(&key.to_be_bytes());
        group
    }

    #[test]
    fn members_of_many_groups_come_once_and_in_order() {
        let mut index = Index::default();
        for client in (0..50).rev() {
            for key in 0..500 {
                index.add(group(key), ClientId(client));
            }
        }
        let groups: Vec<EvsGroup> = (0..1000).map(group).collect();
        let mut found = vec![ClientId(7)];
        index.members(&groups, &mut found);
        let expected: Vec<ClientId> = [7].into_iter().chain(0..50).map(ClientId).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn joined_twice_is_left_twice() {
        let mut index = Index::default();
        index.add(group(1), ClientId(3));
        index.add(group(1), ClientId(3));
        assert!(index.remove(&group(1), ClientId(3)) && !index.remove(&group(1), ClientId(4)));
        let mut found = Vec::new();
        index.members(&[group(1)], &mut found);
        assert_eq!(found, [ClientId(3)]);
        assert!(index.remove(&group(1), ClientId(3)) && !index.remove(&group(1), ClientId(3)));
        assert!(index.0.is_empty());
    }
}
