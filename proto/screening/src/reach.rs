//! Rules that never decide, because an earlier one holds for all that they hold for.

use crate::rule::{Action, Rule};
use sccp::Pattern;
use sccp::codec::Digits;
use std::collections::BTreeMap;

/// Earlier rules that one is compared with, at most, under each beginning of its digits.
const COMPARED_MAX: usize = 64;
/// Earlier rules without digits that one is compared with, at most.
const OTHERS_MAX: usize = 512;
/// Lists of digits that a rule has.
const LISTS: usize = 3;

/// Earlier rules by the first pattern of one of their lists.
#[derive(Default)]
struct Earlier {
    by_digits: BTreeMap<(usize, Digits), Vec<usize>>,
    others: Vec<usize>,
}

impl Earlier {
    fn put(&mut self, n: usize, rule: &Rule) {
        let lists = lists(rule).into_iter().enumerate();
        let mut digits = lists.filter_map(|(list, of)| Some((list, of)).filter(|_| !of.is_empty()));
        let Some((list, patterns)) = digits.next() else {
            if self.others.len() < OTHERS_MAX {
                self.others.push(n);
            }
            return;
        };
        // One with a choice is found by what stands in front of it.
        for pattern in patterns {
            let digits = pattern.digits().unwrap_or_default();
            let under = self.by_digits.entry((list, digits)).or_default();
            if under.len() < COMPARED_MAX {
                under.push(n);
            }
        }
    }

    fn of<'a>(&'a self, rule: &'a Rule) -> impl Iterator<Item = usize> + 'a {
        let lists = lists(rule).into_iter().enumerate();
        let beginnings = lists.filter_map(|(list, of)| Some((list, of.first()?.digits())));
        let beginnings = beginnings.flat_map(|(list, digits)| {
            let digits = digits.unwrap_or_default();
            (0..=digits.len()).map(move |count| (list, digits.first(count)))
        });
        let under = beginnings.filter_map(|key| self.by_digits.get(&key)).flatten();
        under.chain(&self.others).copied()
    }
}

fn lists(rule: &Rule) -> [&[Pattern]; LISTS] {
    [&rule.calling, &rule.called, &rule.imsi]
}

/// Each rule that never decides, and the one that does.
pub(crate) fn unreachable(rules: &[Rule]) -> Vec<(usize, usize)> {
    let mut earlier = Earlier::default();
    let mut found = Vec::new();
    for (n, rule) in rules.iter().enumerate() {
        let before = earlier.of(rule).filter(|it| rules[*it].covers(rule)).min();
        match before {
            Some(before) => found.push((n, before)),
            None if rule.action != Action::Count => earlier.put(n, rule),
            None => {}
        }
    }
    found
}
