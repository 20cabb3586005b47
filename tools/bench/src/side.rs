//! The two sides of a comparison: which daemon, which libraries, which configuration.

use crate::interrupt::Interrupt;
use crate::process::{self, Owned};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Where Debian puts the original.
pub const ORIGINAL: &str = "/usr/sbin/corosync";

/// One side.
pub struct Side {
    /// `evensong` or `corosync`
    pub name: &'static str,
    program: PathBuf,
    /// folder with the libraries; none: the system's
    libraries: Option<PathBuf>,
    config: Option<PathBuf>,
    run_dir: PathBuf,
    log: PathBuf,
}

/// A daemon that runs; dropping it stops it.
pub struct Daemon {
    pub process: Owned,
}

impl Side {
    /// Ours, from a staged tree, as one node on built-in defaults.
    pub fn ours(usr: &Path, work: &Path, realtime: bool) -> Result<Side, String> {
        let program = usr.join("sbin/evensongd");
        if !program.exists() {
            return Err(format!("{} is not there: run `make stage` first", program.display()));
        }
        let run_dir = work.join("run");
        fs::create_dir_all(&run_dir).map_err(|e| format!("{}: {e}", run_dir.display()))?;
        // a file of its own: where the original is installed, its file would be read otherwise
        let text = format!(
            "totem {{\n  version: 2\n}}\nsystem {{\n  sched_rr: {}\n}}\nevensong {{\n  single_node: yes\n}}\n",
            if realtime { "yes" } else { "no" }
        );
        let config = Some(write(work.join("evensong.conf"), &text)?);
        let libraries = Some(usr.join("lib"));
        Ok(Side { name: "evensong", program, libraries, config, run_dir, log: work.join("evensongd.log") })
    }

    /// The original, as one node on the loopback address. Says why when it cannot run here.
    pub fn original(work: &Path, realtime: bool) -> Result<Side, String> {
        let program = PathBuf::from(ORIGINAL);
        if !program.exists() {
            return Err(format!("{ORIGINAL} is not installed (`make deps ORIGINAL=1` installs it)"));
        }
        if !nix::unistd::geteuid().is_root() {
            return Err("the original runs only as root".to_owned());
        }
        if let Some(pid) = process::running(ORIGINAL).first() {
            return Err(format!(
                "{ORIGINAL} already runs as process {pid}, and a host can run only one: stop it first"
            ));
        }
        let text = format!(
            "totem {{\n  version: 2\n  cluster_name: bench\n  transport: udpu\n}}\n\
             system {{\n  state_dir: {}\n  sched_rr: {}\n}}\n\
             logging {{\n  to_stderr: yes\n  to_logfile: no\n  to_syslog: no\n}}\n\
             nodelist {{\n  node {{\n    name: bench\n    nodeid: 1\n    ring0_addr: 127.0.0.1\n  }}\n}}\n",
            work.display(),
            if realtime { "yes" } else { "no" }
        );
        let config = Some(write(work.join("corosync.conf"), &text)?);
        Ok(Side {
            name: "corosync",
            program,
            libraries: None,
            config,
            run_dir: work.to_owned(),
            log: work.join("corosync.log"),
        })
    }

    /// A client program in this side's surroundings.
    pub fn client(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        self.surround(&mut command);
        command
    }

    fn surround(&self, command: &mut Command) {
        match &self.libraries {
            Some(folder) => command.env("LD_LIBRARY_PATH", folder),
            None => command.env_remove("LD_LIBRARY_PATH"),
        };
        command.env("EVENSONG_RUN_DIR", &self.run_dir).process_group(0);
    }

    /// Starts the daemon; it may not answer yet.
    pub fn spawn(&self) -> Result<Daemon, String> {
        let failed = |e: std::io::Error| format!("{}: {e}", self.program.display());
        let log = File::options().create(true).append(true).open(&self.log).map_err(failed)?;
        let mut command = Command::new(&self.program);
        self.surround(&mut command);
        command.env_remove("LD_LIBRARY_PATH").arg("-f");
        if let Some(config) = &self.config {
            command.arg("-c").arg(config);
        }
        let output = log.try_clone().map_err(failed)?;
        let child = command.stdin(Stdio::null()).stdout(output).stderr(log).spawn().map_err(failed)?;
        Ok(Daemon { process: Owned(child) })
    }

    /// Starts the daemon and waits until a first client could join.
    pub fn start(&self, idle_client: &Path, interrupt: &Interrupt) -> Result<Daemon, String> {
        let mut daemon = self.spawn()?;
        let mut client = self.client(idle_client);
        let child = client.arg("-w").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut client = Owned(child.map_err(|e| format!("{}: {e}", idle_client.display()))?);
        let deadline = Instant::now() + Duration::from_secs(15);
        loop {
            interrupt.check()?;
            if let Some(status) = client.ended() {
                if status.success() {
                    return Ok(daemon);
                }
                return Err(format!("{}: no client could join{}", self.name, self.log_tail()));
            }
            if let Some(status) = daemon.process.ended() {
                return Err(format!("{}: the daemon ended at once ({status}){}", self.name, self.log_tail()));
            }
            if Instant::now() > deadline {
                return Err(format!("{}: no client could join within 15 s{}", self.name, self.log_tail()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// What the daemon last logged.
    pub fn log_tail(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(5)..].iter().map(|line| format!("\n    {line}")).collect()
    }

    /// Version as the daemon itself says it.
    pub fn version(&self) -> String {
        let output = Command::new(&self.program).arg("-v").output();
        let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
        // ours says first which version it stands in for, as the original would, then what it is
        let own = text.lines().find(|line| line.contains("evensong"));
        own.or(text.lines().next()).unwrap_or("unknown").trim().to_owned()
    }

    /// Which libcpg a program gets on this side, as the dynamic loader resolves it.
    pub fn library(&self, program: &Path) -> Result<String, String> {
        let output = self.client(program).env("LD_TRACE_LOADED_OBJECTS", "1").output();
        let output = output.map_err(|e| format!("{}: {e}", program.display()))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let path = text.lines().find_map(|line| {
            let (name, rest) = line.trim().split_once(" => ")?;
            name.starts_with("libcpg.so").then(|| rest.split(" (").next().unwrap_or(rest).to_owned())
        });
        let path = path.ok_or_else(|| format!("{} does not use libcpg:\n{text}", program.display()))?;
        let staged = self.libraries.as_ref().is_some_and(|folder| Path::new(&path).starts_with(folder));
        if staged == self.libraries.is_some() && path != "not found" {
            Ok(path)
        } else {
            Err(format!("{}: {} would use {path}", self.name, program.display()))
        }
    }
}

fn write(path: PathBuf, text: &str) -> Result<PathBuf, String> {
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path)
}
