//! What corosync 3.1.7 was seen to do (a C program run against it), replayed on a node, with
//! and without frames.

use crate::ids::ClientId;
use crate::input::{Input, IterationKind, Part, Request};
use crate::ipc::Service;
use crate::node::tests::{answer, deliver, first_config, member, name, reply, Bench, Seen};
use crate::output::{CpgConfchg, CpgMember, Output, ReplyBody};
use crate::service::Status;

fn confchg(to: u32, group: &str, members: &[u32], left: &[(u32, u32)], joined: &[u32]) -> Seen {
    let change = CpgConfchg {
        group: *name(group),
        members: members.iter().map(|pid| member(*pid, 0)).collect(),
        left: left.iter().map(|(pid, reason)| member(*pid, *reason)).collect(),
        joined: joined.iter().map(|pid| member(*pid, 1)).collect(),
    };
    Seen(Output::CpgConfchg { to: ClientId(to), change: change.into() }, vec![])
}

fn both(test: impl Fn(&mut Bench)) {
    for always_frame in [false, true] {
        let mut bench = Bench::new(always_frame);
        for client in 1..=5 {
            assert_eq!(bench.connect(client, Service::Cpg), []);
        }
        test(&mut bench);
    }
}

fn items(bench: &mut Bench, kind: IterationKind, group: &str) -> Vec<(String, u32)> {
    let seen = bench.ask(5, Request::CpgIterationStart { kind, group: name(group) });
    let Output::Reply { reply: started, .. } = &seen[0].0 else { panic!("a reply expected") };
    let ReplyBody::Iteration(iteration) = started.body else { panic!("an iteration expected") };
    let mut out = Vec::new();
    loop {
        let seen = bench.ask(5, Request::CpgIterationNext { iteration });
        if seen == [reply(5, Status::NoSections)] {
            break;
        }
        let Output::Reply { reply, .. } = &seen[0].0 else { panic!("a reply expected") };
        let ReplyBody::IterationItem { group, pid, .. } = &reply.body else { panic!("an item expected") };
        out.push((String::from_utf8_lossy(group.bytes()).into_owned(), *pid));
    }
    let again = bench.ask(5, Request::CpgIterationNext { iteration });
    assert_eq!(again == [reply(5, Status::NoSections)], out.is_empty(), "it begins anew");
    assert_eq!(bench.ask(5, Request::CpgIterationEnd { iteration }), [reply(5, Status::Ok)]);
    assert_eq!(bench.ask(5, Request::CpgIterationNext { iteration }), [reply(5, Status::Library)]);
    out
}

#[test]
fn join_answers_first_then_tells() {
    both(|bench| {
        assert_eq!(bench.leave(1, 10, "A"), [reply(1, Status::NotExist)]);
        assert_eq!(bench.mcast(1, b"x"), []);
        let initial = Output::CpgTotemConfchg { to: ClientId(1), change: first_config() };
        assert_eq!(
            bench.ask(1, Request::CpgJoin { pid: 10, group: name("A"), flags: 1 }),
            [reply(1, Status::Ok), confchg(1, "A", &[10], &[], &[10]), Seen(initial, vec![])]
        );
        assert_eq!(bench.join(1, 10, "A"), [reply(1, Status::Exist)]);
        assert_eq!(bench.join(1, 10, "B"), [reply(1, Status::Exist)]);
        assert_eq!(bench.join(2, 10, "A"), [reply(2, Status::Exist)]);
        assert_eq!(
            bench.join(2, 9, "A"),
            [reply(2, Status::Ok), confchg(1, "A", &[9, 10], &[], &[9]), confchg(2, "A", &[9, 10], &[], &[9])]
        );
        assert_eq!(bench.mcast(2, b"x"), [deliver(1, 9, b"x"), deliver(2, 9, b"x")]);
    });
}

#[test]
fn a_client_that_left_hears_no_more_and_can_join_again() {
    both(|bench| {
        bench.join(1, 10, "A");
        bench.join(2, 20, "A");
        assert_eq!(
            bench.leave(1, 10, "A"),
            [reply(1, Status::Ok), confchg(1, "A", &[20], &[(10, 2)], &[]), confchg(2, "A", &[20], &[(10, 2)], &[])]
        );
        assert_eq!(bench.leave(1, 10, "A"), [reply(1, Status::NotExist)]);
        assert_eq!(bench.mcast(1, b"x"), []);
        assert_eq!(bench.mcast(2, b"y"), [deliver(2, 20, b"y")]);
        assert_eq!(
            bench.join(3, 10, "A"),
            [reply(3, Status::Ok), confchg(2, "A", &[10, 20], &[], &[10]), confchg(3, "A", &[10, 20], &[], &[10])],
            "another handle of the process"
        );
        assert_eq!(bench.join(1, 10, "A"), [reply(1, Status::Exist)], "the process is in it by the other");
        assert_eq!(bench.join(1, 10, "B"), [reply(1, Status::Ok), confchg(1, "B", &[10], &[], &[10])]);
        assert_eq!(bench.leave(1, 10, "B"), [reply(1, Status::Ok), confchg(1, "B", &[], &[(10, 2)], &[])]);
        assert_eq!(items(bench, IterationKind::NameOnly, ""), [("A".into(), 0)]);
        bench.leave(3, 10, "A");
        assert_eq!(
            bench.join(1, 10, "A"),
            [reply(1, Status::Ok), confchg(2, "A", &[10, 20], &[], &[10]), confchg(1, "A", &[10, 20], &[], &[10])]
        );
        assert_eq!(bench.mcast(1, b"z"), [deliver(2, 10, b"z"), deliver(1, 10, b"z")], "in the order of listening");
        assert_eq!(bench.feed(Input::Disconnect { client: ClientId(1) }), [confchg(2, "A", &[20], &[(10, 5)], &[])]);
    });
}

#[test]
fn a_leave_that_names_another_group() {
    both(|bench| {
        bench.join(3, 10, "C");
        bench.join(4, 10, "B");
        assert_eq!(bench.leave(4, 10, "C"), [reply(4, Status::NotExist)]);
        assert_eq!(bench.leave(4, 10, "none"), [reply(4, Status::NotExist)]);
        assert_eq!(bench.mcast(4, b"x"), [deliver(4, 10, b"x")], "nothing has changed");
        assert_eq!(bench.mcast(3, b"x"), [deliver(3, 10, b"x")]);
        assert_eq!(bench.leave(4, 10, "B"), [reply(4, Status::Ok), confchg(4, "B", &[], &[(10, 2)], &[])]);
        bench.feed(Input::Disconnect { client: ClientId(4) });
        assert_eq!(items(bench, IterationKind::All, ""), [("C".into(), 10)]);
    });
}

#[test]
fn finalize_ends_events_and_the_disconnect_leaves() {
    both(|bench| {
        bench.join(1, 10, "A");
        bench.join(2, 20, "A");
        assert_eq!(bench.ask(1, Request::CpgFinalize), [reply(1, Status::Ok)]);
        assert_eq!(bench.ask(1, Request::CpgFinalize), [reply(1, Status::BadHandle)]);
        assert_eq!(bench.mcast(2, b"x"), [deliver(2, 20, b"x")]);
        assert_eq!(bench.mcast(1, b"x"), []);
        assert_eq!(bench.join(3, 10, "A"), [reply(3, Status::TryAgain)], "its process is still a member");
        assert_eq!(bench.feed(Input::Disconnect { client: ClientId(1) }), [confchg(2, "A", &[20], &[(10, 5)], &[])]);
        assert_eq!(bench.join(3, 10, "A").len(), 3);
    });
}

#[test]
fn pieces_are_interrupted_by_a_change() {
    both(|bench| {
        assert_eq!(bench.partial(1, Part::First, b"a"), [reply(1, Status::NotExist)]);
        bench.join(1, 10, "A");
        let seen = bench.partial(1, Part::First, b"a");
        assert_eq!(seen[0], reply(1, Status::Ok));
        assert!(matches!(seen[1].0, Output::CpgPartialDeliver { part: Part::First, total: 99, pid: 10, .. }));
        assert_eq!(seen[1].1, b"a");
        assert_eq!(bench.partial(1, Part::Continued, b"b").len(), 2);
        bench.join(2, 20, "A");
        assert_eq!(bench.partial(1, Part::Last, b"c"), [reply(1, Status::Interrupt)]);
        assert_eq!(bench.partial(1, Part::First, b"d").len(), 3);
        bench.leave(1, 10, "A");
        assert_eq!(bench.partial(1, Part::Last, b"d"), [reply(1, Status::Interrupt)]);
        assert_eq!(bench.partial(1, Part::First, b"d"), [reply(1, Status::NotExist)]);
    });
}

#[test]
fn iterations_in_the_order_of_the_original() {
    both(|bench| {
        for (client, pid, group) in [(1, 30, "A"), (2, 10, "B"), (3, 20, "A"), (4, 40, "A")] {
            bench.join(client, pid, group);
        }
        let all = [("A".into(), 20), ("A".into(), 40), ("A".into(), 30), ("B".into(), 10)];
        assert_eq!(items(bench, IterationKind::All, ""), all);
        assert_eq!(items(bench, IterationKind::OneGroup, "A"), all[..3]);
        assert_eq!(items(bench, IterationKind::OneGroup, "none"), []);
        assert_eq!(items(bench, IterationKind::NameOnly, ""), [("A".into(), 0), ("B".into(), 0)]);
        for _ in 0..super::ITERATIONS_MAX {
            bench.ask(5, Request::CpgIterationStart { kind: IterationKind::All, group: name("") });
        }
        assert_eq!(
            bench.ask(5, Request::CpgIterationStart { kind: IterationKind::All, group: name("") }),
            [reply(5, Status::NoResources)]
        );
    });
}

#[test]
fn membership_and_local() {
    both(|bench| {
        bench.join(1, 30, "A");
        bench.join(2, 10, "A");
        let members: Vec<CpgMember> = vec![member(10, 0), member(30, 0)];
        let asked = Request::CpgMembership { group: name("A") };
        assert_eq!(bench.ask(3, asked), [answer(3, ReplyBody::CpgMembership(members))]);
        let asked = Request::CpgMembership { group: name("none") };
        assert_eq!(bench.ask(3, asked), [answer(3, ReplyBody::CpgMembership(vec![]))]);
        assert_eq!(bench.ask(3, Request::CpgLocalGet), [answer(3, ReplyBody::NodeId(crate::ids::NodeId(1)))]);
    });
}

#[test]
fn lists_are_cut_at_what_libraries_show() {
    let mut bench = Bench::new(false);
    for client in 0..130 {
        bench.connect(client, Service::Cpg);
        bench.join(client, 1000 + client, "A");
    }
    let seen = bench.ask(0, Request::CpgMembership { group: name("A") });
    let Output::Reply { reply, .. } = &seen[0].0 else { panic!("a reply expected") };
    let ReplyBody::CpgMembership(members) = &reply.body else { panic!("members expected") };
    assert_eq!(members.len(), 128);
    let seen = bench.feed(Input::Disconnect { client: ClientId(0) });
    assert_eq!(seen.len(), 129);
    let Output::CpgConfchg { change, .. } = &seen[0].0 else { panic!("a change expected") };
    assert_eq!(change.members.len(), 128);
}
