//! Fields that more than one IPC record has: group names and lists of members and nodes.
//!
//! A group name takes 132 bytes: its length (4), its bytes, zeros up to 128.

use crate::ids::{EvsGroup, GroupName, NodeId, GROUP_NAME_MAX};
use crate::output::CpgMember;
use crate::wire::cursor::{DecodeError, Fault, Reader, Writer};

/// Size of a group name in a record.
pub(super) const NAME_SIZE: usize = 4 + GROUP_NAME_MAX;
/// Size of an evs group in a record.
pub(super) const EVS_GROUP_SIZE: usize = 32;
const MEMBER_SIZE: usize = 12;

pub(super) fn write_name(writer: &mut Writer<'_>, name: &GroupName) {
    let bytes = name.bytes();
    writer.count(bytes.len());
    writer.bytes(bytes);
    writer.zeros(GROUP_NAME_MAX - bytes.len());
}

pub(super) fn read_name(reader: &mut Reader<'_>) -> Result<GroupName, DecodeError> {
    let bad = reader.error("group name", Fault::Value);
    let len = reader.u32("length of the group name")? as usize;
    let value = reader.take(GROUP_NAME_MAX, "group name")?;
    value.get(..len).and_then(GroupName::new).ok_or(bad)
}

pub(super) fn write_members(writer: &mut Writer<'_>, members: &[CpgMember]) {
    for member in members {
        writer.u32(member.node.0);
        writer.u32(member.pid);
        writer.u32(member.reason);
    }
}

/// Reads `count` members; their bytes must be checked to be there by the list itself.
pub(super) fn read_members(reader: &mut Reader<'_>, count: usize) -> Result<Vec<CpgMember>, DecodeError> {
    let bytes = reader.take(count.saturating_mul(MEMBER_SIZE), "members")?;
    let word = |at: &[u8]| u32::from_ne_bytes([at[0], at[1], at[2], at[3]]);
    Ok(bytes
        .chunks_exact(MEMBER_SIZE)
        .map(|at| CpgMember { node: NodeId(word(at)), pid: word(&at[4..]), reason: word(&at[8..]) })
        .collect())
}

pub(super) fn write_nodes(writer: &mut Writer<'_>, nodes: &[NodeId]) {
    for node in nodes {
        writer.u32(node.0);
    }
}

pub(super) fn read_nodes(reader: &mut Reader<'_>, count: usize) -> Result<Vec<NodeId>, DecodeError> {
    let bytes = reader.take(count.saturating_mul(4), "nodes")?;
    Ok(bytes.chunks_exact(4).map(|at| NodeId(u32::from_ne_bytes([at[0], at[1], at[2], at[3]]))).collect())
}

/// Reads a count that its list does not follow at once.
pub(super) fn read_count(reader: &mut Reader<'_>, limit: usize, field: &'static str) -> Result<usize, DecodeError> {
    reader.count(0, limit, field)
}

pub(super) fn write_groups(writer: &mut Writer<'_>, groups: &[EvsGroup]) {
    for group in groups {
        writer.bytes(&group.0);
    }
}

/// Reads at most `limit` groups out of `bytes`, whose length is a whole number of groups.
pub(super) fn read_groups(bytes: &[u8], limit: usize) -> Vec<EvsGroup> {
    bytes
        .chunks_exact(EVS_GROUP_SIZE)
        .take(limit)
        .map(|at| {
            let mut group = EvsGroup([0; EVS_GROUP_SIZE]);
            group.0.copy_from_slice(at);
            group
        })
        .collect()
}
