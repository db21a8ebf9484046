//! Master keys (RFC 3711 §3.2.1), their identifiers and their limits. What holds a key shows none
//! of it and wipes it when it goes.

use crate::suite::{KEY_AND_SALT_MAX, Suite};
use core::fmt;
use core::num::NonZeroU8;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

/// RTP packets of one master key, over all its streams (RFC 3711 §9.2).
pub const RTP_PACKETS_MAX: u64 = 1 << 48;
/// RTCP packets of one master key, over all its streams (RFC 3711 §9.2).
pub const RTCP_PACKETS_MAX: u64 = 1 << 31;
/// Master keys that one direction has at the same time.
pub const MASTER_KEYS_MAX: usize = 4;

/// Octets of the name of a key.
pub const DIGEST_OCTETS: usize = 16;

/// A master key with its salt, for one suite.
#[derive(Clone)]
pub struct MasterKey {
    suite: Suite,
    octets: [u8; KEY_AND_SALT_MAX],
}

impl MasterKey {
    /// Of key and salt, one behind the other, as SDP has them; `None` if they are not as long as
    /// the suite wants them.
    #[must_use]
    pub fn of(suite: Suite, key_and_salt: &[u8]) -> Option<Self> {
        if key_and_salt.len() != suite.key_octets() + suite.salt_octets() {
            return None;
        }
        let mut octets = [0; KEY_AND_SALT_MAX];
        octets[..key_and_salt.len()].copy_from_slice(key_and_salt);
        Some(Self { suite, octets })
    }

    /// Octets of key and salt.
    #[must_use]
    pub const fn octets_of(suite: Suite) -> usize {
        suite.key_octets() + suite.salt_octets()
    }

    /// What it is for.
    #[must_use]
    pub const fn suite(&self) -> Suite {
        self.suite
    }

    /// Key and salt, one behind the other: for SDP and for a standby, never for a log.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.octets[..Self::octets_of(self.suite)]
    }

    /// A name of it, of which nobody learns the key: that of all keys that give the same session
    /// keys.
    #[must_use]
    pub fn digest(&self) -> [u8; DIGEST_OCTETS] {
        let mut hash = Sha256::new();
        hash.update(b"a key of SRTP that was used");
        hash.update(self.expose());
        let whole = hash.finalize();
        core::array::from_fn(|at| whole[at])
    }

    /// Whether both give the same session keys: their octets are the same, whatever the length of
    /// tags.
    pub(crate) fn derives_like(&self, other: &Self) -> bool {
        self.expose().ct_eq(other.expose()).into()
    }

    pub(crate) fn key(&self) -> &[u8] {
        &self.octets[..self.suite.key_octets()]
    }

    pub(crate) fn salt(&self) -> &[u8] {
        &self.expose()[self.suite.key_octets()..]
    }
}

impl Drop for MasterKey {
    fn drop(&mut self) {
        self.octets.zeroize();
    }
}

impl PartialEq for MasterKey {
    fn eq(&self, other: &Self) -> bool {
        self.suite == other.suite && self.octets.ct_eq(&other.octets).into()
    }
}

impl Eq for MasterKey {}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MasterKey({})", self.suite.name())
    }
}

/// Octets of the longest master key identifier (RFC 4568 §6.1).
pub const MKI_OCTETS_MAX: u8 = 128;

/// A master key identifier: a number written in so many octets of each packet (RFC 4568 §6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mki {
    value: u64,
    octets: NonZeroU8,
}

impl Mki {
    /// `None` if the number does not fit the octets, or these are none or more than 128.
    #[must_use]
    pub const fn new(value: u64, octets: u8) -> Option<Self> {
        let fits = octets >= 8 || value < 1 << (octets * 8);
        match NonZeroU8::new(octets) {
            Some(octets) if octets.get() <= MKI_OCTETS_MAX && fits => Some(Self { value, octets }),
            _ => None,
        }
    }

    /// The number.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.value
    }

    /// How many octets of a packet it takes.
    #[must_use]
    pub const fn octets(self) -> usize {
        self.octets.get() as usize
    }

    /// Writes it; `out` is as long as it is.
    pub(crate) fn write(self, out: &mut [u8]) {
        out.fill(0);
        let value = self.value.to_be_bytes();
        let length = out.len().min(value.len());
        let (at, from) = (out.len() - length, value.len() - length);
        out[at..].copy_from_slice(&value[from..]);
    }

    /// Whether these octets of a packet are it.
    pub(crate) fn is(self, octets: &[u8]) -> bool {
        let (head, tail) = octets.split_at(octets.len().saturating_sub(8));
        let value = tail.iter().fold(0, |value, &octet| value << 8 | u64::from(octet));
        octets.len() == self.octets() && head.iter().all(|&octet| octet == 0) && value == self.value
    }
}

/// How many packets a master key may still protect or open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Of RTP.
    pub rtp: u64,
    /// Of RTCP.
    pub rtcp: u64,
}

impl Allowance {
    /// What RFC 3711 §9.2 allows.
    pub const FULL: Self = Self { rtp: RTP_PACKETS_MAX, rtcp: RTCP_PACKETS_MAX };

    /// What both leave.
    #[must_use]
    pub const fn least(self, other: Self) -> Self {
        let rtp = if self.rtp < other.rtp { self.rtp } else { other.rtp };
        let rtcp = if self.rtcp < other.rtcp { self.rtcp } else { other.rtcp };
        Self { rtp, rtcp }
    }

    /// What a lifetime of SDP leaves of it: it counts packets of RTP and of RTCP, each for itself
    /// (RFC 4568 §6.1).
    #[must_use]
    pub const fn of_lifetime(packets: u64) -> Self {
        let rtcp = if packets < RTCP_PACKETS_MAX { packets } else { RTCP_PACKETS_MAX };
        let rtp = if packets < RTP_PACKETS_MAX { packets } else { RTP_PACKETS_MAX };
        Self { rtp, rtcp }
    }
}

/// A master key as a direction has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyEntry {
    /// The key.
    pub key: MasterKey,
    /// What names it in packets; the keys of one direction all have one of one length, or none
    /// has.
    pub mki: Option<Mki>,
    /// How long it is good for.
    pub allowance: Allowance,
}

impl KeyEntry {
    /// A key alone: without an identifier, good as long as RFC 3711 allows.
    #[must_use]
    pub const fn alone(key: MasterKey) -> Self {
        Self { key, mki: None, allowance: Allowance::FULL }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_the_length_of_its_suite_and_shows_nothing() {
        let key = MasterKey::of(Suite::AesCm128HmacSha1_80, &[0xab; 30]).unwrap();
        assert_eq!((key.key().len(), key.salt().len()), (16, 14));
        let shown = format!("{:?}", KeyEntry::alone(key.clone()));
        assert!(!shown.contains("171") && !shown.to_lowercase().contains("ab, "), "{shown}");
        assert!(MasterKey::of(Suite::AesCm128HmacSha1_80, &[0; 28]).is_none());
        assert!(MasterKey::of(Suite::AeadAes128Gcm, &[0; 28]).is_some());
        assert_ne!(MasterKey::of(Suite::AesCm128HmacSha1_32, &[0xab; 30]).unwrap(), key);
        assert_ne!(MasterKey::of(Suite::AesCm128HmacSha1_80, &[0xac; 30]).unwrap(), key);
    }

    #[test]
    fn an_identifier_is_a_number_in_so_many_octets() {
        for (value, octets) in [(0, 1), (255, 1), (1, 4), (u64::MAX, 8), (7, 128), (256, 2)] {
            let mki = Mki::new(value, octets).unwrap();
            let mut room = vec![0xee; mki.octets()];
            mki.write(&mut room);
            assert!(mki.is(&room), "{mki:?} {room:?}");
            room[0] ^= 1;
            assert!(!mki.is(&room) && !mki.is(&room[1..]));
        }
        assert!(Mki::new(256, 1).is_none() && Mki::new(0, 0).is_none());
        assert!(Mki::new(0, 129).is_none() && Mki::new(u64::MAX, 7).is_none());
    }
}
