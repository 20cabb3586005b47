//! The built libraries, as the dynamic linker, the static linker and pkg-config see them.
//!
//! What they are to export is in the `.versions` file of each library, which file they are in
//! `ffi/abi/libraries.tsv`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use c_tests::compile::{self, compile, Against};
use c_tests::{original, stage, Daemon, Program};
use object::read::elf::{Dyn, ElfFile64, FileHeader, SectionHeader, Sym, VersionTable};
use object::{elf, Endianness};

struct Library {
    folder: PathBuf,
    full_name: String,
    soname: String,
    link: String,
    archive: String,
}

fn libraries() -> Vec<Library> {
    let text = fs::read_to_string(stage::root().join("ffi/abi/libraries.tsv")).expect("the table");
    let rows = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let libraries = rows.map(|row| {
        let columns: Vec<&str> = row.split('\t').collect();
        let [package, _, full_name, soname, link, archive] = columns[..] else { panic!("six columns: {row}") };
        let folder = package.strip_prefix("evensong-").expect("our package").replace('-', "_");
        let [full_name, soname, link, archive] = [full_name, soname, link, archive].map(str::to_owned);
        Library { folder: stage::root().join("ffi").join(folder), full_name, soname, link, archive }
    });
    libraries.collect()
}

/// Function to version node (empty: none), from the `.versions` file.
fn listed(library: &Library) -> BTreeMap<String, String> {
    let stem = library.archive.strip_suffix(".a").expect("an archive");
    let path = library.folder.join(format!("{stem}.versions"));
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (mut node, mut functions) = (String::new(), BTreeMap::new());
    for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
        if let Some(name) = line.strip_suffix('{') {
            node = name.trim().to_owned();
        } else if let Some(name) = line.strip_suffix(';').filter(|name| !name.starts_with('}')) {
            functions.insert(name.to_owned(), node.clone());
        }
    }
    functions
}

/// What a shared object says about itself.
#[derive(Default, Debug)]
struct Shared {
    soname: String,
    needed: BTreeSet<String>,
    /// name to version; a default version has no mark, another begins with `@`
    exported: BTreeMap<String, String>,
}

fn read(path: &Path) -> Shared {
    let data = fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let file = ElfFile64::<Endianness>::parse(&*data).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (header, endian) = (file.elf_header(), file.endian());
    let sections = header.sections(endian, &*data).expect("sections");
    let symbols = sections.symbols(endian, &*data, elf::SHT_DYNSYM).expect("dynamic symbols");
    let versions: Option<VersionTable<'_, _>> = sections.versions(endian, &*data).expect("versions");
    let mut shared = Shared::default();
    for (index, symbol) in symbols.enumerate() {
        if symbol.is_undefined(endian) || symbol.st_bind() == elf::STB_LOCAL || symbol.st_type() == elf::STT_OBJECT {
            continue;
        }
        let name = text(symbol.name(endian, symbols.strings()).expect("a name"));
        let mut version = String::new();
        if let Some(table) = &versions {
            let number = table.version_index(endian, index);
            if let Ok(Some(found)) = table.version(number) {
                let mark = if number.is_hidden() { "@" } else { "" };
                version = format!("{mark}{}", text(found.name()));
            }
        }
        shared.exported.insert(name, version);
    }
    let (entries, strings) = sections.dynamic(endian, &*data).expect("readable").expect("a dynamic section");
    let strings = sections.strings(endian, &*data, strings).expect("strings");
    for entry in entries {
        let value = || text(strings.get(entry.d_val(endian) as u32).expect("a string"));
        match entry.d_tag(endian) as u32 {
            elf::DT_SONAME => shared.soname = value(),
            elf::DT_NEEDED => drop(shared.needed.insert(value())),
            _ => {}
        }
    }
    assert!(sections.iter().any(|section| section.sh_type(endian) == elf::SHT_GNU_HASH), "{}", path.display());
    shared
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn each_library_exports_exactly_what_is_listed() {
    for library in libraries() {
        let shared = read(&stage::lib().join(&library.full_name));
        assert_eq!(shared.exported, listed(&library), "{}", library.full_name);
    }
}

#[test]
fn each_library_is_found_by_its_soname_and_its_link() {
    for library in libraries() {
        let shared = read(&stage::lib().join(&library.full_name));
        assert_eq!(shared.soname, library.soname);
        for link in [&library.soname, &library.link] {
            let target = fs::read_link(stage::lib().join(link)).unwrap_or_else(|e| panic!("{link}: {e}"));
            assert_eq!(target, Path::new(&library.full_name), "{link}");
        }
    }
}

#[test]
fn no_library_needs_more_than_the_c_library() {
    for library in libraries() {
        for needed in read(&stage::lib().join(&library.full_name)).needed {
            let plain = ["libc.so.", "libgcc_s.so.", "ld-linux", "libm.so.", "libpthread.so.", "libdl.so."];
            assert!(plain.iter().any(|start| needed.starts_with(start)), "{}: needs {needed}", library.full_name);
        }
    }
}

/// Programs linked with the original's libraries find every function, with its version, in ours.
#[test]
fn each_library_has_all_that_the_system_s_has() {
    let mut compared = 0;
    for library in libraries() {
        let original = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib/aarch64-linux-gnu"]
            .iter()
            .map(|folder| Path::new(folder).join(&library.soname))
            .find(|path| path.exists());
        let Some(original) = original else { continue };
        let (theirs, ours) = (read(&original), read(&stage::lib().join(&library.full_name)));
        for (function, version) in &theirs.exported {
            // Nodes are absolute symbols of their own; what libqb's macros leave is no interface.
            if function == version || function.starts_with("qb_") || function.contains("__") {
                continue;
            }
            // A version where the original has none serves programs of both kinds.
            let own = ours.exported.get(function);
            let serves = own.is_some_and(|own| version.is_empty() || own == version);
            assert!(serves, "{}: {function} is {own:?}, not {version:?}", library.soname);
            compared += 1;
        }
    }
    if compared == 0 {
        original::not_here("no library of the original is installed");
    }
}

#[test]
fn archives_hold_each_function_and_no_version() {
    for library in libraries() {
        let path = stage::lib().join(&library.archive);
        let output = Command::new("nm").args(["-g", "--defined-only"]).arg(&path).output().expect("nm runs");
        let listing = text(&output.stdout);
        let defined: BTreeSet<&str> = listing.lines().filter_map(|line| line.split(" T ").nth(1)).collect();
        for function in listed(&library).keys() {
            assert!(defined.contains(function.as_str()), "{}: {function} is missing", library.archive);
        }
        assert!(!defined.iter().any(|name| name.contains('@')), "{}: versions in an archive", library.archive);
    }
}

const EVERYTHING: &str = "cpg success, evs success\nsuccess\nsuccess\n";

#[test]
fn a_program_can_use_all_of_them() {
    let daemon = Daemon::start();
    let source = compile::source("harness/everything.c");
    let shared = daemon.client(&compile(&source, Against::Staged)).run();
    assert_eq!(shared.expect_success().stdout.replace("CS_OK", "success"), EVERYTHING);
    let archives = daemon.client(&compile(&source, Against::Archives)).env_remove("LD_LIBRARY_PATH").run();
    assert_eq!(archives.expect_success().stdout, shared.stdout);
    let needed = read_needed(&compile(&source, Against::Archives));
    assert!(!needed.iter().any(|name| name.contains("cpg") || name.contains("evs")), "{needed:?}");
}

fn read_needed(program: &Path) -> BTreeSet<String> {
    read(program).needed
}

/// Compiles a program as pkg-config says, and runs it.
fn by_pkg_config(arguments: &[&str], name: &str) {
    let source = compile::source("harness/everything.c");
    let output = stage::scratch().join(format!("pkgconfig-{name}-{}", std::process::id()));
    let said = Command::new("pkg-config")
        .args(arguments)
        .args(["--cflags", "--libs", "libcpg", "libevs", "libcorosync_common", "corosync"])
        .env("PKG_CONFIG_PATH", stage::lib().join("pkgconfig"))
        .env("PKG_CONFIG_LIBDIR", stage::lib().join("pkgconfig"))
        .output()
        .expect("pkg-config runs");
    assert!(said.status.success(), "{}", text(&said.stderr));
    let mut command = compile::compiler(false);
    command.arg("-o").arg(&output).arg(&source).args(text(&said.stdout).split_whitespace());
    if name == "static" {
        command.arg("-static");
    }
    compile::run(command, &source);
    let daemon = Daemon::start();
    let done = daemon.client(&output).run();
    // Nobody else knows the name.
    let _removed = fs::remove_file(&output);
    assert!(done.expect_success().stdout.contains("cpg"), "{}", done.stdout);
}

#[test]
fn pkg_config_files_are_enough_to_link() {
    by_pkg_config(&[], "shared");
}

#[test]
fn pkg_config_files_are_enough_to_link_a_static_program() {
    by_pkg_config(&["--static"], "static");
}

#[test]
fn the_daemon_answers_to_all_its_names() {
    for name in ["evensongd", "corosync", "aisexec"] {
        let done = Program::new(stage::usr().join("sbin").join(name)).arg("-v").run();
        assert!(done.expect_success().stdout.contains("evensong"), "{name}: {}", done.stdout);
    }
}
