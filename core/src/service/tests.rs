//! Messages of the services on the wire: round trips, captures of the original, hostile bytes.

use proptest::collection::vec;
use proptest::prelude::*;

use super::cpg::wire::{Exec, Piece};
use super::{cpg, evs, wire, Membership};
use crate::ids::{EvsGroup, GroupName, NodeId};
use crate::input::Part;
use crate::wire::cursor::Order;

fn name() -> GroupName {
    GroupName::new(b"lab").expect("short enough")
}

/// All messages that this build sends, with 3 bytes of data where they have data.
fn samples() -> Vec<Vec<u8>> {
    let membership = Membership { group: name(), pid: 77, reason: 2 };
    let piece = Piece { pid: 77, part: Part::Last, total: 9, len: 3 };
    let mut out = vec![Vec::new(); 5];
    cpg::wire::encode_membership(&membership, false, &mut out[0]);
    cpg::wire::encode_membership(&membership, true, &mut out[1]);
    cpg::wire::encode_mcast(NodeId(1), &name(), 77, 3, &mut out[2]);
    cpg::wire::encode_partial(NodeId(1), &name(), piece, &mut out[3]);
    evs::wire::encode(&[EvsGroup([1; 32]), EvsGroup([2; 32])], 3, &mut out[4]);
    for message in &mut out[2..] {
        message.extend(b"abc");
    }
    out
}

fn decode_all(bytes: &[u8], order: Order) -> Option<(u32, Option<Exec>)> {
    let incoming = wire::decode(bytes, order).ok()??;
    let exec = cpg::wire::decode(incoming.function, incoming.bytes, order);
    let evs = evs::wire::decode(incoming.function, incoming.bytes, order);
    match incoming.service {
        cpg::wire::SERVICE => Some((incoming.service, exec.ok()?)),
        _ => evs.ok()?.map(|_| (incoming.service, None)),
    }
}

#[test]
fn round_trips_and_prefixes() {
    let membership = Membership { group: name(), pid: 77, reason: 2 };
    let expected = [
        (2, Some(Exec::Join(membership.clone()))),
        (2, Some(Exec::Leave(membership))),
        (2, Some(Exec::Mcast { group: name(), pid: 77, data: 184..187 })),
        (2, Some(Exec::Partial { group: name(), pid: 77, part: Part::Last, total: 9, data: 200..203 })),
        (20, None),
    ];
    for (bytes, expected) in samples().iter().zip(expected) {
        assert_eq!(decode_all(bytes, Order::NATIVE), Some(expected));
        for len in 0..bytes.len() {
            assert_eq!(decode_all(&bytes[..len], Order::NATIVE), None);
        }
    }
    let incoming = wire::decode(&samples()[4], Order::NATIVE).expect("sound").expect("ours").bytes.to_vec();
    let (groups, data) = evs::wire::decode(0, &incoming, Order::NATIVE).expect("sound").expect("known");
    assert_eq!((groups.len(), data), (2, evs::wire::size(2)..evs::wire::size(2) + 3));
}

#[test]
fn other_groups_and_functions_are_passed_over() {
    let mut bytes = samples()[0].clone();
    bytes[4] = b'b';
    assert_eq!(wire::decode(&bytes, Order::NATIVE), Ok(None));
    assert_eq!(cpg::wire::decode(5, &samples()[0][5..], Order::NATIVE), Ok(None));
}

/// Header of a message as the original sends it: group "a", cpg mcast, 384 bytes.
#[test]
fn headers_of_the_original() {
    let mut bytes = Vec::new();
    wire::begin(&mut bytes, cpg::wire::SERVICE, 3, 384);
    if Order::NATIVE == Order::Little {
        assert_eq!(bytes, [1, 0, 1, 0, b'a', 3, 0, 2, 0, 0, 0, 0, 0, 0x80, 1, 0, 0, 0, 0, 0, 0]);
    }
}

proptest! {
    #[test]
    fn hostile_bytes(bytes in vec(any::<u8>(), 0..300)) {
        for order in [Order::Little, Order::Big] {
            decode_all(&bytes, order);
            for function in 0..7 {
                let _ = cpg::wire::decode(function, &bytes, order).is_ok();
            }
            let _ = evs::wire::decode(0, &bytes, order).is_ok();
        }
    }

    #[test]
    fn near_misses(pick in 0usize..5, at in any::<prop::sample::Index>(), value in any::<u8>()) {
        let mut bytes = samples().swap_remove(pick);
        let at = at.index(bytes.len());
        bytes[at] = value;
        decode_all(&bytes, Order::NATIVE);
    }
}
