//! Scheduling class and niceness of the calling thread.

use std::io;

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
    fn a_thread_may_always_be_nicer() {
        std::thread::spawn(|| set_nice(19)).join().expect("no panic").expect("raising the nice value is allowed");
    }
}
