//! The master keys of one direction, the session keys of RTP beside each, and what is left of them.
//!
//! Session keys of RTP are kept; those of RTCP are derived for each of its packets: they come every
//! few seconds, and what would be kept is as large as all the rest.

use crate::key::{KeyEntry, MASTER_KEYS_MAX, MasterKey};
use crate::packet::Refused;
use crate::parameters::Parameters;
use crate::session::{Kind, Session};
use core::fmt;

/// Why keys cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unusable {
    /// There is none, or there are more than [`MASTER_KEYS_MAX`].
    Number,
    /// The parameters contradict their suite, or a key is for another suite.
    Parameters,
    /// Several without an identifier each, two with the same one, or of different lengths.
    Identifiers,
    /// Counters would begin again under a key that was used, now or before.
    Used,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Number => "a direction has one to four master keys",
            Self::Parameters => "suite and parameters contradict each other",
            Self::Identifiers => "several master keys need identifiers of one length",
            Self::Used => "counters cannot begin again under a key that was used",
        })
    }
}

impl core::error::Error for Unusable {}

/// A master key with the session keys of RTP that are derived of it. What each packet needs stands
/// first.
#[repr(C)]
struct Keyed {
    session: Session,
    entry: KeyEntry,
}

/// The keys of one direction: most have one, which stands here itself.
#[repr(C)]
pub(crate) struct Keyring {
    pub parameters: Parameters,
    first: Keyed,
    #[allow(clippy::box_collection, reason = "few have more, and for the others it is one word")]
    more: Option<Box<Vec<Keyed>>>,
}

fn identifiers_are_sound(entries: &[KeyEntry]) -> bool {
    let length = |entry: &KeyEntry| entry.mki.map(|mki| mki.octets());
    let same = entries.windows(2).all(|pair| length(&pair[0]) == length(&pair[1]));
    let named = entries.len() == 1 || entries.iter().all(|entry| entry.mki.is_some());
    let twice = (1..entries.len()).any(|at| entries[..at].iter().any(|e| e.mki == entries[at].mki));
    same && named && !twice
}

impl Keyring {
    pub fn new(parameters: Parameters, entries: &[KeyEntry]) -> Result<Self, Unusable> {
        if entries.is_empty() || entries.len() > MASTER_KEYS_MAX {
            return Err(Unusable::Number);
        }
        if !identifiers_are_sound(entries) {
            return Err(Unusable::Identifiers);
        }
        let keyed = |entry: &KeyEntry| {
            let session = Session::derive(&entry.key, &parameters, Kind::Rtp, 0);
            let session = session.ok_or(Unusable::Parameters)?;
            Ok(Keyed { session, entry: entry.clone() })
        };
        let [first, more @ ..] = entries else { return Err(Unusable::Number) };
        let first = keyed(first)?;
        let more = more.iter().map(keyed).collect::<Result<Vec<_>, _>>()?;
        let more = (!more.is_empty()).then(|| Box::new(more));
        Ok(Self { parameters, first, more })
    }

    #[inline]
    fn at(&self, at: usize) -> Option<&Keyed> {
        if at == 0 { Some(&self.first) } else { self.more().get(at - 1) }
    }

    #[inline]
    fn at_mut(&mut self, at: usize) -> Option<&mut Keyed> {
        if at == 0 { Some(&mut self.first) } else { self.more.as_mut()?.get_mut(at - 1) }
    }

    fn all(&self) -> impl Iterator<Item = &Keyed> {
        core::iter::once(&self.first).chain(self.more())
    }

    fn more(&self) -> &[Keyed] {
        self.more.as_deref().map_or(&[], Vec::as_slice)
    }

    /// What is left of keys that were here before is left of them here.
    pub fn with_left_of(mut self, before: &Self) -> Self {
        let more = self.more.iter_mut().flat_map(|more| more.iter_mut());
        for keyed in core::iter::once(&mut self.first).chain(more) {
            for other in before.all().filter(|it| it.entry.key.derives_like(&keyed.entry.key)) {
                keyed.entry.allowance = keyed.entry.allowance.least(other.entry.allowance);
            }
        }
        self
    }

    /// Whether these are the same keys with the same parameters; what is left of them may differ.
    pub fn is_of(&self, parameters: &Parameters, entries: &[KeyEntry]) -> bool {
        let same = |one: &Keyed, other: &KeyEntry| {
            one.entry.key == other.key && one.entry.mki == other.mki
        };
        self.parameters == *parameters
            && 1 + self.more().len() == entries.len()
            && self.all().zip(entries).all(|(one, other)| same(one, other))
    }

    /// Whether one of these is a key that is here, for whatever suite.
    pub fn shares_a_key(&self, entries: &[KeyEntry]) -> bool {
        let shared = |key: &MasterKey| entries.iter().any(|other| key.derives_like(&other.key));
        self.all().any(|one| shared(&one.entry.key))
    }

    /// Octets of the identifier in each packet.
    pub fn mki_octets(&self) -> usize {
        self.first.entry.mki.map_or(0, |mki| mki.octets())
    }

    /// The key that a packet names by these octets.
    pub fn named(&self, mki: &[u8]) -> Result<usize, Refused> {
        let is = |keyed: &Keyed| keyed.entry.mki.map_or(mki.is_empty(), |own| own.is(mki));
        self.all().position(is).ok_or(Refused::UnknownMki)
    }

    /// Writes the identifier of a key.
    pub fn write_mki(&self, at: usize, out: &mut [u8]) {
        if let Some(mki) = self.at(at).and_then(|keyed| keyed.entry.mki) {
            mki.write(out);
        }
    }

    /// The first key that has packets of this kind left.
    pub fn usable(&self, kind: Kind) -> Option<usize> {
        (0..=self.more().len()).find(|&at| self.left(at, kind) > 0)
    }

    /// How many packets a key has left.
    pub fn left(&self, at: usize, kind: Kind) -> u64 {
        let allowance = self.at(at).map(|keyed| keyed.entry.allowance);
        allowance.map_or(0, |left| match kind {
            Kind::Rtp => left.rtp,
            Kind::Rtcp => left.rtcp,
        })
    }

    /// Counts a packet.
    pub fn spend(&mut self, at: usize, kind: Kind) {
        if let Some(keyed) = self.at_mut(at) {
            let left = &mut keyed.entry.allowance;
            let left = match kind {
                Kind::Rtp => &mut left.rtp,
                Kind::Rtcp => &mut left.rtcp,
            };
            *left = left.saturating_sub(1);
        }
    }

    /// The session keys of RTP for packets without a key derivation rate.
    pub fn session(&self, at: usize) -> Option<&Session> {
        self.at(at).map(|keyed| &keyed.session)
    }

    /// The session keys of RTP for an index, derived anew where the rate wants it.
    pub fn session_for(&mut self, at: usize, index: u64) -> Option<&Session> {
        let rate = self.parameters.kdr.divide(index);
        let parameters = self.parameters;
        let keyed = self.at_mut(at)?;
        if keyed.session.rate != rate {
            keyed.session = Session::derive(&keyed.entry.key, &parameters, Kind::Rtp, rate)?;
        }
        Some(&keyed.session)
    }

    /// The session keys of RTCP for an index.
    pub fn rtcp_session(&self, at: usize, index: u64) -> Option<Session> {
        let rate = self.parameters.kdr.divide(index);
        Session::derive(&self.at(at)?.entry.key, &self.parameters, Kind::Rtcp, rate)
    }

    /// The keys with what is left of them.
    pub fn entries(&self) -> impl Iterator<Item = &KeyEntry> {
        self.all().map(|keyed| &keyed.entry)
    }

    /// Octets on the heap.
    pub fn heap(&self) -> usize {
        let inner = self.all().map(|it| it.session.key.size() - size_of_val(&it.session.key));
        let more =
            self.more.as_ref().map_or(0, |more| size_of::<Vec<Keyed>>() + size_of_val(&***more));
        more + inner.sum::<usize>()
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyring")
            .field("parameters", &self.parameters)
            .field("keys", &(1 + self.more().len()))
            .finish()
    }
}
