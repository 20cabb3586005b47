//! Reaching the daemon: the socket of the instance and the handshake.

use std::ffi::OsString;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use evensong_core::ipc::{Hello, Service, Welcome, DEFAULT_RUN_DIR, SOCKET_NAME, VERSION, WELCOME_SIZE};
use evensong_ring::Memory;
use nix::errno::Errno;
use nix::sys::socket::{
    connect, recvmsg, send, socket, AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr,
};

use crate::code;
use crate::sys;

/// Path of the instance's socket: `EVENSONG_RUN_DIR` or the default; set-uid programs do not
/// listen to the environment.
fn socket_path() -> PathBuf {
    let dir = sys::secure_env(c"EVENSONG_RUN_DIR").filter(|dir| !dir.is_empty());
    let dir = dir.map_or_else(|| PathBuf::from(DEFAULT_RUN_DIR), |dir| PathBuf::from(OsString::from_vec(dir)));
    dir.join(SOCKET_NAME)
}

/// Connects to the daemon and maps the shared memory. The error is a `cs_error_t` value.
pub fn establish(service: Service) -> Result<(OwnedFd, Memory), u32> {
    let address = UnixAddr::new(&socket_path()).map_err(|_| code::LIBRARY)?;
    let fd = socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).map_err(error_code)?;
    retry(|| connect(fd.as_raw_fd(), &address)).map_err(error_code)?;
    let hello = Hello { version_min: VERSION, version_max: VERSION, service: service as u32, pid: std::process::id() };
    match retry(|| send(fd.as_raw_fd(), &hello.to_bytes(), MsgFlags::MSG_NOSIGNAL)) {
        // A daemon that is out of descriptors says so before it has heard anything.
        Ok(_) | Err(Errno::EPIPE) => {}
        Err(error) => return Err(error_code(error)),
    }
    let (welcome, memory) = receive_welcome(&fd)?;
    if welcome.status != code::OK {
        return Err(welcome.status);
    }
    let memory = Memory::receive(memory.ok_or(code::LIBRARY)?.as_fd(), welcome).map_err(|_| code::LIBRARY)?;
    Ok((fd, memory))
}

fn receive_welcome(fd: &OwnedFd) -> Result<(Welcome, Option<OwnedFd>), u32> {
    let mut bytes = [0; WELCOME_SIZE];
    let mut space = nix::cmsg_space!([std::os::fd::RawFd; 1]);
    let mut memory = None;
    let got = retry(|| {
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let flags = MsgFlags::MSG_CMSG_CLOEXEC | MsgFlags::MSG_WAITALL;
        let message = recvmsg::<UnixAddr>(fd.as_raw_fd(), &mut parts, Some(&mut space), flags)?;
        for control in message.cmsgs()? {
            if let ControlMessageOwned::ScmRights(fds) = control {
                // SAFETY: the kernel has just made these descriptors for us; nobody else owns them.
                memory = fds.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }).fold(None, |_, fd| Some(fd));
            }
        }
        Ok(message.bytes)
    })
    .map_err(error_code)?;
    if got != WELCOME_SIZE {
        return Err(code::LIBRARY);
    }
    Ok((Welcome::from_bytes(&bytes).ok_or(code::LIBRARY)?, memory))
}

fn retry<T>(mut call: impl FnMut() -> nix::Result<T>) -> nix::Result<T> {
    loop {
        match call() {
            Err(Errno::EINTR) => {}
            other => return other,
        }
    }
}

/// What the original's programs see for a failed connect: no daemon is `CS_ERR_LIBRARY`.
fn error_code(error: Errno) -> u32 {
    match io::Error::from(error).kind() {
        io::ErrorKind::WouldBlock => code::TRY_AGAIN,
        io::ErrorKind::PermissionDenied => code::ACCESS,
        io::ErrorKind::OutOfMemory => code::NO_MEMORY,
        _ if matches!(error, Errno::EMFILE | Errno::ENFILE | Errno::ENOBUFS) => code::NO_RESOURCES,
        _ => code::LIBRARY,
    }
}
