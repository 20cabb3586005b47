//! The token's frame (type 0), offsets from the start of the frame.
//!
//! | offset | width | field |
//! |---|---|---|
//! | 0 | 13 | header; its node is who sent this hop |
//! | 13 | 4 | seq: highest number given to a multicast |
//! | 17 | 4 | token seq: hops in this ring |
//! | 21 | 4 | aru |
//! | 25 | 4 | aru address: who lowered aru, 0 = nobody |
//! | 29 | 12 | ring id |
//! | 41 | 4 | backlog: what waits at all members |
//! | 45 | 4 | fcc: frames sent in the last rotation |
//! | 49 | 4 | retransmit flag, used in recovery |
//! | 53 | 4 | number of retransmit requests, at most 30 |
//! | 57 | 16 each | requests: ring id, seq |
//!
//! Bytes behind the requests are passed over, as the original does; a frame above 1500 bytes is
//! refused, as its later versions do.

use super::cursor::{DecodeError, Fault, Order, Reader, Writer};
use super::frame::{read_ring, write_ring, FrameHeader, FrameType, HEADER, RING_ID};
use crate::ids::{NodeId, RingId};
use crate::seq::Seq;

/// Most retransmit requests that a token carries.
pub const RTR_MAX: usize = 30;
/// Size of a token without requests.
pub const TOKEN: usize = 57;
/// Size of one request.
pub const RTR_ENTRY: usize = RING_ID + 4;
/// Longest frame taken for a token.
pub const TOKEN_FRAME_MAX: usize = 1500;
const _: () = assert!(HEADER + RING_ID + 8 * 4 == TOKEN && TOKEN + RTR_MAX * RTR_ENTRY <= TOKEN_FRAME_MAX);

/// The circulating right to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Highest number given to a multicast frame of the ring.
    pub seq: Seq,
    /// Hops so far.
    pub token_seq: Seq,
    /// Every member has all frames up to here, as far as this rotation knows.
    pub aru: Seq,
    /// The member that lowered `aru`; 0 for nobody.
    pub aru_addr: NodeId,
    /// The ring.
    pub ring: RingId,
    /// Sum of what waits at the members.
    pub backlog: u32,
    /// Frames sent in the last rotation.
    pub fcc: u32,
    /// Recovery: not 0 while a member has copies left to send.
    pub retrans: u32,
    /// Frames that members miss; at most [`RTR_MAX`].
    pub rtr: Vec<(RingId, Seq)>,
}

impl Token {
    /// Appends the frame of this hop.
    pub fn encode(&self, from: NodeId, target: NodeId, order: Order, out: &mut Vec<u8>) {
        debug_assert!(self.rtr.len() <= RTR_MAX);
        out.reserve(TOKEN + RTR_ENTRY * self.rtr.len());
        FrameHeader { order, kind: FrameType::Token, encapsulated: 0, node: from, target }.encode(out);
        let mut writer = Writer::new(out, order);
        writer.u32(self.seq.0);
        writer.u32(self.token_seq.0);
        writer.u32(self.aru.0);
        writer.u32(self.aru_addr.0);
        write_ring(&mut writer, self.ring);
        writer.u32(self.backlog);
        writer.u32(self.fcc);
        writer.u32(self.retrans);
        writer.count(self.rtr.len());
        for (ring, seq) in &self.rtr {
            write_ring(&mut writer, *ring);
            writer.u32(seq.0);
        }
    }

    /// Reads a frame whose common header was read already.
    pub fn decode(bytes: &[u8], order: Order) -> Result<Token, DecodeError> {
        if bytes.len() > TOKEN_FRAME_MAX {
            return Err(DecodeError { field: "token", offset: 0, fault: Fault::TooMany });
        }
        let mut reader = Reader::new(bytes, order);
        reader.skip(HEADER, "header")?;
        let seq = Seq(reader.u32("seq")?);
        let token_seq = Seq(reader.u32("token_seq")?);
        let aru = Seq(reader.u32("aru")?);
        let aru_addr = NodeId(reader.u32("aru_addr")?);
        let ring = read_ring(&mut reader)?;
        let backlog = reader.u32("backlog")?;
        let fcc = reader.u32("fcc")?;
        let retrans = reader.u32("retrans_flg")?;
        let count = reader.count(RTR_ENTRY, RTR_MAX, "rtr_list_entries")?;
        let mut rtr = Vec::with_capacity(count);
        for _ in 0..count {
            rtr.push((read_ring(&mut reader)?, Seq(reader.u32("rtr_list.seq")?)));
        }
        Ok(Token { seq, token_seq, aru, aru_addr, ring, backlog, fcc, retrans, rtr })
    }
}
