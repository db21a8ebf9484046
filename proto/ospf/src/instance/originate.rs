//! What we say (RFC 2328 §12.4, RFC 3101 §2.4): what shall stand in the databases is made, compared
//! with what stands there, and said where it differs.

use super::{DbId, Instance};
use crate::interface::{Interface, InterfaceState};
use crate::lsa::{self, External, INFINITY, INITIAL_SEQUENCE, Key, LsaType, MAX_LINK_METRIC};
use crate::lsa::{Grace, OpaqueType, opaque_id};
use crate::lsa::{
    Link, LinkKind, MAX_SEQUENCE, Network, OPTION_NSSA, Router, RouterFlags, Summary,
};
use crate::routes::{Route, RouteKind};
use crate::settings::{AreaKind, Prefix};
use machine::Time;
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
            undesired.into_iter().for_each(|key| self.flush(now, db, key));
        }
        self.own.at.retain(|at, _| desired.contains_key(at));
    }

    fn originate_where_other(&mut self, now: Time, db: DbId, key: Key, options: u8, body: &[u8]) {
        let present = self.entry(db, key);
        let is_same = present.is_some_and(|entry| {
            !entry.is_max_age(now) && entry.header.options == options && entry.body() == body
        });
        if is_same {
            return;
        }
        let may_at = self.own.at.get(&(db, key)).map(|at| *at + self.settings.ls_interval);
        if let Some(at) = may_at.filter(|at| *at > now) {
            self.own.due = Some(self.own.due.map_or(at, |due| due.min(at)));
            return;
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
        self.own.at.insert((db, key), now);
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
            let mut numbers = BTreeSet::new();
            for (prefix, route) in self.routes.iter().filter(|(_, it)| self.passes(id, it)) {
                let Some(number) = number_of(*prefix, &mut numbers) else { continue };
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
        let mut numbers = BTreeSet::new();
        let has_normal =
            self.areas.iter().any(|(id, it)| it.kind.is_normal() && self.up(*id).next().is_some());
        for (prefix, it) in &self.own.externals {
            let Some(number) = number_of(*prefix, &mut numbers) else { continue };
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

    fn translate(&self, id: u32, numbers: &mut BTreeSet<u32>, desired: &mut Desired) {
        let Some(area) = self.areas.get(&id) else { return };
        let all = area.lsdb.of_kind(LsaType::Nssa);
        let meant = all.filter(|(key, entry)| {
            key.router != self.settings.router
                && entry.header.options & OPTION_NSSA != 0
                && entry.header.age < lsa::MAX_AGE
        });
        for (key, entry) in meant {
            let Ok(external) = External::read(entry.body()) else { continue };
            let prefix = Prefix::of_mask(key.id, external.mask);
            let has_way =
                area.topology.distance(crate::topology::Vertex::Router(key.router)).is_some();
            let is_ours = self.own.externals.contains_key(&prefix);
            if !has_way || is_ours || external.forward.is_unspecified() {
                continue;
            }
            // What others say takes no number of ours.
            let Some(number) = number_of(prefix, numbers) else { continue };
            let key = self.key(LsaType::External, number);
            desired.insert((DbId::Domain, key), (lsa::OPTION_EXTERNAL, external.write()));
        }
    }
}

/// The link state ID of a prefix: its address; where a shorter prefix has taken that, the last
/// address (§E). None where that is taken as well: one LSA cannot say both.
fn number_of(prefix: Prefix, taken: &mut BTreeSet<u32>) -> Option<u32> {
    let last = prefix.address | !prefix.mask();
    [prefix.address, last].into_iter().find(|number| taken.insert(*number))
}
