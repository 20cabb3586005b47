//! Dispatching: from events in the ring to calls of the program's functions.
//!
//! Programs cancel threads that wait here (pthread_cancel), and their functions may end the
//! thread. So the entry point waits and calls back in its own frame, outside the guard, where
//! nothing needs to be destroyed; between that it takes guarded steps of a [`Turn`], which lies in
//! a place of the thread. The end of a thread that was cancelled cleans it up: what the callback
//! had is released, the reference to the handle is given back. No lock is held meanwhile.

use std::ffi::c_void;
use std::sync::atomic::Ordering;
use std::sync::Arc;

use evensong_client::{code, guard, guard_quick, Event, Take, Ticket, Turns, AGAIN_MAX};
use evensong_core::ipc::event::{self, kind};

use crate::assembly::Piece;
use crate::calls;
use crate::instance::Instance;
use crate::types::{cpg_address, cpg_confchg_fn_t, cpg_deliver_fn_t, cpg_name, cpg_ring_id, cpg_totem_confchg_fn_t};

/// Values of `cs_dispatch_flags_t`; any other acts as blocking, as in the original.
const ONE: u32 = 1;
const ALL: u32 = 2;
const ONE_NONBLOCKING: u32 = 4;

/// What the entry point does next. Pointers lead into the ring, to the name table or to an
/// assembled message, and hold until the step after.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub enum Step {
    /// Call for a message.
    Deliver { call: cpg_deliver_fn_t, name: *const cpg_name, node: u32, pid: u32, msg: *mut c_void, len: usize },
    /// Call for a change of the group.
    Confchg { call: cpg_confchg_fn_t, name: *const cpg_name, members: List, left: List, joined: List },
    /// Call for a change of the ring.
    TotemConfchg { call: cpg_totem_confchg_fn_t, ring: cpg_ring_id, members: *const u32, count: u32 },
    /// Poll this descriptor.
    Wait(i32),
    /// Return this code; the turn is over.
    Return(u32),
}

/// A list in the ring.
#[derive(Clone, Copy)]
pub struct List {
    /// Its first entry.
    pub start: *const cpg_address,
    /// Number of entries.
    pub len: usize,
}

/// What an event means to the loop.
enum Meaning {
    Call(Step),
    /// Nobody wants it; it counts as one event all the same.
    Skipped,
    /// A piece of a message that is not whole yet; counts as nothing.
    Piece,
    /// The code to give up with.
    Fatal(u32),
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

/// One call of cpg_dispatch. Plain data on purpose, see the module's head.
#[derive(Clone, Copy)]
struct Turn {
    /// From `Arc::into_raw`; null when the turn is over.
    instance: *const Instance,
    flags: u32,
    /// The event whose callback has returned.
    done: Option<Ticket>,
    /// An assembled message whose callback has returned, from `Box::into_raw`.
    message: *mut Vec<u8>,
    /// An event was handed out or skipped.
    served: bool,
    /// A piece was taken.
    pieces: bool,
    /// How often something came while the end was near.
    again: u32,
}

impl Turn {
    fn new(instance: Arc<Instance>, flags: u32) -> Turn {
        let instance = Arc::into_raw(instance);
        let message = std::ptr::null_mut();
        Turn { instance, flags, done: None, message, served: false, pieces: false, again: 0 }
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
        self.drop_message();
        if instance.finalized.load(Ordering::Relaxed) {
            return Step::Return(code::BAD_HANDLE);
        }
        if self.served && self.is_single() {
            return Step::Return(code::OK);
        }
        loop {
            let mut meaning = Meaning::Skipped;
            let taken = instance.connection.take_next(self.done.take(), |event| {
                // SAFETY: just taken, so the body lies in the ring and is ours.
                meaning = unsafe { self.meaning(instance, event) };
            });
            match taken {
                Take::Event(event) => self.done = Some(event.ticket),
                Take::Empty => match self.nothing_due(instance) {
                    Some(step) => return step,
                    None => continue,
                },
                Take::Gone if instance.finalized.load(Ordering::Acquire) => return Step::Return(code::BAD_HANDLE),
                Take::Gone => return Step::Return(code::LIBRARY),
            }
            match meaning {
                Meaning::Call(step) => {
                    self.served = true;
                    return step;
                }
                Meaning::Skipped if self.is_single() => return Step::Return(code::OK),
                Meaning::Skipped => self.served = true,
                Meaning::Piece => self.pieces = true,
                Meaning::Fatal(error) => return Step::Return(error),
            }
        }
    }

    fn is_single(&self) -> bool {
        matches!(self.flags, ONE | ONE_NONBLOCKING)
    }

    /// The ring is empty: return, wait, or (`None`) look again. A single dispatch that took
    /// pieces does not wait for the rest: the descriptor may have been readable just for them.
    fn nothing_due(&mut self, instance: &Instance) -> Option<Step> {
        match self.flags {
            ALL if self.again < AGAIN_MAX && !instance.connection.settle_down() => {
                self.again += 1;
                None
            }
            ALL => Some(Step::Return(code::OK)),
            ONE | ONE_NONBLOCKING if self.pieces => Some(Step::Return(code::OK)),
            ONE_NONBLOCKING => Some(Step::Return(code::TRY_AGAIN)),
            _ if instance.connection.prepare_wait() => Some(Step::Wait(instance.connection.fd())),
            _ => None,
        }
    }

    /// Follows an event in the ring's order and says what it means.
    ///
    /// # Safety
    /// The body of the event lies in memory of ours.
    unsafe fn meaning(&mut self, instance: &Instance, event: &Event) -> Meaning {
        match event.kind {
            kind::CPG_DELIVER => {
                let call = instance.callbacks.deliver;
                let (name, msg) = (instance.names.current(), event.body.cast());
                let len = event.len as usize;
                wanted(call.is_some(), Step::Deliver { call, name, node: event.a, pid: event.b, msg, len })
            }
            // SAFETY: the caller's promise, for all three.
            kind::CPG_PARTIAL_DELIVER => unsafe { self.partial(instance, event) },
            // SAFETY: as above.
            kind::CPG_CONFCHG => unsafe { confchg(instance, event) },
            // SAFETY: as above.
            kind::CPG_TOTEM_CONFCHG => unsafe { totem_confchg(instance, event) },
            _ => Meaning::Fatal(code::LIBRARY),
        }
    }

    /// # Safety
    /// The body of the event lies in memory of ours.
    unsafe fn partial(&mut self, instance: &Instance, event: &Event) -> Meaning {
        // SAFETY: the caller's promise; the daemon does not write to what it has handed over.
        let body = unsafe { std::slice::from_raw_parts(event.body, event.len as usize) };
        let Ok((part, total)) = event::decode_partial(event.flags, body) else {
            return Meaning::Fatal(code::LIBRARY);
        };
        let Some(call) = instance.callbacks.deliver else { return Meaning::Piece };
        let piece = body.get(event::PARTIAL_PREFIX..).unwrap_or_default();
        let (node, pid) = (event.a, event.b);
        match instance.assemblies.lock().piece((node, pid), part, total, piece) {
            Piece::Kept => Meaning::Piece,
            Piece::NoMemory => Meaning::Fatal(code::NO_MEMORY),
            Piece::Whole(bytes) => {
                self.message = Box::into_raw(Box::new(bytes));
                // SAFETY: just made from a box, nobody else has it.
                let bytes = unsafe { &mut *self.message };
                let (msg, len) = (bytes.as_mut_ptr().cast(), bytes.len());
                Meaning::Call(Step::Deliver { call: Some(call), name: instance.names.current(), node, pid, msg, len })
            }
        }
    }

    fn drop_message(&mut self) {
        if !self.message.is_null() {
            // SAFETY: from `Box::into_raw`; its callback has returned.
            drop(unsafe { Box::from_raw(self.message) });
            self.message = std::ptr::null_mut();
        }
    }

    /// The turn is over: what it had is given back.
    fn finish(&mut self) {
        if let Some(instance) = self.end() {
            instance.connection.returning();
        }
    }

    fn end(&mut self) -> Option<Arc<Instance>> {
        self.drop_message();
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

fn wanted(wanted: bool, step: Step) -> Meaning {
    if wanted {
        Meaning::Call(step)
    } else {
        Meaning::Skipped
    }
}

/// # Safety
/// The body of the event lies in memory of ours.
unsafe fn copy(event: &Event) -> Vec<u8> {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(event.body, event.len as usize) }.to_vec()
}

/// A change of the group: checked on a copy, handed out where it lies, since its lists are as C
/// has them. The lists are the last thing in the body.
///
/// # Safety
/// The body of the event lies in memory of ours.
unsafe fn confchg(instance: &Instance, event: &Event) -> Meaning {
    // SAFETY: the caller's promise.
    let Ok(change) = event::decode_cpg_confchg(&unsafe { copy(event) }) else { return Meaning::Fatal(code::LIBRARY) };
    follow(instance, &change);
    let (members, left, joined) = (change.members.len(), change.left.len(), change.joined.len());
    let lists = event.len as usize - (members + left + joined) * size_of::<cpg_address>();
    let list = |before: usize, len: usize| {
        let at = lists + before * size_of::<cpg_address>();
        List { start: event.body.wrapping_add(at).cast_const().cast(), len }
    };
    let call = instance.callbacks.confchg;
    let name = instance.names.current();
    let (members_list, left_list, joined_list) = (list(0, members), list(members, left), list(members + left, joined));
    let step = Step::Confchg { call, name, members: members_list, left: left_list, joined: joined_list };
    wanted(call.is_some(), step)
}

/// What a change of the group does to the library's own state.
fn follow(instance: &Instance, change: &evensong_core::output::CpgConfchg) {
    let other_group = instance.names.enter(&change.group);
    let node = instance.node.load(Ordering::Relaxed);
    let own = |member: &evensong_core::output::CpgMember| {
        node != 0 && member.node.0 == node && member.pid == std::process::id()
    };
    let mut assemblies = instance.assemblies.lock();
    if other_group || change.joined.iter().any(own) {
        assemblies.clear();
    }
    for member in &change.left {
        assemblies.drop_sender((member.node.0, member.pid));
    }
}

/// A change of the ring. The list of members comes first of three at the end of the body.
///
/// # Safety
/// The body of the event lies in memory of ours.
unsafe fn totem_confchg(instance: &Instance, event: &Event) -> Meaning {
    // SAFETY: the caller's promise.
    let Ok(change) = event::decode_totem_confchg(&unsafe { copy(event) }) else { return Meaning::Fatal(code::LIBRARY) };
    let lists = change.members.len() + change.left.len() + change.joined.len();
    let at = event.len as usize - lists * size_of::<u32>();
    let call = instance.callbacks.totem_confchg;
    let step = Step::TotemConfchg {
        call,
        ring: cpg_ring_id { nodeid: change.ring.rep.0, seq: change.ring.seq },
        members: event.body.wrapping_add(at).cast_const().cast(),
        count: change.members.len() as u32,
    };
    wanted(call.is_some(), step)
}
