//! Death without warning: of the daemon, of clients, and a daemon that is frozen.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use c_tests::{Daemon, Running};
use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;

use crate::life::{cpu_seconds, finish, member, program, until};

/// How soon clients must notice.
const NOTICE: Duration = Duration::from_secs(2);

#[test]
fn case_b11_a_killed_daemon_is_noticed_by_every_kind_of_wait_and_the_next_one_is_found() {
    let mut daemon = Daemon::start();
    let ways = ["blocked", "polling", "calling", "sending", "zerocopy", "evs", "later"];
    let start = |way: &&str| daemon.client(&program("life/gone.c")).arg(way).timeout(Duration::from_secs(30)).spawn();
    let mut programs: Vec<Running> = ways.iter().map(start).collect();
    programs.iter_mut().for_each(|program| drop(program.expect_line("ready")));
    std::thread::sleep(Duration::from_millis(100)); // all of them wait
    daemon.kill();
    let killed = Instant::now();
    for (program, way) in programs.iter_mut().zip(ways) {
        if way == "later" {
            program.say("now");
        }
        assert_eq!(program.expect_line("gone"), "gone 2", "{way}");
        assert!(killed.elapsed() < NOTICE, "{way}: {:?}", killed.elapsed());
    }
    // Without a daemon they try again and again, and must not spin.
    let before: f64 = programs.iter().map(|program| cpu_seconds(program.pid())).sum();
    std::thread::sleep(Duration::from_millis(500));
    let used = programs.iter().map(|program| cpu_seconds(program.pid())).sum::<f64>() - before;
    assert!(used < 1.0, "{used} s of processor time in half a second of waiting");
    daemon.restart();
    for (program, way) in programs.into_iter().zip(ways) {
        let done = program.finish();
        assert!(done.code() == Some(0) && done.stdout.contains("again\n"), "{way}: {}{}", done.stdout, done.stderr);
    }
}

#[test]
fn case_b03_calls_wait_for_a_frozen_daemon_without_spinning_and_then_succeed() {
    let mut daemon = Daemon::start();
    let mut programs = frozen(&mut daemon);
    let before: f64 = programs.iter().map(|program| cpu_seconds(program.pid())).sum();
    std::thread::sleep(Duration::from_secs(2));
    let used = programs.iter().map(|program| cpu_seconds(program.pid())).sum::<f64>() - before;
    assert!(used < 0.1, "{used} s of processor time in two seconds of waiting");
    daemon.signal(Signal::SIGCONT);
    for program in &mut programs {
        let codes = program.expect_line("codes");
        assert!(codes == "codes 1 1" || codes == "codes 1 1 node 1 members 1", "{codes}");
    }
}

#[test]
fn case_b03_calls_that_wait_for_a_frozen_daemon_fail_when_it_is_killed() {
    let mut daemon = Daemon::start();
    let mut programs = frozen(&mut daemon);
    std::thread::sleep(Duration::from_millis(300)); // they wait
    daemon.kill();
    let killed = Instant::now();
    for program in &mut programs {
        let codes = program.expect_line("codes");
        assert!(codes.starts_with("codes 2 2"), "{codes}");
        assert!(killed.elapsed() < NOTICE, "{:?}", killed.elapsed());
    }
}

/// Five programs that connect to a daemon that is stopped, five that were connected before.
fn frozen(daemon: &mut Daemon) -> Vec<Running> {
    let mut programs: Vec<Running> = (0..10)
        .map(|number| {
            let kind = if number < 5 { "fresh" } else { "connected" };
            let client = daemon.client(&program("life/frozen.c")).arg(kind).arg(number.to_string());
            client.timeout(Duration::from_secs(30)).spawn()
        })
        .collect();
    programs.iter_mut().for_each(|program| drop(program.expect_line("ready")));
    daemon.signal(Signal::SIGSTOP);
    std::thread::sleep(Duration::from_millis(50)); // the signal arrives
    programs.iter_mut().for_each(|program| program.say("go"));
    for program in &mut programs[5..] {
        assert_eq!(program.expect_line("readable"), "readable 0", "nothing is due");
    }
    programs
}

#[test]
fn a_killed_client_is_reported_as_procdown_at_once() {
    let daemon = Daemon::start();
    let mut watcher = member(&daemon, &["pair"]);
    for args in [&["pair"][..], &["pair", "send=1000", "quiet=1"], &["pair", "deaf=1"]] {
        let mut victim = member(&daemon, args);
        let pid = victim.pid();
        assert_eq!(watcher.expect_line("member"), format!("member {pid}"));
        assert!(victim.signal(Signal::SIGKILL));
        let killed = Instant::now();
        assert_eq!(watcher.expect_line("left"), format!("left {pid} 5"), "5 is CPG_REASON_PROCDOWN");
        assert!(killed.elapsed() < Duration::from_secs(1), "{:?}", killed.elapsed());
    }
    // One that leaves properly is not mistaken for it: finalize without leave is a procdown, too,
    // as in the original; what it sent before counts.
    let polite = member(&daemon, &["pair", "send=100", "count=500"]);
    let pid = polite.pid();
    watcher.expect_line("member");
    assert_eq!(finish(polite), 500);
    assert_eq!(watcher.expect_line("left"), format!("left {pid} 5"));
}

#[test]
fn case_b01_dead_clients_and_daemons_leave_nothing_behind() {
    let mut daemon = Daemon::start();
    let before = (shared_memory(), daemon.descriptors());
    let idle = program("life/idle.c");
    for round in 0..60 {
        let mut client = member(&daemon, &["leftover", "send=500", "count=20", "quiet=1"]);
        match round % 3 {
            0 => drop(client.finish().expect_success()),
            1 => assert!(client.signal(Signal::SIGKILL)),
            _ => assert!(client.signal(Signal::SIGTERM)),
        }
    }
    until("all descriptors are closed", Duration::from_secs(5), || daemon.descriptors() <= before.1);
    assert_eq!(shared_memory(), before.0);
    let mut clients = daemon.client(&idle).args(["15", "5"]).spawn();
    clients.expect_line("open 20");
    daemon.kill();
    daemon.restart();
    assert!(clients.finish().code().is_some());
    assert_eq!(shared_memory(), before.0);
    until("a fresh daemon has as few descriptors", Duration::from_secs(5), || daemon.descriptors() <= before.1);
    // Switches that do not start a daemon leave nothing either.
    let run = daemon.dir().join("other");
    for switch in ["-v", "-X"] {
        daemon.program_line().arg(switch).env("EVENSONG_RUN_DIR", &run).run();
        assert!(!run.exists(), "{switch} made a directory");
    }
}

fn shared_memory() -> BTreeSet<String> {
    let entries = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    // The original, where a test runs it, keeps its files there.
    names.filter(|name| !name.starts_with("qb-")).collect()
}

#[test]
fn two_daemons_side_by_side_know_nothing_of_each_other() {
    let (mut first, second) = (Daemon::start(), Daemon::start());
    let here = member(&first, &["same", "send=200", "gap_us=500"]);
    let there = member(&second, &["same", "send=200", "gap_us=500"]);
    std::thread::sleep(Duration::from_millis(300)); // both send
    first.kill();
    let alone = here.finish();
    assert!(alone.stdout.contains("error 2 "), "{}", alone.stdout);
    let done = there.finish();
    done.expect_success();
    assert!(done.stdout.contains("others 0 wrong 0"), "{}", done.stdout);
}

#[test]
fn a_stopped_client_stays_a_member_and_goes_on() {
    let daemon = Daemon::start();
    let watcher = member(&daemon, &["nap"]);
    let mut sleeper = member(&daemon, &["nap", "send=100", "gap_us=1000"]);
    let pid = Pid::from_raw(sleeper.pid() as i32);
    assert!(sleeper.signal(Signal::SIGSTOP));
    std::thread::sleep(Duration::from_millis(1500)); // longer than readers may take
    kill(pid, Signal::SIGCONT).expect("it is there");
    assert!(finish(sleeper) > 0);
    let done = watcher.finish();
    assert_eq!(done.stdout.matches("left").count(), 1, "{}", done.stdout);
}
