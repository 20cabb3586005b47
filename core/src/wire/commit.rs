//! The commit token (type 4), offsets from the start of the frame.
//!
//! | offset | width | field |
//! |---|---|---|
//! | 0 | 13 | header; its node is who sent this hop |
//! | 13 | 4 | token seq: hops |
//! | 17 | 12 | id of the new ring |
//! | 29 | 4 | retransmit flag, not used |
//! | 33 | 4 | number of entries that are filled in |
//! | 37 | 4 | number n of members, 1 to 384 |
//! | 41 | 4n | the members, ascending |
//! | 41+4n | 24n | their entries: previous ring id 12, aru 4, high delivered 4, received flag 4 |
//!
//! The original does not convert an entry whose previous ring has the representative 0 when the
//! frame comes from a machine of the other byte order (nobody has filled it in yet); the same
//! here. Bytes behind the entries are passed over.

use super::cursor::{DecodeError, Fault, Order, Reader, Writer};
use super::frame::{read_nodes, read_ring, write_nodes, write_ring, FrameHeader, FrameType, HEADER, RING_ID};
use super::join::NODES_MAX;
use crate::ids::{NodeId, RingId};
use crate::seq::Seq;

/// Size of a commit token without members.
pub const COMMIT: usize = 41;
/// Size of an entry.
pub const COMMIT_ENTRY: usize = RING_ID + 3 * 4;
const _: () = assert!(HEADER + RING_ID + 4 * 4 == COMMIT);

/// Agreement on a ring: its id, its members, and what they bring along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitToken {
    /// Hops so far.
    pub token_seq: Seq,
    /// The new ring.
    pub ring: RingId,
    /// Not used.
    pub retrans: u32,
    /// How many entries are filled in.
    pub memb_index: u32,
    /// Members, 1 to [`NODES_MAX`] of them.
    pub addrs: Vec<NodeId>,
    /// One for each member.
    pub entries: Vec<CommitEntry>,
}

/// What a member brings along from its previous ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitEntry {
    /// The previous ring.
    pub ring: RingId,
    /// It had all frames of that ring up to here.
    pub aru: Seq,
    /// It delivered all up to here.
    pub high_delivered: Seq,
    /// Not 0 if it misses nothing that others of that ring have.
    pub received: u32,
}

impl CommitToken {
    /// Appends the frame of this hop.
    pub fn encode(&self, from: NodeId, target: NodeId, order: Order, out: &mut Vec<u8>) {
        debug_assert!(self.addrs.len() == self.entries.len() && self.addrs.len() <= NODES_MAX);
        out.reserve(COMMIT + (4 + COMMIT_ENTRY) * self.addrs.len());
        FrameHeader { order, kind: FrameType::CommitToken, encapsulated: 0, node: from, target }.encode(out);
        let mut writer = Writer::new(out, order);
        writer.u32(self.token_seq.0);
        write_ring(&mut writer, self.ring);
        writer.u32(self.retrans);
        writer.u32(self.memb_index);
        writer.count(self.addrs.len());
        write_nodes(&mut writer, &self.addrs);
        for entry in &self.entries {
            write_ring(&mut writer, entry.ring);
            writer.u32(entry.aru.0);
            writer.u32(entry.high_delivered.0);
            writer.u32(entry.received);
        }
    }

    /// Reads a frame whose common header was read already.
    pub fn decode(bytes: &[u8], order: Order) -> Result<CommitToken, DecodeError> {
        let mut reader = Reader::new(bytes, order);
        reader.skip(HEADER, "header")?;
        let token_seq = Seq(reader.u32("token_seq")?);
        let ring = read_ring(&mut reader)?;
        let retrans = reader.u32("retrans_flg")?;
        let at_index = reader.clone();
        let memb_index = reader.u32("memb_index")?;
        let at_count = reader.clone();
        let count = reader.count(4 + COMMIT_ENTRY, NODES_MAX, "addr_entries")?;
        if count == 0 {
            return Err(at_count.error("addr_entries", Fault::Value));
        }
        if memb_index as usize > count {
            return Err(at_index.error("memb_index", Fault::TooMany));
        }
        let addrs = read_nodes(&mut reader, count, "addr")?;
        let mut entries = Vec::with_capacity(count);
        for _ in 0..count {
            entries.push(CommitEntry::decode(reader.take(COMMIT_ENTRY, "memb_list")?, order)?);
        }
        Ok(CommitToken { token_seq, ring, retrans, memb_index, addrs, entries })
    }
}

impl CommitEntry {
    fn decode(bytes: &[u8], order: Order) -> Result<CommitEntry, DecodeError> {
        let is_empty = Reader::new(bytes, order).u32("memb_list.ring_id")? == 0;
        let mut reader = Reader::new(bytes, if is_empty { Order::NATIVE } else { order });
        let ring = read_ring(&mut reader)?;
        let aru = Seq(reader.u32("memb_list.aru")?);
        let high_delivered = Seq(reader.u32("memb_list.high_delivered")?);
        Ok(CommitEntry { ring, aru, high_delivered, received: reader.u32("memb_list.received_flg")? })
    }
}
