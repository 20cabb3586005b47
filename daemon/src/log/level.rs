//! Levels, subsystems, and the settings of the log as the `logging` section gives them.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Importance of a message, most important first; the numbers are those of syslog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// The daemon cannot go on.
    Emerg = 0,
    /// Someone must act at once.
    Alert = 1,
    /// A part has failed.
    Crit = 2,
    /// Something asked for was not done.
    Error = 3,
    /// Something is likely wrong.
    Warning = 4,
    /// An event that operators follow.
    Notice = 5,
    /// What the daemon does.
    Info = 6,
    /// For finding errors.
    Debug = 7,
    /// For finding errors, every step.
    Trace = 8,
}

impl Level {
    /// The word in log lines.
    pub fn word(self) -> &'static str {
        match self {
            Level::Emerg => "emerg",
            Level::Alert => "alert",
            Level::Crit => "crit",
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Notice => "notice",
            Level::Info => "info",
            Level::Debug => "debug",
            Level::Trace => "trace",
        }
    }

    /// The level that a configuration's word names.
    pub fn from_word(word: &str) -> Option<Level> {
        Some(match word {
            "emerg" => Level::Emerg,
            "alert" => Level::Alert,
            "crit" => Level::Crit,
            "err" | "error" => Level::Error,
            "warning" => Level::Warning,
            "notice" => Level::Notice,
            "info" => Level::Info,
            "debug" => Level::Debug,
            _ => return None,
        })
    }

    /// The number that syslog takes; it knows no trace.
    pub fn syslog_code(self) -> u8 {
        (self as u8).min(Level::Debug as u8)
    }
}

/// The part of the daemon that a message comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Subsystem {
    /// Start, stop, everything without a name of its own.
    Main,
    /// The configuration.
    Config,
    /// The ring.
    Totem,
    /// Services as such.
    Serv,
    /// Local clients.
    Ipc,
    /// Closed process groups.
    Cpg,
    /// Extended virtual synchrony.
    Evs,
}

impl Subsystem {
    /// All of them, in the order of their numbers.
    pub const ALL: [Subsystem; 7] = [
        Subsystem::Main,
        Subsystem::Config,
        Subsystem::Totem,
        Subsystem::Serv,
        Subsystem::Ipc,
        Subsystem::Cpg,
        Subsystem::Evs,
    ];

    /// The name in log lines and in `logger_subsys { subsys: NAME }`.
    pub fn name(self) -> &'static str {
        match self {
            Subsystem::Main => "MAIN",
            Subsystem::Config => "CONFIG",
            Subsystem::Totem => "TOTEM",
            Subsystem::Serv => "SERV",
            Subsystem::Ipc => "IPC",
            Subsystem::Cpg => "CPG",
            Subsystem::Evs => "EVS",
        }
    }
}

/// Time at the start of a line on standard error and in files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timestamp {
    /// None.
    Off,
    /// Seconds.
    On,
    /// Milliseconds.
    #[default]
    HighResolution,
}

/// Whether messages below the priorities are logged too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Debug {
    /// No.
    #[default]
    Off,
    /// Debug messages.
    On,
    /// Debug and trace messages.
    Trace,
}

/// Facility `daemon` of the system log.
pub const FACILITY_DAEMON: u8 = 3;

/// Where messages go and from which level on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// To standard error.
    pub to_stderr: bool,
    /// To the system log.
    pub to_syslog: bool,
    /// To the file.
    pub to_logfile: bool,
    /// The file.
    pub logfile: Option<PathBuf>,
    /// Facility number in the system log.
    pub syslog_facility: u8,
    /// Least important level for the system log.
    pub syslog_priority: Level,
    /// Least important level for the file and standard error.
    pub logfile_priority: Level,
    /// Overrides both priorities.
    pub debug: Debug,
}

impl Default for Target {
    fn default() -> Target {
        Target {
            to_stderr: true,
            to_syslog: true,
            to_logfile: false,
            logfile: None,
            syslog_facility: FACILITY_DAEMON,
            syslog_priority: Level::Info,
            logfile_priority: Level::Info,
            debug: Debug::Off,
        }
    }
}

impl Target {
    fn floor(&self) -> Option<Level> {
        match self.debug {
            Debug::Off => None,
            Debug::On => Some(Level::Debug),
            Debug::Trace => Some(Level::Trace),
        }
    }

    /// Least important level that the system log gets, if it gets any.
    pub fn syslog_level(&self) -> Option<Level> {
        self.to_syslog.then(|| self.floor().unwrap_or(self.syslog_priority))
    }

    /// Least important level that standard error gets, if it gets any.
    pub fn stderr_level(&self) -> Option<Level> {
        self.to_stderr.then(|| self.floor().unwrap_or(self.logfile_priority))
    }

    /// Least important level that the file gets, if there is one.
    pub fn file_level(&self) -> Option<Level> {
        (self.to_logfile && self.logfile.is_some()).then(|| self.floor().unwrap_or(self.logfile_priority))
    }

    /// Least important level that goes anywhere.
    pub fn level(&self) -> Option<Level> {
        self.syslog_level().max(self.stderr_level()).max(self.file_level())
    }
}

/// Settings of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// Name of the program in files and the system log.
    pub ident: String,
    /// Time at the start of lines.
    pub timestamp: Timestamp,
    /// Whether file and line of the source are shown.
    pub fileline: bool,
    /// Whether the module of the source is shown (Rust has no name of the function at hand).
    pub function_name: bool,
    /// What holds for all subsystems without an entry of their own.
    pub general: Target,
    /// Subsystems with settings of their own, by name in capitals.
    pub subsystems: BTreeMap<String, Target>,
}

impl Default for LogConfig {
    fn default() -> LogConfig {
        LogConfig {
            ident: "evensongd".to_owned(),
            timestamp: Timestamp::default(),
            fileline: false,
            function_name: false,
            general: Target::default(),
            subsystems: BTreeMap::new(),
        }
    }
}

impl LogConfig {
    /// What holds for a subsystem.
    pub fn target(&self, subsystem: Subsystem) -> &Target {
        self.subsystems.get(subsystem.name()).unwrap_or(&self.general)
    }
}
