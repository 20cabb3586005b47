//! What clients can make of a node: any bytes are a list of connects, disconnects and request
//! records, taken as the daemon takes them (`daemon/src/ipc/serve.rs`): header checked, arguments
//! copied, decoded, fed to a node; who sends what makes no sense is disconnected.
//!
//! Wrong is: a panic; an output for a client that is not there; a synchronous request without
//! exactly one reply; a reply or event that does not fit; a message for somebody who was not
//! counted among its receivers; a list of members that does not follow from the one before.

use std::collections::BTreeMap;

use evensong_core::config::NodeConfig;
use evensong_core::ids::{ClientId, EvsGroup, GroupName, NodeId};
use evensong_core::input::{Guarantee, Input, IterationKind, Part, Payload, Placement, Request};
use evensong_core::ipc::{event, reply, request, RecordHeader, Service, MAX_BODY, REPLY_SIZE};
use evensong_core::node::Node;
use evensong_core::output::{CpgConfchg, Output};
use evensong_core::time::Instant;

/// Kinds in the order in which the script names them.
const KINDS: [u16; 15] = [
    request::kind::CPG_JOIN,
    request::kind::CPG_LEAVE,
    request::kind::CPG_MCAST,
    request::kind::CPG_PARTIAL_MCAST,
    request::kind::CPG_MEMBERSHIP,
    request::kind::CPG_LOCAL_GET,
    request::kind::CPG_ITERATION_START,
    request::kind::CPG_ITERATION_NEXT,
    request::kind::CPG_ITERATION_END,
    request::kind::CPG_FINALIZE,
    request::kind::EVS_JOIN,
    request::kind::EVS_LEAVE,
    request::kind::EVS_MCAST_JOINED,
    request::kind::EVS_MCAST_GROUPS,
    request::kind::EVS_MEMBERSHIP,
];
/// Groups of fewer names than clients, so that they meet.
const NAMES: [&[u8]; 4] = [b"", b"a", b"group", &[0xff; 128]];
/// Kinds of outputs seen, for the figure that a run can state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Requests that were decoded and fed to the node.
    pub requests: u64,
    /// Requests that were refused, and their client disconnected.
    pub refused: u64,
    /// Messages and changes that went to clients.
    pub events: u64,
}

struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn u8(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes([self.u8(), self.u8(), self.u8(), self.u8()])
    }

    fn take(&mut self, len: usize) -> Vec<u8> {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken.to_vec()
    }
}

struct Run {
    node: Node,
    now: u64,
    clients: BTreeMap<ClientId, Service>,
    /// Members of the group as a client was told last.
    told: BTreeMap<ClientId, (GroupName, Vec<(NodeId, u32)>)>,
    seen: Seen,
}

/// Runs the script in `data`.
pub fn run(data: &[u8]) -> Seen {
    let mut script = Script(data);
    let config = NodeConfig { always_frame: script.u8() & 1 != 0, ..NodeConfig::default() };
    let mut run =
        Run { node: Node::new(config), now: 0, clients: BTreeMap::new(), told: BTreeMap::new(), seen: Seen::default() };
    run.feed(Input::Start, &[], None);
    while !script.0.is_empty() {
        run.step(&mut script);
    }
    run.feed(Input::Stop, &[], None);
    run.seen
}

impl Run {
    fn step(&mut self, script: &mut Script<'_>) {
        let op = script.u8();
        let client = ClientId(u32::from(op >> 4 & 7));
        match (op & 15, self.clients.get(&client).copied()) {
            (0, Some(_)) => self.disconnect(client),
            (1, _) => {
                self.now += u64::from(script.u32());
                self.feed(Input::Tick, &[], None);
            }
            (_, None) => {
                let service = if op & 1 == 0 { Service::Cpg } else { Service::Evs };
                self.clients.insert(client, service);
                self.feed(Input::Connect { client, service, pid: client.0 }, &[], None);
            }
            (op, Some(service)) => {
                let (header, body) = if op < 4 { raw(script) } else { sensible(script, service) };
                self.request(client, service, header, &body);
            }
        }
    }

    fn disconnect(&mut self, client: ClientId) {
        self.clients.remove(&client);
        self.told.remove(&client);
        self.feed(Input::Disconnect { client }, &[], None);
    }

    /// The daemon's way with a record.
    fn request(&mut self, client: ClientId, service: Service, header: RecordHeader, body: &[u8]) {
        if request::service(header.kind) != Some(service) {
            self.seen.refused += 1;
            return self.disconnect(client);
        }
        let decoded = request::payload_offset(&header).and_then(|start| {
            let arguments = start.unwrap_or(header.len);
            let message = header.len - arguments;
            let payload = Payload::Caller { key: 7, len: message };
            Ok((arguments, start, request::decode(&header, &body[..arguments as usize], payload)?))
        });
        let Ok((arguments, start, mut asked)) = decoded else {
            self.seen.refused += 1;
            return self.disconnect(client);
        };
        let mut receivers = Vec::new();
        if start.is_some() {
            self.node.recipients(client, &asked, &mut receivers);
            if self.node.placement() == Placement::Frame {
                asked = self.reframe(asked, &body[arguments as usize..]);
            }
        }
        self.seen.requests += 1;
        let synchronous = request::is_synchronous(header.kind).then_some(client);
        self.feed(Input::Request { client, request: asked }, &receivers, synchronous);
    }

    fn reframe(&mut self, asked: Request, message: &[u8]) -> Request {
        let (framed, memory) = self.node.reserve(message.len() as u32);
        memory.copy_from_slice(message);
        asked.with_payload(framed)
    }

    /// Feeds an input and judges every output.
    fn feed(&mut self, input: Input, receivers: &[ClientId], synchronous: Option<ClientId>) {
        self.now += 1;
        self.node.handle(input, Instant(self.now));
        self.node.check();
        let mut replies = 0;
        let mut encoded = Vec::new();
        while let Some(output) = self.node.poll_output() {
            let to = match output {
                Output::Reply { client, reply } => {
                    assert_eq!(Some(client), synchronous, "a reply that nobody waits for");
                    replies += 1;
                    encoded.clear();
                    reply::encode(&reply, 1, &mut encoded);
                    assert!(encoded.len() <= REPLY_SIZE as usize, "the reply does not fit");
                    client
                }
                Output::CpgDeliver { to, payload, .. }
                | Output::CpgPartialDeliver { to, payload, .. }
                | Output::EvsDeliver { to, payload, .. } => {
                    // Frames are delivered when the ring is ready for them, by then others
                    // may listen.
                    if matches!(payload, Payload::Caller { .. }) {
                        assert!(receivers.contains(&to), "a message for somebody who was not counted");
                    }
                    assert!(payload.len() <= MAX_BODY, "the message does not fit");
                    to
                }
                Output::CpgConfchg { to, change } => {
                    encoded.clear();
                    event::encode_cpg_confchg(&change, &mut encoded);
                    self.follows(to, &change);
                    if synchronous == Some(to) && !change.left.is_empty() {
                        // It left, and does not hear what comes before it joins again.
                        self.told.remove(&to);
                    }
                    to
                }
                Output::CpgTotemConfchg { to, change } | Output::EvsConfchg { to, change } => {
                    encoded.clear();
                    event::encode_totem_confchg(&change, &mut encoded);
                    to
                }
                Output::Send { .. } => panic!("one node has nobody to send to"),
                Output::StoreRingSeq { .. } | Output::Log(_) => continue,
                Output::Shutdown { reason } => panic!("one node has nobody to differ from: {reason}"),
            };
            assert!(encoded.len() <= MAX_BODY as usize, "the event does not fit");
            assert!(self.clients.contains_key(&to), "an output for a client that is not there");
            self.seen.events += 1;
        }
        assert_eq!(replies, usize::from(synchronous.is_some()), "replies to one request");
    }

    /// Members now are those before, with who joined and without who left.
    fn follows(&mut self, to: ClientId, change: &CpgConfchg) {
        let now: Vec<_> = change.members.iter().map(|member| (member.node, member.pid)).collect();
        let before = self.told.insert(to, (change.group, now.clone()));
        let Some((group, mut expected)) = before else { return };
        if group != change.group {
            return;
        }
        expected.retain(|one| !change.left.iter().any(|left| (left.node, left.pid) == *one));
        expected.extend(change.joined.iter().map(|member| (member.node, member.pid)));
        expected.sort();
        expected.dedup();
        let mut sorted = now;
        sorted.sort();
        assert_eq!(sorted, expected, "members do not follow from those before");
    }
}

/// A record of any kind with any body.
fn raw(script: &mut Script<'_>) -> (RecordHeader, Vec<u8>) {
    let choice = script.u8();
    let kind = match KINDS.get(usize::from(choice & 31)) {
        Some(kind) => *kind,
        None => script.u32() as u16,
    };
    let flags = script.u32() as u16;
    let (a, b) = (script.u32(), script.u32());
    let len = usize::from(script.u8());
    let mut body = script.take(len);
    // Sometimes as long as no script is.
    if choice & 0xe0 == 0xe0 {
        body.resize(body.len() + usize::from(script.u8()) * 4200, 0x5a);
    }
    body.truncate(MAX_BODY as usize);
    (RecordHeader { len: body.len() as u32, kind, flags, a, b }, body)
}

/// A record as our library would write it, though perhaps not in this order.
fn sensible(script: &mut Script<'_>, service: Service) -> (RecordHeader, Vec<u8>) {
    let (choice, detail) = (script.u8(), script.u8());
    let kinds = if service == Service::Cpg { &KINDS[..10] } else { &KINDS[10..] };
    let kind = kinds[usize::from(choice) % kinds.len()];
    let name = GroupName::new(NAMES[usize::from(detail & 3)]).unwrap_or_else(|| panic!("names are short"));
    let guarantee = [Guarantee::Unordered, Guarantee::Fifo, Guarantee::Agreed, Guarantee::Safe];
    let guarantee = guarantee[usize::from(detail >> 2 & 3)];
    let pid = u32::from(detail >> 4 & 3);
    let groups: Vec<EvsGroup> = (0..detail >> 4).map(|n| EvsGroup([n & 3; 32])).collect();
    let message = vec![detail; usize::from(script.u8()) * usize::from(choice)];
    let (mut flags, mut a) = (request::mcast_flags(guarantee), 0);
    let body = match kind {
        request::kind::CPG_JOIN => request::cpg_join(pid, &name, u32::from(choice >> 7)),
        request::kind::CPG_LEAVE => request::cpg_leave(pid, &name),
        request::kind::CPG_MCAST | request::kind::EVS_MCAST_JOINED => message,
        request::kind::CPG_PARTIAL_MCAST => {
            let part = [Part::First, Part::Continued, Part::Last][usize::from(detail >> 4) % 3];
            flags = request::partial_flags(guarantee, part);
            a = message.len() as u32 * 3;
            message
        }
        request::kind::CPG_MEMBERSHIP => request::cpg_membership(&name),
        request::kind::CPG_ITERATION_START => {
            let kinds = [IterationKind::NameOnly, IterationKind::OneGroup, IterationKind::All];
            request::cpg_iteration_start(kinds[usize::from(detail >> 4) % 3], &name)
        }
        request::kind::CPG_ITERATION_NEXT | request::kind::CPG_ITERATION_END => {
            request::cpg_iteration(u64::from(detail & 7))
        }
        request::kind::EVS_JOIN | request::kind::EVS_LEAVE => request::evs_groups(&groups),
        request::kind::EVS_MCAST_GROUPS => {
            a = groups.len() as u32;
            [request::evs_groups(&groups), message].concat()
        }
        _ => Vec::new(),
    };
    (RecordHeader { len: body.len() as u32, kind, flags, a, b: 1 }, body)
}
