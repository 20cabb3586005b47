//! Programs on the hosts: they connect, join, send, leave, die.
//!
//! A program connects once the services of its node have agreed for the first time, as a
//! daemon lets it. It goes by its node's room as the daemon does: what it sends was taken.

use evensong_core::ids::{ClientId, EvsGroup, GroupName, NodeId};
use evensong_core::input::{Guarantee, Input, Part, Payload, Placement, Request};
use evensong_core::ipc::Service;

use crate::check::{Property, Wrong};
use crate::payload::NUMBERED;
use crate::queue::Event;
use crate::world::World;

const MILLI: u64 = 1_000_000;
/// Groups that evs clients are in, one bit each; the observer is in all.
const EVS_GROUPS: u8 = 4;
/// Answers that a client counts on, values of `cs_error_t`.
const OK: u32 = 1;
const TRY_AGAIN: u32 = 6;
const INTERRUPT: u32 = 16;

/// How far a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not connected yet.
    New,
    /// Connected, in no group.
    Connected,
    /// Its join was taken.
    Joining,
    /// In its group.
    Member,
    /// Its leave was taken.
    Leaving,
    /// Gone.
    Gone,
}

/// A program.
#[derive(Clone, Debug)]
pub struct Client {
    /// Its host.
    pub host: usize,
    /// Which of the host's lives.
    pub life: u32,
    /// Its number on its node; 0 before it connects.
    pub id: ClientId,
    /// 0: evs, else the number of its cpg group.
    pub channel: usize,
    /// Its process id.
    pub pid: u32,
    /// Groups of an evs client, one bit each.
    pub groups: u8,
    /// How far it is.
    pub state: State,
    /// Pieces of its long message that are still to be sent, and its length.
    pieces: (u32, u32),
    /// When it goes.
    goes: u64,
    /// The list it asked for last.
    pub membership: Vec<(NodeId, u32)>,
}

/// Name of a cpg group.
pub fn group_name(channel: usize) -> GroupName {
    let name = if channel == 2 { vec![b'x'; 128] } else { format!("group {channel}").into_bytes() };
    GroupName::new(&name).expect("short enough")
}

/// The evs groups of a set of bits.
fn evs_groups(bits: u8) -> Vec<EvsGroup> {
    (0..EVS_GROUPS).filter(|bit| bits & 1 << bit != 0).map(|bit| EvsGroup([bit + 1; 32])).collect()
}

impl World {
    fn add_client(&mut self, at: usize, channel: usize, groups: u8) -> usize {
        let host = &mut self.hosts[at];
        let pid = host.next_pid;
        host.next_pid += 1;
        let number = self.checker.connect(at, pid, channel, groups) as usize;
        let life = self.options.load.life;
        let goes = if life == 0 { u64::MAX } else { self.now + self.clients_rng.around(life) };
        self.clients.push(Client {
            host: at,
            life: host.life,
            id: ClientId(0),
            channel,
            pid,
            groups,
            state: State::New,
            pieces: (0, 0),
            goes,
            membership: Vec::new(),
        });
        debug_assert_eq!(number + 1, self.clients.len());
        number
    }

    fn connect(&mut self, client: usize, service: Service) {
        let at = self.clients[client].host;
        let Some(daemon) = &mut self.hosts[at].daemon else { return };
        daemon.clients.push(client as u32);
        let id = ClientId(daemon.clients.len() as u32);
        self.clients[client].id = id;
        self.clients[client].state = State::Connected;
        let pid = self.clients[client].pid;
        self.feed(at, Input::Connect { client: id, service, pid });
    }

    /// The clients of the checkers, connected before the node starts.
    pub fn connect_observers(&mut self, at: usize) {
        let all = (1 << EVS_GROUPS) - 1;
        let evs = self.add_client(at, 0, all);
        self.checker.views[at].observer = evs as u32;
        self.connect(evs, Service::Evs);
        self.ask(evs, Request::EvsJoin { groups: evs_groups(all) });
        self.clients[evs].state = State::Member;
        let cpg = self.add_client(at, 1, 0);
        self.checker.views[at].cpg_observer = cpg as u32;
        self.connect(cpg, Service::Cpg);
    }

    /// The clients that make the load; they come one by one.
    pub fn connect_clients(&mut self, at: usize) {
        for _ in 0..self.options.load.cpg {
            let channel = 1 + self.clients_rng.index(self.options.load.groups);
            self.come(at, channel, 0);
        }
        for _ in 0..self.options.load.evs {
            let groups = self.clients_rng.between(1, (1 << EVS_GROUPS) - 1) as u8;
            self.come(at, 0, groups);
        }
    }

    fn come(&mut self, at: usize, channel: usize, groups: u8) {
        let client = self.add_client(at, channel, groups);
        let wait = self.clients_rng.below(20 * MILLI);
        self.queue.push(self.now + wait, Event::Client { client });
    }

    /// A client acts.
    pub fn on_client(&mut self, client: usize) {
        let Client { host: at, life, state, .. } = self.clients[client];
        let host = &self.hosts[at];
        if host.life != life || host.daemon.is_none() {
            self.clients[client].state = State::Gone;
            return;
        }
        if host.busy_until > self.now {
            self.queue.push(host.busy_until, Event::Client { client });
            return;
        }
        match state {
            State::New if self.checker.views[at].synced => {
                let evs = self.clients[client].channel == 0;
                self.connect(client, if evs { Service::Evs } else { Service::Cpg });
                self.act_later(client, 1);
            }
            State::New => self.act_later(client, 5 * MILLI),
            State::Connected => self.join(client),
            State::Joining => {
                if self.checker.stream(client as u32).is_some() {
                    self.clients[client].state = State::Member;
                } else if self.clients_rng.one_in(4) {
                    self.send_burst(client, false);
                }
                self.act_later(client, MILLI);
            }
            State::Member => self.act(client),
            State::Leaving => {
                let left = self.checker.views[at].members.iter().all(|other| *other as usize != client);
                if left {
                    self.disconnect(client);
                } else {
                    self.act_later(client, MILLI);
                }
            }
            State::Gone => {}
        }
    }

    fn act_later(&mut self, client: usize, wait: u64) {
        self.queue.push(self.now + wait, Event::Client { client });
    }

    /// Asks and gets the answer at once, as all synchronous requests are answered.
    fn ask(&mut self, client: usize, request: Request) -> u32 {
        let Client { host, id, .. } = self.clients[client];
        self.answer = None;
        self.feed(host, Input::Request { client: id, request });
        match self.answer {
            Some((who, error)) if who as usize == client => error,
            // the host died meanwhile, or something is wrong anyway
            _ => TRY_AGAIN,
        }
    }

    fn join(&mut self, client: usize) {
        let Client { host: at, channel, pid, groups, .. } = self.clients[client];
        if channel == 0 {
            if !self.checker.senders[client].told {
                self.complain(Property::EvsClients, format!("client {client} was told of no configuration"));
                return;
            }
            self.ask(client, Request::EvsJoin { groups: evs_groups(groups) });
            self.checker.views[at].evs_clients.push(client as u32);
            self.clients[client].state = State::Member;
            return self.act_later(client, MILLI);
        }
        match self.ask(client, Request::CpgJoin { pid, group: Box::new(group_name(channel)), flags: 0 }) {
            OK => self.clients[client].state = State::Joining,
            TRY_AGAIN => {}
            error => self.complain(Property::Groups, format!("a join is answered {error}")),
        }
        let wait = self.clients_rng.between(1, 3) * MILLI;
        self.act_later(client, wait);
    }

    fn complain(&mut self, property: Property, text: String) {
        if self.wrong.is_none() {
            self.wrong = Some(Box::new(Wrong { property, text }));
        }
    }

    fn act(&mut self, client: usize) {
        if self.quiet && self.clients[client].pieces.0 == 0 {
            return;
        }
        if self.now >= self.clients[client].goes && !self.quiet {
            return self.go(client);
        }
        if self.send_burst(client, true) {
            let wait = self.clients_rng.around(self.options.load.think) + 1;
            self.act_later(client, wait);
        }
    }

    /// Leaves in order, or just goes; another one comes in its place.
    fn go(&mut self, client: usize) {
        let Client { host: at, channel, pid, groups, .. } = self.clients[client];
        if channel != 0 && self.clients_rng.one_in(2) {
            self.checker.senders[client].leaves = true;
            if self.ask(client, Request::CpgLeave { pid, group: Box::new(group_name(channel)) }) == OK {
                self.clients[client].state = State::Leaving;
            } else {
                self.checker.senders[client].leaves = false;
            }
            self.act_later(client, MILLI);
        } else {
            self.disconnect(client);
        }
        if self.clients[client].state != State::Member {
            self.come(at, channel, groups);
        }
    }

    fn disconnect(&mut self, client: usize) {
        let Client { host, id, channel, .. } = self.clients[client];
        if channel != 0 && self.clients_rng.one_in(3) {
            self.ask(client, Request::CpgFinalize);
        }
        self.clients[client].state = State::Gone;
        self.checker.disconnect(client as u32);
        self.feed(host, Input::Disconnect { client: id });
    }

    /// Sends some messages; false when there is no room, and the client is called when there is.
    fn send_burst(&mut self, client: usize, waits: bool) -> bool {
        let messages = self.clients_rng.between(1, self.options.load.burst);
        for _ in 0..messages {
            let Client { host: at, life, .. } = self.clients[client];
            let host = &mut self.hosts[at];
            let Some(daemon) = host.daemon.as_mut().filter(|_| host.life == life && self.wrong.is_none()) else {
                return true;
            };
            if !daemon.node.has_room() {
                if waits {
                    daemon.waiting.push(client);
                }
                return !waits;
            }
            if host.busy_until > self.now {
                return true;
            }
            self.send(client);
        }
        true
    }

    fn length(&mut self) -> u32 {
        let load = &self.options.load;
        let rng = &mut self.clients_rng;
        if rng.chance(load.long) {
            return rng.between(NUMBERED as u64, load.longest) as u32;
        }
        match rng.below(40) {
            0 => rng.below(NUMBERED as u64) as u32,
            1 => rng.between(1000, 1600).min(load.longest) as u32,
            _ => rng.between(NUMBERED as u64, 100) as u32,
        }
    }

    fn send(&mut self, client: usize) {
        let channel = self.clients[client].channel;
        let len = self.length();
        let safe = self.clients_rng.chance(self.options.load.safe);
        let guarantee = if safe { Guarantee::Safe } else { Guarantee::Agreed };
        if channel != 0 {
            let (left, _) = self.clients[client].pieces;
            if left > 0 || self.clients_rng.chance(self.options.load.partial) {
                return self.send_piece(client, guarantee, safe);
            }
            self.put(client, len, 0, safe, |payload| Request::CpgMcast { guarantee, payload });
            return;
        }
        let own = self.clients[client].groups;
        if self.clients_rng.one_in(2) {
            // a short message cannot tell its groups: the checkers take it for one to the first
            let len = if own == 1 { len } else { len.max(NUMBERED as u32) };
            self.put(client, len, own, safe, |payload| Request::EvsMcastJoined { guarantee, payload });
            return;
        }
        let drawn = self.clients_rng.between(1, (1 << EVS_GROUPS) - 1) as u8;
        let groups = if (len as usize) < NUMBERED { 1 } else { drawn };
        let list = evs_groups(groups);
        self.put(client, len, groups, safe, |payload| Request::EvsMcastGroups { guarantee, groups: list, payload });
    }

    /// A piece of a long message; the next one follows in the next send.
    fn send_piece(&mut self, client: usize, guarantee: Guarantee, safe: bool) {
        let (left, total) = self.clients[client].pieces;
        let (part, left, total) = match left {
            0 => {
                let pieces = self.clients_rng.between(2, 5) as u32;
                let each = self.clients_rng.between(NUMBERED as u64, self.options.load.longest / 4) as u32;
                (Part::First, pieces - 1, each * pieces)
            }
            1 => (Part::Last, 0, total),
            left => (Part::Continued, left - 1, total),
        };
        let len = self.clients_rng.between(NUMBERED as u64, u64::from(total / 5).max(NUMBERED as u64)) as u32;
        self.answer = None;
        self.put(client, len, 0, safe, |payload| Request::CpgPartialMcast { guarantee, part, total, payload });
        match self.answer {
            Some((_, OK)) => self.clients[client].pieces = (left, total),
            Some((_, TRY_AGAIN)) => self.checker.take_back(client as u32, len),
            Some((_, INTERRUPT)) => {
                self.checker.take_back(client as u32, len);
                self.clients[client].pieces = (0, 0);
            }
            Some((_, error)) => self.complain(Property::Groups, format!("a piece is answered {error}")),
            None => {}
        }
    }

    /// Puts the bytes of a message where they have to be and sends it.
    fn put(&mut self, client: usize, len: u32, groups: u8, safe: bool, request: impl FnOnce(Payload) -> Request) {
        let Client { host: at, id, .. } = self.clients[client];
        let number = self.checker.on_send(client as u32, len, groups, safe);
        let Some(daemon) = &mut self.hosts[at].daemon else { return };
        let before = daemon.node.counters().not_sent;
        if self.trace.speaks() {
            let text = format!("sends {} to channel {}", self.checker.name_of(number), self.clients[client].channel);
            self.trace.line(self.now, &text);
        }
        let payload = match daemon.node.placement() {
            Placement::Frame => {
                let (payload, bytes) = daemon.node.reserve(len);
                self.checker.content.fill(number, bytes);
                payload
            }
            Placement::Caller => {
                self.scratch.0 += 1;
                self.scratch.1.resize(len as usize, 0);
                self.checker.content.fill(number, &mut self.scratch.1);
                Payload::Caller { key: self.scratch.0, len }
            }
        };
        self.feed(at, Input::Request { client: id, request: request(payload) });
        let dropped = self.hosts[at].daemon.as_ref().is_some_and(|daemon| daemon.node.counters().not_sent != before);
        if dropped {
            let text = format!("node {} said it had room and dropped a message", self.hosts[at].id.0);
            self.complain(Property::SelfDelivery, text);
        }
    }

    /// Asks every node for the list of every group and returns who really is there.
    pub fn group_lists(&mut self) -> std::collections::BTreeMap<usize, Vec<(NodeId, u32)>> {
        let mut there: std::collections::BTreeMap<usize, Vec<(NodeId, u32)>> = Default::default();
        for (number, client) in self.clients.iter().enumerate() {
            let runs = self.hosts[client.host].life == client.life && self.hosts[client.host].daemon.is_some();
            if runs && client.channel != 0 && self.checker.views[client.host].members.contains(&(number as u32)) {
                there.entry(client.channel).or_default().push((self.hosts[client.host].id, client.pid));
            }
        }
        there.values_mut().for_each(|members| members.sort_unstable());
        for at in 0..self.hosts.len() {
            if self.hosts[at].daemon.is_none() {
                continue;
            }
            let observer = self.checker.views[at].cpg_observer as usize;
            for channel in 1..self.checker.channels {
                self.ask(observer, Request::CpgMembership { group: Box::new(group_name(channel)) });
                let expected = there.get(&channel).cloned().unwrap_or_default();
                if self.clients[observer].membership != expected {
                    let shown = &self.clients[observer].membership;
                    let text = format!(
                        "node {} lists {shown:?} in group {channel}, there are {expected:?}",
                        self.hosts[at].id.0
                    );
                    self.complain(Property::Groups, text);
                }
            }
        }
        there
    }
}
