//! Regular expressions over octets, searched without allocating.

use regex_automata::meta::{Config, Regex};
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::util::syntax;
use regex_automata::{Input, Span};

/// Octets of a regular expression in the configuration.
const PATTERN_BYTES_MAX: usize = 1_024;
/// Octets one compiled regular expression may take.
const PROGRAM_BYTES_MAX: usize = 256 << 10;
/// Groups that `$1` to `$9` can name.
pub const GROUPS_MAX: usize = 9;
/// Columns before the expression in what its parser says.
const INDENT: usize = 4;
const SLOTS: usize = 2 * (GROUPS_MAX + 1);

/// A compiled regular expression; `.` is any octet but a line feed.
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: Regex,
    groups: usize,
}

/// What a match caught: the whole match first, then its groups.
#[derive(Debug, Clone, Copy)]
pub struct Caught([Option<NonMaxUsize>; SLOTS]);

impl Caught {
    /// Where a group lies in the text; 0 is the whole match.
    #[inline]
    pub fn span(&self, group: usize) -> Option<(usize, usize)> {
        let start = self.0.get(2 * group).copied().flatten()?;
        let end = self.0.get(2 * group + 1).copied().flatten()?;
        Some((start.get(), end.get()))
    }
}

/// A folded value as it reads, each fold and the white space around it one space (RFC 3261
/// §7.3.1), and where each octet of that stood, the end included; `None` when nothing is folded.
#[inline]
pub fn unfolded(text: &[u8]) -> Option<(Vec<u8>, Vec<usize>)> {
    memchr::memchr2(b'\r', b'\n', text).map(|_| unfold(text))
}

#[cold]
fn unfold(text: &[u8]) -> (Vec<u8>, Vec<usize>) {
    let (mut flat, mut places) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < text.len() {
        let space = text[at..].iter().take_while(|octet| octet.is_ascii_whitespace()).count();
        let is_fold = text[at..at + space].iter().any(|octet| b"\r\n".contains(octet));
        places.push(at);
        flat.push(if is_fold { b' ' } else { text[at] });
        at += if is_fold { space } else { 1 };
    }
    places.push(at);
    (flat, places)
}

/// What is wrong with a regular expression, and at which of its characters: `error` is what the
/// parser says, which draws the expression in a line, and below it signs under the wrong part.
#[must_use]
pub fn pattern_fault(error: &str) -> String {
    let what = error.lines().last().unwrap_or_default();
    let what = what.strip_prefix("error: ").unwrap_or(what);
    let is_drawn = |line: &&str| line.contains('^') && line.bytes().all(|it| b" ^".contains(&it));
    // An expression of several lines has their numbers before it, which are no characters.
    let signs = error.lines().nth(2).filter(|line| is_drawn(line) && error.lines().count() == 4);
    let signs = signs.and_then(|line| line.find('^'));
    match signs.and_then(|at| at.checked_sub(INDENT)) {
        Some(at) => format!("bad regular expression: {what}, at character {}", at + 1),
        None => format!("bad regular expression: {what}"),
    }
}

impl Pattern {
    /// Compiles a regular expression; the error says what is wrong with it.
    pub fn compile(text: &str) -> Result<Self, String> {
        if text.len() > PATTERN_BYTES_MAX {
            return Err(format!("the pattern is longer than {PATTERN_BYTES_MAX} octets"));
        }
        let regex = Regex::builder()
            .configure(Config::new().utf8_empty(false).nfa_size_limit(Some(PROGRAM_BYTES_MAX)))
            .syntax(syntax::Config::new().utf8(false).unicode(false))
            .build(text)
            .map_err(|error| match error.syntax_error() {
                Some(error) => pattern_fault(&error.to_string()),
                None => error.to_string(),
            })?;
        let groups = regex.captures_len() - 1;
        if groups > GROUPS_MAX {
            return Err(format!(
                "{groups} groups, {GROUPS_MAX} at most; write (?:…) for the others"
            ));
        }
        Ok(Self { regex, groups })
    }

    /// How many groups it has.
    pub const fn groups(&self) -> usize {
        self.groups
    }

    /// Whether it matches somewhere.
    #[inline]
    pub fn is_match(&self, text: &[u8]) -> bool {
        self.regex.is_match(Input::new(text))
    }

    /// The first match from `at` on.
    #[inline]
    pub fn find(&self, text: &[u8], at: usize) -> Option<Caught> {
        let mut caught = Caught([None; SLOTS]);
        let input = Input::new(text).span(Span { start: at, end: text.len() });
        self.regex.search_slots(&input, &mut caught.0).map(|_| caught)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_expression_says_what_is_wrong_at_which_character() {
        let said = |text: &str| Pattern::compile(text).unwrap_err();
        let unclosed = "bad regular expression: unclosed group, at character 3";
        assert_eq!(said("ab(c"), unclosed);
        assert!(said("a**[").ends_with("unclosed character class, at character 4"));
        let several = said("a\nb(c");
        assert_eq!(
            several, "bad regular expression: unclosed group",
            "of several lines: what alone"
        );
        assert_eq!(pattern_fault("too long"), "bad regular expression: too long");
    }
}
