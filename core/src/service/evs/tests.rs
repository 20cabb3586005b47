//! Groups of a client up to the limit, and messages that carry so many.

use super::*;
use crate::input::{Guarantee, Input, Request};
use crate::ipc::request::EVS_BYTES_MAX;
use crate::ipc::Service;
use crate::node::tests::{evs_deliver, reply, Bench};

fn group(key: usize) -> EvsGroup {
    let mut group = EvsGroup([0xee; 32]);
    group.0[..8].copy_from_slice(&key.to_be_bytes());
    group
}

fn groups(keys: impl Iterator<Item = usize>) -> Vec<EvsGroup> {
    keys.map(group).collect()
}

#[test]
fn as_many_groups_as_a_message_carries() {
    for always_frame in [false, true] {
        let mut bench = Bench::new(always_frame);
        bench.connect(1, Service::Evs);
        bench.connect(2, Service::Evs);
        let all = groups(0..CLIENT_GROUPS_MAX);
        for some in all.chunks(EVS_JOIN_GROUPS_MAX) {
            assert_eq!(bench.ask(1, Request::EvsJoin { groups: some.to_vec() }), [reply(1, Status::Ok)]);
        }
        assert_eq!(bench.ask(1, Request::EvsJoin { groups: groups(0..1) }), [reply(1, Status::NoResources)]);
        assert_eq!(bench.ask(2, Request::EvsJoin { groups: groups(77..78) }), [reply(2, Status::Ok)]);

        let room = EVS_BYTES_MAX as usize - 32 * CLIENT_GROUPS_MAX;
        for (len, arrives) in [(room, true), (room + 1, false)] {
            let (message, before) = (vec![3; len], bench.node.counters().not_sent);
            let payload = bench.message(&message);
            let seen = bench.ask(1, Request::EvsMcastJoined { guarantee: Guarantee::Agreed, payload });
            let expected = [evs_deliver(1, &message), evs_deliver(2, &message)];
            assert_eq!(seen, if arrives { &expected[..] } else { &[] });
            assert_eq!(bench.node.counters().not_sent - before, u64::from(!arrives));
        }
        let payload = bench.message(b"to all");
        let asked = Request::EvsMcastGroups { guarantee: Guarantee::Agreed, groups: all.clone(), payload };
        assert_eq!(bench.ask(2, asked), [evs_deliver(1, b"to all"), evs_deliver(2, b"to all")]);

        // All but the first, which is asked for twice.
        let asked = all[1..].iter().chain(&all[..1]).chain(&all[..1]).copied().collect();
        assert_eq!(bench.ask(1, Request::EvsLeave { groups: asked }), [reply(1, Status::NotExist)]);
        let payload = bench.message(b"nobody");
        assert_eq!(bench.ask(1, Request::EvsMcastJoined { guarantee: Guarantee::Agreed, payload }), []);
        assert_eq!(bench.feed(Input::Disconnect { client: crate::ids::ClientId(1) }), []);
    }
}
