//! The headers as compilers see them: each compiles alone, in every dialect that programs are
//! written in, and says the same as the sources it is generated from.

use std::fs;
use std::path::PathBuf;

use c_tests::{compile, stage, Program};

const DIALECTS: [(&str, bool); 8] = [
    ("-std=gnu89", false),
    ("-std=c99", false),
    ("-std=gnu99", false),
    ("-std=c11", false),
    ("-std=gnu17", false),
    ("-std=c++98", true),
    ("-std=c++11", true),
    ("-std=gnu++17", true),
];

fn headers() -> Vec<PathBuf> {
    let folder = stage::include().join("corosync");
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut headers: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    headers.retain(|path| path.extension().is_some_and(|extension| extension == "h"));
    headers.sort();
    assert!(headers.len() >= 5, "{headers:?}");
    headers
}

/// Compiles a text that is nothing but these includes.
fn includes(names: &[String], dialect: &str, cpp: bool) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let source = dir.path().join(if cpp { "alone.cc" } else { "alone.c" });
    let mut text: String = names.iter().map(|name| format!("#include <corosync/{name}>\n")).collect();
    text.push_str("int main(void);\nint main(void) { return 0; }\n");
    fs::write(&source, text).expect("it can be written");
    let mut command = compile::compiler(cpp);
    command.args([dialect, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"]).arg(stage::include()).arg(&source);
    compile::run(command, &PathBuf::from(format!("{names:?} with {dialect}")));
}

#[test]
fn each_compiles_alone_in_each_dialect() {
    for header in headers() {
        let name = header.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for (dialect, cpp) in DIALECTS {
            includes(std::slice::from_ref(&name), dialect, cpp);
        }
    }
}

#[test]
fn all_compile_together_in_any_order_and_twice() {
    let names: Vec<String> = headers().iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect();
    let backwards: Vec<String> = names.iter().rev().cloned().collect();
    for (dialect, cpp) in DIALECTS {
        includes(&[names.clone(), names.clone()].concat(), dialect, cpp);
        includes(&backwards, dialect, cpp);
    }
}

#[test]
fn the_staged_ones_are_the_committed_ones() {
    for header in headers() {
        let name = header.file_name().unwrap_or_default();
        let committed = fs::read(stage::root().join("include/corosync").join(name)).expect("it is committed");
        assert!(fs::read(&header).expect("it is staged") == committed, "{name:?}: run `make stage`");
    }
}

#[test]
fn the_committed_ones_are_up_to_date() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = stage::root().join("Cargo.toml");
    let done = Program::new(cargo)
        .args(["run", "-q", "-p", "evensong-headers", "--manifest-path"])
        .arg(manifest)
        .args(["--", "--check"])
        .timeout(std::time::Duration::from_secs(600))
        .run();
    done.expect_success();
}
