//! What the section says, a page at a time: interfaces, routing tables and their routes, services.

use crate::compile::GLOBAL;
use crate::config::{self, Pe, Pseudowire, Via, network, prefix};
use crate::learnt::{Held, Learnt};
use crate::{FileRoute, Settings};
use dataplane::{Kind, Numbers};
use igp::Way;
use question::{Either, Page, rows};
use runtime::{Ask, AskError};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Rows of one answer at most, and unless `limit` asks for fewer.
const ROWS_MAX: usize = 1_000;
const ROWS: usize = 100;
/// Routes that one question looks at, at most; the answer says where the next one goes on.
const LOOKED_AT_MAX: usize = 200_000;

/// Routes of each table; the global one has no name.
pub(crate) type RouteCounts = BTreeMap<String, usize>;

/// Counts the routes of each table: as many as there are once, so that no question does.
pub(crate) fn route_counts(settings: &Settings) -> RouteCounts {
    let mut counts = RouteCounts::new();
    let all = Routes::of(settings);
    for at in 0..all.len() {
        let vrf = all.vrf(at);
        match counts.get_mut(vrf) {
            Some(count) => *count += 1,
            None => drop(counts.insert(vrf.to_owned(), 1)),
        }
    }
    counts
}

rows! {
    /// An interface of the section.
    pub(crate) struct InterfaceRow {
        name: String,
        port: Option<String>,
        vlan: Option<u16>,
        inner_vlan: Option<u16>,
        /// `routed`, `routed-side` of a bridge, `bridge` or `cross-connect`.
        kind: &'static str,
        vrf: Option<String>,
        bridge: Option<String>,
        cross_connect: Option<String>,
        addresses: Vec<String>,
        mpls: bool,
        /// Labels of services are taken there.
        core: bool,
        filter_in: Vec<String>,
        filter_out: Vec<String>,
        policer_in: Option<String>,
        policer_out: Option<String>,
    }

    /// A routing table.
    pub(crate) struct TableRow {
        vrf: String,
        label: Option<u32>,
        interfaces: Vec<String>,
        routes: usize,
    }

    /// A way to a next hop.
    pub(crate) struct WayRow {
        gateway: Option<IpAddr>,
        interface: Option<String>,
        labels: Vec<u32>,
        weight: u32,
    }

    /// The way of a connected subnet: its interface.
    pub(crate) struct ConnectedWay {
        interface: String,
    }

    /// The way of a route of a file: its gateway.
    pub(crate) struct FileWay {
        gateway: IpAddr,
    }

    /// A pseudowire.
    pub(crate) struct PseudowireRow {
        label_in: u32,
        via: WayRow,
        backup: Option<WayRow>,
        control_word: bool,
        flow_label: bool,
    }

    /// A bridge domain.
    pub(crate) struct BridgeRow {
        bridge: String,
        interfaces: Vec<String>,
        pseudowires: Vec<PseudowireRow>,
        routed_side: Option<String>,
        macs_max: u32,
        ageing_s: u32,
        learn: bool,
        flood_unknown: bool,
        storm_pps: u32,
        moves_max: u32,
    }

    /// A cross-connect.
    pub(crate) struct CrossConnectRow {
        name: String,
        interface: String,
        to: Option<String>,
        pseudowire: Option<PseudowireRow>,
    }

    /// A filter, its rules, and where it stands.
    pub(crate) struct FilterRow {
        filter: String,
        /// `ethernet`, `ipv4` or `ipv6`.
        family: &'static str,
        rules: Vec<config::Rule>,
        rules_total: usize,
        filters_in: Vec<String>,
        filters_out: Vec<String>,
    }

    /// A route.
    pub(crate) struct RouteRow {
        vrf: String,
        prefix: Option<String>,
        /// `connected`, `static`, `file`, or the protocol that it was learnt by: `ospf`, `isis`.
        origin: &'static str,
        /// Whether packets go by it: of several routes to a prefix one holds.
        holds: bool,
        via: Vec<Either<WayRow, Either<ConnectedWay, FileWay>>>,
        /// Of a static one.
        #[serde(skip_serializing_if = "Option::is_none")]
        backup: Option<Option<WayRow>>,
        /// Of a static one that leads nowhere: what is done with its packets.
        #[serde(skip_serializing_if = "Option::is_none")]
        discard: Option<Option<config::Discard>>,
    }
}

pub(super) fn interfaces(pe: &Pe, ask: &Ask) -> Asked<InterfaceRow> {
    page(ask, pe.interface.len(), |at| interface(pe, &pe.interface[at]))
}

pub(super) fn tables(pe: &Pe, counts: &RouteCounts, ask: &Ask) -> Asked<TableRow> {
    page(ask, pe.vrf.len() + 1, |at| table(pe, counts, at))
}

pub(super) fn bridges(pe: &Pe, ask: &Ask) -> Asked<BridgeRow> {
    page(ask, pe.bridge.len(), |at| bridge(pe, &pe.bridge[at]))
}

pub(super) fn cross_connects(pe: &Pe, ask: &Ask) -> Asked<CrossConnectRow> {
    page(ask, pe.cross_connect.len(), |at| cross_connect(&pe.cross_connect[at]))
}

pub(super) fn filters(pe: &Pe, ask: &Ask) -> Asked<FilterRow> {
    page(ask, pe.filter.len(), |at| filter(pe, &pe.filter[at]))
}

/// A page of such rows, or why there is none.
type Asked<T> = Result<Page<T>, AskError>;

fn wrong(what: &str) -> AskError {
    AskError::BadParameter(what.to_owned())
}

fn number(ask: &Ask, key: &str, default: usize) -> Result<usize, AskError> {
    let Some(text) = ask.params.get(key) else { return Ok(default) };
    text.parse().map_err(|_| wrong(&format!("{key}: a number")))
}

/// `limit` rows of so many from `skip` on; `next` is where the next page begins, if there is one.
pub(super) fn page<T>(ask: &Ask, total: usize, row: impl Fn(usize) -> T) -> Asked<T> {
    let skip = number(ask, "skip", 0)?.min(total);
    let limit = number(ask, "limit", ROWS)?.min(ROWS_MAX);
    let end = (skip + limit).min(total);
    let rows = (skip..end).map(row).collect();
    let next = (limit > 0 && end < total).then_some(end);
    Ok(Page { rows, next, total: Some(total) })
}

fn interface(pe: &Pe, it: &config::Interface) -> InterfaceRow {
    let is_of = |names: &[String]| names.contains(&it.name);
    let bridge = pe.bridge.iter().find(|bridge| is_of(&bridge.interfaces));
    let connect = pe.cross_connect.iter().find(|connect| {
        connect.interface == it.name || connect.to.as_deref() == Some(it.name.as_str())
    });
    let kind = match (&it.bridge, bridge, connect) {
        (Some(_), ..) => "routed-side",
        (None, Some(_), _) => "bridge",
        (None, None, Some(_)) => "cross-connect",
        _ => "routed",
    };
    let is_routed = matches!(kind, "routed" | "routed-side");
    let port = it.port.as_ref().unwrap_or(&it.name);
    InterfaceRow {
        name: it.name.clone(),
        port: it.bridge.is_none().then(|| port.clone()),
        vlan: it.vlan,
        inner_vlan: it.inner_vlan,
        kind,
        vrf: is_routed.then(|| it.vrf.as_deref().unwrap_or(GLOBAL).to_owned()),
        bridge: it.bridge.as_ref().or(bridge.map(|bridge| &bridge.name)).cloned(),
        cross_connect: connect.map(|connect| connect.name.clone()),
        addresses: it.addresses.clone(),
        mpls: it.mpls,
        core: it.is_core(),
        filter_in: it.filter_in.clone(),
        filter_out: it.filter_out.clone(),
        policer_in: it.policer_in.clone(),
        policer_out: it.policer_out.clone(),
    }
}

/// The table at this place: the global one, then those of the section.
fn table(pe: &Pe, counts: &RouteCounts, at: usize) -> TableRow {
    let vrf = at.checked_sub(1).map(|at| &pe.vrf[at]);
    let name = vrf.map_or("", |vrf| &vrf.name);
    let is_member = |it: &&config::Interface| it.vrf.as_deref().unwrap_or("") == name;
    let members: Vec<String> = pe
        .interface
        .iter()
        .filter(is_member)
        .filter(|it| !it.addresses.is_empty())
        .map(|it| it.name.clone())
        .take(ROWS)
        .collect();
    TableRow {
        vrf: vrf.map_or(GLOBAL, |vrf| &vrf.name).to_owned(),
        label: vrf.and_then(|vrf| vrf.label),
        interfaces: members,
        routes: counts.get(name).copied().unwrap_or(0),
    }
}

fn way(via: &Via) -> WayRow {
    WayRow {
        gateway: via.gateway,
        interface: via.interface.clone(),
        labels: via.labels.clone(),
        weight: via.weight,
    }
}

fn pseudowire(wire: &Pseudowire) -> PseudowireRow {
    PseudowireRow {
        label_in: wire.label_in,
        via: way(&wire.via),
        backup: wire.backup.as_ref().map(way),
        control_word: wire.control_word,
        flow_label: wire.flow_label,
    }
}

fn bridge(pe: &Pe, it: &config::Bridge) -> BridgeRow {
    let side = pe.interface.iter().find(|one| one.bridge.as_ref() == Some(&it.name));
    BridgeRow {
        bridge: it.name.clone(),
        interfaces: it.interfaces.clone(),
        pseudowires: it.pseudowire.iter().map(pseudowire).collect(),
        routed_side: side.map(|side| side.name.clone()),
        macs_max: it.macs_max,
        ageing_s: it.ageing_s,
        learn: it.learn,
        flood_unknown: it.flood_unknown,
        storm_pps: it.storm_pps,
        moves_max: it.moves_max,
    }
}

fn cross_connect(it: &config::CrossConnect) -> CrossConnectRow {
    CrossConnectRow {
        name: it.name.clone(),
        interface: it.interface.clone(),
        to: it.to.clone(),
        pseudowire: it.pseudowire.as_ref().map(pseudowire),
    }
}

fn filter(pe: &Pe, it: &config::Filter) -> FilterRow {
    let family = match (it.ethernet, it.ipv6) {
        (true, _) => "ethernet",
        (false, true) => "ipv6",
        (false, false) => "ipv4",
    };
    let used = |of: fn(&config::Interface) -> &Vec<String>| -> Vec<String> {
        let users = pe.interface.iter().filter(|one| of(one).contains(&it.name));
        users.map(|one| one.name.clone()).take(ROWS).collect()
    };
    FilterRow {
        filter: it.name.clone(),
        family,
        rules: it.rule.iter().take(ROWS_MAX).cloned().collect(),
        rules_total: it.rule.len(),
        filters_in: used(|one| &one.filter_in),
        filters_out: used(|one| &one.filter_out),
    }
}

/// An address and the length of its prefix.
type Prefix = (IpAddr, u8);

fn lies_within(inner: Prefix, outer: Prefix) -> bool {
    inner.0.is_ipv4() == outer.0.is_ipv4()
        && inner.1 >= outer.1
        && network((inner.0, outer.1)) == network(outer)
}

/// Reads a prefix; an address is one of full length.
fn asked_prefix(text: &str) -> Option<Prefix> {
    let whole = |address: IpAddr| (address, if address.is_ipv4() { 32 } else { 128 });
    prefix(text).or_else(|| text.parse().ok().map(whole))
}

/// All routes by their place: subnets of interfaces, static ones, those of files.
struct Routes<'a> {
    connected: Vec<Connected<'a>>,
    said: &'a [config::Route],
    of_files: &'a [FileRoute],
}

/// The subnet of an address of an interface.
struct Connected<'a> {
    interface: &'a config::Interface,
    prefix: Prefix,
}

impl<'a> Routes<'a> {
    fn of(settings: &'a Settings) -> Self {
        let subnets = settings.pe.interface.iter().flat_map(|interface| {
            let subnets = interface.addresses.iter().filter_map(|text| prefix(text));
            subnets.map(move |it| Connected { interface, prefix: network(it) })
        });
        let connected = subnets.collect();
        Self { connected, said: &settings.pe.route, of_files: &settings.routes }
    }

    fn len(&self) -> usize {
        self.connected.len() + self.said.len() + self.of_files.len()
    }

    /// Whether a route holds beside subnets and what was learnt of the global table.
    fn holds(&self, at: usize, learnt: &Learnt) -> bool {
        let Some(own) = self.prefix(at).filter(|_| at >= self.connected.len()) else { return true };
        let vrf = self.vrf(at);
        let is_learnt = vrf.is_empty() && learnt.holds_for(igp::Prefix::new(own.0, own.1));
        let is_subnet = |it: &Connected<'_>| {
            it.prefix == own && it.interface.vrf.as_deref().unwrap_or("") == vrf
        };
        !is_learnt && !self.connected.iter().any(is_subnet)
    }

    /// The route of a file at this place of all.
    fn of_file(&self, at: usize) -> Option<&FileRoute> {
        self.of_files.get(at.checked_sub(self.connected.len() + self.said.len())?)
    }

    fn said(&self, at: usize) -> Option<&config::Route> {
        self.said.get(at.checked_sub(self.connected.len())?)
    }

    /// The table of a route; the global one has no name.
    fn vrf(&self, at: usize) -> &str {
        let vrf = match (self.connected.get(at), self.said(at)) {
            (Some(it), _) => it.interface.vrf.as_deref(),
            (None, Some(it)) => it.vrf.as_deref(),
            (None, None) => self.of_file(at).map(|it| it.vrf.as_str()),
        };
        vrf.unwrap_or("")
    }

    fn prefix(&self, at: usize) -> Option<Prefix> {
        match (self.connected.get(at), self.said(at)) {
            (Some(it), _) => Some(it.prefix),
            (None, Some(it)) => prefix(&it.prefix).map(network),
            (None, None) => self.of_file(at).map(|it| network(it.prefix)),
        }
    }

    fn row(&self, at: usize, learnt: &Learnt) -> RouteRow {
        let vrf = match self.vrf(at) {
            "" => GLOBAL,
            named => named,
        };
        let prefix = self.prefix(at).map(|(address, length)| format!("{address}/{length}"));
        let (vrf, origin, via) = (vrf.to_owned(), "connected", Vec::new());
        let holds = self.holds(at, learnt);
        let row = RouteRow { vrf, prefix, origin, holds, via, backup: None, discard: None };
        if let Some(it) = self.connected.get(at) {
            let interface = it.interface.name.clone();
            RouteRow { via: vec![Either::B(Either::A(ConnectedWay { interface }))], ..row }
        } else if let Some(it) = self.said(at) {
            RouteRow {
                origin: "static",
                via: it.via.iter().map(way).map(Either::A).collect(),
                backup: Some(it.backup.as_ref().map(way)),
                discard: Some(it.discard),
                ..row
            }
        } else {
            let gateways = self.of_file(at).into_iter().map(|it| FileWay { gateway: it.gateway });
            let via = gateways.map(|it| Either::B(Either::B(it))).collect();
            RouteRow { origin: "file", via, ..row }
        }
    }
}

/// Routes that were learnt and hold.
pub(super) struct LearntRoutes<'a> {
    pub learnt: &'a Learnt,
    /// The names of interfaces.
    pub numbers: &'a Numbers,
}

impl LearntRoutes<'_> {
    fn row(&self, it: Held) -> RouteRow {
        let way = |(way, label): (Way, Option<u32>)| WayRow {
            gateway: Some(way.gateway),
            interface: self.numbers.name(Kind::Interface, way.interface).map(str::to_owned),
            labels: label.into_iter().collect(),
            weight: 1,
        };
        RouteRow {
            vrf: GLOBAL.to_owned(),
            prefix: Some(it.prefix.to_string()),
            origin: it.origin,
            holds: true,
            via: it.ways.into_iter().map(way).map(Either::A).collect(),
            backup: None,
            discard: None,
        }
    }
}

/// Routes of a table (`vrf`) or all, those `within` a prefix, and those that are `covering` one;
/// `limit` of them from place `skip` on, what was learnt last. `next` is where to go on; absent:
/// that was all.
pub(super) fn routes(settings: &Settings, learnt: &LearntRoutes<'_>, ask: &Ask) -> Asked<RouteRow> {
    let vrf = ask.params.get("vrf").map(|name| if name == GLOBAL { "" } else { name.as_str() });
    if let Some(name) = vrf.filter(|name| !name.is_empty())
        && !settings.pe.vrf.iter().any(|it| it.name == name)
    {
        return Err(AskError::NotFound(format!("routing table {name}")));
    }
    let asked = |key: &str| match ask.params.get(key) {
        None => Ok(None),
        Some(text) => match asked_prefix(text) {
            None => Err(wrong(&format!("{key}: a prefix, as 10.0.0.0/8, or an address"))),
            found => Ok(found),
        },
    };
    let (within, covering) = (asked("within")?, asked("covering")?);
    let limit = number(ask, "limit", ROWS)?.min(ROWS_MAX);
    let all = Routes::of(settings);
    let is_wanted = |of: &str, prefix: Option<Prefix>| {
        let is_there = |test: &dyn Fn(Prefix) -> bool| prefix.is_some_and(test);
        vrf.is_none_or(|vrf| of == vrf)
            && within.is_none_or(|outer| is_there(&|it| lies_within(it, outer)))
            && covering.is_none_or(|inner| is_there(&|it| lies_within(inner, it)))
    };
    let total = all.len() + learnt.learnt.held_count();
    let mut at = number(ask, "skip", 0)?.min(total);
    let end = at.saturating_add(LOOKED_AT_MAX).min(total);
    let mut rows = Vec::new();
    while at < end.min(all.len()) && rows.len() < limit {
        if is_wanted(all.vrf(at), all.prefix(at)) {
            rows.push(all.row(at, learnt.learnt));
        }
        at += 1;
    }
    let mut held = learnt.learnt.held(at.saturating_sub(all.len()));
    while (all.len()..end).contains(&at) && rows.len() < limit {
        let found = held.next().flatten();
        let found = found.filter(|it| is_wanted("", Some((it.prefix.address, it.prefix.length))));
        rows.extend(found.map(|it| learnt.row(it)));
        at += 1;
    }
    let next = (at < total).then_some(at);
    Ok(Page { rows, next, total: None })
}
