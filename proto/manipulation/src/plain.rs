//! Rules that do the same to whatever passes: no conditions, no groups, no kinds of messages. The
//! message is copied once, changed where its lines are met.

use super::action::Action;
use super::condition::Filter;
use super::target::Target;
use super::template::Template;
use super::{Applied, Rule, bounded};
use sip::{HeadStep, HeadWalk, Header, HeaderSet, Line, NameFilter};

/// Headers that such rules may change: one bit for each.
const EDITS_MAX: usize = u64::BITS as usize;

/// All rules of one border, when they are of that kind.
#[derive(Debug, Clone)]
pub struct Plain {
    initials: NameFilter,
    edits: Vec<Edit>,
    tails: Vec<Tail>,
}

/// What is done to the lines of one header.
#[derive(Debug, Clone)]
struct Edit {
    target: Target,
    change: Change,
}

#[derive(Debug, Clone)]
enum Change {
    /// Nothing; it counts that there is one.
    Keep,
    /// No line.
    Drop,
    /// The first line gets this value, no other stays.
    Value(Vec<u8>),
}

/// A line behind all others, unless one was met that the edit of this number is about.
#[derive(Debug, Clone)]
struct Tail {
    unless: Option<usize>,
    line: Vec<u8>,
}

impl Plain {
    /// The rules of one border in their order; `None` when one looks at the message, or at what
    /// one before it changed.
    pub fn new<'r>(rules: impl Iterator<Item = &'r Rule>) -> Option<Self> {
        let mut plain = Self { initials: NameFilter::NONE, edits: Vec::new(), tails: Vec::new() };
        let mut changed = HeaderSet::default();
        for rule in rules {
            let is_plain = rule.conditions.is_empty() && rule.filter == Filter::default();
            if !is_plain || rule.touches.meets(changed) {
                return None;
            }
            plain.initials = plain.initials.and(rule.initials);
            for action in &rule.actions {
                plain.enter(action)?;
                changed = changed.and(action.bits());
            }
        }
        (plain.edits.len() <= EDITS_MAX).then_some(plain)
    }

    fn enter(&mut self, action: &Action) -> Option<()> {
        match action {
            Action::Add(target, value) if action.only_adds() => self.add(None, target, value),
            Action::Add(target, value) => {
                self.add(Some(self.edits.len()), target, value)?;
                self.edit(target, Change::Keep)
            }
            Action::Set(target, value) if !is_end(target) => {
                self.add(Some(self.edits.len()), target, value)?;
                self.edit(target, Change::Value(value.constant()?.to_vec()))
            }
            Action::Remove(target) => self.edit(target, Change::Drop),
            _ => None,
        }
    }

    fn add(&mut self, unless: Option<usize>, target: &Target, value: &Template) -> Option<()> {
        let line = [&target.name[..], b": ", value.constant()?, b"\r\n"].concat();
        self.tails.push(Tail { unless, line });
        Some(())
    }

    fn edit(&mut self, target: &Target, change: Change) -> Option<()> {
        self.edits.push(Edit { target: target.clone(), change });
        Some(())
    }

    /// Appends the message as the rules change it.
    pub fn apply(&self, message: &[u8], out: &mut Vec<u8>) -> Applied {
        let begin = out.len();
        let applied = match self.copy(message, out) {
            Some(true) => return bounded(begin, out),
            Some(false) => Applied::Unchanged,
            None => Applied::Failed,
        };
        out.truncate(begin);
        applied
    }

    fn copy(&self, message: &[u8], out: &mut Vec<u8>) -> Option<bool> {
        let mut walk = HeadWalk::new(message, self.initials).ok()?;
        let (mut met, mut copied, mut is_changed) = (0u64, 0, false);
        let end = loop {
            let (line, at) = match walk.step().ok()? {
                HeadStep::Line(line, at) => (line, at),
                HeadStep::End(end) => break end,
            };
            let is_meant = |edit: &Edit| edit.target.is(&line);
            let Some(number) = self.edits.iter().position(is_meant) else { continue };
            let is_first = met >> number & 1 == 0;
            met |= 1 << number;
            match &self.edits[number].change {
                Change::Keep => continue,
                Change::Value(value) if is_first => {
                    let from = line.value.as_ptr() as usize - message.as_ptr() as usize;
                    out.extend_from_slice(&message[copied..from]);
                    out.extend_from_slice(value);
                    copied = from + line.value.len();
                }
                Change::Value(_) | Change::Drop => {
                    out.extend_from_slice(&message[copied..at]);
                    copied = at + line.raw.len();
                }
            }
            is_changed = true;
        };
        out.extend_from_slice(&message[copied..end]);
        for tail in &self.tails {
            if tail.unless.is_none_or(|number| met >> number & 1 == 0) {
                out.extend_from_slice(&tail.line);
                is_changed = true;
            }
        }
        out.extend_from_slice(&message[end..]);
        Some(is_changed)
    }
}

/// Whether it names an end of the dialog, of which only a part may change.
const fn is_end(target: &Target) -> bool {
    matches!(target.header, Header::From | Header::To)
}

impl Target {
    /// Whether a line is of the header.
    #[inline]
    fn is(&self, line: &Line<'_>) -> bool {
        line.header == self.header
            && (self.header != Header::Unknown || line.name.eq_ignore_ascii_case(&self.name))
    }
}
