//! Whether this node's own address is there, and word from the kernel when that may change.

use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::net::if_::InterfaceFlags;
use nix::sys::socket::{
    bind, recv, socket, AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, SockaddrStorage,
};

/// Multicast groups of rtnetlink: links, IPv4 addresses, IPv6 addresses.
const GROUPS: u32 = 0x1 | 0x10 | 0x100;

/// Index of the interface that is up and has the address.
pub fn find(address: IpAddr) -> Option<u32> {
    let list = nix::ifaddrs::getifaddrs().ok()?;
    let mut up = list.filter(|interface| interface.flags.contains(InterfaceFlags::IFF_UP));
    let has = |storage: SockaddrStorage| {
        let v4 = storage.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
        let found = v4.or_else(|| storage.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())));
        // All of 127.0.0.0/8 is there, though only one address is listed.
        found.is_some_and(|found| {
            found == address || (found.is_ipv4() && found.is_loopback() && address.is_ipv4() && address.is_loopback())
        })
    };
    let interface = up.find(|interface| interface.address.is_some_and(has))?;
    // An interface may go between the two calls; then the next look finds it gone.
    nix::net::if_::if_nametoindex(interface.interface_name.as_str()).ok()
}

/// A socket that becomes readable when links or addresses change.
#[derive(Debug)]
pub struct Watch(OwnedFd);

impl Watch {
    /// Starts watching.
    pub fn new() -> nix::Result<Watch> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let fd = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
        bind(fd.as_raw_fd(), &NetlinkAddr::new(0, GROUPS))?;
        Ok(Watch(fd))
    }

    /// Takes all messages away. What they say is not read: whoever is told looks for himself,
    /// and messages that were lost for want of room change nothing.
    pub fn drain(&self) {
        let mut message = [0; 8192];
        loop {
            match recv(self.0.as_raw_fd(), &mut message, MsgFlags::empty()) {
                Ok(_) | Err(nix::errno::Errno::ENOBUFS | nix::errno::Errno::EINTR) => {}
                Err(_) => return,
            }
        }
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_found_and_strangers_are_not() {
        assert!(find(IpAddr::from([127, 0, 0, 9])).is_some());
        assert_eq!(find(IpAddr::from([192, 0, 2, 77])), None);
        Watch::new().expect("anybody may watch").drain();
    }
}
