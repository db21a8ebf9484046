//! Over SCTP in UDP.

use crate::world::{SECOND, World, beat};

const HERE: &str = r#"
sctp = { addresses = ["10.0.0.1"], carrier = "udp" }
peer = [{ name = "b", role = "asp", addresses = ["10.0.0.2"] }]
"#;
const THERE: &str = r#"
sctp = { addresses = ["10.0.0.2"], carrier = "udp" }
peer = [{ name = "a", role = "sgp", addresses = ["10.0.0.1"], connect = true }]
"#;

#[test]
fn an_association_is_opened_carries_messages_is_given_up_and_opened_again() {
    let mut world = World::new(&[HERE, THERE]);
    assert_eq!((world.take(0), world.take(1)), (vec!["up"], vec!["up"]));
    world.send(1, beat());
    world.pass(SECOND);
    assert_eq!(world.take(0), ["message"]);
    let peer = world.nodes[1].peers[0];
    world.act(1, |links, now, out| links.abort(now, peer, out));
    world.pass(SECOND);
    assert_eq!(world.take(0), ["lost", "up"]);
    assert_eq!(world.take(1), ["up"], "its process knows of the loss");
    world.act(0, |links, now, out| links.close_all(now, out));
    world.pass(SECOND);
    assert!(world.nodes[0].links.is_closed());
}

#[test]
fn an_association_from_an_address_of_no_peer_is_refused() {
    let stranger = THERE.replace("10.0.0.2", "10.0.0.3");
    let mut world = World::new(&[HERE, "tcp = {}", &stranger]);
    assert!(world.nodes[0].links.counts().refused > 0);
    assert_eq!(world.take(0), Vec::<&str>::new());
    world.pass(SECOND);
    assert_eq!(world.nodes[0].links.counts().unsent, 0);
    world.send(0, beat());
    assert_eq!(world.nodes[0].links.counts().unsent, 1, "its peer has no association");
}
