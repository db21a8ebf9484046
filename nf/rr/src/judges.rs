//! Routing policies between the peers and the rib: a number of the rib is a policy, for a session.

use crate::origins::{Shared, in_words};
use bgp::codec::{AttributeType, Attributes, Edit, rewrite};
use bgp::family::Family;
use policy::{NewNextHop, Peer, Policies, Scratch};
use rib::{Changed, Subject, Verdict};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// For whom a policy judges, as far as its verdict depends on that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bench {
    /// The name of the policy.
    pub(crate) policy: String,
    /// Our end of the session: the next hop that a rule may set.
    pub(crate) own: IpAddr,
    /// Name, group, address and AS of the peer, if the policy looks at them.
    pub(crate) peer: Option<(String, String, IpAddr, u32)>,
}

/// A number of the rib, and how many sessions have it.
#[derive(Debug, Clone)]
struct Seat {
    bench: Bench,
    uses: u32,
}

#[derive(Debug, Default)]
struct Court {
    /// Number 1 is the first: zero is no policy.
    seats: Vec<Seat>,
    scratch: Scratch,
}

/// The policies of a reflector. Only one shard asks: nobody waits for the lock.
#[derive(Debug)]
pub(crate) struct Judges {
    policies: Policies,
    records: Shared,
    court: Mutex<Court>,
}

impl Judges {
    pub(crate) fn new(policies: Policies, records: Shared) -> Self {
        Self { policies, records, court: Mutex::default() }
    }

    /// Other policies for the sessions that stand.
    pub(crate) fn with(&self, policies: Policies) -> Self {
        let seats = self.lock(|court| court.seats.clone());
        let court = Court { seats, scratch: Scratch::default() };
        Self { policies, records: self.records.clone(), court: Mutex::new(court) }
    }

    fn lock<T>(&self, act: impl FnOnce(&mut Court) -> T) -> T {
        act(&mut self.court.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the policy of that name looks at who sent a route.
    pub(crate) fn looks_at_peer(&self, name: &str) -> bool {
        let found = self.policies.named(name).map(|id| self.policies.policy(id));
        found.is_some_and(|policy| policy.inputs().peer)
    }

    /// The number for a session that begins.
    pub(crate) fn take(&self, bench: Bench) -> u32 {
        self.lock(|court| {
            let same = court.seats.iter().position(|seat| seat.uses > 0 && seat.bench == bench);
            let free = || court.seats.iter().position(|seat| seat.uses == 0);
            match same.or_else(free) {
                Some(at) => {
                    let uses = court.seats[at].uses + 1;
                    court.seats[at] = Seat { bench, uses };
                    seat_number(at)
                }
                None => {
                    court.seats.push(Seat { bench, uses: 1 });
                    seat_number(court.seats.len() - 1)
                }
            }
        })
    }

    /// Whether a number is one of a policy that looks at who sent a route, and does not know who
    /// that is: it did not look when the session began.
    pub(crate) fn lacks_peer(&self, number: u32) -> bool {
        self.lock(|court| {
            let found = self.found(&court.seats, number);
            found.is_some_and(|(policy, bench)| policy.inputs().peer && bench.peer.is_none())
        })
    }

    /// A session that had a number ended.
    pub(crate) fn leave(&self, number: u32) {
        self.lock(|court| {
            if let Some(seat) =
                number.checked_sub(1).and_then(|at| court.seats.get_mut(at as usize))
            {
                seat.uses = seat.uses.saturating_sub(1);
            }
        });
    }

    /// The numbers of the policies of these names.
    pub(crate) fn numbers(&self, names: &BTreeSet<String>) -> Vec<u32> {
        let is_it = |seat: &Seat| seat.uses > 0 && names.contains(&seat.bench.policy);
        self.lock(|court| {
            let numbered = (1..).zip(&court.seats);
            numbered.filter(|(_, seat)| is_it(seat)).map(|(number, _)| number).collect()
        })
    }

    /// The numbers of the policies that look at what origin validation says.
    pub(crate) fn validating(&self) -> Vec<u32> {
        self.lock(|court| {
            let looks = |(number, seat): &(u32, &Seat)| {
                let found = self.found(&court.seats, *number);
                seat.uses > 0 && found.is_some_and(|(policy, _)| policy.inputs().validation)
            };
            (1..).zip(&court.seats).filter(looks).map(|(number, _)| number).collect()
        })
    }

    fn found<'s>(&self, seats: &'s [Seat], number: u32) -> Option<(&policy::Policy, &'s Bench)> {
        let bench = &seats.get(number.checked_sub(1)? as usize)?.bench;
        Some((self.policies.policy(self.policies.named(&bench.policy)?), bench))
    }
}

impl rib::Policy for Judges {
    fn depends_on_key(&self, number: u32) -> bool {
        self.lock(|court| {
            let found = self.found(&court.seats, number);
            found.is_some_and(|(policy, _)| policy.depends_on_route())
        })
    }

    fn judge(&self, number: u32, subject: &Subject<'_>, out: &mut Changed) -> Verdict {
        self.lock(|court| {
            let Court { seats, scratch } = court;
            let Some((policy, bench)) = self.found(seats, number) else { return Verdict::Reject };
            let next_hop = match subject.next_hop {
                [] => Attributes::new(subject.attributes).value(AttributeType::NextHop),
                octets => Some(octets),
            };
            let (name, group, address, asn) = match &bench.peer {
                Some((name, group, address, asn)) => (&**name, &**group, *address, *asn),
                None => ("", "", bench.own, 0),
            };
            let Subject { family, key, attributes, .. } = *subject;
            let validity = match policy.inputs().validation {
                true => self.records.validity(family, key, attributes),
                false => None,
            };
            let asked = policy::Subject {
                family,
                key,
                attributes,
                next_hop: next_hop.unwrap_or_default(),
                validation: validity.map(in_words),
                peer: Peer { name, group, address, asn },
            };
            match policy.evaluate(&asked, scratch) {
                policy::Verdict::Accept => Verdict::Accept,
                policy::Verdict::Reject => Verdict::Reject,
                policy::Verdict::Changed { attributes, next_hop } => {
                    let address = next_hop.map(|next_hop| match next_hop {
                        NewNextHop::Own => bench.own,
                        NewNextHop::Address(address) => address,
                    });
                    write(subject, attributes, address, out);
                    Verdict::Changed
                }
            }
        })
    }
}

/// The number of a seat; zero is no policy.
fn seat_number(at: usize) -> u32 {
    u32::try_from(at + 1).expect("two seats for each peer at most")
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

/// The judges, as the rib takes them.
pub(crate) fn shared(judges: &Arc<Judges>) -> Option<Arc<dyn rib::Policy>> {
    Some(Arc::clone(judges) as Arc<dyn rib::Policy>)
}
