//! How next hops of BGP are reached: over subnets of this router, static routes, OSPF and IS-IS,
//! whichever has the longest prefix, and never over BGP itself or a default route.

use crate::config::Pe;
use crate::hops::{prefix_of, subnet_of};
use crate::labelled::Labelled;
use igp::{Link, Prefix, Router, Way};
use ldp_stack::IMPLICIT_NULL;
use std::collections::BTreeMap;
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

/// What carries routes of BGP.
#[derive(Debug, Default)]
pub(crate) struct Underlay {
    links: Vec<Link>,
    statics: BTreeMap<Prefix, (u8, Vec<Labelling>)>,
}

impl Underlay {
    /// Of a section, with the links of its global table.
    pub(crate) fn of(pe: &Pe, links: Vec<Link>) -> Self {
        let mut statics = BTreeMap::new();
        for route in pe.route.iter().filter(|it| it.vrf.is_none() && it.discard.is_none()) {
            let Some(prefix) = prefix_of(&route.prefix) else { continue };
            let ways = route.via.iter().filter_map(|via| {
                let gateway = via.gateway?;
                let by = via.interface.as_deref();
                let by = by.or_else(|| Some(&*subnet_of(pe, None, gateway)?.name))?;
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
        Self { links, statics }
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
    pub(crate) fn reach(
        &self,
        address: IpAddr,
        router: Option<&Router>,
        labelled: &Labelled,
    ) -> Option<Reach> {
        let own = self.links.iter().flat_map(|it| &it.addresses);
        if own.clone().any(|it| it.0 == address) {
            return None;
        }
        let most = if address.is_ipv4() { 32 } else { 128 };
        (1..=most).rev().find_map(|length| {
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
            next_door().or_else(|| self.over(prefix, router, labelled))
        })
    }

    /// The ways to a prefix.
    fn over(&self, prefix: Prefix, router: Option<&Router>, labelled: &Labelled) -> Option<Reach> {
        let is_host = prefix.length == if prefix.address.is_ipv4() { 32 } else { 128 };
        let learnt = router.and_then(|it| it.route(prefix));
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
                let ways = labelled.ways(prefix, &it.ways);
                Some(Reach { ways, metric: it.cost, is_host })
            }
            (_, None) => None,
        }
    }
}
