//! Types of `corosync/corotypes.h`: error codes, dispatch flags, names, versions.

use std::ffi::{c_char, c_uchar};

/// A point in time or a span, in nanoseconds.
pub type cs_time_t = i64;

/// Longest name in a `cs_name_t`, in bytes.
pub const CS_MAX_NAME_LENGTH: usize = 256;

/// A name: a length and that many bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cs_name_t {
    /// Bytes of `value` in use.
    pub length: u16,
    /// The bytes, not ended by a NUL.
    pub value: [u8; CS_MAX_NAME_LENGTH],
}

/// A version: a letter and two numbers.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_snake_case)]
pub struct cs_version_t {
    /// Release letter.
    pub releaseCode: c_char,
    /// Major number.
    pub majorVersion: c_uchar,
    /// Minor number.
    pub minorVersion: c_uchar,
}

/// How much a dispatch call does, and whether it waits.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum cs_dispatch_flags_t {
    /// Wait for one event and hand it out.
    CS_DISPATCH_ONE = 1,
    /// Hand out what is there, without waiting.
    CS_DISPATCH_ALL = 2,
    /// Hand out events until the handle is finalized.
    CS_DISPATCH_BLOCKING = 3,
    /// Hand out one event if there is one, else return `CS_ERR_TRY_AGAIN`.
    CS_DISPATCH_ONE_NONBLOCKING = 4,
}

/// Tracking: tell the present state.
pub const CS_TRACK_CURRENT: u32 = 1;
/// Tracking: tell every change, with all members.
pub const CS_TRACK_CHANGES: u32 = 2;
/// Tracking: tell every change, with the changed members only.
pub const CS_TRACK_CHANGES_ONLY: u32 = 4;

/// Result of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum cs_error_t {
    /// The call succeeded.
    CS_OK = 1,
    /// The daemon is not there, went away, or something failed inside the library.
    CS_ERR_LIBRARY = 2,
    /// Version not supported.
    CS_ERR_VERSION = 3,
    /// Initialization failed.
    CS_ERR_INIT = 4,
    /// Time ran out.
    CS_ERR_TIMEOUT = 5,
    /// Not possible just now; the same call may succeed later.
    CS_ERR_TRY_AGAIN = 6,
    /// An argument is wrong.
    CS_ERR_INVALID_PARAM = 7,
    /// Out of memory.
    CS_ERR_NO_MEMORY = 8,
    /// The handle is unknown or finalized.
    CS_ERR_BAD_HANDLE = 9,
    /// In use by someone else.
    CS_ERR_BUSY = 10,
    /// Not permitted.
    CS_ERR_ACCESS = 11,
    /// What was named does not exist.
    CS_ERR_NOT_EXIST = 12,
    /// A name is longer than allowed.
    CS_ERR_NAME_TOO_LONG = 13,
    /// It exists already.
    CS_ERR_EXIST = 14,
    /// No space.
    CS_ERR_NO_SPACE = 15,
    /// Interrupted.
    CS_ERR_INTERRUPT = 16,
    /// No such name.
    CS_ERR_NAME_NOT_FOUND = 17,
    /// Out of some resource.
    CS_ERR_NO_RESOURCES = 18,
    /// Not supported.
    CS_ERR_NOT_SUPPORTED = 19,
    /// The operation is not allowed here.
    CS_ERR_BAD_OPERATION = 20,
    /// The operation failed.
    CS_ERR_FAILED_OPERATION = 21,
    /// A message is damaged.
    CS_ERR_MESSAGE_ERROR = 22,
    /// A queue is full.
    CS_ERR_QUEUE_FULL = 23,
    /// A queue is not available.
    CS_ERR_QUEUE_NOT_AVAILABLE = 24,
    /// Unknown or conflicting flags.
    CS_ERR_BAD_FLAGS = 25,
    /// Larger than the limit.
    CS_ERR_TOO_BIG = 26,
    /// Nothing left to go through.
    CS_ERR_NO_SECTIONS = 27,
    /// No such context.
    CS_ERR_CONTEXT_NOT_FOUND = 28,
    /// More groups than allowed.
    CS_ERR_TOO_MANY_GROUPS = 30,
    /// Refused for security reasons.
    CS_ERR_SECURITY = 100,
}

impl cs_error_t {
    /// The code with this number; numbers that no code has become `CS_ERR_LIBRARY`.
    pub fn from_number(number: u32) -> cs_error_t {
        match number {
            1 => cs_error_t::CS_OK,
            3 => cs_error_t::CS_ERR_VERSION,
            4 => cs_error_t::CS_ERR_INIT,
            5 => cs_error_t::CS_ERR_TIMEOUT,
            6 => cs_error_t::CS_ERR_TRY_AGAIN,
            7 => cs_error_t::CS_ERR_INVALID_PARAM,
            8 => cs_error_t::CS_ERR_NO_MEMORY,
            9 => cs_error_t::CS_ERR_BAD_HANDLE,
            10 => cs_error_t::CS_ERR_BUSY,
            11 => cs_error_t::CS_ERR_ACCESS,
            12 => cs_error_t::CS_ERR_NOT_EXIST,
            13 => cs_error_t::CS_ERR_NAME_TOO_LONG,
            14 => cs_error_t::CS_ERR_EXIST,
            15 => cs_error_t::CS_ERR_NO_SPACE,
            16 => cs_error_t::CS_ERR_INTERRUPT,
            17 => cs_error_t::CS_ERR_NAME_NOT_FOUND,
            18 => cs_error_t::CS_ERR_NO_RESOURCES,
            19 => cs_error_t::CS_ERR_NOT_SUPPORTED,
            20 => cs_error_t::CS_ERR_BAD_OPERATION,
            21 => cs_error_t::CS_ERR_FAILED_OPERATION,
            22 => cs_error_t::CS_ERR_MESSAGE_ERROR,
            23 => cs_error_t::CS_ERR_QUEUE_FULL,
            24 => cs_error_t::CS_ERR_QUEUE_NOT_AVAILABLE,
            25 => cs_error_t::CS_ERR_BAD_FLAGS,
            26 => cs_error_t::CS_ERR_TOO_BIG,
            27 => cs_error_t::CS_ERR_NO_SECTIONS,
            28 => cs_error_t::CS_ERR_CONTEXT_NOT_FOUND,
            30 => cs_error_t::CS_ERR_TOO_MANY_GROUPS,
            100 => cs_error_t::CS_ERR_SECURITY,
            _ => cs_error_t::CS_ERR_LIBRARY,
        }
    }
}
