//! Changes of single things of what was said: who learns routes one by one does not say everything
//! again, nor compare it.

use crate::desired::{Desired, Rank};
use crate::numbers::{Kind, Numbers};
use crate::{Dataplane, State};
use machine::Time;
use nodes::Program;
use nodes::program::Removed;
use runtime::Effects;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// A route of IPv4: prefix, its length, hop.
type Route4 = (Ipv4Addr, u8, u32);

/// Routes in one program.
const ROUTES_MAX: usize = 8_192;

/// A change that is being made. What it does stands in what was said, so that the next
/// [`Dataplane::say`] compares with it.
pub struct Edit<'a> {
    said: &'a mut Desired,
    numbers: &'a mut Numbers,
    things: Vec<Program>,
    routes4: BTreeMap<(u32, Ipv4Addr, u8), u32>,
    has_numbered: bool,
}

impl Edit<'_> {
    /// What was said.
    #[must_use]
    pub fn said(&self) -> &Desired {
        self.said
    }

    /// The number of a name, which stays in use until everything is said again without it.
    pub fn number(&mut self, kind: Kind, name: &str) -> u32 {
        self.has_numbered |= self.numbers.known(kind, name).is_none();
        self.numbers.of(kind, name)
    }

    /// Says a thing where it was not said so. Things come before routes, in the order in which they
    /// are put.
    pub fn put(&mut self, rank: Rank, name: Removed, program: Program) {
        let key = (rank, name);
        if self.said.things.get(&key) != Some(&program) {
            self.things.push(program.clone());
            self.said.things.insert(key, program);
        }
    }

    /// Sets a route of IPv4, or takes it away.
    pub fn route4(&mut self, key: (u32, Ipv4Addr, u8), hop: Option<u32>) {
        let before = match hop {
            Some(hop) => self.said.routes4.insert(key, hop),
            None => self.said.routes4.remove(&key),
        };
        if before != hop {
            self.routes4.insert(key, hop.unwrap_or(0));
        }
    }

    fn programs(self) -> Vec<Program> {
        let mut programs = self.things;
        let mut of_table: Option<(u32, Vec<Route4>)> = None;
        for ((vrf, address, length), hop) in self.routes4 {
            let is_full = |it: &(u32, Vec<Route4>)| it.0 != vrf || it.1.len() == ROUTES_MAX;
            if let Some((vrf, routes)) = of_table.take_if(|it| is_full(it)) {
                programs.push(Program::Routes4 { vrf, routes });
            }
            of_table.get_or_insert((vrf, Vec::new())).1.push((address, length, hop));
        }
        programs.extend(of_table.map(|(vrf, routes)| Program::Routes4 { vrf, routes }));
        programs
    }
}

impl Dataplane {
    /// Changes single things of what a forwarder was told, and tells it only those. Without a
    /// forwarder nothing happens, and `with` is not called: one that comes is told everything.
    pub fn edit(&mut self, now: Time, out: &mut Effects, with: impl FnOnce(&mut Edit<'_>)) {
        let State::Controlled(said) = &mut self.state else { return };
        let mut edit = Edit {
            said,
            numbers: &mut self.numbers,
            things: Vec::new(),
            routes4: BTreeMap::new(),
            has_numbered: false,
        };
        with(&mut edit);
        let has_numbered = edit.has_numbered;
        let programs = edit.programs();
        let State::Controlled(said) = &self.state else { return };
        self.tally.routes = (said.routes4.len() + said.routes6.len()) as u64;
        self.tell(now, out, &programs);
        if has_numbered {
            self.keep(out);
        }
    }
}
