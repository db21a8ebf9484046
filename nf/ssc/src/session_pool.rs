//! The controller as a drawer of the site's pool of sessions (`[pool]`).
//!
//! The driver asks `pool/exchange` several times a second: it brings the keeper's grants and takes
//! the report along. A call that begins looks at the block that is here, never at the keeper.

use crate::ask::rows::{PoolRow, ReportRow};
use crate::facts::Fact;
use crate::limit::{Excess, Kind};
use crate::overload_control::OverloadControl;
use event::Sheet;
use machine::{Duration, Time};
use pool::{Grant, LeaseClient, Report, Standing, Terms};
use question::Condition;
use runtime::{Ask, AskError};

/// What the shard has of the pool, and the answer to a call that exceeds it.
#[derive(Debug)]
pub(crate) struct LicenceShare {
    drawer: LeaseClient,
    status: u16,
}

impl LicenceShare {
    /// Without a pool.
    pub(crate) const fn new(now: Time) -> Self {
        Self { drawer: LeaseClient::new(now), status: 503 }
    }

    /// Begins a new life: that of the node that takes over.
    pub(crate) fn take_over(&mut self, now: Time) {
        self.drawer.take_over(now);
    }
}

impl OverloadControl {
    /// Whether the pool has room for one more call.
    pub(crate) fn pool_admits(
        &mut self,
        now: Time,
        is_emergency: bool,
        facts: &Sheet<Fact>,
    ) -> Result<(), Excess> {
        let live = self.limits.sessions();
        if is_emergency || self.share.drawer.admits(now, live) {
            let beyond = live >= self.share.drawer.held() && !self.is_free(now);
            facts.add(Fact::PoolOverdraft, beyond.into());
            return Ok(());
        }
        Err(Excess::of(Kind::Pool, self.share.status))
    }

    fn is_free(&self, now: Time) -> bool {
        self.share.drawer.standing(now) == Standing::Free
    }

    /// The driver's round: takes the grant for this shard and answers with its report, `[]`
    /// where there is none. Parameters: `grace_s`, `overdraft` and `status`, or none of them when
    /// there is no pool; SHARD = the numbers of a grant.
    pub(crate) fn exchange(
        &mut self,
        now: Time,
        ask: &Ask,
        shard: u16,
        is_standby: bool,
    ) -> Result<Vec<ReportRow>, AskError> {
        let wrong = |what: &str| AskError::BadParameter(format!("{what} is wrong"));
        let number = |key: &str| match ask.params.get(key).map(|text| text.parse::<u32>()) {
            None => Ok(None),
            Some(Ok(number)) => Ok(Some(number)),
            Some(Err(_)) => Err(wrong(key)),
        };
        let grace = number("grace_s")?.map(|seconds| Duration::from_secs(seconds.into()));
        let overdraft = number("overdraft")?.unwrap_or_default();
        self.share.status = match number("status")?.map(u16::try_from) {
            None => self.share.status,
            Some(status) => status.map_err(|_| wrong("status"))?,
        };
        let drawer = &mut self.share.drawer;
        drawer.join(now, grace.map(|grace| Terms { grace, overdraft }));
        if is_standby {
            return Ok(Vec::new()); // the active node holds the lease of both
        }
        if let Some(grant) = ask.params.get(&shard.to_string()) {
            drawer.take(now, read_grant(grant).ok_or_else(|| wrong("a grant"))?);
        }
        let live = self.limits.sessions();
        let is_low = drawer.is_low(live);
        let Some(report) = drawer.report(now, live) else { return Ok(Vec::new()) };
        let Report { keeper, life, stamp, serial, held, live, short } = report;
        let numbers = [keeper, life, stamp.as_nanos(), serial, held.into(), live.into()];
        Ok(vec![ReportRow {
            shard,
            report: numbers.into_iter().chain([u64::from(short)]).collect::<Vec<_>>(),
            low: is_low,
        }])
    }

    /// Brings the pool's gauges up to date.
    pub(crate) fn pool_gauges(&self, now: Time, facts: &Sheet<Fact>) {
        facts.set(Fact::PoolHeld, self.share.drawer.held().into());
        facts.set(Fact::PoolKeeperAway, self.share.drawer.is_away(now).into());
    }

    /// What this shard has of the pool; `refused` is how many calls it refused for want of it.
    pub(crate) fn show_pool(
        &self,
        now: Time,
        shard: u16,
        is_standby: bool,
        refused: u64,
    ) -> Vec<PoolRow> {
        let drawer = &self.share.drawer;
        let (is_granted, grace_s) = match drawer.standing(now) {
            Standing::Free => return Vec::new(),
            Standing::Within => (true, None),
            Standing::Grace(until) => (false, Some(until.since(now).as_secs())),
            Standing::Strict => (false, Some(0)),
        };
        let keeper = match (is_granted, drawer.is_away(now)) {
            _ if is_standby => "standby",
            (true, _) => "present",
            (false, false) => "learns",
            (false, true) => "away",
        };
        vec![PoolRow {
            drawer: shard.to_string(),
            keeper,
            held: drawer.held(),
            live: self.limits.sessions(),
            room: drawer.room(now),
            refused,
            grace_left_s: grace_s,
        }]
    }

    /// The alarm about a keeper that is away.
    pub(crate) fn pool_alarm(&self, now: Time, is_standby: bool) -> Option<Condition> {
        let is_away = self.share.drawer.is_away(now) && !is_standby;
        is_away.then(|| {
            let text = "the keeper of the site's pool of sessions does not answer".to_owned();
            let row = Condition::new("pool-keeper-away", "pool", "major", text);
            row.caused_by("communications-subsystem-failure")
        })
    }
}

/// Reads `keeper life stamp serial block spare`.
fn read_grant(text: &str) -> Option<Grant> {
    let mut words = text.split(' ');
    let mut next = || words.next()?.parse::<u64>().ok();
    let (keeper, life, stamp) = (next()?, next()?, Time::from_nanos(next()?));
    let serial = next()?;
    let (block, spare) = (u32::try_from(next()?).ok()?, u32::try_from(next()?).ok()?);
    Some(Grant { keeper, life, stamp, serial, block, spare })
}
