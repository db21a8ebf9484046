//! What a route's attributes become on their way to the peers of a group.

use crate::core_attributes;
use crate::policy::{Changed, Policy, Subject, Verdict};
use crate::sets::Set;
use crate::{Audience, Kind, Terms};
use bgp::codec::{
    Asn, AttributeType, Attributes, Edit, Identifier, Role, SegmentKind, WellKnownCommunity,
    prepend, rewrite, to_two_octets,
};
use bgp::family::Family;
use core::net::IpAddr;

/// LOCAL_PREF for internal peers of a route that came without.
const LOCAL_PREF: [u8; 4] = crate::decide::LOCAL_PREF_DEFAULT.to_be_bytes();

/// The AFI of IPv6: its next hops have 16 octets.
const AFI_IPV6: u16 = 2;

/// Attributes that one route is changed in at most.
const EDITS_MAX: usize = 16;

/// Who we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Own {
    pub(crate) asn: Asn,
    pub(crate) identifier: Identifier,
    pub(crate) cluster: Identifier,
}

/// Attributes and next hop as they are sent, with the room to make them.
#[derive(Debug, Default)]
pub(crate) struct Exported {
    pub(crate) attributes: Vec<u8>,
    /// Of MP_REACH_NLRI; empty where NEXT_HOP says it.
    pub(crate) next_hop: Vec<u8>,
    changed: Changed,
    values: Values,
    wide: Vec<u8>,
}

/// Values of attributes that are set.
#[derive(Debug, Default)]
struct Values {
    plain_next_hop: Option<[u8; 4]>,
    path: Vec<u8>,
    clusters: Vec<u8>,
    /// Empty where they stay as they are.
    communities: Vec<u8>,
    /// What stays of the extended ones.
    extended: Vec<u8>,
    originator: [u8; 4],
    asn: [u8; 4],
}

/// The edits of one route, without a heap.
struct Edits<'v> {
    list: [Edit<'v>; EDITS_MAX],
    count: usize,
}

impl Default for Edits<'_> {
    fn default() -> Self {
        let none = Edit { kind: AttributeType::Origin, value: None };
        Self { list: [none; EDITS_MAX], count: 0 }
    }
}

impl<'v> Edits<'v> {
    fn push(&mut self, kind: AttributeType, value: Option<&'v [u8]>) {
        self.list[self.count] = Edit { kind, value };
        self.count += 1;
    }

    /// Puts them in the order of their types.
    fn sort(&mut self) {
        self.list[..self.count].sort_unstable_by_key(|it| it.kind);
    }

    fn made(&self) -> &[Edit<'v>] {
        &self.list[..self.count]
    }
}

/// A path, ASes of four octets, with one AS in place of another.
fn replaced(path: &[u8], asn: Asn, by: Asn) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(path.len()), path);
    while let Some((&[kind, count], behind)) = rest.split_first_chunk::<2>() {
        let (ases, next) = behind.split_at(behind.len().min(4 * usize::from(count)));
        out.extend_from_slice(&[kind, count]);
        for it in ases.as_chunks::<4>().0 {
            let is_it = *it == asn.to_be_bytes();
            out.extend_from_slice(&if is_it { by.to_be_bytes() } else { *it });
        }
        rest = next;
    }
    out
}

/// How routes are told to the peers of a group.
pub(crate) struct Export<'a> {
    pub(crate) own: Own,
    pub(crate) family: Family,
    pub(crate) terms: &'a Terms,
    pub(crate) policy: Option<&'a dyn Policy>,
}

impl Export<'_> {
    /// Whether routes of a set are told to the group at all, its policy aside.
    pub(crate) fn takes(&self, set: &Set) -> bool {
        if self.terms.audience == Audience::LocRib {
            return set.rank.is_usable();
        }
        let is_external = self.terms.kind == Kind::External;
        // IPv4, with labels and of VPNs too, with an IPv6 next hop (RFC 8950 §4).
        let is_extended = self.family.extends_next_hop()
            && match (self.terms.next_hop_self, set.next_hop().len()) {
                (Some(own), _) => own.is_ipv6(),
                (None, octets) => octets > 0 && !self.family.takes_next_hop(octets, false),
            };
        let is_good = !set.no_advertise
            && !set.rank.is_refused()
            && (self.terms.location != 0 || !set.rank.is_unreachable());
        let stays_inside = (is_external && set.no_export)
            || (set.only_to_customers && self.leads_up())
            || (set.rank.is_stale() && !self.terms.long_lived);
        let comes_back = self.terms.site.is_some_and(|site| set.is_of_site(site));
        let is_understood = self.terms.extended_next_hop || !is_extended;
        set.kind.is_reflected_to(self.terms.kind)
            && is_good
            && !(stays_inside || comes_back)
            && is_understood
    }

    /// Whether the peers are no customers: providers, peers or route servers (RFC 9234 §5).
    const fn leads_up(&self) -> bool {
        use Role::{Customer, Peer, RouteServerClient};
        matches!(self.terms.role, Some(Customer | Peer | RouteServerClient))
    }

    /// Whether the peers may tell routes to customers only (RFC 9234 §5).
    const fn leads_down(&self) -> bool {
        use Role::{Peer, Provider, RouteServer};
        matches!(self.terms.role, Some(Provider | Peer | RouteServer))
    }

    /// Whether the group's policy looks at the keys of routes.
    pub(crate) fn looks_at_keys(&self) -> bool {
        self.policy.is_some_and(|policy| policy.depends_on_key(self.terms.export))
    }

    /// Writes what the routes of a set are told with; whether they are told.
    pub(crate) fn write(&self, set: &Set, key: &[u8], out: &mut Exported) -> bool {
        let Exported { attributes, next_hop, changed, values, wide } = out;
        let (mut from, mut hop) = (set.attributes(), set.next_hop());
        if self.terms.audience == Audience::LocRib {
            attributes.clear();
            attributes.extend_from_slice(from);
            next_hop.clear();
            next_hop.extend_from_slice(hop);
            return true;
        }
        if let Some(policy) = self.policy {
            let (attributes, next_hop) = (from, hop);
            let subject =
                Subject { family: self.family, key, attributes, next_hop, from: set.kind };
            changed.attributes.clear();
            changed.next_hop.clear();
            match policy.judge(self.terms.export, &subject, changed) {
                Verdict::Accept => {}
                Verdict::Changed => (from, hop) = (&changed.attributes, &changed.next_hop),
                Verdict::Reject => return false,
            }
        }
        next_hop.clear();
        next_hop.extend_from_slice(hop);
        values.plain_next_hop = self.put_next_hop(next_hop);
        values.communities.clear();
        if set.rank.is_stale() && !set.has_community(WellKnownCommunity::LlgrStale) {
            let old = Attributes::new(from).value(AttributeType::Communities);
            values.communities.extend_from_slice(old.unwrap_or_default());
            values.communities.extend(WellKnownCommunity::LlgrStale.number().to_be_bytes());
        }
        let mut edits = Edits::default();
        match self.terms.kind {
            Kind::External => self.to_external(set, Attributes::new(from), values, &mut edits),
            Kind::Client | Kind::NonClient | Kind::Own => {
                self.to_internal(set, Attributes::new(from), values, &mut edits);
            }
        }
        attributes.clear();
        if self.terms.four_octet_as {
            return rewrite(from, edits.made(), attributes);
        }
        wide.clear();
        rewrite(from, edits.made(), wide) && to_two_octets(wide, attributes)
    }

    /// What changes on the way to another AS, in the order of the types.
    fn to_external<'v>(
        &self,
        set: &Set,
        from: Attributes<'_>,
        values: &'v mut Values,
        edits: &mut Edits<'v>,
    ) {
        let old = from.value(AttributeType::AsPath).unwrap_or_default();
        values.path.clear();
        match self.terms.overridden {
            None => prepend(old, SegmentKind::Sequence, self.own.asn, &mut values.path),
            Some(asn) => {
                let path = replaced(old, asn, self.own.asn);
                prepend(&path, SegmentKind::Sequence, self.own.asn, &mut values.path);
            }
        }
        let drops = self.terms.drops_core_attributes && core_attributes::stand(from);
        if drops {
            values.extended.clear();
            values.extended.extend(core_attributes::rest(from).flat_map(|it| it.0));
        }
        values.asn = self.own.asn.to_be_bytes();
        let is_marked = from.value(AttributeType::OnlyToCustomer).is_some();
        let values = &*values;
        let mut edit = |kind, value| edits.push(kind, value);
        edit(AttributeType::AsPath, Some(&values.path));
        if let Some(own) = &values.plain_next_hop {
            edit(AttributeType::NextHop, Some(own));
        }
        if set.kind != Kind::Own {
            edit(AttributeType::MultiExitDisc, None);
        }
        edit(AttributeType::LocalPref, None);
        if !values.communities.is_empty() {
            edit(AttributeType::Communities, Some(&values.communities));
        }
        edit(AttributeType::OriginatorId, None);
        edit(AttributeType::ClusterList, None);
        if !self.terms.aigp {
            edit(AttributeType::Aigp, None);
        }
        if self.leads_down() && !is_marked {
            edit(AttributeType::OnlyToCustomer, Some(&values.asn));
        }
        if drops {
            let value = (!values.extended.is_empty()).then_some(&values.extended[..]);
            edit(AttributeType::ExtendedCommunities, value);
            core_attributes::kinds().for_each(|kind| edit(kind, None));
            edits.sort();
        }
    }

    /// What changes on the way to a peer of our AS, in the order of the types.
    fn to_internal<'v>(
        &self,
        set: &Set,
        from: Attributes<'_>,
        values: &'v mut Values,
        edits: &mut Edits<'v>,
    ) {
        let is_reflected = matches!(set.kind, Kind::Client | Kind::NonClient);
        let old = from.value(AttributeType::ClusterList).unwrap_or_default();
        values.clusters.clear();
        values.clusters.extend(self.own.cluster.to_be_bytes());
        values.clusters.extend_from_slice(old);
        values.originator = self.originator(set).to_be_bytes();
        let values = &*values;
        let mut edit = |kind, value| edits.push(kind, value);
        if let Some(own) = &values.plain_next_hop {
            edit(AttributeType::NextHop, Some(own));
        }
        if from.value(AttributeType::LocalPref).is_none() {
            edit(AttributeType::LocalPref, Some(&LOCAL_PREF));
        }
        if !values.communities.is_empty() {
            edit(AttributeType::Communities, Some(&values.communities));
        }
        if is_reflected {
            edit(AttributeType::OriginatorId, Some(&values.originator));
            edit(AttributeType::ClusterList, Some(&values.clusters));
        }
        if !self.terms.aigp {
            edit(AttributeType::Aigp, None);
        }
    }

    /// Who brought the route into the AS. Of route targets it is we ourselves: a client takes the
    /// wish of another for its own otherwise (RFC 4684 §3.2).
    fn originator(&self, set: &Set) -> Identifier {
        match self.family {
            Family::RouteTarget => self.own.identifier,
            _ => set.rank.originator,
        }
    }

    /// Sets our own address as the next hop, where that is wanted: in `next_hop`, or as the value
    /// of NEXT_HOP, which is returned.
    fn put_next_hop(&self, next_hop: &mut Vec<u8>) -> Option<[u8; 4]> {
        let own = self.terms.next_hop_self?;
        match own {
            IpAddr::V4(own) if self.family == Family::Ipv4Unicast => {
                next_hop.clear();
                return Some(own.octets());
            }
            _ if next_hop.is_empty() && self.family == Family::Ipv4Unicast => {}
            _ if next_hop.is_empty() => return None, // a family without next hops
            _ => {}
        }
        // Behind a route distinguisher of zeros where the family has them.
        let has_distinguisher = matches!(next_hop.len(), 12 | 24 | 48);
        next_hop.clear();
        next_hop.resize(if has_distinguisher { 8 } else { 0 }, 0);
        match own {
            IpAddr::V4(own) if self.family.afi() == AFI_IPV6 => {
                next_hop.extend_from_slice(&own.to_ipv6_mapped().octets());
            }
            IpAddr::V4(own) => next_hop.extend_from_slice(&own.octets()),
            IpAddr::V6(own) => next_hop.extend_from_slice(&own.octets()),
        }
        None
    }
}
