//! The words of rules: operations, application contexts, errors; and which one was meant.

/// Operations by their place: those of MAP by number, then those of CAP, then the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationId(pub(crate) u16);

/// Numbers that one protocol has here.
const NUMBERS: u16 = 256;

impl OperationId {
    /// A number that neither protocol has.
    pub const UNKNOWN: Self = Self(2 * NUMBERS);
    /// An object identifier.
    pub const GLOBAL: Self = Self(2 * NUMBERS + 1);
    /// No operation is invoked.
    pub const NONE: Self = Self(2 * NUMBERS + 2);
    /// How many there are.
    pub(crate) const COUNT: usize = 2 * NUMBERS as usize + 3;

    /// The operation of MAP with that number.
    #[must_use]
    pub fn map(code: i64) -> Self {
        u8::try_from(code).map_or(Self::UNKNOWN, |code| Self(code.into()))
    }

    /// The operation of CAP with that number.
    #[must_use]
    pub fn cap(code: i64) -> Self {
        u8::try_from(code).map_or(Self::UNKNOWN, |code| Self(NUMBERS + u16::from(code)))
    }

    /// The number where it is one of MAP's.
    pub(crate) fn of_map(self) -> Option<i64> {
        (self.0 < NUMBERS).then(|| self.0.into())
    }

    /// The number where it is one of CAP's.
    pub(crate) fn of_cap(self) -> Option<i64> {
        (NUMBERS..2 * NUMBERS).contains(&self.0).then(|| (self.0 - NUMBERS).into())
    }

    /// Whether a table has it.
    fn is_known(self) -> bool {
        let is_of_map = self.of_map().is_some_and(|it| map::Operation::of(it).is_some());
        is_of_map || self.of_cap().is_some_and(|it| cap::Operation::of(it).is_some())
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> String {
        let of_map = self.of_map().map(|it| match map::Operation::of(it) {
            Some(known) => known.name().to_owned(),
            None => format!("map:{it}"),
        });
        let of_cap = || {
            self.of_cap().map(|it| match cap::Operation::of(it) {
                Some(known) => format!("cap:{}", known.name()),
                None => format!("cap:{it}"),
            })
        };
        of_map.or_else(of_cap).unwrap_or_else(|| {
            let name = match self {
                Self::GLOBAL => "global",
                Self::NONE => "none",
                _ => "unknown",
            };
            name.to_owned()
        })
    }

    /// The operations that a word of a rule means. `None`: there is none of that name.
    pub(crate) fn named(word: &str) -> Option<Vec<Self>> {
        let one = |it: Self| Some(vec![it]);
        match word {
            "global" => return one(Self::GLOBAL),
            "none" => return one(Self::NONE),
            "unknown" => {
                let numbers = (0..2 * NUMBERS).map(Self).filter(|it| !it.is_known());
                return Some(numbers.chain([Self::UNKNOWN]).collect());
            }
            _ => {}
        }
        let (protocol, name) = word.split_once(':').unwrap_or(("", word));
        let number = name.parse::<u8>().ok().filter(|_| !protocol.is_empty()).map(i64::from);
        let of_map = || number.or_else(|| map::Operation::named(name).map(map::Operation::code));
        let of_cap = || number.or_else(|| cap::Operation::named(name).map(cap::Operation::code));
        match protocol {
            "" => of_map().map(Self::map).or_else(|| of_cap().map(Self::cap)).and_then(one),
            "map" => of_map().map(Self::map).and_then(one),
            "cap" => of_cap().map(Self::cap).and_then(one),
            _ => None,
        }
    }
}

/// All names of operations.
pub(crate) fn operations() -> impl Iterator<Item = &'static str> {
    let of_map = map::Operation::ALL.iter().map(|it| it.name());
    of_map
        .chain(cap::Operation::ALL.iter().map(|it| it.name()))
        .chain(["unknown", "global", "none"])
}

/// An application context, and its version where that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextId {
    pub(crate) number: u16,
    /// Version of MAP's, phase of CAP's; 0: none.
    pub(crate) version: u8,
}

const OF_MAP: u16 = 0x100;
const OF_CAP: u16 = 0x200;

impl ContextId {
    /// A dialogue begins without one: it is one of MAP version 1.
    pub const NONE: Self = Self { number: 0, version: 1 };
    /// One of neither protocol.
    pub const UNKNOWN: Self = Self { number: 1, version: 0 };
    /// The message does not say it: the dialogue has begun before.
    pub const UNTOLD: Self = Self { number: 2, version: 0 };

    /// The context of an object identifier.
    #[must_use]
    pub fn of_oid(contents: &[u8]) -> Self {
        if let Some((context, version)) = map::Context::of_oid(contents) {
            return Self { number: OF_MAP | u16::from(context.number()), version };
        }
        match cap::Context::of_oid(contents) {
            Some((context, version)) => Self { number: Self::of_cap(context), version },
            None => Self::UNKNOWN,
        }
    }

    fn of_cap(context: cap::Context) -> u16 {
        let place = cap::Context::ALL.iter().position(|it| *it == context);
        OF_CAP | machine::narrow::index(place.unwrap_or_default())
    }

    pub(crate) const fn is_of_map(self) -> bool {
        self.number & OF_MAP != 0
    }

    pub(crate) const fn is_of_cap(self) -> bool {
        self.number & OF_CAP != 0
    }

    /// Whether a message in this context is one of a rule's: of that version, or of any.
    pub(crate) const fn is_of(self, rule: Self) -> bool {
        self.number == rule.number && (rule.version == 0 || rule.version == self.version)
    }

    /// The context that a word of a rule means.
    pub(crate) fn named(word: &str) -> Option<Self> {
        match word {
            "none" => return Some(Self { version: 0, ..Self::NONE }),
            "unknown" => return Some(Self::UNKNOWN),
            "untold" => return Some(Self::UNTOLD),
            _ => {}
        }
        let (name, version) = match word.split_once('/') {
            Some((name, version)) => (name, version.parse::<u8>().ok().filter(|it| *it > 0)?),
            None => (word, 0),
        };
        let of_map = map::Context::ALL.iter().find(|it| it.name() == name);
        let of_map = of_map.map(|it| OF_MAP | u16::from(it.number()));
        let of_cap = || {
            let found = cap::Context::ALL.iter().find(|it| it.name() == name);
            found.map(|it| Self::of_cap(*it))
        };
        Some(Self { number: of_map.or_else(of_cap)?, version })
    }
}

/// All names of contexts.
pub(crate) fn contexts() -> impl Iterator<Item = &'static str> {
    let of_map = map::Context::ALL.iter().map(|it| it.name());
    of_map.chain(cap::Context::ALL.iter().map(|it| it.name())).chain(["unknown", "untold", "none"])
}

/// Names of errors.
pub(crate) fn errors() -> impl Iterator<Item = &'static str> {
    map::Error::ALL.iter().map(|it| it.name())
}

/// Letters of a name that is compared, at most.
const LETTERS_MAX: usize = 64;

/// What may have been meant by a word that is none: the name that is nearest, if it is near.
pub(crate) fn meant<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.rsplit(':').next().unwrap_or(word);
    let word = word.split('/').next().unwrap_or(word);
    let with_distance = names.map(|name| (distance(word, name), name));
    let (nearest, name) = with_distance.min_by_key(|it| it.0)?;
    (nearest <= word.len().div_ceil(3)).then_some(name)
}

/// Letters that are changed, added or taken away to make one word of another, whatever their case.
fn distance(one: &str, other: &str) -> usize {
    let letters = |it: &str| -> Vec<u8> {
        it.bytes().take(LETTERS_MAX).map(|it| it.to_ascii_lowercase()).collect()
    };
    let (one, other) = (letters(one), letters(other));
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.iter().enumerate() {
        let mut before = row[0];
        row[0] = at + 1;
        for (to, against) in other.iter().enumerate() {
            let changed = before + usize::from(letter != against);
            before = row[to + 1];
            row[to + 1] = changed.min(before + 1).min(row[to] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}
