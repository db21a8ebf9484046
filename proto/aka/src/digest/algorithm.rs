//! `AKAv1-MD5` and its like: which version of AKA, which hash (RFC 3310 §3.1, RFC 4169 §3).

use crate::Secret;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use md5::Md5;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// What the password is made of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Version {
    /// RES itself. Whoever can read a response and knows the same vector can use it elsewhere.
    V1,
    /// A code under RES, IK and CK, and keys of its own.
    V2,
}

/// The hash of the digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Hash {
    /// MD5 (RFC 1321).
    Md5,
    /// SHA-256 (RFC 7616, RFC 8760).
    Sha256,
}

impl Hash {
    /// Of parts, one behind the other.
    pub(super) fn of(self, parts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
        fn all<H: Digest>(parts: &[&[u8]]) -> Vec<u8> {
            let mut hash = H::new();
            parts.iter().for_each(|part| hash.update(part));
            hash.finalize().to_vec()
        }
        Zeroizing::new(match self {
            Self::Md5 => all::<Md5>(parts),
            Self::Sha256 => all::<Sha256>(parts),
        })
    }

    /// HMAC with this hash.
    fn hmac(self, key: &[u8], text: &[u8]) -> Zeroizing<Vec<u8>> {
        const ANY: &str = "an HMAC takes any key";
        Zeroizing::new(match self {
            Self::Md5 => {
                let mut hmac = Hmac::<Md5>::new_from_slice(key).expect(ANY);
                hmac.update(text);
                hmac.finalize().into_bytes().to_vec()
            }
            Self::Sha256 => {
                let mut hmac = Hmac::<Sha256>::new_from_slice(key).expect(ANY);
                hmac.update(text);
                hmac.finalize().into_bytes().to_vec()
            }
        })
    }
}

/// The keys of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionKeys {
    /// The cipher key.
    pub ck: Secret,
    /// The integrity key.
    pub ik: Secret,
}

/// An algorithm of a challenge.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Algorithm {
    /// Which AKA.
    pub version: Version,
    /// Which hash.
    pub hash: Hash,
    /// Whether the first hash is of the session too: `-sess`.
    pub is_session: bool,
}

impl Algorithm {
    /// What IMS uses (TS 33.203 §6.1.1).
    pub const AKA_V1_MD5: Self = Self { version: Version::V1, hash: Hash::Md5, is_session: false };
    /// RFC 4169.
    pub const AKA_V2_MD5: Self = Self { version: Version::V2, hash: Hash::Md5, is_session: false };

    const NAMES: [(&'static str, Version, Hash, bool); 8] = [
        ("AKAv1-MD5", Version::V1, Hash::Md5, false),
        ("AKAv1-MD5-sess", Version::V1, Hash::Md5, true),
        ("AKAv2-MD5", Version::V2, Hash::Md5, false),
        ("AKAv2-MD5-sess", Version::V2, Hash::Md5, true),
        ("AKAv1-SHA-256", Version::V1, Hash::Sha256, false),
        ("AKAv1-SHA-256-sess", Version::V1, Hash::Sha256, true),
        ("AKAv2-SHA-256", Version::V2, Hash::Sha256, false),
        ("AKAv2-SHA-256-sess", Version::V2, Hash::Sha256, true),
    ];

    /// The algorithm of that name, in letters of either case.
    #[must_use]
    pub fn named(name: &[u8]) -> Option<Self> {
        let mut rows = Self::NAMES.iter();
        let row = rows.find(|row| row.0.as_bytes().eq_ignore_ascii_case(name))?;
        Some(Self { version: row.1, hash: row.2, is_session: row.3 })
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        let mut rows = Self::NAMES.iter();
        let row =
            rows.find(|row| (row.1, row.2, row.3) == (self.version, self.hash, self.is_session));
        row.map_or("", |row| row.0)
    }

    /// The password of an answer (RFC 3310 §3.3, RFC 4169 §3).
    pub(super) fn password(self, res: &Secret, keys: &SessionKeys) -> Zeroizing<Vec<u8>> {
        match self.version {
            Version::V1 => Zeroizing::new(res.expose().to_vec()),
            Version::V2 => {
                let all = [res.expose(), keys.ik.expose(), keys.ck.expose()].concat();
                let code = self.hash.hmac(&Zeroizing::new(all), b"http-digest-akav2-password");
                Zeroizing::new(STANDARD.encode(&*code).into_bytes())
            }
        }
    }

    /// The keys of the session: those of AKA, or what version 2 makes of them (RFC 4169 §3).
    #[must_use]
    pub fn session_keys(self, keys: &SessionKeys) -> SessionKeys {
        match self.version {
            Version::V1 => keys.clone(),
            Version::V2 => {
                let code = |key: &Secret, text| Secret::cut(&self.hash.hmac(key.expose(), text));
                SessionKeys {
                    ck: code(&keys.ck, b"http-digest-akav2-cipherkey"),
                    ik: code(&keys.ik, b"http-digest-akav2-integritykey"),
                }
            }
        }
    }
}
