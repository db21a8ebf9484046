//! What is counted of the operations of an application: by operation, and by why something failed.
//!
//! Rows of MAP and CAP bound both: what has no name in them counts as `other`.

use crate::json::{p_abort_name, problem_name};
use crate::names::Speech;
use crate::primitive::{Code, Component, Indication, Request};
use std::collections::BTreeMap;

/// What an operation without a name counts as.
const OTHER: &str = "other";

/// What was counted of one operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Operations {
    /// The peer has asked for it.
    pub asked_there: u64,
    /// The application has asked for it.
    pub asked_here: u64,
    /// The application has answered with a result.
    pub answered_here: u64,
    /// The peer has answered with a result.
    pub answered_there: u64,
}

/// How often something failed for one cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Failures {
    /// The application said so.
    pub said_here: u64,
    /// The peer said so, or nothing came of it.
    pub said_there: u64,
}

/// The counts of an application.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    operations: BTreeMap<&'static str, Operations>,
    causes: BTreeMap<String, Failures>,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Here,
    There,
}

impl Tally {
    /// By operation.
    pub fn operations(&self) -> impl Iterator<Item = (&'static str, Operations)> + '_ {
        self.operations.iter().map(|(name, counts)| (*name, *counts))
    }

    /// By why something failed: `error/unknownSubscriber`, `reject/invoke/mistypedParameter`,
    /// `abort/resourceLimitation`, `abort/user`, `timeout`, `returned`.
    pub fn causes(&self) -> impl Iterator<Item = (&str, Failures)> + '_ {
        self.causes.iter().map(|(name, counts)| (&**name, *counts))
    }

    /// TCAP told something.
    pub(super) fn heard(&mut self, it: &Indication, speech: Speech) {
        if let Some(portion) = it.portion() {
            self.components(&portion.components, speech, Who::There);
        }
        match it {
            Indication::UAbort { .. } => self.failed("abort/user".into(), Who::There),
            Indication::PAbort { cause, .. } => {
                let name = p_abort_name(*cause);
                // A number is one that nobody has named.
                let is_named = !name.starts_with(|it: char| !it.is_ascii_alphabetic());
                let name = if is_named { &*name } else { OTHER };
                self.failed(format!("abort/{name}"), Who::There);
            }
            Indication::Notice { .. } => self.failed("returned".into(), Who::There),
            Indication::Cancel { .. } => self.failed("timeout".into(), Who::There),
            _ => {}
        }
    }

    /// The application asked for something, which was carried out.
    pub(super) fn said(&mut self, it: &Request, speech: Speech) {
        if let Some(portion) = it.portion() {
            self.components(&portion.components, speech, Who::Here);
        }
        if matches!(it, Request::UAbort { .. }) {
            self.failed("abort/user".into(), Who::Here);
        }
    }

    fn components(&mut self, all: &[Component], speech: Speech, who: Who) {
        for component in all {
            match component {
                Component::Invoke { code, .. } => {
                    let counts = self.operation(code, speech);
                    match who {
                        Who::Here => counts.asked_here += 1,
                        Who::There => counts.asked_there += 1,
                    }
                }
                Component::Result { is_last: true, result, .. } => {
                    // One without a code is of an operation that only its invoke has named.
                    let counts = match result {
                        Some((code, _)) => self.operation(code, speech),
                        None => self.operations.entry(OTHER).or_default(),
                    };
                    match who {
                        Who::Here => counts.answered_here += 1,
                        Who::There => counts.answered_there += 1,
                    }
                }
                Component::Result { .. } => {}
                Component::Error { code, .. } => {
                    let name = match code {
                        Code::Local(code) => speech.error_name(*code),
                        Code::Global(_) => None,
                    };
                    self.failed(format!("error/{}", name.unwrap_or(OTHER)), who);
                }
                Component::Reject { problem, .. } => {
                    let name = problem_name(*problem);
                    // One without a name is two numbers.
                    let is_named = !name.starts_with(|it: char| it.is_ascii_digit());
                    let name = if is_named { &*name } else { OTHER };
                    self.failed(format!("reject/{name}"), who);
                }
            }
        }
    }

    fn operation(&mut self, code: &Code, speech: Speech) -> &mut Operations {
        let name = match code {
            Code::Local(code) => speech.operation_name(*code),
            Code::Global(_) => None,
        };
        self.operations.entry(name.unwrap_or(OTHER)).or_default()
    }

    fn failed(&mut self, cause: String, who: Who) {
        let counts = self.causes.entry(cause).or_default();
        match who {
            Who::Here => counts.said_here += 1,
            Who::There => counts.said_there += 1,
        }
    }
}
