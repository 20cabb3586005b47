//! What the transport did and what got lost, for the log and later for the statistics map.

use nix::errno::Errno;

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames received and handed on.
    pub received: u64,
    /// Reads that brought several frames merged into one.
    pub merged: u64,
    /// Frames sent, each copy counted.
    pub sent: u64,
    /// Sends of several frames in one, cut by the kernel.
    pub runs: u64,
    /// Times that the kernel refused to cut.
    pub refused: u64,
    /// Datagrams dropped because no listed node has the address they come from.
    pub unlisted: u64,
    /// Datagrams dropped because they come from this node itself.
    pub own: u64,
    /// Frames not sent because a queue was full.
    pub lost_full: u64,
    /// Frames not sent because there was no way to the other node, or no address of our own.
    pub lost_unreachable: u64,
    /// Frames not sent for another reason.
    pub lost_other: u64,
    /// Reads that failed.
    pub read_errors: u64,
}

impl Counters {
    /// Counts `frames` that were lost.
    pub fn lost(&mut self, errno: Errno, frames: usize) {
        let counter = match errno {
            Errno::EAGAIN | Errno::ENOBUFS | Errno::ENOMEM => &mut self.lost_full,
            Errno::ENETUNREACH
            | Errno::EHOSTUNREACH
            | Errno::ENETDOWN
            | Errno::EHOSTDOWN
            | Errno::EADDRNOTAVAIL
            | Errno::EINVAL => &mut self.lost_unreachable,
            _ => &mut self.lost_other,
        };
        *counter += frames as u64;
    }
}
