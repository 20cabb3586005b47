//! Two transports in one process: over the loopback, and where the tests run as root, in a
//! network namespace of their own for what needs the network changed.

use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::process::Command;
use std::time::{Duration, Instant};

use bytes::Bytes;
use evensong_core::ids::NodeId;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sched::{unshare, CloneFlags};

use super::*;

const ALL: NodeId = NodeId(0);
/// Longest wait for what must come.
const PATIENCE: Duration = Duration::from_secs(10);

/// A configuration for udpu: this node, the others with ids 2, 3, ...
pub fn config(own: &str, peers: &[&str], port: u16) -> NetConfig {
    NetConfig {
        transport: Transport::Udpu,
        own: own.to_owned(),
        peers: (2..).zip(peers).map(|(id, host)| Peer { node: NodeId(id), host: (*host).to_owned() }).collect(),
        port,
        group: None,
        cluster_name: "lab".to_owned(),
        ttl: 1,
        broadcast: false,
        block_unlisted: true,
        ip_version: IpVersion::V6First,
        downcheck: Duration::from_millis(50),
        offload: true,
    }
}

fn start(config: NetConfig) -> Net {
    Net::new(config, Instant::now()).expect("sockets can be made")
}

fn free_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
    socket.local_addr().expect("it is bound").port()
}

/// A pair over the loopback.
fn pair(change: impl Fn(&mut NetConfig)) -> (Net, Net, u16) {
    let port = free_port();
    let mut one = config("127.0.0.1", &["127.0.0.2"], port);
    let mut two = config("127.0.0.2", &["127.0.0.1"], port);
    change(&mut one);
    change(&mut two);
    let (one, two) = (start(one), start(two));
    assert!(one.is_up() && two.is_up(), "{:?} {:?}", one, two);
    (one, two, port)
}

/// A frame whose bytes tell its number.
fn frame(number: u32, len: usize) -> Bytes {
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.extend((4..len).map(|at| (at as u32).wrapping_mul(31).wrapping_add(number) as u8));
    bytes.truncate(len);
    Bytes::from(bytes)
}

fn send(net: &mut Net, frames: impl IntoIterator<Item = (NodeId, Bytes)>) {
    let mut outbox = Outbox::default();
    frames.into_iter().for_each(|(to, frame)| outbox.push(to, frame));
    net.send(&mut outbox);
    assert!(outbox.is_empty());
}

/// Takes `count` frames, as the event loop would; the patience of a test is limited.
fn take(net: &mut Net, count: usize) -> Vec<Bytes> {
    let end = Instant::now() + PATIENCE;
    let mut frames = Vec::new();
    while frames.len() < count && Instant::now() < end {
        net.attend(Instant::now());
        while net.receive(&mut frames) {}
        if frames.len() < count {
            wait(net, Duration::from_millis(20));
        }
    }
    assert_eq!(frames.len(), count, "{:?}", net.counters());
    frames
}

fn wait(net: &mut Net, most: Duration) {
    let mut fds = [PollFd::new(net.as_fd(), PollFlags::POLLIN)];
    let timeout = PollTimeout::try_from(most).expect("it is short");
    poll(&mut fds, timeout).expect("it can be waited for");
}

/// Runs the transport's clock until `done`.
fn until(net: &mut Net, done: impl Fn(&Net) -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done(net) {
        assert!(Instant::now() < end, "{net:?}");
        wait(net, Duration::from_millis(20));
        net.attend(Instant::now());
        net.tick(Instant::now());
    }
}

/// Runs a test in a thread with a network of its own; nothing without the privilege.
fn in_own_network(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::spawn(|| {
        if unshare(CloneFlags::CLONE_NEWNET).is_err() {
            println!("skipped: not allowed to make a network namespace");
            return;
        }
        ip("link set lo up");
        test();
    });
    thread.join().expect("the test passes");
}

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().expect("iproute2 is installed");
    assert!(status.success(), "ip {arguments}");
}

#[test]
fn frames_arrive_whole_and_in_order() {
    for offload in [true, false] {
        let (mut one, mut two, _) = pair(|config| config.offload = offload);
        let sizes = |number: u32| if number % 50 == 49 { 700 } else { 1455 };
        let sent: Vec<Bytes> = (0..200).map(|number| frame(number, sizes(number))).collect();
        send(&mut one, sent.iter().map(|frame| (ALL, frame.clone())).chain([(NodeId(2), frame(900, 57))]));
        let got = take(&mut two, 201);
        assert_eq!(got[..200], sent);
        assert_eq!(got[200], frame(900, 57));
        assert_eq!(one.counters().sent, 201);
        assert_eq!(one.counters().runs > 0, offload, "{:?}", one.counters());
        assert_eq!(two.counters().merged > 0, offload, "{:?}", two.counters());
        // The other way, from what has been received.
        send(&mut two, got.iter().take(9).map(|frame| (ALL, frame.clone())));
        assert_eq!(take(&mut one, 9), sent[..9]);
    }
}

#[test]
fn sizes_that_do_not_fit_a_run_go_alone() {
    let (mut one, mut two, _) = pair(|_| ());
    let sizes = [1455, 1455, 1500, 1455, 100, 200, 200, 1, 65_000, 1455];
    let sent: Vec<Bytes> = (0..).zip(sizes).map(|(number, size)| frame(number, size)).collect();
    send(&mut one, sent.iter().map(|frame| (ALL, frame.clone())));
    assert_eq!(take(&mut two, sizes.len()), sent);
    assert_eq!(one.counters().refused, 0);
}

#[test]
fn a_token_goes_to_its_node_alone() {
    let port = free_port();
    let mut one = start(config("127.0.0.1", &["127.0.0.2", "127.0.0.3"], port));
    let mut two = start(config("127.0.0.2", &["127.0.0.1", "127.0.0.3"], port));
    let mut three = start(config("127.0.0.3", &["127.0.0.1", "127.0.0.2"], port));
    let token = || (NodeId(2), frame(7, 57));
    send(&mut one, [(ALL, frame(1, 1455)), token(), (ALL, frame(2, 1455))]);
    assert_eq!(take(&mut two, 3), [frame(1, 1455), frame(7, 57), frame(2, 1455)]);
    assert_eq!(take(&mut three, 2), [frame(1, 1455), frame(2, 1455)]);
    send(&mut one, [(NodeId(9), frame(3, 9))]);
    assert_eq!(one.counters().sent, 5);
}

#[test]
fn packets_of_strangers_are_dropped_and_counted() {
    let (one, mut two, port) = pair(|_| ());
    drop(one);
    let stranger = UdpSocket::bind("127.0.0.77:0").expect("loopback is there");
    let listed = UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
    let myself = UdpSocket::bind("127.0.0.2:0").expect("loopback is there");
    for (socket, bytes) in [(&stranger, &b"stranger"[..]), (&myself, b"mirror"), (&listed, b""), (&listed, b"garbage")]
    {
        socket.send_to(bytes, ("127.0.0.2", port)).expect("loopback takes it");
    }
    assert_eq!(take(&mut two, 1), [Bytes::from_static(b"garbage")], "what is in a frame is not looked at here");
    two.attend(Instant::now());
    assert_eq!((two.counters().unlisted, two.counters().own, two.counters().received), (1, 1, 1));
    assert!(two.take_log().iter().any(|(_, text)| text.contains("127.0.0.77")));
    let (_, mut open, port) = pair(|config| config.block_unlisted = false);
    stranger.send_to(b"hello", ("127.0.0.2", port)).expect("loopback takes it");
    assert_eq!(take(&mut open, 1), [Bytes::from_static(b"hello")]);
}

#[test]
fn a_reader_that_does_not_read_costs_frames_and_nothing_else() {
    let (mut one, mut two, _) = pair(|_| ());
    let sent: Vec<Bytes> = (0..20_000).map(|number| frame(number, 1455)).collect();
    for part in sent.chunks(500) {
        send(&mut one, part.iter().map(|frame| (ALL, frame.clone())));
    }
    let mut got = Vec::new();
    while two.receive(&mut got) {}
    let numbers: Vec<u32> =
        got.iter().map(|frame| u32::from_le_bytes(frame[..4].try_into().expect("four bytes"))).collect();
    assert!(!numbers.is_empty() && numbers.len() < sent.len(), "{}", numbers.len());
    assert!(numbers.is_sorted(), "what arrives is in order");
    got.clear();
    send(&mut one, [(ALL, frame(1, 100))]);
    assert_eq!(take(&mut two, 1), [frame(1, 100)], "it goes on");
}

#[test]
fn ipv6_works_the_same() {
    in_own_network(|| {
        ip("address add fd00::1/64 dev lo nodad");
        ip("address add fd00::2/64 dev lo nodad");
        let mut one = start(config("fd00::1", &["fd00::2"], 5405));
        let mut two = start(config("fd00::2", &["fd00::1"], 5405));
        let sent: Vec<Bytes> = (0..100).map(|number| frame(number, 1452)).collect();
        send(&mut one, sent.iter().map(|frame| (ALL, frame.clone())));
        assert_eq!(take(&mut two, 100), sent);
        assert!(one.counters().runs > 0);
    });
}

#[test]
fn a_wire_that_is_too_narrow_gets_fragments() {
    in_own_network(|| {
        ip("link set lo mtu 1400");
        ip("address add 10.7.0.1/32 dev lo");
        ip("address add 10.7.0.2/32 dev lo");
        let mut one = start(config("10.7.0.1", &["10.7.0.2"], 5405));
        let mut two = start(config("10.7.0.2", &["10.7.0.1"], 5405));
        let sent: Vec<Bytes> = (0..100).map(|number| frame(number, 1455)).collect();
        send(&mut one, sent.iter().map(|frame| (ALL, frame.clone())));
        assert_eq!(take(&mut two, 100), sent);
        assert_eq!((one.counters().refused, one.counters().runs), (1, 0), "refused once, then not tried again");
        send(&mut one, (0..10).map(|number| (ALL, frame(number, 1000))));
        assert_eq!(take(&mut two, 10).len(), 10);
        assert_eq!(one.counters().runs, 1, "smaller frames still go in runs");
    });
}

#[test]
fn an_address_that_comes_later_and_goes() {
    in_own_network(|| {
        ip("link add d0 type veth peer name d1");
        ip("link set d0 up");
        ip("link set d1 up");
        let mut one = start(config("10.7.0.1", &["10.7.0.2"], 5405));
        assert!(!one.is_up());
        send(&mut one, [(ALL, frame(1, 100))]);
        assert_eq!(one.counters().lost_unreachable, 1);
        assert!(one.take_log().iter().any(|(_, text)| text.contains("10.7.0.1")));
        ip("address add 10.7.0.1/24 dev d0");
        until(&mut one, Net::is_up);
        // Nobody answers for the peer: frames are lost without an error, or with one.
        send(&mut one, [(ALL, frame(1, 100))]);
        ip("link set d0 down");
        until(&mut one, |net| !net.is_up());
        ip("link set d0 up");
        until(&mut one, Net::is_up);
        ip("link delete d0");
        until(&mut one, |net| !net.is_up());
        ip("link add d0 type veth peer name d1");
        ip("address add 10.7.0.1/24 dev d0");
        ip("link set d0 up");
        until(&mut one, Net::is_up);
        let said = one.take_log();
        assert_eq!(said.iter().filter(|(_, text)| text.contains("is now up")).count(), 3, "{said:?}");
        let stranger = UdpSocket::bind("10.7.0.1:0").expect("the address is there");
        stranger.send_to(b"mirror", "10.7.0.1:5405").expect("it can be reached");
        until(&mut one, |net| net.counters().own == 0);
        let mut none = Vec::new();
        while one.counters().own == 0 {
            one.receive(&mut none);
        }
        assert!(none.is_empty());
    });
}

/// Frames to a neighbour that does not answer stay in the socket's account: that fills it.
#[test]
fn a_full_socket_keeps_some_and_goes_on() {
    in_own_network(|| {
        ip("link add d0 type veth peer name d1");
        ip("address add 10.7.0.1/24 dev d0");
        ip("link set d0 up");
        ip("link set d1 up");
        std::fs::write("/proc/sys/net/ipv4/neigh/d0/unres_qlen_bytes", "100000000").expect("it can be set");
        let mut one = start(config("10.7.0.1", &["10.7.0.9"], 5405));
        for number in 0..200 {
            send(&mut one, (0..50).map(|at| (ALL, frame(number * 50 + at, 1455))));
        }
        let full = *one.counters();
        assert!(full.lost_full > 0 && full.lost_full < 9000, "{full:?}");
        assert!(full.sent + full.lost_full < 10_000, "some must wait: {full:?}");
        ip("neighbour replace 10.7.0.9 lladdr 02:00:00:00:00:09 dev d0 nud permanent");
        until(&mut one, |net| net.counters().sent + net.counters().lost_full == 10_000);
        assert_eq!(one.counters().lost_full, full.lost_full, "what waited was sent");
        let before = one.counters().sent;
        send(&mut one, [(ALL, frame(1, 100))]);
        assert_eq!(one.counters().sent, before + 1);
    });
}

fn multicast(own: &str, peer: &str) -> NetConfig {
    NetConfig { transport: Transport::Udp, block_unlisted: false, ..config(own, &[peer], 5405) }
}

/// Multicasts and a token behind them; the loopback brings own multicasts back, which are not
/// taken.
fn exchange(mut one: Net, mut two: Net, size: usize) {
    assert!(one.is_up() && two.is_up(), "{one:?}");
    let sent: Vec<Bytes> = (0..100).map(|number| frame(number, size)).collect();
    send(&mut one, sent.iter().map(|frame| (ALL, frame.clone())).chain([(NodeId(2), frame(900, 57))]));
    let got = take(&mut two, 101);
    assert_eq!(got[..100], sent);
    assert_eq!(got[100], frame(900, 57), "the token comes behind the multicasts");
    let mut own = Vec::new();
    while one.receive(&mut own) {}
    assert!(own.is_empty());
    send(&mut two, [(ALL, frame(1, 1500))]);
    assert_eq!(take(&mut one, 1), [frame(1, 1500)]);
}

#[test]
fn multicast_reaches_the_group() {
    in_own_network(|| {
        ip("link set lo multicast on");
        ip("address add 10.7.0.1/24 dev lo");
        ip("address add 10.7.0.2/24 dev lo");
        exchange(start(multicast("10.7.0.1", "10.7.0.2")), start(multicast("10.7.0.2", "10.7.0.1")), 1455);
        // IPv6 does not bring multicasts back over lo.
        ip("link add d0 type veth peer name d1");
        ip("address add fd00::1/64 dev d0 nodad");
        ip("address add fd00::2/64 dev d1 nodad");
        ip("link set d0 up");
        ip("link set d1 up");
        exchange(start(multicast("fd00::1", "fd00::2")), start(multicast("fd00::2", "fd00::1")), 1452);
    });
}

#[test]
fn broadcast_reaches_the_wire() {
    in_own_network(|| {
        ip("link add d0 type veth peer name d1");
        ip("address add 10.7.0.1/24 dev d0");
        ip("address add 10.7.0.2/24 dev d1");
        ip("link set d0 up");
        ip("link set d1 up");
        // Both ends are this machine, so that it is the kernel's copy for local sockets that is
        // heard; what comes over the wire from a local address it drops.
        let broadcast = |own, peer| start(NetConfig { broadcast: true, ..multicast(own, peer) });
        exchange(broadcast("10.7.0.1", "10.7.0.2"), broadcast("10.7.0.2", "10.7.0.1"), 1455);
    });
}

#[test]
fn names_are_looked_up_beside_the_loop() {
    let port = free_port();
    let mut one = config("127.0.0.1", &["localhost"], port);
    one.ip_version = IpVersion::V4;
    one.own = "127.0.0.3".to_owned();
    let mut one = start(one);
    let socket = UdpSocket::bind(("127.0.0.1", port)).expect("loopback is there");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time");
    until(&mut one, |net| net.deadline().is_some() || net.is_up());
    let end = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < end, "{one:?}");
        wait(&mut one, Duration::from_millis(20));
        one.attend(Instant::now());
        send(&mut one, [(ALL, frame(5, 64))]);
        if one.counters().sent > 0 {
            break;
        }
    }
    let mut bytes = [0; 100];
    assert_eq!(socket.recv(&mut bytes).expect("the frame arrives"), 64);
    one.reread(Instant::now());
}
