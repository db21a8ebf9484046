//! Rules and networks as they become tables.

use crate::config::{Own, RuleFile, Velocity};
use crate::index::{ANY, Entry, Filling, Others, Prefixes};
use crate::rule::{Action, ReadCodes, Rule, Violation};
use crate::velocity::{SUBSCRIBERS_MAX, Ways};
use sccp::Pattern;
use sccp::codec::{Digits, Title};
use std::collections::{BTreeMap, BTreeSet};

/// Rules of a set.
pub const RULES_MAX: usize = 500_000;
/// Networks of a set.
pub const OPERATORS_MAX: usize = 1_000;
/// Beginnings of what is a network's own, of titles and of IMSIs each.
const BEGINNINGS_MAX: usize = 1_024;
/// Entries of all rules together: one for each pattern and operation.
const ENTRIES_MAX: usize = 4_000_000;
/// Shapes of patterns with any digit in some place, of titles and of IMSIs each.
const SHAPES_MAX: usize = 16;
/// A rule with more operations stands behind those of each.
const OPERATIONS_APART_MAX: usize = 32;
/// Point codes of a rule that stands under each of them.
const CODES_APART_MAX: u32 = 64;
/// Faults that are told; rules behind so many are not read.
const FAULTS_MAX: usize = 100;

/// The land mobile numbering plan in a title (Q.713 §3.4.2.3.3): its digits are those of an IMSI.
pub(crate) const E212: u8 = 6;

/// A network.
#[derive(Debug)]
pub(crate) struct Operator {
    titles: Vec<Pattern>,
}

/// Rules of one kind by what they are about.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) calling: Prefixes,
    pub(crate) called: Prefixes,
    pub(crate) imsi: Prefixes,
    pub(crate) others: Others,
}

/// Reads the rules.
pub(crate) fn rules(
    file: &RuleFile,
    codes: ReadCodes<'_>,
    faults: &mut Vec<Violation>,
) -> Vec<Rule> {
    let mut names = BTreeSet::new();
    let mut rules = Vec::with_capacity(file.rule.len());
    for (n, rule) in file.rule.iter().enumerate() {
        let at = format!("rule[{n}]");
        if rule.name.is_empty() || !names.insert(&rule.name) {
            let what = format!("`{}` names no rule, or two of them", rule.name);
            faults.push(Violation::new(format!("{at}.name"), what, "give each a name of its own"));
        }
        rules.push(Rule::read(rule, &at, codes, faults));
        // Each wrong word is compared with all that might have been meant.
        if faults.len() >= FAULTS_MAX {
            break;
        }
    }
    rules
}

/// What is a network's own: beginnings of IMSIs, and of titles.
pub(crate) fn own(own: &Own, faults: &mut Vec<Violation>) -> [Prefixes; 2] {
    [("own.imsi", &own.imsi), ("own.titles", &own.titles)].map(|(at, words)| {
        let mut table = Filling::default();
        let entry = Entry { operation: ANY, is_open: false, rule: 0 };
        let read = patterns(at, words.get(..BEGINNINGS_MAX).unwrap_or(words), faults);
        read.iter().flat_map(Pattern::keys).for_each(|key| table.put(key, entry));
        if words.len() > BEGINNINGS_MAX || table.shapes() > SHAPES_MAX {
            let what = format!("{} beginnings, {} forms with `?`", words.len(), table.shapes());
            let hint = format!("use at most {BEGINNINGS_MAX}, and {SHAPES_MAX} forms");
            faults.push(Violation::new(at.to_owned(), what, hint));
        }
        table.done()
    })
}

/// The networks, whose an IMSI is, whose a title is, and how far they are from each other.
#[derive(Debug, Default)]
pub(crate) struct Networks {
    all: Vec<Operator>,
    of_imsi: Prefixes,
    of_title: Prefixes,
    pub(crate) ways: Ways,
    /// Whether any of them has a place.
    pub(crate) has_places: bool,
}

impl Networks {
    /// The network that a title is of, by its place among them; one with the digits of an IMSI is
    /// of the network of that subscriber.
    pub(crate) fn of(&self, title: &Title) -> Option<u16> {
        let prefixes = if title.plan == E212 { &self.of_imsi } else { &self.of_title };
        prefixes.longest(&title.digits).and_then(|it| u16::try_from(it).ok())
    }

    /// Whether a title is of the network that a subscriber is of.
    pub(crate) fn has(&self, imsi: &Digits, title: &Title) -> bool {
        let Some(number) = self.of_imsi.longest(imsi) else { return false };
        let begins = |it: &Operator| it.titles.iter().any(|own| own.matches(&title.digits));
        match title.plan {
            E212 => self.of_imsi.longest(&title.digits) == Some(number),
            _ => self.all.get(number as usize).is_some_and(begins),
        }
    }

    /// Reads them.
    pub(crate) fn read(file: &RuleFile, faults: &mut Vec<Violation>) -> Self {
        let mut names = BTreeSet::new();
        let (mut imsi, mut title) = (Beginnings::default(), Beginnings::default());
        let mut all = Vec::with_capacity(file.operator.len());
        for (n, it) in file.operator.iter().enumerate() {
            let at = format!("operator[{n}]");
            let mut fault = |key: &str, what: String, hint: &str| {
                faults.push(Violation::new(format!("{at}.{key}"), what, hint));
            };
            if it.name.is_empty() || !names.insert(&it.name) {
                let what = format!("`{}` names no network, or two of them", it.name);
                fault("name", what, "give each a name of its own");
            }
            let is_on_earth = |at: [f64; 2]| at[0].abs() <= 90.0 && at[1].abs() <= 180.0;
            if it.at.is_some_and(|at| !is_on_earth(at)) {
                let what = "it is nowhere on the Earth".to_owned();
                fault("at", what, "write degrees of latitude and of longitude");
            }
            imsi.put(n, &format!("{at}.imsi"), &it.imsi, faults);
            let titles = title.put(n, &format!("{at}.titles"), &it.titles, faults);
            all.push(Operator { titles });
            if faults.len() >= FAULTS_MAX {
                break;
            }
        }
        let of_imsi = imsi.done("operator.imsi", faults);
        let of_title = title.done("operator.titles", faults);
        let sites: Vec<_> =
            file.operator.iter().map(|it| it.at.map(|at| (at, it.radius_km))).collect();
        let has_places = sites.iter().any(Option::is_some);
        let ways = Ways::new(&sites, file.velocity.speed_kmh);
        Self { all, of_imsi, of_title, ways, has_places }
    }
}

/// Says whether what is asked for last places is too much.
pub(crate) fn check(velocity: &Velocity, faults: &mut Vec<Violation>) {
    if velocity.subscribers_max > SUBSCRIBERS_MAX {
        let what = format!("room for {} subscribers", velocity.subscribers_max);
        let at = "velocity.subscribers_max".to_owned();
        faults.push(Violation::new(at, what, format!("use at most {SUBSCRIBERS_MAX}")));
    }
}

/// Beginnings of numbers, each of one network, while they are read.
#[derive(Default)]
struct Beginnings {
    table: Filling,
    taken: BTreeMap<(u64, u64, usize), usize>,
}

impl Beginnings {
    /// Reads those of the network in that place.
    fn put(
        &mut self,
        n: usize,
        at: &str,
        words: &[String],
        faults: &mut Vec<Violation>,
    ) -> Vec<Pattern> {
        let patterns = patterns(at, words, faults);
        let entry = Entry { operation: ANY, is_open: false, rule: machine::narrow::place(n) };
        let mut is_taken = false;
        for key in patterns.iter().flat_map(Pattern::keys) {
            is_taken |= *self.taken.entry(key).or_insert(n) != n;
            self.table.put(key, entry);
        }
        if is_taken {
            let what = "it has a beginning that another network has".to_owned();
            let hint = "the longest beginning counts: let it stand with one of them";
            faults.push(Violation::new(at.to_owned(), what, hint));
        }
        patterns
    }

    fn done(self, at: &str, faults: &mut Vec<Violation>) -> Prefixes {
        let shapes = self.table.shapes();
        if shapes > SHAPES_MAX {
            let what = format!("they have {shapes} forms with `?`");
            faults.push(Violation::new(at.to_owned(), what, format!("use at most {SHAPES_MAX}")));
        }
        self.table.done()
    }
}

fn patterns(at: &str, words: &[String], faults: &mut Vec<Violation>) -> Vec<Pattern> {
    let mut all = Vec::new();
    for (n, word) in words.iter().enumerate() {
        match Pattern::parse(word).filter(|it| it.len() <= crate::index::KEY_DIGITS) {
            Some(pattern) => all.push(pattern),
            None => {
                let what = format!("`{word}` is no beginning of at most 15 digits");
                let hint = "write digits, `?`, `[1-3]` or `4470..4479`";
                faults.push(Violation::new(format!("{at}[{n}]"), what, hint));
            }
        }
    }
    all
}

/// Which table a rule stands in.
pub(crate) fn index(rules: &[Rule], counts: bool, faults: &mut Vec<Violation>) -> Index {
    let [mut calling, mut called, mut imsi] =
        [const { None::<Filling> }; 3].map(Option::unwrap_or_default);
    let mut others = Others::default();
    let mut count = 0usize;
    let shortest = |of: &[Pattern]| of.iter().map(Pattern::len).min().unwrap_or_default();
    for (n, rule) in rules.iter().enumerate() {
        if (rule.action == Action::Count) != counts {
            continue;
        }
        let by =
            [(&rule.calling, &mut calling), (&rule.called, &mut called), (&rule.imsi, &mut imsi)];
        let (by, filling) = by
            .into_iter()
            .max_by_key(|(patterns, _)| shortest(patterns))
            .filter(|(patterns, _)| shortest(patterns) > 0)
            .map_or((None, None), |(patterns, filling)| (Some(patterns), Some(filling)));
        let entries = entries(rule, machine::narrow::place(n), by.is_some());
        match (by, filling) {
            (Some(patterns), Some(filling)) => {
                for key in patterns.iter().flat_map(Pattern::keys) {
                    count += entries.len();
                    if count <= ENTRIES_MAX {
                        entries.iter().for_each(|entry| filling.put(key, *entry));
                    }
                }
            }
            _ => {
                let codes = codes(&rule.originating);
                count += entries.len() * codes.len();
                for code in codes {
                    entries.iter().for_each(|entry| others.put(code, *entry));
                }
            }
        }
    }
    others.done();
    let shapes = [&calling, &called, &imsi].map(Filling::shapes);
    if count > ENTRIES_MAX || shapes.iter().any(|it| *it > SHAPES_MAX) {
        let what = format!("the rules have {count} beginnings, and {shapes:?} forms with `?`");
        let hint = format!("use at most {ENTRIES_MAX}, and {SHAPES_MAX} forms");
        faults.push(Violation::new("rule".to_owned(), what, hint));
    }
    Index { calling: calling.done(), called: called.done(), imsi: imsi.done(), others }
}

/// The point codes that a rule without digits stands under.
fn codes(ranges: &[(u32, u32)]) -> Vec<Option<u32>> {
    let count = |it: &(u32, u32)| it.1.saturating_sub(it.0).saturating_add(1);
    let count = ranges.iter().map(count).fold(0, u32::saturating_add);
    match ranges.is_empty() || count > CODES_APART_MAX {
        true => vec![None],
        false => ranges.iter().flat_map(|it| it.0..=it.1).map(Some).collect(),
    }
}

/// The entries of a rule under one key; `by_digits`: its table has looked at some digits already.
fn entries(rule: &Rule, number: u32, by_digits: bool) -> Vec<Entry> {
    let lists = [&rule.calling, &rule.called, &rule.imsi].map(|it| usize::from(!it.is_empty()));
    let left = lists.iter().sum::<usize>() - usize::from(by_digits);
    let is_open = left > 0
        || !rule.contexts.is_empty()
        || !rule.calling_subsystems.is_empty()
        || !rule.called_subsystems.is_empty()
        || !rule.originating.is_empty()
        || !rule.destinations.is_empty()
        || rule.calling_network.is_some()
        || rule.called_network.is_some()
        || rule.subscriber.is_some()
        || rule.location.is_some();
    let of = |operation, is_open| Entry { operation, is_open, rule: number };
    match &rule.operations {
        None => vec![of(ANY, is_open)],
        Some(all) if all.iter().count() > OPERATIONS_APART_MAX => vec![of(ANY, true)],
        Some(all) => all.iter().map(|it| of(it, is_open)).collect(),
    }
}
