//! What DTLS-SRTP says in SDP (RFC 5763, RFC 8122, RFC 8842) and the keys that its exporter gives
//! (RFC 5764 §4.2). The handshake itself is a machine of another floor.

use crate::key::MasterKey;
use crate::suite::Suite;
use core::fmt::{self, Write};
use sha2::{Digest, Sha256, Sha384, Sha512};
use subtle::ConstantTimeEq;
use wire::Malformed;

/// The label of the exporter (RFC 5764 §4.2).
pub const EXPORTER_LABEL: &str = "EXTRACTOR-dtls_srtp";
/// Octets of the longest digest.
pub const DIGEST_MAX: usize = 64;
/// Fingerprints of one stream that are read.
pub const FINGERPRINTS_MAX: usize = 8;

/// A hash function that a certificate is trusted by (RFC 8122 §5). SHA-1 and MD5 are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Hash {
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

impl Hash {
    const ALL: [Self; 3] = [Self::Sha256, Self::Sha384, Self::Sha512];

    /// As SDP writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha-256",
            Self::Sha384 => "sha-384",
            Self::Sha512 => "sha-512",
        }
    }

    /// Octets of its digest.
    #[must_use]
    pub const fn octets(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }

    fn digest(self, octets: &[u8]) -> [u8; DIGEST_MAX] {
        let mut digest = [0; DIGEST_MAX];
        match self {
            Self::Sha256 => digest[..32].copy_from_slice(&Sha256::digest(octets)),
            Self::Sha384 => digest[..48].copy_from_slice(&Sha384::digest(octets)),
            Self::Sha512 => digest.copy_from_slice(&Sha512::digest(octets)),
        }
        digest
    }
}

/// The fingerprint of a certificate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    hash: Hash,
    digest: [u8; DIGEST_MAX],
}

impl Fingerprint {
    /// Of a certificate in DER.
    #[must_use]
    pub fn of(hash: Hash, certificate: &[u8]) -> Self {
        Self { hash, digest: hash.digest(certificate) }
    }

    /// The hash function.
    #[must_use]
    pub const fn hash(&self) -> Hash {
        self.hash
    }

    /// The digest.
    #[must_use]
    pub fn digest(&self) -> &[u8] {
        &self.digest[..self.hash.octets()]
    }

    /// Whether it is that of a certificate in DER.
    #[must_use]
    pub fn is_of(&self, certificate: &[u8]) -> bool {
        self.digest.ct_eq(&self.hash.digest(certificate)).into()
    }

    /// Reads the value of `a=fingerprint:`; `None` for a hash function that nobody trusts by.
    ///
    /// # Errors
    /// Not a name and pairs of hexadecimal digits, or another number of them than the hash has.
    pub fn parse(value: &[u8]) -> Result<Option<Self>, Malformed> {
        const SPEC: &str = "RFC 8122 §5";
        let violation = |at| Malformed::new(at, "a fingerprint is no hash and its octets", SPEC);
        let space = value.iter().position(|&octet| octet == b' ').ok_or(violation(0))?;
        let name = &value[..space];
        let known =
            Hash::ALL.into_iter().find(|it| name.eq_ignore_ascii_case(it.name().as_bytes()));
        let Some(hash) = known else { return Ok(None) };
        let (mut digest, mut count) = ([0; DIGEST_MAX], 0);
        for pair in value[space + 1..].trim_ascii().split(|&octet| octet == b':') {
            let [high, low] = pair else { return Err(violation(space + 1)) };
            let digit =
                |octet: u8| char::from(octet).to_digit(16).and_then(|it| it.try_into().ok());
            let (high, low): (Option<u8>, Option<u8>) = (digit(*high), digit(*low));
            let (Some(high), Some(low)) = (high, low) else { return Err(violation(space + 1)) };
            *digest.get_mut(count).ok_or(violation(space + 1))? = high << 4 | low;
            count += 1;
        }
        if count == hash.octets() {
            Ok(Some(Self { hash, digest }))
        } else {
            Err(violation(space + 1))
        }
    }
}

impl fmt::Display for Fingerprint {
    /// As it stands behind `a=fingerprint:`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.hash.name())?;
        for (at, octet) in self.digest().iter().enumerate() {
            f.write_char(if at == 0 { ' ' } else { ':' })?;
            write!(f, "{octet:02X}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// Which end of a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// It begins.
    Client,
    /// It waits.
    Server,
}

/// `a=setup` (RFC 4145 §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Setup {
    /// Its writer begins.
    Active,
    /// Its writer waits.
    Passive,
    /// Its writer does what the answer leaves to it.
    ActPass,
    /// Not now.
    HoldConn,
}

impl Setup {
    /// Reads the value; `None` for another one.
    #[must_use]
    pub const fn parse(value: &[u8]) -> Option<Self> {
        Some(match value {
            b"active" => Self::Active,
            b"passive" => Self::Passive,
            b"actpass" => Self::ActPass,
            b"holdconn" => Self::HoldConn,
            _ => return None,
        })
    }

    /// As SDP writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Passive => "passive",
            Self::ActPass => "actpass",
            Self::HoldConn => "holdconn",
        }
    }

    /// The answer to an offer and the own role by it; `prefers` where the offer leaves it open.
    /// While a session stands, that is the role it has (RFC 8842 §5.3). `None` to `holdconn`.
    #[must_use]
    pub const fn answer(self, prefers: Role) -> Option<(Self, Role)> {
        match (self, prefers) {
            (Self::Active, _) | (Self::ActPass, Role::Server) => {
                Some((Self::Passive, Role::Server))
            }
            (Self::Passive, _) | (Self::ActPass, Role::Client) => {
                Some((Self::Active, Role::Client))
            }
            (Self::HoldConn, _) => None,
        }
    }

    /// The own role by the answer to an own offer; `None` if it is none to it.
    #[must_use]
    pub const fn accept(self, answered: Self) -> Option<Role> {
        match (self, answered) {
            (Self::ActPass | Self::Active, Self::Passive) => Some(Role::Client),
            (Self::ActPass | Self::Passive, Self::Active) => Some(Role::Server),
            _ => None,
        }
    }
}

/// Characters of a `tls-id` (RFC 8842 §4).
const TLS_ID_CHARACTERS: core::ops::RangeInclusive<usize> = 20..=255;

/// What one side says of its end of an association.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The certificates that it may show; none that is trusted by a hash: it cannot be believed.
    pub fingerprints: Vec<Fingerprint>,
    /// Who begins.
    pub setup: Setup,
    /// `a=tls-id`: another one is another association (RFC 8842 §5.1).
    pub tls_id: Option<Box<[u8]>>,
}

impl Description {
    /// Reads it from attributes by name; `None` without any fingerprint. `values` gives those of
    /// the stream, or else those of the session.
    ///
    /// # Errors
    /// A malformed attribute, or more than [`FINGERPRINTS_MAX`] fingerprints.
    pub fn read<'a, I: Iterator<Item = &'a [u8]>>(
        values: impl Fn(&'static str) -> I,
    ) -> Result<Option<Self>, Malformed> {
        let (mut fingerprints, mut has_any) = (Vec::new(), false);
        for value in values("fingerprint") {
            has_any = true;
            if fingerprints.len() == FINGERPRINTS_MAX {
                return Err(Malformed::new(0, "there are too many fingerprints", "RFC 8122 §5"));
            }
            fingerprints.extend(Fingerprint::parse(value)?);
        }
        if !has_any {
            return Ok(None);
        }
        let setup = values("setup").next().map_or(Ok(Setup::Active), |value| {
            let violation = Malformed::new(0, "a setup is none of its words", "RFC 4145 §4");
            Setup::parse(value.trim_ascii()).ok_or(violation)
        })?;
        let tls_id = values("tls-id").next().map(tls_id).transpose()?;
        Ok(Some(Self { fingerprints, setup, tls_id }))
    }

    /// Whether a later description is of the same association: it goes on, and so do its keys
    /// (RFC 8842 §3.1). Where neither says a `tls-id`, the certificates tell.
    #[must_use]
    pub fn goes_on_as(&self, later: &Self) -> bool {
        let known = |one: &Fingerprint| later.fingerprints.contains(one);
        self.tls_id == later.tls_id
            && self.fingerprints.len() == later.fingerprints.len()
            && self.fingerprints.iter().all(known)
    }

    /// Whether a certificate in DER is one of those. The strongest hash function that is named
    /// counts (RFC 8122 §5.1).
    #[must_use]
    pub fn names(&self, certificate: &[u8]) -> bool {
        let strongest = self.fingerprints.iter().map(Fingerprint::hash).max();
        let mut counting = self.fingerprints.iter().filter(|it| Some(it.hash) == strongest);
        counting.any(|it| it.is_of(certificate))
    }
}

fn tls_id(value: &[u8]) -> Result<Box<[u8]>, Malformed> {
    let is_one = |octet: &u8| octet.is_ascii_alphanumeric() || b"+/-_".contains(octet);
    if TLS_ID_CHARACTERS.contains(&value.len()) && value.iter().all(is_one) {
        return Ok(value.into());
    }
    Err(Malformed::new(0, "a tls-id is not 20 to 255 of its characters", "RFC 8842 §4"))
}

/// The master keys of both directions.
#[derive(Debug, PartialEq, Eq)]
pub struct Keys {
    /// For what is sent.
    pub ours: MasterKey,
    /// For what comes.
    pub theirs: MasterKey,
}

impl Keys {
    /// Octets that the exporter shall give.
    #[must_use]
    pub const fn octets(suite: Suite) -> usize {
        2 * MasterKey::octets_of(suite)
    }

    /// Of what the exporter gave: `client key · server key · client salt · server salt`
    /// (RFC 5764 §4.2). `None` for another length.
    #[must_use]
    pub fn of(suite: Suite, material: &[u8], role: Role) -> Option<Self> {
        if material.len() != Self::octets(suite) {
            return None;
        }
        let (keys, salts) = material.split_at(2 * suite.key_octets());
        let (client_key, server_key) = keys.split_at(suite.key_octets());
        let (client_salt, server_salt) = salts.split_at(suite.salt_octets());
        let key = |key: &[u8], salt: &[u8]| {
            let mut octets = zeroize::Zeroizing::new([0; crate::suite::KEY_AND_SALT_MAX]);
            octets[..key.len()].copy_from_slice(key);
            octets[key.len()..key.len() + salt.len()].copy_from_slice(salt);
            MasterKey::of(suite, &octets[..key.len() + salt.len()])
        };
        let client = key(client_key, client_salt)?;
        let server = key(server_key, server_salt)?;
        Some(match role {
            Role::Client => Self { ours: client, theirs: server },
            Role::Server => Self { ours: server, theirs: client },
        })
    }
}

#[cfg(test)]
mod tests;
