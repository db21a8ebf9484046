//! The text of a site file with the place of every key in it.

use crate::{Diagnostic, Issue};
use std::ops::Range;
use toml_edit::{Document, Item, Value};

/// Longest site file that is read, in octets.
pub const SITE_BYTES_MAX: usize = 4 << 20;

/// A step of a path: a key, or an index into an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// A syntactically right site file.
#[derive(Debug)]
pub struct Source {
    document: Document<String>,
}

/// One node of the document; arrays of tables and inline arrays look alike.
#[derive(Clone, Copy)]
pub(crate) enum Node<'a> {
    Item(&'a Item),
    Value(&'a Value),
    Table(&'a toml_edit::Table),
}

impl Source {
    /// Reads the syntax.
    ///
    /// # Errors
    /// The one syntax error that TOML reports, or that the text is longer than
    /// [`SITE_BYTES_MAX`].
    pub fn parse(text: &str) -> Result<Self, Diagnostic> {
        if text.len() > SITE_BYTES_MAX {
            let what = format!("the file is longer than {SITE_BYTES_MAX} octets");
            return Err(diagnostic(text, 0..0, Issue::new("", what, "")));
        }
        match Document::parse(text.to_owned()) {
            Ok(document) => Ok(Self { document }),
            Err(error) => {
                let span = error.span().unwrap_or(0..0);
                Err(diagnostic(text, span, Issue::new("", syntax_text(error.message()), "")))
            }
        }
    }

    /// The text as it was read.
    #[must_use]
    pub fn text(&self) -> &str {
        self.document.raw()
    }

    pub(crate) fn root(&self) -> Node<'_> {
        Node::Table(self.document.as_table())
    }

    /// Gives an issue its line and column: of the key's value where the key is written, of the
    /// nearest section around it where it is not.
    #[must_use]
    pub fn locate(&self, issue: Issue) -> Diagnostic {
        let span = self.span(&issue.path);
        diagnostic(self.text(), span, issue)
    }

    /// The same with the span at hand.
    pub(crate) fn at(&self, span: Option<Range<usize>>, issue: Issue) -> Diagnostic {
        match span {
            Some(span) => diagnostic(self.text(), span, issue),
            None => self.locate(issue),
        }
    }

    fn span(&self, path: &str) -> Range<usize> {
        let mut node = self.root();
        let mut best = None;
        for step in steps(path) {
            let Some(next) = node.child(&step) else { break };
            if let Some(span) = next.span() {
                best = Some(span);
            } else if let Step::Key(name) = &step {
                best = node.key_span(name).or(best);
            }
            node = next;
        }
        best.unwrap_or(0..0)
    }
}

impl<'a> Node<'a> {
    fn child(self, step: &Step) -> Option<Self> {
        match step {
            Step::Key(name) => self.entry(name),
            Step::Index(index) => self.elements()?.into_iter().nth(*index),
        }
    }

    fn entry(self, name: &str) -> Option<Self> {
        match self {
            Self::Table(table) => table.get(name).map(Node::Item),
            Self::Item(item) => item.as_table_like()?.get(name).map(Node::Item),
            Self::Value(value) => Some(Node::Value(value.as_inline_table()?.get(name)?)),
        }
    }

    /// Keys and their nodes, if this is a table of any spelling.
    pub(crate) fn entries(self) -> Option<Vec<(&'a str, Self)>> {
        match self {
            Self::Table(table) => {
                Some(table.iter().map(|(key, item)| (key, Node::Item(item))).collect())
            }
            Self::Item(item) => {
                let table = item.as_table_like()?;
                Some(table.iter().map(|(key, item)| (key, Node::Item(item))).collect())
            }
            Self::Value(value) => {
                let table = value.as_inline_table()?;
                Some(table.iter().map(|(key, value)| (key, Node::Value(value))).collect())
            }
        }
    }

    /// The elements, if this is an array of any spelling.
    pub(crate) fn elements(self) -> Option<Vec<Self>> {
        match self {
            Self::Item(Item::ArrayOfTables(tables)) => {
                Some(tables.iter().map(Node::Table).collect())
            }
            _ => Some(self.value()?.as_array()?.iter().map(Node::Value).collect()),
        }
    }

    /// The value, if this is one.
    pub(crate) fn value(self) -> Option<&'a Value> {
        match self {
            Self::Item(item) => item.as_value(),
            Self::Value(value) => Some(value),
            Self::Table(_) => None,
        }
    }

    pub(crate) fn span(self) -> Option<Range<usize>> {
        match self {
            Self::Item(item) => item.span(),
            Self::Value(value) => value.span(),
            Self::Table(table) => table.span(),
        }
    }

    /// Where the key itself is written.
    pub(crate) fn key_span(self, name: &str) -> Option<Range<usize>> {
        match self {
            Self::Table(table) => table.key(name)?.span(),
            Self::Item(item) => item.as_table_like()?.key(name)?.span(),
            Self::Value(value) => value.as_inline_table()?.key(name)?.span(),
        }
    }
}

/// Reads `ssc[0].realm[1].name`; a malformed rest is dropped, the place is then coarser.
pub(crate) fn steps(path: &str) -> Vec<Step> {
    let mut out = Vec::new();
    for part in path.split('.') {
        let (name, indexes) = part.split_at(part.find('[').unwrap_or(part.len()));
        if !name.is_empty() {
            out.push(Step::Key(name.to_owned()));
        }
        let numbers = indexes.split(['[', ']']).filter_map(|digits| digits.parse().ok());
        out.extend(numbers.map(Step::Index));
    }
    out
}

fn syntax_text(message: &str) -> String {
    message.lines().map(str::trim).collect::<Vec<_>>().join(", ")
}

/// Turns octets into line and column; a span over several lines ends with its first.
fn diagnostic(text: &str, span: Range<usize>, issue: Issue) -> Diagnostic {
    let start = floor(text, span.start);
    let end = floor(text, span.end.max(start));
    let before = &text[..start];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let here = text[start..end].lines().next().unwrap_or("");
    Diagnostic {
        line: before.matches('\n').count() + 1,
        column: text[line_start..start].chars().count() + 1,
        length: here.chars().count().max(1),
        path: issue.path,
        what: issue.what,
        hint: issue.hint,
    }
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
[site]
name = \"ä\"  # a comment
[[ssc]]
name = \"one\"
[[ssc.realm]]
listen = [\"udp:a\", \"udp:b\"]
[[ssc.realm]]
tls = { key = \"k\" }
";

    fn place(path: &str) -> (usize, usize, usize) {
        let source = Source::parse(TEXT).unwrap();
        let found = source.locate(Issue::new(path, "x", ""));
        (found.line, found.column, found.length)
    }

    #[test]
    fn a_path_finds_its_line_and_column_in_every_spelling_of_toml() {
        assert_eq!(place("site.name"), (2, 8, 3));
        assert_eq!(place("ssc[0].name"), (4, 8, 5));
        assert_eq!(place("ssc[0].realm[0].listen[1]"), (6, 20, 7));
        assert_eq!(place("ssc[0].realm[1].tls.key"), (8, 15, 3));
    }

    #[test]
    fn a_path_that_is_not_written_points_at_the_section_around_it() {
        assert_eq!(place("ssc[0].realm[1].listen").0, 7);
        assert_eq!(place("ssc[0].capture").0, 3);
        assert_eq!(place("oam.listen").0, 1);
    }

    #[test]
    fn a_syntax_error_has_line_and_column() {
        let error = Source::parse("[site]\nname = \n").unwrap_err();
        assert_eq!((error.line, error.column), (2, 8), "{}", error.what);
    }
}
