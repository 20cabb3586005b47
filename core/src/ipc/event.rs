//! Events: what the daemon writes into the event ring, and what client libraries dispatch.
//!
//! | kind | flags | a | b | body |
//! |---|---|---|---|---|
//! | `CPG_DELIVER` | | node | pid | message |
//! | `CPG_PARTIAL_DELIVER` | part | node | pid | prefix (16 bytes: total length u32, zeros), piece |
//! | `CPG_CONFCHG` | | | | name; counts of members, left, joined u32 each; the lists (node, pid, reason) |
//! | `CPG_TOTEM_CONFCHG`, `EVS_CONFCHG` | | | | transitional u32, representative u32, ring seq u64, counts of members, left, joined, 0 u32 each; the lists (node) |
//! | `EVS_DELIVER` | | node | | message |
//!
//! A cpg handle is in one group at a time, so deliveries do not repeat its name: it is that of
//! the configuration change consumed last.

use super::fields;
use super::layout::RecordHeader;
use crate::ids::{NodeId, RingId};
use crate::input::Part;
use crate::output::{CpgConfchg, TotemConfchg};
use crate::wire::cursor::{DecodeError, Fault, Order, Reader, Writer};

/// Kinds of events.
#[allow(missing_docs)]
pub mod kind {
    pub const CPG_DELIVER: u16 = 0x0281;
    pub const CPG_PARTIAL_DELIVER: u16 = 0x0282;
    pub const CPG_CONFCHG: u16 = 0x0283;
    pub const CPG_TOTEM_CONFCHG: u16 = 0x0284;
    pub const EVS_DELIVER: u16 = 0x1481;
    pub const EVS_CONFCHG: u16 = 0x1482;
}

/// Most members that a list of processes shows (`CPG_MEMBERS_MAX`).
pub const CPG_MEMBERS_MAX: usize = 128;
/// Most nodes of a ring (`PROCESSOR_COUNT_MAX`).
pub const NODES_MAX: usize = 384;
/// Bytes before the piece in the body of `CPG_PARTIAL_DELIVER`.
pub const PARTIAL_PREFIX: usize = 16;

/// Header of a `CPG_DELIVER` record.
pub fn cpg_deliver(node: NodeId, pid: u32, len: u32) -> RecordHeader {
    RecordHeader { len, kind: kind::CPG_DELIVER, flags: 0, a: node.0, b: pid }
}

/// Header of a `CPG_PARTIAL_DELIVER` record with a piece of `len` bytes.
pub fn cpg_partial_deliver(node: NodeId, pid: u32, part: Part, len: u32) -> RecordHeader {
    let flags = u16::from(part as u8);
    RecordHeader { len: len + PARTIAL_PREFIX as u32, kind: kind::CPG_PARTIAL_DELIVER, flags, a: node.0, b: pid }
}

/// Header of an `EVS_DELIVER` record.
pub fn evs_deliver(node: NodeId, len: u32) -> RecordHeader {
    RecordHeader { len, kind: kind::EVS_DELIVER, flags: 0, a: node.0, b: 0 }
}

/// The bytes before the piece of a partial delivery.
pub fn partial_prefix(total: u32) -> [u8; PARTIAL_PREFIX] {
    let mut out = [0; PARTIAL_PREFIX];
    out[..4].copy_from_slice(&total.to_ne_bytes());
    out
}

/// Reads the length of the whole message out of the body of a partial delivery, and which
/// piece it is out of the record's flags.
pub fn decode_partial(flags: u16, body: &[u8]) -> Result<(Part, u32), DecodeError> {
    let mut reader = Reader::new(body, Order::NATIVE);
    let part = super::request::part(flags).ok_or(reader.error("part", Fault::Value))?;
    let total = reader.u32("total length")?;
    reader.skip(PARTIAL_PREFIX - 4, "filler")?;
    Ok((part, total))
}

/// Appends the body of a `CPG_CONFCHG`.
pub fn encode_cpg_confchg(change: &CpgConfchg, out: &mut Vec<u8>) {
    let mut writer = Writer::new(out, Order::NATIVE);
    fields::write_name(&mut writer, &change.group);
    for list in [&change.members, &change.left, &change.joined] {
        writer.count(list.len());
    }
    for list in [&change.members, &change.left, &change.joined] {
        fields::write_members(&mut writer, list);
    }
}

/// Reads the body of a `CPG_CONFCHG`.
pub fn decode_cpg_confchg(body: &[u8]) -> Result<CpgConfchg, DecodeError> {
    let mut reader = Reader::new(body, Order::NATIVE);
    let group = fields::read_name(&mut reader)?;
    let members = fields::read_count(&mut reader, CPG_MEMBERS_MAX, "number of members")?;
    let left = fields::read_count(&mut reader, CPG_MEMBERS_MAX, "number of those who left")?;
    let joined = fields::read_count(&mut reader, CPG_MEMBERS_MAX, "number of those who joined")?;
    let members = fields::read_members(&mut reader, members)?;
    let left = fields::read_members(&mut reader, left)?;
    let joined = fields::read_members(&mut reader, joined)?;
    reader.finish("configuration change")?;
    Ok(CpgConfchg { group, members, left, joined })
}

/// Appends the body of a `CPG_TOTEM_CONFCHG`.
pub fn encode_totem_confchg(change: &TotemConfchg, out: &mut Vec<u8>) {
    let mut writer = Writer::new(out, Order::NATIVE);
    writer.u32(u32::from(change.transitional));
    writer.u32(change.ring.rep.0);
    writer.u64(change.ring.seq);
    for list in [&change.members, &change.left, &change.joined] {
        writer.count(list.len());
    }
    writer.u32(0);
    for list in [&change.members, &change.left, &change.joined] {
        fields::write_nodes(&mut writer, list);
    }
}

/// Reads the body of a `CPG_TOTEM_CONFCHG`.
pub fn decode_totem_confchg(body: &[u8]) -> Result<TotemConfchg, DecodeError> {
    let mut reader = Reader::new(body, Order::NATIVE);
    let bad = reader.error("transitional", Fault::Value);
    let transitional = match reader.u32("transitional")? {
        0 => false,
        1 => true,
        _ => return Err(bad),
    };
    let ring = RingId { rep: NodeId(reader.u32("representative")?), seq: reader.u64("ring sequence number")? };
    let members = fields::read_count(&mut reader, NODES_MAX, "number of members")?;
    let left = fields::read_count(&mut reader, NODES_MAX, "number of those who left")?;
    let joined = fields::read_count(&mut reader, NODES_MAX, "number of those who joined")?;
    reader.skip(4, "filler")?;
    let members = fields::read_nodes(&mut reader, members)?;
    let left = fields::read_nodes(&mut reader, left)?;
    let joined = fields::read_nodes(&mut reader, joined)?;
    reader.finish("configuration change")?;
    Ok(TotemConfchg { transitional, ring, members, left, joined })
}

/// Appends the body of an `EVS_CONFCHG`: the same as that of a `CPG_TOTEM_CONFCHG`.
pub fn encode_evs_confchg(change: &TotemConfchg, out: &mut Vec<u8>) {
    encode_totem_confchg(change, out);
}

/// Reads the body of an `EVS_CONFCHG`.
pub fn decode_evs_confchg(body: &[u8]) -> Result<TotemConfchg, DecodeError> {
    decode_totem_confchg(body)
}
