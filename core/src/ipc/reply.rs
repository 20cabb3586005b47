//! Replies: what the daemon puts into the reply area, one synchronous request at a time.
//!
//! | offset | width | field |
//! |---|---|---|
//! | 0 | 4 | number of the request that is answered |
//! | 4 | 4 | error, a `cs_error_t` value, 1 = OK |
//! | 8 | 4 | length of the body |
//! | 12 | 4 | zero |
//! | 16 | | body |
//!
//! Bodies: members (count u32, then node, pid, reason u32 each); a node id u32; an iteration
//! u64; an item (node u32, pid u32, name); local node u32, count u32, nodes u32 each.

use super::event::{CPG_MEMBERS_MAX, NODES_MAX};
use super::fields;
use super::layout::REPLY_SIZE;
use crate::ids::{GroupName, NodeId};
use crate::output::{CpgMember, Reply, ReplyBody};
use crate::wire::cursor::{DecodeError, Fault, Order, Reader, Writer};

/// Size of a reply's header.
pub const REPLY_HEADER: usize = 16;

/// Largest reply: the item of an iteration, a full list of members or of nodes.
const LARGEST: usize = REPLY_HEADER + 8 + 12 * CPG_MEMBERS_MAX + 4 * NODES_MAX + fields::NAME_SIZE;
const _: () = assert!(LARGEST <= REPLY_SIZE as usize);

/// Header of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyHeader {
    /// Number of the request that is answered.
    pub request: u32,
    /// Error code, 1 = OK.
    pub error: u32,
    /// Length of the body, checked to fit into the reply area.
    pub len: u32,
}

/// Appends a whole reply.
pub fn encode(reply: &Reply, request: u32, out: &mut Vec<u8>) {
    let start = out.len();
    let mut writer = Writer::new(out, Order::NATIVE);
    writer.u32(request);
    writer.u32(reply.error);
    writer.zeros(8);
    match &reply.body {
        ReplyBody::None => {}
        ReplyBody::CpgMembership(members) => {
            writer.count(members.len());
            fields::write_members(&mut writer, members);
        }
        ReplyBody::NodeId(node) => writer.u32(node.0),
        ReplyBody::Iteration(iteration) => writer.u64(*iteration),
        ReplyBody::IterationItem { group, node, pid } => {
            writer.u32(node.0);
            writer.u32(*pid);
            fields::write_name(&mut writer, group);
        }
        ReplyBody::EvsMembership { local, members } => {
            writer.u32(local.0);
            writer.count(members.len());
            fields::write_nodes(&mut writer, members);
        }
    }
    let len = u32::try_from(out.len() - start - REPLY_HEADER).expect("replies are bounded");
    out[start + 8..start + 12].copy_from_slice(&len.to_ne_bytes());
}

/// Reads the header of a reply.
pub fn decode_header(bytes: &[u8; REPLY_HEADER]) -> Result<ReplyHeader, DecodeError> {
    let mut reader = Reader::new(bytes, Order::NATIVE);
    let (request, error) = (reader.u32("request number")?, reader.u32("error")?);
    let bad = reader.error("length of the reply", Fault::TooMany);
    let len = reader.u32("length of the reply")?;
    if len > REPLY_SIZE - REPLY_HEADER as u32 {
        return Err(bad);
    }
    Ok(ReplyHeader { request, error, len })
}

/// Reads the members of a group.
pub fn decode_cpg_membership(body: &[u8]) -> Result<Vec<CpgMember>, DecodeError> {
    let mut reader = Reader::new(body, Order::NATIVE);
    let count = fields::read_count(&mut reader, CPG_MEMBERS_MAX, "number of members")?;
    let members = fields::read_members(&mut reader, count)?;
    reader.finish("members")?;
    Ok(members)
}

/// Reads a node id.
pub fn decode_node(body: &[u8]) -> Result<NodeId, DecodeError> {
    let mut reader = Reader::new(body, Order::NATIVE);
    let node = NodeId(reader.u32("node id")?);
    reader.finish("node id")?;
    Ok(node)
}

/// Reads the number of an iteration.
pub fn decode_iteration(body: &[u8]) -> Result<u64, DecodeError> {
    let mut reader = Reader::new(body, Order::NATIVE);
    let iteration = reader.u64("iteration")?;
    reader.finish("iteration")?;
    Ok(iteration)
}

/// Reads one step of an iteration: group, node, pid.
pub fn decode_iteration_item(body: &[u8]) -> Result<(GroupName, NodeId, u32), DecodeError> {
    let mut reader = Reader::new(body, Order::NATIVE);
    let (node, pid) = (NodeId(reader.u32("node id")?), reader.u32("pid")?);
    let group = fields::read_name(&mut reader)?;
    reader.finish("item")?;
    Ok((group, node, pid))
}

/// Reads the local node and the members of an evs configuration.
pub fn decode_evs_membership(body: &[u8]) -> Result<(NodeId, Vec<NodeId>), DecodeError> {
    let mut reader = Reader::new(body, Order::NATIVE);
    let local = NodeId(reader.u32("node id")?);
    let count = fields::read_count(&mut reader, NODES_MAX, "number of members")?;
    let members = fields::read_nodes(&mut reader, count)?;
    reader.finish("members")?;
    Ok((local, members))
}
