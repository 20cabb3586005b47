//! Timers and limits of the ring: what the file says of them, and whether what follows will do.
//!
//! Defaults and derivations are the core's ([`TotemConfig::derive`]); minimums and relations
//! are those of corosync 3.1.7 (`corosync.conf(5)`).

use evensong_core::config::{TotemConfig, TotemOptions};
use evensong_core::time::Span;

use super::check::parse_int;
use super::parse::{Entry, Section};
use super::problem::Problems;
use super::totem::place;

/// Shortest timeout in milliseconds.
const TIMEOUT_MIN: u64 = 30;
/// Shortest hold timeout in milliseconds.
const HOLD_MIN: u64 = 14;
/// How often an interface that is down is looked at, and the delay that a network is allowed,
/// in milliseconds, when the file leaves them open.
const DOWNCHECK: u32 = 1000;
const NETWORK_DELAY: u32 = 50;

/// What the file says; wrong values have been reported and count as absent.
pub fn options(root: &Section) -> TotemOptions {
    let number = |section: &str, key: &str| number(root.last(section, key));
    let totem = |key: &str| number("totem", key);
    TotemOptions {
        token: totem("token"),
        token_coefficient: totem("token_coefficient"),
        token_retransmit: totem("token_retransmit"),
        token_retransmits_before_loss_const: totem("token_retransmits_before_loss_const"),
        hold: totem("hold"),
        join: totem("join"),
        send_join: totem("send_join"),
        consensus: totem("consensus"),
        merge: totem("merge"),
        token_warning: totem("token_warning"),
        fail_recv_const: totem("fail_recv_const"),
        fail_recv_timeout: number("evensong", "fail_recv_timeout_ms"),
        seqno_unchanged_const: totem("seqno_unchanged_const"),
        miss_count_const: totem("miss_count_const"),
        window_size: totem("window_size"),
        max_messages: totem("max_messages"),
        cancel_token_hold_on_retransmit: root
            .last("totem", "cancel_token_hold_on_retransmit")
            .map(|entry| entry.value == "yes"),
        heartbeat_failures_allowed: totem("heartbeat_failures_allowed"),
        max_network_delay: totem("max_network_delay"),
        accelerated: number("evensong", "accelerated_frames"),
    }
}

/// Milliseconds between two looks at an interface that is down.
pub fn downcheck(root: &Section) -> u32 {
    number(root.last("totem", "downcheck")).filter(|ms| *ms != 0).unwrap_or(DOWNCHECK)
}

fn number(entry: Option<&Entry>) -> Option<u32> {
    entry.and_then(|entry| parse_int(&entry.value)).and_then(|number| u32::try_from(number).ok())
}

/// A timeout as it counts, and where it was set.
struct Timeout<'a> {
    key: &'static str,
    ms: u64,
    entry: Option<&'a Entry>,
}

impl<'a> Timeout<'a> {
    /// Notes a 0, which stands for the default.
    fn new(root: &'a Section, key: &'static str, span: Span, problems: &mut Problems) -> Timeout<'a> {
        let ms = span.0 / 1_000_000;
        let entry = root.last("totem", key).filter(|entry| number(Some(entry)).is_some());
        if let Some(zero) = entry.filter(|entry| number(Some(entry)) == Some(0)) {
            problems.warning(&zero.at, &format!("totem.{key}"), format!("0 stands for the default, {ms}"));
            return Timeout { key, ms, entry: None };
        }
        Timeout { key, ms, entry }
    }

    fn at_least(&self, min: u64, root: &Section, problems: &mut Problems) {
        if self.ms < min {
            let at = self.entry.map_or_else(|| place(root), |entry| entry.at.clone());
            let how = if self.entry.is_some() { "is" } else { "follows from others as" };
            let text = format!("{how} {} ms, at least {min} ms are needed", self.ms);
            problems.error(&at, &format!("totem.{}", self.key), text);
        }
    }
}

/// Checks what follows on a list of `nodes` nodes.
pub fn check(root: &Section, nodes: usize, problems: &mut Problems) {
    let options = options(root);
    let derived = TotemConfig::derive(&options, nodes);
    let ms = |ms: u32| Span::from_millis(u64::from(ms));
    let token = Timeout::new(root, "token", derived.token, problems);
    let retransmit = Timeout::new(root, "token_retransmit", derived.token_retransmit, problems);
    let hold = Timeout::new(root, "hold", derived.hold, problems);
    let join = Timeout::new(root, "join", derived.join, problems);
    let consensus = Timeout::new(root, "consensus", derived.consensus, problems);
    let delay = options.max_network_delay.filter(|ms| *ms != 0).unwrap_or(NETWORK_DELAY);
    let others = [
        Timeout::new(root, "max_network_delay", ms(delay), problems),
        Timeout::new(root, "merge", derived.merge, problems),
        Timeout::new(root, "downcheck", ms(downcheck(root)), problems),
    ];
    token.at_least(TIMEOUT_MIN, root, problems);
    // What follows from a wrong token is not a mistake of its own.
    if retransmit.entry.is_some() || token.ms >= TIMEOUT_MIN {
        retransmit.at_least(TIMEOUT_MIN, root, problems);
    }
    if hold.entry.is_some() || retransmit.ms >= TIMEOUT_MIN {
        hold.at_least(HOLD_MIN, root, problems);
    }
    for timeout in others.iter().chain([&join]) {
        timeout.at_least(TIMEOUT_MIN, root, problems);
    }
    if consensus.entry.is_some() {
        consensus.at_least(TIMEOUT_MIN, root, problems);
    }
    if consensus.ms < join.ms && join.ms >= TIMEOUT_MIN {
        let entry = join.entry.or(consensus.entry).or(token.entry);
        let at = entry.map_or_else(|| place(root), |entry| entry.at.clone());
        let text = format!("join is {} ms, consensus {} ms: join must not be longer", join.ms, consensus.ms);
        problems.error(&at, "totem.join", text);
    }
    if let Some(entry) = root.last("totem", "token_warning") {
        if number(Some(entry)).is_some_and(|percent| percent > 100) {
            let text = format!("a percentage between 0 (off) and 100 is needed, not {}", entry.value);
            problems.error(&entry.at, "totem.token_warning", text);
        }
    }
}
