//! Over SCTP in UDP.

use crate::world::{SECOND, World};

const HERE: &str = r#"
[diameter]
host = "hss.home"
realm = "home"
sctp = { addresses = ["10.0.0.1"], carrier = "udp", port = 3868 }
[[peer]]
name = "b"
host = "as.example"
transport = "sctp"
addresses = ["10.0.0.2"]
"#;
const THERE: &str = r#"
[diameter]
host = "as.example"
realm = "example"
timers = { reconnect_ms = 200 }
sctp = { addresses = ["10.0.0.2"], carrier = "udp", port = 3868 }
[[peer]]
name = "a"
host = "hss.home"
transport = "sctp"
addresses = ["10.0.0.1"]
connect = true
[[route]]
to = [{ peer = "a" }]
"#;

#[test]
fn an_association_is_opened_carries_requests_and_ends_in_order() {
    let mut world = World::new(&[HERE, THERE]);
    assert_eq!(
        (world.take(0), world.take(1)),
        (vec![String::from("up")], vec![String::from("up")])
    );
    world.ask(1, 7, "home");
    world.pass(SECOND);
    assert_eq!(world.take(0), ["asked"]);
    assert_eq!(world.take(1), ["answer 7"]);
    world.act(0, |peers, now, out| {
        peers.close(now, diameter::DisconnectCause::Rebooting, out);
    });
    world.pass(SECOND / 10);
    assert!(world.nodes[0].peers.is_closed());
    assert_eq!(world.take(1), ["down: it begins anew"]);
}

#[test]
fn an_association_from_an_address_of_no_peer_is_refused() {
    let stranger = THERE.replace("10.0.0.2", "10.0.0.3");
    let mut world = World::new(&[HERE, "diameter = { host = \"x\", realm = \"y\" }", &stranger]);
    assert!(world.nodes[0].peers.counts().refused > 0);
    assert_eq!(world.take(0), Vec::<String>::new());
}
