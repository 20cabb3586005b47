//! The evensong daemon.

mod event_loop;
mod ipc;

use evensong_core::config::NodeConfig;
use evensong_core::ids::NodeId;
use evensong_core::ipc::{DEFAULT_RUN_DIR, RUN_DIR_ENV, SOCKET_NAME};
use evensong_core::node::Node;
use evensong_core::output::LogLevel;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

struct Stderr;
impl event_loop::Report for Stderr {
    fn log(&mut self, level: LogLevel, subsystem: &'static str, text: &str) {
        eprintln!("{level:?} [{subsystem}] {text}");
    }
}

fn main() -> std::io::Result<()> {
    let dir = std::env::var_os(RUN_DIR_ENV).map_or_else(|| DEFAULT_RUN_DIR.into(), std::path::PathBuf::from);
    std::fs::create_dir_all(&dir)?;
    let mut set = SigSet::empty();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGQUIT] {
        set.add(signal);
    }
    set.thread_block()?;
    let signals = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    let node = Node::new(NodeConfig {
        node: NodeId(1),
        cluster_name: "evensong".into(),
        nodes: vec![NodeId(1)],
        last_ring_seq: 0,
        frame_size: 1472,
        honour_safe: true,
        always_frame: false,
    });
    let limits = ipc::Limits::default();
    let listener = ipc::Listener::bind(&dir.join(SOCKET_NAME))?;
    let clients = ipc::Clients::new(limits);
    let mut event_loop =
        event_loop::EventLoop::new(node, clients, ipc::Access::default(), listener, signals, Stderr)?;
    event_loop.run()
}
