//! Routes that a router tells as its own: networks of its section, and routes of others that are
//! redistributed.

use super::underlay::Underlay;
use crate::config::{Bgp, From, network, prefix};
use bgp::codec::{AttributeType, Origin, write_attribute};
use bgp::family::Family;
use bgp_stack::ask::key_of;
use igp::{Prefix, Protocol, Router};
use rib::{OwnRoute, Rib};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Flags of attributes (RFC 4271 §4.3).
const OPTIONAL: u8 = 0x80;
const TRANSITIVE: u8 = 0x40;

/// What a route is told with: attributes, and the next hop of MP_REACH_NLRI.
type Announced = (Vec<u8>, Vec<u8>);

/// What is to be told.
pub(crate) type Wanted = BTreeMap<Prefix, Announced>;

/// Those that were told.
#[derive(Debug, Default)]
pub(crate) struct Own {
    told: Wanted,
}

/// Where own routes lead to: an address of this router of each family.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Here {
    pub(crate) four: Option<IpAddr>,
    pub(crate) six: Option<IpAddr>,
}

/// Appends an attribute.
fn put(kind: AttributeType, value: &[u8], octets: &mut Vec<u8>) {
    let flags = match kind {
        AttributeType::MultiExitDisc => OPTIONAL,
        _ => TRANSITIVE,
    };
    write_attribute(flags, kind.number(), value, octets);
}

fn attributes(origin: Origin, metric: Option<u32>, here: Option<IpAddr>) -> Vec<u8> {
    let mut octets = Vec::new();
    put(AttributeType::Origin, &[origin.number()], &mut octets);
    put(AttributeType::AsPath, &[], &mut octets);
    if let Some(IpAddr::V4(here)) = here {
        put(AttributeType::NextHop, &here.octets(), &mut octets);
    }
    if let Some(metric) = metric {
        put(AttributeType::MultiExitDisc, &metric.to_be_bytes(), &mut octets);
    }
    octets
}

impl Here {
    fn announced(&self, to: Prefix, origin: Origin, metric: Option<u32>) -> Option<Announced> {
        match to.address {
            IpAddr::V4(_) => Some((attributes(origin, metric, Some(self.four?)), Vec::new())),
            IpAddr::V6(_) => {
                let IpAddr::V6(here) = self.six? else { return None };
                Some((attributes(origin, metric, None), here.octets().to_vec()))
            }
        }
    }
}

const fn family(to: Prefix) -> Family {
    if to.address.is_ipv4() { Family::Ipv4Unicast } else { Family::Ipv6Unicast }
}

impl Own {
    /// Tells what is wanted now, and takes back what is not any more.
    pub(crate) fn tell(&mut self, rib: &mut Rib, wanted: Wanted) {
        let gone: Vec<Prefix> =
            self.told.keys().filter(|it| !wanted.contains_key(it)).copied().collect();
        for to in gone {
            self.told.remove(&to);
            if let Some(key) = key_of(to.address, to.length) {
                rib.retract(family(to), &key);
            }
        }
        for (to, told) in wanted {
            if self.told.get(&to) == Some(&told) {
                continue;
            }
            let Some(key) = key_of(to.address, to.length) else { continue };
            let (attributes, next_hop) = (&*told.0, &*told.1);
            let route = OwnRoute { key: &key, payload: &[], attributes, next_hop };
            if rib.originate(family(to), &route).is_some() {
                self.told.insert(to, told);
            }
        }
    }
}

/// What a table of a VPN has of its own.
pub(crate) fn wanted_of_table(routes: &BTreeSet<Prefix>, here: Here) -> Wanted {
    let told = |to: &Prefix| Some((*to, here.announced(*to, Origin::Incomplete, None)?));
    routes.iter().filter_map(told).collect()
}

/// Whether a prefix is within one of these.
fn is_within(to: Prefix, within: &[String]) -> bool {
    within.is_empty()
        || within.iter().filter_map(|text| prefix(text)).any(|(address, length)| {
            length <= to.length && Prefix::new(to.address, length) == Prefix::new(address, length)
        })
}

/// What a section wants told of the global table.
pub(crate) fn wanted(
    section: &Bgp,
    here: Here,
    underlay: &Underlay,
    router: Option<&Router>,
) -> Wanted {
    let mut all = BTreeMap::new();
    for it in &section.redistribute {
        let of = |protocol| {
            let routes = router.into_iter().flat_map(Router::routes);
            let routes = routes.filter(move |(_, route)| route.protocol == protocol);
            routes.map(|(to, route)| (to, Some(route.cost))).collect()
        };
        let routes: Vec<(Prefix, Option<u32>)> = match it.from {
            From::Connected => underlay.connected().map(|to| (to, None)).collect(),
            From::Static => underlay.statics().map(|to| (to, None)).collect(),
            From::Ospf => of(Protocol::Ospf),
            From::Isis => of(Protocol::Isis),
        };
        for (to, cost) in routes.into_iter().filter(|(to, _)| is_within(*to, &it.within)) {
            let told = here.announced(to, Origin::Incomplete, it.metric.or(cost));
            if let Some(told) = told {
                all.entry(to).or_insert(told);
            }
        }
    }
    for text in &section.networks {
        let Some((address, length)) = prefix(text).map(network) else { continue };
        let to = Prefix::new(address, length);
        if let Some(told) = here.announced(to, Origin::Igp, None) {
            all.insert(to, told);
        }
    }
    all
}
