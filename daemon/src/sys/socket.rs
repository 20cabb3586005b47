//! Socket options that neither nix nor socket2 has.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Sets an option that is a whole number.
pub fn set_option(socket: &impl AsFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    let len = std::mem::size_of_val(&value) as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the pointer is to a live integer of the length given, which the kernel only reads.
    let answer = unsafe { libc::setsockopt(fd, level, name, std::ptr::from_ref(&value).cast(), len) };
    if answer == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_set_or_refused() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
        set_option(&socket, libc::SOL_SOCKET, libc::SO_BROADCAST, 1).expect("anybody may");
        assert!(set_option(&socket, libc::SOL_SOCKET, -1, 1).is_err());
    }
}
