//! Every metric that the reflector declares moves: one small scene for each.

use crate::world::{self, Speaker, World, s};
use bgp::family::{Family, FamilySet};
use event::Metric as _;
use rpki::{Intervals, Pdu, Version, Vrp4};
use rr::Metric;
use runtime::Function;
use std::collections::BTreeSet;

const SITE: &str = r#"
name = "rr1"
asn = 65000
identifier = "10.0.0.1"
listen = ["10.0.0.1"]
rpki = [{ address = "10.9.0.1" }]
bmp = [{ name = "s", address = "10.9.0.9", port = 11019, tables = ["pre-policy", "loc-rib"] }]
[[policy]]
name = "validated"
rule = [{ match = { validation = "not-found" }, then = "accept" }]
[[group]]
name = "lab"
ranges = ["10.1.0.0/16"]
peers_max = 1
client = true
import = "validated"
[[group]]
name = "wide"
ranges = ["2001:db8::/32"]
[[peer]]
name = "a"
address = "10.0.1.1"
client = true
passive = true
hold_time_s = 30
send_hold_s = 20
prefix_limit = [{ family = "ipv4-unicast", max = 2, excess = "restart", restart_s = 5 }]
[[peer]]
name = "b"
address = "10.0.2.1"
client = true
"#;

/// Takes what comes first, and no more.
#[derive(Debug, Default)]
struct OneRecord(std::sync::atomic::AtomicUsize);

impl rr::Recorder for OneRecord {
    fn record(&self, _: machine::Time, octets: Vec<u8>) -> bool {
        assert!(!octets.is_empty());
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0
    }

    fn fault(&self) -> Option<String> {
        None
    }
}

fn read(world: &mut World, moved: &mut BTreeSet<&'static str>) {
    world.ask("alarms", &[]);
    for cells in world.reflector.cells() {
        for (row, reading) in cells.samples() {
            if matches!(reading, event::Sample::Value(value) if value > 0) {
                moved.insert(row.name);
            }
        }
    }
}

#[test]
fn every_fact_moves() {
    let (mut world, mut moved) = (World::new(SITE), BTreeSet::new());
    world.reflector.record_by(std::sync::Arc::new(OneRecord::default()));
    world.listen("10.9.0.1:323");
    world.listen("10.9.0.9:11019");
    let a = world.add(Speaker::client("10.0.1.1"));
    let d = world.add(Speaker::client("10.1.0.1"));
    world.pass(s(1));
    read(&mut world, &mut moved);
    // Refused: of no range, of a full one, of another AS.
    world.add(Speaker::client("10.9.9.9"));
    world.add(Speaker::client("10.1.0.2"));
    let families = FamilySet::only(Family::Ipv4Unicast);
    world.add(Speaker::of("10.0.2.1", 65_009, families));
    world.act(d, |it, _| it.announce(&["192.0.2.0/24"]));
    world.pass(s(1));
    world.act(d, |it, now| {
        it.tell(now, bgp::In::Refresh(Family::Ipv4Unicast, bgp::codec::RefreshKind::Request));
    });
    world.pass(s(1));
    read(&mut world, &mut moved);
    // A cache says that the route is invalid, then goes for longer than its records count.
    let vrp = Vrp4 { prefix: world::speaker::prefix("192.0.2.0/24"), max: 24, asn: 9 };
    let times = Intervals { refresh_s: 60, retry_s: 60, expire_s: 600 };
    let mut octets = Vec::new();
    let pdus = [Pdu::CacheResponse(7), Pdu::Ipv4(true, vrp), Pdu::EndOfData(7, 1, Some(times))];
    pdus.iter().for_each(|pdu| pdu.write(Version::V1, &mut octets));
    world.say("10.9.0.1:323", octets);
    world.pass(s(1));
    read(&mut world, &mut moved);
    world.leave("10.9.0.1:323");
    world.pass(s(700));
    read(&mut world, &mut moved);
    // A station that takes nothing is given up.
    world.stick_outsiders();
    world.act(d, |it, _| it.announce(&["192.0.2.0/24"]));
    world.pass(s(1));
    world.act(d, |it, _| it.announce(&["198.51.100.0/24"]));
    world.pass(s(1));
    read(&mut world, &mut moved);
    world.pass(s(300));
    read(&mut world, &mut moved);
    // What waits for one that does not read; then its session ends.
    world.clog(a, 999);
    world.pass(s(1));
    read(&mut world, &mut moved);
    world.act(d, |it, _| it.withdraw(&["192.0.2.0/24"]));
    world.stick(a);
    world.pass(s(60));
    world.unstick(a);
    world.pass(s(100));
    // ORIGIN 9: tolerated. Too many routes. Nonsense.
    world.act(d, |it, _| {
        let mut attributes = it.attributes();
        attributes[3] = 9;
        it.announce_with(&attributes, &["192.0.2.0/24"]);
    });
    world.act(a, |it, _| it.announce(&["192.0.2.1/32", "192.0.2.2/32", "192.0.2.3/32"]));
    world.pass(s(100));
    world.act(a, |it, _| it.say(vec![0; 64]));
    world.pass(s(100));
    world.freeze(a);
    world.pass(s(60));
    // Many of one /64 connect, and say nothing.
    for host in 1..=300 {
        let silent = world.add(Speaker::client(&format!("2001:db8::{host:x}")));
        world.freeze(silent);
    }
    world.pass(s(1));
    read(&mut world, &mut moved);
    world.cut(d);
    world.freeze(d);
    world.pass(s(1));
    read(&mut world, &mut moved);
    let all: BTreeSet<&str> = Metric::ROWS.iter().map(|row| row.name).collect();
    let still: Vec<&&str> = all.iter().filter(|name| !moved.contains(*name)).collect();
    assert_eq!(still, Vec::<&&str>::new());
}
