//! The two ends of a ring.
//!
//! Each end keeps its own position privately and publishes it; only the peer's position is
//! read from shared memory, and checked. So a peer can at most spoil its own stream.

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use evensong_core::ipc::{RecordHeader, KIND_JUMP, RECORD_HEADER};

use crate::memory::{Area, Memory};
use crate::plan::{place, record_size, Place};

/// The peer wrote a position or a record that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt;

/// Bytes in shared memory that are to be copied somewhere else.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a> {
    start: NonNull<u8>,
    len: u32,
    memory: PhantomData<&'a Memory>,
}

impl<'a> Body<'a> {
    /// Bytes of an ordinary slice.
    pub fn of_slice(bytes: &'a [u8]) -> Body<'a> {
        Body { start: NonNull::from(bytes).cast(), len: bytes.len() as u32, memory: PhantomData }
    }

    /// Bytes of an area; panics when they are not all inside.
    pub fn of_area(memory: &'a Memory, area: Area, at: u32, len: u32) -> Body<'a> {
        Body { start: memory.pointer(area, at, len), len, memory: PhantomData }
    }

    /// Length in bytes.
    pub fn len(self) -> u32 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Copies the bytes into a slice of the same length.
    pub fn copy_to(self, into: &mut [u8]) {
        assert!(into.len() == self.len as usize, "lengths differ");
        // SAFETY: both ranges have this length and cannot overlap: one is exclusively borrowed.
        unsafe { std::ptr::copy_nonoverlapping(self.start.as_ptr(), into.as_mut_ptr(), into.len()) }
    }

    /// Copies the bytes to the end of `into`.
    pub fn append_to(self, into: &mut Vec<u8>) {
        into.reserve(self.len as usize);
        // SAFETY: room was reserved; the source range was checked when the body was made. The
        // peer may write meanwhile, which can only change the bytes.
        unsafe {
            let end = into.as_mut_ptr().add(into.len());
            std::ptr::copy_nonoverlapping(self.start.as_ptr(), end, self.len as usize);
            into.set_len(into.len() + self.len as usize);
        }
    }
}

/// A record that a [`Consumer`] found: its header (a copy) and where its body lies.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// Header, copied once.
    pub header: RecordHeader,
    /// Offset of the body in the ring.
    pub at: u32,
    /// Position after the record.
    pub end: u32,
}

fn is_position(at: u32, area: Area) -> bool {
    at <= area.size && at.is_multiple_of(RECORD_HEADER)
}

/// The writing end.
#[derive(Debug)]
pub struct Producer {
    area: Area,
    warm: u32,
    /// Where the next record goes; may be ahead of what is published.
    tail: u32,
    /// The consumer's position as last read.
    head: u32,
    /// Bytes between `head` and `tail` are at most this since the last look; statistics only.
    written: u64,
}

impl Producer {
    /// The writing end of a fresh ring.
    pub fn new(area: Area, warm: u32) -> Producer {
        Producer { area, warm, tail: 0, head: 0, written: 0 }
    }

    /// Position to publish.
    pub fn tail(&self) -> u32 {
        self.tail
    }

    /// Goes on where another process that has this end, too, left off: a fork shares it.
    pub fn follow(&mut self, tail: u32, head: &AtomicU32) -> Result<(), Corrupt> {
        if tail == self.tail {
            return Ok(());
        }
        if !is_position(tail, self.area) {
            return Err(Corrupt);
        }
        self.tail = tail;
        // The head known is too old to be judged by the new tail.
        self.refresh(head)
    }

    /// Bytes of records written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    fn refresh(&mut self, head: &AtomicU32) -> Result<(), Corrupt> {
        let now = head.load(Ordering::Acquire);
        if !is_position(now, self.area) {
            return Err(Corrupt);
        }
        self.head = now;
        Ok(())
    }

    /// Whether a record with a body of `len` bytes fits now; reads the consumer's position
    /// only when the one known is not good enough.
    pub fn has_room(&mut self, head: &AtomicU32, len: u32) -> Result<bool, Corrupt> {
        let need = record_size(len);
        if place(self.tail, self.head, need, self.area.size, self.warm).is_some() {
            return Ok(true);
        }
        self.refresh(head)?;
        Ok(place(self.tail, self.head, need, self.area.size, self.warm).is_some())
    }

    /// Whether the consumer has read everything, as of now.
    pub fn is_drained(&mut self, head: &AtomicU32) -> Result<bool, Corrupt> {
        self.refresh(head)?;
        Ok(self.head == self.tail)
    }

    /// The consumer's position, as of now.
    pub fn consumed(&mut self, head: &AtomicU32) -> Result<u32, Corrupt> {
        self.refresh(head)?;
        Ok(self.head)
    }

    /// Upper bound of unread bytes, as of now.
    pub fn backlog(&mut self, head: &AtomicU32) -> Result<u32, Corrupt> {
        self.refresh(head)?;
        Ok(if self.tail >= self.head { self.tail - self.head } else { self.area.size - (self.head - self.tail) })
    }

    /// Writes a record made of `parts`; `Ok(false)` when there is no room. Not visible to the
    /// consumer before the tail is published.
    pub fn push(
        &mut self,
        memory: &Memory,
        head: &AtomicU32,
        header: RecordHeader,
        parts: &[Body<'_>],
    ) -> Result<bool, Corrupt> {
        let need = record_size(header.len);
        let chosen = match place(self.tail, self.head, need, self.area.size, self.warm) {
            Some(chosen) if chosen == Place::Start || self.tail < self.warm || self.tail < self.head => chosen,
            known => {
                // Beyond the warm part a fresh look may allow going back to it.
                self.refresh(head)?;
                match place(self.tail, self.head, need, self.area.size, self.warm).or(known) {
                    Some(chosen) => chosen,
                    None => return Ok(false),
                }
            }
        };
        if chosen == Place::Start {
            let jump = RecordHeader { kind: KIND_JUMP, ..RecordHeader::default() };
            memory.write(self.area, self.tail, &jump.to_bytes());
            self.tail = 0;
        }
        let mut target = memory.pointer(self.area, self.tail, need);
        let bytes = header.to_bytes();
        let mut room = header.len;
        // SAFETY: `pointer` checked that `need` bytes lie inside; the parts together are no
        // longer than the body, which is checked as they are copied.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), target.as_ptr(), bytes.len());
            target = target.add(bytes.len());
            for part in parts {
                assert!(part.len <= room, "parts longer than the record");
                std::ptr::copy_nonoverlapping(part.start.as_ptr(), target.as_ptr(), part.len as usize);
                target = target.add(part.len as usize);
                room -= part.len;
            }
        }
        assert!(room == 0, "parts shorter than the record");
        self.tail += need;
        self.written += u64::from(need);
        Ok(true)
    }
}

/// The reading end.
#[derive(Debug)]
pub struct Consumer {
    area: Area,
    /// Where the next record is; may be ahead of what is published.
    head: u32,
    /// The producer's position as last read.
    tail: u32,
}

impl Consumer {
    /// The reading end of a ring, from `head` on.
    pub fn new(area: Area, head: u32) -> Consumer {
        Consumer { area, head, tail: head }
    }

    /// Goes on where another process that has this end, too, left off: a fork shares it.
    pub fn follow(&mut self, head: u32) -> Result<(), Corrupt> {
        if !is_position(head, self.area) {
            return Err(Corrupt);
        }
        // As if nothing were known beyond it: the next look takes the producer's word.
        (self.head, self.tail) = (head, head);
        Ok(())
    }

    /// Position of the next record: everything before it has been taken.
    pub fn head(&self) -> u32 {
        self.head
    }

    /// Whether nothing is left, looking at the producer's position if needed.
    pub fn is_empty(&mut self, tail: &AtomicU32) -> bool {
        if self.head == self.tail {
            self.tail = tail.load(Ordering::Acquire);
        }
        self.head == self.tail
    }

    /// Looks at the next record without taking it.
    pub fn peek(&mut self, memory: &Memory, tail: &AtomicU32) -> Result<Option<Record>, Corrupt> {
        if self.is_empty(tail) {
            return Ok(None);
        }
        if !is_position(self.tail, self.area) {
            return Err(Corrupt);
        }
        let mut header = self.header_here(memory)?;
        if header.kind == KIND_JUMP {
            if self.tail >= self.head || self.tail == 0 {
                return Err(Corrupt);
            }
            self.head = 0;
            header = self.header_here(memory)?;
        }
        let limit = if self.tail > self.head { self.tail } else { self.area.size };
        let end = u64::from(self.head) + u64::from(RECORD_HEADER) + u64::from(header.len);
        let end = end.next_multiple_of(u64::from(RECORD_HEADER));
        if header.kind == KIND_JUMP || end > u64::from(limit) {
            return Err(Corrupt);
        }
        Ok(Some(Record { header, at: self.head + RECORD_HEADER, end: end as u32 }))
    }

    fn header_here(&self, memory: &Memory) -> Result<RecordHeader, Corrupt> {
        if self.head + RECORD_HEADER > self.area.size {
            return Err(Corrupt);
        }
        Ok(RecordHeader::from_bytes(&memory.read_header(self.area, self.head)))
    }

    /// Takes the record that `peek` showed.
    pub fn advance(&mut self, record: &Record) {
        self.head = record.end;
    }

    /// Copies `into.len()` bytes of a record's body, from `skip` on.
    pub fn read(&self, memory: &Memory, record: &Record, skip: u32, into: &mut [u8]) {
        memory.read(self.area, record.at + skip, into);
    }

    /// The area this end reads.
    pub fn area(&self) -> Area {
        self.area
    }
}
