//! Neighbours watched by BFD (RFC 5881, RFC 5882): a session for each that hears us, on the
//! interfaces whose section says so. The forwarder's workers run the sessions; here stands which
//! there shall be, and what the forwarder tells of them.
//!
//! ```text
//!   protocols ─ want ─→ Watch ─ changed ─→ the function ─→ forwarder
//!              lost ←─────┴──── heard ←──────────────────────┘
//! ```
//! A session stays for a while after the protocol gave its neighbour up. Where the neighbour is
//! lost, the plane does without it as long, and routes that lead to it are told anew meanwhile;
//! where it only began anew (a control that was started again is not in its hellos yet), the
//! session goes on.

use crate::around::Protocol;
use crate::config::{Bfd, BfdKeys};
use bfd::{Authentication, State};
use detection::program::{Name, Notice, Said};
use machine::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

/// How long a session stays that nobody wants any more.
const LINGER: Duration = Duration::from_secs(10);

/// Packets a second in a neighbour's name that do not name its session: from so many on somebody
/// guesses. A forwarder that began anew hears a few, until its neighbours know its sessions.
const GUESSED_PER_S: u64 = 50;
/// What is counted for so long at least is a rate.
const COUNTED: Duration = Duration::from_secs(1);
/// How long it is told that somebody guessed.
const TOLD: Duration = Duration::from_secs(60);

/// A neighbour: its interface and its address.
pub(crate) type Id = (u32, Ipv4Addr);

/// A session of a neighbour.
#[derive(Debug, Clone)]
struct Session {
    local: Ipv4Addr,
    times: Bfd,
    authentication: Option<Authentication>,
    turn: u32,
    /// Nobody wants it any more: when it goes.
    until: Option<Time>,
}

/// Packets in a neighbour's name that do not name its session.
#[derive(Debug, Clone, Copy)]
struct Guesses {
    since: Time,
    before: u32,
    until: Option<Time>,
}

impl Guesses {
    const fn new(now: Time, count: u32) -> Self {
        Self { since: now, before: count, until: None }
    }

    fn hear(&mut self, now: Time, count: u32) {
        let time = now.since(self.since);
        if time < COUNTED {
            return;
        }
        let more = u64::from(count.saturating_sub(self.before));
        if more * 1_000 >= GUESSED_PER_S * machine::narrow::millis(time) {
            self.until = Some(now + TOLD);
        }
        (self.since, self.before) = (now, count);
    }
}

/// The sessions.
#[derive(Default)]
pub(crate) struct Watch {
    of: BTreeMap<Id, Session>,
    /// Who wants a neighbour to be watched, from which address, with which times.
    wanted: BTreeMap<(Id, Protocol), (Ipv4Addr, Bfd)>,
    keys: BfdKeys,
    /// How the forwarder's sessions stand, those that a control before this one said as well.
    notices: BTreeMap<Id, Notice>,
    guesses: BTreeMap<Id, Guesses>,
    changed: BTreeSet<Id>,
    pub(crate) tally: Tally,
}

/// What has happened.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    /// Times that a neighbour was lost.
    pub(crate) downs: u64,
    /// Packets that came and were believed.
    pub(crate) received: u64,
    /// Packets that left.
    pub(crate) sent: u64,
}

impl Tally {
    /// Figures of a session are others than they were; those of a new one begin at zero.
    fn add(&mut self, before: Option<Notice>, after: &Notice) {
        let same = before.filter(|it| it.turn == after.turn && it.sent <= after.sent);
        let before = same.unwrap_or_default();
        self.received += after.received.saturating_sub(before.received);
        self.sent += after.sent - before.sent;
    }
}

/// The name of a neighbour in the forwarder.
pub(crate) fn name_of(id: Id) -> Name {
    Name { interface: id.0, address: id.1.into() }
}

impl Watch {
    /// The keys of the files that sections name.
    pub(crate) fn set_keys(&mut self, keys: &BfdKeys) {
        if self.keys == *keys {
            return;
        }
        self.keys.clone_from(keys);
        let keys = &self.keys;
        for (id, session) in &mut self.of {
            let authentication = key_of(keys, &session.times);
            if session.authentication != authentication {
                session.authentication = authentication;
                self.changed.insert(*id);
            }
        }
    }

    /// A protocol wants a neighbour to be watched with these times, or no more. Where both want it,
    /// it has one session, with the times that notice sooner.
    pub(crate) fn want(
        &mut self,
        now: Time,
        who: (Protocol, Id),
        local: Option<Ipv4Addr>,
        times: Option<Bfd>,
    ) {
        let (by, id) = who;
        match local.zip(times) {
            Some(wanted) => drop(self.wanted.insert((id, by), wanted)),
            None => drop(self.wanted.remove(&(id, by))),
        }
        let all = Protocol::ALL.iter().filter_map(|by| self.wanted.get(&(id, *by)));
        let sooner =
            |it: &&(Ipv4Addr, Bfd)| u32::from(it.1.interval_ms) * u32::from(it.1.multiplier);
        match all.min_by_key(sooner).cloned() {
            Some((local, times)) => self.set(id, local, times),
            None => self.give_up(now, id),
        }
    }

    /// A protocol wants none any more.
    pub(crate) fn forget(&mut self, now: Time, by: Protocol) {
        let its = self.wanted.keys().filter(|it| it.1 == by).map(|it| it.0);
        let its: Vec<Id> = its.collect();
        its.into_iter().for_each(|id| self.want(now, (by, id), None, None));
    }

    /// A neighbour is watched with these times.
    fn set(&mut self, id: Id, local: Ipv4Addr, times: Bfd) {
        let notice = self.notices.get(&id);
        let is_lost = notice.is_some_and(|it| it.is_lost);
        let authentication = key_of(&self.keys, &times);
        let turn = match self.of.get(&id) {
            // One that is a neighbour again without BFD is not to be done without.
            Some(known) if known.until.is_some() && is_lost => known.turn.wrapping_add(1),
            Some(known) => known.turn,
            // The session of a control before this one goes on.
            None => notice.map_or(0, |it| it.turn.wrapping_add(is_lost.into())),
        };
        let is_same = self.of.get(&id).is_some_and(|it| {
            let known = (it.local, it.turn, &it.authentication, &it.times);
            known == (local, turn, &authentication, &times)
        });
        self.of.insert(id, Session { local, times, authentication, turn, until: None });
        if !is_same {
            self.changed.insert(id);
        }
    }

    /// A neighbour need not be watched any more.
    fn give_up(&mut self, now: Time, id: Id) {
        if let Some(session) = self.of.get_mut(&id) {
            session.until.get_or_insert(now + LINGER);
        }
    }

    fn end(&mut self, id: Id) {
        self.of.remove(&id);
        self.notices.remove(&id);
        self.guesses.remove(&id);
        self.changed.insert(id);
    }

    /// The forwarder says how a session stands; the neighbour, if it is lost by that.
    pub(crate) fn hear(&mut self, now: Time, name: &Name, notice: Notice) -> Option<Id> {
        let IpAddr::V4(address) = name.address else { return None };
        let id = (name.interface, address);
        let before = self.notices.insert(id, notice);
        self.tally.add(before, &notice);
        let count = notice.misnamed;
        self.guesses.entry(id).or_insert(Guesses::new(now, count)).hear(now, count);
        let was_lost = before.is_some_and(|it| it.is_lost && it.turn == notice.turn);
        let session = self.of.get(&id);
        let is_watched = session.is_some_and(|it| it.turn == notice.turn && it.until.is_none());
        let is_news = is_watched && notice.is_lost && !was_lost;
        self.tally.downs += u64::from(is_news);
        is_news.then_some(id)
    }

    /// Lets time pass.
    pub(crate) fn tick(&mut self, now: Time) {
        let over = self.of.iter().filter(|(_, it)| it.until.is_some_and(|until| until <= now));
        let over: Vec<Id> = over.map(|(id, _)| *id).collect();
        over.into_iter().for_each(|id| self.end(id));
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.of.values().filter_map(|it| it.until).min()
    }

    /// Whether there is something for [`Watch::take_changed`].
    pub(crate) fn has_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Sessions that are others than they were, or are no more.
    pub(crate) fn take_changed(&mut self) -> Vec<(Name, Option<Said>)> {
        let changed = std::mem::take(&mut self.changed).into_iter();
        changed.map(|id| (name_of(id), self.said(id))).collect()
    }

    /// All that there shall be.
    pub(crate) fn all_said(&self) -> impl Iterator<Item = Said> + '_ {
        self.of.keys().filter_map(|id| self.said(*id))
    }

    fn said(&self, id: Id) -> Option<Said> {
        let it = self.of.get(&id)?;
        Some(Said {
            name: name_of(id),
            local: it.local.into(),
            hop: 0,
            turn: it.turn,
            interval: Duration::from_millis(it.times.interval_ms.into()),
            multiplier: it.times.multiplier,
            is_shut: false,
            authentication: it.authentication.clone(),
        })
    }

    /// Neighbours in whose name somebody guesses what their sessions are called.
    pub(crate) fn guessed(&self, now: Time) -> impl Iterator<Item = Name> + '_ {
        let guessed = self.guesses.iter();
        let guessed = guessed.filter(move |(_, it)| it.until.is_some_and(|until| now < until));
        guessed.map(|(id, _)| name_of(*id))
    }

    /// The state of a neighbour's session.
    pub(crate) fn state(&self, id: Id) -> Option<State> {
        let turn = self.of.get(&id)?.turn;
        let notice = self.notices.get(&id).filter(|it| it.turn == turn);
        Some(notice.and_then(|it| it.state).unwrap_or(State::Down))
    }

    /// All sessions: the neighbour, what was said, what the forwarder told last, who wants it.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (Said, Option<&Notice>, Vec<Protocol>)> + '_ {
        self.of.keys().filter_map(|id| {
            let said = self.said(*id)?;
            let notice = self.notices.get(id).filter(|it| it.turn == said.turn);
            let by = Protocol::ALL.into_iter().filter(|by| self.wanted.contains_key(&(*id, *by)));
            Some((said, notice, by.collect()))
        })
    }

    /// Sessions that a protocol wants, and those of them that are up.
    pub(crate) fn counts(&self, by: Protocol) -> (usize, usize) {
        let its = self.wanted.keys().filter(|it| it.1 == by).map(|it| it.0);
        let its: Vec<Id> = its.filter(|id| self.of.contains_key(id)).collect();
        let up = its.iter().filter(|id| self.state(**id) == Some(State::Up)).count();
        (its.len(), up)
    }

    /// All sessions, and those that are up.
    pub(crate) fn all(&self) -> (usize, usize) {
        let up = self.of.keys().filter(|id| self.state(**id) == Some(State::Up)).count();
        (self.of.len(), up)
    }
}

/// What authenticates packets with these times. A file that is named is there: the section was
/// checked.
fn key_of(keys: &BfdKeys, times: &Bfd) -> Option<Authentication> {
    keys.get(times.key_file.as_ref()?).cloned()
}
