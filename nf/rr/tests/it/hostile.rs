//! What a hostile or a careless peer says, and what it costs the others: nothing.

use crate::world::World;
use crate::world::speaker::Speaker;
use bgp::Cause;
use bgp::codec::{AttributeType, Cease, Flags, Notice, write_attribute};
use bgp::family::{Family, FamilySet};
use bgp::pack::{Announcement, Limits};
use machine::Duration;

/// A reflector with a client and an external peer of two-octet ASes.
const SITE: &str = r#"
name = "rr1"
asn = 65000
identifier = "10.0.0.1"
listen = ["10.0.0.1"]
peer = [
  { name = "client", address = "10.0.1.1", client = true, passive = true },
  { name = "other", address = "10.0.2.1", client = true, passive = true },
  { name = "ext", address = "10.0.5.1", passive = true, asn = 65001, KEYS },
]
"#;

const CLIENT: usize = 0;
const OTHER: usize = 1;
const EXTERNAL: usize = 2;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn world(keys: &str, change: impl Fn(&mut bgp::Settings)) -> World {
    let mut world = World::new(&SITE.replace("KEYS", keys));
    world.add(Speaker::client("10.0.1.1"));
    world.add(Speaker::client("10.0.2.1"));
    let families = FamilySet::only(Family::Ipv4Unicast);
    let mut settings = Speaker::of("10.0.5.1", 65_001, families).settings();
    change(&mut settings);
    world.add(Speaker::with("10.0.5.1", settings));
    world.pass(s(1));
    assert_eq!(world.metric("rr_peers_established"), 3);
    world
}

fn of_two_octets(settings: &mut bgp::Settings) {
    settings.offer.four_octet_as = false;
}

/// ORIGIN, AS_PATH and NEXT_HOP; ASes of two octets.
fn attributes(path: &[u8], more: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, value) in [(1, &[0][..]), (2, path), (3, &[10, 0, 5, 1])] {
        assert!(write_attribute(Flags::TRANSITIVE, number, value, &mut out));
    }
    out.extend_from_slice(more);
    out
}

/// An UPDATE of up to 65,535 octets for a prefix.
fn announce(attributes: &[u8], third: u8) -> Vec<u8> {
    let mut out = Vec::new();
    let limits = Limits { message_max: 65_535, add_path: false };
    let mut pack = Announcement::plain(limits, attributes, &mut out).expect("they fit");
    pack.prefix(0, bgp::family::Ipv4Prefix::new([192, 0, third, 0].into(), 24).expect("24 bits"));
    pack.finish();
    out
}

fn has(world: &World, id: usize, prefix: &str) -> bool {
    world.speakers[id].routes.contains_key(prefix)
}

fn path_of(segments: usize) -> Vec<u8> {
    [&[2, 255][..], &[0xfd, 0xe9].repeat(255)].concat().repeat(segments)
}

#[test]
fn a_path_that_widens_past_65535_octets_resets_nobody() {
    let mut world = world("default_policy = \"accept\"", of_two_octets);
    let short = attributes(&[2, 1, 0xfd, 0xe9], &[]);
    world.act(EXTERNAL, |it, _| it.say(announce(&short, 2)));
    world.pass(s(1));
    assert!(has(&world, CLIENT, "192.0.2.0/24"));
    // What is long but can be told goes on; what cannot withdraws the route that stood.
    let long = attributes(&path_of(31), &[]);
    world.act(EXTERNAL, |it, _| it.say(announce(&long, 3)));
    let too_long = attributes(&path_of(64), &[]);
    world.act(EXTERNAL, |it, _| it.say(announce(&too_long, 2)));
    world.pass(s(5));
    assert!(has(&world, CLIENT, "192.0.3.0/24"));
    assert!(!has(&world, CLIENT, "192.0.2.0/24"));
    for speaker in &world.speakers {
        assert!(speaker.is_up() && speaker.endings.is_empty(), "{:?}", speaker.endings);
    }
    assert_eq!(world.metric("rr_offences_tolerated_total"), 1);
}

#[test]
fn a_path_too_long_for_a_client_of_short_messages_is_not_told_to_it() {
    let mut world = World::new(&SITE.replace("KEYS", "default_policy = \"accept\""));
    let mut settings = Speaker::client("10.0.1.1").settings();
    settings.offer.extended_message = false;
    world.add(Speaker::with("10.0.1.1", settings));
    world.add(Speaker::client("10.0.2.1"));
    let families = FamilySet::only(Family::Ipv4Unicast);
    world.add(Speaker::of("10.0.5.1", 65_001, families));
    world.pass(s(1));
    let segment = [&[2, 255][..], &[0, 0, 0xfd, 0xe9].repeat(255)].concat();
    let long = attributes(&segment.repeat(4), &[]);
    let short = attributes(&[2, 1, 0, 0, 0xfd, 0xe9], &[]);
    world.act(EXTERNAL, |it, _| it.say([announce(&short, 2), announce(&long, 3)].concat()));
    world.pass(s(5));
    assert!(has(&world, OTHER, "192.0.3.0/24") && has(&world, CLIENT, "192.0.2.0/24"));
    assert!(!has(&world, CLIENT, "192.0.3.0/24"), "4,081 octets of attributes do not fit");
    assert!(world.speakers.iter().all(|it| it.is_up() && it.endings.is_empty()));
}

#[test]
fn a_message_above_4096_octets_needs_the_offer_of_extended_messages() {
    let not_offered = |settings: &mut bgp::Settings| settings.offer.extended_message = false;
    let mut world = world("default_policy = \"accept\"", not_offered);
    let segment = [&[2, 255][..], &[0, 0, 0xfd, 0xe9].repeat(255)].concat();
    let long = attributes(&segment.repeat(5), &[]);
    world.act(EXTERNAL, |it, _| it.say(announce(&long, 3)));
    world.pass(s(1));
    let bad_length = Notice::header(bgp::codec::HeaderError::BadMessageLength);
    let ends = &world.speakers[EXTERNAL].endings;
    assert!(
        matches!(ends.first(), Some(Cause::Received(notice, _)) if *notice == bad_length),
        "{ends:?}"
    );
    assert!(world.speakers[CLIENT].is_up() && world.speakers[CLIENT].endings.is_empty());
}

#[test]
fn without_a_policy_no_route_passes_to_or_from_an_external_peer() {
    let mut world = world("description = \"RFC 8212\"", |_| {});
    world.act(CLIENT, |it, _| it.announce(&["198.51.100.0/24"]));
    world.act(EXTERNAL, |it, _| it.announce(&["192.0.2.0/24"]));
    world.pass(s(2));
    assert!(has(&world, OTHER, "198.51.100.0/24"), "internal peers need none");
    assert!(!has(&world, EXTERNAL, "198.51.100.0/24"));
    assert!(!has(&world, CLIENT, "192.0.2.0/24"));
    let alarms = world.ask("alarms", &[]);
    let text = alarms.to_string();
    assert!(text.contains("bgp-no-policy") && text.contains("RFC 8212"), "{text}");
}

#[test]
fn a_path_with_our_own_as_is_excluded_on_internal_sessions_too() {
    let path = [2, 2, 0, 0, 0xfd, 0xe9, 0, 0, 0xfd, 0xe8];
    let looped = |speaker: &Speaker| {
        let mut out = Vec::new();
        for (number, value) in
            [(1, &[0][..]), (2, &path), (3, &[10, 0, 1, 1]), (5, &100u32.to_be_bytes())]
        {
            assert!(write_attribute(Flags::TRANSITIVE, number, value, &mut out));
        }
        assert!(!speaker.attributes().is_empty());
        out
    };
    for (keys, allowed) in [("", false), (", allow_own_as = 1", true)] {
        let site = SITE.replace("passive = true }", &format!("passive = true{keys} }}"));
        let mut world = World::new(&site.replace("KEYS", "default_policy = \"accept\""));
        world.add(Speaker::client("10.0.1.1"));
        world.add(Speaker::client("10.0.2.1"));
        world.pass(s(1));
        let attributes = looped(&world.speakers[CLIENT]);
        world.act(CLIENT, |it, _| it.announce_with(&attributes, &["192.0.2.0/24"]));
        world.pass(s(1));
        assert_eq!(has(&world, OTHER, "192.0.2.0/24"), allowed, "{keys}");
    }
}

#[test]
fn a_peer_whose_attributes_take_too_much_room_ends_alone() {
    let keys = "default_policy = \"accept\", attribute_octets_max = 200000";
    let mut world = world(keys, |_| {});
    let short = [2, 1, 0, 0, 0xfd, 0xe9];
    for third in 0..20 {
        let mut more = Vec::new();
        // Unknown and transitive: kept and passed on as it is (RFC 4271 §5).
        assert!(write_attribute(0xc0, 200, &vec![third; 20_000], &mut more));
        if world.speakers[EXTERNAL].is_up() {
            let attributes = attributes(&short, &more);
            world.act(EXTERNAL, |it, _| it.say(announce(&attributes, third)));
            world.pass(Duration::from_millis(200));
        }
    }
    let ends = &world.speakers[EXTERNAL].endings;
    let notice = Notice::cease(Cease::OutOfResources);
    assert!(matches!(ends.first(), Some(Cause::Received(it, _)) if *it == notice), "{ends:?}");
    assert!(world.speakers[CLIENT].is_up() && world.speakers[CLIENT].endings.is_empty());
    assert!(world.speakers[CLIENT].routes.is_empty(), "its routes went with it");
    let kind = AttributeType::of(200);
    assert!(kind.is_none(), "the attribute is one that nobody knows");
}
