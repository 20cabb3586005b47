//! A visit of the regular token: what others miss is sent again, what waits gets its numbers,
//! the token learns what this node has and goes on.

use bytes::Bytes;

use super::commit::next_of;
use super::mutation::Mutation;
use super::operational::{guarantee, Content};
use super::timers::Timer;
use super::window::{Entry, WINDOW};
use super::{Outputs, Ring, State};
use crate::ids::{NodeId, RingId};
use crate::output::LogLevel;
use crate::seq::Seq;
use crate::time::{Instant, Span};
use crate::wire::cursor::Order;
use crate::wire::frame::{self, Mcast, MCAST_HEADER, ORDINARY, RECOVERY};
use crate::wire::token::{Token, RTR_MAX};

/// The window that the token goes around for. A macro, because callers change other parts of the
/// ring meanwhile.
macro_rules! live {
    ($ring:expr) => {
        match &$ring.state {
            State::Recovery(recovery) => &recovery.window,
            _ => &$ring.window,
        }
    };
}

impl<M> Ring<M> {
    pub(super) fn on_token(&mut self, token: Token, now: Instant, outputs: &mut Outputs) {
        let expected = match &self.state {
            State::Recovery(_) => true,
            State::Operational => self.members.len() > 1,
            _ => false,
        };
        let is_copy = self.rules.on(Mutation::TokenCopies) && !self.flow.token_seq.is_before(token.token_seq);
        if !expected || token.ring != self.ring || is_copy {
            return;
        }
        if token.rtr.len() > RTR_MAX {
            return;
        }
        self.visit(token, now, outputs);
    }

    fn visit(&mut self, mut token: Token, now: Instant, outputs: &mut Outputs) {
        let took = self.flow.visited(now);
        self.warn_of_late_token(took, outputs);
        self.note_idleness(&token, now);
        self.regular.flush();
        self.change.flush();
        let came_with = token.aru;
        let last_aru = std::mem::replace(&mut self.flow.last_aru, came_with);
        if self.is_operational() {
            // Only what two rotations in a row confirm is known to be everywhere.
            let confirmed = came_with.is_before(last_aru) || !self.rules.on(Mutation::TwoRotations);
            self.window.set_stable(if confirmed { came_with } else { last_aru });
        }
        let (mut allowed, waits) = self.share_of_window(&token);
        let resent = self.send_again(&mut token, allowed, outputs);
        self.ask_for_missing(&mut token);
        let urgent = self.config.cancel_hold_on_retransmit && (resent > 0 || !token.rtr.is_empty());
        allowed = self.within_window(allowed - resent, token.seq);
        let mut late = Vec::new();
        let sent = resent + self.send_new(&mut token, allowed, &mut late, outputs);
        token.fcc = token.fcc.wrapping_add(sent).wrapping_sub(self.flow.sent);
        token.backlog = token.backlog.wrapping_add(waits).wrapping_sub(self.flow.waited);
        (self.flow.sent, self.flow.waited) = (sent, waits);
        if self.tell_aru(&mut token, last_aru, now) {
            Self::log(outputs, LogLevel::Error, self.cannot_receive_text());
            self.forming.failed.insert(self.me);
            self.forming.alone = true;
            self.enter_gather(now, outputs);
            return;
        }
        self.flow.token_seq = token.token_seq;
        token.token_seq = token.token_seq.next();
        self.visit_in_recovery(&mut token, now, outputs);
        self.timers.set(Timer::Token, now.after(self.config.token));
        self.beat(now);
        let idle = self.flow.unchanged > self.config.seqno_unchanged_const && !urgent;
        self.flow.idle = idle;
        if idle && self.ring.rep == self.me {
            self.timers.stop(Timer::TokenRetransmit);
            self.timers.set(Timer::Hold, now.after(self.config.hold));
            self.flow.held = Some(token);
        } else {
            self.pass_token(token, now, outputs);
        }
        for frame in late {
            Self::send(outputs, NodeId(0), frame);
        }
    }

    /// The recovery's part of a visit.
    fn visit_in_recovery(&mut self, token: &mut Token, now: Instant, outputs: &mut Outputs) {
        let State::Recovery(recovery) = &mut self.state else { return };
        if recovery.visit(token, self.rules) {
            if let State::Recovery(recovery) = std::mem::replace(&mut self.state, State::Gather) {
                self.install(*recovery, now, outputs);
            }
        }
    }

    fn warn_of_late_token(&mut self, took: Option<Span>, outputs: &mut Outputs) {
        let percent = u64::from(self.config.token_warning.min(100));
        let limit = Span(self.config.token.0 / 100 * percent);
        if let Some(took) = took.filter(|took| percent > 0 && *took > limit) {
            let ms = |span: Span| span.0 / 1_000_000;
            let text = format!(
                "Token has not been received in {} ms (a loss is assumed after {} ms)",
                ms(took),
                ms(self.config.token)
            );
            Self::log(outputs, LogLevel::Warning, text);
        }
    }

    fn note_idleness(&mut self, token: &Token, now: Instant) {
        if token.seq == self.flow.last_seq {
            self.flow.unchanged = self.flow.unchanged.saturating_add(1);
            if self.ring.rep == self.me && self.is_operational() && !self.timers.runs(Timer::MergeDetect) {
                self.timers.set(Timer::MergeDetect, now.after(self.config.merge));
            }
        } else {
            self.flow.unchanged = 0;
            self.flow.last_seq = token.seq;
            self.timers.stop(Timer::MergeDetect);
            self.timers.stop(Timer::Hold);
        }
    }

    /// Frames in one rotation of all nodes, and in one visit of this one.
    fn limits(&self) -> (u32, u32) {
        let set = (self.config.window_size, self.config.max_messages);
        self.wide.unwrap_or(set)
    }

    /// How many frames this visit may send, and how many wait.
    fn share_of_window(&self, token: &Token) -> (u32, u32) {
        let (window, most) = self.limits();
        let waits = match &self.state {
            State::Recovery(recovery) => recovery.copies.len(),
            _ if self.syncing => self.change.len(),
            _ => self.regular.len() + self.change.len(),
        };
        let waits = u32::try_from(waits).unwrap_or(u32::MAX);
        let mut allowed = most.min(window.saturating_sub(token.fcc));
        let all = u64::from(token.backlog.wrapping_add(waits).wrapping_sub(self.flow.waited));
        let share = (u64::from(window) * u64::from(self.flow.waited)).checked_div(all).unwrap_or(0);
        if share > 0 && share < u64::from(allowed) {
            allowed = share as u32;
        }
        (allowed, waits)
    }

    /// The numbers of what is under way must not run around the window.
    fn within_window(&self, allowed: u32, seq: Seq) -> u32 {
        let released = live!(self).stable();
        let (window, _) = self.limits();
        let under_way = seq.distance_from(released);
        if under_way > WINDOW.saturating_sub(allowed).saturating_sub(window) {
            0
        } else {
            allowed
        }
    }

    /// Sends what the token asks for and this node has; returns how many frames.
    fn send_again(&mut self, token: &mut Token, allowed: u32, outputs: &mut Outputs) -> u32 {
        let ring = self.ring;
        let answers = self.rules.on(Mutation::RetransmitList);
        let window = live!(self);
        let mut sent = 0;
        token.rtr.retain(|(of, seq)| {
            let found = window.get(*seq).and_then(|entry| entry.content.frame());
            match found.filter(|_| *of == ring && sent < allowed && answers) {
                Some(frame) => {
                    Self::send(outputs, NodeId(0), frame.clone());
                    sent += 1;
                    false
                }
                None => true,
            }
        });
        self.counters.resent += u64::from(sent);
        sent
    }

    /// Adds what this node misses to the token's list.
    fn ask_for_missing(&mut self, token: &mut Token) {
        if !self.rules.on(Mutation::Asking) {
            return;
        }
        let window = live!(self);
        let overdue = self.flow.count_missing(window, token.seq, self.config.miss_count_const);
        for seq in overdue {
            if token.rtr.len() >= RTR_MAX {
                break;
            }
            if !token.rtr.contains(&(self.ring, seq)) {
                token.rtr.push((self.ring, seq));
                self.counters.asked += 1;
            }
        }
    }

    /// Gives the next numbers to what waits, and sends it; the last frames may go behind the
    /// token. Returns how many frames.
    fn send_new(&mut self, token: &mut Token, allowed: u32, late: &mut Vec<Bytes>, outputs: &mut Outputs) -> u32 {
        let mut frames = Vec::new();
        while (frames.len() as u32) < allowed {
            let seq = token.seq.next();
            let Some((content, safe, frame)) = self.next_frame(seq) else { break };
            token.seq = seq;
            self.sent = self.sent.wrapping_add(1);
            let entry = Entry { first: seq, frames: 1, origin: self.me, safe, content };
            match &mut self.state {
                State::Recovery(recovery) => recovery.window.insert(entry),
                _ => self.window.insert(entry),
            };
            frames.push(frame);
        }
        let count = frames.len() as u32;
        if count > 0 {
            self.flow.last_seq = token.seq;
            self.flow.unchanged = 0;
        }
        let recovering = matches!(self.state, State::Recovery(_));
        let behind = if recovering { 0 } else { self.config.accelerated.min(count) };
        *late = frames.split_off((count - behind) as usize);
        frames.into_iter().for_each(|frame| Self::send(outputs, NodeId(0), frame));
        count
    }

    /// The next frame that waits, as frame `seq`.
    fn next_frame(&mut self, seq: Seq) -> Option<(Content<M>, bool, Bytes)> {
        let mcast =
            Mcast { encapsulated: ORDINARY, from: self.me, seq, sent: self.sent, ring: self.ring, guarantee: 0 };
        if let State::Recovery(recovery) = &mut self.state {
            let old = recovery.copies.pop_front()?;
            let mut bytes = Vec::with_capacity(MCAST_HEADER + old.len());
            Mcast { encapsulated: RECOVERY, ..mcast }.encode(Order::NATIVE, &mut bytes);
            bytes.extend_from_slice(&old);
            let frame = Bytes::from(bytes);
            return Some((Content::Copy(frame.clone()), false, frame));
        }
        let (waiting, regular) = match self.change.pop() {
            Some(waiting) => (waiting, false),
            None if self.syncing && self.rules.on(Mutation::HoldBack) => return None,
            None => (self.regular.pop()?, true),
        };
        let frame = self.fill_header(waiting.bytes, Mcast { guarantee: guarantee(waiting.safe), ..mcast });
        if regular {
            self.regular.sent(&frame, waiting.safe);
        }
        Some((Content::Frame(frame.clone()), waiting.safe, frame))
    }

    /// Writes the header into the space in front of a payload.
    pub(super) fn fill_header(&mut self, mut bytes: Vec<u8>, mcast: Mcast) -> Bytes {
        self.header.clear();
        mcast.encode(Order::NATIVE, &mut self.header);
        bytes[..MCAST_HEADER].copy_from_slice(&self.header);
        Bytes::from(bytes)
    }

    /// Lets the token know what this node has. True: this node receives too little for too long.
    fn tell_aru(&mut self, token: &mut Token, last_aru: Seq, now: Instant) -> bool {
        let my_aru = live!(self).my_aru();
        let lacks = my_aru.is_before(token.aru) && self.rules.on(Mutation::LowerAru);
        if lacks {
            token.aru_addr = self.me;
        }
        self.update_aru(token, my_aru);
        if token.aru != last_aru || token.aru_addr == NodeId(0) {
            self.flow.stuck = 0;
            self.flow.stuck_since = now;
            return false;
        }
        self.flow.stuck += 1;
        self.flow.stuck > self.config.fail_recv_const
            && token.aru_addr == self.me
            && now.since(self.flow.stuck_since) > self.config.fail_recv_time
    }

    /// Whoever lowered the token's aru last, or anybody if nobody did, says what it has now.
    fn update_aru(&self, token: &mut Token, my_aru: Seq) {
        if token.aru_addr == self.me || token.aru_addr == NodeId(0) {
            token.aru = my_aru;
            token.aru_addr = if token.aru == token.seq { NodeId(0) } else { self.me };
        }
    }

    fn cannot_receive_text(&self) -> String {
        format!(
            "FAILED TO RECEIVE: frame {} of ring {}.{:x} did not come in {} token rotations",
            self.window.my_aru().next().0,
            self.ring.rep.0,
            self.ring.seq,
            self.flow.stuck
        )
    }

    /// Sends the token to the member behind this one.
    pub(super) fn pass_token(&mut self, token: Token, now: Instant, outputs: &mut Outputs) {
        let members = match &self.state {
            State::Recovery(recovery) => &recovery.members,
            _ => &self.members,
        };
        let to = next_of(members, self.me);
        let mut out = Vec::new();
        token.encode(self.me, to, Order::NATIVE, &mut out);
        self.keep_and_send_quietly(to, Bytes::from(out), now, outputs);
    }

    /// Sends a commit token and keeps it; the ring is lost if nothing comes of it.
    pub(super) fn keep_and_send(&mut self, to: NodeId, frame: Bytes, now: Instant, outputs: &mut Outputs) {
        self.timers.set(Timer::Token, now.after(self.config.token));
        self.keep_and_send_quietly(to, frame, now, outputs);
    }

    fn keep_and_send_quietly(&mut self, to: NodeId, frame: Bytes, now: Instant, outputs: &mut Outputs) {
        self.flow.resends = 0;
        self.timers.set(Timer::TokenRetransmit, now.after(self.flow.resend_after(self.config.token_retransmit)));
        self.flow.copy = Some((to, frame.clone()));
        Self::send(outputs, to, frame);
    }

    /// The token shows no sign of life: send it again.
    pub(super) fn resend_token(&mut self, now: Instant, outputs: &mut Outputs) {
        if !matches!(self.state, State::Commit(_) | State::Recovery(_) | State::Operational) {
            return;
        }
        if let Some((to, frame)) = self.flow.copy.clone() {
            self.counters.token_resent += 1;
            self.flow.resends += 1;
            self.timers.set(Timer::TokenRetransmit, now.after(self.flow.resend_after(self.config.token_retransmit)));
            Self::send(outputs, to, frame);
        }
    }

    /// The representative lets the token of an idle ring go on. What came to wait meanwhile
    /// goes with it.
    pub(super) fn release_token(&mut self, now: Instant, outputs: &mut Outputs) {
        let Some(mut token) = self.flow.held.take() else { return };
        self.timers.stop(Timer::Hold);
        self.regular.flush();
        self.change.flush();
        let (window, most) = self.limits();
        let allowed = most.min(window.saturating_sub(token.fcc));
        let allowed = self.within_window(allowed, token.seq);
        let mut late = Vec::new();
        let sent = self.send_new(&mut token, allowed, &mut late, outputs);
        token.fcc = token.fcc.wrapping_add(sent);
        self.flow.sent = self.flow.sent.wrapping_add(sent);
        if sent > 0 {
            self.update_aru(&mut token, live!(self).my_aru());
        }
        self.pass_token(token, now, outputs);
        late.into_iter().for_each(|frame| Self::send(outputs, NodeId(0), frame));
    }

    /// Something waits: whoever keeps the token of the idle ring must let it go.
    pub(super) fn wake_holder(&mut self, now: Instant, outputs: &mut Outputs) {
        if self.flow.held.is_some() {
            self.release_token(now, outputs);
        } else if self.flow.idle && self.is_operational() && self.members.len() > 1 {
            self.flow.idle = false;
            Self::send(outputs, NodeId(0), Bytes::from(frame::hold_cancel(self.me, self.ring)));
        }
    }

    pub(super) fn on_hold_cancel(&mut self, ring: RingId, now: Instant, outputs: &mut Outputs) {
        if ring == self.ring && self.is_operational() {
            self.flow.unchanged = 0;
            self.release_token(now, outputs);
        }
    }

    /// A sign of life of the ring.
    pub(super) fn beat(&mut self, now: Instant) {
        if let Some(span) = self.config.heartbeat {
            self.timers.set(Timer::Heartbeat, now.after(span));
        }
    }
}
