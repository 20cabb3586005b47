//! Deliveries of messages: what they are, and who must get them.

use std::sync::Arc;

use evensong_core::ids::NodeId;
use evensong_core::output::TotemConfchg;

use super::order::short_key;
use super::{wrong, Checked, Checker, Message, Property, Wrong, NONE, NOWHERE};
use crate::payload::{Content, NUMBERED};

impl Checker {
    /// A client sends a message; returns its number. Short ones have none, but are counted.
    pub fn on_send(&mut self, client: u32, len: u32, groups: u8, safe: bool) -> u64 {
        let sender = &mut self.senders[client as usize];
        if (len as usize) < NUMBERED {
            sender.short.0 += 1;
            return crate::rng::mix(u64::from(sender.short.0) ^ u64::from(client) << 32);
        }
        sender.sent += 1;
        self.messages.push(Message {
            sender: client,
            number: sender.sent,
            len,
            groups,
            safe,
            own: false,
            family: NONE,
            at: NOWHERE,
            transitional: NONE,
        });
        self.messages.len() as u64 - 1
    }

    /// The last message was not taken.
    pub fn take_back(&mut self, client: u32, len: u32) {
        let sender = &mut self.senders[client as usize];
        if (len as usize) < NUMBERED {
            sender.short.0 -= 1;
        } else {
            sender.sent -= 1;
            self.messages.pop();
        }
    }

    /// What the bytes are; pid 0 for evs, which does not tell it.
    #[inline]
    fn key(&self, host: usize, origin: NodeId, pid: u32, bytes: &[u8]) -> Result<u64, Box<Wrong>> {
        let bad = |text: String| {
            let text = format!("node {}: from node {} process {pid}: {text}", self.views[host].node.0, origin.0);
            Box::new(Wrong { property: Property::BasicDelivery, text })
        };
        let Some(number) = Content::number(bytes) else {
            return Ok(short_key(origin.0, pid, bytes));
        };
        let Some(message) = self.messages.get(number as usize).filter(|_| number < 1 << 40) else {
            return Err(bad(format!("a message of {} bytes that nobody sent", bytes.len())));
        };
        let sender = &self.senders[message.sender as usize];
        if message.len as usize != bytes.len() || !self.content.is_intact(number, bytes) {
            return Err(bad(format!("{} has other bytes", self.name_of(number))));
        }
        if sender.node != origin || pid != 0 && sender.pid != pid {
            return Err(bad(format!("{} has another sender", self.name_of(number))));
        }
        Ok(number)
    }

    /// An evs client gets a message.
    #[inline]
    pub fn on_evs(&mut self, host: usize, client: u32, origin: NodeId, bytes: &[u8]) -> Checked {
        self.delivered += 1;
        let key = self.key(host, origin, 0, bytes)?;
        if client == self.views[host].observer {
            self.drained(host)?;
            return self.on_observed(host, key);
        }
        let (last, serial, due) = self.views[host].last;
        let sender = &mut self.senders[client as usize];
        let fresh = sender.serial < serial && due > 0;
        sender.serial = serial;
        let wanted = self.messages.get(key as usize).is_none_or(|message| message.groups & sender.groups != 0);
        if key != last || !fresh || !wanted {
            let text = format!("client {client} gets {}, which is not for it now", self.name_of(key));
            return wrong(Property::EvsClients, text);
        }
        self.views[host].last.2 -= 1;
        Ok(())
    }

    fn on_observed(&mut self, host: usize, key: u64) -> Checked {
        let view = &self.views[host];
        let Some(config) = view.config else {
            let text = format!("node {} delivers before any configuration", view.node.0);
            return wrong(Property::Configuration, text);
        };
        let mut at = view.at;
        self.follow(host, config, 0, &mut at, key)?;
        let view = &mut self.views[host];
        view.at = at;
        // short evs messages go to the first group only
        let groups = match self.messages.get_mut(key as usize) {
            Some(message) => {
                let sender = &self.senders[message.sender as usize];
                message.own |= (sender.host, sender.life) == (host, view.life);
                message.groups
            }
            None => 1,
        };
        let reached = |client: &&u32| self.senders[**client as usize].groups & groups != 0;
        let due = view.evs_clients.iter().filter(reached).count();
        view.last = (key, view.last.1 + 1, due);
        Ok(())
    }

    /// All outputs of an input were seen: nothing may be due.
    #[inline]
    pub fn drained(&mut self, host: usize) -> Checked {
        let (key, _, due) = self.views[host].last;
        if due == 0 {
            return Ok(());
        }
        let text = format!("node {}: {due} evs clients did not get {}", self.views[host].node.0, self.name_of(key));
        wrong(Property::EvsClients, text)
    }

    /// An evs client other than the observer is told of a configuration: the one of its node.
    pub fn on_evs_config(&mut self, host: usize, client: u32, change: &Arc<TotemConfchg>) -> Checked {
        self.senders[client as usize].told = true;
        if self.views[host].change.as_ref().is_some_and(|current| current == change) {
            return Ok(());
        }
        let text = format!("client {client} is told {change:?}, the node is in {:?}", self.views[host].change);
        wrong(Property::EvsClients, text)
    }

    /// A cpg client gets a message.
    #[inline]
    pub fn on_cpg(&mut self, host: usize, client: u32, from: (NodeId, u32), bytes: &[u8]) -> Checked {
        self.delivered += 1;
        let key = self.key(host, from.0, from.1, bytes)?;
        if let Some(message) = self.messages.get_mut(key as usize) {
            message.own |= message.sender == client;
        } else if (self.senders[client as usize].node, self.senders[client as usize].pid) == from {
            self.senders[client as usize].short.1 += 1;
        }
        self.on_group_message(host, client, from, key)
    }
}
