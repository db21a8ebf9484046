//! Sessions of a reflector: in both directions, from ranges, refused, silent, too talkative, and a
//! thousand at once.

use crate::world::{Speaker, World, ms, s};
use bgp::codec::{Cease, Notice, Offer};
use bgp::family::{Family, FamilySet};
use bgp::{Cause, In, PeerAs, Settings};
use machine::Duration;

const HEAD: &str = r#"
name = "rr1"
asn = 65000
identifier = "10.0.0.1"
listen = ["10.0.0.1"]
"#;

fn site(rest: &str) -> String {
    format!("{HEAD}{rest}")
}

fn two() -> String {
    site(
        r#"
peer = [
  { name = "a", address = "10.0.1.1", client = true, passive = true },
  { name = "b", address = "10.0.2.1", client = true, connect_retry_s = 2 },
]
"#,
    )
}

fn waiting(address: &str) -> Speaker {
    let settings = Speaker::client(address).settings();
    Speaker::waiting(address, settings)
}

/// What a speaker was told last.
fn ending(world: &World, id: usize) -> Option<&Cause> {
    let is_told = |cause: &&Cause| matches!(cause, Cause::Received(..));
    world.speakers[id].endings.iter().rev().find(is_told)
}

fn cease(which: Cease, text: Option<&str>) -> Cause {
    Cause::Received(Notice::cease(which), text.map(str::to_owned))
}

#[test]
fn a_peer_connects_to_the_reflector_and_the_reflector_to_a_peer() {
    let mut world = World::new(&two());
    let a = world.add(Speaker::client("10.0.1.1"));
    let b = world.add(waiting("10.0.2.1"));
    world.pass(s(3));
    assert!(world.speakers[a].is_up() && world.speakers[b].is_up());
    assert_eq!(world.state("a"), "Established");
    assert_eq!(world.state("b"), "Established");
    assert_eq!(world.alarms(), Vec::<String>::new());
    // Nothing changes for as long as both live.
    world.pass(s(600));
    assert!(world.speakers[a].is_up() && world.speakers[b].is_up());
    assert_eq!(world.metric("rr_sessions_established_total"), 2);
}

#[test]
fn of_two_connections_opened_at_the_same_time_one_stays() {
    let mut world = World::new(&two());
    let settings = Speaker::client("10.0.2.1").settings();
    let mut both = Speaker::with("10.0.2.1", settings);
    both.listens = true;
    let b = world.add(both);
    world.pass(s(10));
    assert!(world.speakers[b].is_up());
    assert_eq!(world.state("b"), "Established");
    let row = world.ask("bgp/peer", &[("peer", "b")]);
    assert_eq!(row[0]["connections"].as_array().unwrap().len(), 1, "{row}");
}

#[test]
fn a_peer_that_cannot_be_reached_is_tried_again() {
    let mut world = World::new(&two());
    world.pass(s(1));
    assert_eq!(world.state("b"), "Active");
    let alarms = ["bgp-session-down a", "bgp-session-down b"];
    assert_eq!(world.alarms(), alarms);
    let b = world.add(waiting("10.0.2.1"));
    world.pass(s(3));
    assert!(world.speakers[b].is_up());
    assert!(world.metric("rr_connections_attempted_total") >= 2);
}

#[test]
fn a_peer_of_another_as_hears_that_its_as_is_wrong() {
    let mut world = World::new(&two());
    let families = FamilySet::only(Family::Ipv4Unicast);
    let a = world.add(Speaker::of("10.0.1.1", 65_001, families));
    world.pass(s(1));
    let Some(Cause::Received(notice, _)) = ending(&world, a) else { panic!("it heard nothing") };
    assert_eq!(notice.to_string(), "OPEN Message Error: Bad Peer AS");
    let row = world.row("a");
    let why = row["why"].as_str().unwrap();
    assert!(why.contains("Bad Peer AS") && why.contains("it says AS 65001"), "{why}");
    assert_eq!(world.metric("rr_sessions_failed_total"), 1);
}

#[test]
fn who_has_no_section_and_lies_in_no_range_is_refused() {
    let mut world = World::new(&two());
    let stranger = world.add(Speaker::client("10.9.9.9"));
    world.pass(s(1));
    assert!(!world.speakers[stranger].is_up());
    assert!(world.metric("rr_connections_refused_total") > 0);
}

#[test]
fn peers_from_a_range_come_up_to_the_limit_and_are_forgotten_when_they_have_gone() {
    let range = r#"
[[group]]
name = "lab"
ranges = ["10.1.0.0/16"]
peers_max = 2
client = true
"#;
    let mut world = World::new(&site(range));
    let one = world.add(Speaker::client("10.1.0.1"));
    let two = world.add(Speaker::client("10.1.0.2"));
    world.pass(s(2));
    let three = world.add(Speaker::client("10.1.0.3"));
    world.pass(s(2));
    let up: Vec<bool> = [one, two, three].map(|id| world.speakers[id].is_up()).to_vec();
    assert_eq!(up, [true, true, false]);
    assert_eq!(world.row("10.1.0.1")["kind"], "client");
    assert!(world.metric("rr_connections_range_full_total") > 0);
    assert_eq!(world.metric("rr_peers_dynamic"), 2);
    // The first one goes; its place is free, and the third may come.
    world.act(one, |it, now| it.tell(now, In::Stop(Cease::AdministrativeShutdown, None)));
    world.pass(s(150));
    assert!(world.speakers[three].is_up());
    assert_eq!(world.state("10.1.0.1"), "away");
    assert_eq!(world.alarms(), ["bgp-peer-away 10.1.0.1"]);
}

#[test]
fn silent_connections_from_one_prefix_leave_places_of_the_range_to_others() {
    let range = r#"
[[group]]
name = "lab"
ranges = ["2001:db8::/32"]
peers_max = 80
client = true
"#;
    let mut world = World::new(&site(range));
    // Forty of one /64 connect, and say nothing: no place beyond the share of a /64 is theirs.
    for host in 1..=40 {
        let silent = world.add(Speaker::client(&format!("2001:db8:0:1::{host:x}")));
        world.freeze(silent);
    }
    world.pass(s(1));
    assert_eq!(world.metric("rr_peers_dynamic"), 20);
    assert_eq!(world.metric("rr_connections_range_silent_total"), 20);
    // Neighbours that say an OPEN, and do not stay silent together, are all taken.
    for host in 1..=30 {
        let honest = world.add(Speaker::client(&format!("2001:db8:0:2::{host:x}")));
        world.pass(s(1));
        assert!(world.speakers[honest].is_up(), "{host}");
    }
    // Who said nothing is given up long before the four minutes of a configured peer.
    world.pass(s(40));
    assert_eq!(world.metric("rr_peers_dynamic"), 30);
    let late = world.add(Speaker::client("2001:db8:0:1::ff"));
    world.pass(s(1));
    assert!(world.speakers[late].is_up());
}

#[test]
fn a_silent_peer_is_given_up_after_the_hold_time_and_comes_back() {
    let text = two().replace("passive = true", "passive = true, hold_time_s = 9");
    let mut world = World::new(&text);
    let a = world.add(Speaker::client("10.0.1.1"));
    world.pass(s(1));
    world.freeze(a);
    world.pass(s(8));
    assert_eq!(world.state("a"), "Established");
    world.pass(s(4));
    assert_ne!(world.state("a"), "Established");
    assert_eq!(world.metric("rr_hold_expired_total"), 1);
    let why = world.row("a")["why"].as_str().unwrap().to_owned();
    assert_eq!(why, "sent Hold Timer Expired");
}

#[test]
fn what_waits_in_the_sockets_is_read_before_a_hold_timer_fires() {
    let text = two().replace("passive = true", "passive = true, hold_time_s = 9");
    let mut world = World::new(&text);
    let a = world.add(Speaker::client("10.0.1.1"));
    world.pass(s(1));
    // The shard was away for 30 s: its tick comes before what the peer sent is read.
    let (mut out, now) = (runtime::Effects::default(), world.now + s(30));
    runtime::Function::tick(&mut world.reflector, now, &mut out);
    assert_eq!(world.state("a"), "Established");
    world.pass(s(60));
    assert!(world.speakers[a].is_up());
    assert_eq!(world.metric("rr_hold_expired_total"), 0);
}

#[test]
fn a_peer_that_reads_nothing_is_given_up() {
    let text = two().replace("passive = true", "passive = true, send_hold_s = 50");
    let mut world = World::new(&text);
    let a = world.add(Speaker::client("10.0.1.1"));
    world.pass(s(1));
    world.stick(a);
    world.pass(s(85));
    assert_eq!(world.metric("rr_send_hold_expired_total"), 1);
}

#[test]
fn whoever_has_too_many_routes_goes_until_the_operator_says_so() {
    let limit = r#"passive = true, prefix_limit = [{ family = "ipv4-unicast", max = 4 }]"#;
    let mut world = World::new(&two().replace("passive = true", limit));
    let a = world.add(Speaker::client("10.0.1.1"));
    world.pass(s(1));
    world.act(a, |it, _| it.announce(&["192.0.2.0/32", "192.0.2.1/32", "192.0.2.2/32"]));
    world.pass(s(1));
    assert_eq!(world.alarms(), ["bgp-session-down b"]);
    world.act(a, |it, _| it.announce(&["192.0.2.3/32"]));
    world.pass(s(1));
    assert_eq!(world.alarms(), ["prefix-limit-near a/ipv4-unicast", "bgp-session-down b"]);
    world.act(a, |it, _| it.announce(&["192.0.2.4/32"]));
    world.pass(s(1));
    assert_eq!(ending(&world, a), Some(&cease(Cease::MaximumPrefixes, None)));
    assert_eq!(world.state("a"), "too many routes");
    assert_eq!(world.alarms(), ["prefix-limit-exceeded a", "bgp-session-down b"]);
    world.pass(s(1_000));
    assert_eq!(world.state("a"), "too many routes");
    world.ask("bgp/enable", &[("peer", "a")]);
    world.pass(s(200));
    assert_eq!(world.state("a"), "Established");
}

#[test]
fn whoever_has_too_many_routes_comes_back_after_a_time_if_that_is_configured() {
    let limit = "passive = true, prefix_limit = \
        [{ family = \"ipv4-unicast\", max = 1, excess = \"restart\", restart_s = 60 }]";
    let mut world = World::new(&two().replace("passive = true", limit));
    let a = world.add(Speaker::client("10.0.1.1"));
    world.pass(s(1));
    world.act(a, |it, _| it.announce(&["192.0.2.0/32", "192.0.2.1/32"]));
    world.pass(s(1));
    assert_eq!(world.state("a"), "too many routes");
    world.pass(s(50));
    assert_eq!(world.state("a"), "too many routes");
    world.pass(s(200));
    assert_eq!(world.state("a"), "Established");
    assert_eq!(world.metric("rr_prefix_limits_exceeded_total"), 1);
}

#[test]
fn whoever_sends_nonsense_hears_what_was_wrong() {
    let mut world = World::new(&two());
    let a = world.add(Speaker::client("10.0.1.1"));
    world.pass(s(1));
    world.act(a, |it, _| it.say(b"GET / HTTP/1.1\r\n\r\n and so on".to_vec()));
    world.pass(s(1));
    let Some(Cause::Received(notice, _)) = ending(&world, a) else { panic!("it heard nothing") };
    assert_eq!(notice.to_string(), "Message Header Error: Connection Not Synchronized");
    assert_eq!(world.metric("rr_offences_total"), 1);
}

#[test]
fn at_the_end_everybody_hears_a_cease_with_what_the_operator_says() {
    let text = two().replace("listen =", "shutdown_text = \"moving to rr2\"\nlisten =");
    let mut world = World::new(&text);
    let a = world.add(Speaker::client("10.0.1.1"));
    world.pass(s(1));
    world.drain();
    assert!(runtime::Function::is_idle(&world.reflector));
    world.pass(s(1));
    let heard = cease(Cease::AdministrativeShutdown, Some("moving to rr2"));
    assert_eq!(ending(&world, a), Some(&heard));
    world.pass(s(300));
    assert!(!world.speakers[a].is_up());
    assert_eq!(world.metric("rr_peers_established"), 0);
}

#[test]
fn a_thousand_peers_come_at_once_and_come_back_after_the_network_was_away() {
    let range = r#"
[[group]]
name = "all"
ranges = ["10.1.0.0/16"]
peers_max = 2000
client = true
"#;
    let mut world = World::new(&site(range));
    let families = FamilySet::only(Family::Ipv4Unicast);
    let ids: Vec<usize> = (0..1_000u32)
        .map(|n| {
            let address = format!("10.1.{}.{}", n / 250, n % 250 + 1);
            let offer = Offer::modern(65_000, 0x0A01_0001 + n, 90, families);
            let settings = Settings {
                connect_retry: Duration::from_secs(5),
                ..Settings::new(offer, PeerAs::Internal)
            };
            world.add(Speaker::with(&address, settings))
        })
        .collect();
    world.pass(s(2));
    assert_eq!(world.metric("rr_peers_established"), 1_000);
    ids.iter().for_each(|id| world.cut(*id));
    world.pass(ms(20));
    assert_eq!(world.metric("rr_peers_established"), 0);
    world.pass(s(30));
    assert_eq!(world.metric("rr_peers_established"), 1_000);
    assert!(ids.iter().all(|id| world.speakers[*id].is_up()));
}
