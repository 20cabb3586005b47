//! Requests: what client libraries write into the request ring, and what the daemon reads.
//!
//! The high byte of a kind is the service's number. Fields of the record header and layout of
//! the body, per kind ("name" is a group name of 132 bytes: length u32, then 128 bytes):
//!
//! | kind | flags | a | body |
//! |---|---|---|---|
//! | `CPG_JOIN` | | | pid u32, model flags u32, name |
//! | `CPG_LEAVE` | | | pid u32, 0 u32, name |
//! | `CPG_MCAST` | guarantee | | message |
//! | `CPG_PARTIAL_MCAST` | guarantee, part << 8 | total length | piece of the message |
//! | `CPG_MEMBERSHIP` | | | name |
//! | `CPG_ITERATION_START` | | | what u32, 0 u32, name |
//! | `CPG_ITERATION_NEXT`, `CPG_ITERATION_END` | | | iteration u64 |
//! | `CPG_FINALIZE`, `CPG_LOCAL_GET`, `EVS_MEMBERSHIP` | | | nothing |
//! | `EVS_JOIN`, `EVS_LEAVE` | | | groups, 32 bytes each |
//! | `EVS_MCAST_JOINED` | guarantee | | message |
//! | `EVS_MCAST_GROUPS` | guarantee | number of groups | groups, then message |
//!
//! Synchronous requests carry their number, not 0, in `b`. The daemon copies header and
//! arguments out of the shared memory before it decodes them; messages it need not copy.

use super::fields::{self, EVS_GROUP_SIZE};
use super::layout::{RecordHeader, Service, MAX_ATOMIC};
use crate::ids::{EvsGroup, GroupName};
use crate::input::{Guarantee, IterationKind, Part, Payload, Request};
use crate::wire::cursor::{DecodeError, Fault, Order, Reader, Writer};

/// Whether groups and a message of `len` bytes fit into one evs message.
pub fn evs_fits(groups: usize, len: usize) -> bool {
    groups.saturating_mul(EVS_GROUP_SIZE).saturating_add(len) <= EVS_BYTES_MAX as usize
}

/// Kinds of requests.
#[allow(missing_docs)]
pub mod kind {
    pub const CPG_JOIN: u16 = 0x0201;
    pub const CPG_LEAVE: u16 = 0x0202;
    pub const CPG_MCAST: u16 = 0x0203;
    pub const CPG_PARTIAL_MCAST: u16 = 0x0204;
    pub const CPG_MEMBERSHIP: u16 = 0x0205;
    pub const CPG_LOCAL_GET: u16 = 0x0206;
    pub const CPG_ITERATION_START: u16 = 0x0207;
    pub const CPG_ITERATION_NEXT: u16 = 0x0208;
    pub const CPG_ITERATION_END: u16 = 0x0209;
    pub const CPG_FINALIZE: u16 = 0x020a;
    pub const EVS_JOIN: u16 = 0x1401;
    pub const EVS_LEAVE: u16 = 0x1402;
    pub const EVS_MCAST_JOINED: u16 = 0x1403;
    pub const EVS_MCAST_GROUPS: u16 = 0x1404;
    pub const EVS_MEMBERSHIP: u16 = 0x1405;
}

/// Most groups that one evs_join may name; more is answered with `TOO_MANY_GROUPS`.
pub const EVS_JOIN_GROUPS_MAX: usize = 50;
/// Most bytes that groups (32 each) and message of one evs message take together: what a
/// request of the original, 1 MiB with its header of 48 bytes, has room for.
pub const EVS_BYTES_MAX: u32 = 1024 * 1024 - 48;
/// Most groups that one evs_mcast_groups may name, then without a message.
pub const EVS_MCAST_GROUPS_MAX: usize = EVS_BYTES_MAX as usize / EVS_GROUP_SIZE;
/// Most bytes of arguments that any request has.
pub const ARGS_MAX: u32 = super::layout::MAX_BODY;

/// Why a request is refused. The client is to blame; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadRequest {
    /// No request has this kind.
    Kind(u16),
    /// A field of the header or of the body is wrong.
    Field(DecodeError),
    /// The message is larger than the atomic limit.
    MessageSize(u32),
}

impl From<DecodeError> for BadRequest {
    fn from(error: DecodeError) -> BadRequest {
        BadRequest::Field(error)
    }
}

impl std::fmt::Display for BadRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BadRequest::Kind(kind) => write!(f, "request of unknown kind {kind:#06x}"),
            BadRequest::Field(error) => write!(f, "request whose {error}"),
            BadRequest::MessageSize(len) => write!(f, "message of {len} bytes, more than {MAX_ATOMIC}"),
        }
    }
}

impl std::error::Error for BadRequest {}

/// Offset of header fields in errors: the header is not part of the body.
const IN_HEADER: u32 = 0;

fn header_fault(field: &'static str, fault: Fault) -> BadRequest {
    BadRequest::Field(DecodeError { field, offset: IN_HEADER, fault })
}

/// The service that serves a kind.
pub fn service(kind: u16) -> Option<Service> {
    match kind {
        kind::CPG_JOIN..=kind::CPG_FINALIZE => Some(Service::Cpg),
        kind::EVS_JOIN..=kind::EVS_MEMBERSHIP => Some(Service::Evs),
        _ => None,
    }
}

/// Whether a request of this kind is answered by a reply.
pub fn is_synchronous(kind: u16) -> bool {
    service(kind).is_some() && !matches!(kind, kind::CPG_MCAST | kind::EVS_MCAST_JOINED | kind::EVS_MCAST_GROUPS)
}

/// Whether carrying a request of this kind out puts a message on the ring; the others are
/// answered at any time.
pub fn goes_to_the_ring(kind: u16) -> bool {
    use kind::{CPG_JOIN, CPG_LEAVE, CPG_PARTIAL_MCAST};
    matches!(kind, CPG_JOIN | CPG_LEAVE | CPG_PARTIAL_MCAST) || !is_synchronous(kind)
}

/// Where in the body the message starts: `None` when the whole body is arguments, else the
/// bytes before it are arguments. Checks everything that the header alone can tell.
pub fn payload_offset(header: &RecordHeader) -> Result<Option<u32>, BadRequest> {
    let Some(service) = service(header.kind) else { return Err(BadRequest::Kind(header.kind)) };
    if is_synchronous(header.kind) && header.b == 0 {
        return Err(header_fault("request number", Fault::Value));
    }
    let offset = match header.kind {
        kind::CPG_MCAST | kind::CPG_PARTIAL_MCAST | kind::EVS_MCAST_JOINED => 0,
        kind::EVS_MCAST_GROUPS => {
            if header.a as usize > EVS_MCAST_GROUPS_MAX {
                return Err(header_fault("number of groups", Fault::TooMany));
            }
            if header.len > EVS_BYTES_MAX {
                return Err(header_fault("groups and message", Fault::TooMany));
            }
            header.a * EVS_GROUP_SIZE as u32
        }
        _ => {
            let limit = if service == Service::Evs { ARGS_MAX } else { 256 };
            return if header.len > limit { Err(header_fault("arguments", Fault::TooMany)) } else { Ok(None) };
        }
    };
    match header.len.checked_sub(offset) {
        None => Err(header_fault("groups", Fault::Short)),
        Some(len) if len > MAX_ATOMIC => Err(BadRequest::MessageSize(len)),
        Some(_) => Ok(Some(offset)),
    }
}

/// Decodes a request out of its header, a copy of its arguments, and where its message is
/// (not looked at for requests that carry none).
pub fn decode(header: &RecordHeader, args: &[u8], payload: Payload) -> Result<Request, BadRequest> {
    let mut reader = Reader::new(args, Order::NATIVE);
    let request = match header.kind {
        kind::CPG_MCAST => Request::CpgMcast { guarantee: guarantee(header)?, payload },
        kind::EVS_MCAST_JOINED => Request::EvsMcastJoined { guarantee: guarantee(header)?, payload },
        kind::EVS_MCAST_GROUPS => decode_mcast_groups(header, &mut reader, payload)?,
        kind::CPG_PARTIAL_MCAST => decode_partial(header, payload)?,
        kind::CPG_JOIN => {
            let (pid, flags) = (reader.u32("pid")?, reader.u32("flags")?);
            Request::CpgJoin { pid, flags, group: Box::new(fields::read_name(&mut reader)?) }
        }
        kind::CPG_LEAVE => {
            let pid = reader.u32("pid")?;
            reader.skip(4, "filler")?;
            Request::CpgLeave { pid, group: Box::new(fields::read_name(&mut reader)?) }
        }
        kind::CPG_MEMBERSHIP => Request::CpgMembership { group: Box::new(fields::read_name(&mut reader)?) },
        kind::CPG_LOCAL_GET => Request::CpgLocalGet,
        kind::CPG_ITERATION_START => {
            let kind = iteration_kind(reader.u32("iteration kind")?)?;
            reader.skip(4, "filler")?;
            Request::CpgIterationStart { kind, group: Box::new(fields::read_name(&mut reader)?) }
        }
        kind::CPG_ITERATION_NEXT => Request::CpgIterationNext { iteration: reader.u64("iteration")? },
        kind::CPG_ITERATION_END => Request::CpgIterationEnd { iteration: reader.u64("iteration")? },
        kind::CPG_FINALIZE => Request::CpgFinalize,
        kind::EVS_JOIN => Request::EvsJoin { groups: decode_groups(&mut reader, EVS_JOIN_GROUPS_MAX + 1)? },
        kind::EVS_LEAVE => Request::EvsLeave { groups: decode_groups(&mut reader, usize::MAX)? },
        kind::EVS_MEMBERSHIP => Request::EvsMembership,
        other => return Err(BadRequest::Kind(other)),
    };
    reader.finish("arguments")?;
    Ok(request)
}

fn guarantee(header: &RecordHeader) -> Result<Guarantee, BadRequest> {
    match header.flags & 0xff {
        0 => Ok(Guarantee::Unordered),
        1 => Ok(Guarantee::Fifo),
        2 => Ok(Guarantee::Agreed),
        3 => Ok(Guarantee::Safe),
        _ => Err(header_fault("guarantee", Fault::Value)),
    }
}

fn iteration_kind(value: u32) -> Result<IterationKind, BadRequest> {
    match value {
        1 => Ok(IterationKind::NameOnly),
        2 => Ok(IterationKind::OneGroup),
        3 => Ok(IterationKind::All),
        _ => Err(header_fault("iteration kind", Fault::Value)),
    }
}

/// The part with this number.
pub(super) fn part(value: u16) -> Option<Part> {
    [Part::First, Part::Continued, Part::Last].into_iter().find(|part| *part as u16 == value)
}

fn decode_partial(header: &RecordHeader, payload: Payload) -> Result<Request, BadRequest> {
    let part = part(header.flags >> 8).ok_or(header_fault("part", Fault::Value))?;
    if payload.len() > header.a {
        return Err(header_fault("total length", Fault::Value));
    }
    Ok(Request::CpgPartialMcast { guarantee: guarantee(header)?, part, total: header.a, payload })
}

fn decode_mcast_groups(
    header: &RecordHeader,
    reader: &mut Reader<'_>,
    payload: Payload,
) -> Result<Request, BadRequest> {
    if header.a as usize > EVS_MCAST_GROUPS_MAX {
        return Err(header_fault("number of groups", Fault::TooMany));
    }
    let bytes = reader.take(header.a as usize * EVS_GROUP_SIZE, "groups")?;
    let groups = fields::read_groups(bytes, EVS_MCAST_GROUPS_MAX);
    Ok(Request::EvsMcastGroups { guarantee: guarantee(header)?, groups, payload })
}

/// Reads all that is left as groups and keeps the first `limit`: enough to see that there
/// are too many.
fn decode_groups(reader: &mut Reader<'_>, limit: usize) -> Result<Vec<EvsGroup>, BadRequest> {
    let whole = reader.left() / EVS_GROUP_SIZE * EVS_GROUP_SIZE;
    Ok(fields::read_groups(reader.take(whole, "groups")?, limit))
}

fn body(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut Writer::new(&mut out, Order::NATIVE));
    out
}

/// Flags of a request that carries a message.
pub fn mcast_flags(guarantee: Guarantee) -> u16 {
    guarantee as u32 as u16
}

/// Flags of a piece of a large message.
pub fn partial_flags(guarantee: Guarantee, part: Part) -> u16 {
    mcast_flags(guarantee) | u16::from(part as u8) << 8
}

/// Arguments of `CPG_JOIN`.
pub fn cpg_join(pid: u32, group: &GroupName, flags: u32) -> Vec<u8> {
    body(|writer| {
        writer.u32(pid);
        writer.u32(flags);
        fields::write_name(writer, group);
    })
}

/// Arguments of `CPG_LEAVE`.
pub fn cpg_leave(pid: u32, group: &GroupName) -> Vec<u8> {
    cpg_join(pid, group, 0)
}

/// Arguments of `CPG_MEMBERSHIP`.
pub fn cpg_membership(group: &GroupName) -> Vec<u8> {
    body(|writer| fields::write_name(writer, group))
}

/// Arguments of `CPG_ITERATION_START`.
pub fn cpg_iteration_start(kind: IterationKind, group: &GroupName) -> Vec<u8> {
    cpg_join(kind as u32, group, 0)
}

/// Arguments of `CPG_ITERATION_NEXT` and `CPG_ITERATION_END`.
pub fn cpg_iteration(iteration: u64) -> Vec<u8> {
    body(|writer| writer.u64(iteration))
}

/// Arguments of `EVS_JOIN` and `EVS_LEAVE`, and those of `EVS_MCAST_GROUPS`.
pub fn evs_groups(groups: &[EvsGroup]) -> Vec<u8> {
    body(|writer| fields::write_groups(writer, groups))
}
