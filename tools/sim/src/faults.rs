//! What goes wrong outside of the ring: hosts that die, stand still, cannot reach each other.
//!
//! Faults come at random times, and through traps at the worst ones: a trap waits until a host
//! does a certain thing (stores a ring number, sends a commit token, sends a recovery copy) and
//! strikes between two of its outputs.

use evensong_core::ids::NodeId;
use evensong_core::output::Output;

use crate::queue::Event;
use crate::world::World;

/// Kinds of faults that a run may draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The hosts fall into two or three parts.
    Partition,
    /// One direction between two hosts is cut, or all directions out of or into one host.
    OneWay,
    /// Two hosts do not reach each other; others reach both.
    Pair,
    /// One host reaches nobody.
    Isolate,
    /// A daemon is killed and started again.
    Crash,
    /// A daemon is stopped in order and started again.
    Stop,
    /// A daemon stands still.
    Pause,
    /// Something happens at a moment that a trap waits for.
    Trap,
    /// All links lose a lot for a while.
    Storm,
}

/// Beginning or end of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A fault of a kind that is drawn now; the next one follows.
    Random,
    /// Cuts end, if they are still those of this number.
    Heal(u32),
    /// The storm ends.
    StormEnds,
}

/// What a trap waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A frame of this type goes out; for multicasts a recovery copy.
    Frame(u8),
    /// A ring number is about to be stored.
    BeforeStore,
    /// A ring number was stored.
    AfterStore,
    /// A client is told of a configuration.
    Config,
    /// So many outputs later.
    Outputs(u32),
}

/// What happens to the host then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strike {
    /// It dies.
    Crash,
    /// It reaches nobody and nobody reaches it.
    Isolate,
    /// It stands still from the end of this input.
    Pause,
}

/// A trap on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trap {
    /// What it waits for.
    pub moment: Moment,
    /// How many of these pass before it strikes.
    pub passes: u32,
    /// What it does.
    pub strike: Strike,
}

impl Trap {
    /// Looks at an output before it is carried out; true when the trap strikes.
    pub fn springs(&mut self, output: &Output) -> bool {
        let met = match (self.moment, output) {
            (Moment::Frame(kind), Output::Send { frame, .. }) => {
                frame.get(3) == Some(&kind) && (kind != 1 || frame.get(4) == Some(&1))
            }
            (Moment::BeforeStore | Moment::AfterStore, Output::StoreRingSeq { .. }) => true,
            (Moment::Config, Output::EvsConfchg { .. } | Output::CpgConfchg { .. }) => true,
            (Moment::Outputs(_), _) => true,
            _ => false,
        };
        if !met {
            return false;
        }
        let done = self.passes == 0;
        self.passes = self.passes.saturating_sub(1);
        done
    }
}

impl World {
    /// Draws the next fault and lets it begin.
    pub fn on_fault(&mut self, fault: Fault) {
        match fault {
            Fault::Random => {
                if self.calm {
                    return;
                }
                let kind = self.faults_rng.pick(&self.options.faults);
                self.begin(kind);
                let next = self.faults_rng.around(self.options.fault_every) + 1_000_000;
                self.queue.push(self.now + next, Event::Fault(Fault::Random));
            }
            Fault::Heal(number) => {
                if number == self.cut_number {
                    self.note("the network is whole again");
                    self.network.heal();
                }
            }
            Fault::StormEnds => self.storm(false),
        }
    }

    fn begin(&mut self, kind: Kind) {
        let hosts = self.hosts.len();
        let host = self.faults_rng.index(hosts);
        let lasts = self.faults_rng.below(self.options.outage) + 1_000_000;
        match kind {
            Kind::Partition | Kind::OneWay | Kind::Pair | Kind::Isolate => {
                // now and then a cut comes on top of the one before
                if !self.faults_rng.one_in(4) {
                    self.network.heal();
                }
                self.cut_somehow(kind, host);
                self.cut_number += 1;
                self.queue.push(self.now + lasts, Event::Fault(Fault::Heal(self.cut_number)));
            }
            Kind::Crash => {
                if self.crash(host) {
                    self.start_later(host, lasts);
                }
            }
            Kind::Stop => {
                if self.stop(host) {
                    self.start_later(host, lasts);
                }
            }
            Kind::Pause => self.pause(host, lasts),
            Kind::Trap => {
                let rng = &mut self.faults_rng;
                let moment = match rng.below(8) {
                    0 => Moment::BeforeStore,
                    1 => Moment::AfterStore,
                    2 => Moment::Config,
                    3 => Moment::Frame(1),
                    4 => Moment::Frame(4),
                    5 => Moment::Frame(0),
                    6 => Moment::Frame(3),
                    _ => Moment::Outputs(0),
                };
                let passes = match moment {
                    Moment::Outputs(_) | Moment::Frame(0) => rng.below(300) as u32,
                    _ => rng.below(4) as u32,
                };
                let strike = rng.pick(&[Strike::Crash, Strike::Isolate, Strike::Pause]);
                self.set_trap(host, Trap { moment, passes, strike });
            }
            Kind::Storm => {
                self.storm(true);
                self.queue.push(self.now + lasts, Event::Fault(Fault::StormEnds));
            }
        }
    }

    fn cut_somehow(&mut self, kind: Kind, host: usize) {
        let hosts = self.hosts.len();
        let other = self.faults_rng.index(hosts);
        match kind {
            Kind::Partition => {
                let parts = if hosts > 3 && self.faults_rng.one_in(3) { 3 } else { 2 };
                let part: Vec<usize> = (0..hosts).map(|_| self.faults_rng.index(parts)).collect();
                self.note(&format!("cut into parts {part:?}"));
                self.cut_where(|a, b| part[a] != part[b]);
            }
            Kind::OneWay => match self.faults_rng.below(3) {
                0 => self.cut_where(|a, b| (a, b) == (host, other)),
                1 => self.cut_where(|a, _| a == host),
                _ => self.cut_where(|_, b| b == host),
            },
            Kind::Pair => self.cut_where(|a, b| (a, b) == (host, other) || (b, a) == (host, other)),
            _ => self.cut_where(|a, b| a == host || b == host),
        }
    }

    /// Cuts all directions that `cut` names, on top of those that are cut.
    pub fn cut_where(&mut self, cut: impl Fn(usize, usize) -> bool) {
        for a in 0..self.hosts.len() {
            for b in 0..self.hosts.len() {
                if a != b && cut(a, b) {
                    self.note(&format!("cut {} -> {}", self.hosts[a].id.0, self.hosts[b].id.0));
                    self.network.set_cut(a, b, true);
                }
            }
        }
    }

    fn storm(&mut self, rages: bool) {
        let loss = if rages { 500_000 } else { self.options.link.loss };
        self.note(&format!("loss is {loss} in a million"));
        self.network.for_all(|link| link.loss = loss);
    }

    /// A host reaches nobody for a while.
    pub fn isolate(&mut self, host: usize, lasts: u64) {
        self.cut_where(|a, b| a == host || b == host);
        self.cut_number += 1;
        self.queue.push(self.now + lasts, Event::Fault(Fault::Heal(self.cut_number)));
    }

    /// Which host has this node id.
    pub fn host_of(&self, node: NodeId) -> Option<usize> {
        self.hosts.iter().position(|host| host.id == node)
    }
}
