//! What a node remembers from one visit of the token to the next: its part of the token's sums,
//! what it misses, when the token must be sent again.

use bytes::Bytes;

use super::window::Window;
use crate::ids::NodeId;
use crate::seq::Seq;
use crate::time::{Instant, Span};
use crate::wire::token::Token;

/// A token is first sent again after this many rotations without a sign of life, however long the
/// configured time is: who has it already drops the copy, and on a lossy network the ring does
/// not stand still for a quarter of a second at every lost token.
const QUICK_ROTATIONS: u64 = 4;
/// Least time before a token is sent again.
const QUICK_MIN: Span = Span::from_millis(2);
/// The same where nothing is known of the ring yet.
const QUICK_START: Span = Span::from_millis(100);

/// Most missing frames that are counted; more come when these are here.
const MISSING_MAX: usize = 1024;

/// What a node remembers from one visit of the token to the next.
#[derive(Debug)]
pub(super) struct Flow {
    /// Hop number of the last token that was taken.
    pub token_seq: Seq,
    /// The token's aru when it came last.
    pub last_aru: Seq,
    /// Frames sent in the last visit, and what waited then: this node's part of the token's sums.
    pub sent: u32,
    pub waited: u32,
    /// Visits, and since when, without progress of this node's aru.
    pub stuck: u32,
    pub stuck_since: Instant,
    /// Highest number seen in the token, and visits since it last grew.
    pub last_seq: Seq,
    pub unchanged: u32,
    /// When the token came last, and how long a rotation takes (smoothed; 0: unknown).
    visited: Option<Instant>,
    rotation: Span,
    /// How often the token that was sent last was sent again.
    pub resends: u32,
    /// Frames that are missing, and for how many visits.
    missing: Vec<(Seq, u32)>,
    /// The representative keeps the token of an idle ring.
    pub held: Option<Token>,
    /// The ring is idle: the token may be kept somewhere.
    pub idle: bool,
    /// The last token that was sent, and to whom.
    pub copy: Option<(NodeId, Bytes)>,
}

impl Default for Flow {
    fn default() -> Flow {
        Flow {
            token_seq: Seq(u32::MAX),
            last_aru: Seq(0),
            sent: 0,
            waited: 0,
            stuck: 0,
            stuck_since: Instant(0),
            last_seq: Seq(0),
            unchanged: 0,
            visited: None,
            rotation: Span(0),
            resends: 0,
            missing: Vec::new(),
            held: None,
            idle: false,
            copy: None,
        }
    }
}

impl Flow {
    /// Whether no token was ever sent on this ring.
    pub fn is_reset(&self) -> bool {
        self.copy.is_none()
    }

    /// The ring's frames are numbered on, but what is known of them begins anew.
    pub fn restart_aru(&mut self, now: Instant) {
        self.last_aru = Seq(0);
        self.stuck = 0;
        self.stuck_since = now;
        self.missing.clear();
    }

    /// Counts this visit for the frames that are missing, and returns those missing long enough.
    pub fn count_missing<C>(&mut self, window: &Window<C>, last: Seq, enough: u32) -> Vec<Seq> {
        if window.my_aru() == last {
            self.missing.clear();
            return Vec::new();
        }
        let before = std::mem::take(&mut self.missing);
        let mut old = before.iter().peekable();
        let mut overdue = Vec::new();
        window.each_missing(last, MISSING_MAX, |seq| {
            while old.next_if(|(other, _)| other.is_before(seq)).is_some() {}
            let visits = old.next_if(|(other, _)| *other == seq).map_or(0, |(_, visits)| *visits) + 1;
            if visits >= enough {
                overdue.push(seq);
            }
            self.missing.push((seq, visits));
        });
        overdue
    }

    /// The token came: how long ago it came before, if it did.
    pub fn visited(&mut self, now: Instant) -> Option<Span> {
        let took = now.since(self.visited.replace(now)?);
        if !self.idle {
            self.rotation = smoothed(self.rotation, took);
        }
        Some(took)
    }

    /// How long to wait for a sign of life before the token is sent again, `full` being what is
    /// configured: longer each time, and at once all of it on an idle ring, where someone keeps
    /// the token.
    pub fn resend_after(&self, full: Span) -> Span {
        let first = match self.rotation.0 {
            _ if self.idle => return full,
            0 => QUICK_START,
            rotation => Span(rotation.saturating_mul(QUICK_ROTATIONS)).max(QUICK_MIN),
        };
        Span(first.0.checked_shl(self.resends.min(20)).unwrap_or(u64::MAX)).min(full)
    }
}

/// How long a rotation takes, after one that took so long. What is wanted is a rotation without a
/// loss, and where tokens are lost many take as long as a resend: so a shorter one counts much, a
/// longer one little, however long it was. Else the estimate would follow the stalls that it makes.
fn smoothed(rotation: Span, took: Span) -> Span {
    let (old, took) = (rotation.0, took.0);
    Span(match old {
        0 => took,
        _ if took < old => old - (old - took) / 4,
        _ => old + (took.min(old.saturating_mul(2)) - old) / 16,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every second rotation waits for a lost token, as with 5 % loss on a ring of nine.
    #[test]
    fn stalls_do_not_make_the_estimate() {
        let full = Span::from_millis(1300);
        let mut flow = Flow::default();
        let mut now = Instant(0);
        for round in 0..1000 {
            let stall = if round % 2 == 0 { flow.resend_after(full) } else { Span(0) };
            now = now.after(Span::from_millis(36)).after(stall);
            flow.visited(now);
        }
        assert!(flow.resend_after(full) < Span::from_millis(4 * 72), "{:?}", flow.resend_after(full));
    }

    #[test]
    fn a_ring_that_becomes_slower_is_followed() {
        let mut flow = Flow::default();
        let mut now = Instant(0);
        for round in 0..400 {
            now = now.after(Span(if round < 100 { 50_000 } else { 5_000_000 }));
            flow.visited(now);
        }
        assert!(flow.resend_after(Span::from_millis(1000)) > Span::from_millis(19));
    }

    #[test]
    fn waits_grow_and_an_idle_ring_is_left_alone() {
        let full = Span::from_millis(300);
        let mut flow = Flow::default();
        assert_eq!(flow.resend_after(full), QUICK_START);
        flow.visited(Instant(0));
        flow.visited(Instant(100_000));
        assert_eq!(flow.resend_after(full), QUICK_MIN);
        flow.resends = 3;
        assert_eq!(flow.resend_after(full), Span::from_millis(16));
        flow.resends = 30;
        assert_eq!(flow.resend_after(full), full);
        (flow.resends, flow.idle) = (0, true);
        assert_eq!(flow.resend_after(full), full);
    }
}
