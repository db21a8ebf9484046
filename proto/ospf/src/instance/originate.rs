//! What we say (RFC 2328 §12.4, RFC 3101 §2.4): what shall stand in the databases is made, compared
//! with what stands there, and said where it differs.

use super::{DbId, Instance, May};
use crate::interface::{Interface, InterfaceState};
use crate::lsa::{self, External, INFINITY, INITIAL_SEQUENCE, Key, LsaType, MAX_LINK_METRIC};
use crate::lsa::{Grace, OpaqueType, opaque_id};
use crate::lsa::{
    Link, LinkKind, MAX_SEQUENCE, Network, OPTION_NSSA, Router, RouterFlags, Summary,
};
use crate::routes::{Route, RouteKind};
use crate::settings::{AreaKind, Prefix};
use machine::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

/// Options and body of what shall be said.
type Said = (u8, Vec<u8>);
type Desired = BTreeMap<(DbId, Key), Said>;

impl Instance {
    /// Says what is to be said, and takes back what is not.
    pub(super) fn originate_all(&mut self, now: Time) {
        self.own.is_stale = false;
        self.own.due = None;
        let desired = self.desired();
        for ((db, key), (options, body)) in &desired {
            self.originate_where_other(now, *db, *key, *options, body);
        }
        let dbs = self.areas.keys().map(|id| DbId::Area(*id)).chain([DbId::Domain]);
        // What we said before the restart stands until it is over.
        let dbs = dbs.filter(|_| self.own.restarting.is_none());
        let links = self.links.keys().map(|index| DbId::Link(*index));
        let dbs: Vec<DbId> = dbs.chain(links).collect();
        for db in dbs {
            let all = self.db(db).into_iter().flat_map(crate::lsdb::Lsdb::iter);
            let undesired = all.filter(|(key, entry)| {
                !entry.is_max_age(now) && self.is_own(**key) && !desired.contains_key(&(db, **key))
            });
            let undesired: Vec<Key> = undesired.map(|(key, _)| *key).collect();
            undesired.into_iter().for_each(|key| self.take_back(now, db, key));
        }
        self.own.at.retain(|at, may| may.again > now || desired.contains_key(at));
    }

    /// Flushes what is said no more. Both that and what is said after it wait for MinLSArrival:
    /// whoever has just taken an instance refuses the next one, and would get it only when it is
    /// sent again.
    fn take_back(&mut self, now: Time, db: DbId, key: Key) {
        if let Some(at) = self.own.at.get(&(db, key)).map(|it| it.end).filter(|at| *at > now) {
            return self.own.wait(at);
        }
        let end = now + taken_after(self.settings.ls_arrival);
        self.own.at.insert((db, key), May { again: end, end });
        self.flush(now, db, key);
    }

    fn originate_where_other(&mut self, now: Time, db: DbId, key: Key, options: u8, body: &[u8]) {
        let present = self.entry(db, key);
        let is_same = present.is_some_and(|entry| {
            !entry.is_max_age(now) && entry.header.options == options && entry.body() == body
        });
        if is_same {
            return;
        }
        if let Some(at) = self.own.at.get(&(db, key)).map(|it| it.again).filter(|at| *at > now) {
            return self.own.wait(at);
        }
        self.originate(now, db, key, options, body);
    }

    fn originate(&mut self, now: Time, db: DbId, key: Key, options: u8, body: &[u8]) {
        let present =
            self.entry(db, key).map(|entry| (entry.header.sequence, entry.is_max_age(now)));
        let sequence = match present {
            None => INITIAL_SEQUENCE,
            // The last number is taken back first, and the next instance begins anew (§12.1.6).
            Some((MAX_SEQUENCE, true)) => return,
            Some((MAX_SEQUENCE, false)) => return self.flush(now, db, key),
            Some((sequence, _)) => sequence + 1,
        };
        let Some(octets) = lsa::make(key, options, sequence, body) else { return };
        let mut cursor = wire::Cursor::new(&octets, 0, "RFC 2328 §A.4.1");
        let Ok(header) = lsa::Header::read(&mut cursor) else { return };
        let again = now + self.settings.ls_interval;
        let end = now + taken_after(self.settings.ls_arrival);
        self.own.at.insert((db, key), May { again, end });
        self.counts.originated += 1;
        self.install(now, db, header, &octets, None);
        self.flood(now, db, &header, None);
    }

    /// An own LSA is old, and said again as it is.
    pub(super) fn refresh(&mut self, now: Time, db: DbId, key: Key) {
        let Some(entry) = self.entry(db, key) else { return };
        let (options, body) = (entry.header.options, entry.body().to_vec());
        self.originate(now, db, key, options, &body);
    }

    /// Everything that shall be said.
    fn desired(&self) -> Desired {
        let mut desired = Desired::new();
        self.say_grace(&mut desired);
        if self.own.restarting.is_some() {
            return desired;
        }
        let is_border = self.is_border();
        for (&id, area) in &self.areas {
            let mut up = self
                .interfaces
                .values()
                .filter(|it| it.settings.area == id && it.state != InterfaceState::Down);
            if up.next().is_none() {
                continue;
            }
            self.say_router(id, area.kind, is_border, &mut desired);
            self.say_networks(id, &mut desired);
            if is_border {
                self.say_summaries(id, area.kind, &mut desired);
            }
            self.say_opaque(id, &mut desired);
        }
        self.say_externals(is_border, &mut desired);
        desired
    }

    fn key(&self, kind: LsaType, id: u32) -> Key {
        Key { kind, id, router: self.settings.router }
    }

    fn up(&self, area: u32) -> impl Iterator<Item = &Interface> {
        let all = self.interfaces.values();
        all.filter(move |it| it.settings.area == area && it.state != InterfaceState::Down)
    }

    fn say_router(&self, id: u32, kind: AreaKind, is_border: bool, desired: &mut Desired) {
        let mut links: Vec<Link> = Vec::new();
        self.up(id).for_each(|interface| self.links_of(interface, &mut links));
        let has_externals = !self.own.externals.is_empty();
        let is_stub = matches!(kind, AreaKind::Stub { .. });
        let translates =
            is_border && self.areas.values().any(|it| matches!(it.kind, AreaKind::Nssa { .. }));
        let flags = RouterFlags {
            is_border,
            is_boundary: (has_externals || translates) && !is_stub,
            is_virtual: false,
            always_translates: false,
        };
        let body = Router { flags, links }.write();
        let key = self.key(LsaType::Router, self.settings.router);
        desired.insert((DbId::Area(id), key), (self.options(id), body));
    }

    /// The links of an interface (§12.4.1).
    fn links_of(&self, interface: &Interface, links: &mut Vec<Link>) {
        let settings = &interface.settings;
        let (data, prefix) = (u32::from(settings.address), settings.prefix());
        let metric = settings.cost;
        let transit = if self.settings.is_stub_router { MAX_LINK_METRIC } else { metric };
        let stub = Link { kind: LinkKind::Stub, id: prefix.address, data: prefix.mask(), metric };
        if !interface.is_broadcast() {
            links.extend(interface.announced().map(|it| Link {
                kind: LinkKind::PointToPoint,
                id: it.router,
                data,
                metric: transit,
            }));
            return links.push(stub);
        }
        let is_chief = interface.state == InterfaceState::Designated;
        let is_transit =
            interface.announced().any(|it| is_chief || it.address == interface.designated);
        if is_transit && interface.state != InterfaceState::Waiting {
            let id = interface.designated.into();
            links.push(Link { kind: LinkKind::Transit, id, data, metric: transit });
        } else {
            links.push(stub);
        }
    }

    /// On each link, that we restart (RFC 3623 §A).
    fn say_grace(&self, desired: &mut Desired) {
        let Some(period_s) = self.own.grace_s else { return };
        for interface in self.interfaces.values().filter(|it| it.state != InterfaceState::Down) {
            let address = interface.is_broadcast().then_some(interface.settings.address);
            let body = Grace { period_s, reason: 1, address }.write();
            let key = self.key(LsaType::OpaqueLink, opaque_id(OpaqueType::Grace, 0));
            let index = interface.settings.index;
            desired.insert((DbId::Link(index), key), (self.options(interface.settings.area), body));
        }
    }

    fn say_networks(&self, id: u32, desired: &mut Desired) {
        for interface in self.up(id).filter(|it| it.state == InterfaceState::Designated) {
            let mut routers: Vec<u32> = interface.announced().map(|it| it.router).collect();
            if routers.is_empty() {
                continue;
            }
            routers.push(self.settings.router);
            routers.sort_unstable();
            let body = Network { mask: interface.settings.prefix().mask(), routers }.write();
            let key = self.key(LsaType::Network, interface.settings.address.into());
            desired.insert((DbId::Area(id), key), (self.options(id), body));
        }
    }

    fn say_opaque(&self, id: u32, desired: &mut Desired) {
        let own = self.own.opaque.range((id, 0)..=(id, u32::MAX));
        for (&(_, number), body) in own {
            let key = self.key(LsaType::OpaqueArea, number);
            desired.insert((DbId::Area(id), key), (self.options(id), body.clone()));
        }
    }

    /// What an area border router tells an area of the others (§12.4.3).
    fn say_summaries(&self, id: u32, kind: AreaKind, desired: &mut Desired) {
        let options = self.options(id) & !OPTION_NSSA;
        let db = DbId::Area(id);
        let mut say = |kind: LsaType, number: u32, summary: Summary| {
            desired.insert((db, self.key(kind, number)), (options, summary.write()));
        };
        let (is_totally, default_cost) = match kind {
            AreaKind::Normal => (false, None),
            AreaKind::Stub { is_totally, default_cost } => (is_totally, Some(default_cost)),
            AreaKind::Nssa { is_totally, default_cost } => {
                (is_totally, default_cost.filter(|_| is_totally))
            }
        };
        if let Some(metric) = default_cost {
            say(LsaType::Summary, 0, Summary { mask: 0, metric });
        }
        if !is_totally {
            let passing = || self.routes.iter().filter(|(_, it)| self.passes(id, it));
            let mut numbers = Numbers::default();
            let all: Vec<Prefix> = passing().map(|(prefix, _)| *prefix).collect();
            numbers.give(&all, |number| self.said_mask(db, LsaType::Summary, number));
            for (prefix, route) in passing() {
                let Some(number) = numbers.of(*prefix) else { continue };
                let metric = route.cost;
                say(LsaType::Summary, number, Summary { mask: prefix.mask(), metric });
            }
        }
        if kind.is_normal() {
            for (router, metric) in self.boundary_summaries(id) {
                say(LsaType::AsbrSummary, router, Summary { mask: 0, metric });
            }
        }
    }

    /// The mask of what we say of destinations under a number.
    fn said_mask(&self, db: DbId, kind: LsaType, number: u32) -> Option<u32> {
        let entry = self.entry(db, self.key(kind, number))?;
        let mask = entry.body().first_chunk().copied().map(u32::from_be_bytes);
        mask.filter(|_| entry.header.age < lsa::MAX_AGE)
    }

    /// The same of destinations outside, which areas that are not so stubby have too.
    fn said_external(&self, number: u32) -> Option<u32> {
        let domain = self.said_mask(DbId::Domain, LsaType::External, number);
        let mut areas = self.areas.keys();
        domain
            .or_else(|| areas.find_map(|id| self.said_mask(DbId::Area(*id), LsaType::Nssa, number)))
    }

    /// Whether an area is told of a route: those within areas go everywhere, those by the backbone
    /// into other areas.
    fn passes(&self, area: u32, route: &Route) -> bool {
        let may = match route.kind {
            RouteKind::IntraArea => true,
            RouteKind::InterArea => area != 0,
            RouteKind::External1 | RouteKind::External2 => false,
        };
        may && route.area != Some(area) && route.cost < INFINITY
    }

    /// AS boundary routers of other areas, with what the way to each costs.
    fn boundary_summaries(&self, id: u32) -> BTreeMap<u32, u32> {
        let mut found = BTreeMap::new();
        for (_, other) in
            self.areas.iter().filter(|(other, area)| **other != id && area.kind.is_normal())
        {
            for (key, entry) in other.lsdb.of_kind(LsaType::Router) {
                let is_boundary = Router::read(entry.body()).is_ok_and(|it| it.flags.is_boundary);
                let distance = other.topology.distance(crate::topology::Vertex::Router(key.router));
                if let Some(cost) =
                    distance.filter(|_| is_boundary && key.router != self.settings.router)
                {
                    let least = found.entry(key.router).or_insert(cost);
                    *least = cost.min(*least);
                }
            }
        }
        if let Some(backbone) = self.areas.get(&0).filter(|_| id != 0) {
            for (key, entry) in backbone.lsdb.of_kind(LsaType::AsbrSummary) {
                let vertex = crate::topology::Vertex::Router(key.router);
                let distance = backbone.topology.distance(vertex);
                let summary = Summary::read(entry.body()).ok().filter(|it| it.metric < INFINITY);
                if let (Some(distance), Some(summary)) = (distance, summary)
                    && key.router != self.settings.router
                    && key.id != self.settings.router
                    && entry.header.age < lsa::MAX_AGE
                {
                    found.entry(key.id).or_insert(distance.saturating_add(summary.metric));
                }
            }
        }
        found
    }

    /// Destinations outside: of ours, and translated ones of not-so-stubby areas.
    fn say_externals(&self, is_border: bool, desired: &mut Desired) {
        let has_normal =
            self.areas.iter().any(|(id, it)| it.kind.is_normal() && self.up(*id).next().is_some());
        let mut numbers = Numbers::default();
        let own: Vec<Prefix> = self.own.externals.keys().copied().collect();
        numbers.give(&own, |number| self.said_external(number));
        for (prefix, it) in &self.own.externals {
            let Some(number) = numbers.of(*prefix) else { continue };
            let (mask, metric) = (prefix.mask(), it.metric);
            let forward = Ipv4Addr::UNSPECIFIED;
            let external = External { mask, is_type2: it.is_type2, metric, forward, tag: it.tag };
            if has_normal {
                let key = self.key(LsaType::External, number);
                desired.insert((DbId::Domain, key), (lsa::OPTION_EXTERNAL, external.write()));
            }
            for (&id, _) in
                self.areas.iter().filter(|(_, it)| matches!(it.kind, AreaKind::Nssa { .. }))
            {
                self.say_nssa(id, is_border, number, external, desired);
            }
        }
        for (&id, area) in &self.areas {
            let AreaKind::Nssa { is_totally, default_cost } = area.kind else { continue };
            if let Some(metric) = default_cost.filter(|_| is_border && !is_totally) {
                let forward = Ipv4Addr::UNSPECIFIED;
                let body = External { mask: 0, is_type2: true, metric, forward, tag: 0 }.write();
                let key = self.key(LsaType::Nssa, 0);
                desired.insert((DbId::Area(id), key), (0, body));
            }
            if is_border && has_normal && self.is_translator(id) {
                self.translate(id, &mut numbers, desired);
            }
        }
    }

    /// An NSSA's own external: with the P-bit and an address to send to, so that it is translated,
    /// where we are no border that says it to others anyway (RFC 3101 §2.4).
    fn say_nssa(&self, id: u32, is_border: bool, number: u32, it: External, desired: &mut Desired) {
        let Some(address) = self.up(id).map(|it| it.settings.address).next() else { return };
        let options = if is_border { 0 } else { OPTION_NSSA };
        let body = External { forward: address, ..it }.write();
        let key = self.key(LsaType::Nssa, number);
        desired.insert((DbId::Area(id), key), (options, body));
    }

    /// Whether we translate an area's externals: of the reachable border routers, the one with the
    /// highest number does, or whoever always does (RFC 3101 §3.1).
    fn is_translator(&self, id: u32) -> bool {
        let Some(area) = self.areas.get(&id) else { return false };
        let others = area
            .lsdb
            .of_kind(LsaType::Router)
            .filter(|(key, _)| key.router != self.settings.router);
        let mut reachable = others.filter(|(key, _)| {
            area.topology.distance(crate::topology::Vertex::Router(key.router)).is_some()
        });
        !reachable.any(|(key, entry)| {
            Router::read(entry.body()).is_ok_and(|it| {
                let flags = it.flags;
                flags.is_border && (flags.always_translates || key.router > self.settings.router)
            })
        })
    }

    fn translate(&self, id: u32, numbers: &mut Numbers, desired: &mut Desired) {
        let Some(area) = self.areas.get(&id) else { return };
        let all = area.lsdb.of_kind(LsaType::Nssa);
        let meant = all.filter(|(key, entry)| {
            key.router != self.settings.router
                && entry.header.options & OPTION_NSSA != 0
                && entry.header.age < lsa::MAX_AGE
        });
        let mut told = BTreeMap::new();
        for (key, entry) in meant {
            let Ok(external) = External::read(entry.body()) else { continue };
            let prefix = Prefix::of_mask(key.id, external.mask);
            let has_way =
                area.topology.distance(crate::topology::Vertex::Router(key.router)).is_some();
            let is_ours = self.own.externals.contains_key(&prefix);
            if !has_way || is_ours || external.forward.is_unspecified() {
                continue;
            }
            told.entry(prefix).or_insert(external);
        }
        // What others say takes no number of ours.
        let all: Vec<Prefix> =
            told.keys().copied().filter(|it| numbers.of(*it).is_none()).collect();
        numbers.give(&all, |number| self.said_external(number));
        for prefix in all {
            let Some((number, external)) = numbers.of(prefix).zip(told.get(&prefix)) else {
                continue;
            };
            let key = self.key(LsaType::External, number);
            desired.insert((DbId::Domain, key), (lsa::OPTION_EXTERNAL, external.write()));
        }
    }
}

/// When others surely take the next instance of an LSA, hops of the way included.
fn taken_after(arrival: Duration) -> Duration {
    arrival + arrival / 8
}

/// Link state IDs of prefixes (§E).
#[derive(Default)]
struct Numbers {
    of: BTreeMap<Prefix, u32>,
    taken: BTreeSet<u32>,
}

impl Numbers {
    /// Gives each prefix a number: the one that it has in the database, whose mask `said` tells, so
    /// that what others know of it never goes while another prefix comes or goes; otherwise its
    /// address; where that is taken, the last address or another one in it. None where all of these
    /// are taken: one LSA cannot say both.
    fn give(&mut self, prefixes: &[Prefix], said: impl Fn(u32) -> Option<u32>) {
        for keeps in [true, false] {
            for &prefix in prefixes {
                if self.of.contains_key(&prefix) {
                    continue;
                }
                let last = prefix.address | !prefix.mask();
                let others = (1..32_u32.saturating_sub(prefix.length.into())).rev();
                let others = others.map(|bits| prefix.address | ((1 << bits) - 1));
                let mut all = [prefix.address, last].into_iter().chain(others);
                let may = |it: &u32| !keeps || said(*it) == Some(prefix.mask());
                let number = all.find(|it| may(it) && !self.taken.contains(it));
                if let Some(number) = number {
                    self.taken.insert(number);
                    self.of.insert(prefix, number);
                }
            }
        }
    }

    fn of(&self, prefix: Prefix) -> Option<u32> {
        self.of.get(&prefix).copied()
    }
}
