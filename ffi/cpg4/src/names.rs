//! Group names as callbacks get them: at a place that stays as long as the handle.
//!
//! A delivery names no group, since a handle is in one at a time; it belongs to the group of the
//! configuration change before it. So a callback's name costs no copy, and a program that keeps
//! the pointer longer than it may reads something harmless.

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::sync::atomic::{AtomicPtr, Ordering};

use evensong_core::ids::GroupName;
use parking_lot::Mutex;

use crate::types::{cpg_name, CPG_MAX_NAME_LENGTH};

static NONE: cpg_name = cpg_name { length: 0, value: [0; CPG_MAX_NAME_LENGTH] };

/// The names a handle has seen, and the one in force.
pub struct Names {
    seen: Mutex<BTreeMap<GroupName, Box<cpg_name>>>,
    current: AtomicPtr<cpg_name>,
}

impl Names {
    /// No group yet.
    pub fn new() -> Names {
        Names { seen: Mutex::new(BTreeMap::new()), current: AtomicPtr::new((&raw const NONE).cast_mut()) }
    }

    /// Puts a name in force; false when it was before.
    pub fn enter(&self, group: &GroupName) -> bool {
        let mut seen = self.seen.lock();
        let name: *const cpg_name = &raw const **seen.entry(*group).or_insert_with(|| Box::new(c_name(group)));
        self.current.swap(name.cast_mut(), Ordering::Relaxed).cast_const() != name
    }

    /// The name in force.
    pub fn current(&self) -> *const cpg_name {
        self.current.load(Ordering::Relaxed)
    }
}

/// A name as C has it.
pub fn c_name(group: &GroupName) -> cpg_name {
    let mut name = NONE;
    name.length = group.bytes().len() as u32;
    for (to, from) in name.value.iter_mut().zip(group.bytes()) {
        *to = *from as c_char;
    }
    name
}

/// A name out of what C has; `None` when its length is beyond the limit.
pub fn group_name(name: &cpg_name) -> Option<GroupName> {
    let used = name.value.get(..name.length as usize)?;
    let bytes: Vec<u8> = used.iter().map(|byte| *byte as u8).collect();
    GroupName::new(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_where_it_was() {
        let names = Names::new();
        let group = |text: &str| GroupName::new(text.as_bytes()).expect("short");
        assert!(names.enter(&group("one")));
        let one = names.current();
        assert!(!names.enter(&group("one")));
        assert!(names.enter(&group("two")));
        assert_ne!(names.current(), one);
        assert!(names.enter(&group("one")));
        assert_eq!(names.current(), one);
    }

    #[test]
    fn any_bytes_go_through_and_too_many_do_not() {
        let bytes: Vec<u8> = (0..128).map(|byte| byte * 2).collect();
        let group = GroupName::new(&bytes).expect("128 fit");
        assert_eq!(group_name(&c_name(&group)), Some(group));
        let mut name = c_name(&group);
        name.length = 129;
        assert_eq!(group_name(&name), None);
    }
}
