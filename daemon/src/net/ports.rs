//! The sockets of a transport: made when the own address is there, given up when it goes.
//!
//! | transport | socket | bound to | use |
//! |---|---|---|---|
//! | udpu | main | own address, port | receives everything, sends everything |
//! | udp | group | the group, port | receives multicasts |
//! | udp | token | own address, port | receives tokens |
//! | udp | send | own address, port - 1 | sends everything; does not hear itself |
//!
//! The original sends udpu's multicasts from a further socket per member. Receivers look at the
//! address only; from one socket, frames and the token behind them are one flow, which keeps
//! its order in a network that spreads flows over paths, and may leave in one call.

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsFd, BorrowedFd};

use socket2::Socket;

use super::plan::{NetConfig, Transport};
use super::port::{Destination, Port};

/// The sockets.
#[derive(Debug)]
// There is one of it.
#[allow(clippy::large_enum_variant)]
pub enum Ports {
    /// Unicast.
    Udpu {
        /// The one for everything.
        main: Port,
    },
    /// Multicast.
    Udp {
        /// Hears multicasts.
        group: Port,
        /// Hears tokens.
        token: Port,
        /// Sends.
        send: Port,
        /// Where multicasts go.
        to: Destination,
    },
}

impl Ports {
    /// Makes and binds the sockets at the address `own` of the interface `index`.
    pub fn bind(config: &NetConfig, own: IpAddr, index: u32) -> io::Result<Ports> {
        let at = |port: u16| socket_address(own, port, index);
        if config.transport != Transport::Udp {
            let socket = Port::unbound(own)?;
            socket.bind(&at(config.port).into())?;
            return Ok(Ports::Udpu { main: Port::new(socket, config.offload)? });
        }
        let Some(group) = config.group(own) else {
            return Err(io::Error::other("there is no broadcast with IPv6"));
        };
        let hear = Port::unbound(own)?;
        hear.set_reuse_address(true)?;
        join(&hear, config, group, own, index)?;
        hear.bind(&socket_address(group, config.port, index).into())?;
        let token = Port::unbound(own)?;
        token.bind(&at(config.port).into())?;
        let send = Port::unbound(own)?;
        send.bind(&at(config.port - 1).into())?;
        sends(&send, config, own, index)?;
        Ok(Ports::Udp {
            group: Port::new(hear, config.offload)?,
            token: Port::new(token, config.offload)?,
            send: Port::new(send, config.offload)?,
            to: Destination::new(socket_address(group, config.port, index)),
        })
    }

    /// The socket that sends.
    pub fn sender(&mut self) -> &mut Port {
        match self {
            Ports::Udpu { main } => main,
            Ports::Udp { send, .. } => send,
        }
    }

    /// The sockets to wait for.
    pub fn readable(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let list = match self {
            Ports::Udpu { main } => [Some(main), None],
            Ports::Udp { group, token, .. } => [Some(group), Some(token)],
        };
        list.into_iter().flatten().map(AsFd::as_fd)
    }
}

/// An address with a port, and with the interface where the address needs one.
pub fn socket_address(address: IpAddr, port: u16, index: u32) -> SocketAddr {
    match address {
        IpAddr::V6(v6) if v6.is_unicast_link_local() || v6.is_multicast() => {
            SocketAddr::V6(SocketAddrV6::new(v6, port, 0, index))
        }
        other => SocketAddr::new(other, port),
    }
}

fn join(socket: &Socket, config: &NetConfig, group: IpAddr, own: IpAddr, index: u32) -> io::Result<()> {
    if config.broadcast {
        return socket.set_broadcast(true);
    }
    match (group, own) {
        (IpAddr::V4(group), IpAddr::V4(own)) => {
            // Without it, groups that others joined elsewhere are heard too; very old kernels lack it.
            let _old = socket.set_multicast_all_v4(false);
            socket.join_multicast_v4(&group, &own)
        }
        (IpAddr::V6(group), _) => {
            let _old = socket.set_multicast_all_v6(false);
            socket.join_multicast_v6(&group, index)
        }
        _ => Err(io::Error::other(format!("group {group} does not go with address {own}"))),
    }
}

fn sends(socket: &Socket, config: &NetConfig, own: IpAddr, index: u32) -> io::Result<()> {
    if config.broadcast {
        return socket.set_broadcast(true);
    }
    match own {
        IpAddr::V4(own) => {
            socket.set_multicast_loop_v4(false)?;
            socket.set_multicast_ttl_v4(u32::from(config.ttl))?;
            socket.set_multicast_if_v4(&own)
        }
        IpAddr::V6(_) => {
            socket.set_multicast_loop_v6(false)?;
            socket.set_multicast_hops_v6(u32::from(config.ttl))?;
            socket.set_multicast_if_v6(index)
        }
    }
}
