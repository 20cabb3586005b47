//! The transport as the event loop sees it: one descriptor to wait for, frames in, frames out,
//! and a clock for what has to be tried again.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use bytes::Bytes;
use evensong_core::ids::NodeId;
use evensong_core::output::LogLevel;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use super::buffers::Buffers;
use super::counters::Counters;
use super::interface::{self, Watch};
use super::names::Names;
use super::outbox::Outbox;
use super::peers::Peers;
use super::plan::NetConfig;
use super::port::Destination;
use super::ports::Ports;

/// Most bytes that wait for room in the socket; more is lost.
const WAITING_MAX: usize = 4 << 20;
/// How often names that are not found are looked up again.
const ASK_AGAIN: Duration = Duration::from_secs(2);
/// How often packets of strangers are mentioned in the log.
const STRANGERS_SAID: Duration = Duration::from_secs(60);
/// Most batches of multicasts that are read for one token.
const BATCHES: usize = 16;

const SOCKET: u64 = 0;
const WATCH: u64 = 1;
const NAMES: u64 = 2;

/// Frames that wait for room in the socket.
type Waiting = (Destination, Vec<Bytes>);

/// All of the network.
#[derive(Debug)]
pub struct Net {
    config: NetConfig,
    peers: Peers,
    ports: Option<Ports>,
    /// The interface that `ports` are bound on.
    index: u32,
    epoll: Epoll,
    watch: Option<Watch>,
    names: Option<Names>,
    buffers: Buffers,
    held: Vec<Bytes>,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    counters: Counters,
    look_at: Option<Instant>,
    ask_at: Option<Instant>,
    /// When packets of strangers were last mentioned in the log, and whose were dropped since.
    strangers_said: Option<Instant>,
    stranger: Option<IpAddr>,
    trouble: String,
    log: Vec<(LogLevel, String)>,
}

impl Net {
    /// Sets it up; sockets are bound when the address is there, at once or later.
    pub fn new(config: NetConfig, now: Instant) -> io::Result<Net> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let mut log = Vec::new();
        let watch = match Watch::new() {
            Ok(watch) => {
                epoll.add(&watch, EpollEvent::new(EpollFlags::EPOLLIN, WATCH))?;
                Some(watch)
            }
            Err(error) => {
                log.push((LogLevel::Warning, format!("Changes of interfaces are not told by the kernel: {error}")));
                None
            }
        };
        let peers = Peers::new(&config);
        let mut names = None;
        if peers.names(true).next().is_some() {
            let thread = Names::new()?;
            epoll.add(&thread, EpollEvent::new(EpollFlags::EPOLLIN, NAMES))?;
            names = Some(thread);
        }
        let mut net = Net {
            config,
            peers,
            ports: None,
            index: 0,
            epoll,
            watch,
            names,
            buffers: Buffers::new(),
            held: Vec::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            counters: Counters::default(),
            look_at: None,
            ask_at: None,
            strangers_said: None,
            stranger: None,
            trouble: String::new(),
            log,
        };
        net.ask(true, now);
        net.look(now);
        Ok(net)
    }

    /// What was counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Lines for the log.
    pub fn take_log(&mut self) -> Vec<(LogLevel, String)> {
        std::mem::take(&mut self.log)
    }

    /// Whether there are sockets.
    pub fn is_up(&self) -> bool {
        self.ports.is_some()
    }

    /// Looks all names up again.
    pub fn reread(&mut self, now: Instant) {
        self.ask(true, now);
        self.look(now);
    }

    /// When [`Net::tick`] wants to be called.
    pub fn deadline(&self) -> Option<Instant> {
        [self.look_at, self.ask_at].into_iter().flatten().min()
    }

    /// Does what is due.
    pub fn tick(&mut self, now: Instant) {
        if self.ask_at.is_some_and(|at| at <= now) {
            self.ask(false, now);
        }
        if self.look_at.is_some_and(|at| at <= now) {
            self.look(now);
        }
    }

    /// Handles what the descriptor tells but for frames: changes of interfaces, answers about
    /// names, room in the socket.
    pub fn attend(&mut self, now: Instant) {
        let mut events = [EpollEvent::empty(); 8];
        let count = self.epoll.wait(&mut events, EpollTimeout::ZERO).unwrap_or(0);
        for event in &events[..count] {
            match event.data() {
                WATCH => {
                    if let Some(watch) = &self.watch {
                        watch.drain();
                    }
                    self.look(now);
                }
                NAMES => self.hear(now),
                _ if event.events().contains(EpollFlags::EPOLLOUT) => self.send_waiting(),
                _ => {}
            }
        }
        self.tell_of_strangers(now);
    }

    /// Reads frames, in an order in which the node can take them; true when there may be more.
    /// With multicast, a token is put behind all multicasts that came before it.
    pub fn receive(&mut self, frames: &mut Vec<Bytes>) -> bool {
        let Net { ports: Some(ports), buffers, counters, peers, config, held, stranger, .. } = self else {
            return false;
        };
        let own = peers.own();
        let accept = |from: IpAddr, counters: &mut Counters| {
            if Some(from) == own {
                counters.own += 1;
                return false;
            }
            if config.block_unlisted && !peers.has(from) {
                counters.unlisted += 1;
                *stranger = Some(from);
                return false;
            }
            true
        };
        let mut accept = accept;
        match ports {
            Ports::Udpu { main } => main.receive(buffers, counters, accept, frames),
            Ports::Udp { group, token, .. } => {
                let mut more = token.receive(buffers, counters, &mut accept, held);
                let mut batches = 0;
                while group.receive(buffers, counters, &mut accept, frames) {
                    batches += 1;
                    if batches == BATCHES {
                        more = true;
                        break;
                    }
                }
                frames.append(held);
                more
            }
        }
    }

    /// Sends what is in the box and empties it. Per destination, order is kept.
    pub fn send(&mut self, outbox: &mut Outbox) {
        if outbox.is_empty() {
            return;
        }
        if self.ports.is_none() {
            self.counters.lost(Errno::ENETDOWN, outbox.len());
        } else if matches!(self.ports, Some(Ports::Udp { .. })) {
            self.send_to_group(outbox.frames());
        } else {
            self.send_to_each(outbox.frames());
        }
        outbox.clear();
    }

    /// Every peer gets its frames in one go. The one that gets the token comes last, so that
    /// nobody can hear of frames before they are on their way to him.
    fn send_to_each(&mut self, frames: &[(NodeId, Bytes)]) {
        let single = |node: NodeId| frames.iter().any(|(to, _)| *to == node);
        let (mut first, mut last) = (Vec::new(), Vec::new());
        for peer in self.peers.list() {
            let Some(to) = peer.to else {
                let for_it = frames.iter().filter(|(to, _)| to.0 == 0 || *to == peer.node).count();
                self.counters.lost(Errno::EHOSTUNREACH, for_it);
                continue;
            };
            if single(peer.node) { &mut last } else { &mut first }.push((peer.node, to));
        }
        let mut list: Vec<&Bytes> = Vec::with_capacity(frames.len());
        for (node, to) in first.into_iter().chain(last) {
            list.clear();
            list.extend(frames.iter().filter(|(to, _)| to.0 == 0 || *to == node).map(|(_, frame)| frame));
            self.send_list(&to, &list);
        }
    }

    fn send_to_group(&mut self, frames: &[(NodeId, Bytes)]) {
        let Some(Ports::Udp { to: group, .. }) = &self.ports else { return };
        let group = *group;
        for run in frames.chunk_by(|(a, _), (b, _)| a == b) {
            let list: Vec<&Bytes> = run.iter().map(|(_, frame)| frame).collect();
            let node = run[0].0;
            if node.0 == 0 {
                self.send_list(&group, &list);
            } else if let Some(to) = self.peers.list().iter().find(|peer| peer.node == node).and_then(|peer| peer.to) {
                self.send_list(&to, &list);
            } else {
                self.counters.lost(Errno::EHOSTUNREACH, list.len());
            }
        }
    }

    fn send_list(&mut self, to: &Destination, list: &[&Bytes]) {
        let Some(ports) = &mut self.ports else { return };
        // Nothing may overtake what waits.
        let left = if self.waiting.is_empty() { ports.sender().send(to, list, &mut self.counters) } else { list.len() };
        if left > 0 {
            self.keep(to, &list[list.len() - left..]);
        }
    }

    fn keep(&mut self, to: &Destination, list: &[&Bytes]) {
        let first = self.waiting.is_empty();
        let room = WAITING_MAX - self.waiting_bytes;
        let mut bytes = 0;
        let fits = list.iter().take_while(|frame| {
            bytes += frame.len();
            bytes <= room
        });
        let kept: Vec<Bytes> = fits.map(|frame| (*frame).clone()).collect();
        self.counters.lost(Errno::EAGAIN, list.len() - kept.len());
        self.waiting_bytes += kept.iter().map(Bytes::len).sum::<usize>();
        self.waiting.push_back((*to, kept));
        if first {
            self.watch_room(true);
        }
    }

    fn send_waiting(&mut self) {
        let Some(ports) = &mut self.ports else { return };
        while let Some((to, frames)) = self.waiting.front_mut() {
            let list: Vec<&Bytes> = frames.iter().collect();
            let left = ports.sender().send(to, &list, &mut self.counters);
            let done = frames.len() - left;
            self.waiting_bytes -= frames[..done].iter().map(Bytes::len).sum::<usize>();
            frames.drain(..done);
            if left > 0 {
                return;
            }
            self.waiting.pop_front();
        }
        self.watch_room(false);
    }

    /// Whether to be told when the sending socket has room.
    fn watch_room(&mut self, wanted: bool) {
        let Some(ports) = &mut self.ports else { return };
        let (multicast, room) = (matches!(ports, Ports::Udp { .. }), EpollFlags::EPOLLOUT);
        let socket = ports.sender();
        let result = match (multicast, wanted) {
            // The sending socket of udp is not read.
            (true, true) => self.epoll.add(&*socket, EpollEvent::new(room, SOCKET)),
            (true, false) => self.epoll.delete(&*socket),
            (false, true) => self.epoll.modify(&*socket, &mut EpollEvent::new(room | EpollFlags::EPOLLIN, SOCKET)),
            (false, false) => self.epoll.modify(&*socket, &mut EpollEvent::new(EpollFlags::EPOLLIN, SOCKET)),
        };
        if let Err(error) = result {
            self.log.push((LogLevel::Warning, format!("Cannot watch a socket for room: {error}")));
        }
    }

    fn ask(&mut self, all: bool, now: Instant) {
        self.ask_at = None;
        let Some(names) = &mut self.names else { return };
        names.ask(self.peers.names(all));
        if self.peers.names(false).next().is_some() {
            self.ask_at = Some(now + ASK_AGAIN);
        }
    }

    fn hear(&mut self, now: Instant) {
        let Some(names) = &mut self.names else { return };
        let answers = names.take();
        let before = self.peers.own();
        let mut said = Vec::new();
        let changed = self.peers.found(&answers, &mut said);
        for (good, text) in said {
            self.log.push((if good { LogLevel::Notice } else { LogLevel::Warning }, text));
        }
        if self.peers.own() != before {
            self.close();
        }
        if changed {
            self.peers.aim(self.config.port, self.index);
            self.look(now);
        }
    }

    /// Looks whether the own address is there, and makes or gives up the sockets.
    fn look(&mut self, now: Instant) {
        let found = self.peers.own().and_then(|own| Some((own, interface::find(own)?)));
        match found {
            Some((_, index)) if self.ports.is_some() && index == self.index => {}
            Some((own, index)) => {
                self.close();
                self.open(own, index);
            }
            None if self.ports.is_some() => {
                self.close();
                self.log.push((LogLevel::Notice, "The network interface is down.".to_owned()));
            }
            None => {
                let why = match self.peers.own() {
                    Some(own) => format!("No interface that is up has the address {own} of this node"),
                    None => format!("The address of this node, {}, is not known yet", self.config.own),
                };
                self.complain(why);
            }
        }
        // While there are sockets, the kernel tells when that may have changed.
        let wait = self.ports.is_none() || self.watch.is_none();
        self.look_at = wait.then(|| now + self.config.downcheck);
    }

    fn open(&mut self, own: IpAddr, index: u32) {
        let ports = Ports::bind(&self.config, own, index).and_then(|ports| {
            for socket in ports.readable() {
                self.epoll.add(socket, EpollEvent::new(EpollFlags::EPOLLIN, SOCKET))?;
            }
            Ok(ports)
        });
        match ports {
            Ok(mut ports) => {
                self.log.push((LogLevel::Notice, format!("The network interface [{own}] is now up.")));
                if let Ok(room) = ports.sender().receive_room() {
                    self.log.push((LogLevel::Debug, format!("Receive buffer of the socket: {room} bytes")));
                }
                let far = |peer: &super::peers::Listed| peer.address.is_some_and(|address| !address.is_loopback());
                if own.is_loopback() && self.peers.list().iter().any(far) {
                    let text = format!("{} is {own}, which other hosts cannot reach: see /etc/hosts", self.config.own);
                    self.log.push((LogLevel::Error, text));
                }
                self.trouble.clear();
                self.ports = Some(ports);
                self.index = index;
                self.peers.aim(self.config.port, index);
            }
            Err(error) => {
                self.complain(format!("Cannot use the address {own}, port {}: {error}", self.config.port));
            }
        }
    }

    /// Gives the sockets up, with what waits in them.
    fn close(&mut self) {
        // Closing takes a socket out of the epoll set.
        self.ports = None;
        let waiting: usize = self.waiting.drain(..).map(|(_, frames)| frames.len()).sum();
        self.waiting_bytes = 0;
        self.counters.lost(Errno::ENETDOWN, waiting);
    }

    /// Says why there are no sockets, once.
    fn complain(&mut self, why: String) {
        if why != self.trouble {
            self.log.push((LogLevel::Error, format!("{why}; it is tried again")));
            self.trouble = why;
        }
    }

    /// Says whose packets are dropped, once in a while.
    fn tell_of_strangers(&mut self, now: Instant) {
        let Some(from) = self.stranger.take() else { return };
        if self.strangers_said.is_none_or(|at| now.duration_since(at) >= STRANGERS_SAID) {
            self.strangers_said = Some(now);
            let count = self.counters.unlisted;
            let text =
                format!("Packets from {from} are dropped, no node of the list has that address ({count} so far)");
            self.log.push((LogLevel::Warning, text));
        }
    }
}

impl AsFd for Net {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.0.as_fd()
    }
}
