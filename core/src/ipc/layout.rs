//! Shape of the memory that a client and the daemon share, and of the socket handshake.
//!
//! Everything is little pieces of fixed width at fixed offsets, the same for 32-bit and 64-bit
//! programs, in host byte order (both ends run on one machine). The memory is one sealed
//! memfd: a control page, the request ring, the event ring, the reply area.
//!
//! | offset | written by | word |
//! |---|---|---|
//! | 0 | daemon, once | magic, version, then offsets and sizes of the three areas |
//! | 64 | client | request ring: tail |
//! | 128 | daemon | request ring: head |
//! | 192 | both | request ring: 1 = the daemon does not look, ring the socket |
//! | 256 | both | request ring: 1 = a client thread waits for room (futex on the head) |
//! | 320 | daemon | event ring: tail |
//! | 384 | client | event ring: head |
//! | 448 | both | event ring: 1 = the descriptor is quiet, ring it when something is due |
//! | 512 | daemon | reply: number of the request answered last (futex) |
//! | 576 | client | reply: 1 = a client thread sleeps on the word above |
//! | 580 | client | number of the synchronous request begun last; the daemon does not look |
//! | 640 | daemon | flow control state: 1 = senders of the group are held back |
//! | 704 | daemon | 1 = connection closed by the daemon, see the log |
//! | 768 | both | event ring: 1 = the daemon waits for room, ring it when half is free |
//! | 832 | client | processor on which it rang last, plus one; 0: not said |

/// First word of a handshake and of the control page ("evs1").
pub const MAGIC: u32 = 0x6576_7331;
/// Version of the handshake and the layout spoken by this build.
pub const VERSION: u32 = 1;

/// Name of the listening socket inside the run directory.
pub const SOCKET_NAME: &str = "ipc.sock";
/// Environment variable that names the run directory of an instance.
pub const RUN_DIR_ENV: &str = "EVENSONG_RUN_DIR";
/// Run directory when the environment names none.
pub const DEFAULT_RUN_DIR: &str = "/run/evensong";

/// Size of the control page in bytes.
pub const CONTROL_SIZE: u32 = 4096;
/// Offsets of the control words, see the table in the module's head.
#[allow(missing_docs)]
pub mod offset {
    pub const MAGIC: usize = 0;
    pub const VERSION: usize = 4;
    pub const REQUEST_OFFSET: usize = 8;
    pub const REQUEST_SIZE: usize = 12;
    pub const EVENT_OFFSET: usize = 16;
    pub const EVENT_SIZE: usize = 20;
    pub const REPLY_OFFSET: usize = 24;
    pub const REPLY_SIZE: usize = 28;
    pub const REQUEST_TAIL: usize = 64;
    pub const REQUEST_HEAD: usize = 128;
    pub const REQUEST_ASLEEP: usize = 192;
    pub const REQUEST_ROOM_WANTED: usize = 256;
    pub const EVENT_TAIL: usize = 320;
    pub const EVENT_HEAD: usize = 384;
    pub const EVENT_ARMED: usize = 448;
    pub const REPLY_SEQ: usize = 512;
    pub const REPLY_WAITING: usize = 576;
    pub const CALL_SEQ: usize = 580;
    pub const FLOW_STATE: usize = 640;
    pub const CLOSED: usize = 704;
    pub const EVENT_ROOM_WANTED: usize = 768;
    pub const CLIENT_CPU: usize = 832;
}

/// Largest message that travels unfragmented, in bytes: what `cpg_max_atomic_msgsize_get`
/// of the original answers (1 MiB less 1024).
pub const MAX_ATOMIC: u32 = 1024 * 1024 - 1024;
/// Largest body of one request or event record, in bytes: an atomic message with room for
/// the longest header of a service (evs group lists).
pub const MAX_BODY: u32 = 1024 * 1024 + 16 * 1024;
/// Default size of the request ring and of the event ring, each, in bytes.
pub const DEFAULT_RING: u32 = 4 * 1024 * 1024;
/// Size of the reply area in bytes.
pub const REPLY_SIZE: u32 = 64 * 1024;

/// Bytes of a record header; records start at multiples of this.
pub const RECORD_HEADER: u32 = 16;

/// Header of a record in the request ring or the event ring.
///
/// | offset | width | field |
/// |---|---|---|
/// | 0 | 4 | length of the body in bytes |
/// | 4 | 2 | kind |
/// | 6 | 2 | flags (kind-specific) |
/// | 8 | 4 | a (kind-specific; deliver events: node id) |
/// | 12 | 4 | b (kind-specific; deliver events: pid; synchronous requests: request number) |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordHeader {
    /// Body length in bytes, without padding.
    pub len: u32,
    /// What the record is.
    pub kind: u16,
    /// Kind-specific flags.
    pub flags: u16,
    /// Kind-specific value.
    pub a: u32,
    /// Kind-specific value.
    pub b: u32,
}

impl RecordHeader {
    /// The header as it stands in memory.
    pub fn to_bytes(self) -> [u8; RECORD_HEADER as usize] {
        let mut out = [0; RECORD_HEADER as usize];
        out[0..4].copy_from_slice(&self.len.to_ne_bytes());
        out[4..6].copy_from_slice(&self.kind.to_ne_bytes());
        out[6..8].copy_from_slice(&self.flags.to_ne_bytes());
        out[8..12].copy_from_slice(&self.a.to_ne_bytes());
        out[12..16].copy_from_slice(&self.b.to_ne_bytes());
        out
    }

    /// Reads a header from its bytes.
    pub fn from_bytes(bytes: &[u8; RECORD_HEADER as usize]) -> RecordHeader {
        let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let half = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        RecordHeader { len: word(0), kind: half(4), flags: half(6), a: word(8), b: word(12) }
    }
}

/// Kind of the filler record that sends the reader back to the start of a ring.
pub const KIND_JUMP: u16 = 0;

/// First message on the socket, client to daemon.
///
/// | offset | width | field |
/// |---|---|---|
/// | 0 | 4 | magic |
/// | 4 | 4 | lowest version the client speaks |
/// | 8 | 4 | highest version the client speaks |
/// | 12 | 4 | service ([`Service`]) |
/// | 16 | 4 | the client's process id as it sees it (its pid namespace) |
/// | 20 | 44 | zero |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Lowest version the client speaks.
    pub version_min: u32,
    /// Highest version the client speaks.
    pub version_max: u32,
    /// Number of the service wanted; unknown numbers are for the daemon to refuse.
    pub service: u32,
    /// The client's own idea of its process id.
    pub pid: u32,
}

/// Size of a [`Hello`] on the socket.
pub const HELLO_SIZE: usize = 64;

impl Hello {
    /// The message as it goes over the socket.
    pub fn to_bytes(self) -> [u8; HELLO_SIZE] {
        let mut out = [0; HELLO_SIZE];
        for (at, word) in [MAGIC, self.version_min, self.version_max, self.service, self.pid].into_iter().enumerate() {
            out[at * 4..at * 4 + 4].copy_from_slice(&word.to_ne_bytes());
        }
        out
    }

    /// Reads the message; `None` when the magic is not ours.
    pub fn from_bytes(bytes: &[u8; HELLO_SIZE]) -> Option<Hello> {
        let word = |n: usize| u32::from_ne_bytes([bytes[n * 4], bytes[n * 4 + 1], bytes[n * 4 + 2], bytes[n * 4 + 3]]);
        (word(0) == MAGIC).then(|| Hello { version_min: word(1), version_max: word(2), service: word(3), pid: word(4) })
    }
}

/// The daemon's answer to a [`Hello`]; the memfd comes with it when `status` is OK (1).
///
/// | offset | width | field |
/// |---|---|---|
/// | 0 | 4 | magic |
/// | 4 | 4 | version chosen |
/// | 8 | 4 | status, a `cs_error_t` value, 1 = OK |
/// | 12 | 4 | size of the shared memory |
/// | 16 | 4 | offset of the request ring |
/// | 20 | 4 | its size |
/// | 24 | 4 | offset of the event ring |
/// | 28 | 4 | its size |
/// | 32 | 4 | offset of the reply area |
/// | 36 | 4 | its size |
/// | 40 | 4 | largest atomic message |
/// | 44 | 20 | zero |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Welcome {
    pub version: u32,
    pub status: u32,
    pub size: u32,
    pub request_offset: u32,
    pub request_size: u32,
    pub event_offset: u32,
    pub event_size: u32,
    pub reply_offset: u32,
    pub reply_size: u32,
    pub max_atomic: u32,
}

/// Size of a [`Welcome`] on the socket.
pub const WELCOME_SIZE: usize = 64;

impl Welcome {
    /// A refusal with a `cs_error_t` value.
    pub fn refusal(status: u32) -> Welcome {
        Welcome {
            version: VERSION,
            status,
            size: 0,
            request_offset: 0,
            request_size: 0,
            event_offset: 0,
            event_size: 0,
            reply_offset: 0,
            reply_size: 0,
            max_atomic: 0,
        }
    }

    /// Acceptance, with the layout that `ring` bytes for each ring give.
    pub fn accept(ring: u32) -> Welcome {
        let request_offset = CONTROL_SIZE;
        let event_offset = request_offset + ring;
        let reply_offset = event_offset + ring;
        Welcome {
            version: VERSION,
            status: 1,
            size: reply_offset + REPLY_SIZE,
            request_offset,
            request_size: ring,
            event_offset,
            event_size: ring,
            reply_offset,
            reply_size: REPLY_SIZE,
            max_atomic: MAX_ATOMIC,
        }
    }

    /// The message as it goes over the socket.
    pub fn to_bytes(self) -> [u8; WELCOME_SIZE] {
        let mut out = [0; WELCOME_SIZE];
        let words = [
            MAGIC,
            self.version,
            self.status,
            self.size,
            self.request_offset,
            self.request_size,
            self.event_offset,
            self.event_size,
            self.reply_offset,
            self.reply_size,
            self.max_atomic,
        ];
        for (at, word) in words.into_iter().enumerate() {
            out[at * 4..at * 4 + 4].copy_from_slice(&word.to_ne_bytes());
        }
        out
    }

    /// Reads the message; `None` when the magic is not ours or an area lies outside the memory.
    pub fn from_bytes(bytes: &[u8; WELCOME_SIZE]) -> Option<Welcome> {
        let word = |n: usize| u32::from_ne_bytes([bytes[n * 4], bytes[n * 4 + 1], bytes[n * 4 + 2], bytes[n * 4 + 3]]);
        let welcome = Welcome {
            version: word(1),
            status: word(2),
            size: word(3),
            request_offset: word(4),
            request_size: word(5),
            event_offset: word(6),
            event_size: word(7),
            reply_offset: word(8),
            reply_size: word(9),
            max_atomic: word(10),
        };
        let inside =
            |at: u32, size: u32| at.checked_add(size).is_some_and(|end| end <= welcome.size) && at.is_multiple_of(64);
        let sound = welcome.status != 1
            || (welcome.size >= CONTROL_SIZE
                && inside(welcome.request_offset, welcome.request_size)
                && inside(welcome.event_offset, welcome.event_size)
                && inside(welcome.reply_offset, welcome.reply_size));
        (word(0) == MAGIC && sound).then_some(welcome)
    }
}

/// A service that a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Service {
    /// Closed process groups.
    Cpg = 2,
    /// Extended virtual synchrony.
    Evs = 20,
}

impl Service {
    /// The service with this number, if this build has it.
    pub fn from_number(number: u32) -> Option<Service> {
        [Service::Cpg, Service::Evs].into_iter().find(|service| *service as u32 == number)
    }
}
