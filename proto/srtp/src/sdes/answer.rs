//! Offer and answer (RFC 4568 §5.1, §7.1).

use super::line::{Crypto, InlineKey, SessionParameters};
use super::parse::Line;
use crate::key::MasterKey;
use crate::suite::Suite;
use core::fmt;
use wire::Malformed;

/// Lines of one stream that are read.
pub const CRYPTO_LINES_MAX: usize = 32;

/// What a site takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The suites; their order is that of own offers. In answers the offer's order counts.
    pub suites: Vec<Suite>,
    /// Whether lines may ask for `UNENCRYPTED_SRTP`, `UNENCRYPTED_SRTCP`.
    pub allows_unencrypted: bool,
    /// Whether lines may ask for `UNAUTHENTICATED_SRTP`.
    pub allows_unauthenticated: bool,
    /// Whether lines may ask for session keys that change on the way (`KDR`): their derivation is
    /// work that a forged packet can ask for.
    pub allows_key_derivation: bool,
}

impl Policy {
    /// These suites, and all of a packet protected.
    #[must_use]
    pub const fn of(suites: Vec<Suite>) -> Self {
        Self {
            suites,
            allows_unencrypted: false,
            allows_unauthenticated: false,
            allows_key_derivation: false,
        }
    }

    fn takes(&self, crypto: &Crypto) -> bool {
        let SessionParameters { unencrypted_srtp, unencrypted_srtcp, unauthenticated_srtp, .. } =
            crypto.session;
        self.suites.contains(&crypto.suite)
            && (self.allows_unencrypted || !(unencrypted_srtp || unencrypted_srtcp))
            && (self.allows_unauthenticated || !unauthenticated_srtp)
            && (self.allows_key_derivation || crypto.session.kdr.exponent().is_none())
    }
}

/// The lines of one stream that are understood, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Offer {
    lines: Vec<Crypto>,
    /// How many there were, understood or not.
    total: usize,
}

impl Offer {
    /// The lines that are understood.
    #[must_use]
    pub fn lines(&self) -> &[Crypto] {
        &self.lines
    }

    /// Whether there were any, understood or not: whoever offers them wants SRTP.
    #[must_use]
    pub const fn has_any(&self) -> bool {
        self.total > 0
    }

    /// An offer of own lines: one for each suite, numbered from one. `key` gives each line a key
    /// of its own, drawn for it (RFC 4568 §7.1.1).
    pub fn write(suites: &[Suite], mut key: impl FnMut(Suite) -> MasterKey) -> Self {
        let line = |(tag, &suite): (u32, &Suite)| Crypto {
            tag,
            suite,
            keys: vec![InlineKey::alone(key(suite))],
            session: SessionParameters::default(),
        };
        let numbered = (1..).zip(suites.iter().take(CRYPTO_LINES_MAX));
        let lines: Vec<_> = numbered.map(line).collect();
        Self { total: lines.len(), lines }
    }
}

/// Lines that are written: all of them are understood.
impl From<Vec<Crypto>> for Offer {
    fn from(lines: Vec<Crypto>) -> Self {
        Self { total: lines.len(), lines }
    }
}

/// Reads the values of all `a=crypto` lines of one stream. Lines of unknown suites, keys and
/// mandatory parameters are passed over.
///
/// # Errors
/// A malformed line, two of one tag, or more than [`CRYPTO_LINES_MAX`].
pub fn read_all<'a>(values: impl Iterator<Item = &'a [u8]>) -> Result<Offer, Malformed> {
    let mut offer = Offer::default();
    let mut tags = Vec::new();
    for value in values {
        let line = Line::parse(value)?;
        let tag = match &line {
            Line::Known(crypto) => crypto.tag,
            Line::Unknown(tag) => *tag,
        };
        if tags.contains(&tag) {
            return Err(Malformed::new(0, "two crypto lines have one tag", "RFC 4568 §4.1"));
        }
        if tags.len() == CRYPTO_LINES_MAX {
            return Err(Malformed::new(0, "a stream has too many crypto lines", "RFC 4568 §4"));
        }
        tags.push(tag);
        offer.total += 1;
        if let Line::Known(crypto) = line {
            offer.lines.push(crypto);
        }
    }
    Ok(offer)
}

/// The line of an offer that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice<'a>(&'a Crypto);

impl<'a> Choice<'a> {
    /// The line: its keys protect what its writer sends.
    #[must_use]
    pub const fn line(self) -> &'a Crypto {
        self.0
    }
}

/// Takes the first line of an offer that the site takes (RFC 4568 §7.1.2).
#[must_use]
pub fn choose<'a>(offer: &'a Offer, policy: &Policy) -> Option<Choice<'a>> {
    offer.lines.iter().find(|line| policy.takes(line)).map(Choice)
}

/// Both halves of an agreement, for one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreed {
    /// The own line: its keys protect what is sent.
    pub ours: Crypto,
    /// The other side's: its keys protect what comes.
    pub theirs: Crypto,
}

/// Answers: the same tag, suite and session parameters, and an own key, drawn for this answer and
/// used up by it. `None` if the key is for another suite, or the offer's own: a key that both
/// sides send with would use each index twice.
#[must_use]
pub fn answer(choice: Choice<'_>, key: MasterKey) -> Option<Agreed> {
    let theirs = choice.0.clone();
    if key.suite() != theirs.suite || theirs.keys.iter().any(|other| other.key == key) {
        return None;
    }
    let session = SessionParameters { window_hint: None, ..theirs.session };
    let keys = vec![InlineKey::alone(key)];
    let ours = Crypto { tag: theirs.tag, suite: theirs.suite, keys, session };
    Some(Agreed { ours, theirs })
}

/// Why an answer is not one to an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mismatch {
    /// It has none or several lines, or one that is not understood.
    NotOne,
    /// Its tag was not offered, or with another suite.
    NotOffered,
    /// Its session parameters are others.
    Parameters,
    /// It repeats a key of the offer.
    SameKey,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotOne => "an answer has one crypto line",
            Self::NotOffered => "the answer's crypto line was not offered",
            Self::Parameters => "the answer changes session parameters",
            Self::SameKey => "the answer repeats the offer's key",
        })
    }
}

impl core::error::Error for Mismatch {}

/// Takes an answer to an own offer (RFC 4568 §5.1.3).
///
/// # Errors
/// Why it is none.
pub fn accept(offered: &Offer, answered: &Offer) -> Result<Agreed, Mismatch> {
    let ([theirs], 1) = (&answered.lines[..], answered.total) else {
        return Err(Mismatch::NotOne);
    };
    let ours = offered.lines.iter().find(|line| line.tag == theirs.tag);
    let ours = ours.filter(|line| line.suite == theirs.suite).ok_or(Mismatch::NotOffered)?;
    if !ours.session.agree_with(&theirs.session) {
        return Err(Mismatch::Parameters);
    }
    if theirs.keys.iter().any(|one| ours.keys.iter().any(|other| one.key == other.key)) {
        return Err(Mismatch::SameKey);
    }
    Ok(Agreed { ours: ours.clone(), theirs: theirs.clone() })
}
