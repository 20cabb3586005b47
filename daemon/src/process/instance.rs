//! One instance per run directory: the directory, the lock, the pid file.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use evensong_core::ipc::{DEFAULT_RUN_DIR, RUN_DIR_ENV};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::error::Error;

const PID_FILE: &str = "evensongd.pid";

/// The run directory of this instance: `EVENSONG_RUN_DIR`, or the usual one.
pub fn run_dir() -> PathBuf {
    let named = std::env::var_os(RUN_DIR_ENV).filter(|name| !name.is_empty());
    let dir = named.map_or_else(|| PathBuf::from(DEFAULT_RUN_DIR), PathBuf::from);
    // The daemon changes its working directory later.
    std::path::absolute(&dir).unwrap_or(dir)
}

/// The claim on a run directory. The lock is on an open file, so it survives a fork and ends
/// with the process however that ends.
#[derive(Debug)]
pub struct Instance {
    file: Flock<File>,
    path: PathBuf,
}

impl Instance {
    /// Makes the directory if it is missing and claims it.
    pub fn claim(dir: &Path) -> Result<Instance, Error> {
        let unfit = |reason: String| Error::Directory { path: dir.to_owned(), reason };
        match DirBuilder::new().recursive(true).mode(0o755).create(dir) {
            Err(error) => return Err(unfit(format!("cannot be made: {error}"))),
            Ok(()) => trusted(dir).map_err(unfit)?,
        }
        let path = dir.join(PID_FILE);
        let lock = |source| Error::Lock { path: path.clone(), source };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o644).custom_flags(libc::O_NOFOLLOW);
        let file = options.open(&path).map_err(lock)?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(file) => Ok(Instance { file, path }),
            Err((mut file, Errno::EWOULDBLOCK)) => {
                let mut text = String::new();
                // Without a number the message still says which file is held.
                let _read = file.read_to_string(&mut text);
                Err(Error::AlreadyRunning { pid: text.trim().parse().ok(), path })
            }
            Err((_, errno)) => Err(lock(errno.into())),
        }
    }

    /// Writes this process's id into the file.
    pub fn write_pid(&mut self) -> Result<(), Error> {
        let mut write = || {
            self.file.set_len(0)?;
            self.file.seek(SeekFrom::Start(0))?;
            writeln!(self.file, "{}", std::process::id())
        };
        write().map_err(|source| Error::Lock { path: self.path.clone(), source })
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Emptied, not removed: a start that has just opened the file would lock one that
        // nobody else can find, and two daemons would run.
        let _emptied = self.file.set_len(0);
    }
}

/// Whoever can write into the directory can take the daemon's place.
fn trusted(dir: &Path) -> Result<(), String> {
    let data = std::fs::metadata(dir).map_err(|error| match error.kind() {
        ErrorKind::NotFound => "vanished".to_owned(),
        _ => error.to_string(),
    })?;
    let me = nix::unistd::geteuid().as_raw();
    if !data.is_dir() {
        return Err("is not a directory".to_owned());
    }
    if data.uid() != me && data.uid() != 0 {
        return Err(format!("belongs to user {}, who could replace the socket in it", data.uid()));
    }
    if data.mode() & 0o002 != 0 && data.mode() & 0o1000 == 0 {
        return Err("can be written by everybody: take that right away (chmod o-w)".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_second_claim_names_the_first() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let place = dir.path().join("deep/run");
        let mut first = Instance::claim(&place).expect("nobody else is there");
        first.write_pid().expect("it can be written");
        let Err(Error::AlreadyRunning { pid, .. }) = Instance::claim(&place) else { panic!("must be refused") };
        assert_eq!(pid, Some(std::process::id() as i32));
        drop(first);
        Instance::claim(&place).expect("free again");
    }

    #[test]
    fn a_directory_for_everybody_is_refused() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o777)).expect("it is ours");
        let error = Instance::claim(dir.path()).expect_err("must be refused").to_string();
        assert!(error.contains("chmod o-w"), "{error}");
    }

    #[test]
    fn a_file_in_the_way_is_named() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let place = dir.path().join("file");
        std::fs::write(&place, "x").expect("it can be written");
        let error = Instance::claim(&place).expect_err("must be refused").to_string();
        assert!(error.contains("file"), "{error}");
    }
}
