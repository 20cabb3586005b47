//! The evensong daemon.
//!
//! `args` is the command line, `config` the file, `log` where messages go, `process` what
//! concerns the process, `ipc` the local clients, `net` the other nodes, `event_loop` drives the
//! core with all of them.

mod args;
mod config;
mod effects;
mod error;
mod event_loop;
mod ipc;
mod log;
pub mod net;
mod process;
mod start;
mod sys;

use std::io::Write;
use std::process::ExitCode;

/// The program: its exit status.
pub fn main() -> ExitCode {
    match args::parse(std::env::args_os()) {
        args::Command::Run(args) if args.test => start::test(&args),
        args::Command::Run(args) => match start::run(&args) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                tell(&format!("{error}\n"));
                ExitCode::from(error.exit_code())
            }
        },
        args::Command::Show(text) => {
            // Nothing is left to do when the reader is gone.
            let _shown = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        args::Command::Refuse(text, status) => {
            tell(&text);
            ExitCode::from(status)
        }
    }
}

/// Writes to standard error, which may be closed.
fn tell(text: &str) {
    let _told = std::io::stderr().write_all(text.as_bytes());
}
