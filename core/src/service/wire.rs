//! What every service message starts with on the wire.
//!
//! First the header of the message's totempg group: u16 number of names, u16 length of each,
//! the names. Services use one name, "a". Then, unaligned, the service header:
//!
//! | offset | width | field |
//! |---|---|---|
//! | 0 | 4 | service << 16, function |
//! | 4 | 4 | padding |
//! | 8 | 4 | size of the message, this header included |
//! | 12 | 4 | padding |
//!
//! Padding may hold anything. Receivers of the original go by the first field alone; here the
//! size is checked too, but only where the service is one we know: of messages for others
//! nothing is demanded, they are passed over (some of the original's never set the size).

use super::{cmap, cpg, evs};
use crate::ids::{GroupName, GROUP_NAME_MAX};
use crate::wire::cursor::{DecodeError, Fault, Order, Reader, Writer};

/// Group header of a service message from this machine.
pub const GROUP_HEADER: [u8; 5] = match Order::NATIVE {
    Order::Little => [1, 0, 1, 0, b'a'],
    Order::Big => [0, 1, 0, 1, b'a'],
};
/// Size of the service header.
pub const SERVICE_HEADER: usize = 16;
/// Size of a cpg group name: length u32, padding up to 8, 128 bytes.
pub const NAME: usize = 8 + GROUP_NAME_MAX;
/// Services that this build reads messages of.
const KNOWN: [u32; 3] = [cmap::wire::SERVICE, cpg::wire::SERVICE, evs::wire::SERVICE];
/// Most names a group header may have.
const NAMES_MAX: usize = 64;

/// A message for a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incoming<'a> {
    /// Number of the service.
    pub service: u32,
    /// Number of the function.
    pub function: u32,
    /// The message from its service header on, as long as it says it is.
    pub bytes: &'a [u8],
    /// Where `bytes` start in what was decoded.
    pub offset: usize,
}

/// Appends group header and service header of a message of `size` bytes.
pub fn begin(out: &mut Vec<u8>, service: u32, function: u32, size: usize) {
    let mut writer = Writer::new(out, Order::NATIVE);
    writer.bytes(&GROUP_HEADER);
    writer.u32(service << 16 | function);
    writer.u32(0);
    writer.count(size);
    writer.u32(0);
}

/// Reads both headers; `None` when the message is for other totempg groups than ours.
pub fn decode(bytes: &[u8], order: Order) -> Result<Option<Incoming<'_>>, DecodeError> {
    let Some(mut reader) = message_for(b"a", bytes, order)? else { return Ok(None) };
    let offset = reader.position();
    let id = reader.u32("id")?;
    reader.skip(4, "padding")?;
    let at_size = reader.clone();
    let mut size = reader.u32("size")? as usize;
    reader.skip(4, "padding")?;
    let service = id >> 16;
    if size < SERVICE_HEADER || size > bytes.len() - offset {
        if KNOWN.contains(&service) {
            return Err(at_size.error("size", Fault::Value));
        }
        size = bytes.len() - offset;
    }
    Ok(Some(Incoming { service, function: id & 0xffff, bytes: &bytes[offset..offset + size], offset }))
}

/// Reads the header of a totempg group; the reader stands at the message behind it. `None` when
/// `name` is not among the names.
pub(super) fn message_for<'a>(name: &[u8], bytes: &'a [u8], order: Order) -> Result<Option<Reader<'a>>, DecodeError> {
    let mut reader = Reader::new(bytes, order);
    let names = usize::from(reader.u16("number of names")?);
    if names > NAMES_MAX {
        return Err(DecodeError { field: "number of names", offset: 0, fault: Fault::TooMany });
    }
    let mut lengths = [0; NAMES_MAX];
    for length in &mut lengths[..names] {
        *length = usize::from(reader.u16("length of a name")?);
    }
    let mut named = false;
    for length in &lengths[..names] {
        named |= reader.take(*length, "name")? == name;
    }
    Ok(named.then_some(reader))
}

/// Appends a group name.
pub fn write_name(writer: &mut Writer<'_>, name: &GroupName) {
    writer.count(name.bytes().len());
    writer.u32(0);
    writer.bytes(name.bytes());
    writer.zeros(GROUP_NAME_MAX - name.bytes().len());
}

/// Reads a group name.
pub fn read_name(reader: &mut Reader<'_>) -> Result<GroupName, DecodeError> {
    let bad = reader.error("group name", Fault::Value);
    let len = reader.u32("length of the group name")? as usize;
    reader.skip(4, "padding")?;
    let value = reader.take(GROUP_NAME_MAX, "group name")?;
    value.get(..len).and_then(GroupName::new).ok_or(bad)
}
