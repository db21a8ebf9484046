//! Which messages a rule takes.

use super::config::Kind;
use super::pattern::{GROUPS_MAX, Pattern, unfolded};
use super::target::Target;
use sip::{HeaderIndex, Method};

/// What the conditions of one rule caught, as places in the message.
#[derive(Debug, Clone, Copy, Default)]
pub struct Groups {
    spans: [(u16, u16); GROUPS_MAX],
    count: usize,
}

impl Groups {
    /// The octets of `$number` in the message; empty when the group caught nothing.
    #[inline]
    pub fn text<'a>(&self, message: &'a [u8], number: usize) -> &'a [u8] {
        let (start, end) = number.checked_sub(1).map_or((0, 0), |index| self.spans[index]);
        &message[start.into()..end.into()]
    }

    fn push(&mut self, start: usize, end: usize) {
        if self.count < GROUPS_MAX {
            // No message has more octets than these can tell; what lay beyond has caught nothing.
            let span = u16::try_from(start).ok().zip(u16::try_from(end).ok());
            self.spans[self.count] = span.unwrap_or((0, 0));
            self.count += 1;
        }
    }
}

/// The cheap part: kind, method, status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Requests, responses or both.
    pub kind: Kind,
    /// One bit per method; 0 takes all.
    pub methods: u32,
    /// Names of methods without a row.
    pub other_methods: Vec<Vec<u8>>,
    /// Ranges of statuses; empty takes all.
    pub statuses: Vec<(u16, u16)>,
}

impl Filter {
    /// Whether the message is of the kind, method and status asked for.
    #[inline]
    pub fn takes(&self, message: &HeaderIndex<'_>) -> bool {
        let is_kind = match self.kind {
            Kind::Any => true,
            Kind::Request => message.is_request(),
            Kind::Response => !message.is_request(),
        };
        is_kind && self.takes_method(message) && self.takes_status(message)
    }

    /// Whether it looks at the method, which a response has in its CSeq.
    pub fn has_methods(&self) -> bool {
        self.methods != 0 || !self.other_methods.is_empty()
    }

    #[inline]
    fn takes_method(&self, message: &HeaderIndex<'_>) -> bool {
        let method = message.method();
        !self.has_methods()
            || self.methods >> method as u32 & 1 == 1
            || (method == Method::Other
                && self.other_methods.iter().any(|name| name == message.method_name()))
    }

    #[inline]
    fn takes_status(&self, message: &HeaderIndex<'_>) -> bool {
        self.statuses.is_empty()
            || message.status().is_some_and(|status| {
                self.statuses.iter().any(|&(least, most)| (least..=most).contains(&status))
            })
    }
}

/// One condition, compiled.
#[derive(Debug, Clone)]
pub enum Condition {
    /// The header stands in the message, or does not.
    Present(Target, bool),
    /// A line's value matches.
    Matches(Target, Pattern),
    /// The Request-URI matches.
    Uri(Pattern),
}

impl Condition {
    /// Whether it holds; what its groups caught is appended.
    pub fn holds(&self, message: &HeaderIndex<'_>, groups: &mut Groups) -> bool {
        match self {
            Self::Present(target, wanted) => target.is_in(message) == *wanted,
            Self::Matches(target, pattern) => {
                target.lines(message).any(|line| catches(pattern, message, line.value, groups))
            }
            Self::Uri(pattern) => {
                message.request_uri().is_some_and(|uri| catches(pattern, message, uri, groups))
            }
        }
    }
}

fn catches(pattern: &Pattern, message: &HeaderIndex<'_>, text: &[u8], groups: &mut Groups) -> bool {
    let flat = unfolded(text);
    let searched = flat.as_ref().map_or(text, |(flat, _)| flat);
    if pattern.groups() == 0 {
        return pattern.is_match(searched);
    }
    let Some(caught) = pattern.find(searched, 0) else { return false };
    let base = super::splice::offset(message, text);
    let place = |at: usize| flat.as_ref().map_or(at, |(_, places)| places[at]);
    for group in 1..=pattern.groups() {
        let (start, end) = caught.span(group).unwrap_or((0, 0));
        groups.push(base + place(start), base + place(end));
    }
    true
}
