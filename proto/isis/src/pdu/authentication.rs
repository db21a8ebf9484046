//! Authentication of PDUs: none, a password, HMAC-MD5 (RFC 5304), HMAC-SHA (RFC 5310).
//!
//! The TLV is the first of a PDU that is written. Digests are over the whole PDU with the octets of
//! the digest as they are at first; of LSPs, checksum and remaining lifetime are zero then.

use super::tlv::{TlvKind, Tlvs, write_tlv};
use hmac::Hmac;
use md5::{Digest as _, Md5};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

const PASSWORD: u8 = 1;
const GENERIC: u8 = 3;
const HMAC_MD5: u8 = 54;
/// What stands in place of a digest of RFC 5310 while it is made (§3.3: Apad).
const PAD: [u8; 4] = [0x87, 0x8F, 0xE1, 0xF3];
/// Where the remaining lifetime of an LSP stands, and its checksum.
const LIFETIME: core::ops::Range<usize> = 10..12;
const CHECKSUM: core::ops::Range<usize> = 24..26;

/// How a digest is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// HMAC-MD5, without a number of its key (RFC 5304).
    HmacMd5,
    /// HMAC-SHA-1 (RFC 5310).
    HmacSha1,
    /// HMAC-SHA-224.
    HmacSha224,
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
            Self::HmacMd5 => 16,
            Self::HmacSha1 => 20,
            Self::HmacSha224 => 28,
            Self::HmacSha256 => 32,
            Self::HmacSha384 => 48,
            Self::HmacSha512 => 64,
        }
    }
}

/// A key of digests.
#[derive(Clone, PartialEq, Eq)]
pub struct AuthenticationKey {
    id: u16,
    algorithm: Algorithm,
    secret: Zeroizing<Vec<u8>>,
}

impl core::fmt::Debug for AuthenticationKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "key {} of {:?}", self.id, self.algorithm)
    }
}

/// How PDUs are authenticated.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Authentication {
    /// Not at all.
    #[default]
    Null,
    /// By a password, which everybody on the way can read.
    Password(Zeroizing<Vec<u8>>),
    /// By digests: the first key makes them, each is believed.
    Cryptographic(Vec<AuthenticationKey>),
}

impl core::fmt::Debug for Authentication {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Null => f.write_str("none"),
            Self::Password(_) => f.write_str("a password"),
            Self::Cryptographic(keys) => write!(f, "{keys:?}"),
        }
    }
}

fn pad(octets: usize) -> Vec<u8> {
    PAD.iter().copied().cycle().take(octets).collect()
}

impl AuthenticationKey {
    /// A key with its number, which HMAC-MD5 does not tell; `None` without a secret, or with one
    /// longer than 254 octets.
    #[must_use]
    pub fn new(id: u16, algorithm: Algorithm, secret: &[u8]) -> Option<Self> {
        let fits = (1..=254).contains(&secret.len());
        fits.then(|| Self { id, algorithm, secret: Zeroizing::new(secret.to_vec()) })
    }

    /// What stands in front of the digest.
    fn front(&self) -> Vec<u8> {
        match self.algorithm {
            Algorithm::HmacMd5 => vec![HMAC_MD5],
            _ => [&[GENERIC][..], &self.id.to_be_bytes()].concat(),
        }
    }

    fn digest(&self, pdu: &[u8]) -> Vec<u8> {
        match self.algorithm {
            Algorithm::HmacMd5 => mac::<Hmac<Md5>>(&self.secret, pdu),
            Algorithm::HmacSha1 => self.generic::<Hmac<Sha1>>(pdu, |it| Sha1::digest(it).to_vec()),
            Algorithm::HmacSha224 => {
                self.generic::<Hmac<Sha224>>(pdu, |it| Sha224::digest(it).to_vec())
            }
            Algorithm::HmacSha256 => {
                self.generic::<Hmac<Sha256>>(pdu, |it| Sha256::digest(it).to_vec())
            }
            Algorithm::HmacSha384 => {
                self.generic::<Hmac<Sha384>>(pdu, |it| Sha384::digest(it).to_vec())
            }
            Algorithm::HmacSha512 => {
                self.generic::<Hmac<Sha512>>(pdu, |it| Sha512::digest(it).to_vec())
            }
        }
    }

    /// The key is made as long as the digest: hashed if it is longer, zeros behind it if it is
    /// shorter, which HMAC does itself (RFC 5310 §3.3).
    fn generic<M: hmac::Mac + hmac::digest::KeyInit>(
        &self,
        pdu: &[u8],
        hash: impl Fn(&[u8]) -> Vec<u8>,
    ) -> Vec<u8> {
        let is_longer = self.secret.len() > self.algorithm.octets();
        let key = Zeroizing::new(if is_longer { hash(&self.secret) } else { self.secret.to_vec() });
        mac::<M>(&key, pdu)
    }

    /// The PDU with what a digest is made over in its places.
    fn blank(&self, pdu: &[u8], digest_at: usize, is_lsp: bool) -> Zeroizing<Vec<u8>> {
        let mut blank = Zeroizing::new(pdu.to_vec());
        let octets = self.algorithm.octets();
        let fill = match self.algorithm {
            Algorithm::HmacMd5 => vec![0; octets],
            _ => pad(octets),
        };
        if let Some(place) = blank.get_mut(digest_at..digest_at + octets) {
            place.copy_from_slice(&fill);
        }
        if is_lsp {
            blank[LIFETIME].fill(0);
            blank[CHECKSUM].fill(0);
        }
        blank
    }
}

fn mac<M: hmac::Mac + hmac::digest::KeyInit>(key: &[u8], text: &[u8]) -> Vec<u8> {
    let Ok(mut mac) = <M as hmac::Mac>::new_from_slice(key) else { return Vec::new() };
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}

/// How the sender of a PDU shows that it may speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Means {
    /// In no way.
    Null,
    /// By a password.
    Password,
    /// By a digest whose key has no number (RFC 5304).
    HmacMd5,
    /// By a digest with the key of that number (RFC 5310).
    Key(u16),
    /// By something unknown; or there is no key to do it with.
    None,
}

impl Means {
    /// Those of a PDU.
    pub(crate) fn of(pdu: &super::Pdu<'_>) -> Self {
        let number = TlvKind::Authentication.number();
        let mut all = pdu.tlvs().map_while(Result::ok);
        match all.find(|tlv| tlv.number == number).map(|tlv| tlv.value) {
            None => Self::Null,
            Some([PASSWORD, ..]) => Self::Password,
            Some([HMAC_MD5, ..]) => Self::HmacMd5,
            Some([GENERIC, a, b, ..]) => Self::Key(u16::from_be_bytes([*a, *b])),
            Some(_) => Self::None,
        }
    }
}

impl core::fmt::Display for Means {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Null => f.write_str("no authentication"),
            Self::Password => f.write_str("a password"),
            Self::HmacMd5 => f.write_str("a digest of HMAC-MD5"),
            Self::Key(id) => write!(f, "key {id}"),
            Self::None => f.write_str("an authentication that nobody knows"),
        }
    }
}

impl Authentication {
    /// What is asked of a PDU: the key of its number, if there is one.
    pub(crate) fn means(&self, there: Means) -> Means {
        match self {
            Self::Null => Means::Null,
            Self::Password(_) => Means::Password,
            Self::Cryptographic(keys) => {
                let mut all = keys.iter().map(|key| match key.algorithm {
                    Algorithm::HmacMd5 => Means::HmacMd5,
                    _ => Means::Key(key.id),
                });
                let first = all.clone().next().unwrap_or(Means::None);
                all.find(|it| *it == there).unwrap_or(first)
            }
        }
    }

    /// A password; `None` when it is empty or longer than 254 octets.
    #[must_use]
    pub fn password(password: &[u8]) -> Option<Self> {
        let fits = (1..=254).contains(&password.len());
        fits.then(|| Self::Password(Zeroizing::new(password.to_vec())))
    }

    /// Digests with these keys; `None` without any.
    #[must_use]
    pub fn cryptographic(keys: Vec<AuthenticationKey>) -> Option<Self> {
        (!keys.is_empty()).then_some(Self::Cryptographic(keys))
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Octets of its TLV.
    #[must_use]
    pub fn octets(&self) -> usize {
        let mut out = Vec::new();
        self.reserve(&mut out);
        out.len()
    }

    /// Appends the TLV, without its digest.
    pub(super) fn reserve(&self, out: &mut Vec<u8>) {
        let value = match self {
            Self::Null => return,
            Self::Password(password) => [&[PASSWORD][..], password].concat(),
            Self::Cryptographic(keys) => {
                let Some(key) = keys.first() else { return };
                let mut value = key.front();
                value.resize(value.len() + key.algorithm.octets(), 0);
                value
            }
        };
        write_tlv(out, TlvKind::Authentication.number(), &value);
    }

    /// Fills the digest in. The TLV begins at `at`.
    pub(super) fn seal(&self, pdu: &mut [u8], at: usize, is_lsp: bool) {
        let Self::Cryptographic(keys) = self else { return };
        let Some(key) = keys.first() else { return };
        let at = at + 2 + key.front().len();
        let digest = key.digest(&key.blank(pdu, at, is_lsp));
        if let Some(place) = pdu.get_mut(at..at + digest.len()) {
            place.copy_from_slice(&digest);
        }
    }

    /// Whether a PDU is what a holder of a key sent. Its TLVs begin at `at`.
    pub(crate) fn verify(&self, pdu: &[u8], at: usize, is_lsp: bool) -> bool {
        if self.is_null() {
            return true;
        }
        let tlvs = Tlvs::new(pdu.get(at..).unwrap_or_default(), at);
        let number = TlvKind::Authentication.number();
        let mut found = tlvs.map_while(Result::ok).filter(|tlv| tlv.number == number);
        // One that says it twice says nothing (RFC 5304 §2).
        let (Some(tlv), None) = (found.next(), found.next()) else { return false };
        match self {
            Self::Null => true,
            Self::Password(password) => {
                let said = tlv.value.strip_prefix(&[PASSWORD]);
                said.is_some_and(|it| it.ct_eq(password.as_slice()).into())
            }
            Self::Cryptographic(keys) => keys.iter().any(|key| {
                let front = key.front();
                let Some(theirs) = tlv.value.strip_prefix(&front[..]) else { return false };
                let digest = key.digest(&key.blank(pdu, tlv.at + front.len(), is_lsp));
                theirs.ct_eq(&digest).into()
            }),
        }
    }
}
