//! What a search asks for, and the collection of the newest hits over many indexes.

use crate::record::{CLASSES, Head, Place, TAGS};

/// Hits that one search may return.
pub const LIMIT_MAX: usize = 1_000;

/// All keys of a class from `low` to `high`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyRange {
    /// Below [`CLASSES`].
    pub class: u8,
    /// First value.
    pub low: u64,
    /// Last value.
    pub high: u64,
}

impl KeyRange {
    /// Exactly one value.
    #[must_use]
    pub const fn exactly(class: u8, value: u64) -> Self {
        Self { class, low: value, high: value }
    }

    pub(crate) fn is_sound(&self) -> bool {
        usize::from(self.class) < CLASSES && self.low <= self.high
    }
}

/// A search: newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// A record must have a key of each of these groups: of any range in the group.
    pub all_of: Vec<Vec<KeyRange>>,
    /// For each tag the lowest and highest value allowed.
    pub tags: [Option<(u16, u16)>; TAGS],
    /// A value that the first tag must not have.
    pub without: Option<u16>,
    /// Earliest start in microseconds since the UNIX epoch.
    pub from_us: u64,
    /// Latest start; `None` is now and ever.
    pub to_us: Option<u64>,
    /// Only what comes after this start and id in the order of answers (a cursor).
    pub before: Option<(u64, u64)>,
    /// Hits wanted, at most [`LIMIT_MAX`].
    pub limit: usize,
}

impl Query {
    /// Whether a record with this head passes everything but the keys.
    #[must_use]
    pub fn admits(&self, head: &Head) -> bool {
        head.start_us >= self.from_us
            && self.to_us.is_none_or(|to| head.start_us <= to)
            && self.before.is_none_or(|before| (head.start_us, head.id) < before)
            && self.without.is_none_or(|value| head.tags[0] != value)
            && self
                .tags
                .iter()
                .zip(head.tags)
                .all(|(range, tag)| range.is_none_or(|(low, high)| (low..=high).contains(&tag)))
    }

    /// Whether a record with these keys passes the groups of ranges.
    #[must_use]
    pub fn admits_keys(&self, keys: &[crate::Key]) -> bool {
        self.all_of.iter().all(|group| {
            group.iter().any(|range| {
                keys.iter()
                    .any(|k| k.class == range.class && (range.low..=range.high).contains(&k.value))
            })
        })
    }
}

/// One record found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    /// Shown and filtered by.
    pub head: Head,
    /// Where its record stands.
    pub place: Place,
}

/// The newest hits so far, newest first.
pub(crate) struct Newest {
    pub hits: Vec<Hit>,
    limit: usize,
}

impl Newest {
    pub fn new(limit: usize) -> Self {
        Self { hits: Vec::new(), limit: limit.min(LIMIT_MAX) }
    }

    /// Whether a record that started then could still be among them.
    pub fn wants(&self, start_us: u64) -> bool {
        self.hits.len() < self.limit
            || self.hits.last().is_some_and(|last| start_us >= last.head.start_us)
    }

    pub fn take(&mut self, hit: Hit) {
        let key = |h: &Hit| (h.head.start_us, h.head.id);
        let at = self.hits.partition_point(|h| key(h) > key(&hit));
        if at < self.limit && self.hits.get(at).is_none_or(|h| h.head.id != hit.head.id) {
            self.hits.insert(at, hit);
            self.hits.truncate(self.limit);
        }
    }
}
