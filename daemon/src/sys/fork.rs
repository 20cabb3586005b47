//! Forking, while the process has one thread only.

use std::io;

use nix::unistd::{fork as nix_fork, ForkResult};

/// Forks. `Some(pid)` in the parent, `None` in the child.
///
/// Refused when the process has more than one thread: locks that another thread holds would
/// stay locked in the child for ever.
pub fn fork() -> io::Result<Option<i32>> {
    if threads()? != 1 {
        return Err(io::Error::other("a process with several threads must not fork"));
    }
    // SAFETY: this is the only thread (checked above), so the child may do everything the
    // parent may.
    match unsafe { nix_fork() }? {
        ForkResult::Parent { child } => Ok(Some(child.as_raw())),
        ForkResult::Child => Ok(None),
    }
}

/// Number of threads of this process.
fn threads() -> io::Result<usize> {
    Ok(std::fs::read_dir("/proc/self/task")?.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_threads_are_refused() {
        // The test harness runs every test in a thread of its own.
        if threads().expect("/proc is there") > 1 {
            assert!(fork().is_err());
        }
    }
}
