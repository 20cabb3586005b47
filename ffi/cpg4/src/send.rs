//! Sending: one record for a message up to the atomic limit, pieces for a larger one.

use std::sync::atomic::Ordering;
use std::time::Duration;

use evensong_client::{code, guard};
use evensong_core::input::{Guarantee, Part};
use evensong_core::ipc::request;

use crate::instance::Instance;

/// How often the sending of a piece is tried again, and how long apart, as in the original.
const RETRIES: u32 = 100;
const RETRY_AFTER: Duration = Duration::from_millis(10);

/// Largest message of `cpg_zcb_mcast_joined`, the original's.
const ZCB_MAX: usize = 1024 * 1024;

/// `CS_ERR_NOT_EXIST`.
const NOT_EXIST: u32 = 12;

/// The guarantee of a C value; values that mean nothing count as agreed, as in the original.
fn guarantee(number: u32) -> Guarantee {
    match number {
        0 => Guarantee::Unordered,
        1 => Guarantee::Fifo,
        3 => Guarantee::Safe,
        _ => Guarantee::Agreed,
    }
}

/// Sends a message.
///
/// # Safety
/// Every entry of `iov` with an address and a length describes readable memory.
pub unsafe fn mcast(instance: &Instance, number: u32, iov: &[libc::iovec]) -> u32 {
    let mut total = 0usize;
    for part in iov {
        if part.iov_base.is_null() && part.iov_len != 0 {
            return code::INVALID_PARAM;
        }
        match total.checked_add(part.iov_len) {
            Some(sum) => total = sum,
            None => return code::TOO_BIG,
        }
    }
    let guarantee = guarantee(number);
    if total > instance.connection.max_atomic() as usize {
        // The pieces wait, sleep and take long, so cancellation has to be held off.
        // SAFETY: the caller's promise.
        return guard(|| unsafe { mcast_pieces(instance, guarantee, total, iov) });
    }
    let flags = request::mcast_flags(guarantee);
    // SAFETY: the caller's promise; entries without an address have length 0.
    match unsafe { instance.connection.send(request::kind::CPG_MCAST, flags, 0, &[], iov) } {
        Ok(()) => code::OK,
        Err(error) => error,
    }
}

/// Sends a buffer of `cpg_zcb_alloc`.
pub fn mcast_buffer(instance: &Instance, number: u32, start: *const std::ffi::c_void, len: usize) -> u32 {
    if len > ZCB_MAX {
        return code::TOO_BIG;
    }
    let Some(pages) = instance.buffers.get(start) else { return code::INVALID_PARAM };
    let Some(part) = pages.part(len) else { return code::INVALID_PARAM };
    if !instance.joined.load(Ordering::Relaxed) {
        return NOT_EXIST;
    }
    // SAFETY: the pages live as long as `pages`.
    unsafe { mcast(instance, number, &[part]) }
}

/// # Safety
/// As [`mcast`].
unsafe fn mcast_pieces(instance: &Instance, guarantee: Guarantee, total: usize, iov: &[libc::iovec]) -> u32 {
    let Ok(announced) = u32::try_from(total) else { return code::TOO_BIG };
    let limit = instance.connection.max_atomic() as usize;
    let Some(_whole) = instance.connection.lock(&instance.large) else { return code::TRY_AGAIN };
    let mut cursor = Cursor { iov, offset: 0 };
    let mut sent = 0;
    while sent < total {
        let (piece, len) = cursor.next(limit);
        let part = match sent {
            0 => Part::First,
            _ if sent + len == total => Part::Last,
            _ => Part::Continued,
        };
        let flags = request::partial_flags(guarantee, part);
        // SAFETY: parts of the caller's entries.
        let error = unsafe { send_piece(instance, flags, announced, &piece) };
        if error != code::OK {
            return error;
        }
        sent += len;
    }
    code::OK
}

/// # Safety
/// As [`mcast`].
unsafe fn send_piece(instance: &Instance, flags: u16, total: u32, piece: &[libc::iovec]) -> u32 {
    for _ in 0..RETRIES {
        // SAFETY: the caller's promise.
        let answer = unsafe { instance.connection.call(request::kind::CPG_PARTIAL_MCAST, flags, total, &[], piece) };
        match answer.map_or_else(|error| error, |(error, _)| error) {
            code::TRY_AGAIN => std::thread::sleep(RETRY_AFTER),
            error => return error,
        }
    }
    code::TRY_AGAIN
}

/// Walks through the entries in pieces.
struct Cursor<'a> {
    iov: &'a [libc::iovec],
    /// Bytes of the first entry that are done.
    offset: usize,
}

impl Cursor<'_> {
    /// The next piece, of `limit` bytes unless fewer are left, and its length.
    fn next(&mut self, limit: usize) -> (Vec<libc::iovec>, usize) {
        let mut piece = Vec::new();
        let mut len = 0;
        while let Some((first, rest)) = self.iov.split_first() {
            let take = (first.iov_len - self.offset).min(limit - len);
            if take > 0 {
                let iov_base = first.iov_base.wrapping_byte_add(self.offset);
                piece.push(libc::iovec { iov_base, iov_len: take });
                len += take;
                self.offset += take;
            }
            if self.offset < first.iov_len {
                break;
            }
            self.iov = rest;
            self.offset = 0;
        }
        (piece, len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(parts: &[&[u8]], limit: usize) -> Vec<Vec<u8>> {
        let iov: Vec<libc::iovec> = parts
            .iter()
            .map(|part| libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() })
            .collect();
        let mut cursor = Cursor { iov: &iov, offset: 0 };
        let mut out = Vec::new();
        loop {
            let (piece, len) = cursor.next(limit);
            if len == 0 {
                return out;
            }
            let mut bytes = Vec::new();
            for part in &piece {
                // SAFETY: the entries are parts of `parts`.
                bytes
                    .extend_from_slice(unsafe { std::slice::from_raw_parts(part.iov_base.cast::<u8>(), part.iov_len) });
            }
            assert_eq!(bytes.len(), len);
            out.push(bytes);
        }
    }

    #[test]
    fn pieces_go_over_the_ends_of_entries() {
        assert_eq!(cut(&[b"ab", b"", b"cdefg", b"h"], 3), [&b"abc"[..], b"def", b"gh"]);
        assert_eq!(cut(&[b"abcdef"], 3), [b"abc", b"def"]);
        assert!(cut(&[b"", b""], 3).is_empty());
    }
}
