//! Locks that a fork leaves behind.
//!
//! A child has only the thread that forked. What another thread of the parent had locked then
//! stays locked in the child for ever, and what the lock guards may be half changed, so it
//! cannot be broken. In the process that made a connection a thread waits as long as it takes;
//! in a child it waits for a second and then gives up.

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

/// How long a child waits for a lock: its own threads hold none for that long, but in a call
/// that waits for the daemon.
pub const CHILD_WAIT: Duration = Duration::from_secs(1);

/// The process that made a connection.
pub struct Owner(u32);

impl Owner {
    /// This process.
    pub fn new() -> Owner {
        Owner(std::process::id())
    }

    /// Waits for a lock that is taken.
    #[cold]
    pub fn lock_contended<'a, T>(&self, mutex: &'a Mutex<T>) -> Option<MutexGuard<'a, T>> {
        if std::process::id() == self.0 {
            return Some(mutex.lock());
        }
        mutex.try_lock_for(CHILD_WAIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_does_not_wait_for_ever() {
        let mutex = Mutex::new(());
        let held = mutex.lock();
        assert!(Owner(0).lock_contended(&mutex).is_none());
        drop(held);
        assert!(Owner(0).lock_contended(&mutex).is_some());
        assert!(Owner::new().lock_contended(&mutex).is_some());
    }
}
