//! A whole node under hostile frames, case B79: what is cut, or counts what makes no sense, is
//! ignored: nothing is sent, stored or told to clients because of it.

use bytes::Bytes;
use evensong_core::config::NodeConfig;
use evensong_core::ids::{LinkId, NodeId};
use evensong_core::input::Input;
use evensong_core::node::Node;
use evensong_core::output::Output;
use evensong_core::time::Instant;
use evensong_core::wire::frame::FrameType;
use proptest::prelude::*;

use crate::annotation;

/// Long enough to give up waiting for the others and form a ring alone.
const ALONE: Instant = Instant(30_000_000_000);

/// Node 9, alone on its ring, though it knows the nodes of the captured frames.
fn alone() -> Node {
    let nodes = [1, 2, 3, 9].map(NodeId).to_vec();
    let mut node = Node::new(NodeConfig { node: NodeId(9), nodes, ..NodeConfig::default() });
    node.handle(Input::Start, Instant(0));
    for _ in 0..100_000 {
        while node.poll_output().is_some() {}
        match node.next_deadline() {
            Some(due) if due.0 <= ALONE.0 => node.handle(Input::Tick, due),
            _ => break,
        }
    }
    node
}

fn feed(node: &mut Node, frame: &[u8]) -> Vec<Output> {
    node.handle(Input::Packet { link: LinkId(0), bytes: Bytes::copy_from_slice(frame) }, ALONE);
    node.check();
    let mut outputs = Vec::new();
    while let Some(output) = node.poll_output() {
        if !matches!(output, Output::Log(_)) {
            outputs.push(output);
        }
    }
    outputs
}

#[test]
fn b79_a_node_ignores_what_is_cut() {
    let mut node = alone();
    for golden in annotation::all().values() {
        for len in 0..golden.bytes.len() {
            assert_eq!(feed(&mut node, &golden.bytes[..len]), [], "{} cut to {len}", golden.name);
        }
    }
}

#[test]
fn b79_a_node_ignores_counts_of_no_sense() {
    let mut node = alone();
    let half = 0x8000_0000u32;
    for golden in annotation::all().values() {
        let (at, counts) = match golden.bytes[3] {
            kind if kind == FrameType::Join as u8 => {
                (17, vec![(half, half), (u32::MAX, 1), (1, u32::MAX), (385, 0), (0, 385)])
            }
            kind if kind == FrameType::CommitToken as u8 => (33, vec![(0, 0), (2, 1), (0, 385), (0, u32::MAX)]),
            _ => continue,
        };
        for counts in counts {
            let mut bytes = golden.bytes.clone();
            bytes[at..at + 4].copy_from_slice(&counts.0.to_le_bytes());
            bytes[at + 4..at + 8].copy_from_slice(&counts.1.to_le_bytes());
            for len in [bytes.len(), 1500, 60_000] {
                bytes.resize(len, 0);
                assert_eq!(feed(&mut node, &bytes), [], "{} with {counts:?}", golden.name);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Frames with a few bytes changed, one after another to the same node, whatever state they
    /// bring it into: its invariants hold.
    #[test]
    fn damaged_frames(
        damage in proptest::collection::vec(
            (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>(), 1u64..2_000_000_000), 1..60),
    ) {
        let all: Vec<_> = annotation::all().into_values().collect();
        let mut node = alone();
        let mut now = ALONE;
        for (pick, at, value, pause) in damage {
            let mut bytes = pick.get(&all).bytes.clone();
            let at = at.index(bytes.len());
            bytes[at] = value;
            node.handle(Input::Packet { link: LinkId(0), bytes: bytes.into() }, now);
            node.check();
            while node.poll_output().is_some() {}
            now.0 += pause;
            node.handle(Input::Tick, now);
            node.check();
            while node.poll_output().is_some() {}
        }
    }
}
