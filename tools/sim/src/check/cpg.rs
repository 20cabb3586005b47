//! Groups as their members see them: lists, reasons, and one order of messages, joins and
//! leaves for all members.
//!
//! A client's stream begins with its own join. Where that stands in the order is known as soon
//! as another member has seen it; until then what the client sees is kept and compared later.

use std::sync::Arc;

use evensong_core::ids::NodeId;
use evensong_core::output::{CpgConfchg, CpgMember, TotemConfchg};

use super::order::CHANGE;
use super::{wrong, Checked, Checker, Place, Property};
use crate::rng::mix;

/// Bit of the key of a join.
pub const JOIN: u64 = 1 << 61;
const DIED: u64 = 1 << 60;

/// Reasons of `cpg_reason_t`.
const REASON_JOIN: u32 = 1;
const REASON_LEAVE: u32 = 2;
const REASON_NODEDOWN: u32 = 3;
const REASON_NODEUP: u32 = 4;
const REASON_PROCDOWN: u32 = 5;

/// What one client in a group sees.
#[derive(Debug)]
pub struct Stream {
    /// Where it is in its node's configuration; none while its join stands nowhere.
    place: Option<Place>,
    /// What it saw behind a join that stands nowhere yet.
    pending: Vec<u64>,
    /// Members as it was told.
    pub members: Vec<(NodeId, u32)>,
    /// It saw itself leave.
    ended: bool,
}

impl Stream {
    /// How far it is; none while that is not known.
    pub fn place(&self) -> Option<Place> {
        self.place
    }

    /// Its node goes on to the next configuration.
    pub fn enter(&mut self) {
        self.place = Some(Place { segment: 0, entries: 0 });
        self.pending.clear();
    }
}

fn change_key(member: &CpgMember, flags: u64) -> u64 {
    CHANGE | flags | (mix(u64::from(member.node.0)) & 0x0fff_ffff) << 32 | u64::from(member.pid)
}

fn process(member: &CpgMember) -> (NodeId, u32) {
    (member.node, member.pid)
}

impl Checker {
    /// The stream of a client that is or was in its group.
    pub fn stream(&self, client: u32) -> Option<&Stream> {
        self.streams[client as usize].as_deref()
    }

    pub(super) fn stream_mut(&mut self, client: u32) -> Option<&mut Stream> {
        self.streams[client as usize].as_deref_mut()
    }

    /// A client is told of a change of its group.
    pub fn on_change(&mut self, host: usize, client: u32, change: &CpgConfchg) -> Checked {
        match self.stream(client) {
            None => self.on_own_join(host, client, change)?,
            Some(stream) if stream.ended => {}
            Some(_) => self.on_next_change(host, client, change)?,
        }
        self.find_places()
    }

    fn bad(&self, client: u32, change: &CpgConfchg, text: &str) -> Checked {
        let sender = &self.senders[client as usize];
        let before = self.stream(client).map(|stream| &stream.members);
        let text = format!("process {} on node {}: {text}: {change:?} after {before:?}", sender.pid, sender.node.0);
        wrong(Property::Groups, text)
    }

    fn on_own_join(&mut self, host: usize, client: u32, change: &CpgConfchg) -> Checked {
        let sender = &self.senders[client as usize];
        let own = (sender.node, sender.pid);
        let [joined] = &change.joined[..] else { return self.bad(client, change, "the first change is not its join") };
        if process(joined) != own || joined.reason != REASON_JOIN || !change.left.is_empty() {
            return self.bad(client, change, "the first change is not its join");
        }
        let members: Vec<_> = change.members.iter().map(process).collect();
        if !members.contains(&own) || !members.is_sorted() {
            return self.bad(client, change, "it is not in the list, or the list is not sorted");
        }
        let view = &mut self.views[host];
        let Some(config) = view.config.filter(|_| view.synced) else {
            return self.bad(client, change, "a join before the services have agreed");
        };
        view.members.push(client);
        let channel_number = self.senders[client as usize].channel;
        let key = change_key(joined, JOIN);
        let channel = &mut self.configs[config].channels[channel_number];
        let mut place = channel.joins.get(&key).copied();
        if members.len() == 1 {
            channel.segments.push(vec![key]);
            let segment = u32::try_from(channel.segments.len() - 1).expect("few segments");
            place = Some(Place { segment, entries: 0 });
            channel.joins.insert(key, Place { segment, entries: 0 });
        } else if place.is_none() {
            channel.waiting.push((key, client));
        }
        let place = place.map(|place| Place { entries: place.entries + 1, ..place });
        let stream = Stream { place, pending: Vec::new(), members, ended: false };
        self.streams[client as usize] = Some(Box::new(stream));
        Ok(())
    }

    fn on_next_change(&mut self, host: usize, client: u32, change: &CpgConfchg) -> Checked {
        let members: Vec<_> = change.members.iter().map(process).collect();
        let left: Vec<_> = change.left.iter().map(process).collect();
        let joined: Vec<_> = change.joined.iter().map(process).collect();
        let before = &self.stream(client).expect("its caller saw it").members;
        let mut expected: Vec<_> = before.iter().copied().filter(|member| !left.contains(member)).collect();
        expected.extend(&joined);
        expected.sort_unstable();
        if left.iter().any(|gone| !before.contains(gone)) || joined.iter().any(|come| before.contains(come)) {
            return self.bad(client, change, "who left was no member, or who joined was one");
        }
        if expected != members || members.windows(2).any(|pair| pair[0] == pair[1]) {
            return self.bad(client, change, "the list is not the previous one less left plus joined");
        }
        if self.views[host].synced {
            self.on_single_change(host, client, change)?;
        } else {
            self.check_sync_reasons(host, client, change)?;
        }
        let sender = &self.senders[client as usize];
        let ended = left.contains(&(sender.node, sender.pid));
        let stream = self.stream_mut(client).expect("its caller saw it");
        stream.members = members;
        if ended {
            stream.ended = true;
            self.views[host].members.retain(|other| *other != client);
        }
        Ok(())
    }

    /// A change that a message brought: one process.
    fn on_single_change(&mut self, host: usize, client: u32, change: &CpgConfchg) -> Checked {
        let key = match (&change.joined[..], &change.left[..]) {
            ([joined], []) if joined.reason == REASON_JOIN => change_key(joined, JOIN),
            ([], [left]) if left.reason == REASON_LEAVE && self.any_sender(left, |sender| sender.leaves) => {
                change_key(left, 0)
            }
            ([], [left]) if left.reason == REASON_PROCDOWN && self.any_sender(left, |sender| sender.gone) => {
                change_key(left, DIED)
            }
            _ => return self.bad(client, change, "reasons do not fit what happened"),
        };
        self.on_group_event(host, client, key)
    }

    fn any_sender(&self, member: &CpgMember, is: impl Fn(&super::Sender) -> bool) -> bool {
        self.senders
            .iter()
            .rev()
            .filter(|sender| (sender.node, sender.pid) == process(member) && sender.channel != 0)
            .any(is)
    }

    /// Changes that the agreement of the services brought: nodes that were away.
    fn check_sync_reasons(&mut self, host: usize, client: u32, change: &CpgConfchg) -> Checked {
        let view = &self.views[host];
        let was_away = |member: &CpgMember| !view.together.contains(&member.node);
        let fits = change.joined.iter().all(|member| member.reason == REASON_NODEUP && was_away(member))
            && change.left.iter().all(|member| match member.reason {
                REASON_NODEDOWN => was_away(member),
                REASON_PROCDOWN => was_away(member) || self.any_sender(member, |sender| sender.gone),
                _ => false,
            });
        if !fits {
            let together: Vec<u32> = view.together.iter().map(|node| node.0).collect();
            let text = format!("reasons do not fit; nodes {together:?} were there all the time");
            return self.bad(client, change, &text);
        }
        for member in change.joined.first().iter().chain(&change.left.first()) {
            let told = (client as usize, member.reason);
            if self.views[host].told.contains(&told) {
                return self.bad(client, change, "two changes where one would do");
            }
            self.views[host].told.push(told);
        }
        Ok(())
    }

    /// A message for a client in its group.
    #[inline]
    pub(super) fn on_group_message(&mut self, host: usize, client: u32, from: (NodeId, u32), key: u64) -> Checked {
        let bad = |checker: &Checker, text: &str| {
            let sender = &checker.senders[client as usize];
            let text = format!("process {} on node {}: {text}: {}", sender.pid, sender.node.0, checker.name_of(key));
            wrong(Property::Groups, text)
        };
        let Some(stream) = self.streams[client as usize].as_deref() else {
            return bad(self, "a message before its join");
        };
        if stream.ended {
            return Ok(());
        }
        if stream.members.binary_search(&from).is_err() {
            return bad(self, "a message of one who is no member");
        }
        if !self.views[host].synced {
            return bad(self, "a message before the services have agreed");
        }
        self.on_group_event(host, client, key)?;
        if self.findable.is_empty() {
            return Ok(());
        }
        self.find_places()
    }

    #[inline]
    fn on_group_event(&mut self, host: usize, client: u32, key: u64) -> Checked {
        let config = self.views[host].config.expect("groups need a configuration");
        let channel = self.senders[client as usize].channel;
        let stream = self.streams[client as usize].as_deref_mut().expect("its caller saw it");
        let Some(mut place) = stream.place else {
            stream.pending.push(key);
            return Ok(());
        };
        self.follow(host, config, channel, &mut place, key)?;
        if let Some(stream) = self.stream_mut(client) {
            stream.place = Some(place);
        }
        Ok(())
    }

    /// A join got its place: clients that waited for it can be compared from there on.
    pub(super) fn on_join_placed(&mut self, config: usize, channel: usize, place: Place, key: u64) {
        let there = &mut self.configs[config].channels[channel];
        there.joins.insert(key, place);
        let mut at = 0;
        while at < there.waiting.len() {
            if there.waiting[at].0 == key {
                let (_, client) = there.waiting.swap_remove(at);
                self.findable.push((key, client, config, channel, place));
            } else {
                at += 1;
            }
        }
    }

    fn find_places(&mut self) -> Checked {
        while let Some((_, client, config, channel, place)) = self.findable.pop() {
            let host = self.senders[client as usize].host;
            let Some(stream) = self.stream_mut(client).filter(|stream| stream.place.is_none()) else { continue };
            let mut place = Place { entries: place.entries + 1, ..place };
            let pending = std::mem::take(&mut stream.pending);
            for key in pending {
                self.follow(host, config, channel, &mut place, key)?;
            }
            if let Some(stream) = self.stream_mut(client) {
                stream.place = Some(place);
            }
        }
        Ok(())
    }

    /// A cpg client is told of the ring: the services have agreed.
    pub fn on_ring(&mut self, host: usize, client: u32, change: &Arc<TotemConfchg>) -> Checked {
        let view = &mut self.views[host];
        if client != view.cpg_observer {
            if view.synced_change.as_ref() == Some(change) {
                return Ok(());
            }
            let text = format!("client {client} is told {change:?}, the node agreed on {:?}", view.synced_change);
            return wrong(Property::Groups, text);
        }
        let current = view.change.as_ref().is_some_and(|now| now.ring == change.ring && now.members == change.members);
        if !current || view.synced || change.transitional {
            let text = format!("node {} agreed on {change:?} in {:?}", view.node.0, view.change);
            return wrong(Property::Groups, text);
        }
        view.synced = true;
        view.synced_change = Some(Arc::clone(change));
        view.together = change.members.clone();
        let Some(config) = view.config else { return Ok(()) };
        for client in view.members.clone() {
            let channel = self.senders[client as usize].channel;
            let members = &self.streams[client as usize].as_deref().expect("members have streams").members;
            let opening = self.configs[config].opening.entry(channel).or_insert_with(|| members.clone()).clone();
            if opening != *members {
                let sender = &self.senders[client as usize];
                let text = format!(
                    "process {} on node {} begins {} with {members:?}, another one with {opening:?}",
                    sender.pid,
                    sender.node.0,
                    self.configs[config].name()
                );
                return wrong(Property::Groups, text);
            }
        }
        Ok(())
    }
}
