//! Handle tables: what C programs hold are numbers, never pointers.
//!
//! A handle is a slot's index with a check value above it, so a stale or invented one is
//! refused (`CS_ERR_BAD_HANDLE`) and 0 is never valid. A lookup hands out a reference count;
//! nothing stays locked while the caller works, blocks or calls back. What a fork finds locked
//! stays so in the child (see `lock.rs`): nobody waits for long here.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use once_cell::sync::Lazy;
use parking_lot::RwLock;

use crate::code;
use crate::lock::CHILD_WAIT;

static NEXT_CHECK: Lazy<AtomicU32> = Lazy::new(|| AtomicU32::new(crate::sys::entropy()));

struct Slot<T> {
    check: u32,
    item: Option<Arc<T>>,
}

/// One table, for one kind of handle.
pub struct Handles<T> {
    slots: Lazy<RwLock<Vec<Slot<T>>>>,
}

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Handles::new()
    }
}

impl<T> Handles<T> {
    /// An empty table; fit for a `static`.
    pub const fn new() -> Handles<T> {
        Handles { slots: Lazy::new(|| RwLock::new(Vec::new())) }
    }

    /// Puts an item in and returns its handle, or `CS_ERR_TRY_AGAIN` in a child of a fork that
    /// found the table locked.
    pub fn insert(&self, item: T) -> Result<u64, u32> {
        let check = loop {
            let next = NEXT_CHECK.fetch_add(0x9e37_79b1, Ordering::Relaxed);
            if next != 0 {
                break next;
            }
        };
        let item = Some(Arc::new(item));
        let mut slots = self.slots.try_write_for(CHILD_WAIT).ok_or(code::TRY_AGAIN)?;
        let index = match slots.iter().position(|slot| slot.item.is_none()) {
            Some(index) => {
                slots[index] = Slot { check, item };
                index
            }
            None => {
                slots.push(Slot { check, item });
                slots.len() - 1
            }
        };
        Ok(u64::from(check) << 32 | index as u64)
    }

    /// The item of a handle.
    pub fn get(&self, handle: u64) -> Option<Arc<T>> {
        let slots = self.slots.try_read().or_else(|| self.slots.try_read_for(CHILD_WAIT))?;
        let slot = slots.get((handle & 0xffff_ffff) as usize)?;
        if u64::from(slot.check) != handle >> 32 {
            return None;
        }
        slot.item.clone()
    }

    /// Takes the item of a handle out; the handle is bad from now on.
    pub fn remove(&self, handle: u64) -> Option<Arc<T>> {
        let mut slots = self.slots.try_write_for(CHILD_WAIT)?;
        let slot = slots.get_mut((handle & 0xffff_ffff) as usize)?;
        if u64::from(slot.check) != handle >> 32 {
            return None;
        }
        slot.item.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_and_invented_handles_are_refused() {
        let table = Handles::new();
        let first = table.insert(1).expect("nobody has it locked");
        assert_eq!(table.get(first).as_deref(), Some(&1));
        assert!(table.get(0).is_none() && table.get(first ^ (1 << 40)).is_none() && table.get(first + 1).is_none());
        assert!(table.remove(first).is_some() && table.get(first).is_none() && table.remove(first).is_none());
        let second = table.insert(2).expect("nobody has it locked");
        assert_ne!(first, second);
        assert!(table.get(first).is_none());
    }
}
