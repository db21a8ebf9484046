//! Text in which nothing steers a terminal.

use serde_json::Value;
use unicode_width::UnicodeWidthStr as _;

/// Lines in which nothing steers a terminal.
#[must_use]
pub fn harmless_lines(text: &str) -> String {
    escaped_but(text, &['\n', '\t'])
}

/// Text in which nothing steers a terminal: control characters and marks of direction as `\u{1b}`.
#[must_use]
pub fn escaped(text: &str) -> String {
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
pub(crate) fn steers(it: char) -> bool {
    let is_mark = matches!(it, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}');
    it.is_control() || is_mark || matches!(it, '\u{2066}'..='\u{2069}')
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

/// Columns that a text takes on a terminal.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// A text in lines of so many columns at most, broken at blanks where there are some.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    let mut rest = text;
    while width(rest) > columns {
        let mut taken = 0;
        let fits = rest.char_indices().take_while(|(_, it)| {
            taken += width(it.encode_utf8(&mut [0; 4]));
            taken <= columns
        });
        let first = rest.chars().next().map_or(1, char::len_utf8);
        let end = fits.last().map_or(first, |(at, it)| at + it.len_utf8());
        let blank = rest[..end].rfind(' ').filter(|at| *at > 0);
        let (line, after) = match blank {
            Some(at) => (&rest[..at], &rest[at + 1..]),
            None => rest.split_at(end),
        };
        lines.push(line.to_owned());
        rest = after;
    }
    lines.push(rest.to_owned());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_broken_at_blanks_and_wide_letters_count_twice() {
        assert_eq!(wrapped("a route that is long", 8), ["a route", "that is", "long"]);
        assert_eq!(wrapped("2001:db8::/32", 5), ["2001:", "db8::", "/32"]);
        assert_eq!(wrapped("電話番号", 4), ["電話", "番号"]);
        assert_eq!(wrapped("", 4), [""]);
    }
}
