//! Every input comes back as it was; bytes that lie are refused.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn group() -> impl Strategy<Value = Box<GroupName>> {
    vec(any::<u8>(), 0..=128).prop_map(|bytes| Box::new(GroupName::new(&bytes).expect("short enough")))
}

fn groups() -> impl Strategy<Value = Vec<EvsGroup>> {
    vec(any::<[u8; 32]>().prop_map(EvsGroup), 0..5)
}

fn mcast() -> impl Strategy<Value = (Guarantee, Payload)> {
    let all = [Guarantee::Unordered, Guarantee::Fifo, Guarantee::Agreed, Guarantee::Safe];
    let payload = (any::<bool>(), any::<u64>(), any::<u32>());
    (0usize..4, payload).prop_map(move |(guarantee, (with_caller, key, len))| {
        let payload = if with_caller { Payload::Caller { key, len } } else { Payload::Frame { key, len } };
        (all[guarantee], payload)
    })
}

fn request() -> impl Strategy<Value = Request> {
    let parts = [Part::First, Part::Continued, Part::Last];
    let kinds = [IterationKind::NameOnly, IterationKind::OneGroup, IterationKind::All];
    prop_oneof![
        (any::<u32>(), group(), any::<u32>()).prop_map(|(pid, group, flags)| Request::CpgJoin { pid, group, flags }),
        (any::<u32>(), group()).prop_map(|(pid, group)| Request::CpgLeave { pid, group }),
        Just(Request::CpgFinalize),
        mcast().prop_map(|(guarantee, payload)| Request::CpgMcast { guarantee, payload }),
        (mcast(), 0usize..3, any::<u32>()).prop_map(move |((guarantee, payload), part, total)| {
            Request::CpgPartialMcast { guarantee, part: parts[part], total, payload }
        }),
        group().prop_map(|group| Request::CpgMembership { group }),
        Just(Request::CpgLocalGet),
        (0usize..3, group()).prop_map(move |(kind, group)| Request::CpgIterationStart { kind: kinds[kind], group }),
        any::<u64>().prop_map(|iteration| Request::CpgIterationNext { iteration }),
        any::<u64>().prop_map(|iteration| Request::CpgIterationEnd { iteration }),
        groups().prop_map(|groups| Request::EvsJoin { groups }),
        groups().prop_map(|groups| Request::EvsLeave { groups }),
        mcast().prop_map(|(guarantee, payload)| Request::EvsMcastJoined { guarantee, payload }),
        (mcast(), groups()).prop_map(|((guarantee, payload), groups)| Request::EvsMcastGroups {
            guarantee,
            groups,
            payload
        }),
        Just(Request::EvsMembership),
    ]
}

fn config() -> impl Strategy<Value = NodeConfig> {
    (any::<(u32, u64, u32, bool, bool)>(), ".{0,20}", vec(any::<u32>(), 0..5)).prop_map(
        |((node, last_ring_seq, frame_size, honour_safe, always_frame), cluster_name, nodes)| NodeConfig {
            node: NodeId(node),
            cluster_name,
            nodes: nodes.into_iter().map(NodeId).collect(),
            last_ring_seq,
            frame_size,
            honour_safe,
            always_frame,
            config_version: last_ring_seq / 3,
            seed: last_ring_seq,
            totem: TotemConfig { heartbeat: always_frame.then_some(Span(9)), ..TotemConfig::default() },
        },
    )
}

fn input() -> impl Strategy<Value = Input> {
    prop_oneof![
        Just(Input::Start),
        Just(Input::Tick),
        Just(Input::Stop),
        (any::<u8>(), vec(any::<u8>(), 0..50))
            .prop_map(|(link, bytes)| Input::Packet { link: LinkId(link), bytes: bytes.into() }),
        config().prop_map(|config| Input::Reconfigure(Box::new(config))),
        (any::<u32>(), any::<bool>(), any::<u32>()).prop_map(|(client, evs, pid)| Input::Connect {
            client: ClientId(client),
            service: if evs { Service::Evs } else { Service::Cpg },
            pid,
        }),
        any::<u32>().prop_map(|client| Input::Disconnect { client: ClientId(client) }),
        (any::<u32>(), request()).prop_map(|(client, request)| Input::Request { client: ClientId(client), request }),
    ]
}

proptest! {
    #[test]
    fn round_trip(inputs in vec(input(), 1..10)) {
        let mut bytes = Vec::new();
        for input in &inputs {
            write(input, &mut bytes);
        }
        let mut at = 0;
        for input in &inputs {
            let (back, taken) = read(&bytes[at..]).expect("what was written can be read");
            prop_assert_eq!(&back, input);
            at += taken;
        }
        prop_assert_eq!(at, bytes.len());
    }

    #[test]
    fn every_prefix_is_refused(input in input()) {
        let mut bytes = Vec::new();
        write(&input, &mut bytes);
        for len in 0..bytes.len() {
            prop_assert!(read(&bytes[..len]).is_err());
        }
    }

    #[test]
    fn hostile_bytes(bytes in vec(any::<u8>(), 0..200)) {
        if let Ok((input, taken)) = read(&bytes) {
            let mut again = Vec::new();
            write(&input, &mut again);
            prop_assert_eq!(read(&again).map(|(input, _)| input), Ok(input));
            prop_assert!(taken <= bytes.len());
        }
    }
}
