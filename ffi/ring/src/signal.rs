//! Who wakes whom: the two-word handshake behind every doorbell.
//!
//! A sleeper announces itself in a flag, then looks once more whether there is work; a waker
//! publishes its work, then looks at the flag. Each puts a full fence between its store and
//! its load (Dekker), so at least one of them sees the other; whoever swaps the flag from 1
//! to 0 owns the wake-up, so it happens once. `tests/loom.rs` explores every interleaving.

#[cfg(loom)]
use loom::sync::atomic::{fence, AtomicU32, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{fence, AtomicU32, Ordering};

/// Waker: makes `value` visible in `position`, then says whether the sleeper must be woken
/// (true once per announcement).
pub fn publish(position: &AtomicU32, value: u32, flag: &AtomicU32) -> bool {
    position.store(value, Ordering::Release);
    must_wake(flag)
}

/// Waker: whether the sleeper must be woken for what was published before (true once per
/// announcement).
pub fn must_wake(flag: &AtomicU32) -> bool {
    fence(Ordering::SeqCst);
    flag.load(Ordering::Relaxed) != 0 && flag.swap(0, Ordering::AcqRel) != 0
}

/// Sleeper: announces that it is about to sleep, then says what the position holds now. When
/// that is work, take the announcement back with [`withdraw`] and do not sleep.
pub fn announce(flag: &AtomicU32, position: &AtomicU32) -> u32 {
    // A swap though nobody looks at the old value: loom takes a store beside another thread's
    // swap for one that the swap may overwrite unseen, and would explore what cannot be.
    flag.swap(1, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    position.load(Ordering::Acquire)
}

/// Sleeper: takes an announcement back. True: nobody had seen it. False: a waker has seen it
/// and its wake-up is done or on its way.
pub fn withdraw(flag: &AtomicU32) -> bool {
    flag.swap(0, Ordering::AcqRel) != 0
}
