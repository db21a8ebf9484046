//! Session keys: what is derived of a master key (RFC 3711 §4.3, RFC 6188 §2, RFC 7714 §11) and
//! what is made of an index (IVs: RFC 3711 §4.1.1, RFC 7714 §8.1, §9.1).

use crate::key::MasterKey;
use crate::parameters::Parameters;
use crate::suite::{Suite, Transform};
use cipher::{Aes, Encryption, Integrity, KeyLength};
use zeroize::Zeroizing;

/// Octets of the key of HMAC-SHA1 (RFC 3711 §8.2).
const AUTHENTICATION_KEY: usize = 20;
/// Octets of the longest cipher key.
const CIPHER_KEY_MAX: usize = 32;
/// Octets of the longest session salt is 14: with zeros behind it is as long as an IV.
const SALT_MAX: usize = 16;

/// Which of both protocols: their labels differ (RFC 3711 §4.3.1, §4.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Rtp,
    Rtcp,
}

impl Kind {
    const fn first_label(self) -> u8 {
        match self {
            Self::Rtp => 0,
            Self::Rtcp => 3,
        }
    }
}

/// The pseudorandom function: AES in counter mode under the master key (RFC 3711 §4.3.3).
struct Derivation<'a> {
    aes: Aes,
    salt: &'a [u8],
    /// Index DIV key derivation rate.
    rate: u64,
}

impl Derivation<'_> {
    fn write(&self, label: u8, out: &mut [u8]) {
        let mut input = [0; 16];
        // A salt of 12 octets is filled up with zeros behind (RFC 7714 §11).
        input[..self.salt.len()].copy_from_slice(self.salt);
        input[7] ^= label;
        for (octet, rate) in input[8..14].iter_mut().zip(&self.rate.to_be_bytes()[2..]) {
            *octet ^= rate;
        }
        for (number, piece) in (0u16..).zip(out.chunks_mut(16)) {
            let mut block = Zeroizing::new(input);
            block[14..].copy_from_slice(&number.to_be_bytes());
            self.aes.encrypt(&mut block);
            piece.copy_from_slice(&block[..piece.len()]);
        }
    }
}

/// Keys of one protocol under one master key.
#[repr(C)]
pub(crate) struct Session {
    pub key: cipher::Key,
    salt: Zeroizing<[u8; SALT_MAX]>,
    pub rate: u64,
}

/// What the cipher shall do for a suite and these parameters.
fn cipher_suite(parameters: &Parameters, kind: Kind) -> Option<cipher::Suite> {
    let suite = parameters.suite;
    let (encrypts, tag) = match kind {
        Kind::Rtp => (parameters.encrypts_rtp, parameters.tag_octets()),
        Kind::Rtcp => (parameters.encrypts_rtcp, suite.rtcp_tag_octets()),
    };
    let length = KeyLength::of(suite.key_octets())?;
    let (encryption, integrity) = match suite.transform() {
        // Without encryption all of a packet is what GCM authenticates beside.
        Transform::AesGcm => (Encryption::AesGcm(length), Integrity::Null),
        Transform::AesCm if encrypts => (Encryption::AesCtr(length), Integrity::HmacSha1),
        Transform::AesCm | Transform::Null => (Encryption::Null, Integrity::HmacSha1),
    };
    let integrity = if tag == 0 { Integrity::Null } else { integrity };
    cipher::Suite::new(encryption, integrity, u8::try_from(tag).ok()?).ok()
}

impl Session {
    /// Derives the keys for packets whose index DIV rate is `rate`. `None` for parameters that are
    /// not sound, or that are of another suite than the key.
    pub fn derive(
        master: &MasterKey,
        parameters: &Parameters,
        kind: Kind,
        rate: u64,
    ) -> Option<Self> {
        if !parameters.are_sound() || parameters.suite != master.suite() {
            return None;
        }
        let aes = Aes::new(master.key()).ok()?;
        let derivation = Derivation { aes, salt: master.salt(), rate };
        let label = kind.first_label();
        let mut key = Zeroizing::new([0; CIPHER_KEY_MAX]);
        let mut authentication = Zeroizing::new([0; AUTHENTICATION_KEY]);
        let mut salt = Zeroizing::new([0; SALT_MAX]);
        derivation.write(label, &mut key[..master.suite().key_octets()]);
        derivation.write(label + 1, &mut authentication[..]);
        derivation.write(label + 2, &mut salt[..master.suite().salt_octets()]);
        let material = Material { key: &key[..], authentication: &authentication[..], salt };
        Self::of(parameters, kind, material).map(|session| Self { rate, ..session })
    }

    fn of(parameters: &Parameters, kind: Kind, material: Material<'_>) -> Option<Self> {
        let suite = cipher_suite(parameters, kind)?;
        let authentication = match suite.integrity() {
            Integrity::Null => &[][..],
            _ => material.authentication,
        };
        let key = cipher::Key::new(suite, &material.key[..suite.key_len()], authentication).ok()?;
        Some(Self { rate: 0, salt: material.salt, key })
    }

    /// The IV of a packet of RTP: with its index of 48 bits, or of RTCP: with that of 31 bits.
    pub fn iv(&self, suite: Suite, ssrc: u32, index: u64) -> [u8; 16] {
        // SSRC and index of 48 bits, one behind the other, from the third or the fifth octet on.
        let numbers = u128::from(ssrc) << 48 | u128::from(index & 0xffff_ffff_ffff);
        let octets_behind = match suite.transform() {
            Transform::AesGcm => 4,
            Transform::AesCm | Transform::Null => 2,
        };
        (u128::from_be_bytes(*self.salt) ^ numbers << (8 * octets_behind)).to_be_bytes()
    }
}

/// Key octets by themselves.
struct Material<'a> {
    key: &'a [u8],
    authentication: &'a [u8],
    salt: Zeroizing<[u8; SALT_MAX]>,
}

#[cfg(test)]
mod tests;
