//! Identities: nodes, rings, links, local clients, groups.

/// A node's id as configured (`nodeid`), never 0 on a ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// Identity of one membership epoch: the representative (lowest node id) and an ever-growing
/// number, 4 apart between rings as in the original.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RingId {
    /// Node id of the representative.
    pub rep: NodeId,
    /// Sequence number of the ring.
    pub seq: u64,
}

/// A local connection, numbered by the daemon; a number is not reused while outputs for it
/// may be pending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u32);

/// A network link, 0 to 7 as in `corosync.conf`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u8);

/// Longest name of a process group, in bytes (`CPG_MAX_NAME_LENGTH`).
pub const GROUP_NAME_MAX: usize = 128;

/// Name of a process group: a length and that many bytes, not text, not NUL-ended.
/// Bytes beyond the length do not take part in comparisons.
#[derive(Clone, Copy)]
pub struct GroupName {
    len: u8,
    value: [u8; GROUP_NAME_MAX],
}

impl GroupName {
    /// Builds a name; `None` when `bytes` is longer than [`GROUP_NAME_MAX`].
    pub fn new(bytes: &[u8]) -> Option<GroupName> {
        let mut value = [0; GROUP_NAME_MAX];
        value.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(GroupName { len: bytes.len() as u8, value })
    }

    /// The name's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.value[..usize::from(self.len)]
    }
}

impl PartialEq for GroupName {
    fn eq(&self, other: &GroupName) -> bool {
        self.bytes() == other.bytes()
    }
}
impl Eq for GroupName {}
impl PartialOrd for GroupName {
    fn partial_cmp(&self, other: &GroupName) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for GroupName {
    fn cmp(&self, other: &GroupName) -> std::cmp::Ordering {
        self.bytes().cmp(other.bytes())
    }
}
impl std::fmt::Debug for GroupName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GroupName(\"{}\")", self.bytes().escape_ascii())
    }
}

/// Key of an evs group: 32 bytes, compared as such.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EvsGroup(pub [u8; 32]);
