//! From the command line to a running event loop, in the order that lets every error still be
//! read where the daemon was started.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use evensong_core::ipc::SOCKET_NAME;
use evensong_core::node::Node;
use evensong_core::output::LogLevel;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::args::{Args, FOLLOWS};
use crate::config::{self, DaemonConfig, Severity, Source};
use crate::error::{exit, Error};
use crate::event_loop::{EventLoop, Surroundings};
use crate::ipc::{Access, Clients, Listener};
use crate::log::{self, Level, Subsystem};
use crate::net::{Net, NetConfig, Transport};
use crate::process::{self, Background, Instance, RingState};
use crate::tell;

/// Signals that the event loop handles.
const SIGNALS: [Signal; 6] =
    [Signal::SIGTERM, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGHUP, Signal::SIGUSR1, Signal::SIGUSR2];

/// Tests the configuration: prints every problem, and whether the file would do.
pub fn test(args: &Args) -> ExitCode {
    let (problems, passes) = config::load(Source::locate(args.config.as_deref()), &ident()).for_test(args.strict);
    for problem in &problems {
        tell(&format!("{problem}\n"));
    }
    if passes {
        return ExitCode::SUCCESS;
    }
    let bad: Vec<_> = problems.into_iter().filter(|problem| problem.severity >= Severity::Flaw).collect();
    let status = if bad.is_empty() { exit::CONFIG } else { Error::Config(bad).exit_code() };
    ExitCode::from(status)
}

/// Runs the daemon until a signal stops it.
pub fn run(args: &Args) -> Result<(), Error> {
    let source = Source::locate(args.config.as_deref());
    let mut config = config::load(source, &ident()).for_start()?;
    config.node.seed =
        getrandom::u64().map_err(|error| system("draw a random number")(std::io::Error::other(error.to_string())))?;
    let dir = process::run_dir();
    let mut instance = Instance::claim(&dir)?;
    // While there is one thread only. The lock goes along.
    let background = if args.foreground { None } else { Some(process::into_background()?) };
    instance.write_pid()?;
    // Before the first thread, which inherits it.
    let signals = block_signals().map_err(system("watch signals"))?;
    log::abort_on_panic();
    let _logger = log::init(&config.log)?;
    log::notice!(
        Subsystem::Main,
        "Evensong {} (in place of Corosync {FOLLOWS}) starting up",
        env!("CARGO_PKG_VERSION")
    );
    for note in &config.notes {
        log::log(level(note.severity), Subsystem::Config, note.for_log());
    }
    let state = RingState::new(&config.system.state_dir, config.node.node, config.node.nodes.len() < 2);
    config.node.last_ring_seq = state.load();
    let result = serve(config, &dir, signals, background, state);
    if let Err(error) = &result {
        log::error!(Subsystem::Main, "{error}");
    }
    log::notice!(Subsystem::Main, "Evensong exiting");
    result
}

fn serve(
    config: DaemonConfig,
    dir: &Path,
    signals: SignalFd,
    background: Option<Background>,
    state: RingState,
) -> Result<(), Error> {
    let path = dir.join(SOCKET_NAME);
    let listener = Listener::bind(&path, config.socket_mode).map_err(system("listen for clients"))?;
    process::prepare(&config.system, config.limits.clients_max);
    let around =
        Process { source: config.source.clone(), background, work_dir: config.system.state_dir.clone(), state };
    let clients = Clients::new(config.limits);
    let net = config.net.map(network).transpose().map_err(system("reach other nodes"))?;
    let node = Node::new(config.node);
    EventLoop::new(node, clients, config.access, listener, signals, net, around)
        .and_then(|mut event_loop| event_loop.run())
        .map_err(system("wait for events"))
}

fn network(config: NetConfig) -> std::io::Result<Net> {
    let kind = if config.transport == Transport::Udp { "Multicast" } else { "Unicast" };
    log::notice!(Subsystem::Totem, "Initializing transport (UDP/IP {kind}).");
    Net::new(config, std::time::Instant::now())
}

fn system(what: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    move |source| Error::System { what, source }
}

fn block_signals() -> std::io::Result<SignalFd> {
    let mut set = SigSet::empty();
    SIGNALS.into_iter().for_each(|signal| set.add(signal));
    set.thread_block()?;
    Ok(SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?)
}

/// The name the daemon was started by: programs that watch the log look for it.
fn ident() -> String {
    let path = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "evensongd".to_owned())
}

fn level(severity: Severity) -> Level {
    match severity {
        Severity::Info => Level::Notice,
        Severity::Warning => Level::Warning,
        Severity::Flaw | Severity::Error => Level::Error,
    }
}

/// The process around the event loop.
struct Process {
    source: Source,
    background: Option<Background>,
    work_dir: PathBuf,
    state: RingState,
}

impl Surroundings for Process {
    fn log(&mut self, level: LogLevel, subsystem: &'static str, text: &str) {
        let level = match level {
            LogLevel::Error => Level::Error,
            LogLevel::Warning => Level::Warning,
            LogLevel::Notice => Level::Notice,
            LogLevel::Info => Level::Info,
            LogLevel::Debug => Level::Debug,
        };
        let known = Subsystem::ALL.into_iter().find(|known| known.name() == subsystem);
        log::log(level, known.unwrap_or(Subsystem::Main), text);
    }

    fn ready(&mut self) -> std::io::Result<()> {
        log::notice!(Subsystem::Main, "Ready for clients");
        let states = [sd_notify::NotifyState::Ready];
        if let Err(error) = sd_notify::notify(&states) {
            log::warning!(Subsystem::Main, "Could not report readiness to the service manager: {error}");
        }
        match self.background.take() {
            Some(background) => background.ready(&self.work_dir).map_err(std::io::Error::other),
            None => Ok(()),
        }
    }

    fn store_ring_seq(&mut self, seq: u64) {
        self.state.store(seq);
    }

    fn reread(&mut self) -> Option<Access> {
        log::reopen();
        log::notice!(Subsystem::Config, "Log files are opened again, and uidgid sections read");
        match config::access(&self.source) {
            Ok(access) => Some(access),
            Err(problems) => {
                for problem in problems.iter().filter(|problem| problem.severity >= Severity::Warning) {
                    log::log(level(problem.severity), Subsystem::Config, problem.for_log());
                }
                log::error!(Subsystem::Config, "The file has errors: who may connect stays as it was");
                None
            }
        }
    }
}
