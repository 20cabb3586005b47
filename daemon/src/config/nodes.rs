//! The `nodelist` section: who the nodes are, and which of them this machine is.

use std::net::IpAddr;

use super::check::{is_address, parse_int};
use super::host::Host;
use super::network::id_of;
use super::parse::Section;
use super::problem::{Place, Problems, Severity};

/// Most links between nodes.
pub const LINKS_MAX: usize = 8;
/// Most nodes (`PROCESSOR_COUNT_MAX`).
pub const NODES_MAX: usize = 384;

/// A node as listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Line that opens its section.
    pub at: Place,
    /// Its id, if one is set, with the line.
    pub id: Option<(u32, Place)>,
    /// Its name, if set.
    pub name: Option<String>,
    /// Its address on each link, with the line.
    pub addresses: [Option<(String, Place)>; LINKS_MAX],
}

impl Node {
    /// How messages call it.
    pub fn label(&self) -> String {
        match (&self.name, &self.id) {
            (Some(name), _) => format!("node \"{name}\""),
            (None, Some((id, _))) => format!("node {id}"),
            (None, None) => format!("the node on line {}", self.at.line),
        }
    }

    /// The id it has on the ring: the one set, or the IPv4 address of link 0 as a number.
    pub fn ring_id(&self, clear_high_bit: bool) -> Option<u32> {
        if let Some((id, _)) = &self.id {
            return Some(*id);
        }
        let (address, _) = self.addresses[0].as_ref()?;
        let IpAddr::V4(address) = address.parse().ok()? else { return None };
        Some(id_of(address, clear_high_bit))
    }
}

/// Reads the list. Sections of nodes are counted from the start of each `nodelist`, so a
/// second list overlays the first, as in the original.
pub fn read(root: &Section, problems: &mut Problems) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    for (n, list) in root.all("nodelist").into_iter().enumerate() {
        if n > 0 {
            problems
                .warning(&list.at, "nodelist", "second list: its nodes replace those of the first one by one")
                .hint("put all nodes into one nodelist");
        }
        for (position, section) in list.sections.iter().filter(|section| section.name() == "node").enumerate() {
            if position == nodes.len() {
                nodes.push(Node { at: section.at.clone(), id: None, name: None, addresses: Default::default() });
            }
            fill(&mut nodes[position], section);
        }
    }
    if nodes.len() > NODES_MAX {
        let text = format!("lists {} nodes, at most {NODES_MAX} form a ring", nodes.len());
        problems.error(&nodes[NODES_MAX].at.clone(), "nodelist", text);
    }
    nodes
}

fn fill(node: &mut Node, section: &Section) {
    for entry in &section.entries {
        let key = entry.key.as_str();
        let link = key.strip_prefix("ring").and_then(|rest| rest.strip_suffix("_addr"));
        match (key, link.and_then(|link| link.parse::<usize>().ok())) {
            ("nodeid", _) => {
                let id = parse_int(&entry.value).and_then(|id| u32::try_from(id).ok());
                node.id = id.map(|id| (id, entry.at.clone()));
            }
            ("name", _) if !entry.value.is_empty() => node.name = Some(entry.value.clone()),
            (_, Some(link)) if link < LINKS_MAX => {
                node.addresses[link] = Some((entry.value.clone(), entry.at.clone()));
            }
            _ => {}
        }
    }
}

/// Checks the list; returns which node this machine is.
pub fn check(nodes: &[Node], host: &Host, problems: &mut Problems) -> Option<usize> {
    for (n, node) in nodes.iter().enumerate() {
        if node.addresses.iter().all(Option::is_none) {
            problems
                .error(&node.at, "nodelist.node", format!("{} has no address on any link", node.label()))
                .hint("add ring0_addr");
        }
        if let Some((id, at)) = &node.id {
            let twin = nodes[..n].iter().find(|other| other.id.as_ref().is_some_and(|(other, _)| other == id));
            if let Some(twin) = twin {
                let text = format!("{} and {} (line {}) both have id {id}", node.label(), twin.label(), twin.at.line);
                problems.error(at, "nodelist.node.nodeid", text);
            }
        }
    }
    links(nodes, problems);
    local(nodes, host, problems)
}

fn links(nodes: &[Node], problems: &mut Problems) {
    let used: Vec<usize> =
        (0..LINKS_MAX).filter(|link| nodes.iter().any(|node| node.addresses[*link].is_some())).collect();
    for node in nodes {
        let has_one = node.addresses.iter().any(Option::is_some);
        for link in used.iter().filter(|link| has_one && node.addresses[**link].is_none()) {
            let text = format!("{} has no address on link {link}, others have", node.label());
            problems.error(&node.at, "nodelist.node", text).hint(format!("add ring{link}_addr"));
        }
        if used.len() > 1 && node.name.is_none() {
            let text = format!("{} needs a name, because there are several links", node.label());
            problems.error(&node.at, "nodelist.node.name", text);
        }
    }
    for link in used {
        let known = |node: &Node| {
            let (text, at) = node.addresses[link].as_ref()?;
            Some((text.parse::<IpAddr>().ok()?, at.clone()))
        };
        let mut addresses = nodes.iter().filter_map(known);
        let Some((first, _)) = addresses.next() else { continue };
        for (address, at) in addresses.filter(|(address, _)| address.is_ipv4() != first.is_ipv4()) {
            let text = format!("link {link} mixes IPv4 and IPv6: {address} here, {first} before");
            problems.error(&at, &format!("nodelist.node.ring{link}_addr"), text);
        }
    }
}

/// Finds this machine: by its host name, by an address, at last by looking names up.
fn local(nodes: &[Node], host: &Host, problems: &mut Problems) -> Option<usize> {
    let same_name = |node: &Node| node.name.as_ref().is_some_and(|name| host.is_called(name));
    let texts = |node: &Node| node.addresses.iter().flatten().map(|(text, _)| text.clone()).collect::<Vec<_>>();
    let by_address =
        |node: &Node| texts(node).iter().any(|text| host.is_called(text) || text.parse().is_ok_and(|a| host.has(a)));
    let found = nodes.iter().position(same_name).or_else(|| nodes.iter().position(by_address));
    if found.is_some() || nodes.is_empty() {
        return found;
    }
    let mut names: Vec<String> =
        nodes.iter().flat_map(texts).chain(nodes.iter().filter_map(|n| n.name.clone())).collect();
    names.retain(|name| name.parse::<IpAddr>().is_err() && is_address(name));
    names.dedup();
    let resolved = host.resolve(&names);
    let by_lookup = |node: &Node| {
        let own = node.name.iter().chain(node.addresses.iter().flatten().map(|(text, _)| text));
        own.flat_map(|name| resolved.get(name)).flatten().any(|address| host.has(*address))
    };
    let found = nodes.iter().position(by_lookup);
    if found.is_none() {
        let unknown = names.iter().filter(|name| !resolved.contains_key(*name)).cloned().collect::<Vec<_>>();
        let problem = problems.add(
            Severity::Error,
            nodes.first().map(|node| &node.at),
            "nodelist",
            format!("no listed node is this machine, which is called {} and has {}", host.name(), host.address_list()),
        );
        if !unknown.is_empty() {
            problem.hint(format!("not resolved within a second: {}", unknown.join(", ")));
        }
    }
    found
}
