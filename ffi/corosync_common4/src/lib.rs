//! `libcorosync_common.so.4`: error codes and their texts, entry points only.
//!
//! Nothing here can fail or take a pointer, so there is no guard.

mod errno;
mod text;

use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;

use evensong_types::{cs_error_t, number};

/// Turns a result of the libqb kind (0 or more: fine, negative: minus an errno) into an
/// error code.
#[no_mangle]
pub extern "C" fn qb_to_cs_error(result: c_int) -> cs_error_t {
    errno::from_qb(result)
}

/// Text of an error code; never NULL, not to be freed.
#[no_mangle]
pub extern "C" fn cs_strerror(err: MaybeUninit<cs_error_t>) -> *const c_char {
    // SAFETY: arguments of a C call are initialized.
    let number = unsafe { number(err) };
    text::text(number).as_ptr()
}

/// Turns a result of the handle database of `corosync/hdb.h` (0 or minus an errno) into an
/// error code.
#[no_mangle]
pub extern "C" fn hdb_error_to_cs(res: c_int) -> cs_error_t {
    errno::from_hdb(res)
}
