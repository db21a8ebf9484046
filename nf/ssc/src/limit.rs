//! Limits of calls: how many a second and how many at once, for a realm, a next hop and a
//! subscriber, and the units that calls take from a shard's stock.
//!
//! ```text
//!  INVITE ─→ pool ─→ units ─→ realm it came from ─→ next hop it goes to ─→ subscriber ─→ Grant
//!              503          486, or what the configuration says         └─ released with the call
//! ```
//! A rate is kept by the generic cell rate algorithm (ITU-T I.371 annex A: one time per bucket,
//! exact integer arithmetic). A limit divides among the shards: each has its share of the rate and
//! of the number. A new configuration finds its counters by name, so that calls in progress stay
//! counted.

mod enforce;
mod restore;
mod subscribers;

use crate::config::{CallLimit, Resources, Ssc};
use crate::realm::RealmId;
use machine::Time;
use machine::bucket::{Bucket, Rate};
use machine::narrow::index;
use subscribers::Subscribers;

/// The answer to what exceeds a limit, unless the configuration says otherwise: the called side
/// looks busy, so that the caller does not try another way at once.
const EXCESS_STATUS: u16 = 486;
/// Realms and next hops that are remembered, those of earlier configurations included.
const COUNTERS_MAX: usize = 4096;
/// Marks that a call is not counted there.
const NONE: u16 = u16::MAX;

/// What a call holds until it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    realm: u16,
    hop: u16,
    units: u16,
    subscriber: u32,
}

impl Default for Grant {
    fn default() -> Self {
        Self { realm: NONE, hop: NONE, units: 0, subscriber: subscribers::NOBODY }
    }
}

impl Grant {
    /// The resource units.
    pub const fn units(self) -> u16 {
        self.units
    }
}

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The site's pool of sessions.
    Pool,
    /// The stock of units.
    Units,
    /// A realm that calls come from.
    Realm,
    /// A next hop that calls go to.
    NextHop,
    /// A subscriber who calls.
    Subscriber,
}

/// Which limit a call exceeds, and the answer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Excess {
    /// What is limited.
    pub kind: Kind,
    /// Its number, see [`Limits::name`].
    counter: u16,
    /// Whether it is the rate, or the number at once.
    pub is_rate: bool,
    /// Status of the answer.
    pub status: u16,
    /// Retry-After of the answer when it is 503, seconds.
    pub retry_after_s: Option<u32>,
}

impl Excess {
    /// Of a limit without a name, exceeded by the number at once.
    pub(crate) const fn of(kind: Kind, status: u16) -> Self {
        Self { kind, counter: NONE, is_rate: false, status, retry_after_s: None }
    }
}

/// A limit as one shard keeps it.
#[derive(Debug, Clone, Copy, Default)]
struct Limit {
    rate: Option<Rate>,
    calls_max: Option<u32>,
    status: u16,
    retry_after_s: Option<u32>,
}

impl Limit {
    fn new(config: &CallLimit, share: Share) -> Self {
        Self {
            rate: config.calls_per_s.map(|rate| share.rate(rate, config.burst)),
            calls_max: config.calls_max.map(|max| share.number(max)),
            status: config.excess_status.unwrap_or(EXCESS_STATUS),
            retry_after_s: config.retry_after_s,
        }
    }

    const fn is_on(&self) -> bool {
        self.rate.is_some() || self.calls_max.is_some()
    }

    /// `Err(true)`: the rate is exceeded; `Err(false)`: the number.
    fn check(&self, now: Time, bucket: &Bucket, live: u32) -> Result<(), bool> {
        if self.calls_max.is_some_and(|max| live >= max) {
            return Err(false);
        }
        let is_full = self.rate.is_some_and(|rate| !bucket.has_room(now, rate));
        if is_full { Err(true) } else { Ok(()) }
    }
}

/// One shard of several.
#[derive(Debug, Clone, Copy)]
struct Share {
    shard: u16,
    shards: u16,
}

impl Share {
    fn rate(self, calls_per_s: f64, burst: Option<u32>) -> Rate {
        let shards = u32::from(self.shards.max(1));
        Rate::new(calls_per_s / f64::from(shards), burst.map(|burst| burst.div_ceil(shards)))
    }

    /// The shares of all shards add up to the whole.
    fn number(self, max: u32) -> u32 {
        let shards = u32::from(self.shards.max(1));
        max / shards + u32::from(u32::from(self.shard) < max % shards)
    }
}

/// A realm or a next hop, by name.
#[derive(Debug)]
struct Counter {
    kind: Kind,
    name: String,
    limit: Limit,
    bucket: Bucket,
    live: u32,
    refused: u64,
}

/// All limits of a shard.
#[derive(Debug)]
pub struct Limits {
    share: Share,
    counters: Vec<Counter>,
    /// By realm and by next hop: the number of its counter.
    realms: Vec<u16>,
    hops: Vec<u16>,
    /// By realm: what each of its subscribers may do.
    subscriber_limits: Vec<Limit>,
    subscribers: Subscribers,
    resources: Resources,
    units: u32,
    /// Calls that hold units.
    sessions: u32,
}

/// The call that asks to be let in.
#[derive(Debug, Clone, Copy)]
pub struct Asking {
    /// The realm it came from.
    pub realm: RealmId,
    /// The next hop it goes to, by its number in the configuration.
    pub hop: Option<u16>,
    /// Who calls, hashed.
    pub subscriber: u64,
    /// What it costs.
    pub units: u16,
}

impl Limits {
    /// The limits of a validated configuration, for one shard of several.
    #[must_use]
    pub fn new(config: &Ssc, shard: u16, shards: u16) -> Self {
        let mut limits = Self {
            share: Share { shard, shards },
            counters: Vec::new(),
            realms: Vec::new(),
            hops: Vec::new(),
            subscriber_limits: Vec::new(),
            subscribers: Subscribers::default(),
            resources: config.resources.clone(),
            units: 0,
            sessions: 0,
        };
        limits.configure(config);
        limits
    }

    /// Takes another configuration; what is counted stays counted.
    pub fn configure(&mut self, config: &Ssc) {
        self.resources = config.resources.clone();
        for counter in &mut self.counters {
            counter.limit = Limit::default();
        }
        let realms = config.realm.iter();
        let share = self.share;
        self.realms = realms
            .clone()
            .map(|realm| self.counter(Kind::Realm, &realm.name, Limit::new(&realm.limit, share)))
            .collect();
        let hops = config.next_hop.iter();
        self.hops = hops
            .map(|hop| self.counter(Kind::NextHop, &hop.name, Limit::new(&hop.limit, share)))
            .collect();
        // A subscriber's calls are all on one shard: he has the whole limit there.
        let whole = Share { shard: 0, shards: 1 };
        self.subscriber_limits =
            realms.map(|realm| Limit::new(&realm.subscriber_limit, whole)).collect();
    }

    /// The counter of that name, with this limit from now on.
    fn counter(&mut self, kind: Kind, name: &str, limit: Limit) -> u16 {
        let known = self.counters.iter().position(|c| c.kind == kind && c.name == name);
        if let Some(at) = known {
            self.counters[at].limit = limit;
            return index(at);
        }
        let unused = |c: &Counter| c.live == 0 && !c.limit.is_on();
        let counter = Counter {
            kind,
            name: name.to_owned(),
            limit,
            bucket: Bucket::default(),
            live: 0,
            refused: 0,
        };
        if self.counters.len() < COUNTERS_MAX {
            self.counters.push(counter);
            return index(self.counters.len() - 1);
        }
        let Some(at) = self.counters.iter().position(unused) else { return NONE };
        self.counters[at] = counter;
        index(at)
    }

    /// Lets a call in, or says which limit it exceeds. Nothing is taken from any limit unless all
    /// of them have room.
    ///
    /// # Errors
    /// The first limit that has no room.
    pub fn admit(&mut self, now: Time, asking: &Asking) -> Result<Grant, Excess> {
        if u64::from(self.units) + u64::from(asking.units) > u64::from(self.resources.units_max) {
            return Err(Excess::of(Kind::Units, 503));
        }
        let realm = self.realms.get(usize::from(asking.realm.0)).copied().unwrap_or(NONE);
        let hop = asking.hop.and_then(|hop| self.hops.get(usize::from(hop)).copied());
        let hop = hop.unwrap_or(NONE);
        for counter in [realm, hop] {
            self.check(now, counter)?;
        }
        let subscriber = self.subscriber(now, asking)?;
        for counter in [realm, hop] {
            self.take(now, counter);
        }
        self.units += u32::from(asking.units);
        self.sessions += 1;
        Ok(Grant { realm, hop, units: asking.units, subscriber })
    }

    fn check(&mut self, now: Time, number: u16) -> Result<(), Excess> {
        let Some(counter) = self.counters.get_mut(usize::from(number)) else { return Ok(()) };
        let Limit { status, retry_after_s, .. } = counter.limit;
        counter.limit.check(now, &counter.bucket, counter.live).map_err(|is_rate| {
            counter.refused += 1;
            Excess { kind: counter.kind, counter: number, is_rate, status, retry_after_s }
        })
    }

    fn take(&mut self, now: Time, number: u16) {
        let Some(counter) = self.counters.get_mut(usize::from(number)) else { return };
        if let Some(rate) = counter.limit.rate {
            counter.bucket.take(now, rate);
        }
        counter.live += 1;
    }

    /// Checks and takes the subscriber's own limit; the last one, so that nothing is given back.
    fn subscriber(&mut self, now: Time, asking: &Asking) -> Result<u32, Excess> {
        let limit = self.subscriber_limits.get(usize::from(asking.realm.0)).copied();
        let Some(limit) = limit.filter(Limit::is_on) else { return Ok(subscribers::NOBODY) };
        self.subscribers.admit(now, asking.subscriber, &limit).map_err(|is_rate| {
            let Limit { status, retry_after_s, .. } = limit;
            let kind = Kind::Subscriber;
            Excess { kind, counter: NONE, is_rate, status, retry_after_s }
        })
    }

    /// A call ended.
    pub fn release(&mut self, grant: Grant) {
        for number in [grant.realm, grant.hop] {
            if let Some(counter) = self.counters.get_mut(usize::from(number)) {
                counter.live = counter.live.saturating_sub(1);
            }
        }
        self.subscribers.release(grant.subscriber);
        self.units = self.units.saturating_sub(grant.units.into());
        self.sessions = self.sessions.saturating_sub(u32::from(grant.units > 0));
    }

    /// A call went on to another next hop, which has to take it.
    pub fn moved(&mut self, grant: &mut Grant, hop: Option<u16>) {
        let to = hop.and_then(|hop| self.hops.get(usize::from(hop)).copied()).unwrap_or(NONE);
        if to == grant.hop {
            return;
        }
        if let Some(counter) = self.counters.get_mut(usize::from(grant.hop)) {
            counter.live = counter.live.saturating_sub(1);
        }
        if let Some(counter) = self.counters.get_mut(usize::from(to)) {
            counter.live += 1;
        }
        grant.hop = to;
    }

    /// Units taken at this moment.
    #[must_use]
    pub const fn units(&self) -> u32 {
        self.units
    }

    /// Calls that are counted at this moment.
    #[must_use]
    pub const fn sessions(&self) -> u32 {
        self.sessions
    }

    /// The name of what is limited; empty where it has none.
    #[must_use]
    pub fn name(&self, excess: &Excess) -> &str {
        self.counters.get(usize::from(excess.counter)).map_or("", |counter| &counter.name)
    }
}

#[cfg(test)]
mod tests;
