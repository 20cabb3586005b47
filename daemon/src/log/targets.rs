//! The ends of the log: standard error, files, the system log. Used by the log's own thread
//! only, so a write that blocks holds up nothing but other messages.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use super::format::{Format, Record};
use super::level::{Level, LogConfig, Subsystem};

/// Where the system log listens.
const SYSLOG_SOCKET: &str = "/dev/log";

/// All targets of a configuration.
pub struct Targets {
    config: LogConfig,
    format: Format,
    files: BTreeMap<PathBuf, LogFile>,
    syslog: Option<UnixDatagram>,
}

struct LogFile {
    file: Option<File>,
    /// Whether a failure has been reported since the last success.
    failing: bool,
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o640).open(path)
}

impl Targets {
    /// Opens the targets. Files that cannot be opened are left out; the messages say which.
    pub fn open(config: LogConfig) -> (Targets, Vec<String>) {
        let mut complaints = Vec::new();
        let mut files = BTreeMap::new();
        for target in config.subsystems.values().chain([&config.general]) {
            let Some(path) = target.logfile.as_ref().filter(|_| target.to_logfile) else { continue };
            if files.contains_key(path) {
                continue;
            }
            let file = open(path).map_err(|error| {
                complaints.push(format!("cannot write to log file {}: {error}; going on without it", path.display()));
            });
            files.insert(path.clone(), LogFile { failing: file.is_err(), file: file.ok() });
        }
        let format = Format::new(&config);
        (Targets { config, format, files, syslog: None }, complaints)
    }

    /// Opens the files again, for a log rotation.
    pub fn reopen(&mut self) {
        for (path, file) in &mut self.files {
            if let Ok(opened) = open(path) {
                *file = LogFile { file: Some(opened), failing: false };
            }
        }
    }

    /// Writes a message to all targets that want it.
    pub fn write(&mut self, record: &Record) {
        let target = self.config.target(record.subsystem).clone();
        let wanted = |level: Option<Level>| level.is_some_and(|level| record.level <= level);
        if wanted(target.stderr_level()) {
            // Nobody can be told about a broken standard error.
            let _ = io::stderr().write_all(self.format.for_stderr(record).as_bytes());
        }
        if wanted(target.syslog_level()) {
            self.send_to_syslog(&self.format.for_syslog(record, target.syslog_facility));
        }
        if wanted(target.file_level()) {
            if let Some(complaint) = target.logfile.and_then(|path| self.put_into_file(&path, record)) {
                self.complain(complaint, record);
            }
        }
    }

    /// Returns what to say when writing begins to fail.
    fn put_into_file(&mut self, path: &Path, record: &Record) -> Option<String> {
        let line = self.format.for_file(record);
        let file = self.files.get_mut(path)?;
        match file.file.as_mut()?.write_all(line.as_bytes()) {
            Ok(()) => {
                file.failing = false;
                None
            }
            Err(error) => {
                let first = !std::mem::replace(&mut file.failing, true);
                first.then(|| {
                    format!("writing to log file {} fails: {error}; messages are missing there", path.display())
                })
            }
        }
    }

    /// Tells the other targets about a failing file.
    fn complain(&mut self, text: String, because: &Record) {
        let record = Record { level: Level::Error, subsystem: Subsystem::Main, text, ..because.clone() };
        if self.config.general.to_stderr {
            let _ = io::stderr().write_all(self.format.for_stderr(&record).as_bytes());
        }
        if self.config.general.to_syslog {
            self.send_to_syslog(&self.format.for_syslog(&record, self.config.general.syslog_facility));
        }
    }

    /// Sends without waiting; a system log that is absent or does not keep up loses messages.
    fn send_to_syslog(&mut self, line: &str) {
        for _ in 0..2 {
            if self.syslog.is_none() {
                self.syslog = connect().ok();
            }
            let Some(socket) = &self.syslog else { return };
            match socket.send(line.as_bytes()) {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => self.syslog = None,
                _ => return,
            }
        }
    }
}

fn connect() -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.connect(SYSLOG_SOCKET)?;
    Ok(socket)
}
