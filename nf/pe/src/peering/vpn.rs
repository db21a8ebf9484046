//! Routes of VPNs (RFC 4364, RFC 4659): what other edges tell goes into the tables that import its
//! route targets, over labels; what tables have is told under their distinguishers.
//!
//! ```text
//!   rib, vpnv4 and vpnv6 ─ changes ─→ paths by distinguisher ─→ tables that import them ─→ Learnt
//!      ↑ own routes ←─ subnets and static routes of tables, with a label of the table
//! ```

use super::fib::{Fib, key_prefix};
use super::own::put;
use crate::Settings;
use crate::config::Vrf;
use crate::hops::{Hops, is_up, prefix_of};
use bgp::codec::{AsPath, AttributeType, Attributes, ExtendedCommunity, Origin};
use bgp::family::{Family, FamilySet, RouteDistinguisher};
use dataplane::{Dataplane, Kind, Rank};
use igp::Prefix;
use nodes::program::{Hop, Push, Tunnel};
use rib::{Change, Choice, OwnRoute, PathRef, ReaderId, Rib};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

/// Routes that are read at once at most.
const READ_MAX: usize = 20_000;
/// Labels below mean something by themselves (RFC 3032 §2.1).
const LABEL_MIN: u32 = 16;
/// The preference of a path that says none.
const LOCAL_PREF: u32 = 100;
/// The last label of a stack.
const BOTTOM: u32 = 1;

/// A routing table that takes part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    /// Its number in the plane.
    pub(crate) number: u32,
    pub(crate) distinguisher: RouteDistinguisher,
    pub(crate) imports: Vec<ExtendedCommunity>,
    pub(crate) exports: Vec<ExtendedCommunity>,
    /// Packets with it are looked up there.
    pub(crate) label: u32,
    /// Subnets and static routes.
    pub(crate) routes: BTreeSet<Prefix>,
}

/// A path of a route: of several to one prefix the least is taken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct VpnPath {
    local_pref: Reverse<u32>,
    as_path: usize,
    metric: u32,
    pub(crate) next_hop: IpAddr,
    pub(crate) label: u32,
    to: Prefix,
    targets: Vec<ExtendedCommunity>,
    is_stale: bool,
}

/// What a route is told with: attributes, and its label.
type Announced = (Vec<u8>, Vec<u8>);

/// The tables, and what is known of other edges.
#[derive(Debug)]
pub(crate) struct Vpn {
    reader: ReaderId,
    tables: Vec<Table>,
    /// By distinguisher and prefix.
    paths: BTreeMap<Vec<u8>, VpnPath>,
    /// The keys of the paths that a table has to a prefix.
    taken: BTreeMap<(u32, Prefix), BTreeSet<Vec<u8>>>,
    changed: BTreeSet<(u32, Prefix)>,
    told: BTreeMap<(Family, Vec<u8>), Announced>,
}

fn families() -> FamilySet {
    [Family::Vpnv4, Family::Vpnv6].into_iter().collect()
}

/// The tables of a section that take part: those with a distinguisher.
pub(crate) fn tables(settings: &Settings, dataplane: &Dataplane) -> Vec<Table> {
    let pe = &settings.pe;
    let of = |vrf: &Vrf| {
        let number = dataplane.numbers().known(Kind::Vrf, &vrf.name)?;
        let name = Some(vrf.name.as_str());
        let links = pe.interface.iter().filter(|it| it.vrf.as_deref() == name);
        let links = links.filter(|it| is_up(pe, it, dataplane));
        let subnets = links.flat_map(|it| &it.addresses).filter_map(|it| prefix_of(it));
        let fixed = pe.route.iter().filter(|it| it.vrf.as_deref() == name);
        let fixed = fixed.filter_map(|it| prefix_of(&it.prefix));
        let of_files = settings.routes.iter().filter(|it| it.vrf == vrf.name);
        let of_files = of_files.map(|it| Prefix::new(it.prefix.0, it.prefix.1));
        Some(Table {
            number,
            distinguisher: vrf.distinguisher()?,
            imports: vrf.imports(),
            exports: vrf.exports(),
            label: pe.label_of(vrf, number)?,
            routes: subnets.chain(fixed).chain(of_files).collect(),
        })
    };
    pe.vrf.iter().filter_map(of).collect()
}

impl Vpn {
    pub(crate) fn new(rib: &mut Rib) -> Self {
        Self {
            reader: rib.reader(families(), 1),
            tables: Vec::new(),
            paths: BTreeMap::new(),
            taken: BTreeMap::new(),
            changed: BTreeSet::new(),
            told: BTreeMap::new(),
        }
    }

    /// The tables of the rib are others: nothing of before is there.
    pub(crate) fn renew(&mut self, rib: &mut Rib) {
        self.changed.extend(self.taken.keys().copied());
        self.paths.clear();
        self.taken.clear();
        self.told.clear();
        self.reader = rib.reader(families(), 1);
    }

    /// The tables as they are from now on; `here` is this router, as others reach it.
    pub(crate) fn configure(&mut self, rib: &mut Rib, tables: Vec<Table>, here: Option<Ipv4Addr>) {
        let imports = |it: &[Table]| -> Vec<(u32, Vec<ExtendedCommunity>)> {
            it.iter().map(|it| (it.number, it.imports.clone())).collect()
        };
        let is_other = imports(&self.tables) != imports(&tables);
        self.tables = tables;
        if is_other {
            self.changed.extend(self.taken.keys().copied());
            self.taken.clear();
            for (key, path) in core::mem::take(&mut self.paths) {
                self.take(&key, &path);
                self.paths.insert(key, path);
            }
        }
        self.tell(rib, here);
    }

    /// Tells what tables have, and takes back what they have no more.
    fn tell(&mut self, rib: &mut Rib, here: Option<Ipv4Addr>) {
        let mut wanted = BTreeMap::new();
        for table in here.iter().flat_map(|_| &self.tables) {
            for to in &table.routes {
                let family = if to.address.is_ipv4() { Family::Vpnv4 } else { Family::Vpnv6 };
                wanted.insert((family, key_of(table.distinguisher, *to)), announced(table));
            }
        }
        let gone: Vec<_> =
            self.told.keys().filter(|it| !wanted.contains_key(it)).cloned().collect();
        for routed in gone {
            rib.retract(routed.0, &routed.1);
            self.told.remove(&routed);
        }
        let Some(here) = here else { return };
        for ((family, key), (attributes, payload)) in wanted {
            let known = self.told.get(&(family, key.clone()));
            if known.is_some_and(|it| (&it.0, &it.1) == (&attributes, &payload)) {
                continue;
            }
            let next_hop = next_hop(family, here);
            let route = OwnRoute {
                key: &key,
                payload: &payload,
                attributes: &attributes,
                next_hop: &next_hop,
            };
            if rib.originate(family, &route).is_some() {
                self.told.insert((family, key), (attributes, payload));
            }
        }
    }

    /// Reads what was chosen; whether there is more.
    pub(crate) fn read(&mut self, rib: &mut Rib) -> bool {
        let reader = self.reader;
        rib.read_changes(reader, READ_MAX, &mut |change| match change {
            Change::Begin(family) => {
                let of = self.paths.values_mut().filter(|it| is_of(family, it.to));
                of.for_each(|it| it.is_stale = true);
            }
            Change::Route(choice) => self.choose(&choice),
            Change::End(family) => {
                let stale = self.paths.iter().filter(|(_, it)| it.is_stale && is_of(family, it.to));
                let gone: Vec<Vec<u8>> = stale.map(|(key, _)| key.clone()).collect();
                gone.iter().for_each(|key| self.lose(key));
            }
        })
    }

    fn choose(&mut self, choice: &Choice<'_>) {
        let path = choice.best().filter(|it| it.kind != rib::Kind::Own);
        let path = path.and_then(|it| VpnPath::read(choice.family, choice.key, &it));
        if self.paths.get(choice.key) == path.as_ref() {
            return;
        }
        self.lose(choice.key);
        if let Some(path) = path {
            self.take(choice.key, &path);
            self.paths.insert(choice.key.to_vec(), path);
        }
    }

    /// A path is no more.
    fn lose(&mut self, key: &[u8]) {
        let Some(path) = self.paths.remove(key) else { return };
        for number in self.tables.iter().map(|it| it.number) {
            let at = (number, path.to);
            let Some(keys) = self.taken.get_mut(&at) else { continue };
            if keys.remove(key) {
                self.changed.insert(at);
            }
            if keys.is_empty() {
                self.taken.remove(&at);
            }
        }
    }

    /// Tables that import one of its targets have it.
    fn take(&mut self, key: &[u8], path: &VpnPath) {
        let takes = |it: &&Table| it.imports.iter().any(|it| path.targets.contains(it));
        for table in self.tables.iter().filter(takes) {
            let at = (table.number, path.to);
            self.taken.entry(at).or_default().insert(key.to_vec());
            self.changed.insert(at);
        }
    }

    /// The path of a table to a prefix, where labels lead to its next hop.
    pub(crate) fn route(&self, at: (u32, Prefix), fib: &Fib) -> Option<&VpnPath> {
        let keys = self.taken.get(&at)?.iter();
        let paths = keys.filter_map(|key| self.paths.get(key));
        paths.filter(|it| fib.leads_to(it.next_hop)).min()
    }

    /// Every table and prefix that there may be a route for.
    pub(crate) fn places(&self) -> impl Iterator<Item = (u32, Prefix)> + '_ {
        self.taken.keys().copied()
    }

    /// Those over next hops that are reached otherwise, and those that changed since this was
    /// asked.
    pub(crate) fn take_changed(&mut self, moved: &BTreeSet<IpAddr>) -> BTreeSet<(u32, Prefix)> {
        let mut changed = core::mem::take(&mut self.changed);
        if !moved.is_empty() {
            let over = |keys: &BTreeSet<Vec<u8>>| {
                let mut paths = keys.iter().filter_map(|key| self.paths.get(key));
                paths.any(|it| moved.contains(&it.next_hop))
            };
            changed.extend(self.taken.iter().filter(|(_, keys)| over(keys)).map(|(at, _)| *at));
        }
        changed
    }

    /// How many routes tables have of other edges.
    pub(crate) fn len(&self) -> usize {
        self.taken.len()
    }
}

impl VpnPath {
    fn read(family: Family, key: &[u8], path: &PathRef<'_>) -> Option<Self> {
        let attributes = Attributes::new(path.attributes);
        let value = |kind| attributes.value(kind);
        let word = |kind| value(kind)?.first_chunk().copied().map(u32::from_be_bytes);
        let communities = value(AttributeType::ExtendedCommunities).unwrap_or_default();
        let targets = ExtendedCommunity::all(communities).filter(|it| it.is_route_target());
        let as_path = value(AttributeType::AsPath).unwrap_or_default();
        let [a, b, c] = *path.payload.first_chunk()?;
        let label = (u32::from(a) << 16 | u32::from(b) << 8 | u32::from(c)) >> 4;
        let has_one = path.payload.len() == 3 && label >= LABEL_MIN;
        Some(Self {
            local_pref: Reverse(word(AttributeType::LocalPref).unwrap_or(LOCAL_PREF)),
            as_path: AsPath::new(as_path, true).segments().map(|it| it.iter().count()).sum(),
            metric: path.metric,
            next_hop: path.next_hop?.to_canonical(),
            label,
            to: key_prefix(is_four(family), key.first()?.checked_sub(64)?, key.get(9..)?)?,
            targets: targets.collect(),
            is_stale: false,
        })
        .filter(|_| has_one)
    }

    /// Its hop: the label of the far edge's table, over labels that lead there.
    pub(crate) fn hop(&self, fib: &Fib, hops: &mut impl Hops) -> Option<u32> {
        let over = fib.path_to(self.next_hop, hops)?;
        let labels = vec![self.label];
        let push = Push { over, labels, tunnel: Tunnel::Pipe, ..Push::default() };
        Some(hops.hop(Rank::Paired, &format!("{push:?}"), Hop::Push(push)))
    }
}

const fn is_four(family: Family) -> bool {
    matches!(family, Family::Vpnv4)
}

fn is_of(family: Family, to: Prefix) -> bool {
    is_four(family) == to.address.is_ipv4()
}

/// Distinguisher and prefix, as tables have them.
fn key_of(distinguisher: RouteDistinguisher, to: Prefix) -> Vec<u8> {
    let mut key = vec![64 + to.length];
    key.extend(distinguisher.0);
    let octets = usize::from(to.length).div_ceil(8);
    match to.address {
        IpAddr::V4(it) => key.extend(&it.octets()[..octets]),
        IpAddr::V6(it) => key.extend(&it.octets()[..octets]),
    }
    key
}

fn announced(table: &Table) -> Announced {
    let mut attributes = Vec::new();
    put(AttributeType::Origin, &[Origin::Incomplete.number()], &mut attributes);
    put(AttributeType::AsPath, &[], &mut attributes);
    let targets: Vec<u8> = table.exports.iter().flat_map(|it| it.0).collect();
    if !targets.is_empty() {
        put(AttributeType::ExtendedCommunities, &targets, &mut attributes);
    }
    let [_, a, b, c] = (table.label << 4 | BOTTOM).to_be_bytes();
    (attributes, vec![a, b, c])
}

/// This router as a next hop, behind a distinguisher of zeros (RFC 4364 §4.3.2, RFC 4659 §3.2.1.2).
fn next_hop(family: Family, here: Ipv4Addr) -> Vec<u8> {
    let mut octets = vec![0; RouteDistinguisher::BYTES];
    match is_four(family) {
        true => octets.extend(here.octets()),
        false => octets.extend(here.to_ipv6_mapped().octets()),
    }
    octets
}
