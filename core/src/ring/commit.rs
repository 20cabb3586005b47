//! The commit token goes around twice: the first round collects what each member still has of
//! its old ring, the second tells everyone all of it.

use bytes::Bytes;

use super::flow::Flow;
use super::mutation::Mutation;
use super::timers::Timer;
use super::{Outputs, Ring, State, RING_SEQ_MAX};
use crate::ids::{NodeId, RingId};
use crate::output::Output;
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::commit::{CommitEntry, CommitToken};
use crate::wire::cursor::Order;

impl<M> Ring<M> {
    /// This node, the lowest, founds a ring of `members` (sorted, several).
    pub(super) fn start_commit(&mut self, members: Vec<NodeId>, now: Instant, outputs: &mut Outputs) {
        let nothing = CommitEntry { ring: RingId::default(), aru: Seq(0), high_delivered: Seq(0), received: 0 };
        let token = CommitToken {
            token_seq: Seq(0),
            ring: self.next_ring(),
            retrans: 0,
            memb_index: 0,
            entries: vec![nothing; members.len()],
            addrs: members,
        };
        self.enter_commit(token, now, outputs);
    }

    /// Adds what this node has to the token and passes it on.
    fn enter_commit(&mut self, mut token: CommitToken, now: Instant, outputs: &mut Outputs) {
        let at = token.memb_index as usize;
        if token.addrs.get(at) != Some(&self.me) {
            return;
        }
        let (aru, high) = (self.window.my_aru(), self.window.high());
        token.entries[at] = CommitEntry {
            ring: self.member_ring,
            aru,
            high_delivered: self.window.delivered(),
            received: u32::from(aru == high),
        };
        self.mark_laggards(&mut token.entries[..=at]);
        token.memb_index += 1;
        self.ring = token.ring;
        self.seen_seq = self.seen_seq.max(token.ring.seq);
        // No two rings may ever have one id, so this comes before anyone hears of it.
        if self.rules.on(Mutation::RingSeqStore) {
            outputs.push_back(Output::StoreRingSeq { seq: token.ring.seq });
        }
        self.timers.stop(Timer::Join);
        self.timers.stop(Timer::Consensus);
        self.flow = Flow::default();
        self.wide = None;
        self.state = State::Commit(token.addrs.clone());
        self.pass_commit_token(token, now, outputs);
    }

    /// Of those who come from this node's old ring, all that have less than the one with the
    /// most need something.
    fn mark_laggards(&self, entries: &mut [CommitEntry]) {
        let ours = |entry: &&CommitEntry| entry.ring == self.member_ring;
        let mut highest: Option<Seq> = None;
        for entry in entries.iter().filter(ours) {
            if highest.is_none_or(|highest| highest.is_before(entry.aru)) {
                highest = Some(entry.aru);
            }
        }
        for entry in entries.iter_mut() {
            if entry.ring == self.member_ring && highest.is_some_and(|highest| entry.aru.is_before(highest)) {
                entry.received = 0;
            }
        }
    }

    /// Sends the token to the member behind this one.
    pub(super) fn pass_commit_token(&mut self, mut token: CommitToken, now: Instant, outputs: &mut Outputs) {
        token.token_seq = token.token_seq.next();
        let to = next_of(&token.addrs, self.me);
        let mut out = Vec::new();
        token.encode(self.me, to, Order::NATIVE, &mut out);
        self.keep_and_send(to, Bytes::from(out), now, outputs);
    }

    pub(super) fn on_commit(&mut self, token: CommitToken, now: Instant, outputs: &mut Outputs) {
        let sane = token.addrs.windows(2).all(|pair| pair[0] < pair[1])
            && token.addrs.first() == Some(&token.ring.rep)
            && token.addrs.contains(&self.me)
            && token.addrs.len() > 1
            && token.ring.seq <= RING_SEQ_MAX;
        if !sane {
            return;
        }
        match &mut self.state {
            State::Gather => {
                let wanted = self.forming.proc.difference(&self.forming.failed);
                let same = wanted.copied().eq(token.addrs.iter().copied());
                if same && token.ring.seq > self.ring.seq {
                    self.enter_commit(token, now, outputs);
                }
            }
            State::Commit(members)
                if token.ring == self.ring
                    && token.memb_index as usize == token.addrs.len()
                    && *members == token.addrs =>
            {
                self.enter_recovery(token, now, outputs);
            }
            State::Recovery(recovery)
                if self.ring.rep == self.me && token.ring == self.ring && !recovery.token_started =>
            {
                recovery.token_started = true;
                self.start_token(now, outputs);
            }
            _ => {}
        }
    }
}

/// The member behind `me`, around the ring.
pub(super) fn next_of(members: &[NodeId], me: NodeId) -> NodeId {
    let behind = members.iter().find(|node| **node > me);
    behind.or(members.first()).copied().unwrap_or(me)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn around_the_ring() {
        let members = [NodeId(2), NodeId(5), NodeId(9)];
        assert_eq!(next_of(&members, NodeId(2)), NodeId(5));
        assert_eq!(next_of(&members, NodeId(9)), NodeId(2));
        assert_eq!(next_of(&members[..1], NodeId(2)), NodeId(2));
    }
}
