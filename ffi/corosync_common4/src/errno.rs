//! Error codes of errno numbers: one table per function of the original, each line its choice.

use std::ffi::c_int;

use evensong_types::cs_error_t;

/// Code of a libqb result: zero and more is success.
pub fn from_qb(result: c_int) -> cs_error_t {
    if result >= 0 {
        return cs_error_t::CS_OK;
    }
    match result.checked_neg().unwrap_or(0) {
        libc::EBADF => cs_error_t::CS_ERR_BAD_HANDLE,
        libc::ENOMEM => cs_error_t::CS_ERR_NO_MEMORY,
        libc::ENOMSG | libc::ENOBUFS | libc::ETIMEDOUT | libc::EAGAIN => cs_error_t::CS_ERR_TRY_AGAIN,
        libc::EBADE => cs_error_t::CS_ERR_FAILED_OPERATION,
        libc::ETIME => cs_error_t::CS_ERR_TIMEOUT,
        libc::EINVAL => cs_error_t::CS_ERR_INVALID_PARAM,
        libc::EBUSY => cs_error_t::CS_ERR_BUSY,
        libc::EACCES => cs_error_t::CS_ERR_ACCESS,
        libc::EOVERFLOW => cs_error_t::CS_ERR_NAME_TOO_LONG,
        libc::EEXIST => cs_error_t::CS_ERR_EXIST,
        libc::ENOSPC => cs_error_t::CS_ERR_NO_SPACE,
        libc::EINTR => cs_error_t::CS_ERR_INTERRUPT,
        libc::ENOENT | libc::ENODEV => cs_error_t::CS_ERR_NOT_EXIST,
        libc::ENOSYS | libc::ENOTSUP => cs_error_t::CS_ERR_NOT_SUPPORTED,
        libc::EBADMSG => cs_error_t::CS_ERR_MESSAGE_ERROR,
        libc::EMSGSIZE | libc::E2BIG => cs_error_t::CS_ERR_TOO_BIG,
        _ => cs_error_t::CS_ERR_LIBRARY,
    }
}

/// Code of a handle database result: only zero is success.
pub fn from_hdb(res: c_int) -> cs_error_t {
    match res.checked_neg().unwrap_or(1) {
        0 => cs_error_t::CS_OK,
        libc::EBADF => cs_error_t::CS_ERR_BAD_HANDLE,
        libc::ENOMEM => cs_error_t::CS_ERR_NO_MEMORY,
        libc::EMFILE => cs_error_t::CS_ERR_NO_RESOURCES,
        libc::EACCES => cs_error_t::CS_ERR_ACCESS,
        _ => cs_error_t::CS_ERR_LIBRARY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::text;

    /// Observed on the original for every number from -200 to 200: the rows that differ from
    /// the rest (`from_qb` 1 from zero on and else 2, `from_hdb` 2).
    #[test]
    fn every_number_as_the_original() {
        let qb = [
            (-2, 12),
            (-4, 16),
            (-7, 26),
            (-9, 9),
            (-11, 6),
            (-12, 8),
            (-13, 11),
            (-16, 10),
            (-17, 14),
            (-19, 12),
            (-22, 7),
            (-28, 15),
            (-38, 19),
            (-42, 6),
            (-52, 21),
            (-62, 5),
            (-74, 22),
            (-75, 13),
            (-90, 26),
            (-95, 19),
            (-105, 6),
            (-110, 6),
        ];
        let hdb = [(0, 1), (-9, 9), (-12, 8), (-13, 11), (-24, 18)];
        for result in -200..=200 {
            let rest = if result >= 0 { 1 } else { 2 };
            let expected = qb.iter().find(|row| row.0 == result).map_or(rest, |row| row.1);
            assert_eq!(from_qb(result) as i32, expected, "from_qb({result})");
            let expected = hdb.iter().find(|row| row.0 == result).map_or(2, |row| row.1);
            assert_eq!(from_hdb(result) as i32, expected, "from_hdb({result})");
        }
        assert_eq!(from_qb(i32::MIN), cs_error_t::CS_ERR_LIBRARY);
        assert_eq!(from_hdb(i32::MIN), cs_error_t::CS_ERR_LIBRARY);
    }

    #[test]
    fn a_text_is_the_name_of_the_code() {
        for number in 0..=200 {
            let code = cs_error_t::from_number(number);
            let expected = match number {
                1 => "success".to_owned(),
                _ if code as u32 == number => format!("{code:?}"),
                _ => "unknown error".to_owned(),
            };
            assert_eq!(text(number).to_str(), Ok(expected.as_str()), "{number}");
        }
        assert_eq!(text(u32::MAX), c"unknown error");
    }
}
