//! The evensong daemon's program; all of it is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    evensong_daemon::main()
}
