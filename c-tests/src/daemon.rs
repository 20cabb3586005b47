//! Our daemon, one per test, in a directory of its own.
//!
//! It is ready when it says so to the service manager, which is played here: that is also the
//! promise that clients can connect. A guard belongs to the thread that started the daemon, and
//! the daemon ends with that thread: it cannot be kept in a static.

use std::ffi::OsString;
use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use tempfile::TempDir;

use crate::process::{Program, Running};
use crate::stage;

/// Longest start and longest stop.
const PATIENCE: Duration = Duration::from_secs(10);
/// The configuration that most tests want. Tests share a machine with others: no real-time class,
/// and nothing outside of the daemon's own directory, which `@DIR@` stands for.
pub const CONFIG: &str = "totem {\n  version: 2\n  cluster_name: tests\n}\n\
    system {\n  sched_rr: no\n  state_dir: @DIR@\n}\n\
    logging {\n  to_stderr: yes\n  to_syslog: no\n  to_logfile: no\n}\n\
    evensong {\n  single_node: yes\n}\n";

/// How a daemon is to be started.
#[derive(Clone, Debug)]
pub struct Setup {
    config: Option<String>,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    wrapper: Vec<String>,
}

/// A daemon; dropping it ends it and removes its directory.
pub struct Daemon {
    setup: Setup,
    dir: TempDir,
    running: Option<Running>,
    /// The log of a start that is over.
    past_log: String,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup { config: Some(CONFIG.to_owned()), args: Vec::new(), env: Vec::new(), wrapper: Vec::new() }
    }
}

impl Setup {
    /// The text of its configuration file, in place of `CONFIG`; `@DIR@` is its directory.
    pub fn config(mut self, text: &str) -> Setup {
        self.config = Some(text.to_owned());
        self
    }

    /// No `-c`: the built-in default, unless the machine has a file.
    pub fn without_config(mut self) -> Setup {
        self.config = None;
        self
    }

    /// One more argument besides `-f` and `-c`.
    pub fn arg(mut self, arg: &str) -> Setup {
        self.args.push(arg.into());
        self
    }

    /// A variable of its environment.
    pub fn env(mut self, name: &str, value: &str) -> Setup {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Runs it under a program that runs its arguments: `prlimit`, `setpriv`, `unshare`.
    pub fn under(mut self, wrapper: &[&str]) -> Setup {
        self.wrapper = wrapper.iter().map(|word| (*word).to_owned()).collect();
        self
    }

    /// Starts it and waits until clients can connect.
    pub fn start(self) -> Daemon {
        let mut daemon = self.prepare();
        daemon.restart();
        daemon
    }

    /// Its directory and configuration, not started yet.
    pub fn prepare(self) -> Daemon {
        let dir = tempfile::Builder::new().prefix("evensong-").tempdir().expect("a temporary directory");
        if let Some(text) = &self.config {
            let text = text.replace("@DIR@", &dir.path().display().to_string());
            fs::write(dir.path().join("evensong.conf"), text).expect("the directory is ours");
        }
        Daemon { setup: self, dir, running: None, past_log: String::new() }
    }
}

impl Daemon {
    /// One with the configuration that most tests want, ready for clients.
    pub fn start() -> Daemon {
        Setup::default().start()
    }

    /// Starts it, again if it ran before, in the same directory, and waits until it is ready.
    pub fn restart(&mut self) {
        self.running = None;
        let path = self.dir.path().join("notify");
        // Left there by a start before this one.
        let _removed = fs::remove_file(&path);
        let socket = UnixDatagram::bind(&path).expect("the directory is ours");
        socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout can be set");
        let mut running = self.program_line().env("NOTIFY_SOCKET", &path).spawn();
        let deadline = Instant::now() + PATIENCE;
        let mut message = [0; 256];
        loop {
            if let Ok(count) = socket.recv(&mut message) {
                if message[..count].split(|byte| *byte == b'\n').any(|line| line == b"READY=1") {
                    break;
                }
            }
            if let Some(status) = running.ended() {
                panic!("the daemon ended at its start ({status}):\n{}", running.complaints());
            }
            assert!(Instant::now() < deadline, "the daemon is not ready:\n{}", running.complaints());
        }
        self.running = Some(running);
    }

    /// The daemon itself, as a program that waits for nothing: for switches, and for starts that
    /// are to fail.
    pub fn program_line(&self) -> Program {
        let wrapper: Vec<&str> = self.setup.wrapper.iter().map(String::as_str).collect();
        let mut program = Program::new(stage::daemon()).arg("-f");
        if self.setup.config.is_some() {
            program = program.arg("-c").arg(self.config_path());
        }
        program = program.args(&self.setup.args).under(&wrapper).timeout(Duration::from_secs(600));
        program = program.env("EVENSONG_RUN_DIR", self.run_dir()).env_remove("NOTIFY_SOCKET");
        self.setup.env.iter().fold(program, |program, (name, value)| program.env(name, value))
    }

    /// A program with the surroundings of a client of this daemon.
    pub fn client(&self, path: &Path) -> Program {
        Program::new(path).env("LD_LIBRARY_PATH", stage::lib()).env("EVENSONG_RUN_DIR", self.run_dir())
    }

    /// The directory of this daemon; everything in it goes with it.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Its run directory.
    pub fn run_dir(&self) -> PathBuf {
        self.dir.path().join("run")
    }

    /// Its configuration file; a test may write to it.
    pub fn config_path(&self) -> PathBuf {
        self.dir.path().join("evensong.conf")
    }

    /// Its process id. Panics when it does not run.
    pub fn pid(&self) -> u32 {
        self.running.as_ref().expect("the daemon runs").pid()
    }

    /// Whether it runs.
    pub fn is_running(&mut self) -> bool {
        self.running.as_mut().is_some_and(|running| running.ended().is_none())
    }

    /// What it has logged to standard error since it was last started; also after its end.
    pub fn log(&self) -> String {
        self.running.as_ref().map_or_else(|| self.past_log.clone(), Running::complaints)
    }

    /// Resident memory in KiB.
    pub fn resident_kib(&self) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        let field = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        field.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or_default()
    }

    /// Number of open descriptors.
    pub fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid())).map(Iterator::count).unwrap_or_default()
    }

    /// Sends a signal.
    pub fn signal(&mut self, signal: Signal) {
        assert!(self.running.as_mut().is_some_and(|running| running.signal(signal)), "the daemon does not run");
    }

    /// Kills it without warning; its directory stays for a restart.
    pub fn kill(&mut self) {
        if let Some(running) = self.running.take() {
            self.past_log = running.complaints();
        }
    }

    /// Asks it to stop; returns how it ended and how long that took. Panics when it does not stop.
    pub fn stop(&mut self) -> (ExitStatus, Duration) {
        let began = Instant::now();
        self.signal(Signal::SIGTERM);
        let running = self.running.as_mut().expect("it has just got a signal");
        let status = running.wait_within(PATIENCE);
        let log = running.complaints();
        let status = status.unwrap_or_else(|| panic!("the daemon does not stop:\n{log}"));
        (status, began.elapsed())
    }
}
