//! The world: hosts, network, time. Takes events off the queue, feeds the nodes, carries out
//! what they ask for and shows it to the checkers.

use bytes::Bytes;
use evensong_core::config::{NodeConfig, TotemConfig};
use evensong_core::ids::{LinkId, NodeId};
use evensong_core::input::{Input, Payload};
use evensong_core::node::Node;
use evensong_core::output::Output;
use evensong_core::time::Instant;

use crate::check::{Checker, Property, Wrong};
use crate::clients::Client;
use crate::faults::{Fault, Moment, Strike, Trap};
use crate::host::{Clock, Daemon, Host, INBOX, NEVER};
use crate::network::Network;
use crate::options::Options;
use crate::queue::{Event, Queue};
use crate::rng::Rng;
use crate::trace::{hash, Trace};

/// Ticks at one instant after which a node counts as spinning.
const SPINNING: u32 = 10_000;

/// A run under way.
#[derive(Debug)]
pub struct World {
    /// What it is like.
    pub options: Options,
    /// Timers of all nodes.
    pub totem: TotemConfig,
    /// Nanoseconds since the beginning.
    pub now: u64,
    /// What will happen.
    pub queue: Queue,
    /// The machines.
    pub hosts: Vec<Host>,
    /// What connects them.
    pub network: Network,
    /// Who watches.
    pub checker: Checker,
    /// All clients that there ever were.
    pub clients: Vec<Client>,
    /// Chance of faults.
    pub faults_rng: Rng,
    /// Chance of clients.
    pub clients_rng: Rng,
    /// Faults are over.
    pub calm: bool,
    /// Clients send and leave no more.
    pub quiet: bool,
    /// Counts cuts, so that a heal belongs to one.
    pub cut_number: u32,
    /// What happened.
    pub trace: Trace,
    /// Events so far.
    pub events: u64,
    /// Number of events after which nothing more happens.
    pub events_end: u64,
    /// Daemons started and ended in whatever way.
    pub lives: u64,
    /// The first broken promise.
    pub wrong: Option<Box<Wrong>>,
    /// Bytes of the message that is sent now, and their name.
    pub scratch: (u64, Vec<u8>),
    /// The answer that came last, and for whom.
    pub answer: Option<(u32, u32)>,
    /// A host that asked to be stopped.
    shut_down: Option<usize>,
    same_instant: u32,
}

impl World {
    /// A world in which nothing has happened.
    pub fn new(options: Options, trace_lines: usize) -> World {
        let seed = options.seed;
        let rng = &mut Rng::new(seed, 2);
        let drift = options.drift as i64;
        let hosts: Vec<Host> = options
            .ids
            .iter()
            .enumerate()
            .map(|(at, id)| {
                let gains = rng.between(0, 2 * options.drift) as i64 - drift;
                let clock = Clock { offset: 1_000_000_000 + rng.below(1 << 50), gains };
                let slow = if at < options.slow_hosts { options.slow } else { 0 };
                Host::new(NodeId(*id), clock, slow)
            })
            .collect();
        let mut network = Network::new(hosts.len(), options.link, Rng::new(seed, 3));
        for _ in 0..options.bad_links {
            let (a, b) = (rng.index(hosts.len()), rng.index(hosts.len()));
            network.link_mut(a, b).loss = options.bad_loss;
        }
        let mut world = World {
            totem: TotemConfig::derive(&options.totem, hosts.len()),
            now: 0,
            queue: Queue::default(),
            network,
            checker: Checker::new(&options.ids, options.load.groups, options.honour_safe, options.wiped > 0),
            clients: Vec::new(),
            faults_rng: Rng::new(seed, 4),
            clients_rng: Rng::new(seed, 5),
            calm: options.fault_every == 0,
            quiet: false,
            cut_number: 0,
            trace: Trace::new(trace_lines),
            events: 0,
            events_end: u64::MAX,
            lives: 0,
            wrong: None,
            scratch: (0, Vec::new()),
            answer: None,
            shut_down: None,
            same_instant: 0,
            hosts,
            options,
        };
        for host in 0..world.hosts.len() {
            let at = rng.below(world.options.late_start + 1);
            world.queue.push(at, Event::Start { host, life: 0 });
        }
        if world.options.fault_every > 0 && !world.options.faults.is_empty() {
            let at = rng.around(world.options.fault_every);
            world.queue.push(at, Event::Fault(Fault::Random));
        }
        world
    }

    /// Adds a line to the trace.
    pub fn note(&mut self, text: &str) {
        self.trace.line(self.now, text);
    }

    /// Lets time pass until `until`, or until something is wrong.
    pub fn run_until(&mut self, until: u64) {
        while self.wrong.is_none() && self.events < self.events_end {
            let Some((at, event)) = self.queue.pop(until) else {
                self.now = self.now.max(until);
                return;
            };
            if at > self.now {
                self.same_instant = 0;
            }
            self.now = at;
            self.events += 1;
            self.on_event(event);
        }
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Packet { host, frame } => self.on_packet(host, frame),
            Event::Tick { host, life } => {
                if self.hosts[host].life == life {
                    self.on_tick(host);
                }
            }
            Event::Run { host, life } => {
                if self.hosts[host].life == life {
                    self.on_run(host);
                }
            }
            Event::Client { client } => self.on_client(client),
            Event::Fault(fault) => self.on_fault(fault),
            Event::Start { host, life } => {
                if self.hosts[host].life == life {
                    self.start(host);
                }
            }
        }
    }

    fn on_packet(&mut self, at: usize, frame: Bytes) {
        let host = &mut self.hosts[at];
        if host.daemon.is_none() {
            return;
        }
        if host.busy_until <= self.now && host.inbox.is_empty() && host.slow == 0 {
            self.feed(at, Input::Packet { link: LinkId(0), bytes: frame });
            return;
        }
        if host.inbox_bytes + frame.len() <= INBOX {
            host.inbox_bytes += frame.len();
            host.inbox.push_back(frame);
        }
        self.run_later(at);
    }

    /// The daemon will look at what arrived when it has time.
    fn run_later(&mut self, at: usize) {
        let host = &mut self.hosts[at];
        if !host.run_due {
            host.run_due = true;
            self.queue.push(host.busy_until.max(self.now), Event::Run { host: at, life: host.life });
        }
    }

    fn on_run(&mut self, at: usize) {
        self.hosts[at].run_due = false;
        if self.hosts[at].busy_until > self.now {
            return self.run_later(at);
        }
        while self.hosts[at].busy_until <= self.now && self.wrong.is_none() {
            let host = &mut self.hosts[at];
            let Some(frame) = host.inbox.pop_front() else { return };
            host.inbox_bytes -= frame.len();
            if host.slow > 0 {
                host.busy_until = self.now + host.slow;
            }
            self.feed(at, Input::Packet { link: LinkId(0), bytes: frame });
        }
        if !self.hosts[at].inbox.is_empty() {
            self.run_later(at);
        }
    }

    fn on_tick(&mut self, at: usize) {
        let host = &mut self.hosts[at];
        let Some(daemon) = &mut host.daemon else { return };
        if daemon.tick_at != self.now {
            return;
        }
        daemon.tick_at = NEVER;
        if host.busy_until > self.now {
            daemon.tick_at = host.busy_until;
            self.queue.push(host.busy_until, Event::Tick { host: at, life: host.life });
            return;
        }
        let due = daemon.node.next_deadline().is_some_and(|deadline| host.clock.local(self.now) >= deadline.0);
        if !due {
            return self.plan_tick(at);
        }
        self.same_instant += 1;
        if self.same_instant > SPINNING {
            let text = format!("node {} asks for ticks without end", self.hosts[at].id.0);
            self.wrong = Some(Box::new(Wrong { property: Property::Liveness, text }));
            return;
        }
        self.feed(at, Input::Tick);
    }

    fn plan_tick(&mut self, at: usize) {
        let host = &mut self.hosts[at];
        let Some(daemon) = &mut host.daemon else { return };
        let Some(deadline) = daemon.node.next_deadline() else { return };
        let when = host.clock.instant(deadline.0).max(self.now);
        if when < daemon.tick_at {
            daemon.tick_at = when;
            self.queue.push(when, Event::Tick { host: at, life: host.life });
        }
    }

    /// Gives an input to a node and carries out everything it asks for.
    pub fn feed(&mut self, at: usize, input: Input) {
        let host = &mut self.hosts[at];
        let Some(daemon) = &mut host.daemon else { return };
        let local = host.clock.local(self.now);
        if self.trace.speaks() {
            let text = format!("{}: {}", host.id.0, crate::words::input(&input));
            self.trace.line(self.now, &text);
        }
        self.trace.step(self.now, at as u64);
        daemon.node.handle(input, Instant(local));
        // every time would cost more than the run itself where much is under way
        if self.events.is_multiple_of(8) || self.options.ids.len() < 3 {
            daemon.node.check();
        }
        while let Some(output) = self.hosts[at].daemon.as_mut().and_then(|daemon| daemon.node.poll_output()) {
            self.carry_out(at, output);
            if self.wrong.is_some() {
                return;
            }
        }
        if self.hosts[at].daemon.is_none() {
            return;
        }
        if let Err(wrong) = self.checker.drained(at) {
            self.wrong = Some(wrong);
        }
        self.plan_tick(at);
        self.wake_clients(at);
        if self.shut_down.take() == Some(at) {
            self.stop(at);
        }
    }

    fn wake_clients(&mut self, at: usize) {
        let Some(daemon) = &mut self.hosts[at].daemon else { return };
        if !daemon.waiting.is_empty() && daemon.node.has_room() {
            for client in daemon.waiting.drain(..) {
                self.queue.push(self.now, Event::Client { client });
            }
        }
    }

    fn carry_out(&mut self, at: usize, output: Output) {
        let Some(mut trap) = self.hosts[at].trap else { return self.do_output(at, output) };
        let springs = trap.springs(&output);
        self.hosts[at].trap = Some(trap);
        if !springs {
            return self.do_output(at, output);
        }
        self.hosts[at].trap = None;
        let before = matches!(trap.moment, Moment::BeforeStore);
        if !before {
            self.do_output(at, output);
            self.strike(at, trap);
        } else {
            self.strike(at, trap);
            self.do_output(at, output);
        }
    }

    fn strike(&mut self, at: usize, trap: Trap) {
        let lasts = self.faults_rng.below(self.options.outage.max(1)) + 1_000_000;
        self.note(&format!("trap on node {}: {trap:?}", self.hosts[at].id.0));
        match trap.strike {
            Strike::Crash => {
                if self.crash(at) {
                    self.start_later(at, lasts);
                }
            }
            Strike::Isolate => self.isolate(at, lasts),
            Strike::Pause => self.pause(at, lasts),
        }
    }

    fn do_output(&mut self, at: usize, output: Output) {
        let World { hosts, network, queue, checker, trace, .. } = self;
        let host = &mut hosts[at];
        let Some(daemon) = &host.daemon else { return };
        let scratch = &self.scratch;
        let bytes = |payload: Payload| match payload {
            Payload::Caller { key, len } => {
                assert_eq!((key, len as usize), (scratch.0, scratch.1.len()), "the bytes of the last request");
                &scratch.1[..]
            }
            Payload::Frame { .. } => daemon.node.payload(payload),
        };
        if trace.speaks() {
            if let Some(text) = crate::words::output(&output, bytes) {
                trace.line(self.now, &format!("{}: -> {text}", host.id.0));
            }
        }
        let number = |client: evensong_core::ids::ClientId| daemon.clients[client.0 as usize - 1];
        let checked = match output {
            Output::Send { to, frame, .. } => {
                trace.step(hash(&frame), u64::from(to.0));
                let now = self.now.max(host.busy_until);
                for (other, id) in self.options.ids.iter().enumerate() {
                    if other != at && (to.0 == 0 || to.0 == *id) {
                        network.send(queue, now, at, other, &frame);
                    }
                }
                checker.on_frame(at, to, &frame)
            }
            Output::StoreRingSeq { seq } => {
                host.stored = seq;
                if self.options.store > 0 && !self.calm {
                    host.busy_until = self.now + self.faults_rng.below(self.options.store);
                }
                Ok(())
            }
            Output::Reply { client, reply } => {
                self.answer = Some((number(client), reply.error));
                if let evensong_core::output::ReplyBody::CpgMembership(members) = reply.body {
                    self.clients[number(client) as usize].membership =
                        members.iter().map(|member| (member.node, member.pid)).collect();
                }
                Ok(())
            }
            Output::CpgDeliver { to, node, pid, payload } => {
                checker.on_cpg(at, number(to), (node, pid), bytes(payload))
            }
            Output::CpgPartialDeliver { to, node, pid, payload, .. } => {
                checker.on_cpg(at, number(to), (node, pid), bytes(payload))
            }
            Output::EvsDeliver { to, node, payload } => checker.on_evs(at, number(to), node, bytes(payload)),
            Output::CpgConfchg { to, change } => checker.on_change(at, number(to), &change),
            Output::CpgTotemConfchg { to, change } => checker.on_ring(at, number(to), &change),
            Output::EvsConfchg { to, change } => {
                let client = number(to);
                if client == checker.views[at].observer {
                    checker.on_config(at, &change)
                } else {
                    checker.on_evs_config(at, client, &change)
                }
            }
            Output::Shutdown { .. } => {
                self.shut_down = Some(at);
                Ok(())
            }
            Output::Log(_) => Ok(()),
        };
        if let Err(wrong) = checked {
            self.wrong = Some(wrong);
        }
    }

    /// Starts a daemon, if none runs.
    pub fn start(&mut self, at: usize) {
        if self.hosts[at].daemon.is_some() {
            return;
        }
        self.lives += 1;
        let wiped = self.faults_rng.chance(self.options.wiped) && self.is_forgotten(at);
        let mut nodes: Vec<NodeId> = self.options.ids.iter().copied().map(NodeId).collect();
        nodes.sort_unstable();
        let host = &mut self.hosts[at];
        if wiped {
            host.stored = 0;
        }
        host.life += 1;
        host.busy_until = self.now;
        host.trap = None;
        host.returns = true;
        let text = format!("node {} starts, ring number {}", host.id.0, host.stored);
        let config = NodeConfig {
            node: host.id,
            cluster_name: "sim".to_owned(),
            nodes,
            last_ring_seq: host.stored,
            frame_size: self.options.frame_size,
            honour_safe: self.options.honour_safe,
            always_frame: self.options.always_frame,
            config_version: 0,
            seed: crate::rng::mix(self.options.seed ^ u64::from(host.life) << 32 ^ at as u64),
            totem: self.totem,
        };
        #[cfg_attr(not(feature = "mutation"), allow(unused_mut))]
        let mut node = Node::new(config);
        #[cfg(feature = "mutation")]
        if let Some(rule) = self.options.rule_off {
            node.switch_off(rule);
        }
        host.daemon = Some(Box::new(Daemon { node, tick_at: NEVER, clients: Vec::new(), waiting: Vec::new() }));
        self.checker.start(at, host.life, host.stored);
        self.note(&text);
        self.connect_observers(at);
        self.feed(at, Input::Start);
        self.connect_clients(at);
    }

    /// Whether nobody is in a ring with this host any more, so that it may lose its number.
    fn is_forgotten(&self, at: usize) -> bool {
        let id = self.hosts[at].id;
        self.checker.views.iter().filter(|view| view.alive).all(|view| {
            view.config.is_none_or(|config| !self.checker.configs[config].members.contains(&id)) && view.synced
        })
    }

    /// Kills a daemon; false if none runs.
    pub fn crash(&mut self, at: usize) -> bool {
        if self.hosts[at].daemon.is_none() {
            return false;
        }
        self.note(&format!("node {} dies", self.hosts[at].id.0));
        self.end(at);
        true
    }

    /// Stops a daemon in order: it says good-bye. False if none runs.
    pub fn stop(&mut self, at: usize) -> bool {
        if self.hosts[at].daemon.is_none() {
            return false;
        }
        self.note(&format!("node {} stops", self.hosts[at].id.0));
        self.feed(at, Input::Stop);
        if self.hosts[at].daemon.is_some() {
            self.end(at);
        }
        true
    }

    fn end(&mut self, at: usize) {
        let host = &mut self.hosts[at];
        host.daemon = None;
        host.inbox.clear();
        host.inbox_bytes = 0;
        host.run_due = false;
        host.life += 1;
        self.checker.end(at);
    }

    /// A daemon that does not run is started after a while; one in a few only when the faults
    /// are over, or never.
    pub fn start_later(&mut self, at: usize, wait: u64) {
        if self.faults_rng.one_in(6) {
            self.hosts[at].returns = false;
        } else {
            self.queue.push(self.now + wait, Event::Start { host: at, life: self.hosts[at].life });
        }
    }

    /// A daemon stands still for a while.
    pub fn pause(&mut self, at: usize, lasts: u64) {
        let until = self.now + lasts;
        let host = &mut self.hosts[at];
        if host.daemon.is_some() && host.busy_until < until {
            host.busy_until = until;
            let text = format!("node {} stands still for {} ms", host.id.0, lasts / 1_000_000);
            self.note(&text);
        }
    }

    /// Sets a trap.
    pub fn set_trap(&mut self, at: usize, trap: Trap) {
        if self.hosts[at].daemon.is_some() {
            self.hosts[at].trap = Some(trap);
        }
    }

    /// Faults end: everyone reaches everyone, nothing is lost, most daemons that were down
    /// are started.
    pub fn calm_down(&mut self) {
        self.note("the faults are over");
        self.calm = true;
        self.network.heal();
        self.network.for_all(|link| {
            *link = crate::network::Link { delay: link.delay, jitter: link.jitter, ..Default::default() };
        });
        for at in 0..self.hosts.len() {
            self.hosts[at].trap = None;
            self.hosts[at].busy_until = self.hosts[at].busy_until.min(self.now);
            if self.hosts[at].daemon.is_none() && (self.hosts[at].returns || self.faults_rng.one_in(2)) {
                self.queue.push(self.now, Event::Start { host: at, life: self.hosts[at].life });
            }
        }
    }
}
