//! What peers and files can send: any bytes through every decoder of frames and messages.
//!
//! Wrong is: a panic; a value that is another one after it was encoded and decoded again;
//! messages of a frame that lie outside of it or grow beyond the limit.

use evensong_core::ids::NodeId;
use evensong_core::pack::{Assembler, Piece, ASSEMBLY_MAX};
use evensong_core::record;
use evensong_core::service::{cpg, evs, wire};
use evensong_core::wire::commit::CommitToken;
use evensong_core::wire::cursor::Order;
use evensong_core::wire::frame::{self, FrameHeader, FrameType, Mcast, MCAST_HEADER};
use evensong_core::wire::join::Join;
use evensong_core::wire::token::Token;

/// Decodes `data` in all ways; says whether any of them took it.
pub fn run(data: &[u8]) -> bool {
    let mut taken = frame_of(data);
    for order in [Order::Little, Order::Big] {
        taken |= message_of(data, order);
        taken |= pieces_of(data, order);
    }
    taken | recording_of(data)
}

fn frame_of(data: &[u8]) -> bool {
    let Ok(header) = FrameHeader::decode(data) else { return false };
    let order = header.order;
    let mut again = Vec::new();
    match header.kind {
        FrameType::Token => {
            let Ok(token) = Token::decode(data, order) else { return false };
            token.encode(NodeId(1), NodeId(2), order, &mut again);
            assert_eq!(Token::decode(&again, order), Ok(token));
        }
        FrameType::Mcast => {
            let Ok(mcast) = Mcast::decode(data, order) else { return false };
            mcast.encode(order, &mut again);
            assert_eq!(again.len(), MCAST_HEADER);
            assert_eq!(Mcast::decode(&again, order), Ok(mcast));
            pieces_of(&data[MCAST_HEADER..], order);
        }
        FrameType::Join => {
            let Ok(join) = Join::decode(data, order) else { return false };
            join.encode(order, &mut again);
            // A sender without an id looks like one that leaves.
            if join.from != NodeId(0) {
                assert_eq!(Join::decode(&again, order), Ok(join));
            }
        }
        FrameType::CommitToken => {
            let Ok(token) = CommitToken::decode(data, order) else { return false };
            token.encode(NodeId(1), NodeId(2), order, &mut again);
            // Entries that nobody has filled in yet are in no order (see `CommitToken`).
            if order == Order::NATIVE {
                assert_eq!(CommitToken::decode(&again, order), Ok(token));
            }
        }
        FrameType::MergeDetect => return frame::decode_merge_detect(data, order).is_ok(),
        FrameType::HoldCancel => return frame::decode_hold_cancel(data, order).is_ok(),
    }
    true
}

fn message_of(data: &[u8], order: Order) -> bool {
    let Ok(Some(incoming)) = wire::decode(data, order) else { return false };
    assert!(incoming.offset + incoming.bytes.len() <= data.len(), "the message is not inside");
    // A message is decoded by the service that it names; here every service has its try.
    let as_cpg = cpg::wire::decode(incoming.function, incoming.bytes, order);
    let as_evs = evs::wire::decode(incoming.function, incoming.bytes, order);
    if let Ok(Some((_, range))) = &as_evs {
        assert!(range.end <= incoming.bytes.len(), "the payload is not inside");
    }
    as_cpg.is_ok() || as_evs.is_ok()
}

/// Two frames of one sender, cut out of the bytes at a place that they name.
fn pieces_of(data: &[u8], order: Order) -> bool {
    let Some((cut, rest)) = data.split_first() else { return false };
    let (first, second) = rest.split_at(usize::from(*cut).min(rest.len()));
    let mut assembler = Assembler::default();
    let mut taken = false;
    for payload in [first, second, first] {
        let Ok(unpacked) = assembler.take(payload, order) else { continue };
        taken = true;
        for piece in unpacked.messages {
            match piece {
                Piece::Inside(range) => assert!(range.end <= payload.len(), "the message is not inside"),
                Piece::Joined(bytes) => assert!(bytes.len() <= ASSEMBLY_MAX, "the message is too long"),
            }
        }
    }
    taken
}

/// A recording: what was read is written as the same bytes.
fn recording_of(data: &[u8]) -> bool {
    let Ok((input, len)) = record::read(data) else { return false };
    let mut again = Vec::new();
    record::write(&input, &mut again);
    assert_eq!(record::read(&again), Ok((input, again.len())));
    assert!(len <= data.len());
    true
}
