//! What a policy is asked about, and the route as the rules see and change it.

use super::{Source, Validation, Verdict};
use bgp::codec::{AsPath, AttributeType, Attributes, Edit, NextHop, rewrite};
use bgp::family::Family;
use core::net::IpAddr;

/// Octets of a route distinguisher.
const RD_BYTES: usize = 8;
/// The Address Family Identifier of IPv6.
const AFI_IPV6: u16 = 2;
/// Attributes that rules look at or change.
pub const SLOTS: usize = 9;
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
    /// The octets of its next hop of MP_REACH_NLRI; empty where NEXT_HOP says it.
    pub next_hop: &'a [u8],
    /// The address of our end of the session: what `set.next_hop = "self"` makes.
    pub own: IpAddr,
    /// What kind of peer it came from.
    pub from: Source,
    /// What origin validation says; `None` where nobody asked: that matches nothing.
    pub validation: Option<Validation>,
    /// Whom it came from; `None` where that is not known any more: nobody matches.
    pub peer: Option<Peer<'a>>,
}

/// Whom a route came from.
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

/// Room for what rules change; kept between routes so that nothing is allocated.
#[derive(Debug, Clone, Default)]
pub struct Scratch {
    pub(super) made: [Vec<u8>; SLOTS],
    /// A next hop that was made.
    pub(super) hop: Vec<u8>,
    pub(super) out: Vec<u8>,
}

/// The attributes that rules look at or change, in the order of their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// ORIGIN.
    Origin,
    /// AS_PATH.
    AsPath,
    /// NEXT_HOP.
    NextHop,
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
        (Self::NextHop, AttributeType::NextHop),
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
            3 => Some(Self::NextHop),
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
    is_made: u16,
    is_out: u16,
    /// The next hop of MP_REACH_NLRI that was made, if one was.
    hop: &'a mut Vec<u8>,
    has_hop: bool,
}

impl<'r, 'a> Route<'r, 'a> {
    /// The route of a subject; its attributes are read only if anybody wants them.
    #[inline]
    pub fn new(
        subject: &'r Subject<'a>,
        made: &'r mut [Vec<u8>; SLOTS],
        hop: &'a mut Vec<u8>,
        is_read: bool,
    ) -> Self {
        let mut came = [None; SLOTS];
        let attributes = if is_read { subject.attributes } else { &[] };
        for attribute in Attributes::new(attributes).map_while(Result::ok) {
            if let Some(slot) = Slot::of(attribute.number) {
                came[slot as usize].get_or_insert(attribute.value);
            }
        }
        Self { subject, came, made, is_made: 0, is_out: 0, hop, has_hop: false }
    }

    /// The value of an attribute, as it is now.
    #[inline]
    pub fn value(&self, slot: Slot) -> Option<&[u8]> {
        let bit = 1 << slot as u16;
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
        let bit = 1 << slot as u16;
        let made = &mut self.made[slot as usize];
        if (self.is_made | self.is_out) & bit == 0 {
            made.clear();
            made.extend_from_slice(self.came[slot as usize].unwrap_or_default());
        }
        change(made);
        if made.is_empty() { self.take_out(slot) } else { self.mark(slot) }
    }

    fn mark(&mut self, slot: Slot) {
        self.is_made |= 1 << slot as u16;
        self.is_out &= !(1 << slot as u16);
    }

    /// Takes an attribute out.
    pub fn take_out(&mut self, slot: Slot) {
        self.made[slot as usize].clear();
        self.is_made &= !(1 << slot as u16);
        self.is_out |= 1 << slot as u16;
    }

    /// The octets of the next hop of MP_REACH_NLRI, as they are now.
    fn hop(&self) -> &[u8] {
        if self.has_hop { self.hop } else { self.subject.next_hop }
    }

    /// The next hop, as it is now.
    pub fn next_hop(&self) -> Option<IpAddr> {
        let hop = self.hop();
        let octets = if hop.is_empty() { self.value(Slot::NextHop)? } else { hop };
        NextHop::read(octets).map(|it| it.address)
    }

    /// Sets the next hop as the family wants it: in NEXT_HOP, or in MP_REACH_NLRI, behind a
    /// distinguisher of zeros for VPNs, an IPv4 address mapped where the family is IPv6.
    pub fn put_next_hop(&mut self, address: IpAddr) {
        let family = self.subject.family;
        match address {
            IpAddr::V4(address) if family == Family::Ipv4Unicast => {
                self.put(Slot::NextHop, &address.octets());
                self.hop.clear();
                self.has_hop = true;
                return;
            }
            // RFC 8950.
            IpAddr::V6(_) if family == Family::Ipv4Unicast => self.take_out(Slot::NextHop),
            // A family without next hops.
            _ if self.subject.next_hop.is_empty() => return,
            _ => {}
        }
        let has_distinguisher = matches!(family, Family::Vpnv4 | Family::Vpnv6);
        self.hop.clear();
        self.hop.resize(if has_distinguisher { RD_BYTES } else { 0 }, 0);
        match address {
            IpAddr::V4(address) if family.afi() == AFI_IPV6 => {
                self.hop.extend_from_slice(&address.to_ipv6_mapped().octets());
            }
            IpAddr::V4(address) => self.hop.extend_from_slice(&address.octets()),
            IpAddr::V6(address) => self.hop.extend_from_slice(&address.octets()),
        }
        self.has_hop = true;
    }

    /// What is told of an accepted route. `None` if an attribute is longer than its length can
    /// say.
    pub fn verdict(self, out: &'a mut Vec<u8>) -> Option<Verdict<'a>> {
        let Subject { attributes, next_hop: came, .. } = *self.subject;
        let mut edits = [Edit { kind: AttributeType::Origin, value: None }; SLOTS];
        let mut count = 0;
        for (slot, kind) in Slot::ALL {
            let bit = 1 << slot as u16;
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
        if count > 0 {
            out.clear();
            rewrite(attributes, &edits[..count], out);
        }
        let next_hop: &'a [u8] = if self.has_hop { self.hop } else { came };
        Some(match count {
            0 if next_hop == came => Verdict::Accept,
            0 => Verdict::Changed { attributes, next_hop },
            _ => Verdict::Changed { attributes: out, next_hop },
        })
    }
}
