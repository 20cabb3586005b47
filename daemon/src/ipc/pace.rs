//! Members that do not keep pace.
//!
//! A message is taken from a sender only when every local member of its group has room for
//! it. While one has not, local senders wait (their ring fills, they see `TRY_AGAIN` and the
//! flow control state). A member that reads on sets the pace; one that does not read at least
//! [`PROGRESS`] bytes within the configured time is closed. A sender is hardly ever held for
//! its own backlog: a program may well send a great deal before it reads, so after a short
//! pause what it has not read is kept for it, up to the limit.

use std::time::{Duration, Instant};

use evensong_core::ids::ClientId;
use evensong_ring::Corrupt;

use super::clients::Clients;

/// Bytes that count as reading on.
const PROGRESS: u32 = 64 * 1024;
/// How long a sender is held for its own backlog while it does not read.
const OWN_PAUSE: Duration = Duration::from_millis(20);

/// Since when, and at which position, a client has been lagging.
#[derive(Clone, Copy, Debug)]
pub struct Lag {
    since: Instant,
    mark: u32,
}

/// What to do about a message for a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Take it.
    Go,
    /// Leave it in the sender's ring for now.
    Wait,
}

impl Clients {
    /// Whether a message of `len` bytes may be taken, as far as the member `to` is concerned.
    /// `own`: the member is the sender itself.
    pub fn judge(&mut self, to: ClientId, own: bool, len: u32, now: Instant) -> Verdict {
        let Some(client) = self.get(to) else { return Verdict::Go };
        if client.lag.is_none() && !client.has_backlog() {
            match client.link.has_room(len) {
                Ok(true) => return Verdict::Go,
                Ok(false) => {}
                Err(Corrupt) => {
                    self.close_corrupt(to);
                    return Verdict::Go;
                }
            }
        }
        self.judge_lagging(to, own, len, now)
    }

    /// A sender waits for another member of the group: the time of this one begins, too, if it is
    /// about to be next. Members that read nothing are full within a few messages of each other;
    /// one after the other they would hold the sender for as many times the limit.
    pub fn watch_the_late(&mut self, to: ClientId, now: Instant) {
        let half = self.limits.ring_size / 2;
        let Some(client) = self.get(to).filter(|client| client.lag.is_none()) else { return };
        if let (Ok(unread), Ok(consumed)) = (client.link.unread(), client.link.consumed()) {
            if unread > half {
                client.lag = Some(Lag { since: now, mark: consumed });
            }
        }
    }

    /// A member that has caught up, or that no sender has waited for lately (it would have been
    /// closed), counts as lagging no more: the daemon looked after it every few milliseconds.
    pub(super) fn forgive(&mut self, id: ClientId, now: Instant) {
        let (half, limit) = (self.limits.ring_size / 2, self.limits.reader_timeout * 2);
        let Some(client) = self.get(id) else { return };
        let caught_up = client.link.unread().is_ok_and(|unread| unread <= half);
        if caught_up || client.lag.is_some_and(|lag| now.duration_since(lag.since) > limit) {
            client.lag = None;
        }
    }

    fn judge_lagging(&mut self, to: ClientId, own: bool, len: u32, now: Instant) -> Verdict {
        self.move_backlog(to);
        let limits = self.limits;
        let Some(client) = self.get(to) else { return Verdict::Go };
        let (Ok(unread), Ok(consumed)) = (client.link.unread(), client.link.consumed()) else {
            self.close_corrupt(to);
            return Verdict::Go;
        };
        // Once full, a good deal must be free again: refilling drop by drop would cost a
        // wake-up for each.
        let roomy = unread <= limits.ring_size / 2 || client.lag.is_none();
        if !client.has_backlog() && roomy && client.link.has_room(len) == Ok(true) {
            client.lag = None;
            return Verdict::Go;
        }
        let first = client.lag.is_none();
        let lag = client.lag.get_or_insert(Lag { since: now, mark: consumed });
        if consumed.abs_diff(lag.mark) >= PROGRESS {
            *lag = Lag { since: now, mark: consumed };
        }
        let waited = now.duration_since(lag.since);
        let kept = client.backlog_bytes + u64::from(len) + 64;
        if own && waited >= OWN_PAUSE && kept <= limits.backlog_max {
            return Verdict::Go;
        }
        if first {
            self.counters.held += 1;
        }
        // It must see even the pieces it was not shown, or it would never make room.
        self.show(to);
        if waited >= limits.reader_timeout {
            self.close_slow(to, waited);
            return Verdict::Go;
        }
        match self.get(to).map(|client| client.link.want_room()) {
            Some(false) if self.get(to).is_some_and(|client| !client.has_backlog()) => self.judge_again(to, len),
            _ => Verdict::Wait,
        }
    }

    /// Room came up between the look and the wish to be told.
    fn judge_again(&mut self, to: ClientId, len: u32) -> Verdict {
        let Some(client) = self.get(to) else { return Verdict::Go };
        if client.link.has_room(len) == Ok(true) {
            client.lag = None;
            return Verdict::Go;
        }
        Verdict::Wait
    }

    fn close_slow(&mut self, id: ClientId, waited: Duration) {
        self.counters.closed_slow += 1;
        self.close(id, format!("it has not read its events for {} ms while others waited for it", waited.as_millis()));
    }

    /// A client with kept events: closes it when it has stopped reading, though nobody local
    /// may be waiting.
    pub(super) fn judge_backlog(&mut self, id: ClientId, now: Instant) {
        let Some(client) = self.get(id) else { return };
        if !client.has_backlog() {
            client.lag = None;
            return;
        }
        let Ok(consumed) = client.link.consumed() else { return self.close_corrupt(id) };
        let lag = client.lag.get_or_insert(Lag { since: now, mark: consumed });
        if consumed.abs_diff(lag.mark) >= PROGRESS {
            *lag = Lag { since: now, mark: consumed };
        }
        client.link.want_room();
    }
}
