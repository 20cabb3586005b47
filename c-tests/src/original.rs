//! Debian's corosync, as one node on the loopback address.
//!
//! A host can run one at a time, whatever test or tool wants it, so a lock file in the directory
//! for temporary files is held while it runs. Where it is not installed or may not be started,
//! tests say so and pass; with `EVENSONG_REQUIRE_ORIGINAL=1` they fail instead.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::Signal;
use tempfile::TempDir;

use crate::process::{Program, Running};

/// Where Debian puts it.
pub const DAEMON: &str = "/usr/sbin/corosync";
/// Set to 1 where its absence is a failure.
pub const REQUIRE: &str = "EVENSONG_REQUIRE_ORIGINAL";
const PATIENCE: Duration = Duration::from_secs(20);
/// What it logs when groups work.
const READY: &str = "ready to provide service";

/// The original; dropping it ends it, removes its directory and frees the lock, in this order.
pub struct Original {
    running: Running,
    _dir: TempDir,
    _lock: Flock<File>,
}

impl Original {
    /// Starts it, or says why it cannot run here (after a failure if it is required). Waits while
    /// another test or tool runs one.
    pub fn start() -> Option<Original> {
        match Original::possible() {
            Ok(()) => Some(Original::launch()),
            Err(why) => {
                not_here(&why);
                None
            }
        }
    }

    fn possible() -> Result<(), String> {
        if !Path::new(DAEMON).exists() || !Path::new("/usr/include/corosync/cpg.h").exists() {
            return Err("the original is not installed (`make deps ORIGINAL=1` installs it)".to_owned());
        }
        match nix::unistd::geteuid().is_root() {
            true => Ok(()),
            false => Err("the original runs only as root".to_owned()),
        }
    }

    fn launch() -> Original {
        let lock = lock();
        let dir = tempfile::Builder::new().prefix("corosync-").tempdir().expect("a temporary directory");
        let text = format!(
            "totem {{\n  version: 2\n  cluster_name: tests\n  transport: udpu\n}}\n\
             system {{\n  state_dir: {}\n  sched_rr: no\n}}\n\
             logging {{\n  to_stderr: yes\n  to_logfile: no\n  to_syslog: no\n}}\n\
             nodelist {{\n  node {{\n    name: tests\n    nodeid: 1\n    ring0_addr: 127.0.0.1\n  }}\n}}\n",
            dir.path().display()
        );
        let config = dir.path().join("corosync.conf");
        fs::write(&config, text).expect("the directory is ours");
        let program = Program::new(DAEMON).arg("-f").arg("-c").arg(&config).env_remove("LD_LIBRARY_PATH");
        let mut running = program.timeout(Duration::from_secs(600)).spawn();
        let deadline = Instant::now() + PATIENCE;
        while !running.complaints().contains(READY) {
            if let Some(status) = running.ended() {
                panic!("the original ended at its start ({status}):\n{}", running.complaints());
            }
            assert!(Instant::now() < deadline, "the original is not ready:\n{}", running.complaints());
            std::thread::sleep(Duration::from_millis(10));
        }
        Original { running, _dir: dir, _lock: lock }
    }

    /// A program with the surroundings of a client of the original.
    pub fn client(&self, path: &Path) -> Program {
        Program::new(path).env_remove("LD_LIBRARY_PATH").env_remove("EVENSONG_RUN_DIR")
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.running.pid()
    }

    /// Kills it without warning.
    pub fn kill(&mut self) {
        self.running.signal(Signal::SIGKILL);
        self.running.wait_within(PATIENCE);
    }
}

impl Drop for Original {
    fn drop(&mut self) {
        // An orderly end removes its files in /dev/shm.
        if self.running.signal(Signal::SIGTERM) {
            self.running.wait_within(Duration::from_secs(5));
        }
    }
}

/// Says that a test cannot compare with the original, or fails where it must.
pub fn not_here(why: &str) {
    assert!(std::env::var_os(REQUIRE).is_none_or(|value| value != "1"), "{REQUIRE}=1, but {why}");
    crate::note(&format!("SKIPPED: {why}"));
}

fn lock() -> Flock<File> {
    let path = std::env::temp_dir().join("corosync.lock");
    let file = File::options().create(true).append(true).open(&path);
    let mut file = file.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let deadline = Instant::now() + Duration::from_secs(300);
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return lock,
            Err((back, _)) => file = back,
        }
        assert!(Instant::now() < deadline, "{} is held for minutes: who runs the original?", path.display());
        std::thread::sleep(Duration::from_millis(50));
    }
}
