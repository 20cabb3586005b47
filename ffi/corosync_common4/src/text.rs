//! Texts of the error codes: the code's own name, but for success and unknown numbers.

use std::ffi::CStr;

/// The text of an error number, as the original has it: tools print it.
pub fn text(number: u32) -> &'static CStr {
    match number {
        1 => c"success",
        2 => c"CS_ERR_LIBRARY",
        3 => c"CS_ERR_VERSION",
        4 => c"CS_ERR_INIT",
        5 => c"CS_ERR_TIMEOUT",
        6 => c"CS_ERR_TRY_AGAIN",
        7 => c"CS_ERR_INVALID_PARAM",
        8 => c"CS_ERR_NO_MEMORY",
        9 => c"CS_ERR_BAD_HANDLE",
        10 => c"CS_ERR_BUSY",
        11 => c"CS_ERR_ACCESS",
        12 => c"CS_ERR_NOT_EXIST",
        13 => c"CS_ERR_NAME_TOO_LONG",
        14 => c"CS_ERR_EXIST",
        15 => c"CS_ERR_NO_SPACE",
        16 => c"CS_ERR_INTERRUPT",
        17 => c"CS_ERR_NAME_NOT_FOUND",
        18 => c"CS_ERR_NO_RESOURCES",
        19 => c"CS_ERR_NOT_SUPPORTED",
        20 => c"CS_ERR_BAD_OPERATION",
        21 => c"CS_ERR_FAILED_OPERATION",
        22 => c"CS_ERR_MESSAGE_ERROR",
        23 => c"CS_ERR_QUEUE_FULL",
        24 => c"CS_ERR_QUEUE_NOT_AVAILABLE",
        25 => c"CS_ERR_BAD_FLAGS",
        26 => c"CS_ERR_TOO_BIG",
        27 => c"CS_ERR_NO_SECTIONS",
        28 => c"CS_ERR_CONTEXT_NOT_FOUND",
        30 => c"CS_ERR_TOO_MANY_GROUPS",
        100 => c"CS_ERR_SECURITY",
        _ => c"unknown error",
    }
}
