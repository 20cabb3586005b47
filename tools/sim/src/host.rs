//! A machine with a daemon on it: its clock, what it has stored, what waits for it.

use std::collections::VecDeque;

use bytes::Bytes;
use evensong_core::ids::NodeId;
use evensong_core::node::Node;

use crate::faults::Trap;

/// Bytes that wait for a daemon that does not look; what comes on top is lost.
pub const INBOX: usize = 2 << 20;
/// No instant.
pub const NEVER: u64 = u64::MAX;

/// A clock that starts anywhere and does not go at the right speed.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// What it shows at the beginning, in nanoseconds.
    pub offset: u64,
    /// How many parts per million it gains.
    pub gains: i64,
}

impl Clock {
    fn gained(self, time: u64) -> i64 {
        (i128::from(time) * i128::from(self.gains) / 1_000_000) as i64
    }

    /// What it shows.
    pub fn local(self, time: u64) -> u64 {
        (self.offset + time).wrapping_add_signed(self.gained(time))
    }

    /// The first instant at which it shows `local` or more.
    pub fn instant(self, local: u64) -> u64 {
        let shown = local.saturating_sub(self.offset);
        let mut time = (u128::from(shown) * 1_000_000 / (1_000_000 + self.gains) as u128) as u64;
        while self.local(time) < local {
            time += 1;
        }
        while time > 0 && self.local(time - 1) >= local {
            time -= 1;
        }
        time
    }
}

/// A daemon that runs.
#[derive(Debug)]
pub struct Daemon {
    /// The node.
    pub node: Node,
    /// When the next tick comes.
    pub tick_at: u64,
    /// Clients, by their number on this node less one: their numbers in the run.
    pub clients: Vec<u32>,
    /// Clients that wait for room.
    pub waiting: Vec<usize>,
}

/// A machine.
#[derive(Debug)]
pub struct Host {
    /// Its node id.
    pub id: NodeId,
    /// How often its daemon was started.
    pub life: u32,
    /// Its daemon.
    pub daemon: Option<Box<Daemon>>,
    /// Ring number on its disk.
    pub stored: u64,
    /// Its clock.
    pub clock: Clock,
    /// Until when the daemon does nothing.
    pub busy_until: u64,
    /// What an input costs it, in nanoseconds.
    pub slow: u64,
    /// Frames that wait.
    pub inbox: VecDeque<Bytes>,
    /// Their bytes.
    pub inbox_bytes: usize,
    /// It is known when the daemon looks at them.
    pub run_due: bool,
    /// What is set for it.
    pub trap: Option<Trap>,
    /// It is to be started again; not so if it stays down for good.
    pub returns: bool,
    /// The process id that its next client gets.
    pub next_pid: u32,
}

impl Host {
    /// A machine that was never started.
    pub fn new(id: NodeId, clock: Clock, slow: u64) -> Host {
        Host {
            id,
            life: 0,
            daemon: None,
            stored: 0,
            clock,
            busy_until: 0,
            slow,
            inbox: VecDeque::new(),
            inbox_bytes: 0,
            run_due: false,
            trap: None,
            returns: true,
            next_pid: 100,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_and_what_the_clock_shows_agree() {
        for gains in [-20_000, -1, 0, 1, 20_000] {
            let clock = Clock { offset: 12_345, gains };
            for time in [0, 1, 999, 1_000_000, 123_456_789_012] {
                let local = clock.local(time);
                let found = clock.instant(local);
                assert!(found <= time && clock.local(found) >= local, "{gains} {time}");
                assert!(found == 0 || clock.local(found - 1) < local);
            }
        }
    }
}
