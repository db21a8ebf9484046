//! What comes on the link, or to an arbiter, from anybody but the other node changes nothing.

use event::{MetricCells, Sample};
use replica::{ArbiterServer, Keys, Node, Replica, Role, Terms, field};
use runtime::{Orders, Replication as _};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

const DEADLINE: Duration = Duration::from_secs(30);
const HEARTBEAT: Duration = Duration::from_millis(20);

/// One for each who asks, below those that the kernel gives to whoever asks for any.
fn free_port() -> u16 {
    static GIVEN: AtomicU16 = AtomicU16::new(0);
    11_000 + (std::process::id() % 500) as u16 * 20 + GIVEN.fetch_add(1, Ordering::Relaxed)
}

fn strangers(node: &Node) -> u64 {
    count(&node.cells(), "replica_strangers_total")
}

fn count(cells: &MetricCells, name: &str) -> u64 {
    let mut readings = cells.samples();
    match readings.find(|(row, _)| row.name == name) {
        Some((_, Sample::Value(count))) => count,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_datagram_from_another_address_is_counted_and_not_heard() {
    let (here, there) = (free_port(), free_port());
    let config: Replica = serde_json::from_value(serde_json::json!({
        "node": "a",
        "listen": format!("127.0.0.1:{here}"),
        "peer": format!("127.0.0.2:{there}"),
        "heartbeat_ms": HEARTBEAT.as_millis() as u64,
        "detect_ms": 200,
    }))
    .expect("a configuration");
    let other = UdpSocket::bind(format!("127.0.0.2:{there}")).expect("loopback is wide");
    let node = Node::start(&config, None, 1).expect("it starts");
    let mut beat = vec![0; 2_048];
    other.set_read_timeout(Some(10 * HEARTBEAT)).expect("a time-out");
    let early = other.recv(&mut beat);
    assert!(early.is_err(), "who is heard is told everything: nobody is there to take it yet");
    node.attach(Orders::default());
    other.set_read_timeout(Some(DEADLINE)).expect("a time-out");
    let length = other.recv(&mut beat).expect("a heartbeat");
    let stranger = UdpSocket::bind("127.0.0.3:0").expect("loopback is wide");
    let began = Instant::now();
    while strangers(&node) == 0 && began.elapsed() < DEADLINE {
        stranger.send_to(&beat[..length], ("127.0.0.1", here)).expect("it leaves");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(strangers(&node) > 0);
    assert!(!node.standing().is_peer_alive, "a heartbeat from elsewhere is none");
}

#[test]
fn a_node_with_a_wrong_peer_says_within_seconds_that_it_is_active_alone_and_who_speaks_instead() {
    let ports = [free_port(), free_port()];
    let start = |name: &str, own: usize, peer: SocketAddr| {
        let config: Replica = serde_json::from_value(serde_json::json!({
            "node": name,
            "listen": format!("127.0.0.{}:{}", own + 1, ports[own]),
            "peer": peer.to_string(),
            "heartbeat_ms": HEARTBEAT.as_millis() as u64,
            "detect_ms": 200,
        }))
        .expect("a configuration");
        let node = Node::start(&config, Some(&keys()), 1).expect("it starts");
        node.attach(Orders::default());
        node
    };
    let wrong = SocketAddr::from(([127, 0, 0, 9], ports[1]));
    let nodes = [start("a", 0, wrong), start("b", 1, SocketAddr::from(([127, 0, 0, 1], ports[0])))];
    let began = Instant::now();
    let lost = |node: &Node| {
        let mut all = node.alarms().into_iter();
        all.find(|it| it.name == "replica-peer-lost").filter(|it| !it.starting)
    };
    until("both say it", || nodes.iter().all(|node| lost(node).is_some()));
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    let text = lost(&nodes[0]).expect("it stands").text;
    let alone = "was never heard: this node is active alone, and without an arbiter that one may \
                 be as well";
    let stranger = "datagrams come here from 127.0.0.2, which is not `peer`";
    assert_eq!(text, format!("the other node, {wrong} (`peer`), {alone}; {stranger}"));
    assert!(nodes.iter().all(|it| it.standing().role == Role::Active));
    // The address is put right: they meet, and nothing is the matter any more.
    let right: Replica = serde_json::from_value(serde_json::json!({
        "node": "a",
        "listen": format!("127.0.0.1:{}", ports[0]),
        "peer": format!("127.0.0.2:{}", ports[1]),
    }))
    .expect("a configuration");
    nodes[0].configure(&right).expect("it is an address");
    until("they meet", || nodes.iter().all(|node| lost(node).is_none()));
}

fn keys() -> Keys {
    Keys::parse("the key of this pair").expect("a key")
}

fn node(name: &str, listen: u16, peer: SocketAddr, arbiter: Option<SocketAddr>) -> Node {
    let config: Replica = serde_json::from_value(serde_json::json!({
        "node": name,
        "priority": u8::from(name == "a"),
        "listen": format!("127.0.0.1:{listen}"),
        "peer": peer.to_string(),
        "arbiter": arbiter.map(|at| at.to_string()),
        "heartbeat_ms": HEARTBEAT.as_millis() as u64,
        "detect_ms": 2_000,
    }))
    .expect("a configuration");
    Node::start(&config, Some(&keys()), 1).expect("it starts")
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < DEADLINE, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A wire between two nodes that its owner reads: an end before each.
struct Wire {
    ends: [UdpSocket; 2],
    nodes: [SocketAddr; 2],
    recorded: Vec<(usize, Vec<u8>)>,
}

impl Wire {
    fn new(nodes: [u16; 2]) -> Self {
        let ends = ["127.0.0.2:0", "127.0.0.3:0"].map(|at| UdpSocket::bind(at).expect("loopback"));
        ends.iter().for_each(|end| end.set_nonblocking(true).expect("a socket"));
        let nodes = nodes.map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        Self { ends, nodes, recorded: Vec::new() }
    }

    fn at(&self, end: usize) -> SocketAddr {
        self.ends[end].local_addr().expect("it is bound")
    }

    /// Carries over what came.
    fn carry(&mut self) {
        let mut buffer = [0; 2_048];
        for from in 0..2 {
            while let Ok(length) = self.ends[from].recv(&mut buffer) {
                let bytes = buffer[..length].to_vec();
                self.say(1 - from, &bytes);
                self.recorded.push((1 - from, bytes));
            }
        }
    }

    /// Says something to a node from the address of the other one.
    fn say(&self, to: usize, bytes: &[u8]) {
        let _ = self.ends[to].send_to(bytes, self.nodes[to]);
    }
}

/// A heartbeat in clear: the other node is active in epoch 1,000.
fn forged() -> Vec<u8> {
    let mut out = b"TDR1\x01".to_vec();
    let far = u64::MAX / 4;
    for (tag, value) in [(1, 1), (2, 2), (3, 99), (4, far), (6, 1), (7, 1_000), (20, 1)] {
        field::number(&mut out, tag, value);
    }
    out
}

#[test]
fn forged_and_replayed_datagrams_between_two_real_nodes_are_counted_and_move_nothing() {
    let ports = [free_port(), free_port()];
    let mut wire = Wire::new(ports);
    let [a, b] = [("a", 0), ("b", 1)].map(|(name, n)| node(name, ports[n], wire.at(n), None));
    a.attach(Orders::default());
    b.attach(Orders::default());
    until("one is active, and the other has heard so", || {
        wire.carry();
        let standings = [a.standing(), b.standing()];
        let is_told = standings[1].epoch == standings[0].epoch;
        let is_settled = is_told && standings[1].role == Role::Standby;
        let is_heard = standings.iter().all(|it| it.is_peer_alive);
        standings[0].role == Role::Active && is_heard && is_settled
    });
    let epoch = a.standing().epoch;
    let forged = forged();
    for _ in 0..40 {
        wire.carry();
        let recorded = std::mem::take(&mut wire.recorded);
        for (to, bytes) in recorded.iter().rev().take(20) {
            wire.say(*to, bytes);
        }
        wire.recorded = recorded;
        wire.say(0, &forged);
        wire.say(1, &forged);
        std::thread::sleep(Duration::from_millis(5));
        let standings = [a.standing(), b.standing()];
        assert_eq!(standings.map(|it| it.role), [Role::Active, Role::Standby]);
        assert_eq!(standings.map(|it| it.epoch), [epoch; 2]);
    }
    until("it is counted, with its reason", || {
        wire.carry();
        let cells = [a.cells(), b.cells()];
        let names = ["replica_unsealed_total", "replica_replayed_total"];
        cells.iter().all(|cells| names.iter().all(|name| count(cells, name) >= 10))
    });
    assert!(count(&a.cells(), "replica_forged_total") == 0);
    wire.recorded.clear();
    until("they go on", || {
        wire.carry();
        wire.recorded.len() > 20 && b.standing().is_peer_active
    });
    let alarms = a.alarms();
    let refused = alarms.iter().find(|row| row.name == "replica-refuses");
    assert!(refused.is_some_and(|row| row.text.contains("`node`")), "{alarms:?}");
    // The standby hears nothing but what the active one once said: that does not keep it waiting.
    let recorded = std::mem::take(&mut wire.recorded);
    a.end();
    until("the standby takes over", || {
        recorded.iter().filter(|(to, _)| *to == 1).for_each(|(to, bytes)| wire.say(*to, bytes));
        b.standing().role == Role::Active
    });
}

#[test]
fn a_forged_request_to_an_arbiter_does_not_keep_its_vote_from_the_pair() {
    let listen = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let terms = Terms { promise_max: Duration::from_secs(5), pairs: vec![(1, keys())] };
    let arbiter = ArbiterServer::start(listen, &terms).expect("it starts");
    let stranger = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let forge = || {
        let mut plain = b"TDR1\x03".to_vec();
        for (tag, value) in [(1, 1), (2, 2), (4, 1), (18, 60_000_000_000)] {
            field::number(&mut plain, tag, value);
        }
        let sealed = replica::envelope(1, replica::Name::B, &plain);
        let unknown = replica::envelope(2, replica::Name::B, &plain);
        for bytes in [plain, sealed, unknown] {
            let _ = stranger.send_to(&bytes, listen);
        }
    };
    // Alone, a node needs the arbiter to become active.
    let alone =
        node("a", free_port(), SocketAddr::from(([127, 0, 0, 1], free_port())), Some(listen));
    alone.attach(Orders::default());
    until("it gets the vote", || {
        forge();
        alone.standing().role == Role::Active
    });
    until("what was forged is counted", || {
        let names =
            ["arbiter_unreadable_total", "arbiter_forged_total", "arbiter_unknown_pair_total"];
        let cells = arbiter.cells();
        names.iter().all(|name| count(&cells, name) > 0) && count(&cells, "arbiter_votes_total") > 0
    });
    until("and an alarm when it goes on", || {
        forge();
        arbiter.refuses().is_some()
    });
    assert_eq!(alone.standing().role, Role::Active, "its lease is renewed meanwhile");
}

fn alarms(node: &Node) -> Vec<String> {
    node.alarms().into_iter().map(|row| row.name).collect()
}

#[test]
fn a_lost_arbiter_is_an_alarm_and_so_is_the_wait_for_its_vote() {
    let listen = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let terms = Terms { promise_max: Duration::from_secs(5), pairs: vec![(1, keys())] };
    let arbiter = ArbiterServer::start(listen, &terms).expect("it starts");
    let ports = [free_port(), free_port()];
    let at = ports.map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let a = node("a", ports[0], at[1], Some(listen));
    let b = node("b", ports[1], at[0], Some(listen));
    a.attach(Orders::default());
    b.attach(Orders::default());
    until("one is active", || a.standing().role == Role::Active);
    // Longer than the silence that counts as a loss: the standby needs no vote, and asks all the
    // same whether the arbiter is there.
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(5) {
        for node in [&a, &b] {
            assert_eq!(node.standing().is_arbiter_alive, Some(true));
            assert!(!node.row().waits_for_vote);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    drop(arbiter);
    until("both miss it", || {
        [&a, &b].iter().all(|node| alarms(node).contains(&"arbiter-lost".to_owned()))
    });
    assert_eq!(count(&b.cells(), "replica_arbiter_alive"), 0);
    drop(a);
    until("the standby says that it waits", || {
        alarms(&b).contains(&"replica-waits-for-vote".to_owned())
    });
    assert_eq!(b.standing().role, Role::Standby);
    assert!(b.row().waits_for_vote);
    let arbiter = ArbiterServer::start(listen, &terms).expect("it starts again");
    until("it gets the vote", || b.standing().role == Role::Active);
    assert!(!alarms(&b).iter().any(|name| name.starts_with("arbiter") || name.contains("waits")));
    drop(arbiter);
}

#[test]
fn an_arbiter_without_keys_answers_a_node_of_the_same_machine() {
    let listen = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let terms = Terms { promise_max: Duration::from_secs(5), pairs: Vec::new() };
    let _arbiter = ArbiterServer::start(listen, &terms).expect("it starts");
    let config: Replica = serde_json::from_value(serde_json::json!({
        "node": "a",
        "listen": format!("127.0.0.1:{}", free_port()),
        "peer": format!("127.0.0.1:{}", free_port()),
        "arbiter": listen.to_string(),
        "detect_ms": 100,
    }))
    .expect("a configuration");
    let node = Node::start(&config, None, 1).expect("it starts");
    node.attach(Orders::default());
    std::thread::sleep(Duration::from_millis(4_500));
    let standing = node.standing();
    assert_eq!((standing.role, standing.is_arbiter_alive), (Role::Active, Some(true)));
}

#[test]
fn a_node_whose_function_takes_long_to_start_hears_its_active_peer_before_it_serves() {
    let ports = [free_port(), free_port()];
    let at = |n: usize| SocketAddr::from(([127, 0, 0, 1], ports[n]));
    let node = |name: &str, listen, peer: SocketAddr| -> Node {
        let config: Replica = serde_json::from_value(serde_json::json!({
            "node": name,
            "listen": format!("127.0.0.1:{listen}"),
            "peer": peer.to_string(),
            "heartbeat_ms": HEARTBEAT.as_millis() as u64,
            "detect_ms": 400,
        }))
        .expect("a configuration");
        Node::start(&config, Some(&keys()), 1).expect("it starts")
    };
    let a = node("a", ports[0], at(1));
    a.attach(Orders::default());
    until("the first one serves", || a.standing().role == Role::Active);
    let b = node("b", ports[1], at(0));
    std::thread::sleep(Duration::from_secs(1)); // longer than a peer takes to count as dead
    b.attach(Orders::default());
    until("the other one is heard", || b.standing().is_peer_alive);
    assert_eq!(count(&b.cells(), "replica_activations_total"), 0, "it has served beside its peer");
}
