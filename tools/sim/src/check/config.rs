//! Configurations: which were installed by whom, and how nodes go from one to the next.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use evensong_core::ids::{NodeId, RingId};
use evensong_core::output::TotemConfchg;

use super::{wrong, Checked, Checker, Place, Property};

/// What is delivered on one channel of a configuration, in order. A group that became empty
/// and was joined again begins a new segment: nobody was there to see the order of the two.
#[derive(Debug, Default)]
pub struct Channel {
    /// Messages and changes of the group.
    pub segments: Vec<Vec<u64>>,
    /// Where joins stand.
    pub joins: HashMap<u64, Place>,
    /// Clients whose own join nobody else has seen yet, by that join.
    pub waiting: Vec<(u64, u32)>,
}

/// How one node left a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It has not.
    Here,
    /// It went on to another one.
    Config(usize),
    /// It failed.
    Failed,
}

/// One node's stay in a configuration.
#[derive(Clone, Copy, Debug)]
pub struct Visit {
    /// The host.
    pub host: usize,
    /// Which of its lives.
    pub life: u32,
    /// How much it delivered, evs messages.
    pub at: Place,
    /// How it ended.
    pub next: Next,
}

/// A configuration.
#[derive(Debug)]
pub struct Config {
    /// Its ring; of a transitional one the ring it leads to.
    pub ring: RingId,
    /// Members, sorted.
    pub members: Vec<NodeId>,
    /// The regular configuration that this transitional one comes from.
    pub from: Option<usize>,
    /// Whether this one is transitional.
    pub transitional: bool,
    /// Channel 0 for evs, then one for each group.
    pub channels: Vec<Channel>,
    /// How far those were who left this regular configuration through a transitional one, by
    /// that one and channel; for transitional ones, how far they were at the end.
    pub left_at: BTreeMap<(usize, usize), Place>,
    /// Who installed it.
    pub visits: Vec<Visit>,
    /// Members of the groups when the services had agreed, as the first node saw them.
    pub opening: BTreeMap<usize, Vec<(NodeId, u32)>>,
    /// Lives of the members when the first of them installed it.
    pub lives: Vec<(usize, u32)>,
}

impl Config {
    fn new(ring: RingId, members: &[NodeId], from: Option<usize>, transitional: bool, channels: usize) -> Config {
        let segments = || Channel { segments: vec![Vec::new()], ..Channel::default() };
        Config {
            ring,
            members: members.to_vec(),
            from,
            transitional,
            channels: (0..channels).map(|_| segments()).collect(),
            left_at: BTreeMap::new(),
            visits: Vec::new(),
            opening: BTreeMap::new(),
            lives: Vec::new(),
        }
    }

    /// A node that is here failed.
    pub fn on_failure(&mut self, host: usize, life: u32, at: Place) {
        self.leave(host, life, at, Next::Failed);
    }

    fn leave(&mut self, host: usize, life: u32, at: Place, next: Next) {
        if let Some(visit) = self.visits.iter_mut().find(|visit| (visit.host, visit.life) == (host, life)) {
            visit.at = at;
            visit.next = next;
        }
    }

    /// In words.
    pub fn name(&self) -> String {
        let members: Vec<u32> = self.members.iter().map(|node| node.0).collect();
        let kind = if self.transitional { "transitional to ring" } else { "ring" };
        format!("{kind} {}:{} {members:?}", self.ring.rep.0, self.ring.seq)
    }
}

fn is_sorted_set(nodes: &[NodeId]) -> bool {
    nodes.windows(2).all(|pair| pair[0] < pair[1])
}

fn without(nodes: &[NodeId], others: &[NodeId]) -> Vec<NodeId> {
    nodes.iter().copied().filter(|node| !others.contains(node)).collect()
}

impl Checker {
    /// The observer of a host is told of a configuration.
    pub fn on_config(&mut self, host: usize, change: &Arc<TotemConfchg>) -> Checked {
        self.drained(host)?;
        if self.views[host].config.is_none() && !change.transitional && change.members.is_empty() {
            return Ok(());
        }
        if !is_sorted_set(&change.members) {
            return self.bad_config(host, change, "members are not sorted");
        }
        if change.transitional {
            self.on_transitional(host, change)?;
        } else {
            self.on_regular(host, change)?;
        }
        self.views[host].change = Some(Arc::clone(change));
        Ok(())
    }

    fn bad_config(&self, host: usize, change: &TotemConfchg, text: &str) -> Checked {
        let view = &self.views[host];
        let before = view.config.map_or("nothing".to_owned(), |config| self.configs[config].name());
        wrong(Property::Configuration, format!("node {}: {text}: {change:?} after {before}", view.node.0))
    }

    fn on_transitional(&mut self, host: usize, change: &TotemConfchg) -> Checked {
        let bad = |checker: &Checker, text: &str| checker.bad_config(host, change, text);
        let view = &self.views[host];
        let before = view.config;
        let members = before.map_or(&[][..], |before| &self.configs[before].members);
        if before.is_some_and(|before| self.configs[before].transitional) {
            return bad(self, "two transitional configurations");
        }
        if change.left != without(members, &change.members) || !change.joined.is_empty() {
            return bad(self, "who left does not add up");
        }
        if !without(&change.members, members).is_empty() {
            return bad(self, "a member was not one before");
        }
        if before.is_some() && !change.members.contains(&view.node) {
            return bad(self, "the node itself is not in it");
        }
        if change.ring.seq <= before.map_or(view.floor, |before| self.configs[before].ring.seq) {
            return bad(self, "ring numbers grow");
        }
        // All who come from one ring and go to one ring are in one transitional configuration,
        // or in two that have nobody in common.
        let mut found = None;
        for (at, other) in self.configs.iter().enumerate() {
            if other.transitional && before.is_some() && other.from == before && other.ring == change.ring {
                if other.members == change.members {
                    found = Some(at);
                } else if without(&other.members, &change.members).len() != other.members.len() {
                    return bad(self, "another member saw other members in it");
                }
            }
        }
        let config = found.unwrap_or_else(|| {
            self.configs.push(Config::new(change.ring, &change.members, before, true, self.channels));
            self.configs.len() - 1
        });
        self.go(host, config)
    }

    fn on_regular(&mut self, host: usize, change: &TotemConfchg) -> Checked {
        let bad = |checker: &Checker, text: &str| checker.bad_config(host, change, text);
        let view = &self.views[host];
        let Some(before) = view.config.map(|config| &self.configs[config]).filter(|config| config.transitional) else {
            return bad(self, "no transitional configuration before it");
        };
        if before.ring != change.ring {
            return bad(self, "the transitional configuration led to another ring");
        }
        if change.joined != without(&change.members, &before.members) || !change.left.is_empty() {
            return bad(self, "who joined does not add up");
        }
        if !without(&before.members, &change.members).is_empty() {
            return bad(self, "a member of the transitional configuration is not in it");
        }
        if !change.members.contains(&view.node) {
            return bad(self, "the node itself is not in it");
        }
        if change.members.first() != Some(&change.ring.rep) {
            return bad(self, "the representative is not the lowest member");
        }
        let mut known = self.rings.get(&change.ring).copied();
        if self.wiping {
            // a host that has lost its ring number may use it again when nobody is left of that ring
            known = known.filter(|at| self.configs[*at].visits.iter().any(|visit| visit.next == Next::Here));
        }
        let config = match known {
            Some(config) => config,
            None => {
                self.configs.push(Config::new(change.ring, &change.members, None, false, self.channels));
                let config = self.configs.len() - 1;
                let lives = self.views.iter().enumerate().filter(|(_, other)| change.members.contains(&other.node));
                self.configs[config].lives = lives.map(|(host, other)| (host, other.life)).collect();
                self.rings.insert(change.ring, config);
                config
            }
        };
        let there = &self.configs[config];
        if there.members != change.members {
            let text = format!("node {}: {change:?}, but that id is {}", self.views[host].node.0, there.name());
            return wrong(Property::RingIds, text);
        }
        if there.visits.iter().any(|visit| visit.host == host) {
            return wrong(
                Property::RingIds,
                format!("node {} was in {} before", self.views[host].node.0, there.name()),
            );
        }
        self.go(host, config)
    }

    /// A node goes on to a configuration; those that go the same way must be equally far.
    fn go(&mut self, host: usize, to: usize) -> Checked {
        let view = &mut self.views[host];
        let life = view.life;
        let (from, at) = (view.config, view.at);
        view.config = Some(to);
        view.at = Place { segment: 0, entries: 0 };
        let was_synced = view.synced;
        let transitional = self.configs[to].transitional;
        if transitional {
            if was_synced {
                view.together = self.configs[to].members.clone();
            } else {
                view.together.retain(|node| self.configs[to].members.contains(node));
            }
        } else {
            view.synced = false;
            view.told.clear();
        }
        let members = view.members.clone();
        if let Some(from) = from {
            self.configs[from].leave(host, life, at, Next::Config(to));
            self.leave_channel(host, from, to, 0, at)?;
            for client in &members {
                let channel = self.senders[*client as usize].channel;
                if let Some(at) = self.stream(*client).and_then(|stream| stream.place()) {
                    self.leave_channel(host, from, to, channel, at)?;
                }
            }
        }
        for client in members {
            if let Some(stream) = self.stream_mut(client) {
                stream.enter();
            }
        }
        let at = Place { segment: 0, entries: 0 };
        self.configs[to].visits.push(Visit { host, life, at, next: Next::Here });
        Ok(())
    }

    fn leave_channel(&mut self, host: usize, from: usize, to: usize, channel: usize, at: Place) -> Checked {
        let before = *self.configs[from].left_at.entry((to, channel)).or_insert(at);
        if before == at {
            return Ok(());
        }
        let text = format!(
            "node {} leaves {} for {} after {} deliveries of channel {channel} (segment {}), another one after {} ({})",
            self.views[host].node.0,
            self.configs[from].name(),
            self.configs[to].name(),
            at.entries,
            at.segment,
            before.entries,
            before.segment
        );
        wrong(Property::FailureAtomicity, text)
    }
}
