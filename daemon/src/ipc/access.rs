//! Who may connect: root, the daemon's own user, and what `uidgid` adds, at start or later.

use std::collections::BTreeSet;

use nix::unistd::{geteuid, Gid, Uid};

/// The users and groups that are let in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Additional users.
    pub users: BTreeSet<u32>,
    /// Additional groups.
    pub groups: BTreeSet<u32>,
}

impl Access {
    /// Whether a peer with these credentials may connect.
    pub fn allows(&self, user: u32, group: u32) -> bool {
        Uid::from_raw(user).is_root()
            || Gid::from_raw(group).as_raw() == 0
            || user == geteuid().as_raw()
            || self.users.contains(&user)
            || self.groups.contains(&group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_need_an_entry() {
        let mut access = Access::default();
        assert!(access.allows(0, 5) && access.allows(geteuid().as_raw(), 77));
        assert!(!access.allows(4_000_000_001, 4_000_000_001));
        access.groups.insert(4_000_000_001);
        assert!(access.allows(4_000_000_002, 4_000_000_001));
        access.users.insert(4_000_000_003);
        assert!(access.allows(4_000_000_003, 9));
    }
}
