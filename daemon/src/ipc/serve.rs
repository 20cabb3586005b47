//! Taking a client's requests and feeding them to the node.
//!
//! A turn takes a bounded number of requests and bytes from one client, so that one flood does
//! not starve the others. The bytes of a message stay in the sender's request ring and are
//! copied once, into the member's event ring. With several members they are copied aside first,
//! or into the memory that frames are built from: the sender could change them between two
//! copies, and members must see the same.

use std::time::Instant;

use evensong_core::ids::ClientId;
use evensong_core::input::{Input, Payload, Placement, Request};
use evensong_core::ipc::{request, RECORD_HEADER};
use evensong_core::node::Node;
use evensong_core::time::Instant as CoreInstant;
use evensong_ring::{Body, Corrupt, Memory};

use super::clients::Clients;
use super::link::Incoming;
use super::pace::Verdict;
use crate::effects::Effects;

/// Most requests of one client in one turn.
const TURN_REQUESTS: u32 = 128;
/// Most bytes of one client in one turn; the request that passes it is the last.
const TURN_BYTES: u32 = 128 * 1024;
/// A turn that leaves requests behind has taken at least this many bytes of the ring.
pub const TURN_LEAST: u32 = TURN_REQUESTS * RECORD_HEADER;

/// How a turn for one client ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// There was nothing.
    Nothing,
    /// Requests were taken.
    Some,
    /// The next request waits for a member that lags; `taken` says whether others went before.
    Held {
        /// Whether requests were taken first.
        taken: bool,
    },
    /// The next request waits until the ring has room; `taken` as above.
    Full {
        /// Whether requests were taken first.
        taken: bool,
    },
}

/// Whether a request was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    Yes,
    /// Not yet: a member lags.
    Held,
    /// Not yet: the ring has no room.
    Full,
}

/// Space that is used again and again.
#[derive(Debug, Default)]
pub struct Scratch {
    arguments: Vec<u8>,
    message: Vec<u8>,
    recipients: Vec<ClientId>,
    /// What is not for clients.
    pub effects: Effects,
}

/// Both clocks at the start of a turn.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// The system's.
    pub system: Instant,
    /// The core's.
    pub core: CoreInstant,
}

/// Serves one client for one turn.
pub fn serve(id: ClientId, clients: &mut Clients, node: &mut Node, scratch: &mut Scratch, now: Now) -> Served {
    let Some(client) = clients.get(id) else { return Served::Nothing };
    let memory = client.link.memory();
    let (mut requests, mut bytes) = (0, 0);
    let mut last = Taken::Yes;
    while requests < TURN_REQUESTS && bytes < TURN_BYTES {
        let Some(client) = clients.get(id) else { break };
        let incoming = match client.link.next() {
            Ok(Some(incoming)) => incoming,
            Ok(None) => break,
            Err(Corrupt) => {
                clients.close_corrupt(id);
                break;
            }
        };
        match take(id, &incoming, &memory, clients, node, scratch, now) {
            Ok(Taken::Yes) => {}
            Ok(wait) => {
                last = wait;
                break;
            }
            Err(bad) => {
                clients.counters.closed_bad += 1;
                clients.close(id, format!("it sent a {bad}"));
                break;
            }
        }
        requests += 1;
        bytes += incoming.header.len;
        if let Some(client) = clients.get(id) {
            client.link.took(&incoming);
        }
    }
    clients.counters.requests += u64::from(requests);
    finish(id, clients, requests > 0, last)
}

fn finish(id: ClientId, clients: &mut Clients, taken: bool, last: Taken) -> Served {
    let held = last == Taken::Held;
    if let Some(client) = clients.get(id) {
        if taken {
            client.link.give_back();
        }
        if client.held != held {
            client.held = held;
            client.link.set_flow(held);
        }
        client.full = last == Taken::Full;
    }
    match (last, taken) {
        (Taken::Held, taken) => Served::Held { taken },
        (Taken::Full, taken) => Served::Full { taken },
        (Taken::Yes, true) => Served::Some,
        (Taken::Yes, false) => Served::Nothing,
    }
}

/// Feeds one request to the node, or leaves it for later.
fn take(
    id: ClientId,
    incoming: &Incoming,
    memory: &Memory,
    clients: &mut Clients,
    node: &mut Node,
    scratch: &mut Scratch,
    now: Now,
) -> Result<Taken, request::BadRequest> {
    let header = incoming.header;
    let Some(client) = clients.get(id) else { return Ok(Taken::Yes) };
    if request::service(header.kind) != Some(client.service) {
        return Err(request::BadRequest::Kind(header.kind));
    }
    if request::goes_to_the_ring(header.kind) && !node.has_room() {
        return Ok(Taken::Full);
    }
    let start = request::payload_offset(&header)?;
    let (arguments, message) = match start {
        Some(start) => (start, header.len - start),
        None => (header.len, 0),
    };
    if arguments > 0 {
        client.link.arguments(incoming, arguments, &mut scratch.arguments);
    } else {
        scratch.arguments.clear();
    }
    let area = client.link.request_area();
    let payload = Payload::Caller { key: 0, len: message };
    let mut asked = request::decode(&header, &scratch.arguments, payload)?;
    let mut body = Body::of_area(memory, area, incoming.at + arguments, message);
    if start.is_some() {
        scratch.recipients.clear();
        node.recipients(id, &asked, &mut scratch.recipients);
        let room = message + evensong_core::ipc::event::PARTIAL_PREFIX as u32;
        // All of them, so that the time of each begins now and not when the one before is gone.
        let judged = |to: &ClientId| clients.judge(*to, *to == id, room, now.system);
        let waits = scratch.recipients.iter().map(judged).filter(|verdict| *verdict == Verdict::Wait).count();
        if waits > 0 {
            let others = scratch.recipients.iter().filter(|to| **to != id);
            others.for_each(|to| clients.watch_the_late(*to, now.system));
            return Ok(Taken::Held);
        }
        if node.placement() == Placement::Frame {
            asked = reframe(asked, body, node);
        } else if scratch.recipients.len() > 1 {
            scratch.message.clear();
            body.append_to(&mut scratch.message);
            body = Body::of_slice(&scratch.message);
        }
    }
    if request::is_synchronous(header.kind) {
        let expected = clients.get(id).is_some_and(|client| client.link.expect_reply(header.b));
        if !expected {
            return Err(request::BadRequest::Kind(header.kind));
        }
    }
    node.handle(Input::Request { client: id, request: asked }, now.core);
    clients.carry_out(node, body, &mut scratch.effects);
    Ok(Taken::Yes)
}

/// Puts the message into memory of the node, from which frames are built.
fn reframe(asked: Request, body: Body<'_>, node: &mut Node) -> Request {
    let (framed, memory) = node.reserve(body.len());
    body.copy_to(memory);
    asked.with_payload(framed)
}
