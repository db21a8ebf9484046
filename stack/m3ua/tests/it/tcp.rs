//! Over TCP.

use crate::world::{FIRST, SECOND, Site, World, beat};
use m3ua_stack::State;
use runtime::PortId;

const HERE: &str = r#"
tcp = { listen = ["10.0.0.1:2905"] }
peer = [{ name = "b", role = "asp", transport = "tcp", addresses = ["10.0.0.2"] }]
"#;
const THERE: &str = r#"
peer = [{ name = "a", role = "sgp", transport = "tcp", addresses = ["10.0.0.1"], connect = true }]
"#;

#[test]
fn a_connection_is_opened_carries_messages_is_lost_and_opened_again() {
    let mut world = World::new(&[HERE, THERE]);
    assert_eq!((world.take(0), world.take(1)), (vec!["up"], vec!["up"]));
    world.send(1, beat());
    world.pass(SECOND);
    assert_eq!(world.take(0), ["message"]);
    let conn = *world.ends.keys().next().unwrap();
    let (at, flow, _) = world.ends[&conn];
    world.act(at, |links, now, out| {
        links.step(now, &runtime::In::Down { flow, why: "it broke" }, out);
    });
    world.cut(flow.conn);
    world.pass(SECOND);
    assert_eq!((world.take(0), world.take(1)), (vec!["lost", "up"], vec!["lost", "up"]));
    assert_eq!(world.nodes[1].links.counts().attempts, 2);
    world.act(0, |links, now, out| links.close_all(now, out));
    world.pass(SECOND / 100);
    assert!(world.nodes[0].links.is_closed());
    assert_eq!(world.take(1), ["lost"]);
}

#[test]
fn who_is_no_peer_is_refused() {
    let mut world = World::new(&[HERE, THERE]);
    world.claim(0, "10.0.0.9:50000");
    assert_eq!(world.nodes[0].links.counts().refused, 1);
    assert_eq!(world.take(0), ["up"]);
}

#[test]
fn one_that_claims_a_peer_waits_until_its_connection_has_left_a_beat_unanswered() {
    let mut world = World::new(&[HERE, THERE]);
    world.take(0);
    world.claim(0, "10.0.0.2:50000");
    assert_eq!(world.take(1), ["up", "message"], "it is asked whether it lives");
    world.send(1, beat());
    world.pass(SECOND);
    assert_eq!(world.nodes[0].links.counts().claims_refused, 1);
    assert_eq!(world.take(0), ["message"], "it lives");
    world.claim(0, "10.0.0.2:50000");
    world.pass(SECOND * 3);
    assert_eq!(world.take(0), ["lost", "up"], "it said nothing");
    let (_, link) = world.nodes[0].links.iter().next().unwrap();
    assert_eq!(link.state, State::Up);
}

#[test]
fn ports_are_numbered_from_where_the_function_says() {
    let (here, there) = (Site::read(HERE), Site::read(THERE));
    let ports = here.section().ports();
    assert!((FIRST.0..FIRST.0 + 1_024).contains(&ports[0].id.0));
    let out = there.section().ports();
    assert_eq!((out[0].id, out[0].listens()), (PortId(FIRST.0 + 1_024), false));
    let bound = here.section().listen_addresses();
    assert_eq!(bound[0].0, "tcp.listen[0]");
}
