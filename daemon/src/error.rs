//! What keeps the daemon from starting, as an operator reads it, with the exit status that the
//! original gives for the same trouble.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::config::Problem;

/// Exit statuses. They are the original's numbers, for scripts that look at them.
pub mod exit {
    /// Wrong use of the command line.
    pub const USAGE: u8 = 1;
    /// Could not go into the background.
    pub const FORK: u8 = 4;
    /// The `logging` section is wrong.
    pub const LOG_CONFIG: u8 = 7;
    /// The configuration is wrong or cannot be read.
    pub const CONFIG: u8 = 8;
    /// Anything that has no number of its own.
    pub const FATAL: u8 = 15;
    /// A directory that is needed is missing or unfit.
    pub const DIRECTORY: u8 = 16;
    /// The lock on the pid file failed for another reason than a second instance.
    pub const LOCK: u8 = 17;
    /// Another instance runs.
    pub const ALREADY_RUNNING: u8 = 18;
    /// Standard streams could not be closed.
    pub const DETACH: u8 = 19;
}

/// Why the daemon does not start or does not go on.
#[derive(Debug)]
pub enum Error {
    /// The configuration has errors; all of them are listed.
    Config(Vec<Problem>),
    /// A directory cannot be made or must not be trusted.
    Directory {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// An instance with the same run directory is alive.
    AlreadyRunning {
        /// Its process id, when the pid file says.
        pid: Option<i32>,
        /// Its pid file.
        path: PathBuf,
    },
    /// The pid file cannot be opened, locked or written.
    Lock {
        /// The pid file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Going into the background failed.
    Fork(io::Error),
    /// Closing the standard streams failed.
    Detach(io::Error),
    /// Something else that the system refused.
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// The exit status of a daemon that ends because of this.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Config(problems) if !problems.is_empty() && problems.iter().all(Problem::is_about_logging) => {
                exit::LOG_CONFIG
            }
            Error::Config(_) => exit::CONFIG,
            Error::Directory { .. } => exit::DIRECTORY,
            Error::AlreadyRunning { .. } => exit::ALREADY_RUNNING,
            Error::Lock { .. } => exit::LOCK,
            Error::Fork(_) => exit::FORK,
            Error::Detach(_) => exit::DETACH,
            Error::System { .. } => exit::FATAL,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Config(problems) => {
                for (at, problem) in problems.iter().enumerate() {
                    if at > 0 {
                        writeln!(f)?;
                    }
                    write!(f, "{problem}")?;
                }
                Ok(())
            }
            Error::Directory { path, reason } => write!(f, "directory {}: {reason}", path.display()),
            Error::AlreadyRunning { pid: Some(pid), path } => {
                write!(f, "another instance is already running: process {pid} holds {}", path.display())
            }
            Error::AlreadyRunning { pid: None, path } => {
                write!(f, "another instance is already running: it holds {}", path.display())
            }
            Error::Lock { path, source } => write!(f, "cannot lock {}: {source}", path.display()),
            Error::Fork(source) => write!(f, "cannot go into the background: {source}"),
            Error::Detach(source) => write!(f, "cannot detach from the terminal: {source}"),
            Error::System { what, source } => write!(f, "cannot {what}: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Lock { source, .. } | Error::System { source, .. } => Some(source),
            Error::Fork(source) | Error::Detach(source) => Some(source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_the_originals() {
        assert_eq!(Error::AlreadyRunning { pid: Some(7), path: "/x".into() }.exit_code(), 18);
        assert_eq!(Error::Config(Vec::new()).exit_code(), 8);
        let text = Error::AlreadyRunning { pid: Some(7), path: "/x".into() }.to_string();
        assert_eq!(text, "another instance is already running: process 7 holds /x");
    }
}
