//! The functions f1 to f5 and f1*, f5* of a subscription (TS 33.102 §6.3, TS 33.105 §5.1).

use crate::{Milenage, Secret, Tuak};

/// A random challenge.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rand(pub [u8; 16]);

/// The authentication management field (TS 33.102 Annex F).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Amf(pub [u8; 2]);

/// A sequence number of 48 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Sqn(u64);

impl Sqn {
    /// The largest.
    pub const MAX: Self = Self((1 << 48) - 1);

    /// That number; `None` if it has more than 48 bits.
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        if number <= Self::MAX.0 { Some(Self(number)) } else { None }
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// As it stands on the wire.
    #[must_use]
    pub fn octets(self) -> [u8; 6] {
        let [_, _, octets @ ..] = self.0.to_be_bytes();
        octets
    }

    /// Under an anonymity key: the other way round too.
    pub(crate) fn concealed(octets: [u8; 6], ak: &Secret) -> [u8; 6] {
        let mut concealed = octets;
        for (octet, key) in concealed.iter_mut().zip(ak.expose()) {
            *octet ^= key;
        }
        concealed
    }
}

impl From<[u8; 6]> for Sqn {
    fn from(octets: [u8; 6]) -> Self {
        let [a, b, c, d, e, f] = octets;
        Self(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }
}

/// What f2 to f5 make of a challenge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keys {
    /// The answer (f2).
    pub res: Secret,
    /// The cipher key (f3).
    pub ck: Secret,
    /// The integrity key (f4).
    pub ik: Secret,
    /// The anonymity key (f5), six octets.
    pub ak: Secret,
}

/// An algorithm with the keys of one subscription.
#[derive(Debug)]
pub enum Algorithm {
    /// TS 35.205 to TS 35.208.
    Milenage(Milenage),
    /// TS 35.231 to TS 35.233.
    Tuak(Tuak),
}

impl Algorithm {
    /// The code of the network, MAC-A.
    #[must_use]
    pub fn f1(&self, rand: &Rand, sqn: Sqn, amf: Amf) -> Secret {
        match self {
            Self::Milenage(it) => it.f1(rand, sqn, amf),
            Self::Tuak(it) => it.f1(rand, sqn, amf),
        }
    }

    /// The code of a resynchronisation, MAC-S.
    #[must_use]
    pub fn f1_star(&self, rand: &Rand, sqn: Sqn, amf: Amf) -> Secret {
        match self {
            Self::Milenage(it) => it.f1_star(rand, sqn, amf),
            Self::Tuak(it) => it.f1_star(rand, sqn, amf),
        }
    }

    /// The answer and the keys.
    #[must_use]
    pub fn f2345(&self, rand: &Rand) -> Keys {
        match self {
            Self::Milenage(it) => it.f2345(rand),
            Self::Tuak(it) => it.f2345(rand),
        }
    }

    /// The anonymity key of a resynchronisation, six octets.
    #[must_use]
    pub fn f5_star(&self, rand: &Rand) -> Secret {
        match self {
            Self::Milenage(it) => it.f5_star(rand),
            Self::Tuak(it) => it.f5_star(rand),
        }
    }

    /// Octets of MAC-A and MAC-S.
    #[must_use]
    pub fn mac_octets(&self) -> usize {
        match self {
            Self::Milenage(_) => crate::MAC_OCTETS,
            Self::Tuak(it) => it.lengths().mac.octets(),
        }
    }
}
