//! One thing that is wrong with a site file: where, what, and how to mend it.

use crate::counted;
use std::fmt::Write as _;

/// An issue as a section's own `validate` finds it; [`crate::Source`] adds line and column.
///
/// The path is written as in the site file, arrays with an index: `ssc[0].realm[1].listen[0]`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Issue {
    /// Where, as a path of keys and indexes from the root of the file.
    pub path: String,
    /// What is wrong, one sentence without a full stop.
    pub what: String,
    /// What to do about it, one sentence without a full stop; empty when there is nothing to add.
    pub hint: String,
}

impl Issue {
    /// An issue at `path`.
    #[must_use]
    pub fn new(path: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { path: path.into(), what: what.into(), hint: hint.into() }
    }

    /// The same issue with `prefix` before its path, for a section that does not know where it
    /// stands: `prefix` is `ssc[0]`, the issue's own path `realm[1].name` or empty.
    #[must_use]
    pub fn under(mut self, prefix: &str) -> Self {
        self.path = match (prefix.is_empty(), self.path.is_empty()) {
            (true, _) => self.path,
            (_, true) => prefix.to_owned(),
            _ if self.path.starts_with('[') => format!("{prefix}{}", self.path),
            _ => format!("{prefix}.{}", self.path),
        };
        self
    }
}

/// Diagnostics as a compiler prints them, and their number.
#[must_use]
pub fn render(file: &str, text: &str, found: &[Diagnostic]) -> String {
    let mut out: String = found.iter().map(|it| it.render(file, text) + "\n").collect();
    let count = counted(found.len(), "mistake", "mistakes");
    let _ = writeln!(out, "{file}: {count}");
    out
}

/// An issue with its place in the text.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Diagnostic {
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    /// Length of the offending text in characters, at least 1.
    pub length: usize,
    /// Path of keys and indexes; empty for a syntax error.
    pub path: String,
    /// What is wrong.
    pub what: String,
    /// What to do about it; may be empty.
    pub hint: String,
}

impl Diagnostic {
    /// The diagnostic as a compiler prints it: file, line, column, the source line and a caret.
    ///
    /// ```text
    /// error: unknown key `listn`
    ///   --> site.toml:7:1
    ///    |
    ///  7 | listn = "127.0.0.1:8080"
    ///    | ^^^^^
    ///    = hint: did you mean `listen`?
    /// ```
    #[must_use]
    pub fn render(&self, file: &str, text: &str) -> String {
        self.render_as("error", file, text)
    }

    /// The same for what is no error: `word` stands in its place, as `warning`.
    #[must_use]
    pub fn render_as(&self, word: &str, file: &str, text: &str) -> String {
        let source = text.lines().nth(self.line.saturating_sub(1)).unwrap_or("");
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        let lead: String = source
            .chars()
            .take(self.column - 1)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let room = source.chars().count().saturating_sub(self.column - 1).max(1);
        let carets = "^".repeat(self.length.clamp(1, room));
        let mut out = format!("{word}: {}\n", self.what);
        let _ = writeln!(out, "{gutter} --> {file}:{}:{}", self.line, self.column);
        let _ = writeln!(out, "{gutter}  |");
        let _ = writeln!(out, " {number} | {source}");
        let _ = writeln!(out, "{gutter}  | {lead}{carets}");
        if !self.path.is_empty() {
            let _ = writeln!(out, "{gutter}  = at: {}", self.path);
        }
        if !self.hint.is_empty() {
            let _ = writeln!(out, "{gutter}  = hint: {}", self.hint);
        }
        out
    }
}
