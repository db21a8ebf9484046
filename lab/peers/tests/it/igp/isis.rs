//! IS-IS with FRR's isisd on both sides of us: adjacencies on a LAN and on a link of two, the same
//! databases in both levels, routes of IPv4 and IPv6 through us, prefix SIDs, digests.

use super::daemons::Daemon;
use super::{Place, now, until};
use driver::Clock;
use isis::lsp::{LabelRange, PrefixSid, SegmentRouting};
use isis::pdu::{Algorithm, AuthenticationKey};
use isis::{
    AdjacencyState, Advertised, AreaAddress, Authentication, CircuitSettings, Discard, In,
    Instance, LLC, Level, Levels, LinkType, Out, Periods, Prefix, Route, RouteKind, Settings, Snpa,
    SystemId,
};
use machine::{Duration, Machine};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

struct Field {
    places: [Place; 2],
    instance: Instance,
    clock: Clock,
    routes: BTreeMap<Prefix, Route>,
}

fn frr() -> Daemon {
    Daemon::Frr("isisd", String::new())
}

impl Field {
    fn round(&mut self) {
        let mut out = Vec::new();
        for (place, circuit) in self.places.iter_mut().zip(1..) {
            for (source, octets) in place.wire.receive_llc(LLC) {
                let pdu = In::Pdu { circuit, source: Snpa(source), octets };
                self.instance.step(now(&self.clock), pdu, &mut out);
            }
        }
        self.instance.tick(now(&self.clock), &mut out);
        self.take(out);
    }

    fn step(&mut self, input: In) {
        let mut out = Vec::new();
        self.instance.step(now(&self.clock), input, &mut out);
        self.take(out);
    }

    fn take(&mut self, out: Vec<Out>) {
        for out in out {
            match out {
                Out::Send { circuit, destination, octets } => {
                    let place = &self.places[circuit as usize - 1];
                    place.wire.send_llc(destination.0, LLC, &octets);
                }
                Out::Route(prefix, route) => drop(self.routes.insert(prefix, route)),
                Out::Withdraw(prefix) => drop(self.routes.remove(&prefix)),
                Out::Adjacency { .. } => {}
            }
        }
    }

    fn is_up(&self, circuit: u32) -> bool {
        let all = self.instance.adjacencies(circuit);
        !all.is_empty() && all.iter().all(|it| it.2 == AdjacencyState::Up)
    }

    /// Sequence numbers and checksums of all live fragments of a level here.
    fn database(&self, level: Level) -> BTreeSet<(u32, u16)> {
        let all = self.instance.database(level, now(&self.clock)).into_iter();
        all.filter(|it| it.lifetime_s > 0).map(|it| (it.sequence, it.checksum)).collect()
    }

    /// The same as FRR prints them: `0x00000001  0xabcd` and the lifetime, in a row.
    fn of_frr(&self, place: usize, level: &str) -> BTreeSet<(u32, u16)> {
        let text = self.places[place].ask(&frr(), "show isis database");
        let own = text.split("IS-IS ").find(|it| it.starts_with(level)).unwrap_or_default();
        let number = |word: &str| u32::from_str_radix(word.strip_prefix("0x")?, 16).ok();
        let row = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let at = words.iter().position(|it| it.starts_with("0x") && it.len() == 10)?;
            let sum = u16::try_from(number(words.get(at + 1)?)?).ok()?;
            let is_live = words.get(at + 2)?.parse::<u32>().is_ok_and(|it| it > 0);
            is_live.then_some((number(words[at])?, sum))
        };
        own.lines().filter_map(row).collect()
    }

    /// Whether a peer's isisd has its way to a prefix through us.
    fn leads_here(&self, place: usize, prefix: &str) -> bool {
        let place = &self.places[place];
        let own = place.wire.address.to_string();
        place.ask(&frr(), "show isis route").lines().any(|line| {
            let mut words = line.split_whitespace();
            words.next().is_some_and(|it| it.starts_with(prefix)) && words.any(|it| it == own)
        })
    }

    /// Whether a peer's kernel sends packets to a prefix to us. It has none of the routes that FRR
    /// gives a label: there is no MPLS in it.
    fn is_sent_here(&self, place: usize, prefix: &str) -> bool {
        let place = &self.places[place];
        let said = place.there.ip(&["route", "show", prefix]).unwrap_or_default();
        said.contains(&format!("via {}", place.wire.address))
    }
}

fn prefix(octets: [u8; 4], length: u8) -> Prefix {
    Prefix::new(Ipv4Addr::from(octets).into(), length)
}

fn configuration(net: u8, number: u8, link: LinkType) -> String {
    let network =
        if link == LinkType::PointToPoint { " isis network point-to-point\n" } else { "" };
    format!(
        "log stdout errors\nhostname frr-{number}\n\
        interface lo\n ip router isis 1\n ipv6 router isis 1\n isis passive\nexit\n\
        interface far\n ip router isis 1\n ipv6 router isis 1\n{network}\
        \x20isis hello-interval 1\n isis hello-multiplier 4\n isis metric 7\n\
        \x20isis password md5 secret\nexit\n\
        router isis 1\n net 49.0001.0000.0000.000{number}.00\n is-type level-1-2\n\
        \x20area-password md5 area authenticate snp validate\n\
        \x20domain-password md5 domain authenticate snp validate\n\
        \x20metric-style wide\n lsp-gen-interval 1\n spf-interval 1\n\
        \x20segment-routing on\n segment-routing global-block 20000 21000\n\
        \x20segment-routing prefix 10.77.{net}.{number}/32 index {number}\nexit\n"
    )
}

fn md5(secret: &[u8]) -> Authentication {
    let key = AuthenticationKey::new(0, Algorithm::HmacMd5, secret).unwrap();
    Authentication::cryptographic(vec![key]).unwrap()
}

fn settings() -> Settings {
    let area = AreaAddress::new(&[0x49, 0, 1]).unwrap();
    let range = LabelRange { first: 16_000, count: 1_000 };
    let said = SegmentRouting {
        is_ipv4: true,
        is_ipv6: true,
        global: vec![range],
        local: vec![LabelRange { first: 15_000, count: 100 }],
        algorithms: vec![0],
    };
    Settings {
        hostname: "tandem".to_owned(),
        authentication: [md5(b"area"), md5(b"domain")],
        segment_routing: Some(said),
        periods: Periods { psnp: Duration::from_millis(500), ..Periods::default() },
        ..Settings::new(SystemId([0, 0, 0, 0, 0, 9]), area)
    }
}

fn start(link: LinkType, net: u8) -> Field {
    let mut places = [Place::new(net), Place::new(net + 1)];
    for (place, number) in places.iter_mut().zip([1, 2]) {
        let own = format!("10.77.{net}.{number}/32");
        place.there.ip(&["address", "add", &own, "dev", "lo"]).unwrap();
        let own = format!("2001:db8:77:{net}::{number}/128");
        place.there.ip(&["address", "add", &own, "dev", "lo"]).unwrap();
        place.start(&Daemon::zebra());
        place.start(&Daemon::Frr("isisd", configuration(net, number, link)));
    }
    let clock = Clock::start();
    let mut instance = Instance::new(settings(), now(&clock)).unwrap();
    for (place, index) in places.iter().zip(1u16..) {
        let circuit = CircuitSettings {
            link,
            hello_s: 1,
            multiplier: 4,
            addresses: vec![(IpAddr::V4(place.wire.address), 24)],
            link_local: Some(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 9, index)),
            authentication: md5(b"secret"),
            ..CircuitSettings::new(index.into(), Snpa(place.wire.mac()))
        };
        instance.add_circuit(circuit).unwrap();
    }
    let mut field = Field { places, instance, clock, routes: BTreeMap::new() };
    field.step(In::CircuitUp(1));
    field.step(In::CircuitUp(2));
    field
}

fn together(link: LinkType, net: u8) {
    let mut field = start(link, net);
    let sid = Some(PrefixSid { flags: 0x40, index: 9 });
    let levels = Levels::BOTH;
    let own = Advertised { metric: 3, is_external: false, tag: None, sid, levels };
    field.step(In::Advertise(prefix([10, 99, 0, 9], 32), own));
    let plain = Advertised { sid: None, ..own };
    field.step(In::Advertise(prefix([10, 99, 1, 9], 32), plain));
    until("both are up", &mut field, Field::round, |it| it.is_up(1) && it.is_up(2));
    let same = |field: &mut Field| {
        [(Level::One, "Level-1"), (Level::Two, "Level-2")].iter().all(|(level, name)| {
            let own = field.database(*level);
            own.len() >= 3 && own == field.of_frr(0, name) && own == field.of_frr(1, name)
        })
    };
    until("three databases are the same in both levels", &mut field, Field::round, same);
    // What FRR says before it has read its keys is not believed, and comes once more until then.
    let early = Discard::ALL.iter().map(|why| field.instance.discarded(*why)).collect::<Vec<_>>();
    let (one, two) = (format!("10.77.{net}.1"), format!("10.77.{net}.2"));
    let there = |field: &mut Field| {
        field.leads_here(0, &two)
            && field.leads_here(1, &one)
            && field.leads_here(0, "10.99.0.9")
            && field.leads_here(1, "10.99.0.9")
            && field.is_sent_here(0, "10.99.1.9")
            && field.is_sent_here(1, "10.99.1.9")
    };
    until("each reaches the other through us", &mut field, Field::round, there);
    let lo = [1, 2].map(|number| prefix([10, 77, net, number], 32));
    let lo6 = [1, 2].map(|number| {
        let address = Ipv6Addr::new(
            0x2001,
            0xdb8,
            0x77,
            u16::from_str_radix(&net.to_string(), 16).unwrap(),
            0,
            0,
            0,
            number,
        );
        Prefix::new(address.into(), 128)
    });
    let known =
        |field: &mut Field| lo.iter().chain(&lo6).all(|prefix| field.routes.contains_key(prefix));
    until("we have the routes of both families", &mut field, Field::round, known);
    for (at, prefix) in lo.iter().enumerate() {
        let route = &field.routes[prefix];
        assert_eq!(route.kind, RouteKind::Level1, "{route:?}");
        assert_eq!(route.sid.map(|it| it.index), Some(at as u32 + 1), "{route:?}");
        let gateway = IpAddr::V4(Ipv4Addr::new(10, net + at as u8, 0, 2));
        let hop = route.hops[0];
        assert_eq!((hop.circuit, hop.gateway), (at as u32 + 1, gateway), "{route:?}");
        assert!(hop.label.is_some(), "{route:?}");
    }
    let names = [1, 2].map(|it| field.instance.hostname(SystemId([0, 0, 0, 0, 0, it])));
    assert_eq!(names.map(|it| it.unwrap_or_default()), ["frr-1", "frr-2"]);
    assert!(field.places[0].ask(&frr(), "show isis neighbor").contains("tandem"));
    let labels = field.places[0].ask(&frr(), "show isis segment-routing node");
    assert!(labels.contains("16000"), "our labels are known there: {labels}");
    for (why, early) in Discard::ALL.iter().zip(early) {
        assert_eq!(field.instance.discarded(*why), early, "{}", why.name());
    }
    // One side is cut off: what it said is no way any more, and is one again. FRR 8.4 has our new
    // LSP in its database, but keeps the old route in the table of level 1: it is not asked.
    field.places[1].wire.is_cut = true;
    let lost = |field: &mut Field| !field.is_up(2) && !field.routes.contains_key(&lo[1]);
    until("it is lost", &mut field, Field::round, lost);
    assert!(field.is_up(1) && field.routes.contains_key(&lo[0]));
    field.places[1].wire.is_cut = false;
    until("it is there again", &mut field, Field::round, there);
    until("and databases are the same again", &mut field, Field::round, same);
}

#[test]
fn with_frr_on_links_of_two() {
    together(LinkType::PointToPoint, 61);
}

#[test]
fn with_frr_on_networks() {
    together(LinkType::Broadcast, 63);
}
