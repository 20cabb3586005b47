//! The staged tree: what `make stage` installed into `target/stage/usr`. Tests use it as a user
//! would use an installation, and never what cargo has lying about.

use std::path::{Path, PathBuf};

/// The source tree.
pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.canonicalize().unwrap_or(root)
}

/// `target/stage/usr`. Panics when it is not there.
pub fn usr() -> PathBuf {
    let usr = root().join("target/stage/usr");
    let daemon = usr.join("sbin/evensongd");
    assert!(daemon.exists(), "{} is not there: run `make stage` first", daemon.display());
    usr
}

/// The shared objects and archives.
pub fn lib() -> PathBuf {
    usr().join("lib")
}

/// The headers.
pub fn include() -> PathBuf {
    usr().join("include")
}

/// The daemon.
pub fn daemon() -> PathBuf {
    usr().join("sbin/evensongd")
}

/// Where tests keep what they compile: below `target`, so that `make clean` takes it along.
pub fn scratch() -> PathBuf {
    root().join("target/c-tests")
}
