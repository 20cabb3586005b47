//! Buffers of `cpg_zcb_alloc`: pages of the library's, known by their address.
//!
//! The bytes of a message are taken when `cpg_zcb_mcast_joined` returns, so that programs may
//! write the next one at once, as they do.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

use parking_lot::Mutex;

/// Pages of memory.
pub struct Pages {
    start: NonNull<c_void>,
    len: usize,
}

// SAFETY: the address and the length never change; what is in the pages is the program's affair.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    fn map(len: usize) -> Option<Pages> {
        let len = len.max(1);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new memory wherever there is room; nothing that exists is touched.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        Some(Pages { start: NonNull::new(start)?, len })
    }

    /// The first `len` bytes, for sending; `None` when there are fewer.
    pub fn part(&self, len: usize) -> Option<libc::iovec> {
        (len <= self.len).then_some(libc::iovec { iov_base: self.start.as_ptr(), iov_len: len })
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this length, and nobody has a reference any more.
        unsafe { libc::munmap(self.start.as_ptr(), self.len) };
    }
}

/// The buffers of one handle.
#[derive(Default)]
pub struct Buffers(Mutex<BTreeMap<usize, Arc<Pages>>>);

impl Buffers {
    /// A new buffer; `None` when there is no memory.
    pub fn alloc(&self, len: usize) -> Option<NonNull<c_void>> {
        let pages = Pages::map(len)?;
        let start = pages.start;
        self.0.lock().insert(start.as_ptr() as usize, Arc::new(pages));
        Some(start)
    }

    /// The buffer that starts at an address; a send under way keeps it while another thread
    /// frees it.
    pub fn get(&self, start: *const c_void) -> Option<Arc<Pages>> {
        self.0.lock().get(&(start as usize)).cloned()
    }

    /// Gives a buffer back; false when none starts there.
    pub fn free(&self, start: *const c_void) -> bool {
        self.0.lock().remove(&(start as usize)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_known_by_their_start_alone() {
        let buffers = Buffers::default();
        let start = buffers.alloc(0).expect("memory").as_ptr();
        assert_eq!(start as usize % 4096, 0);
        let pages = buffers.get(start).expect("known");
        assert!(pages.part(1).is_some() && pages.part(2).is_none());
        assert!(buffers.get(start.wrapping_byte_add(1)).is_none() && buffers.get(std::ptr::null()).is_none());
        assert!(buffers.free(start));
        assert!(!buffers.free(start));
        assert!(buffers.alloc(usize::MAX / 2).is_none());
    }
}
