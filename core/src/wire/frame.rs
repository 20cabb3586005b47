//! Frames of the ring: the common header, multicast frames, merge detect, hold cancel. The
//! frames with lists have their own files.
//!
//! Header of every frame, packed, numbers in the sender's byte order:
//!
//! | offset | width | field |
//! |---|---|---|
//! | 0 | 2 | magic 0xC070; which way round it stands tells the sender's byte order |
//! | 2 | 1 | version, 3 |
//! | 3 | 1 | type |
//! | 4 | 1 | encapsulated: 2 = ordinary, 1 = recovery copy; 0 in other types than mcast |
//! | 5 | 4 | node id: originator of a mcast, else who sent the frame |
//! | 9 | 4 | target node id, 0 = all |
//!
//! Multicast (type 1) goes on: system_from u32 @13, seq u32 @17, frames ever sent by the
//! originator u32 @21, ring id (u32 representative, u64 number) @25, 0 u32 @37, guarantee
//! u32 @41, payload @45. Merge detect (type 2): system_from u32 @13, ring id @17; 29 in all.
//! Hold cancel (type 5): ring id @13; 25 in all. Receivers of the original compare its ring id
//! as bytes, so between machines of unlike byte order it never fits there; here it is converted.

use super::cursor::{DecodeError, Fault, Order, Reader, Writer};
use crate::ids::{NodeId, RingId};
use crate::seq::Seq;

const MAGIC: u16 = 0xc070;
const VERSION: u8 = 3;
/// Where `encapsulated` stands in the common header.
const ENCAPSULATED_AT: usize = 4;
/// Size of the common header.
pub const HEADER: usize = 13;
/// Size of a multicast frame's header.
pub const MCAST_HEADER: usize = 45;
/// Size of a merge detect frame.
pub const MERGE_DETECT: usize = 29;
/// Size of a hold cancel frame.
pub const HOLD_CANCEL: usize = 25;
/// Size of a ring id in frames.
pub const RING_ID: usize = 12;
const _: () = assert!(HEADER + 3 * 4 + RING_ID + 2 * 4 == MCAST_HEADER && HEADER + 4 + RING_ID == MERGE_DETECT);
const _: () = assert!(HEADER + RING_ID == HOLD_CANCEL);

/// Types of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameType {
    /// The token.
    Token = 0,
    /// Messages.
    Mcast = 1,
    /// Looks for other rings.
    MergeDetect = 2,
    /// Wish to form a ring.
    Join = 3,
    /// Agreement on a ring.
    CommitToken = 4,
    /// Asks the holder of the token to let it go.
    HoldCancel = 5,
}

/// The common header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Byte order of the sender.
    pub order: Order,
    /// Type of the frame.
    pub kind: FrameType,
    /// Encapsulated, see the module's head.
    pub encapsulated: u8,
    /// Originator or sender.
    pub node: NodeId,
    /// Who should get it, 0 for all. Over udp and udpu nobody may rely on it: the original
    /// leaves it to chance there.
    pub target: NodeId,
}

impl FrameHeader {
    /// Reads the header of any frame.
    pub fn decode(bytes: &[u8]) -> Result<FrameHeader, DecodeError> {
        let mut reader = Reader::new(bytes, Order::Little);
        let order = match reader.u16("magic")? {
            MAGIC => Order::Little,
            magic if magic == MAGIC.swap_bytes() => Order::Big,
            _ => return Err(DecodeError { field: "magic", offset: 0, fault: Fault::Value }),
        };
        let mut reader = Reader::new(bytes, order);
        reader.skip(2, "magic")?;
        let at_version = reader.clone();
        if reader.u8("version")? != VERSION {
            return Err(at_version.error("version", Fault::Value));
        }
        let at_type = reader.clone();
        let kind = match reader.u8("type")? {
            0 => FrameType::Token,
            1 => FrameType::Mcast,
            2 => FrameType::MergeDetect,
            3 => FrameType::Join,
            4 => FrameType::CommitToken,
            5 => FrameType::HoldCancel,
            _ => return Err(at_type.error("type", Fault::Value)),
        };
        let encapsulated = reader.u8("encapsulated")?;
        let node = NodeId(reader.u32("node id")?);
        let target = NodeId(reader.u32("target node id")?);
        Ok(FrameHeader { order, kind, encapsulated, node, target })
    }

    /// Appends the header.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out, self.order);
        writer.u16(MAGIC);
        writer.u8(VERSION);
        writer.u8(self.kind as u8);
        writer.u8(self.encapsulated);
        writer.u32(self.node.0);
        writer.u32(self.target.0);
    }
}

/// Value of `encapsulated` in an ordinary multicast frame.
pub const ORDINARY: u8 = 2;
/// Value of `encapsulated` in a recovery copy: the payload is a whole frame of an earlier ring.
pub const RECOVERY: u8 = 1;

/// Header of a multicast frame behind the common one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mcast {
    /// [`ORDINARY`] or [`RECOVERY`]; the original takes anything but 1 for ordinary.
    pub encapsulated: u8,
    /// Originator.
    pub from: NodeId,
    /// Number within the ring.
    pub seq: Seq,
    /// Frames the originator ever sent before this one.
    pub sent: u32,
    /// Ring that the frame was sent in.
    pub ring: RingId,
    /// Guarantee; receivers of the original ignore it, ours hold back a safe frame (3).
    pub guarantee: u32,
}

impl Mcast {
    /// Appends common and multicast header.
    pub fn encode(&self, order: Order, out: &mut Vec<u8>) {
        let encapsulated = self.encapsulated;
        FrameHeader { order, kind: FrameType::Mcast, encapsulated, node: self.from, target: NodeId(0) }.encode(out);
        let mut writer = Writer::new(out, order);
        writer.u32(self.from.0);
        writer.u32(self.seq.0);
        writer.u32(self.sent);
        write_ring(&mut writer, self.ring);
        writer.u32(0);
        writer.u32(self.guarantee);
    }

    /// Reads a frame whose common header was read already; the payload starts at [`MCAST_HEADER`].
    pub fn decode(bytes: &[u8], order: Order) -> Result<Mcast, DecodeError> {
        let mut reader = Reader::new(bytes, order);
        reader.skip(ENCAPSULATED_AT, "header")?;
        let encapsulated = reader.u8("encapsulated")?;
        reader.skip(HEADER - ENCAPSULATED_AT - 1, "header")?;
        let from = NodeId(reader.u32("system_from")?);
        let seq = Seq(reader.u32("seq")?);
        let sent = reader.u32("this_seqno")?;
        let ring = read_ring(&mut reader)?;
        reader.skip(4, "node_id")?;
        Ok(Mcast { encapsulated, from, seq, sent, ring, guarantee: reader.u32("guarantee")? })
    }
}

/// A whole merge detect frame.
pub fn merge_detect(from: NodeId, ring: RingId) -> Vec<u8> {
    let mut out = Vec::with_capacity(MERGE_DETECT);
    plain(FrameType::MergeDetect, from).encode(&mut out);
    let mut writer = Writer::new(&mut out, Order::NATIVE);
    writer.u32(from.0);
    write_ring(&mut writer, ring);
    out
}

/// Reads a merge detect frame: who sent it, on which ring.
pub fn decode_merge_detect(bytes: &[u8], order: Order) -> Result<(NodeId, RingId), DecodeError> {
    let mut reader = Reader::new(bytes, order);
    reader.skip(HEADER, "header")?;
    Ok((NodeId(reader.u32("system_from")?), read_ring(&mut reader)?))
}

/// A whole hold cancel frame.
pub fn hold_cancel(from: NodeId, ring: RingId) -> Vec<u8> {
    let mut out = Vec::with_capacity(HOLD_CANCEL);
    plain(FrameType::HoldCancel, from).encode(&mut out);
    write_ring(&mut Writer::new(&mut out, Order::NATIVE), ring);
    out
}

/// Reads the ring of a hold cancel frame.
pub fn decode_hold_cancel(bytes: &[u8], order: Order) -> Result<RingId, DecodeError> {
    let mut reader = Reader::new(bytes, order);
    reader.skip(HEADER, "header")?;
    read_ring(&mut reader)
}

/// Header of a frame to all, from this machine.
fn plain(kind: FrameType, node: NodeId) -> FrameHeader {
    FrameHeader { order: Order::NATIVE, kind, encapsulated: 0, node, target: NodeId(0) }
}

/// Appends a ring id, packed.
pub(crate) fn write_ring(writer: &mut Writer<'_>, ring: RingId) {
    writer.u32(ring.rep.0);
    writer.u64(ring.seq);
}

/// Reads a ring id, packed.
pub(crate) fn read_ring(reader: &mut Reader<'_>) -> Result<RingId, DecodeError> {
    Ok(RingId { rep: NodeId(reader.u32("ring id")?), seq: reader.u64("ring id")? })
}

/// Appends a list of nodes without its length.
pub(crate) fn write_nodes(writer: &mut Writer<'_>, nodes: &[NodeId]) {
    for node in nodes {
        writer.u32(node.0);
    }
}

/// Reads a list of so many nodes; nothing is allocated before all of it is known to be there.
pub(crate) fn read_nodes(
    reader: &mut Reader<'_>,
    count: usize,
    field: &'static str,
) -> Result<Vec<NodeId>, DecodeError> {
    let start = reader.clone();
    reader.skip(4 * count, field)?;
    let mut list = start;
    let mut nodes = Vec::with_capacity(count);
    for _ in 0..count {
        nodes.push(NodeId(list.u32(field)?));
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Mcast {
        let ring = RingId { rep: NodeId(1), seq: 48 };
        Mcast { encapsulated: ORDINARY, from: NodeId(1), seq: Seq(23), sent: 94, ring, guarantee: 0 }
    }

    #[test]
    fn round_trip_in_both_orders_and_every_prefix_refused() {
        for order in [Order::Little, Order::Big] {
            let mut bytes = Vec::new();
            sample().encode(order, &mut bytes);
            assert_eq!(bytes.len(), MCAST_HEADER);
            let header = FrameHeader::decode(&bytes).expect("a whole header");
            assert_eq!((header.order, header.kind, header.node), (order, FrameType::Mcast, NodeId(1)));
            assert_eq!(Mcast::decode(&bytes, order), Ok(sample()));
            for len in 0..bytes.len() {
                assert!(Mcast::decode(&bytes[..len], order).is_err());
                assert_eq!(FrameHeader::decode(&bytes[..len]).is_err(), len < HEADER);
            }
        }
    }

    /// Captured from corosync 3.1.7: seq 23 of ring 1:48.
    #[test]
    fn bytes_of_the_original() {
        let captured = [
            0x70, 0xc0, 0x03, 0x01, 0x02, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x17, 0, 0, 0, 0x5e, 0, 0, 0, 1, 0, 0, 0,
            0x30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        ];
        let mut bytes = Vec::new();
        sample().encode(Order::Little, &mut bytes);
        assert_eq!(bytes, captured);
    }

    #[test]
    fn merge_detect_and_hold_cancel() {
        let ring = RingId { rep: NodeId(1), seq: 48 };
        let (merge, cancel) = (merge_detect(NodeId(1), ring), hold_cancel(NodeId(1), ring));
        assert_eq!((merge.len(), cancel.len()), (MERGE_DETECT, HOLD_CANCEL));
        assert_eq!(decode_merge_detect(&merge, Order::NATIVE), Ok((NodeId(1), ring)));
        assert_eq!(decode_hold_cancel(&cancel, Order::NATIVE), Ok(ring));
        for len in 0..MERGE_DETECT {
            assert!(decode_merge_detect(&merge[..len], Order::NATIVE).is_err());
            assert!(len >= HOLD_CANCEL || decode_hold_cancel(&cancel[..len], Order::NATIVE).is_err());
        }
    }
}
