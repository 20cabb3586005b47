//! The one loop that owns all protocol state and the only place that waits.
//!
//! A turn serves every active client for a bounded number of requests, then makes what was
//! delivered visible, ringing each client at most once. Without work it spins as long as that
//! has paid off lately, then announces to every client that it sleeps and waits for a
//! doorbell, a signal, a new client or a deadline. Idle it uses no processor time at all.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use evensong_core::ids::ClientId;
use evensong_core::input::Input;
use evensong_core::node::Node;
use evensong_core::output::LogLevel;
use evensong_core::time::Instant as CoreInstant;
use evensong_ring::Body;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;

use crate::ipc::{
    serve, Access, Admitted, Arrival, Bell, Clients, Link, Listener, Now, Progress, Scratch, Served, TURN_LEAST,
};

/// Turns between two looks at the descriptors while there is work.
const TURNS_PER_LOOK: u32 = 64;
/// Turns without a request after which a client is no longer looked at every turn.
const IDLE_TURNS: u32 = 512;
/// How soon the loop looks again while a member lags.
const LAG_LOOK: Duration = Duration::from_millis(5);
/// Most events taken from one look at the descriptors.
const EVENTS_MAX: usize = 64;
/// Least time that the loop spins for the next request.
const SPIN_MIN: Duration = Duration::from_micros(1);
/// Lines about refused connections in a second; further ones are counted.
const REFUSALS_LOGGED: u32 = 5;

const TOKEN_LISTENER: u64 = 0;
const TOKEN_SIGNALS: u64 = 1;
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
    scratch: Scratch,
    around: S,
    epoch: Instant,
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
        around: S,
    ) -> io::Result<EventLoop<S>> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(listener.socket(), EpollEvent::new(EpollFlags::EPOLLIN, TOKEN_LISTENER))?;
        epoll.add(&signals, EpollEvent::new(EpollFlags::EPOLLIN, TOKEN_SIGNALS))?;
        let now = Instant::now();
        Ok(EventLoop {
            spin: clients.limits().spin_max,
            node,
            clients,
            access,
            listener,
            signals,
            epoll,
            arrivals: Vec::new(),
            active: Vec::new(),
            scratch: Scratch::default(),
            around,
            epoch: now,
            refusals: (now, 0, 0),
            stop: false,
        })
    }

    /// Runs until a signal asks to stop, then leaves in order.
    pub fn run(&mut self) -> io::Result<()> {
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
            if !self.spin_for_work() {
                self.sleep()?;
            }
        }
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
        self.clients.carry_out(&mut self.node, Body::of_slice(&[]), &mut self.scratch.log);
        if let Some(seq) = self.clients.ring_seq.take() {
            self.around.store_ring_seq(seq);
        }
        self.write_log();
    }

    fn write_log(&mut self) {
        for event in self.scratch.log.drain(..) {
            self.around.log(event.level, event.subsystem, &event.text);
        }
    }

    /// Serves every active client once; whether anything was done.
    fn turn(&mut self) -> bool {
        let now = self.now();
        let mut worked = false;
        let mut at = 0;
        while at < self.active.len() {
            let (id, idle) = self.active[at];
            let served = serve(id, &mut self.clients, &mut self.node, &mut self.scratch, now);
            self.clients.flush();
            let took = matches!(served, Served::Some | Served::Held { taken: true });
            worked |= took;
            self.active[at].1 = if took || served != Served::Nothing { 0 } else { idle + 1 };
            if self.active[at].1 > IDLE_TURNS && self.fall_asleep(id) {
                self.active.swap_remove(at);
            } else {
                at += 1;
            }
        }
        if self.node.next_deadline().is_some_and(|deadline| deadline <= now.core) {
            self.input(Input::Tick);
        }
        if !self.scratch.log.is_empty() {
            self.write_log();
        }
        self.close_marked();
        worked
    }

    fn fall_asleep(&mut self, id: ClientId) -> bool {
        let Some(client) = self.clients.get(id) else { return true };
        let asleep = !client.held && client.link.fall_asleep();
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
    fn spin_for_work(&mut self) -> bool {
        let start = Instant::now();
        let limit = self.spin;
        if !self.active.iter().any(|(id, _)| self.clients.get(*id).is_some_and(|client| !client.held)) {
            return false;
        }
        loop {
            for _ in 0..16 {
                std::hint::spin_loop();
            }
            if self.anything_waits() {
                self.spin = (limit * 2).min(self.clients.limits().spin_max);
                return true;
            }
            if start.elapsed() >= limit {
                self.spin = (limit / 2).max(SPIN_MIN);
                return false;
            }
        }
    }

    fn anything_waits(&mut self) -> bool {
        let clients = &mut self.clients;
        self.active.iter().any(|(id, _)| {
            clients.get(*id).is_some_and(|client| !client.held && !matches!(client.link.next(), Ok(None)))
        })
    }

    /// Announces to all active clients that they must ring, then waits.
    fn sleep(&mut self) -> io::Result<()> {
        let mut awake = false;
        let mut at = 0;
        while at < self.active.len() {
            let id = self.active[at].0;
            let held = self.clients.get(id).is_some_and(|client| client.held);
            if self.fall_asleep(id) {
                self.active.swap_remove(at);
            } else {
                awake |= !held;
                at += 1;
            }
        }
        if awake {
            return self.look(Some(Duration::ZERO));
        }
        let mut wait = self.node.next_deadline().map(|deadline| {
            let now = self.now();
            Duration::from_nanos(deadline.since(now.core).0)
        });
        if self.clients.anyone_lags() || self.active.iter().any(|(id, _)| self.clients.get(*id).is_some()) {
            wait = Some(wait.map_or(LAG_LOOK, |wait| wait.min(LAG_LOOK)));
        }
        if self.arrivals.iter().any(Option::is_some) {
            wait = Some(wait.map_or(Duration::from_secs(1), |wait| wait.min(Duration::from_secs(1))));
        }
        self.look(wait)?;
        if self.clients.anyone_lags() {
            let now = self.now();
            self.clients.look_after_backlogs(now.system);
            self.clients.flush();
            self.close_marked();
        }
        Ok(())
    }

    /// Waits for descriptors, at most `wait` (`None`: for ever), and handles what they tell.
    fn look(&mut self, wait: Option<Duration>) -> io::Result<()> {
        let timeout = match wait {
            None => EpollTimeout::NONE,
            Some(wait) => {
                let ms = wait.as_nanos().div_ceil(1_000_000).min(60_000);
                EpollTimeout::try_from(ms as u64).unwrap_or(EpollTimeout::ZERO)
            }
        };
        let mut events = [EpollEvent::empty(); EVENTS_MAX];
        let count = match self.epoll.wait(&mut events, timeout) {
            Ok(count) => count,
            Err(nix::errno::Errno::EINTR) => 0,
            Err(error) => return Err(error.into()),
        };
        for event in &events[..count] {
            let token = event.data();
            match token {
                TOKEN_LISTENER => self.accept_all(),
                TOKEN_SIGNALS => self.take_signals(),
                token if token & TOKEN_CLIENT != 0 => self.client_rang(ClientId(token as u32)),
                token => self.proceed(token as u32 as usize),
            }
        }
        self.drop_late_arrivals();
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
    }

    fn accept_all(&mut self) {
        loop {
            let pending = self.arrivals.iter().flatten().count();
            match self.listener.accept(pending) {
                Ok(Some(arrival)) => {
                    let slot = self.arrivals.iter().position(Option::is_none).unwrap_or(self.arrivals.len());
                    let event = EpollEvent::new(EpollFlags::EPOLLIN, TOKEN_ARRIVAL | slot as u64);
                    if self.epoll.add(arrival.stream(), event).is_err() {
                        continue;
                    }
                    if slot == self.arrivals.len() {
                        self.arrivals.push(None);
                    }
                    self.arrivals[slot] = Some(arrival);
                    // The hello usually came with the connection.
                    self.proceed(slot);
                }
                Ok(None) => return,
                Err(error) => {
                    self.refused(&format!("Cannot accept a connection: {error}"));
                    return;
                }
            }
        }
    }

    fn proceed(&mut self, slot: usize) {
        let Some(Some(arrival)) = self.arrivals.get_mut(slot) else { return };
        let room = self.clients.has_room();
        let progress = arrival.proceed(&self.access, self.clients.limits(), room);
        if matches!(progress, Progress::Waiting) {
            return;
        }
        if let Some(arrival) = self.arrivals[slot].take() {
            // Not implied by closing it: the admitted client's descriptor is a duplicate.
            if let Err(error) = self.epoll.delete(arrival.stream()) {
                self.around.log(LogLevel::Warning, "IPC", &format!("Cannot stop watching a handshake: {error}"));
            }
        }
        match progress {
            Progress::Admitted(admitted) => self.admit(*admitted),
            Progress::Over(Some(text)) => self.refused(&text),
            Progress::Over(None) | Progress::Waiting => {}
        }
    }

    fn admit(&mut self, admitted: Admitted) {
        let (service, pid, peer_pid) = (admitted.service, admitted.pid, admitted.peer_pid);
        let link = Link::new(admitted.socket, admitted.memory);
        let id = self.clients.add(link, service, peer_pid);
        let Some(client) = self.clients.get(id) else { return };
        let event = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP, TOKEN_CLIENT | u64::from(id.0));
        if let Err(error) = self.epoll.add(client.link.socket().as_fd(), event) {
            self.clients.remove(id);
            return self.refused(&format!("Cannot watch the connection of process {peer_pid}: {error}"));
        }
        self.input(Input::Connect { client: id, service, pid });
        self.clients.flush();
        self.activate(id);
    }

    /// Logs a refusal, at most a few lines a second.
    fn refused(&mut self, text: &str) {
        let now = Instant::now();
        if now.duration_since(self.refusals.0) >= Duration::from_secs(1) {
            if self.refusals.2 > 0 {
                let more = format!("{} further connections were refused", self.refusals.2);
                self.around.log(LogLevel::Warning, "IPC", &more);
            }
            self.refusals = (now, 0, 0);
        }
        if self.refusals.1 < REFUSALS_LOGGED {
            self.refusals.1 += 1;
            self.around.log(LogLevel::Error, "IPC", text);
        } else {
            self.refusals.2 += 1;
        }
    }

    fn drop_late_arrivals(&mut self) {
        if self.arrivals.iter().all(Option::is_none) {
            return;
        }
        let now = Instant::now();
        for slot in &mut self.arrivals {
            if slot.as_ref().is_some_and(|arrival| arrival.is_late(now)) {
                *slot = None;
            }
        }
    }

    fn client_rang(&mut self, id: ClientId) {
        let Some(client) = self.clients.get(id) else { return };
        match client.link.answer_bell() {
            Bell::HungUp => self.gone(id),
            Bell::Rung | Bell::Quiet => {
                if client.has_backlog() {
                    self.clients.move_backlog(id);
                    self.clients.flush();
                }
                self.activate(id);
            }
        }
    }

    /// A client's process is gone, or it closed: what it sent before is still taken, but no more
    /// than its ring holds. Who only shut the socket could go on writing for ever.
    fn gone(&mut self, id: ClientId) {
        let now = self.now();
        for _ in 0..=self.clients.limits().ring_size / TURN_LEAST {
            if serve(id, &mut self.clients, &mut self.node, &mut self.scratch, now) != Served::Some {
                break;
            }
        }
        self.forget(id);
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
        drop(self.clients.remove(id));
        self.input(Input::Disconnect { client: id });
        self.clients.flush();
    }
}
