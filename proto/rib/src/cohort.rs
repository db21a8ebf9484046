//! Update groups and their cohorts: who is told the same, and how far.

use crate::announced::Announced;
use crate::classes::ClassSet;
use crate::{NONE, PeerId, Terms};
use machine::Time;

/// A walk over the attribute sets of a table.
#[derive(Debug, Clone)]
pub(crate) struct Walk {
    /// The set at which it stands, and the path of it that comes next; none before the first.
    pub(crate) set: u32,
    pub(crate) path: u32,
    /// It stands inside of the set.
    pub(crate) is_inside: bool,
    /// The first set that it leaves out: what came later stands in the log.
    pub(crate) end: u32,
    /// Beginning and end are to be marked (RFC 7313).
    pub(crate) is_refresh: bool,
    /// An End-of-RIB follows: it is the first walk of its peers.
    pub(crate) is_first: bool,
    /// Nothing was told yet.
    pub(crate) is_fresh: bool,
    /// Only sets of these classes, which its peers want from now on.
    pub(crate) classes: Option<ClassSet>,
    /// Entries with paths that went from a set ahead to one behind, and say the same: they do not
    /// stand in the log.
    pub(crate) missed: Vec<u32>,
}

/// Entries that a walk misses at most; it begins anew when there are more.
const MISSED_MAX: usize = 1 << 20;

impl Walk {
    pub(crate) const fn new(end: u32) -> Self {
        Self {
            set: 0,
            path: NONE,
            is_inside: false,
            end,
            is_refresh: false,
            is_first: true,
            is_fresh: true,
            classes: None,
            missed: Vec::new(),
        }
    }

    /// What its peers are told around the routes. Walks that agree in it may become one.
    const fn marks(&self) -> (bool, bool, bool) {
        (self.is_refresh, self.is_first, self.is_fresh)
    }

    /// Goes on with all that is before either of the two.
    fn absorb(&mut self, other: Self) {
        let place = |walk: &Self| (walk.set, walk.is_inside, walk.path);
        if place(self) != place(&other) {
            // Which path comes first within a set is not known: all of it comes again.
            (self.set, self.is_inside, self.path) = (self.set.min(other.set), false, NONE);
        }
        self.end = self.end.max(other.end);
        self.missed.extend(other.missed);
        self.classes = match (self.classes.take(), other.classes) {
            (Some(mut classes), Some(others)) => {
                classes.unite(&others);
                Some(classes)
            }
            _ => None,
        };
    }
}

/// Peers of a group that stand at one place.
#[derive(Debug, Clone)]
pub(crate) struct Cohort {
    pub(crate) members: Vec<PeerId>,
    /// The position in the log of what they are told next.
    pub(crate) position: u64,
    pub(crate) walk: Option<Walk>,
    pub(crate) announced: Announced,
    /// Its place when it became what it is: what lies between was told once.
    pub(crate) since: u64,
    /// Since when it waits for the walks of others.
    pub(crate) waits_since: Option<Time>,
}

impl Cohort {
    pub(crate) fn new(terms: &Terms, position: u64) -> Self {
        let announced = Announced::new(terms.add_path, terms.constrained);
        let (members, since) = (Vec::new(), position);
        Self { members, position, walk: None, announced, since, waits_since: None }
    }

    /// One of others with what they were told so far.
    pub(crate) fn beside(&self, members: Vec<PeerId>) -> Self {
        let (position, walk, announced) =
            (self.position, self.walk.clone(), self.announced.clone());
        Self { members, position, walk, announced, since: self.place(), waits_since: None }
    }

    /// Takes in the peers of another with the same marks: all are told again what only some of
    /// them were told.
    pub(crate) fn absorb(&mut self, mut other: Self) {
        self.members.append(&mut other.members);
        self.position = self.position.min(other.position);
        self.announced.unite(&other.announced);
        if let (Some(walk), Some(others)) = (&mut self.walk, other.walk) {
            walk.absorb(others);
        }
        self.since = self.place();
    }

    /// Takes out those who are like that, with what they were told so far.
    pub(crate) fn split(&mut self, leaves: impl FnMut(&PeerId) -> bool) -> Self {
        let (leaving, members) = std::mem::take(&mut self.members).into_iter().partition(leaves);
        (self.members, self.since) = (members, self.place());
        self.beside(leaving)
    }

    /// Whether it may be told again what lies between it and one behind: if that is half of what it
    /// was told since it became what it is, at most. Otherwise it could part from one that stalls
    /// and come back for ever.
    fn may_go_back(&self, behind: &Self) -> bool {
        self.place().saturating_sub(self.since) >= 2 * (self.place() - behind.place())
    }

    /// It was told something since it became what it is.
    fn has_moved(&self) -> bool {
        self.place() > self.since
    }

    fn marks(&self) -> Option<(bool, bool, bool)> {
        self.walk.as_ref().map(Walk::marks)
    }

    /// It walks, and has not begun to.
    pub(crate) fn is_fresh(&self) -> bool {
        self.walk.as_ref().is_some_and(|walk| walk.is_fresh)
    }

    /// How far it is, in entries of the log or in sets.
    pub(crate) fn place(&self) -> u64 {
        self.walk.as_ref().map_or(self.position, |walk| walk.set.into())
    }
}

/// Peers that are told the same.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) terms: Terms,
    pub(crate) cohorts: Vec<Cohort>,
}

impl Group {
    /// An entry has a path in another set now that says the same: who walks may have passed the
    /// one and not seen the other.
    pub(crate) fn note_moved(&mut self, entry: u32, sets: u32) {
        for walk in self.cohorts.iter_mut().filter_map(|cohort| cohort.walk.as_mut()) {
            walk.missed.push(entry);
            if walk.missed.len() > MISSED_MAX {
                let Walk { is_refresh, is_first, is_fresh, .. } = *walk;
                let classes = walk.classes.take();
                *walk = Walk { is_refresh, is_first, is_fresh, classes, ..Walk::new(sets) };
            }
        }
    }

    /// A path leaves its set: who would come to it next comes to the one behind it.
    #[inline]
    pub(crate) fn step_over(&mut self, path: u32, next: u32) {
        for walk in self.cohorts.iter_mut().filter_map(|cohort| cohort.walk.as_mut()) {
            if walk.is_inside && walk.path == path {
                walk.path = next;
            }
        }
    }

    /// The cohort of a peer.
    pub(crate) fn cohort_of(&self, peer: PeerId) -> Option<usize> {
        self.cohorts.iter().position(|cohort| cohort.members.contains(&peer))
    }

    /// Takes a peer out; its cohort goes if it was the last one. What the cohort was told.
    pub(crate) fn take_out(&mut self, peer: PeerId) -> Option<Cohort> {
        let at = self.cohort_of(peer)?;
        let cohort = &mut self.cohorts[at];
        if cohort.members.len() == 1 {
            return Some(self.cohorts.swap_remove(at));
        }
        cohort.members.retain(|member| *member != peer);
        Some(cohort.beside(Vec::new()))
    }

    /// Puts in a cohort that has yet to begin its walk: with another such one, if there is one.
    pub(crate) fn put_fresh(&mut self, cohort: Cohort) {
        match self.cohorts.iter_mut().find(|it| it.is_fresh() && it.marks() == cohort.marks()) {
            Some(alike) => alike.absorb(cohort),
            None => self.cohorts.push(Cohort { since: 0, ..cohort }),
        }
    }

    /// Lets those become one that are closest to each other, while there are more than `most`;
    /// whether there were. Who `stands_still` and was told nothing yet has nothing to lose by that.
    pub(crate) fn gather(&mut self, most: usize, stands_still: impl Fn(&Cohort) -> bool) -> bool {
        let before = self.cohorts.len();
        while self.cohorts.iter().filter(|cohort| !cohort.is_fresh()).count() > most {
            let Some((into, from)) = self.closest(&stands_still) else { break };
            let other = self.cohorts.swap_remove(from);
            self.cohorts[into].absorb(other);
        }
        self.cohorts.len() < before
    }

    /// The two that may become one and have the least between them, the one of lesser index first.
    fn closest(&self, stands_still: impl Fn(&Cohort) -> bool) -> Option<(usize, usize)> {
        let at = |at: usize| &self.cohorts[at];
        let mut all: Vec<usize> =
            (0..self.cohorts.len()).filter(|it| !at(*it).is_fresh()).collect();
        all.sort_unstable_by_key(|it| (at(*it).marks(), at(*it).place()));
        let pairs = all.windows(2).map(|pair| (pair[0], pair[1]));
        let alike = pairs.filter(|&(behind, ahead)| {
            let [behind, ahead] = [behind, ahead].map(at);
            behind.marks() == ahead.marks()
                && (ahead.may_go_back(behind)
                    || (!ahead.has_moved() && stands_still(behind) && stands_still(ahead)))
        });
        let pair = alike.min_by_key(|&(behind, ahead)| at(ahead).place() - at(behind).place())?;
        Some((pair.0.min(pair.1), pair.0.max(pair.1)))
    }

    /// How many walk, those that have yet to begin not counted.
    pub(crate) fn walks(&self) -> usize {
        let walks = |cohort: &&Cohort| cohort.walk.is_some() && !cohort.is_fresh();
        self.cohorts.iter().filter(walks).count()
    }

    /// Lets cohorts that have caught up with the log become one: elsewhere in it they may have been
    /// told differently, since a walk tells the state of now.
    pub(crate) fn merge(&mut self, end: u64) {
        let mut at = 1;
        while at < self.cohorts.len() {
            let (before, rest) = self.cohorts.split_at_mut(at);
            let cohort = &mut rest[0];
            let is_even = |it: &Cohort| it.walk.is_none() && it.position == end;
            let into = before.iter_mut().find(|it| is_even(it)).filter(|_| is_even(cohort));
            if let Some(into) = into {
                into.members.append(&mut cohort.members);
                self.cohorts.swap_remove(at);
            } else {
                at += 1;
            }
        }
    }
}
