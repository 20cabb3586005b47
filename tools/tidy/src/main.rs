//! Checks on the tree itself: every source file says at its head what it is for, no file grows
//! into a hub, and nothing is left in it that belongs to one machine or to an unfinished thought.
//!
//! Runs as a test of its own package and as a command (`cargo run -p evensong-tidy`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Lines of code, tests not counted, after which a file must be split.
const MOST_LINES: usize = 800;

/// Parts of text that have no place in the tree, in two halves so that this file passes itself.
const BANNED: [(&str, &str, &str); 6] = [
    ("/wo", "rk/", "a path of one machine"),
    ("/ro", "ot/", "a path of one machine"),
    ("/ho", "me/", "a path of one machine"),
    ("/tmp/tar", "get", "a path of one machine"),
    ("FIX", "ME", "an unfinished thought: file an issue"),
    ("XX", "X ", "an unfinished thought: file an issue"),
];

fn main() -> ExitCode {
    let problems = tree(&root());
    for problem in &problems {
        eprintln!("{problem}");
    }
    ExitCode::from(u8::from(!problems.is_empty()))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every problem in the tree, as `file:line: what`.
fn tree(root: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    for name in names(root) {
        // a file that was removed and not yet committed, or is not text
        let Ok(text) = fs::read_to_string(root.join(&name)) else { continue };
        problems.extend(file(&name, &text));
    }
    problems
}

/// The files that git knows; below a plain copy of the tree, all source files.
fn names(root: &Path) -> Vec<String> {
    let output = Command::new("git").arg("-C").arg(root).args(["ls-files", "-z"]).output();
    match output {
        Ok(output) if output.status.success() && !output.stdout.is_empty() => String::from_utf8_lossy(&output.stdout)
            .split('\0')
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect(),
        _ => walk(root, Path::new("")),
    }
}

fn walk(root: &Path, below: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root.join(below)).into_iter().flatten().flatten() {
        let name = below.join(entry.file_name());
        if entry.path().is_dir() {
            if !["target", ".git"].contains(&entry.file_name().to_string_lossy().as_ref()) {
                names.extend(walk(root, &name));
            }
        } else {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names
}

/// The problems of one file.
fn file(name: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name == "Cargo.lock" || text.is_empty() {
        return problems;
    }
    let source = [".rs", ".c"].iter().any(|suffix| name.ends_with(suffix));
    if source && !has_head(name, text) {
        problems.push(format!("{name}:1: no note at the head that says what the file is for"));
    }
    let code = text.lines().take_while(|line| line.trim() != "mod tests {").count();
    if source && code > MOST_LINES {
        problems.push(format!("{name}:{MOST_LINES}: {code} lines, split it (limit {MOST_LINES})"));
    }
    if !text.ends_with('\n') {
        problems.push(format!("{name}: the last line has no end"));
    }
    for (number, line) in text.lines().enumerate() {
        let number = number + 1;
        if line.ends_with([' ', '\t']) {
            problems.push(format!("{name}:{number}: blanks at the end of the line"));
        }
        for (first, second, why) in BANNED {
            if line.contains(&format!("{first}{second}")) {
                problems.push(format!("{name}:{number}: {first}{second}: {why}"));
            }
        }
        if line.contains(concat!("TO", "DO")) && !line.contains(concat!("TO", "DO(#")) {
            problems
                .push(format!("{name}:{number}: a note of what is to be done carries an issue number, as in (#12)"));
        }
    }
    problems
}

fn has_head(name: &str, text: &str) -> bool {
    if name.ends_with(".rs") {
        // attributes may stand before it, as may the first line of a script
        let first = text.lines().find(|line| !line.starts_with("#!") && !line.trim().is_empty());
        return first.is_some_and(|line| line.starts_with("//!"));
    }
    text.starts_with("/*") || text.starts_with("//")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        let problems = tree(&root());
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    #[test]
    fn each_problem_is_found() {
        assert!(file("a.rs", "//! What it is for.\n\nfn a() {}\n").is_empty());
        assert_eq!(file("a.rs", "fn a() {}\n").len(), 1);
        assert_eq!(file("a.c", "#include <stdio.h>\n").len(), 1);
        assert_eq!(file("a.md", "text").len(), 1);
        assert_eq!(file("a.md", "text \n").len(), 1);
        assert_eq!(file("a.md", concat!("see /wo", "rk/main\n")).len(), 1);
        assert_eq!(file("a.md", concat!("TO", "DO: later\n")).len(), 1);
        assert!(file("a.md", concat!("TO", "DO(#12): later\n")).is_empty());
        let long = format!("//! Long.\n{}", "fn a() {}\n".repeat(MOST_LINES));
        assert_eq!(file("a.rs", &long).len(), 1);
    }
}
