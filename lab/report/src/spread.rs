//! Several runs of one thing: the middle one, and how far apart they lie.

use serde_json::{Value, json};

/// The values of several runs, the least first.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread(Vec<f64>);

impl Spread {
    /// Those of these runs.
    #[must_use]
    pub fn of(runs: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = runs.into_iter().collect();
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    /// The middle one, the mean of two where there are two; 0 without a run.
    #[must_use]
    pub fn median(&self) -> f64 {
        let at = |place: usize| self.0.get(place).copied().unwrap_or_default();
        f64::midpoint(at(self.0.len().saturating_sub(1) / 2), at(self.0.len() / 2))
    }

    /// Puts the values of several runs into the detail of a row, which is their median: its notes
    /// then say how many they are, and the least and the most.
    pub fn put(&self, detail: &mut Value) {
        if self.0.len() > 1 {
            detail["runs"] = json!(self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_is_between_the_middle_two() {
        for (runs, median) in
            [(vec![], 0.0), (vec![7.0], 7.0), (vec![4.0, 1.0, 3.0], 3.0), (vec![4.0, 1.0], 2.5)]
        {
            assert!((Spread::of(runs).median() - median).abs() < f64::EPSILON);
        }
    }

    #[test]
    fn one_run_has_no_spread() {
        let mut detail = json!({});
        Spread::of([1.0]).put(&mut detail);
        assert_eq!(detail, json!({}));
        Spread::of([2.0, 1.0, 3.0]).put(&mut detail);
        assert_eq!(detail, json!({ "runs": [1.0, 2.0, 3.0] }));
    }
}
