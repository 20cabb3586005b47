//! Starting: ready when it says so, the first join, the built-in default, the pid file.

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::{Duration, Instant};

use c_tests::{skip, Daemon, Setup};

use crate::life::{logged, member, program, until};

#[test]
fn case_b85_ready_is_sent_once_and_only_when_clients_can_connect() {
    let daemon = Setup::default().prepare();
    let hello = program("harness/hello.c");
    let path = daemon.dir().join("ready.sock");
    let socket = UnixDatagram::bind(&path).expect("the directory is ours");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout can be set");
    let mut running = daemon.program_line().env("NOTIFY_SOCKET", &path).spawn();
    let mut message = [0; 512];
    let count = socket.recv(&mut message).expect("a message comes");
    let text = String::from_utf8_lossy(&message[..count]).into_owned();
    assert!(text.lines().any(|line| line == "READY=1"), "{text}");
    daemon.client(&hello).run().expect_success();
    let pid = std::fs::read_to_string(daemon.run_dir().join("evensongd.pid")).expect("the pid file is there");
    assert_eq!(pid.trim(), running.pid().to_string());
    assert!(running.signal(nix::sys::signal::Signal::SIGTERM));
    assert!(running.wait_within(Duration::from_secs(5)).is_some_and(|status| status.success()));
    socket.set_nonblocking(true).expect("it can be set");
    while let Ok(count) = socket.recv(&mut message) {
        assert!(!message[..count].windows(7).any(|part| part == b"READY=1"), "ready twice");
    }
}

#[test]
fn a_join_succeeds_soon_after_the_start() {
    let mut best = Duration::MAX;
    let hello = program("harness/hello.c");
    for _ in 0..5 {
        let daemon = Setup::default().prepare();
        let began = Instant::now();
        let _running = daemon.program_line().spawn();
        loop {
            if daemon.client(&hello).run().code() == Some(0) {
                break;
            }
            assert!(began.elapsed() < Duration::from_secs(5), "no join in five seconds");
        }
        best = best.min(began.elapsed());
    }
    c_tests::note(&format!("first message back {} ms after the start, best of 5", best.as_millis()));
}

#[test]
fn without_a_file_one_node_runs_and_the_log_says_so() {
    if !nix::unistd::geteuid().is_root() || !may_unshare() {
        skip!("hiding the machine's own file takes root and a mount namespace");
    }
    // The machine may have a file of the original: hide it.
    let hide = "[ ! -e /etc/corosync ] || mount -t tmpfs none /etc/corosync || exit 99; exec \"$@\"";
    let daemon = Setup::default().without_config().under(&["unshare", "-m", "sh", "-c", hide, "sh"]).start();
    logged(&daemon, "no configuration file");
    logged(&daemon, "running a single node, id 1, cluster name evensong");
    let done = daemon.client(&program("harness/hello.c")).run();
    done.expect_success();
}

fn may_unshare() -> bool {
    let tried = c_tests::Program::new("unshare").args(["-m", "true"]).run();
    tried.code() == Some(0)
}

#[test]
fn in_the_background_the_first_process_ends_when_clients_can_connect() {
    let daemon = Setup::default().prepare();
    // A daemon in the background leaves the group of whoever started it: ended by its pid file.
    let program_line = c_tests::Program::new(c_tests::stage::daemon())
        .arg("-c")
        .arg(daemon.config_path())
        .env("EVENSONG_RUN_DIR", daemon.run_dir())
        .env_remove("NOTIFY_SOCKET");
    let mut starter = program_line.command();
    let status = starter.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    let status = status.stderr(std::process::Stdio::null()).status().expect("it starts");
    let pid = std::fs::read_to_string(daemon.run_dir().join("evensongd.pid")).unwrap_or_default();
    let answer = daemon.client(&program("harness/hello.c")).run();
    if let Ok(pid) = pid.trim().parse() {
        // It may have ended by itself; the checks below tell.
        let _told = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM);
        until("it has ended", Duration::from_secs(5), || !Path::new(&format!("/proc/{pid}")).exists());
    }
    assert!(status.success(), "{status}");
    answer.expect_success();
}

#[test]
fn case_b05_what_lies_at_its_names_is_replaced_or_refused_and_never_followed() {
    let mut daemon = Setup::default().prepare();
    let run = daemon.run_dir();
    std::fs::create_dir_all(&run).expect("the directory is ours");
    let canary = daemon.dir().join("canary");
    std::fs::write(&canary, "untouched").expect("the directory is ours");
    let link = |name: &str| std::os::unix::fs::symlink(&canary, run.join(name)).expect("the directory is ours");
    link("ipc.sock");
    daemon.restart();
    daemon.client(&program("harness/hello.c")).run().expect_success();
    assert!(daemon.stop().0.success());
    // The pid file is written to: one that leads elsewhere is refused.
    std::fs::remove_file(run.join("evensongd.pid")).expect("the daemon left it");
    link("evensongd.pid");
    let refused = daemon.program_line().run();
    assert_eq!(refused.code(), Some(17), "{}", refused.stderr);
    assert_eq!(std::fs::read_to_string(&canary).expect("it is there"), "untouched");
}

#[test]
fn case_b05_a_run_directory_that_others_can_write_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let daemon = Setup::default().prepare();
    std::fs::create_dir_all(daemon.run_dir()).expect("the directory is ours");
    std::fs::set_permissions(daemon.run_dir(), std::fs::Permissions::from_mode(0o777)).expect("it is ours");
    let refused = daemon.program_line().run();
    assert_eq!(refused.code(), Some(16), "{}", refused.stderr);
    assert!(refused.stderr.contains("run"), "{}", refused.stderr);
}

#[test]
fn a_second_instance_on_the_host_is_a_second_directory() {
    let (first, second) = (Daemon::start(), Daemon::start());
    assert_ne!(first.run_dir(), second.run_dir());
    member(&first, &["a"]);
    member(&second, &["a"]);
}
