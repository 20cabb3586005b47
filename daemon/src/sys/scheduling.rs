//! Scheduling class and niceness of the calling thread.

use std::io;

use nix::sched::{sched_getaffinity, sched_setaffinity, CpuSet};
use nix::unistd::Pid;

/// Puts the calling thread into the round-robin real-time class at its highest priority, and
/// returns that priority. Threads started later go back to the ordinary class.
pub fn set_round_robin() -> io::Result<i32> {
    // SAFETY: takes no pointer.
    let priority = unsafe { libc::sched_get_priority_max(libc::SCHED_RR) };
    if priority == -1 {
        return Err(io::Error::last_os_error());
    }
    let param = libc::sched_param { sched_priority: priority };
    // SAFETY: `param` lives over the call, 0 names the calling thread.
    let answer = unsafe { libc::sched_setscheduler(0, libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, &param) };
    if answer == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(priority)
}

/// The processor that the calling thread runs on.
pub fn processor() -> Option<usize> {
    nix::sched::sched_getcpu().ok()
}

/// Moves the calling thread off the processor it is on, to another one that it may use; it
/// may come back later. Without another one it stays.
pub fn step_aside() -> io::Result<()> {
    let this = Pid::from_raw(0);
    let here = nix::sched::sched_getcpu()?;
    let allowed = sched_getaffinity(this)?;
    let mut others = allowed;
    others.unset(here)?;
    if (0..CpuSet::count()).any(|cpu| others.is_set(cpu) == Ok(true)) {
        sched_setaffinity(this, &others)?;
        sched_setaffinity(this, &allowed)?;
    }
    Ok(())
}

/// Sets the niceness of the calling thread, -20 (most favoured) to 19.
pub fn set_nice(nice: i32) -> io::Result<()> {
    // SAFETY: takes no pointer; 0 names the calling thread.
    let answer = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
    if answer == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stepping_aside_keeps_what_is_allowed() {
        let this = Pid::from_raw(0);
        let before = sched_getaffinity(this).expect("it can be asked");
        step_aside().expect("threads may move");
        assert_eq!(sched_getaffinity(this).expect("it can be asked"), before);
    }

    #[test]
    fn a_thread_may_always_be_nicer() {
        std::thread::spawn(|| set_nice(19)).join().expect("no panic").expect("raising the nice value is allowed");
    }
}
