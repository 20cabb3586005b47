//! The node: one deterministic state machine of ring and services. Inputs go in, outputs are
//! taken out; this file only leads them to the layer that handles them.
//!
//! A request is answered first, then its message goes to the ring; whatever the ring can
//! deliver is delivered before `handle` returns. With one member that is the message itself.

mod changes;
mod framed;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::config::NodeConfig;
use crate::frames::Frames;
use crate::ids::{ClientId, NodeId};
use crate::input::{Guarantee, Input, Payload, Placement, Request};
use crate::ipc::request::evs_fits;
use crate::ipc::Service;
use crate::output::{LogEvent, LogLevel, Output, Reply, ReplyBody};
use crate::ring::{Event, Ring, RingCounters};
use crate::service::cpg::{self, Cpg};
use crate::service::evs::Evs;
use crate::service::{Message, Status};
use crate::sync::Sync;
use crate::time::Instant;

/// One node of a cluster.
#[derive(Debug)]
pub struct Node {
    config: NodeConfig,
    ring: Ring<Message>,
    cpg: Cpg,
    evs: Evs,
    sync: Sync,
    /// What the nodes of this ring said about themselves.
    peers: changes::Peers,
    frames: Frames,
    outputs: VecDeque<Output>,
    /// When the input that is being handled came.
    now: Instant,
    /// Headers of the message that is put into frames.
    head: Vec<u8>,
    counters: Counters,
}

/// What was dropped and why, since the node was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages of clients that are in no group, that came before the ring was formed, or that
    /// with their groups are too large.
    pub not_sent: u64,
    /// Messages out of frames that made no sense.
    pub bad_messages: u64,
    /// Frames that made no sense, on this ring.
    pub bad_frames: u64,
    /// cpg messages of nodes without a process in the group.
    pub unknown_node: u64,
}

/// Whether a request goes with everyone else's or waits for all members.
fn is_safe(guarantee: Guarantee) -> bool {
    guarantee == Guarantee::Safe
}

impl Node {
    /// A node that waits for [`Input::Start`].
    pub fn new(config: NodeConfig) -> Node {
        Node {
            ring: Ring::new(&config),
            cpg: Cpg::new(config.node),
            evs: Evs::new(config.node),
            sync: Sync::default(),
            peers: changes::Peers::default(),
            frames: Frames::default(),
            outputs: VecDeque::new(),
            now: Instant(0),
            head: Vec::new(),
            counters: Counters::default(),
            config,
        }
    }

    /// Switches a rule of the protocol off, for the simulator's self-test.
    #[cfg(feature = "mutation")]
    pub fn switch_off(&mut self, rule: crate::ring::mutation::Mutation) {
        self.ring.switch_off(rule);
    }

    /// Takes one input; afterwards the caller drains the outputs.
    pub fn handle(&mut self, input: Input, now: Instant) {
        self.now = now;
        self.frames.begin_input();
        match input {
            Input::Request { client, request } => self.on_request(client, request),
            Input::Start => self.ring.start(now, &mut self.outputs),
            Input::Tick => self.ring.tick(now, &mut self.outputs),
            Input::Packet { bytes, .. } => self.ring.packet(&bytes, now, &mut self.outputs),
            Input::Reconfigure(config) => self.reconfigure(*config),
            Input::Connect { client, service: Service::Cpg, .. } => self.cpg.connect(client),
            Input::Connect { client, service: Service::Evs, .. } => self.evs.connect(client, &mut self.outputs),
            Input::Disconnect { client } => {
                self.evs.disconnect(client);
                if let Some(message) = self.cpg.disconnect(client) {
                    self.send(message, false);
                }
            }
            Input::Stop => self.ring.stop(&mut self.outputs),
        }
        self.drain_ring();
        self.frames.end_input();
    }

    /// The next output, in order.
    #[inline]
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When [`Input::Tick`] is due.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.ring.next_deadline()
    }

    /// Where the bytes of the next message have to be.
    #[inline]
    pub fn placement(&self) -> Placement {
        if self.ring.builds_frames() {
            Placement::Frame
        } else {
            Placement::Caller
        }
    }

    /// Memory for a message of `len` bytes that the caller fills and names in the next request.
    /// It holds anything before; it is let go with the input after that request.
    pub fn reserve(&mut self, len: u32) -> (Payload, &mut [u8]) {
        self.frames.reserve(len)
    }

    /// The bytes of a [`Payload::Frame`] while the outputs of the last input are drained;
    /// empty for payloads that are with the caller and for keys no longer held.
    pub fn payload(&self, payload: Payload) -> &[u8] {
        self.frames.bytes(payload).unwrap_or_default()
    }

    /// Adds to `into` the local clients that would get the message of `request` now. Holding
    /// back a sender before its request is fed in goes by this.
    pub fn recipients(&self, client: ClientId, request: &Request, into: &mut Vec<ClientId>) {
        match request {
            Request::CpgMcast { .. } | Request::CpgPartialMcast { .. } => {
                if let Ok((group, _)) = self.cpg.sender(client) {
                    into.extend_from_slice(self.cpg.listeners(group));
                }
            }
            Request::EvsMcastJoined { .. } => {
                if let Ok(groups) = self.evs.groups(client) {
                    self.evs.receivers(groups, into);
                }
            }
            Request::EvsMcastGroups { groups, .. } => self.evs.receivers(groups, into),
            _ => {}
        }
    }

    /// Whether messages of clients can be taken now: not while a change of membership is worked
    /// off or too much waits for the token. Whoever sends all the same is not refused; what
    /// waits only grows.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.ring.has_room()
    }

    /// What happened on the network.
    pub fn ring_counters(&self) -> RingCounters {
        self.ring.counters()
    }

    /// Members of the ring.
    pub fn members(&self) -> &[NodeId] {
        self.ring.members()
    }

    /// What was dropped.
    pub fn counters(&self) -> Counters {
        Counters { bad_frames: self.ring.counters().bad_frames, unknown_node: self.cpg.unknown_node, ..self.counters }
    }

    /// Restates all invariants (tests, simulator).
    pub fn check(&self) {
        self.ring.check();
    }

    fn reconfigure(&mut self, config: NodeConfig) {
        if config.node != self.config.node {
            let text = "The node id cannot be changed at run time, the new configuration is not used".to_owned();
            self.outputs.push_back(Output::Log(Box::new(LogEvent {
                level: LogLevel::Error,
                subsystem: "TOTEM",
                text,
            })));
            return;
        }
        self.ring.reconfigure(&config);
        self.config = config;
    }

    #[inline]
    fn on_request(&mut self, client: ClientId, request: Request) {
        match request {
            Request::CpgMcast { guarantee, payload } => match self.cpg.sender(client) {
                Ok((group, pid)) => self.send(Message::CpgMcast { group, pid, payload }, is_safe(guarantee)),
                Err(_) => self.counters.not_sent += 1,
            },
            Request::EvsMcastJoined { guarantee, payload } => match self.evs.groups(client) {
                Ok(groups) if evs_fits(groups.len(), payload.len() as usize) => {
                    let groups = Arc::clone(groups);
                    self.send(Message::EvsMcast { groups, payload }, is_safe(guarantee));
                }
                _ => self.counters.not_sent += 1,
            },
            Request::EvsMcastGroups { guarantee, groups, payload } => {
                if self.evs.groups(client).is_ok() {
                    self.send(Message::EvsMcast { groups: Arc::from(groups), payload }, is_safe(guarantee));
                } else {
                    self.counters.not_sent += 1;
                }
            }
            other => self.on_synchronous(client, other),
        }
    }

    /// Requests that are answered. Those that send a message need the ring.
    fn on_synchronous(&mut self, client: ClientId, request: Request) {
        match request {
            Request::CpgJoin { .. } | Request::CpgLeave { .. } | Request::CpgPartialMcast { .. } => {
                let message =
                    if self.ring.is_started() { self.cpg_message(client, request) } else { Err(Status::TryAgain) };
                self.reply(client, message.as_ref().map(|_| ReplyBody::None).map_err(|status| *status));
                if let Ok((message, safe)) = message {
                    self.send(message, safe);
                }
            }
            other => {
                let answer = self.answer(client, other);
                self.reply(client, answer);
            }
        }
    }

    /// The message that a request of a cpg client sends, and whether it is safe.
    fn cpg_message(&mut self, client: ClientId, request: Request) -> Result<(Message, bool), Status> {
        match request {
            Request::CpgJoin { pid, group, flags } => Ok((self.cpg.join(client, pid, &group, flags)?, false)),
            Request::CpgLeave { group, .. } => Ok((self.cpg.leave(client, &group)?, false)),
            Request::CpgPartialMcast { payload, .. } if !self.can_take(payload) => Err(Status::InvalidParam),
            Request::CpgPartialMcast { guarantee, part, total, payload } => {
                let (group, pid) = self.cpg.partial_sender(client, part)?;
                Ok((Message::CpgPartial { group, pid, part, total, payload }, is_safe(guarantee)))
            }
            _ => Err(Status::InvalidParam),
        }
    }

    /// The answer to a request that sends nothing.
    fn answer(&mut self, client: ClientId, request: Request) -> Result<ReplyBody, Status> {
        Ok(match request {
            Request::CpgMembership { group } => ReplyBody::CpgMembership(self.cpg.membership(client, &group)?),
            Request::CpgLocalGet => ReplyBody::NodeId(self.cpg.local(client)?),
            Request::CpgIterationStart { kind, group } => {
                ReplyBody::Iteration(self.cpg.iteration_start(client, kind, &group)?)
            }
            Request::CpgIterationNext { iteration } => {
                let item = self.cpg.iteration_next(client, iteration)?;
                ReplyBody::IterationItem { group: item.group, node: item.node, pid: item.pid }
            }
            Request::CpgIterationEnd { iteration } => {
                self.cpg.iteration_end(client, iteration)?;
                ReplyBody::None
            }
            Request::CpgFinalize => {
                self.cpg.finalize(client)?;
                ReplyBody::None
            }
            Request::EvsJoin { groups } => {
                self.evs.join(client, &groups)?;
                ReplyBody::None
            }
            Request::EvsLeave { groups } => {
                self.evs.leave(client, &groups)?;
                ReplyBody::None
            }
            Request::EvsMembership => {
                let (local, members) = self.evs.membership(client)?;
                ReplyBody::EvsMembership { local, members }
            }
            _ => return Err(Status::InvalidParam),
        })
    }

    fn reply(&mut self, client: ClientId, answer: Result<ReplyBody, Status>) {
        let reply = match answer {
            Ok(body) => Reply { error: Status::Ok as u32, body },
            Err(status) => Reply { error: status as u32, body: ReplyBody::None },
        };
        self.outputs.push_back(Output::Reply { client, reply: Box::new(reply) });
    }

    /// Gives a message to the ring, in frames if anyone else may need it.
    #[inline]
    fn send(&mut self, message: Message, safe: bool) {
        if !self.ring.builds_frames() {
            let len = message.wire_len();
            self.ring.mcast_local(message, len, safe);
        } else {
            self.send_framed(&message, safe);
        }
    }

    /// Hands everything that the ring delivers to the services.
    #[inline]
    fn drain_ring(&mut self) {
        while let Some(event) = self.ring.poll_event() {
            match event {
                Event::Local { origin, message } => self.deliver(origin, message),
                Event::Delivery(delivery) => {
                    if self.deliver_framed(*delivery).is_err() {
                        self.counters.bad_messages += 1;
                    }
                }
                Event::Config(change) => self.on_config(&change),
            }
        }
    }

    #[inline]
    fn deliver(&mut self, origin: NodeId, message: Message) {
        let outputs = &mut self.outputs;
        match message {
            Message::CpgMcast { group, pid, payload } => self.cpg.on_mcast(origin, group, pid, payload, outputs),
            Message::CpgPartial { group, pid, part, total, payload } => {
                let piece = cpg::Piece { part, total, payload };
                self.cpg.on_partial(origin, group, pid, piece, outputs);
            }
            Message::CpgJoin(membership) => self.cpg.on_join(origin, &membership, outputs),
            Message::CpgLeave(membership) => self.cpg.on_leave(origin, &membership, outputs),
            Message::EvsMcast { groups, payload } => self.evs.on_mcast(origin, &groups, payload, outputs),
        }
    }
}

#[cfg(test)]
mod cluster;
#[cfg(test)]
pub(crate) mod tests;
