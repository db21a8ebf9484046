//! Limits for people and programs.

use crate::limits::{Kind, Limits};
use machine::bucket::Rate;
use question::{Either, rows};

/// Refused subscribers that are shown, those with the most refusals.
const SUBSCRIBERS_SHOWN_MAX: usize = 100;

rows! {
    /// A limit and what counts against it.
    pub struct LimitRow {
        /// `pool`, `realm`, `next-hop` or `subscriber`.
        kind: &'static str,
        name: String,
        calls: u32,
        calls_max: Option<u32>,
        calls_per_s: Option<f64>,
        refused: u64,
    }

    /// The units that calls hold.
    pub struct UnitsRow {
        /// `resource-units`.
        kind: &'static str,
        name: &'static str,
        units: u32,
        units_max: u32,
        calls: u32,
    }
}

impl Limits {
    /// The subscribers who were refused and still have a call or a rate that is used.
    fn show_subscribers(&self) -> impl Iterator<Item = LimitRow> {
        let mut refusals: Vec<_> = self.subscribers.refusals().collect();
        refusals.sort_by_key(|(refused, _)| core::cmp::Reverse(refused.count));
        refusals.truncate(SUBSCRIBERS_SHOWN_MAX);
        refusals.into_iter().map(|(refused, live)| {
            let limit = self.subscriber_limits.get(usize::from(refused.group));
            LimitRow {
                kind: Kind::Subscriber.word(),
                name: String::from_utf8_lossy(&refused.name).into_owned(),
                calls: live,
                calls_max: limit.and_then(|limit| limit.number_max),
                calls_per_s: limit.and_then(|limit| limit.rate).map(Rate::per_s),
                refused: refused.count,
            }
        })
    }

    /// Rows for people and programs.
    #[must_use]
    pub fn show(&self) -> Vec<Either<LimitRow, UnitsRow>> {
        let counters = self.counters.iter().filter(|c| c.limit.is_on() || c.live > 0);
        let rows = counters.map(|counter| LimitRow {
            kind: counter.kind.word(),
            name: counter.name.clone(),
            calls: counter.live,
            calls_max: counter.limit.number_max,
            calls_per_s: counter.limit.rate.map(Rate::per_s),
            refused: counter.refused,
        });
        let units = UnitsRow {
            kind: Kind::Units.word(),
            name: "",
            units: self.stock.units(),
            units_max: self.stock.units_max(),
            calls: self.stock.holders(),
        };
        rows.chain(self.show_subscribers()).map(Either::A).chain([Either::B(units)]).collect()
    }
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Self::Pool => "pool",
            Self::Units => "resource-units",
            Self::Realm => "realm",
            Self::NextHop => "next-hop",
            Self::Subscriber => "subscriber",
        }
    }
}
