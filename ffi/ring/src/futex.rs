//! Sleeping on a word of shared memory, across processes.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps until `word` is woken, no longer holds `expected`, or `timeout` has passed. May
/// return early; callers look again. Not a cancellation point.
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout: Duration) {
    let time = libc::timespec {
        tv_sec: timeout.as_secs().min(i32::MAX as u64) as libc::time_t,
        tv_nsec: timeout.subsec_nanos() as libc::c_long,
    };
    // SAFETY: the word outlives the call, FUTEX_WAIT only reads it; `time` lives on this stack.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, expected, &raw const time);
    }
}

/// Wakes every sleeper on `word`.
pub fn futex_wake(word: &AtomicU32) {
    // SAFETY: FUTEX_WAKE uses the address as a key only.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX);
    }
}
