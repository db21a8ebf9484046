//! Changes of single things of what was said: who learns routes one by one does not say everything
//! again, nor compare it.

use crate::desired::{Desired, Rank, RouteKey, bulk};
use crate::numbers::{Kept, Kind, Numbers};
use crate::{Dataplane, State};
use machine::{Duration, Time};
use nodes::Program;
use nodes::program::Removed;
use runtime::Effects;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A change that is being made. What it does stands in what was said, so that the next
/// [`Dataplane::say`] compares with it.
pub struct Edit<'a> {
    said: &'a mut Desired,
    numbers: &'a mut Numbers,
    things: Vec<Program>,
    gone: BTreeSet<Removed>,
    routes4: BTreeMap<(u32, Ipv4Addr, u8), u32>,
    routes6: BTreeMap<(u32, Ipv6Addr, u8), u32>,
    /// Hops that were numbered, and whether anything else was.
    hops: usize,
    has_others: bool,
}

impl Edit<'_> {
    /// What was said.
    #[must_use]
    pub fn said(&self) -> &Desired {
        self.said
    }

    /// The number of a name that has one.
    #[must_use]
    pub fn known(&self, kind: Kind, name: &str) -> Option<u32> {
        self.numbers.known(kind, name)
    }

    /// The number of a name, which stays in use until everything is said again without it.
    pub fn number(&mut self, kind: Kind, name: &str) -> u32 {
        let is_new = self.numbers.known(kind, name).is_none();
        self.hops += usize::from(is_new && kind == Kind::Hop);
        self.has_others |= is_new && kind != Kind::Hop;
        self.numbers.of(kind, name)
    }

    /// Says a thing where it was not said so. Things come before routes, in the order in which they
    /// are put.
    pub fn put(&mut self, rank: Rank, name: Removed, program: Program) {
        self.gone.remove(&name);
        let key = (rank, name);
        if self.said.things.get(&key) != Some(&program) {
            self.things.push(program.clone());
            self.said.things.insert(key, program);
        }
    }

    /// Takes a thing away, once all else was said.
    pub fn remove(&mut self, rank: Rank, name: Removed) {
        if self.said.things.remove(&(rank, name.clone())).is_some() {
            self.gone.insert(name);
        }
    }

    /// Sets a route of a table, or takes it away.
    pub fn route(&mut self, key: RouteKey, hop: Option<u32>) {
        let (vrf, to, length) = key;
        match to {
            IpAddr::V4(to) => {
                set(&mut self.said.routes4, &mut self.routes4, (vrf, to, length), hop);
            }
            IpAddr::V6(to) => {
                set(&mut self.said.routes6, &mut self.routes6, (vrf, to, length), hop);
            }
        }
    }

    fn programs(self) -> Vec<Program> {
        let mut programs = self.things;
        let (four, six) = (self.routes4.into_iter(), self.routes6.into_iter());
        programs.extend(bulk(four.collect(), |vrf, routes| Program::Routes4 { vrf, routes }));
        programs.extend(bulk(six.collect(), |vrf, routes| Program::Routes6 { vrf, routes }));
        programs.extend(self.gone.into_iter().map(Program::Remove));
        programs
    }
}

/// Notes a route in what was said, and in what is to be said where it differs.
fn set<K: Ord + Copy>(
    said: &mut BTreeMap<K, u32>,
    changed: &mut BTreeMap<K, u32>,
    key: K,
    hop: Option<u32>,
) {
    let before = match hop {
        Some(hop) => said.insert(key, hop),
        None => said.remove(&key),
    };
    if before != hop {
        changed.insert(key, hop.unwrap_or(0));
    }
}

/// Hops that are kept for numbers to come.
const AHEAD: usize = 4_096;
/// Time after which numbers are kept that were given since.
const KEPT_AFTER: Duration = Duration::from_secs(1);

impl Dataplane {
    /// Leaves the numbers that an edit has given with the forwarder: at once where the next control
    /// would give them to others, else after a while, since all of them are written each time.
    fn keep_soon(&mut self, now: Time, hops: usize, has_others: bool, out: &mut Effects) {
        let kept = &mut self.numbers.kept;
        match kept.ahead.checked_sub(hops) {
            _ if hops == 0 && !has_others => {}
            Some(left) if !has_others => {
                kept.ahead = left;
                kept.due.get_or_insert(now + KEPT_AFTER);
            }
            _ => self.keep_ahead(out),
        }
    }

    /// Leaves the numbers with the forwarder, and those of hops to come.
    pub(crate) fn keep_ahead(&mut self, out: &mut Effects) {
        self.keep_these(&self.numbers.ahead(AHEAD), out);
        self.numbers.kept = Kept { ahead: AHEAD, due: None };
    }

    /// Changes single things of what a forwarder was told, and tells it only those. Without a
    /// forwarder nothing happens, and `with` is not called: one that comes is told everything.
    pub fn edit(&mut self, now: Time, out: &mut Effects, with: impl FnOnce(&mut Edit<'_>)) {
        let State::Controlled(said) = &mut self.state else { return };
        let mut edit = Edit {
            said,
            numbers: &mut self.numbers,
            things: Vec::new(),
            gone: BTreeSet::new(),
            routes4: BTreeMap::new(),
            routes6: BTreeMap::new(),
            hops: 0,
            has_others: false,
        };
        with(&mut edit);
        let (hops, has_others) = (edit.hops, edit.has_others);
        let programs = edit.programs();
        let State::Controlled(said) = &self.state else { return };
        self.tally.routes = (said.routes4.len() + said.routes6.len()) as u64;
        self.tell(now, out, &programs);
        self.keep_soon(now, hops, has_others, out);
    }
}
