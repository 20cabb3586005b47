//! The one loop that owns all protocol state and the only place that waits.
//!
//! A turn serves every active client for a bounded number of requests and takes what came from
//! other nodes, then makes what was delivered visible, ringing each client at most once.
//! Without work it spins as long as that has paid off lately, then announces to every client
//! that it sleeps and waits for a doorbell, a frame, a signal, a new client or a deadline. Idle
//! it uses no processor time at all.
//!
//! `network` has the part about other nodes, `arrivals` that about clients on their way in.

mod arrivals;
mod neighbour;
mod network;

use std::io;
use std::time::{Duration, Instant};

use evensong_core::ids::ClientId;
use evensong_core::input::Input;
use evensong_core::node::Node;
use evensong_core::output::LogLevel;
use evensong_core::time::Instant as CoreInstant;
use evensong_ring::Body;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;

use self::neighbour::Neighbour;
use crate::ipc::{serve, Access, Arrival, Bell, Clients, Listener, Now, Scratch, Served, TURN_LEAST};
use crate::net::Net;
use crate::sys::wait::epoll_wait;
use network::Network;

/// Turns between two looks at the descriptors while there is work.
const TURNS_PER_LOOK: u32 = 64;
/// Turns without a request after which a client is no longer looked at every turn.
const IDLE_TURNS: u32 = 512;
/// How soon the loop looks again while a member lags.
const LAG_LOOK: Duration = Duration::from_millis(5);
/// How long what a client left behind may wait for room: a member that lags is closed before, and
/// a ring has formed by then.
const LEAVING_MAX: Duration = Duration::from_secs(30);
/// How soon the loop looks again while a handshake is under way.
const ARRIVAL_LOOK: Duration = Duration::from_secs(1);
/// Most events taken from one look at the descriptors.
const EVENTS_MAX: usize = 64;
/// How often a spinning loop looks at its descriptors.
const SPIN_LOOK: Duration = Duration::from_micros(2);
/// Least time that the loop spins for the next request.
const SPIN_MIN: Duration = Duration::from_micros(1);

const TOKEN_LISTENER: u64 = 0;
const TOKEN_SIGNALS: u64 = 1;
const TOKEN_NET: u64 = 2;
const TOKEN_ARRIVAL: u64 = 1 << 32;
const TOKEN_CLIENT: u64 = 2 << 32;

/// What the loop needs from the process around it.
pub trait Surroundings {
    /// One line for the log.
    fn log(&mut self, level: LogLevel, subsystem: &'static str, text: &str);
    /// Clients can connect now.
    fn ready(&mut self) -> io::Result<()>;
    /// Stores the number of the ring, before anybody learns of the ring.
    fn store_ring_seq(&mut self, seq: u64);
    /// Opens the log's files again and reads who may connect; `None`: that stays as it is.
    fn reread(&mut self) -> Option<Access>;
}

/// A client that is gone and has requests left, for which the ring has no room yet or a member
/// none. What it sent was taken, so it is waited for, but not for ever.
#[derive(Debug)]
struct Leaving {
    client: ClientId,
    /// Turns in which requests may be taken: no more than its ring holds. Who only shut the socket
    /// could go on writing for ever.
    turns: u32,
    /// When the rest is given up.
    until: Instant,
}

/// The loop and all it owns.
pub struct EventLoop<S: Surroundings> {
    node: Node,
    clients: Clients,
    access: Access,
    listener: Listener,
    signals: SignalFd,
    epoll: Epoll,
    arrivals: Vec<Option<Arrival>>,
    active: Vec<(ClientId, u32)>,
    leaving: Vec<Leaving>,
    network: Option<Network>,
    scratch: Scratch,
    around: S,
    epoch: Instant,
    neighbour: Neighbour,
    spin: Duration,
    refusals: (Instant, u32, u64),
    stop: bool,
}

impl<S: Surroundings> EventLoop<S> {
    /// Sets the loop up; clients can connect as soon as it runs.
    pub fn new(
        node: Node,
        clients: Clients,
        access: Access,
        listener: Listener,
        signals: SignalFd,
        net: Option<Net>,
        around: S,
    ) -> io::Result<EventLoop<S>> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(listener.socket(), EpollEvent::new(EpollFlags::EPOLLIN, TOKEN_LISTENER))?;
        epoll.add(&signals, EpollEvent::new(EpollFlags::EPOLLIN, TOKEN_SIGNALS))?;
        if let Some(net) = &net {
            epoll.add(net, EpollEvent::new(EpollFlags::EPOLLIN, TOKEN_NET))?;
        }
        let now = Instant::now();
        Ok(EventLoop {
            neighbour: Neighbour::default(),
            spin: clients.limits().spin_max,
            node,
            clients,
            access,
            listener,
            signals,
            epoll,
            arrivals: Vec::new(),
            active: Vec::new(),
            leaving: Vec::new(),
            network: net.map(Network::new),
            scratch: Scratch::default(),
            around,
            epoch: now,
            refusals: (now, 0, 0),
            stop: false,
        })
    }

    /// Runs until a signal asks to stop, then leaves in order.
    pub fn run(&mut self) -> io::Result<()> {
        self.network_clock();
        self.input(Input::Start);
        self.around.ready()?;
        let mut turns = 0;
        while !self.stop {
            let worked = self.turn();
            turns += 1;
            if worked {
                if turns >= TURNS_PER_LOOK {
                    turns = 0;
                    self.look(Some(Duration::ZERO))?;
                }
                continue;
            }
            turns = 0;
            if !self.spin_for_work()? {
                self.sleep()?;
            }
        }
        // The last frames, which say that this node leaves, are sent as part of it.
        self.input(Input::Stop);
        self.clients.flush();
        Ok(())
    }

    fn now(&self) -> Now {
        let system = Instant::now();
        Now { system, core: CoreInstant(system.duration_since(self.epoch).as_nanos() as u64) }
    }

    /// Feeds an input that has no message with it.
    fn input(&mut self, input: Input) {
        let now = self.now();
        self.node.handle(input, now.core);
        self.clients.carry_out(&mut self.node, Body::of_slice(&[]), &mut self.scratch.effects);
        self.settle();
    }

    /// Does what the last inputs left to do outside of the clients. The number of a ring is
    /// stored before the frames behind it go out.
    fn settle(&mut self) {
        let effects = &mut self.scratch.effects;
        if let Some(seq) = effects.ring_seq.take() {
            self.around.store_ring_seq(seq);
        }
        match &mut self.network {
            Some(network) => network.net.send(&mut effects.outbox),
            None => effects.outbox.clear(),
        }
        for event in effects.log.drain(..) {
            self.around.log(event.level, event.subsystem, &event.text);
        }
        if let Some(reason) = effects.shutdown.take() {
            self.around.log(LogLevel::Error, "MAIN", &format!("Node shuts itself down: {reason}"));
            self.stop = true;
        }
    }

    /// Serves every active client once, then takes what other nodes sent; whether anything was
    /// done. Clients come first: what they want sent can go with the token that may be waiting.
    fn turn(&mut self) -> bool {
        let now = self.now();
        let mut worked = false;
        let mut at = 0;
        while at < self.active.len() {
            let (id, idle) = self.active[at];
            let served = serve(id, &mut self.clients, &mut self.node, &mut self.scratch, now);
            self.clients.flush();
            let took = matches!(served, Served::Some | Served::Held { taken: true } | Served::Full { taken: true });
            worked |= took;
            self.active[at].1 = if took || served != Served::Nothing { 0 } else { idle + 1 };
            if self.active[at].1 > IDLE_TURNS && self.fall_asleep(id) {
                self.active.swap_remove(at);
            } else {
                at += 1;
            }
        }
        self.serve_leaving();
        // Frames that requests brought about: a token that is being held goes on at once.
        self.settle();
        worked |= self.hear();
        if self.node.next_deadline().is_some_and(|deadline| deadline <= self.now().core) {
            self.input(Input::Tick);
            self.clients.flush();
        }
        self.close_marked();
        worked
    }

    fn fall_asleep(&mut self, id: ClientId) -> bool {
        let Some(client) = self.clients.get(id) else { return true };
        let asleep = !client.waits() && client.link.fall_asleep();
        client.active = !asleep;
        asleep
    }

    fn activate(&mut self, id: ClientId) {
        let Some(client) = self.clients.get(id) else { return };
        client.link.wake_up();
        if !client.active {
            client.active = true;
            self.active.push((id, 0));
        }
    }

    /// Spins for a while, as long as that has paid off lately. True: there is work.
    fn spin_for_work(&mut self) -> io::Result<bool> {
        let start = Instant::now();
        let limit = self.spin;
        let mut look = SPIN_LOOK;
        let ready = |(id, _): &(ClientId, u32)| self.clients.get(*id).is_some_and(|client| !client.waits());
        if !self.active.iter().any(ready) && !self.is_ring_busy() || self.neighbour.is_in_the_way() {
            return Ok(false);
        }
        loop {
            for _ in 0..16 {
                std::hint::spin_loop();
            }
            if self.anything_waits() || self.anything_heard() {
                self.spin = (limit * 2).min(self.clients.limits().spin_max);
                return Ok(true);
            }
            let spun = start.elapsed();
            if spun >= limit {
                return Ok(false);
            }
            // A client may wait for the answer to a bell.
            if spun >= look {
                self.look(Some(Duration::ZERO))?;
                look = spun + SPIN_LOOK;
            }
        }
    }

    fn anything_waits(&mut self) -> bool {
        let clients = &mut self.clients;
        self.active.iter().any(|(id, _)| {
            clients.get(*id).is_some_and(|client| !client.waits() && !matches!(client.link.next(), Ok(None)))
        })
    }

    /// Announces to all active clients that they must ring, then waits.
    fn sleep(&mut self) -> io::Result<()> {
        let (mut awake, mut lags) = (false, self.clients.anyone_lags());
        let mut at = 0;
        while at < self.active.len() {
            let id = self.active[at].0;
            let (held, full) = self.clients.get(id).map_or((false, false), |client| (client.held, client.full));
            if self.fall_asleep(id) {
                self.active.swap_remove(at);
            } else {
                awake |= !held && !full;
                lags |= held;
                at += 1;
            }
        }
        if awake {
            return self.look(Some(Duration::ZERO));
        }
        let now = self.now();
        let deadline = self.node.next_deadline();
        let waits = [
            deadline.map(|deadline| Duration::from_nanos(deadline.since(now.core).0)),
            self.network.as_ref().and_then(|network| network.wait(now.system)),
            lags.then_some(LAG_LOOK),
            self.arrivals.iter().any(Option::is_some).then_some(ARRIVAL_LOOK),
        ];
        self.look(waits.into_iter().flatten().min())?;
        self.learn_from_sleep(now.system.elapsed());
        if self.clients.anyone_lags() {
            let now = self.now();
            self.clients.look_after_backlogs(now.system);
            self.clients.flush();
            self.close_marked();
        }
        Ok(())
    }

    /// A sleep that was shorter than the longest spin should have been a spin; a long one makes
    /// the next spin shorter. What the spins themselves saw cannot tell: once they are short,
    /// they all fail, also when the next request is always just a little later.
    fn learn_from_sleep(&mut self, slept: Duration) {
        let most = self.clients.limits().spin_max;
        self.spin = if slept < most { self.spin * 4 } else { self.spin / 2 }.clamp(SPIN_MIN.min(most), most);
    }

    /// Waits for descriptors, at most `wait` (`None`: for ever), and handles what they tell.
    fn look(&mut self, wait: Option<Duration>) -> io::Result<()> {
        let mut events = [EpollEvent::empty(); EVENTS_MAX];
        let count = match epoll_wait(&self.epoll, &mut events, wait) {
            Ok(count) => count,
            Err(nix::errno::Errno::EINTR) => 0,
            Err(error) => return Err(error.into()),
        };
        for event in &events[..count] {
            let token = event.data();
            match token {
                TOKEN_LISTENER => self.accept_all(),
                TOKEN_SIGNALS => self.take_signals(),
                TOKEN_NET => self.attend(),
                token if token & TOKEN_CLIENT != 0 => self.client_rang(ClientId(token as u32)),
                token => self.proceed(token as u32 as usize),
            }
        }
        self.drop_late_arrivals();
        self.network_clock();
        Ok(())
    }

    fn take_signals(&mut self) {
        while let Ok(Some(info)) = self.signals.read_signal() {
            match Signal::try_from(info.ssi_signo as i32) {
                Ok(Signal::SIGHUP) => self.reread(),
                Ok(Signal::SIGUSR1 | Signal::SIGUSR2) => self.tell_counters(),
                other => {
                    let name = other.map_or("signal", Signal::as_str);
                    let text = format!("Node was shut down by a signal ({name})");
                    self.around.log(LogLevel::Notice, "MAIN", &text);
                    self.stop = true;
                }
            }
        }
    }

    /// New rules are for those who connect from now on, as in the original.
    fn reread(&mut self) {
        if let Some(access) = self.around.reread() {
            self.access = access;
        }
        if let Some(network) = &mut self.network {
            network.net.reread(Instant::now());
        }
    }

    fn tell_counters(&mut self) {
        let counters = &self.clients.counters;
        let text = format!(
            "{} clients; since start: {} connected, {} requests, {} events, {} times held back for a slow member, \
             {} closed for not reading, {} for what they sent",
            self.clients.len(),
            counters.connected,
            counters.requests,
            counters.events,
            counters.held,
            counters.closed_slow,
            counters.closed_bad
        );
        self.around.log(LogLevel::Notice, "MAIN", &text);
        self.tell_network_counters();
    }

    fn client_rang(&mut self, id: ClientId) {
        let Some(client) = self.clients.get(id) else { return };
        match client.link.answer_bell() {
            Bell::HungUp => self.gone(id),
            Bell::Rung | Bell::Quiet => {
                self.neighbour.rung_from(client.link.processor());
                if client.has_backlog() {
                    self.clients.move_backlog(id);
                    self.clients.flush();
                }
                self.activate(id);
            }
        }
    }

    /// A client's process is gone, or it closed: what it sent before is still taken.
    fn gone(&mut self, id: ClientId) {
        self.active.retain(|(active, _)| *active != id);
        if let Some(client) = self.clients.get(id) {
            // Else it would be reported gone again and again.
            let _watched = self.epoll.delete(client.link.socket());
        }
        let turns = self.clients.limits().ring_size / TURN_LEAST + 1;
        self.leaving.push(Leaving { client: id, turns, until: Instant::now() + LEAVING_MAX });
        self.serve_leaving();
    }

    fn serve_leaving(&mut self) {
        let mut at = 0;
        while at < self.leaving.len() {
            let now = self.now();
            let leaving = &mut self.leaving[at];
            let id = leaving.client;
            match serve(id, &mut self.clients, &mut self.node, &mut self.scratch, now) {
                Served::Some if leaving.turns > 0 => leaving.turns -= 1,
                Served::Full { .. } | Served::Held { .. } if now.system < leaving.until => at += 1,
                _ => self.forget(id),
            }
        }
    }

    fn close_marked(&mut self) {
        while let Some((id, reason)) = self.clients.next_closing() {
            if let Some(client) = self.clients.get(id) {
                client.link.mark_closed();
                let text = format!("Connection of process {} closed: {reason}", client.peer_pid);
                self.around.log(LogLevel::Warning, "IPC", &text);
            }
            self.forget(id);
        }
    }

    fn forget(&mut self, id: ClientId) {
        self.active.retain(|(active, _)| *active != id);
        self.leaving.retain(|leaving| leaving.client != id);
        drop(self.clients.remove(id));
        self.input(Input::Disconnect { client: id });
        self.clients.flush();
    }
}
