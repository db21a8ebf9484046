//! A shard's lease of the site's pool of sessions (`[pool]`).
//!
//! The driver asks `pool/exchange` several times a second: it brings the keeper's grants and takes
//! the report along. A call that begins looks at the block that is here, never at the keeper.

use crate::limits::{Excess, Kind};
use machine::{Duration, Time};
use pool::{Grant, LeaseClient, Report, Standing, Terms};
use question::{Condition, rows};
use runtime::{Ask, AskError};

rows! {
    /// What a shard tells the keeper of the pool.
    pub struct ReportRow {
        shard: u16,
        report: Vec<u64>,
        low: bool,
    }

    /// What a shard holds of the pool of sessions.
    pub struct PoolRow {
        drawer: String,
        /// `present`, `away`, `learns`, or `standby` on the standby of a pair.
        keeper: &'static str,
        held: u32,
        live: u32,
        room: Option<u32>,
        refused: u64,
        grace_left_s: Option<u64>,
    }
}

/// What the shard has of the pool, and the answer to a call that exceeds it.
#[derive(Debug)]
pub struct LicenceShare {
    drawer: LeaseClient,
    status: u16,
}

impl LicenceShare {
    /// Without a pool.
    #[must_use]
    pub const fn new(now: Time) -> Self {
        Self { drawer: LeaseClient::new(now), status: 503 }
    }

    /// Begins a new life: that of the node that takes over.
    pub fn take_over(&mut self, now: Time) {
        self.drawer.take_over(now);
    }

    /// Whether the pool has room for one more call than the `live` ones; says whether that is
    /// beyond what is held of it.
    ///
    /// # Errors
    /// It has none.
    pub fn admits(&mut self, now: Time, live: u32, is_emergency: bool) -> Result<bool, Excess> {
        if is_emergency || self.drawer.admits(now, live) {
            return Ok(live >= self.drawer.held() && !self.is_free(now));
        }
        Err(Excess::of(Kind::Pool, self.status))
    }

    fn is_free(&self, now: Time) -> bool {
        self.drawer.standing(now) == Standing::Free
    }

    /// The driver's round: takes the grant for this shard and answers with its report, `[]`
    /// where there is none. Parameters: `grace_s`, `overdraft` and `status`, or none of them when
    /// there is no pool; SHARD = the numbers of a grant. `live` is how many calls there are, `None`
    /// on a standby.
    ///
    /// # Errors
    /// A parameter that is wrong.
    pub fn exchange(
        &mut self,
        now: Time,
        ask: &Ask,
        shard: u16,
        live: Option<u32>,
    ) -> Result<Vec<ReportRow>, AskError> {
        let wrong = |what: &str| AskError::BadParameter(format!("{what} is wrong"));
        let number = |key: &str| match ask.params.get(key).map(|text| text.parse::<u32>()) {
            None => Ok(None),
            Some(Ok(number)) => Ok(Some(number)),
            Some(Err(_)) => Err(wrong(key)),
        };
        let grace = number("grace_s")?.map(|seconds| Duration::from_secs(seconds.into()));
        let overdraft = number("overdraft")?.unwrap_or_default();
        self.status = match number("status")?.map(u16::try_from) {
            None => self.status,
            Some(status) => status.map_err(|_| wrong("status"))?,
        };
        let drawer = &mut self.drawer;
        drawer.join(now, grace.map(|grace| Terms { grace, overdraft }));
        // The active node holds the lease of both.
        let Some(live) = live else { return Ok(Vec::new()) };
        if let Some(grant) = ask.params.get(&shard.to_string()) {
            drawer.take(now, read_grant(grant).ok_or_else(|| wrong("a grant"))?);
        }
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

    /// Sessions that the shard holds of the pool.
    #[must_use]
    pub const fn held(&self) -> u32 {
        self.drawer.held()
    }

    /// Whether the keeper of the pool does not answer.
    #[must_use]
    pub fn is_away(&self, now: Time) -> bool {
        self.drawer.is_away(now)
    }

    /// What this shard has of the pool; `refused` is how many calls it refused for want of it.
    #[must_use]
    pub fn show(
        &self,
        now: Time,
        shard: u16,
        live: u32,
        is_standby: bool,
        refused: u64,
    ) -> Vec<PoolRow> {
        let drawer = &self.drawer;
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
            live,
            room: drawer.room(now),
            refused,
            grace_left_s: grace_s,
        }]
    }

    /// The alarm about a keeper that is away.
    #[must_use]
    pub fn alarm(&self, now: Time, is_standby: bool) -> Option<Condition> {
        let is_away = self.drawer.is_away(now) && !is_standby;
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
