//! A file as it is played: names are numbers, what can be known before is known.

use crate::file::{Awaited, Load, Order, Role, Sent};
use crate::filter::Filter;
use crate::path::Path;
use crate::table::Table;
use crate::template::Template;
use bytes::Bytes;
use machine::Duration;
use sccp::codec::Address;
use std::sync::Arc;

/// Dialogues of one play, at most.
pub(crate) const DIALOGUES_MAX: usize = 4;

/// What is played.
#[derive(Debug)]
pub struct Program {
    /// The file's name for it.
    pub name: String,
    /// What it plays.
    pub about: String,
    /// How often, and for how long.
    pub load: Load,
    /// Who takes part.
    pub roles: Vec<Role>,
    pub(crate) tables: Vec<Table>,
    pub(crate) scenarios: Vec<Scenario>,
    /// By role: whether one of its steps calls by SIP.
    pub(crate) calls: Vec<bool>,
    /// By role: the scenarios that begin by waiting, in their order.
    pub(crate) answers: Vec<Vec<usize>>,
}

impl Program {
    /// The role of that name.
    #[must_use]
    pub fn role(&self, name: &str) -> Option<usize> {
        self.roles.iter().position(|it| it.name == name)
    }

    /// Whether a role is one of SIP.
    pub(crate) fn is_sip(&self, role: usize) -> bool {
        let at = self.roles.get(role).and_then(|it| it.at.as_deref());
        at.is_some_and(|it| it.starts_with("sip:"))
    }

    /// Whether one of these roles begins something.
    #[must_use]
    pub fn begins(&self, is_here: &dyn Fn(usize) -> bool) -> bool {
        self.scenarios.iter().any(|it| it.begins && is_here(it.role))
    }
}

#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) weight: u32,
    /// Who plays it.
    pub(crate) role: usize,
    /// Whether it begins, or answers.
    pub(crate) begins: bool,
    pub(crate) table: Option<usize>,
    pub(crate) order: Order,
    /// The roles of its dialogues.
    pub(crate) dialogues: Vec<usize>,
    /// How many values are captured.
    pub(crate) captured: usize,
    /// The tables of its rows.
    pub(crate) rows: Vec<usize>,
    pub(crate) steps: Vec<Step>,
    /// Times that are measured by a name.
    pub(crate) times: Vec<String>,
}

#[derive(Debug)]
pub(crate) enum Step {
    Send(Send),
    Await(Box<Await>),
    /// At least and at most.
    Pause(Duration, Duration),
}

/// Something that is sent: known before, or made each time.
#[derive(Debug)]
pub(crate) enum Made<T> {
    Fixed(T),
    Each(Template, Number),
}

/// Numbers templates of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Number(pub(crate) usize);

impl<T> Made<T> {
    /// Gives it the next number.
    fn count(&mut self, next: &mut usize) {
        if let Self::Each(_, number) = self {
            *number = Number(*next);
            *next += 1;
        }
    }
}

/// A message that is sent.
#[derive(Debug)]
pub(crate) struct Send {
    pub(crate) kind: Sent,
    pub(crate) dialogue: usize,
    pub(crate) context: Option<Bytes>,
    /// Called and calling.
    pub(crate) addresses: Option<(Made<Address>, Made<Address>)>,
    pub(crate) information: Option<Made<Bytes>>,
    pub(crate) components: Vec<Sending>,
    /// Who calls by SIP.
    pub(crate) subscriber: Option<Template>,
}

/// Numbers all templates of these scenarios.
pub(crate) fn number(scenarios: &mut [Scenario]) {
    let mut next = 0;
    for step in scenarios.iter_mut().flat_map(|it| &mut it.steps) {
        let Step::Send(send) = step else { continue };
        if let Some((called, calling)) = &mut send.addresses {
            called.count(&mut next);
            calling.count(&mut next);
        }
        send.components.iter_mut().for_each(|it| it.is.count(&mut next));
    }
}

/// Which invoke identifier a component has.
#[derive(Debug)]
pub(crate) enum Identifier {
    /// The next one of the dialogue.
    Next,
    /// That of the peer's operation of this name, which it answers; none: that came last.
    Answers(Option<Arc<str>>),
    /// A value.
    Is(Template),
}

/// A component that is sent.
#[derive(Debug)]
pub(crate) struct Sending {
    pub(crate) id: Identifier,
    /// The operation that is asked for.
    pub(crate) operation: Option<Arc<str>>,
    /// The peer's operation that it is linked to.
    pub(crate) linked: Option<Arc<str>>,
    /// The component, its identifiers apart.
    pub(crate) is: Made<tcu::Component>,
}

/// What is to stand at a path.
#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) word: String,
    pub(crate) path: Path,
    pub(crate) is: Template,
}

/// What is taken from a path.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) word: String,
    pub(crate) path: Path,
    pub(crate) filters: Vec<Filter>,
    pub(crate) into: usize,
}

/// Kinds of components.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ComponentKind {
    Invoke,
    Result,
    Error,
    Reject,
}

/// A component that is waited for.
#[derive(Debug)]
pub(crate) struct Expected {
    pub(crate) kind: ComponentKind,
    /// Operation, error or problem.
    pub(crate) name: Arc<str>,
    pub(crate) checks: Vec<Check>,
    pub(crate) captures: Vec<Capture>,
}

/// A row that is looked for.
#[derive(Debug)]
pub(crate) struct Find {
    pub(crate) table: usize,
    pub(crate) column: usize,
    pub(crate) is: Template,
    /// Which of the play's rows it becomes.
    pub(crate) row: usize,
    /// For who reads that there is none.
    pub(crate) word: String,
}

/// A message that is waited for.
#[derive(Debug)]
pub(crate) struct Await {
    pub(crate) kind: Awaited,
    pub(crate) dialogue: usize,
    pub(crate) context: Option<Bytes>,
    pub(crate) components: Vec<Expected>,
    pub(crate) checks: Vec<Check>,
    pub(crate) captures: Vec<Capture>,
    pub(crate) find: Option<Find>,
    pub(crate) within: Duration,
    pub(crate) time: Option<usize>,
}

impl Await {
    /// Whether it looks into the message, beyond the names of its components.
    pub(crate) fn looks_inside(&self) -> bool {
        let inside = |it: &Expected| {
            !it.checks.is_empty() || !it.captures.is_empty() || it.kind == ComponentKind::Reject
        };
        !self.checks.is_empty() || !self.captures.is_empty() || self.components.iter().any(inside)
    }
}
