//! What must hold at the end: everything that was sent was delivered, views agree, safe
//! messages reached all who lived, and the parts of a broken ring kept one order.

use std::collections::{BTreeMap, HashMap};

use evensong_core::ids::NodeId;

use super::config::Next;
use super::order::{CHANGE, SHORT};
use super::{wrong, Checked, Checker, Property, NONE};

impl Checker {
    /// The first thing that is still missing for the run to be settled, among nodes that run.
    pub fn missing(&self) -> Option<String> {
        let mut running: Vec<NodeId> = self.views.iter().filter(|view| view.alive).map(|view| view.node).collect();
        running.sort_unstable();
        for view in self.views.iter().filter(|view| view.alive) {
            let node = view.node.0;
            let Some(config) = view.config.map(|config| &self.configs[config]) else {
                return Some(format!("node {node} has no configuration"));
            };
            if config.transitional || config.members != running {
                let running: Vec<u32> = running.iter().map(|node| node.0).collect();
                return Some(format!("node {node} is in {}, nodes {running:?} run", config.name()));
            }
            if !view.synced {
                return Some(format!("the services of node {node} have not agreed in {}", config.name()));
            }
            let all = config.channels[0].segments[0].len();
            if view.at.entries as usize != all {
                return Some(format!("node {node} delivered {} of {all} evs messages", view.at.entries));
            }
            for client in &view.members {
                let sender = &self.senders[*client as usize];
                let channel = &config.channels[sender.channel];
                let place = self.stream(*client).and_then(|stream| stream.place());
                if place.is_some_and(|place| place.entries as usize != channel.segments[place.segment as usize].len()) {
                    return Some(format!("process {} on node {node} is behind others of its group", sender.pid));
                }
            }
        }
        self.missing_message()
    }

    /// Self-delivery: messages of clients that are still there.
    fn missing_message(&self) -> Option<String> {
        for sender in self.senders.iter().filter(|sender| !sender.gone && sender.channel != 0) {
            if sender.short.0 != sender.short.1 {
                let (sent, back) = sender.short;
                return Some(format!("process {} got {back} of its {sent} shortest messages", sender.pid));
            }
        }
        let lost = self.messages.iter().position(|message| {
            !message.own && {
                let sender = &self.senders[message.sender as usize];
                if sender.channel == 0 {
                    let view = &self.views[sender.host];
                    view.alive && view.life == sender.life
                } else {
                    !sender.gone && !sender.leaves
                }
            }
        });
        lost.map(|key| {
            let message = &self.messages[key];
            let sender = &self.senders[message.sender as usize];
            let seen = self
                .configs
                .get(message.family as usize)
                .map_or("nobody has it".to_owned(), |config| format!("others have it, in {}", config.name()));
            let name = self.name_of(key as u64);
            format!("{name}, channel {}, did not come back to its sender; {seen}", sender.channel)
        })
    }

    /// What the members of each group are told must be who is there.
    pub fn check_groups(&self, there: &BTreeMap<usize, Vec<(NodeId, u32)>>) -> Checked {
        for view in self.views.iter().filter(|view| view.alive) {
            for client in &view.members {
                let sender = &self.senders[*client as usize];
                let members = self.stream(*client).map(|stream| &stream.members);
                if members != there.get(&sender.channel) {
                    let there = there.get(&sender.channel);
                    let text = format!(
                        "process {} on node {}, group {}: members are {members:?}, there are {there:?}",
                        sender.pid, sender.node.0, sender.channel
                    );
                    return wrong(Property::Groups, text);
                }
            }
        }
        Ok(())
    }

    /// What can be said only when the run is over.
    pub fn at_end(&self) -> Checked {
        for config in 0..self.configs.len() {
            if !self.configs[config].transitional {
                if self.honour_safe {
                    self.check_safe(config)?;
                }
                self.check_parts(config)?;
            }
        }
        Ok(())
    }

    /// A safe message that anyone delivered in a regular configuration reaches all its members.
    fn check_safe(&self, config: usize) -> Checked {
        let there = &self.configs[config];
        let sequence = &there.channels[0].segments[0];
        let is_safe = |key: u64| key & SHORT == 0 && self.messages[key as usize].safe;
        let Some(last) = sequence.iter().rposition(|key| is_safe(*key)) else { return Ok(()) };
        let missed = |host: usize, key: u64| {
            let node = self.views[host].node.0;
            let text = format!("{}, safe in {}, is not delivered on node {node}", self.name_of(key), there.name());
            wrong(Property::SafeDelivery, text)
        };
        for (host, life) in &there.lives {
            let Some(visit) = there.visits.iter().find(|visit| visit.host == *host) else {
                let view = &self.views[*host];
                if view.alive && view.life == *life {
                    return missed(*host, sequence[last]);
                }
                continue;
            };
            let after = &sequence[(visit.at.entries as usize).min(sequence.len())..];
            let after: Vec<u64> = after.iter().copied().filter(|key| is_safe(*key)).collect();
            if after.is_empty() {
                continue;
            }
            match visit.next {
                Next::Failed => {}
                Next::Here => {
                    let view = &self.views[*host];
                    if view.alive && (view.at.entries as usize) < last + 1 {
                        return missed(*host, after[0]);
                    }
                }
                Next::Config(next) => {
                    let next = &self.configs[next];
                    let went_on = next.visits.iter().find(|visit| visit.host == *host);
                    if went_on.is_some_and(|visit| matches!(visit.next, Next::Config(_))) {
                        let later = &next.channels[0].segments[0];
                        if let Some(key) = after.iter().find(|key| !later.contains(key)) {
                            return missed(*host, *key);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The parts that a ring broke into deliver what is left of it in one order.
    fn check_parts(&self, config: usize) -> Checked {
        let family = &self.configs[config];
        let parts: Vec<usize> = family
            .visits
            .iter()
            .filter_map(|visit| if let Next::Config(next) = visit.next { Some(next) } else { None })
            .collect();
        for channel in 0..self.channels {
            let of = |config: usize| &self.configs[config].channels[channel].segments[0];
            let mut sequences: Vec<&Vec<u64>> = parts.iter().map(|part| of(*part)).collect();
            sequences.sort_unstable();
            sequences.dedup();
            sequences.push(of(config));
            for (n, one) in sequences.iter().enumerate().filter(|(_, one)| !one.is_empty()) {
                for other in &sequences[n + 1..] {
                    self.check_same_order(config, one, other)?;
                }
            }
        }
        Ok(())
    }

    fn check_same_order(&self, config: usize, one: &[u64], other: &[u64]) -> Checked {
        let numbered = |key: &&u64| **key & (SHORT | CHANGE) == 0;
        let places: HashMap<u64, usize> = one.iter().filter(numbered).enumerate().map(|(at, key)| (*key, at)).collect();
        let mut before = NONE as usize;
        for key in other.iter().filter(numbered) {
            let Some(at) = places.get(key) else { continue };
            if before != NONE as usize && *at <= before {
                let text = format!("{} and another message of {}", self.name_of(*key), self.configs[config].name());
                return wrong(Property::TotalOrder, format!("parts of a ring differ in the order of {text}"));
            }
            before = *at;
        }
        Ok(())
    }
}
