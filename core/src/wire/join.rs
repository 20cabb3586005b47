//! The join and the leave (type 3), offsets from the start of the frame.
//!
//! | offset | width | field |
//! |---|---|---|
//! | 0 | 13 | header; its node is the sender, 0 in a leave |
//! | 13 | 4 | the sender |
//! | 17 | 4 | number p of nodes in the processor list, at most 384 |
//! | 21 | 4 | number f of nodes in the failed list, at most 384 |
//! | 25 | 8 | number of the sender's ring |
//! | 33 | 4p | processor list, in no order that means anything |
//! | 33+4p | 4f | failed list |
//!
//! Bytes behind the lists are passed over, as the original does.

use super::cursor::{DecodeError, Fault, Order, Reader, Writer};
use super::frame::{read_nodes, write_nodes, FrameHeader, FrameType, HEADER};
use crate::ids::NodeId;

/// Most nodes on a ring, and in any list of a frame.
pub const NODES_MAX: usize = 384;
/// Size of a join with empty lists.
pub const JOIN: usize = 33;
const _: () = assert!(HEADER + 3 * 4 + 8 == JOIN);

/// The wish of a node to form a ring with others, or its farewell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    /// Who sent it.
    pub from: NodeId,
    /// Whether the sender leaves; it is in its own failed list then, and not in `proc`.
    pub leaves: bool,
    /// Nodes that the sender knows of.
    pub proc: Vec<NodeId>,
    /// Those among them that it holds for failed.
    pub failed: Vec<NodeId>,
    /// Number of the sender's ring.
    pub ring_seq: u64,
}

impl Join {
    /// Appends the frame, addressed to all.
    pub fn encode(&self, order: Order, out: &mut Vec<u8>) {
        debug_assert!(self.proc.len() <= NODES_MAX && self.failed.len() <= NODES_MAX);
        out.reserve(JOIN + 4 * (self.proc.len() + self.failed.len()));
        let node = if self.leaves { NodeId(0) } else { self.from };
        FrameHeader { order, kind: FrameType::Join, encapsulated: 0, node, target: NodeId(0) }.encode(out);
        let mut writer = Writer::new(out, order);
        writer.u32(self.from.0);
        writer.count(self.proc.len());
        writer.count(self.failed.len());
        writer.u64(self.ring_seq);
        write_nodes(&mut writer, &self.proc);
        write_nodes(&mut writer, &self.failed);
    }

    /// Reads a frame.
    pub fn decode(bytes: &[u8], order: Order) -> Result<Join, DecodeError> {
        let leaves = FrameHeader::decode(bytes)?.node == NodeId(0);
        let mut reader = Reader::new(bytes, order);
        reader.skip(HEADER, "header")?;
        let from = NodeId(reader.u32("system_from")?);
        let mut counts = [0; 2];
        for (count, field) in counts.iter_mut().zip(["proc_list_entries", "failed_list_entries"]) {
            let at_count = reader.clone();
            *count = reader.u32(field)? as usize;
            if *count > NODES_MAX {
                return Err(at_count.error(field, Fault::TooMany));
            }
        }
        let ring_seq = reader.u64("ring_seq")?;
        let proc = read_nodes(&mut reader, counts[0], "proc_list")?;
        let failed = read_nodes(&mut reader, counts[1], "failed_list")?;
        Ok(Join { from, leaves, proc, failed, ring_seq })
    }
}
