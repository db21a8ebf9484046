//! An edge with its core, its VRFs and their customers, and what a slow and simple reference says
//! that each of them knows.

use bgp::Negotiated;
use bgp::codec::{
    AsPath, AttributeType, Attributes, Context, ExtendedCommunity, Messages, NextHop, Offer,
    Peering, SegmentKind, Update, prepend, write_attribute,
};
use bgp::family::{Family, FamilySet, Label, Route, RouteDistinguisher};
use bgp::pack::{Announcement, Limits, Withdrawal};
use l3vpn::{Settings, Vpn, VrfId, VrfSettings};
use machine::{Duration, Time};
use rib::{
    Bounds, Change, Customer, Kind, Neighbour, OwnRoute, PeerId, ReaderId, Rib, Settings as Base,
};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

pub const OWN_AS: u32 = 65_000;
pub const LOOPBACK: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 1);
/// Sessions of the core; the last one says nothing.
pub const EDGES: usize = 3;
/// Sessions of each VRF.
pub const CUSTOMERS: usize = 2;
const MESSAGE_MAX: usize = 4_096;
const INNER: [Family; 2] = [Family::Ipv4Unicast, Family::Ipv6Unicast];

/// Numbers by seed.
pub struct Random(u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    pub fn is(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// Attributes, next hop, payload.
pub type Said = (Vec<u8>, Vec<u8>, Vec<u8>);
pub type Routed = (Family, Vec<u8>);

/// A session as its peer sees it.
#[derive(Default)]
pub struct Peer {
    pub says: BTreeMap<Routed, Said>,
    pub told: BTreeMap<Routed, Said>,
}

pub struct Table {
    pub settings: VrfSettings,
    pub customers: Vec<Peer>,
    pub own: BTreeMap<Routed, Said>,
    reader: ReaderId,
    knows: BTreeMap<Routed, Known>,
}

/// What a FIB knows: next hops and labels of the paths that share traffic, and the backup.
type Known = (BTreeSet<Way>, Option<Way>);
type Way = (IpAddr, Vec<u8>);

/// What makes routes of a site its own.
pub fn site() -> ExtendedCommunity {
    ExtendedCommunity([0, 3, 0xfd, 0xe8, 0, 0, 0, 77])
}

pub fn target(number: u8) -> ExtendedCommunity {
    ExtendedCommunity([0, 2, 0xfd, 0xe8, 0, 0, 0, number])
}

pub fn distinguisher(number: u8) -> RouteDistinguisher {
    RouteDistinguisher([0, 0, 0xfd, 0xe8, 0, 0, 0, number])
}

pub fn vrf_settings(number: u8) -> VrfSettings {
    VrfSettings {
        distinguisher: distinguisher(number),
        import: vec![target(number)],
        export: vec![target(number)],
        label: Label::new(1_000 + u32::from(number)).expect("twenty bits"),
        routes_max: 1_000,
    }
}

pub struct World {
    pub core: Rib,
    pub vpn: Vpn,
    pub edges: Vec<Peer>,
    pub tables: BTreeMap<VrfId, Table>,
    pub hops: BTreeMap<IpAddr, Option<u32>>,
    pub random: Random,
    pub now: Time,
}

fn identifier(number: usize) -> u32 {
    0x0a00_0010 + number as u32
}

/// The addresses of other edges: two each.
pub fn hop(edge: usize, which: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 255, 1 + edge as u8, which)
}

fn families(of_core: bool) -> FamilySet {
    let all = if of_core { [Family::Vpnv4, Family::Vpnv6] } else { INNER };
    all.into_iter().collect()
}

fn negotiated(of_core: bool, asn: u32) -> Negotiated {
    Negotiated {
        context: Context {
            peering: if of_core { Peering::Internal } else { Peering::External },
            four_octet_as: true,
            families: families(of_core),
            add_path: FamilySet::EMPTY,
            extended_next_hop: match of_core {
                true => FamilySet::EMPTY,
                false => FamilySet::only(Family::Ipv4Unicast),
            },
            multiple_labels: FamilySet::EMPTY,
            aigp: false,
            first_as: None,
        },
        peer: Offer::plain(asn, 1, 90),
        hold_time: Duration::from_secs(90),
        keepalive_time: Duration::from_secs(30),
        send_hold_time: Duration::from_secs(480),
        message_max: MESSAGE_MAX,
        add_path_send: FamilySet::EMPTY,
        multiple_labels_send: FamilySet::EMPTY,
        route_refresh: true,
        enhanced_refresh: false,
        graceful_restart: FamilySet::EMPTY,
        notification_restart: false,
        long_lived: FamilySet::EMPTY,
    }
}

/// The AS of the customers: the second one of a VRF has that of its first one overridden.
pub fn customer_as(customer: usize) -> u32 {
    64_600 + customer as u32 / 2
}

fn announced(family: Family, key: &[u8], said: &Said) -> Vec<u8> {
    let limits = Limits { message_max: MESSAGE_MAX, add_path: false };
    let (attributes, next_hop, payload) = said;
    let (mut wire, mut out) = (Vec::new(), Vec::new());
    family.join(key, payload, &mut wire);
    let mut packing = match family {
        Family::Ipv4Unicast if next_hop.is_empty() => {
            Announcement::plain(limits, attributes, &mut out)
        }
        _ => Announcement::multiprotocol(limits, family, next_hop, attributes, &mut out),
    }
    .expect("room");
    packing.route(0, &wire).expect("room");
    packing.finish();
    out
}

fn withdrawn(family: Family, key: &[u8]) -> Vec<u8> {
    let limits = Limits { message_max: MESSAGE_MAX, add_path: false };
    let (mut wire, mut out) = (Vec::new(), Vec::new());
    family.join_withdrawn(key, &mut wire);
    let mut packing = match family {
        Family::Ipv4Unicast => Withdrawal::plain(limits, &mut out),
        _ => Withdrawal::multiprotocol(limits, family, &mut out),
    };
    packing.route(0, &wire).expect("room");
    packing.finish();
    out
}

/// The session of a customer stands.
fn come(rib: &mut Rib, now: Time, id: VrfId, number: usize) {
    let about = Neighbour {
        kind: Kind::External,
        identifier: 0x0a01_0000 + number as u32,
        address: IpAddr::from([10, 1, 0, 1 + number as u8]),
        asn: customer_as(number),
        import: 0,
        export: 0,
        location: 0,
        allow_own_as: 0,
        role: None,
        next_hop_self: Some(IpAddr::from([10, 1, 0, 254])),
        subnets: Vec::new(),
        own_ipv6: None,
        customer: Customer {
            site: id.0.is_multiple_of(2).then(site),
            as_override: number % 2 == 1,
            drops_core_attributes: number % 2 == 1,
        },
    };
    rib.up(now, PeerId(number as u32), about, &negotiated(false, customer_as(number)));
}

fn give(rib: &mut Rib, peer: usize, octets: &[u8]) {
    for (_, message) in Messages::new(octets, MESSAGE_MAX) {
        let read = rib.update(PeerId(peer as u32), message).expect("nothing offends");
        assert_eq!(read.violation, None);
    }
}

impl Peer {
    fn take(&mut self, octets: &[u8], context: &Context) {
        for (_, message) in Messages::new(octets, MESSAGE_MAX) {
            let update = Update::read(message, context).expect("nothing offends");
            assert_eq!(update.violation(), None);
            if update.end_of_rib().is_some() {
                continue;
            }
            let split = |route: Route<'_>| {
                let (mut key, mut payload) = (Vec::new(), Vec::new());
                route.split(&mut key, &mut payload);
                ((route.family, key), payload)
            };
            let unreach = update.unreach().map(|it| it.routes);
            for route in update.withdrawn().chain(unreach.into_iter().flatten()) {
                self.told.remove(&split(route).0);
            }
            let mut scratch = Vec::new();
            let attributes = update.canonical(&mut scratch).to_vec();
            for route in update.announced() {
                let (routed, payload) = split(route);
                self.told.insert(routed, (attributes.clone(), Vec::new(), payload));
            }
            if let Some(reach) = update.reach() {
                for route in reach.routes {
                    let (routed, payload) = split(route);
                    self.told
                        .insert(routed, (attributes.clone(), reach.next_hop.to_vec(), payload));
                }
            }
        }
    }
}

/// Lets a base work until nothing is left to be done, and its peers read.
fn settle(rib: &mut Rib, now: Time, peers: &mut [Peer], context: &Context) {
    loop {
        let more = rib.work(now, 100);
        let mut any = false;
        while let Some(sending) = rib.next_sending() {
            any = true;
            rib.written(sending.peer, sending.bytes.len() as u64);
            peers[sending.peer.0 as usize].take(&sending.bytes, context);
        }
        if !more && !any {
            return;
        }
    }
}

impl World {
    pub fn new(seed: u64, bounds: Bounds) -> Self {
        let (asn, identifier) = (OWN_AS, u32::from(LOOPBACK));
        let base = Base { asn, identifier, cluster: identifier, policy: None, seed, bounds };
        let mut core = Rib::new(base);
        core.follow_next_hops();
        let next_hop = LOOPBACK;
        let settings =
            Settings { asn, identifier, next_hop, policy: None, seed, bounds, wishes: true };
        let vpn = Vpn::new(settings, &mut core);
        let random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let (edges, tables, hops) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        let mut world = Self { core, vpn, edges, tables, hops, random, now: Time::ZERO };
        for number in 0..EDGES {
            world.edges.push(Peer::default());
            let about = Neighbour {
                kind: Kind::NonClient,
                identifier: self::identifier(number),
                address: hop(number, 0).into(),
                asn: OWN_AS,
                import: 0,
                export: 0,
                location: 0,
                allow_own_as: 0,
                role: None,
                next_hop_self: None,
                own_ipv6: None,
                customer: Customer::default(),
                subnets: Vec::new(),
            };
            let negotiated = negotiated(true, OWN_AS);
            world.core.up(world.now, PeerId(number as u32), about, &negotiated);
        }
        world
    }

    /// A VRF comes, with customers: the first two are of one site.
    pub fn add(&mut self, id: VrfId, mut settings: VrfSettings) {
        let is_free = |it: &RouteDistinguisher| {
            self.tables.values().all(|table| table.settings.distinguisher != *it)
        };
        if !is_free(&settings.distinguisher) {
            settings.distinguisher = (100..).map(distinguisher).find(is_free).expect("few");
        }
        self.vpn.set_vrf(&mut self.core, id, settings.clone()).expect("it can be so");
        let rib = self.vpn.rib_mut(id).expect("it came");
        (0..CUSTOMERS).for_each(|number| come(rib, self.now, id, number));
        let reader = rib.reader(families(false), 64);
        let customers = (0..CUSTOMERS).map(|_| Peer::default()).collect();
        let (own, knows) = (BTreeMap::new(), BTreeMap::new());
        self.tables.insert(id, Table { settings, customers, own, reader, knows });
    }

    pub fn change(&mut self, id: VrfId, settings: VrfSettings) {
        if self.vpn.set_vrf(&mut self.core, id, settings.clone()).is_ok() {
            self.tables.get_mut(&id).expect("it is there").settings = settings;
        }
    }

    /// Two VRFs exchange their distinguishers.
    pub fn exchange(&mut self, ids: [VrfId; 2]) {
        let [one, other] = ids.map(|id| self.tables[&id].settings.clone());
        let pairs = [(ids[0], &one, &other), (ids[1], &other, &one)];
        ids.iter().for_each(|id| self.vpn.release(&mut self.core, *id));
        for (id, own, others) in pairs {
            let distinguisher = others.distinguisher;
            let settings = VrfSettings { distinguisher, ..own.clone() };
            self.vpn.set_vrf(&mut self.core, id, settings.clone()).expect("it is free");
            self.tables.get_mut(&id).expect("it is there").settings = settings;
        }
    }

    pub fn remove(&mut self, id: VrfId) {
        assert!(self.vpn.remove_vrf(&mut self.core, id));
        self.tables.remove(&id);
    }

    /// Another edge says something of a route, or withdraws it.
    pub fn edge_says(&mut self, edge: usize, family: Family, key: &[u8], said: Option<Said>) {
        let routed = (family, key.to_vec());
        let octets = match &said {
            Some(said) => announced(family, key, said),
            None => withdrawn(family, key),
        };
        give(&mut self.core, edge, &octets);
        for address in self.core.new_next_hops() {
            let metric = *self.hops.entry(address).or_insert(Some(10));
            self.core.set_next_hop(address, metric);
        }
        match said {
            Some(said) => drop(self.edges[edge].says.insert(routed, said)),
            None => drop(self.edges[edge].says.remove(&routed)),
        }
    }

    /// The same of a customer.
    pub fn customer_says(
        &mut self,
        (id, customer): (VrfId, usize),
        family: Family,
        key: &[u8],
        said: Option<Said>,
    ) {
        let routed = (family, key.to_vec());
        let octets = match &said {
            Some(said) => announced(family, key, said),
            None => withdrawn(family, key),
        };
        give(self.vpn.rib_mut(id).expect("it is there"), customer, &octets);
        let says = &mut self.tables.get_mut(&id).expect("it is there").customers[customer].says;
        match said {
            Some(said) => drop(says.insert(routed, said)),
            None => drop(says.remove(&routed)),
        }
    }

    /// The session of a customer ends, and another one begins.
    pub fn customer_begins_anew(&mut self, id: VrfId, customer: usize) {
        let rib = self.vpn.rib_mut(id).expect("it is there");
        rib.down(PeerId(customer as u32), FamilySet::EMPTY);
        come(rib, self.now, id, customer);
        let table = self.tables.get_mut(&id).expect("it is there");
        table.customers[customer] = Peer::default();
    }

    /// A connected subnet or a static route of a VRF.
    pub fn originate(&mut self, id: VrfId, family: Family, key: &[u8], said: Option<Said>) {
        let rib = self.vpn.rib_mut(id).expect("it is there");
        let own = &mut self.tables.get_mut(&id).expect("it is there").own;
        let routed = (family, key.to_vec());
        let Some(said) = said else {
            assert_eq!(rib.retract(family, key), own.remove(&routed).is_some());
            return;
        };
        let (attributes, next_hop, _) = &said;
        let route = OwnRoute { key, payload: &[], attributes, next_hop };
        assert!(rib.originate(family, &route).is_some());
        own.insert(routed, said);
    }

    pub fn set_hop(&mut self, address: IpAddr, metric: Option<u32>) {
        self.hops.insert(address, metric);
        self.core.set_next_hop(address, metric);
    }

    /// The edge works a little.
    pub fn run_a_little(&mut self) {
        let budget = 1 + self.random.below(9) as usize;
        self.vpn.work(&mut self.core, budget);
        self.core.work(self.now, budget);
        let ids: Vec<VrfId> = self.tables.keys().copied().collect();
        for id in ids {
            if self.random.is(50) {
                self.read(id, budget);
            }
        }
    }

    /// Lets the FIB of a VRF read; whether it was told anything.
    fn read(&mut self, id: VrfId, budget: usize) -> bool {
        let mut is_told = false;
        let table = self.tables.get_mut(&id).expect("it is there");
        let rib = self.vpn.rib_untouched(id).expect("it is there");
        let more = rib.read_changes(table.reader, budget, &mut |change| match change {
            Change::Begin(family) => table.knows.retain(|routed, _| routed.0 != family),
            Change::End(_) => {}
            Change::Route(choice) => {
                is_told = true;
                let way = |path: rib::PathRef<'_>| {
                    (path.next_hop.expect("it has one"), path.payload.to_vec())
                };
                let known = (choice.paths().map(way).collect(), choice.backup().map(way));
                let routed = (choice.family, choice.key.to_vec());
                match choice.best() {
                    Some(_) => drop(table.knows.insert(routed, known)),
                    None => drop(table.knows.remove(&routed)),
                }
            }
        });
        is_told || more
    }

    /// Some seconds pass.
    pub fn wait(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
    }

    /// Until nothing is left to be done.
    pub fn settle(&mut self) {
        for _ in 0..10_000 {
            let mut more = self.vpn.work(&mut self.core, 50);
            more |= self.vpn.tick(self.now, &mut self.core);
            settle(&mut self.core, self.now, &mut self.edges, &negotiated(true, OWN_AS).context);
            let ids: Vec<VrfId> = self.tables.keys().copied().collect();
            for id in ids {
                let rib = self.vpn.rib_untouched(id).expect("it is there");
                let customers = &mut self.tables.get_mut(&id).expect("it is there").customers;
                settle(rib, self.now, customers, &negotiated(false, 64_600).context);
                more |= self.vpn.has_worked(id);
                while self.read(id, 50) {
                    more = true;
                }
            }
            if !more {
                return;
            }
        }
        panic!("it never settles");
    }
}

/// A path as the reference compares it.
#[derive(Debug, Clone)]
struct Candidate {
    is_own: bool,
    is_imported: bool,
    is_external: bool,
    metric: u32,
    /// Whose: identifier and address.
    who: (u32, IpAddr),
    way: Way,
    attributes: Vec<u8>,
}

fn number(attributes: &[u8], kind: AttributeType, default: u32) -> u32 {
    let value = Attributes::new(attributes).value(kind);
    value.map_or(default, |it| u32::from_be_bytes(it.try_into().expect("four octets")))
}

impl Candidate {
    /// What paths that share traffic have in common; the lesser is better.
    fn rank(&self) -> impl Ord + use<> {
        let all = Attributes::new(&self.attributes);
        let preference = number(&self.attributes, AttributeType::LocalPref, 100);
        let hops = AsPath::new(all.value(AttributeType::AsPath).expect("it has one"), true).hops();
        let external = !self.is_external;
        let origin = all.value(AttributeType::Origin).expect("it has one")[0];
        (!self.is_own, core::cmp::Reverse(preference), hops, origin, external, self.metric)
    }

    fn order(&self) -> impl Ord + use<> {
        (self.rank(), self.who)
    }
}

/// Those that share traffic, and all that may be the backup: those that are equally good.
fn choose(candidates: &[Candidate]) -> (Vec<&Candidate>, Vec<&Candidate>) {
    let mut sorted: Vec<&Candidate> = candidates.iter().collect();
    sorted.sort_by_key(|it| it.order());
    let Some(best) = sorted.first() else { return (Vec::new(), Vec::new()) };
    let equal: Vec<_> = sorted.iter().copied().filter(|it| it.rank() == best.rank()).collect();
    let is_elsewhere = |it: &&Candidate| equal.iter().all(|equal| equal.way.0 != it.way.0);
    let rest: Vec<_> = sorted.iter().copied().filter(is_elsewhere).collect();
    let backups = rest.iter().copied().filter(|it| it.order() == rest[0].order()).collect();
    (equal, backups)
}

fn hop_of((attributes, next_hop, _): &Said) -> IpAddr {
    let plain = || Attributes::new(attributes).value(AttributeType::NextHop).unwrap_or_default();
    let octets = if next_hop.is_empty() { plain() } else { next_hop };
    NextHop::read(octets).expect("it has one").address
}

fn targets(attributes: &[u8]) -> Vec<ExtendedCommunity> {
    communities(attributes).into_iter().filter(|it| it.is_route_target()).collect()
}

fn communities(attributes: &[u8]) -> Vec<ExtendedCommunity> {
    let value = Attributes::new(attributes).value(AttributeType::ExtendedCommunities);
    ExtendedCommunity::all(value.unwrap_or_default()).collect()
}

fn outer(rd: RouteDistinguisher, (family, key): &Routed) -> Routed {
    let family = if *family == Family::Ipv4Unicast { Family::Vpnv4 } else { Family::Vpnv6 };
    (family, [&[key[0] + 64][..], &rd.0, &key[1..]].concat())
}

fn inner((family, key): &Routed) -> (RouteDistinguisher, Routed) {
    let family = if *family == Family::Vpnv4 { Family::Ipv4Unicast } else { Family::Ipv6Unicast };
    (RouteDistinguisher::of(&key[1..9]), (family, [&[key[0] - 64][..], &key[9..]].concat()))
}

/// What a route of a VRF is to other edges, but for its targets: those are compared apart.
type Exports = BTreeMap<Routed, (VrfId, Candidate)>;

impl World {
    /// The paths of a route in a VRF, with those that it imports of what is exported.
    fn candidates(&self, id: VrfId, routed: &Routed, exports: &Exports) -> Vec<Candidate> {
        let table = &self.tables[&id];
        let mut all = Vec::new();
        for (number, customer) in table.customers.iter().enumerate() {
            let Some(said) = customer.says.get(routed) else { continue };
            let address = IpAddr::from([10, 1, 0, 1 + number as u8]);
            all.push(Candidate {
                is_own: false,
                is_imported: false,
                is_external: true,
                metric: 0,
                who: (0x0a01_0000 + number as u32, address),
                way: (hop_of(said), Vec::new()),
                attributes: marked(&said.0, id),
            });
        }
        all.extend(table.own.get(routed).map(|said| Candidate {
            is_own: true,
            is_imported: false,
            is_external: false,
            metric: 0,
            who: (0, LOOPBACK.into()),
            way: (hop_of(said), Vec::new()),
            attributes: said.0.clone(),
        }));
        let of_edges = self.edges.iter().flat_map(|it| it.says.keys());
        let keys: BTreeSet<&Routed> = of_edges.chain(exports.keys()).collect();
        for vpn in keys.into_iter().filter(|vpn| inner(vpn).1 == *routed) {
            let paths = self.core_paths(vpn, exports);
            let (own, others): (Vec<_>, Vec<_>) = paths.into_iter().partition(|it| it.is_own);
            let (equal, backups) = choose(&others);
            // Of equal ways one is imported.
            let mut ways = BTreeSet::new();
            let chosen = equal.into_iter().filter(|it| ways.insert(it.way.clone()));
            for path in chosen.chain(backups.first().copied()).chain(&own) {
                let is_from_here = path.is_own && exports[vpn].0 == id;
                let import = &table.settings.import;
                let is_wanted = targets(&path.attributes).iter().any(|it| import.contains(it));
                if is_wanted && !is_from_here {
                    let path = path.clone();
                    all.push(Candidate { is_own: false, is_imported: true, ..path });
                }
            }
        }
        all
    }

    /// The paths of a VPN route in the core.
    fn core_paths(&self, vpn: &Routed, exports: &Exports) -> Vec<Candidate> {
        let mut all: Vec<Candidate> =
            exports.get(vpn).map(|(_, it)| it.clone()).into_iter().collect();
        for (number, edge) in self.edges.iter().enumerate() {
            let Some(said) = edge.says.get(vpn) else { continue };
            let Some(metric) = self.hops[&hop_of(said)] else { continue };
            all.push(Candidate {
                is_own: false,
                is_imported: false,
                is_external: false,
                metric,
                who: (identifier(number), hop(number, 0).into()),
                way: (hop_of(said), said.2.clone()),
                attributes: said.0.clone(),
            });
        }
        all
    }

    fn all_routes(&self, exports: &Exports) -> BTreeSet<Routed> {
        let of_edges = self.edges.iter().flat_map(|it| it.says.keys());
        let imported = of_edges.chain(exports.keys()).map(|vpn| inner(vpn).1);
        let of_tables = self.tables.values().flat_map(|table| {
            let of_customers = table.customers.iter().flat_map(|it| it.says.keys());
            of_customers.chain(table.own.keys()).cloned()
        });
        imported.chain(of_tables).collect()
    }

    /// What is exported, found step by step: what a VRF imports may be better than its own.
    fn exports(&self) -> Exports {
        let mut exports = Exports::new();
        for _ in 0..20 {
            let mut next = Exports::new();
            for (id, table) in &self.tables {
                for routed in self.all_routes(&exports) {
                    let candidates = self.candidates(*id, &routed, &exports);
                    let (equal, _) = choose(&candidates);
                    let Some(best) = equal.first().filter(|it| !it.is_imported) else { continue };
                    let label = table.settings.label.octets(true).to_vec();
                    let hop = match routed.0 {
                        Family::Ipv4Unicast => LOOPBACK.into(),
                        _ => LOOPBACK.to_ipv6_mapped().into(),
                    };
                    let candidate = Candidate {
                        is_own: true,
                        is_external: false,
                        metric: 0,
                        who: (u32::from(LOOPBACK), Ipv4Addr::UNSPECIFIED.into()),
                        way: (hop, label),
                        attributes: exported(&best.attributes, &table.settings.export),
                        ..(*best).clone()
                    };
                    let vpn = outer(table.settings.distinguisher, &routed);
                    next.insert(vpn, (*id, candidate));
                }
            }
            let same = next.len() == exports.len()
                && next.iter().zip(&exports).all(|(a, b)| {
                    a.0 == b.0 && (a.1.0, &a.1.1.attributes) == (b.1.0, &b.1.1.attributes)
                });
            exports = next;
            if same {
                return exports;
            }
        }
        panic!("the reference never rests");
    }

    pub fn check(&self, seed: u64) {
        let exports = self.exports();
        let told = &self.edges[EDGES - 1].told;
        let keys: Vec<&Routed> = exports.keys().collect();
        assert_eq!(told.keys().collect::<Vec<_>>(), keys, "seed {seed}");
        for (vpn, (_, candidate)) in &exports {
            let (attributes, _, label) = &told[vpn];
            let expected = (&candidate.way.0, &candidate.way.1, &candidate.attributes);
            let local = with_local_preference(&candidate.attributes);
            assert_eq!((&hop_of(&told[vpn]), label, attributes), (expected.0, expected.1, &local));
        }
        for (id, table) in &self.tables {
            self.check_table(seed, *id, table, &exports);
        }
        for (id, settings, counters) in self.vpn.vrfs() {
            let of_vrf = exports.values().filter(|(it, _)| *it == id).count();
            assert_eq!(counters.exported as usize, of_vrf, "seed {seed}, {id:?}");
            assert_eq!(settings.distinguisher, self.tables[&id].settings.distinguisher);
        }
    }

    fn check_table(&self, seed: u64, id: VrfId, table: &Table, exports: &Exports) {
        let (mut expected, mut to_customers) = (BTreeMap::new(), BTreeMap::new());
        for routed in self.all_routes(exports) {
            let candidates = self.candidates(id, &routed, exports);
            let (equal, backups) = choose(&candidates);
            let Some(best) = equal.first() else { continue };
            // Of paths that nothing tells apart but their distinguishers any one is the best.
            let bests = equal.iter().filter(|it| it.order() == best.order());
            let bests: Vec<Vec<u8>> = bests.map(|it| it.attributes.clone()).collect();
            to_customers.insert(routed.clone(), bests);
            let ways: BTreeSet<Way> = equal.iter().map(|it| it.way.clone()).collect();
            let backups: BTreeSet<Way> = backups.iter().map(|it| it.way.clone()).collect();
            expected.insert(routed, (ways, backups));
        }
        let who = format!("seed {seed}, {id:?}");
        let keys: Vec<&Routed> = expected.keys().collect();
        assert_eq!(table.knows.keys().collect::<Vec<_>>(), keys, "{who}");
        for (routed, (ways, backups)) in &expected {
            let (known, backup) = &table.knows[routed];
            assert_eq!(known, ways, "{who}, {routed:?}");
            match backup {
                Some(backup) => assert!(backups.contains(backup), "{who}, {routed:?}"),
                None => assert!(backups.is_empty(), "{who}, {routed:?}, {backups:?}"),
            }
        }
        for (number, customer) in table.customers.iter().enumerate() {
            let is_of_site = |attributes: &Vec<u8>| {
                id.0.is_multiple_of(2) && communities(attributes).contains(&site())
            };
            for (routed, bests) in &to_customers {
                let is_told = customer.told.contains_key(routed);
                let may_be = bests.iter().any(|it| is_of_site(it) != is_told);
                assert!(may_be, "{who}, {number}, {routed:?}: {is_told}");
            }
            let mut told = customer.told.keys();
            assert!(told.all(|it| to_customers.contains_key(it)), "{who}, {number}");
            for (routed, (attributes, _, _)) in &customer.told {
                let is_of_customer = table.customers.iter().any(|it| it.says.contains_key(routed));
                assert!(is_of_customer || targets(attributes).is_empty(), "edges alone need them");
                let path = Attributes::new(attributes).value(AttributeType::AsPath);
                let path = AsPath::new(path.expect("it has one"), true);
                assert_eq!(path.neighbour(), Some(OWN_AS));
                let is_overridden = number % 2 == 1;
                assert!(!(is_overridden && path.contains(customer_as(number))), "{who}");
            }
        }
    }
}

/// What a customer's route is in its VRF: marked with its site.
fn marked(attributes: &[u8], id: VrfId) -> Vec<u8> {
    match id.0 % 2 {
        0 => with_communities(attributes, |all| {
            all.retain(|it| *it != site());
            all.push(site());
        }),
        _ => attributes.to_vec(),
    }
}

fn with_communities(
    attributes: &[u8],
    change: impl FnOnce(&mut Vec<ExtendedCommunity>),
) -> Vec<u8> {
    let mut all = communities(attributes);
    change(&mut all);
    let value: Vec<u8> = all.iter().flat_map(|it| it.0).collect();
    let mut out = Vec::new();
    let others = Attributes::new(attributes).map_while(Result::ok).filter(|it| it.number != 16);
    others.for_each(|it| out.extend_from_slice(it.octets));
    if !value.is_empty() {
        write_attribute(0xc0, 16, &value, &mut out);
    }
    out
}

/// What a route of a VRF is to other edges.
fn exported(attributes: &[u8], export: &[ExtendedCommunity]) -> Vec<u8> {
    let mut export = export.to_vec();
    export.sort();
    export.dedup();
    let mut out = Vec::new();
    let others = Attributes::new(attributes).map_while(Result::ok).filter(|it| it.number != 3);
    others.for_each(|it| out.extend_from_slice(it.octets));
    with_communities(&out, |all| {
        all.retain(|it| !it.is_route_target());
        all.extend(export);
    })
}

fn with_local_preference(attributes: &[u8]) -> Vec<u8> {
    let all = || Attributes::new(attributes).map_while(Result::ok);
    let mut out = Vec::new();
    let has = all().any(|it| it.number == 5);
    all().filter(|it| it.number < 5).for_each(|it| out.extend_from_slice(it.octets));
    if !has {
        write_attribute(0x40, 5, &100u32.to_be_bytes(), &mut out);
    }
    all().filter(|it| it.number >= 5).for_each(|it| out.extend_from_slice(it.octets));
    out
}

/// A route of another edge, over one of its addresses.
pub fn vpn_said(random: &mut Random, edge: usize, family: Family) -> Said {
    let (mut out, mut path) = (Vec::new(), Vec::new());
    for _ in 0..random.below(3) {
        let mut longer = Vec::new();
        prepend(&path, SegmentKind::Sequence, 64_600 + random.below(2) as u32, &mut longer);
        path = longer;
    }
    write_attribute(0x40, 1, &[0], &mut out);
    write_attribute(0x40, 2, &path, &mut out);
    write_attribute(0x40, 5, &[0, 0, 0, 99 + random.below(3) as u8], &mut out);
    let mut communities = Vec::new();
    for _ in 0..1 + random.below(2) {
        communities.extend(target(random.below(5) as u8).0);
    }
    if random.is(20) {
        communities.extend(site().0);
    }
    write_attribute(0xc0, 16, &communities, &mut out);
    let address = hop(edge, random.below(2) as u8);
    let next_hop = match family {
        Family::Vpnv4 => [&[0; 8][..], &address.octets()].concat(),
        _ => [&[0; 8][..], &address.to_ipv6_mapped().octets()].concat(),
    };
    (out, next_hop, vec![0, random.below(3) as u8, 0x11])
}

/// A route of a customer.
pub fn customer_said(random: &mut Random, customer: usize, family: Family) -> Said {
    let (mut out, mut path) = (Vec::new(), Vec::new());
    if random.is(40) {
        let mut longer = Vec::new();
        prepend(&path, SegmentKind::Sequence, 64_700, &mut longer);
        path = longer;
    }
    let mut longer = Vec::new();
    prepend(&path, SegmentKind::Sequence, customer_as(customer), &mut longer);
    write_attribute(0x40, 1, &[0], &mut out);
    write_attribute(0x40, 2, &longer, &mut out);
    let address = Ipv4Addr::new(10, 1, 0, 1 + customer as u8);
    if family == Family::Ipv4Unicast {
        write_attribute(0x40, 3, &address.octets(), &mut out);
    }
    if random.is(20) {
        // It may say what it wants: its targets do not count.
        write_attribute(0xc0, 16, &target(random.below(5) as u8).0, &mut out);
    }
    let next_hop = match family {
        Family::Ipv4Unicast => Vec::new(),
        _ => address.to_ipv6_mapped().octets().to_vec(),
    };
    (out, next_hop, Vec::new())
}

/// A connected subnet.
pub fn connected(family: Family) -> Said {
    let mut out = Vec::new();
    write_attribute(0x40, 1, &[2], &mut out);
    write_attribute(0x40, 2, &[], &mut out);
    let next_hop = match family {
        Family::Ipv4Unicast => {
            write_attribute(0x40, 3, &LOOPBACK.octets(), &mut out);
            Vec::new()
        }
        _ => LOOPBACK.to_ipv6_mapped().octets().to_vec(),
    };
    (out, next_hop, Vec::new())
}

/// A prefix by number, few enough that they meet.
pub fn key(family: Family, number: u8) -> Vec<u8> {
    match family {
        Family::Ipv4Unicast => vec![24, 10, 9, number],
        _ => vec![40, 0x20, 1, 0xd, 0xb8, number],
    }
}

/// The same behind a distinguisher.
pub fn vpn_key(rd: u8, family: Family, number: u8) -> (Family, Vec<u8>) {
    outer(distinguisher(rd), &(family, key(family, number)))
}
