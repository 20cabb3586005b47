//! The `totem` section: relations between its timeouts, transport, crypto, links.
//!
//! Defaults, minimums and relations are those of corosync 3.1.7 (`corosync.conf(5)`).

use std::path::{Path, PathBuf};

use super::check::parse_int;
use super::nodes::{Node, LINKS_MAX};
use super::parse::{Entry, Section};
use super::problem::{Place, Problems, Severity};

/// Shortest timeout in milliseconds.
const TIMEOUT_MIN: i64 = 30;
/// Shortest hold timeout in milliseconds.
const HOLD_MIN: i64 = 14;
/// Bytes that a key file holds at least.
const KEY_MIN: u64 = 128;
/// Key file when none is named.
const KEY_FILE: &str = "/etc/corosync/authkey";
/// Highest node id that the knet transport takes, plus one.
const KNET_ID_END: u32 = 65_536;

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
    timeouts(root, nodes.len(), problems);
    crypto(root, state_dir, problems);
    interfaces(root, nodes, problems);
    node_ids(root, nodes, problems);
    for entry in root.all("totem").into_iter().flat_map(|section| &section.entries) {
        if entry.key == "nodeid" {
            problems.warning(&entry.at, "totem.nodeid", "ignored").hint("the node id is set in nodelist { node { } }");
        }
    }
}

fn place(root: &Section) -> Place {
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

/// A timeout as it counts, and where it was set.
struct Timeout<'a> {
    key: &'static str,
    ms: i64,
    entry: Option<&'a Entry>,
}

impl Timeout<'_> {
    fn at_least(&self, min: i64, root: &Section, problems: &mut Problems) {
        if self.ms < min {
            let at = self.entry.map_or_else(|| place(root), |entry| entry.at.clone());
            let how = if self.entry.is_some() { "is" } else { "follows from others as" };
            let text = format!("{how} {} ms, at least {min} ms are needed", self.ms);
            problems.error(&at, &format!("totem.{}", self.key), text);
        }
    }
}

/// The value that counts: as set, or the default when absent or 0. A wrong value has been
/// reported already and counts as absent.
fn timeout<'a>(root: &'a Section, key: &'static str, default: i64, problems: &mut Problems) -> Timeout<'a> {
    let entry = root.last("totem", key);
    match entry.and_then(|entry| parse_int(&entry.value)).filter(|ms| (0..=i64::from(u32::MAX)).contains(ms)) {
        Some(0) => {
            let at = entry.map_or_else(|| place(root), |entry| entry.at.clone());
            problems.warning(&at, &format!("totem.{key}"), format!("0 stands for the default, {default}"));
            Timeout { key, ms: default, entry: None }
        }
        Some(ms) => Timeout { key, ms, entry },
        None => Timeout { key, ms: default, entry: None },
    }
}

fn timeouts(root: &Section, nodes: usize, problems: &mut Problems) {
    let losses = timeout(root, "token_retransmits_before_loss_const", 4, problems).ms;
    let mut token = timeout(root, "token", 3000, problems);
    if nodes > 2 {
        let coefficient = root.last("totem", "token_coefficient").and_then(|entry| parse_int(&entry.value));
        token.ms += (nodes as i64 - 2).saturating_mul(coefficient.unwrap_or(650).clamp(0, i64::from(u32::MAX)));
    }
    let retransmit_default = (token.ms as f64 / (losses as f64 + 0.2)) as i64;
    let retransmit = timeout(root, "token_retransmit", retransmit_default, problems);
    let hold = timeout(root, "hold", (retransmit.ms as f64 * 0.8 - 10.0) as i64, problems);
    let join = timeout(root, "join", 50, problems);
    let consensus = timeout(root, "consensus", (1.2 * token.ms as f64) as i64, problems);
    let others = [
        timeout(root, "max_network_delay", 50, problems),
        timeout(root, "merge", 200, problems),
        timeout(root, "downcheck", 1000, problems),
    ];
    token.at_least(TIMEOUT_MIN, root, problems);
    // What follows from a wrong token is not a mistake of its own.
    if retransmit.entry.is_some() || token.ms >= TIMEOUT_MIN {
        retransmit.at_least(TIMEOUT_MIN, root, problems);
    }
    if hold.entry.is_some() || retransmit.ms >= TIMEOUT_MIN {
        hold.at_least(HOLD_MIN, root, problems);
    }
    for timeout in others.iter().chain([&join]) {
        timeout.at_least(TIMEOUT_MIN, root, problems);
    }
    if consensus.entry.is_some() {
        consensus.at_least(TIMEOUT_MIN, root, problems);
    }
    if consensus.ms < join.ms && join.ms >= TIMEOUT_MIN {
        let entry = join.entry.or(consensus.entry).or(token.entry);
        let at = entry.map_or_else(|| place(root), |entry| entry.at.clone());
        let text = format!("join is {} ms, consensus {} ms: join must not be longer", join.ms, consensus.ms);
        problems.error(&at, "totem.join", text);
    }
    if let Some(entry) = root.last("totem", "token_warning") {
        if parse_int(&entry.value).is_some_and(|percent| percent > 100) {
            let text = format!("a percentage between 0 (off) and 100 is needed, not {}", entry.value);
            problems.error(&entry.at, "totem.token_warning", text);
        }
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
