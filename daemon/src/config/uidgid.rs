//! Who besides root may connect: `uidgid` sections, and the files of `uidgid.d`.
//!
//! The directory lies beside the configuration file. A file there that is a backup by its name
//! is passed over; one that has an error grants nothing and is reported, but does not stop
//! the daemon (the original stops).

use std::path::Path;
use std::sync::Arc;

use nix::unistd::{Group, User};

use super::parse::{self, quoted, Entry, Section};
use super::problem::{Place, Problems, Severity};
use crate::ipc::Access;

/// Endings of names that editors and package managers give to old copies.
const STRAY: &[&str] = &["~", ".bak", ".orig", ".old", ".save", ".swp", ".tmp", ".rej"];
/// Parts of such names.
const STRAY_PARTS: &[&str] = &[".rpmsave", ".rpmnew", ".rpmorig", ".dpkg-", ".ucf-"];
/// Most files read.
const FILES_MAX: usize = 1000;

/// Reads the sections of the main file; errors there are errors.
pub fn sections(root: &Section, problems: &mut Problems) -> Access {
    let mut access = Access::default();
    for section in root.all("uidgid") {
        for entry in &section.entries {
            grant(&mut access, entry, problems);
        }
    }
    access
}

/// Adds what the directory beside `config` grants.
pub fn directory(config: &Path, access: &mut Access, problems: &mut Problems) {
    let dir = config.parent().unwrap_or(Path::new(".")).join("uidgid.d");
    let Ok(list) = std::fs::read_dir(&dir) else { return };
    let mut files: Vec<_> = list.flatten().map(|file| file.path()).filter(|path| path.is_file()).collect();
    files.sort();
    for path in files.iter().take(FILES_MAX) {
        let place = Place { file: Arc::from(path.as_path()), line: 0 };
        if is_stray(path) {
            problems.info(&place, "", "passed over: by its name it is an old copy");
            continue;
        }
        let mut own = Problems::default();
        let granted = file(path, &place, &mut own);
        if own.rejected() {
            for mut problem in own.into_sorted() {
                problem.severity = Severity::Warning;
                problem.hint("nothing in this file counts");
                problems.add(problem.severity, problem.at.as_ref(), &problem.key, problem.text).hint(problem.hint);
            }
        } else {
            problems.append(own);
            access.users.extend(granted.users);
            access.groups.extend(granted.groups);
        }
    }
}

fn is_stray(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(['.', '#'])
        || STRAY.iter().any(|end| name.ends_with(end))
        || STRAY_PARTS.iter().any(|part| name.contains(part))
}

fn file(path: &Path, place: &Place, problems: &mut Problems) -> Access {
    let mut access = Access::default();
    let text = match super::read(path) {
        Ok(text) => text,
        Err(error) => {
            problems.error(place, "", error);
            return access;
        }
    };
    let tree = parse::parse(&text, &place.file, problems);
    for entry in &tree.root.entries {
        problems.error(&entry.at, &entry.key, "key outside of a uidgid section");
    }
    for section in &tree.root.sections {
        if section.path != "uidgid" {
            problems.error(&section.at, &section.path, "only uidgid sections may stand here");
            continue;
        }
        for inner in &section.sections {
            problems.error(&inner.at, &inner.path, "no section may stand here");
        }
        for entry in &section.entries {
            grant(&mut access, entry, problems);
        }
    }
    access
}

fn grant(access: &mut Access, entry: &Entry, problems: &mut Problems) {
    let value = entry.value.as_str();
    let number = value.parse::<u32>().ok();
    match entry.key.as_str() {
        "uid" => match number.or_else(|| User::from_name(value).ok().flatten().map(|user| user.uid.as_raw())) {
            Some(id) => {
                access.users.insert(id);
            }
            None => unknown("uid", "user", entry, problems),
        },
        "gid" => match number.or_else(|| Group::from_name(value).ok().flatten().map(|group| group.gid.as_raw())) {
            Some(id) => {
                access.groups.insert(id);
            }
            None => unknown("gid", "group", entry, problems),
        },
        // In the main file the key check has said so.
        other => {
            if entry.at.file.parent().is_some_and(|dir| dir.ends_with("uidgid.d")) {
                problems.error(&entry.at, &format!("uidgid.{other}"), "only uid and gid may stand here");
            }
        }
    }
}

fn unknown(key: &str, what: &str, entry: &Entry, problems: &mut Problems) {
    if !entry.value.is_empty() {
        let text = format!("there is no {what} {}", quoted(&entry.value));
        problems.error(&entry.at, &format!("uidgid.{key}"), text).hint("a name or a number up to 4294967295 is needed");
    }
}
