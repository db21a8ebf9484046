//! Header manipulation: rules in the configuration, compiled once, applied where messages cross
//! the border of a realm.
//!
//! ```text
//! [[ssc.rule]]           realm, direction, message, method, status   which messages
//! [[ssc.rule.when]]      header/present/matches, uri                 conditions, with groups
//! [[ssc.rule.do]]        add set remove replace rename uri_… reason  what is done
//! ```
//! Rules run in their order and each sees what those before it did. All that do not look at each
//! other's headers go into one pass: the message is copied once, spliced where something changes,
//! every other octet as it came. A body is never touched, so Content-Length stays right.
//!
//! A new action is a row in [`RuleConfig`]'s `do` (`config.rs`) and an arm in
//! `action.rs`.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod action;
mod compile;
mod condition;
mod config;
mod pattern;
mod plain;
mod splice;
mod target;
mod template;

pub use compile::Violation;
pub use config::{
    Action as ActionConfig, Condition as ConditionConfig, Direction, Kind, RuleConfig,
};
pub use pattern::pattern_fault;

use action::Action;
use condition::{Condition, Filter, Groups};
use plain::Plain;
use sip::{HeaderIndex, HeaderSet, Lines, MESSAGE_BYTES_MAX, NameFilter};
use splice::Splices;

/// What the rules made of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a message that the rules could not be applied to may not go on"]
pub enum Applied {
    /// No rule changes it; nothing was appended.
    Unchanged,
    /// The changed message was appended.
    Changed,
    /// Some rule could not be applied: the message is none, or has more lines or octets than one
    /// may have once it is changed. Nothing was appended; the message must not go on unchanged.
    Failed,
}

/// All rules of a function.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    rules: Vec<Rule>,
    /// By realm and direction: numbers of rules in their order.
    slots: Vec<Vec<u16>>,
    /// By realm and direction: with which letters the lines begin that those rules look at.
    initials: Vec<NameFilter>,
    /// By realm and direction: the same rules where all of them do the same to every message.
    plain: Vec<Option<Plain>>,
}

/// One rule, compiled.
#[derive(Debug, Clone)]
struct Rule {
    filter: Filter,
    conditions: Vec<Condition>,
    actions: Vec<Action>,
    /// What it looks at or changes, one bit per header.
    touches: HeaderSet,
    /// The same as letters.
    initials: NameFilter,
}

/// Room for the changes of one message; kept between messages so that nothing is allocated.
#[derive(Debug, Default)]
pub struct Scratch {
    splices: Splices,
    lines: Lines,
}

const fn slot(realm: u16, direction: Direction) -> usize {
    2 * realm as usize + matches!(direction, Direction::Out) as usize
}

impl Rules {
    fn numbers(&self, realm: u16, direction: Direction) -> &[u16] {
        self.slots.get(slot(realm, direction)).map_or(&[], Vec::as_slice)
    }

    /// Whether any rule stands at this border.
    #[must_use]
    #[inline]
    pub fn has_any(&self, realm: u16, direction: Direction) -> bool {
        !self.numbers(realm, direction).is_empty()
    }

    /// Whether a rule takes messages like this one; cheap, conditions are not looked at.
    #[must_use]
    pub fn applies<'m>(
        &self,
        realm: u16,
        direction: Direction,
        message: impl Into<HeaderIndex<'m>>,
    ) -> bool {
        let message = message.into();
        self.numbers(realm, direction)
            .iter()
            .any(|&number| self.rules[usize::from(number)].filter.takes(&message))
    }

    /// Appends the message as the rules change it.
    pub fn apply<'m>(
        &self,
        realm: u16,
        direction: Direction,
        message: impl Into<HeaderIndex<'m>>,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Applied {
        let numbers = self.numbers(realm, direction);
        self.change(numbers, &message.into(), &mut scratch.splices, out)
    }

    /// The same for a message that is not read yet: only the lines are, that the rules look at.
    pub fn apply_unread(
        &self,
        realm: u16,
        direction: Direction,
        message: &[u8],
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Applied {
        let slot = slot(realm, direction);
        if let Some(Some(plain)) = self.plain.get(slot) {
            return plain.apply(message, out);
        }
        let wanted = self.initials.get(slot).copied().unwrap_or_default();
        let Some(message) = scratch.lines.read(message, wanted) else { return Applied::Failed };
        self.change(self.numbers(realm, direction), &message, &mut scratch.splices, out)
    }

    fn change(
        &self,
        numbers: &[u16],
        message: &HeaderIndex<'_>,
        splices: &mut Splices,
        out: &mut Vec<u8>,
    ) -> Applied {
        let begin = out.len();
        let rest = self.pass(numbers, message, splices);
        if splices.is_unfit() {
            return Applied::Failed;
        }
        if rest.is_empty() {
            if splices.len() == 0 {
                return Applied::Unchanged;
            }
            splices.apply(message.raw(), out);
        } else {
            let mut bytes = Vec::new();
            splices.apply(message.raw(), &mut bytes);
            let Some(bytes) = self.apply_rest(rest, bytes, splices) else { return Applied::Failed };
            out.extend_from_slice(&bytes);
        }
        bounded(begin, out)
    }

    /// The rules that look at what those before them changed: they get the message anew. `None`
    /// when that cannot be read any more.
    fn apply_rest(
        &self,
        mut rest: &[u16],
        mut bytes: Vec<u8>,
        splices: &mut Splices,
    ) -> Option<Vec<u8>> {
        let mut lines = Lines::default();
        while !rest.is_empty() {
            let message = lines.read(&bytes, NameFilter::ALL)?;
            rest = self.pass(rest, &message, splices);
            if splices.is_unfit() {
                return None;
            }
            let mut next = Vec::new();
            splices.apply(&bytes, &mut next);
            bytes = next;
        }
        Some(bytes)
    }

    /// Plans the changes of as many rules as can share a pass; returns those that cannot.
    fn pass<'r>(
        &self,
        numbers: &'r [u16],
        message: &HeaderIndex<'_>,
        splices: &mut Splices,
    ) -> &'r [u16] {
        splices.clear();
        let mut changed = HeaderSet::default();
        for (position, &number) in numbers.iter().enumerate() {
            let rule = &self.rules[usize::from(number)];
            if !rule.filter.takes(message) {
                continue;
            }
            if rule.touches.meets(changed) {
                return &numbers[position..];
            }
            let mut groups = Groups::default();
            if !rule.conditions.iter().all(|condition| condition.holds(message, &mut groups)) {
                continue;
            }
            for action in &rule.actions {
                if action.plan(message, &groups, splices) {
                    changed = changed.and(action.bits());
                }
            }
        }
        &[]
    }
}

/// The changed message that begins at `begin`, taken back if it is longer than a message may be.
fn bounded(begin: usize, out: &mut Vec<u8>) -> Applied {
    if out.len() - begin <= MESSAGE_BYTES_MAX {
        return Applied::Changed;
    }
    out.truncate(begin);
    Applied::Failed
}
