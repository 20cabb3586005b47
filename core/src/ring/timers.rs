//! The ring's timers: one enum, one table. Setting a timer that runs moves it; asking for an
//! expired one too late, twice or too early is harmless.

use crate::time::Instant;

/// What a deadline is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The representative of an idle ring looks for other rings.
    MergeDetect,
}

const ALL: [Timer; 1] = [Timer::MergeDetect];

/// Deadlines, by timer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timers {
    deadlines: [Option<Instant>; ALL.len()],
}

impl Timers {
    /// Starts or moves a timer.
    pub fn set(&mut self, timer: Timer, at: Instant) {
        self.deadlines[timer as usize] = Some(at);
    }

    /// Stops a timer.
    pub fn stop(&mut self, timer: Timer) {
        self.deadlines[timer as usize] = None;
    }

    /// Stops all.
    pub fn stop_all(&mut self) {
        *self = Timers::default();
    }

    /// The earliest deadline.
    pub fn next(&self) -> Option<Instant> {
        self.deadlines.iter().flatten().min().copied()
    }

    /// Takes out one timer whose deadline has come.
    pub fn expired(&mut self, now: Instant) -> Option<Timer> {
        let due = |timer: &Timer| self.deadlines[*timer as usize].is_some_and(|at| at <= now);
        let timer = ALL.into_iter().find(due)?;
        self.stop(timer);
        Some(timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expires_once_and_not_early() {
        let mut timers = Timers::default();
        assert_eq!(timers.next(), None);
        timers.set(Timer::MergeDetect, Instant(5));
        timers.set(Timer::MergeDetect, Instant(9));
        assert_eq!(timers.next(), Some(Instant(9)));
        assert_eq!(timers.expired(Instant(8)), None);
        assert_eq!(timers.expired(Instant(9)), Some(Timer::MergeDetect));
        assert_eq!(timers.expired(Instant(9)), None);
    }
}
