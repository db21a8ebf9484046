//! Keys of SRTP as a description carries them: `a=crypto` (RFC 4568), and what DTLS shows of
//! itself: `a=fingerprint` (RFC 8122), `a=setup` (RFC 4145).

use crate::text::{number, push_number, words};
use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use core::fmt;
use zeroize::Zeroizing;

/// Reads base64 with or without padding: both are met.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
/// Octets of the longest key with its salt.
pub const MATERIAL_OCTETS_MAX: usize = 46;
/// Octets of a master key identifier (RFC 3711 §3.1).
const MKI_OCTETS_MAX: u8 = 128;
/// The highest tag: nine digits (RFC 4568 §9.1).
const TAG_MAX: u64 = 999_999_999;
/// Octets of the longest fingerprint (SHA-512).
pub const FINGERPRINT_OCTETS_MAX: usize = 64;

wire::rows! {
    /// Crypto suites, and the octets of key and salt.
    pub enum Suite: u8, pub material: (usize, usize) {
        /// AES-CM with 128 bits, a tag of 80.
        AesCm128Sha1_80 = 1, "AES_CM_128_HMAC_SHA1_80", (16, 14), "RFC 4568 §6.2.1";
        /// AES-CM with 128 bits, a tag of 32 on RTP.
        AesCm128Sha1_32 = 2, "AES_CM_128_HMAC_SHA1_32", (16, 14), "RFC 4568 §6.2.2";
        /// AES-CM with 192 bits, a tag of 80.
        AesCm192Sha1_80 = 3, "AES_192_CM_HMAC_SHA1_80", (24, 14), "RFC 6188 §3";
        /// AES-CM with 192 bits, a tag of 32 on RTP.
        AesCm192Sha1_32 = 4, "AES_192_CM_HMAC_SHA1_32", (24, 14), "RFC 6188 §3";
        /// AES-CM with 256 bits, a tag of 80.
        AesCm256Sha1_80 = 5, "AES_256_CM_HMAC_SHA1_80", (32, 14), "RFC 6188 §3";
        /// AES-CM with 256 bits, a tag of 32 on RTP.
        AesCm256Sha1_32 = 6, "AES_256_CM_HMAC_SHA1_32", (32, 14), "RFC 6188 §3";
        /// AES-GCM with 128 bits.
        AesGcm128 = 7, "AEAD_AES_128_GCM", (16, 12), "RFC 7714 §14.2";
        /// AES-GCM with 256 bits.
        AesGcm256 = 8, "AEAD_AES_256_GCM", (32, 12), "RFC 7714 §14.2";
    }
}

impl Suite {
    /// The row of that name; some write the sizes of AES in the middle.
    #[must_use]
    pub fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"AES_CM_256_HMAC_SHA1_80" => Some(Self::AesCm256Sha1_80),
            b"AES_CM_256_HMAC_SHA1_32" => Some(Self::AesCm256Sha1_32),
            _ => Self::ALL.iter().find(|suite| suite.name().as_bytes() == name).copied(),
        }
    }

    /// Octets of key and salt together.
    #[must_use]
    pub const fn octets(self) -> usize {
        let (key, salt) = self.material();
        key + salt
    }
}

/// A master key and its salt. The memory is wiped when it goes.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<Box<[u8]>>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({} octets)", self.0.len())
    }
}

impl Secret {
    /// Key and salt of `suite`; `None`: their length is not the suite's.
    #[must_use]
    pub fn new(suite: Suite, octets: &[u8]) -> Option<Self> {
        (octets.len() == suite.octets()).then(|| Self(Zeroizing::new(octets.into())))
    }

    /// A new one.
    pub fn random(suite: Suite, random: &mut dyn FnMut(&mut [u8])) -> Self {
        let mut octets = Zeroizing::new(vec![0; suite.octets()].into_boxed_slice());
        random(&mut octets);
        Self(octets)
    }

    /// Key, then salt.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.0
    }
}

/// What protects one direction of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The tag by which offer and answer name it.
    pub tag: u32,
    /// How it is used.
    pub suite: Suite,
    /// Key and salt.
    pub secret: Secret,
    /// The master key identifier that stands in each packet: its value and its octets (RFC 3711
    /// §3.1).
    pub mki: Option<(u64, u8)>,
}

impl Key {
    /// Reads the value of `a=crypto`; `None`: a suite, a key method, a length or a session
    /// parameter that is not served. Such a line is passed over (RFC 4568 §6.3).
    #[must_use]
    pub fn read(value: &[u8]) -> Option<Self> {
        let mut words = words(value);
        let tag = number(words.next()?).filter(|tag| *tag <= TAG_MAX)?;
        let suite = Suite::named(words.next()?)?;
        let inline = words.next()?.strip_prefix(b"inline:")?;
        if memchr::memchr(b';', inline).is_some() || !words.all(is_harmless) {
            return None;
        }
        let mut parts = inline.split(|&octet| octet == b'|');
        let mut room = Zeroizing::new([0; MATERIAL_OCTETS_MAX + 8]);
        let length = BASE64.decode_slice(parts.next()?, room.as_mut_slice()).ok()?;
        let secret = Secret::new(suite, room.get(..length)?)?;
        let mut mki = None;
        for part in parts {
            if let Some(colon) = memchr::memchr(b':', part) {
                let (value, octets) = (number(&part[..colon])?, number(&part[colon + 1..])?);
                let octets = u8::try_from(octets).ok().filter(|n| (1..=MKI_OCTETS_MAX).contains(n));
                mki = Some((value, octets?));
            }
        }
        Some(Self { tag: u32::try_from(tag).ok()?, suite, secret, mki })
    }

    /// Appends the value of `a=crypto`.
    pub fn write(&self, out: &mut Vec<u8>) {
        push_number(out, self.tag.into());
        out.push(b' ');
        out.extend_from_slice(self.suite.name().as_bytes());
        out.extend_from_slice(b" inline:");
        let mut room = Zeroizing::new([0; MATERIAL_OCTETS_MAX * 2]);
        let length = BASE64.encode_slice(self.secret.octets(), room.as_mut_slice()).unwrap_or(0);
        out.extend_from_slice(&room[..length]);
        if let Some((value, octets)) = self.mki {
            out.push(b'|');
            push_number(out, value);
            out.push(b':');
            push_number(out, octets.into());
        }
    }
}

/// Session parameters that change nothing for us: the window's size, and a key that is derived
/// once (RFC 4568 §6.3.1, §6.3.5).
fn is_harmless(word: &[u8]) -> bool {
    word.starts_with(b"WSH=") || word == b"KDR=0"
}

wire::rows! {
    /// Hashes of a certificate, and their octets.
    pub enum Hash: u8, pub octets: usize {
        /// SHA-1.
        Sha1 = 1, "sha-1", 20, "RFC 8122 §5";
        /// SHA-256.
        Sha256 = 2, "sha-256", 32, "RFC 8122 §5";
        /// SHA-384.
        Sha384 = 3, "sha-384", 48, "RFC 8122 §5";
        /// SHA-512.
        Sha512 = 4, "sha-512", 64, "RFC 8122 §5";
    }
}

/// The fingerprint of a certificate (RFC 8122 §5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    /// Of which hash.
    pub hash: Hash,
    value: Box<[u8]>,
}

impl Fingerprint {
    /// From the hash's octets; `None`: it is of another length.
    #[must_use]
    pub fn new(hash: Hash, value: &[u8]) -> Option<Self> {
        (value.len() == hash.octets()).then(|| Self { hash, value: value.into() })
    }

    /// The hash's octets.
    #[must_use]
    pub fn value(&self) -> &[u8] {
        &self.value
    }

    /// Reads the value of `a=fingerprint`.
    #[must_use]
    pub fn read(value: &[u8]) -> Option<Self> {
        let mut words = words(value);
        let (name, digits) = (words.next()?, words.next()?);
        let is = |hash: &&Hash| hash.name().as_bytes().eq_ignore_ascii_case(name);
        let hash = Hash::ALL.iter().find(is).copied()?;
        let mut room = [0; FINGERPRINT_OCTETS_MAX];
        let mut length = 0;
        for pair in digits.split(|&octet| octet == b':') {
            let text = core::str::from_utf8(pair).ok().filter(|text| text.len() == 2)?;
            *room.get_mut(length)? = u8::from_str_radix(text, 16).ok()?;
            length += 1;
        }
        Self::new(hash, &room[..length])
    }

    /// Appends the value of `a=fingerprint`.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.hash.name().as_bytes());
        for (at, octet) in self.value.iter().enumerate() {
            out.push(if at == 0 { b' ' } else { b':' });
            for digit in [octet >> 4, octet & 15] {
                out.push(b"0123456789ABCDEF"[usize::from(digit)]);
            }
        }
    }
}

wire::rows! {
    /// Who opens a DTLS association (RFC 4145 §4, RFC 5763 §5).
    pub enum Setup: u8 {
        /// The writer.
        Active = 1, "active", "RFC 4145 §4.1";
        /// The reader.
        Passive = 2, "passive", "RFC 4145 §4.1";
        /// Either; the answer says who.
        ActPass = 3, "actpass", "RFC 4145 §4.1";
        /// Nobody yet.
        HoldConn = 4, "holdconn", "RFC 4145 §4.1";
    }
}

impl Setup {
    /// From the value of `a=setup`.
    #[must_use]
    pub fn named(name: &[u8]) -> Option<Self> {
        Self::ALL.iter().find(|setup| setup.name().as_bytes() == name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_with_lifetime_and_identifier_and_written_with_its_padding() {
        // RFC 4568 §10.1 with the identifier of §6.1.
        let line = b"1 AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz\
            |2^20|1:4 WSH=64";
        let key = Key::read(line).expect("well formed");
        assert_eq!((key.tag, key.suite, key.mki), (1, Suite::AesCm128Sha1_80, Some((1, 4))));
        assert_eq!(&key.secret.octets()[..8], b"YS___sem");
        for suite in Suite::ALL {
            let secret = Secret::random(*suite, &mut |octets| octets.fill(7));
            let key = Key { tag: 3, suite: *suite, secret, mki: None };
            let mut text = Vec::new();
            key.write(&mut text);
            assert_eq!(Key::read(&text), Some(key.clone()));
            let bare = text.strip_suffix(b"=").unwrap_or(&text);
            assert_eq!(Key::read(bare.strip_suffix(b"=").unwrap_or(bare)), Some(key));
        }
    }

    #[test]
    fn keys_that_are_not_served_are_none() {
        let key = "WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz";
        for line in [
            format!("x AES_CM_128_HMAC_SHA1_80 inline:{key}"),
            format!("1 AES_CM_128_HMAC_SHA1_80 inline:{key} UNENCRYPTED_SRTP"),
            format!("1 AES_256_CM_HMAC_SHA1_80 inline:{key}"),
            format!("1 AES_CM_128_HMAC_SHA1_80 inline:{key};inline:{key}"),
            format!("1 AES_CM_128_HMAC_SHA1_80 inline:{key}|1:200"),
            "1 AES_CM_128_HMAC_SHA1_80".to_owned(),
            format!("1 AES_CM_128_HMAC_SHA1_80 inline:{key}{key}{key}{key}"),
        ] {
            assert_eq!(Key::read(line.as_bytes()), None, "{line}");
        }
        let key = Secret::new(Suite::AesGcm128, &[0; 28]).expect("its length");
        assert_eq!(format!("{key:?}"), "Secret(28 octets)");
    }

    #[test]
    fn fingerprints_are_read_as_they_are_written() {
        let print = Fingerprint::new(Hash::Sha256, &[0xAB; 32]).expect("its length");
        let mut text = Vec::new();
        print.write(&mut text);
        assert!(text.starts_with(b"sha-256 AB:AB:"));
        assert_eq!(Fingerprint::read(&text), Some(print));
        assert_eq!(Fingerprint::read(b"sha-256 AB:CD"), None);
        assert_eq!(Fingerprint::read(b"md5 AB:CD"), None);
    }
}
