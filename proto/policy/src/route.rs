//! What a policy is asked about, and the route as the rules see and change it.

use super::{Validation, Verdict};
use bgp::codec::{AsPath, AttributeType, Attributes, Edit, rewrite};
use bgp::family::Family;
use core::net::IpAddr;

/// Attributes that rules look at or change.
pub const SLOTS: usize = 8;
/// Octets of the value of an attribute: what its length can say.
pub const VALUE_BYTES_MAX: usize = 65_535;

/// A route, as it came: what a policy decides about. Everything is borrowed.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The family of the route.
    pub family: Family,
    /// The octets of its key, as `Route::split` of `bgp` gives them; they may lack for policies
    /// that do not depend on them ([`super::Policy::depends_on_route`]).
    pub key: &'a [u8],
    /// Its attributes, as `Update::canonical` of `bgp` gives them.
    pub attributes: &'a [u8],
    /// The octets of its next hop.
    pub next_hop: &'a [u8],
    /// What origin validation says; `None` where nobody asked: that matches nothing.
    pub validation: Option<Validation>,
    /// Whom it came from, or goes to: the other end of the session for which it is decided.
    pub peer: Peer<'a>,
}

/// The other end of the session.
#[derive(Debug, Clone, Copy)]
pub struct Peer<'a> {
    /// Its name; empty without.
    pub name: &'a str,
    /// The name of its group; empty without.
    pub group: &'a str,
    /// Its address.
    pub address: IpAddr,
    /// Its AS.
    pub asn: u32,
}

/// A next hop that a policy sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NewNextHop {
    /// Our end of the session on which the route is sent, or came.
    Own,
    /// That address.
    Address(IpAddr),
}

/// Room for what rules change; kept between routes so that nothing is allocated.
#[derive(Debug, Clone, Default)]
pub struct Scratch {
    pub(super) made: [Vec<u8>; SLOTS],
    pub(super) out: Vec<u8>,
}

/// The attributes that rules look at or change, in the order of their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// ORIGIN.
    Origin,
    /// AS_PATH.
    AsPath,
    /// MULTI_EXIT_DISC.
    Med,
    /// LOCAL_PREF.
    LocalPref,
    /// COMMUNITIES.
    Communities,
    /// EXTENDED_COMMUNITIES.
    Extended,
    /// AIGP.
    Aigp,
    /// LARGE_COMMUNITY.
    Large,
}

impl Slot {
    const ALL: [(Self, AttributeType); SLOTS] = [
        (Self::Origin, AttributeType::Origin),
        (Self::AsPath, AttributeType::AsPath),
        (Self::Med, AttributeType::MultiExitDisc),
        (Self::LocalPref, AttributeType::LocalPref),
        (Self::Communities, AttributeType::Communities),
        (Self::Extended, AttributeType::ExtendedCommunities),
        (Self::Aigp, AttributeType::Aigp),
        (Self::Large, AttributeType::LargeCommunities),
    ];

    #[inline]
    const fn of(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Origin),
            2 => Some(Self::AsPath),
            4 => Some(Self::Med),
            5 => Some(Self::LocalPref),
            8 => Some(Self::Communities),
            16 => Some(Self::Extended),
            26 => Some(Self::Aigp),
            32 => Some(Self::Large),
            _ => None,
        }
    }
}

// The numbers above are those of the rows.
const _: () = {
    let mut at = 0;
    while at < SLOTS {
        let (slot, kind) = Slot::ALL[at];
        assert!(matches!(Slot::of(kind.number()), Some(it) if it as usize == slot as usize));
        assert!(slot as usize == at);
        at += 1;
    }
};

/// A route while the rules run over it.
pub struct Route<'r, 'a> {
    /// As it came.
    pub subject: &'r Subject<'a>,
    /// The values that came.
    came: [Option<&'a [u8]>; SLOTS],
    /// The values that were made; they count where a bit is set.
    made: &'r mut [Vec<u8>; SLOTS],
    is_made: u8,
    is_out: u8,
    /// The next hop, if it is another one.
    pub next_hop: Option<NewNextHop>,
}

impl<'r, 'a> Route<'r, 'a> {
    /// The route of a subject; its attributes are read only if anybody wants them.
    #[inline]
    pub fn new(subject: &'r Subject<'a>, made: &'r mut [Vec<u8>; SLOTS], is_read: bool) -> Self {
        let mut came = [None; SLOTS];
        let attributes = if is_read { subject.attributes } else { &[] };
        for attribute in Attributes::new(attributes).map_while(Result::ok) {
            if let Some(slot) = Slot::of(attribute.number) {
                came[slot as usize].get_or_insert(attribute.value);
            }
        }
        Self { subject, came, made, is_made: 0, is_out: 0, next_hop: None }
    }

    /// The value of an attribute, as it is now.
    #[inline]
    pub fn value(&self, slot: Slot) -> Option<&[u8]> {
        let bit = 1 << slot as u8;
        match (self.is_out & bit != 0, self.is_made & bit != 0) {
            (true, _) => None,
            (_, true) => Some(&self.made[slot as usize]),
            _ => self.came[slot as usize],
        }
    }

    /// The number in an attribute of four octets.
    #[inline]
    pub fn number(&self, slot: Slot) -> Option<u32> {
        self.value(slot)?.try_into().ok().map(u32::from_be_bytes)
    }

    /// Its path; the empty one if it lacks.
    #[inline]
    pub fn path(&self) -> AsPath<'_> {
        AsPath::new(self.value(Slot::AsPath).unwrap_or_default(), true)
    }

    /// Puts an attribute in the place of the one of its type.
    pub fn put(&mut self, slot: Slot, value: &[u8]) {
        let made = &mut self.made[slot as usize];
        made.clear();
        made.extend_from_slice(value);
        self.mark(slot);
    }

    /// Changes the value of an attribute in its place; what is empty then is taken out.
    pub fn edit(&mut self, slot: Slot, change: impl FnOnce(&mut Vec<u8>)) {
        let bit = 1 << slot as u8;
        let made = &mut self.made[slot as usize];
        if (self.is_made | self.is_out) & bit == 0 {
            made.clear();
            made.extend_from_slice(self.came[slot as usize].unwrap_or_default());
        }
        change(made);
        if made.is_empty() { self.take_out(slot) } else { self.mark(slot) }
    }

    fn mark(&mut self, slot: Slot) {
        self.is_made |= 1 << slot as u8;
        self.is_out &= !(1 << slot as u8);
    }

    /// Takes an attribute out.
    pub fn take_out(&mut self, slot: Slot) {
        self.made[slot as usize].clear();
        self.is_made &= !(1 << slot as u8);
        self.is_out |= 1 << slot as u8;
    }

    /// What is told of an accepted route. `None` if an attribute is longer than its length can
    /// say.
    pub fn verdict(self, out: &'a mut Vec<u8>) -> Option<Verdict<'a>> {
        let attributes = self.subject.attributes;
        let mut edits = [Edit { kind: AttributeType::Origin, value: None }; SLOTS];
        let mut count = 0;
        for (slot, kind) in Slot::ALL {
            let bit = 1 << slot as u8;
            let value = self.value(slot);
            if (self.is_made | self.is_out) & bit == 0 || value == self.came[slot as usize] {
                continue;
            }
            if value.is_some_and(|value| value.len() > VALUE_BYTES_MAX) {
                return None;
            }
            edits[count] = Edit { kind, value };
            count += 1;
        }
        let next_hop = self.next_hop;
        Some(match (count, next_hop) {
            (0, None) => Verdict::Accept,
            (0, _) => Verdict::Changed { attributes, next_hop },
            _ => {
                out.clear();
                if !rewrite(attributes, &edits[..count], out) {
                    return None;
                }
                Verdict::Changed { attributes: out, next_hop }
            }
        })
    }
}
