//! A rule as it is compiled: its words are numbers, its patterns are read.

use crate::config::{Do, Location, Network, Rule as Written, Subscriber};
use crate::index::{KEY_DIGITS, Operations};
use crate::names::{self, ContextId, OperationId};
use sccp::Pattern;

/// Reads a point code or a range of them: its first and its last number.
pub type ReadCodes<'a> = &'a dyn Fn(&str) -> Option<(u32, u32)>;

/// What is wrong with a word of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Where: `rule[3].operations[0]`.
    pub at: String,
    /// What.
    pub what: String,
    /// What to write instead.
    pub hint: String,
}

impl Violation {
    pub(crate) fn new(at: String, what: String, hint: impl Into<String>) -> Self {
        Self { at, what, hint: hint.into() }
    }
}

/// What becomes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It goes on.
    Pass,
    /// Nothing, but that it is counted.
    Count,
    /// It goes nowhere.
    Discard,
    /// Its sender gets the error with this number.
    Error(i64),
    /// Its sender gets a reject.
    Reject,
    /// Its sender gets an abort.
    Abort,
    /// It comes back with this cause.
    Return(u8),
}

impl Action {
    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Count => "count",
            Self::Discard => "discard",
            Self::Error(_) => "error",
            Self::Reject => "reject",
            Self::Abort => "abort",
            Self::Return(_) => "return",
        }
    }

    /// Whether the message goes no further.
    #[must_use]
    pub const fn refuses(self) -> bool {
        !matches!(self, Self::Pass | Self::Count)
    }
}

/// A rule.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) name: String,
    /// `None`: all.
    pub(crate) operations: Option<Operations>,
    pub(crate) contexts: Vec<ContextId>,
    pub(crate) calling: Vec<Pattern>,
    pub(crate) called: Vec<Pattern>,
    pub(crate) imsi: Vec<Pattern>,
    pub(crate) calling_network: Option<Network>,
    pub(crate) called_network: Option<Network>,
    pub(crate) calling_subsystems: Vec<u8>,
    pub(crate) called_subsystems: Vec<u8>,
    pub(crate) originating: Vec<(u32, u32)>,
    pub(crate) destinations: Vec<(u32, u32)>,
    pub(crate) subscriber: Option<Subscriber>,
    pub(crate) location: Option<Location>,
    pub(crate) action: Action,
}

impl Rule {
    /// Reads a rule, and pushes what is wrong with it.
    pub(crate) fn read(
        rule: &Written,
        at: &str,
        codes: ReadCodes<'_>,
        faults: &mut Vec<Violation>,
    ) -> Self {
        let mut words = Words { at, faults };
        Self {
            name: rule.name.clone(),
            operations: words.operations(&rule.operations),
            contexts: words.contexts(&rule.contexts),
            calling: words.patterns("calling", &rule.calling),
            called: words.patterns("called", &rule.called),
            imsi: words.patterns("imsi", &rule.imsi),
            calling_network: rule.calling_network,
            called_network: rule.called_network,
            calling_subsystems: rule.calling_subsystems.clone(),
            called_subsystems: rule.called_subsystems.clone(),
            originating: words.codes("originating", &rule.originating, codes),
            destinations: words.codes("destinations", &rule.destinations, codes),
            subscriber: rule.subscriber,
            location: rule.location,
            action: words.action(rule),
        }
    }

    /// Whether it holds for all that another one holds for.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let operations = match (&self.operations, &other.operations) {
            (None, _) => true,
            (Some(own), Some(other)) => own.has_all(other),
            (Some(_), None) => false,
        };
        operations
            && within(&self.contexts, &other.contexts, |own, it| it.is_of(*own))
            && within(&self.calling, &other.calling, begins)
            && within(&self.called, &other.called, begins)
            && within(&self.imsi, &other.imsi, begins)
            && within(&self.calling_subsystems, &other.calling_subsystems, u8::eq)
            && within(&self.called_subsystems, &other.called_subsystems, u8::eq)
            && within(&self.originating, &other.originating, |own, it| is_in(*own, *it))
            && within(&self.destinations, &other.destinations, |own, it| is_in(*own, *it))
            && self.calling_network.is_none_or(|it| other.calling_network == Some(it))
            && self.called_network.is_none_or(|it| other.called_network == Some(it))
            && self.subscriber.is_none_or(|it| other.subscriber == Some(it))
            && self.location.is_none_or(|it| other.location == Some(it))
    }
}

/// Whether each of the others is one of the own; none is no condition.
fn within<T>(own: &[T], others: &[T], holds: impl Fn(&T, &T) -> bool) -> bool {
    let has = |other: &T| own.iter().any(|own| holds(own, other));
    own.is_empty() || (!others.is_empty() && others.iter().all(has))
}

fn begins(own: &Pattern, other: &Pattern) -> bool {
    own == other || other.digits().is_some_and(|digits| own.matches(&digits))
}

const fn is_in(own: (u32, u32), other: (u32, u32)) -> bool {
    own.0 <= other.0 && other.1 <= own.1
}

/// The words of a rule while they are read.
struct Words<'a> {
    at: &'a str,
    faults: &'a mut Vec<Violation>,
}

impl Words<'_> {
    fn fault(&mut self, key: &str, what: String, hint: impl Into<String>) {
        self.faults.push(Violation::new(format!("{}.{key}", self.at), what, hint));
    }

    fn operations(&mut self, words: &[String]) -> Option<Operations> {
        let mut all = Operations::default();
        for (n, word) in words.iter().enumerate() {
            match OperationId::named(word) {
                Some(operations) => operations.iter().for_each(|it| all.put(it.0)),
                None => {
                    let near = names::meant(word, names::operations());
                    let hint = meant(near, "a name of TS 29.002 or TS 29.078, or `map:2`");
                    let what = format!("no operation is called `{word}`");
                    self.fault(&format!("operations[{n}]"), what, hint);
                }
            }
        }
        (!words.is_empty()).then_some(all)
    }

    fn contexts(&mut self, words: &[String]) -> Vec<ContextId> {
        let mut all = Vec::new();
        for (n, word) in words.iter().enumerate() {
            match ContextId::named(word) {
                Some(context) => all.push(context),
                None => {
                    let near = names::meant(word, names::contexts());
                    let hint =
                        meant(near, "a name of TS 29.002 §17.2, with its version behind `/`");
                    let what = format!("no application context is called `{word}`");
                    self.fault(&format!("contexts[{n}]"), what, hint);
                }
            }
        }
        all
    }

    fn patterns(&mut self, key: &str, words: &[String]) -> Vec<Pattern> {
        let mut all = Vec::new();
        for (n, word) in words.iter().enumerate() {
            match Pattern::parse(word).filter(|it| it.len() <= KEY_DIGITS) {
                Some(pattern) => all.push(pattern),
                None => self.fault(
                    &format!("{key}[{n}]"),
                    format!("`{word}` is no beginning of at most {KEY_DIGITS} digits"),
                    "write digits, `?`, `[1-3]` or `4470..4479`",
                ),
            }
        }
        all
    }

    fn codes(&mut self, key: &str, words: &[String], read: ReadCodes<'_>) -> Vec<(u32, u32)> {
        let mut all = Vec::new();
        for (n, word) in words.iter().enumerate() {
            match read(word) {
                Some(range) => all.push(range),
                None => self.fault(
                    &format!("{key}[{n}]"),
                    format!("`{word}` is no point code or range of them"),
                    "write it as `point_code_format` says",
                ),
            }
        }
        all
    }

    fn action(&mut self, rule: &Written) -> Action {
        if rule.error.is_some() && rule.action != Do::Error {
            self.fault("error", "it is for action = \"error\"".to_owned(), "leave it out");
        }
        if rule.return_cause.is_some() && rule.action != Do::Return {
            self.fault("return_cause", "it is for action = \"return\"".to_owned(), "leave it out");
        }
        if let Some(cause) = rule.return_cause.filter(|it| *it > CAUSE_MAX) {
            let hint = format!("write 0 to {CAUSE_MAX}");
            self.fault("return_cause", format!("there is no return cause {cause}"), hint);
        }
        match rule.action {
            Do::Pass => Action::Pass,
            Do::Count => Action::Count,
            Do::Discard => Action::Discard,
            Do::Reject => Action::Reject,
            Do::Abort => Action::Abort,
            // Unqualified: SCCP says no more than that.
            Do::Return => Action::Return(rule.return_cause.unwrap_or(UNQUALIFIED)),
            Do::Error => Action::Error(self.error(rule.error.as_deref())),
        }
    }

    fn error(&mut self, word: Option<&str>) -> i64 {
        let Some(word) = word else { return map::Error::SystemFailure.code() };
        let found = map::Error::named(word);
        if found.is_none() {
            let near = names::meant(word, names::errors());
            let hint = meant(near, "a name of TS 29.002 §17.6.6");
            self.fault("error", format!("no error of MAP is called `{word}`"), hint);
        }
        found.map_or(0, map::Error::code)
    }
}

/// Unqualified (Q.713 §3.12).
const UNQUALIFIED: u8 = 7;
/// Causes have seven bits (Q.713 §3.12).
const CAUSE_MAX: u8 = 0x7f;

fn meant(near: Option<&str>, otherwise: &str) -> String {
    near.map_or_else(|| format!("use {otherwise}"), |near| format!("did you mean `{near}`?"))
}
