//! Frames of every type: round trips in both byte orders, prefixes, limits, hostile bytes.

use proptest::collection::vec;
use proptest::prelude::*;

use super::commit::{CommitEntry, CommitToken, COMMIT, COMMIT_ENTRY};
use super::cursor::{DecodeError, Fault, Order};
use super::frame::{decode_hold_cancel, decode_merge_detect, FrameHeader, FrameType, Mcast, HEADER};
use super::join::{Join, JOIN, NODES_MAX};
use super::token::{Token, RTR_ENTRY, RTR_MAX, TOKEN, TOKEN_FRAME_MAX};
use crate::ids::{NodeId, RingId};
use crate::seq::Seq;

const ORDERS: [Order; 2] = [Order::Little, Order::Big];

/// A frame of any type but those without lists, which have their tests beside them.
#[derive(Clone, Debug, PartialEq)]
enum Frame {
    Token(Token),
    Join(Join),
    Commit(CommitToken),
    Mcast(Mcast),
    MergeDetect(NodeId, RingId),
    HoldCancel(RingId),
}

impl Frame {
    fn encode(&self, order: Order) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Frame::Token(token) => token.encode(NodeId(3), NodeId(4), order, &mut out),
            Frame::Join(join) => join.encode(order, &mut out),
            Frame::Commit(commit) => commit.encode(NodeId(3), NodeId(4), order, &mut out),
            Frame::Mcast(mcast) => mcast.encode(order, &mut out),
            Frame::MergeDetect(..) | Frame::HoldCancel(_) => unreachable!("not generated"),
        }
        out
    }

    fn decode(bytes: &[u8]) -> Result<Frame, DecodeError> {
        let header = FrameHeader::decode(bytes)?;
        Frame::decode_as(header.kind, bytes, header.order)
    }

    fn decode_as(kind: FrameType, bytes: &[u8], order: Order) -> Result<Frame, DecodeError> {
        match kind {
            FrameType::Token => Token::decode(bytes, order).map(Frame::Token),
            FrameType::Mcast => Mcast::decode(bytes, order).map(Frame::Mcast),
            FrameType::MergeDetect => {
                decode_merge_detect(bytes, order).map(|(from, ring)| Frame::MergeDetect(from, ring))
            }
            FrameType::Join => Join::decode(bytes, order).map(Frame::Join),
            FrameType::CommitToken => CommitToken::decode(bytes, order).map(Frame::Commit),
            FrameType::HoldCancel => decode_hold_cancel(bytes, order).map(Frame::HoldCancel),
        }
    }

    /// What the decoder allocated for lists, in bytes.
    fn held(&self) -> usize {
        let node = size_of::<NodeId>();
        match self {
            Frame::Token(token) => token.rtr.capacity() * size_of::<(RingId, Seq)>(),
            Frame::Join(join) => (join.proc.capacity() + join.failed.capacity()) * node,
            Frame::Commit(commit) => {
                commit.addrs.capacity() * node + commit.entries.capacity() * size_of::<CommitEntry>()
            }
            Frame::Mcast(_) | Frame::MergeDetect(..) | Frame::HoldCancel(_) => 0,
        }
    }
}

fn node() -> impl Strategy<Value = NodeId> {
    any::<u32>().prop_map(NodeId)
}

/// A ring with a representative.
fn ring() -> impl Strategy<Value = RingId> {
    (1..=u32::MAX, any::<u64>()).prop_map(|(rep, seq)| RingId { rep: NodeId(rep), seq })
}

fn seq() -> impl Strategy<Value = Seq> {
    any::<u32>().prop_map(Seq)
}

fn token() -> impl Strategy<Value = Token> {
    let numbers = (seq(), seq(), seq(), node(), ring(), any::<[u32; 3]>());
    (numbers, vec((ring(), seq()), 0..=RTR_MAX)).prop_map(|((seq, token_seq, aru, aru_addr, ring, rest), rtr)| {
        let [backlog, fcc, retrans] = rest;
        Token { seq, token_seq, aru, aru_addr, ring, backlog, fcc, retrans, rtr }
    })
}

fn join() -> impl Strategy<Value = Join> {
    let nodes = || vec(node(), 0..=NODES_MAX);
    (1..=u32::MAX, any::<bool>(), nodes(), nodes(), any::<u64>())
        .prop_map(|(from, leaves, proc, failed, ring_seq)| Join { from: NodeId(from), leaves, proc, failed, ring_seq })
}

fn commit() -> impl Strategy<Value = CommitToken> {
    let entry = (ring(), seq(), seq(), any::<u32>());
    let entry = entry
        .prop_map(|(ring, aru, high_delivered, received)| CommitEntry { ring, aru, high_delivered, received })
        .boxed();
    let entry = prop_oneof![3 => entry, 1 => Just(CommitEntry::default())];
    let members = vec((node(), entry), 1..=NODES_MAX);
    (seq(), ring(), any::<u32>(), members, any::<prop::sample::Index>()).prop_map(
        |(token_seq, ring, retrans, members, index)| {
            let memb_index = index.index(members.len() + 1) as u32;
            let (addrs, entries) = members.into_iter().unzip();
            CommitToken { token_seq, ring, retrans, memb_index, addrs, entries }
        },
    )
}

fn mcast() -> impl Strategy<Value = Mcast> {
    (any::<u8>(), node(), seq(), any::<u32>(), ring(), any::<u32>()).prop_map(
        |(encapsulated, from, seq, sent, ring, guarantee)| Mcast { encapsulated, from, seq, sent, ring, guarantee },
    )
}

fn frame() -> impl Strategy<Value = Frame> {
    prop_oneof![
        token().prop_map(Frame::Token),
        join().prop_map(Frame::Join),
        commit().prop_map(Frame::Commit),
        mcast().prop_map(Frame::Mcast),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn round_trip_in_both_orders_and_every_prefix_refused(frame in frame()) {
        for order in ORDERS {
            let mut bytes = frame.encode(order);
            prop_assert_eq!(FrameHeader::decode(&bytes).map(|header| header.order), Ok(order));
            prop_assert_eq!(Frame::decode(&bytes), Ok(frame.clone()));
            for len in 0..bytes.len() {
                prop_assert!(Frame::decode(&bytes[..len]).is_err(), "{} of {}", len, bytes.len());
            }
            bytes.extend([0xa5; 7]);
            prop_assert_eq!(Frame::decode(&bytes), Ok(frame.clone()), "more behind it is passed over");
        }
    }

    #[test]
    fn near_misses(frame in frame(), order in 0usize..2, at in any::<prop::sample::Index>(), value in any::<u8>()) {
        let mut bytes = frame.encode(ORDERS[order]);
        let at = at.index(bytes.len());
        bytes[at] = value;
        if let Ok(frame) = Frame::decode(&bytes) {
            prop_assert!(frame.held() <= 2 * bytes.len());
        }
    }
}

proptest! {
    #[test]
    fn hostile_bytes(bytes in vec(any::<u8>(), 0..2000), kind in 0u8..6, order in 0usize..2) {
        let kinds = [
            FrameType::Token,
            FrameType::Mcast,
            FrameType::MergeDetect,
            FrameType::Join,
            FrameType::CommitToken,
            FrameType::HoldCancel,
        ];
        let _ = Frame::decode(&bytes).is_ok();
        let order = ORDERS[order];
        let mut framed = Vec::new();
        FrameHeader { order, kind: kinds[usize::from(kind)], encapsulated: 0, node: NodeId(1), target: NodeId(0) }
            .encode(&mut framed);
        framed.extend(bytes);
        if let Ok(frame) = Frame::decode(&framed) {
            prop_assert!(frame.held() <= 2 * framed.len());
        }
        let _ = crate::pack::check_mcast(&framed).is_ok();
    }
}

/// Overwrites a 32-bit number.
fn put(bytes: &mut [u8], order: Order, at: usize, value: u32) {
    let value = if order == Order::Little { value.to_le_bytes() } else { value.to_be_bytes() };
    bytes[at..at + 4].copy_from_slice(&value);
}

fn fault(bytes: &[u8]) -> Option<(&'static str, Fault)> {
    Frame::decode(bytes).err().map(|error| (error.field, error.fault))
}

#[test]
fn requests_of_the_token_at_their_limit() {
    for order in ORDERS {
        let mut bytes = vec![0; TOKEN + (RTR_MAX + 1) * RTR_ENTRY];
        let mut header = Vec::new();
        let kind = FrameType::Token;
        FrameHeader { order, kind, encapsulated: 0, node: NodeId(1), target: NodeId(0) }.encode(&mut header);
        bytes[..HEADER].copy_from_slice(&header);
        put(&mut bytes, order, TOKEN - 4, RTR_MAX as u32);
        assert_eq!(fault(&bytes), None);
        for count in [RTR_MAX as u32 + 1, 0x1000_0000, u32::MAX] {
            put(&mut bytes, order, TOKEN - 4, count);
            assert_eq!(fault(&bytes), Some(("rtr_list_entries", Fault::TooMany)));
        }
        put(&mut bytes, order, TOKEN - 4, 0);
        bytes.resize(TOKEN_FRAME_MAX, 0);
        assert_eq!(fault(&bytes), None);
        bytes.push(0);
        assert_eq!(fault(&bytes), Some(("token", Fault::TooMany)));
    }
}

/// The counts that once added up to nothing in the original, and those around the limit.
#[test]
fn lists_of_a_join_at_their_limit() {
    let full = Join {
        from: NodeId(1),
        leaves: false,
        proc: vec![NodeId(7); NODES_MAX],
        failed: vec![NodeId(8); NODES_MAX],
        ring_seq: 9,
    };
    for order in ORDERS {
        let mut bytes = Vec::new();
        full.encode(order, &mut bytes);
        assert_eq!(Join::decode(&bytes, order), Ok(full.clone()));
        bytes.resize(JOIN + 4 * 2000, 0);
        let half = 0x8000_0000;
        for counts in [(half, half), (u32::MAX, 1), (1, u32::MAX), (385, 0), (0, 385)] {
            put(&mut bytes, order, 17, counts.0);
            put(&mut bytes, order, 21, counts.1);
            let field = if counts.0 > 384 { "proc_list_entries" } else { "failed_list_entries" };
            assert_eq!(fault(&bytes), Some((field, Fault::TooMany)));
        }
    }
}

#[test]
fn members_of_a_commit_token_at_their_limits() {
    for order in ORDERS {
        let entries = vec![CommitEntry::default(); NODES_MAX];
        let addrs = vec![NodeId(1); NODES_MAX];
        let (token_seq, ring) = (Seq(1), RingId::default());
        let full = CommitToken { token_seq, ring, retrans: 0, memb_index: 384, addrs, entries };
        let mut bytes = Vec::new();
        full.encode(NodeId(1), NodeId(2), order, &mut bytes);
        assert_eq!(CommitToken::decode(&bytes, order), Ok(full));
        put(&mut bytes, order, 33, 385);
        assert_eq!(fault(&bytes), Some(("memb_index", Fault::TooMany)));
        put(&mut bytes, order, 33, 0);
        put(&mut bytes, order, 37, 0);
        assert_eq!(fault(&bytes), Some(("addr_entries", Fault::Value)));
        bytes.resize(COMMIT + (4 + COMMIT_ENTRY) * 400, 0);
        for count in [385, 0x1000_0000, u32::MAX] {
            put(&mut bytes, order, 37, count);
            assert_eq!(fault(&bytes), Some(("addr_entries", Fault::TooMany)));
        }
    }
}

/// An entry that nobody has filled in is not converted.
#[test]
fn entries_without_a_ring_stay_as_they_are() {
    let order = if Order::NATIVE == Order::Little { Order::Big } else { Order::Little };
    let (addrs, entries) = (vec![NodeId(1)], vec![CommitEntry::default()]);
    let commit = CommitToken { token_seq: Seq(1), ring: RingId::default(), retrans: 0, memb_index: 1, addrs, entries };
    let mut bytes = Vec::new();
    commit.encode(NodeId(1), NodeId(2), order, &mut bytes);
    put(&mut bytes, Order::NATIVE, COMMIT + 4 + 12, 77);
    let decoded = CommitToken::decode(&bytes, order).expect("sound");
    assert_eq!(decoded.entries[0].aru, Seq(77));
    assert_eq!(decoded.addrs, [NodeId(1)]);
}
