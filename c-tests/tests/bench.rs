//! The benchmark programs with tiny input: their lines and figures are what scripts and the bench
//! tool read, nothing gets lost, failures are seen, and no process stays behind.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use c_tests::compile::{compile, source, Against};
use c_tests::{Daemon, Finished};
use nix::sys::signal::Signal;

fn program(name: &str) -> PathBuf {
    compile(&source(&format!("bench/{name}.c")), Against::Staged)
}

/// The number behind a key of a JSON line.
fn number(line: &str, key: &str) -> f64 {
    let start = line.find(&format!("\"{key}\": ")).unwrap_or_else(|| panic!("no {key} in {line}")) + key.len() + 4;
    let rest = &line[start..];
    let end = rest.find([',', '}']).expect("an end of the number");
    rest[..end].parse().unwrap_or_else(|e| panic!("{key} in {line}: {e}"))
}

fn run(daemon: &Daemon, name: &str, arguments: &str) -> Finished {
    daemon.client(&program(name)).args(arguments.split(' ')).run()
}

#[test]
fn classic_lines_have_their_classic_shape() {
    let daemon = Daemon::start();
    for (name, what) in [("cpgbench", "messages received"), ("cpgbenchzc", "messages received"), ("evsbench", "Writes")]
    {
        let done = run(&daemon, name, "-t 0.05 -s 64,70000");
        let text = &done.expect_success().stdout;
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("bytes per write")).collect();
        assert_eq!(lines.len(), 2, "{name}: {text}");
        for (line, size) in lines.iter().zip(["64", "70000"]) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let rest = line.split_once(what).unwrap_or_else(|| panic!("{name}: {line}")).1;
            let rest: Vec<&str> = rest.split_whitespace().collect();
            assert!(words[0].parse::<u64>().is_ok_and(|count| count > 0), "{line}");
            assert_eq!(&rest[..4], [size, "bytes", "per", "write"], "{line}");
            assert_eq!((rest[5], rest[6]), ("Seconds", "runtime"), "{line}");
            assert_eq!((rest[8], rest[10]), ("TP/s", "MB/s."), "{line}");
            assert!([4, 7, 9].iter().all(|at| rest[*at].parse::<f64>().is_ok()), "{line}");
        }
    }
}

#[test]
fn figures_are_complete_and_nothing_is_lost() {
    let daemon = Daemon::start();
    for name in ["cpgbench", "cpgbenchzc", "evsbench"] {
        let done = run(&daemon, name, "-t 0.05 -s 1,1400,300000 -j");
        let lines: Vec<&str> = done.expect_success().stdout.lines().collect();
        assert_eq!(lines.len(), 3, "{name}");
        for line in lines {
            assert!(number(line, "per_second") > 0.0, "{name}: {line}");
            assert!(number(line, "delivered") >= number(line, "in_time"), "{name}: {line}");
            assert_eq!(number(line, "delivered"), number(line, "writes"), "{name}: {line}");
        }
    }
    for mode in ["poll", "spin"] {
        let done = run(&daemon, "cpglat", &format!("-m {mode} -t 0.05 -s 100 -j"));
        let line = &done.expect_success().stdout;
        let figures = ["p50_us", "p90_us", "p99_us", "max_us"].map(|key| number(line, key));
        assert!(figures[0] > 0.0 && figures.is_sorted(), "{line}");
    }
}

#[test]
fn series_have_the_classic_sizes() {
    let daemon = Daemon::start();
    for (name, arguments, count, first, last) in [
        ("cpgbench", "-t 0.001 -S classic -j", 14, 100.0, 1400.0),
        ("cpgbench", "-t 0.001 -j", 7, 64.0, 1_000_000.0),
        ("cpgbenchzc", "-t 0.001 -j", 50, 1000.0, 50_000.0),
        ("evsbench", "-t 0.001 -j", 200, 1.0, 199_001.0),
    ] {
        let done = run(&daemon, name, arguments);
        let sizes: Vec<f64> = done.expect_success().stdout.lines().map(|line| number(line, "size")).collect();
        assert_eq!((sizes.len(), sizes[0], sizes[count - 1]), (count, first, last), "{name} {arguments}");
    }
}

#[test]
fn many_processes_are_all_served() {
    let daemon = Daemon::start();
    for (arguments, size) in [("-p 6 -g 3 -t 0.2 -s 64 -j", 64.0), ("-p 4 -g 1 -t 0.2 -s 1400 -j", 1400.0)] {
        let done = run(&daemon, "cpgmulti", arguments);
        let line = &done.expect_success().stdout;
        assert_eq!(number(line, "size"), size);
        assert_eq!(number(line, "delivered"), number(line, "writes"), "{line}");
        let (least, most) = (number(line, "min"), number(line, "max"));
        assert!(0.0 < least && least <= number(line, "median") && number(line, "median") <= most, "{line}");
        assert!((number(line, "min_over_max") - least / most).abs() < 0.001, "{line}");
        assert!(number(line, "min_over_median") <= 1.0, "{line}");
    }
}

#[test]
fn the_plain_loop_of_the_original_verifies_every_byte() {
    if !std::path::Path::new("/usr/include/corosync/cpg.h").exists() {
        return c_tests::note("the original's headers are not installed: the plain loop was not compiled");
    }
    let daemon = Daemon::start();
    let loop_program = compile(&source("bench/plainloop.c"), Against::System);
    let done = daemon.client(&loop_program).args(["-V", "-t", "0.1", "-s", "1,8,64,1400,70000,2500000", "-j"]).run();
    let lines: Vec<&str> = done.expect_success().stdout.lines().collect();
    assert_eq!(lines.len(), 6);
    assert!(lines.iter().all(|line| number(line, "delivered") == number(line, "writes") && line.contains("true")));
}

#[test]
fn failures_are_said_and_counted_as_such() {
    let mut daemon = Daemon::start();
    let long = daemon.client(&program("cpgbench")).args(["-t", "30", "-s", "64"]).spawn();
    let many = daemon.client(&program("cpgmulti")).args(["-t", "30", "-p", "3", "-g", "3"]).spawn();
    std::thread::sleep(Duration::from_millis(300));
    daemon.kill();
    for mut running in [long, many] {
        let status = running.wait_within(Duration::from_secs(10)).expect("it notices that the daemon is gone");
        assert_eq!(status.code(), Some(1));
        assert!(running.complaints().contains("CS_ERR_LIBRARY"), "{}", running.complaints());
    }
    let done = run(&daemon, "cpgbench", "-t 0.1");
    assert_eq!(done.code(), Some(1));
    for wrong in ["-t x", "-s 1,,2", "-s -5", "-S tens", "-q", "more"] {
        assert_eq!(run(&daemon, "cpgbench", wrong).code(), Some(2), "{wrong}");
    }
}

#[test]
fn an_interrupted_crowd_leaves_nothing_behind() {
    let daemon = Daemon::start();
    let mut crowd = daemon.client(&program("cpgmulti")).args(["-t", "30", "-p", "8", "-g", "2"]).spawn();
    let children = format!("/proc/{0}/task/{0}/children", crowd.pid());
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut pids: Vec<String> = Vec::new();
    while pids.len() < 8 {
        assert!(Instant::now() < deadline, "eight processes come up");
        pids = std::fs::read_to_string(&children)
            .unwrap_or_default()
            .split_whitespace()
            .map(|pid| format!("/proc/{pid}"))
            .collect();
    }
    assert!(crowd.signal(Signal::SIGTERM));
    let status = crowd.wait_within(Duration::from_secs(10)).expect("it ends");
    assert!(!status.success());
    assert!(pids.iter().all(|pid| !std::path::Path::new(pid).exists()), "all were waited for");
}
