//! Recovery: the new ring's token already goes around, and carries copies of the old rings'
//! frames, until all who come from one old ring have the same of it.

use std::collections::VecDeque;

use bytes::Bytes;

use super::mutation::{Mutation, Switch};
use super::operational::Content;
use super::timers::Timer;
use super::window::Window;
use super::{Outputs, Ring, State};
use crate::ids::NodeId;
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::commit::CommitToken;
use crate::wire::token::Token;

/// A ring that is being entered.
#[derive(Debug)]
pub(super) struct Recovery<M> {
    /// Its members.
    pub members: Vec<NodeId>,
    /// Those of them who come from the same old ring as this node.
    pub together: Vec<NodeId>,
    /// Up to here at least one of those delivered the old ring's frames.
    pub delivered: Seq,
    /// Frames of the new ring: copies of old ones.
    pub window: Window<Content<M>>,
    /// Frames of the old ring that this node still has to copy.
    pub copies: VecDeque<Bytes>,
    /// The representative has started the regular token.
    pub token_started: bool,
    /// This node has set the token's flag.
    has_flag: bool,
    /// Visits in a row that found nobody with copies left.
    quiet: u32,
    /// Number that all must have reached.
    install_seq: Seq,
    /// Visits in a row that found all there.
    rotation: u32,
}

impl<M> Recovery<M> {
    /// Restates what must always hold.
    pub fn check(&self, me: NodeId) {
        assert!(self.members.contains(&me) && self.members.is_sorted());
        assert!(self.together.iter().all(|node| self.members.contains(node)));
        self.window.check();
    }

    /// The work of a token visit; whether the ring can be installed.
    pub fn visit(&mut self, token: &mut Token, rules: Switch) -> bool {
        if !self.copies.is_empty() && token.retrans == 0 {
            token.retrans = 1;
            self.has_flag = true;
        } else if self.copies.is_empty() && token.retrans != 0 && self.has_flag {
            token.retrans = 0;
            self.has_flag = false;
        }
        self.quiet = if token.retrans == 0 { self.quiet + 1 } else { 0 };
        if self.quiet == 2 {
            self.install_seq = token.seq;
        }
        if self.quiet >= 3 && self.install_seq.is_up_to(token.aru) {
            self.rotation += 1;
        } else {
            self.rotation = 0;
        }
        self.rotation == 2 || !rules.on(Mutation::InstallWait)
    }
}

impl<M> Ring<M> {
    /// The commit token came back complete.
    pub(super) fn enter_recovery(&mut self, token: CommitToken, now: Instant, outputs: &mut Outputs) {
        let own = |node: &NodeId| {
            let at = token.addrs.iter().position(|addr| addr == node)?;
            token.entries.get(at).filter(|entry| entry.ring == self.member_ring)
        };
        // A node that came back under the same number was away: its entry has another ring.
        let together: Vec<NodeId> = self.members.iter().copied().filter(|node| own(node).is_some()).collect();
        let entries: Vec<_> = together.iter().filter_map(own).copied().collect();
        let mut delivered = self.window.delivered();
        let mut low = self.window.high();
        for entry in &entries {
            if delivered.is_before(entry.high_delivered) {
                delivered = entry.high_delivered;
            }
            if entry.aru.is_before(low) {
                low = entry.aru;
            }
        }
        let mut copies = VecDeque::new();
        if entries.iter().any(|entry| entry.received == 0) && self.rules.on(Mutation::RecoveryCopies) {
            for entry in self.window.entries().filter(|entry| low.is_before(entry.first)) {
                if let Content::Frame(frame) = &entry.content {
                    copies.push_back(frame.clone());
                }
            }
        }
        let recovery = Recovery {
            members: token.addrs.clone(),
            together,
            delivered,
            window: Window::default(),
            copies,
            token_started: false,
            has_flag: false,
            quiet: 0,
            install_seq: Seq(0),
            rotation: 0,
        };
        self.state = State::Recovery(Box::new(recovery));
        self.pass_commit_token(token, now, outputs);
    }

    /// The representative lets the regular token go.
    pub(super) fn start_token(&mut self, now: Instant, outputs: &mut Outputs) {
        let State::Recovery(recovery) = &mut self.state else { return };
        let has_copies = !recovery.copies.is_empty();
        recovery.has_flag = has_copies;
        let token = Token {
            seq: Seq(0),
            token_seq: Seq(0),
            // Before the first frame: whoever has none is not behind.
            aru: Seq(u32::MAX),
            aru_addr: self.me,
            ring: self.ring,
            backlog: 0,
            fcc: 0,
            retrans: u32::from(has_copies),
            rtr: Vec::new(),
        };
        self.timers.set(Timer::Token, now.after(self.config.token));
        self.pass_token(token, now, outputs);
    }
}
