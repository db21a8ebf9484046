//! The last hour of every metric, a point a second, in memory.
//!
//! A counter's point is its growth in that second, a gauge's its value, a histogram's the number
//! of values in that second; of a histogram the 50th and 99th percentile of that second are kept
//! as series of their own, `NAME:p50` and `NAME:p99` (upper edge of the bucket).

use event::{BUCKETS, Kind, Sample};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use utoipa::ToSchema;

use crate::exposition::{Labelled, kind_name};

/// Points that are kept of each series: one hour.
pub const POINTS_MAX: usize = 3_600;
/// Series that are kept; more are not recorded.
pub const SERIES_MAX: usize = 1_024;

/// A series as the API shows it.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Series {
    /// Name of the function; its shards are added up.
    pub function: String,
    /// Name of the metric.
    pub name: String,
    /// `counter` (values are per second), `gauge`, `histogram` (values are the number of values
    /// per second) or `quantile`.
    pub kind: String,
    /// Points, oldest first; null where the metric did not exist yet or had no value.
    pub values: Vec<Option<f64>>,
}

/// An excerpt of the history.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Excerpt {
    /// Seconds between two points.
    pub step_s: u32,
    /// Time of the last point, seconds since the UNIX epoch.
    pub end_s: u64,
    /// The series.
    pub series: Vec<Series>,
}

type Key = (String, String);

/// A metric of a function, its shards added up.
#[derive(Debug, Clone)]
struct Total {
    kind: Kind,
    value: u64,
    buckets: Vec<u64>,
}

#[derive(Debug)]
struct Track {
    kind: &'static str,
    points: VecDeque<Option<f32>>,
}

/// The ring of all series.
#[derive(Debug, Default)]
pub struct History {
    tracks: BTreeMap<Key, Track>,
    last: BTreeMap<Key, Total>,
    end_s: u64,
}

impl History {
    /// An empty history.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the readings of one second. Seconds that were missed are gaps.
    pub fn record(&mut self, now_s: u64, metrics: &[Labelled]) {
        let gap = match self.end_s {
            0 => 1,
            end => usize::try_from(now_s.saturating_sub(end)).unwrap_or(usize::MAX).min(POINTS_MAX),
        };
        if gap == 0 {
            return;
        }
        let totals = add_up(metrics);
        for track in self.tracks.values_mut() {
            for _ in 0..gap {
                push(track, None);
            }
        }
        for (key, total) in &totals {
            let before = self.last.get(key);
            for (suffix, kind, point) in points(total, before, gap) {
                self.put((key.0.clone(), format!("{}{suffix}", key.1)), kind, point);
            }
        }
        // A series without a point left belongs to a function that is gone.
        self.tracks.retain(|_, track| track.points.iter().any(Option::is_some));
        self.last = totals;
        self.end_s = now_s;
    }

    fn put(&mut self, key: Key, kind: &'static str, point: Option<f32>) {
        if let Some(track) = self.tracks.get_mut(&key) {
            if let Some(last) = track.points.back_mut() {
                *last = point;
            }
        } else if self.tracks.len() < SERIES_MAX {
            let points = VecDeque::from([point]);
            self.tracks.insert(key, Track { kind, points });
        }
    }

    /// The last `since_s` seconds of the series whose name is in `names` (all if empty).
    #[must_use]
    pub fn excerpt(&self, names: &[&str], since_s: usize) -> Excerpt {
        let wanted = |name: &str| names.is_empty() || names.contains(&name);
        let longest = self.tracks.values().map(|track| track.points.len()).max().unwrap_or(0);
        let length = since_s.min(longest);
        let series = self.tracks.iter().filter(|((_, name), _)| wanted(name));
        let series = series
            .map(|((function, name), track)| Series {
                function: function.clone(),
                name: name.clone(),
                kind: track.kind.to_owned(),
                values: tail(&track.points, length),
            })
            .collect();
        Excerpt { step_s: 1, end_s: self.end_s, series }
    }

    /// The newest point of every counter and gauge, added up over functions, by name.
    #[must_use]
    pub fn newest(&self, kind: Kind) -> BTreeMap<String, f64> {
        let mut newest = BTreeMap::new();
        for ((_, name), track) in &self.tracks {
            if track.kind == kind_name(kind) {
                let point = f64::from(track.points.back().copied().flatten().unwrap_or(0.0));
                *newest.entry(name.clone()).or_insert(0.0) += point;
            }
        }
        newest
    }
}

fn push(track: &mut Track, point: Option<f32>) {
    if track.points.len() >= POINTS_MAX {
        track.points.pop_front();
    }
    track.points.push_back(point);
}

fn tail(points: &VecDeque<Option<f32>>, length: usize) -> Vec<Option<f64>> {
    let missing = length.saturating_sub(points.len());
    let skip = points.len().saturating_sub(length);
    let known = points.iter().skip(skip).map(|point| point.map(f64::from));
    std::iter::repeat_n(None, missing).chain(known).collect()
}

fn add_up(metrics: &[Labelled]) -> BTreeMap<Key, Total> {
    let mut totals: BTreeMap<Key, Total> = BTreeMap::new();
    for metrics in metrics {
        for (row, reading) in metrics.cells.samples() {
            let key = (metrics.function.clone(), row.name.to_owned());
            let total = totals.entry(key).or_insert(Total {
                kind: row.kind,
                value: 0,
                buckets: Vec::new(),
            });
            match reading {
                Sample::Value(value) => total.value = total.value.wrapping_add(value),
                Sample::Histogram { buckets, count, .. } => {
                    total.value = total.value.wrapping_add(count);
                    total.buckets.resize(BUCKETS, 0);
                    for (sum, bucket) in total.buckets.iter_mut().zip(buckets) {
                        *sum += bucket;
                    }
                }
            }
        }
    }
    totals
}

type Point = (&'static str, &'static str, Option<f32>);

fn points(total: &Total, before: Option<&Total>, gap: usize) -> Vec<Point> {
    let growth = |after: u64, before: u64| after.saturating_sub(before) as f32 / gap as f32;
    let kind = kind_name(total.kind);
    match total.kind {
        Kind::Gauge => vec![("", kind, Some(total.value as f32))],
        Kind::Counter => vec![("", kind, before.map(|b| growth(total.value, b.value)))],
        Kind::Histogram => {
            let rate = before.map(|b| growth(total.value, b.value));
            let grown: Vec<u64> = match before {
                Some(b) => total
                    .buckets
                    .iter()
                    .zip(&b.buckets)
                    .map(|(a, b)| a.saturating_sub(*b))
                    .collect(),
                None => Vec::new(),
            };
            vec![
                ("", kind, rate),
                (":p50", "quantile", quantile(&grown, 0.50)),
                (":p99", "quantile", quantile(&grown, 0.99)),
            ]
        }
    }
}

/// The upper edge of the bucket that holds the quantile; `None` without any value.
#[allow(clippy::cast_possible_truncation, reason = "a part of the count is no more than it")]
fn quantile(buckets: &[u64], part: f64) -> Option<f32> {
    let count: u64 = buckets.iter().sum();
    let rank = (count as f64 * part).ceil() as u64;
    let mut below = 0;
    for (power, bucket) in buckets.iter().enumerate() {
        below += bucket;
        if count > 0 && below >= rank {
            return Some((1u64 << power) as f32);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use event::Metrics;

    event::metrics! {
        enum Toy {
            /// A ball was thrown.
            Thrown = Counter, "toy_thrown_total";
            /// Time in the air.
            Flight = Histogram, "toy_flight_us";
            /// Balls in the air.
            InTheAir = Gauge, "toy_in_the_air";
        }
    }

    fn labelled(metrics: &[&Metrics<Toy>]) -> Vec<Labelled> {
        let shard = |(n, metrics): (usize, &&Metrics<Toy>)| Labelled {
            function: "toy".into(),
            shard: n as u16,
            cells: metrics.cells(),
        };
        metrics.iter().enumerate().map(shard).collect()
    }

    fn values(history: &History, name: &str) -> Vec<Option<f64>> {
        history.excerpt(&[name], POINTS_MAX).series[0].values.clone()
    }

    #[test]
    fn counters_are_rates_over_all_shards_and_gauges_are_values() {
        let (one, two) = (Metrics::<Toy>::new(), Metrics::<Toy>::new());
        let mut history = History::new();
        history.record(100, &labelled(&[&one, &two]));
        one.add(Toy::Thrown, 3);
        two.add(Toy::Thrown, 4);
        two.set(Toy::InTheAir, 9);
        history.record(101, &labelled(&[&one, &two]));
        one.add(Toy::Thrown, 10);
        history.record(103, &labelled(&[&one, &two]));
        assert_eq!(values(&history, "toy_thrown_total"), [None, Some(7.0), None, Some(5.0)]);
        assert_eq!(values(&history, "toy_in_the_air"), [Some(0.0), Some(9.0), None, Some(9.0)]);
        assert_eq!(history.newest(Kind::Counter)["toy_thrown_total"], 5.0);
        assert_eq!(history.excerpt(&[], 2).end_s, 103);
        assert_eq!(history.excerpt(&[], 2).series[0].values.len(), 2);
    }

    #[test]
    fn a_histogram_has_the_percentiles_of_each_second() {
        let metrics = Metrics::<Toy>::new();
        let mut history = History::new();
        history.record(1, &labelled(&[&metrics]));
        for _ in 0..99 {
            metrics.observe(Toy::Flight, 100);
        }
        metrics.observe(Toy::Flight, 100_000);
        history.record(2, &labelled(&[&metrics]));
        history.record(3, &labelled(&[&metrics]));
        assert_eq!(values(&history, "toy_flight_us"), [None, Some(100.0), Some(0.0)]);
        assert_eq!(values(&history, "toy_flight_us:p50"), [None, Some(128.0), None]);
        assert_eq!(values(&history, "toy_flight_us:p99"), [None, Some(128.0), None]);
    }

    #[test]
    fn the_ring_keeps_one_hour_and_forgets_functions_that_are_gone() {
        let metrics = Metrics::<Toy>::new();
        let mut history = History::new();
        for second in 1..=POINTS_MAX as u64 + 10 {
            history.record(second, &labelled(&[&metrics]));
        }
        assert_eq!(values(&history, "toy_in_the_air").len(), POINTS_MAX);
        history.record(3 * POINTS_MAX as u64, &[]);
        assert!(history.excerpt(&[], POINTS_MAX).series.is_empty());
    }
}
