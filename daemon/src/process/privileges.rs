//! What the daemon asks of the system for itself: descriptors, memory that is not swapped
//! out, a scheduling class. All of it makes things better and none is needed, so a refusal
//! is a message.

use std::path::Path;

use nix::sys::mman::{mlockall, MlockAllFlags};
use nix::sys::resource::{getrlimit, setrlimit, Resource, RLIM_INFINITY};

use crate::config::{RootCgroup, SystemConfig};
use crate::log::{self, Subsystem};
use crate::sys::scheduling::{set_nice, set_round_robin};

/// Descriptors that do not belong to clients.
const OWN_DESCRIPTORS: u64 = 64;
/// Descriptors for a client that is there, and one in its handshake.
const CLIENT_DESCRIPTORS: u64 = 2;

/// Does what the configuration asks for. Call it in the thread of the event loop, after the
/// log's thread was started, which keeps the ordinary class.
pub fn prepare(config: &SystemConfig, clients_max: usize) {
    descriptors(clients_max as u64 * CLIENT_DESCRIPTORS + OWN_DESCRIPTORS);
    if config.lock_memory {
        lock_memory();
    }
    if config.root_cgroup == RootCgroup::Yes {
        leave_cgroup();
    }
    if config.round_robin {
        round_robin(config.root_cgroup);
    } else if config.priority != 0 {
        if let Err(error) = set_nice(config.priority.clamp(-20, 19)) {
            log::warning!(Subsystem::Main, "Could not set priority {}: {error}", config.priority);
        }
    }
}

fn descriptors(wanted: u64) {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return };
    if soft >= wanted {
        return;
    }
    if setrlimit(Resource::RLIMIT_NOFILE, wanted, hard.max(wanted)).is_ok() {
        return;
    }
    let reachable = hard.min(wanted);
    if setrlimit(Resource::RLIMIT_NOFILE, reachable, hard).is_err() || reachable < wanted {
        log::warning!(Subsystem::Main, "Only {reachable} descriptors can be open, {wanted} are needed for all clients");
    }
}

fn lock_memory() {
    if setrlimit(Resource::RLIMIT_MEMLOCK, RLIM_INFINITY, RLIM_INFINITY).is_err() {
        // With a limit in force, locking would make later allocations fail.
        log::info!(Subsystem::Main, "Memory is not locked: the limit of locked memory cannot be raised");
        return;
    }
    // On fault only: the rings of clients are large and mostly untouched.
    let how =
        MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE | MlockAllFlags::from_bits_retain(libc::MCL_ONFAULT);
    if let Err(error) = mlockall(how) {
        log::warning!(Subsystem::Main, "Could not lock memory: {error}");
    }
}

fn round_robin(cgroup: RootCgroup) {
    let mut outcome = set_round_robin();
    if outcome.is_err() && cgroup == RootCgroup::Auto && leave_cgroup() {
        outcome = set_round_robin();
    }
    match outcome {
        Ok(priority) => log::info!(Subsystem::Main, "Scheduling class SCHED_RR, priority {priority}"),
        Err(error) => {
            log::warning!(Subsystem::Main, "Could not set scheduling class SCHED_RR: {error}");
            if let Err(error) = set_nice(-20) {
                log::info!(Subsystem::Main, "Could not raise the priority either: {error}");
            }
        }
    }
}

/// Moves the process to the root control group: groups without real-time time of their own
/// refuse the class. True when it was moved.
fn leave_cgroup() -> bool {
    let pid = std::process::id().to_string();
    let files = ["/sys/fs/cgroup/cpu/tasks", "/sys/fs/cgroup/cgroup.procs"];
    let moved = files.iter().filter(|file| Path::new(file).exists()).any(|file| std::fs::write(file, &pid).is_ok());
    if !moved {
        log::info!(Subsystem::Main, "Could not move to the root control group");
    }
    moved
}
