//! Routes and update groups, as they are shown: page by page, so that no question keeps the
//! sessions waiting.

use super::Answer;
use crate::Tables;
use bgp::codec::{
    AsPath, AttributeType, Attributes, Community, ExtendedCommunity, LargeCommunity, Origin,
    SegmentKind, aigp_metric,
};
use bgp::family::{Family, Ipv4Prefix, Ipv6Prefix};
use question::{Page, rows};
use rib::{GroupView, PathView, PeerId, RouteView, Wanted};
use runtime::{Ask, AskError};
use schemars::JsonSchema;
use serde::Serialize;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Routes of one answer at most.
const ROWS_MAX: usize = 1_000;
/// Routes of one answer unless told.
const ROWS: usize = 100;
/// Routes that one question looks at, at most; the answer says where the next one goes on.
const LOOKED_AT_MAX: usize = 20_000;
/// Paths of a route that are shown at most.
const PATHS_MAX: usize = 1_024;

rows! {
    /// What a policy may change of a path.
    #[derive(Default)]
    pub(crate) struct Changeable {
        next_hop: Option<String>,
        local_pref: Option<u32>,
        med: Option<u32>,
        as_path: Option<String>,
        communities: Option<Vec<String>>,
    }

    /// What was announced, before the import policy.
    pub(crate) struct Before {
        next_hop_before: Option<String>,
        local_pref_before: Option<u32>,
        med_before: Option<u32>,
        as_path_before: Option<String>,
        communities_before: Option<Vec<String>>,
        /// What the import policy did: `accepted`, `changed` or `refused`.
        policy: &'static str,
    }

    /// An update group, or a part of it that is as far.
    pub(crate) struct CohortRow {
        group: usize,
        family: &'static str,
        audience: &'static str,
        kind: String,
        add_path: bool,
        message_max: usize,
        constrained: bool,
        next_hop_self: Option<String>,
        peers: usize,
        members: Vec<String>,
        behind: u64,
        walks: bool,
        routes_out: usize,
        waiting_octets: u64,
    }

    /// A table.
    pub(crate) struct FamilyRow {
        family: &'static str,
        routes: usize,
        paths: usize,
    }
}

/// A path of a route.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BgpPathRow {
    peer: String,
    path_id: u32,
    best: bool,
    refused: bool,
    changed: bool,
    /// Why it is not the best one.
    loses_by: Option<&'static str>,
    stale: bool,
    #[serde(flatten)]
    what: Changeable,
    origin: Option<&'static str>,
    originator: Option<String>,
    clusters: Option<Vec<String>>,
    aigp: Option<u64>,
    /// Names of the attributes that are there.
    attributes: Vec<String>,
    /// In hexadecimal.
    payload: String,
    /// What the caches say of its origin.
    validation: Option<&'static str>,
    route: String,
    family: &'static str,
}

/// A route with its best path.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BgpRouteRow {
    #[serde(flatten)]
    path: BgpPathRow,
    /// How many it has.
    paths: usize,
    /// With `before=true`.
    #[serde(flatten)]
    before: Option<Before>,
}

/// Which routes are asked for.
struct Question {
    family: Family,
    from: Option<PeerId>,
    told: Option<PeerId>,
    /// Only those that it covers.
    within: Option<(IpAddr, u8)>,
    /// Only those that are shown with that in their text.
    text: Option<String>,
    skip: usize,
    limit: usize,
}

/// A parameter is none.
#[must_use]
pub fn wrong(what: &str) -> AskError {
    AskError::BadParameter(what.to_owned())
}

fn number(ask: &Ask, key: &str, default: usize) -> Result<usize, AskError> {
    let Some(text) = ask.params.get(key) else { return Ok(default) };
    text.parse().map_err(|_| wrong(&format!("{key}: a number")))
}

fn family(ask: &Ask) -> Result<Family, AskError> {
    let Some(name) = ask.params.get("family") else { return Ok(Family::Ipv4Unicast) };
    Family::named(name).ok_or_else(|| {
        let all = Family::ALL.iter().map(|family| family.name()).collect::<Vec<_>>();
        wrong(&format!("family: {}", all.join(", ")))
    })
}

/// Reads a prefix; an address is one of full length.
#[must_use]
pub fn prefix(text: &str) -> Option<(IpAddr, u8)> {
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(length.parse::<u8>().ok()?)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let length = length.unwrap_or(bits);
    (length <= bits).then_some((address, length))
}

/// The key of a plain prefix.
#[must_use]
pub fn key_of(address: IpAddr, length: u8) -> Option<Vec<u8>> {
    let mut key = Vec::with_capacity(17);
    match address {
        IpAddr::V4(address) => Ipv4Prefix::new(address, length)?.write(&mut key),
        IpAddr::V6(address) => Ipv6Prefix::new(address, length)?.write(&mut key),
    }
    Some(key)
}

/// Families whose keys are plain prefixes, and of which kind.
const fn plain(family: Family) -> Option<bool> {
    match family {
        Family::Ipv4Unicast | Family::Ipv4Multicast | Family::Ipv4Labelled => Some(true),
        Family::Ipv6Unicast | Family::Ipv6Multicast | Family::Ipv6Labelled => Some(false),
        _ => None,
    }
}

/// The prefix of a plain key.
fn prefix_of(family: Family, key: &[u8]) -> Option<(IpAddr, u8)> {
    match plain(family)? {
        true => {
            let (prefix, _) = Ipv4Prefix::read(key)?;
            Some((prefix.address().into(), prefix.bits()))
        }
        false => {
            let (prefix, _) = Ipv6Prefix::read(key)?;
            Some((prefix.address().into(), prefix.bits()))
        }
    }
}

fn covers(outer: IpAddr, length: u8, inner: IpAddr, bits: u8) -> bool {
    match (outer, inner) {
        (IpAddr::V4(outer), IpAddr::V4(inner)) => {
            let both = Ipv4Prefix::new(outer, length).zip(Ipv4Prefix::new(inner, bits));
            both.is_some_and(|(outer, inner)| outer.covers(inner))
        }
        (IpAddr::V6(outer), IpAddr::V6(inner)) => {
            let both = Ipv6Prefix::new(outer, length).zip(Ipv6Prefix::new(inner, bits));
            both.is_some_and(|(outer, inner)| outer.covers(inner))
        }
        _ => false,
    }
}

impl Question {
    fn has(&self, route: &RouteView) -> bool {
        let is_within = self.within.is_none_or(|(outer, length)| {
            let inner = prefix_of(self.family, &route.key);
            inner.is_some_and(|(inner, bits)| covers(outer, length, inner, bits))
        });
        let has_text = |text: &String| self.family.show(&route.key).to_string().contains(text);
        is_within && self.text.as_ref().is_none_or(has_text)
    }
}

impl Tables<'_> {
    fn asked_peer(&self, ask: &Ask, key: &str) -> Result<Option<PeerId>, AskError> {
        let Some(name) = ask.params.get(key) else { return Ok(None) };
        let found = self.speaker.peers().find(name);
        found.map(Some).ok_or_else(|| AskError::NotFound(format!("peer {name}")))
    }

    /// Routes of a family: `received` from a peer, `advertised` to one, `within` a prefix, with a
    /// `text` in what is shown of them; `limit` of them, from place `skip` on. `next` is where to
    /// go on; absent: that was all. With `before=true`, beside what the import policy made of each
    /// path what it came with.
    pub(super) fn show_routes(&self, ask: &Ask) -> Answer<Page<BgpRouteRow>> {
        let within = ask.params.get("within").map(|text| prefix(text));
        if within == Some(None) {
            return Err(wrong("within: a prefix, as 10.0.0.0/8"));
        }
        let question = Question {
            family: family(ask)?,
            from: self.asked_peer(ask, "received")?,
            told: self.asked_peer(ask, "advertised")?,
            within: within.flatten(),
            text: ask.params.get("text").cloned(),
            skip: number(ask, "skip", 0)?,
            limit: number(ask, "limit", ROWS)?.min(ROWS_MAX),
        };
        let (routes, next) = self.routes(&question);
        let has_before = ask.params.get("before").is_some_and(|it| it == "true");
        let row = |route: &RouteView| self.row(question.family, route, has_before);
        let rows = routes.iter().filter_map(row).collect();
        Ok(Page { rows, next, total: None })
    }

    fn routes(&self, question: &Question) -> (Vec<RouteView>, Option<usize>) {
        let (mut found, mut skip) = (Vec::new(), question.skip);
        let end = skip.saturating_add(LOOKED_AT_MAX);
        while found.len() < question.limit {
            if skip >= end {
                return (found, Some(skip));
            }
            let limit = (question.limit - found.len()).max(ROWS).min(end - skip);
            let (key, from, told) = (None, question.from, question.told);
            let page = self.rib.routes(question.family, &Wanted { key, from, told, skip, limit });
            let is_last = page.len() < limit;
            for route in page {
                if found.len() == question.limit {
                    return (found, Some(skip));
                }
                skip += 1;
                found.extend(Some(route).filter(|route| question.has(route)));
            }
            if is_last {
                return (found, None);
            }
        }
        (found, Some(skip))
    }

    /// All paths of the route that covers a prefix best, with the reason why the best one is it;
    /// for families without prefixes, of those whose text has what is asked for.
    pub(super) fn show_route(&self, ask: &Ask) -> Answer<Vec<BgpPathRow>> {
        let asked = ask.params.get("prefix");
        let asked = asked.ok_or_else(|| wrong("prefix: a prefix, or a text in other families"))?;
        let mut family = family(ask)?;
        let found = prefix(asked);
        if let (Some((address, _)), Family::Ipv4Unicast) = (found, family)
            && address.is_ipv6()
        {
            family = Family::Ipv6Unicast;
        }
        let routes = match (found, plain(family)) {
            (Some((address, length)), Some(is_ipv4)) if address.is_ipv4() == is_ipv4 => {
                self.longest(family, address, length).into_iter().collect()
            }
            (_, Some(_)) => return Err(wrong("prefix: one of the family, as 10.0.0.0/8")),
            (_, None) => {
                let (from, told, within) = (None, None, None);
                let text = Some(asked.clone());
                let question = Question { family, from, told, within, text, skip: 0, limit: ROWS };
                self.routes(&question).0
            }
        };
        Ok(routes.iter().flat_map(|route| self.paths(family, route)).collect())
    }

    /// The longest prefix that covers this one and has a route.
    fn longest(&self, family: Family, address: IpAddr, length: u8) -> Option<RouteView> {
        (0..=length).rev().find_map(|length| {
            let key = key_of(address, length)?;
            let wanted = Wanted { key: Some(&key), limit: 1, ..Wanted::default() };
            self.rib.routes(family, &wanted).pop()
        })
    }

    /// A route with its best path.
    fn row(&self, family: Family, route: &RouteView, has_before: bool) -> Option<BgpRouteRow> {
        let best = route.paths.first()?;
        let mut path = self.path_of(family, route, best);
        let before = has_before.then(|| self.before(best, &mut path.what));
        Some(BgpRouteRow { path, paths: route.paths.len(), before })
    }

    /// What a path came with, beside what the import policy made of it: `policy` says which of
    /// `accepted`, `changed` and `refused` it is. Of one that is refused nothing is left.
    fn before(&self, path: &PathView, what: &mut Changeable) -> Before {
        let came = match &path.came_with {
            None => self.changeable(path),
            Some((attributes, next_hop)) => {
                let (attributes, next_hop) = (attributes.clone(), next_hop.clone());
                self.changeable(&PathView { attributes, next_hop, ..path.clone() })
            }
        };
        if path.is_refused {
            *what = Changeable::default();
        }
        Before {
            next_hop_before: came.next_hop,
            local_pref_before: came.local_pref,
            med_before: came.med,
            as_path_before: came.as_path,
            communities_before: came.communities,
            policy: match (path.is_refused, path.came_with.is_some()) {
                (true, _) => "refused",
                (false, true) => "changed",
                (false, false) => "accepted",
            },
        }
    }

    /// A row for each path of a route.
    fn paths(&self, family: Family, route: &RouteView) -> Vec<BgpPathRow> {
        let paths = route.paths.iter().take(PATHS_MAX);
        paths.map(|path| self.path_of(family, route, path)).collect()
    }

    /// What the caches say of a path, as it came.
    fn validity(&self, family: Family, route: &RouteView, path: &PathView) -> Option<&'static str> {
        let attributes = path.came_with.as_ref().map_or(&path.attributes, |(came, _)| came);
        self.beside.validity(family, &route.key, attributes)
    }

    /// What a policy may change of a path, as it is now.
    fn changeable(&self, path: &PathView) -> Changeable {
        let attributes = Attributes::new(&path.attributes);
        let number = |kind| word(&attributes, kind).map(u32::from_be_bytes);
        Changeable {
            next_hop: match &path.next_hop[..] {
                [] => address(&attributes, AttributeType::NextHop),
                octets => Some(show_next_hop(octets)),
            },
            local_pref: number(AttributeType::LocalPref),
            med: number(AttributeType::MultiExitDisc),
            as_path: attributes.value(AttributeType::AsPath).map(show_as_path),
            communities: Some(communities(&attributes)),
        }
    }

    fn path_of(&self, family: Family, route: &RouteView, path: &PathView) -> BgpPathRow {
        let attributes = Attributes::new(&path.attributes);
        let value = |kind| attributes.value(kind);
        let origin = value(AttributeType::Origin).and_then(|it| Origin::of(*it.first()?));
        BgpPathRow {
            peer: self.member(path.peer),
            path_id: path.path_id,
            best: path.loses_by.is_none() && !path.is_refused,
            refused: path.is_refused,
            changed: path.came_with.is_some(),
            loses_by: path.loses_by,
            stale: path.is_stale,
            what: self.changeable(path),
            origin: origin.map(Origin::name),
            originator: address(&attributes, AttributeType::OriginatorId),
            clusters: value(AttributeType::ClusterList).map(show_addresses),
            aigp: value(AttributeType::Aigp).and_then(aigp_metric),
            attributes: types(&attributes),
            payload: hex(&path.payload),
            validation: self.validity(family, route, path),
            route: family.show(&route.key).to_string(),
            family: family.name(),
        }
    }

    /// The update groups: who is told the same, and how far they are.
    pub(super) fn show_groups(&self) -> Vec<CohortRow> {
        let groups = self.rib.groups();
        groups.iter().enumerate().flat_map(|(n, group)| self.cohorts(n, group)).collect()
    }

    /// The name of a peer of the rib, which may be a station.
    fn member(&self, id: PeerId) -> String {
        self.beside.name_of(id).unwrap_or_else(|| self.speaker.name_of(id).to_owned())
    }

    fn cohorts(&self, number: usize, group: &GroupView) -> Vec<CohortRow> {
        let terms = &group.terms;
        let cohort = |(members, behind, walks, told): &(Vec<PeerId>, u64, bool, usize)| {
            let waiting: u64 = members.iter().map(|peer| self.rib.waiting(*peer)).sum();
            CohortRow {
                group: number,
                family: group.family.name(),
                audience: audience(terms.audience),
                kind: format!("{:?}", terms.kind).to_lowercase(),
                add_path: terms.add_path,
                message_max: terms.message_max,
                constrained: terms.constrained,
                next_hop_self: terms.next_hop_self.map(|it| it.to_string()),
                peers: members.len(),
                members: members.iter().map(|it| self.member(*it)).collect(),
                behind: *behind,
                walks: *walks,
                routes_out: *told,
                waiting_octets: waiting,
            }
        };
        group.cohorts.iter().map(cohort).collect()
    }

    /// The tables: a row for each family that has routes.
    pub(super) fn show_families(&self) -> Vec<FamilyRow> {
        let sizes = Family::ALL.iter().map(|family| (family, self.rib.sizes(*family)));
        let rows = sizes
            .filter(|(_, (routes, _))| *routes > 0)
            .map(|(family, (routes, paths))| FamilyRow { family: family.name(), routes, paths });
        rows.collect()
    }
}

fn word(attributes: &Attributes<'_>, kind: AttributeType) -> Option<[u8; 4]> {
    attributes.value(kind).and_then(|octets| octets.first_chunk::<4>().copied())
}

fn address(attributes: &Attributes<'_>, kind: AttributeType) -> Option<String> {
    word(attributes, kind).map(|octets| Ipv4Addr::from(octets).to_string())
}

const fn audience(audience: rib::Audience) -> &'static str {
    match audience {
        rib::Audience::Peer => "peers",
        rib::Audience::AdjRibOut => "stations: adj-rib-out",
        rib::Audience::LocRib => "stations: loc-rib",
    }
}

/// Addresses of four or sixteen octets, with a route distinguisher of zero before them or not.
fn show_next_hop(octets: &[u8]) -> String {
    let v6 = |octets: &[u8]| {
        octets.first_chunk::<16>().map(|it| Ipv6Addr::from(*it).to_string()).unwrap_or_default()
    };
    let v4 = |octets: &[u8]| {
        octets.first_chunk::<4>().map(|it| Ipv4Addr::from(*it).to_string()).unwrap_or_default()
    };
    match octets.len() {
        4 => v4(octets),
        12 => v4(&octets[8..]),
        16 => v6(octets),
        24 => v6(&octets[8..]),
        32 => format!("{} {}", v6(octets), v6(&octets[16..])),
        48 => format!("{} {}", v6(&octets[8..]), v6(&octets[32..])),
        _ => hex(octets),
    }
}

fn show_as_path(value: &[u8]) -> String {
    let segment = |segment: bgp::codec::Segment<'_>| {
        let all = segment.iter().map(|asn| asn.to_string()).collect::<Vec<_>>().join(" ");
        match segment.kind {
            SegmentKind::Sequence => all,
            SegmentKind::Set => format!("{{{all}}}"),
            SegmentKind::ConfedSequence => format!("({all})"),
            SegmentKind::ConfedSet => format!("({{{all}}})"),
        }
    };
    AsPath::new(value, true).segments().map(segment).collect::<Vec<_>>().join(" ")
}

fn show_addresses(value: &[u8]) -> Vec<String> {
    let all = value.as_chunks::<4>().0.iter();
    all.map(|octets| Ipv4Addr::from(*octets).to_string()).collect()
}

/// Communities of all kinds.
fn communities(attributes: &Attributes<'_>) -> Vec<String> {
    let value = |kind| attributes.value(kind).unwrap_or_default();
    let plain = Community::all(value(AttributeType::Communities)).map(|it| it.to_string());
    let extended = ExtendedCommunity::all(value(AttributeType::ExtendedCommunities));
    let large = LargeCommunity::all(value(AttributeType::LargeCommunities));
    let extended = extended.map(|it| it.to_string());
    plain.chain(extended).chain(large.map(|it| it.to_string())).collect()
}

/// Names of the attributes that are there.
fn types(attributes: &Attributes<'_>) -> Vec<String> {
    let name = |number: u8| match AttributeType::of(number) {
        Some(kind) => kind.name().to_owned(),
        None => format!("type {number}"),
    };
    attributes.flatten().map(|attribute| name(attribute.number)).collect()
}

/// Octets in hexadecimal.
#[must_use]
pub fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
