//! The crypto suites (RFC 4568 §6.2, RFC 6188 §3, RFC 7714 §13) and what each is made of.

wire::rows! {
    /// A crypto suite by the name that SDP writes.
    pub enum Suite {
        /// AES-128 in counter mode, HMAC-SHA1 with a tag of 80 bits.
        AesCm128HmacSha1_80 = "AES_CM_128_HMAC_SHA1_80", "RFC 4568 §6.2.1";
        /// AES-128 in counter mode, HMAC-SHA1 with a tag of 32 bits (of RTCP: 80).
        AesCm128HmacSha1_32 = "AES_CM_128_HMAC_SHA1_32", "RFC 4568 §6.2.2";
        /// AES-192 in counter mode, HMAC-SHA1 with a tag of 80 bits.
        AesCm192HmacSha1_80 = "AES_192_CM_HMAC_SHA1_80", "RFC 6188 §3.1";
        /// AES-192 in counter mode, HMAC-SHA1 with a tag of 32 bits (of RTCP: 80).
        AesCm192HmacSha1_32 = "AES_192_CM_HMAC_SHA1_32", "RFC 6188 §3.2";
        /// AES-256 in counter mode, HMAC-SHA1 with a tag of 80 bits.
        AesCm256HmacSha1_80 = "AES_256_CM_HMAC_SHA1_80", "RFC 6188 §3.3";
        /// AES-256 in counter mode, HMAC-SHA1 with a tag of 32 bits (of RTCP: 80).
        AesCm256HmacSha1_32 = "AES_256_CM_HMAC_SHA1_32", "RFC 6188 §3.4";
        /// AES-128 in Galois/counter mode with a tag of 128 bits.
        AeadAes128Gcm = "AEAD_AES_128_GCM", "RFC 7714 §14.2";
        /// AES-256 in Galois/counter mode with a tag of 128 bits.
        AeadAes256Gcm = "AEAD_AES_256_GCM", "RFC 7714 §14.2";
        /// Nothing is encrypted, HMAC-SHA1 with a tag of 80 bits.
        NullHmacSha1_80 = "NULL_HMAC_SHA1_80", "RFC 5764 §4.1.2";
        /// Nothing is encrypted, HMAC-SHA1 with a tag of 32 bits (of RTCP: 80).
        NullHmacSha1_32 = "NULL_HMAC_SHA1_32", "RFC 5764 §4.1.2";
    }
}

/// What makes a payload unreadable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transform {
    /// Nothing does (RFC 3711 §4.1.3).
    Null,
    /// AES in counter mode, beside HMAC-SHA1 (RFC 3711 §4.1.1).
    AesCm,
    /// AES in Galois/counter mode, which authenticates as well (RFC 7714).
    AesGcm,
}

/// Octets of the longest master key with its salt: AES-256 in counter mode.
pub const KEY_AND_SALT_MAX: usize = 46;
/// Octets of the longest tag.
pub const TAG_MAX: usize = 16;

impl Suite {
    /// What encrypts.
    #[must_use]
    pub const fn transform(self) -> Transform {
        match self {
            Self::AeadAes128Gcm | Self::AeadAes256Gcm => Transform::AesGcm,
            Self::NullHmacSha1_80 | Self::NullHmacSha1_32 => Transform::Null,
            _ => Transform::AesCm,
        }
    }

    /// Octets of the master key and of the session's cipher key.
    #[must_use]
    pub const fn key_octets(self) -> usize {
        match self {
            Self::AesCm192HmacSha1_80 | Self::AesCm192HmacSha1_32 => 24,
            Self::AesCm256HmacSha1_80 | Self::AesCm256HmacSha1_32 | Self::AeadAes256Gcm => 32,
            _ => 16,
        }
    }

    /// Octets of the master salt and of the session's salt.
    #[must_use]
    pub const fn salt_octets(self) -> usize {
        match self.transform() {
            Transform::AesGcm => 12,
            Transform::AesCm | Transform::Null => 14,
        }
    }

    /// Octets of the tag of an RTP packet.
    #[must_use]
    pub const fn tag_octets(self) -> usize {
        match self {
            Self::AesCm128HmacSha1_32
            | Self::AesCm192HmacSha1_32
            | Self::AesCm256HmacSha1_32
            | Self::NullHmacSha1_32 => 4,
            Self::AeadAes128Gcm | Self::AeadAes256Gcm => 16,
            _ => 10,
        }
    }

    /// Octets of the tag of an RTCP packet: never a short one (RFC 4568 §6.2.2).
    #[must_use]
    pub const fn rtcp_tag_octets(self) -> usize {
        match self.transform() {
            Transform::AesGcm => 16,
            Transform::AesCm | Transform::Null => 10,
        }
    }

    /// The number of the protection profile of DTLS-SRTP (RFC 5764 §4.1.2, RFC 7714 §14.2).
    #[must_use]
    pub const fn profile(self) -> Option<u16> {
        Some(match self {
            Self::AesCm128HmacSha1_80 => 0x0001,
            Self::AesCm128HmacSha1_32 => 0x0002,
            Self::NullHmacSha1_80 => 0x0005,
            Self::NullHmacSha1_32 => 0x0006,
            Self::AeadAes128Gcm => 0x0007,
            Self::AeadAes256Gcm => 0x0008,
            _ => return None,
        })
    }

    /// The suite of a protection profile of DTLS-SRTP.
    #[must_use]
    pub fn of_profile(profile: u16) -> Option<Self> {
        Self::ALL.iter().copied().find(|suite| suite.profile() == Some(profile))
    }

    /// The suite of a name; case matters.
    #[must_use]
    pub fn named(name: &[u8]) -> Option<Self> {
        Self::ALL.iter().copied().find(|suite| suite.name().as_bytes() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_is_found_by_its_name_and_profile_and_fits_the_room() {
        for &suite in Suite::ALL {
            assert_eq!(Suite::named(suite.name().as_bytes()), Some(suite));
            assert!(suite.key_octets() + suite.salt_octets() <= KEY_AND_SALT_MAX);
            assert!(suite.tag_octets().max(suite.rtcp_tag_octets()) <= TAG_MAX);
            if let Some(profile) = suite.profile() {
                assert_eq!(Suite::of_profile(profile), Some(suite));
            }
        }
        assert_eq!(Suite::named(b"aes_cm_128_hmac_sha1_80"), None);
        assert_eq!(Suite::of_profile(0x0003), None);
    }
}
