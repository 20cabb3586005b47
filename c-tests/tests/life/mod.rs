//! What the tests about faults share: the programs of `c/life`, configurations, waiting.
#![allow(dead_code)] // every test target uses a part of it

use std::path::PathBuf;
use std::time::{Duration, Instant};

use c_tests::compile::{compile, source, Against};
use c_tests::{daemon, Daemon, Finished, Running};

/// A program below `c-tests/c`, against our shared objects.
pub fn program(name: &str) -> PathBuf {
    compile(&source(name), Against::Staged)
}

/// The usual configuration with more lines in its section `evensong`.
pub fn config(more: &str) -> String {
    daemon::CONFIG.replace("single_node: yes", &format!("single_node: yes\n  {}", more.replace("; ", "\n  ")))
}

/// Starts `member` with these arguments and waits until it has joined.
pub fn member(daemon: &Daemon, args: &[&str]) -> Running {
    let mut running = daemon.client(&program("life/member.c")).args(args).timeout(Duration::from_secs(60)).spawn();
    running.expect_line("joined");
    running
}

/// Ends a member and checks that it lost nothing and saw nothing wrong; returns what it sent.
pub fn finish(member: Running) -> u64 {
    let done = member.finish();
    done.expect_success();
    let sums = sums(&done);
    assert_eq!(number(&sums, "sent"), number(&sums, "own"), "{sums}");
    assert_eq!(number(&sums, "wrong"), 0, "{sums}");
    number(&sums, "sent")
}

/// The last line of a member.
pub fn sums(done: &Finished) -> String {
    let last = done.stdout.lines().rfind(|line| line.starts_with("sent "));
    last.unwrap_or_else(|| panic!("no sums:\n{}{}", done.stdout, done.stderr)).to_owned()
}

/// The number behind a word.
pub fn number(line: &str, word: &str) -> u64 {
    let mut words = line.split_whitespace();
    let found = words.by_ref().find(|one| *one == word).and_then(|_| words.next()?.parse().ok());
    found.unwrap_or_else(|| panic!("no number behind {word:?} in {line:?}"))
}

/// Waits until something holds; panics with what it waited for.
pub fn until(what: &str, patience: Duration, mut holds: impl FnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < patience, "waited {patience:?} in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
    began.elapsed()
}

/// Waits until the daemon has logged a text: the log is written by a thread of its own.
pub fn logged(daemon: &Daemon, text: &str) {
    let began = Instant::now();
    while !daemon.log().contains(text) {
        assert!(began.elapsed() < Duration::from_secs(2), "{text:?} is not logged:\n{}", daemon.log());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Seconds of processor time that a process has used.
pub fn cpu_seconds(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let rest = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<f64> = rest.split_whitespace().skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    fields.iter().sum::<f64>() / 100.0
}

/// The seed of this run: `EVENSONG_SEED`, or a fixed one.
pub fn seed() -> u64 {
    std::env::var("EVENSONG_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_251_201)
}
