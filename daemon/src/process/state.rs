//! What must survive a restart: the number of the last ring, so that no ring id comes twice.
//!
//! The file has the original's name and format (`ringid_NODE`, eight bytes in the machine's
//! order), so a node keeps its number when it changes from one to the other. A file that is
//! missing, short or unreadable counts as no number, with a message: it never stops a start.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use evensong_core::ids::NodeId;

use crate::log::{self, Subsystem};

/// Most of a number that is believed: beyond it, numbers would come to their end.
const BELIEVED: u64 = u64::MAX >> 8;

/// The file with the number.
#[derive(Clone, Debug)]
pub struct RingState {
    dir: PathBuf,
    path: PathBuf,
    /// A ring with others must not lose the number to a power failure; one alone may.
    durable: bool,
}

impl RingState {
    /// The file of a node in `dir`.
    pub fn new(dir: &Path, node: NodeId, alone: bool) -> RingState {
        RingState { dir: dir.to_owned(), path: dir.join(format!("ringid_{}", node.0)), durable: !alone }
    }

    /// The number stored last, 0 when there is none.
    pub fn load(&self) -> u64 {
        let bytes = match std::fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return 0,
            Err(error) => {
                log::warning!(
                    Subsystem::Totem,
                    "Cannot read {}: {error}; ring numbers start anew",
                    self.path.display()
                );
                return 0;
            }
        };
        match <[u8; 8]>::try_from(bytes.as_slice()).map(u64::from_ne_bytes) {
            Ok(seq) if seq <= BELIEVED => seq,
            _ => {
                let text = "does not hold the number of a ring; ring numbers start anew";
                log::warning!(Subsystem::Totem, "{} {text}", self.path.display());
                0
            }
        }
    }

    /// Stores a number; a failure is a message, and the ring goes on.
    pub fn store(&self, seq: u64) {
        if let Err(error) = self.write(seq) {
            log::error!(
                Subsystem::Totem,
                "Cannot store the ring's number in {}: {error}; after a restart ring ids may repeat",
                self.path.display()
            );
        }
    }

    fn write(&self, seq: u64) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o755).create(&self.dir)?;
        let fresh = self.path.with_extension("new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        file.write_all(&seq.to_ne_bytes())?;
        if self.durable {
            file.sync_all()?;
        }
        std::fs::rename(&fresh, &self.path)?;
        if self.durable {
            File::open(&self.dir)?.sync_all()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_comes_back_and_rubbish_does_not() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for alone in [true, false] {
            let state = RingState::new(&dir.path().join(alone.to_string()), NodeId(7), alone);
            assert_eq!(state.load(), 0);
            state.store(12345);
            assert_eq!(state.load(), 12345);
            for rubbish in [&b"short"[..], b"", b"nine bytes", &[255; 8]] {
                std::fs::write(&state.path, rubbish).expect("it can be written");
                assert_eq!(state.load(), 0);
            }
        }
    }

    #[test]
    fn a_directory_that_cannot_be_is_a_message() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(dir.path().join("file"), "").expect("it can be written");
        let state = RingState::new(&dir.path().join("file/below"), NodeId(7), true);
        state.store(5);
        assert_eq!(state.load(), 0);
    }
}
