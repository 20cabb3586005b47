//! Dispatching: from events in the ring to calls of the program's functions.
//!
//! Programs cancel threads that wait here (pthread_cancel), and their functions may end the
//! thread. So the entry point waits and calls back in its own frame, outside the guard, where
//! nothing needs to be destroyed; between that it takes guarded steps of a [`Turn`], which lies in
//! a place of the thread. The end of a thread that was cancelled cleans it up: what the callback
//! had is released, the reference to the handle is given back. No lock is held meanwhile.

use std::ffi::{c_uint, c_void};
use std::sync::atomic::Ordering;
use std::sync::Arc;

use evensong_client::{code, guard, guard_quick, Event, Take, Ticket, Turns, AGAIN_MAX};
use evensong_core::ipc::event::{self, kind};

use crate::calls;
use crate::instance::Instance;
use crate::types::{evs_confchg_fn_t, evs_deliver_fn_t, evs_ring_id};

/// Values of `cs_dispatch_flags_t`; any other acts as blocking, as in the original. The original
/// had no flag 4; programs built with today's headers do.
const ONE: u32 = 1;
const ALL: u32 = 2;
const ONE_NONBLOCKING: u32 = 4;

/// What the entry point does next. Pointers lead into the ring and hold until the step after.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub enum Step {
    /// Call for a message.
    Deliver { call: evs_deliver_fn_t, node: c_uint, msg: *const c_void, len: usize },
    /// Call for a configuration.
    Confchg { call: evs_confchg_fn_t, ring: evs_ring_id, members: List, left: List, joined: List },
    /// Poll this descriptor.
    Wait(i32),
    /// Return this code; the turn is over.
    Return(u32),
}

/// A list of nodes in the ring.
#[derive(Clone, Copy)]
pub struct List {
    /// Its first entry.
    pub start: *const c_uint,
    /// Number of entries.
    pub len: usize,
}

thread_local! {
    static TURNS: Turns<Turn> = const { Turns::new() };
}

/// A turn that has begun.
#[derive(Clone, Copy)]
pub struct Active(evensong_client::Active<Turn>);

impl Active {
    /// Before anything is done but looking the handle up.
    pub fn begin(handle: u64, flags: u32) -> Result<Active, u32> {
        let turn = || calls::instance(handle).map(|instance| Turn::new(instance, flags));
        evensong_client::Active::begin(&TURNS, turn).map(Active)
    }

    /// The next step.
    pub fn step(mut self) -> Step {
        self.0.turn().step()
    }
}

/// One call of evs_dispatch. Plain data on purpose, see the module's head.
#[derive(Clone, Copy)]
struct Turn {
    /// From `Arc::into_raw`; null when the turn is over.
    instance: *const Instance,
    flags: u32,
    /// The event whose callback has returned.
    done: Option<Ticket>,
    /// An event was handed out or skipped.
    served: bool,
    /// How often something came while the end was near.
    again: u32,
}

impl Turn {
    fn new(instance: Arc<Instance>, flags: u32) -> Turn {
        let instance = Arc::into_raw(instance);
        Turn { instance, flags, done: None, served: false, again: 0 }
    }

    /// Works up to the next thing that the entry point has to do. Not called again after it
    /// said `Return`.
    fn step(&mut self) -> Step {
        let mut step = Step::Return(code::LIBRARY);
        guard_quick(|| {
            step = self.advance();
            code::OK
        });
        if let Step::Return(error) = step {
            guard(|| {
                self.finish();
                code::OK
            });
            return Step::Return(error);
        }
        step
    }

    fn advance(&mut self) -> Step {
        // SAFETY: from `Arc::into_raw`, given back in `finish` and not before.
        let instance = unsafe { &*self.instance };
        if instance.finalized.load(Ordering::Relaxed) {
            return Step::Return(code::BAD_HANDLE);
        }
        loop {
            if self.served && matches!(self.flags, ONE | ONE_NONBLOCKING) {
                return Step::Return(code::OK);
            }
            match instance.connection.take_next(self.done.take(), |_| ()) {
                Take::Event(event) => {
                    self.done = Some(event.ticket);
                    self.served = true;
                    // SAFETY: just taken, so the body lies in the ring and is ours.
                    match unsafe { step_for(instance, &event) } {
                        Step::Deliver { call: None, .. } | Step::Confchg { call: None, .. } => {}
                        step => return step,
                    }
                }
                Take::Empty => match self.flags {
                    ALL if self.again < AGAIN_MAX && !instance.connection.settle_down() => self.again += 1,
                    ALL => return Step::Return(code::OK),
                    ONE_NONBLOCKING => return Step::Return(code::TRY_AGAIN),
                    _ if instance.connection.prepare_wait() => return Step::Wait(instance.connection.fd()),
                    _ => {}
                },
                Take::Gone if instance.finalized.load(Ordering::Acquire) => return Step::Return(code::BAD_HANDLE),
                Take::Gone => return Step::Return(code::LIBRARY),
            }
        }
    }

    /// The turn is over: what it had is given back.
    fn finish(&mut self) {
        if let Some(instance) = self.end() {
            instance.connection.returning();
        }
    }

    fn end(&mut self) -> Option<Arc<Instance>> {
        if self.instance.is_null() {
            return None;
        }
        // SAFETY: from `Arc::into_raw`, given back once: it is null from now on.
        let instance = unsafe { Arc::from_raw(self.instance) };
        self.instance = std::ptr::null();
        if let Some(ticket) = self.done.take() {
            instance.connection.release(ticket);
        }
        Some(instance)
    }
}

impl evensong_client::Turn for Turn {
    fn is_over(&self) -> bool {
        self.instance.is_null()
    }

    fn abandon(&mut self) {
        guard(|| {
            drop(self.end());
            code::OK
        });
    }
}

/// # Safety
/// The body of the event lies in memory of ours.
unsafe fn step_for(instance: &Instance, event: &Event) -> Step {
    match event.kind {
        kind::EVS_DELIVER => {
            let call = instance.callbacks.evs_deliver_fn;
            Step::Deliver { call, node: event.a, msg: event.body.cast_const().cast(), len: event.len as usize }
        }
        // SAFETY: the caller's promise.
        kind::EVS_CONFCHG => unsafe { confchg(instance, event) },
        _ => Step::Return(code::LIBRARY),
    }
}

/// A configuration: checked on a copy, handed out where it lies, since its lists are as C has
/// them. The lists are the last thing in the body.
///
/// # Safety
/// The body of the event lies in memory of ours.
unsafe fn confchg(instance: &Instance, event: &Event) -> Step {
    // SAFETY: the caller's promise; the daemon does not write to what it has handed over.
    let copy = unsafe { std::slice::from_raw_parts(event.body, event.len as usize) }.to_vec();
    let Ok(change) = event::decode_evs_confchg(&copy) else { return Step::Return(code::LIBRARY) };
    let (members, left, joined) = (change.members.len(), change.left.len(), change.joined.len());
    let lists = copy.len() - (members + left + joined) * size_of::<c_uint>();
    let list = |before: usize, len: usize| {
        let at = lists + before * size_of::<c_uint>();
        List { start: event.body.wrapping_add(at).cast_const().cast(), len }
    };
    Step::Confchg {
        call: instance.callbacks.evs_confchg_fn,
        ring: evs_ring_id { nodeid: change.ring.rep.0, seq: change.ring.seq },
        members: list(0, members),
        left: list(members, left),
        joined: list(members + left, joined),
    }
}
