//! Limits: of connections, of memory, of descriptors; a daemon without rights.

use std::time::Duration;

use c_tests::{skip, Daemon, Setup};
use nix::sys::signal::Signal;

use crate::life::{config, cpu_seconds, finish, logged, member, number, program, until};

fn open(daemon: &Daemon, count: u32) -> String {
    let done = daemon.client(&program("life/idle.c")).arg(count.to_string()).run();
    done.expect_success().stdout.clone()
}

#[test]
fn a_connection_too_many_is_refused_and_the_others_go_on() {
    let daemon = Setup::default().config(&config("ipc_clients_max: 4")).start();
    let witness = member(&daemon, &["good", "send=100", "gap_us=500"]);
    // 18 is CS_ERR_NO_RESOURCES
    assert_eq!(open(&daemon, 4), "initialize 18\nopen 3\n");
    assert_eq!(open(&daemon, 3), "open 3\n", "places are free again");
    assert!(finish(witness) > 0);
}

#[test]
fn case_b07_a_connection_beyond_the_memory_is_refused_and_memory_is_free_again() {
    let daemon = Setup::default().config(&config("ipc_memory_max: 36M; ipc_ring_size: 4M")).start();
    let witness = member(&daemon, &["good", "send=100", "gap_us=500"]);
    let text = open(&daemon, 10);
    let served = number(&text, "open");
    assert!((2..=3).contains(&served) && text.contains("initialize 18\n"), "{text}");
    assert_eq!(number(&open(&daemon, 2), "open"), 2, "memory is free again");
    assert!(finish(witness) > 0);
}

#[test]
fn case_b87_without_descriptors_new_connections_are_refused_and_nobody_spins() {
    if !nix::unistd::geteuid().is_root() {
        skip!("as an ordinary user the limit may be lower than this test wants");
    }
    // Without the right to raise the limit again.
    let limit = ["prlimit", "--nofile=40:40", "setpriv", "--bounding-set=-all", "--inh-caps=-all"];
    let daemon = Setup::default().under(&limit).start();
    let witness = member(&daemon, &["good", "send=100", "gap_us=1000"]);
    let mut many = daemon.client(&program("life/idle.c")).arg("60").timeout(Duration::from_secs(20)).spawn();
    let line = many.expect_line("open");
    let served = number(&line, "open");
    // 18 is CS_ERR_NO_RESOURCES: every one of them has got an answer.
    assert!((10..40).contains(&served), "{line}");
    let before = cpu_seconds(daemon.pid());
    std::thread::sleep(Duration::from_secs(1));
    let used = cpu_seconds(daemon.pid()) - before;
    assert!(used < 0.5, "{used} s of processor time in one second with all descriptors in use");
    drop(many);
    until("there is room again", Duration::from_secs(5), || open(&daemon, 3) == "open 3\n");
    assert!(finish(witness) > 0);
}

#[test]
fn case_b87_without_rights_it_warns_and_serves() {
    if !nix::unistd::geteuid().is_root() {
        skip!("rights can be taken away only from root");
    }
    let text = c_tests::daemon::CONFIG.replace("sched_rr: no", "sched_rr: yes");
    let none = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"];
    let limits = ["prlimit", "--memlock=65536:65536", "--nofile=256:256", "--rtprio=0:0"];
    let mut daemon = Setup::default().config(&text).under(&[&limits[..], &none[..]].concat()).start();
    let first = member(&daemon, &["good", "send=1000", "quiet=1"]);
    let second = member(&daemon, &["good", "send=50000", "gap_us=1000", "quiet=1"]);
    let mut many = daemon.client(&program("life/idle.c")).arg("50").spawn();
    assert_eq!(many.expect_line("open"), "open 50");
    std::thread::sleep(Duration::from_secs(1)); // load for a while
    assert!(finish(first) > 1000 && finish(second) > 10);
    logged(&daemon, "SCHED_RR");
    assert!(daemon.stop().0.success());
}

#[test]
fn case_b87_as_an_ordinary_user_with_directories_of_its_own() {
    if !nix::unistd::geteuid().is_root() {
        skip!("the whole run is that of an ordinary user");
    }
    use std::os::unix::fs::PermissionsExt;
    let user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let mut daemon = Setup::default().under(&user).prepare();
    let dir = daemon.dir().to_owned();
    std::fs::set_permissions(&dir, PermissionsExt::from_mode(0o755)).expect("it is ours");
    nix::unistd::chown(&dir, Some(65534.into()), Some(65534.into())).expect("root may");
    // The program must be where that user can read it.
    let copy = dir.join("evensongd");
    install(&c_tests::stage::daemon(), &copy);
    let mut running = c_tests::Program::new(&copy)
        .args(["-f", "-c"])
        .arg(daemon.config_path())
        .under(&user)
        .env("EVENSONG_RUN_DIR", daemon.run_dir())
        .env_remove("NOTIFY_SOCKET")
        .spawn();
    let socket = daemon.run_dir().join("ipc.sock");
    until("its socket is there", Duration::from_secs(5), || socket.exists() || running.ended().is_some());
    assert!(running.ended().is_none(), "{}", running.complaints());
    // Root, and its own user.
    daemon.client(&program("harness/hello.c")).run().expect_success();
    let own = c_tests::compile(&c_tests::compile::source("harness/hello.c"), c_tests::Against::Archives);
    let hello = dir.join("hello");
    install(&own, &hello);
    daemon.client(&hello).under(&user).run().expect_success();
    assert!(running.signal(Signal::SIGTERM));
    assert!(running.wait_within(Duration::from_secs(5)).is_some_and(|status| status.success()));
    daemon.kill();
}

/// Copies a program by another process, see `access`.
fn install(program: &std::path::Path, copy: &std::path::Path) {
    c_tests::Program::new("install").args(["-m", "0755"]).arg(program).arg(copy).run().expect_success();
}
