//! Every kind of mistake in a file: what is said about it, on which line, and whether the file
//! is taken. The file is a good one with one mistake.

use std::net::IpAddr;

use super::*;
use crate::error::Error;

const GOOD: &str = "\
totem {
    version: 2
    cluster_name: lab
    transport: udpu
}
nodelist {
    node {
        name: a
        nodeid: 1
        ring0_addr: 127.0.0.1
    }
}
logging {
    to_stderr: yes
    to_syslog: no
}
";

const SECOND: &str = "    node {\n        name: b\n        nodeid: 2\n        ring0_addr: 127.0.0.2\n    }\n";

fn load_here(text: &str) -> Outcome {
    let file: Arc<Path> = Arc::from(Path::new("/nowhere/t.conf"));
    load_text(text.as_bytes(), &file, "test", &Host::imagined("a", &[IpAddr::from([127, 0, 0, 1])]))
}

/// The good file with one text replaced by another.
fn with(old: &str, new: &str) -> Outcome {
    assert!(GOOD.contains(old), "{old} is not in the file");
    load_here(&GOOD.replacen(old, new, 1))
}

/// What is said, line by line, without the file's name.
fn said(outcome: &Outcome) -> Vec<String> {
    outcome.problems.iter().map(|problem| problem.to_string().replace("/nowhere/t.conf:", "")).collect()
}

#[track_caller]
fn rejected(outcome: &Outcome, parts: &[&str]) {
    assert!(outcome.config.is_none(), "must be rejected: {:?}", said(outcome));
    has(outcome, parts);
}

#[track_caller]
fn accepted(outcome: &Outcome, parts: &[&str]) {
    assert!(outcome.config.is_some(), "must be accepted: {:?}", said(outcome));
    has(outcome, parts);
}

#[track_caller]
fn has(outcome: &Outcome, parts: &[&str]) {
    let said = said(outcome);
    assert!(said.iter().any(|line| parts.iter().all(|part| line.contains(part))), "{parts:?} not in {said:#?}");
}

#[test]
fn a_good_file_is_taken_without_a_word() {
    let outcome = load_here(GOOD);
    assert_eq!(said(&outcome), [""; 0]);
    let config = outcome.for_start().expect("it is good");
    assert_eq!(config.node.node, NodeId(1));
    assert_eq!(config.node.cluster_name, "lab");
    assert_eq!(config.node.frame_size, 1500);
    assert!(!config.log.general.to_syslog && config.log.general.to_stderr);
    let crlf = load_here(&GOOD.replace('\n', "\r\n"));
    assert_eq!(crlf.for_start().expect("line ends do not matter").node, config.node);
}

#[test]
fn brackets() {
    rejected(&with("}\nlogging", "logging"), &["error", "nodelist", "line 6", "closing bracket missing"]);
    rejected(&with("totem {", "totem\n{"), &["1: error", "same line"]);
    rejected(&with("}\nlogging {", "}\n}\nlogging {"), &["13: error"]);
}

#[test]
fn keys_and_words() {
    accepted(&with("version: 2", "version: 2\n    tokenn: 5000"), &["3: warning", "totem.tokenn", "\"token\""]);
    accepted(&with("logging {", "quorm {\n}\nlogging {"), &["13: warning", "\"quorum\""]);
    rejected(&with("version: 2", "version: 3"), &["2: error: totem.version"]);
    rejected(&with("    version: 2\n", ""), &["1: error: totem.version", "missing"]);
    rejected(&with("transport: udpu", "transport: tcp"), &["4: error: totem.transport", "knet, udp, udpu"]);
    rejected(&with("transport: udpu", "transport: \"udpu\""), &["4: error", "quotes"]);
    rejected(&with("to_syslog: no", "to_syslog: maybe"), &["15: error: logging.to_syslog", "yes, no"]);
    rejected(&with("127.0.0.1", "127.0.0.1 # me"), &["10: error", "comment must stand on a line of its own"]);
    rejected(&with("nodeid: 1", "nodeid: \u{a0}1"), &["9: error", "\\xc2\\xa0"]);
    accepted(&with("cluster_name: lab", "cluster_name:"), &["3: warning: totem.cluster_name", "empty"]);
    rejected(&load_here(""), &["the file is empty"]);
}

#[test]
fn numbers_and_their_ranges() {
    let token = |value: &str| with("version: 2", &format!("version: 2\n    token: {value}"));
    rejected(&token("99999999999"), &["3: error: totem.token", "between 0 and 4294967295"]);
    rejected(&token("abc"), &["3: error: totem.token", "\"abc\""]);
    rejected(&token("10"), &["3: error: totem.token", "at least 30 ms"]);
    accepted(&token("0"), &["3: warning: totem.token", "default, 3000"]);
    let join = "version: 2\n    token: 1000\n    join: 5000";
    rejected(&with("version: 2", join), &["4: error: totem.join", "5000 ms", "1200 ms"]);
    rejected(&with("version: 2", "version: 2\n    netmtu: 70000"), &["3: error: totem.netmtu", "576 to"]);
    let port = "version: 2\n    interface {\n        mcastport: 70000\n    }";
    rejected(&with("version: 2", port), &["4: error: totem.interface.mcastport", "between 0 and 65535"]);
}

#[test]
fn nodes() {
    let second = |text: &str| with("}\nlogging", &format!("{text}}}\nlogging"));
    rejected(&second(&SECOND.replace("nodeid: 2", "nodeid: 1")), &["14: error", "\"b\"", "\"a\" (line 7)", "id 1"]);
    rejected(&second(&SECOND.replace("        ring0_addr: 127.0.0.2\n", "")), &["12: error", "no address"]);
    rejected(&second(&SECOND.replace("127.0.0.2", "fd00::2")), &["15: error", "mixes IPv4 and IPv6"]);
    let outcome = load_here(&GOOD.replace("name: a", "name: z").replace("127.0.0.1", "10.1.1.1"));
    rejected(&outcome, &["7: error: nodelist", "called a", "127.0.0.1"]);
    let knet = GOOD.replace("udpu", "knet").replace("nodeid: 1", "nodeid: 65536");
    rejected(&load_here(&knet), &["9: error", "below 65536"]);
}

/// The good file with a second node.
fn two() -> String {
    GOOD.replacen("}\nlogging", &format!("{SECOND}}}\nlogging"), 1)
}

#[test]
fn several_nodes_over_knet_pass_a_test_and_do_not_start() {
    for text in [two().replace("udpu", "knet"), two().replace("    transport: udpu\n", "")] {
        let (problems, passes) = load_here(&text).for_test(true);
        assert!(passes && problems.iter().any(|problem| problem.text.contains("refuses to start")), "{problems:?}");
        let error = load_here(&text).for_start().expect_err("it must not run alone");
        assert!(error.to_string().contains("error: nodelist: lists 2 nodes"), "{error}");
        assert!(error.to_string().contains("transport: udpu"), "{error}");
        assert_eq!(error.exit_code(), crate::error::exit::CONFIG);
    }
}

#[test]
fn the_network_of_two() {
    let config = load_here(&two()).for_start().expect("two nodes over udpu");
    assert_eq!(config.node.nodes, [NodeId(1), NodeId(2)]);
    assert_eq!((config.node.config_version, config.node.frame_size), (0, 1500));
    let net = config.net.expect("there is a peer");
    assert_eq!((net.transport, net.own.as_str(), net.port), (Transport::Udpu, "127.0.0.1", 5405));
    assert_eq!(net.peers, [crate::net::Peer { node: NodeId(2), host: "127.0.0.2".to_owned() }]);
    assert!(net.block_unlisted && net.offload && !net.broadcast);
    let text = two().replace("    version: 2", "    version: 2\n    block_unlisted_ips: no\n    config_version: 7\n    interface {\n        mcastport: 6000\n    }");
    let config = load_here(&text).for_start().expect("it is good");
    assert_eq!(config.node.config_version, 7);
    assert!(config.net.is_some_and(|net| net.port == 6000 && !net.block_unlisted));
    let text = two().replace("127.0.0.1", "::1").replace("127.0.0.2", "fd00::2");
    assert_eq!(load_here(&text).for_start().expect("it is good").node.frame_size, 1497);
    assert!(load_here(GOOD).for_start().expect("it is good").net.is_none());
}

#[test]
fn ids_follow_from_addresses() {
    let text = two().replace("        nodeid: 1\n", "").replace("        nodeid: 2\n", "");
    let config = load_here(&text).for_start().expect("ids can be derived");
    assert_eq!(config.node.nodes, [NodeId(0x7f00_0001), NodeId(0x7f00_0002)]);
    assert_eq!(config.net.expect("there is a peer").peers[0].node, NodeId(0x7f00_0002));
    rejected(&load_here(&text.replace("127.0.0.2", "b.example")), &["error: nodelist.node.nodeid", "b.example"]);
}

#[test]
fn multicast_needs_its_group() {
    let udp = |new: &str| load_here(&two().replace("transport: udpu", &format!("transport: udp\n    {new}")));
    let interface = |inner: &str| format!("interface {{\n        {inner}\n    }}");
    let net = udp("").for_start().expect("the group follows").net.expect("there is a peer");
    assert_eq!(net.group(IpAddr::from([127, 0, 0, 1])), Some(IpAddr::from([239, 192, 2, 214])));
    assert!(!net.block_unlisted && net.ttl == 1);
    let broadcast = udp(&interface("broadcast: yes")).for_start().expect("it is good").net.expect("there is a peer");
    assert_eq!(broadcast.group(IpAddr::from([127, 0, 0, 1])), Some(IpAddr::from([255, 255, 255, 255])));
    let nameless = two().replace("udpu", "udp").replace("    cluster_name: lab\n", "");
    rejected(&load_here(&nameless), &["error: totem.cluster_name", "multicast address"]);
    rejected(&udp(&interface("mcastaddr: ff15::1")), &["totem.interface.mcastaddr", "does not go with"]);
}

#[test]
fn timers_are_the_cores() {
    let text = two()
        .replace("    version: 2", "    version: 2\n    token: 1000\n    window_size: 300")
        .replace("logging {", "evensong {\n    fail_recv_timeout_ms: 5000\n    accelerated_frames: 20\n}\nlogging {");
    let totem = load_here(&text).for_start().expect("it is good").node.totem;
    let ms = |span: evensong_core::time::Span| span.0 / 1_000_000;
    assert_eq!((ms(totem.token), ms(totem.token_retransmit), ms(totem.consensus)), (1000, 238, 1200));
    assert_eq!((ms(totem.fail_recv_time), totem.accelerated, totem.window_size), (5000, 20, 300));
    assert!(totem.wide.is_none());
}

#[test]
fn crypto_needs_its_key() {
    let knet = GOOD.replace("transport: udpu", "crypto_cipher: aes256\n    crypto_hash: sha256\n    keyfile: /no/key");
    rejected(&load_here(&knet), &["6: error: totem.keyfile", "/no/key"]);
    let plain = GOOD.replace("transport: udpu", "transport: udpu\n    crypto_hash: sha256");
    rejected(&load_here(&plain), &["only the knet transport"]);
}

#[test]
fn a_log_file_that_cannot_be_fails_the_test_only() {
    let text = "to_logfile: yes\n    logfile: /nowhere/at/all/c.log";
    let outcome = with("to_syslog: no", text);
    accepted(&outcome, &["16: error: logging.logfile", "goes on without"]);
    let (problems, passes) = outcome.for_test(false);
    assert!(!passes);
    assert_eq!(Error::Config(problems).exit_code(), crate::error::exit::LOG_CONFIG);
}

#[test]
fn strict_makes_warnings_count() {
    let outcome = || with("version: 2", "version: 2\n    tokenn: 5000");
    assert!(outcome().for_test(false).1);
    assert!(!outcome().for_test(true).1);
}

#[test]
fn old_files_are_told_what_is_gone() {
    let text = "aisexec {\n    user: root\n}\ntotem {\n    version: 2\n    interface {\n        bindnetaddr: 10.0.0.0\n    }\n}\n";
    let outcome = load_here(text);
    rejected(&outcome, &["1: warning: aisexec", "obsolete"]);
    rejected(&outcome, &["error: nodelist", "lists no nodes"]);
}

#[test]
fn our_own_section() {
    let alone =
        load_here("evensong {\n    single_node: yes\n    nodeid: 7\n    ipc_ring_size: 8M\n    safe_delivery: no\n}\n");
    let config = alone.for_start().expect("one node");
    assert_eq!(config.node.node, NodeId(7));
    assert_eq!(config.limits.ring_size, 8 << 20);
    assert!(!config.node.honour_safe);
    let limits = with("logging {", "evensong {\n    ipc_ring_size: 3\n}\nlogging {");
    rejected(&limits, &["14: error: evensong.ipc_ring_size", "between"]);
    let memory = with("logging {", "evensong {\n    ipc_memory_max: 9M\n}\nlogging {");
    rejected(&memory, &["14: error: evensong.ipc_memory_max", "less than two connections"]);
}

#[test]
fn users_and_groups() {
    let outcome = with("logging {", "uidgid {\n    uid: 4000000\n    gid: root\n}\nlogging {");
    let access = outcome.for_start().expect("it is good").access;
    assert!(access.allows(4_000_000, 1) && access.groups.contains(&0));
    rejected(&with("logging {", "uidgid {\n    uid: no-such-user\n}\nlogging {"), &["14: error", "no-such-user"]);
}

#[test]
fn the_directory_beside_the_file() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file: Arc<Path> = Arc::from(dir.path().join("t.conf"));
    let beside = dir.path().join("uidgid.d");
    std::fs::create_dir(&beside).expect("it can be made");
    let put = |name: &str, text: &str| std::fs::write(beside.join(name), text).expect("it can be written");
    put("good", "uidgid {\n    uid: 4000001\n}\n");
    put("old.bak", "rubbish");
    put("bad", "uidgid {\n    uid: 4000002\n    uid: no-such-user\n}\n");
    std::fs::write(&file, GOOD).expect("it can be written");
    let outcome = load_text(GOOD.as_bytes(), &file, "test", &Host::imagined("a", &[]));
    let config = outcome.for_start().expect("the directory does not stop it");
    assert_eq!(config.access.users.into_iter().collect::<Vec<_>>(), [4_000_001]);
    let again = access(&Source::File(file.to_path_buf())).expect("it can be read");
    assert!(again.allows(4_000_001, 1) && !again.allows(4_000_002, 1));
    std::fs::write(&file, "uidgid {").expect("it can be written");
    assert!(access(&Source::File(file.to_path_buf())).is_err());
}

#[test]
fn rubbish_is_an_error_and_nothing_worse() {
    for text in ["{", "}", ":", "a:", "a {", "a { b: c }", "\0\u{1}\u{2}", "totem {\n\n{\n{\n:\n", "a{{{{{{{{{{{{{{{{"]
    {
        assert!(load_here(text).config.is_none(), "{text:?}");
    }
    let deep = "a {\n".repeat(100_000);
    assert!(load_here(&deep).config.is_none());
    let long = format!("totem {{\n    cluster_name: {}\n}}\n", "x".repeat(3_000_000));
    assert!(load_here(&long).config.is_none());
}
