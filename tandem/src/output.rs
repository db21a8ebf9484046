//! Rows on standard output: a table for people, JSON as the API sent it, or CSV (RFC 4180).
//! Much of it was said by peers: what would steer a terminal is escaped in all of them, and what a
//! spreadsheet would take for a formula stands behind a quote.

use crate::exit::Exit;
use clap::ValueEnum;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use serde_json::Value;
use std::io::{self, Write as _};

/// How rows are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// A table for people.
    Table,
    /// What the API answered.
    Json,
    /// Comma-separated values with a header line (RFC 4180).
    Csv,
}

/// How a value of a column is shown in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As it is.
    Plain,
    /// Microseconds since the UNIX epoch, as a time.
    Time,
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
}

/// Columns that are shown as they are.
#[must_use]
pub const fn plain(key: &'static str, title: &'static str) -> Column {
    Column { key, title, form: Form::Plain }
}

/// A column of times.
#[must_use]
pub const fn time(key: &'static str, title: &'static str) -> Column {
    Column { key, title, form: Form::Time }
}

/// Prints text; but for the ends of lines and tabs, what would steer a terminal is escaped.
pub fn text(text: &str) -> Result<(), Exit> {
    write(&harmless_lines(text))
}

/// Lines in which nothing steers a terminal.
#[must_use]
pub fn harmless_lines(text: &str) -> String {
    escaped_but(text, &['\n', '\t'])
}

fn write(text: &str) -> Result<(), Exit> {
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// Text in which nothing steers a terminal: control characters and marks of direction as `\u{1b}`.
fn escaped(text: &str) -> String {
    escaped_but(text, &[])
}

fn escaped_but(text: &str, kept: &[char]) -> String {
    let mut out = String::with_capacity(text.len());
    for it in text.chars() {
        if steers(it) && !kept.contains(&it) {
            out.extend(it.escape_default());
        } else {
            out.push(it);
        }
    }
    out
}

/// Control characters (C0, DEL, C1), ends of lines and marks of direction (Unicode TR36 §2.5).
fn steers(it: char) -> bool {
    let is_mark = matches!(it, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}');
    it.is_control() || is_mark || matches!(it, '\u{2066}'..='\u{2069}')
}

/// Prints rows; `whole` is what JSON shows.
pub fn rows(output: Output, whole: &Value, rows: &[Value], columns: &[Column]) -> Result<(), Exit> {
    let printed = match output {
        Output::Json => json(whole),
        Output::Csv => csv(rows, columns),
        Output::Table => table(rows, columns),
    };
    write(&printed)
}

/// JSON for people and programs. What steers a terminal can stand in strings only, where JSON has
/// an escape of its own (RFC 8259 §7); the writer knows that of C0 alone.
#[must_use]
pub fn json(value: &Value) -> String {
    let mut out = String::new();
    for it in format!("{value:#}\n").chars() {
        if it != '\n' && steers(it) {
            out += &format!("\\u{:04x}", u32::from(it));
        } else {
            out.push(it);
        }
    }
    out
}

fn table(rows: &[Value], columns: &[Column]) -> String {
    if rows.is_empty() {
        return "nothing\n".into();
    }
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(columns.iter().map(|column| column.title));
    for row in rows {
        table.add_row(columns.iter().map(|column| {
            let value = &row[column.key];
            let alignment = if value.is_number() && column.form == Form::Plain {
                CellAlignment::Right
            } else {
                CellAlignment::Left
            };
            Cell::new(escaped(&shown(value, column.form))).set_alignment(alignment)
        }));
    }
    let lines = table.to_string();
    lines.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn csv(rows: &[Value], columns: &[Column]) -> String {
    let line = |cells: Vec<String>| {
        cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\r\n"
    };
    let mut out = line(columns.iter().map(|column| column.key.to_owned()).collect());
    for row in rows {
        out += &line(columns.iter().map(|c| harmless(&row[c.key])).collect());
    }
    out
}

/// A cell that no spreadsheet takes for a formula, and no terminal for an order.
fn harmless(value: &Value) -> String {
    let text = escaped(&shown(value, Form::Plain));
    let is_formula = !value.is_number() && text.starts_with(['=', '+', '-', '@']);
    if is_formula { format!("'{text}") } else { text }
}

fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\n', '\r']) {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell.to_owned()
}

/// A value for people.
fn shown(value: &Value, form: Form) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Number(number) if form == Form::Time => clock(number.as_u64().unwrap_or_default()),
        Value::Array(items) => {
            items.iter().map(|item| shown(item, form)).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}

/// Microseconds since the UNIX epoch as `2026-11-21 02:03:04.567Z`.
#[must_use]
pub fn clock(us: u64) -> String {
    let (days, rest_us) = (us / 86_400_000_000, us % 86_400_000_000);
    let (year, month, day) = civil(days);
    let ms = rest_us / 1_000;
    let (hour, minute) = (ms / 3_600_000, ms / 60_000 % 60);
    let (second, ms) = (ms / 1_000 % 60, ms % 1_000);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Days since 1970-01-01 as a date of the Gregorian calendar (Howard Hinnant, `civil_from_days`).
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_moment_is_printed_as_a_date_in_utc() {
        assert_eq!(clock(0), "1970-01-01 00:00:00.000Z");
        assert_eq!(clock(951_782_400_000_000), "2000-02-29 00:00:00.000Z");
        assert_eq!(clock(1_795_226_584_567_891), "2026-11-21 02:03:04.567Z");
    }

    #[test]
    fn csv_quotes_what_would_break_it() {
        let rows = [json!({"a": "x,\"y\"", "b": 1}), json!({"a": null, "b": [1, "z"]})];
        let columns = [plain("a", "A"), time("b", "B")];
        assert_eq!(csv(&rows, &columns), "a,b\r\n\"x,\"\"y\"\"\",1\r\n,1 z\r\n");
    }

    #[test]
    fn what_a_peer_says_steers_no_terminal_and_no_spreadsheet() {
        let hostile = "\u{1b}]0;x\u{7}\r\u{9b}2J\u{202e}ok";
        let rows =
            [json!({"a": hostile, "b": ["=HYPERLINK(1)", "\t"]}), json!({"a": -1, "b": "-1"})];
        let columns = [plain("a", "A"), plain("b", "B")];
        let whole = Value::from(rows.to_vec());
        for printed in [table(&rows, &columns), csv(&rows, &columns), json(&whole)] {
            let left = printed.replace("\r\n", "\n").replace('\n', "");
            assert!(!left.contains(steers) && left.contains("ok"), "{printed:?}");
        }
        let escapes = r"\u{1b}]0;x\u{7}\r\u{9b}2J\u{202e}ok";
        assert_eq!(
            csv(&rows, &columns),
            format!("a,b\r\n{escapes},'=HYPERLINK(1) \\t\r\n-1,'-1\r\n")
        );
        assert_eq!(serde_json::from_str::<Value>(&json(&whole)).expect("it is JSON"), whole);
        assert_eq!(harmless_lines("a\n\tb\u{7f}"), "a\n\tb\\u{7f}");
    }

    #[test]
    fn a_table_without_rows_says_so() {
        assert_eq!(table(&[], &[plain("a", "A")]), "nothing\n");
        let rows = [json!({"a": "x", "at": 0})];
        let printed = table(&rows, &[plain("a", "A"), time("at", "At")]);
        assert!(printed.contains("1970-01-01 00:00:00.000Z"), "{printed}");
    }
}
