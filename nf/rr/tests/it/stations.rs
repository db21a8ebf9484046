//! Monitoring stations: what they are told comes to the same tables as the reflector has.

use crate::world::{self, speaker::address};
use crate::world::{Speaker, World, s};
use bgp::codec::{AttributeType, Attributes, Context, Peering, Update};
use bgp::family::{Family, FamilySet};
use bmp::{Framing, Message, PeerDown, PeerHeader, PeerType};
use std::collections::{BTreeMap, BTreeSet};

const STATION: &str = "10.9.0.9:11019";

fn site(tables: &str, place: u32) -> String {
    format!(
        r#"
name = "rr1"
asn = 65000
identifier = "10.0.0.1"
listen = ["10.0.0.1"]
[[bmp]]
name = "station"
address = "10.9.0.9"
port = 11019
tables = [{tables}]
[[policy]]
name = "import"
default = "accept"
rule = [
  {{ match = {{ prefixes = ["203.0.113.0/24"] }}, then = "reject" }},
 {{ match = {{ prefixes = ["192.0.2.0/24"] }}, set = {{ local_pref = {place} }}, then = "accept" }},
]
[[peer]]
name = "ext"
address = "10.0.5.1"
asn = 65001
default_policy = "accept"
import = "import"
[[peer]]
name = "client"
address = "10.0.1.1"
client = true
passive = true
"#
    )
}

/// Which table: kind of peer, address, behind the policy, what is sent.
type Table = (u8, String, bool, bool);

/// What a station makes of what it is told.
#[derive(Default, Debug)]
struct Station {
    peers: BTreeSet<(u8, String)>,
    routes: BTreeMap<Table, BTreeMap<String, Option<u32>>>,
    ends: BTreeSet<Table>,
    statistics: usize,
    downs: usize,
    terminated: bool,
}

fn context() -> Context {
    let families = FamilySet::only(Family::Ipv4Unicast);
    Context {
        peering: Peering::Internal,
        four_octet_as: true,
        families,
        add_path: FamilySet::EMPTY,
        extended_next_hop: FamilySet::EMPTY,
        multiple_labels: FamilySet::EMPTY,
        aigp: false,
        first_as: None,
    }
}

impl Station {
    fn hear(mut octets: &[u8]) -> Self {
        let mut station = Self::default();
        let mut is_first = true;
        while let Framing::Message(message, length) = bmp::frame(octets) {
            assert_eq!(matches!(message, Message::Initiation(_)), is_first);
            is_first = false;
            station.take(message);
            octets = &octets[length..];
        }
        assert!(octets.is_empty(), "whole messages only");
        station
    }

    fn take(&mut self, message: Message<'_>) {
        let of = |it: &PeerHeader| (it.kind.number(), it.address.to_string());
        match message {
            Message::PeerUp(header, up) => {
                assert!(self.peers.insert(of(&header)), "it is up already");
                assert_eq!((up.sent[18], up.received[18]), (1, 1), "two OPENs");
            }
            Message::PeerDown(header, down) => {
                assert!(self.peers.remove(&of(&header)));
                self.routes.retain(|table, _| (table.0, table.1.clone()) != of(&header));
                let is_told = !matches!(down, PeerDown::DeConfigured | PeerDown::Unknown(..));
                assert!(is_told, "{down:?}");
                self.downs += 1;
            }
            Message::RouteMonitoring(header, update) => self.update(&header, update),
            Message::StatisticsReport(header, statistics) => {
                assert!(self.peers.contains(&of(&header)) && statistics.count() > 0);
                self.statistics += 1;
            }
            Message::Termination(_) => self.terminated = true,
            Message::Initiation(_) => {}
            other => panic!("{other:?}"),
        }
    }

    fn update(&mut self, header: &PeerHeader, message: &[u8]) {
        let peer = (header.kind.number(), header.address.to_string());
        assert!(self.peers.contains(&peer), "of a peer that is up");
        assert!(header.seconds >= 1_700_000_000);
        let table = (peer.0, peer.1, header.post_policy, header.adj_rib_out);
        let update = Update::read(message, &context()).unwrap();
        if update.end_of_rib().is_some() {
            self.ends.insert(table);
            return;
        }
        let routes = self.routes.entry(table).or_default();
        update.withdrawn().for_each(|route| _ = routes.remove(&route.to_string()));
        let all = Attributes::new(update.attributes());
        let preference = all.value(AttributeType::LocalPref);
        let preference = preference.map(|it| u32::from_be_bytes(it.try_into().unwrap()));
        for route in update.announced() {
            routes.insert(route.to_string(), preference);
        }
    }

    fn table(&self, table: &Table) -> Vec<(&str, Option<u32>)> {
        let routes = self.routes.get(table).into_iter().flatten();
        routes.map(|(route, preference)| (&**route, *preference)).collect()
    }
}

fn heard(world: &World) -> Station {
    Station::hear(&world.outsiders[&address(STATION)].heard)
}

fn table(peer: &str, post: bool, out: bool) -> Table {
    (PeerType::Global.number(), peer.to_owned(), post, out)
}

fn loc_rib() -> Table {
    (PeerType::LocRib.number(), "0.0.0.0".to_owned(), false, false)
}

const ALL: &str = r#""pre-policy", "post-policy", "loc-rib", "adj-rib-out""#;

fn scene(tables: &str) -> (World, usize, usize) {
    let mut world = World::new(&site(tables, 200));
    let families = FamilySet::only(Family::Ipv4Unicast);
    let ext = world.add(Speaker::of("10.0.5.1", 65_001, families));
    let client = world.add(Speaker::client("10.0.1.1"));
    world.pass(s(1));
    world.act(ext, |it, _| it.announce(&["192.0.2.0/24", "203.0.113.0/24"]));
    world.pass(s(1));
    (world, ext, client)
}

/// The tables as they must be after `scene`, with one more route from the client.
fn check(world: &World) {
    let station = heard(world);
    let ext = "10.0.5.1";
    let pre = [("192.0.2.0/24", None), ("203.0.113.0/24", None)];
    assert_eq!(station.table(&table(ext, false, false)), pre);
    assert_eq!(station.table(&table(ext, true, false)), [("192.0.2.0/24", Some(200))]);
    let own = [("198.51.100.0/24", Some(100))];
    assert_eq!(station.table(&table("10.0.1.1", false, false)), own);
    assert_eq!(station.table(&table("10.0.1.1", true, false)), own);
    let chosen = [("192.0.2.0/24", Some(200)), ("198.51.100.0/24", Some(100))];
    assert_eq!(station.table(&loc_rib()), chosen);
    let sent = [("192.0.2.0/24", None), ("198.51.100.0/24", None)];
    assert_eq!(station.table(&table(ext, true, true)), sent);
}

#[test]
fn a_station_that_comes_late_and_one_that_listens_know_the_same() {
    let (mut world, _, client) = scene(ALL);
    // It listens with the next attempt, and gets the tables as they are.
    world.act(client, |it, _| it.announce(&["198.51.100.0/24"]));
    world.listen(STATION);
    world.pass(s(60));
    check(&world);
    let station = heard(&world);
    assert_eq!(station.ends.len(), 2 * 3 + 1, "{:?}", station.ends);
    assert_eq!(world.ask("bgp/bmp", &[])[0]["complete"], true);
    // Another one listens from the beginning, and hears of every change.
    let mut world = World::new(&site(ALL, 200));
    world.listen(STATION);
    let families = FamilySet::only(Family::Ipv4Unicast);
    let ext = world.add(Speaker::of("10.0.5.1", 65_001, families));
    let client = world.add(Speaker::client("10.0.1.1"));
    world.pass(s(1));
    let all = ["192.0.2.0/24", "203.0.113.0/24", "198.18.0.0/24"];
    world.act(ext, |it, _| it.announce(&all));
    world.act(client, |it, _| it.announce(&["198.51.100.0/24"]));
    world.pass(s(1));
    assert_eq!(heard(&world).table(&loc_rib()).len(), 3);
    world.act(ext, |it, _| it.withdraw(&["198.18.0.0/24"]));
    world.pass(s(1));
    check(&world);
    world.pass(s(60));
    assert_eq!(heard(&world).statistics, 3);
}

#[test]
fn a_peer_that_goes_is_told_and_comes_back_with_its_tables() {
    let (mut world, ext, _) = scene(ALL);
    world.listen(STATION);
    world.pass(s(60));
    world.cut(ext);
    world.pass(ms_half());
    let station = heard(&world);
    assert_eq!((station.downs, station.table(&table("10.0.5.1", false, false)).len()), (1, 0));
    assert_eq!(station.table(&loc_rib()), []);
    world.pass(s(200));
    world.act(ext, |it, _| it.announce(&["192.0.2.0/24"]));
    world.pass(s(1));
    let station = heard(&world);
    assert_eq!(station.table(&table("10.0.5.1", true, false)), [("192.0.2.0/24", Some(200))]);
    assert_eq!(station.table(&loc_rib()), [("192.0.2.0/24", Some(200))]);
}

const fn ms_half() -> machine::Duration {
    world::ms(500)
}

#[test]
fn another_policy_is_told_by_beginning_anew_and_an_end_in_order() {
    let (mut world, ..) = scene(ALL);
    world.listen(STATION);
    world.pass(s(60));
    world.configure(&site(ALL, 300));
    world.pass(s(2));
    assert_eq!(world.outsiders[&address(STATION)].connections, 2);
    let station = heard(&world);
    let chosen = [("192.0.2.0/24", Some(300))];
    assert_eq!(station.table(&table("10.0.5.1", true, false)), chosen);
    assert_eq!(station.table(&loc_rib()), chosen);
    world.drain();
    world.pass(s(1));
    assert!(heard(&world).terminated);
}

#[test]
fn an_update_that_is_taken_for_a_withdrawal_is_told_as_one() {
    let (mut world, ext, _) = scene(r#""pre-policy""#);
    world.listen(STATION);
    world.pass(s(60));
    let pre = table("10.0.5.1", false, false);
    assert_eq!(heard(&world).table(&pre).len(), 2);
    world.act(ext, |it, _| {
        let mut attributes = it.attributes();
        attributes[3] = 9; // ORIGIN
        it.announce_with(&attributes, &["192.0.2.0/24"]);
    });
    world.pass(s(1));
    assert_eq!(heard(&world).table(&pre), [("203.0.113.0/24", None)]);
    assert_eq!(heard(&world).routes.len(), 1, "it is told of no other table");
}

#[test]
fn a_station_that_reads_nothing_is_given_up_and_no_peer_waits_for_it() {
    let (mut world, ext, client) = scene(ALL);
    world.listen(STATION);
    world.pass(s(60));
    world.stick_outsiders();
    for round in 0..50 {
        let route = format!("198.18.{round}.0/24");
        world.act(ext, |it, _| it.announce(&[&route]));
        world.pass(world::ms(50));
        assert!(world.speakers[client].routes.contains_key(&route));
    }
    assert_eq!(world.metric("rr_bmp_overflows_total"), 0);
    world.pass(s(130));
    assert_eq!(world.metric("rr_bmp_overflows_total"), 1);
    assert!(world.alarms().contains(&"bmp-station-lost station".to_owned()));
}
