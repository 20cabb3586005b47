//! Keeps the loop off the processor of a busy client.
//!
//! A real-time thread that is woken on the processor of the thread that rang interrupts that
//! thread at its first message, serves just this one, and sleeps again: every message then
//! costs a wake-up and two switches, while another processor may be idle. The kernel moves
//! neither thread, because both look busy. So after a few such bells the loop steps aside.

use std::time::{Duration, Instant};

use crate::sys::scheduling::{processor, step_aside};

/// Bells from this processor, one after another, that are taken for a habit.
const HABIT: u32 = 4;
/// Least time between two moves: with as many busy clients as processors no place is better.
const REST: Duration = Duration::from_millis(5);

/// What is known of who rings from where.
#[derive(Debug, Default)]
pub struct Neighbour {
    /// Bells in a row from the loop's own processor.
    bells: u32,
    moved: Option<Instant>,
}

impl Neighbour {
    /// A client rang from this processor (`None`: unknown).
    pub fn rung_from(&mut self, client: Option<usize>) {
        if client.is_none() || client != processor() {
            self.bells = 0;
            return;
        }
        self.bells += 1;
        if self.bells < HABIT || self.moved.is_some_and(|at| at.elapsed() < REST) {
            return;
        }
        self.bells = 0;
        self.moved = Some(Instant::now());
        // Where it may not move, all stays as it is.
        let _moved = step_aside();
    }

    /// Whether the last bell came from the processor that the loop runs on: to spin there
    /// would only keep the client from its next message.
    pub fn is_in_the_way(&self) -> bool {
        self.bells > 0
    }
}
