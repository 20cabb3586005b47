//! The synchronization after a change of membership: all members work it off service by
//! service, in the same order, and none goes on before all are done with a service.
//!
//! Every member says which services of its own take part (service build). The union of the
//! lists, ascending, is gone through: for each service a member sends what the service has to
//! say, then a barrier; when the barriers of all members are there, the service takes effect.
//! Services that only others have are passed with a barrier alone. Messages of another ring
//! are of a round that is over, and ignored. Follows the original's sync engine.

use std::collections::BTreeSet;

use crate::ids::{NodeId, RingId};
use crate::service::sync_wire::{SyncMessage, SERVICES_MAX};

/// What the node has to do next, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send this.
    Send(SyncMessage),
    /// Send what this service has to say.
    Process(u32),
    /// This service takes effect.
    Activate(u32),
    /// The change is worked off.
    Done,
}

/// One round, from a regular configuration to the last barrier.
#[derive(Debug)]
struct Round {
    ring: RingId,
    members: Vec<NodeId>,
    /// Services to go through: first those of this node, then of all.
    services: BTreeSet<u32>,
    /// The service whose turn it is; `None` while builds are collected.
    current: Option<u32>,
    /// Members whose build, or whose barrier for the current service, has come.
    heard: BTreeSet<NodeId>,
}

/// The engine.
#[derive(Debug, Default)]
pub struct Sync {
    round: Option<Round>,
}

impl Sync {
    /// Whether a round is under way.
    pub fn is_running(&self) -> bool {
        self.round.is_some()
    }

    /// The ring is about to change: the round, if there is one, ends without effect.
    pub fn abort(&mut self) {
        self.round = None;
    }

    /// A regular configuration; `services` are this node's that take part.
    pub fn start(&mut self, ring: RingId, members: &[NodeId], services: &[u32]) -> Vec<Step> {
        let services: BTreeSet<u32> = services.iter().copied().collect();
        if members.len() == 1 {
            // Nobody to wait for, so nothing to send.
            self.round = None;
            return services.into_iter().map(Step::Activate).chain([Step::Done]).collect();
        }
        let build = SyncMessage::Build { ring, services: services.iter().copied().collect() };
        let members = members.to_vec();
        self.round = Some(Round { ring, members, services, current: None, heard: BTreeSet::new() });
        vec![Step::Send(build)]
    }

    /// A message of a member, its own ones included.
    pub fn take(&mut self, from: NodeId, message: &SyncMessage) -> Vec<Step> {
        let Some(round) = &mut self.round else { return Vec::new() };
        let (SyncMessage::Build { ring, .. } | SyncMessage::Barrier { ring }) = message;
        if *ring != round.ring || !round.members.contains(&from) {
            return Vec::new();
        }
        match (message, round.current) {
            (SyncMessage::Build { services, .. }, None) => {
                round.heard.insert(from);
                round.services.extend(services.iter().copied().filter(|id| *id < SERVICES_MAX as u32));
                if round.heard.len() < round.members.len() {
                    return Vec::new();
                }
                let first = round.services.first().copied();
                self.go_to(first)
            }
            (SyncMessage::Barrier { .. }, Some(current)) => {
                round.heard.insert(from);
                if round.heard.len() < round.members.len() {
                    return Vec::new();
                }
                let next = round.services.range(current + 1..).next().copied();
                let mut steps = vec![Step::Activate(current)];
                steps.extend(self.go_to(next));
                steps
            }
            _ => Vec::new(),
        }
    }

    fn go_to(&mut self, service: Option<u32>) -> Vec<Step> {
        let Some(round) = &mut self.round else { return Vec::new() };
        round.heard.clear();
        round.current = service;
        match service {
            Some(service) => vec![Step::Process(service), Step::Send(SyncMessage::Barrier { ring: round.ring })],
            None => {
                self.round = None;
                vec![Step::Done]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RING: RingId = RingId { rep: NodeId(1), seq: 8 };

    fn build(services: &[u32]) -> SyncMessage {
        SyncMessage::Build { ring: RING, services: services.to_vec() }
    }

    const BARRIER: SyncMessage = SyncMessage::Barrier { ring: RING };

    #[test]
    fn two_nodes_with_different_services() {
        let mut sync = Sync::default();
        let members = [NodeId(1), NodeId(2)];
        assert_eq!(sync.start(RING, &members, &[0, 2]), [Step::Send(build(&[0, 2]))]);
        assert_eq!(sync.take(NodeId(1), &build(&[0, 2])), []);
        assert_eq!(sync.take(NodeId(2), &BARRIER), [], "too early");
        let old = RingId { rep: NodeId(1), seq: 4 };
        assert_eq!(sync.take(NodeId(2), &SyncMessage::Build { ring: old, services: vec![9] }), []);
        assert_eq!(sync.take(NodeId(2), &build(&[1, 2])), [Step::Process(0), Step::Send(BARRIER)]);
        for (done, next) in [(0, 1), (1, 2)] {
            assert_eq!(sync.take(NodeId(2), &BARRIER), []);
            assert_eq!(sync.take(NodeId(2), &BARRIER), [], "the same twice");
            let steps = [Step::Activate(done), Step::Process(next), Step::Send(BARRIER)];
            assert_eq!(sync.take(NodeId(1), &BARRIER), steps);
        }
        sync.take(NodeId(1), &BARRIER);
        assert_eq!(sync.take(NodeId(2), &BARRIER), [Step::Activate(2), Step::Done]);
        assert!(!sync.is_running());
    }

    #[test]
    fn one_node_has_nobody_to_wait_for() {
        let mut sync = Sync::default();
        let steps = [Step::Activate(0), Step::Activate(2), Step::Done];
        assert_eq!(sync.start(RING, &[NodeId(1)], &[2, 0]), steps);
    }
}
