//! The sections and keys that are known, with the values they take.
//!
//! Ranges and words are those that corosync 3.1.7 checks. Where the original takes any text and
//! treats unknown words as the default ([`Kind::Word`]), a warning says so.

/// What a key's value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A whole number between these.
    Int(i64, i64),
    /// A whole number up to 2^64 - 1.
    Long,
    /// Bytes between these; `k`, `M` and `G` (powers of 1024) may follow the number.
    Size(u64, u64),
    /// File permissions in octal.
    Mode,
    /// One of these words; others are errors.
    Choice(&'static [&'static str]),
    /// One of these words; others count as the default and give a warning.
    Word(&'static [&'static str]),
    /// An address or a host name.
    Address,
    /// `max`, `min` or a number.
    Priority,
    /// A user's or group's name or number; looked up elsewhere.
    Identity,
    /// No longer has a meaning; the text says what to do instead.
    Obsolete(&'static str),
}

/// A section that is known.
#[derive(Debug)]
pub struct Rule {
    /// Its path.
    pub path: &'static str,
    /// Its keys.
    pub keys: &'static [(&'static str, Kind)],
    /// Whether it takes other keys too.
    pub free: bool,
}

use Kind::{Address, Choice, Identity, Int, Long, Mode, Obsolete, Priority, Size, Text, Word};

const U8: Kind = Int(0, 255);
const U16: Kind = Int(0, 65_535);
const U32: Kind = Int(0, 4_294_967_295);
const I32: Kind = Int(-2_147_483_648, 2_147_483_647);
const YES_NO: Kind = Choice(&["yes", "no"]);
const ON_OFF: Kind = Choice(&["on", "off"]);
const SWITCH: Kind = Choice(&["yes", "no", "on", "off"]);
const YES_NO_WORD: Kind = Word(&["yes", "no"]);
const NO_RRP: Kind = Obsolete("redundant rings are links of the knet transport now");

/// Words for the priority of a message.
pub const PRIORITIES: &[&str] = &["alert", "crit", "debug", "emerg", "err", "error", "info", "notice", "warning"];
/// Words for a facility of the system log.
pub const FACILITIES: &[&str] = &[
    "auth", "authpriv", "cron", "daemon", "ftp", "kern", "lpr", "mail", "news", "syslog", "user", "uucp", "local0",
    "local1", "local2", "local3", "local4", "local5", "local6", "local7",
];

const TOTEM: &[(&str, Kind)] = &[
    ("version", U32),
    ("cluster_name", Text),
    ("config_version", Long),
    ("transport", Choice(&["knet", "udp", "udpu"])),
    ("ip_version", Choice(&["ipv4", "ipv6", "ipv4-6", "ipv6-4"])),
    ("link_mode", Choice(&["active", "passive", "rr"])),
    ("netmtu", U32),
    ("threads", U32),
    ("nodeid", U32),
    ("clear_node_high_bit", YES_NO_WORD),
    ("secauth", Word(&["on", "off"])),
    ("crypto_model", Choice(&["nss", "openssl"])),
    ("crypto_cipher", Choice(&["none", "aes256", "aes192", "aes128"])),
    ("crypto_hash", Choice(&["none", "md5", "sha1", "sha256", "sha384", "sha512"])),
    ("keyfile", Text),
    ("key", Text),
    ("token", U32),
    ("token_warning", U32),
    ("token_coefficient", U32),
    ("token_retransmit", U32),
    ("token_retransmits_before_loss_const", U32),
    ("hold", U32),
    ("join", U32),
    ("send_join", U32),
    ("consensus", U32),
    ("merge", U32),
    ("downcheck", U32),
    ("fail_recv_const", U32),
    ("seqno_unchanged_const", U32),
    ("heartbeat_failures_allowed", U32),
    ("max_network_delay", U32),
    ("window_size", U32),
    ("max_messages", U32),
    ("miss_count_const", U32),
    ("knet_pmtud_interval", U32),
    ("knet_mtu", U32),
    ("knet_compression_threshold", U32),
    ("knet_compression_level", I32),
    ("knet_compression_model", Choice(&["none", "zlib", "lz4", "lz4hc", "lzo2", "lzma", "bzip2", "zstd"])),
    ("block_unlisted_ips", YES_NO_WORD),
    ("cancel_token_hold_on_retransmit", YES_NO_WORD),
    ("rrp_mode", NO_RRP),
    ("rrp_token_expired_timeout", NO_RRP),
    ("rrp_problem_count_timeout", NO_RRP),
    ("rrp_problem_count_threshold", NO_RRP),
    ("rrp_problem_count_mcast_threshold", NO_RRP),
    ("rrp_autorecovery_check_timeout", NO_RRP),
    ("vsftype", Obsolete("virtual synchrony is built in, quorum comes from the quorum section")),
];

const INTERFACE: &[(&str, Kind)] = &[
    ("linknumber", U8),
    ("bindnetaddr", Address),
    ("mcastaddr", Address),
    ("mcastport", U16),
    ("broadcast", YES_NO_WORD),
    ("ttl", U8),
    ("knet_link_priority", U8),
    ("knet_ping_interval", U32),
    ("knet_ping_timeout", U32),
    ("knet_ping_precision", U32),
    ("knet_pong_count", U32),
    ("knet_transport", Choice(&["udp", "sctp"])),
    ("ringnumber", Obsolete("use linknumber")),
];

const NODE: &[(&str, Kind)] = &[
    ("nodeid", U32),
    ("name", Text),
    ("quorum_votes", U32),
    ("ring0_addr", Address),
    ("ring1_addr", Address),
    ("ring2_addr", Address),
    ("ring3_addr", Address),
    ("ring4_addr", Address),
    ("ring5_addr", Address),
    ("ring6_addr", Address),
    ("ring7_addr", Address),
];

const QUORUM: &[(&str, Kind)] = &[
    ("provider", Choice(&["corosync_votequorum"])),
    ("expected_votes", U32),
    ("votes", U32),
    ("last_man_standing_window", U32),
    ("leaving_timeout", U32),
    ("two_node", U8),
    ("expected_votes_tracking", U8),
    ("allow_downscale", U8),
    ("wait_for_all", U8),
    ("auto_tie_breaker", U8),
    ("auto_tie_breaker_node", Text),
    ("last_man_standing", U8),
];

const LOGGING: &[(&str, Kind)] = &[
    ("fileline", ON_OFF),
    ("function_name", ON_OFF),
    ("timestamp", Choice(&["on", "off", "hires"])),
    ("blackbox", ON_OFF),
    ("to_stderr", SWITCH),
    ("to_syslog", SWITCH),
    ("to_logfile", SWITCH),
    ("to_file", SWITCH),
    ("logfile", Text),
    ("logfile_priority", Choice(PRIORITIES)),
    ("syslog_facility", Choice(FACILITIES)),
    ("syslog_priority", Choice(PRIORITIES)),
    ("syslog_level", Choice(PRIORITIES)),
    ("debug", Choice(&["on", "off", "trace"])),
    ("tags", Obsolete("use debug: trace")),
];

const LOGGER_SUBSYS: &[(&str, Kind)] = &[
    ("subsys", Text),
    ("to_stderr", SWITCH),
    ("to_syslog", SWITCH),
    ("to_logfile", SWITCH),
    ("to_file", SWITCH),
    ("logfile", Text),
    ("logfile_priority", Choice(PRIORITIES)),
    ("syslog_facility", Choice(FACILITIES)),
    ("syslog_priority", Choice(PRIORITIES)),
    ("syslog_level", Choice(PRIORITIES)),
    ("debug", Choice(&["on", "off", "trace"])),
    ("tags", Obsolete("use debug: trace")),
];

const DEVICE: &[(&str, Kind)] =
    &[("model", Text), ("timeout", U32), ("sync_timeout", U32), ("votes", U32), ("master_wins", U8)];

const DEVICE_NET: &[(&str, Kind)] = &[
    ("tls", Word(&["on", "off", "required"])),
    ("host", Text),
    ("port", Text),
    ("algorithm", Text),
    ("tie_breaker", Text),
    ("connect_timeout", Text),
    ("keep_active_partition_tie_breaker", Text),
    ("force_ip_version", Text),
];

const HEURISTICS: &[(&str, Kind)] =
    &[("mode", Word(&["on", "sync", "off"])), ("timeout", Text), ("sync_timeout", Text), ("interval", Text)];

const SYSTEM: &[(&str, Kind)] = &[
    ("qb_ipc_type", Choice(&["native", "shm", "socket"])),
    ("sched_rr", YES_NO),
    ("priority", Priority),
    ("move_to_root_cgroup", Choice(&["yes", "no", "auto"])),
    ("allow_knet_handle_fallback", YES_NO),
    ("state_dir", Text),
];

const WATCHED: &[(&str, Kind)] = &[("poll_period", Long), ("recovery", Text), ("max", Text)];

/// Smallest ring of a connection: room for two records of the largest kind.
pub const RING_MIN: u64 = 2_621_440;

const EVENSONG: &[(&str, Kind)] = &[
    ("single_node", YES_NO),
    ("nodeid", Int(1, 4_294_967_295)),
    ("ipc_ring_size", Size(RING_MIN, 256 << 20)),
    ("ipc_clients_max", Int(1, 65_535)),
    ("ipc_memory_max", Size(16 << 20, 1 << 44)),
    ("ipc_socket_mode", Mode),
    ("reader_timeout_ms", Int(1, 600_000)),
    ("reader_backlog_max", Size(2 << 20, 1 << 40)),
    ("spin_us", Int(0, 10_000)),
    ("safe_delivery", YES_NO),
    ("always_frame", YES_NO),
    ("accelerated_frames", Int(0, 16_384)),
    ("fail_recv_timeout_ms", U32),
    ("offload", YES_NO),
    ("rt", YES_NO),
    ("lock_memory", YES_NO),
];

const UIDGID: &[(&str, Kind)] = &[("uid", Identity), ("gid", Identity)];

/// All sections that are known, `""` being the file itself.
pub const RULES: &[Rule] = &[
    Rule { path: "", keys: &[("compatibility", Obsolete("whitetank is no longer spoken"))], free: false },
    Rule { path: "totem", keys: TOTEM, free: false },
    Rule { path: "totem.interface", keys: INTERFACE, free: false },
    Rule { path: "totem.interface.member", keys: &[("memberaddr", Address)], free: false },
    Rule { path: "nodelist", keys: &[], free: false },
    Rule { path: "nodelist.node", keys: NODE, free: false },
    Rule { path: "quorum", keys: QUORUM, free: false },
    Rule { path: "quorum.device", keys: DEVICE, free: false },
    Rule { path: "quorum.device.net", keys: DEVICE_NET, free: false },
    Rule { path: "quorum.device.disk", keys: &[], free: true },
    Rule { path: "quorum.device.heuristics", keys: HEURISTICS, free: true },
    Rule { path: "logging", keys: LOGGING, free: false },
    Rule { path: "logging.logger_subsys", keys: LOGGER_SUBSYS, free: false },
    Rule { path: "logging.logging_daemon", keys: &[("name", Text), ("subsys", Text)], free: true },
    Rule { path: "uidgid", keys: UIDGID, free: false },
    Rule { path: "pload", keys: &[("count", U32), ("size", U32)], free: false },
    Rule { path: "system", keys: SYSTEM, free: false },
    Rule { path: "resources", keys: &[("watchdog_device", Text), ("watchdog_timeout", U32)], free: false },
    Rule { path: "resources.system", keys: WATCHED, free: false },
    Rule { path: "resources.system.memory_used", keys: WATCHED, free: false },
    Rule { path: "resources.system.load_15min", keys: WATCHED, free: false },
    Rule { path: "resources.process", keys: WATCHED, free: false },
    Rule { path: "resources.process.memory_used", keys: WATCHED, free: false },
    Rule {
        path: "nozzle",
        keys: &[("name", Text), ("ipaddr", Text), ("ipprefix", Text), ("macaddr", Text)],
        free: false,
    },
    Rule { path: "evensong", keys: EVENSONG, free: false },
];

/// Sections of older generations, with what replaces them.
pub const OBSOLETE: &[(&str, &str)] = &[
    ("aisexec", "the daemon runs as the user that starts it"),
    ("service", "programs are started by themselves, no plug-ins are loaded"),
    ("amf", "the availability management framework is gone"),
    ("event", "options of the event service are gone"),
    ("confdb", "the configuration is read from the file alone"),
    ("runtime", "values at run time are not read from the file"),
];

/// The rule for a section.
pub fn rule(path: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.path == path)
}

/// What a key takes.
pub fn kind(path: &str, key: &str) -> Option<Kind> {
    rule(path)?.keys.iter().find(|(name, _)| *name == key).map(|(_, kind)| *kind)
}
