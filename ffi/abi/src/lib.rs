//! Sonames and symbol versions of the C libraries, from one list per library.
//!
//! A library package has a file `lib<name>.versions` in linker-script syntax (nodes with plain
//! names, or one node without a name for a library that never had versions) and a build script
//! of one line that calls [`link`]. From the list come
//!
//! - the file `symver.rs` in `OUT_DIR`, which the library includes at the end of its `lib.rs`:
//!   one `.symver` directive per versioned name. A version script cannot do this, because
//!   rustc passes one of its own, whose entries win;
//! - the file `nodes.map`, the version script with the nodes alone;
//! - the linker's arguments.
//!
//! Archives are built with the package's feature `unversioned`, which leaves the include out:
//! in a statically linked program there is nobody to ask for a version.

mod versions;

use std::path::{Path, PathBuf};

pub use versions::{Node, Versions};

/// What a build script of a library package calls: `soname` as in `libcpg.so.4`, `list` is the
/// name of the `.versions` file beside `Cargo.toml`.
///
/// # Panics
///
/// On anything that keeps the library from being linked right; a build script has no better
/// way to say so.
pub fn link(soname: &str, list: &str) {
    println!("cargo::rerun-if-changed={list}");
    println!("cargo::rerun-if-changed=build.rs");
    if let Err(problem) = generate(list, &out_dir()) {
        panic!("{list}: {problem}");
    }
    println!("cargo::rustc-link-arg-cdylib=-Wl,-soname,{soname}");
    println!("cargo::rustc-link-arg-cdylib=-fuse-ld=lld");
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,defs");
}

fn out_dir() -> PathBuf {
    std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default()
}

/// Writes the two files and names the version script to the linker if there is one.
fn generate(list: &str, out: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(list).map_err(|error| error.to_string())?;
    let versions = Versions::parse(&text)?;
    write(&out.join("symver.rs"), &versions.symver())?;
    let nodes = versions.nodes();
    if !nodes.is_empty() {
        let script = out.join("nodes.map");
        write(&script, &nodes)?;
        println!("cargo::rustc-link-arg-cdylib=-Wl,--version-script={}", script.display());
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
