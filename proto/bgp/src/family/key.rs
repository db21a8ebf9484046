//! What is routed, of any family, as a value of its own. Tables of the two plain families hold
//! [`super::Ipv4Prefix`] and [`super::Ipv6Prefix`] instead, which are smaller.

use super::Family;
use core::fmt;

/// Octets that a key holds itself; longer ones stand elsewhere.
const INLINE_BYTES: usize = 22;

#[derive(Clone)]
enum Octets {
    Inline(u8, [u8; INLINE_BYTES]),
    Elsewhere(Box<[u8]>),
}

/// Family, path identifier and key octets: 32 octets for all but the long EVPN routes, flow
/// specifications and link state.
#[derive(Clone)]
pub struct RouteKey {
    octets: Octets,
    path_id: u32,
    family: Family,
}

const _: () = assert!(size_of::<RouteKey>() == 32);

impl RouteKey {
    /// The key whose octets [`super::Route::split`] gave.
    #[must_use]
    pub fn new(family: Family, path_id: u32, octets: &[u8]) -> Self {
        let octets = match u8::try_from(octets.len()) {
            Ok(length) if octets.len() <= INLINE_BYTES => {
                Octets::Inline(length, super::address(octets))
            }
            _ => Octets::Elsewhere(octets.into()),
        };
        Self { octets, path_id, family }
    }

    /// Its family.
    #[must_use]
    pub const fn family(&self) -> Family {
        self.family
    }

    /// Its path identifier.
    #[must_use]
    pub const fn path_id(&self) -> u32 {
        self.path_id
    }

    /// Its octets.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        match &self.octets {
            Octets::Inline(length, octets) => &octets[..usize::from(*length)],
            Octets::Elsewhere(octets) => octets,
        }
    }

    const fn order(&self) -> (Family, u32) {
        (self.family, self.path_id)
    }
}

impl PartialEq for RouteKey {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order() && self.octets() == other.octets()
    }
}

impl Eq for RouteKey {}

impl PartialOrd for RouteKey {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RouteKey {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        let by_octets = || self.octets().cmp(other.octets());
        self.family.cmp(&other.family).then_with(by_octets).then(self.path_id.cmp(&other.path_id))
    }
}

impl core::hash::Hash for RouteKey {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.order().hash(state);
        self.octets().hash(state);
    }
}

impl fmt::Display for RouteKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.family.show(self.octets()), f)
    }
}

impl fmt::Debug for RouteKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {self} path {}", self.family, self.path_id)
    }
}
