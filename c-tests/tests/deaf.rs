//! Members that do not read (case B09): senders of their group are held back for a bounded time,
//! then the one who does not read is disconnected; nobody else loses anything, other groups go
//! on, and the daemon's memory stays bounded and comes back.

mod life;

use std::time::{Duration, Instant};

use c_tests::{Daemon, Setup};
use life::{config, finish, logged, member, number, sums, until};
use nix::sys::signal::Signal;

/// Resident memory of the daemon, in KiB, whatever members do not read. Shared memory that it
/// has touched counts: two rings of 4 MiB for each client.
const RESIDENT_MAX: u64 = 200 << 10;
/// What it may keep more than at its start once all are gone.
const LEFT_MAX: u64 = 16 << 10;

/// Watches the daemon's memory until something holds; returns the most that was seen.
fn most_resident(daemon: &Daemon, patience: Duration, mut holds: impl FnMut() -> bool) -> u64 {
    let mut most = 0;
    until("the work is done", patience, || {
        most = most.max(daemon.resident_kib());
        holds()
    });
    most
}

#[test]
fn case_b09_one_who_never_reads_is_disconnected_and_the_others_get_everything() {
    const COUNT: u64 = 52_000; // of 10 kB: 500 MB
    let daemon = Daemon::start();
    let at_start = daemon.resident_kib();
    let healthy = member(&daemon, &["held", "quiet=1"]);
    let mut deaf = member(&daemon, &["held", "deaf=1"]);
    let elsewhere = member(&daemon, &["free", "send=1000", "gap_us=200", "quiet=1"]);
    let count = format!("count={COUNT}");
    let mut sender = member(&daemon, &["held", "send=10000", &count]);
    let began = Instant::now();
    assert_eq!(sender.expect_line("left"), format!("left {} 5", deaf.pid()));
    let held = began.elapsed();
    let sender_pid = sender.pid();
    let done = std::thread::spawn(move || finish(sender));
    let most = most_resident(&daemon, Duration::from_secs(60), || done.is_finished());
    assert_eq!(done.join().expect("the sender ends well"), COUNT);
    c_tests::note(&format!("disconnected after {} ms, daemon at most {} MiB", held.as_millis(), most >> 10));
    assert!(held < Duration::from_secs(5), "senders were held back for {held:?}");
    assert!(most < RESIDENT_MAX, "{most} KiB");
    logged(&daemon, &format!("Connection of process {} closed: it has not read", deaf.pid()));
    let told = daemon.log().lines().filter(|line| line.contains("[IPC")).count();
    assert!(told <= 5, "a line for each event?\n{}", daemon.log());
    let done = healthy.finish();
    assert_eq!(number(&sums(done.expect_success()), "others"), COUNT, "the healthy reader got all of {sender_pid}");
    assert!(finish(elsewhere) > 100);
    assert!(deaf.ended().is_none(), "it is not hurt otherwise");
    drop(deaf);
    until("the memory is back", Duration::from_secs(5), || daemon.resident_kib() < at_start + LEFT_MAX);
}

#[test]
fn case_b09_one_who_sleeps_too_long_finds_its_stream_without_a_gap_and_then_an_error() {
    let daemon = Daemon::start();
    let mut sleeper = member(&daemon, &["held", "quiet=1"]);
    assert!(sleeper.signal(Signal::SIGSTOP));
    let mut sender = member(&daemon, &["held", "send=5000", "count=20000"]);
    assert_eq!(sender.expect_line("left"), format!("left {} 5", sleeper.pid()));
    assert!(sleeper.signal(Signal::SIGCONT));
    let done = sleeper.finish();
    assert!(done.stdout.contains("error 2 dispatch"), "{}", done.stdout);
    assert!(!done.stdout.contains("wrong"), "a gap before the end:\n{}", done.stdout);
    assert_eq!(finish(sender), 20_000);
}

#[test]
fn one_who_does_not_read_what_it_sends_itself_is_told_to_try_again_and_stays() {
    let daemon = Setup::default().config(&config("reader_timeout_ms: 500")).start();
    let watcher = member(&daemon, &["other", "quiet=1"]);
    let deaf = member(&daemon, &["own", "deaf=1", "send=10000"]);
    std::thread::sleep(Duration::from_secs(2)); // four times as long as others would have to wait
    assert!(daemon.resident_kib() < RESIDENT_MAX, "{} KiB", daemon.resident_kib());
    drop(deaf);
    assert_eq!(watcher.finish().code(), Some(0));
}

#[test]
fn a_daemon_that_nobody_waits_for_any_more_is_idle() {
    let daemon = Setup::default().config(&config("reader_timeout_ms: 500")).start();
    let _deaf = member(&daemon, &["held", "deaf=1"]);
    let mut sender = member(&daemon, &["held", "send=10000", "quiet=1"]);
    std::thread::sleep(Duration::from_millis(200)); // it is held back by now
    assert!(sender.signal(Signal::SIGKILL));
    let wake_ups = || {
        let text = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).unwrap_or_default();
        line.split_whitespace().last().and_then(|count| count.parse::<u64>().ok()).unwrap_or_default()
    };
    let idle = || {
        let before = wake_ups();
        std::thread::sleep(Duration::from_millis(500));
        wake_ups() - before < 10
    };
    until("it sleeps", Duration::from_secs(5), idle);
}

#[test]
fn many_who_do_not_read_do_not_make_it_worse() {
    let daemon = Setup::default().config(&config("reader_timeout_ms: 500")).start();
    let at_start = daemon.resident_kib();
    let deaf: Vec<_> = (0..10).map(|_| member(&daemon, &["held", "deaf=1"])).collect();
    let healthy = member(&daemon, &["held", "quiet=1"]);
    let began = Instant::now();
    let mut sender = member(&daemon, &["held", "send=10000", "count=5000"]);
    for _ in &deaf {
        sender.expect_line("left");
    }
    // All of them at the same time, not one after the other.
    let held = began.elapsed();
    assert!(held < Duration::from_secs(4), "held back for {held:?}");
    let done = std::thread::spawn(move || finish(sender));
    let most = most_resident(&daemon, Duration::from_secs(30), || done.is_finished());
    assert_eq!(done.join().expect("the sender ends well"), 5000);
    assert!(most < RESIDENT_MAX, "{most} KiB");
    assert_eq!(number(&sums(healthy.finish().expect_success()), "others"), 5000);
    drop(deaf);
    until("the memory is back", Duration::from_secs(5), || daemon.resident_kib() < at_start + LEFT_MAX);
}

#[test]
fn other_groups_keep_going_while_one_is_held_back() {
    let daemon = Setup::default().config(&config("reader_timeout_ms: 3000")).start();
    let rate = |seconds: u64| {
        let free = member(&daemon, &["free", "send=1000", "quiet=1"]);
        std::thread::sleep(Duration::from_secs(seconds));
        finish(free) as f64 / seconds as f64
    };
    let before = rate(1);
    let deaf = member(&daemon, &["held", "deaf=1"]);
    let sender = member(&daemon, &["held", "send=10000", "quiet=1"]);
    std::thread::sleep(Duration::from_millis(500)); // its ring is full by now
    let during = rate(1);
    assert!(!daemon.log().contains("has not read"), "it was gone before the measurement ended");
    c_tests::note(&format!("another group beside a held one: {:.2} of its rate alone", during / before));
    assert!(during > 100.0, "it stands still: {during} messages a second");
    drop(deaf);
    assert!(finish(sender) > 0);
}

/// What was sent counts, although its sender ended while it waited for one who does not read.
#[test]
fn what_a_sender_left_behind_is_delivered_when_the_one_it_waited_for_is_gone() {
    const COUNT: u64 = 700; // of 10 kB: more than the deaf one's ring holds, less than both rings do
    let daemon = Setup::default().config(&config("reader_timeout_ms: 1000")).start();
    let healthy = member(&daemon, &["held", "quiet=1"]);
    let deaf = member(&daemon, &["held", "deaf=1"]);
    let mut sender = member(&daemon, &["held", "send=10000", "count=700", "deaf=1", "quiet=1"]);
    sender.hush();
    assert_eq!(number(&sender.expect_line("sent"), "sent"), COUNT);
    assert!(sender.signal(Signal::SIGKILL)); // in cpg_finalize, which waits for what was sent
    assert!(!daemon.log().contains("has not read"), "it ended too late to leave anything behind");
    logged(&daemon, &format!("Connection of process {} closed: it has not read", deaf.pid()));
    std::thread::sleep(Duration::from_millis(500)); // the rest is delivered at once
    assert_eq!(number(&sums(healthy.finish().expect_success()), "others"), COUNT);
}
