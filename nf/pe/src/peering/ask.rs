//! What the plane was told of BGP, as it is shown.

use super::underlay::Labelling;
use super::vrfs::VpnWay;
use super::{Peering, Speaking};
use crate::config::prefix;
use dataplane::{Kind, Numbers};
use igp::Prefix;
use ldp_stack::IMPLICIT_NULL;
use question::{Page, rows};
use runtime::{Ask, AskError};

/// Rows of one answer at most, and unless `limit` asks for fewer.
const ROWS_MAX: usize = 1_000;
const ROWS: usize = 100;

rows! {
    /// A next hop, and how it is reached.
    pub(crate) struct BgpNextHopRow {
        next_hop: String,
        metric: u32,
        /// `10.2.0.2 by b`, with the label that packets leave with.
        via: Vec<String>,
        /// Labels lead to it: routes of VPNs can be over it.
        labelled: bool,
    }

    /// A route of BGP, as far as the plane is concerned.
    pub(crate) struct BgpFibRow {
        /// The routing table; none: the global one.
        vrf: Option<String>,
        prefix: String,
        next_hops: Vec<String>,
        /// Of a VPN.
        label: Option<u32>,
        /// Where packets go as soon as none of the next hops is reached.
        backup: Option<String>,
        /// Its preference, in the global table.
        distance: Option<u8>,
        /// Packets follow it; else another protocol's route holds, or no next hop is reached.
        in_use: bool,
    }
}

impl Peering {
    /// The next hops that are reached, in their order.
    pub(crate) fn next_hop_rows(&self, numbers: &Numbers) -> Vec<BgpNextHopRow> {
        let way = |it: &Labelling| {
            let (way, label) = it;
            let by = numbers.name(Kind::Interface, way.interface).unwrap_or("?");
            let label = label.filter(|it| *it != IMPLICIT_NULL);
            let label = label.map(|it| format!(", label {it}")).unwrap_or_default();
            format!("{} by {by}{label}", way.gateway)
        };
        let all = self.speaking.iter().flat_map(|it| it.next_hops.reached());
        let row = |(address, reach): (&std::net::IpAddr, &super::underlay::Reach)| BgpNextHopRow {
            next_hop: address.to_string(),
            metric: reach.metric,
            via: reach.ways.iter().map(way).collect(),
            labelled: !reach.labelled().is_empty(),
        };
        all.map(row).collect()
    }

    /// Routes, those of the global table first; `holds` says of a prefix of that one whether BGP's
    /// route is that of the plane.
    pub(crate) fn fib_rows(
        &self,
        numbers: &Numbers,
        ask: &Ask,
        holds: impl Fn(Prefix) -> bool,
    ) -> Result<Page<BgpFibRow>, AskError> {
        let wrong = |what: &str| AskError::BadParameter(what.to_owned());
        let number = |key: &str, default: usize| match ask.params.get(key) {
            Some(text) => text.parse().map_err(|_| wrong(&format!("{key}: a number"))),
            None => Ok(default),
        };
        let (skip, limit) = (number("skip", 0)?, number("limit", ROWS)?.min(ROWS_MAX));
        let within = ask.params.get("within").map(|text| prefix(text));
        if within == Some(None) {
            return Err(wrong("within: a prefix, as 10.0.0.0/8"));
        }
        let within = within.flatten().map(|(address, length)| Prefix::new(address, length));
        let is_within = |it: Prefix| {
            within.is_none_or(|outer| {
                outer.length <= it.length && Prefix::new(it.address, outer.length) == outer
            })
        };
        let Some(it) = &self.speaking else {
            return Ok(Page { rows: Vec::new(), next: None, total: None });
        };
        let global = it.fib.prefixes().filter(|to| is_within(*to)).map(|to| (None, to));
        let of_vpns = it.vrfs.places().filter(|at| is_within(at.1)).map(|at| (Some(at.0), at.1));
        let mut all = global.chain(of_vpns).skip(skip);
        let page: Vec<_> = all.by_ref().take(limit).collect();
        let next = all.next().map(|_| skip + page.len());
        let row = |(table, to): (Option<u32>, Prefix)| match table {
            None => self.global_row(to, holds(to)),
            Some(table) => self.vpn_row(it, numbers, (table, to)),
        };
        Ok(Page { rows: page.into_iter().map(row).collect(), next, total: None })
    }

    fn global_row(&self, to: Prefix, in_use: bool) -> BgpFibRow {
        let found = self.route(to);
        BgpFibRow {
            vrf: None,
            prefix: format!("{}/{}", to.address, to.length),
            next_hops: found
                .iter()
                .flat_map(|it| &it.1.next_hops)
                .map(|it| it.to_string())
                .collect(),
            label: None,
            backup: None,
            distance: found.map(|it| it.0),
            in_use: in_use && found.is_some(),
        }
    }

    fn vpn_row(&self, of: &Speaking, numbers: &Numbers, at: (u32, Prefix)) -> BgpFibRow {
        let found = of.vrfs.route(at);
        let ways = || found.iter().flat_map(|it| &it.ways);
        let next_hop = |it: &VpnWay| match it {
            VpnWay::Edge(it, _) | VpnWay::Customer(it) => it.to_string(),
            VpnWay::Table(number) => numbers.name(Kind::Vrf, *number).unwrap_or("?").to_owned(),
        };
        let label = |it: &VpnWay| match it {
            VpnWay::Edge(_, label) => Some(*label),
            VpnWay::Customer(_) | VpnWay::Table(_) => None,
        };
        BgpFibRow {
            vrf: numbers.name(Kind::Vrf, at.0).map(str::to_owned),
            prefix: format!("{}/{}", at.1.address, at.1.length),
            next_hops: ways().map(next_hop).collect(),
            label: ways().find_map(label),
            backup: found.and_then(|it| it.backup.as_ref()).map(next_hop),
            distance: None,
            in_use: self.told.contains(&at),
        }
    }
}
