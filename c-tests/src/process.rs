//! One program: its surroundings, its output line by line, its end. It leads a process group of
//! its own, all of which ends with it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{mpsc, Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::signal::{kill, killpg, Signal};
use nix::unistd::Pid;

/// How long a program may run unless it is told otherwise.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program to run.
#[derive(Clone, Debug)]
pub struct Program {
    line: Vec<OsString>,
    env: BTreeMap<OsString, Option<OsString>>,
    patience: Duration,
}

/// What is left of a program that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// How it ended; none when it had to be killed because time was up.
    pub status: Option<ExitStatus>,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

/// A program that runs; dropping it ends its whole process group.
pub struct Running {
    child: Child,
    name: String,
    deadline: Instant,
    lines: Receiver<String>,
    seen: String,
    stdin: Option<ChildStdin>,
    stderr: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

impl Program {
    /// A program by its path, with an environment like ours.
    pub fn new(path: impl AsRef<OsStr>) -> Program {
        Program { line: vec![path.as_ref().to_owned()], env: BTreeMap::new(), patience: PATIENCE }
    }

    /// One more argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Program {
        self.line.push(arg.as_ref().to_owned());
        self
    }

    /// More arguments.
    pub fn args(self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Program {
        args.into_iter().fold(self, |program, arg| program.arg(arg))
    }

    /// Sets a variable.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Program {
        self.env.insert(name.as_ref().to_owned(), Some(value.as_ref().to_owned()));
        self
    }

    /// Takes a variable away.
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Program {
        self.env.insert(name.as_ref().to_owned(), None);
        self
    }

    /// Runs it under another one that runs its arguments: `prlimit`, `setpriv`, `unshare`.
    pub fn under(mut self, wrapper: &[&str]) -> Program {
        self.line.splice(0..0, wrapper.iter().map(OsString::from));
        self
    }

    /// How long it may run before it is killed.
    pub fn timeout(mut self, patience: Duration) -> Program {
        self.patience = patience;
        self
    }

    /// As std would start it, with the process group and the parent's death seen to.
    pub fn command(&self) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).args(&self.line).process_group(0);
        for (name, value) in &self.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// Starts it. Panics when it cannot be started.
    pub fn spawn(&self) -> Running {
        let mut command = self.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let name = Path::new(&self.line[0]).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut child = command.spawn().unwrap_or_else(|e| panic!("{name}: {e}"));
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (sender, lines) = mpsc::channel();
        let out = std::thread::spawn(move || {
            let mut reader = BufReader::new(stdout.expect("it is piped"));
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    return;
                }
                line.clear();
            }
        });
        let complaints = Arc::new(Mutex::new(String::new()));
        let into = complaints.clone();
        let err = std::thread::spawn(move || {
            let (mut reader, mut part) = (stderr.expect("it is piped"), [0; 4096]);
            while let Ok(count @ 1..) = reader.read(&mut part) {
                into.lock().expect("nobody panics with it").push_str(&String::from_utf8_lossy(&part[..count]));
            }
        });
        let deadline = Instant::now() + self.patience;
        let readers = vec![out, err];
        Running { child, name, deadline, lines, seen: String::new(), stdin, stderr: complaints, readers }
    }

    /// Starts it and waits for its end, with nothing on its standard input.
    pub fn run(&self) -> Finished {
        self.spawn().finish()
    }
}

impl Running {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes a line to its standard input.
    pub fn say(&mut self, line: &str) {
        let name = &self.name;
        let stdin = self.stdin.as_mut().expect("it was not closed");
        writeln!(stdin, "{line}").unwrap_or_else(|e| panic!("{name}: {e}"));
    }

    /// Closes its standard input.
    pub fn hush(&mut self) {
        self.stdin = None;
    }

    /// The next line it prints, without its end; none when it printed all it ever will, or when
    /// its time is up.
    pub fn line(&mut self) -> Option<String> {
        self.line_within(self.deadline.saturating_duration_since(Instant::now()))
    }

    /// As `line`, or none when nothing came for that long.
    pub fn line_within(&mut self, patience: Duration) -> Option<String> {
        let line = self.lines.recv_timeout(patience).ok()?;
        self.seen.push_str(&line);
        Some(line.trim_end_matches('\n').to_owned())
    }

    /// Reads lines until one begins with `start`, and returns that. Panics, with everything it
    /// printed, when there is none.
    pub fn expect_line(&mut self, start: &str) -> String {
        while let Some(line) = self.line() {
            if line.starts_with(start) {
                return line;
            }
        }
        panic!("{} did not print {start:?}:\n{}{}", self.name, self.seen, self.complaints());
    }

    /// What it has printed on standard error so far.
    pub fn complaints(&self) -> String {
        self.stderr.lock().expect("nobody panics with it").clone()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Sends a signal to the program itself. False when it has ended.
    pub fn signal(&mut self, signal: Signal) -> bool {
        self.ended().is_none() && kill(Pid::from_raw(self.child.id() as i32), signal).is_ok()
    }

    /// Waits for its end, at most until its time is up or for `patience`. None when it still runs.
    pub fn wait_within(&mut self, patience: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(status) = self.ended() {
                return Some(status);
            }
            if Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Closes its standard input and waits for its end; it is killed when its time is up.
    pub fn finish(mut self) -> Finished {
        self.stdin = None;
        let mut status = self.wait_within(self.deadline.saturating_duration_since(Instant::now()));
        if status.is_none() {
            self.seen_rest(Duration::ZERO);
            self.seen.push_str("(still running when its time was up)\n");
        }
        self.end_group();
        if status.is_some() {
            status = self.child.wait().ok();
            self.seen_rest(Duration::from_secs(5));
        }
        self.readers_end(Duration::from_secs(5));
        let (stdout, stderr) = (std::mem::take(&mut self.seen), self.complaints());
        Finished { status, stdout, stderr }
    }

    fn seen_rest(&mut self, patience: Duration) {
        loop {
            match self.lines.recv_timeout(patience) {
                Ok(line) => self.seen.push_str(&line),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Waits for the threads that read its pipes. Those are closed once its group has ended,
    /// unless a grandchild left the group and keeps them.
    fn readers_end(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline && self.readers.iter().any(|reader| !reader.is_finished()) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn end_group(&mut self) {
        // A group that is gone needs no signal.
        let _gone = killpg(Pid::from_raw(self.child.id() as i32), Signal::SIGKILL);
        let _status = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stdin = None;
        self.end_group();
        self.readers_end(Duration::from_secs(1));
    }
}

impl Finished {
    /// Exit code; none when a signal ended it or time was up.
    pub fn code(&self) -> Option<i32> {
        self.status?.code()
    }

    /// The signal that ended it.
    pub fn signal(&self) -> Option<i32> {
        self.status?.signal()
    }

    /// Panics with everything it printed unless it ended with exit code 0.
    pub fn expect_success(&self) -> &Finished {
        assert!(self.code() == Some(0), "{:?}\n{}{}", self.status, self.stdout, self.stderr);
        self
    }
}
