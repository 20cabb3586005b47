//! The harness itself: daemons come up, serve, stop, and leave nothing behind.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;
use std::time::Duration;

use c_tests::compile::{compile, source, Against};
use c_tests::{Daemon, Original, Program};

#[test]
fn a_program_is_compiled_and_served() {
    let program = compile(&source("harness/hello.c"), Against::Staged);
    let mut daemon = Daemon::start();
    let done = daemon.client(&program).run();
    assert_eq!(done.expect_success().stdout, "hello: world\n");
    assert!(daemon.resident_kib() > 500 && daemon.descriptors() > 3);
    let (status, took) = daemon.stop();
    assert!(status.success() && took < Duration::from_secs(5), "{status} after {took:?}");
    assert!(!daemon.is_running() && daemon.log().contains("Ready for clients"));
    daemon.restart();
    daemon.client(&program).run().expect_success();
}

#[test]
fn archives_serve_as_well() {
    let program = compile(&source("harness/hello.c"), Against::Archives);
    let daemon = Daemon::start();
    let done = daemon.client(&program).env_remove("LD_LIBRARY_PATH").run();
    assert_eq!(done.expect_success().stdout, "hello: world\n");
}

#[test]
fn nothing_is_left_behind_by_a_panic() {
    let (mut pid, mut dir) = (0, std::path::PathBuf::new());
    let result = catch_unwind(AssertUnwindSafe(|| {
        let daemon = Daemon::start();
        (pid, dir) = (daemon.pid(), daemon.dir().to_owned());
        // No message: this panic is wanted.
        std::panic::resume_unwind(Box::new(()));
    }));
    assert!(result.is_err() && !dir.exists() && !Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn a_program_that_does_not_end_is_killed_with_its_children() {
    let program = Program::new("sh").args(["-c", "sleep 1000 & echo $!; wait"]);
    let done = program.timeout(Duration::from_millis(300)).run();
    assert_eq!(done.status, None);
    let child: u32 = done.stdout.lines().next().and_then(|line| line.parse().ok()).expect("a process id");
    let gone = || {
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    };
    let deadline = std::time::Instant::now() + Duration::from_secs(5);
    while !gone() {
        assert!(std::time::Instant::now() < deadline, "process {child} still runs");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_original_serves_a_program_of_the_system() {
    let Some(original) = Original::start() else { return };
    let program = compile(&source("harness/hello.c"), Against::System);
    assert_eq!(original.client(&program).run().expect_success().stdout, "hello: world\n");
}
