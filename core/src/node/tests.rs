//! Whole nodes: what the original was seen to do, and that frames make no difference.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::ids::{EvsGroup, GroupName, RingId};
use crate::input::{IterationKind, Part};
use crate::output::{CpgMember, TotemConfchg};

/// A node and the bytes of messages that stay with the caller.
pub(crate) struct Bench {
    pub node: Node,
    kept: BTreeMap<u64, Vec<u8>>,
    next_key: u64,
}

/// An output with the bytes it names; log lines and payload places are taken out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen(pub Output, pub Vec<u8>);

const HERE: Payload = Payload::Frame { key: 0, len: 0 };

impl Bench {
    pub fn new(always_frame: bool) -> Bench {
        let mut bench = Bench::stopped(always_frame);
        let seen = bench.feed(Input::Start);
        assert_eq!(seen, [Seen(Output::StoreRingSeq { seq: 5 }, vec![])]);
        bench
    }

    fn stopped(always_frame: bool) -> Bench {
        let node = Node::new(NodeConfig {
            node: NodeId(1),
            cluster_name: "test".into(),
            nodes: vec![NodeId(1)],
            last_ring_seq: 0,
            frame_size: 600,
            honour_safe: true,
            always_frame,
            ..NodeConfig::default()
        });
        Bench { node, kept: BTreeMap::new(), next_key: 0 }
    }

    pub fn feed(&mut self, input: Input) -> Vec<Seen> {
        self.node.handle(input, Instant(0));
        self.node.check();
        let mut seen = Vec::new();
        while let Some(mut output) = self.node.poll_output() {
            let mut bytes = Vec::new();
            match &mut output {
                Output::Log(_) => continue,
                Output::CpgDeliver { payload, .. }
                | Output::CpgPartialDeliver { payload, .. }
                | Output::EvsDeliver { payload, .. } => {
                    bytes = match *payload {
                        Payload::Caller { key, .. } => self.kept[&key].clone(),
                        held @ Payload::Frame { .. } => self.node.payload(held).to_vec(),
                    };
                    assert_eq!(bytes.len(), payload.len() as usize);
                    *payload = HERE;
                }
                _ => {}
            }
            seen.push(Seen(output, bytes));
        }
        seen
    }

    /// Puts a message where the node wants it.
    pub fn message(&mut self, bytes: &[u8]) -> Payload {
        match self.node.placement() {
            Placement::Frame => {
                let (payload, memory) = self.node.reserve(bytes.len() as u32);
                memory.copy_from_slice(bytes);
                payload
            }
            Placement::Caller => {
                self.next_key += 1;
                self.kept.insert(self.next_key, bytes.to_vec());
                Payload::Caller { key: self.next_key, len: bytes.len() as u32 }
            }
        }
    }

    pub fn connect(&mut self, client: u32, service: Service) -> Vec<Seen> {
        self.feed(Input::Connect { client: ClientId(client), service, pid: 100 + client })
    }

    pub fn ask(&mut self, client: u32, request: Request) -> Vec<Seen> {
        self.feed(Input::Request { client: ClientId(client), request })
    }

    pub fn join(&mut self, client: u32, pid: u32, group: &str) -> Vec<Seen> {
        self.ask(client, Request::CpgJoin { pid, group: name(group), flags: 0 })
    }

    pub fn leave(&mut self, client: u32, pid: u32, group: &str) -> Vec<Seen> {
        self.ask(client, Request::CpgLeave { pid, group: name(group) })
    }

    pub fn mcast(&mut self, client: u32, bytes: &[u8]) -> Vec<Seen> {
        let payload = self.message(bytes);
        self.ask(client, Request::CpgMcast { guarantee: Guarantee::Agreed, payload })
    }

    pub fn partial(&mut self, client: u32, part: Part, bytes: &[u8]) -> Vec<Seen> {
        let payload = self.message(bytes);
        self.ask(client, Request::CpgPartialMcast { guarantee: Guarantee::Agreed, part, total: 99, payload })
    }
}

pub(crate) fn name(group: &str) -> Box<GroupName> {
    Box::new(GroupName::new(group.as_bytes()).expect("short enough"))
}

pub(crate) fn member(pid: u32, reason: u32) -> CpgMember {
    CpgMember { node: NodeId(1), pid, reason }
}

pub(crate) fn reply(client: u32, status: Status) -> Seen {
    let reply = Box::new(Reply { error: status as u32, body: ReplyBody::None });
    Seen(Output::Reply { client: ClientId(client), reply }, vec![])
}

pub(crate) fn answer(client: u32, body: ReplyBody) -> Seen {
    Seen(Output::Reply { client: ClientId(client), reply: Box::new(Reply { error: 1, body }) }, vec![])
}

pub(crate) fn deliver(to: u32, pid: u32, bytes: &[u8]) -> Seen {
    Seen(Output::CpgDeliver { to: ClientId(to), node: NodeId(1), pid, payload: HERE }, bytes.to_vec())
}

pub(crate) fn first_config() -> Arc<TotemConfchg> {
    Arc::new(TotemConfchg {
        transitional: false,
        ring: RingId { rep: NodeId(1), seq: 5 },
        members: vec![NodeId(1)],
        left: vec![],
        joined: vec![NodeId(1)],
    })
}

fn evs_group(key: u8) -> EvsGroup {
    EvsGroup([key; 32])
}

pub(crate) fn evs_deliver(to: u32, bytes: &[u8]) -> Seen {
    Seen(Output::EvsDeliver { to: ClientId(to), node: NodeId(1), payload: HERE }, bytes.to_vec())
}

#[test]
fn values_are_small() {
    assert!(size_of::<Output>() <= 40, "{}", size_of::<Output>());
    assert!(size_of::<Input>() <= 64, "{}", size_of::<Input>());
    assert!(size_of::<Message>() <= 40, "{}", size_of::<Message>());
}

#[test]
fn before_the_ring_nothing_is_taken() {
    let mut bench = Bench::stopped(false);
    assert_eq!(bench.node.placement(), Placement::Frame);
    bench.connect(1, Service::Cpg);
    assert_eq!(bench.join(1, 10, "a"), [reply(1, Status::TryAgain)]);
    assert_eq!(bench.mcast(1, b"x"), []);
    let told = Output::CpgTotemConfchg { to: ClientId(1), change: first_config() };
    assert!(bench.feed(Input::Start).contains(&Seen(told, vec![])));
    assert_eq!(bench.join(1, 10, "a").len(), 2);
    bench.feed(Input::Stop);
    assert_eq!(bench.leave(1, 10, "a"), [reply(1, Status::TryAgain)]);
}

#[test]
fn the_wrong_service_and_unknown_clients() {
    for always_frame in [false, true] {
        let mut bench = Bench::new(always_frame);
        bench.connect(1, Service::Evs);
        assert_eq!(bench.join(1, 10, "a"), [reply(1, Status::BadHandle)]);
        assert_eq!(bench.join(9, 10, "a"), [reply(9, Status::BadHandle)]);
        assert_eq!(bench.mcast(1, b"x"), []);
        bench.connect(2, Service::Cpg);
        assert_eq!(bench.ask(2, Request::EvsMembership), [reply(2, Status::BadHandle)]);
        let payload = bench.message(b"x");
        assert_eq!(bench.ask(2, Request::EvsMcastJoined { guarantee: Guarantee::Agreed, payload }), []);
        assert_eq!(bench.feed(Input::Disconnect { client: ClientId(77) }), []);
    }
}

#[test]
fn bytes_that_are_not_where_they_must_be() {
    let mut bench = Bench::new(true);
    bench.connect(1, Service::Cpg);
    bench.join(1, 10, "a");
    let payload = Payload::Caller { key: 5, len: 5 };
    assert_eq!(bench.ask(1, Request::CpgMcast { guarantee: Guarantee::Agreed, payload }), []);
    let request = Request::CpgPartialMcast { guarantee: Guarantee::Agreed, part: Part::First, total: 5, payload };
    assert_eq!(bench.ask(1, request), [reply(1, Status::InvalidParam)]);
    assert_eq!(bench.node.counters().not_sent, 1);
}

#[test]
fn evs_as_in_the_original() {
    for always_frame in [false, true] {
        let mut bench = Bench::new(always_frame);
        let told = Output::EvsConfchg { to: ClientId(1), change: first_config() };
        assert_eq!(bench.connect(1, Service::Evs), [Seen(told, vec![])]);
        bench.connect(2, Service::Evs);
        let groups = |keys: &[u8]| keys.iter().copied().map(evs_group).collect::<Vec<_>>();
        assert_eq!(bench.ask(1, Request::EvsJoin { groups: groups(&[7; 51]) }), [reply(1, Status::TooManyGroups)]);
        assert_eq!(bench.ask(1, Request::EvsJoin { groups: groups(&[1, 2, 2]) }), [reply(1, Status::Ok)]);
        let payload = bench.message(b"one");
        let joined = Request::EvsMcastJoined { guarantee: Guarantee::Safe, payload };
        assert_eq!(bench.ask(1, joined.clone()), [evs_deliver(1, b"one")], "once, though in several groups");
        assert_eq!(bench.ask(2, Request::EvsJoin { groups: groups(&[2]) }), [reply(2, Status::Ok)]);
        let payload = bench.message(b"two");
        let joined = Request::EvsMcastJoined { guarantee: Guarantee::Safe, payload };
        let mut reached = Vec::new();
        bench.node.recipients(ClientId(1), &joined, &mut reached);
        assert_eq!(reached, [ClientId(1), ClientId(2)]);
        assert_eq!(bench.ask(1, joined), [evs_deliver(1, b"two"), evs_deliver(2, b"two")]);
        assert_eq!(bench.ask(1, Request::EvsLeave { groups: groups(&[2, 9, 1]) }), [reply(1, Status::NotExist)]);
        assert_eq!(bench.ask(1, Request::EvsLeave { groups: groups(&[2]) }), [reply(1, Status::Ok)]);
        let payload = bench.message(&[5; 5000]);
        let request = Request::EvsMcastGroups { guarantee: Guarantee::Agreed, groups: groups(&[2, 3]), payload };
        assert_eq!(bench.ask(1, request), [evs_deliver(2, &[5; 5000])], "a sender need not be a member");
        let body = ReplyBody::EvsMembership { local: NodeId(1), members: vec![NodeId(1)] };
        assert_eq!(bench.ask(2, Request::EvsMembership), [answer(2, body)]);
        for _ in 0..evs_limit_rounds() {
            assert_eq!(bench.ask(2, Request::EvsJoin { groups: groups(&[4; 50]) }), [reply(2, Status::Ok)]);
        }
        assert_eq!(bench.ask(2, Request::EvsJoin { groups: groups(&[4; 50]) }), [reply(2, Status::NoResources)]);
        bench.feed(Input::Disconnect { client: ClientId(2) });
        assert_eq!(bench.mcast(2, b"gone"), []);
    }
}

/// Joins of 50 groups that fit beside the one group of the client.
fn evs_limit_rounds() -> usize {
    (crate::service::evs::CLIENT_GROUPS_MAX - 1) / 50
}

#[derive(Clone, Debug)]
enum Act {
    Connect(bool),
    Disconnect,
    Join(u32, u8, u32),
    Leave(u32, u8),
    Mcast(Vec<u8>, bool),
    Partial(u8, Vec<u8>),
    Iterate(u8, u8),
    Next(u64),
    End(u64),
    Finalize,
    Membership(u8),
    EvsJoin(Vec<u8>),
    EvsLeave(Vec<u8>),
    EvsMcast(Vec<u8>, bool),
    EvsGroups(Vec<u8>, Vec<u8>),
    Reconfigure(u32),
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => proptest::collection::vec(any::<u8>(), 0..40),
        1 => proptest::collection::vec(any::<u8>(), 0..4000),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let keys = || proptest::collection::vec(0u8..4, 0..5);
    prop_oneof![
        3 => any::<bool>().prop_map(Act::Connect),
        1 => Just(Act::Disconnect),
        3 => (0u32..3, 0u8..3, 0u32..2).prop_map(|(pid, group, flags)| Act::Join(pid, group, flags)),
        1 => (0u32..3, 0u8..3).prop_map(|(pid, group)| Act::Leave(pid, group)),
        5 => (bytes(), any::<bool>()).prop_map(|(bytes, safe)| Act::Mcast(bytes, safe)),
        2 => (0u8..3, bytes()).prop_map(|(part, bytes)| Act::Partial(part, bytes)),
        1 => (0u8..3, 0u8..3).prop_map(|(kind, group)| Act::Iterate(kind, group)),
        2 => (0u64..4).prop_map(Act::Next),
        1 => (0u64..4).prop_map(Act::End),
        1 => Just(Act::Finalize),
        1 => (0u8..3).prop_map(Act::Membership),
        2 => keys().prop_map(Act::EvsJoin),
        1 => keys().prop_map(Act::EvsLeave),
        3 => (bytes(), any::<bool>()).prop_map(|(bytes, safe)| Act::EvsMcast(bytes, safe)),
        2 => (keys(), bytes()).prop_map(|(groups, bytes)| Act::EvsGroups(groups, bytes)),
        1 => (200u32..2000).prop_map(Act::Reconfigure),
    ]
}

fn input(bench: &mut Bench, client: u32, act: &Act) -> Input {
    let group = |key: u8| name(["a", "bb", ""][usize::from(key)]);
    let evs = |keys: &[u8]| keys.iter().copied().map(evs_group).collect::<Vec<_>>();
    let guarantee = |safe: bool| if safe { Guarantee::Safe } else { Guarantee::Agreed };
    let id = ClientId(client);
    let request = match act {
        Act::Connect(evs) => {
            let service = if *evs { Service::Evs } else { Service::Cpg };
            return Input::Connect { client: id, service, pid: client };
        }
        Act::Disconnect => return Input::Disconnect { client: id },
        Act::Reconfigure(frame_size) => {
            let mut config = bench.node.config.clone();
            config.frame_size = *frame_size;
            return Input::Reconfigure(Box::new(config));
        }
        Act::Join(pid, key, flags) => Request::CpgJoin { pid: *pid, group: group(*key), flags: *flags },
        Act::Leave(pid, key) => Request::CpgLeave { pid: *pid, group: group(*key) },
        Act::Mcast(bytes, safe) => Request::CpgMcast { guarantee: guarantee(*safe), payload: bench.message(bytes) },
        Act::Partial(part, bytes) => Request::CpgPartialMcast {
            guarantee: Guarantee::Agreed,
            part: [Part::First, Part::Continued, Part::Last][usize::from(*part)],
            total: 9,
            payload: bench.message(bytes),
        },
        Act::Iterate(kind, key) => Request::CpgIterationStart {
            kind: [IterationKind::NameOnly, IterationKind::OneGroup, IterationKind::All][usize::from(*kind)],
            group: group(*key),
        },
        Act::Next(iteration) => Request::CpgIterationNext { iteration: *iteration },
        Act::End(iteration) => Request::CpgIterationEnd { iteration: *iteration },
        Act::Finalize => Request::CpgFinalize,
        Act::Membership(key) => Request::CpgMembership { group: group(*key) },
        Act::EvsJoin(keys) => Request::EvsJoin { groups: evs(keys) },
        Act::EvsLeave(keys) => Request::EvsLeave { groups: evs(keys) },
        Act::EvsMcast(bytes, safe) => {
            Request::EvsMcastJoined { guarantee: guarantee(*safe), payload: bench.message(bytes) }
        }
        Act::EvsGroups(keys, bytes) => {
            Request::EvsMcastGroups { guarantee: Guarantee::Fifo, groups: evs(keys), payload: bench.message(bytes) }
        }
    };
    Input::Request { client: id, request }
}

proptest! {
    /// One script, run with messages that stay with the caller and with messages that go
    /// through frames: the same outputs, the same numbers.
    #[test]
    fn frames_make_no_difference(script in proptest::collection::vec((0u32..5, act()), 1..80)) {
        let mut kept = Bench::new(false);
        let mut framed = Bench::new(true);
        for (client, act) in script {
            let one = input(&mut kept, client, &act);
            let two = input(&mut framed, client, &act);
            let mut reached = Vec::new();
            if let Input::Request { client, request } = &one {
                kept.node.recipients(*client, request, &mut reached);
            }
            let seen = kept.feed(one);
            let told = |seen: &Seen| match seen.0 {
                Output::CpgDeliver { to, .. } | Output::CpgPartialDeliver { to, .. } | Output::EvsDeliver { to, .. } => Some(to),
                _ => None,
            };
            let got: Vec<_> = seen.iter().filter_map(told).collect();
            prop_assert!(got.is_empty() || got == reached, "recipients foretells who gets a message");
            prop_assert_eq!(&seen, &framed.feed(two), "after {:?}", act);
            prop_assert_eq!(kept.node.ring.seq(), framed.node.ring.seq());
        }
        prop_assert_eq!(framed.node.counters().bad_messages, 0);
        prop_assert_eq!(framed.node.counters().bad_frames, 0);
        prop_assert_eq!(kept.node.counters(), framed.node.counters());
    }
}
