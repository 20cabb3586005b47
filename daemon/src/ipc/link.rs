//! One client's wire: our own dialect of the local protocol.
//!
//! Requests come in through [`Link::next`], answers and events go out through
//! [`Link::reply`] and [`Link::push`]; nothing outside this file knows about rings. A second
//! dialect implements the same operations.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::Arc;

use evensong_core::ipc::{reply, RecordHeader};
use evensong_core::output::Reply;
use evensong_ring::{futex_wake, signal, Body, Consumer, Control, Corrupt, Memory, Producer, Record};
use nix::errno::Errno;
use nix::sys::socket::{recv, send, MsgFlags};

/// Part of the event ring that is preferred while the client keeps pace.
const WARM: u32 = 512 * 1024;
/// Turns that a client which looks by itself is given before it is rung (a few microseconds).
const LOOK_TURNS: u32 = 160;
/// Most synchronous requests of one client that wait for their reply.
const CALLS_MAX: usize = 64;

/// A request that waits in the ring.
pub type Incoming = Record;

/// What the socket of a client had to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bell {
    /// Bytes: look at the rings.
    Rung,
    /// Nothing (any more).
    Quiet,
    /// The peer is gone.
    HungUp,
}

/// The wire to one client.
#[derive(Debug)]
pub struct Link {
    socket: OwnedFd,
    memory: Arc<Memory>,
    requests: Consumer,
    events: Producer,
    /// Request numbers of synchronous requests whose reply is due, oldest first.
    calls: std::collections::VecDeque<u32>,
    reply: Vec<u8>,
    /// The client took events before the last ring was through: it looks by itself.
    looks_itself: bool,
}

impl Link {
    /// The wire over a handshake's socket and memory.
    pub fn new(socket: OwnedFd, memory: Memory) -> Link {
        Link {
            requests: Consumer::new(memory.requests(), 0),
            events: Producer::new(memory.events(), WARM),
            socket,
            memory: Arc::new(memory),
            calls: std::collections::VecDeque::new(),
            reply: Vec::new(),
            looks_itself: false,
        }
    }

    /// The socket, for polling.
    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// The memory, to be held while bodies of this client are in use.
    pub fn memory(&self) -> Arc<Memory> {
        Arc::clone(&self.memory)
    }

    /// Shared memory of this link in bytes.
    pub fn memory_size(&self) -> u64 {
        u64::from(self.memory.layout().size)
    }

    /// The next request, without taking it.
    pub fn next(&mut self) -> Result<Option<Incoming>, Corrupt> {
        self.requests.peek(&self.memory, Control(&self.memory).request_tail())
    }

    /// Takes the request that `next` showed; its memory stays valid until [`Link::give_back`].
    pub fn took(&mut self, request: &Incoming) {
        self.requests.advance(request);
    }

    /// Copies the first bytes of a request's body.
    pub fn arguments(&self, request: &Incoming, len: u32, into: &mut Vec<u8>) {
        into.clear();
        into.resize(len as usize, 0);
        self.requests.read(&self.memory, request, 0, into);
    }

    /// The area that [`Body::of_area`] needs for bodies of requests.
    pub fn request_area(&self) -> evensong_ring::Area {
        self.requests.area()
    }

    /// Gives the memory of all taken requests back and wakes a thread that waits for room,
    /// once there is a good deal of it.
    pub fn give_back(&mut self) {
        let control = Control(&self.memory);
        let head = self.requests.head();
        control.request_head().store(head, Ordering::Release);
        let tail = control.request_tail().load(Ordering::Relaxed);
        let size = self.requests.area().size;
        let waiting = if tail >= head { tail - head } else { size.saturating_sub(head - tail) };
        if waiting <= size / 2 && signal::must_wake(control.request_room_wanted()) {
            futex_wake(control.request_head());
        }
    }

    /// Notes that a synchronous request waits for its reply; false when there are too many.
    pub fn expect_reply(&mut self, number: u32) -> bool {
        let fits = self.calls.len() < CALLS_MAX;
        if fits {
            self.calls.push_back(number);
        }
        fits
    }

    /// Answers the oldest synchronous request.
    pub fn reply(&mut self, answer: &Reply) {
        let Some(number) = self.calls.pop_front() else { return };
        self.reply.clear();
        reply::encode(answer, number, &mut self.reply);
        let control = Control(&self.memory);
        self.memory.write(self.memory.replies(), 0, &self.reply);
        if signal::publish(control.reply_seq(), number, control.reply_waiting()) {
            futex_wake(control.reply_seq());
        }
    }

    /// Writes an event; `Ok(false)` when the ring is full. Visible after [`Link::flush`].
    pub fn push(&mut self, header: RecordHeader, parts: &[Body<'_>]) -> Result<bool, Corrupt> {
        self.events.push(&self.memory, Control(&self.memory).event_head(), header, parts)
    }

    /// Whether an event with a body of `len` bytes fits now.
    pub fn has_room(&mut self, len: u32) -> Result<bool, Corrupt> {
        self.events.has_room(Control(&self.memory).event_head(), len)
    }

    /// How far the client has read: changes whenever it reads.
    pub fn consumed(&mut self) -> Result<u32, Corrupt> {
        self.events.consumed(Control(&self.memory).event_head())
    }

    /// Bytes of events that the client has not given back yet.
    pub fn unread(&mut self) -> Result<u32, Corrupt> {
        self.events.backlog(Control(&self.memory).event_head())
    }

    /// Asks the client to ring when it has made room; false when there is a good deal already.
    pub fn want_room(&mut self) -> bool {
        let control = Control(&self.memory);
        let head = signal::announce(control.event_room_wanted(), control.event_head());
        let tail = self.events.tail();
        let size = self.memory.events().size;
        let unread = if tail >= head { tail - head } else { size.saturating_sub(head - tail) };
        unread > size / 2
    }

    /// Makes pushed events visible and rings the client if its descriptor is quiet.
    ///
    /// A client that was faster than the last ring gets a moment to take the events by itself:
    /// that saves a system call on both sides, and an empty ring needs no readable descriptor.
    pub fn flush(&mut self) {
        let memory = Arc::clone(&self.memory);
        let control = Control(&memory);
        control.event_tail().store(self.events.tail(), Ordering::Release);
        if self.looks_itself && control.event_armed().load(Ordering::Relaxed) != 0 && self.taken_soon(control) {
            return;
        }
        if signal::must_wake(control.event_armed()) {
            self.ring();
            self.looks_itself = control.event_head().load(Ordering::Relaxed) == self.events.tail();
        }
    }

    fn taken_soon(&self, control: Control<'_>) -> bool {
        for _ in 0..LOOK_TURNS {
            if control.event_head().load(Ordering::Acquire) == self.events.tail() {
                return true;
            }
            std::hint::spin_loop();
        }
        false
    }

    /// Puts one byte into the client's socket: its descriptor becomes readable.
    pub fn ring(&self) {
        // Full (a client that never reads back: its loss) or gone (the poll will tell).
        let _sent = send(self.socket.as_raw_fd(), b"!", MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL);
    }

    /// Says to the client whether its sends are held back.
    pub fn set_flow(&self, held: bool) {
        Control(&self.memory).flow_state().store(u32::from(held), Ordering::Relaxed);
    }

    /// Announces that the daemon will not look at the request ring until it is rung; false when
    /// there is a request after all.
    pub fn fall_asleep(&mut self) -> bool {
        let control = Control(&self.memory);
        let tail = signal::announce(control.request_asleep(), control.request_tail());
        if tail == self.requests.head() {
            return true;
        }
        signal::withdraw(control.request_asleep());
        false
    }

    /// The daemon looks at the request ring again.
    pub fn wake_up(&mut self) {
        Control(&self.memory).request_asleep().store(0, Ordering::Relaxed);
    }

    /// Reads the doorbell; a request to ring back is honoured at once.
    pub fn answer_bell(&self) -> Bell {
        let mut bytes = [0; 64];
        match recv(self.socket.as_raw_fd(), &mut bytes, MsgFlags::MSG_DONTWAIT) {
            Ok(0) => Bell::HungUp,
            Ok(count) => {
                if bytes[..count].contains(&b'R') {
                    self.ring();
                }
                Bell::Rung
            }
            Err(Errno::EAGAIN | Errno::EINTR) => Bell::Quiet,
            Err(_) => Bell::HungUp,
        }
    }

    /// The processor on which the client last rang, by its own account.
    pub fn processor(&self) -> Option<usize> {
        let word = Control(&self.memory).client_cpu().load(Ordering::Relaxed);
        usize::try_from(word.checked_sub(1)?).ok()
    }

    /// Tells the client, in its memory, that the daemon closed the connection.
    pub fn mark_closed(&self) {
        Control(&self.memory).closed().store(1, Ordering::Release);
    }
}
