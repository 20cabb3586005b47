//! The command line: the switches of corosync 3.1, and a strict variant of the test.
//!
//! Like the original: a wrong switch ends with status 1, `-v` prints and ends whatever else is
//! given, a repeated switch counts once (the last `-c` wins). Unlike it: operands that are no
//! switch are refused instead of passed over, and `--help` is not an error.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::Parser;

use crate::error::exit;

/// Version of the original whose behaviour, files and frames this build follows. Tools read
/// it from the first line of `-v`.
pub const FOLLOWS: &str = "3.1.7";

/// Switches as given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Parser)]
#[command(
    name = "evensongd",
    about = "The evensong daemon: group communication for clusters, a replacement for corosync",
    disable_version_flag = true,
    args_override_self = true,
    after_help = "Without a configuration file a single node runs on built-in defaults. See evensongd(8)."
)]
pub struct Args {
    /// Stay in the foreground
    #[arg(short = 'f', long = "foreground")]
    pub foreground: bool,
    /// Configuration file
    #[arg(short = 'c', long = "config", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Test the configuration, list every problem, and exit
    #[arg(short = 't', long = "test")]
    pub test: bool,
    /// With -t: warnings too make the test fail
    #[arg(long = "strict", requires = "test")]
    pub strict: bool,
    /// Show the version and exit
    #[arg(short = 'v', long = "version")]
    pub version: bool,
}

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Run the daemon, or test its configuration.
    Run(Args),
    /// Print a text on standard output and end with success.
    Show(String),
    /// Print a text on standard error and end with this status.
    Refuse(String, u8),
}

/// Reads a command line, program name first.
pub fn parse<I>(line: I) -> Command
where
    I: IntoIterator,
    I::Item: Into<OsString> + Clone,
{
    match Args::try_parse_from(line) {
        Ok(args) if args.version => Command::Show(version_text()),
        Ok(args) => Command::Run(args),
        Err(error) if error.kind() == ErrorKind::DisplayHelp => Command::Show(error.to_string()),
        Err(error) => Command::Refuse(error.to_string(), exit::USAGE),
    }
}

/// What `-v` prints. The first line has the form that tools look for (a version after the word
/// `version`); the second says what really runs.
pub fn version_text() -> String {
    format!(
        "Corosync Cluster Engine, version '{FOLLOWS}'\n\
         Provided by evensong {}, which follows the version above\n",
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &[&str]) -> Command {
        parse([&["evensongd"], line].concat())
    }

    #[test]
    fn switches_as_the_original_takes_them() {
        let Command::Run(got) = args(&["-f", "-ft", "-c", "a", "-cb"]) else { panic!("must run") };
        assert!(got.foreground && got.test && !got.strict);
        assert_eq!(got.config, Some(PathBuf::from("b")), "the last one wins");
        assert_eq!(args(&[]), Command::Run(Args::default()));
    }

    #[test]
    fn unknown_switches_and_operands_are_refused_with_status_1() {
        for line in [&["-X"][..], &["--nonsense"], &["operand"], &["-c"], &["--strict"]] {
            let Command::Refuse(text, 1) = args(line) else { panic!("{line:?} must be refused") };
            assert!(text.contains("error:"), "{text}");
        }
    }

    #[test]
    fn version_and_help_go_to_standard_output() {
        let Command::Show(text) = args(&["-f", "-v"]) else { panic!("must show") };
        assert!(text.starts_with("Corosync Cluster Engine, version '3.1.7'\n"));
        assert!(text.contains("evensong 0."));
        let Command::Show(text) = args(&["--help"]) else { panic!("must show") };
        assert!(text.contains("-c") && text.contains("FILE"));
    }
}
