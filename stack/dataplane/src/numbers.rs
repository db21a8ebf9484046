//! Numbers that the plane knows things by, and the names that a configuration has for them. They
//! stay as they are over changes and over a new control: the forwarder keeps them.

use machine::Time;
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
}

/// Numbers of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Sequence {
    by_name: BTreeMap<String, u32>,
    /// Given back, to be given out again.
    free: BTreeSet<u32>,
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
    }

    /// Whether these can be gone on with: what a control left behind may be anybody's. Each number
    /// below the next one is a name's or free.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.kinds.iter().all(|(kind, sequence)| {
            let first = u32::from(*kind != Kind::Port);
            let Sequence { by_name, free, next } = sequence;
            let all: BTreeSet<u32> = by_name.values().chain(free).copied().collect();
            let known = by_name.len() + free.len();
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
        let first = u32::from(kind != Kind::Port);
        let number = sequence.free.pop_first().unwrap_or_else(|| {
            sequence.next = sequence.next.max(first) + 1;
            sequence.next - 1
        });
        sequence.by_name.insert(name.to_owned(), number);
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
            sequence.free.extend(gone.map(|(_, number)| number));
        }
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
