//! The message of the evs service on the ring. Nodes of the original know no service 20 and
//! pass over it.
//!
//! | offset | width | field |
//! |---|---|---|
//! | 0 | 16 | service header: 20 << 16 |
//! | 16 | 4 | version, 1 |
//! | 20 | 4 | number of groups |
//! | 24 | 4 | length of the data |
//! | 28 | 4 | zero |
//! | 32 | 32 each | groups |
//! | | | data |

use std::ops::Range;

use crate::ids::EvsGroup;
use crate::service::wire::{begin, SERVICE_HEADER};
use crate::wire::cursor::{DecodeError, Fault, Order, Reader, Writer};

/// Number of the service.
pub const SERVICE: u32 = 20;
const MCAST: u32 = 0;
const VERSION: u32 = 1;
const FIXED: usize = SERVICE_HEADER + 16;
const GROUP: usize = 32;

/// Size of a message with so many groups, without its data.
pub fn size(groups: usize) -> usize {
    FIXED + GROUP * groups
}

/// Appends everything of a message but its `len` bytes of data.
pub fn encode(groups: &[EvsGroup], len: u32, out: &mut Vec<u8>) {
    begin(out, SERVICE, MCAST, size(groups.len()) + len as usize);
    let mut writer = Writer::new(out, Order::NATIVE);
    writer.u32(VERSION);
    writer.count(groups.len());
    writer.u32(len);
    writer.u32(0);
    for group in groups {
        writer.bytes(&group.0);
    }
}

/// Reads a message from its service header on: groups, and where the data are. `None` for
/// functions and versions this build does not know.
#[allow(clippy::type_complexity)]
pub fn decode(function: u32, bytes: &[u8], order: Order) -> Result<Option<(Vec<EvsGroup>, Range<usize>)>, DecodeError> {
    let mut reader = Reader::new(bytes, order);
    reader.skip(SERVICE_HEADER, "service header")?;
    if function != MCAST || reader.u32("version")? != VERSION {
        return Ok(None);
    }
    let at_count = reader.clone();
    let count = reader.u32("number of groups")? as usize;
    let len = reader.u32("length")? as usize;
    reader.skip(4, "filler")?;
    if count > reader.left() / GROUP {
        return Err(at_count.error("number of groups", Fault::Short));
    }
    let mut groups = Vec::with_capacity(count);
    for key in reader.take(count * GROUP, "groups")?.chunks_exact(GROUP) {
        let mut group = EvsGroup([0; GROUP]);
        group.0.copy_from_slice(key);
        groups.push(group);
    }
    let start = reader.position();
    reader.skip(len, "data")?;
    Ok(Some((groups, start..start + len)))
}
