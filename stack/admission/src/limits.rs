//! Limits of calls: how many a second and how many at once, for a realm, a next hop and a
//! subscriber, and the units that calls take from a shard's stock.
//!
//! ```text
//!  INVITE ─→ pool ─→ units ─→ realm it came from ─→ next hop it goes to ─→ subscriber ─→ Grant
//!              503          486, or what the configuration says         └─ released with the call
//! ```
//! The counters are those of [`overload`]; here is what they stand for. A limit divides among the
//! shards. A new configuration finds its counters by name, so that calls in progress stay counted.

mod restore;

use crate::config::{CallLimit, Resources};
use machine::{Duration, Time};
use overload::{Counters, Limit, NOBODY, Share, Stock, UNCOUNTED, Users, Violation};
use sip_stack::realm::RealmId;

/// The answer to what exceeds a limit, unless the configuration says otherwise: the called side
/// looks busy, so that the caller does not try another way at once.
const EXCESS_STATUS: u16 = 486;

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
        Self { realm: UNCOUNTED, hop: UNCOUNTED, units: 0, subscriber: NOBODY }
    }
}

impl Grant {
    /// The resource units.
    #[must_use]
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

/// The answer to a call beyond a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its Retry-After when that is 503, seconds.
    pub retry_after_s: Option<u32>,
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
    /// What the call is told.
    pub answer: Answer,
}

impl Excess {
    /// Of a limit without a name, exceeded by the number at once.
    #[must_use]
    pub const fn of(kind: Kind, status: u16) -> Self {
        let answer = Answer { status, retry_after_s: None };
        Self { kind, counter: UNCOUNTED, is_rate: false, answer }
    }

    /// What the service assurance is told.
    #[must_use]
    pub const fn why(&self) -> &'static str {
        match (self.kind, self.is_rate) {
            (Kind::Pool, _) => "the site's pool of sessions is used up",
            (Kind::Units, _) => "the resource units are used up",
            (Kind::Realm, true) => "the realm's calls per second are reached",
            (Kind::Realm, false) => "the realm's calls at once are reached",
            (Kind::NextHop, true) => "the next hop's calls per second are reached",
            (Kind::NextHop, false) => "the next hop's calls at once are reached",
            (Kind::Subscriber, true) => "the subscriber's calls per second are reached",
            (Kind::Subscriber, false) => "the subscriber's calls at once are reached",
        }
    }
}

fn limit(config: &CallLimit, share: Share) -> Limit<Answer> {
    Limit {
        rate: config.calls_per_s.map(|rate| share.rate(rate, config.burst)),
        number_max: config.calls_max.map(|max| share.number(max)),
        answer: Answer {
            status: config.excess_status.unwrap_or(EXCESS_STATUS),
            retry_after_s: config.retry_after_s,
        },
    }
}

/// What a function's section says of limits. All of it has been checked.
#[derive(Debug, Clone)]
pub struct Settings<'a> {
    /// What calls cost.
    pub resources: &'a Resources,
    /// By realm.
    pub realms: Vec<RealmLimits<'a>>,
    /// By next hop: its name and the limit of the calls that go there.
    pub hops: Vec<(&'a str, &'a CallLimit)>,
    /// How long messages may wait; zero: however long.
    pub delay_target: Duration,
}

/// The limits of a realm.
#[derive(Debug, Clone, Copy)]
pub struct RealmLimits<'a> {
    /// Its name.
    pub name: &'a str,
    /// That of the calls that come from it.
    pub calls: &'a CallLimit,
    /// That of each of its subscribers.
    pub subscriber: &'a CallLimit,
}

/// All limits of a shard.
#[derive(Debug)]
pub struct Limits {
    share: Share,
    pub(crate) counters: Counters<Kind, Answer>,
    /// By realm and by next hop: the number of its counter.
    realms: Vec<u16>,
    hops: Vec<u16>,
    /// By realm: what each of its subscribers may do.
    pub(crate) subscriber_limits: Vec<Limit<Answer>>,
    pub(crate) subscribers: Users,
    pub(crate) resources: Resources,
    pub(crate) stock: Stock,
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
    /// The limits of checked settings, for one shard of several.
    #[must_use]
    pub fn new(settings: &Settings<'_>, shard: u16, shards: u16) -> Self {
        let mut limits = Self {
            share: Share { shard, shards },
            counters: Counters::default(),
            realms: Vec::new(),
            hops: Vec::new(),
            subscriber_limits: Vec::new(),
            subscribers: Users::default(),
            resources: settings.resources.clone(),
            stock: Stock::default(),
        };
        limits.configure(settings);
        limits
    }

    /// Takes other settings; what is counted stays counted.
    pub fn configure(&mut self, settings: &Settings<'_>) {
        self.resources = settings.resources.clone();
        self.stock.set_max(settings.resources.units_max);
        let (counters, share) = (&mut self.counters, self.share);
        counters.unlimit();
        let realms = settings.realms.iter();
        self.realms = realms
            .clone()
            .map(|realm| counters.set(Kind::Realm, realm.name, limit(realm.calls, share)))
            .collect();
        let hops = settings.hops.iter();
        self.hops = hops
            .map(|(name, calls)| counters.set(Kind::NextHop, name, limit(calls, share)))
            .collect();
        // A subscriber's calls are all on one shard, which keeps the whole limit.
        self.subscriber_limits =
            realms.map(|realm| limit(realm.subscriber, Share::WHOLE)).collect();
    }

    /// The numbers of a call's realm and next hop.
    fn counters_of(&self, asking: &Asking) -> [u16; 2] {
        let realm = self.realms.get(usize::from(asking.realm.0)).copied();
        [realm.unwrap_or(UNCOUNTED), self.counter_of(asking.hop)]
    }

    fn counter_of(&self, hop: Option<u16>) -> u16 {
        let counter = hop.and_then(|hop| self.hops.get(usize::from(hop)).copied());
        counter.unwrap_or(UNCOUNTED)
    }

    /// Lets a call in, or says which limit it exceeds. Nothing is taken from any limit unless all
    /// of them have room.
    ///
    /// # Errors
    /// The first limit that has no room.
    pub fn admit(&mut self, now: Time, asking: &Asking) -> Result<Grant, Excess> {
        if !self.stock.has(asking.units) {
            return Err(Excess::of(Kind::Units, 503));
        }
        let counters = self.counters_of(asking);
        for counter in counters {
            self.counters.check(now, counter).map_err(|(kind, violation, answer)| Excess {
                kind,
                counter,
                is_rate: violation == Violation::Rate,
                answer,
            })?;
        }
        // The last one, so that nothing has to be given back.
        let subscriber = self.subscriber(now, asking)?;
        for counter in counters {
            self.counters.take(now, counter);
        }
        self.stock.take(asking.units);
        let [realm, hop] = counters;
        Ok(Grant { realm, hop, units: asking.units, subscriber })
    }

    /// Checks and takes the subscriber's own limit.
    fn subscriber(&mut self, now: Time, asking: &Asking) -> Result<u32, Excess> {
        let limit = self.subscriber_limits.get(usize::from(asking.realm.0)).copied();
        let Some(limit) = limit.filter(Limit::is_on) else { return Ok(NOBODY) };
        self.subscribers.admit(now, asking.subscriber, &limit).map_err(|violation| Excess {
            kind: Kind::Subscriber,
            counter: UNCOUNTED,
            is_rate: violation == Violation::Rate,
            answer: limit.answer,
        })
    }

    /// Whether subscribers of the realm have limits of their own.
    #[must_use]
    pub fn has_subscribers(&self, realm: RealmId) -> bool {
        self.subscriber_limits.get(usize::from(realm.0)).is_some_and(Limit::is_on)
    }

    /// A call exceeded its subscriber's limit; `caller` is his name.
    pub fn note_refused(&mut self, asking: &Asking, caller: &[u8]) {
        self.subscribers.refused(asking.subscriber, asking.realm.0, caller);
    }

    /// A call ended.
    pub fn release(&mut self, grant: Grant) {
        self.counters.release(grant.realm);
        self.counters.release(grant.hop);
        self.subscribers.release(grant.subscriber);
        self.stock.give_back(grant.units);
    }

    /// A call went on to another next hop, which has to take it.
    pub fn moved(&mut self, grant: &mut Grant, hop: Option<u16>) {
        let to = self.counter_of(hop);
        if to == grant.hop {
            return;
        }
        self.counters.release(grant.hop);
        self.counters.count(to);
        grant.hop = to;
    }

    /// Units taken at this moment.
    #[must_use]
    pub const fn units(&self) -> u32 {
        self.stock.units()
    }

    /// Calls that are counted at this moment.
    #[must_use]
    pub const fn sessions(&self) -> u32 {
        self.stock.holders()
    }

    /// The name of what is limited; empty where it has none.
    #[must_use]
    pub fn name(&self, excess: &Excess) -> &str {
        self.counters.at(excess.counter).map_or("", |counter| &counter.name)
    }
}

#[cfg(test)]
mod tests;
