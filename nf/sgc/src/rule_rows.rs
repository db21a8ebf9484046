//! What is shown of the rules for what peers send.

use crate::Gateway;
use question::rows;
use runtime::Ask;

/// Rows of one answer.
const ROWS_MAX: usize = 20_000;

rows! {
    /// A set of rules.
    pub(crate) struct RuleSetRow {
        name: String,
        rules: usize,
        /// Messages that its rules were asked about.
        judged: u64,
        /// Rules that held.
        hits: u64,
        refused: u64,
        /// Messages that were not well-formed.
        unreadable: u64,
        /// Segments of messages that this node relays.
        segments: u64,
        /// Subscribers whose last place is known.
        places: usize,
        /// Of those, not kept: there was no room.
        not_kept: u64,
    }

    /// A rule.
    pub(crate) struct RuleHitRow {
        set: String,
        rule: String,
        /// `pass`, `count`, `discard`, `error`, `reject`, `abort` or `return`.
        action: &'static str,
        /// How often it held.
        hits: u64,
    }
}

pub(crate) fn show_sets(of: &Gateway) -> Vec<RuleSetRow> {
    let rows = of.sccp.rules.iter().map(|set| RuleSetRow {
        name: set.name.clone(),
        rules: set.hits.len(),
        judged: set.counts.judged,
        hits: set.counts.hits,
        refused: set.counts.refused,
        unreadable: set.counts.unreadable,
        segments: set.counts.segments,
        places: set.known(),
        not_kept: set.not_kept(),
    });
    rows.collect()
}

pub(crate) fn show_rules_of_sets(of: &Gateway, ask: &Ask) -> Vec<RuleHitRow> {
    let of_ask = |name: &str| ask.params.get(name).map(String::as_str);
    let (set, all) = (of_ask("set"), of_ask("all") == Some("yes"));
    let sets = of.sccp.rules.iter().filter(|it| set.is_none_or(|set| it.name == set));
    let rows = sets.flat_map(|it| {
        let rules = it.rows().filter(move |rule| all || rule.2 > 0);
        rules.map(|(rule, action, hits)| RuleHitRow {
            set: it.name.clone(),
            rule: rule.to_owned(),
            action: action.name(),
            hits,
        })
    });
    rows.take(ROWS_MAX).collect()
}
