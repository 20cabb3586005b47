//! The sections `system` and `evensong`, and what of `totem` the core takes.

use std::path::PathBuf;
use std::time::Duration;

use evensong_core::ipc::{DEFAULT_RUN_DIR, RUN_DIR_ENV};

use super::check::{parse_int, parse_mode, parse_priority, parse_size};
use super::parse::Section;
use super::problem::Problems;
use crate::ipc::Limits;

/// Where state is kept when the file names no directory.
const STATE_DIR: &str = "/var/lib/evensong";

/// The same for an instance with a run directory of its own: several on a host must not share
/// what survives a restart.
fn default_state_dir() -> PathBuf {
    let own = std::env::var_os(RUN_DIR_ENV).filter(|dir| !dir.is_empty() && dir != DEFAULT_RUN_DIR);
    own.map_or_else(|| PathBuf::from(STATE_DIR), |_| crate::process::run_dir().join("state"))
}

/// Settings that concern the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemConfig {
    /// Real-time scheduling of the protocol thread.
    pub round_robin: bool,
    /// Niceness, when real-time scheduling is off; 0 leaves it, beyond the ends means the end.
    pub priority: i32,
    /// Whether to lock memory.
    pub lock_memory: bool,
    /// Whether to leave the control group that systemd made for the daemon.
    pub root_cgroup: RootCgroup,
    /// Directory for what must survive a restart.
    pub state_dir: PathBuf,
}

impl Default for SystemConfig {
    fn default() -> SystemConfig {
        SystemConfig {
            round_robin: true,
            priority: 0,
            lock_memory: true,
            root_cgroup: RootCgroup::Auto,
            state_dir: default_state_dir(),
        }
    }
}

/// When to move to the root control group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RootCgroup {
    /// Always.
    Yes,
    /// Never.
    No,
    /// When real-time scheduling is refused otherwise.
    #[default]
    Auto,
}

/// Settings of our own that concern neither process nor clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    /// The file says that this node stays alone.
    pub single_node: bool,
    /// Node id of a node that stays alone.
    pub node_id: u32,
    /// Whether the guarantee `safe` is honoured.
    pub safe_delivery: bool,
    /// Whether frames are built although there is no peer.
    pub always_frame: bool,
    /// Permissions of the listening socket.
    pub socket_mode: u32,
}

impl Default for Own {
    fn default() -> Own {
        Own { single_node: false, node_id: 1, safe_delivery: true, always_frame: false, socket_mode: 0o666 }
    }
}

/// Reads `system` and the keys of `evensong` that concern the process.
pub fn system(root: &Section) -> SystemConfig {
    let defaults = SystemConfig::default();
    let text = |key: &str| root.last("system", key).map(|entry| entry.value.as_str()).filter(|text| !text.is_empty());
    SystemConfig {
        round_robin: text("sched_rr") != Some("no") && yes(root, "rt", true),
        priority: text("priority").and_then(parse_priority).unwrap_or(defaults.priority),
        lock_memory: yes(root, "lock_memory", true),
        root_cgroup: match text("move_to_root_cgroup") {
            Some("yes") => RootCgroup::Yes,
            Some("no") => RootCgroup::No,
            _ => RootCgroup::Auto,
        },
        state_dir: text("state_dir").map_or(defaults.state_dir, PathBuf::from),
    }
}

/// Reads the keys of `evensong` about the node.
pub fn own(root: &Section) -> Own {
    let defaults = Own::default();
    let last = |key: &str| root.last("evensong", key).map(|entry| entry.value.as_str());
    Own {
        single_node: yes(root, "single_node", defaults.single_node),
        node_id: last("nodeid").and_then(|id| id.parse().ok()).filter(|id| *id > 0).unwrap_or(defaults.node_id),
        safe_delivery: yes(root, "safe_delivery", defaults.safe_delivery),
        always_frame: yes(root, "always_frame", defaults.always_frame),
        socket_mode: last("ipc_socket_mode").and_then(parse_mode).unwrap_or(defaults.socket_mode),
    }
}

/// Reads the keys of `evensong` about local clients; wrong values have been reported.
pub fn limits(root: &Section, problems: &mut Problems) -> Limits {
    let defaults = Limits::default();
    let last = |key: &str| root.last("evensong", key);
    let size = |key: &str| last(key).and_then(|entry| parse_size(&entry.value));
    let int = |key: &str| last(key).and_then(|entry| parse_int(&entry.value)).and_then(|n| u64::try_from(n).ok());
    // Whole pages: the areas of a connection lie one behind the other in one mapping.
    let ring = size("ipc_ring_size").and_then(|size| u32::try_from(size.next_multiple_of(4096)).ok());
    let limits = Limits {
        ring_size: ring.unwrap_or(defaults.ring_size),
        clients_max: int("ipc_clients_max").map_or(defaults.clients_max, |n| n as usize),
        memory_max: size("ipc_memory_max").unwrap_or(defaults.memory_max),
        reader_timeout: int("reader_timeout_ms").map_or(defaults.reader_timeout, Duration::from_millis),
        backlog_max: size("reader_backlog_max").unwrap_or(defaults.backlog_max),
        spin_max: int("spin_us").map_or(defaults.spin_max, Duration::from_micros),
    };
    let one = u64::from(limits.ring_size) * 2;
    if let Some(entry) = last("ipc_memory_max").filter(|_| limits.memory_max < one * 2) {
        let text = format!("{} bytes: less than two connections, each takes {one} bytes", limits.memory_max);
        problems.error(&entry.at, "evensong.ipc_memory_max", text);
    }
    limits
}

fn yes(root: &Section, key: &str, default: bool) -> bool {
    match root.last("evensong", key).map(|entry| entry.value.as_str()) {
        Some("yes") => true,
        Some("no") => false,
        _ => default,
    }
}
