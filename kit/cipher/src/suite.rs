//! Suites: which cipher, which authentication code, how long a tag.

/// How long a key of AES is (FIPS 197 §5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KeyLength {
    /// 16 octets, 10 rounds.
    Bits128,
    /// 24 octets, 12 rounds.
    Bits192,
    /// 32 octets, 14 rounds.
    Bits256,
}

impl KeyLength {
    /// Octets of the key.
    #[must_use]
    pub const fn octets(self) -> usize {
        match self {
            Self::Bits128 => 16,
            Self::Bits192 => 24,
            Self::Bits256 => 32,
        }
    }

    /// The length that has this many octets.
    #[must_use]
    pub const fn of(octets: usize) -> Option<Self> {
        match octets {
            16 => Some(Self::Bits128),
            24 => Some(Self::Bits192),
            32 => Some(Self::Bits256),
            _ => None,
        }
    }
}

/// What makes data unreadable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Encryption {
    /// Data stays as it is.
    Null,
    /// Counter mode (SP 800-38A §6.5): the IV is the first counter block, all 128 bits of it
    /// count. With the IV of RFC 3711 §4.1.1 this is AES-CM, with that of RFC 3686 the one of ESP.
    AesCtr(KeyLength),
    /// Cipher block chaining (SP 800-38A §6.2). Whole blocks only: who calls pads.
    AesCbc(KeyLength),
    /// Galois/counter mode (SP 800-38D) with an IV of 96 bits. It authenticates by itself.
    AesGcm(KeyLength),
}

impl Encryption {
    /// The length of its key, `None` where there is none.
    #[must_use]
    pub const fn key_length(self) -> Option<KeyLength> {
        match self {
            Self::Null => None,
            Self::AesCtr(length) | Self::AesCbc(length) | Self::AesGcm(length) => Some(length),
        }
    }
}

/// What authenticates, unless the encryption does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Integrity {
    /// Nothing, or what the encryption brings.
    Null,
    /// HMAC with SHA-1 (RFC 2104, FIPS 180-4).
    HmacSha1,
    /// HMAC with SHA-256.
    HmacSha256,
    /// HMAC with SHA-384.
    HmacSha384,
    /// HMAC with SHA-512.
    HmacSha512,
}

impl Integrity {
    /// Octets of the whole, untruncated code.
    #[must_use]
    pub const fn octets(self) -> usize {
        match self {
            Self::Null => 0,
            Self::HmacSha1 => 20,
            Self::HmacSha256 => 32,
            Self::HmacSha384 => 48,
            Self::HmacSha512 => 64,
        }
    }
}

/// Why a suite or a key cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unfit {
    /// The tag is not one that the suite can have.
    Tag,
    /// Two authenticate: GCM and an HMAC.
    Twice,
    /// The key of the encryption has not the length that the suite says.
    KeyLength,
    /// An HMAC without a key, or a key for none.
    IntegrityKey,
    /// This machine cannot run the back end that was asked for.
    BackEnd,
}

impl std::fmt::Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Tag => "the suite has no tag of this length",
            Self::Twice => "GCM authenticates by itself",
            Self::KeyLength => "the key has another length than its cipher",
            Self::IntegrityKey => "an HMAC has a key, and nothing else has one",
            Self::BackEnd => "the processor lacks what the back end needs",
        })
    }
}

impl std::error::Error for Unfit {}

/// A cipher, an authentication code and the length of its tag.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Suite {
    encryption: Encryption,
    integrity: Integrity,
    tag: u8,
}

impl Suite {
    /// A suite whose tags are cut to `tag` octets: 16, 12 or 8 of GCM (RFC 4106 §6), at least 4 of
    /// an HMAC, none where nothing authenticates.
    ///
    /// # Errors
    /// [`Unfit::Tag`] and [`Unfit::Twice`].
    pub const fn new(encryption: Encryption, integrity: Integrity, tag: u8) -> Result<Self, Unfit> {
        let whole = integrity.octets();
        let fits = match (encryption, integrity) {
            (Encryption::AesGcm(_), Integrity::Null) => matches!(tag, 16 | 12 | 8),
            (Encryption::AesGcm(_), _) => return Err(Unfit::Twice),
            (_, Integrity::Null) => tag == 0,
            (_, _) => tag >= 4 && tag as usize <= whole,
        };
        if fits { Ok(Self { encryption, integrity, tag }) } else { Err(Unfit::Tag) }
    }

    /// What makes data unreadable.
    #[must_use]
    pub const fn encryption(self) -> Encryption {
        self.encryption
    }

    /// What authenticates, [`Integrity::Null`] with GCM.
    #[must_use]
    pub const fn integrity(self) -> Integrity {
        self.integrity
    }

    /// Octets of a tag.
    #[must_use]
    pub const fn tag_len(self) -> usize {
        self.tag as usize
    }

    /// Octets of the key of the encryption.
    #[must_use]
    pub const fn key_len(self) -> usize {
        match self.encryption.key_length() {
            Some(length) => length.octets(),
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CTR: Encryption = Encryption::AesCtr(KeyLength::Bits128);
    const GCM: Encryption = Encryption::AesGcm(KeyLength::Bits256);

    #[test]
    fn a_suite_has_tags_of_the_lengths_that_its_code_allows() {
        for (encryption, integrity, tag, error) in [
            (CTR, Integrity::HmacSha1, 10, None),
            (CTR, Integrity::HmacSha1, 4, None),
            (CTR, Integrity::HmacSha1, 20, None),
            (CTR, Integrity::HmacSha1, 21, Some(Unfit::Tag)),
            (CTR, Integrity::HmacSha1, 3, Some(Unfit::Tag)),
            (CTR, Integrity::Null, 0, None),
            (CTR, Integrity::Null, 4, Some(Unfit::Tag)),
            (GCM, Integrity::Null, 16, None),
            (GCM, Integrity::Null, 12, None),
            (GCM, Integrity::Null, 8, None),
            (GCM, Integrity::Null, 4, Some(Unfit::Tag)),
            (GCM, Integrity::HmacSha256, 16, Some(Unfit::Twice)),
            (Encryption::Null, Integrity::HmacSha512, 32, None),
        ] {
            let made = Suite::new(encryption, integrity, tag);
            assert_eq!(made.err(), error, "{encryption:?} {integrity:?} {tag}");
        }
    }
}
