//! C types that several libraries share: error codes, dispatch flags, service numbers.
//!
//! The files are also what the headers `corosync/corotypes.h` and `corosync/corodefs.h` are
//! generated from, so names and order are the C side's. Types of one library alone live with
//! that library.

#![allow(non_camel_case_types)]

pub mod corodefs;
pub mod corotypes;

use std::mem::MaybeUninit;

pub use corotypes::{cs_dispatch_flags_t, cs_error_t};

/// An enum of C as wide as an `int`.
///
/// # Safety
///
/// The type must be an enum with `repr(C)` and have four bytes.
pub unsafe trait CEnum: Copy {}

// SAFETY: a `repr(C)` enum of four bytes, checked below.
unsafe impl CEnum for cs_error_t {}
// SAFETY: a `repr(C)` enum of four bytes, checked below.
unsafe impl CEnum for cs_dispatch_flags_t {}
const _: () = assert!(size_of::<cs_error_t>() == 4 && size_of::<cs_dispatch_flags_t>() == 4);

/// The number that C passed as an enum. Any number can come, so it never becomes a Rust enum.
///
/// # Safety
///
/// `value` is initialized, as every argument of a C call is.
pub unsafe fn number<T: CEnum>(value: MaybeUninit<T>) -> u32 {
    // SAFETY: four initialized bytes, by the trait's and this function's contracts.
    unsafe { std::mem::transmute_copy::<MaybeUninit<T>, u32>(&value) }
}
