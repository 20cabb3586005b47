//! Checkers: what extended virtual synchrony promises, watched from outside.
//!
//! Sources: Moser, Amir, Melliar-Smith, Agarwal, "Extended Virtual Synchrony" (ICDCS 1994),
//! whose specifications are numbered below as in its section 3; Amir, Moser, Melliar-Smith,
//! Agarwal, Ciarfella, "The Totem Single-Ring Ordering and Membership Protocol" (ACM TOCS
//! 1995), sections 2 and 3. Only outputs of the nodes are looked at.
//!
//! | property | reference | where |
//! |---|---|---|
//! | Basic delivery: what is delivered was sent, intact, by a member of the configuration; no message twice, none in two rings | EVS 1.3, 1.4 | [`deliver`], [`order`] |
//! | Configuration changes: a node is in each configuration it installs; a transitional one precedes each regular one; previous members less those that left plus those that joined are the members; all members see one and the same configuration | EVS 1.1, 2.1, 2.2 | [`config`] |
//! | Self-delivery: a node delivers what it sent, unless it fails | EVS 3 | [`settle`] |
//! | Failure atomicity: nodes that go together from one configuration to the next deliver the same messages in the first | EVS 4 | [`config`] |
//! | Causal order, per sender without gaps | EVS 5 | [`order`] |
//! | Total order: one order for all messages of a ring, kept by every node, in the transitional configurations of all its parts too | EVS 6 | [`order`], [`settle`] |
//! | Safe delivery: what one member delivers as safe in a regular configuration, all members deliver unless they fail | EVS 7 | [`settle`] |
//! | Ring ids: one id, one membership; they grow on every node, over restarts too | Totem 3 | [`config`] |
//! | One token: no two nodes pass a token of one ring with the same number of hops | Totem 4 | [`token`] |
//! | Groups: lists add up, reasons fit what happened, all members see the same joins, leaves and messages in one order, nothing from before a join, one view after each synchronisation | the original's cpg | [`cpg`] |
//! | evs clients: the configuration first, then the same as everyone | the original's evs | [`deliver`] |
//! | Liveness: after the faults one ring of all that run, everything sent delivered, views agree | Totem 4 | [`settle`] |

pub mod config;
pub mod cpg;
pub mod deliver;
pub mod order;
pub mod settle;
pub mod token;

use std::collections::HashMap;
use std::sync::Arc;

use evensong_core::ids::{NodeId, RingId};
use evensong_core::output::TotemConfchg;

use self::config::Config;
use self::cpg::Stream;
use self::token::Tokens;
use crate::payload::Content;

/// Which promise was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Property {
    BasicDelivery,
    Configuration,
    SelfDelivery,
    FailureAtomicity,
    SenderOrder,
    TotalOrder,
    SafeDelivery,
    RingIds,
    OneToken,
    Groups,
    EvsClients,
    Liveness,
}

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Which one.
    pub property: Property,
    /// What was seen.
    pub text: String,
}

/// Result of a check.
pub type Checked = Result<(), Box<Wrong>>;

/// Says what is wrong.
pub fn wrong(property: Property, text: String) -> Checked {
    Err(Box::new(Wrong { property, text }))
}

/// Stands for no configuration, no place.
pub const NONE: u32 = u32::MAX;

/// A message, or a piece of a large one, that a client sent.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Its sender.
    pub sender: u32,
    /// Its number among those of its sender that carry their own.
    pub number: u32,
    /// Its length.
    pub len: u32,
    /// Groups of an evs message, one bit each.
    pub groups: u8,
    /// It is to be delivered as safe.
    pub safe: bool,
    /// Its sender's node has delivered it to the sender.
    pub own: bool,
    /// Regular configuration of the ring it was delivered in.
    pub family: u32,
    /// Where in the sequence of that configuration.
    pub at: Place,
    /// The last transitional configuration it was delivered in.
    pub transitional: u32,
}

/// A place in a channel's sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Which segment.
    pub segment: u32,
    /// How many entries of it.
    pub entries: u32,
}

/// No place.
pub const NOWHERE: Place = Place { segment: NONE, entries: NONE };

/// A client as the checkers know it; its number in the list is its number in the run.
#[derive(Clone, Debug)]
pub struct Sender {
    /// Its host.
    pub host: usize,
    /// Which of the host's lives.
    pub life: u32,
    /// Its node's id.
    pub node: NodeId,
    /// Its process id.
    pub pid: u32,
    /// 0 for evs, else the number of its cpg group.
    pub channel: usize,
    /// Groups of an evs client, one bit each.
    pub groups: u8,
    /// It asked to leave its group.
    pub leaves: bool,
    /// It is no longer connected.
    pub gone: bool,
    /// Messages with a number that it sent.
    pub sent: u32,
    /// Messages too short for a number that it sent, and that it got back.
    pub short: (u32, u32),
    /// It was told of a configuration (evs).
    pub told: bool,
    /// Number of the last message that was delivered to it, by its node's count (evs).
    serial: u64,
    /// Regular configuration in which a message of it was placed last, and its number.
    placed: (u32, u32),
    /// The same for transitional configurations.
    placed_late: (u32, u32),
}

/// What one node has shown.
#[derive(Debug)]
pub struct View {
    /// Its id.
    pub node: NodeId,
    /// Which of the host's lives.
    pub life: u32,
    /// Whether it runs.
    pub alive: bool,
    /// The evs client that is in all groups and sees everything.
    pub observer: u32,
    /// The cpg client that is in no group and sees the ends of synchronisations.
    pub cpg_observer: u32,
    /// Its configuration.
    pub config: Option<usize>,
    /// The last change.
    pub change: Option<Arc<TotemConfchg>>,
    /// How far it is in its configuration, evs messages.
    pub at: Place,
    /// Rings must have higher numbers than this.
    floor: u64,
    /// The services have agreed in this ring.
    pub synced: bool,
    /// The last regular change that the services agreed in.
    pub synced_change: Option<Arc<TotemConfchg>>,
    /// Nodes that were with this one ever since the services agreed last.
    together: Vec<NodeId>,
    /// Changes told during this synchronisation: group and reason.
    told: Vec<(usize, u32)>,
    /// The last evs message, its count, and how many clients still have to get it.
    last: (u64, u64, usize),
    /// Its cpg clients that are members of a group.
    pub members: Vec<u32>,
    /// Its evs clients but the observer.
    pub evs_clients: Vec<u32>,
}

/// All checkers of a run.
#[derive(Debug)]
pub struct Checker {
    /// Nodes, by host.
    pub views: Vec<View>,
    /// Configurations that any node ever installed.
    pub configs: Vec<Config>,
    rings: HashMap<RingId, usize>,
    /// All messages.
    pub messages: Vec<Message>,
    /// All clients.
    pub senders: Vec<Sender>,
    /// cpg clients in their groups, by client.
    streams: Vec<Option<Box<Stream>>>,
    /// Streams that may find their place now.
    findable: Vec<(u64, u32, usize, usize, Place)>,
    tokens: Tokens,
    /// Bytes of messages.
    pub content: Content,
    /// Names of the groups, from channel 1 on.
    pub channels: usize,
    /// Messages delivered, over all clients.
    pub delivered: u64,
    /// Whether safe messages are safe.
    pub honour_safe: bool,
    /// Whether hosts may lose their ring numbers.
    pub wiping: bool,
}

impl Checker {
    /// Checkers for these nodes and so many groups.
    pub fn new(ids: &[u32], groups: usize, honour_safe: bool, wiping: bool) -> Checker {
        let view = |id: &u32| View {
            node: NodeId(*id),
            life: 0,
            alive: false,
            observer: NONE,
            cpg_observer: NONE,
            config: None,
            change: None,
            at: Place { segment: 0, entries: 0 },
            floor: 0,
            synced: false,
            synced_change: None,
            together: Vec::new(),
            told: Vec::new(),
            last: (0, 0, 0),
            members: Vec::new(),
            evs_clients: Vec::new(),
        };
        Checker {
            views: ids.iter().map(view).collect(),
            configs: Vec::new(),
            rings: HashMap::new(),
            messages: Vec::new(),
            senders: Vec::new(),
            streams: Vec::new(),
            findable: Vec::new(),
            tokens: Tokens::new(ids.len()),
            content: Content::new(),
            channels: groups + 1,
            delivered: 0,
            honour_safe,
            wiping,
        }
    }

    /// A node starts, with the ring number it has stored.
    pub fn start(&mut self, host: usize, life: u32, stored: u64) {
        if self.wiping && stored == 0 {
            self.tokens.forget();
        }
        let view = &mut self.views[host];
        let node = view.node;
        *view = View {
            node,
            life,
            alive: true,
            observer: NONE,
            cpg_observer: NONE,
            config: None,
            change: None,
            at: Place { segment: 0, entries: 0 },
            floor: stored,
            synced: false,
            synced_change: None,
            together: Vec::new(),
            told: Vec::new(),
            last: (0, 0, 0),
            members: Vec::new(),
            evs_clients: Vec::new(),
        };
    }

    /// A client connects; returns its number.
    pub fn connect(&mut self, host: usize, pid: u32, channel: usize, groups: u8) -> u32 {
        let view = &mut self.views[host];
        let number = u32::try_from(self.senders.len()).expect("fewer clients than numbers");
        self.senders.push(Sender {
            host,
            life: view.life,
            node: view.node,
            pid,
            channel,
            groups,
            leaves: false,
            gone: false,
            sent: 0,
            short: (0, 0),
            told: false,
            serial: 0,
            placed: (NONE, 0),
            placed_late: (NONE, 0),
        });
        self.streams.push(None);
        number
    }

    /// A client is gone.
    pub fn disconnect(&mut self, client: u32) {
        let sender = &mut self.senders[client as usize];
        sender.gone = true;
        let view = &mut self.views[sender.host];
        view.members.retain(|other| *other != client);
        view.evs_clients.retain(|other| *other != client);
        self.streams[client as usize] = None;
    }

    /// A node died or stopped, and its clients' connections with it.
    pub fn end(&mut self, host: usize) {
        let (life, config, at) = (self.views[host].life, self.views[host].config, self.views[host].at);
        if let Some(config) = config {
            self.configs[config].on_failure(host, life, at);
        }
        let view = &mut self.views[host];
        view.alive = false;
        view.config = None;
        view.last.2 = 0;
        for client in std::mem::take(&mut view.members) {
            self.streams[client as usize] = None;
        }
        for sender in self.senders.iter_mut().filter(|sender| sender.host == host && sender.life == life) {
            sender.gone = true;
        }
    }

    /// A frame goes out.
    pub fn on_frame(&mut self, host: usize, to: NodeId, frame: &[u8]) -> Checked {
        self.tokens.on_frame(self.views[host].node, to, frame)
    }
}
