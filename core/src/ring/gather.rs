//! Gathering: nodes tell each other whom they see (`proc`) and whom they gave up (`failed`)
//! until all that are left say the same; then the lowest of them starts the commit token.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::mutation::Mutation;
use super::timers::Timer;
use super::{Outputs, Ring, State, RING_SEQ_MAX, RING_SEQ_STEP};
use crate::ids::{NodeId, RingId};
use crate::output::LogLevel;
use crate::time::{Instant, Span};
use crate::wire::cursor::Order;
use crate::wire::frame;
use crate::wire::join::{Join, NODES_MAX};

/// What a node says in its join messages, and who said the same.
#[derive(Debug, Default)]
pub(super) struct Forming {
    /// Nodes that are seen.
    pub proc: BTreeSet<NodeId>,
    /// Those of them that are given up.
    pub failed: BTreeSet<NodeId>,
    /// Nodes that said the same as this one.
    agreed: BTreeSet<NodeId>,
    /// This node cannot receive what others can: it goes on alone.
    pub alone: bool,
}

impl Forming {
    /// Those who are to form the ring.
    fn wanted(&self) -> BTreeSet<NodeId> {
        self.proc.difference(&self.failed).copied().collect()
    }

    fn all_agree(&self) -> bool {
        self.proc.difference(&self.failed).all(|node| self.agreed.contains(node))
    }

    fn says_the_same(&self, join: &Join) -> bool {
        let same = |set: &BTreeSet<NodeId>, list: &[NodeId]| {
            let listed: BTreeSet<NodeId> = list.iter().copied().collect();
            *set == listed
        };
        same(&self.proc, &join.proc) && same(&self.failed, &join.failed)
    }

    fn knows_all(&self, join: &Join) -> bool {
        join.proc.iter().all(|node| self.proc.contains(node))
            && join.failed.iter().all(|node| self.failed.contains(node))
    }
}

impl<M> Ring<M> {
    /// From anywhere: the ring, if there was one, is over.
    pub(super) fn enter_gather(&mut self, now: Instant, outputs: &mut Outputs) {
        for timer in [Timer::Token, Timer::TokenRetransmit, Timer::Hold, Timer::MergeDetect, Timer::Heartbeat] {
            self.timers.stop(timer);
        }
        self.counters.gathered += 1;
        self.flow.held = None;
        self.state = State::Gather;
        self.forming.proc.insert(self.me);
        self.forming.agreed = BTreeSet::from([self.me]);
        self.timers.set(Timer::Consensus, now.after(self.config.consensus));
        // A node that has given up all others says so to nobody: those who hear it all the same
        // would give it up in turn, and two nodes that find each other could go on like that,
        // each answering the word before the last, without end.
        let gave_up_all = !self.forming.failed.is_empty() && self.forming.wanted().iter().eq([&self.me]);
        if gave_up_all {
            self.timers.stop(Timer::Join);
        } else if self.config.send_join == Span(0) {
            self.send_join(now, outputs);
        } else {
            let wait = self.chance(self.config.send_join.0);
            self.timers.set(Timer::Join, now.after(Span(wait)));
        }
        self.when_all_agree(now, outputs);
    }

    /// Says whom this node sees, and again after a while.
    pub(super) fn send_join(&mut self, now: Instant, outputs: &mut Outputs) {
        if !matches!(self.state, State::Gather) {
            return;
        }
        self.timers.set(Timer::Join, now.after(self.config.join));
        if self.has_peers {
            let join = Join {
                from: self.me,
                leaves: false,
                proc: self.forming.proc.iter().copied().collect(),
                failed: self.forming.failed.iter().copied().collect(),
                ring_seq: self.ring.seq,
            };
            self.send_join_message(&join, outputs);
        }
    }

    /// Says that this node leaves: a join without it, in which it counts as failed.
    pub(super) fn send_leave(&self, outputs: &mut Outputs) {
        let mut proc = self.forming.proc.clone();
        proc.remove(&self.me);
        let mut failed: Vec<NodeId> = self.forming.failed.iter().copied().filter(|node| *node != self.me).collect();
        failed.push(self.me);
        let proc = proc.into_iter().collect();
        let leave = Join { from: self.me, leaves: true, proc, failed, ring_seq: self.ring.seq };
        self.send_join_message(&leave, outputs);
    }

    fn send_join_message(&self, join: &Join, outputs: &mut Outputs) {
        let mut out = Vec::new();
        join.encode(Order::NATIVE, &mut out);
        Self::send(outputs, NodeId(0), Bytes::from(out));
    }

    /// If everyone who is left says the same: the lowest starts the commit token, or the ring
    /// has one member.
    fn when_all_agree(&mut self, now: Instant, outputs: &mut Outputs) {
        if !self.forming.all_agree() && self.rules.on(Mutation::Consensus) {
            return;
        }
        let wanted = self.forming.wanted();
        if std::mem::take(&mut self.forming.alone) || wanted.len() <= 1 && wanted.first().is_none_or(|n| *n == self.me)
        {
            self.forming.proc = BTreeSet::from([self.me]);
            self.forming.failed.clear();
            self.install_alone(now, outputs);
        } else if wanted.first() == Some(&self.me) {
            self.start_commit(wanted.into_iter().collect(), now, outputs);
        }
    }

    /// The number of the next ring that this node founds.
    pub(super) fn next_ring(&self) -> RingId {
        RingId { rep: self.me, seq: self.seen_seq + RING_SEQ_STEP }
    }

    /// A join or leave message.
    pub(super) fn on_join(&mut self, join: &Join, now: Instant, outputs: &mut Outputs) {
        if join.from == self.me || join.from == NodeId(0) || join.ring_seq > RING_SEQ_MAX {
            return;
        }
        // A node that was stopped reads what was meant for its former self.
        if self.dozed.is_some_and(|at| at == now) {
            return;
        }
        self.seen_seq = self.seen_seq.max(join.ring_seq);
        let is_current = |members: &[NodeId]| members.contains(&join.from) && join.ring_seq >= self.ring.seq;
        let counts = match &self.state {
            State::Operational if !self.members.contains(&join.from) && self.is_settling(now) => false,
            State::Operational => {
                let stale = self.members.contains(&join.from) && join.ring_seq < self.ring.seq;
                !join.failed.contains(&self.me) && !stale
            }
            State::Gather => true,
            State::Commit(members) => is_current(members),
            State::Recovery(recovery) => is_current(&recovery.members),
            State::Idle | State::Left => false,
        };
        if counts {
            self.take_join(join, now, outputs);
        }
    }

    fn take_join(&mut self, join: &Join, now: Instant, outputs: &mut Outputs) {
        let in_gather = matches!(self.state, State::Gather);
        if self.forming.says_the_same(join) {
            if !join.leaves {
                self.forming.agreed.insert(join.from);
            }
            if in_gather {
                self.when_all_agree(now, outputs);
                return;
            }
        } else if !self.forming.knows_all(join) && !self.forming.failed.contains(&join.from) {
            // A node whose word about others does not count here says nothing new however often
            // it is heard. Answering it each time would be answered in turn, without end, and
            // the consensus timer that settles it would never run out.
            if self.learn(join) || !in_gather {
                self.enter_gather(now, outputs);
            }
            return;
        }
        if !in_gather {
            self.enter_gather(now, outputs);
        }
    }

    /// Takes over what a join message adds; false if that is nothing.
    fn learn(&mut self, join: &Join) -> bool {
        let before = (self.forming.proc.len(), self.forming.failed.len());
        let room = NODES_MAX.saturating_sub(self.forming.proc.len());
        let fresh: Vec<NodeId> = join.proc.iter().copied().filter(|node| node.0 != 0).collect();
        let known = |node: &NodeId| self.forming.proc.contains(node);
        if fresh.iter().filter(|node| !known(node)).count() <= room {
            self.forming.proc.extend(fresh);
        }
        if join.failed.contains(&self.me) && !join.leaves {
            // Whoever gives this node up is given up; nobody is taken at its word about others.
            self.forming.failed.insert(join.from);
        } else if self.members.contains(&join.from) {
            let given_up: Vec<NodeId> = join.failed.iter().copied().filter(|node| *node != self.me).collect();
            self.forming.failed.extend(given_up.into_iter().take(NODES_MAX));
        }
        before != (self.forming.proc.len(), self.forming.failed.len())
    }

    /// The ring was installed here a moment ago, and perhaps not yet everywhere: whoever is still
    /// in recovery holds on to whom it gave up, and would, if the ring broke now, tell so again,
    /// whereupon those give it up in turn. Parts of a ring could go on like that without end.
    /// Strangers say again that they are there.
    fn is_settling(&self, now: Instant) -> bool {
        self.is_operational() && self.syncing && now < self.settles_by
    }

    /// Somebody is there who is not on this ring.
    pub(super) fn on_stranger(&mut self, node: NodeId, now: Instant, outputs: &mut Outputs) {
        if self.is_settling(now) {
            return;
        }
        let is_new = !self.forming.proc.contains(&node) && self.forming.proc.len() < NODES_MAX && node.0 != 0;
        match self.state {
            State::Operational => {
                if is_new {
                    self.forming.proc.insert(node);
                }
                self.enter_gather(now, outputs);
            }
            State::Gather if is_new => {
                self.forming.proc.insert(node);
                self.enter_gather(now, outputs);
            }
            _ => {}
        }
    }

    pub(super) fn on_merge_detect(&mut self, from: NodeId, ring: RingId, now: Instant, outputs: &mut Outputs) {
        let stale = self.members.contains(&from) && ring.seq < self.ring.seq;
        if ring != self.ring && from != self.me && !stale {
            self.on_stranger(from, now, outputs);
        }
    }

    /// Looks for rings that this node does not know of.
    pub(super) fn look_for_others(&mut self, now: Instant, outputs: &mut Outputs) {
        if self.is_operational() && self.ring.rep == self.me && self.has_peers {
            Self::send(outputs, NodeId(0), Bytes::from(frame::merge_detect(self.me, self.ring)));
            if self.members.len() == 1 {
                self.timers.set(Timer::MergeDetect, now.after(self.config.merge));
            }
        }
    }

    /// Those who do not agree are given up; where all agree, the representative's commit
    /// token gets one more timeout to come.
    pub(super) fn on_consensus_timeout(&mut self, now: Instant, outputs: &mut Outputs) {
        if !matches!(self.state, State::Gather) {
            return;
        }
        if self.forming.all_agree() {
            self.forming.agreed = BTreeSet::from([self.me]);
            self.timers.set(Timer::Token, now.after(self.config.token));
            return;
        }
        let silent: Vec<NodeId> =
            self.forming.proc.iter().copied().filter(|node| !self.forming.agreed.contains(node)).collect();
        self.forming.failed.extend(silent);
        self.enter_gather(now, outputs);
    }

    /// The token did not come.
    pub(super) fn on_token_loss(&mut self, what: &str, now: Instant, outputs: &mut Outputs) {
        match self.state {
            State::Operational if self.members.len() > 1 => {
                self.counters.token_lost += 1;
                let text = format!("A processor failed, forming new configuration ({what})");
                Self::log(outputs, LogLevel::Warning, text);
                self.enter_gather(now, outputs);
            }
            State::Commit(_) | State::Recovery(_) => {
                self.counters.token_lost += 1;
                self.enter_gather(now, outputs);
            }
            State::Gather => {
                self.on_consensus_timeout(now, outputs);
                // Where all agreed, nobody was given up: look again all the same.
                if self.timers.runs(Timer::Token) {
                    self.enter_gather(now, outputs);
                }
            }
            _ => {}
        }
    }
}
