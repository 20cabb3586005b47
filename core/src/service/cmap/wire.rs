//! The message of the cmap service (service 0), offsets from the service header on.
//!
//! | offset | width | field |
//! |---|---|---|
//! | 0 | 16 | service header, function 0 |
//! | 16 | 1 | reason: 0 sync, 1 the version changed; padding up to 24 |
//! | 24 | 1 | number of items; padding and two reserved fields up to 48 |
//! | 48 | | items |
//!
//! An item is 280 bytes and a value, rounded up to 8:
//!
//! | offset | width | field |
//! |---|---|---|
//! | 0 | 8 | length of the key u16, padding |
//! | 8 | 256 | key |
//! | 264 | 1 | type of the value: 8 = u64, 0 = there is no such key; padding up to 272 |
//! | 272 | 8 | length of the value |
//! | 280 | | value |
//!
//! The original only ever sends one item, `totem.config_version`: 336 bytes in all, 328 where
//! the file names no version. Other items are passed over.

use crate::service::wire::{begin, SERVICE_HEADER};
use crate::wire::cursor::{DecodeError, Fault, Order, Reader, Writer};

/// Number of the service.
pub const SERVICE: u32 = 0;
const MCAST: u32 = 0;
const KEY: &[u8] = b"totem.config_version";
const KEY_MAX: usize = 256;
const TYPE_U64: u8 = 8;
const FIXED: usize = SERVICE_HEADER + 4 * 8;
const ITEM: usize = 8 + KEY_MAX + 2 * 8;
const SIZE_WITHOUT: usize = FIXED + ITEM;
const SIZE: usize = SIZE_WITHOUT + 8;
const _: () = assert!(SIZE_WITHOUT == 328 && SIZE == 336);

/// Why a node tells its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    /// A new membership.
    Sync = 0,
    /// The version changed.
    NewVersion = 1,
}

/// The version of a node's configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigVersion {
    /// Why it is sent.
    pub reason: Reason,
    /// `None` where the file names no version.
    pub version: Option<u64>,
}

impl ConfigVersion {
    /// Appends group header and message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        begin(out, SERVICE, MCAST, if self.version.is_some() { SIZE } else { SIZE_WITHOUT });
        let mut writer = Writer::new(out, Order::NATIVE);
        byte_slot(&mut writer, self.reason as u8);
        byte_slot(&mut writer, 1);
        writer.zeros(2 * 8);
        writer.u16(KEY.len() as u16);
        writer.zeros(6);
        writer.bytes(KEY);
        writer.zeros(KEY_MAX - KEY.len());
        match self.version {
            Some(version) => {
                byte_slot(&mut writer, TYPE_U64);
                writer.u64(8);
                writer.u64(version);
            }
            None => writer.zeros(2 * 8),
        }
    }

    /// Reads a message from its service header on; `None` for functions and reasons this build
    /// does not know.
    pub fn decode(function: u32, bytes: &[u8], order: Order) -> Result<Option<ConfigVersion>, DecodeError> {
        if function != MCAST {
            return Ok(None);
        }
        let mut reader = Reader::new(bytes, order);
        reader.skip(SERVICE_HEADER, "service header")?;
        let reason = read_byte_slot(&mut reader, "reason")?;
        let items = read_byte_slot(&mut reader, "number of items")?;
        reader.skip(2 * 8, "reserved")?;
        let mut version = None;
        for _ in 0..items {
            version = read_item(&mut reader)?.or(version);
        }
        let reason = match reason {
            0 => Reason::Sync,
            1 => Reason::NewVersion,
            _ => return Ok(None),
        };
        Ok(Some(ConfigVersion { reason, version }))
    }
}

/// One byte in a slot of 8.
fn byte_slot(writer: &mut Writer<'_>, value: u8) {
    writer.u8(value);
    writer.zeros(7);
}

fn read_byte_slot(reader: &mut Reader<'_>, field: &'static str) -> Result<u8, DecodeError> {
    let value = reader.u8(field)?;
    reader.skip(7, "padding")?;
    Ok(value)
}

/// The version, if that is what the item is.
fn read_item(reader: &mut Reader<'_>) -> Result<Option<u64>, DecodeError> {
    let at_length = reader.clone();
    let length = usize::from(reader.u16("length of the key")?);
    reader.skip(6, "padding")?;
    let key = reader.take(KEY_MAX, "key")?;
    let Some(key) = key.get(..length) else { return Err(at_length.error("length of the key", Fault::TooMany)) };
    let kind = read_byte_slot(reader, "type of the value")?;
    let at_length = reader.clone();
    let length = reader.u64("length of the value")?;
    if length > reader.left() as u64 {
        return Err(at_length.error("length of the value", Fault::Short));
    }
    let length = length as usize;
    let mut value = reader.clone();
    reader.skip(length.next_multiple_of(8), "value")?;
    if key != KEY || kind != TYPE_U64 || length != 8 {
        return Ok(None);
    }
    value.u64("value").map(Some)
}
