//! Two paths, of which one is cut.

use super::{Field, Pair, parameters};
use crate::node::{LIMIT, capture, pattern};
use peers::GUEST_ADDRESSES;
use sctp::{In, Indication, Lost, Outgoing, PathState};
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

const PPID: u32 = 4_242;
/// Messages until a path that is cut has failed, at most.
const MESSAGES_MAX: usize = 1_000;

/// Both ends know both addresses of the other, and each has answered.
fn with_both_paths(mut pair: Pair) -> Pair {
    let id = pair.id;
    let is_active = |it: &sctp::PathStatus| it.state == PathState::Active;
    pair.node.run(|it| {
        let paths = it.endpoint.status(id).unwrap().paths;
        paths.len() == 2 && paths.iter().all(is_active)
    });
    let theirs = [0, 1].map(|wire| pair.node.wire(wire).address);
    pair.node.run(|_| {
        let confirmed = |it: &std::net::Ipv4Addr| format!("path {it} confirmed");
        let heard = pair.peer.heard();
        theirs.iter().any(|it| heard.iter().any(|line| *line == confirmed(it)))
    });
    // Also where the peer has spoken from its second address first.
    pair.node.step(In::SetPrimary(id, GUEST_ADDRESSES[0].into()));
    pair
}

pub fn messages_of_ours_go_on_by_the_second_path_when_the_first_is_cut_and_return_when_it_heals(
    field: &impl Field,
) {
    for pair in Pair::both(field, parameters(), "-o echo -o quiet -o nodelay") {
        let mut pair = with_both_paths(pair);
        let first = IpAddr::from(GUEST_ADDRESSES[0]);
        let (id, ours) = (pair.id, pair.node.wire(0).address);
        let failed = Indication::NetworkStatusChange(first, PathState::Inactive);
        let mut count = 0;
        for (is_cut, least) in [(false, 50), (true, 50), (false, 50)] {
            pair.node.wire(0).is_cut = is_cut;
            let (begun, mut is_told) = (count, false);
            // While it is cut, until both sides have noticed.
            while count < begun + least || (is_cut && !is_told) {
                assert!(count < MESSAGES_MAX, "{:?}", pair.node.ends_of_told());
                pair.node.send(id, &Outgoing::new(0, PPID, pattern(count, 300).into()));
                pair.node.wait(Duration::from_millis(10));
                let theirs = format!("path {ours} unreachable");
                is_told = pair.node.was_told(&failed) && pair.peer.heard().contains(&theirs);
                count += 1;
            }
        }
        pair.node.run(|it| it.messages().count() == count);
        let expected: Vec<Vec<u8>> = (0..count).map(|n| pattern(n, 300)).collect();
        let got = pair.node.messages().map(|it| &it.payload[..]);
        assert!(got.eq(expected.iter().map(|it| &it[..])), "in order");
        let healed = Indication::NetworkStatusChange(first, PathState::Active);
        let at = pair.node.told.iter().position(|(_, it)| *it == failed).unwrap();
        pair.node.run(|it| it.told[at..].iter().any(|(_, it)| *it == healed));
        pair.hear(&format!("path {ours} available"));
        let passed = pair.node.passed.len();
        pair.node.send(id, &Outgoing::new(0, PPID, pattern(0, 300).into()));
        pair.node.run(|it| it.messages().count() == count + 1);
        let by_first = |packet: &Vec<u8>| packet[16..20] == GUEST_ADDRESSES[0].octets();
        assert!(pair.node.passed[passed..].iter().any(by_first), "the primary has it back");
        pair.end();
    }
}

pub fn messages_of_the_peer_go_on_by_the_second_path_when_the_first_is_cut(field: &impl Field) {
    for pair in Pair::both(field, parameters(), "") {
        let mut pair = with_both_paths(pair);
        pair.peer.say("send 0 4242 o 3000 1000").unwrap();
        pair.node.run(|it| it.messages().count() > 100);
        pair.node.wire(0).is_cut = true;
        pair.node.run(|it| it.messages().count() == 3_000);
        let expected: Vec<Vec<u8>> = (0..3_000).map(|n| pattern(n, 1_000)).collect();
        let got = pair.node.messages().map(|it| &it.payload[..]);
        assert!(got.eq(expected.iter().map(|it| &it[..])), "in order");
        let ours = pair.node.wire(0).address;
        pair.hear(&format!("path {ours} unreachable"));
        pair.end();
    }
}

/// The peer takes that address of ours for its primary path, which it refuses until it has
/// confirmed the path; it does not tell of all that it has.
fn choose(pair: &mut Pair, ours: Ipv4Addr) {
    let until = Instant::now() + LIMIT;
    loop {
        pair.peer.forget();
        pair.peer.say(&format!("primary {ours}")).unwrap();
        let mut answer = None;
        pair.node.run(|_| {
            let is_it = |it: &&String| it.starts_with("ok primary") || it.starts_with("error");
            answer = pair.peer.heard().iter().find(is_it).cloned();
            answer.is_some()
        });
        match answer.as_deref() {
            Some("ok primary") => return,
            refused => assert!(Instant::now() < until, "{refused:?}"),
        }
        pair.node.wait(Duration::from_millis(50));
    }
}

pub fn the_primary_is_chosen_by_either_side(field: &impl Field) {
    let mut pair = with_both_paths(Pair::ours(field, parameters(), ""));
    let (id, second) = (pair.id, GUEST_ADDRESSES[1]);
    let goes_to = |packet: &Vec<u8>, to: [u8; 4]| packet[16..20] == to && packet.len() > 500;
    pair.node.step(In::SetPrimary(id, second.into()));
    pair.node.send(id, &Outgoing::new(0, PPID, pattern(0, 600).into()));
    pair.hear("data 0 0 4242 0 600");
    assert!(pair.node.passed.iter().any(|it| goes_to(it, second.octets())));
    let ours = pair.node.wire(1).address;
    choose(&mut pair, ours);
    pair.ask("send 0 4242 o 1 600", "ok send");
    pair.node.run(|it| it.messages().count() == 1);
    assert!(pair.node.passed.iter().any(|it| goes_to(it, ours.octets())));
    assert!(pair.ask("status", "status").ends_with(&format!("primary {ours}")));
    pair.end();
}

pub fn without_any_path_both_sides_give_up(field: &impl Field) {
    let mut pair = with_both_paths(Pair::ours(field, parameters(), ""));
    pair.node.wire(0).is_cut = true;
    pair.node.wire(1).is_cut = true;
    let id = pair.id;
    pair.node.send(id, &Outgoing::new(0, PPID, pattern(0, 600).into()));
    pair.peer.say("send 0 4242 o 1 600").unwrap();
    let lost = Indication::CommunicationLost(Lost::Unreachable);
    pair.node.run(|it| it.was_told(&lost));
    for address in GUEST_ADDRESSES {
        let failed = Indication::NetworkStatusChange(address.into(), PathState::Inactive);
        assert!(pair.node.was_told(&failed), "{:?}", pair.node.ends_of_told());
    }
    pair.hear("lost");
    capture::check(&pair.node.passed);
}
