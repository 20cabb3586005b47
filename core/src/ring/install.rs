//! Changing over to a new ring: the old one's messages are completed, and everyone is told in
//! the order that extended virtual synchrony asks for.
//!
//! What everybody of the old ring can deliver without a gap comes in the old configuration.
//! Then the transitional one is told: it has those who come from the same old ring and
//! therefore have the same frames. In it comes what needed all of the old ring (safe messages
//! that were not known to be everywhere), and what follows a gap, as far as its sender is still
//! there: of the others a message before it may be missing. Then the regular one is told.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::flow::Flow;
use super::mutation::Mutation;
use super::operational::Content;
use super::recovery::Recovery;
use super::timers::Timer;
use super::{confchg, Event, Outputs, Pending, Ring, State};
use crate::ids::{NodeId, RingId};
use crate::output::{LogEvent, LogLevel, Output, TotemConfchg};
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::frame::{FrameHeader, Mcast, MCAST_HEADER};

impl<M> Ring<M> {
    /// This node is alone: it needs nobody's agreement.
    pub(super) fn install_alone(&mut self, now: Instant, outputs: &mut Outputs) {
        let ring = self.next_ring();
        self.seen_seq = ring.seq;
        self.ring = ring;
        self.wide = None;
        // What a change that was broken off had to say is for nobody. The change to this ring
        // is over at once, so that it would be taken for messages of clients.
        self.change.clear();
        if self.rules.on(Mutation::RingSeqStore) {
            outputs.push_back(Output::StoreRingSeq { seq: ring.seq });
        }
        let together: Vec<NodeId> = self.members.iter().copied().filter(|node| *node == self.me).collect();
        let delivered = self.window.delivered();
        self.flow = Flow::default();
        self.change_over(vec![self.me], &together, delivered, outputs);
        self.window = super::Window::default();
        if self.has_peers {
            self.timers.set(Timer::MergeDetect, now.after(self.config.merge));
        }
        self.state = State::Operational;
    }

    /// Recovery is complete: all members are here with this very token visit.
    pub(super) fn install(&mut self, recovery: Recovery<M>, now: Instant, outputs: &mut Outputs) {
        let Recovery { members, together, delivered, mut window, .. } = recovery;
        self.unwrap_copies(&window);
        self.change_over(members, &together, delivered, outputs);
        let mut copied = Seq(0);
        for entry in window.entries() {
            if !matches!(entry.content, Content::Copy(_)) || entry.first != copied.next() {
                break;
            }
            copied = entry.first;
        }
        window.skip_to(copied);
        self.window = window;
        self.flow.restart_aru(now);
        self.settles_by = now.after(self.config.token);
        self.state = State::Operational;
    }

    /// Old frames out of their copies.
    fn unwrap_copies(&mut self, window: &super::Window<Content<M>>) {
        let old = self.member_ring;
        let all = window.entries().filter(|entry| entry.first.is_up_to(window.my_aru()));
        for entry in all {
            let Content::Copy(copy) = &entry.content else { continue };
            let frame = copy.slice(MCAST_HEADER..);
            let Ok(header) = FrameHeader::decode(&frame) else { continue };
            let Ok(mcast) = Mcast::decode(&frame, header.order) else { continue };
            let of_old = mcast.ring == old || !self.rules.on(Mutation::RingCheck);
            if of_old && mcast.from != NodeId(0) {
                let entry = self.entry(mcast, Content::Frame(frame));
                self.window.insert(entry);
            }
        }
    }

    /// Completes the old ring and tells both configurations. The timers of gathering end.
    fn change_over(&mut self, members: Vec<NodeId>, together: &[NodeId], delivered: Seq, outputs: &mut Outputs) {
        self.timers.stop(Timer::Join);
        self.timers.stop(Timer::Consensus);
        let known = if delivered.is_before(self.window.high()) { delivered } else { self.window.high() };
        self.window.set_stable(known);
        while let Some(entry) = self.window.deliver() {
            self.pending.push_back(Pending::Frame(entry));
        }
        let [transitional, regular] = confchg::changes(self.ring, &self.members, together, &members);
        outputs.push_back(Output::Log(Box::new(formed(&regular, &transitional))));
        let left = transitional.left.clone();
        self.pending.push_back(Pending::Config(Arc::new(transitional)));
        let anyone = !self.rules.on(Mutation::TransitionalFilter);
        let rest = self.window.drain(|origin| anyone || together.contains(&origin));
        self.pending.extend(rest.into_iter().map(Pending::Frame));
        self.pending.push_back(Pending::OldRingDone(left));
        self.pending.push_back(Pending::Config(Arc::new(regular)));
        self.forming.proc = members.iter().copied().collect();
        self.forming.failed = BTreeSet::new();
        self.members = members;
        self.member_ring = self.ring;
        self.counters.rings += 1;
        // From here on nothing of clients is taken until the change is worked off.
        self.syncing = true;
    }

    /// What comes before anything of the new ring; messages go to `unpacked`.
    pub(super) fn next_pending(&mut self) -> Option<Event<M>> {
        loop {
            if let Some(event) = self.unpacked.pop_front() {
                return Some(event);
            }
            match self.pending.pop_front()? {
                Pending::Frame(entry) => {
                    if let Some(event) = self.open(entry.origin, entry.content) {
                        return Some(event);
                    }
                }
                Pending::Config(change) => {
                    self.syncing = true;
                    return Some(Event::Config(change));
                }
                Pending::OldRingDone(left) => {
                    for node in left.into_iter().filter(|_| self.rules.on(Mutation::ForgetParts)) {
                        self.assemblers.remove(&node);
                        self.change_assemblers.remove(&node);
                    }
                    self.receives_change = true;
                }
            }
        }
    }
}

/// The log line that operators know: ring in hexadecimal, who joined, who left.
fn formed(regular: &TotemConfchg, transitional: &TotemConfchg) -> LogEvent {
    let RingId { rep, seq } = regular.ring;
    let mut text = format!("A new membership ({}.{seq:x}) was formed. Members", rep.0);
    for (word, nodes) in [("joined", &regular.joined), ("left", &transitional.left)] {
        if !nodes.is_empty() {
            text.push_str(&format!(" {word}:"));
            for node in nodes {
                text.push_str(&format!(" {}", node.0));
            }
        }
    }
    LogEvent { level: LogLevel::Notice, subsystem: "TOTEM", text }
}
