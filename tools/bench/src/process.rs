//! What `/proc` says about a process, and a child that never outlives its owner.

use nix::sys::signal::{killpg, Signal};
use nix::unistd::Pid;
use std::fs;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// A child that leads a process group of its own; dropping it ends the whole group.
pub struct Owned(pub Child);

impl Owned {
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// The exit status, if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().ok().flatten()
    }

    fn signal(&self, signal: Signal) {
        // a group that is gone needs no signal
        killpg(Pid::from_raw(self.0.id() as i32), signal).ok();
    }

    /// Asks it to end, and makes it end after `patience`. True when it ended by itself.
    pub fn stop(&mut self, patience: Duration) -> bool {
        if self.ended().is_some() {
            return true;
        }
        self.signal(Signal::SIGTERM);
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            if self.ended().is_some() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.signal(Signal::SIGKILL);
        self.0.wait().ok();
        false
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.stop(Duration::from_secs(5));
        // children of the child that it left behind
        self.signal(Signal::SIGKILL);
    }
}

/// Scheduling class and priority, as a person would say it.
pub fn scheduling(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // fields are counted behind the name, which may hold anything
    let fields: Vec<&str> = stat.get(stat.rfind(')')? + 2..)?.split(' ').collect();
    let priority = fields.get(37)?;
    let policy: u32 = fields.get(38)?.parse().ok()?;
    Some(match policy {
        0 => "SCHED_OTHER".to_owned(),
        1 => format!("SCHED_FIFO {priority}"),
        2 => format!("SCHED_RR {priority}"),
        3 => "SCHED_BATCH".to_owned(),
        5 => "SCHED_IDLE".to_owned(),
        6 => "SCHED_DEADLINE".to_owned(),
        other => format!("class {other}"),
    })
}

/// Resident memory in KiB.
pub fn resident_kib(pid: u32) -> Option<f64> {
    status_field(&format!("/proc/{pid}/status"), "VmRSS:")
}

/// How often the threads of a process went to sleep so far: each is one wake-up later.
pub fn sleeps(pid: u32) -> Option<f64> {
    let mut sum = 0.0;
    for task in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        // a thread may end between the two reads
        sum += status_field(&task.path().join("status").to_string_lossy(), "voluntary_ctxt_switches:").unwrap_or(0.0);
    }
    Some(sum)
}

fn status_field(path: &str, name: &str) -> Option<f64> {
    let text = fs::read_to_string(path).ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The processes that run this program.
pub fn running(program: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == std::path::Path::new(program)) {
            found.push(pid);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_can_be_read() {
        let pid = std::process::id();
        assert!(scheduling(pid).is_some_and(|class| class.starts_with("SCHED_")));
        assert!(resident_kib(pid).is_some_and(|kib| kib > 100.0));
        assert!(sleeps(pid).is_some());
        let exe = std::env::current_exe().expect("an executable");
        assert!(running(&exe.to_string_lossy()).contains(&pid));
    }
}
