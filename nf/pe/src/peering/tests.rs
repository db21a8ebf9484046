//! Next hops and tables of VPNs without sessions: what the plane is told, and how often anything
//! is looked at.

use super::BGP_CHANNEL;
use super::own::Here;
use super::resolver::Resolver;
use super::speaking::Speaking;
use super::underlay::{Reach, Underlay};
use super::vrfs::{VpnWay, Vrfs, Wished};
use crate::hops::Hops;
use crate::tests::learnt::{OF_BGP, World, settings};
use crate::{CHANNELS, Settings};
use bgp::Negotiated;
use bgp::codec::{Context, ExtendedCommunity, Messages, Offer, Peering, write_attribute};
use bgp::family::{Family, FamilySet, Label, RouteDistinguisher};
use bgp::pack::{Announcement, Limits};
use dataplane::{Dataplane, Kind as Named, PacketChannel, Rank};
use forwarder::{Launch, ToPackets};
use igp::{Prefix, Way};
use l3vpn::VrfSettings;
use machine::{Duration, Time};
use nodes::program::Hop;
use rib::{Bounds, Customer, Kind, Neighbour, PeerId, Rib};
use runtime::{Effects, Function as _, Seed};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const ASN: u32 = 65_000;
const OURS: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 1);

/// The hops of a plane, and how often one was said otherwise than it was.
#[derive(Default)]
struct Plane {
    hops: BTreeMap<(Rank, String), (u32, Hop)>,
    said: usize,
}

impl Hops for Plane {
    fn hop(&mut self, rank: Rank, name: &str, hop: Hop) -> u32 {
        let id = u32::try_from(self.hops.len()).expect("a few") + 1;
        let known = self.hops.entry((rank, name.to_owned())).or_insert((id, Hop::Local));
        self.said += usize::from(known.1 != hop);
        known.1 = hop;
        known.0
    }

    fn has(&self, rank: Rank, name: &str) -> bool {
        self.hops.contains_key(&(rank, name.to_owned()))
    }
}

impl Plane {
    fn of(&self, id: u32) -> &Hop {
        &self.hops.values().find(|it| it.0 == id).expect("it was said").1
    }
}

fn negotiated(families: FamilySet) -> Negotiated {
    Negotiated {
        context: Context {
            peering: Peering::Internal,
            four_octet_as: true,
            families,
            add_path: FamilySet::EMPTY,
            extended_next_hop: FamilySet::EMPTY,
            multiple_labels: FamilySet::EMPTY,
            aigp: false,
            first_as: None,
        },
        peer: Offer::modern(ASN, 1, 90, families),
        hold_time: Duration::from_secs(90),
        keepalive_time: Duration::from_secs(30),
        send_hold_time: Duration::from_secs(480),
        message_max: 4_096,
        add_path_send: FamilySet::EMPTY,
        multiple_labels_send: FamilySet::EMPTY,
        route_refresh: true,
        enhanced_refresh: false,
        graceful_restart: FamilySet::EMPTY,
        notification_restart: false,
        long_lived: FamilySet::EMPTY,
    }
}

/// An internal peer.
fn neighbour(number: u32) -> Neighbour {
    Neighbour {
        kind: Kind::NonClient,
        identifier: 2 + number,
        address: Ipv4Addr::from(0x0aff_0002 + number).into(),
        asn: ASN,
        import: 0,
        export: 0,
        location: 0,
        allow_own_as: 0,
        role: None,
        next_hop_self: None,
        own_ipv6: None,
        customer: Customer::default(),
        subnets: Vec::new(),
    }
}

/// A base with internal peers 0 and 1.
fn base() -> Rib {
    let (policy, bounds, cluster) = (None, Bounds::default(), 1);
    let own = rib::Settings { asn: ASN, identifier: 1, cluster, policy, seed: 1, bounds };
    let mut rib = Rib::new(own);
    rib.follow_next_hops();
    for number in 0..2 {
        let about = neighbour(number);
        let families = [Family::Ipv4Unicast, Family::Ipv6Unicast, Family::Vpnv4];
        rib.up(Time::ZERO, PeerId(number), about, &negotiated(families.into_iter().collect()));
    }
    rib
}

fn target() -> ExtendedCommunity {
    ExtendedCommunity::route_target("65000:1").expect("a target")
}

/// A peer announces routes.
fn announce(
    rib: &mut Rib,
    peer: u32,
    family: Family,
    next_hop: &[u8],
    preference: u8,
    routes: impl Iterator<Item = Vec<u8>>,
) {
    let mut attributes = Vec::new();
    write_attribute(0x40, 1, &[0], &mut attributes);
    write_attribute(0x40, 2, &[], &mut attributes);
    write_attribute(0x40, 5, &[0, 0, 0, preference], &mut attributes);
    write_attribute(0xc0, 16, &target().0, &mut attributes);
    let (limits, mut out) = (Limits { message_max: 4_096, add_path: false }, Vec::new());
    let mut packing =
        Announcement::multiprotocol(limits, family, next_hop, &attributes, &mut out).expect("room");
    routes.for_each(|it| packing.route(0, &it).expect("room"));
    packing.finish();
    for (_, message) in Messages::new(&out, 4_096) {
        rib.update(PeerId(peer), message).expect("nothing offends");
    }
}

/// IPv6 routes, each over a next hop of its own.
fn announce_each(rib: &mut Rib, next_hops: impl Iterator<Item = Ipv6Addr>) {
    for (number, next_hop) in (0_u32..).zip(next_hops) {
        let key = [&[64, 0x20, 1, 0xd, 0xb8][..], &number.to_be_bytes()].concat();
        let route = core::iter::once(key);
        announce(rib, 0, Family::Ipv6Unicast, &next_hop.octets(), 100, route);
    }
}

fn reach(cost: u32) -> Reach {
    let gateway = Ipv4Addr::new(192, 0, 2, 2).into();
    let ways = vec![(Way { interface: 1, gateway }, Some(ldp_stack::IMPLICIT_NULL))];
    Reach { ways, metric: cost, is_host: true }
}

fn prefix(text: &str, length: u8) -> Prefix {
    Prefix::new(text.parse().expect("an address"), length)
}

#[test]
fn a_changed_prefix_has_the_next_hops_under_it_looked_at_and_a_turn_has_an_end() {
    let (mut rib, mut next_hops) = (base(), Resolver::new("bgp"));
    let hop = |number: u32| {
        Ipv6Addr::from(
            0x2001_0db8_0000_0000_0000_0000_0000_0000_u128
                | u128::from(number & 1) << 64
                | u128::from(number),
        )
    };
    announce_each(&mut rib, (0..3_000).map(hop));
    let looked = Cell::new(0);
    let turn = |rib: &mut Rib, next_hops: &mut Resolver| {
        looked.set(0);
        next_hops.resolve(rib, |_| {
            looked.set(looked.get() + 1);
            Some(reach(1))
        });
        looked.get()
    };
    let turns: Vec<i32> = (0..4).map(|_| turn(&mut rib, &mut next_hops)).collect();
    assert_eq!(turns, [1_024, 1_024, 952, 0]);
    assert!(!next_hops.has_more());
    next_hops.doubt(prefix("2001:db8:0:1::", 64));
    assert_eq!((turn(&mut rib, &mut next_hops), turn(&mut rib, &mut next_hops)), (1_024, 476));
    next_hops.doubt(prefix("2001:db8::7", 128));
    next_hops.doubt(prefix("2001:db9::", 32));
    assert_eq!(turn(&mut rib, &mut next_hops), 0, "7 is odd: of the other subnet");
    next_hops.doubt(prefix("2001:db8::8", 128));
    assert_eq!(turn(&mut rib, &mut next_hops), 1);
}

#[test]
fn next_hops_that_nothing_uses_are_not_said_and_are_forgotten() {
    let (mut rib, mut next_hops) = (base(), Resolver::new("bgp"));
    let mut plane = Plane::default();
    // One prefix changes its next hop again and again.
    for number in 0..6_000_u32 {
        let next_hop = Ipv6Addr::from(0x2001_0db8_u128 << 96 | u128::from(number));
        announce_each(&mut rib, core::iter::once(next_hop));
        next_hops.resolve(&mut rib, |_| Some(reach(1)));
        next_hops.say_moved(&mut plane);
    }
    assert_eq!(plane.hops.len(), 0, "no route was told");
    assert!(next_hops.reached().count() <= 1_100, "{}", next_hops.reached().count());
    // What is used is said, and once more when it is reached otherwise.
    let last = IpAddr::from(Ipv6Addr::from(0x2001_0db8_u128 << 96 | 5_999));
    next_hops.hop(last, &mut plane).expect("it is reached");
    let said = plane.said;
    next_hops.doubt_all();
    next_hops.resolve(&mut rib, |_| None);
    next_hops.say_moved(&mut plane);
    assert_eq!(plane.said, said + 1);
}

#[test]
fn an_ipv4_next_hop_in_the_form_of_ipv6_is_the_same_one() {
    let (mut rib, mut next_hops) = (base(), Resolver::new("bgp"));
    let families = [Family::Ipv4Unicast, Family::Ipv6Unicast].into_iter().collect();
    let reader = rib.reader(families, 1);
    announce_each(&mut rib, core::iter::once(OURS.to_ipv6_mapped()));
    for _ in 0..2 {
        next_hops.resolve(&mut rib, |it| (it == IpAddr::from(OURS)).then(|| reach(7)));
    }
    let mut chosen = Vec::new();
    rib.read_changes(reader, 100, &mut |change| {
        if let rib::Change::Route(choice) = change {
            chosen.extend(choice.best().map(|it| it.metric));
        }
    });
    assert_eq!(chosen, [7]);
    assert!(next_hops.reach(OURS.into()).is_some());
}

fn wished() -> Wished {
    Wished {
        number: 5,
        name: "red".to_owned(),
        settings: VrfSettings {
            distinguisher: RouteDistinguisher([0, 0, 0xfd, 0xe8, 0, 0, 0, 9]),
            import: vec![target()],
            export: vec![target()],
            label: Label::new(200_005).expect("twenty bits"),
            routes_max: 10_000,
        },
        routes: BTreeSet::new(),
        here: Here { four: Some(OURS.into()), six: None },
        underlay: Underlay::default(),
    }
}

fn vrfs(rib: &mut Rib) -> Vrfs {
    let settings = l3vpn::Settings {
        asn: ASN,
        identifier: 1,
        next_hop: OURS,
        policy: None,
        seed: 1,
        bounds: Bounds::default(),
        wishes: false,
    };
    Vrfs::new(rib, settings, 1)
}

#[test]
fn tables_that_exchange_distinguishers_have_all_that_was_changed_with_them() {
    let mut rib = base();
    let mut vrfs = vrfs(&mut rib);
    let rd = |number: u8| [0, 0, 0xfd, 0xe8, 0, 0, 0, number];
    let table = |number: u8, distinguisher: u8| {
        let mut it = wished();
        it.number = number.into();
        it.settings.distinguisher = RouteDistinguisher(rd(distinguisher));
        it.routes.insert(prefix(&format!("10.{number}.0.0"), 24));
        it
    };
    let told = |rib: &mut Rib, vrfs: &mut Vrfs| {
        while vrfs.work(rib, 10_000) {}
        let keys = rib.keys_from(PeerId::OWN, Family::Vpnv4).into_iter();
        // The last octet of the distinguisher, the second one of the prefix.
        keys.map(|(key, _)| (key[8], key[10])).collect::<BTreeSet<_>>()
    };
    vrfs.serve(&mut rib, vec![table(5, 1), table(6, 2), table(7, 3)], Some(OURS), 1);
    assert_eq!(told(&mut rib, &mut vrfs), BTreeSet::from([(1, 5), (2, 6), (3, 7)]));
    // Paths: what is gone is an entry until everybody has read that.
    let paths = |vrfs: &Vrfs| {
        [5, 6, 7].map(|it| vrfs.rib(it).expect("a table").sizes(Family::Ipv4Unicast).1)
    };
    assert_eq!(paths(&vrfs), [3, 3, 3], "all import all");
    // In a circle; what the first one imports goes with the same commit.
    let mut first = table(5, 2);
    first.settings.import.clear();
    vrfs.serve(&mut rib, vec![first, table(6, 3), table(7, 1)], Some(OURS), 1);
    assert_eq!(told(&mut rib, &mut vrfs), BTreeSet::from([(2, 5), (3, 6), (1, 7)]));
    assert_eq!(paths(&vrfs), [1, 3, 3]);
}

#[test]
fn an_edge_that_dies_is_one_hop_and_its_routes_are_on_their_backup() {
    let (mut rib, mut next_hops, mut plane) = (base(), Resolver::new("bgp"), Plane::default());
    let mut vrfs = vrfs(&mut rib);
    vrfs.serve(&mut rib, vec![wished()], Some(OURS), 1);
    let edges = [Ipv4Addr::new(10, 255, 0, 2), Ipv4Addr::new(10, 255, 0, 3)];
    for (peer, edge) in (0_u8..).zip(edges) {
        let next_hop = [&[0; 8][..], &edge.octets()].concat();
        let routes = (0..1_000_u16).map(|number| {
            let [high, low] = number.to_be_bytes();
            vec![112, 1 + peer, 0, 1, 0, 0, 0xfd, 0xe8, 0, 0, 0, peer, 10, high, low]
        });
        announce(&mut rib, peer.into(), Family::Vpnv4, &next_hop, 100 - peer, routes);
    }
    let settle = |rib: &mut Rib, vrfs: &mut Vrfs, next_hops: &mut Resolver, gone: Option<_>| {
        for _ in 0..20 {
            next_hops.resolve(rib, |it| (Some(it) != gone).then(|| reach(1)));
            while vrfs.work(rib, 10_000) {}
            while vrfs.learn() {}
        }
    };
    settle(&mut rib, &mut vrfs, &mut next_hops, None);
    assert_eq!(vrfs.take_changed().len(), 1_000);
    let at = (5, prefix("10.0.7.0", 24));
    let [near, far] = edges.map(IpAddr::from);
    let is_over = |route: &super::vrfs::VpnRoute, ways: &[IpAddr], backup: Option<IpAddr>| {
        let over = |it: &VpnWay| match it {
            VpnWay::Edge(it, _) => Some(*it),
            _ => None,
        };
        let all: Vec<IpAddr> = route.ways.iter().filter_map(over).collect();
        all == ways && route.backup.as_ref().and_then(over) == backup
    };
    assert!(is_over(vrfs.route(at).expect("a route"), &[near], Some(far)));
    let all: Vec<_> = vrfs.places().collect();
    let hops: BTreeSet<u32> =
        all.iter().filter_map(|at| vrfs.hop(*at, &next_hops, &mut plane)).collect();
    assert_eq!(hops.len(), 1, "all routes have one hop");
    let Hop::Backup { primary, backup } = plane.of(*hops.first().expect("one")).clone() else {
        panic!("{hops:?}");
    };
    let over = |plane: &Plane, hop: u32| match plane.of(hop) {
        Hop::Push(push) => plane.of(push.over).clone(),
        other => panic!("{other:?}"),
    };
    // The near edge is gone: its group is empty before anything else is done.
    next_hops.doubt_all();
    let said = plane.said;
    next_hops.resolve(&mut rib, |it| (it != near).then(|| reach(1)));
    next_hops.say_moved(&mut plane);
    assert_eq!(plane.said, said + 1, "one hop, of a thousand routes");
    let nobody = Hop::Group { members: Vec::new(), resilient: false };
    assert_eq!(over(&plane, primary), nobody);
    assert_ne!(over(&plane, backup), nobody);
    assert_eq!(vrfs.take_changed().len(), 0, "no route was decided anew yet");
    // Then the tables follow.
    settle(&mut rib, &mut vrfs, &mut next_hops, Some(near));
    assert_eq!(vrfs.take_changed().len(), 1_000);
    assert!(is_over(vrfs.route(at).expect("a route"), &[far], None));
}

const TABLE: &str = r#"
name = "pe1"
[[interface]]
name = "lo"
addresses = ["10.255.0.1/32"]
[[vrf]]
name = "red"
rd = "10.255.0.1:1"
import_targets = ["65000:1"]
export_targets = ["65000:1"]
[bgp]
asn = 65000
identifier = "10.255.0.1"
"#;
/// A customer that bears a restart.
const CUSTOMER: &str = r#"
deferral_s = 30
[[bgp.peer]]
name = "west"
vrf = "red"
address = "10.1.0.2"
asn = 65100
graceful_restart_s = 60
"#;

/// An edge with a table of customers, none of whose connections stand.
struct Edge {
    now: Time,
    settings: Settings,
    dataplane: Dataplane,
    speaking: Speaking,
    /// The number of its table.
    red: u32,
}

impl Edge {
    fn new(more: &str, restarts: bool) -> Self {
        let now = Time::from_millis(1_000_000);
        let launch = Launch::default();
        let (routes, (ospf_keys, isis_keys, bfd_keys)) = (Vec::new(), Default::default());
        let pe = toml::from_str(&(TABLE.to_owned() + more)).expect("a section");
        let settings = Settings { pe, routes, launch, ospf_keys, isis_keys, bfd_keys };
        let section = settings.pe.bgp.clone().expect("it has one");
        let mut dataplane = Dataplane::new(now, settings.launch.clone(), CHANNELS);
        let red = dataplane.numbers_mut().of(Named::Vrf, "red");
        settings.pe.give_label(&settings.pe.vrf[0], red, dataplane.numbers_mut());
        let channel =
            PacketChannel::new(now, BGP_CHANNEL, ToPackets::of(&settings.launch, Vec::new()));
        let seed = Seed { shard: 0, shards: 1, random: [7; 32], now };
        let mut speaking = Speaking::new(&seed, &settings, &section, channel, restarts);
        let mut out = Effects::default();
        speaking.configure(now, &settings, &dataplane, &section, &mut out);
        Self { now, settings, dataplane, speaking, red }
    }

    /// Something happened: the tables work until nothing is left to be done.
    fn settle(&mut self) {
        self.speaking.links(&self.settings, &self.dataplane);
        for _ in 0..20 {
            self.speaking.tick(self.now, &mut Effects::default());
            if self.speaking.deadline() != Some(Time::ZERO) {
                return;
            }
        }
        panic!("it has never done with what it has to do");
    }

    /// Another edge comes, as peer 0.
    fn another(&mut self) {
        let negotiated = negotiated([Family::Vpnv4].into_iter().collect());
        self.speaking.rib.up(self.now, PeerId(0), neighbour(0), &negotiated);
    }

    /// Routes that other edges are told.
    fn exported(&self) -> u32 {
        self.speaking.rib.received(PeerId::OWN, Family::Vpnv4)
    }
}

#[test]
fn routes_of_a_customer_that_goes_are_withdrawn_from_other_edges_and_then_there_is_rest() {
    let (mut edge, customer) = (Edge::new("", false), PeerId(7));
    let next_hop = Ipv4Addr::new(10, 1, 0, 2);
    let rib = edge.speaking.vrfs.rib_mut(edge.red).expect("the table");
    let about = Neighbour { kind: Kind::External, asn: 65_100, ..neighbour(7) };
    let mut negotiated = negotiated([Family::Ipv4Unicast].into_iter().collect());
    negotiated.context.peering = Peering::External;
    rib.up(edge.now, customer, about, &negotiated);
    let routes = (0..100).map(|number| vec![24, 10, 66, number]);
    announce(rib, customer.0, Family::Ipv4Unicast, &next_hop.octets(), 100, routes);
    rib.set_next_hop(next_hop.into(), Some(1));
    edge.speaking.vrfs.touch(edge.red);
    edge.settle();
    assert_eq!(edge.exported(), 100);
    let rib = edge.speaking.vrfs.rib_mut(edge.red).expect("the table");
    rib.down(customer, FamilySet::EMPTY);
    edge.speaking.vrfs.touch(edge.red);
    edge.settle();
    assert_eq!(edge.exported(), 0);
}

#[test]
fn a_table_that_may_have_fewer_routes_than_it_has_is_an_alarm_that_says_how_many() {
    let (mut edge, next_hop) = (Edge::new("", false), Ipv4Addr::new(10, 255, 0, 2));
    edge.another();
    let route = |number| vec![112, 1, 0, 1, 0, 0, 0xfd, 0xe8, 0, 0, 0, 2, 10, 77, number];
    let octets = [&[0; 8][..], &next_hop.octets()].concat();
    announce(&mut edge.speaking.rib, 0, Family::Vpnv4, &octets, 100, (0..5).map(route));
    edge.speaking.rib.set_next_hop(next_hop.into(), Some(1));
    edge.settle();
    let alarms = |edge: &mut Edge| {
        let all = edge.speaking.alarms(edge.now).into_iter();
        let full = all.filter(|it| it.name == "vrf-routes-exceeded");
        full.map(|it| it.text).collect::<Vec<_>>()
    };
    assert_eq!(alarms(&mut edge), Vec::<String>::new());
    edge.settings.pe.vrf[0].routes_max = 3;
    edge.settle();
    let said = alarms(&mut edge);
    assert!(said.len() == 1 && said[0].contains("5 routes of 3"), "{said:?}");
    edge.settings.pe.vrf[0].routes_max = 5;
    edge.settle();
    assert_eq!(alarms(&mut edge), Vec::<String>::new());
}

#[test]
fn after_a_restart_other_edges_are_told_nothing_before_customers_have_told_their_routes() {
    let mut edge = Edge::new(CUSTOMER, true);
    edge.another();
    edge.settle();
    let told = |edge: &Edge| {
        let counted = edge.speaking.rib.peer_counters(PeerId(0)).expect("it is up");
        (counted.updates_sent > 0, edge.speaking.is_settled())
    };
    assert_eq!(told(&edge), (false, false), "the customer has not come yet");
    edge.now += Duration::from_secs(29);
    edge.settle();
    assert_eq!(told(&edge), (false, false));
    edge.now += Duration::from_secs(1);
    edge.settle();
    assert!(told(&edge).0, "it is waited for so long: the end of routes is told");
}

#[test]
fn a_route_of_bgp_alone_goes_from_the_plane_after_a_commit_as_before_it() {
    let (mut world, peer) = (World::new(OF_BGP), PeerId(7));
    let (to, now) = ((Ipv4Addr::new(10, 66, 1, 0), 24), world.now);
    let bgp = |world: &mut World, act: &dyn Fn(&mut Rib)| {
        let speaking = world.edge.learnt.peering.speaking.as_mut().expect("it speaks BGP");
        act(&mut speaking.rib);
        speaking.has_news = true;
        world.run(1);
    };
    for _ in 0..2 {
        bgp(&mut world, &|rib| {
            rib.up(
                now,
                peer,
                neighbour(7),
                &negotiated([Family::Ipv4Unicast].into_iter().collect()),
            );
            let route = core::iter::once(vec![24, 10, 66, 1]);
            announce(rib, peer.0, Family::Ipv4Unicast, &[10, 0, 0, 2], 100, route);
        });
        assert!(world.routes.contains_key(&to));
        world.edge(|it, now, out| it.configure(now, settings(OF_BGP), out));
        assert!(world.routes.contains_key(&to));
        bgp(&mut world, &|rib| {
            rib.down(peer, FamilySet::EMPTY);
            rib.work(now, 100);
        });
        assert!(!world.routes.contains_key(&to), "nobody tells it any more");
    }
}
