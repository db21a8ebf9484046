//! Next hops: a route's value is the number of a hop, and the number leads to a [`Line`] that
//! says what is done with the packet.
//!
//! ```text
//!   route → hop 17 → head → line                      an adjacency, a label push, a drop, …
//!   route → hop 99 → head → bucket[hash] → hop 17 → head → line            a group
//! ```
//! Numbers are stable: when an adjacency changes, its head is stored anew, and with it every
//! route, group and label push over it is repaired, however many there are. What hops say of
//! other hops (label pushes over groups, groups of groups, a primary and its backup) is taken
//! apart when it is written: a packet passes one group at most.
//!
//! A hop may have a *guard*, a word that says whether who is there is lost. A pair whose primary
//! leads to such a hop looks at the word as packets pass: whoever sets it need not know what leads
//! there.
//! ```text
//!   route → hop 41 → head → pair[guard 3 is lost] → hop 17 or hop 23 → …
//! ```

mod buckets;
mod line;
mod read;
mod refresh;

pub use line::{Kind, Line, REWRITE_MAX};
pub use read::{BATCH_MAX, HopLookups};

use crate::epoch::{Domain, RetireList};
use crate::memory::{Full, LINE_WORDS, Lines, Region};
use buckets::Share;
use machine::narrow::place;
use read::Head;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

#[cfg(test)]
mod tests;

/// Hops at most: their numbers are below.
pub const HOPS_MAX: usize = if cfg!(miri) { 1 << 10 } else { 1 << 22 };
/// Members of a group at most.
pub const MEMBERS_MAX: usize = 64;
/// Ways out of a group at most, once groups within it are taken apart.
pub const WAYS_MAX: usize = 256;
/// Hops that stand on each other at most: a backup over a group over the push of a VPN over a group
/// over the push of a label over an adjacency.
pub const NESTING_MAX: usize = 6;
/// The hop of addresses without a route: it drops, until it is changed.
pub const NO_ROUTE: u32 = 0;
/// The hop of groups without a member that is up: it drops, until it is changed.
pub const NO_MEMBER: u32 = 1;

/// Guards at most: their numbers are below, and 0 is none.
pub const GUARDS_MAX: usize = 1 << 16;

/// Lines of the region: each hop has one, and a second while it changes; and the buckets.
const LINES_MAX: usize = HOPS_MAX * 4;
/// Sizes that are taken: a line, and buckets from 64 to 1024.
const SIZES: &[u32] = &[1, 4, 8, 16, 32, 64];

/// What a hop is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hop {
    /// Something is done with the packet; [`Line::hop`] is filled in.
    Line(Line),
    /// Labels, or other octets, between the packet and what `over` puts before it.
    Push(Push),
    /// One of up to [`MEMBERS_MAX`] members, chosen by the packet's hash.
    Group(Vec<Member>),
    /// The first while it is up, then the second.
    Backup {
        /// Used while it is up.
        primary: u32,
        /// Used while the primary is down.
        backup: u32,
    },
}

/// A push over another hop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Push {
    /// The hop that carries it.
    pub over: u32,
    /// What is put between: label stack entries, the outermost first.
    pub octets: Vec<u8>,
    /// Replaces the last two octets of the rewrite of an adjacency: its type. Not of a push
    /// of other octets.
    pub ether_type: Option<u16>,
    /// Where the packet goes on, if not where the carrying hop says.
    pub next: Option<u16>,
    /// The counter of the hop.
    pub counter: u32,
}

/// A member of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Its hop.
    pub hop: u32,
    /// Its part of the traffic, relative to the others; 0: none.
    pub weight: u16,
}

/// Why a hop cannot be as it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HopError {
    /// [`HOPS_MAX`] is reached, or the memory is full.
    Full,
    /// It is, or names, a hop that is not there.
    Unknown,
    /// It would stand on itself, or on more than [`NESTING_MAX`] others.
    Nesting,
    /// More than [`MEMBERS_MAX`] members or [`WAYS_MAX`] ways.
    Members,
    /// A rewrite is longer than [`REWRITE_MAX`].
    Rewrite,
    /// Other hops stand on it.
    InUse,
}

impl From<Full> for HopError {
    fn from(_: Full) -> Self {
        Self::Full
    }
}

impl std::fmt::Display for HopError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Full => "there is no room for another hop",
            Self::Unknown => "there is no such hop",
            Self::Nesting => "hops stand on each other in a circle or too deep",
            Self::Members => "a group has too many members",
            Self::Rewrite => "the rewrite is too long",
            Self::InUse => "other hops stand on it",
        })
    }
}

impl std::error::Error for HopError {}

/// Which of two hops is used: primary, backup, and the guard that says so.
type Pair = [u32; 3];

/// What the writer knows of a hop.
struct Entry {
    hop: Hop,
    /// As it was marked.
    is_up: bool,
    /// Those that stand on it.
    users: BTreeSet<u32>,
    /// The lines that a packet may leave by, each with its part.
    shares: Vec<Share>,
    /// The line of its own, if it has one, as it was published.
    line: Option<(u32, Line)>,
    /// Its buckets, if it is a group, and where they were published.
    buckets: Option<(u32, Vec<u32>)>,
    /// Its pair, if a guard decides, and where that was published.
    pair: Option<(u32, Pair)>,
    /// The guard of a line.
    guard: u16,
    /// For a push over several: the hop that pushes over each of them.
    pushes: Vec<(u32, u32)>,
    /// Made for a push over several, not by the user.
    is_hidden: bool,
    /// Removed, and not yet forgotten by all readers.
    is_gone: bool,
}

/// The writer's half: all next hops of a plane.
pub struct Hops {
    lookups: Arc<HopLookups>,
    lines: Lines,
    entries: Vec<Option<Box<Entry>>>,
    free: Vec<u32>,
    /// Numbers, each with its line or buckets, that readers may still hold.
    removed: RetireList<u32>,
    count: usize,
    written: u64,
}

impl Hops {
    /// [`NO_ROUTE`] and [`NO_MEMBER`], and no other.
    ///
    /// # Errors
    /// [`Full`] when the kernel gives no memory.
    pub fn new(domain: &Arc<Domain>) -> Result<Self, Full> {
        let lines = Lines::new(domain, LINES_MAX, SIZES)?;
        let heads = Region::new(HOPS_MAX / LINE_WORDS)?;
        let guards = Region::new(GUARDS_MAX / LINE_WORDS)?;
        let region = Arc::clone(lines.region());
        let lookups = HopLookups { domain: Arc::clone(domain), heads, lines: region, guards };
        let mut hops = Self {
            lookups: Arc::new(lookups),
            lines,
            entries: Vec::new(),
            free: Vec::new(),
            removed: RetireList::new(domain),
            count: 0,
            written: 0,
        };
        for _ in [NO_ROUTE, NO_MEMBER] {
            hops.add(Hop::Line(Line::default())).map_err(|_| Full)?;
        }
        Ok(hops)
    }

    /// What workers read.
    #[must_use]
    pub fn lookups(&self) -> Arc<HopLookups> {
        Arc::clone(&self.lookups)
    }

    /// A new hop, which is up; returns its number.
    ///
    /// # Errors
    /// Every [`HopError`] but `InUse`; nothing was changed.
    pub fn add(&mut self, hop: Hop) -> Result<u32, HopError> {
        self.check(None, &hop)?;
        self.put(hop, false)
    }

    /// The hop is another from now on: every route, group and push over it is repaired.
    ///
    /// # Errors
    /// Every [`HopError`] but `InUse`; nothing was changed, unless it is `Full`: what stands on
    /// the hop may still do as before then, until a change or a mark of it finds room.
    pub fn change(&mut self, number: u32, hop: Hop) -> Result<(), HopError> {
        self.check(Some(number), &hop)?;
        for below in below(&hop) {
            self.entry_mut(below).users.insert(number);
        }
        let before = std::mem::replace(&mut self.entry_mut(number).hop, hop.clone());
        for below in below(&before) {
            if !self::below(&hop).contains(&below) {
                self.entry_mut(below).users.remove(&number);
            }
        }
        self.refresh(number)
    }

    /// Marks a hop as up or down. Groups and pairs do without one that is down; routes that lead
    /// to it alone still use its line.
    ///
    /// # Errors
    /// [`HopError::Unknown`], or [`HopError::Full`], as of [`Hops::change`].
    pub fn mark(&mut self, number: u32, is_up: bool) -> Result<(), HopError> {
        self.entry(number)?;
        if std::mem::replace(&mut self.entry_mut(number).is_up, is_up) == is_up {
            return Ok(());
        }
        self.refresh(number)
    }

    /// The hop, which is a line, has this guard from now on; 0: none.
    ///
    /// # Errors
    /// As of [`Hops::mark`].
    pub fn guard(&mut self, number: u32, guard: u16) -> Result<(), HopError> {
        self.entry(number)?;
        if std::mem::replace(&mut self.entry_mut(number).guard, guard) == guard {
            return Ok(());
        }
        self.refresh(number)
    }

    /// The hop is no more; its number is given to another once no worker can hold it. No route
    /// may lead to it.
    ///
    /// # Errors
    /// [`HopError::Unknown`], of [`NO_ROUTE`] and [`NO_MEMBER`] too; [`HopError::InUse`].
    pub fn remove(&mut self, number: u32) -> Result<(), HopError> {
        if self.entry(number)?.is_hidden || number <= NO_MEMBER {
            return Err(HopError::Unknown);
        }
        if !self.entry(number)?.users.is_empty() {
            return Err(HopError::InUse);
        }
        self.forget(number);
        self.recycle();
        Ok(())
    }

    /// The hop, if there is one of the number.
    #[must_use]
    pub fn hop(&self, number: u32) -> Option<&Hop> {
        self.entry(number).ok().map(|entry| &entry.hop)
    }

    /// Whether a way out of the hop is up.
    #[must_use]
    pub fn is_up(&self, number: u32) -> bool {
        self.entry(number).is_ok_and(|entry| entry.shares.iter().any(|share| share.is_up))
    }

    /// Hops that are there, with those made for pushes over groups.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Never: two are always there.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How often what a hop leads to was written.
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Octets of lines and buckets that are in use.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.lines.bytes()
    }

    /// Makes numbers and memory that no worker can hold any more free; done at each removal.
    pub fn recycle(&mut self) {
        let (lookups, free, lines) = (&self.lookups, &mut self.free, &mut self.lines);
        let entries = &mut self.entries;
        self.removed.free(|number| {
            let no_route = lookups.heads.word(NO_ROUTE as usize).load(Ordering::Relaxed);
            lookups.heads.word(number as usize).store(no_route, Ordering::Release);
            if let Some(entry) = entries[number as usize].take() {
                entry.line.iter().for_each(|(line, _)| lines.retire(*line, 0));
                entry.pair.iter().for_each(|(line, _)| lines.retire(*line, 0));
                let buckets = entry.buckets.as_ref();
                buckets.into_iter().for_each(|(line, b)| lines.retire(*line, size_of_buckets(b)));
            }
            free.push(number);
        });
        self.lines.recycle();
    }

    fn entry(&self, number: u32) -> Result<&Entry, HopError> {
        let entry = self.entries.get(number as usize).and_then(Option::as_deref);
        entry.filter(|entry| !entry.is_gone).ok_or(HopError::Unknown)
    }

    /// An entry that is known to be there.
    fn entry_mut(&mut self, number: u32) -> &mut Entry {
        self.entries[number as usize].as_deref_mut().expect("the hop was checked")
    }

    fn put(&mut self, hop: Hop, is_hidden: bool) -> Result<u32, HopError> {
        let number = match self.free.pop() {
            Some(number) => number,
            None if self.entries.len() < HOPS_MAX => {
                self.entries.push(None);
                place(self.entries.len() - 1)
            }
            None => return Err(HopError::Full),
        };
        for below in below(&hop) {
            self.entry_mut(below).users.insert(number);
        }
        self.entries[number as usize] = Some(Box::new(Entry::new(hop, is_hidden)));
        self.count += 1;
        match self.refresh(number) {
            Ok(()) => Ok(number),
            Err(error) => {
                self.forget(number);
                Err(error)
            }
        }
    }

    /// Nothing stands on it any more. Its head stays as it is while readers may come to it.
    fn forget(&mut self, number: u32) {
        let entry = self.entry_mut(number);
        let hop = std::mem::replace(&mut entry.hop, Hop::Group(Vec::new()));
        let pushes = std::mem::take(&mut entry.pushes);
        entry.users.clear();
        entry.is_gone = true;
        for below in below(&hop) {
            self.entry_mut(below).users.remove(&number);
        }
        for (_, hidden) in pushes {
            self.forget(hidden);
        }
        self.count -= 1;
        self.removed.retire(number);
    }
}

impl Entry {
    fn new(hop: Hop, is_hidden: bool) -> Self {
        Self {
            hop,
            is_up: true,
            users: BTreeSet::new(),
            shares: Vec::new(),
            line: None,
            buckets: None,
            pair: None,
            guard: 0,
            pushes: Vec::new(),
            is_hidden,
            is_gone: false,
        }
    }
}

/// The hops that a hop stands on.
fn below(hop: &Hop) -> Vec<u32> {
    match hop {
        Hop::Line(_) => Vec::new(),
        Hop::Push(push) => vec![push.over],
        Hop::Group(members) => members.iter().map(|member| member.hop).collect(),
        Hop::Backup { primary, backup } => vec![*primary, *backup],
    }
}

/// Which of [`SIZES`] buckets have.
fn size_of_buckets(buckets: &[u32]) -> usize {
    1 + (buckets.len() / (SIZES[1] as usize * LINE_WORDS)).trailing_zeros() as usize
}
