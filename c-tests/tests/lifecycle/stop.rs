//! Stopping: in time and in order, whatever clients do.

use std::time::{Duration, Instant};

use c_tests::{Daemon, Running, Setup};
use nix::sys::signal::Signal;

use crate::life::{config, logged, member, program, until};

/// Clients of all kinds: 50 idle connections, five that send all the time, one that is stopped.
fn crowd(daemon: &Daemon) -> Vec<Running> {
    let mut idle = daemon.client(&program("life/idle.c")).args(["40", "10"]).spawn();
    idle.expect_line("open 50");
    let sending = (0..5).map(|_| member(daemon, &["busy", "send=2000", "quiet=1"]));
    let mut crowd: Vec<Running> = sending.collect();
    let mut stopped = member(daemon, &["other", "send=1000", "quiet=1"]);
    assert!(stopped.signal(Signal::SIGSTOP));
    crowd.extend([idle, stopped]);
    crowd
}

fn stops_on(signal: Signal) {
    let mut daemon = Daemon::start();
    let mut crowd = crowd(&daemon);
    std::thread::sleep(Duration::from_millis(300)); // a queue before it
    daemon.signal(signal);
    let took = until("the daemon ends", Duration::from_secs(5), || !daemon.is_running());
    c_tests::note(&format!("{signal}: {} ms with 50 idle, 5 sending, 1 stopped client", took.as_millis()));
    logged(&daemon, signal.as_str());
    logged(&daemon, "exiting");
    // Those who can see it do, at once.
    for member in &mut crowd[..5] {
        member.expect_line("error 2");
    }
    assert!(!daemon.run_dir().join("ipc.sock").exists(), "the socket stays behind");
}

#[test]
fn case_b85_stops_within_five_seconds_on_term() {
    stops_on(Signal::SIGTERM);
}

#[test]
fn case_b85_stops_within_five_seconds_on_int() {
    stops_on(Signal::SIGINT);
}

#[test]
fn case_b85_stops_within_five_seconds_on_quit() {
    stops_on(Signal::SIGQUIT);
}

#[test]
fn case_b85_a_stop_ends_with_success() {
    let mut daemon = Setup::default().config(&config("reader_timeout_ms: 60000")).start();
    let _deaf = member(&daemon, &["held", "deaf=1"]);
    let _sending = member(&daemon, &["held", "send=100000", "quiet=1"]);
    std::thread::sleep(Duration::from_millis(300)); // senders are held back for the one who does not read
    let (status, took) = daemon.stop();
    assert!(status.success() && took < Duration::from_secs(5), "{status} after {took:?}");
}

#[test]
fn case_b85_a_second_start_is_refused_and_leaves_the_first_alone() {
    let daemon = Daemon::start();
    let witness = member(&daemon, &["good", "send=100", "gap_us=1000"]);
    let second = daemon.program_line().run();
    assert_eq!(second.code(), Some(18), "{}", second.stderr);
    let pid = daemon.pid().to_string();
    assert!(second.stderr.contains(&pid) && second.stderr.contains("evensongd.pid"), "{}", second.stderr);
    assert!(second.stderr.lines().count() <= 3, "readable is short: {}", second.stderr);
    assert!(crate::life::finish(witness) > 0);
    member(&daemon, &["good"]);
}

#[test]
fn case_b85_a_start_while_the_old_one_stops_is_refused_or_serves() {
    let mut daemon = Daemon::start();
    for _ in 0..5 {
        let _clients = crowd(&daemon);
        daemon.signal(Signal::SIGTERM);
        // Refused, or the old one is gone already: then it serves until it is told to stop.
        let mut early = daemon.program_line().spawn();
        let began = Instant::now();
        let refused = loop {
            if let Some(status) = early.ended() {
                break Some(status);
            }
            if early.complaints().contains("Ready for clients") {
                break None;
            }
            assert!(began.elapsed() < Duration::from_secs(6), "neither: {}", early.complaints());
            std::thread::sleep(Duration::from_millis(2));
        };
        match refused {
            Some(status) => assert_eq!(status.code(), Some(18), "{}", early.complaints()),
            None => {
                assert!(early.signal(Signal::SIGTERM));
                assert!(early.wait_within(Duration::from_secs(5)).is_some_and(|status| status.success()));
            }
        }
        until("the first has ended", Duration::from_secs(5), || !daemon.is_running());
        daemon.restart();
    }
}

#[test]
fn case_b85_a_stale_pid_file_and_socket_do_not_hinder_a_start() {
    let mut daemon = Setup::default().prepare();
    let run = daemon.run_dir();
    std::fs::create_dir_all(&run).expect("the directory is ours");
    std::fs::write(run.join("evensongd.pid"), "1\n").expect("it can be written");
    std::fs::write(run.join("ipc.sock"), "").expect("it can be written");
    daemon.restart();
    let text = std::fs::read_to_string(run.join("evensongd.pid")).expect("the pid file is there");
    assert_eq!(text.trim(), daemon.pid().to_string());
    member(&daemon, &["good"]);
    assert!(daemon.stop().0.success());
    let text = std::fs::read_to_string(run.join("evensongd.pid")).unwrap_or_default();
    assert_eq!(text, "", "the pid of a daemon that is gone");
}
