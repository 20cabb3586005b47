//! Several nodes wired to each other, with a clock of their own: rings form, order, break.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::*;
use crate::ids::LinkId;
use crate::node::tests::name;
use crate::time::Span;

/// Nodes and what is under way between them; a frame takes a tenth of a millisecond.
struct Cluster {
    nodes: BTreeMap<u32, Node>,
    now: Instant,
    /// When, to whom, what; in order.
    wire: VecDeque<(Instant, u32, Bytes)>,
    /// Pairs that do not hear each other.
    cut: Vec<(u32, u32)>,
    stored: BTreeMap<u32, u64>,
    /// What the client of each node saw, in short words.
    seen: BTreeMap<u32, Vec<String>>,
    /// Every how many-th frame is lost, tokens among them; 0: none.
    lose: u32,
    sent: u32,
}

const DELAY: Span = Span(100_000);

impl Cluster {
    fn new(ids: &[u32]) -> Cluster {
        let mut cluster = Cluster {
            nodes: BTreeMap::new(),
            now: Instant(1),
            wire: VecDeque::new(),
            cut: Vec::new(),
            stored: BTreeMap::new(),
            seen: BTreeMap::new(),
            lose: 0,
            sent: 0,
        };
        for id in ids {
            cluster.start(*id, ids);
        }
        cluster
    }

    fn start(&mut self, id: u32, ids: &[u32]) {
        let config = NodeConfig {
            node: NodeId(id),
            nodes: ids.iter().copied().map(NodeId).collect(),
            last_ring_seq: self.stored.get(&id).copied().unwrap_or(0),
            ..NodeConfig::default()
        };
        self.nodes.insert(id, Node::new(config));
        self.seen.insert(id, Vec::new());
        self.feed(id, Input::Start);
        self.feed(id, Input::Connect { client: ClientId(0), service: Service::Cpg, pid: id });
    }

    fn feed(&mut self, id: u32, input: Input) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        node.handle(input, self.now);
        node.check();
        let mut sends = Vec::new();
        let seen = self.seen.get_mut(&id).expect("a started node");
        while let Some(output) = node.poll_output() {
            match output {
                Output::Send { to, frame, .. } => sends.push((to.0, frame)),
                Output::StoreRingSeq { seq } => {
                    self.stored.insert(id, seq);
                }
                Output::CpgDeliver { node: from, payload, .. } => {
                    let bytes = node.payload(payload);
                    let text = if bytes.len() > 60 { format!("{} bytes", bytes.len()) } else { text_of(bytes) };
                    seen.push(format!("{}:{text}", from.0));
                }
                Output::CpgConfchg { change, .. } => {
                    let list = |members: &[crate::output::CpgMember]| {
                        members.iter().map(|m| format!("{}/{}", m.node.0, m.reason)).collect::<Vec<_>>().join(" ")
                    };
                    seen.push(format!("[{}] -{} +{}", list(&change.members), list(&change.left), list(&change.joined)));
                }
                _ => {}
            }
        }
        for (to, frame) in sends {
            let all: Vec<u32> = self.nodes.keys().copied().filter(|other| *other != id).collect();
            self.sent += 1;
            let lost = self.lose != 0 && self.sent.is_multiple_of(self.lose);
            for other in all.into_iter().filter(|other| (to == 0 || to == *other) && !lost) {
                if !self.cut.contains(&(id, other)) && !self.cut.contains(&(other, id)) {
                    self.wire.push_back((self.now.after(DELAY), other, frame.clone()));
                }
            }
        }
    }

    fn run(&mut self, ms: u64) {
        let end = self.now.after(Span::from_millis(ms));
        loop {
            let due = self.nodes.iter().filter_map(|(id, node)| Some((node.next_deadline()?, *id))).min();
            let packet = self.wire.front().map(|(at, ..)| *at);
            let next = match (due, packet) {
                (Some((at, _)), Some(packet)) => at.min(packet),
                (Some((at, _)), None) => at,
                (None, Some(packet)) => packet,
                (None, None) => end,
            };
            if next >= end {
                self.now = end;
                return;
            }
            self.now = self.now.max(next);
            if packet == Some(next) {
                let (_, to, bytes) = self.wire.pop_front().expect("it is there");
                self.feed(to, Input::Packet { link: LinkId(0), bytes });
            } else if let Some((_, id)) = due {
                self.feed(id, Input::Tick);
            }
        }
    }

    fn join(&mut self, id: u32) {
        let request = Request::CpgJoin { pid: id, group: name("g"), flags: 0 };
        self.feed(id, Input::Request { client: ClientId(0), request });
    }

    fn mcast(&mut self, id: u32, bytes: &[u8], guarantee: Guarantee) {
        let (payload, memory) = self.nodes.get_mut(&id).expect("it runs").reserve(bytes.len() as u32);
        memory.copy_from_slice(bytes);
        let request = Request::CpgMcast { guarantee, payload };
        self.feed(id, Input::Request { client: ClientId(0), request });
    }

    fn members(&self, id: u32) -> Vec<u32> {
        self.nodes[&id].members().iter().map(|node| node.0).collect()
    }

    fn take(&mut self, id: u32) -> Vec<String> {
        std::mem::take(self.seen.get_mut(&id).expect("it was started"))
    }
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn three_nodes_form_a_ring_and_agree() {
    let mut cluster = Cluster::new(&[1, 2, 3]);
    cluster.run(500);
    for id in 1..=3 {
        assert_eq!(cluster.members(id), [1, 2, 3]);
        assert!(cluster.nodes[&id].has_room(), "the change is worked off");
    }
    for id in [2, 3, 1] {
        cluster.join(id);
        cluster.run(50);
    }
    let all = "[1/0 2/0 3/0] - +1/1";
    for id in 1..=3 {
        assert_eq!(cluster.take(id).last().map(String::as_str), Some(all));
    }
    for round in 0..50 {
        for id in 1..=3 {
            let guarantee = if round % 3 == 0 { Guarantee::Safe } else { Guarantee::Agreed };
            cluster.mcast(id, format!("{id}.{round}").as_bytes(), guarantee);
        }
        cluster.mcast(1 + round % 3, &vec![7; 5000], Guarantee::Agreed);
    }
    cluster.run(1000);
    let first = cluster.take(1);
    assert_eq!(first.len(), 200);
    assert_eq!(first, cluster.take(2));
    assert_eq!(first, cluster.take(3));
}

#[test]
fn loss_is_repaired() {
    let mut cluster = Cluster::new(&[1, 2, 3]);
    cluster.run(500);
    (1..=3).for_each(|id| cluster.join(id));
    cluster.run(100);
    (1..=3).for_each(|id| drop(cluster.take(id)));
    cluster.lose = 7;
    for round in 0..300 {
        for id in 1..=3 {
            cluster.mcast(id, &vec![round as u8; 1000], Guarantee::Agreed);
        }
    }
    cluster.run(5000);
    let first = cluster.take(1);
    assert_eq!(first.len(), 900);
    assert_eq!(first, cluster.take(2));
    assert_eq!(first, cluster.take(3));
    assert_eq!(cluster.nodes[&1].ring_counters().token_lost, 0);
}

#[test]
fn a_node_dies_and_comes_back() {
    let ids = [1, 2, 3];
    let mut cluster = Cluster::new(&ids);
    cluster.run(500);
    (1..=3).for_each(|id| cluster.join(id));
    cluster.run(100);
    for id in ids {
        cluster.mcast(id, b"before", Guarantee::Agreed);
    }
    cluster.nodes.remove(&1);
    cluster.run(12_000);
    assert_eq!(cluster.members(2), [2, 3]);
    let seen = cluster.take(2);
    assert_eq!(seen.last().map(String::as_str), Some("[2/0 3/0] -1/3 +"), "{seen:?}");
    assert_eq!(cluster.take(3).last(), seen.last());
    cluster.start(1, &ids);
    cluster.run(12_000);
    assert_eq!(cluster.members(2), ids);
    cluster.join(1);
    cluster.run(100);
    for id in ids {
        assert_eq!(cluster.take(id).last().map(String::as_str), Some("[1/0 2/0 3/0] - +1/1"));
    }
}

#[test]
fn a_cut_ring_goes_on_in_parts_and_comes_together() {
    let mut cluster = Cluster::new(&[1, 2, 3]);
    cluster.run(500);
    (1..=3).for_each(|id| cluster.join(id));
    cluster.run(100);
    cluster.cut = vec![(1, 2), (1, 3)];
    cluster.run(12_000);
    assert_eq!((cluster.members(1), cluster.members(2)), (vec![1], vec![2, 3]));
    (1..=3).for_each(|id| drop(cluster.take(id)));
    cluster.mcast(1, b"alone", Guarantee::Safe);
    cluster.mcast(2, b"two", Guarantee::Safe);
    cluster.run(1000);
    assert_eq!((cluster.take(1), cluster.take(2)), (vec!["1:alone".to_owned()], vec!["2:two".to_owned()]));
    cluster.cut.clear();
    cluster.run(12_000);
    assert_eq!(cluster.members(1), [1, 2, 3]);
    assert_eq!(cluster.take(1), ["[1/0 2/0 3/0] - +2/4 3/4"]);
    assert_eq!(cluster.take(2), ["[1/0 2/0 3/0] - +1/4"]);
}

#[test]
fn an_orderly_stop_is_seen_at_once() {
    let mut cluster = Cluster::new(&[1, 2, 3]);
    cluster.run(500);
    (1..=3).for_each(|id| cluster.join(id));
    cluster.run(100);
    cluster.feed(2, Input::Stop);
    cluster.nodes.remove(&2);
    cluster.run(200);
    assert_eq!(cluster.members(1), [1, 3]);
    assert_eq!(cluster.take(3).last().map(String::as_str), Some("[1/0 3/0] -2/3 +"));
}
