//! Every interleaving of the ring's positions and of its two sleep handshakes, by loom.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p evensong-ring --test loom --release`.
//! The model uses the real handshake (`signal`) and the real placement (`plan`); record
//! contents are loom cells, so that a read that is not ordered after its write is an error.

#![cfg(loom)]

use evensong_ring::{place, record_size, signal, Place};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::sync::Arc;
use loom::thread;

/// Four records of one header each, and a header's room for the filler.
const SIZE: u32 = 16 * 4;

struct Shared {
    tail: AtomicU32,
    head: AtomicU32,
    asleep: AtomicU32,
    room_wanted: AtomicU32,
    /// Doorbells: what would be a byte in the socket, a futex wake.
    bell: AtomicU32,
    room_bell: AtomicU32,
    cells: Vec<UnsafeCell<u32>>,
}

impl Shared {
    fn new() -> Arc<Shared> {
        Arc::new(Shared {
            tail: AtomicU32::new(0),
            head: AtomicU32::new(0),
            asleep: AtomicU32::new(0),
            room_wanted: AtomicU32::new(0),
            bell: AtomicU32::new(0),
            room_bell: AtomicU32::new(0),
            cells: (0..SIZE / 16).map(|_| UnsafeCell::new(0)).collect(),
        })
    }

    fn write(&self, at: u32, value: u32) {
        // SAFETY: the protocol under test says that nobody else has this cell now; loom checks.
        self.cells[(at / 16) as usize].with_mut(|cell| unsafe { *cell = value });
    }

    fn read(&self, at: u32) -> u32 {
        // SAFETY: as above.
        self.cells[(at / 16) as usize].with(|cell| unsafe { *cell })
    }
}

const JUMP: u32 = u32::MAX;

/// Sends 1..=count; when full announces and waits for the room bell.
fn produce(shared: &Shared, count: u32) {
    let (mut tail, mut value) = (0, 1);
    while value <= count {
        let head = shared.head.load(Ordering::Acquire);
        match place(tail, head, record_size(0), SIZE, SIZE) {
            Some(chosen) => {
                if chosen == Place::Start {
                    shared.write(tail, JUMP);
                    tail = 0;
                }
                shared.write(tail, value);
                tail += record_size(0);
                value += 1;
                if signal::publish(&shared.tail, tail, &shared.asleep) {
                    shared.bell.fetch_add(1, Ordering::Release);
                }
            }
            None => {
                let now = signal::announce(&shared.room_wanted, &shared.head);
                if now == head {
                    while shared.room_bell.swap(0, Ordering::Acquire) == 0 {
                        thread::yield_now();
                    }
                } else {
                    signal::withdraw(&shared.room_wanted);
                }
            }
        }
    }
}

/// Takes `count` values; when empty announces and sleeps until rung.
fn consume(shared: &Shared, count: u32) {
    let (mut head, mut expected) = (0, 1);
    while expected <= count {
        let tail = shared.tail.load(Ordering::Acquire);
        if tail == head {
            let now = signal::announce(&shared.asleep, &shared.tail);
            if now == head {
                while shared.bell.swap(0, Ordering::Acquire) == 0 {
                    thread::yield_now();
                }
            } else {
                signal::withdraw(&shared.asleep);
            }
            continue;
        }
        let mut value = shared.read(head);
        if value == JUMP {
            head = 0;
            value = shared.read(head);
        }
        assert_eq!(value, expected, "order or content lost");
        expected += 1;
        head += record_size(0);
        if signal::publish(&shared.head, head, &shared.room_wanted) {
            shared.room_bell.fetch_add(1, Ordering::Release);
        }
    }
}

fn explore(count: u32, preemptions: usize) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let shared = Shared::new();
        let producer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || produce(&shared, count))
        };
        consume(&shared, count);
        producer.join().expect("the producer ends");
    });
}

#[test]
fn two_messages_arrive_and_nobody_sleeps_for_ever() {
    explore(2, 3);
}

#[test]
fn a_ring_that_fills_and_jumps_loses_nothing() {
    explore(5, 2);
}

/// The descriptor's readiness: after any interleaving of one event and one dispatch that finds
/// the ring empty, either the byte is there or the client knows that it must ask for it.
#[test]
fn descriptor_is_never_quiet_while_an_event_is_due() {
    loom::model(|| {
        let tail = Arc::new(AtomicU32::new(0));
        let armed = Arc::new(AtomicU32::new(0));
        let byte = Arc::new(AtomicU32::new(0));
        let daemon = {
            let (tail, armed, byte) = (Arc::clone(&tail), Arc::clone(&armed), Arc::clone(&byte));
            thread::spawn(move || {
                if signal::publish(&tail, 16, &armed) {
                    byte.fetch_add(1, Ordering::Release);
                }
            })
        };
        // The client has drained its byte and arms again.
        let seen = signal::announce(&armed, &tail);
        let asks = seen != 0 && signal::withdraw(&armed);
        daemon.join().expect("the daemon ends");
        let rung = byte.load(Ordering::Acquire) == 1;
        let still_armed = armed.load(Ordering::Acquire) == 1;
        assert!(rung || asks, "an event is due, no byte, and nobody knows");
        assert!(!(rung && asks), "two bytes for one event");
        assert!(!still_armed, "armed while an event is due");
    });
}

/// The client's side of the descriptor, as `ffi/client` keeps it: the byte is read back when the
/// ring is empty, then it arms again; an event that came in between leaves the byte missing.
struct Descriptor {
    head: u32,
    byte_missing: bool,
}

impl Descriptor {
    fn dispatch(&mut self, tail: &AtomicU32, armed: &AtomicU32, bytes: &AtomicU32) {
        self.head = tail.load(Ordering::Acquire);
        if armed.load(Ordering::Acquire) == 0 {
            if !self.byte_missing {
                // The daemon may stand between taking the announcement and sending.
                while bytes.load(Ordering::Acquire) == 0 {
                    thread::yield_now();
                }
                bytes.fetch_sub(1, Ordering::AcqRel);
            }
            self.byte_missing = false;
            signal::announce(armed, tail);
        }
        if tail.load(Ordering::Acquire) != self.head && signal::withdraw(armed) {
            self.byte_missing = true;
        }
    }
}

/// Two events and two dispatches, in every order: a due event has a byte or the client knows that
/// it must ask for one, never both; and a quiet descriptor has no byte.
#[test]
fn descriptor_stays_exact_over_several_dispatches() {
    loom::model(|| {
        let tail = Arc::new(AtomicU32::new(0));
        let armed = Arc::new(AtomicU32::new(1));
        let bytes = Arc::new(AtomicU32::new(0));
        let daemon = {
            let (tail, armed, bytes) = (Arc::clone(&tail), Arc::clone(&armed), Arc::clone(&bytes));
            thread::spawn(move || {
                for end in [16, 32] {
                    if signal::publish(&tail, end, &armed) {
                        bytes.fetch_add(1, Ordering::Release);
                    }
                }
            })
        };
        let mut descriptor = Descriptor { head: 0, byte_missing: false };
        descriptor.dispatch(&tail, &armed, &bytes);
        descriptor.dispatch(&tail, &armed, &bytes);
        daemon.join().expect("the daemon ends");
        let due = tail.load(Ordering::Acquire) != descriptor.head;
        let readable = bytes.load(Ordering::Acquire);
        assert!(readable <= 1, "two bytes at a time");
        assert!(!due || readable == 1 || descriptor.byte_missing, "due, no byte, and nobody knows");
        assert!(!(readable == 1 && descriptor.byte_missing), "a second byte would be asked for");
        assert!(readable == 0 || armed.load(Ordering::Acquire) == 0, "armed while the byte is there");
    });
}
