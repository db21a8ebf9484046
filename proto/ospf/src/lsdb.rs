//! The link state database: of an area, of a link, or of the whole domain.

use crate::lsa::{Header, Key, LsaType, MAX_AGE};
use crate::settings::Limits;
use machine::{Duration, Time};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// A database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DbId {
    /// Of the domain.
    Domain,
    /// Of an area.
    Area(u32),
    /// Of a link.
    Link(u32),
}

/// A neighbour: its interface and its address there.
pub(crate) type Bearer = (u32, Ipv4Addr);

/// An LSA in the database.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Its header as it was installed.
    pub(crate) header: Header,
    /// All of it.
    pub(crate) octets: Box<[u8]>,
    /// When it was installed.
    pub(crate) at: Time,
    /// When its timer fires at the latest.
    pub(crate) armed: Time,
    /// The neighbour that brought it; none: it is our own.
    pub(crate) from: Option<Bearer>,
    /// When it was last sent to who had an older one.
    pub(crate) sent_back: Option<Time>,
}

impl Entry {
    /// Its age.
    pub(crate) fn age(&self, now: Time) -> u16 {
        let since = u16::try_from(now.since(self.at).as_secs()).unwrap_or(MAX_AGE);
        self.header.age.saturating_add(since).min(MAX_AGE)
    }

    /// Its header with its age.
    pub(crate) fn header(&self, now: Time) -> Header {
        Header { age: self.age(now), ..self.header }
    }

    pub(crate) fn body(&self) -> &[u8] {
        self.octets.get(crate::lsa::HEADER_OCTETS..).unwrap_or_default()
    }

    /// When it reaches an age.
    pub(crate) fn reaches(&self, age: u16) -> Time {
        self.at + Duration::from_secs(u64::from(age.saturating_sub(self.header.age)))
    }

    pub(crate) fn is_max_age(&self, now: Time) -> bool {
        self.age(now) >= MAX_AGE
    }
}

/// LSAs by their names.
#[derive(Debug, Default)]
pub(crate) struct Lsdb {
    entries: BTreeMap<Key, Entry>,
    octets: usize,
    of_router: BTreeMap<u32, usize>,
    of_neighbour: BTreeMap<Bearer, Share>,
}

/// What a neighbour has brought.
#[derive(Debug, Clone, Copy, Default)]
struct Share {
    lsas: usize,
    octets: usize,
}

impl Lsdb {
    pub(crate) fn of(&self, key: Key) -> Option<&Entry> {
        self.entries.get(&key)
    }

    pub(crate) fn of_mut(&mut self, key: Key) -> Option<&mut Entry> {
        self.entries.get_mut(&key)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Key, &Entry)> {
        self.entries.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Those of a type.
    pub(crate) fn of_kind(&self, kind: LsaType) -> impl Iterator<Item = (&Key, &Entry)> {
        let first = Key { kind, id: 0, router: 0 };
        let last = Key { kind, id: u32::MAX, router: u32::MAX };
        self.entries.range(first..=last)
    }

    /// Those of a type and a link state ID.
    pub(crate) fn of_id(&self, kind: LsaType, id: u32) -> impl Iterator<Item = (&Key, &Entry)> {
        let first = Key { kind, id, router: 0 };
        self.entries.range(first..=Key { router: u32::MAX, ..first })
    }

    /// Whether there is room for an LSA that a neighbour brings. Whoever they name, a neighbour's
    /// are no more than what is left then for all others.
    pub(crate) fn has_room(&self, key: Key, octets: usize, from: Bearer, limits: &Limits) -> bool {
        let own = self.of_router.get(&key.router).copied().unwrap_or(0);
        let was = self.entries.get(&key).map_or(0, |it| it.octets.len());
        let more = usize::from(was == 0);
        let all = Share {
            lsas: self.entries.len() + more,
            octets: self.octets + octets - was.min(octets),
        };
        let its = self.of_neighbour.get(&from).copied().unwrap_or_default();
        let left = Share {
            lsas: limits.lsas.saturating_sub(all.lsas),
            octets: limits.octets.saturating_sub(all.octets),
        };
        all.lsas <= limits.lsas
            && all.octets <= limits.octets
            && own + more <= limits.lsas_of_router
            && (more == 0 || its.lsas <= left.lsas)
            && (octets <= was || its.octets <= left.octets)
    }

    /// Puts an LSA in, in place of an older instance, which is returned.
    pub(crate) fn install(
        &mut self,
        header: Header,
        octets: &[u8],
        from: Option<Bearer>,
        now: Time,
    ) -> Option<Entry> {
        let mut entry = Entry {
            header,
            octets: octets.into(),
            at: now,
            armed: Time::MAX,
            from,
            sent_back: None,
        };
        if let Some(was) = self.entries.get(&header.key) {
            entry.armed = was.armed;
        }
        self.octets += octets.len();
        if let Some(from) = from {
            let its = self.of_neighbour.entry(from).or_default();
            *its = Share { lsas: its.lsas + 1, octets: its.octets + octets.len() };
        }
        let was = self.entries.insert(header.key, entry);
        match &was {
            Some(was) => self.less(was),
            None => *self.of_router.entry(header.key.router).or_default() += 1,
        }
        was
    }

    /// An LSA is not there any more.
    fn less(&mut self, was: &Entry) {
        self.octets -= was.octets.len();
        let Some(from) = was.from else { return };
        if let Some(its) = self.of_neighbour.get_mut(&from) {
            *its = Share { lsas: its.lsas - 1, octets: its.octets - was.octets.len() };
            if its.lsas == 0 {
                self.of_neighbour.remove(&from);
            }
        }
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<Entry> {
        let was = self.entries.remove(&key)?;
        self.less(&was);
        if let Some(count) = self.of_router.get_mut(&key.router) {
            *count -= 1;
            if *count == 0 {
                self.of_router.remove(&key.router);
            }
        }
        Some(was)
    }
}
