//! Inputs as bytes: a run can be written to a file and read back.
//!
//! Little-endian whatever the machine, so that a recording can be replayed elsewhere. One byte
//! tells which input it is, its fields follow in the order of their declaration; lists and
//! strings start with a count of 32 bits. Messages of clients are recorded by length; their
//! bytes make no difference to what a node does.

use crate::config::{NodeConfig, TotemConfig};
use crate::ids::{ClientId, EvsGroup, GroupName, LinkId, NodeId};
use crate::input::{Guarantee, Input, IterationKind, Part, Payload, Request};
use crate::ipc::Service;
use crate::time::Span;
use crate::wire::cursor::{DecodeError, Fault, Order, Reader, Writer};

/// Longest list, string or packet that is read back.
const LIST_MAX: usize = 1 << 20;

/// Appends an input.
pub fn write(input: &Input, out: &mut Vec<u8>) {
    let writer = &mut Writer::new(out, Order::Little);
    match input {
        Input::Start => writer.u8(0),
        Input::Tick => writer.u8(1),
        Input::Packet { link, bytes } => {
            writer.u8(2);
            writer.u8(link.0);
            write_bytes(writer, bytes);
        }
        Input::Reconfigure(config) => {
            writer.u8(3);
            write_config(writer, config);
        }
        Input::Connect { client, service, pid } => {
            writer.u8(4);
            writer.u32(client.0);
            writer.u32(*service as u32);
            writer.u32(*pid);
        }
        Input::Disconnect { client } => {
            writer.u8(5);
            writer.u32(client.0);
        }
        Input::Request { client, request } => {
            writer.u8(6);
            writer.u32(client.0);
            write_request(writer, request);
        }
        Input::Stop => writer.u8(7),
    }
}

/// Reads one input off the front of `bytes`; also returns how many bytes it took.
pub fn read(bytes: &[u8]) -> Result<(Input, usize), DecodeError> {
    let reader = &mut Reader::new(bytes, Order::Little);
    let bad = reader.error("input", Fault::Value);
    let input = match reader.u8("input")? {
        0 => Input::Start,
        1 => Input::Tick,
        2 => Input::Packet { link: LinkId(reader.u8("link")?), bytes: read_bytes(reader, "packet")?.into() },
        3 => Input::Reconfigure(Box::new(read_config(reader)?)),
        4 => {
            let client = ClientId(reader.u32("client")?);
            let bad = reader.error("service", Fault::Value);
            let service = Service::from_number(reader.u32("service")?).ok_or(bad)?;
            Input::Connect { client, service, pid: reader.u32("pid")? }
        }
        5 => Input::Disconnect { client: ClientId(reader.u32("client")?) },
        6 => Input::Request { client: ClientId(reader.u32("client")?), request: read_request(reader)? },
        7 => Input::Stop,
        _ => return Err(bad),
    };
    Ok((input, reader.position()))
}

fn write_bytes(writer: &mut Writer<'_>, bytes: &[u8]) {
    writer.count(bytes.len());
    writer.bytes(bytes);
}

fn read_bytes(reader: &mut Reader<'_>, field: &'static str) -> Result<Vec<u8>, DecodeError> {
    let len = reader.count(1, LIST_MAX, field)?;
    Ok(reader.take(len, field)?.to_vec())
}

fn write_config(writer: &mut Writer<'_>, config: &NodeConfig) {
    writer.u32(config.node.0);
    write_bytes(writer, config.cluster_name.as_bytes());
    writer.count(config.nodes.len());
    for node in &config.nodes {
        writer.u32(node.0);
    }
    writer.u64(config.last_ring_seq);
    writer.u32(config.frame_size);
    writer.u8(u8::from(config.honour_safe));
    writer.u8(u8::from(config.always_frame));
    writer.u64(config.config_version);
    writer.u64(config.seed);
    write_totem(writer, &config.totem);
}

fn read_config(reader: &mut Reader<'_>) -> Result<NodeConfig, DecodeError> {
    let node = NodeId(reader.u32("node")?);
    let bad = reader.error("cluster name", Fault::Value);
    let cluster_name = String::from_utf8(read_bytes(reader, "cluster name")?).map_err(|_| bad)?;
    let count = reader.count(4, LIST_MAX, "nodes")?;
    let nodes = (0..count).map(|_| reader.u32("node").map(NodeId)).collect::<Result<_, _>>()?;
    Ok(NodeConfig {
        node,
        cluster_name,
        nodes,
        last_ring_seq: reader.u64("last ring number")?,
        frame_size: reader.u32("frame size")?,
        honour_safe: read_bool(reader, "honour safe")?,
        always_frame: read_bool(reader, "always frame")?,
        config_version: reader.u64("config version")?,
        seed: reader.u64("seed")?,
        totem: read_totem(reader)?,
    })
}

fn write_totem(writer: &mut Writer<'_>, totem: &TotemConfig) {
    let spans = [
        totem.token,
        totem.token_retransmit,
        totem.hold,
        totem.join,
        totem.send_join,
        totem.consensus,
        totem.merge,
        totem.fail_recv_time,
        totem.heartbeat.unwrap_or_default(),
    ];
    spans.into_iter().for_each(|span| writer.u64(span.0));
    let (wide_window, wide_messages) = totem.wide.unwrap_or_default();
    let counts = [
        totem.token_warning,
        totem.fail_recv_const,
        totem.seqno_unchanged_const,
        totem.miss_count_const,
        totem.window_size,
        totem.max_messages,
        wide_window,
        wide_messages,
        totem.accelerated,
        u32::from(totem.cancel_hold_on_retransmit),
    ];
    counts.into_iter().for_each(|count| writer.u32(count));
}

fn read_totem(reader: &mut Reader<'_>) -> Result<TotemConfig, DecodeError> {
    let mut spans = [Span(0); 9];
    for span in &mut spans {
        *span = Span(reader.u64("totem timer")?);
    }
    let mut counts = [0; 10];
    for count in &mut counts {
        *count = reader.u32("totem limit")?;
    }
    let [token, token_retransmit, hold, join, send_join, consensus, merge, fail_recv_time, heartbeat] = spans;
    Ok(TotemConfig {
        token,
        token_retransmit,
        hold,
        join,
        send_join,
        consensus,
        merge,
        fail_recv_time,
        heartbeat: (heartbeat != Span(0)).then_some(heartbeat),
        token_warning: counts[0],
        fail_recv_const: counts[1],
        seqno_unchanged_const: counts[2],
        miss_count_const: counts[3],
        window_size: counts[4],
        max_messages: counts[5],
        wide: (counts[6] != 0).then_some((counts[6], counts[7])),
        accelerated: counts[8],
        cancel_hold_on_retransmit: counts[9] != 0,
    })
}

fn read_bool(reader: &mut Reader<'_>, field: &'static str) -> Result<bool, DecodeError> {
    let bad = reader.error(field, Fault::Value);
    match reader.u8(field)? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(bad),
    }
}

fn write_request(writer: &mut Writer<'_>, request: &Request) {
    match request {
        Request::CpgJoin { pid, group, flags } => {
            writer.u8(0);
            writer.u32(*pid);
            write_bytes(writer, group.bytes());
            writer.u32(*flags);
        }
        Request::CpgLeave { pid, group } => {
            writer.u8(1);
            writer.u32(*pid);
            write_bytes(writer, group.bytes());
        }
        Request::CpgFinalize => writer.u8(2),
        Request::CpgMcast { guarantee, payload } => write_mcast(writer, 3, *guarantee, *payload),
        Request::CpgPartialMcast { guarantee, part, total, payload } => {
            write_mcast(writer, 4, *guarantee, *payload);
            writer.u8(*part as u8);
            writer.u32(*total);
        }
        Request::CpgMembership { group } => {
            writer.u8(5);
            write_bytes(writer, group.bytes());
        }
        Request::CpgLocalGet => writer.u8(6),
        Request::CpgIterationStart { kind, group } => {
            writer.u8(7);
            writer.u32(*kind as u32);
            write_bytes(writer, group.bytes());
        }
        Request::CpgIterationNext { iteration } => {
            writer.u8(8);
            writer.u64(*iteration);
        }
        Request::CpgIterationEnd { iteration } => {
            writer.u8(9);
            writer.u64(*iteration);
        }
        Request::EvsJoin { groups } => write_evs_groups(writer, 10, groups),
        Request::EvsLeave { groups } => write_evs_groups(writer, 11, groups),
        Request::EvsMcastJoined { guarantee, payload } => write_mcast(writer, 12, *guarantee, *payload),
        Request::EvsMcastGroups { guarantee, groups, payload } => {
            write_mcast(writer, 13, *guarantee, *payload);
            write_evs_groups(writer, 0, groups);
        }
        Request::EvsMembership => writer.u8(14),
    }
}

fn read_request(reader: &mut Reader<'_>) -> Result<Request, DecodeError> {
    let bad = reader.error("request", Fault::Value);
    Ok(match reader.u8("request")? {
        0 => {
            let pid = reader.u32("pid")?;
            Request::CpgJoin { pid, group: read_group(reader)?, flags: reader.u32("flags")? }
        }
        1 => Request::CpgLeave { pid: reader.u32("pid")?, group: read_group(reader)? },
        2 => Request::CpgFinalize,
        3 => {
            let (guarantee, payload) = read_mcast(reader)?;
            Request::CpgMcast { guarantee, payload }
        }
        4 => {
            let (guarantee, payload) = read_mcast(reader)?;
            let bad = reader.error("part", Fault::Value);
            let number = reader.u8("part")?;
            let parts = [Part::First, Part::Continued, Part::Last];
            let part = parts.into_iter().find(|part| *part as u8 == number).ok_or(bad)?;
            Request::CpgPartialMcast { guarantee, part, total: reader.u32("total")?, payload }
        }
        5 => Request::CpgMembership { group: read_group(reader)? },
        6 => Request::CpgLocalGet,
        7 => {
            let bad = reader.error("iteration kind", Fault::Value);
            let number = reader.u32("iteration kind")?;
            let kinds = [IterationKind::NameOnly, IterationKind::OneGroup, IterationKind::All];
            let kind = kinds.into_iter().find(|kind| *kind as u32 == number).ok_or(bad)?;
            Request::CpgIterationStart { kind, group: read_group(reader)? }
        }
        8 => Request::CpgIterationNext { iteration: reader.u64("iteration")? },
        9 => Request::CpgIterationEnd { iteration: reader.u64("iteration")? },
        10 => Request::EvsJoin { groups: read_evs_groups(reader)? },
        11 => Request::EvsLeave { groups: read_evs_groups(reader)? },
        12 => {
            let (guarantee, payload) = read_mcast(reader)?;
            Request::EvsMcastJoined { guarantee, payload }
        }
        13 => {
            let (guarantee, payload) = read_mcast(reader)?;
            reader.skip(1, "filler")?;
            Request::EvsMcastGroups { guarantee, groups: read_evs_groups(reader)?, payload }
        }
        14 => Request::EvsMembership,
        _ => return Err(bad),
    })
}

fn read_group(reader: &mut Reader<'_>) -> Result<Box<GroupName>, DecodeError> {
    let bad = reader.error("group name", Fault::Value);
    GroupName::new(&read_bytes(reader, "group name")?).map(Box::new).ok_or(bad)
}

fn write_mcast(writer: &mut Writer<'_>, request: u8, guarantee: Guarantee, payload: Payload) {
    writer.u8(request);
    writer.u8(guarantee as u32 as u8);
    let (place, key, len) = match payload {
        Payload::Caller { key, len } => (0, key, len),
        Payload::Frame { key, len } => (1, key, len),
    };
    writer.u8(place);
    writer.u64(key);
    writer.u32(len);
}

fn read_mcast(reader: &mut Reader<'_>) -> Result<(Guarantee, Payload), DecodeError> {
    let bad = reader.error("guarantee", Fault::Value);
    let number = u32::from(reader.u8("guarantee")?);
    let all = [Guarantee::Unordered, Guarantee::Fifo, Guarantee::Agreed, Guarantee::Safe];
    let guarantee = all.into_iter().find(|guarantee| *guarantee as u32 == number).ok_or(bad)?;
    let bad = reader.error("place of a message", Fault::Value);
    let place = reader.u8("place of a message")?;
    let (key, len) = (reader.u64("key")?, reader.u32("length")?);
    let payload = match place {
        0 => Payload::Caller { key, len },
        1 => Payload::Frame { key, len },
        _ => return Err(bad),
    };
    Ok((guarantee, payload))
}

fn write_evs_groups(writer: &mut Writer<'_>, request: u8, groups: &[EvsGroup]) {
    writer.u8(request);
    writer.count(groups.len());
    for group in groups {
        writer.bytes(&group.0);
    }
}

fn read_evs_groups(reader: &mut Reader<'_>) -> Result<Vec<EvsGroup>, DecodeError> {
    let count = reader.count(32, LIST_MAX, "groups")?;
    let mut groups = Vec::with_capacity(count);
    for _ in 0..count {
        let mut group = EvsGroup([0; 32]);
        group.0.copy_from_slice(reader.take(32, "group")?);
        groups.push(group);
    }
    Ok(groups)
}

#[cfg(test)]
mod tests;
