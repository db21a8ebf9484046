//! Metrics of things with names: a row of values for each, told apart by labels.
//!
//! ```text
//!   owner, now and then ── show(rows) ──→ [ labels │ values ] … [ other │ sums ] ←── labelled()
//! ```
//! The owner keeps its own numbers and shows all of them at once; what it shows no more is gone.

use crate::{Kind, Metric, MetricCells, Row, Sample};
use core::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

/// Rows of a [`Table`] at most: so many series has each of its metrics, and one more for all that
/// is beyond them.
pub const TABLE_ROWS_MAX: usize = 1_000;
/// What every label of the row says in which the rows beyond [`TABLE_ROWS_MAX`] are added up.
pub const OTHER: &str = "other";
/// Characters of the value of a label; the rest is cut.
const LABEL_CHARACTERS_MAX: usize = 128;

/// Names and values of the labels of a sample.
pub type Labels = Vec<(&'static str, Arc<str>)>;

/// One row: the values of the labels, and of the metrics in the order of their table.
#[derive(Debug)]
struct Line {
    labels: Vec<Arc<str>>,
    values: Vec<u64>,
}

/// What was shown last.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) names: &'static [&'static str],
    lines: Mutex<Vec<Line>>,
}

impl Shown {
    pub(crate) fn samples(&self, rows: &'static [Row]) -> Vec<(&'static Row, Labels, Sample)> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let samples = lines.iter().flat_map(|line| {
            rows.iter().zip(&line.values).map(|(row, value)| {
                let labels = self.names.iter().copied().zip(line.labels.iter().cloned());
                (row, labels.collect(), Sample::Value(*value))
            })
        });
        samples.collect()
    }
}

/// Counters and gauges of things that have names: those of the peers, the ports, the next hops of a
/// shard. At most [`TABLE_ROWS_MAX`] rows are kept; the rest is added up in one more, [`OTHER`].
///
/// ```
/// event::metrics! {
///     /// What is known of each ball.
///     pub enum Ball {
///         /// Times that a ball was thrown.
///         Thrown = Counter, "toy_ball_thrown_total";
///         /// 1 while it flies.
///         Flies = Gauge, "toy_ball_flies";
///     }
/// }
/// let balls = event::Table::<Ball, 1>::new(&["ball"]);
/// balls.show([(["red"], [(Ball::Thrown, 3), (Ball::Flies, 1)])]);
/// let samples = balls.cells().labelled();
/// assert_eq!(samples[0].1, [("ball", "red".into())]);
/// assert_eq!(samples[0].2, event::Sample::Value(3));
/// ```
#[derive(Debug)]
pub struct Table<F: Metric, const LABELS: usize> {
    shown: Arc<Shown>,
    metrics: PhantomData<F>,
}

impl<F: Metric, const LABELS: usize> Table<F, LABELS> {
    /// Refuses to compile what cannot be added up.
    const HAS_NO_HISTOGRAM: () = {
        let mut at = 0;
        while at < F::ROWS.len() {
            assert!(!matches!(F::ROWS[at].kind, Kind::Histogram), "no histogram has labels");
            at += 1;
        }
    };

    /// A table without rows; `names` are those of the labels.
    #[must_use]
    pub fn new(names: &'static [&'static str; LABELS]) -> Self {
        let () = Self::HAS_NO_HISTOGRAM;
        let shown = Shown { names, lines: Mutex::default() };
        Self { shown: Arc::new(shown), metrics: PhantomData }
    }

    /// A reader's view.
    #[must_use]
    pub fn cells(&self) -> MetricCells {
        MetricCells::of_table(F::ROWS, Arc::clone(&self.shown))
    }

    /// Puts these rows in the place of all that were shown before: the values of the labels, and
    /// those of the metrics, zero of a metric that is not named. No two rows have the same labels.
    pub fn show<L, const VALUES: usize>(
        &self,
        rows: impl IntoIterator<Item = ([L; LABELS], [(F, u64); VALUES])>,
    ) where
        L: AsRef<str>,
    {
        let mut lines: Vec<Line> = Vec::new();
        for (labels, values) in rows {
            if lines.len() < TABLE_ROWS_MAX {
                let labels = labels.iter().map(|label| cut(label.as_ref()).into()).collect();
                lines.push(Line { labels, values: vec![0; F::ROWS.len()] });
            } else if lines.len() == TABLE_ROWS_MAX {
                let labels = vec![Arc::from(OTHER); LABELS];
                lines.push(Line { labels, values: vec![0; F::ROWS.len()] });
            }
            let Some(line) = lines.last_mut() else { continue };
            for (metric, value) in values {
                let sum = &mut line.values[metric.index()];
                *sum = sum.wrapping_add(value);
            }
        }
        *self.shown.lines.lock().unwrap_or_else(PoisonError::into_inner) = lines;
    }
}

fn cut(text: &str) -> &str {
    let end = text.char_indices().nth(LABEL_CHARACTERS_MAX).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::metrics! {
        enum Toy {
            /// Throws.
            Thrown = Counter, "toy_thrown_total";
            /// Whether it flies.
            Flies = Gauge, "toy_flies";
        }
    }

    fn samples(table: &Table<Toy, 1>) -> Vec<(String, &'static str, Sample)> {
        let of = |(row, labels, sample): (&Row, Labels, Sample)| {
            (labels[0].1.to_string(), row.name, sample)
        };
        table.cells().labelled().into_iter().map(of).collect()
    }

    #[test]
    fn what_is_shown_no_more_is_gone_and_what_is_not_named_is_zero() {
        let table = Table::<Toy, 1>::new(&["ball"]);
        let red = (["red"], [(Toy::Thrown, 4)]);
        table.show([red, (["blue"], [(Toy::Thrown, 2)])]);
        assert_eq!(samples(&table).len(), 4);
        table.show([red]);
        let (thrown, flies) = (Sample::Value(4), Sample::Value(0));
        let red = "red".to_owned();
        let expected = [(red.clone(), "toy_thrown_total", thrown), (red, "toy_flies", flies)];
        assert_eq!(samples(&table), expected);
        assert_eq!(table.cells().samples().count(), 0, "they are no metrics without labels");
    }

    #[test]
    fn beyond_the_bound_rows_are_added_up_in_one_more() {
        let table = Table::<Toy, 1>::new(&["ball"]);
        let balls = 0..TABLE_ROWS_MAX + 20;
        table.show(balls.map(|n| ([n.to_string()], [(Toy::Thrown, 1), (Toy::Flies, 2)])));
        let found = samples(&table);
        assert_eq!(found.len(), 2 * (TABLE_ROWS_MAX + 1));
        let (other, _, sum) = &found[found.len() - 1];
        assert_eq!((other.as_str(), sum), (OTHER, &Sample::Value(40)));
    }
}
