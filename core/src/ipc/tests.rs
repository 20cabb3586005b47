//! Both directions of every record, limits at their edges, hostile bytes.

use proptest::collection::vec;
use proptest::prelude::*;

use super::request::{self, kind, BadRequest};
use super::{event, reply, RecordHeader, MAX_ATOMIC};
use crate::ids::{EvsGroup, GroupName, NodeId, RingId};
use crate::input::{Guarantee, IterationKind, Part, Payload, Request};
use crate::output::{CpgConfchg, CpgMember, Reply, ReplyBody, TotemConfchg};

const PAYLOAD: Payload = Payload::Caller { key: 3, len: 5 };

fn name(len: usize) -> GroupName {
    GroupName::new(&vec![b'n'; len]).expect("short enough")
}

/// A request as a client sends it, decoded as the daemon does.
fn decode(kind: u16, flags: u16, a: u32, args: &[u8]) -> Result<Request, BadRequest> {
    let message = if matches!(
        kind,
        kind::CPG_MCAST | kind::CPG_PARTIAL_MCAST | kind::EVS_MCAST_JOINED | kind::EVS_MCAST_GROUPS
    ) {
        PAYLOAD.len()
    } else {
        0
    };
    let b = u32::from(request::is_synchronous(kind));
    let header = RecordHeader { len: args.len() as u32 + message, kind, flags, a, b };
    let offset = request::payload_offset(&header)?;
    assert_eq!(offset, (message > 0).then_some(args.len() as u32));
    request::decode(&header, args, PAYLOAD)
}

fn requests() -> Vec<(u16, u16, u32, Vec<u8>, Request)> {
    let group = Box::new(name(128));
    let groups = vec![EvsGroup([1; 32]), EvsGroup([2; 32])];
    let safe = request::mcast_flags(Guarantee::Safe);
    let (guarantee, payload) = (Guarantee::Safe, PAYLOAD);
    let last = request::partial_flags(Guarantee::Safe, Part::Last);
    let kind_of = IterationKind::OneGroup;
    vec![
        (
            kind::CPG_JOIN,
            0,
            0,
            request::cpg_join(7, &group, 1),
            Request::CpgJoin { pid: 7, group: group.clone(), flags: 1 },
        ),
        (kind::CPG_LEAVE, 0, 0, request::cpg_leave(7, &group), Request::CpgLeave { pid: 7, group: group.clone() }),
        (kind::CPG_MCAST, safe, 0, vec![], Request::CpgMcast { guarantee, payload }),
        (
            kind::CPG_PARTIAL_MCAST,
            last,
            9,
            vec![],
            Request::CpgPartialMcast { guarantee, part: Part::Last, total: 9, payload },
        ),
        (kind::CPG_MEMBERSHIP, 0, 0, request::cpg_membership(&group), Request::CpgMembership { group: group.clone() }),
        (kind::CPG_LOCAL_GET, 0, 0, vec![], Request::CpgLocalGet),
        (
            kind::CPG_ITERATION_START,
            0,
            0,
            request::cpg_iteration_start(kind_of, &group),
            Request::CpgIterationStart { kind: kind_of, group },
        ),
        (kind::CPG_ITERATION_NEXT, 0, 0, request::cpg_iteration(4), Request::CpgIterationNext { iteration: 4 }),
        (kind::CPG_ITERATION_END, 0, 0, request::cpg_iteration(4), Request::CpgIterationEnd { iteration: 4 }),
        (kind::CPG_FINALIZE, 0, 0, vec![], Request::CpgFinalize),
        (kind::EVS_JOIN, 0, 0, request::evs_groups(&groups), Request::EvsJoin { groups: groups.clone() }),
        (kind::EVS_LEAVE, 0, 0, request::evs_groups(&groups), Request::EvsLeave { groups: groups.clone() }),
        (kind::EVS_MCAST_JOINED, safe, 0, vec![], Request::EvsMcastJoined { guarantee, payload }),
        (
            kind::EVS_MCAST_GROUPS,
            safe,
            2,
            request::evs_groups(&groups),
            Request::EvsMcastGroups { guarantee, groups, payload },
        ),
        (kind::EVS_MEMBERSHIP, 0, 0, vec![], Request::EvsMembership),
    ]
}

#[test]
fn requests_round_trip() {
    for (kind, flags, a, args, expected) in requests() {
        assert_eq!(decode(kind, flags, a, &args), Ok(expected));
        assert!(request::service(kind).is_some());
        for len in (0..args.len()).filter(|_| kind != kind::EVS_JOIN && kind != kind::EVS_LEAVE) {
            let header = RecordHeader { len: len as u32, kind, flags, a, b: 1 };
            assert!(request::decode(&header, &args[..len], PAYLOAD).is_err(), "{kind:#x} cut at {len}");
        }
        let longer = [&args[..], &[0]].concat();
        let header = RecordHeader { len: longer.len() as u32, kind, flags, a, b: 1 };
        assert!(request::decode(&header, &longer, PAYLOAD).is_err(), "{kind:#x} with a byte too many");
    }
}

#[test]
fn limits_at_their_edges() {
    let header = |kind, len, a| RecordHeader { len, kind, flags: 0, a, b: 1 };
    assert_eq!(request::payload_offset(&header(kind::CPG_MCAST, MAX_ATOMIC, 0)), Ok(Some(0)));
    let over = request::payload_offset(&header(kind::CPG_MCAST, MAX_ATOMIC + 1, 0));
    assert_eq!(over, Err(BadRequest::MessageSize(MAX_ATOMIC + 1)));
    let most = request::EVS_MCAST_GROUPS_MAX as u32;
    assert_eq!(most, 32766);
    for (len, groups) in [(most * 32, most), (request::EVS_BYTES_MAX, most), (request::EVS_BYTES_MAX, 512)] {
        let full = header(kind::EVS_MCAST_GROUPS, len, groups);
        assert!(full.len <= super::MAX_BODY && request::evs_fits(groups as usize, (len - groups * 32) as usize));
        assert_eq!(request::payload_offset(&full), Ok(Some(groups * 32)));
        assert!(request::payload_offset(&RecordHeader { len: request::EVS_BYTES_MAX + 1, ..full }).is_err());
    }
    assert!(request::payload_offset(&header(kind::EVS_MCAST_GROUPS, (most + 1) * 32, most + 1)).is_err());
    assert!(!request::evs_fits(512, MAX_ATOMIC as usize) && !request::evs_fits(usize::MAX, usize::MAX));
    assert!(request::payload_offset(&header(kind::EVS_MCAST_GROUPS, 63, 2)).is_err());
    assert!(request::payload_offset(&header(kind::EVS_MCAST_GROUPS, u32::MAX, u32::MAX)).is_err());
    assert!(request::payload_offset(&header(kind::CPG_JOIN, u32::MAX, 0)).is_err());
    assert_eq!(request::payload_offset(&header(0, 0, 0)), Err(BadRequest::Kind(0)));
    assert!(request::payload_offset(&RecordHeader { kind: kind::CPG_JOIN, ..RecordHeader::default() }).is_err());
    let many = request::evs_groups(&[EvsGroup([0; 32]); 60]);
    let Ok(Request::EvsJoin { groups }) = decode(kind::EVS_JOIN, 0, 0, &many) else { panic!("a join expected") };
    assert_eq!(groups.len(), request::EVS_JOIN_GROUPS_MAX + 1, "enough to refuse it");
    let mut long = request::cpg_join(1, &name(128), 0);
    long[8..12].copy_from_slice(&129u32.to_ne_bytes());
    assert!(decode(kind::CPG_JOIN, 0, 0, &long).is_err());
    assert!(decode(kind::CPG_MCAST, 4, 0, &[]).is_err(), "no such guarantee");
    assert!(decode(kind::CPG_PARTIAL_MCAST, 0x402, 9, &[]).is_err(), "no such part");
    assert!(decode(kind::CPG_PARTIAL_MCAST, 0x102, 4, &[]).is_err(), "a piece longer than the whole");
}

fn members(count: usize) -> Vec<CpgMember> {
    (0..count as u32).map(|pid| CpgMember { node: NodeId(pid / 7), pid, reason: pid % 6 }).collect()
}

#[test]
fn events_round_trip() {
    for (count, left) in [(0, 0), (1, 3), (128, 128)] {
        let change =
            CpgConfchg { group: name(count % 129), members: members(count), left: members(left), joined: members(1) };
        let mut body = Vec::new();
        event::encode_cpg_confchg(&change, &mut body);
        assert_eq!(event::decode_cpg_confchg(&body), Ok(change));
        for len in 0..body.len() {
            assert!(event::decode_cpg_confchg(&body[..len]).is_err());
        }
        let nodes = |count: usize| (0..count as u32).map(NodeId).collect::<Vec<_>>();
        let change = TotemConfchg {
            transitional: count == 1,
            ring: RingId { rep: NodeId(1), seq: u64::MAX },
            members: nodes(count * 3),
            left: nodes(left),
            joined: nodes(2),
        };
        let mut body = Vec::new();
        event::encode_evs_confchg(&change, &mut body);
        assert_eq!(event::decode_evs_confchg(&body), Ok(change));
        for len in 0..body.len() {
            assert!(event::decode_totem_confchg(&body[..len]).is_err());
        }
    }
    let mut body = Vec::new();
    let change = CpgConfchg { group: name(1), members: members(129), left: vec![], joined: vec![] };
    event::encode_cpg_confchg(&change, &mut body);
    assert!(event::decode_cpg_confchg(&body).is_err(), "more than a library can show");
    let header = event::cpg_partial_deliver(NodeId(1), 2, Part::Continued, 5);
    assert_eq!(header.len, 21);
    assert_eq!(event::decode_partial(header.flags, &event::partial_prefix(77)), Ok((Part::Continued, 77)));
    assert!(event::decode_partial(header.flags, &[0; 15]).is_err());
    assert!(event::decode_partial(0, &[0; 16]).is_err());
}

fn round_trip(body: ReplyBody) -> (reply::ReplyHeader, Vec<u8>) {
    let mut out = Vec::new();
    reply::encode(&Reply { error: 1, body }, 42, &mut out);
    let mut head = [0; reply::REPLY_HEADER];
    head.copy_from_slice(&out[..reply::REPLY_HEADER]);
    let header = reply::decode_header(&head).expect("a whole header");
    assert_eq!((header.request, header.error, header.len as usize), (42, 1, out.len() - reply::REPLY_HEADER));
    (header, out.split_off(reply::REPLY_HEADER))
}

#[test]
fn replies_round_trip() {
    assert_eq!(round_trip(ReplyBody::None).1, []);
    let (_, body) = round_trip(ReplyBody::CpgMembership(members(128)));
    assert_eq!(reply::decode_cpg_membership(&body), Ok(members(128)));
    let (_, body) = round_trip(ReplyBody::NodeId(NodeId(9)));
    assert_eq!(reply::decode_node(&body), Ok(NodeId(9)));
    let (_, body) = round_trip(ReplyBody::Iteration(1 << 40));
    assert_eq!(reply::decode_iteration(&body), Ok(1 << 40));
    let (_, body) = round_trip(ReplyBody::IterationItem { group: name(5), node: NodeId(1), pid: 2 });
    assert_eq!(reply::decode_iteration_item(&body), Ok((name(5), NodeId(1), 2)));
    let nodes: Vec<NodeId> = (1..=384).map(NodeId).collect();
    let (_, body) = round_trip(ReplyBody::EvsMembership { local: NodeId(3), members: nodes.clone() });
    assert_eq!(reply::decode_evs_membership(&body), Ok((NodeId(3), nodes)));
    let mut head = [0; reply::REPLY_HEADER];
    head[8..12].copy_from_slice(&super::REPLY_SIZE.to_ne_bytes());
    assert!(reply::decode_header(&head).is_err());
}

proptest! {
    #[test]
    fn hostile_requests(words in any::<(u32, u16, u32, u32)>(), pick in 0usize..16, args in vec(any::<u8>(), 0..300)) {
        let (len, flags, a, b) = words;
        let kind = requests().get(pick).map_or(flags, |request| request.0);
        for (len, a) in [(len, a), (args.len() as u32, a % 16)] {
            let header = RecordHeader { len, kind, flags, a, b };
            if let Ok(Some(offset)) = request::payload_offset(&header) {
                prop_assert!(offset <= len);
            }
            let _ = request::decode(&header, &args, PAYLOAD).is_ok();
        }
    }

    #[test]
    fn hostile_events_and_replies(body in vec(any::<u8>(), 0..600), flags in any::<u16>(), small in 0u8..4) {
        let mut near = body.clone();
        near.iter_mut().for_each(|byte| *byte &= small);
        for body in [&body, &near] {
            let _ = event::decode_cpg_confchg(body).is_ok();
            let _ = event::decode_totem_confchg(body).is_ok();
            let _ = event::decode_partial(flags, body).is_ok();
            let _ = reply::decode_cpg_membership(body).is_ok();
            let _ = reply::decode_node(body).is_ok();
            let _ = reply::decode_iteration(body).is_ok();
            let _ = reply::decode_iteration_item(body).is_ok();
            let _ = reply::decode_evs_membership(body).is_ok();
        }
    }
}
