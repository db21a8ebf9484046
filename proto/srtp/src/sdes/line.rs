//! One `a=crypto` line (RFC 4568 §4, §6, §9).
//!
//! ```text
//! a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:WVNf…GVz|2^20|1:4 KDR=3
//!          │ │                              │       │    │   └ session parameters
//!          │ └ suite                        │       │    └ MKI and its octets
//!          └ tag                            │       └ lifetime
//!                                           └ key and salt
//! ```

use crate::key::{Allowance, KeyEntry, MasterKey, Mki};
use crate::parameters::{KeyDerivationRate, Parameters};
use crate::suite::Suite;

/// Octets of a line's value that is read.
pub const LINE_OCTETS_MAX: usize = 1_024;
/// The largest tag: nine digits (RFC 4568 §9.1).
pub const TAG_MAX: u32 = 999_999_999;

/// In which order forward error correction and SRTP are done (RFC 4568 §6.3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FecOrder {
    /// First error correction, then SRTP.
    FecSrtp,
    /// First SRTP, then error correction.
    SrtpFec,
}

/// A key of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineKey {
    /// Key and salt.
    pub key: MasterKey,
    /// How many packets it is good for; `None`: as many as RFC 3711 allows.
    pub lifetime: Option<u64>,
    /// What names it in packets.
    pub mki: Option<Mki>,
}

impl InlineKey {
    /// A key alone.
    #[must_use]
    pub const fn alone(key: MasterKey) -> Self {
        Self { key, lifetime: None, mki: None }
    }

    fn entry(&self) -> KeyEntry {
        let allowance = self.lifetime.map_or(Allowance::FULL, Allowance::of_lifetime);
        KeyEntry { key: self.key.clone(), mki: self.mki, allowance }
    }
}

/// The session parameters of a line (RFC 4568 §6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionParameters {
    /// `KDR=`.
    pub kdr: KeyDerivationRate,
    /// `UNENCRYPTED_SRTP`.
    pub unencrypted_srtp: bool,
    /// `UNENCRYPTED_SRTCP`.
    pub unencrypted_srtcp: bool,
    /// `UNAUTHENTICATED_SRTP`.
    pub unauthenticated_srtp: bool,
    /// `FEC_ORDER=`.
    pub fec_order: Option<FecOrder>,
    /// `WSH=`: how far packets may be late; a hint, for who wrote the line knows its path.
    pub window_hint: Option<u64>,
}

impl SessionParameters {
    /// Whether both ends protect packets in the same way: what is not said by each for itself
    /// must be equal in the answer.
    #[must_use]
    pub fn agree_with(&self, other: &Self) -> bool {
        let negotiated = |it: &Self| {
            (it.unencrypted_srtp, it.unencrypted_srtcp, it.unauthenticated_srtp, it.fec_order)
        };
        negotiated(self) == negotiated(other)
    }
}

/// A line that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crypto {
    /// Its number, which the answer repeats.
    pub tag: u32,
    /// The suite.
    pub suite: Suite,
    /// The keys of who wrote it, for what it sends.
    pub keys: Vec<InlineKey>,
    /// The session parameters.
    pub session: SessionParameters,
}

impl Crypto {
    /// What protects the packets that the writer of the line sends.
    #[must_use]
    pub fn parameters(&self) -> Parameters {
        let usual = Parameters::of(self.suite);
        Parameters {
            kdr: self.session.kdr,
            encrypts_rtp: usual.encrypts_rtp && !self.session.unencrypted_srtp,
            encrypts_rtcp: usual.encrypts_rtcp && !self.session.unencrypted_srtcp,
            authenticates_rtp: !self.session.unauthenticated_srtp,
            ..usual
        }
    }

    /// The keys for a [`crate::Sender`] or a [`crate::Receiver`].
    #[must_use]
    pub fn entries(&self) -> Vec<KeyEntry> {
        self.keys.iter().map(InlineKey::entry).collect()
    }
}
