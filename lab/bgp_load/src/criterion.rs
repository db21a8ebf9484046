//! What a run must show, where its size lets it be judged: full tables in a full run.

use serde::Serialize;

/// One bar of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Criterion {
    what: String,
    found: f64,
    bound: f64,
    is_most: bool,
    held: bool,
}

impl Criterion {
    /// What was found is the bound or more.
    #[must_use]
    pub fn at_least(what: &str, found: f64, bound: f64) -> Self {
        Self { what: what.into(), found, bound, is_most: false, held: found >= bound }
    }

    /// What was found is the bound or less.
    #[must_use]
    pub fn at_most(what: &str, found: f64, bound: f64) -> Self {
        Self { what: what.into(), found, bound, is_most: true, held: found <= bound }
    }

    /// What does not hold, in words.
    #[must_use]
    pub fn broken(&self) -> Option<String> {
        let word = if self.is_most { "at most" } else { "at least" };
        let text = || format!("{}: {:.1}, {word} {:.1}", self.what, self.found, self.bound);
        (!self.held).then(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_that_is_missed_is_told_with_both_figures() {
        assert_eq!(Criterion::at_least("rate", 30.0, 25.0).broken(), None);
        assert_eq!(Criterion::at_most("MB", 170.0, 170.0).broken(), None);
        let missed = Criterion::at_most("MB", 171.0, 170.0);
        assert_eq!(missed.broken().as_deref(), Some("MB: 171.0, at most 170.0"));
    }
}
