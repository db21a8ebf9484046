//! Tables for people: as wide as they must be, and no wider than the terminal where that can be.

use crate::cell::{Form, colour, is_right, painted, shown};
use crate::text::{escaped, width, wrapped};
use crate::time::short;
use crate::{Column, Listing, Look};
use serde_json::Value;

/// Between two columns.
const GAP: usize = 2;
/// A column of text is not made narrower than this.
const WIDTH_MIN: usize = 8;
/// Of whom a row is; left out where all are of the same.
const OF: &str = "function";

/// Rows as a table, or what is said of none. Columns in which nothing stands are left out, and so
/// is the function's where all rows are of one.
#[must_use]
pub fn table(look: &Look, rows: &[Value], listing: &Listing) -> String {
    if rows.is_empty() {
        return format!("{}\n", listing.empty);
    }
    let is_one = rows.iter().all(|row| row[OF] == rows[0][OF]);
    let has = |column: &&Column| {
        let is_of = column.key == OF && is_one && listing.columns.len() > 1;
        !is_of && rows.iter().any(|row| !shown(look, &row[column.key], column.form).is_empty())
    };
    let mut columns: Vec<&Column> = listing.columns.iter().filter(has).collect();
    let mut cells = cells(look, rows, &columns, Times::Whole);
    if let Some(room) = look.width {
        if needed(&columns, &cells, longest) > room {
            cells = self::cells(look, rows, &columns, Times::Short);
        }
        give_way(room, &mut columns, &mut cells);
    }
    let widths = widths(look, &columns, &cells);
    let heads: Vec<Cell> = columns.iter().zip(&cells[0]).map(|(it, cell)| it.head(cell)).collect();
    let mut out = String::new();
    for line in std::iter::once(&heads).chain(&cells) {
        write_row(look, line, &widths, &mut out);
    }
    out
}

/// How times are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Times {
    /// With their date.
    Whole,
    /// In one word: without the date what is of today, without the time what is not.
    Short,
}

fn cells(look: &Look, rows: &[Value], columns: &[&Column], times: Times) -> Vec<Vec<Cell>> {
    let row = |row| columns.iter().map(|it| Cell::of(look, row, it, times)).collect();
    rows.iter().map(row).collect()
}

/// Leaves out the columns that yield, one after the other, until whole words fit into the rest.
fn give_way(room: usize, columns: &mut Vec<&Column>, cells: &mut [Vec<Cell>]) {
    while needed(columns, cells, least) > room {
        let yielding = (0..columns.len()).filter(|at| columns[*at].yields > 0);
        let Some(at) = yielding.max_by_key(|at| columns[*at].yields) else { return };
        columns.remove(at);
        cells.iter_mut().for_each(|row| drop(row.remove(at)));
    }
}

/// Columns that a table takes whose cells take that.
fn needed(columns: &[&Column], cells: &[Vec<Cell>], of: fn(&Cell) -> usize) -> usize {
    let one = |at: usize| {
        let all = cells.iter().map(move |row| of(&row[at]));
        all.chain([of(&columns[at].head(&cells[0][at]))]).max().unwrap_or(0)
    };
    let total: usize = (0..columns.len()).map(one).sum();
    total + GAP * columns.len().saturating_sub(1)
}

fn longest(cell: &Cell) -> usize {
    width(&cell.text)
}

/// What a cell takes at least, of whose text no word is broken; a number is one.
fn least(cell: &Cell) -> usize {
    match cell.is_right {
        true => width(&cell.text),
        false if cell.is_whole => width(&cell.text),
        false => least_word(&cell.text),
    }
}

struct Cell {
    text: String,
    is_right: bool,
    /// Its words are one: a duration, a quantity.
    is_whole: bool,
    code: Option<&'static str>,
}

impl Cell {
    fn of(look: &Look, row: &Value, column: &Column, times: Times) -> Self {
        let value = &row[column.key];
        let text = match (column.form, value.as_u64()) {
            (Form::Time, Some(us)) if times == Times::Short => short(us, look.now_us),
            _ => shown(look, value, column.form),
        };
        let code = colour(&text).filter(|_| column.form == Form::State);
        let is_whole = !matches!(column.form, Form::Plain | Form::Firm | Form::Time | Form::Counts);
        Self { is_right: is_right(value, column.form), is_whole, code, text }
    }
}

impl Column {
    fn head(&self, first: &Cell) -> Cell {
        let text = escaped(self.title);
        Cell { text, is_right: first.is_right, is_whole: false, code: Some("1") }
    }
}

/// The columns' widths; where they do not fit, the widest texts give way: between their words, and
/// within them only where that is not enough, but never within what is firm.
fn widths(look: &Look, columns: &[&Column], cells: &[Vec<Cell>]) -> Vec<usize> {
    let of = |at: usize| cells.iter().map(move |row| width(&row[at].text));
    let mut widths: Vec<usize> = (0..columns.len())
        .map(|at| of(at).chain([width(columns[at].title)]).max().unwrap_or(0))
        .collect();
    let Some(room) = look.width else { return widths };
    let is_text = |at: usize| !cells.iter().any(|row| row[at].is_right);
    let words = |at: usize| cells.iter().map(|row| least(&row[at])).max().unwrap_or(0);
    let words: Vec<usize> =
        (0..columns.len()).map(|at| words(at).max(least_word(columns[at].title))).collect();
    let breaks = |at: usize| columns[at].form == Form::Plain;
    for floor in [false, true] {
        loop {
            let total: usize = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
            let least = |at: usize| match floor && breaks(at) {
                true => WIDTH_MIN.min(words[at]),
                false => words[at],
            };
            let widest = (0..widths.len()).filter(|at| is_text(*at) && widths[*at] > least(*at));
            match widest.max_by_key(|at| widths[*at]) {
                Some(at) if total > room => widths[at] -= 1,
                _ => break,
            }
        }
    }
    widths
}

fn least_word(text: &str) -> usize {
    text.split(' ').map(width).max().unwrap_or(0)
}

fn write_row(look: &Look, cells: &[Cell], widths: &[usize], out: &mut String) {
    let wrapped: Vec<Vec<String>> =
        cells.iter().zip(widths).map(|(cell, columns)| wrapped(&cell.text, *columns)).collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(1);
    for number in 0..height {
        let mut line = String::new();
        let mut owed = 0;
        for ((cell, columns), parts) in cells.iter().zip(widths).zip(&wrapped) {
            let part = parts.get(number).map_or("", String::as_str);
            let free = columns.saturating_sub(width(part));
            let (before, after) = if cell.is_right { (free, 0) } else { (0, free) };
            if !part.is_empty() {
                line.extend(std::iter::repeat_n(' ', owed + before));
                line += &painted(look, part, cell.code);
                owed = after + GAP;
            } else {
                owed += columns + GAP;
            }
        }
        out.push_str(&line);
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{column, firm, plain, since, time};
    use serde_json::json;

    const PEERS: Listing = Listing::new(
        "no peer is configured",
        &[
            plain("function", "FUNCTION"),
            plain("name", "NAME"),
            column("state", "STATE", Form::State),
            plain("routes", "ROUTES"),
            since("at", "SINCE"),
            plain("why", "WHY"),
        ],
    );

    fn look(width: Option<usize>, colour: bool) -> Look {
        Look { width, colour, now_us: 60_000_000 }
    }

    #[test]
    fn a_table_is_aligned_by_what_letters_take_and_leaves_empty_columns_out() {
        let rows = [
            json!({"function": "a", "name": "Köln", "state": "up", "routes": 5, "at": 0}),
            json!({"function": "a", "name": "電話", "state": "down", "routes": 1234, "at": 0}),
        ];
        let wanted = "NAME  STATE  ROUTES  SINCE\n\
                      Köln  up          5  1m\n\
                      電話  down     1234  1m\n";
        assert_eq!(table(&look(None, false), &rows, &PEERS), wanted);
        assert_eq!(table(&look(None, false), &[], &PEERS), "no peer is configured\n");
        let other = json!({"function": "b", "name": "x"});
        let both = table(&look(None, false), &[rows[0].clone(), other], &PEERS);
        assert!(both.starts_with("FUNCTION  NAME"), "{both}");
    }

    #[test]
    fn a_long_text_gives_way_where_the_terminal_is_narrow() {
        let row = json!({"name": "pe1", "state": "idle", "why": "the peer refuses the connection"});
        let wanted = "NAME  STATE  WHY\n\
                      pe1   idle   the peer refuses\n             the connection\n";
        assert_eq!(table(&look(Some(32), false), &[row], &PEERS), wanted);
    }

    #[test]
    fn where_words_do_not_fit_columns_that_yield_are_left_out_and_firm_ones_stay_whole() {
        const TRAILS: Listing = Listing::new(
            "",
            &[
                firm("id", "ID"),
                time("at", "STARTED"),
                plain("kind", "KIND").yields(1),
                plain("from", "FROM").yields(2),
                plain("text", "TEXT"),
            ],
        );
        let row = json!({"id": "0123456789abcdef", "at": 3_723_004_000u64, "kind": "call",
            "from": "sip:alice@a.example", "text": "it-is-one-word and another"});
        let rows = [row];
        let drawn =
            |width| table(&Look { now_us: 3_800_000_000, ..look(width, false) }, &rows, &TRAILS);
        assert!(drawn(None).contains("1970-01-01 01:02:03.004Z  call  sip:alice@a.example"));
        let line = |left: &str, text: &str, at: usize| format!("{left:at$}{text}\n");
        let wanted = [
            line("ID                STARTED        KIND  FROM", "TEXT", 60),
            line(
                "0123456789abcdef  01:02:03.004Z  call  sip:alice@a.example",
                "it-is-one-word",
                60,
            ),
            line("", "and another", 60),
        ];
        assert_eq!(drawn(Some(76)), wanted.concat());
        let wanted = [
            line("ID                STARTED", "TEXT", 33),
            line("0123456789abcdef  01:02:03.004Z", "it-is-one-word", 33),
            line("", "and another", 33),
        ];
        assert_eq!(drawn(Some(50)), wanted.concat());
        assert!(drawn(Some(41)).contains("0123456789abcdef  01:02:03.004Z  it-is-on\n"));
    }

    #[test]
    fn colours_are_there_only_where_they_are_wanted() {
        let rows = [json!({"name": "a", "state": "up"})];
        assert!(table(&look(None, true), &rows, &PEERS).contains("\u{1b}[32mup\u{1b}[0m"));
        assert!(!table(&look(None, false), &rows, &PEERS).contains('\u{1b}'));
    }
}
