//! What `tandem` prints: tables and sheets for people, JSON as the API sent it, CSV (RFC 4180).
//! Pure functions from an answer to a text; a file for the words of each kind of function.
//!
//! Much of it was said by peers: what would steer a terminal is escaped in all of them, and what a
//! spreadsheet would take for a formula stands behind a quote.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]

mod cell;
mod csv;
pub mod igp;
pub mod ipsmgw;
pub mod msc;
pub mod pe;
pub mod rr;
pub mod sas;
pub mod sgc;
mod sheet;
pub mod site;
pub mod ssc;
mod table;
mod text;
pub mod time;

pub use cell::Form;
pub use csv::{csv, csv_of};
pub use sheet::Sheet;
pub use table::table;
pub use text::{escaped, harmless_lines, json};

/// How a text is to look.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Columns of the terminal; absent: as many as a text takes.
    pub width: Option<usize>,
    /// Whether colours are understood and wanted.
    pub colour: bool,
    /// The time, microseconds since the UNIX epoch: what is told in times is shown in durations.
    pub now_us: u64,
}

/// A column: key in the row, title, form.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Key in the row.
    pub key: &'static str,
    /// Title in the table.
    pub title: &'static str,
    /// How the value is shown.
    pub form: Form,
    /// Where the terminal is too narrow, the column with the greatest number is left out first; 0:
    /// none.
    pub yields: u8,
}

impl Column {
    /// The same column, left out where the terminal is too narrow, before those with less.
    #[must_use]
    pub const fn yields(self, yields: u8) -> Self {
        Self { yields, ..self }
    }
}

/// A table: its columns, and what is said when it has no rows.
#[derive(Debug, Clone, Copy)]
pub struct Listing {
    /// The columns.
    pub columns: &'static [Column],
    /// Whether nothing is there or nothing is configured.
    pub empty: &'static str,
}

impl Listing {
    /// A table with these columns.
    #[must_use]
    pub const fn new(empty: &'static str, columns: &'static [Column]) -> Self {
        Self { columns, empty }
    }
}

/// A column that is shown as it is.
#[must_use]
pub const fn plain(key: &'static str, title: &'static str) -> Column {
    column(key, title, Form::Plain)
}

/// A column of names of which none is broken: IDs, addresses.
#[must_use]
pub const fn firm(key: &'static str, title: &'static str) -> Column {
    column(key, title, Form::Firm)
}

/// A column in another form.
#[must_use]
pub const fn column(key: &'static str, title: &'static str, form: Form) -> Column {
    Column { key, title, form, yields: 0 }
}

/// A column of times.
#[must_use]
pub const fn time(key: &'static str, title: &'static str) -> Column {
    column(key, title, Form::Time)
}

/// A column of times that are past, as how long ago they were.
#[must_use]
pub const fn since(key: &'static str, title: &'static str) -> Column {
    column(key, title, Form::Since)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_table_has_an_answer_as_its_test() {
        let files = [
            include_str!("ipsmgw.rs"),
            include_str!("msc.rs"),
            include_str!("pe.rs"),
            include_str!("rr.rs"),
            include_str!("sas.rs"),
            include_str!("sgc.rs"),
            include_str!("site.rs"),
            include_str!("ssc.rs"),
        ];
        for text in files {
            let (tables, tests) = text.split_once("#[cfg(test)]").expect("a file has tests");
            // Tables inside a sheet are shown with it.
            for line in tables.lines().filter(|line| line.contains(": Listing = ")) {
                let Some(name) = line.strip_prefix("pub const ") else { continue };
                let name = name.split_once(':').expect("its type").0;
                let is_shown = ["], &", "rules, &", "rows, &", "shows(&"].iter().any(|rows| {
                    [")", ","].iter().any(|after| tests.contains(&format!("{rows}{name}{after}")))
                });
                assert!(is_shown, "{name}");
            }
        }
    }
}
