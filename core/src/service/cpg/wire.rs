//! Messages of the cpg service on the ring (service 2), offsets from the service header on.
//!
//! | function | size | layout |
//! |---|---|---|
//! | 0 procjoin, 1 procleave | 168 | name @16, pid u32 @152, reason u32 @160 |
//! | 2 joinlist | 24 + 144 n | error u32 @16, then entries: pid u32, padding, name |
//! | 3 mcast | 184 + n | name @16, n u32 @152, pid u32 @160, source @168, data @184 |
//! | 4 old downlist | 1560 | count u32 @16, nodes u32 × 384 @24; nobody acts on it |
//! | 5 downlist | 1568 | members before u32 @16, nodes left u32 @24, nodes u32 × 384 @32 |
//! | 6 partial mcast | 200 + n | name @16, total u32 @152, n u32 @160, pid u32 @168, part u32 @176, source @184, data @200 |
//!
//! Source: node u32, padding, connection u64. Receivers go by the frame's originator instead.

use std::ops::Range;

use crate::ids::{GroupName, NodeId};
use crate::input::Part;
use crate::service::wire::{begin, read_name, write_name, NAME, SERVICE_HEADER};
use crate::service::Membership;
use crate::wire::cursor::{DecodeError, Fault, Order, Reader, Writer};
use crate::wire::frame::{read_nodes, write_nodes};
use crate::wire::join::NODES_MAX;

/// Number of the service.
pub const SERVICE: u32 = 2;
const PROCJOIN: u32 = 0;
const PROCLEAVE: u32 = 1;
const JOINLIST: u32 = 2;
const MCAST: u32 = 3;
const OLD_DOWNLIST: u32 = 4;
const DOWNLIST: u32 = 5;
const PARTIAL: u32 = 6;

/// Size of a procjoin or procleave.
pub const MEMBERSHIP_SIZE: usize = 168;
/// Size of a mcast without its data.
pub const MCAST_SIZE: usize = 184;
/// Size of a partial mcast without its data.
pub const PARTIAL_SIZE: usize = 200;
const _: () = assert!(SERVICE_HEADER + NAME + 2 * 8 == MEMBERSHIP_SIZE);
const _: () = assert!(MEMBERSHIP_SIZE + 16 == MCAST_SIZE && MCAST_SIZE + 2 * 8 == PARTIAL_SIZE);

/// Size of a joinlist without entries.
pub const JOINLIST_SIZE: usize = 24;
/// Size of an entry of a joinlist.
pub const JOINLIST_ENTRY: usize = 8 + NAME;
/// Size of a downlist.
pub const DOWNLIST_SIZE: usize = 1568;
const _: () = assert!(JOINLIST_ENTRY == 144 && SERVICE_HEADER + 2 * 8 + 4 * NODES_MAX == DOWNLIST_SIZE);

/// A decoded message; `data` is a range of the bytes that were decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exec {
    /// A process joins.
    Join(Membership),
    /// A process leaves.
    Leave(Membership),
    /// A message.
    Mcast {
        /// Its group.
        group: GroupName,
        /// Sending process.
        pid: u32,
        /// Where the data are.
        data: Range<usize>,
    },
    /// A piece of a large message.
    Partial {
        /// Its group.
        group: GroupName,
        /// Sending process.
        pid: u32,
        /// Which piece.
        part: Part,
        /// Length of the whole message.
        total: u32,
        /// Where the data are.
        data: Range<usize>,
    },
    /// All processes of the sender's node that are in a group: pid and group. A node may send
    /// several such lists in one synchronization.
    Joinlist(Vec<(u32, GroupName)>),
    /// What the sender saw of the change of membership.
    Downlist(Downlist),
}

/// What a node saw of a change of membership; informational, receivers go by what they saw
/// themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Downlist {
    /// Members before the change.
    pub old_members: u32,
    /// Nodes that left, at most [`NODES_MAX`].
    pub left: Vec<NodeId>,
}

/// A 32-bit number in a slot of 8 bytes.
fn slot(writer: &mut Writer<'_>, value: u32) {
    writer.u32(value);
    writer.u32(0);
}

fn read_slot(reader: &mut Reader<'_>, field: &'static str) -> Result<u32, DecodeError> {
    let value = reader.u32(field)?;
    reader.skip(4, "padding")?;
    Ok(value)
}

fn source(writer: &mut Writer<'_>, node: NodeId) {
    slot(writer, node.0);
    writer.u64(0);
}

/// Appends a procjoin or, with `leaves`, a procleave.
pub fn encode_membership(membership: &Membership, leaves: bool, out: &mut Vec<u8>) {
    begin(out, SERVICE, if leaves { PROCLEAVE } else { PROCJOIN }, MEMBERSHIP_SIZE);
    let mut writer = Writer::new(out, Order::NATIVE);
    write_name(&mut writer, &membership.group);
    slot(&mut writer, membership.pid);
    slot(&mut writer, membership.reason);
}

/// Appends everything of a mcast but its `len` bytes of data.
pub fn encode_mcast(node: NodeId, group: &GroupName, pid: u32, len: u32, out: &mut Vec<u8>) {
    begin(out, SERVICE, MCAST, MCAST_SIZE + len as usize);
    let mut writer = Writer::new(out, Order::NATIVE);
    write_name(&mut writer, group);
    slot(&mut writer, len);
    slot(&mut writer, pid);
    source(&mut writer, node);
}

/// Which piece of which message a partial mcast is.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Sending process.
    pub pid: u32,
    /// Which piece.
    pub part: Part,
    /// Length of the whole message.
    pub total: u32,
    /// Length of the piece.
    pub len: u32,
}

/// Appends everything of a partial mcast but its data.
pub fn encode_partial(node: NodeId, group: &GroupName, piece: Piece, out: &mut Vec<u8>) {
    begin(out, SERVICE, PARTIAL, PARTIAL_SIZE + piece.len as usize);
    let mut writer = Writer::new(out, Order::NATIVE);
    write_name(&mut writer, group);
    slot(&mut writer, piece.total);
    slot(&mut writer, piece.len);
    slot(&mut writer, piece.pid);
    slot(&mut writer, piece.part as u32);
    source(&mut writer, node);
}

/// Appends a joinlist.
pub fn encode_joinlist(processes: &[(u32, GroupName)], out: &mut Vec<u8>) {
    begin(out, SERVICE, JOINLIST, JOINLIST_SIZE + JOINLIST_ENTRY * processes.len());
    let mut writer = Writer::new(out, Order::NATIVE);
    slot(&mut writer, 0);
    for (pid, group) in processes {
        slot(&mut writer, *pid);
        write_name(&mut writer, group);
    }
}

/// Appends a downlist.
pub fn encode_downlist(downlist: &Downlist, out: &mut Vec<u8>) {
    assert!(downlist.left.len() <= NODES_MAX, "rings are bounded");
    begin(out, SERVICE, DOWNLIST, DOWNLIST_SIZE);
    let mut writer = Writer::new(out, Order::NATIVE);
    slot(&mut writer, downlist.old_members);
    writer.count(downlist.left.len());
    writer.u32(0);
    write_nodes(&mut writer, &downlist.left);
    writer.zeros(4 * (NODES_MAX - downlist.left.len()));
}

/// Reads a message from its service header on; `None` for functions this build does not know.
pub fn decode(function: u32, bytes: &[u8], order: Order) -> Result<Option<Exec>, DecodeError> {
    let mut reader = Reader::new(bytes, order);
    reader.skip(SERVICE_HEADER, "service header")?;
    let exec = match function {
        PROCJOIN | PROCLEAVE => {
            let group = read_name(&mut reader)?;
            let pid = read_slot(&mut reader, "pid")?;
            let membership = Membership { group, pid, reason: read_slot(&mut reader, "reason")? };
            if function == PROCJOIN {
                Exec::Join(membership)
            } else {
                Exec::Leave(membership)
            }
        }
        MCAST => {
            let group = read_name(&mut reader)?;
            let len = read_slot(&mut reader, "length")?;
            let pid = read_slot(&mut reader, "pid")?;
            reader.skip(16, "source")?;
            Exec::Mcast { group, pid, data: data(&mut reader, len)? }
        }
        PARTIAL => {
            let group = read_name(&mut reader)?;
            let total = read_slot(&mut reader, "total length")?;
            let len = read_slot(&mut reader, "length")?;
            let pid = read_slot(&mut reader, "pid")?;
            let bad = reader.error("part", Fault::Value);
            let number = read_slot(&mut reader, "part")?;
            let parts = [Part::First, Part::Continued, Part::Last];
            let part = parts.into_iter().find(|part| *part as u32 == number).ok_or(bad)?;
            reader.skip(16, "source")?;
            Exec::Partial { group, pid, part, total, data: data(&mut reader, len)? }
        }
        JOINLIST => Exec::Joinlist(joinlist(&mut reader)?),
        OLD_DOWNLIST => {
            nodes(&mut reader)?;
            return Ok(None);
        }
        DOWNLIST => {
            let old_members = read_slot(&mut reader, "members before")?;
            Exec::Downlist(Downlist { old_members, left: nodes(&mut reader)? })
        }
        _ => return Ok(None),
    };
    Ok(Some(exec))
}

fn joinlist(reader: &mut Reader<'_>) -> Result<Vec<(u32, GroupName)>, DecodeError> {
    reader.skip(JOINLIST_SIZE - SERVICE_HEADER, "error")?;
    if !reader.left().is_multiple_of(JOINLIST_ENTRY) {
        return Err(reader.error("entries", Fault::Short));
    }
    let count = reader.left() / JOINLIST_ENTRY;
    let mut processes = Vec::with_capacity(count);
    for _ in 0..count {
        let pid = read_slot(reader, "pid")?;
        processes.push((pid, read_name(reader)?));
    }
    Ok(processes)
}

/// The nodes of a downlist; all its slots must be there.
fn nodes(reader: &mut Reader<'_>) -> Result<Vec<NodeId>, DecodeError> {
    let at_count = reader.clone();
    let count = read_slot(reader, "number of nodes")? as usize;
    if count > NODES_MAX {
        return Err(at_count.error("number of nodes", Fault::TooMany));
    }
    let mut list = reader.clone();
    reader.skip(4 * NODES_MAX, "nodes")?;
    read_nodes(&mut list, count, "nodes")
}

fn data(reader: &mut Reader<'_>, len: u32) -> Result<Range<usize>, DecodeError> {
    let start = reader.position();
    reader.skip(len as usize, "data")?;
    Ok(start..start + len as usize)
}
