//! The side that starts sessions.

use crate::{Grant, LEASE, QUIET, Report, low_mark};
use machine::{Duration, Time};

/// What holds while the keeper is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// How long sessions start beyond the block.
    pub grace: Duration,
    /// How many.
    pub overdraft: u32,
}

/// How a drawer stands to its keeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// There is no pool: every session may start.
    Free,
    /// The keeper answers: sessions start within the block.
    Within,
    /// The keeper grants nothing: until then sessions start beyond the block.
    Grace(Time),
    /// The grace time is over: sessions start within the block.
    Strict,
}

/// What there is while there is a pool.
#[derive(Debug, Clone, Copy)]
struct Joined {
    terms: Terms,
    /// When the keeper granted last; before the first time, when the pool was joined.
    granted: Time,
    /// When the keeper said anything last; likewise.
    heard: Time,
}

/// One drawer of a pool.
#[derive(Debug, Clone)]
pub struct LeaseClient {
    life: u64,
    keeper: u64,
    sent: Time,
    answered: Time,
    serial: u64,
    block: u32,
    spare: u32,
    short: u32,
    joined: Option<Joined>,
}

impl LeaseClient {
    /// A drawer without a pool. `now` makes its life, which is later than the ones before.
    #[must_use]
    pub const fn new(now: Time) -> Self {
        Self {
            life: now.as_nanos(),
            keeper: 0,
            sent: Time::ZERO,
            answered: Time::ZERO,
            serial: 0,
            block: 0,
            spare: 0,
            short: 0,
            joined: None,
        }
    }

    /// There is a pool from now on, on these terms, or there is none any more.
    pub fn join(&mut self, now: Time, terms: Option<Terms>) {
        match (terms, &mut self.joined) {
            (None, None) => {}
            (None, Some(_)) => *self = Self { life: self.life + 1, ..Self::new(now) },
            (Some(terms), Some(joined)) => joined.terms = terms,
            (Some(terms), None) => {
                self.joined = Some(Joined { terms, granted: now, heard: now });
            }
        }
    }

    /// A new life on the same terms: that of the standby of a pair, which takes over now.
    pub fn take_over(&mut self, now: Time) {
        let terms = self.joined.map(|joined| joined.terms);
        *self = Self::new(now);
        self.join(now, terms);
    }

    /// How it stands.
    #[must_use]
    pub fn standing(&self, now: Time) -> Standing {
        let Some(joined) = self.joined else { return Standing::Free };
        let until = joined.granted + QUIET + joined.terms.grace;
        match () {
            () if self.serial > 0 && now < joined.granted + QUIET => Standing::Within,
            () if now < until => Standing::Grace(until),
            () => Standing::Strict,
        }
    }

    /// Whether the keeper has said nothing for long.
    #[must_use]
    pub fn is_away(&self, now: Time) -> bool {
        self.joined.is_some_and(|joined| now >= joined.heard + QUIET)
    }

    /// Sessions that may run now; `None`: any number.
    #[must_use]
    pub fn room(&self, now: Time) -> Option<u32> {
        let overdraft = self.joined.map_or(0, |joined| joined.terms.overdraft);
        match self.standing(now) {
            Standing::Free => None,
            Standing::Grace(_) => Some(self.block.saturating_add(overdraft)),
            Standing::Within | Standing::Strict => Some(self.block),
        }
    }

    /// Whether one more session may start beside `live` ones. A refusal is told to the keeper.
    pub fn admits(&mut self, now: Time, live: u32) -> bool {
        let admits = self.room(now).is_none_or(|room| live < room);
        self.short += u32::from(!admits);
        admits
    }

    /// Sessions that it holds, with a valid lease or by grace.
    #[must_use]
    pub const fn held(&self) -> u32 {
        self.block
    }

    /// Sessions that it holds by a lease that has not run out.
    #[must_use]
    pub fn leased(&self, now: Time) -> u32 {
        let is_valid = self.serial > 0 && now < self.answered + LEASE;
        if is_valid { self.block } else { 0 }
    }

    /// Whether the next report should go at once: little is left of the block.
    #[must_use]
    pub fn is_low(&self, live: u32) -> bool {
        let idle = self.block.saturating_sub(live);
        self.joined.is_some()
            && (self.serial == 0 || self.short > 0 || idle <= low_mark(self.spare))
    }

    /// Takes an answer. One that is old, or for another life, changes nothing.
    pub fn take(&mut self, now: Time, grant: Grant) {
        let Some(joined) = &mut self.joined else { return };
        let is_answer = grant.stamp > self.answered && grant.stamp <= self.sent;
        if grant.life != self.life || !is_answer {
            return;
        }
        self.keeper = grant.keeper;
        joined.heard = now;
        if grant.serial == 0 {
            return; // a greeting: there is a keeper, which learns
        }
        joined.granted = now;
        self.answered = grant.stamp;
        self.spare = grant.spare;
        if grant.serial > self.serial {
            self.block = grant.block;
            self.serial = grant.serial;
        } else {
            // The lease ran out before the report, and others have what it held.
            self.block = self.block.min(grant.block);
        }
    }

    /// Returns what it holds in excess, and says what is left; `None` without a pool.
    pub fn report(&mut self, now: Time, live: u32) -> Option<Report> {
        self.joined?;
        if self.standing(now) == Standing::Within {
            self.block = self.block.min(live.saturating_add(self.spare));
        }
        self.sent = now.max(Time::from_nanos(self.sent.as_nanos() + 1));
        let Self { life, keeper, serial, sent: stamp, .. } = *self;
        let short = core::mem::take(&mut self.short);
        let held = self.leased(now);
        Some(Report { keeper, life, stamp, serial, held, live, short })
    }
}
