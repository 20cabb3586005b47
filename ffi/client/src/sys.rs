//! System calls that must not be cancellation points, one per function.
//!
//! libc's `send`, `recv`, `poll`, `close`, ... let pthread_cancel unwind out of them, which no
//! Rust frame under a guard survives. The raw calls do not.

use std::io;
use std::os::fd::{IntoRawFd, OwnedFd, RawFd};
use std::time::Duration;

extern "C" {
    fn pthread_setcancelstate(state: libc::c_int, old: *mut libc::c_int) -> libc::c_int;
}

const CANCEL_DISABLE: libc::c_int = 1;

/// A number that tells the running threads of a process apart, never 0.
pub fn thread_mark() -> usize {
    thread_local! {
        static MARK: u8 = const { 0 };
    }
    // A thread that ends has no place any more; it counts as nobody's thread.
    MARK.try_with(|mark| std::ptr::from_ref(mark) as usize).unwrap_or(usize::MAX)
}

/// The processor that the thread runs on; a hint.
pub fn processor() -> u32 {
    // SAFETY: takes no pointer.
    u32::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(u32::MAX - 1)
}

/// While it lives, this thread is not cancelled.
pub struct CancelHeld(libc::c_int);

impl CancelHeld {
    /// Holds cancellation off.
    pub fn new() -> CancelHeld {
        let mut old = 0;
        // SAFETY: sets a flag of this thread and writes the old one to our stack.
        unsafe { pthread_setcancelstate(CANCEL_DISABLE, &raw mut old) };
        CancelHeld(old)
    }
}

impl Drop for CancelHeld {
    fn drop(&mut self) {
        let mut old = 0;
        // SAFETY: restores the flag of this thread.
        unsafe { pthread_setcancelstate(self.0, &raw mut old) };
    }
}

/// A socket whose closing is not a cancellation point: any call can hold the last reference.
pub struct Socket(RawFd);

impl Socket {
    /// Takes the descriptor over.
    pub fn new(fd: OwnedFd) -> Socket {
        Socket(fd.into_raw_fd())
    }

    /// The descriptor, ours as long as `self` lives.
    pub fn fd(&self) -> RawFd {
        self.0
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours and nobody uses it after this.
        unsafe { libc::syscall(libc::SYS_close, self.0) };
    }
}

fn check(result: libc::c_long) -> io::Result<usize> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result as usize)
}

/// Sends one byte without blocking and without SIGPIPE.
pub fn send_byte(fd: RawFd, byte: u8) -> io::Result<()> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: one byte of our stack is read.
    check(unsafe { libc::syscall(libc::SYS_sendto, fd, &raw const byte, 1usize, flags, 0usize, 0usize) })?;
    Ok(())
}

/// Receives one byte if there is one: `Ok(0)` is the end of the stream.
pub fn receive_byte(fd: RawFd) -> io::Result<usize> {
    let mut byte = 0u8;
    // SAFETY: at most one byte of our stack is written.
    check(unsafe { libc::syscall(libc::SYS_recvfrom, fd, &raw mut byte, 1usize, libc::MSG_DONTWAIT, 0usize, 0usize) })
}

/// Waits until the socket is readable or hung up; returns the poll events (0 after the timeout).
pub fn poll_in(fd: RawFd, timeout_ms: i32) -> i16 {
    let mut entry = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let timeout = libc::timespec {
        tv_sec: libc::time_t::from(timeout_ms / 1000),
        tv_nsec: libc::c_long::from(timeout_ms % 1000) * 1_000_000,
    };
    // SAFETY: the entry and the timeout live on our stack.
    let result = unsafe { libc::syscall(libc::SYS_ppoll, &raw mut entry, 1usize, &raw const timeout, 0usize, 0usize) };
    if result > 0 {
        entry.revents
    } else {
        0
    }
}

/// Whether the other end of the socket is gone.
pub fn hung_up(fd: RawFd) -> bool {
    poll_in(fd, 0) & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0
}

/// A clock that is cheap and coarse (a few milliseconds): for deciding when to look again.
pub fn coarse_now() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to our stack.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Some bits that differ from process to process.
pub fn entropy() -> u32 {
    let mut bits = 0u32;
    // SAFETY: at most four bytes of our stack are written.
    let got = unsafe { libc::syscall(libc::SYS_getrandom, &raw mut bits, 4usize, libc::GRND_NONBLOCK) };
    if got == 4 {
        bits
    } else {
        std::process::id().wrapping_mul(0x9e37_79b1) | 1
    }
}

/// The value of an environment variable, unless this is a set-uid or set-gid program.
pub fn secure_env(name: &std::ffi::CStr) -> Option<Vec<u8>> {
    extern "C" {
        fn secure_getenv(name: *const libc::c_char) -> *const libc::c_char;
    }
    // SAFETY: the name ends with NUL; the result, if any, is a C string that stays valid until
    // the environment is changed, and is copied at once.
    unsafe {
        let value = secure_getenv(name.as_ptr());
        (!value.is_null()).then(|| std::ffi::CStr::from_ptr(value).to_bytes().to_vec())
    }
}
