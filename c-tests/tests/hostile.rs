//! Clients that do not use the library but write garbage and lies: into the socket, into the
//! shared memory, while the daemon reads. It costs them their own connection and nobody else
//! anything. Cases B07 (memory cut off under the daemon) and B93 (crash of the daemon) in part.
//!
//! A run is repeated with `EVENSONG_SEED`; the programs print the seed of every round.

mod life;

use std::time::Duration;

use c_tests::{Daemon, Running, Setup};
use life::{config, finish, member, program, seed, until};

/// Resident memory that the daemon may have with a few clients, whatever they do, in KiB.
const RESIDENT_MAX: u64 = 200 << 10;

fn start() -> Daemon {
    Setup::default().config(&config("reader_timeout_ms: 300")).start()
}

/// Runs a hostile program to its end; it complains when the daemon does not do what it must.
fn attack(daemon: &Daemon, name: &str, args: &[&str]) -> Running {
    daemon.client(&program(name)).args(args).timeout(Duration::from_secs(60)).spawn()
}

/// Lines that the daemon wrote about clients.
fn lines_about_clients(daemon: &Daemon) -> usize {
    daemon.log().lines().filter(|line| line.contains("[IPC")).count()
}

#[test]
fn wrong_handshakes_are_refused_and_nothing_stays_of_them() {
    let daemon = start();
    let witness = member(&daemon, &["good", "send=300", "gap_us=500"]);
    let descriptors = daemon.descriptors();
    let seed = seed().to_string();
    let done = attack(&daemon, "hostile/handshake.c", &[&seed, "30"]).finish();
    assert_eq!(done.code(), Some(0), "seed {seed}\n{}{}", done.stdout, done.stderr);
    until("the descriptors are back", Duration::from_secs(5), || daemon.descriptors() <= descriptors);
    assert!(finish(witness) > 0);
    // Each round has five connections worth a line; more than a few in a second are counted.
    assert!(lines_about_clients(&daemon) < 100, "{}", daemon.log());
    assert!(daemon.resident_kib() < RESIDENT_MAX);
}

#[test]
fn peers_that_connect_and_say_nothing_keep_nobody_out() {
    let daemon = start();
    let socket = daemon.run_dir().join("ipc.sock");
    let connect = |_| std::os::unix::net::UnixStream::connect(&socket).expect("it listens");
    let _silent: Vec<_> = (0..400).map(connect).collect();
    let began = std::time::Instant::now();
    let done = daemon.client(&program("life/idle.c")).arg("5").run();
    assert_eq!(done.stdout, "open 5\n", "{}", daemon.log());
    assert!(began.elapsed() < Duration::from_secs(2), "it took {:?}", began.elapsed());
}

#[test]
fn what_is_written_into_the_memory_costs_only_the_writers_connection() {
    const ROUNDS: usize = 84;
    let mut daemon = start();
    let small = member(&daemon, &["good", "send=100", "gap_us=300", "quiet=1"]);
    let large = member(&daemon, &["good", "send=60000", "gap_us=5000", "quiet=1"]);
    let (descriptors, seed) = (daemon.descriptors(), seed());
    let done = attack(&daemon, "hostile/scribble.c", &[&seed.to_string(), &ROUNDS.to_string(), "good"]).finish();
    assert_eq!(done.code(), Some(0), "{}{}\n{}", done.stdout, done.stderr, daemon.log());
    assert!(daemon.resident_kib() < RESIDENT_MAX, "{} KiB", daemon.resident_kib());
    until("the descriptors are back", Duration::from_secs(5), || daemon.descriptors() <= descriptors);
    assert!(finish(small) > 100 && finish(large) > 10);
    let lines = lines_about_clients(&daemon);
    assert!(lines <= ROUNDS, "{lines} lines for {ROUNDS} connections:\n{}", daemon.log());
    assert!(daemon.stop().0.success(), "{}", daemon.log());
}

#[test]
fn several_writers_of_nonsense_at_once_do_not_stop_the_others() {
    let mut daemon = start();
    let witness = member(&daemon, &["good", "send=1000", "gap_us=1000", "quiet=1"]);
    let apart = member(&daemon, &["apart", "send=1000", "gap_us=1000", "quiet=1"]);
    let seeds: Vec<String> = (1..=3).map(|number| (seed() ^ number << 40).to_string()).collect();
    let attacks = seeds.iter().map(|seed| attack(&daemon, "hostile/scribble.c", &[seed, "56", "good"]));
    for attack in attacks.collect::<Vec<_>>() {
        let done = attack.finish();
        assert_eq!(done.code(), Some(0), "{}{}\n{}", done.stdout, done.stderr, daemon.log());
    }
    assert!(finish(witness) > 10 && finish(apart) > 10);
    assert!(daemon.stop().0.success(), "{}", daemon.log());
}
