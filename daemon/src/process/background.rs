//! Going into the background, so that whoever started the daemon learns how it went: the
//! first process ends with success only when clients can connect.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

use nix::sys::wait::{waitpid, WaitStatus};
use nix::unistd::{dup2, pipe, setsid, Pid};

use crate::error::{exit, Error};
use crate::sys::fork::fork;

/// The daemon's end of the way to the process that started it.
#[derive(Debug)]
pub struct Background {
    starter: File,
}

/// Forks. Returns in the new process; the old one waits for its word and ends.
pub fn into_background() -> Result<Background, Error> {
    let (read, write) = pipe().map_err(|errno| Error::Fork(errno.into()))?;
    match fork().map_err(Error::Fork)? {
        Some(child) => {
            drop(write);
            let status = wait(File::from(read), Pid::from_raw(child));
            std::process::exit(i32::from(status));
        }
        None => {
            drop(read);
            setsid().map_err(|errno| Error::Detach(errno.into()))?;
            Ok(Background { starter: File::from(write) })
        }
    }
}

/// The exit status of the first process.
fn wait(mut word: File, child: Pid) -> u8 {
    let mut byte = [0];
    if word.read_exact(&mut byte).is_ok() {
        return byte[0];
    }
    match waitpid(child, None) {
        Ok(WaitStatus::Exited(_, status)) => u8::try_from(status).unwrap_or(exit::FATAL).max(1),
        _ => exit::FATAL,
    }
}

impl Background {
    /// Lets the starting process end with success, and gives the standard streams away.
    /// Until here errors can be read where the daemon was started.
    pub fn ready(mut self, work_dir: &Path) -> Result<(), Error> {
        detach(work_dir).map_err(Error::Detach)?;
        // Whoever started the daemon may be gone already.
        let _told = self.starter.write_all(&[0]);
        Ok(())
    }
}

fn detach(work_dir: &Path) -> io::Result<()> {
    // Core files are written to the working directory; none must keep a file system busy.
    if std::env::set_current_dir(work_dir).is_err() {
        std::env::set_current_dir("/")?;
    }
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    for stream in [libc::STDIN_FILENO, libc::STDOUT_FILENO, libc::STDERR_FILENO] {
        dup2(null.as_raw_fd(), stream)?;
    }
    Ok(())
}
