//! Metrics as Prometheus reads them (text format 0.0.4), and as rows of the API.

use event::{Kind, Labels, MetricCells, Row, Sample};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use utoipa::ToSchema;

/// Content type of [`prometheus`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The cells of one shard of one function.
#[derive(Debug, Clone)]
pub struct Labelled {
    /// Name of the function.
    pub function: String,
    /// Number of the shard.
    pub shard: u16,
    /// Its cells.
    pub cells: MetricCells,
}

/// One metric of one shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct CounterRow {
    /// Name of the function.
    pub function: String,
    /// Number of the shard.
    pub shard: u16,
    /// Name of the metric.
    pub name: String,
    /// What it is about, where there are several: `{"peer": "lon-1"}`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<&'static str, String>,
    /// `counter`, `gauge` or `histogram`.
    pub kind: String,
    /// One sentence.
    pub help: String,
    /// The value; of a histogram the number of values.
    pub value: u64,
    /// Sum of all values of a histogram.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum: Option<u64>,
    /// Values of a histogram by bucket: bucket `i` holds values in `(2^(i-1), 2^i]`, the last one
    /// all above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buckets: Option<Vec<u64>>,
}

/// Name of a kind, as Prometheus has it.
#[must_use]
pub const fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram => "histogram",
    }
}

/// Every metric as a row.
#[must_use]
pub fn rows(metrics: &[Labelled]) -> Vec<CounterRow> {
    let mut rows = Vec::new();
    for metrics in metrics {
        for (row, labels, sample) in metrics.cells.labelled() {
            let (value, sum, buckets) = match sample {
                Sample::Value(value) => (value, None, None),
                Sample::Histogram { buckets, sum, count } => (count, Some(sum), Some(buckets)),
            };
            rows.push(CounterRow {
                function: metrics.function.clone(),
                shard: metrics.shard,
                name: row.name.to_owned(),
                labels: labels.iter().map(|(name, of)| (*name, of.to_string())).collect(),
                kind: kind_name(row.kind).to_owned(),
                help: row.help().to_owned(),
                value,
                sum,
                buckets,
            });
        }
    }
    rows
}

/// A metric and all its series.
type Family<'a> = (&'a Row, Vec<(&'a Labelled, Labels, Sample)>);

/// Every metric in Prometheus' text format: HELP and TYPE once a name, all its series under them,
/// buckets cumulative.
#[must_use]
pub fn prometheus(metrics: &[Labelled]) -> String {
    let mut families: BTreeMap<&str, Family<'_>> = BTreeMap::new();
    for metrics in metrics {
        for (row, labels, sample) in metrics.cells.labelled() {
            let (_, series) = families.entry(row.name).or_insert((row, Vec::new()));
            series.push((metrics, labels, sample));
        }
    }
    let mut out = String::new();
    for (name, (row, series)) in families {
        let _ = writeln!(out, "# HELP {name} {}", escape_help(row.help()));
        let _ = writeln!(out, "# TYPE {name} {}", kind_name(row.kind));
        for (metrics, own, sample) in series {
            let mut labels =
                format!("function=\"{}\",shard=\"{}\"", escape(&metrics.function), metrics.shard);
            for (name, value) in own {
                let _ = write!(labels, ",{name}=\"{}\"", escape(&value));
            }
            write_series(&mut out, name, &labels, &sample);
        }
    }
    out
}

fn write_series(out: &mut String, name: &str, labels: &str, sample: &Sample) {
    match sample {
        Sample::Value(value) => {
            let _ = writeln!(out, "{name}{{{labels}}} {value}");
        }
        Sample::Histogram { buckets, sum, count } => {
            let mut below = 0;
            for (power, in_bucket) in buckets.iter().enumerate().take(buckets.len() - 1) {
                below += in_bucket;
                let le = 1u64 << power;
                let _ = writeln!(out, "{name}_bucket{{{labels},le=\"{le}\"}} {below}");
            }
            let _ = writeln!(out, "{name}_bucket{{{labels},le=\"+Inf\"}} {count}");
            let _ = writeln!(out, "{name}_sum{{{labels}}} {sum}");
            let _ = writeln!(out, "{name}_count{{{labels}}} {count}");
        }
    }
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

pub(crate) fn escape_help(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
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
        }
    }

    fn metrics() -> Vec<Labelled> {
        let metrics = |function: &str, shard, thrown| {
            let metrics = Metrics::<Toy>::new();
            metrics.add(Toy::Thrown, thrown);
            for us in [1, 3, 4, 1 << 40] {
                metrics.observe(Toy::Flight, us);
            }
            Labelled { function: function.into(), shard, cells: metrics.cells() }
        };
        vec![metrics("a\"b", 0, 3), metrics("a\"b", 1, 5)]
    }

    #[test]
    fn help_and_type_stand_once_before_all_series_of_a_name() {
        let text = prometheus(&metrics());
        assert_eq!(text.matches("# TYPE toy_thrown_total counter").count(), 1);
        assert_eq!(text.matches("# HELP toy_flight_us Time in the air").count(), 1);
        assert!(text.contains("toy_thrown_total{function=\"a\\\"b\",shard=\"0\"} 3\n"));
        assert!(text.contains("toy_thrown_total{function=\"a\\\"b\",shard=\"1\"} 5\n"));
    }

    #[test]
    fn rows_of_a_table_have_their_labels_beside_function_and_shard() {
        event::metrics! {
            enum Ball {
                /// Throws of a ball.
                Thrown = Counter, "toy_ball_thrown_total";
            }
        }
        let table = event::Table::<Ball, 2>::new(&["ball", "colour"]);
        table.show([(["a", "dark \"red\""], [(Ball::Thrown, 7)])]);
        let metrics = [Labelled { function: "toy".into(), shard: 1, cells: table.cells() }];
        let text = prometheus(&metrics);
        let labels = "function=\"toy\",shard=\"1\",ball=\"a\",colour=\"dark \\\"red\\\"\"";
        assert!(text.contains(&format!("toy_ball_thrown_total{{{labels}}} 7\n")), "{text}");
        let row = &rows(&metrics)[0];
        assert_eq!((row.value, &*row.labels["ball"]), (7, "a"));
    }

    #[test]
    fn buckets_are_cumulative_and_end_with_infinity() {
        let text = prometheus(&metrics()[..1]);
        let bucket = |le: &str| {
            let start =
                format!("toy_flight_us_bucket{{function=\"a\\\"b\",shard=\"0\",le=\"{le}\"}} ");
            let line = text.lines().find_map(|line| line.strip_prefix(&start)).unwrap();
            line.parse::<u64>().unwrap()
        };
        assert_eq!([bucket("1"), bucket("2"), bucket("4"), bucket("67108864")], [1, 1, 3, 3]);
        assert_eq!(bucket("+Inf"), 4);
        assert!(text.contains("toy_flight_us_count{function=\"a\\\"b\",shard=\"0\"} 4\n"));
    }
}
