//! One UDP socket: batches in, runs of frames out.
//!
//! Several frames of one size leave in one call, and the kernel cuts them (`UDP_SEGMENT`);
//! what it merged on the way in comes back in one buffer with the size to cut it at
//! (`UDP_GRO`). Where the kernel, the device or the size of a frame does not allow it, frames
//! go one by one, and which size was refused is remembered for the life of the socket.

use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use bytes::Bytes;
use nix::errno::Errno;
use nix::sys::socket::sockopt::{RcvBufForce, SndBufForce};
use nix::sys::socket::{sendmsg, setsockopt, ControlMessage, MsgFlags, SockaddrStorage};
use quinn_udp::{RecvMeta, UdpSockRef, UdpSocketState, BATCH_SIZE};
use socket2::{Domain, Protocol, Socket, Type};

use super::buffers::Buffers;
use super::counters::Counters;
use crate::sys::socket::set_option;

/// What the original asks for: room for 16 of its largest packets.
const SOCKET_BUFFER: usize = 16 * 136_192;
/// `TC_PRIO_INTERACTIVE`.
const PRIORITY: u32 = 6;
/// Most frames of a run (the kernel's limit, before it was raised).
const RUN_FRAMES: usize = 64;
/// Most bytes of a run: what fits an IPv6 datagram, and an IPv4 one with it.
const RUN_BYTES: usize = 65_487;

/// A bound socket.
#[derive(Debug)]
pub struct Port {
    socket: Socket,
    state: UdpSocketState,
    /// Longest frame that the kernel cuts runs into, as far as known; 0: none.
    segment_max: usize,
}

impl Port {
    /// A socket for addresses like `like`, not bound yet.
    pub fn unbound(like: IpAddr) -> io::Result<Socket> {
        let domain = if like.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
        let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        if like.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        Ok(socket)
    }

    /// Takes a bound socket and makes it fit for frames.
    pub fn new(socket: Socket, offload: bool) -> io::Result<Port> {
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        // That was made for QUIC, which wants no fragments. Here a packet may be longer than
        // the wire's: recovery copies, and lists of many nodes.
        if socket.domain()? == Domain::IPV4 {
            set_option(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_WANT)?;
        } else {
            set_option(&socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_WANT)?;
            set_option(&socket, libc::IPPROTO_IPV6, libc::IPV6_DONTFRAG, 0)?;
        }
        if !offload {
            // A kernel that does not know the option does not merge either.
            let _off = set_option(&socket, libc::SOL_UDP, libc::UDP_GRO, 0);
        }
        // The limit of the system binds only those without the privilege.
        if setsockopt(&socket, RcvBufForce, &SOCKET_BUFFER).is_err() {
            socket.set_recv_buffer_size(SOCKET_BUFFER)?;
        }
        if setsockopt(&socket, SndBufForce, &SOCKET_BUFFER).is_err() {
            socket.set_send_buffer_size(SOCKET_BUFFER)?;
        }
        socket.set_priority(PRIORITY)?;
        let segment_max = if offload && state.max_gso_segments() > 1 { usize::from(u16::MAX) } else { 0 };
        Ok(Port { socket, state, segment_max })
    }

    /// Bytes that may wait in the socket to be read: what was got of what was asked.
    pub fn receive_room(&self) -> io::Result<usize> {
        self.socket.recv_buffer_size()
    }

    /// Reads one batch. `accept` says whether datagrams from an address are wanted. True:
    /// there may be more.
    pub fn receive(
        &self,
        buffers: &mut Buffers,
        counters: &mut Counters,
        mut accept: impl FnMut(IpAddr, &mut Counters) -> bool,
        frames: &mut Vec<Bytes>,
    ) -> bool {
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let count = match self.state.recv(UdpSockRef::from(&self.socket), &mut buffers.batch(), &mut metas) {
            Ok(count) => count,
            Err(error) => {
                if error.kind() != io::ErrorKind::WouldBlock {
                    counters.read_errors += 1;
                }
                return false;
            }
        };
        let before = frames.len();
        for (at, meta) in metas[..count].iter().enumerate() {
            if accept(meta.addr.ip(), counters) {
                counters.merged += u64::from(meta.len > meta.stride);
                buffers.take(at, meta.len, meta.stride, frames);
            }
        }
        counters.received += (frames.len() - before) as u64;
        count == BATCH_SIZE
    }

    /// Sends frames in order; returns how many are left because the socket's queue is full.
    pub fn send(&mut self, to: &Destination, mut frames: &[&Bytes], counters: &mut Counters) -> usize {
        while !frames.is_empty() {
            let run = self.run(frames);
            let done = match self.send_run(to, &frames[..run], counters) {
                Ok(sent) => {
                    counters.sent += sent as u64;
                    sent
                }
                Err(Errno::EAGAIN) => return frames.len(),
                Err(Errno::EINTR) => 0,
                Err(errno) => {
                    counters.lost(errno, run);
                    run
                }
            };
            frames = &frames[done..];
        }
        0
    }

    /// How many of the first frames fit into one run.
    fn run(&self, frames: &[&Bytes]) -> usize {
        let size = frames[0].len();
        if size == 0 || size > self.segment_max {
            return 1;
        }
        let (mut count, mut bytes) = (1, size);
        for frame in frames[1..].iter().take(RUN_FRAMES - 1) {
            bytes += frame.len();
            if frame.is_empty() || frame.len() > size || bytes > RUN_BYTES {
                break;
            }
            count += 1;
            // Only the last may be shorter.
            if frame.len() < size {
                break;
            }
        }
        count
    }

    /// Sends one run; returns how many of its frames went.
    fn send_run(&mut self, to: &Destination, frames: &[&Bytes], counters: &mut Counters) -> nix::Result<usize> {
        if frames.len() == 1 {
            return self.send_plain(to, frames[0]).map(|()| 1);
        }
        let mut parts = [IoSlice::new(&[]); RUN_FRAMES];
        parts.iter_mut().zip(frames).for_each(|(part, frame)| *part = IoSlice::new(frame));
        let size = frames[0].len();
        let segment = u16::try_from(size).expect("segment_max is a u16");
        let cut = [ControlMessage::UdpGsoSegments(&segment)];
        let fd = self.socket.as_raw_fd();
        match sendmsg(fd, &parts[..frames.len()], &cut, MsgFlags::MSG_NOSIGNAL, Some(&to.storage)) {
            Ok(_) => {
                counters.runs += 1;
                Ok(frames.len())
            }
            Err(refusal @ (Errno::EINVAL | Errno::EIO | Errno::EMSGSIZE | Errno::ENOPROTOOPT | Errno::EOPNOTSUPP)) => {
                // No way to the address says EINVAL too; then a plain frame fails as well.
                self.send_plain(to, frames[0])?;
                counters.refused += 1;
                self.segment_max = if refusal == Errno::EIO { 0 } else { self.segment_max.min(size - 1) };
                Ok(1)
            }
            Err(errno) => Err(errno),
        }
    }

    fn send_plain(&self, to: &Destination, frame: &[u8]) -> nix::Result<()> {
        let fd = self.socket.as_raw_fd();
        sendmsg(fd, &[IoSlice::new(frame)], &[], MsgFlags::MSG_NOSIGNAL, Some(&to.storage)).map(|_| ())
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Where frames go, in the form that the kernel takes.
#[derive(Clone, Copy, Debug)]
pub struct Destination {
    storage: SockaddrStorage,
}

impl Destination {
    /// Prepares an address.
    pub fn new(address: SocketAddr) -> Destination {
        Destination { storage: SockaddrStorage::from(address) }
    }
}
