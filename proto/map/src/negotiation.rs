//! Which version of an application context a dialogue has (TS 29.002 §5.2.2, §15.2, §18.2.4).
//!
//! ```text
//! initiator: highest version ──BEGIN──→ responder: judge
//!     ↑                                   ├─ Accept: AARE accepted
//!     └──── next ←── ABORT: AARE with an  ┴─ Refuse: the highest version that is spoken there
//!                    alternative; P-ABORT of who knows no dialogue portion: version 1
//! ```
//! Version 1 has no dialogue portion: its context is known by the first operation.

use crate::context::Context;
use crate::operation::Operation;
use tcap::PAbort;

/// What a responder says to a BEGIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The dialogue is of that context and version.
    Accept(Context, u8),
    /// It is refused: application-context-name-not-supported, with the version that is spoken here.
    Refuse(Context, u8),
    /// It is refused: no version of its context is spoken here, or it is no context of MAP.
    Unknown,
}

/// Judges a BEGIN by the contents octets of its application context, if it has a dialogue portion,
/// else by the number of the first operation. `speaks` says which contexts are spoken here.
#[must_use]
pub fn judge(
    offered: Option<&[u8]>,
    first: Option<i64>,
    speaks: impl Fn(Context, u8) -> bool,
) -> Verdict {
    let Some(offered) = offered else {
        let found = first.and_then(Operation::of).and_then(in_version_1);
        return match found.filter(|context| speaks(*context, 1)) {
            Some(context) => Verdict::Accept(context, 1),
            None => Verdict::Unknown,
        };
    };
    let Some((context, version)) = Context::of_oid(offered) else { return Verdict::Unknown };
    let known = |it: &u8| context.version(*it).is_some() && speaks(context, *it);
    // A version 1 that is named is none: it knows no dialogue portion.
    if version > 1 && known(&version) {
        return Verdict::Accept(context, version);
    }
    match context.versions().iter().map(|it| it.version).find(known) {
        Some(other) => Verdict::Refuse(context, other),
        None => Verdict::Unknown,
    }
}

/// The context of version 1 that begins with that operation (TS 29.002 §15.2.2, table 15.2/1).
#[must_use]
pub fn in_version_1(first: Operation) -> Option<Context> {
    let begins = |it: &Context| it.version(1).is_some_and(|it| it.initiator.contains(&first));
    match first {
        // Part of location updating too, where it never comes first.
        Operation::SendParameters => Some(Context::InfoRetrieval),
        _ => Context::ALL.iter().copied().find(begins),
    }
}

/// How a dialogue that was offered ended before it was one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal<'a> {
    /// By an AARE: the context is not supported, that one may be (contents octets).
    Context(&'a [u8]),
    /// By an ABORT of TCAP.
    Provider(PAbort),
}

/// What an initiator offers after that refusal; none: the peer is not to be spoken with.
#[must_use]
pub fn next(
    offered: (Context, u8),
    refusal: Refusal<'_>,
    speaks: impl Fn(Context, u8) -> bool,
) -> Option<(Context, u8)> {
    let (context, version) = offered;
    let first = context.in_version_1().map(|it| (it, 1));
    let proposed = match refusal {
        Refusal::Context(contents) => {
            let (other, proposed) = Context::of_oid(contents)?;
            match proposed {
                1 => first.filter(|(it, _)| *it == other || context == other),
                _ if other == context && proposed < version => {
                    context.version(proposed).map(|_| (context, proposed))
                }
                // The offered context itself: older ones are tried one after the other.
                _ if other == context => {
                    let lower = context.versions().iter().map(|it| it.version);
                    let lower =
                        lower.filter(|it| (2..version).contains(it)).map(|it| (context, it));
                    lower.chain(first).find(|(context, it)| speaks(*context, *it))
                }
                _ => None,
            }
        }
        // Incorrect transaction portion, or no dialogue portion in common (TS 29.002 §15.2.1).
        Refusal::Provider(PAbort::Cause(3) | PAbort::NoCommonDialoguePortion) => first,
        Refusal::Provider(_) => None,
    };
    proposed.filter(|it| it.1 < version && speaks(it.0, it.1))
}
