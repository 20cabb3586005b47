//! What the tests stand on: the staged tree, C programs compiled against it or against the
//! system's packages, and guards for the daemons and programs that run.
//!
//! Every daemon has a directory of its own, so tests never meet. Whatever a guard started has
//! ended and is removed when the guard goes, also when a test panics; were the test itself
//! killed, the kernel ends its processes (`setpriv --pdeathsig`).
//!
//! `stage` finds the built files, `compile` the C programs, `process` runs one program, `daemon`
//! our daemon, `original` Debian's corosync, `expected` knows what programs are to print, `text`
//! compares.

pub mod compile;
pub mod daemon;
pub mod expected;
pub mod original;
pub mod process;
pub mod stage;
pub mod text;

pub use compile::{compile, Against};
pub use daemon::{Daemon, Setup};
pub use original::Original;
pub use process::{Finished, Program, Running};

/// Ends a test early and says why, where `cargo test` shows it even for tests that pass.
#[macro_export]
macro_rules! skip {
    ($($why:tt)*) => {{
        $crate::note(&format!("SKIPPED: {}", format!($($why)*)));
        return;
    }};
}

/// Writes a line past the capture of test output: a test that did not run must not look like one
/// that did.
pub fn note(line: &str) {
    use std::io::Write;
    let name = std::thread::current().name().unwrap_or("test").to_owned();
    // Without a standard error there is nobody to tell.
    let _told = writeln!(std::io::stderr(), "{name}: {line}");
}
