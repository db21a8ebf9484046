//! The side that has the sessions.

use crate::{DRAWERS_MAX, Grant, LEASE, Report, low_mark};
use machine::Time;
use std::collections::BTreeMap;

/// What one function may hold of the pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// Its name.
    pub function: String,
    /// Sessions that nobody else gets.
    pub min: u32,
    /// Sessions at most.
    pub max: u32,
}

/// How much of the pool is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Level {
    /// Less than 80 %.
    #[default]
    Calm,
    /// 80 % and more, until it is less than 75 %.
    High,
    /// 95 % and more, until it is less than 90 %.
    Full,
}

/// What is known of one drawer.
#[derive(Debug, Clone, Copy)]
struct Account {
    life: u64,
    stamp: Time,
    serial: u64,
    block: u32,
    live: u32,
    /// Sessions that it refused since it was granted more.
    short: u32,
    spare: u32,
    heard: Time,
}

/// An account, for people and programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    /// The function.
    pub function: &'a str,
    /// Its shard.
    pub shard: u16,
    /// Sessions leased to it.
    pub held: u32,
    /// Sessions that run there.
    pub live: u32,
    /// Idle ones that it may keep.
    pub spare: u32,
    /// When it was heard last.
    pub heard: Time,
}

/// The keeper of a pool.
#[derive(Debug, Clone)]
pub struct LeaseServer {
    life: u64,
    sessions: u32,
    shares: Vec<Share>,
    /// Before this it learns what drawers hold from an earlier keeper and grants nothing.
    learns_until: Time,
    level: Level,
    accounts: BTreeMap<(String, u16), Account>,
}

impl LeaseServer {
    /// A keeper of so many sessions, whose life `now` makes. `is_first`: nobody can hold anything.
    #[must_use]
    pub fn new(now: Time, sessions: u32, is_first: bool) -> Self {
        let learns_until = if is_first { now } else { now + LEASE };
        let (shares, accounts) = (Vec::new(), BTreeMap::new());
        let life = now.as_nanos().max(1);
        Self { life, sessions, shares, learns_until, level: Level::Calm, accounts }
    }

    /// Changes the size of the pool and who gets how much. Where more is held than that, nobody
    /// is granted more until enough has come back.
    pub fn configure(&mut self, sessions: u32, shares: Vec<Share>) {
        self.sessions = sessions;
        self.shares = shares;
    }

    /// Sessions of the pool.
    #[must_use]
    pub const fn sessions(&self) -> u32 {
        self.sessions
    }

    /// Whether it still learns what drawers hold.
    #[must_use]
    pub fn is_learning(&self, now: Time) -> bool {
        now < self.learns_until
    }

    /// Sessions that are leased, and sessions that run.
    #[must_use]
    pub fn held(&self) -> (u64, u64) {
        let sum = |of: fn(&Account) -> u32| self.accounts.values().map(|a| u64::from(of(a))).sum();
        (sum(|account| account.block), sum(|account| account.live))
    }

    /// Every drawer that has a lease or was heard of late.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.accounts.iter().map(|((function, shard), account)| {
            let Account { block: held, live, spare, heard, .. } = *account;
            Row { function, shard: *shard, held, live, spare, heard }
        })
    }

    /// Ends the leases that were not renewed.
    pub fn tick(&mut self, now: Time) {
        self.accounts.retain(|_, account| now < account.heard + LEASE);
        let (_, live) = self.held();
        let percent = 100 * live / u64::from(self.sessions.max(1));
        self.level = match (self.level, percent) {
            (_, 95..) | (Level::Full, 90..) => Level::Full,
            (_, 80..) | (Level::High | Level::Full, 75..) => Level::High,
            _ => Level::Calm,
        };
    }

    /// How much is used, as of the last tick.
    #[must_use]
    pub const fn level(&self) -> Level {
        self.level
    }

    /// Takes the report of a function's shard and answers it. No answer: it is old, it comes from
    /// a life that another one has taken the place of, or there are too many drawers.
    pub fn take(&mut self, now: Time, function: &str, shard: u16, report: Report) -> Option<Grant> {
        self.tick(now);
        let Report { life, stamp, .. } = report;
        let greeting = Grant { keeper: self.life, life, stamp, serial: 0, block: 0, spare: 0 };
        if report.keeper != self.life {
            return Some(greeting);
        }
        let name = (function.to_owned(), shard);
        let known = self.accounts.get(&name).copied();
        let mut account = match known {
            Some(account) if account.life == life && stamp <= account.stamp => return None,
            Some(account) if account.life == life => account,
            Some(account) if life < account.life => return None,
            None if self.accounts.len() >= DRAWERS_MAX => return None,
            _ => {
                let before = self.accounts.remove(&name).map_or(0, |account| account.block);
                let free = self.free(function);
                let learned = if self.is_learning(now) { report.held } else { 0 };
                // A standby that takes over keeps what runs: others may be short of sessions.
                let block = learned.max(report.live.min(before)).min(free);
                let serial = report.serial + u64::from(block != report.held);
                let (short, spare) = (0, 0);
                Account { life, stamp, serial, block, live: 0, short, spare, heard: now }
            }
        };
        account.stamp = stamp;
        account.live = report.live;
        let is_fed = report.short == 0 && report.held > report.live;
        account.short = if is_fed { 0 } else { account.short.saturating_add(report.short) };
        account.heard = now;
        if report.serial >= account.serial {
            account.serial = report.serial;
            account.block = report.held;
        }
        self.accounts.insert(name.clone(), account);
        if self.is_learning(now) && account.block == 0 {
            return Some(greeting);
        }
        self.grow(now, function, report.serial, &mut account);
        self.accounts.insert(name, account);
        let Account { serial, block, spare, .. } = account;
        Some(Grant { serial, block, spare, ..greeting })
    }

    /// Decides how many idle sessions a drawer may keep, and adds to its block when it has few.
    fn grow(&self, now: Time, function: &str, seen: u64, account: &mut Account) {
        let cap = self.cap(function).saturating_add(account.block);
        account.spare = self.spare(function, account).min(cap.saturating_sub(account.live));
        // A grant that was not taken yet is repeated, not changed.
        if seen != account.serial {
            return;
        }
        let wanted = account.live.saturating_add(account.spare).saturating_add(account.short);
        let idle = account.block.saturating_sub(account.live);
        let is_low = account.short > 0 || idle <= low_mark(account.spare);
        // Who had to refuse comes first.
        let others = if account.short == 0 { self.short_of_others(account) } else { 0 };
        let free = if self.is_learning(now) { 0 } else { self.free(function) };
        let free = free.saturating_sub(others);
        let room = cap.saturating_sub(account.block);
        let more = wanted.saturating_sub(account.block).min(free).min(room);
        if (is_low && more > 0) || account.serial == 0 {
            account.block += more;
            account.serial += 1;
            account.short = 0;
        }
    }

    /// Sessions that this function may hold beside its blocks.
    fn cap(&self, function: &str) -> u32 {
        let share = self.shares.iter().find(|share| share.function == function);
        let held = self.held_by(function);
        let max = share.map_or(u64::from(u32::MAX), |share| share.max.into());
        max.saturating_sub(held) as u32
    }

    fn held_by(&self, function: &str) -> u64 {
        let own = self.accounts.iter().filter(|((name, _), _)| name == function);
        own.map(|(_, account)| u64::from(account.block)).sum()
    }

    /// What is kept back for other functions.
    fn reserved(&self, function: &str) -> u64 {
        let others = self.shares.iter().filter(|share| share.function != function);
        others.map(|share| u64::from(share.min).saturating_sub(self.held_by(&share.function))).sum()
    }

    /// Sessions that nobody holds and this function may have.
    #[must_use]
    pub fn free(&self, function: &str) -> u32 {
        let taken = self.held().0 + self.reserved(function);
        u64::from(self.sessions).saturating_sub(taken) as u32
    }

    /// What the other drawers had to refuse and have not been granted since.
    fn short_of_others(&self, account: &Account) -> u32 {
        let all: u64 = self.accounts.values().map(|other| u64::from(other.short)).sum();
        all.saturating_sub(account.short.into()).min(u32::MAX.into()) as u32
    }

    /// The drawer's part of what nobody uses: half of it is shared out. When another one has
    /// nothing left and nothing is free, less may stay idle.
    fn spare(&self, function: &str, account: &Account) -> u32 {
        let live = self.held().1;
        let parts = 2 * self.accounts.len().max(1) as u64;
        let unused = u64::from(self.sessions).saturating_sub(live + self.reserved(function));
        let others = self.short_of_others(account);
        let part = if others > 0 && self.free(function) <= others {
            unused.saturating_sub(others.into()) / parts
        } else {
            unused.div_ceil(parts)
        };
        let share = self.shares.iter().find(|share| share.function == function);
        let shards = self.accounts.keys().filter(|(name, _)| name == function).count();
        let min = share.map_or(0, |share| share.min / shards.max(1) as u32);
        (part as u32).max(min.saturating_sub(account.live))
    }
}
