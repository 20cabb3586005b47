//! What the C programs are expected to print, in `expected/`.
//!
//! `NAME.txt` was printed by the original, or, for programs that only run on ours, by ours.
//! Where ours differs from the original on purpose, `NAME.differences` says so: lines that begin
//! with `#` name the row of docs/QUIRKS.md, the others are those that `text::difference` finds.
//! `EVENSONG_RECORD=1` writes the files instead of comparing; read what git shows afterwards.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::Finished;
use crate::text;

/// Set to 1 to write the files.
const RECORD: &str = "EVENSONG_RECORD";

/// On which daemons a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// On the original and on ours.
    Both,
    /// On ours only: the original has no such library, or crashes, hangs or loses there.
    Ours,
}

impl Kind {
    /// Its folder below `c-tests/c`.
    pub fn folder(self) -> &'static str {
        match self {
            Kind::Both => "behaviour",
            Kind::Ours => "ours",
        }
    }
}

/// Compares what a program printed on the original.
pub fn original(name: &str, done: &Finished) {
    let (path, got) = (file(name, "txt"), transcript(done));
    if recording() {
        return write(&path, &got);
    }
    if let Some(report) = text::difference(&read(&path), &got) {
        panic!("{name} on the original is not as recorded:\n{report}{}", done.stderr);
    }
}

/// Compares what a program printed on ours.
pub fn ours(name: &str, kind: Kind, done: &Finished) {
    let (path, got) = (file(name, "txt"), transcript(done));
    if recording() && kind == Kind::Ours {
        return write(&path, &got);
    }
    let report = text::difference(&read(&path), &got).unwrap_or_default();
    let path = file(name, "differences");
    let wanted = fs::read_to_string(&path).unwrap_or_default();
    let is_reason = |line: &&str| line.starts_with('#');
    let reasons: String = wanted.lines().filter(is_reason).map(|line| format!("{line}\n")).collect();
    let listed: String = wanted.lines().filter(|line| !is_reason(line)).map(|line| format!("{line}\n")).collect();
    if report == listed {
        assert!(report.is_empty() || !reasons.is_empty(), "{}: no reason is given", path.display());
        return;
    }
    if recording() {
        return write(&path, &format!("{reasons}{report}"));
    }
    panic!("{name} differs from what is expected:\n{report}but these were to differ:\n{listed}{}", done.stderr);
}

/// What counts of a run: the lines, and the end if it was no good one.
fn transcript(done: &Finished) -> String {
    match (done.code(), done.signal()) {
        (Some(0), _) => done.stdout.clone(),
        (Some(code), _) => format!("{}(ended with {code})\n", done.stdout),
        (_, Some(signal)) => format!("{}(ended by signal {signal})\n", done.stdout),
        _ => format!("{}(did not end)\n", done.stdout),
    }
}

fn recording() -> bool {
    std::env::var_os(RECORD).is_some_and(|value| value == "1")
}

fn file(name: &str, extension: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("expected").join(format!("{name}.{extension}"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}
