//! UPDATEs on their way into the tables.

use crate::decide::Rank;
use crate::export::Own;
use crate::interest::Interest;
use crate::key::Key;
use crate::metrics::Metrics;
use crate::peers::{Peer, is_constrained};
use crate::policy::{Changed, Policy, Subject, Verdict};
use crate::sets::Content;
use crate::table::{Announced, Table};
use crate::{Kind, PeerId};
use bgp::codec::{AsPath, AttributeType, Attributes, Edit, Offence, Role, rewrite};
use bgp::family::{Family, Routes};

/// What an UPDATE was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Read {
    /// The family whose RIB ended with it (RFC 4724 §2).
    pub end_of_rib: Option<Family>,
    /// What was wrong with it and was answered without an end of the session (RFC 7606).
    pub offence: Option<Offence>,
    /// Routes that were announced.
    pub announced: u32,
    /// Routes that were withdrawn.
    pub withdrawn: u32,
}

/// Routes of one attribute set as they came.
#[derive(Clone, Copy)]
pub(crate) struct Arrival<'a> {
    pub(crate) routes: Routes<'a>,
    pub(crate) attributes: &'a [u8],
    /// Of MP_REACH_NLRI; empty where NEXT_HOP says it.
    pub(crate) next_hop: &'a [u8],
}

/// What reading needs beside the table.
pub(crate) struct Desk<'a> {
    pub(crate) own: Own,
    pub(crate) number: PeerId,
    pub(crate) peer: &'a mut Peer,
    pub(crate) interest: &'a mut Interest,
    pub(crate) metrics: &'a Metrics,
    pub(crate) policy: Option<&'a dyn Policy>,
    pub(crate) changed: &'a mut Changed,
}

impl Desk<'_> {
    /// Whether the route has come through here before (RFC 4456 §8, RFC 4271 §9).
    fn is_loop(&self, attributes: &[u8]) -> bool {
        let all = Attributes::new(attributes);
        if self.peer.neighbour.kind == Kind::External {
            let path = all.value(AttributeType::AsPath).unwrap_or_default();
            return AsPath::new(path, true).contains(self.own.asn);
        }
        let originator = all.value(AttributeType::OriginatorId);
        let clusters = all.value(AttributeType::ClusterList).unwrap_or_default();
        originator.is_some_and(|value| value == self.own.identifier.to_be_bytes())
            || clusters.as_chunks::<4>().0.contains(&self.own.cluster.to_be_bytes())
    }

    /// Whether a customer or a peer tells what was for customers only (RFC 9234 §5).
    fn is_leak(&self, attributes: &[u8]) -> bool {
        let value = Attributes::new(attributes).value(AttributeType::OnlyToCustomer);
        match (self.peer.neighbour.role, value) {
            (Some(Role::Provider | Role::RouteServer), Some(_)) => true,
            (Some(Role::Peer), Some(value)) => value != self.peer.neighbour.asn.to_be_bytes(),
            _ => false,
        }
    }

    /// Appends the attributes with ONLY_TO_CUSTOMER, if they come from above without (RFC 9234 §5).
    pub(crate) fn mark(&self, attributes: &[u8], out: &mut Vec<u8>) {
        use Role::{Customer, Peer, RouteServerClient};
        let comes_down =
            matches!(self.peer.neighbour.role, Some(Customer | Peer | RouteServerClient));
        let kind = AttributeType::OnlyToCustomer;
        if comes_down && Attributes::new(attributes).value(kind).is_none() {
            let asn = self.peer.neighbour.asn.to_be_bytes();
            rewrite(attributes, &[Edit { kind, value: Some(&asn) }], out);
        }
    }

    /// The set of that content in the table; it has no paths yet if it is new.
    fn set<K: Key>(&mut self, table: &mut Table<K>, attributes: &[u8], next_hop: &[u8]) -> u32 {
        let (peer, newest) = (self.number, table.source_mut(self.number).sets);
        let epoch = table.source_mut(peer).epoch;
        let content = Content { peer, epoch, attributes, next_hop };
        if let Some(set) = table.sets.find(&content) {
            return set;
        }
        let about = &self.peer.neighbour;
        let rank = Rank::read(attributes, about.kind, about.identifier, about.address)
            .seen_with(self.metrics.of_route(0, attributes, next_hop));
        let set = table.sets.insert(&content, about.kind, rank, newest);
        table.source_mut(peer).sets = set;
        if is_constrained(table.family) {
            table.sets.get_mut(set).class = self.interest.class(attributes);
        }
        set
    }

    /// Takes routes into the table; each new one is told to `fresh`.
    pub(crate) fn announce<K: Key>(
        &mut self,
        table: &mut Table<K>,
        arrival: Arrival<'_>,
        mut fresh: impl FnMut(&K),
    ) -> u32 {
        let Arrival { routes, attributes, next_hop } = arrival;
        if self.is_loop(attributes) || self.is_leak(attributes) {
            let looped = self.withdraw(table, routes, |_| {});
            self.peer.counters.looped += u64::from(looped);
            return 0;
        }
        let import = self.peer.neighbour.import;
        match self.policy.filter(|_| import != 0) {
            Some(policy) if policy.depends_on_key(import) => {
                return self.judged_each(table, arrival, policy, fresh);
            }
            Some(policy) => return self.judged(table, arrival, policy, fresh),
            None => {}
        }
        let set = self.set(table, attributes, next_hop);
        let (peer, mut count) = (self.number, 0);
        K::each(routes, |path_id, key, payload| {
            count += 1;
            let path = Announced { peer, path_id, payload, set };
            if table.announce(key.clone(), path) {
                fresh(&key);
            }
        });
        if count == 0 {
            table.drop_set(set);
        }
        count
    }

    /// Takes routes in by a policy that looks at each of them.
    fn judged_each<K: Key>(
        &mut self,
        table: &mut Table<K>,
        arrival: Arrival<'_>,
        policy: &dyn Policy,
        mut fresh: impl FnMut(&K),
    ) -> u32 {
        let (peer, mut count, mut octets) = (self.number, 0, Vec::new());
        K::each(arrival.routes, |path_id, key, payload| {
            octets.clear();
            key.octets(&mut octets);
            let set = match self.judge(policy, &octets, table.family, arrival) {
                Verdict::Accept => self.set(table, arrival.attributes, arrival.next_hop),
                Verdict::Changed => {
                    let changed = std::mem::take(self.changed);
                    let set = self.set(table, &changed.attributes, &changed.next_hop);
                    *self.changed = changed;
                    set
                }
                Verdict::Reject => {
                    self.peer.counters.refused += 1;
                    table.withdraw(&key, peer, path_id);
                    return;
                }
            };
            count += 1;
            let path = Announced { peer, path_id, payload, set };
            if table.announce(key.clone(), path) {
                fresh(&key);
            }
        });
        count
    }

    fn judge(
        &mut self,
        policy: &dyn Policy,
        key: &[u8],
        family: Family,
        arrival: Arrival<'_>,
    ) -> Verdict {
        let Arrival { attributes, next_hop, .. } = arrival;
        let from = self.peer.neighbour.kind;
        let subject = Subject { family, key, attributes, next_hop, from };
        self.changed.attributes.clear();
        self.changed.next_hop.clear();
        policy.judge(self.peer.neighbour.import, &subject, self.changed)
    }

    /// Takes routes in by a policy that does not look at each of them.
    fn judged<K: Key>(
        &mut self,
        table: &mut Table<K>,
        arrival: Arrival<'_>,
        policy: &dyn Policy,
        fresh: impl FnMut(&K),
    ) -> u32 {
        let verdict = self.judge(policy, &[], table.family, arrival);
        let changed = std::mem::take(self.changed);
        let import = std::mem::take(&mut self.peer.neighbour.import);
        let count = match verdict {
            Verdict::Accept => self.announce(table, arrival, fresh),
            Verdict::Changed => {
                let (attributes, next_hop) = (&changed.attributes[..], &changed.next_hop[..]);
                self.announce(table, Arrival { attributes, next_hop, ..arrival }, fresh)
            }
            Verdict::Reject => {
                let refused = self.withdraw(table, arrival.routes, |_| {});
                self.peer.counters.refused += u64::from(refused);
                0
            }
        };
        self.peer.neighbour.import = import;
        *self.changed = changed;
        count
    }

    /// Takes routes out of the table; how many were said, and each that was there to `gone`.
    pub(crate) fn withdraw<K: Key>(
        &mut self,
        table: &mut Table<K>,
        routes: Routes<'_>,
        mut gone: impl FnMut(&K),
    ) -> u32 {
        let (peer, mut count) = (self.number, 0);
        K::each(routes, |path_id, key, _| {
            count += 1;
            if table.withdraw(&key, peer, path_id) {
                gone(&key);
            }
        });
        count
    }
}
