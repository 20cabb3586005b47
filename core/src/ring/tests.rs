//! A ring of one: its first configuration, numbers with and without frames, order.

use super::*;
use proptest::prelude::*;

fn config(always_frame: bool) -> NodeConfig {
    NodeConfig {
        node: NodeId(7),
        cluster_name: "test".into(),
        nodes: vec![NodeId(7)],
        last_ring_seq: 0,
        frame_size: 500,
        honour_safe: true,
        always_frame,
        ..NodeConfig::default()
    }
}

fn started(config: &NodeConfig) -> Ring<Vec<u8>> {
    let mut ring = Ring::new(config);
    ring.start(Instant(0), &mut VecDeque::new());
    while ring.poll_event().is_some() {}
    ring.sync_done();
    ring
}

#[test]
fn the_first_ring() {
    let mut ring: Ring<()> = Ring::new(&config(false));
    assert!(!ring.is_operational() && ring.builds_frames());
    let mut outputs = VecDeque::new();
    ring.start(Instant(0), &mut outputs);
    ring.start(Instant(0), &mut outputs);
    assert_eq!(outputs.len(), 2, "a second start does nothing");
    assert_eq!(outputs[0], Output::StoreRingSeq { seq: 5 });
    let Output::Log(line) = &outputs[1] else { panic!("a log line expected") };
    assert_eq!(line.text, "A new membership (7.5) was formed. Members joined: 7");
    let Some(Event::Config(first)) = ring.poll_event() else { panic!("a configuration expected") };
    let Some(Event::Config(second)) = ring.poll_event() else { panic!("a configuration expected") };
    assert!(first.transitional && first.members.is_empty() && !second.transitional);
    assert_eq!((&second.members, &second.joined), (&vec![NodeId(7)], &vec![NodeId(7)]));
    assert_eq!(second.ring, RingId { rep: NodeId(7), seq: 5 });
    assert!(ring.poll_event().is_none());
    assert_eq!(ring.next_deadline(), None, "an only node has nobody to look for");
}

#[test]
fn a_node_with_peers_looks_for_them() {
    let mut config = config(false);
    config.nodes.push(NodeId(9));
    let mut ring = started(&config);
    let due = ring.next_deadline().expect("merge detect is due");
    let mut outputs = VecDeque::new();
    ring.tick(Instant(due.0 - 1), &mut outputs);
    assert!(outputs.is_empty());
    ring.tick(due, &mut outputs);
    assert!(matches!(&outputs[0], Output::Send { to: NodeId(0), .. }));
    ring.stop(&mut outputs);
    assert_eq!(ring.next_deadline(), None);
}

proptest! {
    /// The same messages, kept and framed: same numbers, same order, same bytes.
    #[test]
    fn frames_make_no_difference(
        messages in proptest::collection::vec((proptest::collection::vec(any::<u8>(), 1..3000), any::<bool>()), 1..30)
    ) {
        let mut kept = started(&config(false));
        let mut framed = started(&config(true));
        for (message, safe) in messages {
            kept.mcast_local(message.clone(), message.len() as u64, safe);
            framed.mcast(&[&message], safe, Instant(0), &mut VecDeque::new());
            let Some(Event::Local { origin: NodeId(7), message: got }) = kept.poll_event() else {
                panic!("delivery expected")
            };
            prop_assert_eq!(&got, &message);
            let Some(Event::Delivery(delivery)) = framed.poll_event() else { panic!("delivery expected") };
            let bytes: &[u8] = match &delivery.memory {
                Memory::Own(bytes) => bytes,
                Memory::Frame(bytes) => bytes,
            };
            prop_assert_eq!(&bytes[delivery.range.clone()], &message[..]);
            prop_assert_eq!(kept.seq(), framed.seq());
            kept.check();
            framed.check();
        }
        prop_assert!(kept.poll_event().is_none() && framed.poll_event().is_none());
        prop_assert_eq!(framed.counters().bad_frames, 0);
    }
}
