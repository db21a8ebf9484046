//! The policies of the sessions that stand: the tables know them by number. A number is a policy
//! bound to what its verdicts depend on of a session; sessions that are alike share it.

use bgp::codec::{AttributeType, Attributes, Edit, rewrite};
use bgp::family::Family;
use core::fmt;
use policy::{NewNextHop, Peer, Policies, Scratch, Validation};
use rib::{Changed, Subject, Verdict};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Says what origin validation (RFC 6811) finds.
pub trait Validate: fmt::Debug + Send + Sync {
    /// The state of a route; `None` where nobody says anything, or its family is not validated.
    fn validation(&self, family: Family, key: &[u8], attributes: &[u8]) -> Option<Validation>;
}

/// A policy, and what its verdicts depend on of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PolicyBinding {
    /// The name of the policy.
    pub(crate) policy: String,
    /// Our end of the session: the next hop that a rule may set.
    pub(crate) own: IpAddr,
    /// Name, group, address and AS of the peer, if the policy looks at them.
    pub(crate) peer: Option<(String, String, IpAddr, u32)>,
}

/// A binding, and how many sessions have it.
#[derive(Debug, Clone)]
struct Slot {
    binding: PolicyBinding,
    uses: u32,
}

#[derive(Debug, Default)]
struct Inner {
    /// Number 1 is the first: zero is no policy.
    slots: Vec<Slot>,
    scratch: Scratch,
}

/// Policies by the numbers that the tables use. Only one shard asks: nobody waits for the lock.
#[derive(Debug)]
pub struct PolicyTable {
    policies: Policies,
    validation: Option<Arc<dyn Validate>>,
    inner: Mutex<Inner>,
}

impl PolicyTable {
    pub(crate) fn new(policies: Policies, validation: Option<Arc<dyn Validate>>) -> Self {
        Self { policies, validation, inner: Mutex::default() }
    }

    /// Other policies for the sessions that stand.
    pub(crate) fn with(&self, policies: Policies) -> Self {
        let slots = self.lock(|inner| inner.slots.clone());
        let inner = Inner { slots, scratch: Scratch::default() };
        Self { policies, validation: self.validation.clone(), inner: Mutex::new(inner) }
    }

    fn lock<T>(&self, act: impl FnOnce(&mut Inner) -> T) -> T {
        act(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the policy of that name looks at who sent a route.
    pub(crate) fn looks_at_peer(&self, name: &str) -> bool {
        let found = self.policies.named(name).map(|id| self.policies.policy(id));
        found.is_some_and(|policy| policy.inputs().peer)
    }

    /// The number for a session that begins.
    pub(crate) fn bind(&self, binding: PolicyBinding) -> u32 {
        self.lock(|inner| {
            let same = inner.slots.iter().position(|slot| slot.uses > 0 && slot.binding == binding);
            let free = || inner.slots.iter().position(|slot| slot.uses == 0);
            match same.or_else(free) {
                Some(at) => {
                    let uses = inner.slots[at].uses + 1;
                    inner.slots[at] = Slot { binding, uses };
                    slot_number(at)
                }
                None => {
                    inner.slots.push(Slot { binding, uses: 1 });
                    slot_number(inner.slots.len() - 1)
                }
            }
        })
    }

    /// Whether a number judges as that binding would: by its policy, for its peer if the policy
    /// looks at that.
    pub(crate) fn serves(&self, number: u32, wanted: &PolicyBinding) -> bool {
        self.lock(|inner| {
            let slot = number.checked_sub(1).and_then(|at| inner.slots.get(at as usize));
            slot.map(|slot| &slot.binding).is_some_and(|it| {
                let is_its = wanted.peer.is_none() || it.peer == wanted.peer;
                it.policy == wanted.policy && it.own == wanted.own && is_its
            })
        })
    }

    /// A session that had a number ended.
    pub(crate) fn release(&self, number: u32) {
        self.lock(|inner| {
            if let Some(slot) =
                number.checked_sub(1).and_then(|at| inner.slots.get_mut(at as usize))
            {
                slot.uses = slot.uses.saturating_sub(1);
            }
        });
    }

    /// The numbers of the policies of these names.
    pub(crate) fn numbers(&self, names: &BTreeSet<String>) -> Vec<u32> {
        let is_it = |slot: &Slot| slot.uses > 0 && names.contains(&slot.binding.policy);
        self.lock(|inner| {
            let numbered = (1..).zip(&inner.slots);
            numbered.filter(|(_, slot)| is_it(slot)).map(|(number, _)| number).collect()
        })
    }

    /// The numbers of the policies that look at what origin validation says.
    #[must_use]
    pub fn validating(&self) -> Vec<u32> {
        self.lock(|inner| {
            let looks = |(number, slot): &(u32, &Slot)| {
                let found = self.found(&inner.slots, *number);
                slot.uses > 0 && found.is_some_and(|(policy, _)| policy.inputs().validation)
            };
            (1..).zip(&inner.slots).filter(looks).map(|(number, _)| number).collect()
        })
    }

    fn found<'s>(
        &self,
        slots: &'s [Slot],
        number: u32,
    ) -> Option<(&policy::Policy, &'s PolicyBinding)> {
        let binding = &slots.get(number.checked_sub(1)? as usize)?.binding;
        Some((self.policies.policy(self.policies.named(&binding.policy)?), binding))
    }
}

impl rib::Policy for PolicyTable {
    fn depends_on_key(&self, number: u32) -> bool {
        self.lock(|inner| {
            let found = self.found(&inner.slots, number);
            found.is_some_and(|(policy, _)| policy.depends_on_route())
        })
    }

    fn judge(&self, number: u32, subject: &Subject<'_>, out: &mut Changed) -> Verdict {
        self.lock(|inner| {
            let Inner { slots, scratch } = inner;
            let Some((policy, binding)) = self.found(slots, number) else { return Verdict::Reject };
            let next_hop = match subject.next_hop {
                [] => Attributes::new(subject.attributes).value(AttributeType::NextHop),
                octets => Some(octets),
            };
            let (name, group, address, asn) = match &binding.peer {
                Some((name, group, address, asn)) => (&**name, &**group, *address, *asn),
                None => ("", "", binding.own, 0),
            };
            let Subject { family, key, attributes, .. } = *subject;
            let validation = self.validation.as_ref().filter(|_| policy.inputs().validation);
            let validation = validation.and_then(|it| it.validation(family, key, attributes));
            let asked = policy::Subject {
                family,
                key,
                attributes,
                next_hop: next_hop.unwrap_or_default(),
                validation,
                peer: Peer { name, group, address, asn },
            };
            match policy.evaluate(&asked, scratch) {
                policy::Verdict::Accept => Verdict::Accept,
                policy::Verdict::Reject => Verdict::Reject,
                policy::Verdict::Changed { attributes, next_hop } => {
                    let address = next_hop.map(|next_hop| match next_hop {
                        NewNextHop::Own => binding.own,
                        NewNextHop::Address(address) => address,
                    });
                    write(subject, attributes, address, out);
                    Verdict::Changed
                }
            }
        })
    }
}

/// The number of a slot; zero is no policy.
fn slot_number(at: usize) -> u32 {
    u32::try_from(at + 1).expect("two slots for each peer at most")
}

/// Writes what becomes of a route. A next hop that its family cannot have is left as it was.
fn write(subject: &Subject<'_>, attributes: &[u8], address: Option<IpAddr>, out: &mut Changed) {
    match (subject.next_hop, address) {
        ([], Some(IpAddr::V4(address))) if subject.family == Family::Ipv4Unicast => {
            let value = Some(&address.octets()[..]);
            let edit = Edit { kind: AttributeType::NextHop, value };
            let fits = rewrite(attributes, &[edit], &mut out.attributes);
            debug_assert!(fits, "four octets");
        }
        (old, address) => {
            out.attributes.extend_from_slice(attributes);
            // A family without next hops (FlowSpec, RFC 8955 §4) gets none.
            let has_one = !old.is_empty() || subject.family == Family::Ipv4Unicast;
            let address = address.filter(|_| has_one);
            let new = address.and_then(|address| octets(subject.family, old.len(), address));
            out.next_hop.extend_from_slice(new.as_deref().unwrap_or(old));
        }
    }
}

/// The octets of a next hop of MP_REACH_NLRI: with a distinguisher of zero where the old one had.
fn octets(family: Family, length: usize, address: IpAddr) -> Option<Vec<u8>> {
    let distinguisher = if matches!(length, 12 | 24 | 48) { 8 } else { 0 };
    let mut octets = vec![0; distinguisher];
    match address {
        IpAddr::V4(address) => octets.extend_from_slice(&address.octets()),
        IpAddr::V6(address) => octets.extend_from_slice(&address.octets()),
    }
    (octets.len() == length || family.takes_next_hop(octets.len(), false)).then_some(octets)
}
