//! What the decoders make of a frame or a message, in the words of the annotations, and the
//! same value encoded again.

use evensong_core::ids::{GroupName, NodeId, RingId};
use evensong_core::pack::Packed;
use evensong_core::service::cmap::wire::ConfigVersion;
use evensong_core::service::cpg::wire::{self as cpg, Downlist, Exec, Piece};
use evensong_core::service::sync_wire::SyncMessage;
use evensong_core::service::{cmap, wire};
use evensong_core::wire::commit::CommitToken;
use evensong_core::wire::cursor::DecodeError;
use evensong_core::wire::frame::{self, FrameHeader, FrameType, Mcast, MCAST_HEADER, RECOVERY};
use evensong_core::wire::join::Join;
use evensong_core::wire::token::Token;

use crate::annotation::{Line, Value};

/// Decoded fields, and the bytes that the encoders make of what was decoded.
#[derive(Debug, Default)]
pub struct Described {
    pub fields: Vec<Line>,
    pub again: Vec<u8>,
    /// Where the fields that come next start, and what stands before their names.
    base: usize,
    prefix: &'static str,
}

impl Described {
    fn put(&mut self, offset: usize, size: usize, field: &str, value: Value) {
        let (offset, field) = (self.base + offset, format!("{}{field}", self.prefix));
        self.fields.push(Line { offset, size, field, value });
    }

    fn number(&mut self, offset: usize, size: usize, field: &str, value: impl Into<u64>) {
        self.put(offset, size, field, Value::Number(value.into()));
    }

    /// Numbers of 4 bytes, one behind the other.
    fn words(&mut self, offset: usize, words: &[(&str, u32)]) {
        for (number, (field, value)) in words.iter().enumerate() {
            self.number(offset + 4 * number, 4, field, *value);
        }
    }

    fn ring(&mut self, offset: usize, field: &str, ring: RingId) {
        self.put(offset, 12, field, Value::Ring(ring.rep.0, ring.seq));
    }

    fn text(&mut self, offset: usize, size: usize, field: &str, bytes: &[u8]) {
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(24)]).into_owned();
        self.put(offset, size, field, Value::Text(text));
    }

    fn name(&mut self, offset: usize, field: &str, name: &GroupName) {
        self.number(offset, 4, &format!("{field}.length"), name.bytes().len() as u32);
        self.text(offset + 8, 128, &format!("{field}.value"), name.bytes());
    }

    /// A whole frame.
    pub fn frame(bytes: &[u8]) -> Result<Described, DecodeError> {
        let mut out = Described::default();
        out.add_frame(bytes)?;
        Ok(out)
    }

    fn add_frame(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let header = FrameHeader::decode(bytes)?;
        self.number(0, 2, "header.magic", 0xc070u32);
        self.number(2, 1, "header.version", 3u32);
        self.number(3, 1, "header.type", header.kind as u8);
        self.number(4, 1, "header.encapsulated", header.encapsulated);
        self.number(5, 4, "header.nodeid", header.node.0);
        match header.kind {
            FrameType::Token => self.token(bytes, header),
            FrameType::Mcast => self.mcast(bytes, header),
            FrameType::MergeDetect => {
                let (from, ring) = frame::decode_merge_detect(bytes, header.order)?;
                self.number(13, 4, "system_from.nodeid", from.0);
                self.ring(17, "ring_id", ring);
                self.again = frame::merge_detect(from, ring);
                Ok(())
            }
            FrameType::Join => self.join(bytes, header),
            FrameType::CommitToken => self.commit(bytes, header),
            FrameType::HoldCancel => {
                let ring = frame::decode_hold_cancel(bytes, header.order)?;
                self.ring(13, "ring_id", ring);
                self.again = frame::hold_cancel(header.node, ring);
                Ok(())
            }
        }
    }

    fn token(&mut self, bytes: &[u8], header: FrameHeader) -> Result<(), DecodeError> {
        let token = Token::decode(bytes, header.order)?;
        let words = [("seq", token.seq.0), ("token_seq", token.token_seq.0), ("aru", token.aru.0)];
        self.words(13, &words);
        self.words(25, &[("aru_addr", token.aru_addr.0)]);
        self.ring(29, "ring_id", token.ring);
        self.words(41, &[("backlog", token.backlog), ("fcc", token.fcc), ("retrans_flg", token.retrans)]);
        self.words(53, &[("rtr_list_entries", token.rtr.len() as u32)]);
        for (number, (ring, seq)) in token.rtr.iter().enumerate() {
            self.ring(57 + 16 * number, &format!("rtr_list[{number}].ring_id"), *ring);
            self.number(69 + 16 * number, 4, &format!("rtr_list[{number}].seq"), seq.0);
        }
        token.encode(header.node, header.target, header.order, &mut self.again);
        Ok(())
    }

    fn nodes(&mut self, offset: usize, field: &str, nodes: &[NodeId]) {
        for (number, node) in nodes.iter().enumerate() {
            self.number(offset + 4 * number, 4, &format!("{field}[{number}].nodeid"), node.0);
        }
    }

    fn join(&mut self, bytes: &[u8], header: FrameHeader) -> Result<(), DecodeError> {
        let join = Join::decode(bytes, header.order)?;
        assert_eq!(join.leaves, header.node == NodeId(0));
        let (proc, failed) = (join.proc.len() as u32, join.failed.len() as u32);
        self.words(
            13,
            &[("system_from.nodeid", join.from.0), ("proc_list_entries", proc), ("failed_list_entries", failed)],
        );
        self.number(25, 8, "ring_seq", join.ring_seq);
        self.nodes(33, "proc_list", &join.proc);
        self.nodes(33 + 4 * join.proc.len(), "failed_list", &join.failed);
        join.encode(header.order, &mut self.again);
        Ok(())
    }

    fn commit(&mut self, bytes: &[u8], header: FrameHeader) -> Result<(), DecodeError> {
        let commit = CommitToken::decode(bytes, header.order)?;
        self.words(13, &[("token_seq", commit.token_seq.0)]);
        self.ring(17, "ring_id", commit.ring);
        let members = commit.addrs.len();
        let words =
            [("retrans_flg", commit.retrans), ("memb_index", commit.memb_index), ("addr_entries", members as u32)];
        self.words(29, &words);
        self.nodes(41, "addr", &commit.addrs);
        for (number, entry) in commit.entries.iter().enumerate() {
            let at = 41 + 4 * members + 24 * number;
            self.ring(at, &format!("memb_list[{number}].ring_id"), entry.ring);
            let words = [("aru", entry.aru.0), ("high_delivered", entry.high_delivered.0)];
            for (place, (field, value)) in words.into_iter().chain([("received_flg", entry.received)]).enumerate() {
                self.number(at + 12 + 4 * place, 4, &format!("memb_list[{number}].{field}"), value);
            }
        }
        commit.encode(header.node, header.target, header.order, &mut self.again);
        Ok(())
    }

    fn mcast(&mut self, bytes: &[u8], header: FrameHeader) -> Result<(), DecodeError> {
        let mcast = Mcast::decode(bytes, header.order)?;
        let words = [("system_from.nodeid", mcast.from.0), ("seq", mcast.seq.0), ("this_seqno", mcast.sent)];
        self.words(13, &words);
        self.ring(25, "ring_id", mcast.ring);
        self.words(37, &[("node_id", 0), ("guarantee", mcast.guarantee)]);
        mcast.encode(header.order, &mut self.again);
        self.base += MCAST_HEADER;
        let payload = &bytes[MCAST_HEADER..];
        if mcast.encapsulated == RECOVERY {
            self.prefix = "inner.";
            return self.add_frame(payload);
        }
        self.payload(payload, mcast.from, header)
    }

    fn payload(&mut self, payload: &[u8], from: NodeId, header: FrameHeader) -> Result<(), DecodeError> {
        let packed = Packed::decode(payload, header.order)?;
        self.number(0, 2, "pg.version", 0u32);
        self.number(2, 2, "pg.type", 0u32);
        self.number(4, 1, "pg.fragmented", packed.fragmented);
        self.number(5, 1, "pg.continuation", packed.continuation);
        self.number(6, 2, "pg.msg_count", packed.count() as u32);
        for (number, length) in packed.lengths().enumerate() {
            self.number(8 + 2 * number, 2, &format!("pg.msg_len[{number}]"), length as u32);
        }
        let first = packed.ranges().next().expect("one piece at least");
        self.again.extend_from_slice(&payload[..first.start]);
        let base = self.base;
        self.prefix = "";
        for (number, range) in packed.ranges().enumerate() {
            self.base = base + range.start;
            let begins = number > 0 || packed.continuation == 0;
            let ends = number + 1 < packed.count() || packed.fragmented == 0;
            if begins && ends {
                self.message(&payload[range], from, header)?;
            } else {
                self.again.extend_from_slice(&payload[range]);
            }
        }
        Ok(())
    }

    /// A whole message, group header and all.
    pub fn whole_message(bytes: &[u8], from: NodeId, header: FrameHeader) -> Result<Described, DecodeError> {
        let mut out = Described::default();
        out.message(bytes, from, header)?;
        Ok(out)
    }

    fn message(&mut self, bytes: &[u8], from: NodeId, header: FrameHeader) -> Result<(), DecodeError> {
        if let Some(message) = SyncMessage::decode(bytes, header.order)? {
            self.sync(&message);
            return Ok(());
        }
        let incoming = wire::decode(bytes, header.order)?.expect("the original uses no other group");
        self.group("a");
        self.number(5, 4, "header.id", incoming.service << 16 | incoming.function);
        self.number(13, 4, "header.size", incoming.bytes.len() as u32);
        self.base += incoming.offset;
        match incoming.service {
            cmap::wire::SERVICE => {
                let version = ConfigVersion::decode(incoming.function, incoming.bytes, header.order)?;
                self.config_version(version.expect("a known function"));
            }
            cpg::SERVICE => {
                let exec = cpg::decode(incoming.function, incoming.bytes, header.order)?;
                self.cpg(&exec.expect("a known function"), incoming.bytes, from);
            }
            _ => self.again.extend_from_slice(bytes),
        }
        Ok(())
    }

    fn group(&mut self, name: &str) {
        self.number(0, 2, "group_count", 1u32);
        self.number(2, 2, "group_len[0]", name.len() as u32);
        self.text(4, name.len(), "group_name", name.as_bytes());
    }

    fn sync(&mut self, message: &SyncMessage) {
        self.group("sync");
        let (id, size, ring) = match message {
            SyncMessage::Barrier { ring } => (0u32, 32u32, ring),
            SyncMessage::Build { ring, .. } => (1, 552, ring),
        };
        self.number(8, 4, "sync.header.id", id);
        self.number(16, 4, "sync.header.size", size);
        self.ring(24, "sync.ring_id", *ring);
        if let SyncMessage::Build { services, .. } = message {
            self.number(40, 4, "sync.service_list_entries", services.len() as u32);
            let list = services.iter().map(|service| u64::from(*service)).collect();
            self.put(48, 512, "sync.service_list", Value::List(list));
        }
        message.encode(&mut self.again);
    }

    fn config_version(&mut self, message: ConfigVersion) {
        self.number(16, 1, "reason", message.reason as u8);
        self.number(24, 1, "no_items", 1u32);
        self.number(48, 2, "item[0].key_name.length", 20u32);
        self.text(56, 256, "item[0].key_name.value", b"totem.config_version");
        self.number(312, 1, "item[0].value_type", 8u32);
        self.number(320, 8, "item[0].value_len", 8u32);
        self.number(328, 8, "item[0].value", message.version.expect("all captured nodes have one"));
        message.encode(&mut self.again);
    }

    fn cpg(&mut self, exec: &Exec, bytes: &[u8], from: NodeId) {
        match exec {
            Exec::Join(membership) | Exec::Leave(membership) => {
                self.name(16, "group_name", &membership.group);
                self.number(152, 4, "pid", membership.pid);
                self.number(160, 4, "reason", membership.reason);
                cpg::encode_membership(membership, matches!(exec, Exec::Leave(_)), &mut self.again);
            }
            Exec::Mcast { group, pid, data } => {
                self.name(16, "group_name", group);
                self.number(152, 4, "msglen", data.len() as u32);
                self.number(160, 4, "pid", *pid);
                self.number(168, 4, "source.nodeid", from.0);
                self.text(data.start, data.len(), "message", &bytes[data.clone()]);
                cpg::encode_mcast(from, group, *pid, data.len() as u32, &mut self.again);
                self.again.extend_from_slice(&bytes[data.clone()]);
            }
            Exec::Partial { group, pid, part, total, data } => {
                self.name(16, "group_name", group);
                let len = data.len() as u32;
                let numbers = [("msglen", *total), ("fraglen", len), ("pid", *pid), ("type", *part as u32)];
                for (number, (field, value)) in numbers.into_iter().chain([("source.nodeid", from.0)]).enumerate() {
                    self.number(152 + 8 * number, 4, field, value);
                }
                self.text(data.start, data.len(), "message", &bytes[data.clone()]);
                let piece = Piece { pid: *pid, part: *part, total: *total, len };
                cpg::encode_partial(from, group, piece, &mut self.again);
                self.again.extend_from_slice(&bytes[data.clone()]);
            }
            Exec::Joinlist(processes) => {
                self.number(16, 4, "header.error", 0u32);
                for (number, (pid, group)) in processes.iter().enumerate() {
                    self.number(24 + 144 * number, 4, "entry.pid", *pid);
                    self.name(32 + 144 * number, "entry.group_name", group);
                }
                cpg::encode_joinlist(processes, &mut self.again);
            }
            Exec::Downlist(downlist) => self.downlist(downlist),
        }
    }

    fn downlist(&mut self, downlist: &Downlist) {
        self.number(16, 4, "old_members", downlist.old_members);
        self.number(24, 4, "left_nodes", downlist.left.len() as u32);
        let left = downlist.left.iter().map(|node| u64::from(node.0)).collect();
        self.put(32, 1536, "nodeids", Value::List(left));
        cpg::encode_downlist(downlist, &mut self.again);
    }
}
