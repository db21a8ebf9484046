//! UPDATEs on their way into the tables.

use crate::core_attributes;
use crate::decide::Rank;
use crate::export::Own;
use crate::interest::Interest;
use crate::key::Key;
use crate::metrics::Metrics;
use crate::next_hops;
use crate::peers::{Peer, is_constrained};
use crate::policy::{Changed, Policy, Subject, Verdict, is_judged};
use crate::sets::Content;
use crate::table::{Announced, Path, Table, Taken};
use crate::{Kind, NONE, PeerId};
use bgp::codec::{
    AsPath, AttributeType, Attributes, Edit, ExtendedCommunity, Role, Violation, rewrite,
};
use bgp::family::{Family, Routes};

/// What an UPDATE was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Read {
    /// The family whose RIB ended with it (RFC 4724 §2).
    pub end_of_rib: Option<Family>,
    /// What was wrong with it and was answered without an end of the session (RFC 7606).
    pub violation: Option<Violation>,
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
pub(crate) struct ImportContext<'a> {
    pub(crate) own: Own,
    pub(crate) number: PeerId,
    pub(crate) peer: &'a mut Peer,
    pub(crate) interest: &'a mut Interest,
    pub(crate) metrics: &'a Metrics,
    pub(crate) policy: Option<&'a dyn Policy>,
    pub(crate) changed: &'a mut Changed,
}

impl ImportContext<'_> {
    /// Whether the route has come through here before: our AS stands in its path, on whatever
    /// session (RFC 4271 §9.1.2), or a reflector's marks say so (RFC 4456 §8).
    fn is_loop(&self, attributes: &[u8]) -> bool {
        let is_internal = self.peer.neighbour.kind != Kind::External;
        // One walk over the attributes: every UPDATE passes here.
        Attributes::new(attributes).map_while(Result::ok).any(|it| match it.kind() {
            Some(AttributeType::AsPath) => {
                let own = AsPath::new(it.value, true).count(self.own.asn);
                own > usize::from(self.peer.neighbour.allow_own_as)
            }
            Some(AttributeType::OriginatorId) => {
                is_internal && it.value == self.own.identifier.to_be_bytes()
            }
            Some(AttributeType::ClusterList) => {
                is_internal && it.value.as_chunks::<4>().0.contains(&self.own.cluster.to_be_bytes())
            }
            _ => false,
        })
    }

    /// Whether a customer or a peer tells what was for customers only (RFC 9234 §5).
    fn is_leak(&self, attributes: &[u8]) -> bool {
        let value = || Attributes::new(attributes).value(AttributeType::OnlyToCustomer);
        match self.peer.neighbour.role {
            Some(Role::Provider | Role::RouteServer) => value().is_some(),
            Some(Role::Peer) => {
                value().is_some_and(|value| value != self.peer.neighbour.asn.to_be_bytes())
            }
            _ => false,
        }
    }

    /// Appends the attributes with ONLY_TO_CUSTOMER, if they come from above without (RFC 9234 §5),
    /// with the site of the peer (RFC 4364 §7), and without what a customer may not say; nothing
    /// where they stay as they are.
    pub(crate) fn mark(&self, attributes: &[u8], out: &mut Vec<u8>) {
        use Role::{Customer, Peer, RouteServerClient};
        let comes_down =
            matches!(self.peer.neighbour.role, Some(Customer | Peer | RouteServerClient));
        let kind = AttributeType::OnlyToCustomer;
        let is_marked = comes_down && Attributes::new(attributes).value(kind).is_none();
        let crate::Customer { site, drops_core_attributes, .. } = self.peer.neighbour.customer;
        let is_cleared =
            drops_core_attributes && core_attributes::stand(Attributes::new(attributes));
        if !is_marked && site.is_none() && !is_cleared {
            return;
        }
        let asn = self.peer.neighbour.asn.to_be_bytes();
        let mut communities = Vec::new();
        let mut edits = Vec::new();
        if is_marked {
            edits.push(Edit { kind, value: Some(&asn[..]) });
        }
        if site.is_some() || is_cleared {
            let kind = AttributeType::ExtendedCommunities;
            let value = Attributes::new(attributes).value(kind).unwrap_or_default();
            let stays =
                |it: &ExtendedCommunity| Some(*it) != site && !(is_cleared && it.steers_core());
            let all = ExtendedCommunity::all(value).filter(stays).chain(site);
            communities.extend(all.flat_map(|it| it.0));
            let value = (!communities.is_empty()).then_some(&communities[..]);
            edits.push(Edit { kind, value });
        }
        if is_cleared {
            edits.extend(core_attributes::kinds().map(|kind| Edit { kind, value: None }));
        }
        edits.sort_unstable_by_key(|it| it.kind);
        // No message has room for communities that leave none for eight octets more.
        let fits = rewrite(attributes, &edits, out);
        debug_assert!(fits, "they came in one message");
    }

    /// The set of that content in the table; it has no paths yet if it is new.
    fn set<K: Key>(&mut self, table: &mut Table<K>, content: &Content<'_>) -> u32 {
        let hash = table.sets.hash(content);
        if let Some(set) = table.sets.find(hash, content) {
            return set;
        }
        let Content { attributes, next_hop, .. } = *content;
        let newest = table.source_mut(self.number).sets;
        let about = &self.peer.neighbour;
        let address = next_hops::address(attributes, next_hop);
        // Where next hops are followed. One that the policy has put there is the operator's.
        let is_led = table.sets.next_hops.is_none()
            || content.came_as != NONE
            || address.is_none_or(|it| about.may_name(it, table.family));
        let metric = match (&table.sets.next_hops, address) {
            (None, _) => self.metrics.of_route(0, attributes, next_hop),
            (Some(_), None) => Some(0),
            (Some(hops), Some(it)) if is_led && hops.has_room(self.number, it) => hops.metric(it),
            (Some(_), Some(_)) => None,
        };
        let rank = Rank::read(attributes, about.kind, about.identifier, about.address);
        let set = table.sets.insert(hash, content, about.kind, rank.seen_with(metric), newest);
        if is_led {
            table.sets.link(set);
        } else {
            self.peer.counters.foreign_next_hops += 1;
        }
        let source = table.source_mut(self.number);
        source.sets = set;
        source.octets += (attributes.len() + next_hop.len()) as u64;
        if is_constrained(table.family) {
            table.sets.get_mut(set).class = self.interest.class(self.number, attributes);
        }
        set
    }

    /// The import policy of the peer.
    fn import(&self, family: Family) -> Option<&'_ dyn Policy> {
        self.policy.filter(|_| self.peer.neighbour.import != 0 && is_judged(family))
    }

    /// The set that a route has after the import policy.
    fn judged<K: Key>(
        &mut self,
        table: &mut Table<K>,
        policy: &dyn Policy,
        key: &[u8],
        came: &Content<'_>,
    ) -> u32 {
        let (attributes, next_hop) = (came.attributes, came.next_hop);
        let from = self.peer.neighbour.kind;
        let subject = Subject { family: table.family, key, attributes, next_hop, from };
        let mut changed = std::mem::take(self.changed);
        changed.attributes.clear();
        changed.next_hop.clear();
        let set = match policy.judge(self.peer.neighbour.import, &subject, &mut changed) {
            Verdict::Accept => self.set(table, came),
            Verdict::Changed => {
                let came_as = self.set(table, came);
                let (attributes, next_hop) = (&changed.attributes[..], &changed.next_hop[..]);
                self.set(table, &Content { attributes, next_hop, came_as, ..*came })
            }
            Verdict::Reject => {
                self.peer.counters.refused += 1;
                self.set(table, &Content { is_refused: true, ..*came })
            }
        };
        *self.changed = changed;
        set
    }

    /// Takes routes into the table; each that is new, or gone since it came through here before, is
    /// told to `turned`: whether it stands.
    pub(crate) fn announce<K: Key>(
        &mut self,
        table: &mut Table<K>,
        arrival: Arrival<'_>,
        mut turned: impl FnMut(&K, bool),
    ) -> u32 {
        let Arrival { routes, attributes, next_hop } = arrival;
        if routes.is_empty() {
            return 0;
        }
        if self.is_loop(attributes) || self.is_leak(attributes) {
            let looped = self.withdraw(table, routes, |key| turned(key, false));
            self.peer.counters.looped += u64::from(looped);
            return 0;
        }
        let (peer, mut count) = (self.number, 0);
        let epoch = table.source_mut(peer).epoch;
        let (came_as, is_refused) = (NONE, false);
        let came = Content { peer, epoch, attributes, next_hop, came_as, is_refused };
        let policy = self.policy.filter(|_| self.import(table.family).is_some());
        let by_key = policy.filter(|it| it.depends_on_key(self.peer.neighbour.import));
        let (mut octets, mut common, mut refused) = (Vec::new(), None, 0);
        K::each(routes, |path_id, key, payload| {
            count += 1;
            let set = if let Some(policy) = by_key {
                octets.clear();
                key.octets(&mut octets);
                self.judged(table, policy, &octets, &came)
            } else {
                *common.get_or_insert_with(|| match policy {
                    Some(policy) => self.judged(table, policy, &[], &came),
                    None => self.set(table, &came),
                })
            };
            match table.announce(key.clone(), Announced { peer, path_id, payload, set }) {
                Taken::New => turned(&key, true),
                Taken::Known => {}
                Taken::Refused => {
                    refused += 1;
                    if by_key.is_some() {
                        table.drop_set(set);
                    }
                }
            }
        });
        if refused > 0 {
            self.peer.counters.treated_as_withdrawn += refused;
            common.into_iter().for_each(|set| table.drop_set(set));
        }
        count
    }

    /// Lets the import policy judge a path of the peer anew; whether that changed it.
    pub(crate) fn rejudge<K: Key>(&mut self, table: &mut Table<K>, path: u32) -> bool {
        let Path { entry, set, .. } = table.paths[path as usize];
        let it = table.sets.get(set);
        let raw = table.sets.get(if it.came_as == NONE { set } else { it.came_as });
        let (attributes, next_hop) = (raw.attributes().to_vec(), raw.next_hop().to_vec());
        let came = Content {
            peer: self.number,
            epoch: it.epoch,
            attributes: &attributes,
            next_hop: &next_hop,
            came_as: NONE,
            is_refused: false,
        };
        let fresh = match self.policy.filter(|_| self.import(table.family).is_some()) {
            Some(policy) => {
                let mut octets = Vec::new();
                table.entries[entry as usize].key.octets(&mut octets);
                self.judged(table, policy, &octets, &came)
            }
            None => self.set(table, &came),
        };
        if fresh != set {
            table.reset(path, fresh);
        }
        fresh != set
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
