//! The daemon's log: levels, subsystems, targets as corosync's `logging` section sets them.
//!
//! Whoever logs only puts a record into a bounded queue; a thread of the log's own writes.
//! When the queue is full the record is dropped and counted, and the count is logged as soon
//! as there is room: the protocol never waits for a disk, a terminal or the system log.
//! Before [`init`] and after the [`Logger`] is gone, messages go straight to standard error.
//!
//! Use the macros: `log::notice!(Subsystem::Main, "ring {id} formed")`. Their arguments are
//! not evaluated when nothing would be written.

mod format;
mod level;
mod targets;

use std::io::Write;
use std::sync::atomic::{AtomicU64, AtomicU8, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use format::{Format, Record};
pub use level::{Debug, Level, LogConfig, Subsystem, Target, Timestamp};
use targets::Targets;

use crate::error::Error;

/// Records that wait for the log's thread at most.
const QUEUE_MAX: usize = 4096;
/// Longest text of a message in bytes; longer ones are cut, visibly.
const TEXT_MAX: usize = 4096;
/// Longest wait for the log's thread when the daemon ends.
const FLUSH_MAX: Duration = Duration::from_secs(2);

/// Least important level that is written, per subsystem, plus one; 0 means none.
static LEVELS: [AtomicU8; Subsystem::ALL.len()] =
    [const { AtomicU8::new(Level::Info as u8 + 1) }; Subsystem::ALL.len()];
static QUEUE: OnceLock<Queue> = OnceLock::new();

enum Message {
    Record(Record),
    Reopen,
    /// Answer when everything before is written.
    Flush(SyncSender<()>),
    Stop,
}

/// The way to the log's thread.
#[derive(Clone)]
struct Queue {
    sender: SyncSender<Message>,
    dropped: Arc<AtomicU64>,
}

impl Queue {
    /// Puts a record in, or counts it as dropped. `false` when the thread is gone.
    fn put(&self, record: Record) -> bool {
        match self.sender.try_send(Message::Record(record)) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                self.dropped.fetch_add(1, Ordering::Relaxed);
                true
            }
            Err(TrySendError::Disconnected(_)) => false,
        }
    }

    /// Puts a message in, waiting for room until `deadline`.
    fn put_by(&self, mut message: Message, deadline: Instant) -> bool {
        loop {
            match self.sender.try_send(message) {
                Ok(()) => return true,
                Err(TrySendError::Full(back)) if Instant::now() < deadline => message = back,
                Err(_) => return false,
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn flush(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let (sender, receiver) = mpsc::sync_channel(1);
        self.put_by(Message::Flush(sender), deadline)
            && receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok()
    }
}

/// Keeps the log's thread; when dropped, what is queued is written (for a bounded time).
pub struct Logger {
    queue: Queue,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Logger {
    fn drop(&mut self) {
        // A target that hangs must not keep the daemon from ending: only a thread that has
        // answered is waited for.
        if self.queue.flush(FLUSH_MAX) && self.queue.put_by(Message::Stop, Instant::now() + FLUSH_MAX) {
            if let Some(thread) = self.thread.take() {
                // A panic there has been reported by the panic hook.
                let _ = thread.join();
            }
        }
    }
}

/// Starts the log. To be called once, before other threads and before real-time scheduling
/// (the log's thread keeps the ordinary class). Targets that cannot be opened are left out,
/// with a message to the others.
pub fn init(config: &LogConfig) -> Result<Logger, Error> {
    let logger = start(config)?;
    for subsystem in Subsystem::ALL {
        let level = config.target(subsystem).level().map_or(0, |level| level as u8 + 1);
        LEVELS[subsystem as usize].store(level, Ordering::Relaxed);
    }
    if QUEUE.set(logger.queue.clone()).is_err() {
        return Err(Error::System {
            what: "start the log a second time",
            source: std::io::ErrorKind::AlreadyExists.into(),
        });
    }
    Ok(logger)
}

fn start(config: &LogConfig) -> Result<Logger, Error> {
    let (targets, complaints) = Targets::open(config.clone());
    let (sender, receiver) = mpsc::sync_channel(QUEUE_MAX);
    let queue = Queue { sender, dropped: Arc::new(AtomicU64::new(0)) };
    let dropped = queue.dropped.clone();
    let thread = std::thread::Builder::new()
        .name("log".to_owned())
        .spawn(move || write_all(targets, &receiver, &dropped))
        .map_err(|source| Error::System { what: "start the log's thread", source })?;
    for complaint in complaints {
        queue.put(record(Level::Error, Subsystem::Main, complaint, (module_path!(), file!(), line!())));
    }
    Ok(Logger { queue, thread: Some(thread) })
}

/// The log's thread.
fn write_all(mut targets: Targets, receiver: &Receiver<Message>, dropped: &AtomicU64) {
    while let Ok(message) = receiver.recv() {
        match message {
            Message::Record(record) => targets.write(&record),
            Message::Reopen => targets.reopen(),
            Message::Flush(answer) => {
                // Whoever asked may have stopped waiting.
                let _ = answer.send(());
            }
            Message::Stop => return,
        }
        let lost = dropped.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let text = format!("{lost} log messages were lost, the log's targets do not keep up");
            targets.write(&record(Level::Warning, Subsystem::Main, text, (module_path!(), file!(), line!())));
        }
    }
}

fn record(level: Level, subsystem: Subsystem, mut text: String, source: (&'static str, &'static str, u32)) -> Record {
    if text.len() > TEXT_MAX {
        let mut end = TEXT_MAX;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str(" [cut]");
    }
    Record { level, subsystem, time: SystemTime::now(), text, source }
}

/// Whether a message of this level and subsystem would be written.
pub fn enabled(level: Level, subsystem: Subsystem) -> bool {
    (level as u8) < LEVELS[subsystem as usize].load(Ordering::Relaxed)
}

/// Logs a message; never blocks. The macros add module, file and line.
pub fn log(level: Level, subsystem: Subsystem, text: impl Into<String>) {
    log_from(level, subsystem, text.into(), ("", "", 0));
}

/// Logs a message that comes from a place in the source.
pub fn log_from(level: Level, subsystem: Subsystem, text: String, source: (&'static str, &'static str, u32)) {
    if !enabled(level, subsystem) {
        return;
    }
    let record = record(level, subsystem, text, source);
    match QUEUE.get() {
        Some(queue) if queue.put(record.clone()) => {}
        _ => {
            let line = Format::new(&LogConfig::default()).for_stderr(&record);
            // Nobody can be told about a broken standard error.
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }
}

/// Has the log's files opened again.
pub fn reopen() {
    if let Some(queue) = QUEUE.get() {
        // When the queue is full, the next rotation asks again.
        let _ = queue.sender.try_send(Message::Reopen);
    }
}

/// Waits until everything logged so far is written, or `patience` is over.
pub fn flush(patience: Duration) -> bool {
    QUEUE.get().is_none_or(|queue| queue.flush(patience))
}

/// Logs panics, waits for the log to be written, and aborts: a daemon whose state is unknown
/// must not go on.
pub fn abort_on_panic() {
    std::panic::set_hook(Box::new(|panic| {
        log_from(Level::Emerg, Subsystem::Main, panic.to_string(), (module_path!(), file!(), line!()));
        if std::thread::current().name() != Some("log") {
            flush(FLUSH_MAX);
        }
        std::process::abort();
    }));
}

/// Logs at a level: `log::at!(Level::Info, Subsystem::Main, "text {}", value)`.
macro_rules! at {
    ($level:expr, $subsystem:expr, $($text:tt)+) => {
        if $crate::log::enabled($level, $subsystem) {
            $crate::log::log_from($level, $subsystem, format!($($text)+), (module_path!(), file!(), line!()));
        }
    };
}
/// Logs an error.
macro_rules! error {
    ($subsystem:expr, $($text:tt)+) => { $crate::log::at!($crate::log::Level::Error, $subsystem, $($text)+) };
}
/// Logs a warning.
macro_rules! warning {
    ($subsystem:expr, $($text:tt)+) => { $crate::log::at!($crate::log::Level::Warning, $subsystem, $($text)+) };
}
/// Logs an event that operators follow.
macro_rules! notice {
    ($subsystem:expr, $($text:tt)+) => { $crate::log::at!($crate::log::Level::Notice, $subsystem, $($text)+) };
}
/// Logs what the daemon does.
macro_rules! info {
    ($subsystem:expr, $($text:tt)+) => { $crate::log::at!($crate::log::Level::Info, $subsystem, $($text)+) };
}
#[allow(unused_imports)]
pub(crate) use {at, error, info, notice, warning};

#[cfg(test)]
mod tests;
