//! Caches of validated prefixes: what they say decides what policies do, and when they go. Tables
//! and what comes as MRT.

use crate::world::{self, speaker::prefix};
use crate::world::{Speaker, World, s};
use bgp::family::{Family, FamilySet};
use mrt::FsmState;
use rpki::{Intervals, Pdu, Version, Vrp4};

const CACHE: &str = "10.9.0.1:323";
const SECOND: &str = "10.9.0.2:3323";

fn site(caches: &str) -> String {
    format!(
        r#"
name = "rr1"
asn = 65000
identifier = "10.0.0.1"
listen = ["10.0.0.1"]
{caches}
[[policy]]
name = "validated"
default = "accept"
rule = [
  {{ match = {{ validation = "invalid" }}, then = "reject" }},
  {{ match = {{ validation = "valid" }}, set = {{ local_pref = 200 }}, then = "accept" }},
]
[[peer]]
name = "ext"
address = "10.0.5.1"
asn = 65001
default_policy = "accept"
import = "validated"
[[peer]]
name = "client"
address = "10.0.1.1"
client = true
passive = true
"#
    )
}

const ONE: &str = "rpki = [{ address = \"10.9.0.1\" }]";
const BOTH: &str = "rpki = [{ address = \"10.9.0.2\", port = 3323, preference = 200 }, \
                    { address = \"10.9.0.1\" }]";

fn record(comes: bool, text: &str, max: u8, asn: u32) -> Pdu<'static> {
    Pdu::Ipv4(comes, Vrp4 { prefix: prefix(text), max, asn })
}

fn pdus(all: &[Pdu<'_>]) -> Vec<u8> {
    let mut octets = Vec::new();
    all.iter().for_each(|pdu| pdu.write(Version::V1, &mut octets));
    octets
}

fn end(serial: u32) -> Pdu<'static> {
    Pdu::EndOfData(7, serial, Some(Intervals { refresh_s: 60, retry_s: 60, expire_s: 600 }))
}

/// A peer with three routes of AS 65001, and a client.
fn scene(caches: &str) -> (World, usize, usize) {
    let mut world = World::new(&site(caches));
    world.listen(CACHE);
    let families = FamilySet::only(Family::Ipv4Unicast);
    let ext = world.add(Speaker::of("10.0.5.1", 65_001, families));
    let client = world.add(Speaker::client("10.0.1.1"));
    world.pass(s(1));
    let all = ["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"];
    world.act(ext, |it, _| it.announce(&all));
    world.pass(s(1));
    assert_eq!(routes(&world, client), all, "nothing is invalid yet");
    (world, ext, client)
}

fn routes(world: &World, id: usize) -> Vec<String> {
    world.speakers[id].routes.keys().cloned().collect()
}

#[test]
fn routes_are_judged_again_as_the_records_change_and_no_others() {
    let (mut world, _, client) = scene(ONE);
    let ours = record(true, "192.0.2.0/24", 24, 65_001);
    let others = record(true, "198.51.100.0/22", 24, 65_009);
    world.say(CACHE, pdus(&[Pdu::CacheResponse(7), ours, others, end(1)]));
    let before = world.speakers[client].updates.len();
    world.pass(s(1));
    assert_eq!(routes(&world, client), ["192.0.2.0/24", "203.0.113.0/24"]);
    // One UPDATE for what became valid, one for what is withdrawn; the third route is not told.
    assert_eq!(world.speakers[client].updates.len() - before, 2);
    let shown = world.ask("bgp/route", &[("prefix", "198.51.100.1")]);
    assert_eq!((&shown[0]["validation"], &shown[0]["refused"]), (&"invalid".into(), &true.into()));
    let shown = world.ask("bgp/route", &[("prefix", "192.0.2.1")]);
    assert_eq!((&shown[0]["validation"], &shown[0]["local_pref"]), (&"valid".into(), &200.into()));
    assert_eq!(world.metric("rr_rpki_paths_changed_total"), 2);
    assert_eq!(world.metric("rr_rpki_records"), 2);
    // The record goes: the route comes back.
    world.say(CACHE, pdus(&[Pdu::SerialNotify(7, 2)]));
    world.pass(s(1));
    let gone = record(false, "198.51.100.0/22", 24, 65_009);
    world.say(CACHE, pdus(&[Pdu::CacheResponse(7), gone, end(2)]));
    world.pass(s(1));
    assert_eq!(routes(&world, client).len(), 3);
    let row = &world.ask("bgp/rpki", &[])[0];
    assert_eq!((&row["state"], &row["serial"]), (&"synchronised".into(), &2.into()));
}

#[test]
fn a_route_that_comes_later_is_judged_by_the_records_that_are_there() {
    let (mut world, ext, client) = scene(ONE);
    let others = record(true, "198.18.0.0/15", 24, 65_009);
    world.say(CACHE, pdus(&[Pdu::CacheResponse(7), others, end(1)]));
    world.pass(s(1));
    world.act(ext, |it, _| it.announce(&["198.18.7.0/24", "198.20.0.0/24"]));
    world.pass(s(1));
    let has = |text: &str| routes(&world, client).contains(&text.to_owned());
    assert!(!has("198.18.7.0/24") && has("198.20.0.0/24"));
    let shown = world.ask("bgp/origin", &[("prefix", "198.18.7.0/24"), ("asn", "65001")]);
    assert_eq!((&shown[0]["asn"], &shown[0]["state"]), (&65_009.into(), &"invalid".into()));
}

#[test]
fn records_outlive_their_cache_until_they_expire_and_both_are_told() {
    let (mut world, _, client) = scene(ONE);
    let others = record(true, "198.51.100.0/22", 24, 65_009);
    world.say(CACHE, pdus(&[Pdu::CacheResponse(7), others, end(1)]));
    world.pass(s(1));
    assert_eq!(world.alarms(), Vec::<String>::new());
    world.leave(CACHE);
    world.pass(s(30));
    assert_eq!(routes(&world, client).len(), 2);
    assert_eq!(world.alarms(), ["rpki-cache-lost 10.9.0.1:323"]);
    world.pass(s(600));
    assert_eq!(routes(&world, client).len(), 3);
    assert!(world.alarms().contains(&"rpki-data-expired rr1".to_owned()));
    // It comes back: the alarms go.
    world.listen(CACHE);
    for _ in 0..20 {
        if world.outsiders[&world::speaker::address(CACHE)].heard.is_empty() {
            world.pass(s(5));
        }
    }
    world.say(CACHE, pdus(&[Pdu::CacheResponse(8), others_again(), end_of(8)]));
    world.pass(s(1));
    assert_eq!((routes(&world, client).len(), world.alarms().len()), (2, 0));
}

fn others_again() -> Pdu<'static> {
    record(true, "198.51.100.0/22", 24, 65_009)
}

fn end_of(session: u16) -> Pdu<'static> {
    Pdu::EndOfData(session, 1, Some(Intervals { refresh_s: 60, retry_s: 60, expire_s: 600 }))
}

#[test]
fn the_less_preferred_cache_is_asked_when_the_other_fails_and_a_commit_leaves_no_gap() {
    let (mut world, _, client) = scene(ONE);
    world.listen(SECOND);
    world.say(CACHE, pdus(&[Pdu::CacheResponse(7), others_again(), end(1)]));
    world.pass(s(1));
    assert_eq!(routes(&world, client).len(), 2);
    let before = world.speakers[client].updates.len();
    world.configure(&site(BOTH));
    world.pass(s(1));
    assert_eq!(routes(&world, client).len(), 2, "what the old one said counts meanwhile");
    world.leave(CACHE);
    world.pass(s(10));
    world.say(SECOND, pdus(&[Pdu::CacheResponse(9), others_again(), end_of(9)]));
    world.pass(s(1));
    assert_eq!(world.speakers[client].updates.len(), before, "nothing changed for anybody");
    assert_eq!(world.ask("bgp/rpki", &[])[1]["source"], true);
    assert_eq!(world.alarms(), ["rpki-cache-lost 10.9.0.1:323"]);
    // Without caches nothing is invalid, and nothing valid.
    world.configure(&site(""));
    world.pass(s(1));
    assert_eq!(routes(&world, client).len(), 3);
    assert_eq!(
        world.ask("bgp/route", &[("prefix", "192.0.2.1")])[0]["validation"],
        serde_json::Value::Null
    );
}

#[test]
fn a_cache_that_talks_nonsense_is_told_so_and_disconnected() {
    let (mut world, ..) = scene(ONE);
    world.say(CACHE, vec![9; 40]);
    world.pass(s(1));
    let heard = &world.outsiders[&world::speaker::address(CACHE)].heard;
    assert!(heard.is_empty() || heard[1] == 10 || heard[1] == 2, "{heard:?}");
    let row = world.ask("bgp/rpki", &[])[0].clone();
    assert!(row["why"].as_str().unwrap().contains("offended"), "{row}");
}

/// All pages of the dump.
fn dumped(world: &mut World) -> Vec<u8> {
    let (mut from, mut octets, mut pages) = (None, Vec::new(), 0);
    loop {
        let params: Vec<(&str, &str)> =
            from.as_deref().map(|it| ("from", it)).into_iter().collect();
        let page = world.ask("bgp/dump", &params);
        let text = page["octets"].as_str().unwrap().to_owned();
        let digits = (0..text.len()).step_by(2);
        octets.extend(digits.map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()));
        pages += 1;
        match page["next"].as_str() {
            Some(next) => from = Some(next.to_owned()),
            None => return octets,
        }
        assert!(pages < 100);
    }
}

#[test]
fn the_tables_are_dumped_as_they_are_behind_the_policies() {
    let (mut world, ext, client) = scene(ONE);
    let others = record(true, "198.51.100.0/22", 24, 65_009);
    world.say(CACHE, pdus(&[Pdu::CacheResponse(7), others, end(1)]));
    world.act(client, |it, _| it.announce(&["192.0.2.0/24"]));
    world.pass(s(1));
    let file = dumped(&mut world);
    let entries: Vec<_> = mrt::RibEntries::new(&file).map(Result::unwrap).collect();
    let told = |it: &mrt::RibEntry<'_>| {
        (it.ipv4().unwrap().to_string(), it.peer.address.to_string(), it.peer.asn)
    };
    let mut routes: Vec<_> = entries.iter().map(told).collect();
    routes.sort();
    let expected = [
        ("192.0.2.0/24", "10.0.1.1", 65_000),
        ("192.0.2.0/24", "10.0.5.1", 65_001),
        ("203.0.113.0/24", "10.0.5.1", 65_001),
    ];
    assert_eq!(routes, expected.map(|(a, b, asn)| (a.to_owned(), b.to_owned(), asn)));
    // Between two pages a peer goes: the next one has an index table of its own.
    let first = world.ask("bgp/dump", &[]);
    assert!(first["octets"].as_str().unwrap().len() > 100);
    world.cut(ext);
    world.pass(s(1));
    let rest = world.ask("bgp/dump", &[("from", "0:0:1")]);
    assert!(rest["octets"].as_str().unwrap().contains("0a000101"), "{rest}");
    assert!(world.try_ask("bgp/dump", &[("from", "x")]).is_err());
}

/// Keeps everything.
#[derive(Debug, Default)]
struct Kept(std::sync::Mutex<Vec<u8>>);

impl rr::Recorder for Kept {
    fn record(&self, _: machine::Time, octets: Vec<u8>) -> bool {
        self.0.lock().unwrap().extend_from_slice(&octets);
        true
    }

    fn fault(&self) -> Option<String> {
        Some("the disk is full".to_owned())
    }
}

fn state(place: usize) -> Option<FsmState> {
    use FsmState::{Active, Connect, Established, Idle, OpenConfirm, OpenSent};
    Some([Idle, Connect, Active, OpenSent, OpenConfirm, Established][place])
}

#[test]
fn what_comes_is_recorded_and_so_are_sessions() {
    let mut world = World::new(&site(""));
    let kept = std::sync::Arc::new(Kept::default());
    world.reflector.record_by(std::sync::Arc::clone(&kept) as std::sync::Arc<dyn rr::Recorder>);
    let ext = world.add(Speaker::of("10.0.5.1", 65_001, FamilySet::only(Family::Ipv4Unicast)));
    world.pass(s(1));
    world.act(ext, |it, _| it.announce(&["192.0.2.0/24"]));
    world.pass(s(1));
    world.cut(ext);
    world.pass(world::ms(100));
    let octets = kept.0.lock().unwrap().clone();
    let mut seen = Vec::new();
    for record in mrt::Records::new(&octets) {
        match record.unwrap().read().unwrap() {
            mrt::Body::StateChange(change) => seen.push((change.from, change.to)),
            mrt::Body::Message(message) => {
                assert_eq!((message.message[18], message.ends.peer_as), (2, 65_001));
                seen.push((state(5), state(5)));
            }
            other => panic!("{other:?}"),
        }
    }
    seen.dedup();
    assert_eq!(seen, [(state(4), state(5)), (state(5), state(5)), (state(5), state(0))]);
    assert!(world.alarms().contains(&"mrt-not-recorded rr1".to_owned()));
}

#[test]
fn caches_that_cannot_be_meant_are_refused() {
    let found = |caches: &str| {
        let issues = world::issues(&site(caches));
        issues.into_iter().map(|it| it.path).collect::<Vec<_>>()
    };
    let twice = "rpki = [{ address = \"10.9.0.1\" }, { address = \"10.9.0.1\", port = 323 }]";
    assert_eq!(found(twice), ["rpki[1].address"]);
    let wrong = "rpki = [{ address = \"0.0.0.0\", port = 0, local = \"::1\" }]";
    assert_eq!(found(wrong), ["rpki[0].address", "rpki[0].port", "rpki[0].local"]);
    let records = "mrt = { directory = \"\", rotate_s = 1, files_max = 0 }";
    assert_eq!(found(records), ["mrt.directory", "mrt.rotate_s", "mrt.files_max"]);
    let stations = "bmp = [{ name = \"\", address = \"10.9.0.9\", port = 11019, tables = [] }]";
    assert_eq!(found(stations), ["bmp[0].name", "bmp[0].tables"]);
}

#[test]
fn what_came_is_shown_beside_what_the_policy_made_of_it() {
    let (mut world, ..) = scene(ONE);
    let valid = record(true, "192.0.2.0/24", 24, 65_001);
    let others = record(true, "198.51.100.0/22", 24, 65_009);
    world.say(CACHE, pdus(&[Pdu::CacheResponse(7), valid, others, end(1)]));
    world.pass(s(1));
    let page = world.ask("bgp/routes", &[("received", "ext"), ("before", "true")]);
    let mut rows = page["rows"].as_array().unwrap().clone();
    rows.sort_by_key(|row| row["route"].to_string());
    let words = |key: &str| rows.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    assert_eq!(words("policy"), ["changed", "refused", "accepted"]);
    assert_eq!(rows[0]["local_pref"], 200);
    assert!(rows[0]["local_pref_before"].is_null(), "{}", rows[0]);
    assert!(rows[1]["next_hop"].is_null() && rows[1]["next_hop_before"].is_string());
    assert_eq!(rows[2]["next_hop"], rows[2]["next_hop_before"]);
    let plain = world.ask("bgp/routes", &[("received", "ext")]);
    assert!(plain["rows"][0].get("policy").is_none(), "only where it is asked for");
}
