//! Whether what came is what a step waits for, and what is taken from it.

use crate::file::Awaited;
use crate::filter::text_of;
use crate::message;
use crate::path::Path;
use crate::play::{Came, Dialogue, Play};
use crate::program::{Await, Capture, Check, ComponentKind, Expected, Program};
use crate::report::Cause;
use crate::seen::Seen;
use sccp::codec::ReturnCause;
use serde_json::Value;
use sip_load::Became;
use tcu::{Code, Component, Indication, Portion, Speech};

/// Why it is not.
pub(crate) type Violation = (Cause, String);

/// The kind of an indication that a step can wait for.
pub(crate) const fn kind_of(it: &Came) -> Option<Awaited> {
    let it = match it {
        Came::Tc(it) => it,
        Came::Call(Became::Answered) => return Some(Awaited::Answered),
        Came::Call(Became::Over) => return Some(Awaited::Released),
        Came::Call(Became::Refused(_) | Became::Failed(_)) => return None,
    };
    Some(match it {
        Indication::Begin { .. } => Awaited::Begin,
        Indication::Uni { .. } => Awaited::Uni,
        Indication::Continue { .. } => Awaited::Continue,
        Indication::End { .. } => Awaited::End,
        Indication::UAbort { .. } => Awaited::Abort,
        Indication::PAbort { .. } => Awaited::PAbort,
        Indication::Notice { .. } => Awaited::Notice,
        Indication::Cancel { .. } => Awaited::Cancel,
        Indication::LocalReject { .. } => Awaited::Reject,
        _ => return None,
    })
}

impl Came {
    /// What it carries of a message of TCAP.
    pub(crate) const fn portion(&self) -> Option<&Portion> {
        match self {
            Self::Tc(it) => it.portion(),
            Self::Call(_) => None,
        }
    }
}

/// What it is in words, and the cause of who did not wait for it.
pub(crate) fn instead(it: &Came, speech: Speech) -> Violation {
    let it = match it {
        Came::Tc(it) => it,
        Came::Call(Became::Refused(status)) => {
            return (Cause::Aborted, format!("the call was refused: {status}"));
        }
        Came::Call(Became::Failed(cause)) => {
            return (Cause::ProviderAborted, format!("the call failed: {cause:?}"));
        }
        Came::Call(became) => return (Cause::Unexpected, format!("the call: {became:?}")),
    };
    if let Indication::Notice { cause, .. } = it {
        let why = ReturnCause::of(*cause);
        let why = why.map_or_else(|| format!("cause {cause}"), |it| it.name().to_owned());
        return (Cause::Returned, format!("a message came back undelivered: {why}"));
    }
    let value = message::shown(it, speech);
    let cause = match it {
        Indication::UAbort { .. } => Cause::Aborted,
        Indication::PAbort { .. } => Cause::ProviderAborted,
        Indication::LocalReject { .. } => Cause::Rejected,
        _ => Cause::Unexpected,
    };
    (cause, format!("{value} came"))
}

/// Whether the names of a message fit: its kind, its context, its components.
pub(crate) fn fits(step: &Await, it: &Came, of: &Dialogue) -> Result<(), Violation> {
    if kind_of(it) != Some(step.kind) {
        return Err(instead(it, of.speech));
    }
    let Some(portion) = it.portion() else { return Ok(()) };
    if step.context.is_some() && step.context != portion.context {
        return Err(instead(it, of.speech));
    }
    if step.components.is_empty() {
        return Ok(());
    }
    if step.components.len() != portion.components.len() {
        return Err(instead(it, of.speech));
    }
    let pairs = step.components.iter().zip(&portion.components);
    for (expected, component) in pairs {
        if !is(expected, component, of) {
            let what = message::shown_component(component, of.speech);
            let (kind, name) = (expected.kind, &expected.name);
            return Err((Cause::Unexpected, format!("{what} came in place of {kind:?} {name}")));
        }
    }
    Ok(())
}

fn is(expected: &Expected, component: &Component, of: &Dialogue) -> bool {
    let named = |code: &Code, name: fn(Speech, i64) -> Option<&'static str>| match code {
        Code::Local(number) => {
            let known = name(of.speech, *number);
            known.map_or_else(|| expected.name.parse() == Ok(*number), |it| *it == *expected.name)
        }
        Code::Global(_) => false,
    };
    match (expected.kind, component) {
        (ComponentKind::Invoke, Component::Invoke { code, .. }) => {
            named(code, Speech::operation_name)
        }
        (ComponentKind::Result, Component::Result { id, .. }) => {
            of.ours.iter().any(|(own, name)| own == id && *name == expected.name)
        }
        (ComponentKind::Error, Component::Error { code, .. }) => named(code, Speech::error_name),
        // The problem is looked at in its JSON.
        (ComponentKind::Reject, Component::Reject { .. }) => true,
        _ => false,
    }
}

/// Takes what the step wants of a message that fits, after it has checked what has to stand there.
pub(crate) fn take(
    step: &Await,
    it: &Came,
    play: &mut Play,
    program: &Program,
) -> Result<(), Violation> {
    if let Came::Tc(it) = it
        && step.looks_inside()
    {
        let speech = play.dialogues.get(step.dialogue).map(|it| it.speech).unwrap_or_default();
        if !step.checks.is_empty() || !step.captures.is_empty() {
            let value = message::shown(it, speech);
            let at = |path: &Path| path.of(&value).cloned();
            look(&step.checks, &step.captures, &at, &|| value.to_string(), play, program)?;
        }
        let components = it.portion().map(|it| &it.components[..]).unwrap_or_default();
        for (expected, component) in step.components.iter().zip(components) {
            let seen = Seen::new(component, speech);
            if let (ComponentKind::Reject, Component::Reject { problem, .. }) =
                (expected.kind, component)
                && tcu::problem_name(*problem) != *expected.name
            {
                return Err((Cause::Unexpected, format!("{} came", seen.whole())));
            }
            let (at, whole) = (|path: &Path| seen.at(path), || seen.whole().to_string());
            look(&expected.checks, &expected.captures, &at, &whole, play, program)?;
        }
    }
    if let Some(find) = &step.find {
        let value = find.is.value(&play.scope(program)).map_err(|wrong| (Cause::Value, wrong))?;
        let text = text_of(&value);
        let found = program.tables.get(find.table).and_then(|it| it.find(find.column, &text));
        let row = found.ok_or_else(|| (Cause::Check, format!("{}: no row {text}", find.word)))?;
        if let Some(place) = play.rows.get_mut(find.row) {
            *place = row;
        }
    }
    Ok(())
}

fn look(
    checks: &[Check],
    captures: &[Capture],
    at: &dyn Fn(&Path) -> Option<Value>,
    whole: &dyn Fn() -> String,
    play: &mut Play,
    program: &Program,
) -> Result<(), Violation> {
    for check in checks {
        let wanted = check.is.value(&play.scope(program)).map_err(|it| (Cause::Value, it))?;
        let is = at(&check.path);
        if is.as_ref() != Some(&wanted) {
            let is = is.map_or_else(|| "nothing".into(), |it| it.to_string());
            return Err((Cause::Check, format!("{} is {is}, not {wanted}", check.word)));
        }
    }
    for capture in captures {
        let lacks = || (Cause::Check, format!("there is no {} in {}", capture.word, whole()));
        let mut taken = at(&capture.path).ok_or_else(lacks)?;
        for filter in &capture.filters {
            taken = filter.apply(&taken).ok_or_else(lacks)?;
        }
        if let Some(place) = play.captured.get_mut(capture.into) {
            *place = Some(taken);
        }
    }
    Ok(())
}

/// Notes which operations came and which were answered.
pub(crate) fn note(portion: &Portion, of: &mut Dialogue) {
    for component in &portion.components {
        match component {
            Component::Invoke { id, code, .. } => {
                let code = match code {
                    Code::Local(number) => Some(*number),
                    Code::Global(_) => None,
                };
                of.theirs.push((*id, code));
            }
            Component::Result { id, is_last: true, .. } | Component::Error { id, .. } => {
                of.ours.retain(|it| it.0 != *id);
            }
            Component::Reject { id: Some(id), .. } => of.ours.retain(|it| it.0 != *id),
            _ => {}
        }
    }
}
