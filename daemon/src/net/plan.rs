//! What the transport needs to know, as the configuration says it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use evensong_core::ids::NodeId;

/// How nodes talk to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// Kronosnet.
    #[default]
    Knet,
    /// Multicast.
    Udp,
    /// Unicast to a list of members.
    Udpu,
}

/// Which of a name's addresses counts (`totem.ip_version`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IpVersion {
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
    /// IPv4, or else IPv6.
    V4First,
    /// IPv6, or else IPv4.
    #[default]
    V6First,
}

impl IpVersion {
    /// The address that counts of those that a name has.
    pub fn choose(self, addresses: &[IpAddr]) -> Option<IpAddr> {
        let v4 = || addresses.iter().find(|address| address.is_ipv4()).copied();
        let v6 = || addresses.iter().find(|address| address.is_ipv6()).copied();
        match self {
            IpVersion::V4 => v4(),
            IpVersion::V6 => v6(),
            IpVersion::V4First => v4().or_else(v6),
            IpVersion::V6First => v6().or_else(v4),
        }
    }
}

/// Another node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its id.
    pub node: NodeId,
    /// Its address or name on link 0.
    pub host: String,
}

/// All about the network that the file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetConfig {
    /// The transport; knet is not one that this module knows.
    pub transport: Transport,
    /// Address or name of this node on link 0.
    pub own: String,
    /// The other nodes.
    pub peers: Vec<Peer>,
    /// UDP port; `udp` sends from the one below.
    pub port: u16,
    /// Multicast group, if set; otherwise it follows from the cluster's name.
    pub group: Option<IpAddr>,
    /// Name of the cluster.
    pub cluster_name: String,
    /// How far multicasts go.
    pub ttl: u8,
    /// Broadcast instead of multicast.
    pub broadcast: bool,
    /// Whether packets from addresses of no listed node are dropped.
    pub block_unlisted: bool,
    /// Which of a name's addresses counts.
    pub ip_version: IpVersion,
    /// How often an address that is missing is looked for.
    pub downcheck: Duration,
    /// Whether runs of frames may be cut by the kernel, and arrive merged.
    pub offload: bool,
}

impl NetConfig {
    /// Where multicasts go, for nodes with addresses of `own`'s family; `None`: nowhere, there
    /// is no broadcast with IPv6.
    pub fn group(&self, own: IpAddr) -> Option<IpAddr> {
        if self.broadcast {
            return own.is_ipv4().then_some(IpAddr::V4(Ipv4Addr::BROADCAST));
        }
        Some(self.group.unwrap_or_else(|| derived_group(&self.cluster_name, own.is_ipv4())))
    }
}

/// The group that the original derives from the cluster's name: a 16-bit hash over its bytes
/// as signed characters. The last byte of the IPv4 form is a remainder of 255, not 256.
fn derived_group(name: &str, v4: bool) -> IpAddr {
    let add = |hash: i32, byte: &u8| hash.wrapping_shl(1).wrapping_add(i32::from(*byte as i8));
    let hash = name.as_bytes().iter().fold(0, add) as u16;
    if v4 {
        return IpAddr::V4(Ipv4Addr::new(239, 192, (hash >> 8) as u8, (hash % 255) as u8));
    }
    IpAddr::V6(Ipv6Addr::new(0xff15, 0, 0, 0, 0, 0, 0, hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_the_originals() {
        assert_eq!(derived_group("lab", true), IpAddr::from([239, 192, 2, 214]));
        assert_eq!(derived_group("lab", false).to_string(), "ff15::2d4");
        // Bytes beyond 127 count as negative.
        assert_eq!(derived_group("\u{e9}", true), derived_group("\u{e9}", true));
    }

    #[test]
    fn the_version_chooses() {
        let both = [IpAddr::from([10, 0, 0, 1]), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        assert_eq!(IpVersion::V6First.choose(&both), Some(both[1]));
        assert_eq!(IpVersion::V4First.choose(&both), Some(both[0]));
        assert_eq!(IpVersion::V6.choose(&both[..1]), None);
        assert_eq!(IpVersion::V6First.choose(&both[..1]), Some(both[0]));
    }
}
