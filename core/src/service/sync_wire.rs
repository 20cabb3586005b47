//! Messages of the sync engine: totempg group "sync" (its header: 01 00 04 00 and the name, 8
//! bytes on a little-endian machine), then, offsets from there:
//!
//! | offset | width | field |
//! |---|---|---|
//! | 0 | 4 | 0 barrier, 1 service build |
//! | 4 | 4 | padding |
//! | 8 | 4 | size of the message: 32 or 552 |
//! | 12 | 4 | padding |
//! | 16 | 12 | ring id, packed; padding up to 32 |
//! | 32 | 4 | build: number of services, padding |
//! | 40 | 512 | build: their ids u32 × 128, ascending, the rest 0 |
//!
//! A barrier ends at 32. The original converts none of this between byte orders; the decoder
//! does. Like the original it looks at no size field.

use super::wire::{message_for, SERVICE_HEADER};
use crate::ids::RingId;
use crate::wire::cursor::{DecodeError, Fault, Order, Reader, Writer};
use crate::wire::frame::{read_ring, write_ring, RING_ID};

/// Name of the totempg group.
const NAME: &[u8; 4] = b"sync";
const BARRIER: u32 = 0;
const BUILD: u32 = 1;
/// Services there can be; nodes of the original use ids as places in a table of this size.
pub const SERVICES_MAX: usize = 64;
/// Slots for services in a message.
const SLOTS: usize = 128;
/// Size of a barrier.
pub const BARRIER_SIZE: usize = 32;
/// Size of a service build.
pub const BUILD_SIZE: usize = 552;
const _: () = assert!(SERVICE_HEADER + RING_ID + 4 == BARRIER_SIZE && BARRIER_SIZE + 8 + 4 * SLOTS == BUILD_SIZE);

/// A message of the sync engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncMessage {
    /// The services of the sender that take part in the synchronization after a new ring.
    Build {
        /// The new ring.
        ring: RingId,
        /// Ids, ascending, below [`SERVICES_MAX`].
        services: Vec<u32>,
    },
    /// The sender is done with the service whose turn it is.
    Barrier {
        /// The new ring.
        ring: RingId,
    },
}

impl SyncMessage {
    /// Appends group header and message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (id, size, ring) = match self {
            SyncMessage::Build { ring, .. } => (BUILD, BUILD_SIZE, ring),
            SyncMessage::Barrier { ring } => (BARRIER, BARRIER_SIZE, ring),
        };
        let mut writer = Writer::new(out, Order::NATIVE);
        writer.u16(1);
        writer.u16(NAME.len() as u16);
        writer.bytes(NAME);
        writer.u32(id);
        writer.u32(0);
        writer.count(size);
        writer.u32(0);
        write_ring(&mut writer, *ring);
        writer.u32(0);
        if let SyncMessage::Build { services, .. } = self {
            assert!(services.len() <= SERVICES_MAX, "nodes of the original have room for no more");
            writer.count(services.len());
            writer.u32(0);
            for service in services {
                writer.u32(*service);
            }
            writer.zeros(4 * (SLOTS - services.len()));
        }
    }

    /// Reads a message from its group header on; `None` when it is for another group, or of a
    /// kind this build does not know.
    pub fn decode(bytes: &[u8], order: Order) -> Result<Option<SyncMessage>, DecodeError> {
        let Some(mut reader) = message_for(NAME, bytes, order)? else { return Ok(None) };
        let id = reader.u32("id")?;
        reader.skip(SERVICE_HEADER - 4, "header")?;
        if id != BARRIER && id != BUILD {
            return Ok(None);
        }
        let ring = read_ring(&mut reader)?;
        reader.skip(4, "padding")?;
        if id == BARRIER {
            return Ok(Some(SyncMessage::Barrier { ring }));
        }
        let services = read_services(&mut reader)?;
        Ok(Some(SyncMessage::Build { ring, services }))
    }
}

fn read_services(reader: &mut Reader<'_>) -> Result<Vec<u32>, DecodeError> {
    let at_count = reader.clone();
    let count = reader.u32("service_list_entries")? as usize;
    reader.skip(4, "padding")?;
    if count > SERVICES_MAX {
        return Err(at_count.error("service_list_entries", Fault::TooMany));
    }
    let mut list = reader.clone();
    reader.skip(4 * SLOTS, "service_list")?;
    let mut services = Vec::with_capacity(count);
    for _ in 0..count {
        let at_service = list.clone();
        let service = list.u32("service_list")?;
        if service as usize >= SERVICES_MAX {
            return Err(at_service.error("service_list", Fault::Value));
        }
        services.push(service);
    }
    Ok(services)
}
