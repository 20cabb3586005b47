//! Puts items in their places and takes them away again.
//!
//! Every file is written beside its place and renamed over it: a library that running programs have
//! mapped keeps its bytes until they end. A list of what was put is kept with the installation;
//! uninstall removes exactly what stands there, and a newer install removes what only the older had.

use crate::plan::{Item, Place, Source};
use crate::Directories;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::{symlink, PermissionsExt};
use std::path::{Path, PathBuf};

/// What an installation did.
pub struct Report {
    /// files and links in the installation
    pub files: usize,
    /// how many of them were not there or different before
    pub changed: usize,
}

/// Installs every item and writes the list.
pub fn install(items: &[Item], directories: &Directories) -> Result<Report, String> {
    let list = on_disk(directories, &list_path(directories));
    let before = read_list(&list);
    let mut now = BTreeSet::new();
    let mut changed = 0;
    for item in items {
        let path = place(directories, item.place).join(&item.name);
        let target = on_disk(directories, &path);
        let there = target.symlink_metadata().is_ok();
        if put(item, &target, directories)? {
            changed += 1;
            if there && !before.contains(&path) {
                println!("replaced {}, which an earlier install did not put there", target.display());
            }
        }
        now.insert(path);
    }
    for path in before.difference(&now) {
        remove(&on_disk(directories, path))?;
    }
    make_folder(&on_disk(directories, &place(directories, Place::Bin)))?;
    let text: String = now.iter().map(|path| format!("{}\n", path.display())).collect();
    write_over(&list, text.as_bytes(), 0o644)?;
    Ok(Report { files: now.len(), changed })
}

/// Removes what the list names, then the list and the folders that are left empty.
pub fn uninstall(directories: &Directories) -> Result<usize, String> {
    let list = on_disk(directories, &list_path(directories));
    let paths = read_list(&list);
    if paths.is_empty() {
        return Err(format!("{} is not there: nothing of ours is installed under this prefix", list.display()));
    }
    let mut removed = 0;
    for path in &paths {
        removed += usize::from(remove(&on_disk(directories, path))?);
    }
    remove(&list)?;
    let folders: BTreeSet<&Path> = paths.iter().filter_map(|path| path.parent()).collect();
    for folder in folders.into_iter().rev().chain(list_path(directories).parent()) {
        // a folder that others use stays
        fs::remove_dir(on_disk(directories, folder)).ok();
    }
    Ok(removed)
}

/// Copies one file to a place, by rename.
pub fn replace_file(target: &Path, source: &Path, mode: u32) -> Result<bool, String> {
    let bytes = fs::read(source).map_err(|e| format!("{}: {e}", source.display()))?;
    write_over(target, &bytes, mode)
}

/// True when the target changed.
fn put(item: &Item, target: &Path, directories: &Directories) -> Result<bool, String> {
    match &item.source {
        Source::File(source) => replace_file(target, source, item.mode),
        Source::Template(source) => {
            let text = fs::read_to_string(source).map_err(|e| format!("{}: {e}", source.display()))?;
            write_over(target, filled(&text, directories)?.as_bytes(), item.mode)
        }
        Source::Link(to) => link_over(target, to),
    }
}

fn write_over(target: &Path, bytes: &[u8], mode: u32) -> Result<bool, String> {
    let same = target.symlink_metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o7777 == mode)
        && fs::read(target).is_ok_and(|old| old == bytes);
    if same {
        return Ok(false);
    }
    let failed = |e: io::Error| format!("{}: {e}", target.display());
    let beside = beside(target)?;
    fs::write(&beside, bytes).map_err(failed)?;
    fs::set_permissions(&beside, fs::Permissions::from_mode(mode)).map_err(failed)?;
    fs::rename(&beside, target).map_err(failed)?;
    Ok(true)
}

fn link_over(target: &Path, to: &str) -> Result<bool, String> {
    if fs::read_link(target).is_ok_and(|old| old == Path::new(to)) {
        return Ok(false);
    }
    let failed = |e: io::Error| format!("{}: {e}", target.display());
    let beside = beside(target)?;
    symlink(to, &beside).map_err(failed)?;
    fs::rename(&beside, target).map_err(failed)?;
    Ok(true)
}

/// A free name in the target's folder, which is made when it is not there.
fn beside(target: &Path) -> Result<PathBuf, String> {
    let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else {
        return Err(format!("{}: not a file name", target.display()));
    };
    make_folder(folder)?;
    let beside = folder.join(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
    remove(&beside)?;
    Ok(beside)
}

fn make_folder(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))
}

/// True when there was something to remove.
fn remove(path: &Path) -> Result<bool, String> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(format!("{}: {e}", path.display())),
    }
}

fn read_list(list: &Path) -> BTreeSet<PathBuf> {
    fs::read_to_string(list).unwrap_or_default().lines().map(PathBuf::from).collect()
}

fn list_path(directories: &Directories) -> PathBuf {
    directories.prefix.join("share/evensong/installed-files")
}

/// The directory of a place, as programs will see it.
fn place(directories: &Directories, place: Place) -> PathBuf {
    let or = |given: &Option<PathBuf>, name: &str| given.clone().unwrap_or_else(|| directories.prefix.join(name));
    match place {
        Place::Lib => or(&directories.libdir, "lib"),
        Place::PkgConfig => or(&directories.libdir, "lib").join("pkgconfig"),
        Place::Sbin => or(&directories.sbindir, "sbin"),
        Place::Bin => or(&directories.bindir, "bin"),
        Place::Include => or(&directories.includedir, "include"),
        Place::Man => or(&directories.mandir, "share/man"),
        Place::Unit => or(&directories.unitdir, "lib/systemd/system"),
    }
}

/// The same below DESTDIR.
fn on_disk(directories: &Directories, path: &Path) -> PathBuf {
    if directories.destdir.as_os_str().is_empty() {
        return path.to_owned();
    }
    directories.destdir.join(path.strip_prefix("/").unwrap_or(path))
}

/// Fills in a template. A mark that is left over is a mistake in the template.
fn filled(text: &str, directories: &Directories) -> Result<String, String> {
    let mut text = text.replace("@VERSION@", env!("CARGO_PKG_VERSION"));
    for (mark, path) in [
        ("@PREFIX@", directories.prefix.clone()),
        ("@LIBDIR@", place(directories, Place::Lib)),
        ("@SBINDIR@", place(directories, Place::Sbin)),
        ("@INCLUDEDIR@", place(directories, Place::Include)),
    ] {
        let lower = mark.to_lowercase();
        let path = path.to_string_lossy();
        text = text.replace(mark, &path).replace(&lower, &path);
    }
    match text.split('@').nth(1) {
        Some(word) if text.matches('@').count() > 1 && word.chars().all(|c| c.is_ascii_uppercase()) => {
            Err(format!("a template has an unknown mark @{word}@"))
        }
        _ => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directories(destdir: &Path) -> Directories {
        let mut directories = Directories::staged(PathBuf::from("/opt/e"));
        directories.destdir = destdir.to_owned();
        directories.libdir = Some(PathBuf::from("/opt/e/lib64"));
        directories
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("evensong-stage-{name}-{}", std::process::id()));
        fs::remove_dir_all(&folder).ok();
        fs::create_dir_all(&folder).expect("a temporary folder");
        folder
    }

    fn items(source: &Path, names: &[&str]) -> Vec<Item> {
        let mut items: Vec<Item> = names
            .iter()
            .map(|name| Item {
                place: Place::Lib,
                name: name.into(),
                mode: 0o755,
                source: Source::File(source.to_owned()),
            })
            .collect();
        items.push(Item {
            place: Place::Lib,
            name: "liba.so".into(),
            mode: 0o777,
            source: Source::Link(names[0].to_owned()),
        });
        items
    }

    #[test]
    fn what_is_installed_is_removed_and_nothing_else() {
        let folder = folder("remove");
        let source = folder.join("source");
        fs::write(&source, b"bytes").expect("written");
        let directories = directories(&folder.join("root"));
        let lib = folder.join("root/opt/e/lib64");
        fs::create_dir_all(&lib).expect("made");
        fs::write(lib.join("foreign"), b"stays").expect("written");

        let report = install(&items(&source, &["liba.so.1.0", "libb.so.1"]), &directories).expect("installed");
        assert_eq!((report.files, report.changed), (3, 3));
        assert_eq!(fs::read_link(lib.join("liba.so")).expect("a link"), Path::new("liba.so.1.0"));

        // a newer version: what only the older had goes away, what is equal stays untouched
        let report = install(&items(&source, &["liba.so.1.0"]), &directories).expect("installed");
        assert_eq!((report.files, report.changed), (2, 0));
        assert!(!lib.join("libb.so.1").exists());

        assert_eq!(uninstall(&directories).expect("removed"), 2);
        let left: Vec<_> = fs::read_dir(&lib).expect("listed").map(|e| e.expect("an entry").file_name()).collect();
        assert_eq!(left, ["foreign"]);
        assert!(uninstall(&directories).is_err());
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn a_mapped_file_keeps_its_bytes() {
        let folder = folder("mapped");
        let (source, target) = (folder.join("source"), folder.join("target"));
        fs::write(&target, b"old").expect("written");
        let mut open = fs::File::open(&target).expect("opened");
        fs::write(&source, b"new").expect("written");
        assert!(replace_file(&target, &source, 0o644).expect("replaced"));
        let mut text = String::new();
        io::Read::read_to_string(&mut open, &mut text).expect("read");
        assert_eq!(text, "old");
        assert_eq!(fs::read(&target).expect("read"), b"new");
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn templates_are_filled_or_refused() {
        let directories = directories(Path::new(""));
        let text = filled("prefix=@PREFIX@\nlibdir=@LIBDIR@\nVersion: @VERSION@\n", &directories).expect("filled");
        assert_eq!(text, format!("prefix=/opt/e\nlibdir=/opt/e/lib64\nVersion: {}\n", env!("CARGO_PKG_VERSION")));
        assert!(filled("x=@WHAT@\n", &directories).is_err());
        assert!(filled("mail a@b\n", &directories).is_ok());
    }
}
