//! Numbers that the plane knows things by, and the names that a configuration has for them. They
//! stay as they are over changes and over a new control: the forwarder keeps them.

use machine::{Duration, Time};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What is numbered apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Ports, from 0.
    Port,
    /// Interfaces, from 1.
    Interface,
    /// Routing tables, from 1.
    Vrf,
    /// Hops, from 1.
    Hop,
    /// Bridge domains, from 1.
    Bridge,
    /// Pseudowires, from 1.
    Pseudowire,
    /// Filters, from 1.
    Filter,
    /// Policers, from 1.
    Policer,
    /// Labels of routing tables, from 0: their places in a range ([`Numbers::of_range`]). Other
    /// routers may use one for a while after its table has gone: it rests.
    Label,
}

/// How long a number that rests is given to nobody: graceful restart keeps what a router has told
/// for 4,095 s at most (RFC 4724 §3), and longer after that for hours (RFC 9494).
pub const REST: Duration = Duration::from_secs(24 * 3_600);

impl Kind {
    /// The first number.
    fn first(self) -> u32 {
        u32::from(!matches!(self, Self::Port | Self::Label))
    }

    /// Whether numbers that are given back rest.
    const fn rests(self) -> bool {
        matches!(self, Self::Label)
    }
}

/// Numbers of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Sequence {
    by_name: BTreeMap<String, u32>,
    /// Given back, to be given out again.
    free: BTreeSet<u32>,
    /// Given back, to be free when they have rested.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    resting: BTreeSet<u32>,
    /// Since when they rest, as far as that was seen here.
    #[serde(skip)]
    since: BTreeMap<u32, Time>,
    /// Somebody found none since [`Numbers::begin`].
    #[serde(skip)]
    is_short: bool,
    /// None has been given out from here on.
    next: u32,
}

/// All numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbers {
    kinds: BTreeMap<Kind, Sequence>,
    /// What else the function leaves with the forwarder, by names of its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    notes: BTreeMap<String, String>,
    /// Names that were asked for since [`Numbers::begin`].
    #[serde(skip)]
    used: BTreeSet<(Kind, String)>,
    #[serde(skip)]
    pub(crate) kept: Kept,
}

/// What the forwarder was left of numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// How many more hops may be numbered before the next control would give their numbers away.
    pub(crate) ahead: usize,
    /// When numbers that were given since are left there.
    pub(crate) due: Option<Time>,
}

impl Numbers {
    /// Forgets which names are in use.
    pub fn begin(&mut self) {
        self.used.clear();
        self.kinds.values_mut().for_each(|it| it.is_short = false);
    }

    /// Lets time pass: numbers that have rested are free. A rest of which a control before this one
    /// knew begins anew.
    pub fn wake(&mut self, now: Time) {
        for Sequence { free, resting, since, .. } in self.kinds.values_mut() {
            for number in &*resting {
                since.entry(*number).or_insert(now);
            }
            for (number, _) in since.extract_if(.., |_, since| now.since(*since) >= REST) {
                resting.remove(&number);
                free.insert(number);
            }
        }
    }

    /// When a number has rested, where somebody found none.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        let short = self.kinds.values().filter(|it| it.is_short);
        short.flat_map(|it| it.since.values()).min().map(|since| *since + REST)
    }

    /// Whether these can be gone on with: what a control left behind may be anybody's. Each number
    /// below the next one is a name's or free.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.kinds.iter().all(|(kind, sequence)| {
            let Sequence { by_name, free, resting, next, .. } = sequence;
            let all: BTreeSet<u32> = by_name.values().chain(free).chain(resting).copied().collect();
            let (known, first) = (by_name.len() + free.len() + resting.len(), kind.first());
            known == all.len() && all.into_iter().eq(first..(*next).max(first))
        })
    }

    /// The number of a port, of which there are fewer than 65,535; a new one if it had none.
    pub fn of_port(&mut self, name: &str) -> u16 {
        machine::narrow::at_most(self.of(Kind::Port, name).into(), u16::MAX)
    }

    /// The number of a name; a new one if it had none.
    pub fn of(&mut self, kind: Kind, name: &str) -> u32 {
        self.used.insert((kind, name.to_owned()));
        let sequence = self.kinds.entry(kind).or_default();
        if let Some(number) = sequence.by_name.get(name) {
            return *number;
        }
        let number = sequence.free.pop_first().unwrap_or_else(|| {
            sequence.next = sequence.next.max(kind.first()) + 1;
            sequence.next - 1
        });
        sequence.by_name.insert(name.to_owned(), number);
        number
    }

    /// The number of a name among those up to `last`: the one that it has, else `wish`, else the
    /// lowest one that is free. None if all are given or rest.
    pub fn of_range(&mut self, kind: Kind, name: &str, wish: u32, last: u32) -> Option<u32> {
        let sequence = self.kinds.entry(kind).or_default();
        let number = sequence.within(kind, name, wish, last);
        sequence.is_short |= number.is_none();
        self.used.extend(number.map(|_| (kind, name.to_owned())));
        number
    }

    /// The number of a name that has one.
    pub fn known(&self, kind: Kind, name: &str) -> Option<u32> {
        self.kinds.get(&kind)?.by_name.get(name).copied()
    }

    /// The name behind a number.
    pub fn name(&self, kind: Kind, number: u32) -> Option<&str> {
        let by_name = &self.kinds.get(&kind)?.by_name;
        by_name.iter().find(|(_, known)| **known == number).map(|(name, _)| name.as_str())
    }

    /// What the function noted under a name, here or before this control began.
    #[must_use]
    pub fn note(&self, name: &str) -> Option<&str> {
        self.notes.get(name).map(String::as_str)
    }

    /// All notes.
    pub fn notes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.notes.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// Notes something for the control that comes next; `None` takes it away. Whether that is new.
    pub fn set_note(&mut self, name: &str, text: Option<String>) -> bool {
        match text {
            None => self.notes.remove(name).is_some(),
            Some(text) if self.note(name) == Some(&*text) => false,
            Some(text) => {
                self.notes.insert(name.to_owned(), text);
                true
            }
        }
    }

    /// These, and so many hops beyond them: the next control gives the numbers that are given next
    /// to nobody before it has said everything.
    pub(crate) fn ahead(&self, hops: usize) -> Self {
        let mut made = self.clone();
        let free = (0..).map(|number| format!("ahead {number}"));
        let free = free.filter(|name| self.known(Kind::Hop, name).is_none());
        for name in free.take(hops) {
            made.of(Kind::Hop, &name);
        }
        made
    }

    /// Gives back the numbers of names that were not asked for since [`Numbers::begin`].
    pub fn end(&mut self) {
        for (kind, sequence) in &mut self.kinds {
            let used = &self.used;
            let gone =
                sequence.by_name.extract_if(.., |name, _| !used.contains(&(*kind, name.clone())));
            let back = if kind.rests() { &mut sequence.resting } else { &mut sequence.free };
            back.extend(gone.map(|(_, number)| number));
        }
    }
}

impl Sequence {
    /// As [`Numbers::of_range`] has it.
    fn within(&mut self, kind: Kind, name: &str, wish: u32, last: u32) -> Option<u32> {
        let Self { by_name, free, next, .. } = self;
        if let Some(number) = by_name.get(name).filter(|it| **it <= last) {
            return Some(*number);
        }
        *next = (*next).max(kind.first());
        let is_new = wish <= last && wish >= *next;
        let lowest = || free.first().copied().unwrap_or(*next);
        let number = if is_new || free.contains(&wish) { wish } else { lowest() };
        if number > last {
            return None;
        }
        // Whatever is skipped is free.
        free.extend(*next..=number);
        *next = (*next).max(number + 1);
        free.remove(&number);
        if let Some(other) = by_name.insert(name.to_owned(), number) {
            // The range is another one.
            self.resting.insert(other);
        }
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_control_before_are_taken_if_they_can_be_gone_on_with() {
        let mut numbers = Numbers::default();
        assert!(numbers.is_sound());
        for name in ["a", "b", "c"] {
            numbers.of(Kind::Interface, name);
        }
        numbers.of(Kind::Port, "a");
        numbers.begin();
        numbers.of(Kind::Interface, "b");
        numbers.end();
        assert!(numbers.is_sound(), "{numbers:?}");
        let memo = serde_json::to_string(&numbers).expect("numbers");
        for (good, bad) in [
            (r#""next":4"#, r#""next":4294967295"#),
            (r#""free":[1,3]"#, r#""free":[1,3,4294967295]"#),
            (r#""free":[1,3]"#, r#""free":[1,2,3]"#),
        ] {
            assert!(memo.contains(good), "{memo}");
            let poisoned = serde_json::from_str(&memo.replace(good, bad));
            let poisoned: Numbers = poisoned.expect("it can be read");
            assert!(!poisoned.is_sound(), "{bad}");
        }
    }

    #[test]
    fn a_label_that_was_given_back_rests_for_a_day_and_a_new_control_begins_that_anew() {
        let mut numbers = Numbers::default();
        let at = |hours: u64| Time::ZERO + Duration::from_secs(3_600 * hours);
        // What a compilation of these names and numbers is, with labels up to 3.
        let say = |numbers: &mut Numbers, hours: u64, names: &[(&str, u32)]| {
            numbers.wake(at(hours));
            numbers.begin();
            let all = names.iter().map(|it| numbers.of_range(Kind::Label, it.0, it.1, 3));
            let all: Vec<_> = all.collect();
            numbers.end();
            numbers.wake(at(hours));
            assert!(numbers.is_sound(), "{numbers:?}");
            all
        };
        let all = say(&mut numbers, 0, &[("a", 1), ("b", 2)]);
        assert_eq!((all, numbers.due()), (vec![Some(1), Some(2)], None), "as it is wished");
        assert_eq!(say(&mut numbers, 1, &[("b", 2)]), [Some(2)]);
        let all = say(&mut numbers, 1, &[("b", 2), ("c", 1), ("d", 4), ("e", 5)]);
        assert_eq!(all, [Some(2), Some(0), Some(3), None], "1 rests, and beyond 3 there is none");
        assert_eq!(numbers.due(), Some(at(25)));
        let names = [("b", 2), ("c", 1), ("d", 4), ("e", 5)];
        assert_eq!(say(&mut numbers, 24, &names)[3], None);
        let memo = serde_json::to_string(&numbers).expect("numbers");
        assert_eq!(say(&mut numbers, 25, &names)[3], Some(1));
        assert_eq!(numbers.due(), None);
        let mut next: Numbers = serde_json::from_str(&memo).expect("it can be read");
        assert_eq!(say(&mut next, 25, &names)[3], None);
        assert_eq!(next.due(), Some(at(49)));
        assert_eq!(say(&mut next, 49, &names)[3], Some(1));
    }

    #[test]
    fn a_label_beyond_another_range_rests_and_its_name_has_one_within() {
        let mut numbers = Numbers::default();
        assert_eq!(numbers.of_range(Kind::Label, "a", 7, 9), Some(7));
        assert_eq!(numbers.of_range(Kind::Label, "a", 7, 4), Some(0));
        assert_eq!(numbers.of_range(Kind::Label, "b", 7, 9), Some(1), "7 rests");
        assert!(numbers.is_sound(), "{numbers:?}");
    }

    #[test]
    fn a_name_keeps_its_number_and_one_that_is_gone_gives_it_back() {
        let mut numbers = Numbers::default();
        let all = ["a", "b", "c"].map(|name| numbers.of(Kind::Interface, name));
        assert_eq!((all, numbers.of(Kind::Port, "a")), ([1, 2, 3], 0));
        numbers.begin();
        assert_eq!(numbers.of(Kind::Interface, "c"), 3);
        numbers.of(Kind::Interface, "a");
        numbers.end();
        assert_eq!(numbers.known(Kind::Interface, "b"), None);
        assert_eq!(numbers.of(Kind::Interface, "d"), 2);
        assert_eq!(numbers.of(Kind::Interface, "e"), 4);
        assert_eq!(numbers.name(Kind::Interface, 2), Some("d"));
    }
}
