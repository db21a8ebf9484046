//! Sheets: all there is to say about one thing, a line for each of its sides.

use crate::cell::{colour, painted};
use crate::text::{escaped, width, wrapped};
use crate::{Listing, Look, table};
use serde_json::Value;

/// Columns of the names of lines.
const NAMES: usize = 16;
/// A line is not made narrower than this.
const WIDTH_MIN: usize = 24;

/// A sheet that is being written.
#[derive(Debug)]
pub struct Sheet<'a> {
    look: &'a Look,
    out: String,
}

impl<'a> Sheet<'a> {
    /// A sheet with a title, and in which state its subject is.
    #[must_use]
    pub fn new(look: &'a Look, title: &str, state: &str) -> Self {
        let title = painted(look, &escaped(title), Some("1"));
        let state = painted(look, &escaped(state), colour(state));
        let gap = if state.is_empty() { "" } else { "  " };
        Self { look, out: format!("{title}{gap}{state}\n") }
    }

    /// A line; without a text it is left out.
    pub fn line(&mut self, name: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        let room = self.look.width.map_or(usize::MAX, |all| all.saturating_sub(NAMES + 2));
        let mut name = format!("  {}", escaped(name));
        for part in wrapped(&escaped(text), room.max(WIDTH_MIN)) {
            let pad = (NAMES + 2).saturating_sub(width(&name)).max(1);
            self.out += &format!("{name}{}{part}\n", " ".repeat(pad));
            name.clear();
        }
    }

    /// A table under a name; without rows it is left out.
    pub fn table(&mut self, name: &str, rows: &[Value], listing: &Listing) {
        if rows.is_empty() {
            return;
        }
        let look = Look { width: self.look.width.map(|all| all.saturating_sub(4)), ..*self.look };
        self.out += &format!("  {}\n", escaped(name));
        for line in table(&look, rows, listing).lines() {
            self.out += &format!("    {line}\n");
        }
    }

    /// The whole text.
    #[must_use]
    pub fn end(self) -> String {
        self.out
    }
}

/// A text of the parts that say something.
pub(crate) fn joined(parts: &[String]) -> String {
    parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(", ")
}

/// A text behind a word, where there is one.
pub(crate) fn with(word: &str, value: &Value) -> String {
    match crate::cell::raw(value) {
        text if text.is_empty() => text,
        text => format!("{word} {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_has_a_line_for_each_thing_that_is_known_and_breaks_it_where_it_is_long() {
        let look = Look { width: Some(45), colour: false, now_us: 0 };
        let mut sheet = Sheet::new(&look, "pe1", "idle");
        sheet.line("Address", "192.0.2.1");
        sheet.line("Why", "");
        sheet.line("Families", "ipv4-unicast ipv6-unicast evpn");
        let wanted = "pe1  idle\n  Address         192.0.2.1\n  \
                      Families        ipv4-unicast ipv6-unicast\n                  evpn\n";
        assert_eq!(sheet.end(), wanted);
    }
}
