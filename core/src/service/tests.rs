//! Messages of the services and of the sync engine on the wire: round trips in both byte orders,
//! prefixes, limits, captures of the original, hostile bytes.

use proptest::collection::vec;
use proptest::prelude::*;

use super::capability::Capability;
use super::cmap::wire::{ConfigVersion, Reason};
use super::cpg::wire::{Downlist, Exec, Piece};
use super::sync_wire::SyncMessage;
use super::{cmap, cpg, evs, sync_wire, wire, Membership};
use crate::ids::{EvsGroup, GroupName, NodeId, RingId};
use crate::input::Part;
use crate::wire::cursor::{Fault, Order};
use crate::wire::join::NODES_MAX;

/// The byte order that this machine does not have.
const OTHER: Order = match Order::NATIVE {
    Order::Little => Order::Big,
    Order::Big => Order::Little,
};

fn name() -> GroupName {
    GroupName::new(b"lab").expect("short enough")
}

fn ring() -> RingId {
    RingId { rep: NodeId(1), seq: 0x0102_0304_0506 }
}

/// Whatever a message can be.
#[derive(Clone, Debug, PartialEq)]
enum Any {
    Cpg(Exec),
    Evs(Vec<EvsGroup>, std::ops::Range<usize>),
    Cmap(ConfigVersion),
    Capability(Capability),
    Sync(SyncMessage),
}

/// `None`: refused, or passed over.
fn decode_all(bytes: &[u8], order: Order) -> Option<Any> {
    if let Some(message) = SyncMessage::decode(bytes, order).ok()? {
        return Some(Any::Sync(message));
    }
    let incoming = wire::decode(bytes, order).ok()??;
    let (function, message) = (incoming.function, incoming.bytes);
    match incoming.service {
        cmap::wire::SERVICE => ConfigVersion::decode(function, message, order).ok()?.map(Any::Cmap),
        cpg::wire::SERVICE => cpg::wire::decode(function, message, order).ok()?.map(Any::Cpg),
        evs::wire::SERVICE => match Capability::decode(function, message, order).ok()? {
            Some(capability) => Some(Any::Capability(capability)),
            None => evs::wire::decode(function, message, order).ok()?.map(|(groups, data)| Any::Evs(groups, data)),
        },
        _ => None,
    }
}

struct Sample {
    bytes: Vec<u8>,
    value: Any,
    /// Where numbers stand, from the service header on, and how wide they are.
    numbers: Vec<(usize, usize)>,
}

fn sample(value: Any, numbers: &[(usize, usize)], encode: impl FnOnce(&mut Vec<u8>)) -> Sample {
    let mut bytes = Vec::new();
    encode(&mut bytes);
    Sample { bytes, value, numbers: numbers.to_vec() }
}

/// All messages of cpg and evs that this build sends, with 3 bytes of data where they have data.
fn client_samples() -> Vec<Sample> {
    let membership = Membership { group: name(), pid: 77, reason: 2 };
    let piece = Piece { pid: 77, part: Part::Last, total: 9, len: 3 };
    let groups = [EvsGroup([1; 32]), EvsGroup([2; 32])];
    let four = |places: &[usize]| places.iter().map(|place| (*place, 4)).collect::<Vec<_>>();
    let mcast = Exec::Mcast { group: name(), pid: 77, data: 184..187 };
    let partial = Exec::Partial { group: name(), pid: 77, part: Part::Last, total: 9, data: 200..203 };
    vec![
        sample(Any::Cpg(Exec::Join(membership.clone())), &four(&[16, 152, 160]), |out| {
            cpg::wire::encode_membership(&membership, false, out);
        }),
        sample(Any::Cpg(Exec::Leave(membership.clone())), &four(&[16, 152, 160]), |out| {
            cpg::wire::encode_membership(&membership, true, out);
        }),
        sample(Any::Cpg(mcast), &four(&[16, 152, 160, 168]), |out| {
            cpg::wire::encode_mcast(NodeId(1), &name(), 77, 3, out);
            out.extend(b"abc");
        }),
        sample(Any::Cpg(partial), &four(&[16, 152, 160, 168, 176, 184]), |out| {
            cpg::wire::encode_partial(NodeId(1), &name(), piece, out);
            out.extend(b"abc");
        }),
        sample(Any::Evs(groups.to_vec(), 96..99), &four(&[16, 20, 24]), |out| {
            evs::wire::encode(&groups, 3, out);
            out.extend(b"abc");
        }),
    ]
}

/// All messages of the synchronization.
fn sync_samples() -> Vec<Sample> {
    let processes = vec![(77, name()), (0x1234_5678, GroupName::new(b"").expect("short enough"))];
    let downlist = Downlist { old_members: 3, left: vec![NodeId(2), NodeId(0x0a63_0001)] };
    let with = ConfigVersion { reason: Reason::Sync, version: Some(0x0102_0304) };
    let without = ConfigVersion { reason: Reason::NewVersion, version: None };
    let capability = Capability { version: 1, flags: 0x8000_0001, ring: ring(), window: 3000, max_messages: 1000 };
    let build = SyncMessage::Build { ring: ring(), services: vec![0, 2, 20, 63] };
    let barrier = SyncMessage::Barrier { ring: ring() };
    vec![
        sample(Any::Cpg(Exec::Joinlist(processes.clone())), &[(16, 4), (24, 4), (32, 4), (168, 4), (176, 4)], |out| {
            cpg::wire::encode_joinlist(&processes, out);
        }),
        sample(Any::Cpg(Exec::Downlist(downlist.clone())), &[(16, 4), (24, 4), (32, 4), (36, 4)], |out| {
            cpg::wire::encode_downlist(&downlist, out);
        }),
        sample(Any::Cmap(with), &[(48, 2), (320, 8), (328, 8)], |out| with.encode(out)),
        sample(Any::Cmap(without), &[(48, 2), (320, 8)], |out| without.encode(out)),
        sample(Any::Capability(capability), &[(16, 4), (20, 4), (24, 8), (32, 4), (36, 8), (48, 4), (52, 4)], |out| {
            capability.encode(out)
        }),
        sample(Any::Sync(build.clone()), &[(16, 4), (20, 8), (32, 4), (40, 4), (44, 4), (48, 4), (52, 4)], |out| {
            build.encode(out)
        }),
        sample(Any::Sync(barrier.clone()), &[(16, 4), (20, 8)], |out| barrier.encode(out)),
    ]
}

fn samples() -> Vec<Sample> {
    client_samples().into_iter().chain(sync_samples()).collect()
}

/// What a machine of the other byte order would have sent.
fn swapped(sample: &Sample) -> Vec<u8> {
    let mut bytes = sample.bytes.clone();
    bytes[0..2].reverse();
    let name = usize::from(bytes[2].max(bytes[3]));
    bytes[2..4].reverse();
    for (place, width) in [(0, 4), (8, 4)].iter().chain(&sample.numbers) {
        let at = 4 + name + place;
        bytes[at..at + width].reverse();
    }
    bytes
}

#[test]
fn round_trips_in_both_orders_and_prefixes() {
    for sample in samples() {
        for (bytes, order) in [(sample.bytes.clone(), Order::NATIVE), (swapped(&sample), OTHER)] {
            assert_eq!(decode_all(&bytes, order).as_ref(), Some(&sample.value));
            for len in 0..bytes.len() {
                assert_eq!(decode_all(&bytes[..len], order), None, "{:?} cut to {len}", sample.value);
            }
        }
    }
}

/// Padding of the original may hold anything.
#[test]
fn padding_means_nothing() {
    for Sample { mut bytes, value, .. } in samples() {
        let header = bytes.len().min(if bytes[2].max(bytes[3]) == 1 { 5 } else { 8 });
        for at in [4, 5, 6, 7, 12, 13, 14, 15] {
            bytes[header + at] = 0xa5;
        }
        assert_eq!(decode_all(&bytes, Order::NATIVE), Some(value));
    }
}

#[test]
fn others_are_passed_over() {
    let mut bytes = client_samples().swap_remove(0).bytes;
    bytes[4] = b'b';
    assert_eq!(wire::decode(&bytes, Order::NATIVE), Ok(None), "another totempg group");
    assert_eq!(SyncMessage::decode(&bytes, Order::NATIVE), Ok(None));
    assert_eq!(cpg::wire::decode(7, &bytes[5..], Order::NATIVE), Ok(None), "another function");
    for service in [1, 4, 5, 19, 21, 63, 0xffff] {
        let mut bytes = Vec::new();
        wire::begin(&mut bytes, service, 3, 1 << 30);
        bytes.extend(b"abc");
        let incoming = wire::decode(&bytes, Order::NATIVE).expect("nothing is demanded of it").expect("group a");
        assert_eq!((incoming.service, incoming.function, incoming.bytes.len()), (service, 3, 19));
    }
}

#[test]
fn several_names_in_the_group_header() {
    let message = &client_samples()[0];
    let mut bytes = Vec::new();
    for number in [2u16, 3, 1] {
        bytes.extend(number.to_ne_bytes());
    }
    bytes.extend(b"ykda");
    bytes.extend(&message.bytes[5..]);
    assert_eq!(decode_all(&bytes, Order::NATIVE).as_ref(), Some(&message.value));
}

/// The old downlist is checked and then ignored, as in the original.
#[test]
fn old_downlists() {
    let mut message = vec![0; 1560];
    assert_eq!(cpg::wire::decode(4, &message, Order::NATIVE), Ok(None));
    message[16..20].copy_from_slice(&385u32.to_ne_bytes());
    assert!(cpg::wire::decode(4, &message, Order::NATIVE).is_err());
    assert!(cpg::wire::decode(4, &message[..1559], Order::NATIVE).is_err());
}

/// Overwrites a number in the message behind a group header of 5 or 8 bytes.
fn with_u32(mut bytes: Vec<u8>, at: usize, value: usize) -> Vec<u8> {
    bytes[at..at + 4].copy_from_slice(&u32::try_from(value).expect("small").to_ne_bytes());
    bytes
}

#[test]
fn counts_at_their_limits() {
    let left = (1..=NODES_MAX as u32).map(NodeId).collect();
    let full = Downlist { old_members: 384, left };
    let mut bytes = Vec::new();
    cpg::wire::encode_downlist(&full, &mut bytes);
    assert_eq!(decode_all(&bytes, Order::NATIVE), Some(Any::Cpg(Exec::Downlist(full))));
    let fault = |bytes: &[u8]| cpg::wire::decode(5, &bytes[5..], Order::NATIVE).map_err(|error| error.fault);
    assert_eq!(fault(&with_u32(bytes.clone(), 5 + 24, NODES_MAX + 1)), Err(Fault::TooMany));
    assert_eq!(fault(&with_u32(bytes, 5 + 24, u32::MAX as usize)), Err(Fault::TooMany));

    let services: Vec<u32> = (0..sync_wire::SERVICES_MAX as u32).collect();
    let build = SyncMessage::Build { ring: ring(), services };
    let mut bytes = Vec::new();
    build.encode(&mut bytes);
    assert_eq!(bytes.len(), 8 + sync_wire::BUILD_SIZE);
    assert_eq!(decode_all(&bytes, Order::NATIVE), Some(Any::Sync(build)));
    let fault = |bytes: &[u8]| SyncMessage::decode(bytes, Order::NATIVE).map_err(|error| error.fault);
    assert_eq!(fault(&with_u32(bytes.clone(), 8 + 32, 65)), Err(Fault::TooMany));
    assert_eq!(fault(&with_u32(bytes, 8 + 40, 64)), Err(Fault::Value), "the original would read beyond its table");
}

/// A later version of our own message: longer, with flags we do not know; and one that says we
/// cannot understand it.
#[test]
fn capabilities_of_later_versions() {
    let mut bytes = Vec::new();
    let capability = Capability { version: 9, flags: u64::MAX, ring: ring(), window: 50, max_messages: 17 };
    capability.encode(&mut bytes);
    bytes.extend([0x77; 100]);
    let bytes = with_u32(with_u32(bytes, 5 + 8, 156), 5 + 16, 9);
    assert_eq!(decode_all(&bytes, Order::NATIVE), Some(Any::Capability(capability)));
    let unlike = with_u32(bytes.clone(), 5 + 20, 2);
    assert_eq!(Capability::decode(1, &unlike[5..], Order::NATIVE), Ok(None));
    assert_eq!(Capability::decode(2, &bytes[5..], Order::NATIVE), Ok(None));
}

/// Items beside the version of the configuration are passed over; their bounds are not trusted.
#[test]
fn items_of_cmap() {
    let version = ConfigVersion { reason: Reason::Sync, version: Some(5) };
    let mut bytes = Vec::new();
    version.encode(&mut bytes);
    let item = bytes[5 + 48..].to_vec();
    let mut other = item.clone();
    other[8] = b'T';
    other[272..280].copy_from_slice(&3u64.to_ne_bytes());
    let mut message = bytes[5..5 + 48].to_vec();
    message[24] = 2;
    message.extend(other.iter().chain(&item));
    assert_eq!(ConfigVersion::decode(0, &message, Order::NATIVE), Ok(Some(version)));
    message[48 + 272..48 + 280].fill(0xff);
    assert!(ConfigVersion::decode(0, &message, Order::NATIVE).is_err());
    message[24] = 0;
    let nothing = ConfigVersion { version: None, ..version };
    assert_eq!(ConfigVersion::decode(0, &message, Order::NATIVE), Ok(Some(nothing)));
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
    fn hostile_bytes(bytes in vec(any::<u8>(), 0..700), function in 0u32..8) {
        for order in [Order::Little, Order::Big] {
            decode_all(&bytes, order);
            let _ = cpg::wire::decode(function, &bytes, order).is_ok();
            let _ = evs::wire::decode(0, &bytes, order).is_ok();
            let _ = ConfigVersion::decode(0, &bytes, order).is_ok();
            let _ = Capability::decode(1, &bytes, order).is_ok();
        }
    }

    #[test]
    fn near_misses(pick in 0usize..12, at in any::<prop::sample::Index>(), value in any::<u8>()) {
        let mut bytes = samples().swap_remove(pick).bytes;
        let at = at.index(bytes.len());
        bytes[at] = value;
        decode_all(&bytes, Order::NATIVE);
        decode_all(&bytes, OTHER);
    }

    #[test]
    fn lists_of_any_length(processes in vec((any::<u32>(), vec(any::<u8>(), 0..=128)), 0..40)) {
        let processes: Vec<(u32, GroupName)> = processes
            .into_iter()
            .map(|(pid, name)| (pid, GroupName::new(&name).expect("short enough")))
            .collect();
        let mut bytes = Vec::new();
        cpg::wire::encode_joinlist(&processes, &mut bytes);
        prop_assert_eq!(decode_all(&bytes, Order::NATIVE), Some(Any::Cpg(Exec::Joinlist(processes))));
    }
}
