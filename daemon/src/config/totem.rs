//! The `totem` section but for its timers (`ring`): version, transport, crypto, links, node ids.
//!
//! What is refused is what corosync 3.1.7 refuses (`corosync.conf(5)`).

use std::path::{Path, PathBuf};

use super::check::parse_int;
use super::nodes::{Node, LINKS_MAX};
use super::parse::{Entry, Section};
use super::problem::{Place, Problems, Severity};
use super::ring;
use crate::net::Transport;

/// Bytes that a key file holds at least.
const KEY_MIN: u64 = 128;
/// Key file when none is named.
const KEY_FILE: &str = "/etc/corosync/authkey";
/// Highest node id that the knet transport takes, plus one.
const KNET_ID_END: u32 = 65_536;

/// The transport that the file names, the default when it names none or a wrong one.
pub fn transport(root: &Section) -> Transport {
    match root.last("totem", "transport").map(|entry| entry.value.as_str()) {
        Some("udp") => Transport::Udp,
        Some("udpu") => Transport::Udpu,
        _ => Transport::Knet,
    }
}

/// Checks all of it.
pub fn check(root: &Section, nodes: &[Node], state_dir: &Path, problems: &mut Problems) {
    version(root, problems);
    ring::check(root, nodes.len(), problems);
    crypto(root, state_dir, problems);
    interfaces(root, nodes, problems);
    node_ids(root, nodes, problems);
    for entry in root.all("totem").into_iter().flat_map(|section| &section.entries) {
        if entry.key == "nodeid" {
            problems.warning(&entry.at, "totem.nodeid", "ignored").hint("the node id is set in nodelist { node { } }");
        }
    }
}

/// The line to name when a value of `totem` is missing.
pub fn place(root: &Section) -> Place {
    root.all("totem").first().map_or_else(|| root.at.clone(), |section| section.at.clone())
}

fn version(root: &Section, problems: &mut Problems) {
    match root.last("totem", "version") {
        None => {
            problems.error(&place(root), "totem.version", "missing, it must be 2");
        }
        Some(entry) if parse_int(&entry.value) != Some(2) => {
            problems.error(&entry.at, "totem.version", format!("is {}, only 2 can be read", entry.value));
        }
        Some(_) => {}
    }
}

/// Whether messages are sealed, and the entry that says so.
fn sealed(root: &Section) -> (bool, bool, Option<&Entry>) {
    let secauth = root.last("totem", "secauth");
    let on = secauth.is_some_and(|entry| entry.value == "on");
    let cipher = root.last("totem", "crypto_cipher");
    let hash = root.last("totem", "crypto_hash");
    let has = |entry: Option<&Entry>| entry.map_or(on, |entry| entry.value != "none");
    (has(cipher), has(hash), cipher.or(hash).or(secauth))
}

fn crypto(root: &Section, state_dir: &Path, problems: &mut Problems) {
    let (cipher, hash, entry) = sealed(root);
    let Some(entry) = entry.filter(|_| cipher || hash) else { return };
    if cipher && !hash {
        problems
            .error(&entry.at, "totem.crypto_cipher", "encryption needs a crypto_hash other than none")
            .hint("for example crypto_hash: sha256");
    }
    if transport(root) != Transport::Knet {
        problems.error(&entry.at, "totem.crypto_cipher", "only the knet transport can encrypt or authenticate");
    }
    key_file(root, entry, state_dir, problems);
}

fn key_file(root: &Section, because: &Entry, state_dir: &Path, problems: &mut Problems) {
    let named = root.last("totem", "keyfile").filter(|entry| !entry.value.is_empty());
    if named.is_none() && root.last("totem", "key").is_some() {
        return;
    }
    let (path, at) = match named {
        // The daemon works in its state directory, so that is where relative names start.
        Some(entry) => (state_dir.join(&entry.value), &entry.at),
        None => (PathBuf::from(KEY_FILE), &because.at),
    };
    let trouble = match std::fs::File::open(&path).and_then(|file| file.metadata()) {
        Err(error) => format!("key file {}: {error}", path.display()),
        Ok(data) if !data.is_file() => format!("key file {} is not a file", path.display()),
        Ok(data) if data.len() < KEY_MIN => {
            format!("key file {} holds {} bytes, at least {KEY_MIN} are needed", path.display(), data.len())
        }
        Ok(_) => return,
    };
    problems.error(at, "totem.keyfile", trouble).hint("make one with corosync-keygen and copy it to all nodes");
}

fn interfaces(root: &Section, nodes: &[Node], problems: &mut Problems) {
    let transport = transport(root);
    for section in root.all("totem.interface") {
        let last = |key: &str| section.entries.iter().rfind(|entry| entry.key == key);
        let number = |key: &str| last(key).and_then(|entry| Some((parse_int(&entry.value)?, entry)));
        if let Some((link, entry)) = number("linknumber").filter(|(link, _)| (LINKS_MAX as i64..256).contains(link)) {
            let text = format!("links are numbered 0 to {}, not {link}", LINKS_MAX - 1);
            problems.error(&entry.at, "totem.interface.linknumber", text);
        }
        if let Some((_, entry)) = number("mcastport").filter(|(port, _)| *port == 0) {
            problems.error(&entry.at, "totem.interface.mcastport", "a port between 1 and 65535 is needed, not 0");
        }
        if let Some((ttl, entry)) = number("ttl").filter(|(ttl, _)| *ttl != 1 && transport != Transport::Udp) {
            let text = format!("{ttl} can be set for the udp transport only");
            problems.error(&entry.at, "totem.interface.ttl", text);
        }
        let priority = number("knet_link_priority");
        if let Some((_, entry)) = priority.filter(|(number, _)| *number != 1 && transport != Transport::Knet) {
            let text = "can be set for the knet transport only";
            problems.error(&entry.at, "totem.interface.knet_link_priority", text);
        }
        if let Some(entry) = last("mcastaddr").filter(|_| transport == Transport::Udp) {
            if entry.value.parse::<std::net::IpAddr>().is_ok_and(|address| !address.is_multicast()) {
                let text = format!("{} is not a multicast address", entry.value);
                problems.error(&entry.at, "totem.interface.mcastaddr", text);
            }
        }
        if let Some(entry) = last("bindnetaddr").filter(|_| !nodes.is_empty()) {
            let text = "ignored, the addresses of the nodelist count";
            problems.warning(&entry.at, "totem.interface.bindnetaddr", text);
        }
        for member in &section.sections {
            if member.name() == "member" {
                problems
                    .warning(&member.at, &member.path, "member lists are obsolete and ignored")
                    .hint("list the nodes in nodelist { node { } }");
            }
        }
    }
}

fn node_ids(root: &Section, nodes: &[Node], problems: &mut Problems) {
    let knet = transport(root) == Transport::Knet;
    for node in nodes {
        match &node.id {
            Some((id, at)) if knet && *id >= KNET_ID_END => {
                let text = format!("the knet transport needs ids below {KNET_ID_END}, not {id}");
                problems.error(at, "nodelist.node.nodeid", text);
            }
            Some((0, at)) => {
                problems.error(at, "nodelist.node.nodeid", "0 is no node id");
            }
            None if knet => {
                problems.error(&node.at, "nodelist.node.nodeid", format!("{} has none", node.label()));
            }
            None => {
                problems.add(
                    Severity::Info,
                    Some(&node.at),
                    "nodelist.node.nodeid",
                    format!("{} has none, it follows from the address of link 0", node.label()),
                );
            }
            Some(_) => {}
        }
    }
}
