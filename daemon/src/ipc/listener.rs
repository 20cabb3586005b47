//! The listening socket and the handshake.
//!
//! Everybody may connect (mode 0666 unless configured otherwise, so that a refusal can be told apart from a missing
//! daemon); who is let in is decided by the kernel's word on the peer (SO_PEERCRED). A peer
//! that connects and says nothing holds a descriptor for a bounded time only.

use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, IoSlice, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use evensong_core::ipc::{Hello, Service, Welcome, HELLO_SIZE, VERSION};
use evensong_ring::Memory;
use nix::sys::socket::{getsockopt, sendmsg, sockopt::PeerCredentials, ControlMessage, MsgFlags, UnixAddr};

use super::{Access, Limits};

/// Longest time from connect to a complete hello.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
/// Most peers that may be in their handshake at a time; one more and the oldest has to go.
pub const ARRIVALS_MAX: usize = 256;

/// `cs_error_t` values of refusals.
mod refusal {
    pub const LIBRARY: u32 = 2;
    pub const VERSION: u32 = 3;
    pub const ACCESS: u32 = 11;
    pub const NO_RESOURCES: u32 = 18;
    pub const NOT_SUPPORTED: u32 = 19;

    /// The value for a system call that failed.
    pub fn of(error: &std::io::Error) -> u32 {
        match error.raw_os_error() {
            Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM) => NO_RESOURCES,
            _ => LIBRARY,
        }
    }
}

/// The listening socket; its path is removed on drop.
#[derive(Debug)]
pub struct Listener {
    socket: UnixListener,
    path: PathBuf,
    /// Given up for a moment to turn a peer away when all other descriptors are in use.
    spare: Option<File>,
}

/// A peer in its handshake.
#[derive(Debug)]
pub struct Arrival {
    stream: UnixStream,
    since: Instant,
    hello: [u8; HELLO_SIZE],
    got: usize,
}

/// A peer that was let in.
#[derive(Debug)]
pub struct Admitted {
    /// Its socket.
    pub socket: OwnedFd,
    /// Its shared memory.
    pub memory: Memory,
    /// What it wants.
    pub service: Service,
    /// Process id by its own account (its pid namespace).
    pub pid: u32,
    /// Process id by the kernel's account.
    pub peer_pid: i32,
}

/// How far a handshake has come.
#[derive(Debug)]
pub enum Progress {
    /// More bytes are needed.
    Waiting,
    /// Complete, let in.
    Admitted(Box<Admitted>),
    /// Over; the text says why (for the log), if it is worth a line.
    Over(Option<String>),
}

impl Listener {
    /// Listens at `path`, which an instance lock protects: a socket left there by a killed
    /// daemon is removed. `mode` says who may try to connect.
    pub fn bind(path: &Path, mode: u32) -> io::Result<Listener> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let socket = UnixListener::bind(path)?;
        std::fs::set_permissions(path, Permissions::from_mode(mode))?;
        socket.set_nonblocking(true)?;
        Ok(Listener { socket, path: path.to_owned(), spare: Some(File::open("/dev/null")?) })
    }

    /// The descriptor to poll.
    pub fn socket(&self) -> &UnixListener {
        &self.socket
    }

    /// Accepts the next peer, if there is one.
    pub fn accept(&self) -> io::Result<Option<Arrival>> {
        match self.socket.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(true)?;
                Ok(Some(Arrival { stream, since: Instant::now(), hello: [0; HELLO_SIZE], got: 0 }))
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Refuses the next peer, after an accept that failed for want of a descriptor: it would wait
    /// for ever, and the loop would be told of it again and again. False when that did not help.
    pub fn turn_away(&mut self) -> bool {
        if self.spare.take().is_none() {
            return false;
        }
        let turned = match self.accept() {
            Ok(Some(arrival)) => {
                let _why = arrival.refuse(refusal::NO_RESOURCES, None);
                true
            }
            _ => false,
        };
        self.spare = File::open("/dev/null").ok();
        turned
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // A path that is already gone is what we want.
        let _gone = std::fs::remove_file(&self.path);
    }
}

impl Arrival {
    /// The descriptor to poll.
    pub fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// When it connected.
    pub fn since(&self) -> Instant {
        self.since
    }

    /// Whether the peer took too long.
    pub fn is_late(&self, now: Instant) -> bool {
        now.duration_since(self.since) > HELLO_TIMEOUT
    }

    /// Reads what is there and, when the hello is complete, decides. `room` says whether the
    /// limits allow one more connection.
    pub fn proceed(&mut self, access: &Access, limits: &Limits, room: bool) -> Progress {
        while self.got < HELLO_SIZE {
            match self.stream.read(&mut self.hello[self.got..]) {
                Ok(0) => return Progress::Over(None),
                Ok(count) => self.got += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Progress::Waiting,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Progress::Over(None),
            }
        }
        self.decide(access, limits, room)
    }

    fn decide(&mut self, access: &Access, limits: &Limits, room: bool) -> Progress {
        let Ok(peer) = getsockopt(&self.stream, PeerCredentials) else { return Progress::Over(None) };
        if !access.allows(peer.uid(), peer.gid()) {
            let text = format!("Denied connection attempt from {}:{}", peer.uid(), peer.gid());
            return self.refuse(refusal::ACCESS, Some(text));
        }
        let Some(hello) = Hello::from_bytes(&self.hello) else {
            return Progress::Over(Some(format!("Process {} connected with a handshake of another kind", peer.pid())));
        };
        if hello.version_min > VERSION || hello.version_max < VERSION {
            let text = format!(
                "Process {} speaks versions {} to {} of the local protocol, this daemon {VERSION}",
                peer.pid(),
                hello.version_min,
                hello.version_max
            );
            return self.refuse(refusal::VERSION, Some(text));
        }
        let Some(service) = Service::from_number(hello.service) else {
            let text = format!("Process {} asks for service {}, which is not there", peer.pid(), hello.service);
            return self.refuse(refusal::NOT_SUPPORTED, Some(text));
        };
        if !room {
            let text = format!("Process {} refused: limit of connections or memory reached", peer.pid());
            return self.refuse(refusal::NO_RESOURCES, Some(text));
        }
        let layout = Welcome::accept(limits.ring_size);
        match self.welcome(layout) {
            Ok((socket, memory)) => {
                Progress::Admitted(Box::new(Admitted { socket, memory, service, pid: hello.pid, peer_pid: peer.pid() }))
            }
            Err(error) => {
                let text = format!("Process {} refused: shared memory: {error}", peer.pid());
                self.refuse(refusal::of(&error), Some(text))
            }
        }
    }

    fn welcome(&self, layout: Welcome) -> io::Result<(OwnedFd, Memory)> {
        // Whatever can fail comes first: after the welcome the peer counts on being let in.
        let socket = self.stream.try_clone()?.into();
        let (memory, fd) = Memory::create(layout)?;
        let bytes = layout.to_bytes();
        let fds = [fd.as_raw_fd()];
        let control = [ControlMessage::ScmRights(&fds)];
        let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
        sendmsg::<UnixAddr>(self.stream.as_raw_fd(), &[IoSlice::new(&bytes)], &control, flags, None)?;
        Ok((socket, memory))
    }

    fn refuse(&self, status: u32, text: Option<String>) -> Progress {
        let bytes = Welcome::refusal(status).to_bytes();
        let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
        // A peer that is gone already has no use for the answer.
        let _sent = sendmsg::<UnixAddr>(self.stream.as_raw_fd(), &[IoSlice::new(&bytes)], &[], flags, None);
        Progress::Over(text)
    }
}
