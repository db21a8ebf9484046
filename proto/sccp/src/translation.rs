//! Global title translation (Q.714 §2.4): rules as data, the longest prefix wins.

use crate::codec::{Address, Digits, Indicator, Routing, Title};
use m3ua::codec::PointCode;

/// Rules at most.
pub const RULES_MAX: usize = 1 << 21;
/// Digits: a branch each.
const BRANCHES: usize = 16;
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
    fn has(&self, title: &Title) -> bool {
        let is = |rule: Option<u8>, field: u8| rule.is_none_or(|it| it == field);
        self.indicator.is_none_or(|it| it == title.indicator)
            && is(self.translation_type, title.translation_type)
            && is(self.plan, title.plan)
            && is(self.nature, title.nature)
            && is(self.encoding, title.encoding)
    }

    /// How many fields are given: of two rules with the same digits the one that says more wins.
    fn weight(&self) -> usize {
        let octets = [self.translation_type, self.plan, self.nature, self.encoding];
        usize::from(self.indicator.is_some()) + octets.iter().flatten().count()
    }
}

/// What becomes of the title.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    pub prefix: Digits,
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

#[derive(Debug)]
struct Branch {
    next: [u32; BRANCHES],
    rule: u32,
}

const LEAF: Branch = Branch { next: [NOWHERE; BRANCHES], rule: NOWHERE };

/// The digits of the rules of one selector.
#[derive(Debug)]
struct Tree {
    selector: Selector,
    branches: Vec<Branch>,
}

impl Tree {
    fn insert(&mut self, prefix: &Digits, rule: u32) {
        let mut at = 0;
        for digit in prefix.iter() {
            let next = self.branches[at].next[usize::from(digit)];
            at = if next == NOWHERE {
                let new = self.branches.len();
                self.branches[at].next[usize::from(digit)] = machine::narrow::place(new);
                self.branches.push(LEAF);
                new
            } else {
                next as usize
            };
        }
        self.branches[at].rule = rule;
    }

    /// The rule with the longest prefix of these digits, and how long that is.
    fn find(&self, digits: &Digits) -> Option<(usize, u32)> {
        let mut found = None;
        let (mut at, mut length) = (0, 0);
        let mut digits = digits.iter();
        loop {
            let branch = &self.branches[at];
            if branch.rule != NOWHERE {
                found = Some((length, branch.rule));
            }
            let Some(digit) = digits.next() else { return found };
            let next = branch.next[usize::from(digit)];
            if next == NOWHERE {
                return found;
            }
            (at, length) = (next as usize, length + 1);
        }
    }
}

/// The rules of a node.
#[derive(Debug, Default)]
pub struct Rules {
    rules: Vec<Rule>,
    trees: Vec<Tree>,
}

impl Rules {
    /// These rules; of two with the same selector and prefix the later one is kept.
    ///
    /// # Errors
    /// The index of a rule without targets, or of one beyond [`RULES_MAX`].
    pub fn new(rules: Vec<Rule>) -> Result<Self, usize> {
        let mut all = Self::default();
        for (index, rule) in rules.iter().enumerate() {
            if rule.targets.is_empty() || index >= RULES_MAX {
                return Err(index);
            }
            let at = all.trees.iter().position(|tree| tree.selector == rule.selector);
            let at = at.unwrap_or_else(|| {
                all.trees.push(Tree { selector: rule.selector, branches: vec![LEAF] });
                all.trees.len() - 1
            });
            all.trees[at].insert(&rule.prefix, machine::narrow::place(index));
        }
        all.rules = rules;
        Ok(all)
    }

    /// The point codes that the rules lead to, some of them more than once.
    pub fn point_codes(&self) -> impl Iterator<Item = PointCode> {
        self.rules.iter().flat_map(|rule| &rule.targets).filter_map(|target| target.point_code)
    }

    /// The rule for a title: the longest prefix, then the selector that says more.
    ///
    /// # Errors
    /// Whether no rule is for such titles, or none for these digits.
    pub fn find(&self, title: &Title) -> Result<&Rule, Untranslated> {
        let mut trees = self.trees.iter().filter(|tree| tree.selector.has(title)).peekable();
        if trees.peek().is_none() {
            return Err(Untranslated::Nature);
        }
        let found = trees.filter_map(|tree| {
            let (length, rule) = tree.find(&title.digits)?;
            Some(((length, tree.selector.weight()), rule))
        });
        let (_, rule) = found.max_by_key(|it| it.0).ok_or(Untranslated::Digits)?;
        self.rules.get(rule as usize).ok_or(Untranslated::Digits)
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
