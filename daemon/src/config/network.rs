//! The network, for a node that is not alone: from the nodelist and the first `interface`
//! section to what the transport takes.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use evensong_core::ids::NodeId;

use super::check::parse_int;
use super::host::Host;
use super::nodes::Node;
use super::parse::{Entry, Section};
use super::problem::Problems;
use super::{ring, totem};
use crate::net::{IpVersion, NetConfig, Peer, Transport};

/// Port when none is set.
const PORT: u16 = 5405;

/// Gives nodes without an id the one that follows from their address, where that is a name.
pub fn derive_ids(nodes: &mut [Node], clear_high_bit: bool, host: &Host, problems: &mut Problems) {
    let unknown = |node: &Node| {
        let (name, at) = node.addresses[0].clone()?;
        (node.id.is_none() && name.parse::<IpAddr>().is_err()).then_some((name, at))
    };
    let names: Vec<String> = nodes.iter().filter_map(unknown).map(|(name, _)| name).collect();
    let found = host.resolve(&names);
    for node in nodes {
        let Some((name, at)) = unknown(node) else { continue };
        let v4 = |address: &IpAddr| match address {
            IpAddr::V4(address) => Some(*address),
            IpAddr::V6(_) => None,
        };
        match found.get(&name).and_then(|addresses| addresses.iter().find_map(v4)) {
            Some(address) => node.id = Some((id_of(address, clear_high_bit), at)),
            None => {
                let text =
                    format!("{} has no id, and no IPv4 address is known for {name} to make one of", node.label());
                problems.error(&node.at, "nodelist.node.nodeid", text).hint("set nodeid");
            }
        }
    }
}

/// The id that follows from an address.
pub fn id_of(address: Ipv4Addr, clear_high_bit: bool) -> u32 {
    u32::from(address) & if clear_high_bit { 0x7fff_ffff } else { u32::MAX }
}

/// Checks what the transport needs and reads it; `None` for a node that is alone, for knet,
/// and with errors, which have been reported.
pub fn read(
    root: &Section,
    nodes: &[Node],
    local: usize,
    ids: &[NodeId],
    problems: &mut Problems,
) -> Option<NetConfig> {
    let transport = totem::transport(root);
    if nodes.len() < 2 || transport == Transport::Knet {
        return None;
    }
    let host = |node: &Node| node.addresses[0].as_ref().map(|(host, _)| host.clone());
    for node in nodes.iter().filter(|node| host(node).is_none()) {
        let text = format!("{} has no ring0_addr: udp and udpu use link 0", node.label());
        problems.error(&node.at, "nodelist.node.ring0_addr", text);
    }
    for (_, at) in nodes.iter().flat_map(|node| node.addresses[1..].iter().flatten()) {
        problems
            .error(at, "nodelist.node", "a second link is for the knet transport only")
            .hint("keep ring0_addr alone");
    }
    let own = host(&nodes[local])?;
    let peers = nodes.iter().zip(ids).enumerate().filter(|(n, _)| *n != local);
    let peers = peers.filter_map(|(_, (node, id))| Some(Peer { node: *id, host: host(node)? }));
    let interface = |key: &str| interface(root, key);
    let number = |key: &str| interface(key).and_then(|entry| parse_int(&entry.value));
    let totem = |key: &str| root.last("totem", key).map(|entry| entry.value.as_str());
    let config = NetConfig {
        transport,
        own,
        peers: peers.collect(),
        port: number("mcastport").and_then(|port| u16::try_from(port).ok()).unwrap_or(PORT),
        group: interface("mcastaddr").and_then(|entry| entry.value.parse().ok()),
        cluster_name: totem("cluster_name").unwrap_or_default().to_owned(),
        ttl: number("ttl").and_then(|ttl| u8::try_from(ttl).ok()).unwrap_or(1),
        broadcast: interface("broadcast").is_some_and(|entry| entry.value == "yes"),
        // The original's udp hears everybody whatever is set; ours does unless told not to.
        block_unlisted: totem("block_unlisted_ips").map_or(transport == Transport::Udpu, |value| value != "no"),
        ip_version: match totem("ip_version") {
            Some("ipv4") => IpVersion::V4,
            Some("ipv6") => IpVersion::V6,
            Some("ipv4-6") => IpVersion::V4First,
            Some("ipv6-4") => IpVersion::V6First,
            _ if transport == Transport::Udp => IpVersion::V4,
            _ => IpVersion::V6First,
        },
        downcheck: Duration::from_millis(u64::from(ring::downcheck(root))),
        offload: root.last("evensong", "offload").is_none_or(|entry| entry.value != "no"),
    };
    if transport == Transport::Udp {
        multicast(root, &config, problems);
    }
    Some(config)
}

/// The last value for link 0 of a key in the `interface` sections.
fn interface<'a>(root: &'a Section, key: &str) -> Option<&'a Entry> {
    let last = |section: &'a Section, key: &str| section.entries.iter().rfind(|entry| entry.key == key);
    let first_link = |section: &&Section| {
        let entry = section.entries.iter().rfind(|entry| entry.key == "linknumber");
        entry.is_none_or(|entry| parse_int(&entry.value) == Some(0))
    };
    root.all("totem.interface").into_iter().filter(first_link).filter_map(|section| last(section, key)).next_back()
}

fn multicast(root: &Section, config: &NetConfig, problems: &mut Problems) {
    let group = interface(root, "mcastaddr");
    let own = config.own.parse::<IpAddr>().ok();
    if let Some(entry) = interface(root, "broadcast").filter(|_| config.broadcast) {
        if own.is_some_and(|own| own.is_ipv6()) {
            let text = "there is no broadcast with IPv6, and the addresses of the nodelist are IPv6";
            problems.error(&entry.at, "totem.interface.broadcast", text);
        }
        if let Some(group) = group {
            problems.error(&group.at, "totem.interface.mcastaddr", "has no meaning together with broadcast");
        }
        return;
    }
    match (group, config.group) {
        (Some(entry), None) => {
            let text = format!("{} is not an address", entry.value);
            problems.error(&entry.at, "totem.interface.mcastaddr", text);
        }
        (Some(entry), Some(group)) if own.is_some_and(|own| own.is_ipv4() != group.is_ipv4()) => {
            let text = format!("{group} does not go with the address of this node, {}", config.own);
            problems.error(&entry.at, "totem.interface.mcastaddr", text);
        }
        (None, _) if config.cluster_name.is_empty() => {
            problems
                .error(&totem::place(root), "totem.cluster_name", "missing: the multicast address follows from it")
                .hint("set cluster_name, or mcastaddr in interface { }");
        }
        _ => {}
    }
    if interface(root, "mcastport").is_some_and(|entry| parse_int(&entry.value) == Some(1)) {
        let text = "1: the port below, which udp sends from, cannot be used";
        problems.error(&totem::place(root), "totem.interface.mcastport", text);
    }
}
