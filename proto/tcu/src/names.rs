//! The names of application contexts, operations and errors, by the rows of MAP and CAP.

use crate::primitive::{Code, Component};
use ber::Oid;
use map::negotiation::{Verdict, judge};
use tcap::OperationClass;
use tcap::operation::{Parameter, Signature};

/// How long an answer may take where nothing says it, milliseconds.
const TIME_MS: u32 = 30_000;

/// Whose operations a dialogue has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Speech {
    /// Nobody's that is known here: operations are numbers, parameters octets.
    #[default]
    Unknown,
    /// Those of MAP, in that version of the context.
    Map(map::Context, u8),
    /// Those of CAP, in that phase.
    Cap(cap::Context, u8),
}

/// Which of the parameters of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Argument,
    Result,
}

impl Speech {
    /// That of a dialogue with this application context, by its contents octets.
    #[must_use]
    pub fn of_context(context: &[u8]) -> Self {
        if let Some((context, version)) = map::Context::of_oid(context) {
            return Self::Map(context, version);
        }
        match cap::Context::of_oid(context) {
            Some((context, phase)) => Self::Cap(context, phase),
            None => Self::Unknown,
        }
    }

    /// Contents octets of its application context, where it has one.
    pub(crate) fn context(self) -> Option<Vec<u8>> {
        match self {
            Self::Map(context, version) => Some(context.oid(version).to_vec()),
            Self::Cap(context, phase) => context.phase(phase).map(|it| it.oid.to_vec()),
            Self::Unknown => None,
        }
    }

    /// Whether that is its application context.
    pub(crate) fn has_context(self, octets: &[u8]) -> bool {
        match self {
            Self::Map(context, version) => context.oid(version) == *octets,
            Self::Cap(context, phase) => context.phase(phase).is_some_and(|it| it.oid == *octets),
            Self::Unknown => false,
        }
    }

    /// That of a dialogue that begins so. Without a dialogue portion it is version 1 of MAP, whose
    /// contexts are known by their first operation (TS 29.002 §15.2.2).
    #[must_use]
    pub fn of(context: Option<&[u8]>, components: &[Component]) -> Self {
        match context {
            Some(context) => Self::of_context(context),
            None => match components.first() {
                Some(Component::Invoke { code: Code::Local(code), .. }) => Self::first(Some(*code)),
                _ => Self::Unknown,
            },
        }
    }

    /// That of a dialogue without a portion whose first operation has that number.
    #[must_use]
    pub fn first(code: Option<i64>) -> Self {
        match judge(None, code, |_, _| true) {
            Verdict::Accept(context, version) => Self::Map(context, version),
            _ => Self::Unknown,
        }
    }

    /// That of a dialogue without a portion whose first operation has that name.
    pub(crate) fn first_named(name: &str) -> Self {
        Self::first(map::Operation::named(name).map(map::Operation::code))
    }

    /// The name of an operation; none: it is none of those that the dialogue has.
    #[must_use]
    pub fn operation_name(self, code: i64) -> Option<&'static str> {
        match self {
            Self::Map(_, version) => {
                let row = map::Operation::of(code)?;
                row.signature(version).map(|_| row.name())
            }
            Self::Cap(_, phase) => {
                let row = cap::Operation::of(code)?;
                row.signature(phase).map(|_| row.name())
            }
            Self::Unknown => None,
        }
    }

    pub(crate) fn operation(self, name: &str) -> Option<i64> {
        let code = match self {
            Self::Map(..) => map::Operation::named(name)?.code(),
            Self::Cap(..) => cap::Operation::named(name)?.code(),
            Self::Unknown => return None,
        };
        self.operation_name(code).map(|_| code)
    }

    /// The name of an error.
    #[must_use]
    pub fn error_name(self, code: i64) -> Option<&'static str> {
        match self {
            Self::Map(..) => map::Error::of(code).map(map::Error::name),
            Self::Cap(..) => cap::Error::of(code).map(cap::Error::name),
            Self::Unknown => None,
        }
    }

    pub(crate) fn error(self, name: &str) -> Option<i64> {
        match self {
            Self::Map(..) => map::Error::named(name).map(map::Error::code),
            Self::Cap(..) => cap::Error::named(name).map(cap::Error::code),
            Self::Unknown => None,
        }
    }

    /// What an operation of that number is asked with.
    #[must_use]
    pub fn argument(self, code: i64) -> Option<Parameter> {
        self.parameter(code, Which::Argument)
    }

    /// What it is answered with.
    #[must_use]
    pub fn result(self, code: i64) -> Option<Parameter> {
        self.parameter(code, Which::Result)
    }

    /// What an operation is asked or answered with.
    pub(crate) fn parameter(self, code: i64, which: Which) -> Option<Parameter> {
        fn pick<E>(it: &Signature<E>, which: Which) -> Option<Parameter> {
            match which {
                Which::Argument => it.argument,
                Which::Result => it.result,
            }
        }
        match self {
            Self::Map(_, version) => {
                map::Operation::of(code)?.signature(version).and_then(|it| pick(it, which))
            }
            Self::Cap(_, phase) => {
                cap::Operation::of(code)?.signature(phase).and_then(|it| pick(it, which))
            }
            Self::Unknown => None,
        }
    }

    /// What is said about an error.
    pub(crate) fn of_error(self, code: i64) -> Option<Parameter> {
        match self {
            Self::Map(_, version) => map::Error::of(code)?.parameter(version),
            Self::Cap(_, phase) => cap::Error::of(code)?.parameter(phase),
            Self::Unknown => None,
        }
    }

    /// Which answers an operation has, and how long they may take, milliseconds: as its row says at
    /// most.
    pub(crate) fn expects(self, code: &Code) -> (OperationClass, u32) {
        let ms = |time: machine::Duration| u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
        let Code::Local(code) = code else { return (OperationClass::One, TIME_MS) };
        let row = match self {
            Self::Map(_, version) => map::Operation::of(*code)
                .and_then(|row| row.signature(version).map(|it| (it.class, ms(row.timer().max)))),
            Self::Cap(_, phase) => cap::Operation::of(*code)
                .and_then(|row| row.signature(phase).map(|it| (it.class, ms(row.timer().max)))),
            Self::Unknown => None,
        };
        row.unwrap_or((OperationClass::One, TIME_MS))
    }
}

/// An application context as people write it: `shortMsgGatewayContext-v3`, or digits and dots where
/// there is no name that leads back to it.
#[must_use]
pub fn context_name(contents: &[u8]) -> String {
    let name = match Speech::of_context(contents) {
        Speech::Map(context, version) => Some(format!("{}-v{version}", context.name())),
        Speech::Cap(context, phase) => Some(format!("{}-v{phase}", context.name())),
        Speech::Unknown => None,
    };
    let leads_back = |it: &String| context_of(it).is_some_and(|octets| octets == contents);
    name.filter(leads_back)
        .unwrap_or_else(|| Oid::new(contents).map(|oid| oid.to_string()).unwrap_or_default())
}

/// The contents octets of the context of that name.
pub(crate) fn context_of(name: &str) -> Option<Vec<u8>> {
    if name.starts_with(|it: char| it.is_ascii_digit()) {
        return ber::parse_oid(name);
    }
    let (name, version) = name.rsplit_once("-v")?;
    let version: u8 = version.parse().ok().filter(|it| (1..=4).contains(it))?;
    if let Some(context) = map::Context::ALL.iter().find(|it| it.name() == name) {
        return Some(context.oid(version).to_vec());
    }
    let context = cap::Context::ALL.iter().find(|it| it.name() == name)?;
    context.phase(version).map(|it| it.oid.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_context_is_called_by_its_name_and_version() {
        for context in map::Context::ALL {
            for version in context.versions() {
                let oid = context.oid(version.version);
                let name = context_name(&oid);
                assert_eq!(context_of(&name).as_deref(), Some(&oid[..]), "{name}");
            }
        }
        for context in cap::Context::ALL {
            for phase in context.phases() {
                let name = context_name(&phase.oid);
                assert_eq!(context_of(&name).as_deref(), Some(&phase.oid[..]), "{name}");
            }
        }
        assert_eq!(context_name(&[0x2a, 3]), "1.2.3");
        assert_eq!(context_of("1.2.3"), Some(vec![0x2a, 3]));
        assert_eq!(
            (context_of("nothing-v1"), context_of("shortMsgGatewayContext-v9")),
            (None, None)
        );
    }

    #[test]
    fn without_a_dialogue_portion_the_first_operation_says_the_context() {
        let speech = Speech::first(Some(45));
        assert_eq!(speech, Speech::Map(map::Context::ShortMsgGateway, 1));
        assert_eq!(speech.operation("sendRoutingInfoForSM"), Some(45));
        assert_eq!(Speech::first(Some(4711)), Speech::Unknown);
    }
}
