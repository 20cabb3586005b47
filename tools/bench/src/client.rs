//! Runs one client program to its end: its lines as they come, its JSON as values.

use crate::interrupt::Interrupt;
use crate::process::Owned;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Runs it. Lines that are JSON objects are returned, all others go to `on_line` at once.
pub fn run(
    command: &mut Command,
    limit: Duration,
    interrupt: &Interrupt,
    on_line: &mut dyn FnMut(&str),
) -> Result<Vec<Value>, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut owned = Owned(child.map_err(|e| format!("{name}: {e}"))?);
    let (Some(stdout), Some(mut stderr)) = (owned.0.stdout.take(), owned.0.stderr.take()) else {
        return Err(format!("{name}: no output"));
    };
    let complaints = std::thread::spawn(move || {
        let mut text = Vec::new();
        // what could be read is enough for a message
        stderr.read_to_end(&mut text).ok();
        String::from_utf8_lossy(&text).trim().to_owned()
    });
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let deadline = Instant::now() + limit;
    let mut values = Vec::new();
    loop {
        interrupt.check()?;
        match lines.recv_timeout(Duration::from_millis(100)) {
            Ok(line) => match serde_json::from_str::<Value>(&line) {
                Ok(value) if value.is_object() => values.push(value),
                _ => on_line(&line),
            },
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {}
            Err(RecvTimeoutError::Timeout) => return Err(format!("{name} did not end within {} s", limit.as_secs())),
        }
    }
    let status = owned.0.wait().map_err(|e| format!("{name}: {e}"))?;
    let complaints = complaints.join().unwrap_or_default();
    if status.success() {
        Ok(values)
    } else {
        Err(format!("{name} failed ({status}) {complaints}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_values_are_told_apart() {
        let interrupt = Interrupt::watch().expect("signals can be watched");
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo 12 messages; echo '{\"per_second\": 4.5}'"]);
        let mut seen = Vec::new();
        let values = run(&mut shell, Duration::from_secs(10), &interrupt, &mut |line| seen.push(line.to_owned()));
        assert_eq!(values.expect("it ran")[0]["per_second"], 4.5);
        assert_eq!(seen, ["12 messages"]);
    }

    #[test]
    fn failure_and_delay_are_errors() {
        let interrupt = Interrupt::watch().expect("signals can be watched");
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo why >&2; exit 3"]);
        let error = run(&mut shell, Duration::from_secs(10), &interrupt, &mut |_| {}).expect_err("it failed");
        assert!(error.contains("why"), "{error}");
        let mut shell = Command::new("sh");
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        shell.args(["-c", "sleep 60"]);
        let error = run(&mut shell, Duration::from_millis(50), &interrupt, &mut |_| {}).expect_err("it took too long");
        assert!(error.contains("did not end"), "{error}");
    }
}
