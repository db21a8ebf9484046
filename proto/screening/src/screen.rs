//! A set of rules, compiled, and what it says of a message.

use crate::config::{Location, Network, Own, RuleFile, Subscriber};
use crate::imsi::{self, Places, Tells};
use crate::index::{ANY, Entry, Filling, Number, Others, Prefixes};
use crate::names::OperationId;
use crate::rule::{Action, Fault, ReadCodes, Rule};
use crate::subject::{Subject, Unreadable};
use crate::velocity::{LastPlaces, Seen, Ways};
use machine::{Duration, Time};
use sccp::Pattern;
use sccp::codec::{Address, Digits};
use std::collections::BTreeSet;
use tcap::codec::{Component, Payload};

/// Rules of a set.
pub const RULES_MAX: usize = 500_000;
/// Networks of a set.
pub const OPERATORS_MAX: usize = 1_000;
/// Entries of all rules together: one for each pattern and operation.
const ENTRIES_MAX: usize = 4_000_000;
/// Shapes of patterns with any digit in some place, of titles and of IMSIs each.
const SHAPES_MAX: usize = 16;
/// A rule with more operations stands behind those of each.
const OPERATIONS_APART_MAX: usize = 8;
/// Point codes of a rule that stands under each of them.
const CODES_APART_MAX: u32 = 64;
/// Rules that only count, of one message.
const COUNTED_MAX: usize = 8;

/// A network.
#[derive(Debug)]
struct Operator {
    name: String,
    titles: Vec<Pattern>,
}

/// Rules of one kind by what they are about.
#[derive(Debug, Default)]
struct Index {
    calling: Prefixes,
    called: Prefixes,
    imsi: Prefixes,
    others: Others,
}

/// A set of rules.
#[derive(Debug)]
pub struct Screen {
    rules: Vec<Rule>,
    /// Rules that decide, and rules that only count.
    deciding: Index,
    counting: Option<Index>,
    own_imsi: Vec<Pattern>,
    own_titles: Vec<Pattern>,
    operators: Vec<Operator>,
    of_imsi: Prefixes,
    of_title: Prefixes,
    ways: Ways,
    places: Places,
    file: crate::config::Velocity,
}

/// What is said of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// What becomes of it.
    pub action: Action,
    /// The rule that says so; none: none holds.
    pub rule: Option<u32>,
    /// The operation that it is about.
    pub operation: OperationId,
    /// Its invoke identifier.
    pub invoke_id: Option<i8>,
    counted: [Option<u32>; COUNTED_MAX],
}

impl Verdict {
    const PASS: Self = Self {
        action: Action::Pass,
        rule: None,
        operation: OperationId::NONE,
        invoke_id: None,
        counted: [None; COUNTED_MAX],
    };

    /// The rules that only count, and hold.
    pub fn counted(&self) -> impl Iterator<Item = u32> {
        self.counted.into_iter().flatten()
    }

    fn count(&mut self, rule: u32) {
        let is_new = !self.counted.contains(&Some(rule));
        if let Some(free) = self.counted.iter_mut().find(|it| it.is_none() && is_new) {
            *free = Some(rule);
        }
    }
}

/// What is known of the operation that rules are asked about; the rest is found when a rule asks.
struct Asked<'a, 'b> {
    screen: &'a Screen,
    subject: &'a Subject<'b>,
    operation: OperationId,
    component: Option<&'a Component<'b>>,
    tells: Option<Tells>,
    calling: Option<Number>,
    places: &'a LastPlaces,
    now: Time,
}

impl Screen {
    /// Compiles rules.
    ///
    /// # Errors
    /// What is wrong with them, all of it.
    pub fn new(file: &RuleFile, own: &Own, codes: ReadCodes<'_>) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let mut names = BTreeSet::new();
        if file.rule.len() > RULES_MAX || file.operator.len() > OPERATORS_MAX {
            let what = format!("{} rules, {} networks", file.rule.len(), file.operator.len());
            let hint = format!("use at most {RULES_MAX} and {OPERATORS_MAX}");
            return Err(vec![Fault::new("rule".to_owned(), what, hint)]);
        }
        let mut rules = Vec::with_capacity(file.rule.len());
        for (n, rule) in file.rule.iter().enumerate() {
            let at = format!("rule[{n}]");
            if rule.name.is_empty() || !names.insert(&rule.name) {
                let what = format!("`{}` names no rule, or two of them", rule.name);
                faults.push(Fault::new(format!("{at}.name"), what, "give each a name of its own"));
            }
            rules.push(Rule::read(rule, &at, codes, &mut faults));
        }
        let mut patterns = |at: String, words: &[String]| patterns(&at, words, &mut faults);
        let own_imsi = patterns("own.imsi".to_owned(), &own.imsi);
        let own_titles = patterns("own.titles".to_owned(), &own.titles);
        let (mut operators, mut imsi, mut title) =
            (Vec::new(), Filling::default(), Filling::default());
        for (n, it) in file.operator.iter().enumerate() {
            let entry = Entry { operation: ANY, is_open: false, rule: machine::narrow::place(n) };
            let of_imsi = patterns(format!("operator[{n}].imsi"), &it.imsi);
            of_imsi.iter().flat_map(Pattern::keys).for_each(|key| imsi.put(key, entry));
            let titles = patterns(format!("operator[{n}].titles"), &it.titles);
            titles.iter().flat_map(Pattern::keys).for_each(|key| title.put(key, entry));
            operators.push(Operator { name: it.name.clone(), titles });
        }
        let index = |counts: bool, faults: &mut Vec<Fault>| index(&rules, counts, faults);
        let deciding = index(false, &mut faults);
        let has_counting = rules.iter().any(|it| it.action == Action::Count);
        let counting = has_counting.then(|| index(true, &mut faults));
        if !faults.is_empty() {
            return Err(faults);
        }
        let sites: Vec<_> =
            file.operator.iter().map(|it| it.at.map(|at| (at, it.radius_km))).collect();
        Ok(Self {
            rules,
            deciding,
            counting,
            own_imsi,
            own_titles,
            operators,
            of_imsi: imsi.done(),
            of_title: title.done(),
            ways: Ways::new(&sites, file.velocity.speed_kmh),
            places: Places::new(),
            file: file.velocity.clone(),
        })
    }

    /// A table of last places as the rules say.
    #[must_use]
    pub fn last_places(&self, secret: u64) -> LastPlaces {
        let asks = self.rules.iter().any(|it| it.location.is_some());
        let most = if asks { self.file.subscribers_max } else { 0 };
        LastPlaces::new(most, Duration::from_secs(self.file.kept_s.into()), secret)
    }

    /// How many rules there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Name and action of a rule.
    #[must_use]
    pub fn rule(&self, number: u32) -> Option<(&str, Action)> {
        self.rules.get(number as usize).map(|it| (it.name.as_str(), it.action))
    }

    /// Name and action of all.
    pub fn rules(&self) -> impl Iterator<Item = (&str, Action)> {
        self.rules.iter().map(|it| (it.name.as_str(), it.action))
    }

    /// The most rules that are looked at one by one: those about the same operation that have
    /// neither digits nor point codes.
    #[must_use]
    pub fn looked_at(&self) -> usize {
        self.deciding.others.longest()
    }

    /// Rules that never decide, each with the earlier one that holds for all that it holds for.
    #[must_use]
    pub fn unreachable(&self) -> Vec<(usize, usize)> {
        crate::reach::unreachable(&self.rules)
    }

    /// What the rules say of a message: of every operation that it invokes; one that is refused
    /// takes the others with it.
    ///
    /// # Errors
    /// [`Unreadable`]: a component, or whose subscriber it is about.
    pub fn judge(
        &self,
        now: Time,
        subject: &Subject<'_>,
        places: &LastPlaces,
    ) -> Result<Verdict, Unreadable> {
        let mut verdict = Verdict::PASS;
        let mut is_ambiguous = false;
        let calling = subject.way.calling.title.map(|it| Number::of(&it.digits));
        subject.each(|operation, component| {
            let mut asked = Asked {
                screen: self,
                subject,
                operation,
                component,
                tells: None,
                calling,
                places,
                now,
            };
            let first = asked.first(&self.deciding);
            if let Some(counting) = &self.counting {
                asked.all(counting, first, &mut verdict);
            }
            is_ambiguous |= asked.tells == Some(Tells::Ambiguous);
            let action = first.map_or(Action::Pass, |it| self.rules[it as usize].action);
            let is_first = verdict.rule.is_none() && first.is_some();
            if !verdict.action.refuses() && (action.refuses() || is_first) {
                verdict.action = action;
                (verdict.rule, verdict.operation) = (first, operation);
                verdict.invoke_id = component.and_then(|it| it.invoke_id);
            }
        })?;
        if is_ambiguous {
            let (otid, dtid) = (subject.message.otid, subject.message.dtid);
            return Err(Unreadable { otid, dtid, why: "two subscribers in one argument" });
        }
        Ok(verdict)
    }

    /// Keeps where the subscribers of a message are that has passed: of those that say that they
    /// have come to another place.
    pub fn learn(&self, now: Time, subject: &Subject<'_>, source: u64, places: &mut LastPlaces) {
        let Some(place) = subject.way.calling.title.and_then(|it| self.place(&it.digits)) else {
            return;
        };
        // What is not well-formed does not pass.
        let _ = subject.each(|operation, component| {
            if !COMING.contains(&operation) {
                return;
            }
            if let Tells::Imsi(imsi) = self.tells(subject, operation, component) {
                places.learn(&imsi, Seen { place, at: now }, source);
            }
        });
    }

    fn tells(
        &self,
        subject: &Subject<'_>,
        operation: OperationId,
        component: Option<&Component<'_>>,
    ) -> Tells {
        match component.map(|it| it.payload) {
            Some(Payload::Invoke { parameter: Some(argument), .. }) => {
                let tells = self.places.find(operation, subject.context.version, &argument);
                if tells == Tells::Nothing { imsi::opened(&subject.user) } else { tells }
            }
            Some(Payload::Invoke { parameter: None, .. }) => imsi::opened(&subject.user),
            _ => Tells::Nothing,
        }
    }

    /// The network, with a place or without, that a title is of.
    fn place(&self, title: &Digits) -> Option<u16> {
        longest(&self.of_title, title)
    }

    /// Its name, for people.
    #[must_use]
    pub fn place_name(&self, title: &Digits) -> Option<&str> {
        self.operators.get(usize::from(self.place(title)?)).map(|it| it.name.as_str())
    }
}

/// Operations that say where a subscriber has come to.
const COMING: [OperationId; 2] = [OperationId(2), OperationId(23)];

/// The last entry under the longest beginning of a number.
fn longest(prefixes: &Prefixes, digits: &Digits) -> Option<u16> {
    let mut found = None;
    prefixes.each(Number::of(digits), OperationId::NONE, &mut |entries| {
        found = entries.first().map(|it| it.rule);
    });
    found.and_then(|it| u16::try_from(it).ok())
}

fn patterns(at: &str, words: &[String], faults: &mut Vec<Fault>) -> Vec<Pattern> {
    let mut all = Vec::new();
    for (n, word) in words.iter().enumerate() {
        match Pattern::parse(word).filter(|it| it.len() <= crate::index::KEY_DIGITS) {
            Some(pattern) => all.push(pattern),
            None => {
                let what = format!("`{word}` is no beginning of at most 15 digits");
                let hint = "write digits, `?`, `[1-3]` or `4470..4479`";
                faults.push(Fault::new(format!("{at}[{n}]"), what, hint));
            }
        }
    }
    all
}

/// Which table a rule stands in.
fn index(rules: &[Rule], counts: bool, faults: &mut Vec<Fault>) -> Index {
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
        faults.push(Fault::new("rule".to_owned(), what, hint));
    }
    Index { calling: calling.done(), called: called.done(), imsi: imsi.done(), others }
}

/// The point codes that a rule without digits stands under.
fn codes(ranges: &[(u32, u32)]) -> Vec<Option<u32>> {
    let count = ranges.iter().map(|it| it.1 - it.0 + 1).fold(0, u32::saturating_add);
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

impl Asked<'_, '_> {
    /// The first rule that holds.
    fn first(&mut self, index: &Index) -> Option<u32> {
        let mut best: Option<u32> = None;
        self.each(index, |asked, entries| {
            for entry in entries {
                if best.is_some_and(|best| best <= entry.rule) {
                    break;
                }
                if !entry.is_open || asked.holds(entry.rule) {
                    best = Some(entry.rule);
                    break;
                }
            }
        });
        best
    }

    /// All rules that hold in front of another one.
    fn all(&mut self, index: &Index, before: Option<u32>, verdict: &mut Verdict) {
        self.each(index, |asked, entries| {
            let is_before = |it: &&Entry| before.is_none_or(|before| it.rule < before);
            for entry in entries.iter().filter(is_before) {
                if !entry.is_open || asked.holds(entry.rule) {
                    verdict.count(entry.rule);
                }
            }
        });
    }

    fn each(&mut self, index: &Index, mut look: impl FnMut(&mut Self, &[Entry])) {
        let (operation, way) = (self.operation, self.subject.way);
        if let Some(number) = self.calling.filter(|_| index.calling.concerns(operation)) {
            index.calling.each(number, operation, &mut |entries| look(self, entries));
        }
        if index.called.concerns(operation)
            && let Some(title) = way.called.title
        {
            let number = Number::of(&title.digits);
            index.called.each(number, operation, &mut |entries| look(self, entries));
        }
        if index.imsi.concerns(operation)
            && let Tells::Imsi(imsi) = self.tells()
        {
            let number = Number::of(&imsi);
            index.imsi.each(number, operation, &mut |entries| look(self, entries));
        }
        index.others.each(way.opc, operation, &mut |entries| look(self, entries));
    }

    fn tells(&mut self) -> Tells {
        let (screen, subject) = (self.screen, self.subject);
        *self.tells.get_or_insert_with(|| screen.tells(subject, self.operation, self.component))
    }

    fn imsi(&mut self) -> Option<Digits> {
        match self.tells() {
            Tells::Imsi(imsi) => Some(imsi),
            Tells::Nothing | Tells::Ambiguous => None,
        }
    }

    /// Whether a rule holds in all that it names.
    fn holds(&mut self, number: u32) -> bool {
        let screen = self.screen;
        let Some(rule) = screen.rules.get(number as usize) else { return false };
        let (way, context) = (self.subject.way, self.subject.context);
        let has = |of: &[u8], address: &Address| {
            of.is_empty() || address.subsystem.is_some_and(|it| of.contains(&it))
        };
        let is_among = |of: &[(u32, u32)], code: u32| {
            of.is_empty() || of.iter().any(|it| it.0 <= code && code <= it.1)
        };
        rule.operations.as_ref().is_none_or(|all| all.has(self.operation.0))
            && (rule.contexts.is_empty() || rule.contexts.iter().any(|it| context.is_of(*it)))
            && has(&rule.calling_subsystems, way.calling)
            && has(&rule.called_subsystems, way.called)
            && is_among(&rule.originating, way.opc)
            && is_among(&rule.destinations, way.dpc)
            && begins(&rule.calling, way.calling)
            && begins(&rule.called, way.called)
            && rule.calling_network.is_none_or(|it| self.is_of(way.calling, it))
            && rule.called_network.is_none_or(|it| self.is_of(way.called, it))
            && (rule.imsi.is_empty()
                || self.imsi().is_some_and(|it| rule.imsi.iter().any(|own| own.matches(&it))))
            && rule.subscriber.is_none_or(|it| self.is_about(it))
            && rule.location.is_none_or(|it| self.is_at(it))
    }

    fn is_about(&mut self, subscriber: Subscriber) -> bool {
        let is_own = self.imsi().map(|it| self.screen.own_imsi.iter().any(|own| own.matches(&it)));
        match subscriber {
            Subscriber::Own => is_own == Some(true),
            Subscriber::Foreign => is_own == Some(false),
            Subscriber::Untold => is_own.is_none(),
        }
    }

    fn is_of(&mut self, address: &Address, network: Network) -> bool {
        let is_own = |of: &[Pattern]| begins(of, address) && !of.is_empty();
        match network {
            Network::Own => is_own(&self.screen.own_titles),
            Network::Foreign => !is_own(&self.screen.own_titles),
            Network::OfSubscriber => self.is_of_subscriber(address),
            Network::NotOfSubscriber => !self.is_of_subscriber(address),
        }
    }

    fn is_of_subscriber(&mut self, address: &Address) -> bool {
        let Some(imsi) = self.imsi() else { return false };
        let screen = self.screen;
        if screen.own_imsi.iter().any(|own| own.matches(&imsi)) {
            return !screen.own_titles.is_empty() && begins(&screen.own_titles, address);
        }
        let operator = longest(&screen.of_imsi, &imsi);
        let operator = operator.and_then(|it| screen.operators.get(usize::from(it)));
        operator.is_some_and(|it| !it.titles.is_empty() && begins(&it.titles, address))
    }

    /// Of a subscriber whose last place is not known, and of a title without place, nothing is
    /// said.
    fn is_at(&mut self, location: Location) -> bool {
        let Some(imsi) = self.imsi() else { return false };
        let Some(last) = self.places.last(self.now, &imsi) else { return false };
        let title = self.subject.way.calling.title;
        let Some(place) = title.and_then(|it| self.screen.place(&it.digits)) else { return false };
        match location {
            Location::Elsewhere => place != last.place,
            Location::Implausible => {
                let after = self.now.since(last.at);
                place != last.place && !self.screen.ways.is_plausible(last.place, place, after)
            }
        }
    }
}

/// Whether a title begins with one of these; none is no condition.
fn begins(patterns: &[Pattern], address: &Address) -> bool {
    let matches = |it: sccp::codec::Title| patterns.iter().any(|own| own.matches(&it.digits));
    patterns.is_empty() || address.title.is_some_and(matches)
}
