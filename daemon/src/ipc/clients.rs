//! All local clients, by number, and delivery to them.
//!
//! An event goes into the client's ring. When that is full it is kept here, up to a limit for
//! the client and one for all: what comes from other nodes or tells of a change cannot be held
//! back as local senders can. A client beyond its limit is closed, never given a gap.

use std::collections::VecDeque;
use std::time::Instant;

use evensong_core::ids::ClientId;
use evensong_core::input::{Part, Payload};
use evensong_core::ipc::{event, RecordHeader, Service, MAX_BODY, RECORD_HEADER};
use evensong_core::node::Node;
use evensong_core::output::Output;
use evensong_ring::{Body, Corrupt};

use super::link::Link;
use super::pace::Lag;
use super::Limits;
use crate::effects::Effects;

/// What happened so far, for the log and later for the statistics map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections let in.
    pub connected: u64,
    /// Requests taken.
    pub requests: u64,
    /// Events delivered.
    pub events: u64,
    /// Times that senders were held back for a member.
    pub held: u64,
    /// Clients closed because they did not read.
    pub closed_slow: u64,
    /// Clients closed because of what they sent.
    pub closed_bad: u64,
}

/// One client.
#[derive(Debug)]
pub struct Client {
    /// Its wire.
    pub link: Link,
    /// The service it is connected for.
    pub service: Service,
    /// Its process id by the kernel's account, for the log.
    pub peer_pid: i32,
    /// Whether its request ring is looked at every turn.
    pub active: bool,
    /// Whether its sends are held back for a member that lags.
    pub held: bool,
    /// Whether its next request waits until the ring has room.
    pub full: bool,
    pub(super) lag: Option<Lag>,
    backlog: VecDeque<Box<[u8]>>,
    pub(super) backlog_bytes: u64,
    dirty: bool,
    closing: bool,
}

/// All clients.
#[derive(Debug)]
pub struct Clients {
    slots: Vec<Option<Box<Client>>>,
    dirty: Vec<u32>,
    closing: Vec<(u32, String)>,
    backlog_bytes: u64,
    memory: u64,
    count: usize,
    pub(super) limits: Limits,
    /// What happened so far.
    pub counters: Counters,
    encoded: Vec<u8>,
}

impl Clients {
    /// Nobody yet.
    pub fn new(limits: Limits) -> Clients {
        Clients {
            slots: Vec::new(),
            dirty: Vec::new(),
            closing: Vec::new(),
            backlog_bytes: 0,
            memory: 0,
            count: 0,
            limits,
            counters: Counters::default(),
            encoded: Vec::new(),
        }
    }

    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// How many clients there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether one more client may come.
    pub fn has_room(&self) -> bool {
        let next = u64::from(self.limits.ring_size) * 2;
        self.count < self.limits.clients_max && self.memory + self.backlog_bytes + next <= self.limits.memory_max
    }

    /// Adds a client.
    pub fn add(&mut self, link: Link, service: Service, peer_pid: i32) -> ClientId {
        self.memory += link.memory_size();
        self.count += 1;
        self.counters.connected += 1;
        let client = Box::new(Client {
            link,
            service,
            peer_pid,
            active: false,
            held: false,
            full: false,
            lag: None,
            backlog: VecDeque::new(),
            backlog_bytes: 0,
            dirty: false,
            closing: false,
        });
        let slot = match self.slots.iter().position(Option::is_none) {
            Some(slot) => {
                self.slots[slot] = Some(client);
                slot
            }
            None => {
                self.slots.push(Some(client));
                self.slots.len() - 1
            }
        };
        ClientId(slot as u32)
    }

    /// Takes a client out; its wire is closed when the result is dropped.
    pub fn remove(&mut self, id: ClientId) -> Option<Box<Client>> {
        let client = self.slots.get_mut(id.0 as usize)?.take()?;
        self.memory -= client.link.memory_size();
        self.backlog_bytes -= client.backlog_bytes;
        self.count -= 1;
        self.dirty.retain(|slot| *slot != id.0);
        self.closing.retain(|(slot, _)| *slot != id.0);
        Some(client)
    }

    /// A client by number.
    pub fn get(&mut self, id: ClientId) -> Option<&mut Client> {
        self.slots.get_mut(id.0 as usize)?.as_deref_mut()
    }

    /// Marks a client for closing, with the reason for the log; the event loop does it.
    pub fn close(&mut self, id: ClientId, reason: String) {
        if let Some(client) = self.get(id) {
            if !client.closing {
                client.closing = true;
                self.closing.push((id.0, reason));
            }
        }
    }

    /// The next client marked for closing.
    pub fn next_closing(&mut self) -> Option<(ClientId, String)> {
        self.closing.pop().map(|(slot, reason)| (ClientId(slot), reason))
    }

    /// Carries out what the node asks for; `body` is where the bytes of a
    /// [`Payload::Caller`] are. What is not for clients is added to `effects`.
    pub fn carry_out(&mut self, node: &mut Node, body: Body<'_>, effects: &mut Effects) {
        while let Some(output) = node.poll_output() {
            let of = |payload: Payload| match payload {
                Payload::Caller { .. } => body,
                Payload::Frame { .. } => Body::of_slice(node.payload(payload)),
            };
            match output {
                Output::CpgDeliver { to, node, pid, payload } => {
                    self.deliver(to, event::cpg_deliver(node, pid, payload.len()), &[of(payload)]);
                }
                Output::CpgPartialDeliver { to, node, pid, part, total, payload } => {
                    let prefix = event::partial_prefix(total);
                    let header = event::cpg_partial_deliver(node, pid, part, payload.len());
                    let shown = part == Part::Last;
                    self.put(to, header, &[Body::of_slice(&prefix), of(payload)], shown);
                }
                Output::EvsDeliver { to, node, payload } => {
                    self.deliver(to, event::evs_deliver(node, payload.len()), &[of(payload)]);
                }
                Output::CpgConfchg { to, change } => {
                    self.tell(to, event::kind::CPG_CONFCHG, |out| event::encode_cpg_confchg(&change, out));
                }
                Output::CpgTotemConfchg { to, change } => {
                    self.tell(to, event::kind::CPG_TOTEM_CONFCHG, |out| event::encode_totem_confchg(&change, out));
                }
                Output::EvsConfchg { to, change } => {
                    self.tell(to, event::kind::EVS_CONFCHG, |out| event::encode_evs_confchg(&change, out));
                }
                Output::Reply { client, reply } => {
                    if let Some(client) = self.get(client) {
                        client.link.reply(&reply);
                    }
                }
                Output::Log(event) => effects.log.push(*event),
                Output::StoreRingSeq { seq } => effects.ring_seq = Some(seq),
                Output::Shutdown { reason } => effects.shutdown = Some(reason),
                Output::Send { to, frame, .. } => effects.outbox.push(to, frame),
            }
        }
    }

    fn tell(&mut self, to: ClientId, kind: u16, encode: impl FnOnce(&mut Vec<u8>)) {
        let mut encoded = std::mem::take(&mut self.encoded);
        encoded.clear();
        encode(&mut encoded);
        let header = RecordHeader { len: encoded.len() as u32, kind, ..RecordHeader::default() };
        self.deliver(to, header, &[Body::of_slice(&encoded)]);
        self.encoded = encoded;
    }

    fn deliver(&mut self, to: ClientId, header: RecordHeader, parts: &[Body<'_>]) {
        self.put(to, header, parts, true);
    }

    /// Puts an event into a client's ring. One that is not `shown` may stay unseen until the next
    /// one, or until there is no room for another: a descriptor that becomes readable for the
    /// pieces of a message would wake a program for nothing.
    fn put(&mut self, to: ClientId, header: RecordHeader, parts: &[Body<'_>], shown: bool) {
        let Some(client) = self.slots.get_mut(to.0 as usize).and_then(Option::as_deref_mut) else { return };
        if client.closing {
            return;
        }
        self.counters.events += 1;
        if client.backlog.is_empty() {
            match client.link.push(header, parts) {
                Ok(true) => {
                    if !client.dirty && (shown || client.link.has_room(MAX_BODY) != Ok(true)) {
                        client.dirty = true;
                        self.dirty.push(to.0);
                    }
                    return;
                }
                Ok(false) => {}
                Err(Corrupt) => return self.close_corrupt(to),
            }
        }
        self.keep(to, header, parts);
        self.show(to);
    }

    /// What is in a client's ring is made visible at the next flush.
    pub(super) fn show(&mut self, to: ClientId) {
        let Some(client) = self.slots.get_mut(to.0 as usize).and_then(Option::as_deref_mut) else { return };
        if !client.dirty {
            client.dirty = true;
            self.dirty.push(to.0);
        }
    }

    fn keep(&mut self, to: ClientId, header: RecordHeader, parts: &[Body<'_>]) {
        let size = u64::from(RECORD_HEADER + header.len);
        let full = self.memory + self.backlog_bytes + size > self.limits.memory_max;
        let limit = self.limits.backlog_max;
        let Some(client) = self.get(to) else { return };
        if full || client.backlog_bytes + size > limit {
            self.counters.closed_slow += 1;
            return self.close(to, "it does not read its events and the limit of kept ones is reached".into());
        }
        let mut kept = Vec::with_capacity(size as usize);
        kept.extend_from_slice(&header.to_bytes());
        parts.iter().for_each(|part| part.append_to(&mut kept));
        client.backlog.push_back(kept.into_boxed_slice());
        client.backlog_bytes += size;
        self.backlog_bytes += size;
    }

    pub(super) fn close_corrupt(&mut self, id: ClientId) {
        self.counters.closed_bad += 1;
        self.close(id, "it wrote what cannot be into its shared memory".into());
    }

    /// Moves kept events into the client's ring, as many as fit.
    pub fn move_backlog(&mut self, id: ClientId) {
        let Some(client) = self.slots.get_mut(id.0 as usize).and_then(Option::as_deref_mut) else { return };
        let before = client.backlog_bytes;
        while let Some(kept) = client.backlog.front() {
            let (head, body) = kept.split_at(RECORD_HEADER as usize);
            let header = RecordHeader::from_bytes(head.try_into().expect("split at its length"));
            match client.link.push(header, &[Body::of_slice(body)]) {
                Ok(true) => {
                    client.backlog_bytes -= kept.len() as u64;
                    client.backlog.pop_front();
                }
                Ok(false) => break,
                Err(Corrupt) => return self.close_corrupt(id),
            }
        }
        if client.backlog.is_empty() {
            client.backlog.shrink_to(64);
        }
        let moved = before - client.backlog_bytes;
        self.backlog_bytes -= moved;
        if moved > 0 {
            self.show(id);
        }
    }

    /// Whether any client has kept events or holds senders back: then the loop looks again soon.
    pub fn anyone_lags(&self) -> bool {
        self.slots.iter().flatten().any(|client| client.lag.is_some() || !client.backlog.is_empty())
    }

    /// Looks after clients that lag: moves kept events as far as they fit, and lets those be whom
    /// nobody waits for any more.
    pub fn look_after_backlogs(&mut self, now: Instant) {
        for slot in 0..self.slots.len() as u32 {
            match &self.slots[slot as usize] {
                Some(client) if !client.backlog.is_empty() => {
                    self.move_backlog(ClientId(slot));
                    self.judge_backlog(ClientId(slot), now);
                }
                Some(client) if client.lag.is_some() => self.forgive(ClientId(slot), now),
                _ => {}
            }
        }
    }

    /// Makes what was delivered visible; rings each client at most once.
    pub fn flush(&mut self) {
        while let Some(slot) = self.dirty.pop() {
            if let Some(client) = self.slots.get_mut(slot as usize).and_then(Option::as_deref_mut) {
                client.dirty = false;
                client.link.flush();
            }
        }
    }
}

impl Client {
    /// Whether its next request has to wait for something else than the daemon.
    pub fn waits(&self) -> bool {
        self.held || self.full
    }

    /// Whether events are kept for it beyond its ring.
    pub fn has_backlog(&self) -> bool {
        !self.backlog.is_empty()
    }
}
