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
    world.open_and_ask();
    world.act(0, |peers, now, out| {
        peers.close(now, diameter::DisconnectCause::Rebooting, out);
    });
    world.pass(SECOND / 10);
    assert!(world.nodes[0].peers.is_closed());
    assert_eq!(world.take(1), ["down: it begins anew"]);
}

#[test]
fn the_addresses_of_the_endpoint_are_told() {
    let world = World::new(&[HERE, THERE]);
    // Host-IP-Address (257), M, 14 octets, IPv4: that of the node which sent it.
    let mut avp = [0, 0, 1, 1, 0x40, 0, 0, 14, 0, 1, 10, 0, 0, 0];
    for node in [0, 1] {
        avp[13] = [1, 2][node];
        let is_it = |it: &&(usize, Vec<u8>)| {
            it.0 == node && it.1.windows(avp.len()).any(|part| part == avp)
        };
        assert_eq!(world.datagrams.iter().filter(is_it).count(), 1, "CER and CEA");
    }
}

#[test]
fn an_endpoint_that_is_configured_no_more_tells_its_peers() {
    let mut world = World::new(&[HERE, THERE]);
    let none = crate::world::Site::read("diameter = { host = \"hss.home\", realm = \"home\" }");
    assert!(world.nodes[0].peers.continues(&none.section()));
    world.act(0, |peers, now, out| peers.configure(now, &none.section(), out));
    world.pass(SECOND / 50);
    assert!(world.nodes[0].peers.sctp().is_none());
    assert_eq!(world.take(1).last().unwrap(), "down: it begins anew");
    assert_eq!(world.states(1), [diameter::State::Closed]);
}

#[test]
fn an_association_from_an_address_of_no_peer_is_refused() {
    let stranger = THERE.replace("10.0.0.2", "10.0.0.3");
    let mut world = World::new(&[HERE, "diameter = { host = \"x\", realm = \"y\" }", &stranger]);
    assert!(world.nodes[0].peers.counts().refused > 0);
    assert_eq!(world.take(0), Vec::<String>::new());
}
