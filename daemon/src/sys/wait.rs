//! Waiting with a timeout finer than a millisecond.

use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollEvent, EpollTimeout};

/// Whether the kernel has been found to lack the call (Linux before 5.11).
static MISSING: AtomicBool = AtomicBool::new(false);

/// Waits for events, at most `timeout` (`None`: for ever); returns how many there are.
pub fn epoll_wait(epoll: &Epoll, events: &mut [EpollEvent], timeout: Option<Duration>) -> nix::Result<usize> {
    if timeout == Some(Duration::ZERO) || timeout.is_none() || MISSING.load(Ordering::Relaxed) {
        return epoll.wait(events, rounded(timeout));
    }
    match fine(epoll, events, timeout.unwrap_or_default()) {
        Err(Errno::ENOSYS) => {
            MISSING.store(true, Ordering::Relaxed);
            epoll.wait(events, rounded(timeout))
        }
        other => other,
    }
}

fn rounded(timeout: Option<Duration>) -> EpollTimeout {
    let Some(timeout) = timeout else { return EpollTimeout::NONE };
    let ms = timeout.as_nanos().div_ceil(1_000_000).min(60_000);
    EpollTimeout::try_from(ms as u64).unwrap_or(EpollTimeout::ZERO)
}

fn fine(epoll: &Epoll, events: &mut [EpollEvent], timeout: Duration) -> nix::Result<usize> {
    let time = libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    let len = libc::c_int::try_from(events.len()).unwrap_or(libc::c_int::MAX);
    let none: *const libc::sigset_t = std::ptr::null();
    // SAFETY: `EpollEvent` has the layout of `epoll_event`; the kernel writes at most `len` of
    // them, reads the time, and with no mask its size is not looked at.
    let count = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait2,
            epoll.0.as_raw_fd(),
            events.as_mut_ptr(),
            len,
            std::ptr::from_ref(&time),
            none,
            0usize,
        )
    };
    Errno::result(count).map(|count| count as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::epoll::EpollCreateFlags;

    #[test]
    fn short_waits_are_short() {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).expect("epoll is there");
        let mut events = [EpollEvent::empty(); 4];
        let start = std::time::Instant::now();
        assert_eq!(epoll_wait(&epoll, &mut events, Some(Duration::from_micros(300))), Ok(0));
        assert!(start.elapsed() >= Duration::from_micros(300));
        assert_eq!(epoll_wait(&epoll, &mut events, Some(Duration::ZERO)), Ok(0));
    }
}
