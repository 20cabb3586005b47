//! The ring's timers: one enum, one table. Setting a timer that runs moves it; asking for an
//! expired one too late, twice or too early is harmless.

use crate::time::Instant;

/// What a deadline is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// No token came.
    Token,
    /// The token that was sent shows no effect: send it again.
    TokenRetransmit,
    /// The token of an idle ring was held long enough.
    Hold,
    /// The representative of an idle ring looks for other rings.
    MergeDetect,
    /// Send the join message again.
    Join,
    /// No agreement was reached.
    Consensus,
    /// Nothing at all was heard.
    Heartbeat,
}

const ALL: [Timer; 7] = [
    Timer::Token,
    Timer::TokenRetransmit,
    Timer::Hold,
    Timer::MergeDetect,
    Timer::Join,
    Timer::Consensus,
    Timer::Heartbeat,
];

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

    /// Whether a timer runs.
    pub fn runs(&self, timer: Timer) -> bool {
        self.deadlines[timer as usize].is_some()
    }

    /// The earliest deadline.
    pub fn next(&self) -> Option<Instant> {
        self.deadlines.iter().flatten().min().copied()
    }

    /// Takes out one timer whose deadline has come, the earliest first.
    pub fn expired(&mut self, now: Instant) -> Option<Timer> {
        let due = ALL.into_iter().filter_map(|timer| Some((self.deadlines[timer as usize]?, timer)));
        let (_, timer) = due.filter(|(at, _)| *at <= now).min_by_key(|(at, _)| *at)?;
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
        timers.set(Timer::Token, Instant(9));
        timers.set(Timer::Join, Instant(8));
        assert_eq!(timers.next(), Some(Instant(8)));
        assert_eq!(timers.expired(Instant(7)), None);
        assert_eq!(timers.expired(Instant(9)), Some(Timer::Join));
        assert_eq!(timers.expired(Instant(9)), Some(Timer::Token));
        assert_eq!(timers.expired(Instant(9)), Some(Timer::MergeDetect));
        assert_eq!(timers.expired(Instant(9)), None);
    }
}
