//! Frames captured from the original: each decodes to what is written beside it, and encodes
//! back to the same bytes, down to the messages of the services in it. Damaged frames are
//! refused or mean something else, but never panic.

mod annotation;
mod describe;
mod node;

use std::collections::BTreeMap;

use annotation::{Golden, Value};
use describe::Described;
use evensong_core::ids::{NodeId, RingId};
use evensong_core::pack::{check_mcast, Assembler, Packed, Packer, Piece};
use evensong_core::service::cmap::wire::ConfigVersion;
use evensong_core::service::cpg::wire::Exec;
use evensong_core::service::sync_wire::SyncMessage;
use evensong_core::service::{cpg, wire};
use evensong_core::wire::frame::{FrameHeader, FrameType, Mcast, MCAST_HEADER, RECOVERY};
use proptest::prelude::*;

/// Payload of a frame at the default MTU of the original.
const PAYLOAD: usize = 1410;

/// Compares what the annotation covers.
fn assert_same(name: &str, again: &[u8], bytes: &[u8], covered: &[bool]) {
    assert_eq!(again.len(), bytes.len(), "{name}: length");
    for (at, compared) in covered.iter().enumerate() {
        assert!(!compared || again[at] == bytes[at], "{name}: byte {at} is {:#x}, not {:#x}", again[at], bytes[at]);
    }
}

#[test]
fn every_frame_decodes_to_its_annotation() {
    let all = annotation::all();
    assert_eq!(all.len(), 167);
    for golden in all.values() {
        let described = Described::frame(&golden.bytes).unwrap_or_else(|error| panic!("{}: {error}", golden.name));
        assert_eq!(described.fields, golden.fields, "{}", golden.name);
    }
}

#[test]
fn every_frame_is_encoded_back() {
    let (mut compared, mut all) = (0, 0);
    for golden in annotation::all().values() {
        let described = Described::frame(&golden.bytes).expect("see the test before");
        assert_same(&golden.name, &described.again, &golden.bytes, &golden.covered);
        compared += golden.covered.iter().filter(|covered| **covered).count();
        all += golden.bytes.len();
    }
    assert!(compared * 2 > all, "only {compared} of {all} bytes are compared");
}

/// The multicast frames among the captures, recovery copies unwrapped.
fn mcasts(all: &BTreeMap<String, Golden>) -> Vec<(&Golden, FrameHeader, Mcast, &[u8])> {
    let mut out = Vec::new();
    for golden in all.values() {
        let mut bytes = &golden.bytes[..];
        let header = FrameHeader::decode(bytes).expect("sound");
        if header.kind != FrameType::Mcast {
            continue;
        }
        let mut mcast = Mcast::decode(bytes, header.order).expect("sound");
        if mcast.encapsulated == RECOVERY {
            bytes = &bytes[MCAST_HEADER..];
            mcast = Mcast::decode(bytes, header.order).expect("sound");
        }
        out.push((golden, header, mcast, &bytes[MCAST_HEADER..]));
    }
    out
}

/// Every message that ends in a captured frame and began in other captured ones is put together,
/// compared with its annotation, and packed again: into the same frames, if it has them for
/// itself.
#[test]
fn messages_in_several_frames() {
    let all = annotation::all();
    let mcasts = mcasts(&all);
    let by_number: BTreeMap<(NodeId, RingId, u32), &[u8]> =
        mcasts.iter().map(|(_, _, mcast, payload)| ((mcast.from, mcast.ring, mcast.sent), *payload)).collect();
    let mut seen = Vec::new();
    for (golden, header, mcast, payload) in &mcasts {
        let Some(chain) = chain_that_ends_in(payload, mcast, header, &by_number) else { continue };
        let mut assembler = Assembler::default();
        let mut messages = Vec::new();
        for payload in &chain {
            messages = assembler.take(payload, header.order).expect("sound").messages;
        }
        let Some(Piece::Joined(message)) = messages.first() else { panic!("{}: not put together", golden.name) };
        let described = Described::whole_message(message, mcast.from, *header).expect("sound");
        if !golden.joined.is_empty() {
            assert_eq!(described.fields, golden.joined, "{}", golden.name);
            assert_same(&golden.name, &described.again, message, &golden.joined_covered);
        }
        let pieces: usize =
            chain.iter().map(|payload| Packed::decode(payload, header.order).expect("sound").count()).sum();
        if pieces == chain.len() {
            assert_eq!(pack(&[message]), chain, "{}", golden.name);
        }
        seen.push(golden.name.as_str());
    }
    for name in ["seq_cpg5000-4_of_4", "seq_downlist-2_of_2"] {
        assert!(seen.contains(&name), "{name}");
    }
    assert!(seen.len() >= 8, "only {seen:?}");
}

/// The payloads of a chain whose last frame this is, if all of them were captured.
fn chain_that_ends_in<'a>(
    payload: &'a [u8],
    mcast: &Mcast,
    header: &FrameHeader,
    by_number: &BTreeMap<(NodeId, RingId, u32), &'a [u8]>,
) -> Option<Vec<&'a [u8]>> {
    let mut chain = vec![payload];
    let mut packed = Packed::decode(payload, header.order).expect("sound");
    if packed.continuation == 0 || packed.count() == 1 && packed.fragmented != 0 {
        return None;
    }
    for back in 1.. {
        let before = by_number.get(&(mcast.from, mcast.ring, mcast.sent.wrapping_sub(back)))?;
        let continuation = packed.continuation;
        packed = Packed::decode(before, header.order).expect("sound");
        assert_eq!(packed.fragmented, continuation);
        chain.insert(0, before);
        if packed.continuation == 0 || packed.count() > 1 {
            break;
        }
    }
    Some(chain)
}

fn pack(messages: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut payloads = Vec::new();
    let mut packer = Packer::new(PAYLOAD, 0);
    for message in messages {
        packer.push(&[message], |payload| payloads.push(payload));
    }
    packer.flush(|payload| payloads.push(payload));
    payloads
}

/// Frames of whole messages are packed again by our packer into the same payload.
#[test]
fn whole_messages_are_packed_alike() {
    let all = annotation::all();
    let mut seen = 0;
    for (golden, header, _, payload) in mcasts(&all) {
        let packed = Packed::decode(payload, header.order).expect("sound");
        if packed.continuation != 0 || packed.fragmented != 0 {
            continue;
        }
        let messages: Vec<&[u8]> = packed.ranges().map(|range| &payload[range]).collect();
        assert_eq!(pack(&messages), [payload], "{}", golden.name);
        seen += 1;
    }
    assert!(seen > 80, "{seen}");
}

/// Long messages of the captures carry running letters.
#[test]
fn data_of_a_message_in_four_frames() {
    let all = annotation::all();
    let mut assembler = Assembler::default();
    let mut messages = Vec::new();
    for (golden, header, _, payload) in mcasts(&all) {
        if golden.name.starts_with("seq_cpg5000") {
            messages.extend(
                assembler.take(payload, header.order).expect("sound").messages.into_iter().map(|piece| (header, piece)),
            );
        }
    }
    let [(header, Piece::Joined(message))] = &messages[..] else { panic!("one message expected") };
    let incoming = wire::decode(message, header.order).expect("sound").expect("for group a");
    let exec = cpg::wire::decode(incoming.function, incoming.bytes, header.order).expect("sound");
    let Some(Exec::Mcast { data, .. }) = exec else { panic!("a cpg message expected") };
    let expected: Vec<u8> = (0..5000u32).map(|at| b'a' + (at % 26) as u8).collect();
    assert_eq!(&incoming.bytes[data], expected);
}

/// Hostile input of case B79: every truncation of every recorded frame is refused.
#[test]
fn b79_every_truncation_of_every_frame() {
    for golden in annotation::all().values() {
        for len in 0..golden.bytes.len() {
            let cut = &golden.bytes[..len];
            assert!(Described::frame(cut).is_err(), "{} cut to {len}", golden.name);
            assert!(check_mcast(cut).is_err());
        }
        let is_mcast = golden.bytes[3] == FrameType::Mcast as u8;
        assert_eq!(check_mcast(&golden.bytes).is_ok(), is_mcast);
    }
}

/// Case B79: joins whose counts wrapped to nothing when added, or are just above the limit.
#[test]
fn b79_joins_with_counts_of_no_sense() {
    let all = annotation::all();
    let half = 0x8000_0000u32;
    for golden in all.values().filter(|golden| golden.bytes[3] == FrameType::Join as u8) {
        for counts in [(half, half), (u32::MAX, 1), (1, u32::MAX), (385, 0), (0, 385)] {
            let mut bytes = golden.bytes.clone();
            bytes[17..21].copy_from_slice(&counts.0.to_le_bytes());
            bytes[21..25].copy_from_slice(&counts.1.to_le_bytes());
            for len in [bytes.len(), 1500, 60_000] {
                bytes.resize(len, 0);
                assert!(Described::frame(&bytes).is_err(), "{counts:?} in {len} bytes");
            }
        }
    }
}

/// Case B79: commit tokens of every length, with member counts and indexes of no sense.
#[test]
fn b79_commit_tokens_of_every_length() {
    let all = annotation::all();
    for golden in all.values().filter(|golden| golden.bytes[3] == FrameType::CommitToken as u8) {
        let members = golden.fields.iter().find(|line| line.field == "addr_entries").map(|line| &line.value);
        let Some(&Value::Number(members)) = members else { panic!("a commit token has members") };
        for (count, index) in [(0, 0), (1, 2), (385, 0), (u32::MAX, 0), (members as u32, members as u32 + 1)] {
            let mut bytes = golden.bytes.clone();
            bytes[33..37].copy_from_slice(&index.to_le_bytes());
            bytes[37..41].copy_from_slice(&count.to_le_bytes());
            for len in 0..=bytes.len() {
                assert!(Described::frame(&bytes[..len]).is_err(), "{count} members, index {index}, {len} bytes");
            }
            bytes.resize(60_000, 0);
            assert!(Described::frame(&bytes).is_err(), "{count} members, index {index}");
        }
    }
}

proptest! {
    /// One byte of a recorded frame is changed: whatever it means then, nothing panics.
    #[test]
    fn near_misses(pick in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), value in any::<u8>()) {
        thread_local!(static ALL: BTreeMap<String, Golden> = annotation::all());
        ALL.with(|all| {
            let golden = all.values().nth(pick.index(all.len())).expect("not empty");
            let mut bytes = golden.bytes.clone();
            let at = at.index(bytes.len());
            bytes[at] = value;
            touch(&bytes);
        });
    }
}

/// Runs all decoders that a frame from the network meets.
fn touch(bytes: &[u8]) {
    let Ok(header) = FrameHeader::decode(bytes) else { return };
    let _ = check_mcast(bytes).is_ok();
    if header.kind != FrameType::Mcast {
        let _ = Described::frame(bytes).is_ok();
        return;
    }
    let mut payload = &bytes[MCAST_HEADER.min(bytes.len())..];
    if header.encapsulated == RECOVERY {
        payload = &payload[MCAST_HEADER.min(payload.len())..];
    }
    let Ok(unpacked) = Assembler::default().take(payload, header.order) else { return };
    for piece in unpacked.messages {
        let message = match &piece {
            Piece::Inside(range) => &payload[range.clone()],
            Piece::Joined(bytes) => bytes,
        };
        let _ = SyncMessage::decode(message, header.order).is_ok();
        let Ok(Some(incoming)) = wire::decode(message, header.order) else { continue };
        let _ = cpg::wire::decode(incoming.function, incoming.bytes, header.order).is_ok();
        let _ = ConfigVersion::decode(incoming.function, incoming.bytes, header.order).is_ok();
    }
}
