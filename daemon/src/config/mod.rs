//! Configuration: from `corosync.conf` to checked settings, with every problem reported.
//!
//! `parse` makes a tree of the text, `keys` knows sections and keys, `check` compares the two
//! (`spelling` guesses what was meant), `totem`, `ring`, `nodes`, `network`, `logging`,
//! `settings` and `uidgid` look at one part each, `problem` is what they report. Nothing stops
//! at the first error.
//!
//! Where the file is: `-c FILE`, else the environment's `COROSYNC_MAIN_CONFIG_FILE` (as in
//! corosync 1.x and 2.x), else `/etc/corosync/corosync.conf`. A file that is named must
//! exist; when none is named and the usual one is absent, built-in defaults run one node.

mod check;
mod host;
mod keys;
mod logging;
mod network;
mod nodes;
mod parse;
mod problem;
mod ring;
mod settings;
mod spelling;
mod totem;
mod uidgid;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use evensong_core::config::{NodeConfig, TotemConfig};
use evensong_core::ids::NodeId;

pub use host::Host;
pub use nodes::Node;
use parse::Section;
use parse::Tree;
pub use problem::{Place, Problem, Problems, Severity};
pub use settings::{RootCgroup, SystemConfig};

use crate::ipc::{Access, Limits};
use crate::log::LogConfig;
use crate::net::{NetConfig, Transport};

/// The file that is read when none is named.
pub const DEFAULT_FILE: &str = "/etc/corosync/corosync.conf";
/// Environment variable that names the file.
pub const FILE_ENV: &str = "COROSYNC_MAIN_CONFIG_FILE";
/// Name of the cluster when none is set.
const CLUSTER_NAME: &str = "evensong";
/// Largest packet when none is set: udp and udpu, knet.
const MTU: (u32, u32) = (1500, 65_536);
/// The same for udp and udpu with IPv6, whose longer headers would make every full frame of
/// the other size too long for a wire of 1500 bytes by three.
const MTU_V6: u32 = 1497;
/// Smallest packet that can be set.
const MTU_MIN: u32 = 576;

/// Where the configuration comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file that was named, or the usual one.
    File(PathBuf),
    /// No file was named and the usual one is absent.
    BuiltIn,
}

impl Source {
    /// Finds the source, given the value of `-c`.
    pub fn locate(named: Option<&Path>) -> Source {
        let env = std::env::var_os(FILE_ENV).filter(|name| !name.is_empty()).map(PathBuf::from);
        match named.map(Path::to_owned).or(env) {
            // The daemon changes its working directory and may read the file again.
            Some(path) => Source::File(std::path::absolute(&path).unwrap_or(path)),
            None if Path::new(DEFAULT_FILE).exists() => Source::File(PathBuf::from(DEFAULT_FILE)),
            None => Source::BuiltIn,
        }
    }
}

/// All settings, checked.
#[derive(Clone, Debug)]
pub struct DaemonConfig {
    /// Where they come from.
    pub source: Source,
    /// The core's part. `last_ring_seq` is 0, the state directory knows better; `seed` is 0,
    /// whoever starts the node draws one.
    pub node: NodeConfig,
    /// The network; `None` for a node that is alone, and for knet.
    pub net: Option<NetConfig>,
    /// The nodes of the file's list.
    pub nodes: Vec<Node>,
    /// The log.
    pub log: LogConfig,
    /// The process.
    pub system: SystemConfig,
    /// Who besides root may connect.
    pub access: Access,
    /// Limits of local clients.
    pub limits: Limits,
    /// Permissions of the listening socket.
    pub socket_mode: u32,
    /// What was found that does not keep the daemon from starting, in the file's order.
    pub notes: Vec<Problem>,
}

/// The outcome of reading: settings, unless the file is rejected, and all problems.
#[derive(Debug)]
pub struct Outcome {
    /// The settings; `None` when there is an error.
    pub config: Option<DaemonConfig>,
    /// Everything that was found, in the file's order.
    pub problems: Vec<Problem>,
}

impl Outcome {
    /// For a starting daemon: the settings, or the errors. Several nodes over knet are refused:
    /// to run alone where others expect a member would split the cluster.
    pub fn for_start(self) -> Result<DaemonConfig, crate::error::Error> {
        let errors = |problems: Vec<Problem>| {
            crate::error::Error::Config(problems.into_iter().filter(|p| p.severity == Severity::Error).collect())
        };
        let Some(config) = self.config else { return Err(errors(self.problems)) };
        if config.needs_knet() {
            return Err(crate::error::Error::Config(vec![knet_comes_later(&config, Severity::Error)]));
        }
        Ok(config)
    }

    /// For a test of the file: what to print, and whether the file passes. Warnings make it
    /// fail when `strict`.
    pub fn for_test(mut self, strict: bool) -> (Vec<Problem>, bool) {
        let limit = if strict { Severity::Warning } else { Severity::Flaw };
        let passes = self.problems.iter().all(|problem| problem.severity < limit);
        if let Some(config) = self.config.filter(DaemonConfig::needs_knet) {
            // True of this build, not of the file: it does not count.
            self.problems.push(knet_comes_later(&config, Severity::Warning));
        }
        (self.problems, passes)
    }
}

impl DaemonConfig {
    fn needs_knet(&self) -> bool {
        self.node.nodes.len() > 1 && self.net.is_none()
    }
}

fn knet_comes_later(config: &DaemonConfig, severity: Severity) -> Problem {
    let mut problems = Problems::default();
    let count = config.node.nodes.len();
    let text = format!(
        "lists {count} nodes, and the transport is knet, as it is where none is set. This build does not know knet \
         yet: it refuses to start"
    );
    problems
        .add(severity, config.nodes.first().map(|node| &node.at), "nodelist", text)
        .hint("set totem { transport: udpu } on all nodes, or udp for multicast");
    problems.into_sorted().remove(0)
}

/// Reads and checks a source. `ident` is the program's name in the log.
pub fn load(source: Source, ident: &str) -> Outcome {
    let path = match &source {
        Source::BuiltIn => return built_in(ident),
        Source::File(path) => path.clone(),
    };
    let file: Arc<Path> = Arc::from(path.as_path());
    match read(&path) {
        Ok(text) => load_text(&text, &file, ident, &Host::this()),
        Err(error) => {
            let mut problems = Problems::default();
            problems.error(&Place { file, line: 0 }, "", error);
            Outcome { config: None, problems: problems.into_sorted() }
        }
    }
}

/// Reads who may connect, and nothing else of a source; the problems when there are errors.
pub fn access(source: &Source) -> Result<Access, Vec<Problem>> {
    let Source::File(path) = source else { return Ok(Access::default()) };
    let file: Arc<Path> = Arc::from(path.as_path());
    let mut problems = Problems::default();
    let mut access = Access::default();
    match read(path) {
        Ok(text) => {
            let tree = parse::parse(&text, &file, &mut problems);
            check::check(&tree, &mut problems);
            access = uidgid::sections(&tree.root, &mut problems);
            uidgid::directory(&file, &mut access, &mut problems);
        }
        Err(error) => {
            problems.error(&Place { file, line: 0 }, "", error);
        }
    }
    if problems.rejected() {
        return Err(problems.into_sorted());
    }
    Ok(access)
}

/// Reads a file up to one byte beyond the limit, which the parser then reports.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| format!("cannot read the file: {error}"))?;
    let limit = parse::FILE_MAX as u64 + 1;
    file.take(limit).read_to_end(&mut text).map_err(|error| format!("cannot read the file: {error}"))?;
    Ok(text)
}

fn built_in(ident: &str) -> Outcome {
    let file: Arc<Path> = Arc::from(Path::new(DEFAULT_FILE));
    let tree = parse::parse(b"", &file, &mut Problems::default());
    let own = settings::Own::default();
    let text = format!(
        "no configuration file ({DEFAULT_FILE}): running a single node, id {}, cluster name {CLUSTER_NAME}",
        own.node_id
    );
    let mut problems = Problems::default();
    problems.add(Severity::Info, None, "", text);
    let notes = problems.into_sorted();
    let config = DaemonConfig {
        source: Source::BuiltIn,
        node: node_config(&tree.root, Transport::Udpu, NodeId(own.node_id), vec![NodeId(own.node_id)], &own),
        net: None,
        nodes: Vec::new(),
        log: LogConfig { ident: ident.to_owned(), ..LogConfig::default() },
        system: SystemConfig::default(),
        access: Access::default(),
        limits: Limits::default(),
        socket_mode: own.socket_mode,
        notes: notes.clone(),
    };
    Outcome { config: Some(config), problems: notes }
}

/// Checks a file's text on the machine `host`.
pub fn load_text(text: &[u8], file: &Arc<Path>, ident: &str, host: &Host) -> Outcome {
    let mut problems = Problems::default();
    let tree = parse::parse(text, file, &mut problems);
    check::check(&tree, &mut problems);
    let root = &tree.root;
    let log = logging::build(root, ident, &mut problems);
    let system = settings::system(root);
    let own = settings::own(root);
    let limits = settings::limits(root, &mut problems);
    let mut access = uidgid::sections(root, &mut problems);
    uidgid::directory(file, &mut access, &mut problems);
    let mut nodes = nodes::read(root, &mut problems);
    let transport = totem::transport(root);
    let mut local = None;
    let mut net = None;
    // In a file with a bracket too few, keys are not where they were meant to be.
    if tree.balanced {
        local = membership(&tree, &mut nodes, &own, &system, host, &mut problems);
        if let Some(local) = local.filter(|_| !nodes.is_empty()) {
            let ids = ring_ids(&nodes, root);
            let at = ids.iter().position(|id| *id == local).unwrap_or_default();
            net = network::read(root, &nodes, at, &ids, &mut problems);
        }
        quorum(root, &mut problems);
        frame_size(root, transport, &mut problems);
    }
    let rejected = problems.rejected();
    let problems = problems.into_sorted();
    let node = local.filter(|_| !rejected).map(|local| {
        let mut ids = if nodes.is_empty() { vec![local] } else { ring_ids(&nodes, root) };
        ids.sort();
        node_config(root, transport, local, ids, &own)
    });
    let config = node.map(|node| DaemonConfig {
        source: Source::File(file.to_path_buf()),
        node,
        net,
        log,
        system,
        access,
        limits,
        socket_mode: own.socket_mode,
        notes: problems.clone(),
        nodes,
    });
    Outcome { config, problems }
}

/// Checks who is in the cluster; returns the id of this node.
fn membership(
    tree: &Tree,
    nodes: &mut [Node],
    own: &settings::Own,
    system: &SystemConfig,
    host: &Host,
    problems: &mut Problems,
) -> Option<NodeId> {
    let root = &tree.root;
    if root.entries.is_empty() && root.sections.is_empty() {
        problems.error(&root.at, "", "the file is empty").hint("see corosync.conf(5); without any file one node runs");
        return None;
    }
    if nodes.is_empty() && own.single_node {
        return Some(NodeId(own.node_id));
    }
    totem::check(root, nodes, &system.state_dir, problems);
    if nodes.is_empty() {
        problems.error(&root.at, "nodelist", "the file lists no nodes").hint(
            "list all of them in nodelist { node { } }, or set evensong { single_node: yes } for one that stays alone",
        );
        return None;
    }
    if let Some(entry) = root.last("evensong", "single_node").filter(|_| own.single_node && nodes.len() > 1) {
        let text = format!("the nodelist has {} nodes", nodes.len());
        problems.error(&entry.at, "evensong.single_node", text);
    }
    let clear = clears_high_bit(root);
    if totem::transport(root) != Transport::Knet {
        network::derive_ids(nodes, clear, host, problems);
    }
    let local = nodes::check(nodes, host, problems)?;
    nodes[local].ring_id(clear).map(NodeId).or_else(|| {
        let text = format!("{} has no id, and no IPv4 address on link 0 to make one of", nodes[local].label());
        problems.error(&nodes[local].at, "nodelist.node.nodeid", text);
        None
    })
}

fn clears_high_bit(root: &Section) -> bool {
    root.last("totem", "clear_node_high_bit").is_some_and(|entry| entry.value == "yes")
}

/// The ids of all nodes, in the order of the list.
fn ring_ids(nodes: &[Node], root: &Section) -> Vec<NodeId> {
    let clear = clears_high_bit(root);
    // One that has none has been reported; it still counts as a node.
    let unknown = |n: usize| u32::MAX - n as u32;
    nodes.iter().enumerate().map(|(n, node)| NodeId(node.ring_id(clear).unwrap_or(unknown(n)))).collect()
}

fn quorum(root: &Section, problems: &mut Problems) {
    let on = |key: &str| root.last("quorum", key).filter(|entry| entry.value.parse::<u8>().is_ok_and(|n| n != 0));
    if let (Some(two), Some(_)) = (on("two_node"), on("auto_tie_breaker")) {
        problems
            .warning(&two.at, "quorum.two_node", "has no effect together with auto_tie_breaker")
            .hint("choose one of them");
    }
}

/// Bytes of a packet.
fn frame_size(root: &Section, transport: Transport, problems: &mut Problems) -> u32 {
    let v6 = || root.all("nodelist.node").into_iter().flat_map(|node| &node.entries).any(is_v6_address);
    let default = match transport {
        Transport::Knet => MTU.1,
        Transport::Udp | Transport::Udpu if v6() => MTU_V6,
        Transport::Udp | Transport::Udpu => MTU.0,
    };
    let entry = root.last("totem", "netmtu");
    let set = entry.and_then(|entry| entry.value.parse::<u32>().ok()).filter(|mtu| *mtu != 0);
    let mtu = set.unwrap_or(default);
    if let Some(entry) = entry.filter(|_| !(MTU_MIN..=MTU.1).contains(&mtu)) {
        let text = format!("is {mtu}; packets of {MTU_MIN} to {} bytes can be sent", MTU.1);
        problems.error(&entry.at, "totem.netmtu", text);
    }
    mtu.clamp(MTU_MIN, MTU.1)
}

fn is_v6_address(entry: &parse::Entry) -> bool {
    entry.key == "ring0_addr" && entry.value.parse::<std::net::Ipv6Addr>().is_ok()
}

fn node_config(
    root: &Section,
    transport: Transport,
    node: NodeId,
    nodes: Vec<NodeId>,
    own: &settings::Own,
) -> NodeConfig {
    let name = root.last("totem", "cluster_name").map(|entry| entry.value.as_str()).filter(|name| !name.is_empty());
    let version = root.last("totem", "config_version").and_then(|entry| entry.value.parse().ok());
    let totem = TotemConfig::derive(&ring::options(root), nodes.len());
    NodeConfig {
        node,
        cluster_name: name.unwrap_or(CLUSTER_NAME).to_owned(),
        nodes,
        last_ring_seq: 0,
        frame_size: frame_size(root, transport, &mut Problems::default()),
        honour_safe: own.safe_delivery,
        always_frame: own.always_frame,
        config_version: version.unwrap_or(0),
        seed: 0,
        totem,
    }
}

#[cfg(test)]
mod tests;
