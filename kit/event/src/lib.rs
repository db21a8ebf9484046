//! Facts declared once: counter, gauge or histogram and their help text follow.
//!
//! A function declares its facts with [`facts!`]; each shard owns a [`Sheet`] of plain cells that
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

/// A fact of some table, usable as an index into that table's [`Sheet`].
pub trait Fact: Copy + 'static {
    /// The table, in the order of the discriminants.
    const ROWS: &'static [Row];
    /// Index into [`Fact::ROWS`].
    fn index(self) -> usize;
    /// The declaration.
    fn row(self) -> &'static Row {
        &Self::ROWS[self.index()]
    }
}

/// Declares the facts of one function; the doc comment of each is the help text of its metric.
///
/// ```
/// event::facts! {
///     /// What a toy reports.
///     pub enum Toy {
///         /// Balls that were thrown.
///         Thrown = Counter, "toy_balls_thrown_total";
///     }
/// }
/// let sheet = event::Sheet::<Toy>::new();
/// sheet.add(Toy::Thrown, 2);
/// assert_eq!(sheet.read(Toy::Thrown), 2);
/// assert_eq!(event::Fact::row(Toy::Thrown).help(), "Balls that were thrown");
/// ```
#[macro_export]
macro_rules! facts {
    ($(#[$meta:meta])* $vis:vis enum $table:ident {
        $($(#[doc = $doc:literal])+ $row:ident = $kind:ident, $name:literal;)+
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u16)]
        $vis enum $table { $($(#[doc = $doc])+ $row),+ }

        impl $crate::Fact for $table {
            const ROWS: &'static [$crate::Row] = &[$($crate::Row {
                name: $name, doc: concat!($($doc),+), kind: $crate::Kind::$kind,
            }),+];
            fn index(self) -> usize { self as usize }
        }
    };
}

/// The cells of one shard, erased of their table: what the management side reads. Those of a
/// [`Table`] are read by [`Cells::labelled`] alone.
#[derive(Debug, Clone)]
pub struct Cells {
    rows: &'static [Row],
    offsets: Arc<[u32]>,
    cells: Arc<[AtomicU64]>,
    shown: Option<Arc<Shown>>,
}

/// One reading of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
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

impl Cells {
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

    /// Every row with its present reading, labels and all: one reading of a fact without labels, as
    /// many of a [`Table`]'s as it has rows.
    #[must_use]
    pub fn labelled(&self) -> Vec<(&'static Row, Labels, Reading)> {
        match &self.shown {
            Some(shown) => shown.readings(self.rows),
            None => self.readings().map(|(row, it)| (row, Labels::new(), it)).collect(),
        }
    }

    /// Every row of facts without labels with its present reading; none of a [`Table`].
    pub fn readings(&self) -> impl Iterator<Item = (&'static Row, Reading)> + '_ {
        self.rows.iter().zip(self.offsets.iter()).map(|(row, &at)| (row, self.reading(row, at)))
    }

    fn reading(&self, row: &Row, at: u32) -> Reading {
        let at = at as usize;
        if row.kind != Kind::Histogram {
            return Reading::Value(self.cells[at].load(Relaxed));
        }
        Reading::Histogram {
            buckets: self.cells[at..at + BUCKETS].iter().map(|c| c.load(Relaxed)).collect(),
            sum: self.cells[at + BUCKETS].load(Relaxed),
            count: self.cells[at + BUCKETS + 1].load(Relaxed),
        }
    }
}

/// The cells of one shard. Only the shard's thread may write; anyone may read a clone of
/// [`Sheet::cells`].
#[derive(Debug)]
pub struct Sheet<F: Fact> {
    cells: Cells,
    table: core::marker::PhantomData<F>,
}

impl<F: Fact> Default for Sheet<F> {
    fn default() -> Self {
        Self::new()
    }
}

impl<F: Fact> Sheet<F> {
    /// All cells at zero.
    #[must_use]
    pub fn new() -> Self {
        Self { cells: Cells::new(F::ROWS), table: core::marker::PhantomData }
    }

    /// A reader's view.
    #[must_use]
    pub fn cells(&self) -> Cells {
        self.cells.clone()
    }

    fn cell(&self, fact: F) -> usize {
        self.cells.offsets[fact.index()] as usize
    }

    fn grow(&self, cell: usize, by: u64) {
        let cell = &self.cells.cells[cell];
        cell.store(cell.load(Relaxed).wrapping_add(by), Relaxed);
    }

    /// Adds `n` to a counter or gauge.
    pub fn add(&self, fact: F, n: u64) {
        self.grow(self.cell(fact), n);
    }

    /// Sets a gauge.
    pub fn set(&self, fact: F, value: u64) {
        self.cells.cells[self.cell(fact)].store(value, Relaxed);
    }

    /// Records `value` in a histogram.
    pub fn observe(&self, fact: F, value: u64) {
        let at = self.cell(fact);
        let bucket = (64 - value.saturating_sub(1).leading_zeros()) as usize;
        self.grow(at + bucket.min(BUCKETS - 1), 1);
        self.grow(at + BUCKETS, value);
        self.grow(at + BUCKETS + 1, 1);
    }

    /// Present value of a counter or gauge; number of values of a histogram.
    #[must_use]
    pub fn read(&self, fact: F) -> u64 {
        let extra = if fact.row().kind == Kind::Histogram { BUCKETS + 1 } else { 0 };
        self.cells.cells[self.cell(fact) + extra].load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    facts! {
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
    fn a_sheet_keeps_rows_apart_when_a_histogram_stands_between_them() {
        let sheet = Sheet::<Toy>::new();
        sheet.add(Toy::Thrown, 3);
        sheet.set(Toy::InTheAir, 7);
        for us in [0, 1, 2, 3, 1 << 40] {
            sheet.observe(Toy::Flight, us);
        }
        assert_eq!((sheet.read(Toy::Thrown), sheet.read(Toy::InTheAir)), (3, 7));
        let flight = sheet.cells().readings().nth(1).map(|(_, reading)| reading);
        let Some(Reading::Histogram { buckets, sum, count }) = flight else {
            panic!("the second row is a histogram")
        };
        assert_eq!((sum, count), ((1 << 40) + 6, 5));
        assert_eq!((buckets[0], buckets[1], buckets[2], buckets[BUCKETS - 1]), (2, 1, 1, 1));
    }
}
