//! Binaries cross over without being rebuilt: what was compiled and linked against Debian's
//! libcpg-dev runs on our library and daemon by `LD_LIBRARY_PATH` alone, and what was built
//! against ours runs on Debian's. `same_output` compares answers; here programs do real work.

mod life;

use std::path::Path;
use std::time::Duration;

use c_tests::compile::{compile, source, Against};
use c_tests::{skip, Daemon, Original, Program};

/// Programs that need libcpg alone, with arguments for a short run.
const BENCHES: [(&str, &[&str]); 4] = [
    ("cpgbench", &["-t", "0.2", "-s", "64,1400,70000,1500000"]),
    ("cpgbenchzc", &["-t", "0.2", "-s", "64,1400,70000"]),
    ("cpglat", &["-t", "0.2", "-s", "100"]),
    ("plainloop", &["-t", "0.2", "-s", "64,1400", "-V"]),
];

/// Two members that send to each other, and every benchmark once.
fn work(client: impl Fn(&Path) -> Program, against: Against) {
    let member = compile(&source("life/member.c"), against);
    let start = |args: &[&str]| {
        let mut running = client(&member).args(args).timeout(Duration::from_secs(60)).spawn();
        running.expect_line("joined");
        running
    };
    let members = [["cross", "send=100", "count=2000"], ["cross", "send=70000", "count=50"]].map(|args| start(&args));
    for (member, count) in members.into_iter().zip([2000, 50]) {
        assert_eq!(life::finish(member), count);
    }
    for (name, args) in BENCHES {
        let program = compile(&source(&format!("bench/{name}.c")), against);
        let done = client(&program).args(args).timeout(Duration::from_secs(60)).run();
        assert!(done.code() == Some(0) && !done.stdout.is_empty(), "{name}: {}{}", done.stdout, done.stderr);
    }
}

/// The library that a program would be given, by its full path.
fn library(program: Program) -> String {
    let done = program.under(&["ldd"]).run();
    let line = done.stdout.lines().find(|line| line.contains("libcpg.so.4"));
    line.unwrap_or_else(|| panic!("no libcpg:\n{}", done.stdout)).to_owned()
}

#[test]
fn what_was_built_on_the_system_runs_on_ours() {
    if !Path::new("/usr/include/corosync/cpg.h").exists() {
        assert!(std::env::var_os(c_tests::original::REQUIRE).is_none_or(|value| value != "1"), "no libcpg-dev");
        skip!("libcpg-dev is not installed (`make deps ORIGINAL=1` installs it)");
    }
    let daemon = Daemon::start();
    let member = compile(&source("life/member.c"), Against::System);
    assert!(library(daemon.client(&member)).contains("stage/usr/lib"), "the wrong library");
    work(|path| daemon.client(path), Against::System);
}

#[test]
fn what_was_built_on_ours_runs_on_the_original() {
    let Some(original) = Original::start() else { return };
    let member = compile(&source("life/member.c"), Against::Staged);
    assert!(!library(original.client(&member)).contains("stage/usr/lib"), "the wrong library");
    work(|path| original.client(path), Against::Staged);
}
