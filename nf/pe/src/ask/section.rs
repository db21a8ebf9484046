//! What the section says, a page at a time: interfaces, routing tables and their routes, services.

use crate::compile::GLOBAL;
use crate::config::{self, Pe, Pseudowire, Via, network, prefix};
use crate::{FileRoute, Settings};
use runtime::{Answered, Ask, AskError};
use serde_json::{Value, json};
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

/// Answers a question of what the section says; `None` if it is none.
pub(super) fn answer(settings: &Settings, counts: &RouteCounts, ask: &Ask) -> Option<Answered> {
    let pe = &settings.pe;
    Some(match ask.path.as_str() {
        "pe/interfaces" => page(ask, pe.interface.len(), |at| interface(pe, &pe.interface[at])),
        "pe/vrfs" => page(ask, pe.vrf.len() + 1, |at| table(pe, counts, at)),
        "pe/routes" => routes(settings, ask),
        "pe/bridges" => page(ask, pe.bridge.len(), |at| bridge(pe, &pe.bridge[at])),
        "pe/cross-connects" => {
            page(ask, pe.cross_connect.len(), |at| cross_connect(&pe.cross_connect[at]))
        }
        "pe/filters" => page(ask, pe.filter.len(), |at| filter(pe, &pe.filter[at])),
        _ => return None,
    })
}

fn wrong(what: &str) -> AskError {
    AskError::BadParameter(what.to_owned())
}

fn number(ask: &Ask, key: &str, default: usize) -> Result<usize, AskError> {
    let Some(text) = ask.params.get(key) else { return Ok(default) };
    text.parse().map_err(|_| wrong(&format!("{key}: a number")))
}

/// `limit` rows of so many from `skip` on; `next` is where the next page begins, if there is one.
fn page(ask: &Ask, total: usize, row: impl Fn(usize) -> Value) -> Answered {
    let skip = number(ask, "skip", 0)?.min(total);
    let limit = number(ask, "limit", ROWS)?.min(ROWS_MAX);
    let end = (skip + limit).min(total);
    let rows: Vec<Value> = (skip..end).map(row).collect();
    let next = (limit > 0 && end < total).then_some(end);
    Ok(json!({ "rows": rows, "next": next, "total": total }))
}

fn interface(pe: &Pe, it: &config::Interface) -> Value {
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
    json!({
        "name": it.name,
        "port": it.bridge.is_none().then_some(port),
        "vlan": it.vlan,
        "inner_vlan": it.inner_vlan,
        "kind": kind,
        "vrf": is_routed.then(|| it.vrf.as_deref().unwrap_or(GLOBAL)),
        "bridge": it.bridge.as_ref().or(bridge.map(|bridge| &bridge.name)),
        "cross_connect": connect.map(|connect| &connect.name),
        "addresses": it.addresses,
        "mpls": it.mpls,
        "filter_in": it.filter_in,
        "filter_out": it.filter_out,
        "policer_in": it.policer_in,
        "policer_out": it.policer_out,
    })
}

/// The table at this place: the global one, then those of the section.
fn table(pe: &Pe, counts: &RouteCounts, at: usize) -> Value {
    let vrf = at.checked_sub(1).map(|at| &pe.vrf[at]);
    let name = vrf.map_or("", |vrf| &vrf.name);
    let is_member = |it: &&config::Interface| it.vrf.as_deref().unwrap_or("") == name;
    let members: Vec<&str> = pe
        .interface
        .iter()
        .filter(is_member)
        .filter(|it| !it.addresses.is_empty())
        .map(|it| it.name.as_str())
        .take(ROWS)
        .collect();
    json!({
        "vrf": vrf.map_or(GLOBAL, |vrf| &vrf.name),
        "label": vrf.and_then(|vrf| vrf.label),
        "interfaces": members,
        "routes": counts.get(name).copied().unwrap_or(0),
    })
}

fn way(via: &Via) -> Value {
    json!({
        "gateway": via.gateway,
        "interface": via.interface,
        "labels": via.labels,
        "weight": via.weight,
    })
}

fn pseudowire(wire: &Pseudowire) -> Value {
    json!({
        "label_in": wire.label_in,
        "via": way(&wire.via),
        "backup": wire.backup.as_ref().map(way),
        "control_word": wire.control_word,
        "flow_label": wire.flow_label,
    })
}

fn bridge(pe: &Pe, it: &config::Bridge) -> Value {
    let side = pe.interface.iter().find(|one| one.bridge.as_ref() == Some(&it.name));
    json!({
        "bridge": it.name,
        "interfaces": it.interfaces,
        "pseudowires": it.pseudowire.iter().map(pseudowire).collect::<Vec<_>>(),
        "routed_side": side.map(|side| &side.name),
        "macs_max": it.macs_max,
        "ageing_s": it.ageing_s,
        "learn": it.learn,
        "flood_unknown": it.flood_unknown,
        "storm_pps": it.storm_pps,
        "moves_max": it.moves_max,
    })
}

fn cross_connect(it: &config::CrossConnect) -> Value {
    json!({
        "name": it.name,
        "interface": it.interface,
        "to": it.to,
        "pseudowire": it.pseudowire.as_ref().map(pseudowire),
    })
}

fn filter(pe: &Pe, it: &config::Filter) -> Value {
    let family = match (it.ethernet, it.ipv6) {
        (true, _) => "ethernet",
        (false, true) => "ipv6",
        (false, false) => "ipv4",
    };
    let used = |of: fn(&config::Interface) -> &Vec<String>| -> Vec<&str> {
        let users = pe.interface.iter().filter(|one| of(one).contains(&it.name));
        users.map(|one| one.name.as_str()).take(ROWS).collect()
    };
    json!({
        "filter": it.name,
        "family": family,
        "rules": it.rule.iter().take(ROWS_MAX).collect::<Vec<_>>(),
        "rules_total": it.rule.len(),
        "filters_in": used(|one| &one.filter_in),
        "filters_out": used(|one| &one.filter_out),
    })
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

    fn row(&self, at: usize) -> Value {
        let text = self.prefix(at).map(|(address, length)| format!("{address}/{length}"));
        let vrf = match self.vrf(at) {
            "" => GLOBAL,
            named => named,
        };
        let mut row = json!({ "vrf": vrf, "prefix": text });
        if let Some(it) = self.connected.get(at) {
            row["origin"] = "connected".into();
            row["via"] = json!([{ "interface": it.interface.name }]);
        } else if let Some(it) = self.said(at) {
            row["origin"] = "static".into();
            row["via"] = it.via.iter().map(way).collect();
            row["backup"] = it.backup.as_ref().map(way).into();
            row["discard"] = json!(it.discard);
        } else if let Some(it) = self.of_file(at) {
            row["origin"] = "file".into();
            row["via"] = json!([{ "gateway": it.gateway }]);
        }
        row
    }
}

/// Routes of a table (`vrf`) or all, those `within` a prefix, and those that are `covering` one;
/// `limit` of them from place `skip` on. `next` is where to go on; absent: that was all.
fn routes(settings: &Settings, ask: &Ask) -> Answered {
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
    let is_wanted = |at: usize| {
        let is_there = |test: &dyn Fn(Prefix) -> bool| all.prefix(at).is_some_and(test);
        vrf.is_none_or(|vrf| all.vrf(at) == vrf)
            && within.is_none_or(|outer| is_there(&|it| lies_within(it, outer)))
            && covering.is_none_or(|inner| is_there(&|it| lies_within(inner, it)))
    };
    let mut at = number(ask, "skip", 0)?.min(all.len());
    let end = at.saturating_add(LOOKED_AT_MAX).min(all.len());
    let mut rows = Vec::new();
    while at < end && rows.len() < limit {
        if is_wanted(at) {
            rows.push(all.row(at));
        }
        at += 1;
    }
    let next = (at < all.len()).then_some(at);
    Ok(json!({ "rows": rows, "next": next }))
}
