//! The command line, and what a wrong configuration is answered with.

use c_tests::{Finished, Setup};

/// Runs the daemon's test of this configuration.
fn test(text: &str, switches: &[&str]) -> Finished {
    Setup::default().config(text).prepare().program_line().args(switches).run()
}

#[test]
fn the_version_is_told_in_the_form_that_tools_read() {
    let done = Setup::default().prepare().program_line().arg("-v").run();
    assert_eq!(done.code(), Some(0));
    assert!(done.stdout.starts_with("Corosync Cluster Engine, version '3.1.7'\n"), "{}", done.stdout);
    assert!(done.stdout.contains("evensong"), "{}", done.stdout);
    assert_eq!(done.stderr, "");
}

#[test]
fn unknown_switches_end_with_status_1() {
    let done = Setup::default().prepare().program_line().arg("-X").run();
    assert_eq!((done.code(), done.stdout.as_str()), (Some(1), ""));
    assert!(done.stderr.contains("-X"), "{}", done.stderr);
}

#[test]
fn a_file_that_is_missing_is_named() {
    let daemon = Setup::default().without_config().prepare();
    let done = daemon.program_line().args(["-c", "/nowhere/evensong.conf"]).run();
    assert_eq!(done.code(), Some(8));
    assert!(done.stderr.contains("/nowhere/evensong.conf"), "{}", done.stderr);
    assert!(!daemon.run_dir().exists(), "it started in spite of that");
}

#[test]
fn a_good_file_passes() {
    let done = test(c_tests::daemon::CONFIG, &["-t"]);
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
}

#[test]
fn a_test_lists_every_problem_with_file_line_key_range_and_a_guess() {
    let text = "totem {\n  version: 2\n  tokn: 1000\n  netmtu: 5\n}\n\
                system {\n  sched_rr: perhaps\n}\n\
                logging {\n  to_syslog: maybe\n}\n\
                evensong {\n  single_node: yes\n  ipc_clients_max: 0\n  reader_timeout_ms: soon\n}\n";
    let done = test(text, &["-t"]);
    assert!(done.code().is_some_and(|code| code != 0), "{}", done.stderr);
    let expected = [
        (3, "totem.tokn", "token"),
        (4, "totem.netmtu", "576"),
        (7, "system.sched_rr", "yes"),
        (10, "logging.to_syslog", "yes"),
        (14, "evensong.ipc_clients_max", "1"),
        (15, "evensong.reader_timeout_ms", "1"),
    ];
    for (line, key, hint) in expected {
        let place = format!("evensong.conf:{line}:");
        let at = done.stderr.lines().position(|one| one.contains(&place) && one.contains(key));
        let at = at.unwrap_or_else(|| panic!("nothing about {key} in line {line}:\n{}", done.stderr));
        // A guess may stand on a line of its own.
        let said: String = done.stderr.lines().skip(at).take(2).collect();
        assert!(said.contains(hint), "{said:?} does not say {hint:?}");
    }
    // A daemon that is started with it does not run, and says the same.
    let start = test(text, &[]);
    assert!(
        start.code().is_some_and(|code| code != 0) && start.stderr.contains("evensong.conf:14:"),
        "{}",
        start.stderr
    );
}

#[test]
fn a_file_that_lists_others_is_never_run_by_one_node_alone() {
    let node =
        |id: u8| format!("  node {{\n    name: node{id}\n    nodeid: {id}\n    ring0_addr: 127.0.0.{id}\n  }}\n");
    let text = format!("totem {{\n  version: 2\n  cluster_name: two\n}}\nnodelist {{\n{}{}}}\n", node(1), node(2));
    let done = test(&text, &[]);
    assert_eq!(done.code(), Some(8), "{}{}", done.stdout, done.stderr);
    assert!(done.stderr.contains("evensong.conf:"), "{}", done.stderr);
    assert!(done.stderr.contains("refuses to start"), "{}", done.stderr);
}

#[test]
fn garbage_in_the_file_is_an_error_and_not_a_crash() {
    for text in ["", "}", "totem {", "totem {\n version: 2\n", "\u{0}\u{1}\u{2}", "a: b\n:\n: :\n{ {\n"] {
        let done = test(text, &["-t"]);
        assert!(done.code().is_some_and(|code| code != 0), "{text:?}: {}", done.stderr);
        assert!(done.stderr.contains("evensong.conf"), "{text:?}: {}", done.stderr);
    }
}
