//! Authentication (RFC 5880 §6.7): passwords, and digests with numbers against replay.

use crate::packet::{AuthSection, Datagram, MANDATORY_OCTETS};
use crate::rows::{AuthType, Discard};
use md5::{Digest as _, Md5};
use sha1::Sha1;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// Octets of the longest secret: a SHA1 key.
const SECRET_MAX: usize = 20;
/// Octets of the longest password and of an MD5 key.
const PASSWORD_MAX: usize = 16;
/// Keys of a session: the one that is sent with, and others that are accepted while keys change.
const KEYS_MAX: usize = 8;

/// A key and its number.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    id: u8,
    secret: Zeroizing<Vec<u8>>,
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Key {{ id: {} }}", self.id)
    }
}

/// How packets of a session are authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authentication {
    kind: AuthType,
    keys: Vec<Key>,
}

impl Key {
    /// A key; `None` when the secret is empty or longer than `kind` allows.
    #[must_use]
    pub fn new(kind: AuthType, id: u8, secret: &[u8]) -> Option<Self> {
        let most = match kind {
            AuthType::KeyedSha1 | AuthType::MeticulousKeyedSha1 => SECRET_MAX,
            _ => PASSWORD_MAX,
        };
        let fits = (1..=most).contains(&secret.len());
        fits.then(|| Self { id, secret: Zeroizing::new(secret.to_vec()) })
    }

    /// Its number.
    #[must_use]
    pub const fn id(&self) -> u8 {
        self.id
    }

    /// Its secret, for whoever hands it on to where packets are made.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.secret
    }

    /// The secret, with zeros behind it.
    fn padded<const N: usize>(&self) -> Zeroizing<[u8; N]> {
        let mut padded = Zeroizing::new([0; N]);
        let length = self.secret.len().min(N);
        padded[..length].copy_from_slice(&self.secret[..length]);
        padded
    }
}

/// Keys that several sessions have in common, by number.
#[derive(Debug, Default)]
pub struct Keys(Vec<Option<Authentication>>);

impl Keys {
    /// Keeps one; its number is what [`crate::SessionSettings`] names. `None` beyond 65,535.
    pub fn add(&mut self, authentication: Authentication) -> Option<u16> {
        let number = u16::try_from(self.0.len()).ok()?;
        self.0.push(Some(authentication));
        Some(number)
    }

    /// Puts another one in its place, or none: packets with old keys are refused from now on.
    pub fn set(&mut self, number: u16, authentication: Option<Authentication>) {
        let place = usize::from(number);
        if authentication.is_some() && self.0.len() <= place {
            self.0.resize_with(place + 1, || None);
        }
        if let Some(known) = self.0.get_mut(place) {
            *known = authentication;
        }
    }

    pub(crate) fn of(&self, number: u16) -> Option<&Authentication> {
        self.0.get(usize::from(number))?.as_ref()
    }
}

impl Authentication {
    /// The first key is sent with, all are accepted. `None` without keys or with too many.
    #[must_use]
    pub fn new(kind: AuthType, keys: Vec<Key>) -> Option<Self> {
        (1..=KEYS_MAX).contains(&keys.len()).then_some(Self { kind, keys })
    }

    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> AuthType {
        self.kind
    }

    /// Its keys, the one that is sent with first.
    #[must_use]
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Appends the section to a packet.
    pub(crate) fn seal(&self, datagram: &mut Datagram, sequence: u32) {
        let Some(key) = self.keys.first() else { return };
        let is_password = self.kind == AuthType::SimplePassword;
        // A secret has at most 20 octets.
        let octets = if is_password {
            3 + machine::narrow::at_most(key.secret.len() as u64, 20_u8)
        } else {
            self.kind.octets()
        };
        datagram.extend(octets);
        let whole = datagram.octets_mut();
        let section = &mut whole[MANDATORY_OCTETS..];
        section[..3].copy_from_slice(&[self.kind.number(), octets, key.id]);
        if is_password {
            section[3..].copy_from_slice(&key.secret);
            return;
        }
        section[4..8].copy_from_slice(&sequence.to_be_bytes());
        let digest = self.digest(whole, key);
        let place = &mut datagram.octets_mut()[MANDATORY_OCTETS + 8..];
        let length = place.len();
        place.copy_from_slice(&digest[..length]);
    }

    /// The digest of a packet, whatever stands in its place: 16 or 20 octets, then zeros.
    fn digest(&self, packet: &[u8], key: &Key) -> [u8; SECRET_MAX] {
        let body = &packet[..MANDATORY_OCTETS + 8];
        let mut digest = [0; SECRET_MAX];
        if matches!(self.kind, AuthType::KeyedMd5 | AuthType::MeticulousKeyedMd5) {
            let mut hash = Md5::new();
            hash.update(body);
            hash.update(key.padded::<PASSWORD_MAX>().as_slice());
            digest[..PASSWORD_MAX].copy_from_slice(&hash.finalize());
        } else {
            let mut hash = Sha1::new();
            hash.update(body);
            hash.update(key.padded::<SECRET_MAX>().as_slice());
            digest.copy_from_slice(&hash.finalize());
        }
        digest
    }

    /// Whether a packet is what a holder of a key sent, and not sent again. `expected` is the
    /// number of the last packet, if one is known, and how far ahead the next may be. Returns
    /// the packet's own.
    ///
    /// # Errors
    /// Why it is not.
    pub(crate) fn verify(
        &self,
        packet: &[u8],
        section: AuthSection<'_>,
        expected: Option<[u32; 2]>,
    ) -> Result<u32, Discard> {
        if section.kind() != Some(self.kind) {
            return Err(Discard::AuthMissing);
        }
        let key = self.keys.iter().find(|key| key.id == section.key).ok_or(Discard::AuthKey)?;
        if self.kind == AuthType::SimplePassword {
            let is_right: bool = section.rest.ct_eq(&key.secret).into();
            return if is_right { Ok(0) } else { Err(Discard::AuthDigest) };
        }
        let octets = usize::from(self.kind.octets());
        if section.rest.len() + 3 != octets || packet.len() < MANDATORY_OCTETS + octets {
            return Err(Discard::AuthLength);
        }
        let sequence = section.rest[1..].first_chunk().map_or(0, |it| u32::from_be_bytes(*it));
        if let Some([last, ahead]) = expected {
            let step = sequence.wrapping_sub(last);
            let least = u32::from(self.kind.is_meticulous());
            if step < least || step > ahead {
                return Err(Discard::AuthSequence);
            }
        }
        let digest = self.digest(packet, key);
        let theirs = &section.rest[5..];
        let is_right: bool = digest[..theirs.len()].ct_eq(theirs).into();
        if is_right { Ok(sequence) } else { Err(Discard::AuthDigest) }
    }
}
