//! The fence between C and Rust: no panic and no cancellation goes through.
//!
//! A forced unwind (pthread_cancel) that meets `catch_unwind` or a live destructor aborts the
//! process. So cancellation is held off while Rust code runs; calls that may block for long
//! wait outside, in the entry point itself, where nothing needs to be destroyed.

use std::panic::{catch_unwind, AssertUnwindSafe};

use crate::code;
use crate::sys::CancelHeld;

/// Runs `body` with cancellation held off; a panic becomes `CS_ERR_LIBRARY`.
pub fn guard(body: impl FnOnce() -> u32) -> u32 {
    let _held = CancelHeld::new();
    guard_quick(body)
}

/// As [`guard`], for bodies that contain no cancellation point (see pthreads(7)): memory,
/// atomics, futexes and raw system calls only.
pub fn guard_quick(body: impl FnOnce() -> u32) -> u32 {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(code::LIBRARY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_becomes_library_error() {
        assert_eq!(guard(|| panic!("inside")), code::LIBRARY);
        assert_eq!(guard(|| code::OK), code::OK);
    }
}
