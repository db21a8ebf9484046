//! What a full run measures several times, each time on a fresh system: the median counts, and how
//! far the others lie from it is told beside it.

use serde_json::{Value, json};

/// How often a full run measures.
const ROUNDS: usize = 3;

/// The rounds of a run: a quick one has no time for more than one.
#[must_use]
pub const fn rounds(quick: bool) -> usize {
    if quick { 1 } else { ROUNDS }
}

/// One value of each round, in order; of a round that found none it is zero, which is the least.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rounds(Vec<f64>);

impl Rounds {
    /// Those values.
    pub fn of(values: impl IntoIterator<Item = Option<f64>>) -> Self {
        Self(values.into_iter().map(Option::unwrap_or_default).collect())
    }

    fn sorted(&self) -> Vec<usize> {
        let mut at: Vec<usize> = (0..self.0.len()).collect();
        at.sort_by(|one, other| self.0[*one].total_cmp(&self.0[*other]));
        at
    }

    /// The round of the median; of an even number that below the middle.
    #[must_use]
    pub fn median_at(&self) -> usize {
        let sorted = self.sorted();
        sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or_default()
    }

    /// The median; `None`: there was no round, or the median one found nothing.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        self.0.get(self.median_at()).copied().filter(|value| *value > 0.0)
    }

    /// In words, with so many digits behind the point; empty of one round.
    #[must_use]
    pub fn words(&self, digits: usize) -> String {
        let (sorted, count) = (self.sorted(), self.0.len());
        match (sorted.first(), sorted.last()) {
            (Some(least), Some(most)) if count > 1 => {
                let [least, most] = [least, most].map(|at| self.0[*at]);
                format!("median of {count}, {least:.digits$} to {most:.digits$}")
            }
            _ => String::new(),
        }
    }

    /// For a row's detail.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({ "rounds": self.0, "median": self.median() })
    }
}

/// What notes say, with commas between; `None`: nothing.
#[must_use]
pub fn notes(parts: &[String]) -> Option<String> {
    let said: Vec<&str> = parts.iter().map(String::as_str).filter(|it| !it.is_empty()).collect();
    (!said.is_empty()).then(|| said.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_counts_and_the_spread_is_told() {
        let three = Rounds::of([Some(9_000.0), Some(11_000.0), Some(10_000.4)]);
        assert_eq!((three.median_at(), three.median()), (2, Some(10_000.4)));
        assert_eq!(three.words(0), "median of 3, 9000 to 11000");
        let lame = Rounds::of([None, Some(2.0), None]);
        assert_eq!((lame.median(), &*lame.words(1)), (None, "median of 3, 0.0 to 2.0"));
        let half = Rounds::of([Some(3.0), None, Some(1.0)]);
        assert_eq!((half.median_at(), half.median()), (2, Some(1.0)));
        let one = Rounds::of([Some(7.0)]);
        assert_eq!((one.median_at(), one.median(), &*one.words(0)), (0, Some(7.0), ""));
        assert_eq!(Rounds::default().median(), None);
        assert_eq!((rounds(true), rounds(false)), (1, 3));
        assert_eq!(notes(&["a".into(), String::new(), "b".into()]).as_deref(), Some("a, b"));
        assert_eq!(notes(&[String::new()]), None);
    }
}
