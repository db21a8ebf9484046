//! What became of messages, counted by flow, way and cause.

use crate::record::{Direction, Record, Way};
use event::{MetricCells, Table};
use std::collections::BTreeMap;

event::metrics! {
    /// What is counted of messages by what became of them.
    pub enum OutcomeMetric {
        /// Messages, and ways of messages, by what became of them.
        Outcomes = Counter, "ipsmgw_outcomes_total";
    }
}

/// What became of a message, or of a way that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Done,
    /// RP-Cause.
    Cause(u8),
    /// In a word: an error of MAP, or why it waits.
    Word(&'static str),
}

impl Outcome {
    fn text(self) -> String {
        match self {
            Self::Done => "none".to_owned(),
            Self::Cause(cause) => cause.to_string(),
            Self::Word(word) => word.to_owned(),
        }
    }
}

/// A table of [`OutcomeMetric`]s by `flow`, `way` and `cause`, without rows.
#[must_use]
pub fn outcomes() -> Table<OutcomeMetric, 3> {
    Table::new(&["flow", "way", "cause"])
}

/// What became of messages.
#[derive(Debug)]
pub struct Outcomes {
    counts: BTreeMap<(&'static str, &'static str, Outcome), u64>,
    table: Table<OutcomeMetric, 3>,
}

impl Default for Outcomes {
    fn default() -> Self {
        Self { counts: BTreeMap::new(), table: outcomes() }
    }
}

impl Outcomes {
    /// One more: of a delivery each way that was tried, of anything else its end.
    pub fn add(&mut self, record: &Record) {
        let flow = match record.direction {
            Direction::Originated => "submission",
            Direction::Terminated => "delivery",
        };
        for it in &record.attempts {
            let outcome = match (it.cause, it.result) {
                (Some(cause), _) => Outcome::Cause(cause),
                (None, "delivered") => Outcome::Done,
                (None, word) => Outcome::Word(word),
            };
            *self.counts.entry((flow, it.way.name(), outcome)).or_default() += 1;
        }
        if !record.attempts.is_empty() {
            return;
        }
        let outcome = match (record.cause, record.postponed) {
            (Some(cause), _) => Outcome::Cause(cause),
            (None, Some(why)) => Outcome::Word(why),
            (None, None) => Outcome::Done,
        };
        let way = record.way.map_or("none", Way::name);
        *self.counts.entry((flow, way, outcome)).or_default() += 1;
    }

    /// Brings the table up to date.
    pub fn publish(&self) {
        let row = |(key, count): (&(&'static str, &'static str, Outcome), &u64)| {
            let labels = [key.0.to_owned(), key.1.to_owned(), key.2.text()];
            (labels, [(OutcomeMetric::Outcomes, *count)])
        };
        self.table.show(self.counts.iter().map(row));
    }

    /// A reader's view.
    #[must_use]
    pub fn cells(&self) -> MetricCells {
        self.table.cells()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Attempt;

    #[test]
    fn each_way_of_a_delivery_counts_with_its_cause_and_a_submission_with_its_own() {
        let record = |direction, cause, attempts| Record {
            direction,
            subscriber: None,
            other: None,
            octets: 1,
            centre: None,
            way: None,
            cause,
            postponed: None,
            attempts,
            trail: 1,
        };
        let attempt = |way, result, cause| Attempt { way, result, cause };
        let mut outcomes = Outcomes::default();
        let ways = vec![
            attempt(Way::PacketSwitched, "absentSubscriberSM", None),
            attempt(Way::CircuitSwitched, "delivered", None),
        ];
        outcomes.add(&record(Direction::Terminated, None, ways));
        let full = vec![attempt(Way::PacketSwitched, "sm-DeliveryFailure", Some(22))];
        outcomes.add(&record(Direction::Terminated, Some(22), full));
        for cause in [None, Some(41), None] {
            outcomes.add(&record(Direction::Originated, cause, Vec::new()));
        }
        let waits = Record {
            postponed: Some("the receiver is absent"),
            ..record(Direction::Terminated, None, Vec::new())
        };
        outcomes.add(&waits);
        outcomes.publish();
        let rows: Vec<String> = outcomes
            .cells()
            .labelled()
            .iter()
            .map(|it| {
                let labels: Vec<&str> = it.1.iter().map(|it| &*it.1).collect();
                format!("{} {:?}", labels.join(" "), it.2)
            })
            .collect();
        let expected = [
            "delivery cs none Value(1)",
            "delivery none the receiver is absent Value(1)",
            "delivery ps 22 Value(1)",
            "delivery ps absentSubscriberSM Value(1)",
            "submission none none Value(2)",
            "submission none 41 Value(1)",
        ];
        assert_eq!(rows, expected);
    }
}
