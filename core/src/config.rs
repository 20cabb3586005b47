//! The core's own configuration: checked values, no text. The daemon's reader fills it.

use crate::ids::NodeId;
use crate::time::Span;

/// Configuration of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// This node's id.
    pub node: NodeId,
    /// Name of the cluster.
    pub cluster_name: String,
    /// All nodes that are configured, sorted; this node among them.
    pub nodes: Vec<NodeId>,
    /// Sequence number of the last ring that this node was in (0: none).
    pub last_ring_seq: u64,
    /// Bytes of a datagram as configured (`totem.netmtu`): a recovery copy of a frame fills it.
    pub frame_size: u32,
    /// Whether `safe` is honoured; false treats it as agreed, as the original does.
    pub honour_safe: bool,
    /// Build frames although no peer needs them: packing, fragmenting and reassembly then
    /// run on a ring of one too (tests, simulator).
    pub always_frame: bool,
    /// `totem.config_version`; 0: none.
    pub config_version: u64,
    /// Seed of everything that is left to chance.
    pub seed: u64,
    /// Timers and limits of the ring.
    pub totem: TotemConfig,
}

/// Timers and limits of the ring protocol, as in `corosync.conf(5)` under `totem`.
///
/// All are local to a node: nothing on the wire carries them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TotemConfig {
    /// No token for this long: the ring is lost (the effective timeout, coefficient included).
    pub token: Span,
    /// The last token is sent again after this long without a sign of the next.
    pub token_retransmit: Span,
    /// How long the representative keeps the token of an idle ring.
    pub hold: Span,
    /// How often a join message is sent again.
    pub join: Span,
    /// Most of a random delay before a join message; zero: none.
    pub send_join: Span,
    /// No agreement for this long: those who do not agree count as failed.
    pub consensus: Span,
    /// How long an idle representative waits before it looks for other rings.
    pub merge: Span,
    /// A token that took longer than this share (percent) of `token` is worth a log line; 0: off.
    pub token_warning: u32,
    /// Token visits without progress of this node before it counts as unable to receive ...
    pub fail_recv_const: u32,
    /// ... if they also took this long. The original goes by the count alone, which a fast
    /// ring reaches within milliseconds.
    pub fail_recv_time: Span,
    /// Token visits with nothing sent before the ring counts as idle.
    pub seqno_unchanged_const: u32,
    /// Token visits that a frame must be missing before it is asked for.
    pub miss_count_const: u32,
    /// Frames under way in one rotation, over all nodes.
    pub window_size: u32,
    /// Frames of one node in one visit.
    pub max_messages: u32,
    /// The same two on a ring of nodes that all can take more.
    pub wide: Option<(u32, u32)>,
    /// A held token goes on as soon as frames are missing.
    pub cancel_hold_on_retransmit: bool,
    /// Traffic must be heard at least this often, or the token counts as lost; none: off.
    pub heartbeat: Option<Span>,
    /// Frames of a visit that may be sent after the token instead of before it.
    pub accelerated: u32,
}

/// The `totem` values as they stand in a file: milliseconds and counts, 0 and `None` both for
/// the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct TotemOptions {
    pub token: Option<u32>,
    pub token_coefficient: Option<u32>,
    pub token_retransmit: Option<u32>,
    pub token_retransmits_before_loss_const: Option<u32>,
    pub hold: Option<u32>,
    pub join: Option<u32>,
    pub send_join: Option<u32>,
    pub consensus: Option<u32>,
    pub merge: Option<u32>,
    pub token_warning: Option<u32>,
    pub fail_recv_const: Option<u32>,
    pub fail_recv_timeout: Option<u32>,
    pub seqno_unchanged_const: Option<u32>,
    pub miss_count_const: Option<u32>,
    pub window_size: Option<u32>,
    pub max_messages: Option<u32>,
    pub cancel_token_hold_on_retransmit: Option<bool>,
    pub heartbeat_failures_allowed: Option<u32>,
    pub max_network_delay: Option<u32>,
    pub accelerated: Option<u32>,
}

/// Frames in one rotation and in one visit on a ring of evensong nodes only, where the file
/// leaves both open; found by measurement.
pub const WIDE: (u32, u32) = (400, 130);
/// Frames that may follow the token, where the file leaves it open.
pub const ACCELERATED: u32 = 0;

impl TotemConfig {
    /// Derives what counts from what the file says, on a list of `nodes` nodes: the
    /// original's defaults and derivations (`corosync.conf(5)`), integers cut off.
    pub fn derive(options: &TotemOptions, nodes: usize) -> TotemConfig {
        let or = |value: Option<u32>, default: u32| value.filter(|value| *value != 0).unwrap_or(default);
        let beyond = u32::try_from(nodes.saturating_sub(2)).unwrap_or(u32::MAX);
        let coefficient = options.token_coefficient.unwrap_or(650);
        let token = or(options.token, 3000).saturating_add(coefficient.saturating_mul(beyond));
        let losses = or(options.token_retransmits_before_loss_const, 4);
        let retransmit = or(options.token_retransmit, (f64::from(token) / (f64::from(losses) + 0.2)) as u32);
        let hold = or(options.hold, (f64::from(retransmit) * 0.8 - 10.0) as u32);
        let heartbeat = or(options.heartbeat_failures_allowed, 0)
            .checked_mul(retransmit)
            .filter(|ms| *ms != 0)
            .map(|ms| ms.saturating_add(or(options.max_network_delay, 50)));
        let ms = |ms: u32| Span::from_millis(u64::from(ms));
        let own_limits = options.window_size.is_some_and(|n| n != 0) || options.max_messages.is_some_and(|n| n != 0);
        TotemConfig {
            token: ms(token),
            token_retransmit: ms(retransmit),
            hold: ms(hold),
            join: ms(or(options.join, 50)),
            send_join: ms(or(options.send_join, 0)),
            consensus: ms(or(options.consensus, (1.2 * f64::from(token)) as u32)),
            merge: ms(or(options.merge, 200)),
            token_warning: options.token_warning.unwrap_or(75),
            fail_recv_const: or(options.fail_recv_const, 2500),
            fail_recv_time: ms(or(options.fail_recv_timeout, token)),
            seqno_unchanged_const: or(options.seqno_unchanged_const, 30),
            miss_count_const: or(options.miss_count_const, 5),
            window_size: or(options.window_size, 50),
            max_messages: or(options.max_messages, 17),
            wide: (!own_limits).then_some(WIDE),
            cancel_hold_on_retransmit: options.cancel_token_hold_on_retransmit.unwrap_or(false),
            // A heartbeat slower than the token itself says nothing.
            heartbeat: heartbeat.filter(|beat| *beat < token).map(ms),
            accelerated: options.accelerated.unwrap_or(ACCELERATED),
        }
    }
}

impl Default for TotemConfig {
    fn default() -> TotemConfig {
        TotemConfig::derive(&TotemOptions::default(), 1)
    }
}

impl Default for NodeConfig {
    /// One node by itself: id 1, cluster name `evensong`.
    fn default() -> NodeConfig {
        NodeConfig {
            node: NodeId(1),
            cluster_name: "evensong".to_owned(),
            nodes: vec![NodeId(1)],
            last_ring_seq: 0,
            frame_size: 1500,
            honour_safe: true,
            always_frame: false,
            config_version: 0,
            seed: 0,
            totem: TotemConfig::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked example of the original: three nodes, token 3000.
    #[test]
    fn derived_values_are_the_originals() {
        let three = TotemConfig::derive(&TotemOptions { token: Some(3000), ..TotemOptions::default() }, 3);
        let ms = |span: Span| span.0 / 1_000_000;
        assert_eq!(ms(three.token), 3650);
        assert_eq!(ms(three.token_retransmit), 869);
        assert_eq!(ms(three.hold), 685);
        assert_eq!(ms(three.consensus), 4380);
        assert_eq!((three.window_size, three.max_messages, three.wide), (50, 17, Some(WIDE)));
    }

    #[test]
    fn limits_that_are_set_stay_as_set() {
        let set = TotemConfig::derive(&TotemOptions { window_size: Some(300), ..TotemOptions::default() }, 3);
        assert_eq!((set.window_size, set.max_messages, set.wide), (300, 17, None));
    }

    #[test]
    fn a_slow_heartbeat_is_off() {
        let beat = |failures| TotemOptions { heartbeat_failures_allowed: Some(failures), ..TotemOptions::default() };
        assert_eq!(TotemConfig::derive(&beat(0), 2).heartbeat, None);
        assert_eq!(TotemConfig::derive(&beat(2), 2).heartbeat, Some(Span::from_millis(2 * 714 + 50)));
        assert_eq!(TotemConfig::derive(&beat(9), 2).heartbeat, None);
    }
}
