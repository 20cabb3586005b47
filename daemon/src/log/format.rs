//! How a line looks: the formats of corosync 3.1.
//!
//! - standard error: `Nov 30 23:16:12.713 notice  [MAIN  ] text`
//! - file: `Nov 30 23:16:12.713 [PID] host program notice  [MAIN  ] text`
//! - system log: `<PRI>Nov 30 23:16:12 program[PID]:   [MAIN  ] text`

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use super::level::{Level, LogConfig, Subsystem, Timestamp};
use crate::sys::clock::local_time;

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A message on its way to the targets.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its importance.
    pub level: Level,
    /// Where it comes from.
    pub subsystem: Subsystem,
    /// When it was logged.
    pub time: SystemTime,
    /// What it says.
    pub text: String,
    /// Module, file and line of the source.
    pub source: (&'static str, &'static str, u32),
}

/// The parts of a line that stay the same.
#[derive(Clone, Debug)]
pub struct Format {
    timestamp: Timestamp,
    fileline: bool,
    module: bool,
    ident: String,
    host: String,
    pid: u32,
}

impl Format {
    /// The format that `config` asks for.
    pub fn new(config: &LogConfig) -> Format {
        let host = nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned());
        Format {
            timestamp: config.timestamp,
            fileline: config.fileline,
            module: config.function_name,
            ident: config.ident.clone(),
            host: host.unwrap_or_else(|_| "localhost".to_owned()),
            pid: std::process::id(),
        }
    }

    /// A line for standard error, newline included.
    pub fn for_stderr(&self, record: &Record) -> String {
        let mut line = String::with_capacity(record.text.len() + 64);
        time(&mut line, record.time, self.timestamp);
        let _ = write!(line, "{:<7} ", record.level.word());
        self.body(&mut line, record);
        line.push('\n');
        line
    }

    /// A line for a file, newline included.
    pub fn for_file(&self, record: &Record) -> String {
        let mut line = String::with_capacity(record.text.len() + 96);
        time(&mut line, record.time, self.timestamp);
        let _ = write!(line, "[{}] {} {} {:<7} ", self.pid, self.host, self.ident, record.level.word());
        self.body(&mut line, record);
        line.push('\n');
        line
    }

    /// A datagram for the system log.
    pub fn for_syslog(&self, record: &Record, facility: u8) -> String {
        let mut line = String::with_capacity(record.text.len() + 64);
        let _ = write!(line, "<{}>", u32::from(facility) * 8 + u32::from(record.level.syslog_code()));
        time(&mut line, record.time, Timestamp::On);
        let _ = write!(line, "{}[{}]:   ", self.ident, self.pid);
        self.body(&mut line, record);
        line
    }

    fn body(&self, line: &mut String, record: &Record) {
        // Writing to a string cannot fail, here and above.
        let _ = write!(line, "[{:<6}] ", record.subsystem.name());
        let (module, file, number) = record.source;
        match (self.fileline, self.module) {
            (true, true) => write!(line, "{file}:{module}:{number} "),
            (true, false) => write!(line, "{file}:{number} "),
            (false, true) => write!(line, "{module} "),
            (false, false) => Ok(()),
        }
        .unwrap_or_default();
        // One message is one line, whatever is in it.
        line.extend(record.text.trim_end().chars().map(|c| if c.is_control() { ' ' } else { c }));
    }
}

fn time(line: &mut String, time: SystemTime, style: Timestamp) {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let local = local_time(i64::try_from(since.as_secs()).unwrap_or(0));
    let stamp = || {
        format!("{} {:02} {:02}:{:02}:{:02}", MONTHS[local.month], local.day, local.hour, local.minute, local.second)
    };
    match style {
        Timestamp::Off => {}
        Timestamp::On => line.push_str(&format!("{} ", stamp())),
        Timestamp::HighResolution => line.push_str(&format!("{}.{:03} ", stamp(), since.subsec_millis())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn record(text: &str) -> Record {
        Record {
            level: Level::Notice,
            subsystem: Subsystem::Main,
            time: UNIX_EPOCH + Duration::from_millis(1_700_000_000_042),
            text: text.to_owned(),
            source: ("evensongd::x", "src/x.rs", 7),
        }
    }

    #[test]
    fn lines_have_the_originals_shape() {
        let config = LogConfig { timestamp: Timestamp::Off, ..LogConfig::default() };
        let format = Format::new(&config);
        assert_eq!(format.for_stderr(&record("hello")), "notice  [MAIN  ] hello\n");
        let file = format.for_file(&record("hello"));
        assert!(file.starts_with(&format!("[{}] ", std::process::id())), "{file}");
        assert!(file.ends_with(" evensongd notice  [MAIN  ] hello\n"), "{file}");
        let syslog = format.for_syslog(&record("hello"), 3);
        assert!(syslog.starts_with("<29>Nov 1"), "{syslog}");
        assert!(syslog.ends_with(&format!("evensongd[{}]:   [MAIN  ] hello", std::process::id())), "{syslog}");
    }

    #[test]
    fn time_source_and_control_characters() {
        let config = LogConfig { fileline: true, function_name: true, ..LogConfig::default() };
        let line = Format::new(&config).for_stderr(&record("a\nb\u{1b}[1m\n"));
        assert!(line.contains(".042 notice "), "{line}");
        assert!(line.ends_with("[MAIN  ] src/x.rs:evensongd::x:7 a b [1m\n"), "{line}");
    }
}
