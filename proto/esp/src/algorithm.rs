//! Algorithms: which ones go together, and how long their keys, IVs and ICVs are.

use cipher::KeyLength;
use core::fmt;

/// What makes a payload unreadable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Encryption {
    /// Nothing (RFC 2410).
    Null,
    /// AES-CBC (RFC 3602).
    AesCbc(KeyLength),
    /// AES-GCM with an ICV of 16 octets (RFC 4106). It authenticates by itself.
    AesGcm16(KeyLength),
    /// 3DES-CBC (RFC 2451): only where it is allowed, for phones of old.
    TripleDesCbc,
}

/// What authenticates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Integrity {
    /// The encryption.
    Combined,
    /// HMAC-SHA-1-96 (RFC 2404).
    HmacSha1_96,
    /// HMAC-SHA-256-128 (RFC 4868).
    HmacSha256_128,
    /// HMAC-SHA-384-192 (RFC 4868).
    HmacSha384_192,
    /// HMAC-SHA-512-256 (RFC 4868).
    HmacSha512_256,
    /// HMAC-MD5-96 (RFC 2403): only where it is allowed, for phones of old.
    HmacMd5_96,
    /// AES-GMAC without encryption (RFC 4543).
    AesGmac(KeyLength),
}

impl Integrity {
    /// Octets of the key; with GMAC the salt of 4 octets stands behind it.
    #[must_use]
    pub const fn key_octets(self) -> usize {
        match self {
            Self::Combined => 0,
            Self::HmacSha1_96 => 20,
            Self::HmacSha256_128 => 32,
            Self::HmacSha384_192 => 48,
            Self::HmacSha512_256 => 64,
            Self::HmacMd5_96 => 16,
            Self::AesGmac(length) => length.octets() + SALT,
        }
    }

    /// Octets of the ICV.
    #[must_use]
    pub const fn icv(self) -> usize {
        match self {
            Self::HmacSha1_96 | Self::HmacMd5_96 => 12,
            Self::HmacSha256_128 | Self::Combined | Self::AesGmac(_) => 16,
            Self::HmacSha384_192 => 24,
            Self::HmacSha512_256 => 32,
        }
    }
}

impl Encryption {
    /// Octets of the key; with GCM the salt of 4 octets stands behind it.
    #[must_use]
    pub const fn key_octets(self) -> usize {
        match self {
            Self::Null => 0,
            Self::AesCbc(length) => length.octets(),
            Self::AesGcm16(length) => length.octets() + SALT,
            Self::TripleDesCbc => 24,
        }
    }
}

/// Octets of a salt (RFC 4106 §4, RFC 4543 §3.2).
pub(crate) const SALT: usize = 4;

/// Why an association cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unfit {
    /// Nothing authenticates: encryption alone does not protect (RFC 4303 §2.8).
    Unauthenticated,
    /// Two authenticate.
    Twice,
    /// GMAC does not encrypt and goes with nothing that does.
    GmacEncrypts,
    /// MD5 or 3DES, and these were not allowed.
    Legacy,
    /// The key of the encryption is of another length.
    EncryptionKey,
    /// The key of the authentication is of another length.
    IntegrityKey,
    /// An SPI below 256 (RFC 4303 §2.1).
    Spi,
    /// More selectors than [`SELECTORS_MAX`](crate::SELECTORS_MAX).
    Selectors,
    /// The ends of a tunnel are of two versions of IP.
    TunnelEnds,
    /// Extended numbers without a window: the upper half could not be known (RFC 4303 §2.2.1).
    NoWindow,
    /// Extended numbers with GCM or GMAC and a key that others may have: nonces would meet.
    SharedKey,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unauthenticated => "nothing authenticates the packets",
            Self::Twice => "GCM authenticates by itself",
            Self::GmacEncrypts => "GMAC goes with no encryption",
            Self::Legacy => "MD5 and 3DES are not allowed here",
            Self::EncryptionKey => "the encryption's key is of another length",
            Self::IntegrityKey => "the authentication's key is of another length",
            Self::Spi => "SPIs below 256 are reserved",
            Self::Selectors => "there are too many selectors",
            Self::TunnelEnds => "the ends of the tunnel are of two versions of IP",
            Self::NoWindow => "extended sequence numbers need a replay window",
            Self::SharedKey => "extended sequence numbers and GCM need a key of their own",
        })
    }
}

impl core::error::Error for Unfit {}

/// An encryption and what authenticates with it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Algorithm {
    encryption: Encryption,
    integrity: Integrity,
}

impl Algorithm {
    /// The two together.
    ///
    /// # Errors
    /// [`Unfit::Unauthenticated`], [`Unfit::Twice`], [`Unfit::GmacEncrypts`].
    pub const fn new(encryption: Encryption, integrity: Integrity) -> Result<Self, Unfit> {
        match (encryption, integrity) {
            (Encryption::AesGcm16(_), Integrity::Combined) => {}
            (Encryption::AesGcm16(_), _) => return Err(Unfit::Twice),
            (_, Integrity::Combined) => return Err(Unfit::Unauthenticated),
            (Encryption::Null, _) => {}
            (_, Integrity::AesGmac(_)) => return Err(Unfit::GmacEncrypts),
            _ => {}
        }
        Ok(Self { encryption, integrity })
    }

    /// The encryption.
    #[must_use]
    pub const fn encryption(self) -> Encryption {
        self.encryption
    }

    /// What authenticates.
    #[must_use]
    pub const fn integrity(self) -> Integrity {
        self.integrity
    }

    /// Whether it is one of those that are off unless they are allowed.
    #[must_use]
    pub const fn is_legacy(self) -> bool {
        matches!(self.encryption, Encryption::TripleDesCbc)
            || matches!(self.integrity, Integrity::HmacMd5_96)
    }

    /// Octets of the IV in a packet.
    #[must_use]
    pub const fn iv(self) -> usize {
        match (self.encryption, self.integrity) {
            (Encryption::AesCbc(_), _) => 16,
            (Encryption::AesGcm16(_) | Encryption::TripleDesCbc, _)
            | (_, Integrity::AesGmac(_)) => 8,
            (Encryption::Null, _) => 0,
        }
    }

    /// Payload, padding and its two octets are a multiple of this.
    #[must_use]
    pub const fn block(self) -> usize {
        match self.encryption {
            Encryption::AesCbc(_) => 16,
            Encryption::TripleDesCbc => 8,
            Encryption::Null | Encryption::AesGcm16(_) => 4,
        }
    }

    /// Octets of the ICV.
    #[must_use]
    pub const fn icv(self) -> usize {
        self.integrity.icv()
    }

    pub(crate) const fn is_gmac(self) -> bool {
        matches!(self.integrity, Integrity::AesGmac(_))
    }

    pub(crate) const fn is_gcm(self) -> bool {
        matches!(self.encryption, Encryption::AesGcm16(_))
    }

    /// Whether its nonce is a counter, which no other packet under its key may have.
    pub(crate) const fn is_counter(self) -> bool {
        self.is_gcm() || self.is_gmac()
    }

    /// Whether its blocks have 64 bits only.
    pub(crate) const fn has_blocks_of_64(self) -> bool {
        matches!(self.encryption, Encryption::TripleDesCbc)
    }

    pub(crate) const fn is_cbc(self) -> bool {
        matches!(self.encryption, Encryption::AesCbc(_) | Encryption::TripleDesCbc)
    }
}

/// The octets of the keys, as long as [`Encryption::key_octets`] and [`Integrity::key_octets`] say.
#[derive(Clone, Copy)]
pub struct Material<'a> {
    /// Of the encryption.
    pub encryption: &'a [u8],
    /// Of what authenticates.
    pub integrity: &'a [u8],
}

impl fmt::Debug for Material<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} and {} octets", self.encryption.len(), self.integrity.len())
    }
}
