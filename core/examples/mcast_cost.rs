//! What one message costs in the core: nanoseconds for a `CpgMcast` whose bytes stay with the
//! caller, outputs drained. Run with `cargo run --release --example mcast_cost`.

use std::hint::black_box;

use evensong_core::config::NodeConfig;
use evensong_core::ids::{ClientId, GroupName, NodeId};
use evensong_core::input::{Guarantee, Input, Payload, Request};
use evensong_core::ipc::Service;
use evensong_core::node::Node;
use evensong_core::time::Instant;

const MESSAGES: u64 = 20_000_000;

fn main() {
    for (clients, groups) in [(1, 1), (10, 10), (200, 20)] {
        let mut node = Node::new(NodeConfig {
            node: NodeId(1),
            cluster_name: "evensong".into(),
            nodes: vec![NodeId(1)],
            last_ring_seq: 0,
            frame_size: 1500,
            honour_safe: true,
            always_frame: false,
            ..NodeConfig::default()
        });
        node.handle(Input::Start, Instant(0));
        for number in 0..clients {
            let (client, pid) = (ClientId(number), 1000 + number);
            node.handle(Input::Connect { client, service: Service::Cpg, pid }, Instant(0));
            let name = format!("group {}", number % groups);
            let group = Box::new(GroupName::new(name.as_bytes()).expect("short enough"));
            node.handle(Input::Request { client, request: Request::CpgJoin { pid, group, flags: 0 } }, Instant(0));
        }
        while node.poll_output().is_some() {}
        let messages = MESSAGES * u64::from(groups) / u64::from(clients);
        let mut delivered = 0u64;
        #[allow(clippy::disallowed_types)]
        let start = std::time::Instant::now();
        for key in 0..messages {
            let payload = Payload::Caller { key, len: 64 };
            let request = Request::CpgMcast { guarantee: Guarantee::Agreed, payload };
            let client = ClientId((key % u64::from(clients)) as u32);
            node.handle(black_box(Input::Request { client, request }), Instant(key));
            while let Some(output) = node.poll_output() {
                black_box(&output);
                delivered += 1;
            }
        }
        let nanos = start.elapsed().as_nanos() as f64;
        let (per_message, per_delivery) = (nanos / messages as f64, nanos / delivered as f64);
        println!("{clients} clients in {groups} groups: {per_message:.1} ns/message, {per_delivery:.1} ns/delivery");
    }
}
