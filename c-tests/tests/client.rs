//! What the client library does beyond the functions it offers: forks, cancelled threads, limits.
//! Programs of `c/client`, on our daemon.

use std::time::Duration;

use c_tests::compile::{compile, source, Against};
use c_tests::Daemon;

fn run(name: &str) -> String {
    let program = compile(&source(name), Against::Staged);
    let daemon = Daemon::start();
    let done = daemon.client(&program).timeout(Duration::from_secs(60)).run();
    done.expect_success().stdout.clone()
}

#[test]
fn parent_and_child_use_a_handle_in_turn() {
    assert_eq!(run("client/fork.c"), "in turn: 6000 messages\nwith threads: done\n");
}

#[test]
fn evs_groups_up_to_what_a_message_carries() {
    assert_eq!(run("client/evs_limits.c"), "32766 groups: done\n");
}

#[test]
fn a_handle_that_left_joins_again() {
    assert_eq!(run("client/rejoin.c"), "joined and left 5 times\n");
}

#[test]
fn cancelled_threads_leave_nothing_behind() {
    assert_eq!(run("client/cancel.c"), "nothing left behind\n");
}
