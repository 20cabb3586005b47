//! Round trips through both halves, loss in the middle of chains, hostile bytes.

use proptest::prelude::*;

use super::*;
use crate::wire::cursor::Order;

fn bytes_of(piece: Piece, payload: &[u8]) -> Vec<u8> {
    match piece {
        Piece::Inside(range) => payload[range].to_vec(),
        Piece::Joined(bytes) => bytes,
    }
}

fn pack(limit: usize, messages: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut payloads = Vec::new();
    let mut packer = Packer::new(limit, 0);
    for message in messages {
        let (head, tail) = message.split_at(message.len() / 3);
        packer.push(&[head, &[], tail], |payload| payloads.push(payload));
    }
    packer.flush(|payload| payloads.push(payload));
    assert!(packer.is_empty());
    payloads
}

fn unpack(assembler: &mut Assembler, payloads: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    for payload in payloads {
        let unpacked = assembler.take(payload, Order::NATIVE).expect("what was packed can be unpacked");
        out.extend(unpacked.messages.into_iter().map(|piece| bytes_of(piece, payload)));
    }
    out
}

fn messages() -> impl Strategy<Value = Vec<Vec<u8>>> {
    proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..2000), 1..20)
}

proptest! {
    #[test]
    fn round_trip(limit in 64usize..1500, messages in messages()) {
        let payloads = pack(limit, &messages);
        prop_assert!(payloads.iter().all(|payload| payload.len() <= limit));
        prop_assert_eq!(unpack(&mut Assembler::default(), &payloads), messages);
    }

    #[test]
    fn frames_are_counted_as_they_are_built(limit in 64usize..1500, len in 1usize..20_000) {
        let payloads = pack(limit, &[vec![7; len]]);
        prop_assert_eq!(payloads.len() as u32, frames_for(len as u64, limit));
    }

    /// Whatever frame is lost: what arrives is whole and in order, and afterwards everything
    /// arrives again.
    #[test]
    fn loss_never_makes_up_messages(limit in 64usize..300, messages in messages(), lost in any::<prop::sample::Index>()) {
        let mut payloads = pack(limit, &messages);
        payloads.remove(lost.index(payloads.len()));
        let mut assembler = Assembler::default();
        let out = unpack(&mut assembler, &payloads);
        let mut rest = messages.iter();
        for message in &out {
            prop_assert!(rest.any(|sent| sent == message));
        }
        let again = pack(limit, &messages);
        prop_assert_eq!(unpack(&mut assembler, &again), messages);
    }

    #[test]
    fn hostile_bytes(payloads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 0..20)) {
        let mut assembler = Assembler::default();
        for payload in payloads {
            let _ = assembler.take(&payload, Order::Big).map(|unpacked| unpacked.messages.len());
        }
    }

    #[test]
    fn near_misses(limit in 64usize..300, messages in messages(), at in any::<prop::sample::Index>(), value in any::<u8>()) {
        let mut assembler = Assembler::default();
        for mut payload in pack(limit, &messages) {
            let at = at.index(payload.len());
            payload[at] = value;
            let _ = assembler.take(&payload, Order::NATIVE).map(|unpacked| unpacked.messages.len());
        }
    }
}

#[test]
fn chains_longer_than_their_numbers() {
    let message = vec![9; 64 * 700];
    let payloads = pack(64, std::slice::from_ref(&message));
    assert!(payloads.len() > 600);
    assert_eq!(unpack(&mut Assembler::default(), &payloads), [message]);
}

#[test]
fn endless_chains_are_bounded() {
    let mut assembler = Assembler::default();
    let mut continuation = 0u8;
    for _ in 0..100 {
        let fragmented = continuation.checked_add(1).unwrap_or(1);
        let mut payload = vec![0, 0, 0, 0, fragmented, continuation, 1, 0];
        payload.extend(60_000u16.to_le_bytes());
        payload.resize(10 + 60_000, 1);
        assert_eq!(assembler.take(&payload, Order::Little).expect("well-formed").messages, []);
        continuation = fragmented;
    }
    let unpacked = assembler.take(&[0, 0, 0, 0, 0, continuation, 1, 0, 1, 0, 5], Order::Little).expect("well-formed");
    assert_eq!(unpacked, Unpacked { messages: vec![], discarded: true });
    let unpacked = assembler.take(&[0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 5], Order::Little).expect("well-formed");
    assert_eq!(unpacked.messages, [Piece::Inside(10..11)]);
}

#[test]
fn every_prefix_of_a_payload_is_refused() {
    let payloads = pack(200, &[vec![1; 20], vec![2; 30]]);
    for len in 0..payloads[0].len() {
        assert!(Assembler::default().take(&payloads[0][..len], Order::NATIVE).is_err());
    }
}

/// A frame, and copies of it within copies: whole is taken, any part of it is not.
#[test]
fn frames_cut_on_their_way() {
    use crate::ids::{NodeId, RingId};
    use crate::wire::frame::{Mcast, ORDINARY, RECOVERY};
    let mut frame = pack(200, &[vec![1; 20], vec![2; 30]]).swap_remove(0);
    for encapsulated in [ORDINARY, RECOVERY, RECOVERY] {
        let (from, seq, ring) = (NodeId(1), crate::seq::Seq(1), RingId::default());
        let mut bytes = Vec::new();
        Mcast { encapsulated, from, seq, sent: 0, ring, guarantee: 0 }.encode(Order::NATIVE, &mut bytes);
        bytes.extend(frame);
        frame = bytes;
        assert_eq!(check_mcast(&frame), Ok(()));
        for len in 0..frame.len() {
            assert!(check_mcast(&frame[..len]).is_err());
        }
    }
}
