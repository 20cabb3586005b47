//! A run from its seed to what became of it.

use std::cell::RefCell;
use std::panic::{catch_unwind, AssertUnwindSafe};

use evensong_core::time::Span;

use crate::check::{Property, Wrong};
use crate::options::{Options, Profile};
use crate::world::World;

const MILLI: u64 = 1_000_000;

/// Events that a run may need to settle.
const CALM_EVENTS: u64 = 5_000_000;

/// What became of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything held.
    Ok,
    /// A promise was broken.
    Wrong(Box<Wrong>),
    /// It did not settle after the faults.
    Stuck(String),
    /// Something panicked.
    Crash(String),
}

impl Outcome {
    /// Exit code of a command that ends with it.
    pub fn code(&self) -> u8 {
        match self {
            Outcome::Ok => 0,
            Outcome::Wrong(_) => 10,
            Outcome::Stuck(_) => 11,
            Outcome::Crash(_) => 12,
        }
    }
}

/// A run that is over.
#[derive(Clone, Debug)]
pub struct Report {
    /// What became of it.
    pub outcome: Outcome,
    /// Events.
    pub events: u64,
    /// Messages delivered, over all clients.
    pub delivered: u64,
    /// Messages sent.
    pub sent: u64,
    /// Configurations.
    pub configs: u64,
    /// Daemons started.
    pub lives: u64,
    /// Virtual time that passed, in nanoseconds.
    pub time: u64,
    /// Hash of everything that happened.
    pub hash: u64,
    /// The last lines of the trace.
    pub lines: Vec<String>,
}

thread_local! {
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps what a panic says instead of printing it.
pub fn catch_panics() {
    std::panic::set_hook(Box::new(|info| {
        PANIC.with(|text| *text.borrow_mut() = Some(info.to_string().replace('\n', " ")));
    }));
}

/// Runs from the beginning to the end.
pub fn run(options: Options, trace_lines: usize) -> Report {
    let mut world = World::new(options, trace_lines);
    let result = catch_unwind(AssertUnwindSafe(|| play(&mut world)));
    let outcome = result.unwrap_or_else(|_| {
        let text = PANIC.with(|text| text.borrow_mut().take());
        Outcome::Crash(text.unwrap_or_else(|| "a panic".to_owned()))
    });
    report(&world, outcome)
}

/// What there is to say about a world.
pub fn report(world: &World, outcome: Outcome) -> Report {
    Report {
        outcome,
        events: world.events,
        delivered: world.checker.delivered,
        sent: world.checker.messages.len() as u64,
        configs: world.checker.configs.len() as u64,
        lives: world.lives,
        time: world.now,
        hash: world.trace.hash,
        lines: world.trace.lines().map(str::to_owned).collect(),
    }
}

fn play(world: &mut World) -> Outcome {
    let (fault_time, max) = (world.options.fault_time, world.options.events_max);
    if max > 0 {
        world.events_end = max;
    }
    world.run_until(fault_time);
    if world.options.profile == Profile::Hostile {
        return Outcome::Ok;
    }
    if max > 0 {
        world.events_end = max.saturating_add(world.events).saturating_add(CALM_EVENTS);
    }
    world.calm_down();
    world.run_until(world.now + world.options.calm_time);
    let outcome = settle(world, bound(world));
    if outcome != Outcome::Ok {
        return outcome;
    }
    finish(world)
}

/// How long a settled ring may take to form: twice the time that a ring needs when a member
/// is lost, with three seconds for what the hosts themselves need, and time to send what waits.
pub fn bound(world: &World) -> Span {
    let ring = world.totem.token.0 + world.totem.consensus.0 + 3_000 * MILLI;
    Span(2 * ring + world.options.outage + 30_000 * MILLI)
}

/// Lets clients rest and waits until all is settled.
pub fn settle(world: &mut World, within: Span) -> Outcome {
    world.quiet = true;
    let end = world.now + within.0;
    let mut missing = None;
    while world.wrong.is_none() && world.now < end {
        world.run_until(world.now + 50 * MILLI);
        missing = world.checker.missing();
        if world.events >= world.events_end {
            missing = Some(format!("too much happens: {}", missing.unwrap_or_default()));
            break;
        }
        if missing.is_none() && world.wrong.is_none() {
            return Outcome::Ok;
        }
    }
    match (world.wrong.clone(), missing) {
        (Some(wrong), _) => Outcome::Wrong(wrong),
        (None, Some(text)) => Outcome::Stuck(text),
        (None, None) => Outcome::Ok,
    }
}

/// A settled world stays as it is, and what can be said at the end is true.
pub fn finish(world: &mut World) -> Outcome {
    let before = world.checker.configs.len();
    world.events_end = u64::MAX;
    world.run_until(world.now + 2 * world.totem.token.0);
    if world.wrong.is_none() && world.checker.configs.len() != before {
        return Outcome::Stuck("the ring broke although nothing happened".to_owned());
    }
    let there = world.group_lists();
    if let Some(wrong) = world.wrong.clone() {
        return Outcome::Wrong(wrong);
    }
    if let Some(text) = world.checker.missing() {
        return Outcome::Stuck(text);
    }
    let checked = world.checker.check_groups(&there).and_then(|()| world.checker.at_end());
    match checked {
        Ok(()) => Outcome::Ok,
        Err(wrong) => Outcome::Wrong(wrong),
    }
}

/// Whether this is about liveness.
pub fn is_liveness(wrong: &Wrong) -> bool {
    wrong.property == Property::Liveness
}
