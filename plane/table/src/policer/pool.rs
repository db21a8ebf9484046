//! A policer shared by a group of interfaces that several workers serve.
//!
//! A bucket that every worker writes for every packet would cost each packet a cache line from
//! another core, a hundred clocks and more. So each worker has a share: tokens that it took from
//! the pool and has not spent, in memory of its own. It goes to the pool (three atomic words, no
//! lock) when its share runs short, and takes a little more than it needs.
//!
//! The pool's buckets are made smaller by what all shares may hold, so that in any span of time
//! the group passes at most burst + rate · time, whatever the workers do. What it may pass less is
//! the unspent part of the shares. With one share nothing is put aside: it is exact.

use super::{Colour, Kind, Profile};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Workers that share a pool at most.
pub const SHARES_MAX: usize = 64;

/// What part of a bucket all shares together may put aside.
const ASIDE: u64 = 8;

/// The tokens of a group.
pub struct Pool {
    profile: Profile,
    /// What one share may put aside of each bucket.
    aside: (u64, u64),
    shares_max: usize,
    shares: AtomicUsize,
    last: AtomicU64,
    committed: AtomicU64,
    excess: AtomicU64,
}

/// One worker's part of a [`Pool`].
pub struct Share {
    pool: Arc<Pool>,
    profile: Profile,
    /// The latest time the pool was filled for.
    filled: u64,
    committed: Part,
    excess: Part,
}

/// What a share holds of one bucket.
#[derive(Default)]
struct Part {
    held: u64,
    /// The pool had not this much at this time: under a flood nobody asks it twice.
    dry: u64,
    dry_at: u64,
}

impl Part {
    /// Brings the part up to `cost` and what it may put aside, or takes nothing.
    fn draw(&mut self, bucket: &AtomicU64, cost: u64, aside: u64, now: u64) -> bool {
        let least = cost.saturating_sub(self.held);
        if least == 0 || self.dry_at == now && least >= self.dry {
            return least == 0;
        }
        let taken = take(bucket, least, least + aside);
        if taken == 0 {
            (self.dry, self.dry_at) = (least, now);
        }
        self.held += taken;
        taken != 0
    }
}

impl Pool {
    /// A full pool for at most `shares` workers (1 to [`SHARES_MAX`]).
    #[must_use]
    pub fn new(mut profile: Profile, shares: usize, now: u64) -> Arc<Self> {
        let shares = shares.clamp(1, SHARES_MAX);
        let part = |burst: u64| if shares == 1 { 0 } else { burst / ASIDE / shares as u64 };
        let aside = (part(profile.committed.burst), part(profile.excess.burst));
        profile.committed.burst -= aside.0 * shares as u64;
        profile.excess.burst -= aside.1 * shares as u64;
        Arc::new(Self {
            profile,
            aside,
            shares_max: shares,
            shares: AtomicUsize::new(0),
            last: AtomicU64::new(now),
            committed: AtomicU64::new(profile.committed.burst),
            excess: AtomicU64::new(profile.excess.burst),
        })
    }

    /// The share of one more worker; `None` if all are out. A share is not given back.
    #[must_use]
    pub fn share(self: &Arc<Self>) -> Option<Share> {
        let more = |shares: usize| (shares < self.shares_max).then_some(shares + 1);
        self.shares.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        let profile = self.profile;
        let filled = self.last.load(Ordering::Relaxed);
        let part = || Part { dry: u64::MAX, ..Part::default() };
        let (committed, excess) = (part(), part());
        Some(Share { pool: Arc::clone(self), profile, filled, committed, excess })
    }

    /// Fills the buckets up to `now`: whoever moves the clock brings the tokens of that time.
    fn fill(&self, now: u64) {
        let last = self.last.load(Ordering::Acquire);
        if now <= last {
            return;
        }
        let moved = self.last.compare_exchange(last, now, Ordering::AcqRel, Ordering::Relaxed);
        if moved.is_err() {
            return;
        }
        let profile = &self.profile;
        let ticks = now - last;
        if profile.kind == Kind::SingleRate {
            let over = put(&self.committed, profile.income(ticks), profile.committed.burst);
            put(&self.excess, over, profile.excess.burst);
        } else {
            put(&self.committed, profile.committed.income(ticks), profile.committed.burst);
            put(&self.excess, profile.excess.income(ticks), profile.excess.burst);
        }
    }
}

/// Puts tokens into a bucket; what flows over.
fn put(bucket: &AtomicU64, tokens: u64, burst: u64) -> u64 {
    let fill = |held: u64| Some((held + tokens).min(burst));
    let held = bucket.fetch_update(Ordering::AcqRel, Ordering::Acquire, fill);
    let held = held.unwrap_or_else(|held| held);
    (held + tokens).saturating_sub(burst)
}

/// Takes `least` from a bucket, and up to `most` if it is there; nothing if it has not as much.
fn take(bucket: &AtomicU64, least: u64, most: u64) -> u64 {
    let left = |held: u64| (held >= least).then(|| held.saturating_sub(most));
    let held = bucket.fetch_update(Ordering::AcqRel, Ordering::Acquire, left);
    held.map_or(0, |held| held.min(most))
}

impl Share {
    /// Colours a packet of `bytes` at `now` (ticks; one that goes back counts as standing still).
    #[inline(always)]
    #[must_use]
    pub fn mark(&mut self, now: u64, bytes: u32, came: Colour) -> Colour {
        let cost = u64::from(bytes) * self.profile.ticks_per_s;
        let came = if self.profile.aware { came } else { Colour::Green };
        if self.committed.held < cost || self.excess.held < cost {
            self.draw(now, cost, came);
        }
        let (colour, committed, excess) =
            self.profile.colour(self.committed.held, self.excess.held, cost, came);
        (self.committed.held, self.excess.held) = (committed, excess);
        colour
    }

    /// Draws what this packet will spend, and no more than may be put aside: so a share never
    /// holds more than that between packets.
    #[cold]
    fn draw(&mut self, now: u64, cost: u64, came: Colour) {
        if now > self.filled {
            self.pool.fill(now);
            self.filled = now;
        }
        // One that goes back finds what is there now.
        let (pool, now) = (&*self.pool, self.filled);
        let green = came == Colour::Green;
        if self.profile.kind == Kind::TwoRate {
            if came != Colour::Red
                && self.excess.draw(&pool.excess, cost, pool.aside.1, now)
                && green
            {
                self.committed.draw(&pool.committed, cost, pool.aside.0, now);
            }
        } else if !(green && self.committed.draw(&pool.committed, cost, pool.aside.0, now))
            && came != Colour::Red
        {
            self.excess.draw(&pool.excess, cost, pool.aside.1, now);
        }
    }
}
