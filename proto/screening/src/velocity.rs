//! Where subscribers were last, and whether they can be where they are now said to be (category 3).
//!
//! The table is of a fixed size. Where it is full, a source (an association) that has more than its
//! share gives room to those that have less, so that who makes subscribers up does not drive the
//! others out.

use machine::identity::mix;
use machine::{Duration, Time};
use sccp::codec::Digits;
use std::collections::BTreeMap;

/// Room of a table, at most.
pub(crate) const SUBSCRIBERS_MAX: u32 = 1 << 24;
/// Places of one row of the table; the row follows from the subscriber.
const WAYS: usize = 8;
/// Of all places, no source takes more than one in so many from others.
const SHARE: usize = 4;
/// Sources that are told apart; further ones share the last.
const SOURCES_MAX: usize = 1_024;

/// Where a subscriber was, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Number of the operator in the rules.
    pub place: u16,
    /// When.
    pub at: Time,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    subscriber: u64,
    source: u64,
    seen: Seen,
}

/// The last places of subscribers. It has no timers: what is older than it is kept counts for
/// nothing, and gives its room away.
#[derive(Debug)]
pub struct LastPlaces {
    rows: Vec<[Option<Entry>; WAYS]>,
    of_source: BTreeMap<u64, usize>,
    kept: Duration,
    secret: u64,
    count: usize,
    shed: u64,
}

impl LastPlaces {
    /// Room for that many subscribers; `secret` keeps the rows from being chosen by who sends.
    #[must_use]
    pub fn new(subscribers_max: u32, kept: Duration, secret: u64) -> Self {
        let rows = usize::try_from(subscribers_max).unwrap_or(usize::MAX).div_ceil(WAYS);
        let of_source = BTreeMap::new();
        Self { rows: vec![[None; WAYS]; rows], of_source, kept, secret, count: 0, shed: 0 }
    }

    /// Subscribers that are known.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether none is known.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether nothing is ever kept.
    pub(crate) const fn has_no_room(&self) -> bool {
        self.rows.is_empty()
    }

    /// Subscribers that there was no room for.
    #[must_use]
    pub const fn shed(&self) -> u64 {
        self.shed
    }

    fn subscriber(&self, imsi: &Digits) -> u64 {
        let digits = imsi.iter().fold(0u64, |number, digit| number << 4 | u64::from(digit));
        mix(digits ^ self.secret)
    }

    /// Where a subscriber was last.
    #[must_use]
    pub fn last(&self, now: Time, imsi: &Digits) -> Option<Seen> {
        if self.rows.is_empty() {
            return None;
        }
        let subscriber = self.subscriber(imsi);
        let row = &self.rows[machine::narrow::slot(subscriber, self.rows.len())];
        let found = row.iter().flatten().find(|it| it.subscriber == subscriber)?;
        (now.since(found.seen.at) < self.kept).then_some(found.seen)
    }

    /// A subscriber is at a place now, as `source` says.
    pub fn learn(&mut self, imsi: &Digits, seen: Seen, source: u64) {
        if self.rows.is_empty() {
            return;
        }
        let subscriber = self.subscriber(imsi);
        let source = match self.of_source.contains_key(&source) {
            true => source,
            false if self.of_source.len() >= SOURCES_MAX => u64::MAX,
            false => source,
        };
        let at = machine::narrow::slot(subscriber, self.rows.len());
        let Some(way) = self.way(at, subscriber, source, seen.at) else {
            self.shed += 1;
            return;
        };
        if let Some(before) = self.rows[at][way].replace(Entry { subscriber, source, seen }) {
            self.count -= 1;
            if let Some(count) = self.of_source.get_mut(&before.source) {
                *count -= 1;
                if *count == 0 {
                    self.of_source.remove(&before.source);
                }
            }
        }
        self.count += 1;
        *self.of_source.entry(source).or_default() += 1;
    }

    /// Which place of a row a subscriber gets: its own, a free one, one that is too old; else the
    /// oldest of the source that has most, where that has more than its share and than this source;
    /// else the oldest of this source; else the oldest of all, as long as it has not its share.
    fn way(&self, at: usize, subscriber: u64, source: u64, now: Time) -> Option<usize> {
        let row = &self.rows[at];
        let is_own = |it: &Option<Entry>| it.is_some_and(|it| it.subscriber == subscriber);
        let is_free = |it: &Option<Entry>| it.is_none_or(|it| now.since(it.seen.at) >= self.kept);
        if let Some(way) = row.iter().position(is_own).or_else(|| row.iter().position(is_free)) {
            return Some(way);
        }
        let count = |source: u64| self.of_source.get(&source).copied().unwrap_or_default();
        let oldest = |of: &dyn Fn(&Entry) -> bool| {
            let of_those = row.iter().enumerate().filter_map(|(way, it)| Some((way, (*it)?)));
            let of_those = of_those.filter(|(_, it)| of(it));
            of_those.min_by_key(|(_, it)| it.seen.at).map(|(way, _)| way)
        };
        let (has, share) = (count(source), (self.rows.len() * WAYS / SHARE).max(1));
        let largest = row.iter().flatten().map(|it| it.source).max_by_key(|it| count(*it));
        let gives = largest.filter(|it| count(*it) > share.max(has));
        gives
            .and_then(|gives| oldest(&|it| it.source == gives))
            .or_else(|| oldest(&|it| it.source == source))
            .or_else(|| oldest(&|_| has < share))
    }
}

/// How long the way between places takes at least.
#[derive(Debug, Default)]
pub(crate) struct Ways {
    seconds: Vec<u32>,
    count: usize,
}

/// A place: latitude and longitude in degrees, and kilometres around.
pub(crate) type Place = ([f64; 2], u32);

impl Ways {
    pub(crate) fn new(places: &[Option<Place>], speed_kmh: u32) -> Self {
        let seconds = |one: &Option<Place>, other: &Option<Place>| match (one, other) {
            (Some(one), Some(other)) => way(*one, *other, speed_kmh.max(1)),
            _ => 0,
        };
        let all = places.iter().flat_map(|one| places.iter().map(move |it| seconds(one, it)));
        Self { seconds: all.collect(), count: places.len() }
    }

    /// Whether somebody can be at `to` so long after having been at `from`.
    pub(crate) fn is_plausible(&self, from: u16, to: u16, after: Duration) -> bool {
        let at = usize::from(from) * self.count + usize::from(to);
        let seconds = self.seconds.get(at).copied().unwrap_or_default();
        after >= Duration::from_secs(seconds.into())
    }
}

/// Mean radius of the Earth, kilometres.
const EARTH_KM: f64 = 6_371.0;

/// Seconds from the edge of one place to the edge of another, by the great circle.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of seconds from zero to a few weeks"
)]
fn way(from: Place, to: Place, speed_kmh: u32) -> u32 {
    let ((one, radius), (other, other_radius)) = (from, to);
    let [lat, lon] = one.map(f64::to_radians);
    let [other_lat, other_lon] = other.map(f64::to_radians);
    let half = |angle: f64| (angle / 2.0).sin().powi(2);
    let chord = half(other_lat - lat) + lat.cos() * other_lat.cos() * half(other_lon - lon);
    let km = 2.0 * EARTH_KM * chord.clamp(0.0, 1.0).sqrt().asin();
    let between = (km - f64::from(radius) - f64::from(other_radius)).max(0.0);
    (between / f64::from(speed_kmh) * 3_600.0).min(f64::from(u32::MAX)) as u32
}
