//! The tables of VPNs (RFC 4364, RFC 4659): a base for each, in which customers, own routes and
//! what is imported of other edges meet; what they chose, as the plane is told it.
//!
//! ```text
//!   core: vpnv4, vpnv6 ─ import ─→ table ─ reader ─→ routes ─→ Learnt
//!                      ←─ export ─┘ ↑ customers, subnets, static routes
//! ```

use super::fib::key_prefix;
use super::own::{Here, Own, wanted_of_table};
use super::resolver::Resolver;
use super::underlay::Underlay;
use crate::Settings;
use crate::config::{Pe, Vrf};
use crate::hops::{Hops, is_up, prefix_of};
use crate::links::links_of;
use bgp::family::{Family, FamilySet, Label, RouteDistinguisher};
use dataplane::{Dataplane, Kind as Named, Rank};
use igp::Prefix;
use l3vpn::{Vpn, VrfId, VrfSettings};
use machine::Time;
use nodes::program::{Hop, Push, Tunnel};
use rib::{Change, Choice, Kind, PathRef, PeerId, ReaderId, Rib};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

/// Routes that are read at once at most.
const READ_MAX: usize = 20_000;
/// Labels below mean something by themselves (RFC 3032 §2.1).
const LABEL_MIN: u32 = 16;

/// A table as the section and the links want it.
pub(crate) struct Wished {
    /// Its number in the plane.
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) settings: VrfSettings,
    /// Subnets and static routes.
    pub(crate) routes: BTreeSet<Prefix>,
    pub(crate) here: Here,
    pub(crate) underlay: Underlay,
}

/// Where packets of a route go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VpnWay {
    /// To another edge, whose label that is.
    Edge(IpAddr, u32),
    /// To a customer, or to whom it has named.
    Customer(IpAddr),
    /// Into another table of this edge.
    Table(u32),
}

/// A route of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VpnRoute {
    /// Equal ways, among which flows are shared.
    pub(crate) ways: Vec<VpnWay>,
    /// The way as long as none of these works.
    pub(crate) backup: Option<VpnWay>,
    is_stale: bool,
}

/// A table of a VPN.
#[derive(Debug)]
struct Table {
    name: String,
    reader: ReaderId,
    label: u32,
    own: Own,
    underlay: Underlay,
    next_hops: Resolver,
}

/// A table whose routes reach their limit: some of other edges were refused, or some of its own are
/// withheld from these.
pub(crate) struct Full {
    pub(crate) name: String,
    pub(crate) routes: usize,
    pub(crate) routes_max: usize,
    pub(crate) refused: u64,
}

/// The tables, and what they chose.
#[derive(Debug)]
pub(crate) struct Vrfs {
    vpn: Vpn,
    here: Ipv4Addr,
    paths_max: u8,
    tables: BTreeMap<u32, Table>,
    routes: BTreeMap<(u32, Prefix), VpnRoute>,
    changed: BTreeSet<(u32, Prefix)>,
    /// The table that is read first.
    turn: u32,
}

fn families() -> FamilySet {
    [Family::Ipv4Unicast, Family::Ipv6Unicast].into_iter().collect()
}

/// The tables of a section that take part: those with a distinguisher. Own routes lead to an
/// address of the table, or to `here`.
pub(crate) fn wished(settings: &Settings, dataplane: &Dataplane, here: Here) -> Vec<Wished> {
    let pe = &settings.pe;
    let of = |vrf: &Vrf| {
        let number = dataplane.numbers().known(Named::Vrf, &vrf.name)?;
        let name = Some(vrf.name.as_str());
        let own = pe.addresses_of(name);
        let first = |is_four: bool| own.iter().copied().find(|it| it.is_ipv4() == is_four);
        let mapped = here.four.and_then(|it| match it {
            IpAddr::V4(it) => Some(IpAddr::from(it.to_ipv6_mapped())),
            IpAddr::V6(_) => None,
        });
        Some(Wished {
            number,
            name: vrf.name.clone(),
            settings: VrfSettings {
                distinguisher: vrf.distinguisher()?,
                import: vrf.imports(),
                export: vrf.exports(),
                label: Label::new(pe.label_of(vrf, dataplane.numbers())?)?,
                routes_max: vrf.routes_max,
            },
            routes: routes_of(settings, dataplane, vrf),
            here: Here {
                four: first(true).or(here.four),
                six: first(false).or(here.six).or(mapped),
            },
            underlay: Underlay::of(pe, name, links_of(pe, dataplane, name)),
        })
    };
    pe.vrf.iter().filter_map(of).collect()
}

/// Subnets and static routes of a table.
fn routes_of(settings: &Settings, dataplane: &Dataplane, vrf: &Vrf) -> BTreeSet<Prefix> {
    let pe: &Pe = &settings.pe;
    let name = Some(vrf.name.as_str());
    let links = pe.interface.iter().filter(|it| it.vrf.as_deref() == name);
    let links = links.filter(|it| is_up(pe, it, dataplane));
    let subnets = links.flat_map(|it| &it.addresses).filter_map(|it| prefix_of(it));
    let fixed = pe.route.iter().filter(|it| it.vrf.as_deref() == name);
    let fixed = fixed.filter_map(|it| prefix_of(&it.prefix));
    let of_files = settings.routes.iter().filter(|it| it.vrf == vrf.name);
    let of_files = of_files.map(|it| Prefix::new(it.prefix.0, it.prefix.1));
    subnets.chain(fixed).chain(of_files).collect()
}

impl Vrfs {
    /// None yet; `of` says what they have in common.
    pub(crate) fn new(core: &mut Rib, of: l3vpn::Settings, paths_max: u8) -> Self {
        Self {
            here: of.next_hop,
            vpn: Vpn::new(of, core),
            paths_max,
            tables: BTreeMap::new(),
            routes: BTreeMap::new(),
            changed: BTreeSet::new(),
            turn: 0,
        }
    }

    /// Everything there was is to be taken back from the plane.
    pub(crate) fn forget(&mut self) -> BTreeSet<(u32, Prefix)> {
        let mut all = core::mem::take(&mut self.changed);
        all.extend(core::mem::take(&mut self.routes).into_keys());
        all
    }

    /// What took the place of others has to take these back.
    pub(crate) fn take_back(&mut self, gone: BTreeSet<(u32, Prefix)>) {
        self.changed.extend(gone);
    }

    /// The tables as they are from now on; `here` is this router, as other edges reach it.
    pub(crate) fn serve(
        &mut self,
        core: &mut Rib,
        wished: Vec<Wished>,
        here: Option<Ipv4Addr>,
        paths_max: u8,
    ) {
        let here = here.unwrap_or(Ipv4Addr::UNSPECIFIED);
        if core::mem::replace(&mut self.here, here) != here {
            self.vpn.set_next_hop(here);
        }
        let is_wished = |number: &u32| wished.iter().any(|it| it.number == *number);
        let gone: Vec<u32> = self.tables.keys().copied().filter(|it| !is_wished(it)).collect();
        for number in gone {
            self.tables.remove(&number);
            self.vpn.remove_vrf(core, VrfId(number));
            let all = self.routes.range(of_table(number)).map(|(at, _)| *at);
            let all: Vec<_> = all.collect();
            all.iter().for_each(|at| drop(self.routes.remove(at)));
            self.changed.extend(all);
        }
        if core::mem::replace(&mut self.paths_max, paths_max) != paths_max {
            for (number, table) in &mut self.tables {
                let Some(rib) = self.vpn.rib_mut(VrfId(*number)) else { continue };
                rib.close_reader(table.reader);
                table.reader = rib.reader(families(), paths_max.into());
            }
        }
        // Tables may exchange their distinguishers: all that go are free before one is taken.
        let held: BTreeMap<u32, RouteDistinguisher> =
            self.vpn.vrfs().map(|(id, it, _)| (id.0, it.distinguisher)).collect();
        for it in &wished {
            if held.get(&it.number).is_some_and(|held| *held != it.settings.distinguisher) {
                self.vpn.release(core, VrfId(it.number));
            }
        }
        for it in wished {
            self.set(core, it);
        }
    }

    fn set(&mut self, core: &mut Rib, wished: Wished) {
        let Wished { number, name, settings, routes, here, underlay } = wished;
        let label = settings.label.number();
        let id = VrfId(number);
        // The section was checked, and distinguishers are free: nothing is refused.
        if let Err(refusal) = self.vpn.set_vrf(core, id, settings) {
            tracing::error!(target: "bgp", vrf = name, ?refusal, "the table stays as it was");
            return;
        }
        let Some(rib) = self.vpn.rib_mut(id) else { return };
        let table = self.tables.entry(number).or_insert_with(|| {
            rib.follow_next_hops();
            Table {
                reader: rib.reader(families(), self.paths_max.into()),
                label,
                own: Own::default(),
                underlay: Underlay::default(),
                next_hops: Resolver::new(&format!("bgp vrf {number}")),
                name: name.clone(),
            }
        });
        (table.name, table.label) = (name, label);
        if !table.underlay.is_same(&underlay) {
            table.underlay = underlay;
            table.next_hops.doubt_all();
        }
        table.own.tell(rib, wanted_of_table(&routes, here));
    }

    /// The base of a table.
    pub(crate) fn rib_mut(&mut self, number: u32) -> Option<&mut Rib> {
        self.vpn.rib_untouched(VrfId(number))
    }

    /// Something was done with the base of a table that other edges may have to hear.
    pub(crate) fn touch(&mut self, number: u32) {
        self.vpn.rib_mut(VrfId(number));
    }

    /// The base of a table, to be looked at.
    pub(crate) fn rib(&self, number: u32) -> Option<&Rib> {
        self.vpn.rib(VrfId(number))
    }

    /// Imports and exports, as many routes; whether there is more.
    pub(crate) fn work(&mut self, core: &mut Rib, budget: usize) -> bool {
        self.vpn.work(core, budget)
    }

    /// What was refused to tables, or withheld of them, is judged anew where there is room again;
    /// whether there is something to be done.
    pub(crate) fn tick(&mut self, now: Time, core: &mut Rib) -> bool {
        self.vpn.tick(now, core)
    }

    /// When that wants to be called.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.vpn.deadline()
    }

    /// Tables of which some routes are not exported, since as many are as may be.
    pub(crate) fn withheld(&self) -> impl Iterator<Item = Full> + '_ {
        let all = self.vpn.vrfs().filter(|(id, ..)| self.vpn.is_withheld(*id));
        all.filter_map(|(id, settings, counters)| {
            let name = self.tables.get(&id.0)?.name.clone();
            let (routes, routes_max) = (self.vpn.prefixes(id), settings.routes_max);
            Some(Full { name, routes, routes_max, refused: counters.withheld })
        })
    }

    /// The base of a table has worked: whether other edges may have to hear of it.
    pub(crate) fn has_worked(&mut self, number: u32) -> bool {
        self.vpn.has_worked(VrfId(number))
    }

    /// Whether tables wait for [`Vrfs::work`].
    pub(crate) fn has_work(&self) -> bool {
        self.vpn.has_work()
    }

    /// Finds out how next hops of customers are reached, and reads what tables chose; whether
    /// there is more.
    pub(crate) fn learn(&mut self) -> bool {
        let (mut has_more, mut left) = (false, READ_MAX);
        let of_labels: BTreeMap<u32, u32> =
            self.tables.iter().map(|(number, it)| (it.label, *number)).collect();
        let after = self.tables.range(self.turn..).map(|it| *it.0);
        let order: Vec<u32> = after.chain(self.tables.range(..self.turn).map(|it| *it.0)).collect();
        for number in order {
            if left == 0 {
                // The others are read first the next time.
                (has_more, self.turn) = (true, number);
                break;
            }
            let Some(table) = self.tables.get_mut(&number) else { continue };
            let Some(rib) = self.vpn.rib_untouched(VrfId(number)) else { continue };
            let underlay = &table.underlay;
            let has_changed = table.next_hops.resolve(rib, |it| underlay.reach(it, None));
            has_more |= table.next_hops.has_more();
            let mut reading = Reading {
                number,
                here: self.here.into(),
                of_labels: &of_labels,
                routes: &mut self.routes,
                changed: &mut self.changed,
            };
            let budget = left;
            has_more |= rib.read_changes(table.reader, budget, &mut |it| {
                left = left.saturating_sub(1);
                reading.take(it);
            });
            if has_changed {
                self.vpn.rib_mut(VrfId(number));
            }
        }
        has_more
    }

    /// Places whose routes are others since this was asked.
    pub(crate) fn take_changed(&mut self) -> BTreeSet<(u32, Prefix)> {
        core::mem::take(&mut self.changed)
    }

    /// Every table and prefix that has a route.
    pub(crate) fn places(&self) -> impl Iterator<Item = (u32, Prefix)> + '_ {
        self.routes.keys().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.routes.len()
    }

    /// The route of a table to a prefix.
    pub(crate) fn route(&self, at: (u32, Prefix)) -> Option<&VpnRoute> {
        self.routes.get(&at)
    }

    /// The hop of a route; `of_core` are the next hops of the global table.
    pub(crate) fn hop(
        &self,
        at: (u32, Prefix),
        of_core: &Resolver,
        hops: &mut impl Hops,
    ) -> Option<u32> {
        let (route, table) = (self.routes.get(&at)?, self.tables.get(&at.0)?);
        let mut way = |it: &VpnWay| match *it {
            VpnWay::Edge(next_hop, label) => {
                let over = of_core.path_to(next_hop, hops)?;
                let labels = vec![label];
                let push = Push { over, labels, tunnel: Tunnel::Pipe, ..Push::default() };
                Some(hops.hop(Rank::Paired, &format!("{push:?}"), Hop::Push(push)))
            }
            VpnWay::Customer(next_hop) => table.next_hops.hop(next_hop, hops),
            VpnWay::Table(vrf) => {
                Some(hops.hop(Rank::Hop, &format!("vrf {vrf}"), Hop::Vrf { vrf }))
            }
        };
        let each: Vec<(u32, u32)> =
            route.ways.iter().filter_map(|it| Some((way(it)?, 1))).collect();
        let backup = route.backup.as_ref().and_then(&mut way);
        let primary = match (&each[..], backup) {
            ([], backup) => return backup,
            ([(only, _)], _) => *only,
            _ => {
                let hop = Hop::Group { members: each, resilient: false };
                hops.hop(Rank::Shared, &format!("{hop:?}"), hop)
            }
        };
        let Some(backup) = backup.filter(|it| *it != primary) else { return Some(primary) };
        let hop = Hop::Backup { primary, backup };
        Some(hops.hop(Rank::Standby, &format!("{hop:?}"), hop))
    }

    /// Says of next hops that are reached otherwise how they are now.
    pub(crate) fn say_moved(&mut self, hops: &mut impl Hops) {
        self.tables.values_mut().for_each(|it| it.next_hops.say_moved(hops));
    }

    /// Everything was said.
    pub(crate) fn said(&mut self) {
        self.changed.clear();
        self.tables.values_mut().for_each(|it| it.next_hops.said());
    }

    /// Tables that have more routes than they may, or were refused some, since they have as many.
    pub(crate) fn full(&self) -> impl Iterator<Item = Full> + '_ {
        let full = self.vpn.vrfs().filter(|(id, ..)| self.vpn.is_full(*id));
        full.filter_map(|(id, settings, counters)| {
            let name = self.tables.get(&id.0)?.name.clone();
            let (routes, refused) = (self.vpn.prefixes(id), counters.refused);
            Some(Full { name, routes, routes_max: settings.routes_max, refused })
        })
    }
}

/// All places of a table.
fn of_table(number: u32) -> core::ops::RangeInclusive<(u32, Prefix)> {
    let last = IpAddr::from([0xff; 16]);
    let first = Prefix::new(Ipv4Addr::UNSPECIFIED.into(), 0);
    (number, first)..=(number, Prefix::new(last, 128))
}

/// What a table chose, as it is read.
struct Reading<'a> {
    number: u32,
    here: IpAddr,
    of_labels: &'a BTreeMap<u32, u32>,
    routes: &'a mut BTreeMap<(u32, Prefix), VpnRoute>,
    changed: &'a mut BTreeSet<(u32, Prefix)>,
}

impl Reading<'_> {
    fn take(&mut self, change: Change<'_>) {
        match change {
            Change::Begin(family) => {
                self.of_family(family).for_each(|(_, it)| it.is_stale = true);
            }
            Change::Route(choice) => self.choose(&choice),
            Change::End(family) => {
                let stale = self.of_family(family).filter(|(_, it)| it.is_stale);
                let gone: Vec<_> = stale.map(|(at, _)| *at).collect();
                gone.iter().for_each(|at| drop(self.routes.remove(at)));
                self.changed.extend(gone);
            }
        }
    }

    fn of_family(
        &mut self,
        family: Family,
    ) -> impl Iterator<Item = (&(u32, Prefix), &mut VpnRoute)> {
        let is_four = family == Family::Ipv4Unicast;
        let all = self.routes.range_mut(of_table(self.number));
        all.filter(move |(at, _)| at.1.address.is_ipv4() == is_four)
    }

    fn choose(&mut self, choice: &Choice<'_>) {
        let is_four = choice.family == Family::Ipv4Unicast;
        let Some((bits, octets)) = choice.key.split_first() else { return };
        let Some(prefix) = key_prefix(is_four, *bits, octets) else { return };
        let at = (self.number, prefix);
        // The section says own routes itself.
        let is_others = choice.best().is_some_and(|it| it.kind != Kind::Own);
        let paths = choice.paths().filter(|_| is_others);
        let mut ways: Vec<VpnWay> = Vec::new();
        for way in paths.filter_map(|it| self.way(&it)) {
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
        let backup = choice.backup().filter(|it| is_others && it.kind != Kind::Own);
        let backup = backup.and_then(|it| self.way(&it)).filter(|it| !ways.contains(it));
        let is_other = if ways.is_empty() && backup.is_none() {
            self.routes.remove(&at).is_some()
        } else {
            let route = VpnRoute { ways, backup, is_stale: false };
            self.routes.insert(at, route.clone()) != Some(route)
        };
        if is_other {
            self.changed.insert(at);
        }
    }

    /// Where packets of a path go; one of another edge has one label.
    fn way(&self, path: &PathRef<'_>) -> Option<VpnWay> {
        let next_hop = path.next_hop?.to_canonical();
        if path.peer != PeerId::IMPORTED {
            return Some(VpnWay::Customer(next_hop));
        }
        let [a, b, c] = *path.payload.first_chunk()?;
        let label = (u32::from(a) << 16 | u32::from(b) << 8 | u32::from(c)) >> 4;
        if path.payload.len() != 3 || label < LABEL_MIN {
            return None;
        }
        // No path of others leads to this router: its addresses are none that are reached.
        match next_hop == self.here {
            true => self.of_labels.get(&label).map(|number| VpnWay::Table(*number)),
            false => Some(VpnWay::Edge(next_hop, label)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bgp::family::RouteDistinguisher;
    use rib::Bounds;

    #[test]
    fn tables_that_exchange_their_distinguishers_have_what_the_section_says() {
        let next_hop = Ipv4Addr::new(192, 0, 2, 1);
        let (asn, identifier, seed) = (65_000, u32::from(next_hop), 7);
        let bounds = Bounds::default();
        let base =
            rib::Settings { asn, identifier, cluster: identifier, policy: None, seed, bounds };
        let mut core = Rib::new(base);
        let of =
            l3vpn::Settings { asn, identifier, next_hop, policy: None, seed, bounds, wishes: true };
        let mut vrfs = Vrfs::new(&mut core, of, 1);
        let wished = |number: u32, distinguisher: u8| Wished {
            number,
            name: format!("vpn{number}"),
            settings: VrfSettings {
                distinguisher: RouteDistinguisher([0, 0, 0, 1, 0, 0, 0, distinguisher]),
                import: Vec::new(),
                export: Vec::new(),
                label: Label::new(1_000 + u32::from(distinguisher)).expect("twenty bits"),
                routes_max: 100,
            },
            routes: BTreeSet::new(),
            here: Here::default(),
            underlay: Underlay::default(),
        };
        // As they are said first, exchanged, and each with that of the next one.
        for tables in [[(1, 1), (2, 2), (3, 3)], [(1, 2), (2, 1), (3, 3)], [(1, 1), (2, 3), (3, 2)]]
        {
            let all = tables.map(|(number, distinguisher)| wished(number, distinguisher)).into();
            vrfs.serve(&mut core, all, Some(next_hop), 1);
            let said = |it: &VrfSettings| (it.distinguisher.0[7], it.label.number());
            let mut found: Vec<_> = vrfs.vpn.vrfs().map(|(id, it, _)| (id.0, said(it))).collect();
            found.sort_unstable();
            let want = tables.map(|(number, it)| (number, (it, 1_000 + u32::from(it))));
            assert_eq!(found, want);
            assert!(vrfs.tables.iter().all(|(number, it)| {
                want.contains(&(*number, ((it.label - 1_000) as u8, it.label)))
            }));
        }
    }
}
