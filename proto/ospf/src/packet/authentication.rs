//! Authentication of packets: none, a password, MD5 (RFC 2328 §D), HMAC-SHA (RFC 5709).

use hmac::Hmac;
use md5::{Digest as _, Md5};
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// AuType of no authentication.
const NULL: u16 = 0;
/// AuType of a password.
const SIMPLE: u16 = 1;
/// AuType of digests.
pub(super) const CRYPTOGRAPHIC: u16 = 2;

/// How a digest is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// MD5 over packet and key (RFC 2328 §D.4.3).
    Md5,
    /// HMAC-SHA-1 (RFC 5709).
    HmacSha1,
    /// HMAC-SHA-256.
    HmacSha256,
    /// HMAC-SHA-384.
    HmacSha384,
    /// HMAC-SHA-512.
    HmacSha512,
}

impl Algorithm {
    /// Octets of a digest.
    #[must_use]
    pub const fn octets(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::HmacSha1 => 20,
            Self::HmacSha256 => 32,
            Self::HmacSha384 => 48,
            Self::HmacSha512 => 64,
        }
    }
}

/// A key of digests.
#[derive(Clone)]
pub struct AuthenticationKey {
    id: u8,
    algorithm: Algorithm,
    secret: Zeroizing<Vec<u8>>,
}

impl core::fmt::Debug for AuthenticationKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "key {} of {:?}", self.id, self.algorithm)
    }
}

/// How packets of an interface are authenticated.
#[derive(Debug, Clone, Default)]
pub enum Authentication {
    /// Not at all.
    #[default]
    Null,
    /// By a password in clear.
    Simple(Zeroizing<[u8; 8]>),
    /// By digests: the first key is sent with, all are accepted while keys change.
    Cryptographic(Vec<AuthenticationKey>),
}

/// The octets 0x878FE1F3, repeated (RFC 5709 §3.3).
fn pad(octets: usize) -> Vec<u8> {
    [0x87, 0x8F, 0xE1, 0xF3].into_iter().cycle().take(octets).collect()
}

impl AuthenticationKey {
    /// A key; `None` when the secret is empty, or of more than 16 octets for MD5.
    #[must_use]
    pub fn new(id: u8, algorithm: Algorithm, secret: &[u8]) -> Option<Self> {
        let fits = !secret.is_empty() && (algorithm != Algorithm::Md5 || secret.len() <= 16);
        fits.then(|| Self { id, algorithm, secret: Zeroizing::new(secret.to_vec()) })
    }

    fn digest(&self, packet: &[u8]) -> Vec<u8> {
        match self.algorithm {
            Algorithm::Md5 => {
                let mut key = Zeroizing::new([0; 16]);
                key[..self.secret.len()].copy_from_slice(&self.secret);
                let mut hash = Md5::new();
                hash.update(packet);
                hash.update(key.as_slice());
                hash.finalize().to_vec()
            }
            Algorithm::HmacSha1 => self.hmac::<Hmac<Sha1>>(packet, |it| Sha1::digest(it).to_vec()),
            Algorithm::HmacSha256 => {
                self.hmac::<Hmac<Sha256>>(packet, |it| Sha256::digest(it).to_vec())
            }
            Algorithm::HmacSha384 => {
                self.hmac::<Hmac<Sha384>>(packet, |it| Sha384::digest(it).to_vec())
            }
            Algorithm::HmacSha512 => {
                self.hmac::<Hmac<Sha512>>(packet, |it| Sha512::digest(it).to_vec())
            }
        }
    }

    /// The key is made as long as the digest: hashed if it is longer, zeros behind it if it is
    /// shorter (RFC 5709 §3.3).
    fn hmac<M: hmac::Mac + hmac::digest::KeyInit>(
        &self,
        packet: &[u8],
        hash: impl Fn(&[u8]) -> Vec<u8>,
    ) -> Vec<u8> {
        let octets = self.algorithm.octets();
        let is_longer = self.secret.len() > octets;
        let key = Zeroizing::new(if is_longer { hash(&self.secret) } else { self.secret.to_vec() });
        let Ok(mut mac) = <M as hmac::Mac>::new_from_slice(&key) else { return Vec::new() };
        mac.update(packet);
        mac.update(&pad(octets));
        mac.finalize().into_bytes().to_vec()
    }
}

/// What a digest proves beside its key: that the packet was not sent before others of its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Proof {
    /// The number of the key.
    pub(crate) key: u8,
    /// The number of the packet.
    pub(crate) sequence: u32,
}

/// How a packet shows who sent it, as far as it tells without a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Means {
    /// In no way.
    Null,
    /// By a password.
    Password,
    /// By a digest with the key of that number.
    Key(u8),
    /// By something unknown; or there is no key to do it with.
    None,
}

impl Means {
    /// Those of a packet.
    pub(crate) fn of(packet: &[u8]) -> Self {
        match u16::from_be_bytes([packet[14], packet[15]]) {
            NULL => Self::Null,
            SIMPLE => Self::Password,
            CRYPTOGRAPHIC => Self::Key(packet[18]),
            _ => Self::None,
        }
    }
}

impl core::fmt::Display for Means {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Null => f.write_str("no authentication"),
            Self::Password => f.write_str("a password"),
            Self::Key(id) => write!(f, "key {id}"),
            Self::None => f.write_str("an authentication that nobody knows"),
        }
    }
}

impl Authentication {
    /// What is asked of a packet: the key of its number, if there is one.
    pub(crate) fn means(&self, there: Means) -> Means {
        match self {
            Self::Null => Means::Null,
            Self::Simple(_) => Means::Password,
            Self::Cryptographic(keys) => {
                let mut all = keys.iter().map(|key| Means::Key(key.id));
                let first = all.clone().next().unwrap_or(Means::None);
                all.find(|it| *it == there).unwrap_or(first)
            }
        }
    }

    /// A password, of which eight octets count.
    #[must_use]
    pub fn simple(password: &[u8]) -> Option<Self> {
        let mut octets = Zeroizing::new([0; 8]);
        octets.get_mut(..password.len())?.copy_from_slice(password);
        Some(Self::Simple(octets))
    }

    /// Digests with these keys; `None` without any.
    #[must_use]
    pub fn cryptographic(keys: Vec<AuthenticationKey>) -> Option<Self> {
        (!keys.is_empty()).then_some(Self::Cryptographic(keys))
    }

    /// Octets that a packet grows by.
    pub(crate) fn octets(&self) -> usize {
        match self {
            Self::Cryptographic(keys) => keys.first().map_or(0, |key| key.algorithm.octets()),
            _ => 0,
        }
    }

    /// Fills in checksum and authentication.
    pub(super) fn seal(&self, packet: &mut Vec<u8>, sequence: u32) {
        let kind = match self {
            Self::Null => NULL,
            Self::Simple(_) => SIMPLE,
            Self::Cryptographic(_) => CRYPTOGRAPHIC,
        };
        packet[14..16].copy_from_slice(&kind.to_be_bytes());
        match self {
            Self::Cryptographic(keys) => {
                let Some(key) = keys.first() else { return };
                let length = machine::narrow::at_most(key.algorithm.octets() as u64, 64_u8);
                packet[16..20].copy_from_slice(&[0, 0, key.id, length]);
                packet[20..24].copy_from_slice(&sequence.to_be_bytes());
                let digest = key.digest(packet);
                packet.extend_from_slice(&digest);
            }
            _ => {
                let sum = super::checksum(packet);
                packet[12..14].copy_from_slice(&sum.to_be_bytes());
                if let Self::Simple(password) = self {
                    packet[16..24].copy_from_slice(password.as_slice());
                }
            }
        }
    }

    /// Whether a packet is what a holder of a key sent. `octets` is all that came, `packet` the
    /// packet proper at its front. Returns its number where it has one.
    pub(crate) fn verify(&self, octets: &[u8], packet: &[u8]) -> Option<Option<Proof>> {
        let kind = u16::from_be_bytes([packet[14], packet[15]]);
        match (self, kind) {
            (Self::Null, NULL) => Some(None),
            (Self::Simple(password), SIMPLE) => {
                let is_right: bool = password.ct_eq(&packet[16..24]).into();
                is_right.then_some(None)
            }
            (Self::Cryptographic(keys), CRYPTOGRAPHIC) => {
                let key = keys.iter().find(|key| key.id == packet[18])?;
                let length = key.algorithm.octets();
                let theirs = octets.get(packet.len()..packet.len() + length)?;
                let is_right: bool = key.digest(packet).ct_eq(theirs).into();
                let sequence = u32::from_be_bytes([packet[20], packet[21], packet[22], packet[23]]);
                let proof = Proof { key: key.id, sequence };
                (is_right && usize::from(packet[19]) == length).then_some(Some(proof))
            }
            _ => None,
        }
    }
}
