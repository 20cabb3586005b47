//! The C programs of `c/behaviour` on Debian's corosync and on ours: the very same binaries, once
//! compiled with the system's headers and libraries and once with ours. What they print on the
//! original must still be what was recorded, and on ours the same but for the listed differences.

use std::panic::{catch_unwind, AssertUnwindSafe};

use c_tests::compile::{self, compile, Against};
use c_tests::expected::{self, Kind};
use c_tests::{Daemon, Original};

fn observe(name: &str, original: &Original) {
    let source = compile::source(&format!("{}/{name}.c", Kind::Both.folder()));
    let (theirs, ours) = (compile(&source, Against::System), compile(&source, Against::Staged));
    expected::original(name, &original.client(&theirs).run());
    expected::original(name, &original.client(&ours).run());
    let daemon = Daemon::start();
    expected::ours(name, Kind::Both, &daemon.client(&theirs).run());
}

#[test]
fn every_program_sees_the_same_on_both() {
    let Some(original) = Original::start() else { return };
    let sources = compile::sources(Kind::Both.folder());
    let names: Vec<_> = sources.iter().filter_map(|path| path.file_stem()?.to_str()).collect();
    // All of them, even when one fails; the messages of the panics say what differs.
    let failed = names.iter().filter(|name| catch_unwind(AssertUnwindSafe(|| observe(name, &original))).is_err());
    let failed: Vec<_> = failed.collect();
    assert!(failed.is_empty(), "not the same: {failed:?}");
}
