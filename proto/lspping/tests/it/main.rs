//! Messages, what a router says of them, and runs.

use lspping::{
    Code, Fec, HOPS_MAX, Here, Kind, Message, Probes, RUNS_MAX, Send, Step, Wanted, answer,
};
use machine::{Duration, Time};
use proptest::prelude::*;
use std::net::Ipv4Addr;

const TO: (Ipv4Addr, u8) = (Ipv4Addr::new(10, 255, 0, 3), 32);
const LABEL: u32 = 100_007;

fn request() -> Message {
    Message::request(Fec::Ldp4(TO.0, TO.1), 7, 3, 9 << 32)
}

#[test]
fn a_request_stands_as_the_rfc_draws_it() {
    let octets = request().write();
    assert_eq!(octets[..16], [0, 1, 0, 0, 1, 2, 0, 0, 0, 0, 0, 7, 0, 0, 0, 3]);
    assert_eq!(octets[16..32], [0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let stack = [0, 1, 0, 12, 0, 1, 0, 5, 10, 255, 0, 3, 32, 0, 0, 0];
    assert_eq!(octets[32..], stack);
    assert_eq!(Message::read(&octets), Ok(request()));
    // What is optional is passed over, what is not is not understood.
    for (kind, is_strange) in [(0x8001_u16, false), (20, true)] {
        let mut more = octets.clone();
        more.extend(kind.to_be_bytes());
        more.extend([0, 2, 1, 2]);
        assert_eq!(Message::read(&more).unwrap().is_strange, is_strange);
    }
}

#[test]
fn a_router_says_what_a_class_of_packets_is_there() {
    let octets = request().write();
    let said = |octets: &[u8], label, here| {
        let it = answer(octets, label, 5, |address, length| {
            assert_eq!((address, length), TO);
            here
        });
        it.map(|it| (it.kind, it.code, it.handle, it.sequence, it.times))
    };
    let cases = [
        (None, Here::Egress, Code::Egress),
        (Some(LABEL), Here::Switched(LABEL), Code::Switched),
        (Some(LABEL), Here::Switched(LABEL + 1), Code::OtherLabel),
        (None, Here::Switched(LABEL), Code::NoLabel),
        (Some(LABEL), Here::Unknown, Code::NoMapping),
    ];
    for (label, here, code) in cases {
        let wanted = Some((Kind::Reply, (code.number(), 1), 7, 3, (9 << 32, 5)));
        assert_eq!(said(&octets, label, here), wanted);
    }
    let code = |octets: &[u8]| said(octets, None, Here::Egress).map(|it| it.1);
    assert_eq!(code(&octets[..33]), Some((Code::Malformed.number(), 0)));
    assert_eq!(code(&octets[..32]), Some((Code::Malformed.number(), 0)), "for what?");
    let mut other = octets.clone();
    other[37] = 6;
    assert_eq!(code(&other), Some((Code::NotUnderstood.number(), 0)), "a class of VPNs");
    let mut long = octets.clone();
    long[44] = 33;
    assert_eq!(code(&long), Some((Code::Malformed.number(), 0)));
    // Replies, and requests that want none, are not answered.
    for (at, octet) in [(4, 2), (5, 1), (1, 2)] {
        let mut none = octets.clone();
        none[at] = octet;
        assert_eq!(code(&none), None);
    }
}

/// A path of so many routers, of which some do not answer.
fn path(probes: &mut Probes, routers: u8, silent: &[u8], time: Duration) -> Vec<Step> {
    let begin = Time::from_millis(1_000);
    let (mut now, mut flying) = (begin, Vec::new());
    while now < begin + time {
        let (sent, over) = probes.tick(now, 0);
        if let Some(it) = over.into_iter().next() {
            assert_eq!(probes.deadline(), None);
            return it.steps;
        }
        for Send { to, hops, octets } in sent {
            assert_eq!(to, TO);
            let at = hops.min(routers);
            let here = if at == routers { Here::Egress } else { Here::Switched(LABEL) };
            let said = answer(&octets, Some(LABEL), 0, |_, _| here).expect("a reply");
            if !silent.contains(&at) {
                flying.push((now + Duration::from_millis(at.into()), at, said));
            }
        }
        let due = flying.iter().map(|it| it.0).chain(probes.deadline()).min();
        now = due.expect("something is due").max(now);
        for (_, at, said) in flying.extract_if(.., |it| it.0 <= now) {
            probes.heard(now, Ipv4Addr::new(10, 255, 0, at), &said);
            // A copy changes nothing.
            probes.heard(now + Duration::from_secs(9), Ipv4Addr::new(6, 6, 6, 6), &said);
        }
    }
    panic!("it does not end");
}

/// Who answered, with which code, after how long.
type Seen = (u8, u8, u64);

fn seen(steps: &[Step]) -> Vec<(u8, Option<Seen>)> {
    let reply = |it: (Ipv4Addr, u8, Duration)| (it.0.octets()[3], it.1, it.2.as_millis() as u64);
    steps.iter().map(|it| (it.hops, it.reply.map(reply))).collect()
}

#[test]
fn a_traceroute_names_every_router_and_a_ping_the_last_one() {
    let mut probes = Probes::new(&[7; 16]);
    let time = Duration::from_millis(1_700);
    assert!(probes.begin(Time::from_millis(1_000), 1, TO, Wanted::Trace(30)));
    let steps = path(&mut probes, 3, &[], time);
    let known = [(1, Some((1, 8, 1))), (2, Some((2, 8, 2))), (3, Some((3, 3, 3)))];
    assert_eq!(seen(&steps), known);
    probes.begin(Time::from_millis(1_000), 2, TO, Wanted::Trace(30));
    let steps = path(&mut probes, 3, &[2], time);
    assert_eq!(seen(&steps), [known[0], (2, None), known[2]]);
    // The end says nothing: one hop shows that.
    probes.begin(Time::from_millis(1_000), 3, TO, Wanted::Trace(HOPS_MAX));
    assert_eq!(seen(&path(&mut probes, 3, &[3], time)), [known[0], known[1], (3, None)]);
    probes.begin(Time::from_millis(1_000), 4, TO, Wanted::Trace(5));
    assert_eq!(seen(&path(&mut probes, 3, &[1, 2, 3], time)), [(1, None)]);
    probes.begin(Time::from_millis(1_000), 5, TO, Wanted::Ping(3));
    assert_eq!(seen(&path(&mut probes, 3, &[], time)), [(255, Some((3, 3, 3))); 3]);
    probes.begin(Time::from_millis(1_000), 6, TO, Wanted::Ping(200));
    assert_eq!(path(&mut probes, 3, &[3], time).len(), 20);
}

#[test]
fn runs_are_few_and_who_does_not_know_their_number_says_nothing() {
    let now = Time::from_millis(1_000);
    let mut probes = Probes::new(&[7; 16]);
    for number in 0..RUNS_MAX as u64 {
        assert!(probes.begin(now, number, TO, Wanted::Ping(1)));
        assert!(!probes.begin(now, number, TO, Wanted::Ping(1)));
    }
    assert!(!probes.begin(now, 99, TO, Wanted::Ping(1)));
    let (sent, over) = probes.tick(now, 0);
    assert_eq!((sent.len(), over.len()), (RUNS_MAX, 0));
    let handles: std::collections::BTreeSet<u32> =
        sent.iter().map(|it| Message::read(&it.octets).unwrap().handle).collect();
    assert_eq!(handles.len(), RUNS_MAX);
    let request = Message::read(&sent[0].octets).unwrap();
    let said = request.reply(Code::Egress, 1, 0);
    for forged in [
        Message { handle: request.handle ^ 1, ..said.clone() },
        Message { sequence: 2, ..said.clone() },
        Message { sequence: 0, ..said },
        request,
    ] {
        probes.heard(now, TO.0, &forged);
    }
    let (_, over) = probes.tick(now + Duration::from_secs(1), 0);
    assert_eq!(over.len(), RUNS_MAX);
    assert!(over.iter().all(|it| it.steps.iter().all(|it| it.reply.is_none())));
}

proptest! {
    #[test]
    fn whatever_comes_is_read_or_refused(octets in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut octets = octets;
        let _ = Message::read(&octets);
        let _ = answer(&octets, None, 0, |_, _| Here::Unknown);
        if octets.len() >= 5 {
            octets[..2].copy_from_slice(&[0, 1]);
            octets[4] = 1;
            if let Ok(it) = Message::read(&octets)
                && !it.is_strange && it.stack.iter().all(|it| matches!(it, Fec::Ldp4(..)))
            {
                prop_assert_eq!(Message::read(&it.write()), Ok(it));
            }
        }
    }
}
