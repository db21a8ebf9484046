//! Texts in parts (TS 23.040 §9.2.3.24.1): cut where a part is full, and joined again.

use crate::alphabet::{Alphabet, Language, packed_octets};
use crate::coding::Coding;
use crate::header::{Concatenation, Element};
use crate::user_data::{Made, OCTETS_MAX, header_of};
use core::fmt;
use machine::shares::Shares;
use machine::{Duration, Time};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Parts of a text, at most.
const PARTS_MAX: usize = 255;
/// Septets of a message.
const SEPTETS_MAX: usize = OCTETS_MAX * 8 / 7;

/// The reference of a text in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split<'a> {
    /// The same in every part; of 16 bits if it is beyond 255.
    pub reference: u16,
    /// National languages whose tables may be used, the one that is liked best first.
    pub languages: &'a [Language],
}

/// A part: user data with their coding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// TP-DCS.
    pub coding: Coding,
    /// TP-UDHI.
    pub has_header: bool,
    /// TP-UDL and TP-UD.
    pub data: Made,
}

/// A text in as few parts as may be: in the default alphabet, else with tables of a language that
/// is allowed, else in UCS2. None of more than 255 parts.
#[must_use]
pub fn split(text: &str, how: Split<'_>) -> Option<Vec<Part>> {
    let single = |it: &Language| Alphabet { single_shift: Some(*it), ..Alphabet::DEFAULT };
    let both = |it: &Language| Alphabet {
        locking: Some(*it).filter(|it| it.is_locking()),
        single_shift: Some(*it),
    };
    let locking = |it: &Language| {
        it.is_locking().then_some(Alphabet { locking: Some(*it), single_shift: None })
    };
    let of_languages = how
        .languages
        .iter()
        .flat_map(|it| [Some(single(it)), locking(it), Some(both(it))])
        .flatten();
    let alphabets = core::iter::once(Alphabet::DEFAULT).chain(of_languages);
    let in_septets = alphabets.filter_map(|it| parts(text, Some(it), how.reference));
    let all = in_septets.chain(parts(text, None, how.reference));
    all.min_by_key(Vec::len)
}

/// The parts in an alphabet of septets, or in UCS2.
fn parts(text: &str, alphabet: Option<Alphabet>, reference: u16) -> Option<Vec<Part>> {
    let coding = if alphabet.is_some() { Coding::GSM7 } else { Coding::UCS2 };
    let whole = pieces(text, alphabet, room(alphabet, header(alphabet, None)?.len()))?;
    let pieces = match whole.len() {
        0 | 1 => whole,
        _ => {
            let place = (reference, 1, 1);
            pieces(text, alphabet, room(alphabet, header(alphabet, Some(place))?.len()))?
        }
    };
    let count = u8::try_from(pieces.len()).ok().filter(|it| usize::from(*it) <= PARTS_MAX)?;
    let make = |(number, piece): (u8, &&str)| {
        let place = (count > 1).then_some((reference, count, number));
        let header = header(alphabet, place)?;
        let data = Made::text(coding, &header, piece)?;
        Some(Part { coding, has_header: !header.is_empty(), data })
    };
    (1..=count).zip(&pieces).map(make).collect()
}

/// Septets, or octets of UCS2, that have room behind a header of so many octets.
const fn room(alphabet: Option<Alphabet>, header: usize) -> usize {
    match alphabet {
        Some(_) => SEPTETS_MAX - (header * 8).div_ceil(7),
        None => OCTETS_MAX - header,
    }
}

/// The header of a part: which one it is of how many, and the languages.
fn header(alphabet: Option<Alphabet>, place: Option<(u16, u8, u8)>) -> Option<Vec<u8>> {
    let mut elements: Vec<(Element, Vec<u8>)> = Vec::new();
    if let Some((reference, maximum, sequence)) = place {
        elements.push(match u8::try_from(reference) {
            Ok(low) => (Element::Concatenated8, vec![low, maximum, sequence]),
            Err(_) => {
                let [high, low] = reference.to_be_bytes();
                (Element::Concatenated16, vec![high, low, maximum, sequence])
            }
        });
    }
    let alphabet = alphabet.unwrap_or_default();
    let single = alphabet.single_shift.map(|it| (Element::SingleShift, vec![it.number()]));
    let locking = alphabet.locking.map(|it| (Element::LockingShift, vec![it.number()]));
    elements.extend(single.into_iter().chain(locking));
    match elements.is_empty() {
        true => Some(Vec::new()),
        false => header_of(elements.iter().map(|it| (it.0.number(), &it.1[..]))),
    }
}

/// The text cut into pieces that have room; no escape is cut from what it leads to, no surrogate
/// from the other.
fn pieces(text: &str, alphabet: Option<Alphabet>, room: usize) -> Option<Vec<&str>> {
    let (mut pieces, mut from, mut used, mut septets) = (Vec::new(), 0, 0, Vec::new());
    for (at, character) in text.char_indices() {
        let takes = match alphabet {
            None => character.len_utf16() * 2,
            Some(alphabet) => {
                septets.clear();
                if !alphabet.encode(character, &mut septets) {
                    return None;
                }
                septets.len()
            }
        };
        if used + takes > room {
            pieces.push(&text[from..at]);
            (from, used) = (at, 0);
        }
        used += takes;
    }
    pieces.push(&text[from..]);
    Some(pieces)
}

const _: () = assert!(packed_octets(SEPTETS_MAX, 0) == OCTETS_MAX);

/// What a [`Joiner`] holds, at most.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Texts of which parts lack.
    pub texts: usize,
    /// Of those, of one source.
    pub texts_per_source: usize,
    /// Octets of all parts; one source has at most as many as are left for others.
    pub octets: usize,
    /// How long the first part waits for the last.
    pub patience: Duration,
}

/// Whose text it is, and which.
type Key<S> = (S, (u16, bool, u8));

struct Assembly {
    parts: Vec<Option<Vec<u8>>>,
    octets: usize,
    /// Its place among what is due.
    due: (Time, u64),
}

/// Without the text.
impl fmt::Debug for Assembly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assembly").field("octets", &self.octets).finish_non_exhaustive()
    }
}

/// Joins parts. A source is whoever sends to whomever: both addresses.
#[derive(Debug)]
pub struct Joiner<S> {
    limits: Limits,
    texts: BTreeMap<Key<S>, Assembly>,
    /// When each is let go of; the number tells those of one time apart.
    due: BTreeMap<(Time, u64), Key<S>>,
    octets: Shares<S>,
    begun: u64,
}

impl<S: Ord + Clone> Joiner<S> {
    /// One that holds nothing.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let (texts, due, octets) = (BTreeMap::new(), BTreeMap::new(), Shares::default());
        Self { limits, texts, due, octets, begun: 0 }
    }

    /// Takes a part; all of them in their order when this was the last. A part that came already,
    /// or is none of its text's, changes nothing; one for which there is no room is passed over.
    pub fn part(
        &mut self,
        now: Time,
        source: &S,
        place: Concatenation,
        part: Vec<u8>,
    ) -> Option<Vec<Vec<u8>>> {
        self.tick(now);
        let index = usize::from(place.sequence).checked_sub(1)?;
        if place.sequence > place.maximum {
            return None;
        }
        let key = (source.clone(), (place.reference, place.is_wide, place.maximum));
        let held = self.texts.get(&key);
        let has_come = held.is_some_and(|it| it.parts.get(index).is_some_and(Option::is_some));
        if has_come || (held.is_none() && !self.has_room(source)) {
            return None;
        }
        let octets = part.len();
        if !self.octets.take(source.clone(), octets, self.limits.octets) {
            return None;
        }
        let assembly = match self.texts.entry(key.clone()) {
            Entry::Occupied(it) => it.into_mut(),
            Entry::Vacant(it) => {
                self.begun += 1;
                let due = (now + self.limits.patience, self.begun);
                self.due.insert(due, key.clone());
                let parts = vec![None; usize::from(place.maximum)];
                it.insert(Assembly { parts, octets: 0, due })
            }
        };
        assembly.octets += octets;
        *assembly.parts.get_mut(index)? = Some(part);
        if assembly.parts.iter().any(Option::is_none) {
            return None;
        }
        self.take(&key)?.parts.into_iter().collect()
    }

    /// Lets go of a text, whole or not.
    fn take(&mut self, key: &Key<S>) -> Option<Assembly> {
        let taken = self.texts.remove(key)?;
        self.due.remove(&taken.due);
        self.octets.give_back(&key.0, taken.octets);
        Some(taken)
    }

    fn has_room(&self, source: &S) -> bool {
        let first = (source.clone(), (0, false, 0));
        let own = self.texts.range(first..).take_while(|it| it.0.0 == *source).count();
        self.texts.len() < self.limits.texts && own < self.limits.texts_per_source
    }

    /// Lets go of texts whose parts do not come.
    pub fn tick(&mut self, now: Time) {
        while let Some((_, key)) = self.due.first_key_value().filter(|it| it.0.0 <= now) {
            let key = key.clone();
            self.take(&key);
        }
    }

    /// When a text is let go of next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.due.first_key_value().map(|it| it.0.0)
    }

    /// Texts of which parts lack, and octets that are held.
    #[must_use]
    pub fn held(&self) -> (usize, usize) {
        (self.texts.len(), self.octets.sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(parts: &[Part]) -> String {
        let text = |it: &Part| it.data.as_read(it.coding, it.has_header).text().unwrap().unwrap();
        parts.iter().map(text).collect()
    }

    #[test]
    fn a_text_is_cut_into_as_few_parts_as_its_alphabet_allows() {
        let how = |reference, languages| Split { reference, languages };
        let plain = how(7, &[]);
        for (text, how, parts, coding) in [
            ("a".repeat(160), plain, 1, Coding::GSM7),
            ("a".repeat(161), plain, 2, Coding::GSM7),
            ("a".repeat(306), plain, 2, Coding::GSM7),
            ("a".repeat(307), plain, 3, Coding::GSM7),
            ("€".repeat(153), plain, 3, Coding::GSM7),
            ("я".repeat(70), plain, 1, Coding::UCS2),
            ("я".repeat(71), plain, 2, Coding::UCS2),
            ("😀".repeat(67), plain, 3, Coding::UCS2),
            ("ş".repeat(77), how(7, &[Language::Turkish]), 1, Coding::GSM7),
            ("ş".repeat(155), how(7, &[Language::Turkish]), 1, Coding::GSM7),
            ("a".repeat(305), how(300, &[]), 3, Coding::GSM7),
            (String::new(), plain, 1, Coding::GSM7),
        ] {
            let made = split(&text, how).unwrap();
            assert_eq!((made.len(), made[0].coding), (parts, coding), "{text}");
            assert_eq!(joined(&made), text);
            assert!(made.iter().all(|it| it.data.octets.len() <= OCTETS_MAX));
        }
        assert_eq!(split(&"a".repeat(153 * 255 + 1), plain), None);
    }

    #[test]
    fn parts_are_joined_in_any_order_and_what_does_not_come_is_let_go_of() {
        let limits = Limits {
            texts: 2,
            texts_per_source: 1,
            octets: 100,
            patience: Duration::from_secs(60),
        };
        let (mut joiner, now) = (Joiner::new(limits), Time::ZERO);
        let place =
            |reference, sequence| Concatenation { reference, is_wide: false, maximum: 2, sequence };
        assert_eq!(joiner.part(now, &"a", place(1, 2), vec![2; 10]), None);
        assert_eq!(joiner.part(now, &"a", place(1, 2), vec![3; 10]), None, "it came already");
        assert_eq!(joiner.part(now, &"a", place(2, 1), vec![1; 10]), None, "one of a source");
        assert_eq!(joiner.part(now, &"b", place(1, 1), vec![1; 91]), None, "too many octets");
        assert_eq!(joiner.held(), (1, 10));
        let whole = joiner.part(now, &"a", place(1, 1), vec![1; 5]);
        assert_eq!(whole, Some(vec![vec![1; 5], vec![2; 10]]));
        assert_eq!((joiner.held(), joiner.deadline()), ((0, 0), None));
        joiner.part(now, &"b", place(9, 1), vec![1]);
        let late = joiner.deadline().unwrap();
        joiner.tick(late);
        assert_eq!(joiner.held(), (0, 0));
        assert_eq!(joiner.part(late, &"b", place(9, 2), vec![2]), None);
    }

    #[test]
    fn a_part_that_is_none_begins_no_text_and_one_source_leaves_room_to_others() {
        let (texts, texts_per_source) = (100, 50);
        let patience = Duration::from_secs(60);
        let limits = Limits { texts, texts_per_source, octets: 100, patience };
        let (mut joiner, now) = (Joiner::new(limits), Time::ZERO);
        let place = |reference, maximum, sequence| Concatenation {
            reference,
            is_wide: false,
            maximum,
            sequence,
        };
        for (maximum, sequence) in [(2, 0), (2, 3), (0, 0), (0, 1)] {
            assert_eq!(joiner.part(now, &"a", place(1, maximum, sequence), vec![1]), None);
        }
        assert_eq!((joiner.held(), joiner.deadline()), ((0, 0), None));
        for reference in 0..50 {
            joiner.part(now, &"a", place(reference, 2, 1), vec![1; 10]);
        }
        assert_eq!(joiner.held(), (5, 50), "as much as is left for others");
        joiner.part(now, &"b", place(1, 2, 1), vec![1; 25]);
        assert_eq!(joiner.held(), (6, 75));
        assert_eq!(joiner.part(now, &"b", place(1, 2, 2), vec![]).map(|it| it.len()), Some(2));
        assert!(!format!("{joiner:?}").contains("[1, 1"), "a log has no text");
    }
}
