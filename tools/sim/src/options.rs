//! What a run is like: everything is drawn from the seed before the run begins, each fault off
//! in some runs and strong in others (swarm testing: a fault that is always on hides what
//! happens without it).

use evensong_core::config::TotemOptions;
use evensong_core::ring::mutation::Mutation;

use crate::faults::Kind;
use crate::network::Link;
use crate::rng::Rng;

const MICRO: u64 = 1_000;
const MILLI: u64 = 1_000_000;

/// Which faults may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Profile {
    /// Any of all faults.
    Mixed,
    /// None: as fast as it goes.
    Clean,
    /// Frames lost, late, doubled, damaged.
    Lossy,
    /// Hosts that cannot reach each other, in all patterns.
    Partition,
    /// Daemons killed and started again.
    Crash,
    /// Daemons and machines that stand still for a while.
    Pause,
    /// Many changes of membership close together, under little load.
    Membership,
    /// Wrong bits in frames. Only that nobody panics is checked.
    Hostile,
}

/// Load of the clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// cpg clients on each host.
    pub cpg: usize,
    /// evs clients on each host.
    pub evs: usize,
    /// cpg groups.
    pub groups: usize,
    /// Mean time between two sends of a client, in nanoseconds.
    pub think: u64,
    /// Most messages in one send.
    pub burst: u64,
    /// Most bytes of a message, and how often per million one is long.
    pub longest: u64,
    /// Long messages per million.
    pub long: u32,
    /// Safe messages per million.
    pub safe: u32,
    /// Messages per million that are sent in pieces.
    pub partial: u32,
    /// Mean life of a client in nanoseconds; 0: as long as its host.
    pub life: u64,
}

/// Everything about a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Its seed.
    pub seed: u64,
    /// Its profile.
    pub profile: Profile,
    /// Node ids of the hosts, in their order.
    pub ids: Vec<u32>,
    /// Options of the ring.
    pub totem: TotemOptions,
    /// Bytes of a frame.
    pub frame_size: u32,
    /// Safe messages are delivered as safe.
    pub honour_safe: bool,
    /// Frames are built on a ring of one too.
    pub always_frame: bool,
    /// All directions between hosts.
    pub link: Link,
    /// How many directions are worse than the others.
    pub bad_links: usize,
    /// Loss of those, per million.
    pub bad_loss: u32,
    /// Mean time between faults, in nanoseconds; 0: none.
    pub fault_every: u64,
    /// Kinds of faults that may come; one that is named twice comes twice as often.
    pub faults: Vec<Kind>,
    /// Longest time that a fault lasts, in nanoseconds.
    pub outage: u64,
    /// Latest start of a host, in nanoseconds.
    pub late_start: u64,
    /// Hosts that are slow, and what one input costs them, in nanoseconds.
    pub slow_hosts: usize,
    /// What one input costs a slow host, in nanoseconds.
    pub slow: u64,
    /// Most that a clock goes wrong, in parts per million.
    pub drift: u64,
    /// Longest time that storing a ring number takes, in nanoseconds.
    pub store: u64,
    /// Restarted hosts that have lost what they stored, per million.
    pub wiped: u32,
    /// Clients.
    pub load: Load,
    /// How long faults go on, in nanoseconds.
    pub fault_time: u64,
    /// How long clients go on sending after that, in nanoseconds.
    pub calm_time: u64,
    /// Events after which faults end early; 0: no limit.
    pub events_max: u64,
    /// A rule of the protocol that is switched off, for the self-test.
    pub rule_off: Option<Mutation>,
}

impl Options {
    /// Draws the options of a run.
    pub fn draw(seed: u64, profile: Profile, nodes: Option<usize>) -> Options {
        let rng = &mut Rng::new(seed, 1);
        let drawn = rng.pick(&[1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 7, 8, 9]);
        let nodes = nodes.unwrap_or(if profile == Profile::Clean { 5 } else { drawn });
        let ids = draw_ids(rng, nodes);
        let mut options = Options { ids, ..Options::quiet(seed, profile, nodes) };
        if profile == Profile::Clean {
            return options;
        }
        options.totem = draw_totem(rng);
        options.frame_size = rng.pick(&[1500, 1500, 1500, 576, 1000, 4000, 9000]);
        options.honour_safe = !rng.one_in(4);
        options.always_frame = rng.one_in(3);
        options.link.delay = rng.pick(&[20, 100, 200, 500, 1000, 3000]) * MICRO;
        options.link.jitter = rng.pick(&[0, 10, 100, 1000]) * MICRO;
        options.fault_time = rng.between(3, 25) * 1000 * MILLI;
        options.events_max = 200_000;
        options.calm_time = rng.pick(&[0, 200, 1000]) * MILLI;
        options.load = draw_load(rng, profile);
        let token = u64::from(options.totem.token.unwrap_or(1000)) * MILLI;
        draw_wire(rng, &mut options);
        options.fault_every = rng.pick(&[token / 3, token, 2 * token, 5 * token]);
        options.outage = rng.pick(&[token / 2, 2 * token, 6 * token]);
        options.faults = draw_faults(rng, profile);
        if rng.one_in(3) {
            options.late_start = rng.pick(&[10 * MILLI, 200 * MILLI, 3 * token]);
        }
        if profile == Profile::Mixed || profile == Profile::Pause {
            options.slow_hosts = if rng.one_in(4) { 1 } else { 0 };
            options.slow = rng.pick(&[5, 20, 100]) * MICRO;
            options.drift = rng.pick(&[0, 0, 100, 10_000]);
        }
        if rng.one_in(5) {
            options.store = rng.pick(&[1, 20, 200]) * MILLI;
        }
        if matches!(profile, Profile::Mixed | Profile::Crash) && rng.one_in(4) {
            options.wiped = rng.pick(&[200_000, 800_000]);
        }
        options
    }

    /// A run without faults, under a load that is bound by the processor.
    pub fn quiet(seed: u64, profile: Profile, nodes: usize) -> Options {
        Options {
            seed,
            profile,
            ids: (1..).take(nodes).collect(),
            totem: TotemOptions { token: Some(1000), ..TotemOptions::default() },
            frame_size: 1500,
            honour_safe: true,
            always_frame: false,
            link: Link { delay: 50 * MICRO, ..Link::default() },
            bad_links: 0,
            bad_loss: 0,
            fault_every: 0,
            faults: Vec::new(),
            outage: 0,
            late_start: 0,
            slow_hosts: 0,
            slow: 0,
            drift: 0,
            store: 0,
            wiped: 0,
            load: Load {
                cpg: 4,
                evs: 0,
                groups: 1,
                think: 20 * MICRO,
                burst: 32,
                longest: 100,
                long: 0,
                safe: 0,
                partial: 0,
                life: 0,
            },
            fault_time: 150 * MILLI,
            calm_time: 0,
            events_max: 0,
            rule_off: None,
        }
    }
}

/// Ids are mostly small, sometimes far apart, and not always in the order of the hosts.
fn draw_ids(rng: &mut Rng, nodes: usize) -> Vec<u32> {
    let mut ids: Vec<u32> = (1..).take(nodes).collect();
    match rng.below(4) {
        0 => ids.reverse(),
        1 => rng.shuffle(&mut ids),
        2 => {
            for id in &mut ids {
                *id = *id * 0x0101_0000 + 7;
            }
            rng.shuffle(&mut ids);
        }
        _ => {}
    }
    ids
}

fn draw_totem(rng: &mut Rng) -> TotemOptions {
    let sometimes = |rng: &mut Rng, values: &[u32]| rng.one_in(3).then(|| rng.pick(values));
    TotemOptions {
        token: Some(rng.pick(&[200, 300, 500, 1000, 1000, 3000])),
        token_coefficient: Some(rng.pick(&[0, 100, 650])),
        join: sometimes(rng, &[30, 50, 100]),
        send_join: sometimes(rng, &[10, 40]),
        merge: sometimes(rng, &[50, 200, 500]),
        seqno_unchanged_const: sometimes(rng, &[3, 30]),
        miss_count_const: sometimes(rng, &[1, 2, 5]),
        window_size: sometimes(rng, &[10, 50, 300]),
        max_messages: sometimes(rng, &[3, 17, 100]),
        fail_recv_const: sometimes(rng, &[50, 2500]),
        cancel_token_hold_on_retransmit: sometimes(rng, &[0, 1]).map(|on| on == 1),
        accelerated: sometimes(rng, &[0, 5, 20]),
        ..TotemOptions::default()
    }
}

fn draw_load(rng: &mut Rng, profile: Profile) -> Load {
    let light = profile == Profile::Membership;
    Load {
        cpg: rng.pick(&[1, 2, 3]),
        evs: rng.pick(&[0, 1, 2]),
        groups: rng.pick(&[1, 2, 3]),
        think: if light { rng.pick(&[20, 100]) } else { rng.pick(&[2, 5, 20, 100]) } * MILLI,
        burst: if light { rng.pick(&[1, 4]) } else { rng.pick(&[1, 3, 10, 40]) },
        longest: rng.pick(&[3000, 20_000, 200_000]),
        long: rng.pick(&[0, 5_000, 50_000]),
        safe: rng.pick(&[0, 100_000, 500_000]),
        partial: rng.pick(&[0, 0, 20_000]),
        life: rng.pick(&[0, 0, 300, 2000]) * MILLI,
    }
}

/// What the wire does to frames.
fn draw_wire(rng: &mut Rng, options: &mut Options) {
    let (profile, link) = (options.profile, &mut options.link);
    if matches!(profile, Profile::Mixed | Profile::Lossy) {
        let lossy = profile == Profile::Lossy;
        let mut drawn = |values: &[u32]| if rng.one_in(2) { rng.pick(values) } else { 0 };
        link.loss = drawn(&[1_000, 10_000, 50_000, 200_000]);
        link.reorder = drawn(&[10_000, 200_000]);
        link.duplicate = drawn(&[10_000, 200_000, 1_000_000]);
        link.damage = drawn(&[1_000, 30_000]);
        link.held_up = rng.pick(&[200 * MICRO, 3 * MILLI, 60 * MILLI, 900 * MILLI]);
        if lossy || rng.one_in(3) {
            options.bad_links = rng.index(options.ids.len() + 1);
            options.bad_loss = rng.pick(&[100_000, 400_000, 900_000]);
        }
    }
    if profile == Profile::Hostile {
        link.flip = rng.pick(&[1_000, 10_000, 100_000]);
        link.damage = 10_000;
    }
}

fn draw_faults(rng: &mut Rng, profile: Profile) -> Vec<Kind> {
    use Kind::{Crash, Isolate, OneWay, Pair, Partition, Pause, Stop, Storm, Trap};
    let of: &[Kind] = match profile {
        Profile::Clean | Profile::Lossy => &[],
        Profile::Partition => &[Partition, OneWay, Pair, Isolate],
        Profile::Crash => &[Crash, Stop, Trap],
        Profile::Pause => &[Pause],
        Profile::Mixed | Profile::Membership | Profile::Hostile => {
            &[Partition, OneWay, Pair, Isolate, Crash, Stop, Pause, Trap, Storm]
        }
    };
    let mut faults: Vec<Kind> = of.iter().copied().filter(|_| rng.one_in(2)).collect();
    if faults.is_empty() {
        faults = of.to_vec();
    }
    faults
}
