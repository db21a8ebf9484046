//! Global title translation (Q.714 §2.4): rules as data, the longest beginning wins.

use crate::codec::{Address, Digits, Indicator, Routing, Title};
use crate::pattern::{Pattern, Shape};
use m3ua::codec::{Affected, PointCode};
use std::collections::{BTreeMap, HashMap};

/// Rules at most.
pub const RULES_MAX: usize = 1 << 21;
/// Bits of the place of a rule among so many.
const PLACE_BITS: u32 = 21;
/// Shapes of patterns with any digit in them that the rules of one selector may have: each costs a
/// look at every title.
pub const SHAPES_MAX: usize = 64;
/// Entries of tables that all patterns with choices of one kind of rules may become: as many as
/// there may be rules.
pub const CHOICES_MAX: usize = RULES_MAX;
const NOWHERE: u32 = u32::MAX;

/// Which titles a rule is for; a field that is none may be any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Selector {
    /// Which fields the title has.
    pub indicator: Option<Indicator>,
    /// Translation type.
    pub translation_type: Option<u8>,
    /// Numbering plan.
    pub plan: Option<u8>,
    /// Nature of address.
    pub nature: Option<u8>,
    /// Encoding scheme.
    pub encoding: Option<u8>,
}

impl Selector {
    /// Whether a title has these fields.
    #[must_use]
    pub fn has(&self, title: &Title) -> bool {
        let is = |rule: Option<u8>, field: u8| rule.is_none_or(|it| it == field);
        self.indicator.is_none_or(|it| it == title.indicator)
            && is(self.translation_type, title.translation_type)
            && is(self.plan, title.plan)
            && is(self.nature, title.nature)
            && is(self.encoding, title.encoding)
    }

    /// How many fields are given: of two rules with the same digits the one that says more wins.
    #[must_use]
    pub fn weight(&self) -> usize {
        let octets = [self.translation_type, self.plan, self.nature, self.encoding];
        usize::from(self.indicator.is_some()) + octets.iter().flatten().count()
    }
}

/// What becomes of the title.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Change {
    /// Digits that are taken from its front.
    pub strip: usize,
    /// Digits that are put there then.
    pub prepend: Digits,
    /// The new translation type.
    pub translation_type: Option<u8>,
    /// The new numbering plan.
    pub plan: Option<u8>,
    /// The new nature of address.
    pub nature: Option<u8>,
}

impl Change {
    /// The title changed; `None` when its digits become too many.
    fn of(&self, title: &Title) -> Option<Title> {
        let mut digits = self.prepend;
        for digit in title.digits.iter().skip(self.strip) {
            digits = digits.with(digit)?;
        }
        let title = title.with_digits(digits);
        Some(Title {
            translation_type: self.translation_type.unwrap_or(title.translation_type),
            plan: self.plan.unwrap_or(title.plan),
            nature: self.nature.unwrap_or(title.nature),
            ..title
        })
    }
}

/// One place that a rule leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Target {
    /// The point code; none: here.
    pub point_code: Option<PointCode>,
    /// The subsystem; none: the one in the address.
    pub subsystem: Option<u8>,
    /// What the next node routes by.
    pub routing: Routing,
    /// Its share of the load, where it is shared.
    pub weight: u8,
}

/// How one of several targets is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Choice {
    /// The first that can be reached.
    Backup,
    /// By weight among those that can be reached; the same SLS goes to the same one.
    Share,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Which titles.
    pub selector: Selector,
    /// What their digits begin with.
    pub prefix: Pattern,
    /// What becomes of the title.
    pub change: Change,
    /// Where to; at least one.
    pub targets: Vec<Target>,
    /// Which of them.
    pub choice: Choice,
}

/// Why there is no translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untranslated {
    /// No rule is for such titles.
    Nature,
    /// No rule has these digits.
    Digits,
    /// A rule has, and none of its targets can be reached.
    Unreachable,
}

/// What a rule says of a title that it is for. Rules that say the same share it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// What becomes of the title.
    pub change: Change,
    /// Where to; at least one.
    pub targets: Vec<Target>,
    /// Which of them.
    pub choice: Choice,
}

/// Digits that a [`Key`] has at most.
const KEY_DIGITS: usize = 15;
/// Nobody's key.
const FREE: Key = Key(u64::MAX);

/// Up to fifteen digits, the first one highest, and their number in the lowest four bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key(u64);

impl Key {
    /// The first digits of a number.
    #[inline]
    fn of(digits: &Digits) -> u64 {
        let digits = digits.iter().take(KEY_DIGITS).zip(0..);
        digits.fold(0, |key, (digit, at)| key | u64::from(digit) << (60 - 4 * at))
    }

    /// The first `length` of those, [`KEY_DIGITS`] at most.
    #[inline]
    const fn first(digits: u64, length: usize) -> Self {
        let rest = u64::MAX >> (4 * length);
        Self(digits & !rest | length as u64)
    }

    /// Where its search begins among so many slots.
    #[inline]
    fn place(self, slots: usize) -> usize {
        let mixed = (self.0 ^ self.0 >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = (u128::from(mixed) * slots as u128) >> 64;
        usize::try_from(place).unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    key: Key,
    outcome: u32,
    claim: Claim,
}

/// Which of the rules with the same digits holds: the one of the higher rank, then the later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Claim(u32);

impl Claim {
    fn of(rank: u8, place: usize) -> Self {
        Self(u32::from(rank) << PLACE_BITS | machine::narrow::place(place))
    }

    const fn rank(self) -> u32 {
        self.0 >> PLACE_BITS
    }

    const fn place(self) -> u32 {
        self.0 & ((1 << PLACE_BITS) - 1)
    }
}

/// What was found for a title.
#[derive(Debug, Clone, Copy)]
struct Found {
    length: usize,
    claim: Claim,
    outcome: u32,
}

/// A table of keys; a fifth of its slots is free.
#[derive(Debug)]
struct Table(Vec<Slot>);

impl Table {
    fn new(entries: &[Slot]) -> Self {
        let free = Slot { key: FREE, outcome: NOWHERE, claim: Claim(0) };
        let mut table = Self(vec![free; entries.len() + entries.len() / 4 + 1]);
        for entry in entries {
            let at = table.seek(entry.key);
            let slot = &mut table.0[at];
            if slot.key == FREE || entry.claim >= slot.claim {
                *slot = *entry;
            }
        }
        table
    }

    /// The slot of a key, or the free one that ends its search.
    #[inline]
    fn seek(&self, key: Key) -> usize {
        let mut at = key.place(self.0.len());
        while self.0[at].key != key && self.0[at].key != FREE {
            at = if at + 1 == self.0.len() { 0 } else { at + 1 };
        }
        at
    }

    #[inline]
    fn get(&self, key: Key) -> Option<Slot> {
        let slot = self.0[self.seek(key)];
        (slot.key != FREE).then_some(slot)
    }
}

/// The patterns of the rules of one selector. Those that are beginnings lie by length in one table:
/// of a title each length is looked up by itself, one visit to memory each, and the processor makes
/// them side by side. Those with any digit in some place have a table for each shape.
#[derive(Debug)]
struct Prefixes {
    selector: Selector,
    table: Table,
    /// Bit n: there are beginnings of n digits in the table.
    lengths: u16,
    /// The longest first.
    shapes: Vec<(Shape, Table)>,
    /// Beginnings of more digits than a key has.
    long: BTreeMap<Digits, (Claim, u32)>,
}

/// A pattern, the place of its rule, and what that says.
type Placed = (Pattern, usize, u32);

impl Prefixes {
    /// # Errors
    /// The place of the rule whose shape is one too many.
    fn new(selector: Selector, patterns: &[Placed]) -> Result<Self, usize> {
        let mut beginnings = Vec::with_capacity(patterns.len());
        let mut shapes: BTreeMap<Shape, Vec<Slot>> = BTreeMap::new();
        let (mut long, mut lengths) = (BTreeMap::new(), 0);
        for (pattern, place, outcome) in patterns {
            let claim = Claim::of(pattern.rank(), *place);
            if let Some(digits) = pattern.digits().filter(|it| it.len() > KEY_DIGITS) {
                long.insert(digits, (claim, *outcome));
                continue;
            }
            for entry in pattern.entries() {
                let length = usize::from(entry.shape.length);
                let slot = Slot { key: Key::first(entry.digits, length), outcome: *outcome, claim };
                if entry.shape.is_beginning() {
                    lengths |= 1 << length;
                    beginnings.push(slot);
                    continue;
                }
                if shapes.len() >= SHAPES_MAX && !shapes.contains_key(&entry.shape) {
                    return Err(*place);
                }
                shapes.entry(entry.shape).or_default().push(slot);
            }
        }
        let shapes = shapes.into_iter().rev().map(|(shape, all)| (shape, Table::new(&all)));
        let (table, shapes) = (Table::new(&beginnings), shapes.collect());
        Ok(Self { selector, table, lengths, shapes, long })
    }

    /// The best pattern of these digits: the longest, then the one with the better claim.
    fn find(&self, digits: &Digits) -> Option<Found> {
        let long = || {
            let lengths = (KEY_DIGITS + 1..=digits.len()).rev();
            lengths.map(|it| digits.first(it)).find_map(|it| {
                let (claim, outcome) = *self.long.get(&it)?;
                Some(Found { length: it.len(), claim, outcome })
            })
        };
        if !self.long.is_empty()
            && let Some(found) = long()
        {
            return Some(found);
        }
        let all = Key::of(digits);
        let lengths = (0..=digits.len().min(KEY_DIGITS)).rev();
        let best = lengths.filter(|length| self.lengths >> length & 1 == 1).find_map(|length| {
            let Slot { claim, outcome, .. } = self.table.get(Key::first(all, length))?;
            Some(Found { length, claim, outcome })
        });
        if self.shapes.is_empty() { best } else { self.shaped(all, digits.len(), best) }
    }

    /// The same among the patterns with any digit in them, where `best` is the one of the others.
    fn shaped(&self, all: u64, count: usize, mut best: Option<Found>) -> Option<Found> {
        for (shape, table) in &self.shapes {
            let length = usize::from(shape.length);
            if best.is_some_and(|best| best.length > length) {
                break;
            }
            if count < length {
                continue;
            }
            let found = table.get(Key::first(all & shape.mask, length));
            let Some(Slot { claim, outcome, .. }) = found else { continue };
            if best.is_none_or(|best| (best.length, best.claim) < (length, claim)) {
                best = Some(Found { length, claim, outcome });
            }
        }
        best
    }
}

/// The rules of a node.
#[derive(Debug, Default)]
pub struct Rules {
    outcomes: Vec<Outcome>,
    prefixes: Vec<Prefixes>,
    /// Where they lead to, in order, each once.
    point_codes: Vec<PointCode>,
    /// Those for the titles of who calls.
    calling: Option<Box<Rules>>,
}

impl Rules {
    /// These rules; of two with the same selector and pattern the later one is kept.
    ///
    /// # Errors
    /// The index of a rule without targets, of one beyond [`RULES_MAX`], of one whose choices are
    /// beyond [`CHOICES_MAX`], or of one whose pattern has a shape beyond [`SHAPES_MAX`].
    pub fn new(rules: Vec<Rule>) -> Result<Self, usize> {
        let mut outcomes: IndexOf<Outcome> = IndexOf::new();
        let mut prefixes: BTreeMap<Selector, Vec<Placed>> = BTreeMap::new();
        let mut choices = 0;
        for (index, rule) in rules.into_iter().enumerate() {
            if rule.prefix.digits().is_none() {
                choices += rule.prefix.size();
            }
            if rule.targets.is_empty() || index >= RULES_MAX || choices > CHOICES_MAX {
                return Err(index);
            }
            let Rule { selector, prefix, change, targets, choice } = rule;
            let outcome = outcomes.place(Outcome { change, targets, choice });
            prefixes.entry(selector).or_default().push((prefix, index, outcome));
        }
        let prefixes = prefixes.into_iter().map(|(selector, all)| Prefixes::new(selector, &all));
        let (prefixes, outcomes) = (prefixes.collect::<Result<_, _>>()?, outcomes.all);
        let targets = outcomes.iter().flat_map(|it: &Outcome| &it.targets);
        let mut point_codes: Vec<PointCode> = targets.filter_map(|it| it.point_code).collect();
        point_codes.sort_unstable();
        point_codes.dedup();
        Ok(Self { outcomes, prefixes, point_codes, calling: None })
    }

    /// The same with rules for the titles of who calls (Q.714 §2.7.5): in what leaves this node
    /// they are changed, and the subsystem of the first target is put in.
    #[must_use]
    pub fn with_calling(self, rules: Self) -> Self {
        Self { calling: Some(Box::new(rules)), ..self }
    }

    /// The address of who calls as it is written to another node.
    #[must_use]
    pub fn calling(&self, address: &Address) -> Address {
        let title = address.title.as_ref();
        let rules = self.calling.as_deref().zip(title);
        let changed = rules.and_then(|(rules, title)| {
            let outcome = rules.find(title).ok()?;
            let subsystem = outcome.targets.first().and_then(|it| it.subsystem);
            Some((outcome.change.of(title)?, subsystem))
        });
        match changed {
            Some((title, subsystem)) => Address {
                title: Some(title),
                subsystem: subsystem.or(address.subsystem),
                ..*address
            },
            None => *address,
        }
    }

    /// Octets that the digits take.
    #[must_use]
    pub fn octets(&self) -> usize {
        let shapes = |it: &Prefixes| it.shapes.iter().map(|(_, it)| it.0.len()).sum::<usize>();
        let slots = self.prefixes.iter().map(|it| it.table.0.len() + shapes(it));
        slots.sum::<usize>() * core::mem::size_of::<Slot>()
    }

    /// The point codes of a range that the rules lead to, in order.
    #[must_use]
    pub fn point_codes(&self, range: Affected) -> &[PointCode] {
        let (first, last) = range.bounds();
        let begin = self.point_codes.partition_point(|it| *it < first);
        let end = self.point_codes.partition_point(|it| *it <= last);
        &self.point_codes[begin..end]
    }

    /// What the rule for a title says: the longest pattern, of those the one of the highest rank,
    /// then the selector that says more, then the later rule.
    ///
    /// # Errors
    /// Whether no rule is for such titles, or none for these digits.
    pub fn find(&self, title: &Title) -> Result<&Outcome, Untranslated> {
        let mut all = self.prefixes.iter().filter(|it| it.selector.has(title)).peekable();
        if all.peek().is_none() {
            return Err(Untranslated::Nature);
        }
        let found = all.filter_map(|it| {
            let Found { length, claim, outcome } = it.find(&title.digits)?;
            Some(((length, claim.rank(), it.selector.weight(), claim.place()), outcome))
        });
        let (_, outcome) = found.max_by_key(|it| it.0).ok_or(Untranslated::Digits)?;
        self.outcomes.get(outcome as usize).ok_or(Untranslated::Digits)
    }

    /// Translates an address for a message with that SLS: the new address, whose point code is
    /// where it goes; none: it stays here.
    ///
    /// # Errors
    /// Why there is no translation.
    pub fn translate(
        &self,
        address: &Address,
        sls: u8,
        can_reach: impl Fn(&Target, Option<u8>) -> bool,
    ) -> Result<Address, Untranslated> {
        let title = address.title.as_ref().ok_or(Untranslated::Nature)?;
        let rule = self.find(title)?;
        let subsystem = |target: &Target| target.subsystem.or(address.subsystem);
        let is_open = |target: &&Target| can_reach(target, subsystem(target));
        let open = rule.targets.iter().filter(is_open);
        let target = match rule.choice {
            Choice::Backup => open.clone().next(),
            Choice::Share => share(open.clone(), sls),
        };
        let target = target.ok_or(Untranslated::Unreachable)?;
        Ok(Address {
            routing: target.routing,
            point_code: target.point_code,
            subsystem: subsystem(target),
            title: Some(rule.change.of(title).ok_or(Untranslated::Digits)?),
        })
    }
}

/// Values by their place, each once.
struct IndexOf<T> {
    all: Vec<T>,
    places: HashMap<T, u32>,
}

impl<T: Clone + Eq + core::hash::Hash> IndexOf<T> {
    fn new() -> Self {
        Self { all: Vec::new(), places: HashMap::new() }
    }

    fn place(&mut self, value: T) -> u32 {
        if let Some(place) = self.places.get(&value) {
            return *place;
        }
        let place = machine::narrow::place(self.all.len());
        self.all.push(value.clone());
        self.places.insert(value, place);
        place
    }
}

/// Shares 256 values of SLS, mixed so that sixteen in a row are shared as well, by the weights.
fn share<'a>(mut open: impl Iterator<Item = &'a Target> + Clone, sls: u8) -> Option<&'a Target> {
    let sum: u32 = open.clone().map(|target| u32::from(target.weight)).sum();
    if sum == 0 {
        return open.next();
    }
    let mut left = u32::from(sls.reverse_bits()) * sum / 256;
    open.find(|target| {
        let weight = u32::from(target.weight);
        let is_it = left < weight;
        left = left.saturating_sub(weight);
        is_it
    })
}
