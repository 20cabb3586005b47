//! What a daemon costs while nothing happens: time to start, wake-ups, memory before and after work.
//!
//! Each side is measured with daemons of its own, one side after the other.

use crate::plan::{Extent, Goal, Section};
use crate::process::{self, Owned};
use crate::report::{Report, Row};
use crate::session::Session;
use crate::side::{Daemon, Side};
use nix::time::{clock_gettime, ClockId};
use std::io::{BufRead, BufReader};
use std::process::{ChildStdout, Stdio};
use std::time::Duration;

/// Clients that sit in poll() while wake-ups are counted.
const IDLE_CLIENTS: usize = 10;
/// After so many messages memory must not have grown.
const MANY_MESSAGES: f64 = 10e6;

/// A client that has joined, or is about to.
struct Idle {
    process: Owned,
    lines: BufReader<ChildStdout>,
}

/// One side's figures.
#[derive(Default)]
struct Figures {
    start_ms: Vec<f64>,
    wakeups: f64,
    rss_start: f64,
    rss_first: f64,
    rss_after: f64,
    messages: f64,
}

/// About how long `measure` takes.
pub fn seconds(extent: Extent, sides: usize) -> f64 {
    sides as f64 * (extent.runs as f64 * 0.3 + if extent.quick { 5.0 } else { 25.0 })
}

/// Measures both sides and adds the rows.
pub fn measure(session: &mut Session, extent: Extent, report: &mut Report) -> Result<(), String> {
    session.screen.line(&format!("\n{}", Section::Resources.title()));
    let ours = one_side(session, &session.ours, extent)?;
    let theirs = match &session.original {
        Some(side) => Some(one_side(session, side, extent)?),
        None => None,
    };
    for row in rows(&ours, theirs.as_ref()) {
        session.screen.line(&format!("         {}", crate::table::summary(&row)));
        report.rows.push(row);
    }
    for (name, figures) in [("evensong", Some(&ours)), ("corosync", theirs.as_ref())] {
        if let Some(figures) = figures {
            report
                .notes
                .push(format!("memory of {name} was read after {:.1} million messages", figures.messages / 1e6));
        }
    }
    session.screen.advance(seconds(extent, 1 + usize::from(theirs.is_some())));
    Ok(())
}

fn rows(ours: &Figures, theirs: Option<&Figures>) -> Vec<Row> {
    type Read = fn(&Figures) -> Vec<f64>;
    let table: [(&str, &str, Read, Goal); 5] = [
        ("exec to first cpg_join", "ms", |f| f.start_ms.clone(), Goal::ValueAtMost(30.0)),
        ("wake-ups with 10 idle clients", "/s", |f| vec![f.wakeups], Goal::ValueAtMost(5.0)),
        ("RSS at start", "KiB", |f| vec![f.rss_start], Goal::RatioAtMost { must: 0.7, aim: 0.5 }),
        ("RSS after many messages", "KiB", |f| vec![f.rss_after], Goal::None),
        ("RSS after many / after few", "", |f| vec![f.rss_after / f.rss_first.max(1.0)], Goal::ValueAtMost(1.05)),
    ];
    table
        .into_iter()
        .map(|(name, unit, read, goal)| {
            let mut row = Row::new(Section::Resources.key(), name, unit, "corosync");
            read(ours).into_iter().for_each(|value| row.ours.push(value));
            theirs.map(read).into_iter().flatten().for_each(|value| row.reference.push(value));
            row.judge(goal);
            row
        })
        .collect()
}

fn one_side(session: &Session, side: &Side, extent: Extent) -> Result<Figures, String> {
    let mut figures = Figures::default();
    let mut daemon = None;
    for run in 1..=extent.runs {
        session.screen.now(&format!("{} start {run} of {}", side.name, extent.runs));
        session.interrupt.check()?;
        // the one before must have ended: the original cannot run twice
        drop(daemon.take());
        let (started, ms) = timed_start(session, side)?;
        figures.start_ms.push(ms);
        daemon = Some(started);
    }
    let daemon = daemon.ok_or("no run")?;
    let pid = daemon.process.pid();
    let gone = || format!("{}: the daemon has ended{}", side.name, side.log_tail());
    pause(session, 0.5)?;
    figures.rss_start = process::resident_kib(pid).ok_or_else(gone)?;

    session.screen.now(&format!("{} idle with {IDLE_CLIENTS} clients", side.name));
    let mut clients = Vec::new();
    for _ in 0..IDLE_CLIENTS {
        let mut client = idle(session, side, false)?;
        joined(&mut client)?;
        clients.push(client);
    }
    pause(session, 1.0)?;
    let window = if extent.quick { 2.0 } else { 5.0 };
    let before = process::sleeps(pid).ok_or_else(gone)?;
    pause(session, window)?;
    figures.wakeups = (process::sleeps(pid).ok_or_else(gone)? - before) / window;
    drop(clients);

    let call = if extent.quick { 1.0 } else { 3.0 };
    let enough = if extent.quick { 1.0 } else { MANY_MESSAGES };
    let arguments = ["-t", &call.to_string(), "-s", "64", "-j"].map(str::to_owned);
    for round in 0..20 {
        session.screen.now(&format!("{} memory after {:.1} million messages", side.name, figures.messages / 1e6));
        let value = session.call(side, "cpgbench", &arguments, call)?;
        figures.messages += value["delivered"].as_f64().unwrap_or(0.0);
        pause(session, 0.2)?;
        figures.rss_after = process::resident_kib(pid).ok_or_else(gone)?;
        if round == 0 {
            figures.rss_first = figures.rss_after;
        } else if figures.messages >= enough {
            break;
        }
    }
    Ok(figures)
}

/// Starts a daemon under the eyes of a client that already waits for it: milliseconds from exec to joined.
fn timed_start(session: &Session, side: &Side) -> Result<(Daemon, f64), String> {
    let mut client = idle(session, side, true)?;
    let before = clock_gettime(ClockId::CLOCK_MONOTONIC).map_err(|e| e.to_string())?;
    let daemon = side.spawn()?;
    let joined = joined(&mut client).map_err(|error| format!("{error}{}", side.log_tail()))?;
    client.process.0.wait().map_err(|e| e.to_string())?;
    Ok((daemon, (joined - Duration::from(before).as_secs_f64()) * 1000.0))
}

/// A client that has said it is ready to try.
fn idle(session: &Session, side: &Side, leaves: bool) -> Result<Idle, String> {
    let mut command = side.client(&session.program("cpgidle"));
    if leaves {
        command.arg("-w");
    }
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut process = Owned(child.map_err(|e| format!("cpgidle: {e}"))?);
    let stdout = process.0.stdout.take().ok_or("cpgidle: no output")?;
    let mut client = Idle { process, lines: BufReader::new(stdout) };
    match next_line(&mut client)?.as_str() {
        "ready" => Ok(client),
        other => Err(format!("cpgidle said {other:?}")),
    }
}

/// Waits until the client has joined; when that was, in seconds of the monotonic clock.
fn joined(client: &mut Idle) -> Result<f64, String> {
    let line = next_line(client)?;
    let time = line.strip_prefix("joined ").and_then(|time| time.parse().ok());
    time.ok_or_else(|| "cpgidle could not join within ten seconds".to_owned())
}

fn next_line(client: &mut Idle) -> Result<String, String> {
    let mut line = String::new();
    client.lines.read_line(&mut line).map_err(|e| format!("cpgidle: {e}"))?;
    Ok(line.trim_end().to_owned())
}

/// Waits in small steps, so that an interruption is heard.
fn pause(session: &Session, seconds: f64) -> Result<(), String> {
    let end = std::time::Instant::now() + Duration::from_secs_f64(seconds);
    while std::time::Instant::now() < end {
        session.interrupt.check()?;
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
