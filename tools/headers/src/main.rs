//! Writes the C headers of `include/corosync` from the sources of the libraries.
//!
//! Without arguments it writes them; with `--check` it writes nothing and fails when a committed
//! header differs from what it would have written. A test does the same. `hdb.h` is not among
//! them: it is inline C from end to end and is written by hand.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// One header: its file, the configuration, and the sources it shows.
struct Header {
    file: &'static str,
    config: &'static str,
    sources: &'static [&'static str],
}

const HEADERS: &[Header] = &[
    Header {
        file: "corotypes.h",
        config: "ffi/types/cbindgen-corotypes.toml",
        sources: &["ffi/types/src/corotypes.rs", "ffi/corosync_common4/src/lib.rs"],
    },
    Header { file: "corodefs.h", config: "ffi/types/cbindgen-corodefs.toml", sources: &["ffi/types/src/corodefs.rs"] },
    Header {
        file: "cpg.h",
        config: "ffi/cpg4/cbindgen.toml",
        sources: &["ffi/cpg4/src/types.rs", "ffi/cpg4/src/lib.rs"],
    },
    Header {
        file: "evs.h",
        config: "ffi/evs4/cbindgen.toml",
        sources: &["ffi/evs4/src/types.rs", "ffi/evs4/src/lib.rs"],
    },
];

fn main() -> ExitCode {
    let check = std::env::args().nth(1).is_some_and(|argument| argument == "--check");
    let root = root();
    let mut failed = false;
    for header in HEADERS {
        if let Err(problem) = bring_up_to_date(&root, header, check) {
            eprintln!("{}: {problem}", header.file);
            failed = true;
        }
    }
    ExitCode::from(u8::from(failed))
}

/// The source tree this tool was built from.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn bring_up_to_date(root: &Path, header: &Header, check: bool) -> Result<(), String> {
    let text = generate(root, header)?;
    let path = root.join("include/corosync").join(header.file);
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    if committed == text {
        return Ok(());
    }
    if check {
        return Err("differs from the sources; run cargo run -p evensong-headers".to_owned());
    }
    std::fs::write(&path, text).map_err(|error| error.to_string())
}

fn generate(root: &Path, header: &Header) -> Result<String, String> {
    let config = cbindgen::Config::from_file(root.join(header.config))?;
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in header.sources {
        builder = builder.with_src(root.join(source));
    }
    let bindings = builder.generate().map_err(|error| error.to_string())?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    String::from_utf8(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_headers_are_those_of_the_sources() {
        for header in HEADERS {
            assert_eq!(bring_up_to_date(&root(), header, true), Ok(()), "{}", header.file);
        }
    }
}
