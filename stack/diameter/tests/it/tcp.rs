//! Over TCP.

use crate::world::{SECOND, World};
use diameter::codec::Writer;
use diameter::rows::base;
use diameter::{DisconnectCause, State};

const HERE: &str = r#"
[diameter]
host = "hss.home"
realm = "home"
tcp = { listen = ["10.0.0.1:3868"] }
[[peer]]
name = "b"
host = "as.example"
addresses = ["10.0.0.2"]
"#;
const THERE: &str = r#"
[diameter]
host = "as.example"
realm = "example"
timers = { reconnect_ms = 200 }
[[peer]]
name = "a"
host = "hss.home"
addresses = ["10.0.0.1"]
connect = true
[[route]]
realm = "home"
to = [{ peer = "a" }]
"#;

#[test]
fn a_connection_is_opened_carries_requests_is_lost_and_opened_again() {
    let mut world = World::new(&[HERE, THERE]);
    world.open_and_ask();
    world.break_one();
    world.pass(SECOND);
    assert_eq!(world.take(1).last().unwrap(), "up");
    assert_eq!(world.nodes[1].peers.counts().attempts, 2);
    let row = &world.nodes[1].peers.peer_rows(world.now)[0];
    assert_eq!((row.state, row.watchdog, row.losses), ("open", "REOPEN", 1));
    assert_eq!(row.applications, ["Sh"]);
    assert_eq!(world.nodes[0].peers.connection_rows()[0].peer.as_deref(), Some("b"));
    world.act(0, |peers, now, out| peers.close(now, DisconnectCause::Rebooting, out));
    world.pass(SECOND / 50);
    assert!(world.nodes[0].peers.is_closed());
    assert_eq!(world.take(1), ["down: it begins anew"]);
}

#[test]
fn who_is_at_no_peers_address_is_refused_and_who_says_too_little_too() {
    let mut world = World::new(&[HERE, THERE]);
    world.claim(0, "10.0.0.9:50000");
    assert_eq!(world.nodes[0].peers.counts().refused, 1);
    for port in 0..20 {
        world.claim(0, &format!("10.0.0.2:{}", 50_000 + port));
    }
    assert_eq!(world.nodes[0].peers.counts().refused, 5, "16 of one source may wait");
    world.pass(SECOND * 11);
    assert_eq!(world.nodes[0].peers.connection_rows().len(), 1);
    assert_eq!(world.states(0), [State::Open]);
}

#[test]
fn the_addresses_of_one_ipv6_site_are_one_source() {
    let anywhere = HERE.replace("addresses = [\"10.0.0.2\"]", "");
    let mut world = World::new(&[&anywhere]);
    for n in 0..20 {
        world.claim(0, &format!("[2001:db8:0:{n:x}::1]:50000"));
    }
    assert_eq!(world.nodes[0].peers.counts().refused, 4, "16 of one source may wait");
    world.claim(0, "[2001:db8:0:100::1]:50000");
    assert_eq!(world.nodes[0].peers.counts().refused, 4);
}

#[test]
fn a_host_is_believed_from_its_own_address_alone() {
    let two = format!(
        "{HERE}\n[[peer]]\nname = \"c\"\nhost = \"other.example\"\naddresses = [\"10.0.0.3\"]\n"
    );
    let mut world = World::new(&[&two, THERE]);
    let flow = world.claim(0, "10.0.0.3:50000");
    let mut cer = Vec::new();
    let mut writer = Writer::request(&mut cer, &base::CAPABILITIES_EXCHANGE, 0)
        .put(&base::ORIGIN_HOST, "as.example")
        .put(&base::ORIGIN_REALM, "example");
    writer.avps().address(&base::HOST_IP_ADDRESS, [10, 0, 0, 3].into());
    writer.number(&base::VENDOR_ID, 0).put(&base::PRODUCT_NAME, "x").end().unwrap();
    world.say(0, flow, &cer);
    assert_eq!(world.nodes[0].peers.counts().claims_refused, 1);
    assert!(!world.ends.contains_key(&flow.conn.0), "its connection ends");
    assert_eq!(world.states(0), [State::Open, State::Closed]);
}

#[test]
fn who_connects_with_the_number_of_the_peers_listener_is_not_taken_for_what_was_opened() {
    let listens = THERE.replace("[[peer]]", "tcp = { listen = [\"10.0.0.2:3868\"] }\n[[peer]]");
    let mut world = World::new(&["diameter = { host = \"x\", realm = \"y\" }", &listens]);
    let id = world.nodes[1].peers.find("a").unwrap();
    world.act(1, |peers, now, out| peers.start(now, id, out));
    assert_eq!(world.states(1), [State::WaitConnAck]);
    let flow = world.listener(1, "10.0.0.1:3868");
    world.act(1, |peers, now, out| peers.step(now, &runtime::In::Up { flow }, out));
    assert_eq!(world.states(1), [State::WaitConnAck], "nobody is greeted whom it did not open");
    assert_eq!(world.nodes[1].peers.connection_rows()[0].peer, None);
    world.pass(SECOND / 100);
    assert_eq!(world.states(1), [State::Closed], "what it opened was refused");
}

#[test]
fn peers_that_are_written_as_before_keep_their_connections() {
    let mut world = World::new(&[HERE, THERE]);
    let next = format!(
        "{HERE}\n[[peer]]\nname = \"c\"\nhost = \"other.example\"\naddresses = [\"10.0.0.3\"]\n"
    );
    let site = crate::world::Site::read(&next);
    assert!(world.nodes[0].peers.continues(&site.section()));
    world.act(0, |peers, now, out| peers.configure(now, &site.section(), out));
    world.pass(SECOND);
    assert_eq!(world.states(0), [State::Open, State::Closed]);
    assert_eq!(world.take(0), ["up"]);
    let none = HERE.split("[[peer]]").next().unwrap();
    let site = crate::world::Site::read(none);
    world.act(0, |peers, now, out| peers.configure(now, &site.section(), out));
    world.pass(SECOND / 50);
    assert!(world.states(0).is_empty());
    assert_eq!(world.take(0), ["down: it is configured no more"]);
    assert_eq!(world.take(1).last().unwrap(), "down: it begins anew", "and it was told so");
    assert!(world.nodes[0].peers.connection_rows().is_empty());
}
