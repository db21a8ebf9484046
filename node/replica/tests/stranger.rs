//! What comes on the link from anybody but the other node changes nothing.

use event::Reading;
use replica::{Node, Replica};
use runtime::{Mirror as _, Orders};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

const DEADLINE: Duration = Duration::from_secs(10);
const HEARTBEAT: Duration = Duration::from_millis(20);

fn free_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
    socket.local_addr().expect("a bound socket has an address").port()
}

fn strangers(node: &Node) -> u64 {
    let cells = node.cells();
    let mut readings = cells.readings();
    match readings.find(|(row, _)| row.name == "replica_strangers_total") {
        Some((_, Reading::Value(count))) => count,
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
    let node = Node::start(&config, 1).expect("it starts");
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
