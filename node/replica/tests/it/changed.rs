//! What of a node's section changes while it serves: its peer, its arbiter, its addresses.

use event::{MetricCells, Sample};
use replica::{ArbiterServer, Keys, Node, Replica, Role, Terms};
use runtime::{Orders, Replication as _};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

const DEADLINE: Duration = Duration::from_secs(30);
const DETECT_MS: u64 = 400;

/// One for each who asks, below those that the kernel gives to whoever asks for any.
fn free_port() -> u16 {
    static GIVEN: AtomicU16 = AtomicU16::new(0);
    21_000 + (std::process::id() % 300) as u16 * 20 + GIVEN.fetch_add(1, Ordering::Relaxed)
}

fn keys(text: &str) -> Keys {
    Keys::parse(text).expect("a key")
}

fn at(port: u16) -> SocketAddr {
    ([127, 0, 0, 1], port).into()
}

fn section(node: &str, listen: u16, peer: u16) -> Replica {
    serde_json::from_value(serde_json::json!({
        "node": node,
        "priority": u8::from(node == "a"),
        "listen": at(listen).to_string(),
        "peer": at(peer).to_string(),
        "heartbeat_ms": 20,
        "detect_ms": DETECT_MS,
    }))
    .expect("a configuration")
}

fn start(section: &Replica, key: &str) -> Node {
    let node = Node::start(section, Some(&keys(key)), 1).expect("it starts");
    node.attach(Orders::default());
    node
}

fn count(cells: &MetricCells, name: &str) -> u64 {
    match cells.samples().find(|(row, _)| row.name == name) {
        Some((_, Sample::Value(count))) => count,
        other => panic!("{other:?}"),
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < DEADLINE, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Looks for several times of detection.
fn stays_active(node: &Node) {
    let (began, epoch) = (Instant::now(), node.standing().epoch);
    while began.elapsed() < Duration::from_millis(5 * DETECT_MS) {
        assert_eq!((node.standing().role, node.standing().epoch), (Role::Active, epoch));
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_peer_that_moved_is_heard_at_its_new_address_and_only_with_the_key_of_the_pair() {
    let [here, there, elsewhere] = [(); 3].map(|()| free_port());
    let a = start(&section("a", here, there), "the key of this pair");
    let b = start(&section("b", there, here), "the key of this pair");
    until("one is active, and they hear each other", || {
        a.standing().role == Role::Active && a.standing().is_peer_alive
    });
    let epoch = a.standing().epoch;
    b.end();
    a.configure(&section("a", here, elsewhere)).expect("it is taken");
    assert_eq!(a.row().peer, at(elsewhere).to_string());
    until("the peer is missed", || !a.standing().is_peer_alive);

    let stranger = start(&section("b", elsewhere, here), "the key of another pair");
    until("who has another key is refused", || count(&a.cells(), "replica_forged_total") > 10);
    assert!(!a.standing().is_peer_alive);
    stranger.end();
    drop(stranger);

    let b = start(&section("b", elsewhere, here), "the key of this pair");
    until("it is heard, and hears", || a.standing().is_peer_alive && b.standing().is_peer_active);
    let standing = a.standing();
    assert_eq!((standing.role, standing.epoch), (Role::Active, epoch), "it served all the time");
}

#[test]
fn another_arbiter_gives_the_vote_without_a_gap_and_none_is_needed_where_none_is_named() {
    let terms = || Terms {
        promise_max: Duration::from_millis(DETECT_MS),
        pairs: vec![(1, keys("the key of this pair"))],
    };
    let [here, nobody, one, other] = [(); 4].map(|()| free_port());
    let first = ArbiterServer::start(at(one), &terms()).expect("it starts");
    let second = ArbiterServer::start(at(other), &terms()).expect("it starts");
    let with = |arbiter: Option<u16>| Replica {
        arbiter: arbiter.map(|port| at(port).to_string()),
        ..section("a", here, nobody)
    };
    let alone = start(&with(Some(one)), "the key of this pair");
    until("it gets the vote", || alone.standing().role == Role::Active);
    std::thread::sleep(Duration::from_millis(2 * DETECT_MS)); // the second one may vote by now

    alone.configure(&with(Some(other))).expect("it is taken");
    until("the second one is asked", || count(&second.cells(), "arbiter_votes_total") > 0);
    drop(first);
    stays_active(&alone);

    alone.configure(&with(None)).expect("it is taken");
    drop(second);
    stays_active(&alone);

    alone.configure(&with(Some(other))).expect("it is taken");
    until("nobody gives it the vote", || alone.standing().role == Role::Standby);
}

#[test]
fn addresses_come_and_go_and_those_that_stay_are_held_without_a_gap() {
    const STAYS: &str = "198.51.100.211";
    const GOES: &str = "198.51.100.212";
    const COMES: &str = "198.51.100.213";
    let has = |ip: &str| UdpSocket::bind((ip, 0)).is_ok();
    let [here, nobody] = [(); 2].map(|()| free_port());
    let with = |ips: &[&str]| Replica {
        addresses: ips.iter().map(|ip| format!("{ip}/32@lo")).collect(),
        ..section("a", here, nobody)
    };
    let node = start(&with(&[STAYS, GOES]), "the key of this pair");
    until("it is active", || node.standing().role == Role::Active);
    let began = Instant::now();
    while !has(STAYS) {
        let refused = node.alarms().iter().any(|row| row.name == "replica-address");
        if refused {
            return; // whoever runs this test may give no addresses
        }
        assert!(began.elapsed() < DEADLINE, "it takes its addresses");
    }
    node.configure(&with(&[STAYS, COMES])).expect("it is taken");
    until("one goes, one comes", || {
        assert!(has(STAYS));
        has(COMES) && !has(GOES)
    });
    node.end();
    until("all are given away", || !has(STAYS) && !has(COMES));
}
