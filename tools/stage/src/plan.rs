//! The list of everything that is installed: from where, to which directory, under which name.
//!
//! Libraries come from the table `ffi/abi/libraries.tsv`, headers from `include/`, pkg-config files
//! from `pkgconfig/`, manual pages from `man/` and the systemd unit from `dist/`.

use crate::build::{Built, DAEMON};
use std::fs;
use std::path::{Path, PathBuf};

/// One row of the table of libraries.
pub struct Library {
    /// package in the workspace
    pub package: String,
    /// what cargo calls the file, without `lib` and suffix
    pub stem: String,
    /// `libcpg.so.4.1.0`
    pub full_name: String,
    /// `libcpg.so.4`
    pub soname: String,
    /// `libcpg.so`
    pub development_link: String,
    /// `libcpg.a`
    pub archive: String,
}

/// The directory an item goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Lib,
    PkgConfig,
    Sbin,
    Bin,
    Include,
    Man,
    Unit,
}

/// Where an item's bytes come from.
pub enum Source {
    /// copied as it is
    File(PathBuf),
    /// text whose `@PREFIX@` and the like are replaced by the directories of this installation
    Template(PathBuf),
    /// a symbolic link to a name in the same directory
    Link(String),
}

/// One thing to install.
pub struct Item {
    pub place: Place,
    /// below the place, with folders
    pub name: PathBuf,
    pub mode: u32,
    pub source: Source,
}

impl Item {
    fn new(place: Place, name: impl Into<PathBuf>, mode: u32, source: Source) -> Item {
        Item { place, name: name.into(), mode, source }
    }
}

/// Other names the daemon is known by.
const ALIASES: [&str; 2] = ["corosync", "aisexec"];

/// Reads the table.
pub fn libraries(root: &Path) -> Result<Vec<Library>, String> {
    let path = root.join("ffi/abi/libraries.tsv");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut libraries = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, l)| !l.starts_with('#') && !l.trim().is_empty()) {
        let mut columns = line.split('\t').map(|column| column.trim().to_owned());
        let mut next = || columns.next().filter(|c| !c.is_empty());
        let row = (|| {
            Some(Library {
                package: next()?,
                stem: next()?,
                full_name: next()?,
                soname: next()?,
                development_link: next()?,
                archive: next()?,
            })
        })();
        libraries.push(row.ok_or_else(|| format!("{}:{}: six columns expected", path.display(), number + 1))?);
    }
    Ok(libraries)
}

/// Everything, from where cargo built it.
pub fn from_build(root: &Path, libraries: &[Library], built: &Built) -> Result<Vec<Item>, String> {
    let find = |name: &str| built.get(name).cloned().ok_or_else(|| format!("cargo built no {name}"));
    let mut items = Vec::new();
    for library in libraries {
        let shared = find(&format!("lib{}.so", library.stem))?;
        let archive = find(&format!("lib{}.a", library.stem))?;
        push_library(&mut items, library, shared, archive);
    }
    push_daemon(&mut items, find(DAEMON)?);
    push_tree_files(&mut items, root)?;
    Ok(items)
}

/// Everything, from a tree that was staged before.
pub fn from_stage(root: &Path, libraries: &[Library], usr: &Path) -> Result<Vec<Item>, String> {
    let mut items = Vec::new();
    for library in libraries {
        let lib = usr.join("lib");
        push_library(&mut items, library, lib.join(&library.full_name), lib.join(&library.archive));
    }
    push_daemon(&mut items, usr.join("sbin").join(DAEMON));
    push_tree_files(&mut items, root)?;
    Ok(items)
}

fn push_library(items: &mut Vec<Item>, library: &Library, shared: PathBuf, archive: PathBuf) {
    items.push(Item::new(Place::Lib, &library.full_name, 0o755, Source::File(shared)));
    for link in [&library.soname, &library.development_link] {
        items.push(Item::new(Place::Lib, link, 0o777, Source::Link(library.full_name.clone())));
    }
    items.push(Item::new(Place::Lib, &library.archive, 0o644, Source::File(archive)));
}

fn push_daemon(items: &mut Vec<Item>, program: PathBuf) {
    items.push(Item::new(Place::Sbin, DAEMON, 0o755, Source::File(program)));
    for alias in ALIASES {
        items.push(Item::new(Place::Sbin, alias, 0o777, Source::Link(DAEMON.to_owned())));
    }
}

/// What is installed as it stands in the source tree.
fn push_tree_files(items: &mut Vec<Item>, root: &Path) -> Result<(), String> {
    let include = root.join("include");
    for path in files_below(&include)? {
        let name = below(&path, &include);
        if name.extension().is_some_and(|e| e == "h") {
            items.push(Item::new(Place::Include, name, 0o644, Source::File(path)));
        }
    }
    for path in files_below(&root.join("pkgconfig"))? {
        let Some(name) = path.file_name().and_then(|n| n.to_str()) else { continue };
        let name = name.strip_suffix(".in").unwrap_or(name).to_owned();
        if name.ends_with(".pc") {
            items.push(Item::new(Place::PkgConfig, name, 0o644, Source::Template(path)));
        }
    }
    for path in files_below(&root.join("man"))? {
        let (Some(name), Some(section)) = (path.file_name(), path.extension().and_then(|e| e.to_str())) else {
            continue;
        };
        if section.len() == 1 {
            items.push(Item::new(
                Place::Man,
                Path::new(&format!("man{section}")).join(name),
                0o644,
                Source::File(path),
            ));
        }
    }
    for path in files_below(&root.join("dist"))? {
        let Some(name) = path.file_name().and_then(|n| n.to_str()) else { continue };
        if let Some(name) = name.strip_suffix(".in").filter(|n| n.ends_with(".service")) {
            items.push(Item::new(Place::Unit, name.to_owned(), 0o644, Source::Template(path.clone())));
        }
    }
    Ok(())
}

/// Regular files below `folder` in order of their names; none when the folder does not exist.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>, String> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        entries.push(entry.map_err(failed)?.path());
    }
    entries.sort();
    let mut files = Vec::new();
    for path in entries {
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}

fn below(path: &Path, folder: &Path) -> PathBuf {
    path.strip_prefix(folder).unwrap_or(path).to_owned()
}
