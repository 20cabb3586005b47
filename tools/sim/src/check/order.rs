//! The sequence of each channel of each configuration: the first node to come to a place in it
//! writes down what it delivers there, everyone else must deliver the same. Comparing by place
//! makes a delivery cost one look-up.

use super::cpg::JOIN;
use super::{wrong, Checked, Checker, Message, Place, Property, NONE, NOWHERE};

/// Bit of the key of a message that is too short to carry its number.
pub const SHORT: u64 = 1 << 63;
/// Bit of the key of a change of a group.
pub const CHANGE: u64 = 1 << 62;

/// Key of a message that is too short to carry its number: who sent it, and its bytes.
pub fn short_key(node: u32, pid: u32, bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let mixed = crate::rng::mix(u64::from_le_bytes(word) ^ (u64::from(node) << 32 | u64::from(pid)).rotate_left(17));
    SHORT | (mixed >> 8) << 3 & !(SHORT | CHANGE) | bytes.len() as u64
}

impl Checker {
    /// In words.
    pub fn name_of(&self, key: u64) -> String {
        if key & SHORT != 0 {
            return format!("a message of {} bytes", key & 7);
        }
        if key & CHANGE != 0 {
            let what = if key & JOIN != 0 { "join" } else { "leave" };
            return format!("{what} of process {}", key as u32);
        }
        let Some(message) = self.messages.get(key as usize) else { return "a message".to_owned() };
        let sender = &self.senders[message.sender as usize];
        format!(
            "message {key} (number {} of process {} on node {}, {} bytes)",
            message.number, sender.pid, sender.node.0, message.len
        )
    }

    /// A delivery in a configuration: compares it with what others delivered at this place.
    #[inline]
    pub fn follow(&mut self, host: usize, config: usize, channel: usize, at: &mut Place, key: u64) -> Checked {
        let sequence = &mut self.configs[config].channels[channel].segments[at.segment as usize];
        let place = *at;
        at.entries += 1;
        match sequence.get(place.entries as usize) {
            Some(there) if *there == key => Ok(()),
            Some(there) => {
                let there = *there;
                let text = format!(
                    "node {} delivers {} in {}, channel {channel}, place {}, where others delivered {}",
                    self.views[host].node.0,
                    self.name_of(key),
                    self.configs[config].name(),
                    place.entries,
                    self.name_of(there)
                );
                wrong(Property::TotalOrder, text)
            }
            None => {
                sequence.push(key);
                self.on_first(config, channel, place, key)
            }
        }
    }

    /// Something is delivered in a configuration by the first node that comes to it.
    fn on_first(&mut self, config: usize, channel: usize, place: Place, key: u64) -> Checked {
        if key & SHORT != 0 {
            return Ok(());
        }
        if key & CHANGE != 0 {
            if key & JOIN != 0 {
                self.on_join_placed(config, channel, place, key);
            }
            return Ok(());
        }
        let message = self.messages[key as usize];
        let transitional = self.configs[config].transitional;
        let family = self.configs[config].from.unwrap_or(config);
        let bad = |checker: &Checker, text: &str| {
            let name = checker.configs[config].name();
            wrong(Property::BasicDelivery, format!("{} in {name}: {text}", checker.name_of(key)))
        };
        let node = self.senders[message.sender as usize].node;
        if !self.configs[family].members.contains(&node) {
            return bad(self, "its sender is no member");
        }
        if message.family != NONE && message.family != family as u32 {
            let text = format!("it was delivered in {} too", self.configs[message.family as usize].name());
            return bad(self, &text);
        }
        if transitional {
            let twice = message.transitional == config as u32
                || message.at != NOWHERE
                    && self.configs[family].left_at.get(&(config, channel)).is_some_and(|left| message.at < *left);
            if twice {
                return bad(self, "it was delivered before");
            }
        } else if message.at != NOWHERE {
            return bad(self, "it was delivered before");
        }
        let message = &mut self.messages[key as usize];
        message.family = family as u32;
        if transitional {
            message.transitional = config as u32;
        } else {
            message.at = place;
        }
        self.check_sender_order(config, family, channel, key)
    }

    /// Messages of a sender come without gaps within a ring and what follows it.
    fn check_sender_order(&mut self, config: usize, family: usize, channel: usize, key: u64) -> Checked {
        let Message { sender, number, .. } = self.messages[key as usize];
        let known = &self.senders[sender as usize];
        let before = if config == family {
            (known.placed.0 == config as u32).then_some(known.placed.1)
        } else if known.placed_late.0 == config as u32 {
            Some(known.placed_late.1)
        } else {
            self.last_before(family, config, channel, sender)
        };
        let known = &mut self.senders[sender as usize];
        if config == family {
            known.placed = (config as u32, number);
        } else {
            known.placed_late = (config as u32, number);
        }
        if before.is_none_or(|before| number == before + 1) {
            return Ok(());
        }
        let text = format!(
            "{} in {} comes after number {} of the same sender",
            self.name_of(key),
            self.configs[config].name(),
            before.unwrap_or_default()
        );
        wrong(Property::SenderOrder, text)
    }

    /// Number of the last message of a sender that those who went from `family` to `config`
    /// delivered before they went.
    fn last_before(&self, family: usize, config: usize, channel: usize, sender: u32) -> Option<u32> {
        let left = self.configs[family].left_at.get(&(config, channel))?;
        let segments = &self.configs[family].channels[channel].segments;
        let last = &segments[left.segment as usize][..left.entries as usize];
        let earlier = segments[..left.segment as usize].iter().rev().flat_map(|segment| segment.iter().rev());
        last.iter()
            .rev()
            .chain(earlier)
            .filter(|key| **key & (SHORT | CHANGE) == 0)
            .map(|key| &self.messages[*key as usize])
            .find(|message| message.sender == sender)
            .map(|message| message.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_short_messages_tell_sender_and_bytes_apart() {
        let keys = [short_key(1, 2, b""), short_key(1, 3, b""), short_key(2, 2, b""), short_key(1, 2, b"a")];
        for (n, key) in keys.iter().enumerate() {
            assert!(*key & SHORT != 0 && *key & CHANGE == 0);
            assert!(keys[n + 1..].iter().all(|other| other != key));
        }
        assert_eq!(short_key(1, 2, b"abc") & 7, 3);
    }
}
