//! Places for the state of dispatches, which a thread that ends without returning leaves tidy.
//!
//! A dispatch calls back and waits with nothing to destroy in its frame, since a thread may be
//! cancelled there (see `guard.rs`). So its state lies in a place that belongs to the thread, and
//! the thread's end cleans up what is still under way: nothing is lost by a cancelled thread, nor
//! by one whose callback calls pthread_exit. Callbacks may dispatch another handle: a thread has
//! as many places as it needed at a time.
//!
//! The child of a fork inside a callback has the turn, too, and most such children end soon. What
//! the callback holds is the parent's, so a child leaves alone what its parent had under way.

use std::cell::RefCell;
use std::ptr::NonNull;
use std::thread::LocalKey;

use crate::{code, guard_quick};

/// How often a dispatch of all goes on because something came just as it was about to return.
pub const AGAIN_MAX: u32 = 64;

/// The state of one call of dispatch.
pub trait Turn {
    /// Not under way: nothing to clean up, and the place can be used again.
    fn is_over(&self) -> bool;
    /// Its thread ends without returning to it.
    fn abandon(&mut self);
}

/// The places of a thread; for a `thread_local`.
pub struct Turns<T: Turn>(RefCell<Places<T>>);

struct Places<T> {
    /// The process that the turns are of; known from the first one on.
    process: u32,
    all: Vec<NonNull<T>>,
}

impl<T: Turn> Default for Turns<T> {
    fn default() -> Turns<T> {
        Turns::new()
    }
}

impl<T: Turn> Turns<T> {
    /// None yet.
    pub const fn new() -> Turns<T> {
        Turns(RefCell::new(Places { process: 0, all: Vec::new() }))
    }

    /// Puts `turn` into a place that is free. It must have begun before the next one is put.
    pub fn put(&self, turn: T) -> NonNull<T> {
        let mut places = self.0.borrow_mut();
        for place in &places.all {
            // SAFETY: from a box, freed by nobody but our drop; a turn that is over is not in use.
            unsafe {
                if place.as_ref().is_over() {
                    place.write(turn);
                    return *place;
                }
            }
        }
        let place = NonNull::from(Box::leak(Box::new(turn)));
        if places.all.is_empty() {
            places.process = std::process::id();
        }
        places.all.push(place);
        place
    }
}

impl<T: Turn> Drop for Turns<T> {
    fn drop(&mut self) {
        let places = self.0.get_mut();
        if places.all.is_empty() || places.process != std::process::id() {
            return;
        }
        for place in places.all.drain(..) {
            // SAFETY: from a box, and the thread that used it is at its end.
            let mut turn = unsafe { Box::from_raw(place.as_ptr()) };
            if !turn.is_over() {
                turn.abandon();
            }
        }
    }
}

/// A turn in its place, to be used by the call that began it, until it is over.
pub struct Active<T>(NonNull<T>);

impl<T> Clone for Active<T> {
    fn clone(&self) -> Active<T> {
        *self
    }
}

impl<T> Copy for Active<T> {}

impl<T: Turn + Copy + 'static> Active<T> {
    /// Makes a turn and puts it into a place of this thread.
    pub fn begin(turns: &'static LocalKey<Turns<T>>, turn: impl FnOnce() -> Result<T, u32>) -> Result<Active<T>, u32> {
        let mut begun = Err(code::LIBRARY);
        guard_quick(|| {
            begun = turn().map(|turn| {
                let put = turns.try_with(|turns| turns.put(turn));
                // Dispatching while the thread ends is allowed; that place is never freed.
                Active(put.unwrap_or_else(|_| NonNull::from(Box::leak(Box::new(turn)))))
            });
            code::OK
        });
        begun
    }

    /// The turn.
    pub fn turn(&mut self) -> &mut T {
        // SAFETY: a place is used by one turn at a time, and by its own thread.
        unsafe { self.0.as_mut() }
    }
}

extern "C-unwind" {
    /// Cancellation may unwind out of it, hence not the libc crate's.
    fn poll(fds: *mut libc::pollfd, nfds: libc::nfds_t, timeout: std::ffi::c_int) -> std::ffi::c_int;
}

/// Waits until the descriptor is readable. A signal ends the wait early, which is harmless. To be
/// called from the entry point's own frame: a thread can be cancelled here.
pub fn wait(fd: i32) {
    let mut entry = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry on our stack.
    unsafe { poll(&raw mut entry, 1, -1) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::Arc;

    struct Counted(Option<Arc<AtomicU32>>);

    impl Turn for Counted {
        fn is_over(&self) -> bool {
            self.0.is_none()
        }

        fn abandon(&mut self) {
            if let Some(count) = self.0.take() {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    thread_local! {
        static TURNS: Turns<Counted> = const { Turns::new() };
    }

    #[test]
    fn what_is_under_way_at_the_end_of_a_thread_is_abandoned() {
        let count = Arc::new(AtomicU32::new(0));
        let given = Arc::clone(&count);
        let thread = std::thread::spawn(move || {
            TURNS.with(|turns| {
                let mut first = turns.put(Counted(Some(Arc::clone(&given))));
                let second = turns.put(Counted(Some(Arc::clone(&given))));
                assert_ne!(first, second);
                // SAFETY: a place of this thread.
                unsafe { first.as_mut() }.0 = None;
                assert_eq!(turns.put(Counted(Some(given))), first);
            });
        });
        thread.join().expect("no panic");
        assert_eq!(count.load(Ordering::Relaxed), 2);
    }
}
