//! A reflector between peers that announce and withdraw at random, and what a slow and simple
//! reference says that each of them must have been told.

use bgp::Negotiated;
use bgp::codec::{
    AsPath, AttributeType, Attributes, Context, Edit, Messages, NextHop, Offer, Peering,
    RefreshKind, Role, SegmentKind, Update, prepend, reflect, rewrite, write_attribute,
};
use bgp::family::{Family, FamilySet, Route, RouteTarget};
use bgp::pack::{Announcement, Limits, Withdrawal, end_of_rib};
use machine::{Duration, Time};
use rib::{
    Bounds, Changed, Customer, Kind, Location, Metrics, Neighbour, OwnRoute, PeerId, Policy, Rib,
    Settings, Subject, Taken, Verdict,
};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

pub const OWN_AS: u32 = 65_000;
const OWN: u32 = 0x0a00_0001;
const MESSAGE_MAX: usize = 4_096;

/// Numbers by seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

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

/// What is said of a route: attributes, next hop, payload.
pub type Said = (Vec<u8>, Vec<u8>, Vec<u8>);
/// The number of the speaker itself among those who say something.
pub const OURSELVES: usize = usize::MAX;
/// What is routed: family, key, path identifier.
pub type Routed = (Family, Vec<u8>, u32);

#[derive(Clone)]
pub struct Spec {
    pub kind: Kind,
    pub add_path: bool,
    pub constrained: bool,
    pub four_octet_as: bool,
    pub location: u32,
    pub import: u32,
    pub export: u32,
    pub role: Option<Role>,
    pub long_lived: bool,
}

/// Policy 1 looks at keys, policy 2 at attributes, policy 3 at nothing: it refuses all. The number
/// is another one when they change.
#[derive(Debug, Clone, Copy)]
struct Rules(u8);

impl Policy for Rules {
    fn depends_on_key(&self, number: u32) -> bool {
        number == 1
    }

    fn judge(&self, number: u32, subject: &Subject<'_>, out: &mut Changed) -> Verdict {
        let all = Attributes::new(subject.attributes);
        let med = all.value(AttributeType::MultiExitDisc).map_or(0, |value| value[3]);
        let last = subject.key.last().map_or(0, |octet| (octet + self.0) % 3);
        let edit = match (number, last, (med + self.0) % 3) {
            (1, 0, _) | (2, _, 2) | (3, ..) => return Verdict::Reject,
            (1, 1, _) => Edit { kind: AttributeType::Communities, value: Some(&[1, 2, 3, 4]) },
            (2, _, 1) => Edit { kind: AttributeType::MultiExitDisc, value: Some(&[0, 0, 0, 9]) },
            _ => return Verdict::Accept,
        };
        assert!(rewrite(subject.attributes, &[edit], &mut out.attributes));
        out.next_hop.extend_from_slice(subject.next_hop);
        Verdict::Changed
    }
}

fn judged(rules: Rules, number: u32, routed: &Routed, from: Kind, said: Said) -> Option<Said> {
    let (attributes, next_hop, payload) = said;
    let (family, key, _) = routed;
    let subject =
        Subject { family: *family, key, attributes: &attributes, next_hop: &next_hop, from };
    let mut out = Changed::default();
    let is_free = number == 0 || *family == Family::RouteTarget;
    match if is_free { Verdict::Accept } else { rules.judge(number, &subject, &mut out) } {
        Verdict::Accept => Some((attributes, next_hop, payload)),
        Verdict::Changed => Some((out.attributes, out.next_hop, payload)),
        Verdict::Reject => None,
    }
}

/// How far the next hops of peers are; the second location does not reach all.
fn metric(location: u32, number: usize) -> Option<u32> {
    let metric = (number as u32 * 13 + location * 7) % 5;
    (location == 0 || metric != 4).then_some(metric)
}

fn metrics() -> Metrics {
    let location = |location| {
        let hops = (0..16).filter_map(|number| {
            metric(location, number).map(|metric| (address(number), 32, metric))
        });
        let all: Vec<_> =
            hops.chain([("2001:db8::".parse().expect("the world makes it"), 32, 1)]).collect();
        Location::new(&all)
    };
    Metrics(vec![location(0), location(1)])
}

pub struct Client {
    pub spec: Spec,
    /// Families of IPv4 of which it takes IPv6 next hops.
    pub extended: FamilySet,
    pub is_up: bool,
    /// What it announces.
    pub says: BTreeMap<Routed, Said>,
    /// What it was told.
    pub told: BTreeMap<Routed, Said>,
    /// Octets that it has not read yet.
    unread: Vec<u8>,
    wants: BTreeSet<u8>,
    ended: BTreeSet<Family>,
    pub messages: usize,
    /// It may hear that a route is gone of which others were told only.
    is_gathered: bool,
}

pub struct World {
    pub rib: Rib,
    pub clients: Vec<Client>,
    pub random: Random,
    /// Its own routes.
    pub own: BTreeMap<Routed, Said>,
    /// Where next hops are followed one by one: how far they are.
    pub hops: Option<BTreeMap<IpAddr, Option<u32>>>,
    rules: Rules,
    now: Time,
}

/// Where a route leads.
pub fn hop_of((attributes, next_hop, _): &Said) -> IpAddr {
    let plain = || Attributes::new(attributes).value(AttributeType::NextHop).unwrap_or_default();
    let octets = if next_hop.is_empty() { plain() } else { next_hop };
    NextHop::read(octets).expect("the world makes it").address
}

fn address(number: usize) -> core::net::IpAddr {
    core::net::Ipv4Addr::from(0xc000_0201 + number as u32).into()
}

fn identifier(number: usize) -> u32 {
    0xc000_0200 + ((number as u32 * 7) % 251) + 1
}

fn families() -> FamilySet {
    let all = [Family::Ipv4Unicast, Family::Ipv6Unicast, Family::Vpnv4, Family::RouteTarget];
    all.into_iter().collect()
}

impl Spec {
    fn context(&self) -> Context {
        let families = if self.constrained {
            families()
        } else {
            families().without(FamilySet::only(Family::RouteTarget))
        };
        let peering = match self.kind {
            Kind::External => Peering::External,
            _ => Peering::Internal,
        };
        Context {
            peering,
            four_octet_as: self.four_octet_as,
            families,
            add_path: FamilySet::EMPTY,
            extended_next_hop: FamilySet::EMPTY,
            multiple_labels: FamilySet::EMPTY,
            aigp: false,
            first_as: None,
        }
    }

    fn add_paths(&self) -> FamilySet {
        if self.add_path { FamilySet::only(Family::Ipv4Unicast) } else { FamilySet::EMPTY }
    }

    /// How the peer reads what it is sent.
    fn reads(&self) -> Context {
        Context { add_path: self.add_paths(), ..self.context() }
    }

    fn negotiated(&self, asn: u32) -> Negotiated {
        Negotiated {
            context: self.context(),
            peer: Offer::plain(asn, 1, 90),
            hold_time: Duration::from_secs(90),
            keepalive_time: Duration::from_secs(30),
            send_hold_time: Duration::from_secs(480),
            message_max: MESSAGE_MAX,
            add_path_send: self.add_paths(),
            multiple_labels_send: FamilySet::EMPTY,
            route_refresh: true,
            enhanced_refresh: self.add_path,
            graceful_restart: FamilySet::EMPTY,
            notification_restart: false,
            long_lived: match self.long_lived {
                true => FamilySet::only(Family::Ipv4Unicast),
                false => FamilySet::EMPTY,
            },
        }
    }
}

impl World {
    pub fn new(seed: u64, specs: Vec<Spec>) -> Self {
        Self::bounded(seed, specs, Bounds::default())
    }

    /// One in which so much may wait.
    pub fn bounded(seed: u64, specs: Vec<Spec>, bounds: Bounds) -> Self {
        let mut rib = Rib::new(Settings {
            asn: OWN_AS,
            identifier: OWN,
            cluster: OWN,
            policy: Some(Arc::new(Rules(0))),
            seed,
            bounds,
        });
        rib.set_metrics(metrics());
        let clients = specs.into_iter().map(|spec| Client {
            spec,
            extended: FamilySet::EMPTY,
            is_up: false,
            says: BTreeMap::new(),
            told: BTreeMap::new(),
            unread: Vec::new(),
            wants: BTreeSet::new(),
            ended: BTreeSet::new(),
            messages: 0,
            is_gathered: bounds != Bounds::default(),
        });
        Self {
            rib,
            clients: clients.collect(),
            random: Random::new(seed),
            own: BTreeMap::new(),
            hops: None,
            rules: Rules(0),
            now: Time::ZERO,
        }
    }

    pub fn asn(&self, number: usize) -> u32 {
        match self.clients[number].spec.kind {
            Kind::External => 64_000 + number as u32,
            _ => OWN_AS,
        }
    }

    pub fn up(&mut self, number: usize) {
        self.up_with(number, FamilySet::EMPTY);
    }

    /// The session of a peer that tells several paths of routes of these families.
    pub fn up_with(&mut self, number: usize, add_path: FamilySet) {
        self.up_as(number, add_path, Vec::new());
    }

    /// The session of a peer that shares these subnets.
    pub fn up_near(&mut self, number: usize, subnets: Vec<(IpAddr, u8)>) {
        self.up_as(number, FamilySet::EMPTY, subnets);
    }

    fn up_as(&mut self, number: usize, add_path: FamilySet, subnets: Vec<(IpAddr, u8)>) {
        let asn = self.asn(number);
        let client = &mut self.clients[number];
        client.is_up = true;
        let is_external = client.spec.kind == Kind::External;
        let about = Neighbour {
            kind: client.spec.kind,
            identifier: identifier(number),
            address: address(number),
            asn,
            import: client.spec.import,
            export: client.spec.export,
            location: client.spec.location,
            allow_own_as: 0,
            role: client.spec.role,
            next_hop_self: is_external.then(|| "192.0.2.254".parse().expect("the world makes it")),
            own_ipv6: None,
            customer: Customer::default(),
            subnets,
        };
        let mut negotiated = client.spec.negotiated(asn);
        negotiated.context.add_path = add_path;
        negotiated.context.extended_next_hop = client.extended;
        self.rib.up(self.now, PeerId(number as u32), about, &negotiated);
        if client.spec.constrained {
            self.release(number);
        }
    }

    /// The end of its route targets.
    fn release(&mut self, number: usize) {
        let mut message = Vec::new();
        end_of_rib(Family::RouteTarget, &mut message);
        self.give(number, &message);
    }

    pub fn down(&mut self, number: usize, retained: FamilySet) {
        let client = &mut self.clients[number];
        client.is_up = false;
        client.told.clear();
        client.unread.clear();
        client.ended.clear();
        if retained.is_empty() {
            client.says.clear();
            client.wants.clear();
        }
        self.rib.down(PeerId(number as u32), retained);
    }

    /// Other policies.
    pub fn turn_rules(&mut self) {
        self.rules.0 = (self.rules.0 + 1) % 3;
        self.rib.set_policy(Some(Arc::new(self.rules)), &[1, 2], &[1, 2]);
    }

    pub fn refresh(&mut self, number: usize, family: Family) {
        self.rib.refresh(PeerId(number as u32), family, RefreshKind::Request);
    }

    fn give(&mut self, number: usize, octets: &[u8]) {
        for (_, message) in Messages::new(octets, MESSAGE_MAX) {
            let read = self.rib.update(PeerId(number as u32), message).expect("nothing offends");
            assert_eq!(read.violation, None);
        }
    }

    pub fn announce(&mut self, number: usize, family: Family, key: &[u8], said: Said) {
        self.announce_path(number, family, (key, None), said);
    }

    /// The same with the identifier of a path.
    pub fn announce_path(
        &mut self,
        number: usize,
        family: Family,
        (key, path_id): (&[u8], Option<u32>),
        said: Said,
    ) {
        let limits = Limits { message_max: MESSAGE_MAX, add_path: path_id.is_some() };
        let path_id = path_id.unwrap_or(0);
        let (attributes, next_hop, payload) = &said;
        let (mut wire, mut out, mut narrow) = (Vec::new(), Vec::new(), Vec::new());
        family.join(key, payload, &mut wire);
        let attributes = if self.clients[number].spec.four_octet_as {
            attributes
        } else {
            assert!(bgp::codec::to_two_octets(attributes, &mut narrow));
            &narrow
        };
        let mut packing = match family {
            Family::Ipv4Unicast => Announcement::plain(limits, attributes, &mut out),
            _ => Announcement::multiprotocol(limits, family, next_hop, attributes, &mut out),
        }
        .expect("room");
        packing.route(path_id, &wire).expect("room");
        packing.finish();
        self.give(number, &out);
        self.clients[number].says.insert((family, key.to_vec(), path_id), said);
    }

    pub fn withdraw(&mut self, number: usize, family: Family, key: &[u8]) {
        let limits = Limits { message_max: MESSAGE_MAX, add_path: false };
        let (mut wire, mut out) = (Vec::new(), Vec::new());
        family.join_withdrawn(key, &mut wire);
        let mut packing = match family {
            Family::Ipv4Unicast => Withdrawal::plain(limits, &mut out),
            _ => Withdrawal::multiprotocol(limits, family, &mut out),
        };
        packing.route(0, &wire).expect("room");
        packing.finish();
        self.give(number, &out);
        self.clients[number].says.remove(&(family, key.to_vec(), 0));
    }

    pub fn want(&mut self, number: usize, target: u8, is_wanted: bool) {
        let key = target_key(target);
        if is_wanted {
            self.clients[number].wants.insert(target);
            let mut attributes = Vec::new();
            write_attribute(0x40, 1, &[0], &mut attributes);
            write_attribute(0x40, 2, &[], &mut attributes);
            write_attribute(0x40, 5, &[0, 0, 0, 100], &mut attributes);
            let said = (attributes, vec![192, 0, 2, number as u8 + 1], Vec::new());
            self.announce(number, Family::RouteTarget, &key, said);
        } else {
            self.clients[number].wants.remove(&target);
            self.withdraw(number, Family::RouteTarget, &key);
        }
    }

    /// A wish comes back to us with our own AS in its path: it counts no more.
    pub fn want_looped(&mut self, number: usize, target: u8) {
        let (mut path, mut attributes, key) = (Vec::new(), Vec::new(), target_key(target));
        prepend(&[], SegmentKind::Sequence, OWN_AS, &mut path);
        write_attribute(0x40, 1, &[0], &mut attributes);
        write_attribute(0x40, 2, &path, &mut attributes);
        write_attribute(0x40, 5, &[0, 0, 0, 100], &mut attributes);
        let said = (attributes, vec![192, 0, 2, 1], Vec::new());
        self.announce(number, Family::RouteTarget, &key, said);
        self.clients[number].says.remove(&(Family::RouteTarget, key, 0));
        self.clients[number].wants.remove(&target);
    }

    /// The reflector works a little, and the peers read some of what they were sent.
    pub fn run_a_little(&mut self) {
        self.now += Duration::from_millis(50);
        self.rib.work(self.now, 3);
        while let Some(sending) = self.rib.next_sending() {
            self.clients[sending.peer.0 as usize].unread.extend_from_slice(&sending.bytes);
        }
        for number in 0..self.clients.len() {
            if self.random.is(50) {
                self.read(number);
            }
        }
    }

    /// The reflector works, 5 ms after it did before; whether there is more to be done at once.
    pub fn work(&mut self, budget: usize) -> bool {
        self.now += Duration::from_millis(5);
        self.rib.work(self.now, budget)
    }

    /// Some time passes in which only these read.
    pub fn run_while_reading(&mut self, readers: &[usize]) {
        for _ in 0..50 {
            self.now += Duration::from_millis(50);
            self.rib.work(self.now, 100);
            while let Some(sending) = self.rib.next_sending() {
                self.clients[sending.peer.0 as usize].unread.extend_from_slice(&sending.bytes);
            }
            readers.iter().for_each(|number| self.read(*number));
        }
    }

    fn read(&mut self, number: usize) {
        let client = &mut self.clients[number];
        let unread = std::mem::take(&mut client.unread);
        self.rib.written(PeerId(number as u32), unread.len() as u64);
        let context = Context { extended_next_hop: client.extended, ..client.spec.reads() };
        for (kind, message) in Messages::new(&unread, MESSAGE_MAX) {
            client.messages += 1;
            if kind == bgp::codec::MessageType::RouteRefresh {
                continue;
            }
            let update = Update::read(message, &context).expect("nothing offends");
            assert_eq!(update.violation(), None, "{message:02x?}");
            client.take(&update);
        }
    }

    /// Until nothing is left to be done.
    pub fn settle(&mut self) {
        for _ in 0..10_000 {
            let more = self.rib.work(self.now, 100);
            while let Some(sending) = self.rib.next_sending() {
                self.clients[sending.peer.0 as usize].unread.extend_from_slice(&sending.bytes);
            }
            let is_read = self.clients.iter().all(|client| client.unread.is_empty());
            (0..self.clients.len()).for_each(|number| self.read(number));
            if !more && is_read {
                return;
            }
        }
        panic!("it never settles");
    }

    /// Compares what everybody was told with what the reference says.
    pub fn check(&self, seed: u64) {
        for (number, client) in self.clients.iter().enumerate().filter(|(_, it)| it.is_up) {
            let expected = self.expected(number);
            // Path identifiers are the reflector's own.
            let values = |map: &BTreeMap<Routed, Said>| {
                let value = |((family, key, _), said): (&Routed, &Said)| {
                    (*family, key.clone(), said.clone())
                };
                map.iter().map(value).collect::<BTreeSet<_>>()
            };
            let (told, expected) = (values(&client.told), values(&expected));
            let lacks: Vec<_> = expected.difference(&told).collect();
            let extra: Vec<_> = told.difference(&expected).collect();
            assert!(
                lacks.is_empty() && extra.is_empty(),
                "seed {seed}, peer {number}: lacks {lacks:02x?}, has besides {extra:02x?}"
            );
            let families = client.spec.context().families;
            assert!(families.iter().all(|it| client.ended.contains(&it)), "an End-of-RIB lacks");
        }
    }

    /// A route of the speaker itself stands, or is no more.
    pub fn originate(&mut self, family: Family, key: &[u8], said: Option<Said>) {
        let routed = (family, key.to_vec(), 0);
        let Some(said) = said else {
            let was_there = self.own.remove(&routed).is_some();
            return assert_eq!(self.rib.retract(family, key), was_there);
        };
        let (attributes, next_hop, payload) = &said;
        let route = OwnRoute { key, payload, attributes, next_hop };
        let is_new = !self.own.contains_key(&routed);
        let taken = if is_new { Taken::New } else { Taken::Known };
        assert_eq!(self.rib.originate(family, &route), Some(taken));
        self.own.insert(routed, said);
    }

    /// Next hops are followed one by one.
    pub fn follow(&mut self) {
        self.rib.follow_next_hops();
        self.hops = Some(BTreeMap::new());
    }

    /// How far a next hop is, of those that are in use.
    pub fn set_hop(&mut self, address: IpAddr, metric: Option<u32>) {
        self.hops.get_or_insert_default().insert(address, metric);
        self.rib.set_next_hop(address, metric);
    }

    /// What came into use is as far as it was said, or is to be found nearby.
    pub fn find_new_hops(&mut self) {
        for address in self.rib.new_next_hops() {
            let metric = *self.hops.get_or_insert_default().entry(address).or_insert(Some(10));
            self.rib.set_next_hop(address, metric);
        }
    }

    fn kind(&self, number: usize) -> Kind {
        if number == OURSELVES { Kind::Own } else { self.clients[number].spec.kind }
    }

    /// All paths of a route, of peers that are up or whose routes were retained.
    pub fn paths(&self, routed: &Routed) -> Vec<(usize, Said)> {
        let said = |(number, client): (usize, &Client)| {
            let said = client.says.get(routed)?.clone();
            judged(self.rules, client.spec.import, routed, client.spec.kind, said)
                .map(|said| (number, said))
        };
        let own = self.own.get(routed).map(|said| (OURSELVES, said.clone()));
        self.clients.iter().enumerate().filter_map(said).chain(own).collect()
    }

    fn expected(&self, number: usize) -> BTreeMap<Routed, Said> {
        let client = &self.clients[number];
        let all: BTreeSet<Routed> = self
            .clients
            .iter()
            .flat_map(|it| it.says.keys())
            .chain(self.own.keys())
            .cloned()
            .collect();
        let mut expected = BTreeMap::new();
        for routed in all {
            let (family, key, _) = routed.clone();
            if !client.spec.context().families.has(family) {
                continue;
            }
            let mut paths = self.paths(&routed);
            paths.retain(|path| client.spec.location != 0 || self.metric(0, path).is_some());
            let is_many = client.spec.add_paths().has(family);
            let best = |paths| self.best(paths, client.spec.location).into_iter().collect();
            let told = if is_many { paths } else { best(paths) };
            for (from, said) in told {
                let kinds = (self.kind(from), client.spec.kind);
                let is_wanted = family != Family::Vpnv4
                    || !client.spec.constrained
                    || targets(&said.0).iter().any(|it| client.wants.contains(it));
                let said = judged(self.rules, client.spec.export, &routed, kinds.0, said);
                let Some(said) = said.filter(|_| is_wanted) else { continue };
                if kinds != (Kind::NonClient, Kind::NonClient) {
                    let path_id = if is_many { from as u32 } else { 0 };
                    let said = self.exported(family, from, number, said);
                    expected.insert((family, key.clone(), path_id), said);
                }
            }
        }
        expected
    }

    /// How far a path leads.
    fn metric(&self, location: u32, (from, said): &(usize, Said)) -> Option<u32> {
        match &self.hops {
            _ if *from == OURSELVES => Some(0),
            Some(hops) if location == 0 => hops.get(&hop_of(said)).copied().flatten(),
            _ if said.1.len() == 16 => Some(1),
            _ => metric(location, *from),
        }
    }

    fn best(&self, paths: Vec<(usize, Said)>, location: u32) -> Option<(usize, Said)> {
        self.equal(paths, location).into_iter().next()
    }

    /// RFC 4271 §9.1.2.2 and RFC 4456 §9, a step after the other: those that are equal up to the
    /// metric of the next hop, in the order of what follows it.
    pub fn equal(&self, mut paths: Vec<(usize, Said)>, location: u32) -> Vec<(usize, Said)> {
        let metric = |path: &(usize, Said)| self.metric(location, path);
        paths.retain(|path| metric(path).is_some());
        let number = |said: &Said, kind, default: u32| {
            let value = Attributes::new(&said.0).value(kind);
            value.map_or(default, |it| {
                u32::from_be_bytes(it.try_into().expect("the world makes it"))
            })
        };
        let path = |said: &Said| {
            let value = Attributes::new(&said.0).value(AttributeType::AsPath).unwrap_or_default();
            (AsPath::new(value, true).hops(), AsPath::new(value, true).neighbour().unwrap_or(0))
        };
        let is_external = |from: usize| self.kind(from) == Kind::External;
        let keep_least = |paths: &mut Vec<(usize, Said)>, of: &dyn Fn(&(usize, Said)) -> i64| {
            if let Some(least) = paths.iter().map(of).min() {
                paths.retain(|it| of(it) == least);
            }
        };
        keep_least(&mut paths, &|(from, _)| i64::from(*from != OURSELVES));
        keep_least(&mut paths, &|(_, said)| {
            -i64::from(number(said, AttributeType::LocalPref, 100))
        });
        keep_least(&mut paths, &|(_, said)| path(said).0 as i64);
        keep_least(&mut paths, &|(_, said)| {
            Attributes::new(&said.0).value(AttributeType::Origin).expect("the world makes it")[0]
                .into()
        });
        let med = |said: &Said| number(said, AttributeType::MultiExitDisc, 0);
        let all = paths.clone();
        paths.retain(|(_, said)| {
            !all.iter().any(|(_, it)| path(it).1 == path(said).1 && med(it) < med(said))
        });
        keep_least(&mut paths, &|(from, _)| i64::from(!is_external(*from)));
        keep_least(&mut paths, &|path| metric(path).expect("the world makes it").into());
        paths.sort_by_key(|(from, said)| {
            let list = Attributes::new(&said.0).value(AttributeType::ClusterList);
            let clusters = list.unwrap_or_default().len();
            let peer = (*from != OURSELVES).then(|| (identifier(*from), address(*from)));
            let originator = number(said, AttributeType::OriginatorId, peer.map_or(OWN, |it| it.0));
            (originator, clusters, peer.map(|it| it.1))
        });
        paths
    }

    /// What a route looks like to peer `to`.
    fn exported(&self, family: Family, from: usize, to: usize, said: Said) -> Said {
        let (mut attributes, mut next_hop, payload) = said;
        let kind = self.kind(from);
        if self.clients[to].spec.kind == Kind::External {
            let (mut path, mut out) = (Vec::new(), Vec::new());
            let old = Attributes::new(&attributes)
                .value(AttributeType::AsPath)
                .expect("the world makes it");
            prepend(old, SegmentKind::Sequence, OWN_AS, &mut path);
            let is_plain = family == Family::Ipv4Unicast;
            let mut edits = vec![Edit { kind: AttributeType::AsPath, value: Some(&path) }];
            if is_plain {
                let value = Some(&[192, 0, 2, 254][..]);
                edits.push(Edit { kind: AttributeType::NextHop, value });
            }
            use AttributeType::{ClusterList, LocalPref, MultiExitDisc, OriginatorId};
            let all = [MultiExitDisc, LocalPref, OriginatorId, ClusterList];
            for kind in all.into_iter().skip(usize::from(kind == Kind::Own)) {
                edits.push(Edit { kind, value: None });
            }
            assert!(rewrite(&attributes, &edits, &mut out));
            attributes = out;
            next_hop = match next_hop.len() {
                0 => vec![],
                12 => vec![0, 0, 0, 0, 0, 0, 0, 0, 192, 0, 2, 254],
                16 => [&[0; 10][..], &[0xff, 0xff, 192, 0, 2, 254]].concat(),
                _ => vec![192, 0, 2, 254],
            };
        } else {
            let mut out = Vec::new();
            let value = Some(&[0, 0, 0, 100][..]);
            let add = [Edit { kind: AttributeType::LocalPref, value }];
            let lacks = Attributes::new(&attributes).value(AttributeType::LocalPref).is_none();
            assert!(rewrite(&attributes, if lacks { &add } else { &[] }, &mut out));
            attributes = out;
            if matches!(kind, Kind::Client | Kind::NonClient) {
                let mut out = Vec::new();
                let who = if family == Family::RouteTarget { OWN } else { identifier(from) };
                assert!(reflect(&attributes, who, OWN, &mut out));
                attributes = out;
            }
        }
        (attributes, next_hop, payload)
    }
}

impl Client {
    fn take(&mut self, update: &Update<'_>) {
        if let Some(family) = update.end_of_rib() {
            self.ended.insert(family);
            return;
        }
        let split = |route: Route<'_>| {
            let (mut key, mut payload) = (Vec::new(), Vec::new());
            route.split(&mut key, &mut payload);
            ((route.family, key, route.path_id), payload)
        };
        let unreach = update.unreach().map(|it| it.routes);
        for route in update.withdrawn().chain(unreach.into_iter().flatten()) {
            let (routed, _) = split(route);
            let is_constrained = self.spec.constrained && routed.0 == Family::Vpnv4;
            let was_told = self.told.remove(&routed).is_some();
            assert!(was_told || is_constrained || self.is_gathered, "{routed:?} was never told");
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
                let said = (attributes.clone(), reach.next_hop.to_vec(), payload);
                self.told.insert(routed, said);
            }
        }
    }
}

pub fn target_key(target: u8) -> Vec<u8> {
    let mut key = vec![96];
    key.extend(OWN_AS.to_be_bytes());
    key.extend([0, 2, 0xfd, 0xe8, 0, 0, 0, target]);
    assert!(RouteTarget::read(&key).is_some());
    key
}

fn targets(attributes: &[u8]) -> Vec<u8> {
    let value = Attributes::new(attributes).value(AttributeType::ExtendedCommunities);
    value.unwrap_or_default().chunks(8).map(|octets| octets[7]).collect()
}
