//! Reading a line. Violations carry the offset in the line's value.

use super::line::{Crypto, FecOrder, InlineKey, LINE_OCTETS_MAX, SessionParameters};
use crate::key::{MASTER_KEYS_MAX, MKI_OCTETS_MAX, MasterKey, Mki, RTP_PACKETS_MAX};
use crate::parameters::KeyDerivationRate;
use crate::suite::{KEY_AND_SALT_MAX, Suite};
use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use wire::Malformed;
use zeroize::Zeroizing;

/// Session parameters of a line.
const PARAMETERS_MAX: usize = 16;
/// The smallest window that may be hinted at (RFC 4568 §6.3.6).
const WINDOW_HINT_MIN: u64 = 64;

/// What a line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// One that can be chosen.
    Known(Crypto),
    /// One of a suite, a key or a session parameter that is not known here: it is passed over
    /// (RFC 4568 §5.1.2), and its tag is taken.
    Unknown(u32),
}

/// A piece of the line and where it stands in it.
#[derive(Clone, Copy)]
struct Piece<'a> {
    at: usize,
    octets: &'a [u8],
}

impl<'a> Piece<'a> {
    const fn violation(&self, what: &'static str, spec: &'static str) -> Malformed {
        Malformed::new(self.at, what, spec)
    }

    /// The pieces between the separators.
    fn split(self, separator: u8) -> impl Iterator<Item = Self> + use<'a> {
        let mut at = self.at;
        self.octets.split(move |&octet| octet == separator).map(move |octets| {
            let piece = Self { at, octets };
            at += octets.len() + 1;
            piece
        })
    }

    fn after(self, prefix: &[u8]) -> Option<Self> {
        let octets = self.octets.strip_prefix(prefix)?;
        Some(Self { at: self.at + prefix.len(), octets })
    }
}

/// A decimal number of at most that many digits.
fn number(octets: &[u8], digits_max: usize) -> Option<u64> {
    let digits =
        !octets.is_empty() && octets.len() <= digits_max && octets.iter().all(u8::is_ascii_digit);
    if digits { core::str::from_utf8(octets).ok()?.parse().ok() } else { None }
}

impl Line {
    /// Reads the value of `a=crypto:`.
    pub fn parse(value: &[u8]) -> Result<Self, Malformed> {
        const SPEC: &str = "RFC 4568 §9.1";
        if value.len() > LINE_OCTETS_MAX {
            return Err(Malformed::new(LINE_OCTETS_MAX, "a crypto line is too long", SPEC));
        }
        let whole = Piece { at: 0, octets: value };
        if let Some(at) = value.iter().position(|octet| !matches!(octet, b' ' | b'!'..=b'~')) {
            return Err(Malformed::new(at, "a crypto line holds what is no character", SPEC));
        }
        let mut words = whole.split(b' ').filter(|word| !word.octets.is_empty());
        let end = Malformed::new(value.len(), "a crypto line is no tag, suite and key", SPEC);
        let (tag, suite, keys) = (words.next().ok_or(end)?, words.next().ok_or(end)?, words.next());
        let keys = keys.ok_or(end)?;
        let number = number(tag.octets, 9).and_then(|tag| u32::try_from(tag).ok());
        let number = number.ok_or(tag.violation("a tag is not a number of nine digits", SPEC))?;
        let Some(suite) = Suite::named(suite.octets) else { return Ok(Self::Unknown(number)) };
        let keys = parse_keys(keys, suite)?;
        let session = parse_session(words)?;
        let (Some(keys), Some(session)) = (keys, session) else {
            return Ok(Self::Unknown(number));
        };
        let crypto = Crypto { tag: number, suite, keys, session };
        if !crypto.parameters().are_sound() {
            return Ok(Self::Unknown(number));
        }
        Ok(Self::Known(crypto))
    }
}

/// The keys of a line; `None` where a method is unknown or they are more than are kept.
fn parse_keys(word: Piece<'_>, suite: Suite) -> Result<Option<Vec<InlineKey>>, Malformed> {
    const SPEC: &str = "RFC 4568 §6.1";
    let mut keys: Vec<InlineKey> = Vec::new();
    for piece in word.split(b';') {
        let Some(inline) = piece.after(b"inline:") else {
            let names_a_method = piece.octets.contains(&b':');
            let what = "a key has no method";
            return if names_a_method { Ok(None) } else { Err(piece.violation(what, SPEC)) };
        };
        let Some(key) = parse_key(inline, suite)? else { return Ok(None) };
        if keys.len() == MASTER_KEYS_MAX {
            return Ok(None);
        }
        // Each of several keys is named, all in the same length, none like another.
        if let Some(first) = keys.first() {
            let octets = |key: &InlineKey| key.mki.map(Mki::octets);
            let named = key.mki.is_some() && octets(first) == octets(&key);
            if !named || keys.iter().any(|other| other.mki == key.mki) {
                return Err(inline.violation("several keys are not told apart by MKIs", SPEC));
            }
        }
        keys.push(key);
    }
    Ok(Some(keys))
}

/// One key: `key and salt | lifetime | MKI`; `None` where its identifier is larger than is kept.
fn parse_key(piece: Piece<'_>, suite: Suite) -> Result<Option<InlineKey>, Malformed> {
    const SPEC: &str = "RFC 4568 §6.1";
    let mut parts = piece.split(b'|');
    let octets = parts.next().unwrap_or(piece);
    let mut inline = InlineKey::alone(parse_octets(octets, suite)?);
    let mut next = parts.next();
    if let Some(lifetime) = next.filter(|part| !part.octets.contains(&b':')) {
        let packets = parse_lifetime(lifetime.octets);
        let what = "a lifetime is not a number of packets up to 2^48";
        inline.lifetime = Some(packets.ok_or(lifetime.violation(what, SPEC))?);
        next = parts.next();
    }
    if let Some(mki) = next {
        let what = "an MKI is not a number and its length from 1 to 128";
        let Some(read) = parse_mki(mki).ok_or(mki.violation(what, SPEC))? else { return Ok(None) };
        inline.mki = Some(read);
    }
    match parts.next() {
        Some(more) => Err(more.violation("a key has more than lifetime and MKI", SPEC)),
        None => Ok(Some(inline)),
    }
}

/// Padding says nothing, and rtpengine leaves it away.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

fn parse_octets(piece: Piece<'_>, suite: Suite) -> Result<MasterKey, Malformed> {
    const SPEC: &str = "RFC 4568 §6.1";
    let what = "a key is not base64 of as many octets as its suite wants";
    let violation = piece.violation(what, SPEC);
    // The base64 of the longest key, and what padding may add to it.
    let mut octets = Zeroizing::new([0; KEY_AND_SALT_MAX + 6]);
    let text = piece.octets;
    if text.len() > octets.len() / 3 * 4 {
        return Err(violation);
    }
    let length = BASE64.decode_slice(text, &mut octets[..]).map_err(|_| violation)?;
    MasterKey::of(suite, &octets[..length]).ok_or(violation)
}

/// `2^n` or a number; at least one packet.
fn parse_lifetime(octets: &[u8]) -> Option<u64> {
    let packets = match octets.strip_prefix(b"2^") {
        Some(power) => {
            let power = u32::try_from(number(power, 2)?).ok()?;
            1u64.checked_shl(power)?
        }
        None => number(octets, 15)?,
    };
    (1..=RTP_PACKETS_MAX).contains(&packets).then_some(packets)
}

/// `value:length`; within, `None` for a value past 64 bits.
#[allow(clippy::option_option, reason = "malformed, or only too large")]
fn parse_mki(piece: Piece<'_>) -> Option<Option<Mki>> {
    let mut parts = piece.octets.split(|&octet| octet == b':');
    let (value, length) = (parts.next()?, parts.next()?);
    if parts.next().is_some() || value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let length = u8::try_from(number(length, 3)?).ok()?;
    if length == 0 || length > MKI_OCTETS_MAX {
        return None;
    }
    match number(value, 20) {
        Some(value) => Mki::new(value, length).map(Some),
        None => Some(None),
    }
}

/// The session parameters of a line; `None` where one that must be understood is not.
fn parse_session<'a>(
    words: impl Iterator<Item = Piece<'a>>,
) -> Result<Option<SessionParameters>, Malformed> {
    const SPEC: &str = "RFC 4568 §6.3";
    let mut session = SessionParameters::default();
    let mut names: Vec<&[u8]> = Vec::new();
    let mut understood = true;
    for word in words {
        let end = word.octets.iter().position(|&octet| octet == b'=');
        let name = &word.octets[..end.unwrap_or(word.octets.len())];
        if names.len() == PARAMETERS_MAX || names.contains(&name) {
            return Err(word.violation("a session parameter stands twice, or there are many", SPEC));
        }
        names.push(name);
        understood &= session.take(word)?;
    }
    Ok(understood.then_some(session))
}

impl SessionParameters {
    /// Takes one; whether it is understood or may be ignored (RFC 4568 §6.3.7).
    fn take(&mut self, word: Piece<'_>) -> Result<bool, Malformed> {
        const SPEC: &str = "RFC 4568 §6.3";
        match word.octets {
            b"UNENCRYPTED_SRTP" => self.unencrypted_srtp = true,
            b"UNENCRYPTED_SRTCP" => self.unencrypted_srtcp = true,
            b"UNAUTHENTICATED_SRTP" => self.unauthenticated_srtp = true,
            b"FEC_ORDER=FEC_SRTP" => self.fec_order = Some(FecOrder::FecSrtp),
            b"FEC_ORDER=SRTP_FEC" => self.fec_order = Some(FecOrder::SrtpFec),
            [b'-', ..] => {}
            _ => {
                if let Some(rate) = word.after(b"KDR=") {
                    let exponent = number(rate.octets, 2).and_then(|it| u8::try_from(it).ok());
                    // A rate of 2^0 is not told apart from none by all: it is not said.
                    let exponent = exponent.filter(|&exponent| exponent > 0);
                    let read = exponent.and_then(KeyDerivationRate::every_power);
                    let what = "a key derivation rate is not 1 to 24";
                    self.kdr = read.ok_or(rate.violation(what, SPEC))?;
                } else if let Some(hint) = word.after(b"WSH=") {
                    let read = number(hint.octets, 9).filter(|&size| size >= WINDOW_HINT_MIN);
                    let what = "a window is not a number from 64";
                    self.window_hint = Some(read.ok_or(hint.violation(what, SPEC))?);
                } else {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
