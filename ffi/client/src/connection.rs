//! One connection to the daemon, shared by all threads of a program.
//!
//! Three independent parts, each under its own lock, none held across a wait that depends on
//! the daemon: sending (one producer for all threads), synchronous calls (one outstanding),
//! taking events (`take.rs`).
//!
//! After a fork two processes have the connection. They may use it in turn, as with the
//! original: where a call goes on from (tail, head, request number) stands in the shared
//! memory, and what a process knows itself is only good as long as that agrees. Locks that a
//! thread of the parent held at the fork stay locked in the child; see `lock.rs`.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use evensong_core::ipc::{RecordHeader, Service, MAX_BODY};
use evensong_ring::{futex_wait, signal, Area, Body, Control, Memory, Producer};
use parking_lot::{Mutex, MutexGuard};

use crate::lock::Owner;
use crate::take::Taker;
use crate::{code, connect, sys};

/// Longest wait for room in a full request ring before `CS_ERR_TRY_AGAIN`.
const ROOM_WAIT: Duration = Duration::from_micros(400);
/// How often, at most, a caller that is busy looks whether the daemon still lives.
const LIVENESS_EVERY: Duration = Duration::from_millis(100);
/// Sleep slices of a synchronous call; between them it looks whether the daemon still lives.
const CALL_SLICE: Duration = Duration::from_millis(100);
/// Turns that a synchronous call spins before it sleeps.
const CALL_SPIN: u32 = 400;
/// Part of the request ring that is preferred while the daemon keeps pace.
const WARM: u32 = 512 * 1024;

struct Sender {
    producer: Producer,
    looked: Duration,
}

/// A connection; closed and unmapped on drop.
pub struct Connection {
    socket: sys::Socket,
    pub(crate) memory: Memory,
    owner: Owner,
    sender: Mutex<Sender>,
    calls: Mutex<()>,
    pub(crate) taker: Mutex<Taker>,
    gone: AtomicBool,
    pub(crate) sent: AtomicBool,
    /// The thread that dispatched last ([`sys::thread_mark`]); 0: none.
    dispatcher: AtomicUsize,
    /// Messages sent since a dispatch last took everything.
    pub(crate) sent_since_quiet: AtomicU32,
    /// The program waits for each message's answer before the next (see `take.rs`).
    pub(crate) answer_expected: AtomicBool,
}

impl Connection {
    /// Connects to the daemon of this instance for a service. The error is a `cs_error_t`.
    pub fn connect(service: Service) -> Result<Connection, u32> {
        let (socket, memory) = connect::establish(service)?;
        let requests = memory.requests();
        let taker = Taker::new(memory.events());
        Ok(Connection {
            sender: Mutex::new(Sender { producer: Producer::new(requests, WARM), looked: sys::coarse_now() }),
            socket: sys::Socket::new(socket),
            memory,
            owner: Owner::new(),
            calls: Mutex::new(()),
            taker: Mutex::new(taker),
            gone: AtomicBool::new(false),
            sent: AtomicBool::new(false),
            dispatcher: AtomicUsize::new(0),
            sent_since_quiet: AtomicU32::new(0),
            answer_expected: AtomicBool::new(false),
        })
    }

    /// The descriptor to poll: readable while a callback is due or the daemon is gone.
    pub fn fd(&self) -> RawFd {
        self.socket.fd()
    }

    /// Largest message that travels in one piece.
    pub fn max_atomic(&self) -> u32 {
        self.memory.layout().max_atomic
    }

    /// Whether senders of this connection's group are held back for a member that lags.
    pub fn flow_control(&self) -> bool {
        self.control().flow_state().load(Ordering::Relaxed) != 0
    }

    pub(crate) fn control(&self) -> Control<'_> {
        Control(&self.memory)
    }

    /// Locks something that threads using this connection share. `None`: this is a forked child,
    /// and the lock was taken at the time of the fork, or is taken for long; to be answered with
    /// `CS_ERR_TRY_AGAIN`.
    #[inline]
    pub fn lock<'a, T>(&self, mutex: &'a Mutex<T>) -> Option<MutexGuard<'a, T>> {
        mutex.try_lock().or_else(|| self.owner.lock_contended(mutex))
    }

    /// Whether the daemon was found gone; stays so.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    pub(crate) fn mark_gone(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    /// Ends the connection: the daemon sees it closed, whoever polls the descriptor wakes up.
    /// Descriptor and memory stay until the last reference is dropped, so that calls under way
    /// in other threads have what they use.
    pub fn shut_down(&self) {
        self.mark_gone();
        // Fails only when the daemon closed it first, which is as good.
        let _ = nix::sys::socket::shutdown(self.fd(), nix::sys::socket::Shutdown::Both);
    }

    /// Looks at the socket whether the daemon is gone.
    pub(crate) fn look_alive(&self) -> bool {
        if !self.is_gone() && sys::hung_up(self.fd()) {
            self.mark_gone();
        }
        !self.is_gone()
    }

    /// Rings the daemon. A full socket buffer is as good as a ring: it has bytes to read.
    pub(crate) fn ring_daemon(&self, byte: u8) {
        // A daemon that is woken on this thread's processor keeps the thread from running.
        Control(&self.memory).client_cpu().store(sys::processor() + 1, Ordering::Relaxed);
        if let Err(error) = sys::send_byte(self.fd(), byte) {
            if !matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted) {
                self.mark_gone();
            }
        }
    }

    /// Sends one request that has no reply. Waits shortly for room; then `CS_ERR_TRY_AGAIN`.
    ///
    /// # Safety
    /// Every entry of `iov` describes readable memory, or has length 0.
    pub unsafe fn send(&self, kind: u16, flags: u16, a: u32, head: &[u8], iov: &[libc::iovec]) -> Result<(), u32> {
        // SAFETY: the caller's promise is passed on.
        let header = RecordHeader { len: unsafe { body_length(head, iov) }?, kind, flags, a, b: 0 };
        // SAFETY: as above.
        if unsafe { self.try_send(header, head, iov) }? {
            self.sent_one();
            return Ok(());
        }
        if self.holds_itself_up() {
            // Whether the daemon lives, `try_send` looks now and then; a look each time would
            // cost programs that dispatch one message and try again more than the message.
            return if self.is_gone() { Err(code::LIBRARY) } else { Err(code::TRY_AGAIN) };
        }
        let deadline = Instant::now() + ROOM_WAIT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return if self.look_alive() { Err(code::TRY_AGAIN) } else { Err(code::LIBRARY) };
            }
            self.wait_for_room(left);
            // SAFETY: as above.
            if unsafe { self.try_send(header, head, iov) }? {
                self.sent_one();
                return Ok(());
            }
        }
    }

    /// Remembers who dispatches.
    pub(crate) fn note_dispatcher(&self) {
        let mark = sys::thread_mark();
        if self.dispatcher.load(Ordering::Relaxed) != mark {
            self.dispatcher.store(mark, Ordering::Relaxed);
        }
    }

    /// Whether waiting for room is vain: a quarter of the event ring waits for this very thread to
    /// dispatch it, and until then the daemon takes no more. Programs send in a loop and dispatch
    /// when told to try again; each would lose the whole wait every time. Where another thread
    /// dispatches, it is the other way round: trying again at once would only keep that from it.
    fn holds_itself_up(&self) -> bool {
        if self.dispatcher.load(Ordering::Relaxed) != sys::thread_mark() {
            return false;
        }
        let control = self.control();
        let (tail, head) = (control.event_tail(), control.event_head());
        let due = tail.load(Ordering::Relaxed).wrapping_sub(head.load(Ordering::Relaxed));
        due >= self.memory.events().size / 4
    }

    fn sent_one(&self) {
        // Not atomic on purpose: a lost count only spoils a guess.
        let before = self.sent_since_quiet.load(Ordering::Relaxed);
        self.sent_since_quiet.store(before.saturating_add(1), Ordering::Relaxed);
        if before == 0 && self.answer_expected.load(Ordering::Relaxed) {
            self.await_answer();
        }
    }

    fn wait_for_room(&self, at_most: Duration) {
        let control = self.control();
        let before = control.request_head().load(Ordering::Acquire);
        let now = signal::announce(control.request_room_wanted(), control.request_head());
        if now == before {
            futex_wait(control.request_head(), now, at_most);
        }
    }

    unsafe fn try_send(&self, header: RecordHeader, head: &[u8], iov: &[libc::iovec]) -> Result<bool, u32> {
        let control = self.control();
        let mut sender = self.lock(&self.sender).ok_or(code::TRY_AGAIN)?;
        let now = sys::coarse_now();
        if now - sender.looked >= LIVENESS_EVERY {
            sender.looked = now;
            self.look_alive();
        }
        if self.is_gone() {
            return Err(code::LIBRARY);
        }
        let tail = control.request_tail().load(Ordering::Relaxed);
        sender.producer.follow(tail, control.request_head()).map_err(|_| code::LIBRARY)?;
        let pushed = match iov {
            // The common shapes cost no list.
            [] => sender.producer.push(&self.memory, control.request_head(), header, &[Body::of_slice(head)]),
            [one] => {
                // SAFETY: the caller's promise.
                let parts = [Body::of_slice(head), Body::of_slice(unsafe { bytes(one) })];
                sender.producer.push(&self.memory, control.request_head(), header, &parts)
            }
            many => {
                let mut parts = Vec::with_capacity(many.len() + 1);
                parts.push(Body::of_slice(head));
                // SAFETY: the caller's promise.
                parts.extend(many.iter().map(|part| Body::of_slice(unsafe { bytes(part) })));
                sender.producer.push(&self.memory, control.request_head(), header, &parts)
            }
        };
        if !pushed.map_err(|_| code::LIBRARY)? {
            return Ok(false);
        }
        if !self.sent.load(Ordering::Relaxed) {
            self.sent.store(true, Ordering::Relaxed);
        }
        if signal::publish(control.request_tail(), sender.producer.tail(), control.request_asleep()) {
            self.ring_daemon(b'.');
            if self.is_gone() {
                return Err(code::LIBRARY);
            }
        }
        Ok(true)
    }

    /// Sends one request and waits for its reply: the daemon's error code and the body.
    /// One call at a time; others wait their turn.
    ///
    /// # Safety
    /// As [`Connection::send`].
    pub unsafe fn call(
        &self,
        kind: u16,
        flags: u16,
        a: u32,
        head: &[u8],
        iov: &[libc::iovec],
    ) -> Result<(u32, Vec<u8>), u32> {
        let _turn = self.lock(&self.calls).ok_or(code::TRY_AGAIN)?;
        let last = self.control().call_seq();
        let number = last.load(Ordering::Relaxed).wrapping_add(1).max(1);
        last.store(number, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        let header = RecordHeader { len: unsafe { body_length(head, iov) }?, kind, flags, a, b: number };
        // SAFETY: as above.
        while !unsafe { self.try_send(header, head, iov) }? {
            self.wait_for_room(CALL_SLICE);
            if !self.look_alive() {
                return Err(code::LIBRARY);
            }
        }
        self.wait_for_reply(number)?;
        self.read_reply(number)
    }

    fn wait_for_reply(&self, number: u32) -> Result<(), u32> {
        let control = self.control();
        let seq = control.reply_seq();
        for _ in 0..CALL_SPIN {
            if is_answered(seq.load(Ordering::Acquire), number) {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        loop {
            let now = signal::announce(control.reply_waiting(), seq);
            if is_answered(now, number) {
                signal::withdraw(control.reply_waiting());
                return Ok(());
            }
            futex_wait(seq, now, CALL_SLICE);
            if !is_answered(seq.load(Ordering::Acquire), number) && !self.look_alive() {
                return Err(code::LIBRARY);
            }
        }
    }

    fn read_reply(&self, number: u32) -> Result<(u32, Vec<u8>), u32> {
        let area = self.memory.replies();
        let mut header = [0; 16];
        self.memory.read(area, 0, &mut header);
        let word = |at: usize| u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let len = word(8);
        if word(0) != number && is_answered(word(0), number) {
            // Parent and child asked at the same time, and the other's answer came on top.
            return Err(code::LIBRARY);
        }
        if word(0) != number || len > area.size - 16 {
            self.mark_gone();
            return Err(code::LIBRARY);
        }
        let mut body = vec![0; len as usize];
        self.memory.read(Area { offset: area.offset + 16, size: area.size - 16 }, 0, &mut body);
        Ok((word(4), body))
    }
}

/// Whether the request answered last is this one or a later one.
fn is_answered(last: u32, number: u32) -> bool {
    last.wrapping_sub(number) < u32::MAX / 2
}

/// Total length, or `CS_ERR_TOO_BIG` beyond what a record can hold.
///
/// # Safety
/// `iov` is an array that can be read; the memory it describes is not touched.
unsafe fn body_length(head: &[u8], iov: &[libc::iovec]) -> Result<u32, u32> {
    let total = iov.iter().try_fold(head.len(), |sum, part| sum.checked_add(part.iov_len));
    total.and_then(|total| u32::try_from(total).ok()).filter(|total| *total <= MAX_BODY).ok_or(code::TOO_BIG)
}

/// The memory of one iovec; a null pointer with length 0 is an empty slice.
///
/// # Safety
/// The entry describes readable memory, or has length 0.
unsafe fn bytes(part: &libc::iovec) -> &[u8] {
    if part.iov_len == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(part.iov_base.cast::<u8>(), part.iov_len) }
}
