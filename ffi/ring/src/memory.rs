//! One sealed memfd, mapped: created by the daemon, received by the client.
//!
//! The seals (no shrinking, no growing, no more seals) are why a peer cannot pull memory away
//! from under the other (SIGBUS); the memfd has no name, so nothing is left behind by a kill.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use evensong_core::ipc::{offset, Welcome, CONTROL_SIZE, MAGIC, RECORD_HEADER};
use nix::fcntl::{fcntl, FcntlArg, SealFlag};
use nix::sys::memfd::{memfd_create, MemFdCreateFlag};

use crate::control::Word;

/// A mapping of the whole shared memory of one connection; unmapped on drop.
#[derive(Debug)]
pub struct Memory {
    base: NonNull<u8>,
    size: usize,
    layout: Welcome,
}

// SAFETY: the mapping belongs to the process, not to a thread; everything in it is reached
// through atomics or through copies that the ring protocol orders.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

/// A piece of a [`Memory`]: one ring or the reply area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Offset of its first byte.
    pub offset: u32,
    /// Its size in bytes.
    pub size: u32,
}

impl Memory {
    /// Creates and maps new memory with this layout; the descriptor is for the client.
    pub fn create(layout: Welcome) -> io::Result<(Memory, OwnedFd)> {
        let name = CString::new("evensong").expect("no NUL in it");
        let fd = memfd_create(&name, MemFdCreateFlag::MFD_CLOEXEC | MemFdCreateFlag::MFD_ALLOW_SEALING)?;
        nix::unistd::ftruncate(&fd, i64::from(layout.size))?;
        let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
        fcntl(fd.as_raw_fd(), FcntlArg::F_ADD_SEALS(seals))?;
        let memory = Memory::map(fd.as_fd(), layout)?;
        memory.word(offset::VERSION).store_relaxed(layout.version);
        let words = [
            (offset::MAGIC, MAGIC),
            (offset::REQUEST_OFFSET, layout.request_offset),
            (offset::REQUEST_SIZE, layout.request_size),
            (offset::EVENT_OFFSET, layout.event_offset),
            (offset::EVENT_SIZE, layout.event_size),
            (offset::REPLY_OFFSET, layout.reply_offset),
            (offset::REPLY_SIZE, layout.reply_size),
            (offset::REQUEST_ASLEEP, 1),
            (offset::EVENT_ARMED, 1),
        ];
        for (at, value) in words {
            memory.word(at).store_relaxed(value);
        }
        Ok((memory, fd))
    }

    /// Maps memory received from the daemon, after checking that it is sealed and large enough.
    pub fn receive(fd: BorrowedFd<'_>, layout: Welcome) -> io::Result<Memory> {
        let seals = SealFlag::from_bits_truncate(fcntl(fd.as_raw_fd(), FcntlArg::F_GET_SEALS)?);
        let stat = nix::sys::stat::fstat(fd.as_raw_fd())?;
        let least = i64::from(layout.size);
        if !seals.contains(SealFlag::F_SEAL_SHRINK) || stat.st_size < least || layout.size < CONTROL_SIZE {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "shared memory is not sealed or too small"));
        }
        Memory::map(fd, layout)
    }

    fn map(fd: BorrowedFd<'_>, layout: Welcome) -> io::Result<Memory> {
        let size = layout.size as usize;
        // SAFETY: a fresh shared mapping at an address the kernel chooses; nothing else refers to it.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast::<u8>()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Memory { base, size, layout })
    }

    /// The layout that the daemon announced.
    pub fn layout(&self) -> &Welcome {
        &self.layout
    }

    /// The request ring.
    pub fn requests(&self) -> Area {
        Area { offset: self.layout.request_offset, size: self.layout.request_size }
    }

    /// The event ring.
    pub fn events(&self) -> Area {
        Area { offset: self.layout.event_offset, size: self.layout.event_size }
    }

    /// The reply area.
    pub fn replies(&self) -> Area {
        Area { offset: self.layout.reply_offset, size: self.layout.reply_size }
    }

    /// A word of the control page; `at` is one of [`evensong_core::ipc::offset`].
    pub fn word(&self, at: usize) -> &Word {
        assert!(at + 4 <= CONTROL_SIZE as usize && at.is_multiple_of(4), "not a control word");
        // SAFETY: inside the mapping (a mapping is never smaller than the control page, checked
        // above), aligned, and only ever reached as an atomic.
        unsafe { self.base.add(at).cast::<Word>().as_ref() }
    }

    /// Pointer to `len` bytes at `at` inside `area`; panics when they are not all inside.
    pub fn pointer(&self, area: Area, at: u32, len: u32) -> NonNull<u8> {
        let end = u64::from(at) + u64::from(len);
        assert!(end <= u64::from(area.size), "outside the area");
        let start = area.offset as usize + at as usize;
        assert!(start + len as usize <= self.size, "outside the mapping");
        // SAFETY: inside the mapping, checked above.
        unsafe { self.base.add(start) }
    }

    /// Copies bytes out of an area.
    pub fn read(&self, area: Area, at: u32, into: &mut [u8]) {
        let from = self.pointer(area, at, into.len() as u32);
        // SAFETY: `pointer` checked the range; the peer may write meanwhile, which can only
        // change the bytes we get, and callers judge the copy.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), into.as_mut_ptr(), into.len()) }
    }

    /// Copies bytes into an area.
    pub fn write(&self, area: Area, at: u32, from: &[u8]) {
        let into = self.pointer(area, at, from.len() as u32);
        // SAFETY: `pointer` checked the range.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), into.as_ptr(), from.len()) }
    }

    /// Copies a record header out of an area.
    pub(crate) fn read_header(&self, area: Area, at: u32) -> [u8; RECORD_HEADER as usize] {
        let mut bytes = [0; RECORD_HEADER as usize];
        self.read(area, at, &mut bytes);
        bytes
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: we mapped exactly this; whoever holds pointers into it holds the Memory too.
        unsafe {
            libc::munmap(self.base.as_ptr().cast(), self.size);
        }
    }
}
