//! Taking events out of the event ring, and the readiness of the descriptor.
//!
//! The descriptor is readable when and only when something is due: one byte lies in the
//! socket from the first event after quiet until a dispatch has taken the last one. The byte
//! is read back only then, and re-arming looks once more before anyone sleeps. Several
//! threads may dispatch; memory is given back in order, when the oldest callback is done.

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::time::Duration;

use evensong_ring::{signal, Area, Consumer, Memory};

use crate::connection::Connection;
use crate::sys;

/// Bytes taken before the daemon is told, at least, while events keep coming.
const GIVE_BACK_EVERY: u32 = 32 * 1024;
/// Most turns a blocking dispatch spins before it sleeps; adapts downwards when that is vain.
const SPIN_MAX: u32 = 60;

/// Byte that asks the daemon to make the descriptor readable again.
const BYTE_AGAIN: u8 = b'R';

/// Names an event that was taken and not yet released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(u64);

/// An event: the record's header fields and its body in the ring, valid until released.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// What it is ([`evensong_core::ipc::event::kind`]).
    pub kind: u16,
    /// Kind-specific.
    pub flags: u16,
    /// Kind-specific.
    pub a: u32,
    /// Kind-specific.
    pub b: u32,
    /// The body; the program may write into it.
    pub body: *mut u8,
    /// Its length.
    pub len: u32,
    /// To release it.
    pub ticket: Ticket,
}

/// What [`Connection::take`] found.
#[derive(Clone, Copy, Debug)]
pub enum Take {
    /// An event; release it after its callback.
    Event(Event),
    /// Nothing is due.
    Empty,
    /// The daemon is gone and all events are taken.
    Gone,
}

/// Taken and not yet given back.
struct Claim {
    end: u32,
    done: bool,
}

pub(crate) struct Taker {
    consumer: Consumer,
    area: Area,
    claims: VecDeque<Claim>,
    /// Ticket number of the oldest claim.
    first: u64,
    /// Position up to which memory can be given back.
    free: u32,
    /// Position that the daemon knows.
    told: u32,
    /// The descriptor is not armed, yet no byte lies in the socket.
    byte_missing: bool,
    looked: Duration,
    spin: u32,
    /// Rounds of one message sent, one answer taken, that came in a row.
    rounds: u32,
    /// A dispatch found nothing in this round: the program looks by itself, it does not poll.
    looked_in_vain: bool,
}

/// Looks for a byte that must be about to come, and turns between two of them, before sleeping.
const BYTE_TRIES: u32 = 40;
const BYTE_TURNS: u32 = 8;
/// Rounds in a row after which the next one is expected, too.
const ROUNDS_EXPECTED: u32 = 4;
/// Turns that a sender in such a round waits for its answer, and looks at the socket.
const ANSWER_TURNS: u32 = 200;
const ANSWER_LOOKS: u32 = 40;

impl Taker {
    pub(crate) fn new(area: Area) -> Taker {
        Taker {
            consumer: Consumer::new(area, 0),
            area,
            claims: VecDeque::new(),
            first: 0,
            free: 0,
            told: 0,
            byte_missing: false,
            looked: Duration::ZERO,
            spin: SPIN_MAX,
            rounds: 0,
            looked_in_vain: false,
        }
    }

    fn claim(&mut self, end: u32) -> Ticket {
        self.claims.push_back(Claim { end, done: false });
        Ticket(self.first + self.claims.len() as u64 - 1)
    }

    fn settle(&mut self, ticket: Ticket) {
        if let Some(claim) = ticket.0.checked_sub(self.first).and_then(|at| self.claims.get_mut(at as usize)) {
            claim.done = true;
        }
        while self.claims.front().is_some_and(|claim| claim.done) {
            if let Some(claim) = self.claims.pop_front() {
                self.free = claim.end;
                self.first += 1;
            }
        }
    }
}

impl Connection {
    /// Takes the next event.
    pub fn take(&self) -> Take {
        self.take_next(None, |_| ())
    }

    /// Releases the event that was taken before, if any, and takes the next one, in one step.
    /// `note` sees each event in the ring's order, whichever threads take them.
    pub fn take_next(&self, done: Option<Ticket>, note: impl FnOnce(&Event)) -> Take {
        let Some(mut taker) = self.lock(&self.taker) else { return Take::Gone };
        let taker = &mut *taker;
        match done {
            Some(ticket) => self.settle(taker, ticket),
            None => self.follow(taker),
        }
        match taker.consumer.peek(&self.memory, self.control().event_tail()) {
            Ok(Some(record)) => {
                taker.consumer.advance(&record);
                let header = record.header;
                let ticket = taker.claim(record.end);
                let body = body_pointer(&self.memory, taker.area, record.at, header.len).as_ptr();
                let (kind, flags, a, b) = (header.kind, header.flags, header.a, header.b);
                let event = Event { kind, flags, a, b, body, len: header.len, ticket };
                note(&event);
                Take::Event(event)
            }
            Ok(None) => self.nothing_due(taker),
            Err(_) => {
                self.mark_gone();
                Take::Gone
            }
        }
    }

    /// Nothing is in the ring: is the daemon still there? Programs that send between two
    /// looks (a flood) pay for the look only when the coarse clock has moved.
    fn nothing_due(&self, taker: &mut Taker) -> Take {
        taker.looked_in_vain = true;
        if self.is_gone() {
            return Take::Gone;
        }
        let busy = self.sent.swap(false, Ordering::Relaxed);
        let now = sys::coarse_now();
        if busy && now == taker.looked {
            return Take::Empty;
        }
        taker.looked = now;
        if self.look_alive() {
            Take::Empty
        } else {
            Take::Gone
        }
    }

    /// Gives an event's memory back, after its callback has returned.
    pub fn release(&self, ticket: Ticket) {
        if let Some(mut taker) = self.lock(&self.taker) {
            self.settle(&mut taker, ticket);
        }
    }

    /// Goes on where another process that has this connection left off. Between two dispatches
    /// everything taken is given back, so the head tells. A head that cannot be shows at the
    /// next look into the ring.
    fn follow(&self, taker: &mut Taker) {
        let head = self.control().event_head().load(Ordering::Relaxed);
        if head != taker.told && taker.claims.is_empty() && taker.consumer.follow(head).is_ok() {
            (taker.free, taker.told) = (head, head);
        }
    }

    fn settle(&self, taker: &mut Taker, ticket: Ticket) {
        taker.settle(ticket);
        if taker.free.abs_diff(taker.told) >= GIVE_BACK_EVERY {
            self.give_back(taker);
        }
    }

    fn give_back(&self, taker: &mut Taker) {
        if taker.told == taker.free {
            return;
        }
        taker.told = taker.free;
        let control = self.control();
        if signal::publish(control.event_head(), taker.free, control.event_room_wanted()) {
            self.ring_daemon(b'.');
        }
    }

    /// Before a blocking wait. True: nothing is due, the descriptor is quiet and armed; poll
    /// it. False: take again.
    pub fn prepare_wait(&self) -> bool {
        let Some(mut taker) = self.lock(&self.taker) else { return true };
        self.note_dispatcher();
        let taker = &mut *taker;
        let tail = self.control().event_tail();
        for turn in 0..taker.spin {
            if !taker.consumer.is_empty(tail) {
                taker.spin = (taker.spin + turn / 4 + 1).min(SPIN_MAX);
                return false;
            }
            std::hint::spin_loop();
        }
        taker.spin = (taker.spin - taker.spin / 8).max(4);
        self.give_back(taker);
        self.make_quiet(taker)
    }

    /// A dispatch of all that is due found nothing more. False: something came while the
    /// descriptor was made quiet; take it, rather than have the daemon make it readable again.
    pub fn settle_down(&self) -> bool {
        let Some(mut taker) = self.lock(&self.taker) else { return true };
        let taker = &mut *taker;
        self.give_back(taker);
        taker.consumer.is_empty(self.control().event_tail()) && self.make_quiet(taker)
    }

    /// A dispatch is about to return to the program: memory is given back, and the descriptor
    /// is readable if and only if something is due.
    pub fn returning(&self) {
        let Some(mut taker) = self.lock(&self.taker) else { return };
        self.note_dispatcher();
        let taker = &mut *taker;
        self.give_back(taker);
        if taker.consumer.is_empty(self.control().event_tail()) {
            self.make_quiet(taker);
            self.count_rounds(taker);
        }
        if taker.byte_missing && !taker.consumer.is_empty(self.control().event_tail()) {
            self.ring_daemon(BYTE_AGAIN);
            taker.byte_missing = false;
        }
    }

    /// Notes whether exactly one message was sent since the last time that all was taken.
    fn count_rounds(&self, taker: &mut Taker) {
        let polled = !std::mem::take(&mut taker.looked_in_vain);
        match self.sent_since_quiet.swap(0, Ordering::Relaxed) {
            0 => return,
            1 if polled => taker.rounds = (taker.rounds + 1).min(ROUNDS_EXPECTED),
            _ => taker.rounds = 0,
        }
        self.answer_expected.store(taker.rounds == ROUNDS_EXPECTED, Ordering::Relaxed);
    }

    /// After a send in a program that goes send, poll, dispatch, send, ...: waits a few
    /// microseconds for the answer, which would otherwise come just after the program has
    /// gone to sleep; waking it again costs many times as much.
    pub(crate) fn await_answer(&self) {
        let control = self.control();
        for _ in 0..ANSWER_TURNS {
            if control.event_armed().load(Ordering::Relaxed) == 0 {
                for _ in 0..ANSWER_LOOKS {
                    if sys::poll_in(self.fd(), 0) != 0 {
                        break;
                    }
                }
                return;
            }
            std::hint::spin_loop();
        }
        self.answer_expected.store(false, Ordering::Relaxed);
    }

    /// Reads the byte back and arms the descriptor; false when an event came in between.
    fn make_quiet(&self, taker: &mut Taker) -> bool {
        let control = self.control();
        if control.event_armed().load(Ordering::Acquire) != 0 {
            // Armed since before the last look: whatever came after that will be rung for.
            return taker.consumer.is_empty(control.event_tail());
        }
        if !taker.byte_missing && !self.drain_byte() {
            return false;
        }
        taker.byte_missing = false;
        signal::announce(control.event_armed(), control.event_tail());
        if taker.consumer.is_empty(control.event_tail()) {
            return true;
        }
        if signal::withdraw(control.event_armed()) {
            taker.byte_missing = true;
        }
        false
    }

    /// Takes the one byte that is in the socket or about to be; false when the daemon is gone.
    fn drain_byte(&self) -> bool {
        let mut tries = 0;
        loop {
            match sys::receive_byte(self.fd()) {
                Ok(0) => self.mark_gone(),
                Ok(_) => return true,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    // The daemon stands between taking the announcement and sending: this thread
                    // took the event before the bell for it was through. To sleep would cost many
                    // times what is left of that system call.
                    tries += 1;
                    if tries > BYTE_TRIES {
                        sys::poll_in(self.fd(), 100);
                    } else {
                        (0..BYTE_TURNS).for_each(|_| std::hint::spin_loop());
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => self.mark_gone(),
            }
            if self.is_gone() {
                return false;
            }
        }
    }
}

fn body_pointer(memory: &Memory, area: Area, at: u32, len: u32) -> NonNull<u8> {
    memory.pointer(area, at, len)
}
