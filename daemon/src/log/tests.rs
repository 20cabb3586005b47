//! Lines as they come out: what priority lets through, where, and when.

use super::*;

fn quiet(path: &std::path::Path) -> LogConfig {
    let general = Target {
        to_stderr: false,
        to_syslog: false,
        to_logfile: true,
        logfile: Some(path.to_owned()),
        ..Target::default()
    };
    LogConfig { timestamp: Timestamp::Off, general, ..LogConfig::default() }
}

fn put(logger: &Logger, level: Level, text: &str) {
    logger.queue.put(record(level, Subsystem::Cpg, text.to_owned(), ("m", "f", 1)));
}

#[test]
fn file_gets_what_its_priority_lets_through_and_all_of_it_before_the_end() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("log");
    let logger = start(&quiet(&path)).expect("starts");
    for n in 0..1000 {
        put(&logger, Level::Info, &format!("line {n}"));
    }
    put(&logger, Level::Debug, "not this one");
    drop(logger);
    let text = std::fs::read_to_string(&path).expect("file is there");
    assert_eq!(text.lines().count(), 1000);
    assert!(text.lines().last().expect("lines").ends_with("evensongd info    [CPG   ] line 999"));
}

#[test]
fn debug_of_a_subsystem_overrides_its_priority() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("log");
    let mut config = quiet(&path);
    config.subsystems.insert("CPG".to_owned(), Target { debug: Debug::On, ..config.general.clone() });
    assert_eq!(config.target(Subsystem::Cpg).level(), Some(Level::Debug));
    assert_eq!(config.target(Subsystem::Evs).level(), Some(Level::Info));
    let logger = start(&config).expect("starts");
    put(&logger, Level::Debug, "seen");
    put(&logger, Level::Trace, "unseen");
    drop(logger);
    let text = std::fs::read_to_string(&path).expect("file is there");
    assert!(text.contains("seen") && !text.contains("unseen"));
}

#[test]
fn a_file_that_cannot_be_opened_does_not_stop_the_log() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let good = dir.path().join("good");
    let mut config = quiet(&dir.path().join("no/such/dir/log"));
    config.subsystems.insert("MAIN".to_owned(), Target { logfile: Some(good.clone()), ..config.general.clone() });
    drop(start(&config).expect("starts"));
    let text = std::fs::read_to_string(&good).expect("file is there");
    assert!(text.contains("cannot write to log file") && text.contains("no/such/dir"), "{text}");
}

#[test]
fn rotation_reopens_the_file() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("log");
    let logger = start(&quiet(&path)).expect("starts");
    put(&logger, Level::Info, "before");
    assert!(logger.queue.flush(Duration::from_secs(5)));
    std::fs::rename(&path, dir.path().join("log.1")).expect("renames");
    assert!(logger.queue.put_by(Message::Reopen, Instant::now() + Duration::from_secs(5)));
    put(&logger, Level::Info, "after");
    drop(logger);
    assert!(std::fs::read_to_string(&path).expect("new file").contains("after"));
    assert!(std::fs::read_to_string(dir.path().join("log.1")).expect("old file").contains("before"));
}

#[test]
fn a_target_that_hangs_costs_messages_but_no_time() {
    // A FIFO that nobody reads: the log's thread blocks in its first writes.
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("fifo");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("makes a FIFO");
    let reader = std::fs::OpenOptions::new().read(true).write(true).open(&path).expect("opens");
    let logger = start(&quiet(&path)).expect("starts");
    let begin = Instant::now();
    let long = "x".repeat(1000);
    for _ in 0..QUEUE_MAX + 1000 {
        put(&logger, Level::Info, &long);
    }
    assert!(begin.elapsed() < Duration::from_secs(1), "logging took {:?}", begin.elapsed());
    assert!(logger.queue.dropped.load(Ordering::Relaxed) > 0);
    let begin = Instant::now();
    drop(logger);
    assert!(begin.elapsed() < FLUSH_MAX * 2, "the end waits for a bounded time");
    drop(reader);
}

#[test]
fn long_messages_are_cut_at_a_character() {
    let record = record(Level::Info, Subsystem::Main, "ä".repeat(TEXT_MAX), ("", "", 0));
    assert!(record.text.len() <= TEXT_MAX + 6 && record.text.ends_with(" [cut]"));
}

#[test]
fn before_the_start_info_is_on_and_debug_off() {
    assert!(enabled(Level::Info, Subsystem::Main));
    assert!(!enabled(Level::Debug, Subsystem::Main));
    at!(Level::Debug, Subsystem::Main, "not evaluated: {}", never());
}

fn never() -> u32 {
    panic!("arguments of what is not written must not be evaluated")
}
