//! What both ends of one direction agree on beside the key (RFC 3711 §3.2, RFC 4568 §6.3).

use crate::suite::{Suite, Transform};

/// The largest exponent of a key derivation rate (RFC 3711 §4.3.1: 2^24).
pub const KDR_EXPONENT_MAX: u8 = 24;

/// After how many packets session keys are derived anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct KeyDerivationRate(Option<u8>);

impl KeyDerivationRate {
    /// Once, before the first packet.
    pub const ONCE: Self = Self(None);

    /// Every 2^`exponent` packets; `None` for an exponent past 24.
    #[must_use]
    pub const fn every_power(exponent: u8) -> Option<Self> {
        if exponent > KDR_EXPONENT_MAX { None } else { Some(Self(Some(exponent))) }
    }

    /// The exponent; `None` for once.
    #[must_use]
    pub const fn exponent(self) -> Option<u8> {
        self.0
    }

    /// `index DIV rate`, where DIV by zero is zero (RFC 3711 §4.3.1).
    pub(crate) const fn divide(self, index: u64) -> u64 {
        match self.0 {
            Some(exponent) => index >> exponent,
            None => 0,
        }
    }
}

/// What protects the packets of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// The suite.
    pub suite: Suite,
    /// When session keys are derived anew.
    pub kdr: KeyDerivationRate,
    /// Payloads of RTP are encrypted; not with `UNENCRYPTED_SRTP`.
    pub encrypts_rtp: bool,
    /// RTCP is encrypted; not with `UNENCRYPTED_SRTCP`.
    pub encrypts_rtcp: bool,
    /// RTP is authenticated; not with `UNAUTHENTICATED_SRTP`. RTCP always is (RFC 3711 §3.4).
    pub authenticates_rtp: bool,
}

impl Parameters {
    /// What a suite has by itself.
    #[must_use]
    pub const fn of(suite: Suite) -> Self {
        let encrypts = !matches!(suite.transform(), Transform::Null);
        Self {
            suite,
            kdr: KeyDerivationRate::ONCE,
            encrypts_rtp: encrypts,
            encrypts_rtcp: encrypts,
            authenticates_rtp: true,
        }
    }

    /// Whether a suite can do that: Galois/counter mode does not send RTP without encryption or
    /// without a tag (RFC 7714 §9.1, §13).
    #[must_use]
    pub const fn are_sound(&self) -> bool {
        match self.suite.transform() {
            Transform::AesGcm => self.encrypts_rtp && self.authenticates_rtp,
            Transform::AesCm => true,
            Transform::Null => !self.encrypts_rtp && !self.encrypts_rtcp,
        }
    }

    /// Octets of the tag of an RTP packet.
    #[must_use]
    pub const fn tag_octets(&self) -> usize {
        if self.authenticates_rtp { self.suite.tag_octets() } else { 0 }
    }
}
