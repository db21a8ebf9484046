//! How next hops of BGP are reached: over subnets of this router, static routes, OSPF and IS-IS,
//! whichever has the longest prefix, and never over BGP itself or a default route.

use crate::config::Pe;
use crate::hops::{prefix_of, subnet_of};
use crate::labelled::Labelled;
use igp::{Link, Prefix, Router, Way};
use ldp_stack::IMPLICIT_NULL;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// A way, and the label that its next router wants; `None`: it has told none.
pub(crate) type Labelling = (Way, Option<u32>);

/// How a next hop is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    pub(crate) ways: Vec<Labelling>,
    /// What the way costs.
    pub(crate) metric: u32,
    /// The route is that of the next hop alone: labels of another one may end before it.
    pub(crate) is_host: bool,
}

impl Reach {
    /// The ways by which labels lead to the next hop itself.
    pub(crate) fn labelled(&self) -> Vec<Labelling> {
        self.ways.iter().filter(|it| it.1.is_some() && self.is_host).copied().collect()
    }
}

/// What OSPF, IS-IS and LDP have learnt.
pub(crate) type Learning<'a> = (Option<&'a Router>, &'a Labelled);

/// What carries routes of BGP in a routing table.
#[derive(Debug, Default)]
pub(crate) struct Underlay {
    links: Vec<Link>,
    statics: BTreeMap<Prefix, (u8, Vec<Labelling>)>,
    /// Lengths of IPv4 prefixes that may be there, and of IPv6.
    lengths: [BTreeSet<u8>; 2],
}

impl Underlay {
    /// Of a section, with the links of a routing table; `None`: of the global one.
    pub(crate) fn of(pe: &Pe, vrf: Option<&str>, links: Vec<Link>) -> Self {
        let mut statics = BTreeMap::new();
        let routes = pe.route.iter().filter(|it| it.vrf.as_deref() == vrf);
        for route in routes.filter(|it| it.discard.is_none()) {
            let Some(prefix) = prefix_of(&route.prefix) else { continue };
            let ways = route.via.iter().filter_map(|via| {
                let gateway = via.gateway?;
                let by = via.interface.as_deref();
                let by = by.or_else(|| Some(&*subnet_of(pe, vrf, gateway)?.name))?;
                let interface = links.iter().find(|it| it.name == by)?.index;
                let label = match via.labels[..] {
                    [] => None,
                    [only] => Some(only),
                    _ => return None,
                };
                Some((Way { interface, gateway }, label))
            });
            statics.insert(prefix, (route.distance, ways.collect()));
        }
        let mut it = Self { links, statics, lengths: Default::default() };
        let addresses = it.links.iter().flat_map(|it| &it.addresses);
        let subnets = addresses.map(|(address, length)| Prefix::new(*address, *length));
        let all: Vec<Prefix> = subnets.chain(it.statics.keys().copied()).collect();
        all.into_iter().for_each(|prefix| it.note(prefix));
        it
    }

    /// A prefix may be there.
    pub(crate) fn note(&mut self, prefix: Prefix) {
        if prefix.length > 0 {
            self.lengths[usize::from(prefix.address.is_ipv6())].insert(prefix.length);
        }
    }

    /// Whether two are the same but for what may be learnt.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (&self.links, &self.statics) == (&other.links, &other.statics)
    }

    /// Which links are up is another thing than it was.
    pub(crate) fn links(&mut self, is_up: impl Fn(&str) -> bool) {
        self.links.iter_mut().for_each(|it| it.is_up = is_up(&it.name));
    }

    /// The subnets of this router, as prefixes.
    pub(crate) fn connected(&self) -> impl Iterator<Item = Prefix> + '_ {
        let up = self.links.iter().filter(|it| it.is_up);
        up.flat_map(|it| &it.addresses).map(|(address, length)| Prefix::new(*address, *length))
    }

    /// Whether a prefix is a subnet of this router.
    pub(crate) fn connects(&self, prefix: Prefix) -> bool {
        self.connected().any(|it| it == prefix)
    }

    /// The static routes of the section that lead somewhere.
    pub(crate) fn statics(&self) -> impl Iterator<Item = Prefix> + '_ {
        let is_up = |it: &&(u8, Vec<Labelling>)| it.1.iter().any(|(way, _)| self.is_up(way));
        self.statics.iter().filter(move |(_, it)| is_up(it)).map(|(prefix, _)| *prefix)
    }

    fn is_up(&self, way: &Way) -> bool {
        self.links.iter().any(|it| it.index == way.interface && it.is_up)
    }

    /// How an address is reached; `None`: it is not, or is one of this router.
    pub(crate) fn reach(&self, address: IpAddr, learnt: Option<Learning<'_>>) -> Option<Reach> {
        let own = self.links.iter().flat_map(|it| &it.addresses);
        if own.clone().any(|it| it.0 == address) {
            return None;
        }
        let lengths = &self.lengths[usize::from(address.is_ipv6())];
        lengths.iter().rev().find_map(|&length| {
            let prefix = Prefix::new(address, length);
            let next_door = || {
                let has = |it: &&Link| {
                    let subnets = it.addresses.iter().filter(|it| it.1 == length);
                    it.is_up && subnets.into_iter().any(|it| Prefix::new(it.0, it.1) == prefix)
                };
                let interface = self.links.iter().find(has)?.index;
                // Who is next door takes packets as they are.
                let way = (Way { interface, gateway: address }, Some(IMPLICIT_NULL));
                Some(Reach { ways: vec![way], metric: 0, is_host: true })
            };
            next_door().or_else(|| self.over(prefix, learnt))
        })
    }

    /// The ways to a prefix.
    fn over(&self, prefix: Prefix, learnt: Option<Learning<'_>>) -> Option<Reach> {
        let is_host = prefix.length == if prefix.address.is_ipv4() { 32 } else { 128 };
        let labelled = learnt.map(|it| it.1);
        let learnt = learnt.and_then(|(router, _)| router?.route(prefix));
        let fixed = self.statics.get(&prefix).and_then(|(distance, ways)| {
            let up = ways.iter().filter(|(way, _)| self.is_up(way));
            let ways: Vec<Labelling> = up.copied().collect();
            (!ways.is_empty()).then_some((*distance, ways))
        });
        match (fixed, learnt) {
            (Some((distance, ways)), learnt)
                if learnt.as_ref().is_none_or(|it| distance <= it.distance) =>
            {
                Some(Reach { ways, metric: 0, is_host })
            }
            (_, Some(it)) => {
                let ways = labelled.map(|labels| labels.ways(prefix, &it.ways));
                Some(Reach { ways: ways.unwrap_or_default(), metric: it.cost, is_host })
            }
            (_, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lookup_walks_the_lengths_that_there_are_and_the_longest_prefix_counts() {
        let pe: Pe = toml::from_str(
            r#"
            name = "pe1"
            [[interface]]
            name = "a"
            addresses = ["10.0.0.1/24", "2001:db8::1/64"]
            [[interface]]
            name = "b"
            addresses = ["10.1.0.1/30"]
            [[route]]
            prefix = "10.0.0.128/25"
            via = [{ gateway = "10.1.0.2" }]
            [[route]]
            prefix = "0.0.0.0/0"
            via = [{ gateway = "10.1.0.2" }]
            "#,
        )
        .expect("a section");
        let link = |index: u32, name: &str, addresses: &[(&str, u8)]| Link {
            name: name.to_owned(),
            index,
            addresses: addresses
                .iter()
                .map(|(text, length)| (text.parse().expect("an address"), *length))
                .collect(),
            is_up: true,
            ..Link::default()
        };
        let links = vec![
            link(1, "a", &[("10.0.0.1", 24), ("2001:db8::1", 64)]),
            link(2, "b", &[("10.1.0.1", 30)]),
        ];
        let mut underlay = Underlay::of(&pe, None, links);
        let lengths = |it: &Underlay| it.lengths.clone().map(Vec::from_iter);
        assert_eq!(lengths(&underlay), [vec![24, 25, 30], vec![64]], "no default route");
        let by = |it: &Underlay, text: &str| {
            let reach = it.reach(text.parse().expect("an address"), None)?;
            Some((reach.ways[0].0.interface, reach.ways[0].0.gateway.to_string()))
        };
        let way = |interface, gateway: &str| Some((interface, gateway.to_owned()));
        assert_eq!(by(&underlay, "10.0.0.9"), way(1, "10.0.0.9"));
        assert_eq!(by(&underlay, "10.0.0.200"), way(2, "10.1.0.2"));
        assert_eq!(by(&underlay, "10.0.0.1"), None, "it is ours");
        assert_eq!(by(&underlay, "192.0.2.1"), None, "over a default route alone");
        assert_eq!(by(&underlay, "2001:db8::9"), way(1, "2001:db8::9"));
        underlay.note(Prefix::new("192.0.2.0".parse().expect("an address"), 26));
        assert_eq!(lengths(&underlay)[0], [24, 25, 26, 30]);
        underlay.links(|name| name == "a");
        assert_eq!(by(&underlay, "10.0.0.200"), way(1, "10.0.0.200"), "the static way is down");
    }
}
