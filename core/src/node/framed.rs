//! Messages as bytes: into frames on the way out, out of them on the way in.

use std::ops::Range;
use std::sync::Arc;

use super::Node;
use crate::frames::Memory;
use crate::input::Payload;
use crate::ring::Delivery;
use crate::service::cpg::wire::{Exec, Piece};
use crate::service::sync_wire::SyncMessage;
use crate::service::wire::Incoming;
use crate::service::{cpg, evs, wire, Message};
use crate::wire::cursor::{DecodeError, Order};

/// Stands in a decoded message until its data are held.
const NOT_YET: Payload = Payload::Frame { key: u64::MAX, len: 0 };

impl Node {
    /// Whether the bytes of a message are where they have to be.
    pub(super) fn can_take(&self, payload: Payload) -> bool {
        !self.ring.builds_frames() || self.data(payload).is_some()
    }

    fn data(&self, payload: Payload) -> Option<&[u8]> {
        self.frames.bytes(payload).or(payload.is_empty().then_some(&[]))
    }

    /// Puts a message into frames. One whose bytes are not in our memory, or that comes while
    /// there is no ring, is dropped.
    pub(super) fn send_framed(&mut self, message: &Message, safe: bool) {
        let me = self.config.node;
        let mut head = std::mem::take(&mut self.head);
        head.clear();
        match message {
            Message::CpgMcast { group, pid, payload } => {
                cpg::wire::encode_mcast(me, self.cpg.name(*group), *pid, payload.len(), &mut head);
            }
            Message::CpgPartial { group, pid, part, total, payload } => {
                let piece = Piece { pid: *pid, part: *part, total: *total, len: payload.len() };
                cpg::wire::encode_partial(me, self.cpg.name(*group), piece, &mut head);
            }
            Message::CpgJoin(membership) => cpg::wire::encode_membership(membership, false, &mut head),
            Message::CpgLeave(membership) => cpg::wire::encode_membership(membership, true, &mut head),
            Message::EvsMcast { groups, payload } => evs::wire::encode(groups, payload.len(), &mut head),
        }
        // `Node::data` would borrow all of the node.
        let data = match message.payload() {
            Some(payload) if !payload.is_empty() => self.frames.bytes(payload),
            _ => Some(&[][..]),
        };
        match data {
            Some(data) if self.ring.is_started() => {
                self.ring.mcast(&[&head, data], safe, self.now, &mut self.outputs);
            }
            _ => self.counters.not_sent += 1,
        }
        self.head = head;
    }

    /// Decodes a message out of frames and delivers it. Messages for services or groups that
    /// nobody here knows are passed over.
    pub(super) fn deliver_framed(&mut self, delivery: Delivery) -> Result<(), DecodeError> {
        let Delivery { origin, order, memory, range } = delivery;
        let bytes = match &memory {
            Memory::Own(bytes) => &bytes[range.clone()],
            Memory::Frame(bytes) => &bytes[range.clone()],
        };
        let Some(incoming) = wire::decode(bytes, order)? else {
            if let Some(message) = SyncMessage::decode(bytes, order)? {
                self.on_sync_message(origin, &message);
            }
            return Ok(());
        };
        if self.sync.is_running() && self.take_change(origin, &incoming, order)? {
            return Ok(());
        }
        let Some((mut message, data)) = self.decode(&incoming, order)? else { return Ok(()) };
        if message.payload().is_some() {
            let start = range.start + incoming.offset;
            message = message.with_payload(self.frames.hold(memory, start + data.start..start + data.end));
        }
        self.deliver(origin, message);
        Ok(())
    }

    /// The message, and where in the incoming bytes its data are.
    fn decode(&self, incoming: &Incoming<'_>, order: Order) -> Result<Option<(Message, Range<usize>)>, DecodeError> {
        let Incoming { service, function, bytes, .. } = *incoming;
        match service {
            cpg::wire::SERVICE => {
                let exec = cpg::wire::decode(function, bytes, order)?;
                Ok(exec.and_then(|exec| self.cpg_message_of(exec)))
            }
            evs::wire::SERVICE => {
                let decoded = evs::wire::decode(function, bytes, order)?;
                Ok(decoded
                    .map(|(groups, data)| (Message::EvsMcast { groups: Arc::from(groups), payload: NOT_YET }, data)))
            }
            _ => Ok(None),
        }
    }

    fn cpg_message_of(&self, exec: Exec) -> Option<(Message, Range<usize>)> {
        Some(match exec {
            Exec::Join(membership) => (Message::CpgJoin(Box::new(membership)), 0..0),
            Exec::Leave(membership) => (Message::CpgLeave(Box::new(membership)), 0..0),
            Exec::Mcast { group, pid, data } => {
                (Message::CpgMcast { group: self.cpg.find(&group)?, pid, payload: NOT_YET }, data)
            }
            Exec::Partial { group, pid, part, total, data } => {
                (Message::CpgPartial { group: self.cpg.find(&group)?, pid, part, total, payload: NOT_YET }, data)
            }
            Exec::Joinlist(_) | Exec::Downlist(_) => return None,
        })
    }
}
