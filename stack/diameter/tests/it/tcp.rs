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
    let row = &world.nodes[1].peers.peer_rows()[0];
    assert_eq!((row.state, row.watchdog, row.losses), ("open", "REOPEN", 1));
    assert_eq!(row.applications, ["Sh", "S6c"]);
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

#[test]
fn a_peer_is_asked_for_what_it_is_for_and_asks_nothing_else() {
    let here = HERE.replace("[[peer]]", "[[peer]]\napplications = [\"Sh\"]");
    let there = THERE.split("[[route]]").next().unwrap().to_owned();
    let there = format!("{there}realm = \"home\"\napplications = [\"sh\"]\n");
    let mut world = World::new(&[&here, &there]);
    world.open_and_ask();
    // The same of a peer that is for another application.
    let here = HERE.replace("[[peer]]", "[[peer]]\napplications = [\"S6c\"]");
    let mut world = World::new(&[&here, THERE]);
    world.nodes.iter_mut().for_each(|node| node.told.clear());
    world.ask(1, 7, "home");
    world.pass(SECOND);
    assert_eq!(world.take(0), Vec::<String>::new(), "the application hears nothing of it");
    assert_eq!(world.take(1), ["answer 7"]);
    assert_eq!(world.nodes[0].peers.counts().unspoken, 1);
    let ask = runtime::Ask { path: String::new(), params: [("limit".into(), "2".into())].into() };
    let rows = world.nodes[1].peers.show_trace(&ask).unwrap();
    let seen: Vec<_> = rows.iter().map(|it| (&*it.command, it.way, it.result.as_deref())).collect();
    let refused = Some("APPLICATION_UNSUPPORTED");
    assert_eq!(seen, [("UDR", "out", None), ("UDA", "in", refused)]);
    assert_eq!((rows[1].peer.as_deref(), &*rows[1].flags), (Some("a"), "PE"));
}

#[test]
fn a_peer_that_is_not_there_and_a_realm_that_nobody_serves_are_conditions_until_it_comes() {
    let mut world = World::new(&[HERE, THERE]);
    let names = |world: &World, at: usize| {
        let rows = world.nodes[at].peers.alarms().into_iter();
        rows.map(|it| (it.name, it.subject, it.starting)).collect::<Vec<_>>()
    };
    assert_eq!((names(&world, 0), names(&world, 1)), (Vec::new(), Vec::new()));
    world.act(0, |peers, now, out| peers.close(now, DisconnectCause::Rebooting, out));
    world.pass(SECOND / 50);
    let down = (String::from("diameter-peer-down"), String::from("a"), false);
    let realm = String::from("home any application");
    let unserved = (String::from("diameter-realm-unserved"), realm, false);
    assert_eq!(names(&world, 1), [down, unserved]);
    let text = &world.nodes[1].peers.alarms()[0].text;
    assert!(text.ends_with("(hss.home) is not open: it begins anew"), "{text}");
}

#[test]
fn an_operator_disconnects_a_peer_and_connects_it_again() {
    let mut world = World::new(&[HERE, THERE]);
    world.open_and_ask();
    world.act(1, |peers, now, out| {
        let row = peers.operate(now, "a", false, out).unwrap();
        assert_eq!(row.state, "closing");
        assert_eq!(peers.operate(now, "nobody", true, out), None);
    });
    world.pass(SECOND * 30);
    assert_eq!(world.states(1), [State::Closed], "it is not connected to again");
    world.act(1, |peers, now, out| {
        peers.operate(now, "a", true, out);
    });
    world.pass(SECOND);
    assert_eq!(world.states(1), [State::Open]);
}

#[test]
fn nodes_that_lose_a_peer_at_once_do_not_come_back_at_once() {
    let one = THERE.replace("reconnect_ms = 200", "reconnect_ms = 8000");
    let attempts = |seed: usize| {
        // Its peer is not there; the place in the world is the seed.
        let none = "diameter = { host = \"x\", realm = \"y\" }";
        let mut sites = vec![none; seed];
        sites.push(&one);
        let mut world = World::new(&sites);
        let mut at = Vec::new();
        for tenth in 0..400_u32 {
            world.pass(SECOND / 10);
            if world.nodes[seed].peers.counts().attempts as usize > at.len() + 1 {
                at.push(tenth);
            }
        }
        at
    };
    let all: Vec<_> = (1..5).map(attempts).collect();
    assert!(all.windows(2).any(|two| two[0][0] != two[1][0]), "{all:?}");
    // Between three quarters and the whole of 8 s, then of 16 s.
    assert!(all.iter().all(|it| (45..=72).contains(&it[0])), "{all:?}");
    assert!(all.iter().all(|it| (115..=162).contains(&(it[1] - it[0]))), "{all:?}");
}
