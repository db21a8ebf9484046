//! Metrics declared once: counter, gauge or histogram and their help text follow.
//!
//! A function declares its metrics with [`metrics!`]; each shard owns [`Metrics`], plain cells that
//! only its own thread writes (relaxed load and store, no locked instruction) and that the
//! management thread reads at any time.
//!
//! What there are several of, each with a name (peers, ports, next hops), is a [`Table`]: the same
//! declaration, and a row for each of them with labels, shown whole by its owner now and then.
#![forbid(unsafe_code)]

mod table;

pub use table::{Labels, OTHER, TABLE_ROWS_MAX, Table};

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use table::Shown;

/// Buckets of a histogram: bucket `i` counts values of at most `2^i`, the last one all above.
pub const BUCKETS: usize = 28;

/// What a cell means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Distribution in powers of two; one bucket row, a sum and a count.
    Histogram,
}

/// Everything that follows from one declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Metric name as Prometheus prints it; counters end in `_total`, units come last.
    pub name: &'static str,
    /// The doc comment of the declaration.
    pub doc: &'static str,
    /// What the cell means.
    pub kind: Kind,
}

impl Row {
    /// The help text of the metric: its doc comment, a sentence without its full stop.
    #[must_use]
    pub fn help(&self) -> &'static str {
        let text = self.doc.trim();
        text.strip_suffix('.').unwrap_or(text)
    }
}

/// A metric of some table, usable as an index into that table's [`Metrics`].
pub trait Metric: Copy + 'static {
    /// The table, in the order of the discriminants.
    const ROWS: &'static [Row];
    /// Index into [`Metric::ROWS`].
    fn index(self) -> usize;
    /// The declaration.
    fn row(self) -> &'static Row {
        &Self::ROWS[self.index()]
    }
}

/// Declares the metrics of one function; the doc comment of each is the help text of its metric.
///
/// ```
/// event::metrics! {
///     /// What a toy reports.
///     pub enum Toy {
///         /// Balls that were thrown.
///         Thrown = Counter, "toy_balls_thrown_total";
///     }
/// }
/// let metrics = event::Metrics::<Toy>::new();
/// metrics.add(Toy::Thrown, 2);
/// assert_eq!(metrics.read(Toy::Thrown), 2);
/// assert_eq!(event::Metric::row(Toy::Thrown).help(), "Balls that were thrown");
/// ```
#[macro_export]
macro_rules! metrics {
    ($(#[$meta:meta])* $vis:vis enum $table:ident {
        $($(#[doc = $doc:literal])+ $row:ident = $kind:ident, $name:literal;)+
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u16)]
        $vis enum $table { $($(#[doc = $doc])+ $row),+ }

        impl $crate::Metric for $table {
            const ROWS: &'static [$crate::Row] = &[$($crate::Row {
                name: $name, doc: concat!($($doc),+), kind: $crate::Kind::$kind,
            }),+];
            fn index(self) -> usize { self as usize }
        }
    };
}

/// The cells of one shard, erased of their table: what the management side reads. Those of a
/// [`Table`] are read by [`MetricCells::labelled`] alone.
#[derive(Debug, Clone)]
pub struct MetricCells {
    rows: &'static [Row],
    offsets: Arc<[u32]>,
    cells: Arc<[AtomicU64]>,
    shown: Option<Arc<Shown>>,
}

/// One sample of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sample {
    /// Counter or gauge.
    Value(u64),
    /// Buckets (each counts only its own values), sum of all values, number of values.
    Histogram {
        /// Bucket `i` holds values in `(2^(i-1), 2^i]`.
        buckets: Vec<u64>,
        /// Sum of all values.
        sum: u64,
        /// Number of values.
        count: u64,
    },
}

impl MetricCells {
    fn new(rows: &'static [Row]) -> Self {
        let mut offsets = Vec::with_capacity(rows.len());
        let mut next = 0u32;
        for row in rows {
            offsets.push(next);
            next += if row.kind == Kind::Histogram { BUCKETS as u32 + 2 } else { 1 };
        }
        let cells = (0..next).map(|_| AtomicU64::new(0)).collect();
        Self { rows, offsets: offsets.into(), cells, shown: None }
    }

    fn of_table(rows: &'static [Row], shown: Arc<Shown>) -> Self {
        Self { rows, offsets: Arc::default(), cells: Arc::default(), shown: Some(shown) }
    }

    /// What is declared of each row.
    #[must_use]
    pub const fn rows(&self) -> &'static [Row] {
        self.rows
    }

    /// The names of the labels of each row; none but of a [`Table`].
    #[must_use]
    pub fn label_names(&self) -> &'static [&'static str] {
        self.shown.as_ref().map_or(&[], |shown| shown.names)
    }

    /// Every row with its present sample, labels and all: one sample of a metric without labels, as
    /// many of a [`Table`]'s as it has rows.
    #[must_use]
    pub fn labelled(&self) -> Vec<(&'static Row, Labels, Sample)> {
        match &self.shown {
            Some(shown) => shown.samples(self.rows),
            None => self.samples().map(|(row, it)| (row, Labels::new(), it)).collect(),
        }
    }

    /// Every row of metrics without labels with its present sample; none of a [`Table`].
    pub fn samples(&self) -> impl Iterator<Item = (&'static Row, Sample)> + '_ {
        self.rows.iter().zip(self.offsets.iter()).map(|(row, &at)| (row, self.sample(row, at)))
    }

    fn sample(&self, row: &Row, at: u32) -> Sample {
        let at = at as usize;
        if row.kind != Kind::Histogram {
            return Sample::Value(self.cells[at].load(Relaxed));
        }
        Sample::Histogram {
            buckets: self.cells[at..at + BUCKETS].iter().map(|c| c.load(Relaxed)).collect(),
            sum: self.cells[at + BUCKETS].load(Relaxed),
            count: self.cells[at + BUCKETS + 1].load(Relaxed),
        }
    }
}

/// The cells of one shard. Only the shard's thread may write; anyone may read a clone of
/// [`Metrics::cells`].
#[derive(Debug)]
pub struct Metrics<F: Metric> {
    cells: MetricCells,
    table: core::marker::PhantomData<F>,
}

impl<F: Metric> Default for Metrics<F> {
    fn default() -> Self {
        Self::new()
    }
}

impl<F: Metric> Metrics<F> {
    /// All cells at zero.
    #[must_use]
    pub fn new() -> Self {
        Self { cells: MetricCells::new(F::ROWS), table: core::marker::PhantomData }
    }

    /// A reader's view.
    #[must_use]
    pub fn cells(&self) -> MetricCells {
        self.cells.clone()
    }

    fn cell(&self, metric: F) -> usize {
        self.cells.offsets[metric.index()] as usize
    }

    fn grow(&self, cell: usize, by: u64) {
        let cell = &self.cells.cells[cell];
        cell.store(cell.load(Relaxed).wrapping_add(by), Relaxed);
    }

    /// Adds `n` to a counter or gauge.
    pub fn add(&self, metric: F, n: u64) {
        self.grow(self.cell(metric), n);
    }

    /// Sets a gauge.
    pub fn set(&self, metric: F, value: u64) {
        self.cells.cells[self.cell(metric)].store(value, Relaxed);
    }

    /// Records `value` in a histogram.
    pub fn observe(&self, metric: F, value: u64) {
        let at = self.cell(metric);
        let bucket = (64 - value.saturating_sub(1).leading_zeros()) as usize;
        self.grow(at + bucket.min(BUCKETS - 1), 1);
        self.grow(at + BUCKETS, value);
        self.grow(at + BUCKETS + 1, 1);
    }

    /// Present value of a counter or gauge; number of values of a histogram.
    #[must_use]
    pub fn read(&self, metric: F) -> u64 {
        let extra = if metric.row().kind == Kind::Histogram { BUCKETS + 1 } else { 0 };
        self.cells.cells[self.cell(metric) + extra].load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    metrics! {
        enum Toy {
            /// A ball was thrown.
            Thrown = Counter, "toy_thrown_total";
            /// Time in the air.
            Flight = Histogram, "toy_flight_us";
            /// Balls in the air.
            InTheAir = Gauge, "toy_in_the_air";
        }
    }

    #[test]
    fn rows_are_kept_apart_when_a_histogram_stands_between_them() {
        let metrics = Metrics::<Toy>::new();
        metrics.add(Toy::Thrown, 3);
        metrics.set(Toy::InTheAir, 7);
        for us in [0, 1, 2, 3, 1 << 40] {
            metrics.observe(Toy::Flight, us);
        }
        assert_eq!((metrics.read(Toy::Thrown), metrics.read(Toy::InTheAir)), (3, 7));
        let flight = metrics.cells().samples().nth(1).map(|(_, sample)| sample);
        let Some(Sample::Histogram { buckets, sum, count }) = flight else {
            panic!("the second row is a histogram")
        };
        assert_eq!((sum, count), ((1 << 40) + 6, 5));
        assert_eq!((buckets[0], buckets[1], buckets[2], buckets[BUCKETS - 1]), (2, 1, 1, 1));
    }
}
