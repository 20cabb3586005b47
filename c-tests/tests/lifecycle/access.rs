//! Who may connect: root, the daemon's own user, and what `uidgid` sections add, also later.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use c_tests::compile::{compile, source, Against};
use c_tests::{skip, Daemon, Finished, Setup};
use nix::sys::signal::Signal;

use crate::life::{logged, until};

/// A user that is nobody's.
const STRANGER: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

/// A program that any user can run, in the daemon's directory, which any user can pass.
fn public(daemon: &Daemon) -> PathBuf {
    let copy = daemon.dir().join("idle");
    install(&compile(&source("life/idle.c"), Against::Archives), &copy, "0755");
    std::fs::set_permissions(daemon.dir(), PermissionsExt::from_mode(0o755)).expect("it is ours");
    copy
}

/// Copies a program, by another process: one that this process wrote could be held open by a child
/// of another test for a moment, and would be busy.
fn install(program: &Path, copy: &Path, mode: &str) {
    if !copy.exists() {
        c_tests::Program::new("install").args(["-m", mode]).arg(program).arg(copy).run().expect_success();
    }
}

fn connect(daemon: &Daemon, wrapper: &[&str]) -> Finished {
    daemon.client(&public(daemon)).under(wrapper).run()
}

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

#[test]
fn others_are_refused_with_access_and_can_tell_that_from_a_missing_daemon() {
    if !is_root() {
        skip!("only root can become somebody else");
    }
    let mut daemon = Daemon::start();
    let socket = std::fs::metadata(daemon.run_dir().join("ipc.sock")).expect("the socket is there");
    assert_eq!(socket.permissions().mode() & 0o777, 0o666);
    assert_eq!(connect(&daemon, &[]).stdout, "open 1\n");
    // 11 is CS_ERR_ACCESS, 2 is CS_ERR_LIBRARY
    assert_eq!(connect(&daemon, &STRANGER).stdout, "initialize 11\nopen 0\n");
    logged(&daemon, "65534:65534");
    daemon.kill();
    assert_eq!(connect(&daemon, &STRANGER).stdout, "initialize 2\nopen 0\n");
}

#[test]
fn uidgid_lets_a_user_or_a_group_in_at_start_and_later() {
    if !is_root() {
        skip!("only root can become somebody else");
    }
    let with = |section: &str| format!("{}uidgid {{\n  {section}\n}}\n", c_tests::daemon::CONFIG);
    let daemon = Setup::default().config(&with("uid: 65534")).start();
    assert_eq!(connect(&daemon, &STRANGER).stdout, "open 1\n");
    let mut daemon = Setup::default().config(&with("gid: 65534")).start();
    assert_eq!(connect(&daemon, &STRANGER).stdout, "open 1\n");
    let other = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups"];
    assert_eq!(connect(&daemon, &other).stdout, "initialize 11\nopen 0\n");
    let text = std::fs::read_to_string(daemon.config_path()).expect("it was written by the test");
    std::fs::write(daemon.config_path(), text.replace("gid: 65534", "uid: 65533")).expect("it is ours");
    daemon.signal(Signal::SIGHUP);
    until("the other one is let in", Duration::from_secs(5), || connect(&daemon, &other).stdout == "open 1\n");
    assert_eq!(connect(&daemon, &STRANGER).stdout, "initialize 11\nopen 0\n");
}

#[test]
fn case_b05_rings_of_a_client_are_not_reachable_by_name() {
    let daemon = Daemon::start();
    let mut idle = daemon.client(&public(&daemon)).arg("3").spawn();
    idle.expect_line("open 3");
    let names: Vec<String> = std::fs::read_dir(daemon.run_dir())
        .expect("it is there")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert!(names.iter().all(|name| ["ipc.sock", "evensongd.pid", "state"].contains(&name.as_str())), "{names:?}");
}

#[test]
fn set_uid_programs_do_not_listen_to_the_environment() {
    if !is_root() {
        skip!("only root can make a set-uid program of another user");
    }
    if Path::new("/run/evensong/ipc.sock").exists() {
        skip!("an instance runs at the usual place");
    }
    let daemon = Setup::default().config(&format!("{}uidgid {{\n  uid: 65534\n}}\n", c_tests::daemon::CONFIG)).start();
    let program = public(&daemon);
    assert_eq!(connect(&daemon, &STRANGER).stdout, "open 1\n", "without the bit the variable counts");
    let setuid = daemon.dir().join("setuid");
    install(&program, &setuid, "4755");
    let done = daemon.client(&setuid).under(&STRANGER).run();
    if done.stdout == "open 1\n" && nosuid(daemon.dir()) {
        skip!("set-uid programs do not work on this file system");
    }
    assert_eq!(done.stdout, "initialize 2\nopen 0\n", "it must look at the usual place, where nobody is");
}

/// Whether the file system of a directory takes no notice of the bit.
fn nosuid(dir: &Path) -> bool {
    use nix::sys::statvfs::{statvfs, FsFlags};
    statvfs(dir).is_ok_and(|data| data.flags().contains(FsFlags::ST_NOSUID))
}
