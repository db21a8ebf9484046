//! What is wrong with a file beyond its types, except what needs its names compiled.

use crate::file::{Awaited, Component, File, Scenario, Sent, Step};
use config::{Issue, meant};
use std::collections::BTreeSet;

/// Steps of a scenario, at most.
const STEPS_MAX: usize = 1_000;
/// Plays a second, at most.
const RATE_MAX: f64 = 10_000_000.0;
/// Seconds of a phase, at most: a week.
const PHASE_S_MAX: f64 = 604_800.0;

/// Pushes what is wrong.
pub(crate) fn validate(file: &File, issues: &mut Vec<Issue>) {
    load(file, issues);
    twice(file.role.iter().map(|it| &*it.name), "role", issues);
    twice(file.table.iter().map(|it| &*it.name), "table", issues);
    twice(file.scenario.iter().map(|it| &*it.name), "scenario", issues);
    if file.role.is_empty() {
        issues.push(Issue::new("role", "nobody takes part", "write a [[role]]"));
    }
    if file.scenario.is_empty() {
        issues.push(Issue::new("scenario", "nothing is played", "write a [[scenario]]"));
    }
    for (at, role) in file.role.iter().enumerate() {
        let path = |key: &str| format!("role[{at}].{key}");
        if role.at.as_deref().is_some_and(|it| it.starts_with("m3ua")) {
            for (key, is) in [("point_code", &role.point_code), ("peer", &role.peer)] {
                if is.is_none() {
                    let what = format!("a stack of its own needs `{key}`");
                    issues.push(Issue::new(path("at"), what, "write it as 2-100-3 or as a number"));
                }
            }
        }
        let is_sip = role.at.as_deref().is_some_and(|it| it.starts_with("sip:"));
        if role.subsystem == 0 && !is_sip {
            let hint = "6 is an HLR, 8 an MSC, 146 is CAP; a role at sip: needs none";
            issues.push(Issue::new(format!("role[{at}]"), "it has no `subsystem`", hint));
        }
        if let Some(text) = &role.at
            && let Err(wrong) = text.parse::<crate::endpoint::Place>()
        {
            issues.push(Issue::new(path("at"), format!("`{text}` is no place"), wrong));
        }
    }
    for (at, it) in file.scenario.iter().enumerate() {
        scenario(file, it, &format!("scenario[{at}]"), issues);
    }
}

fn load(file: &File, issues: &mut Vec<Issue>) {
    let load = &file.load;
    let mut within = |key: &str, is: f64, least: f64, most: f64| {
        if !(least..=most).contains(&is) {
            let what = format!("{is} is out of range");
            issues.push(Issue::new(format!("load.{key}"), what, format!("{least} to {most}")));
        }
    };
    within("rate", load.rate, 0.001, RATE_MAX);
    within("ramp_s", load.ramp_s, 0.0, PHASE_S_MAX);
    within("measure_s", load.measure_s, 0.0, PHASE_S_MAX);
    within("drain_s", load.drain_s, 0.0, PHASE_S_MAX);
    within("plays_max", load.plays_max.into(), 1.0, 4_000_000.0);
}

fn twice<'a>(names: impl Iterator<Item = &'a str>, what: &str, issues: &mut Vec<Issue>) {
    let mut known = BTreeSet::new();
    for (at, name) in names.enumerate() {
        let path = format!("{what}[{at}].name");
        if name.is_empty() {
            issues.push(Issue::new(path, "it has no name", "give it one"));
        } else if !known.insert(name) {
            issues.push(Issue::new(path, format!("`{name}` is there twice"), "give it another"));
        }
    }
}

/// A name that there is not.
fn unknown<'a>(
    path: String,
    name: &str,
    what: &str,
    known: impl Iterator<Item = &'a str>,
) -> Issue {
    Issue::new(path, format!("there is no {what} `{name}`"), meant(name, known, "there is none"))
}

fn scenario(file: &File, it: &Scenario, path: &str, issues: &mut Vec<Issue>) {
    let roles = || file.role.iter().map(|it| &*it.name);
    let tables = || file.table.iter().map(|it| &*it.name);
    if !roles().any(|role| role == it.role) {
        issues.push(unknown(format!("{path}.role"), &it.role, "role", roles()));
    }
    if let Some(table) = &it.table
        && !tables().any(|known| known == table)
    {
        issues.push(unknown(format!("{path}.table"), table, "table", tables()));
    }
    if it.step.len() > STEPS_MAX {
        issues.push(Issue::new(path, format!("it has more than {STEPS_MAX} steps"), ""));
    }
    let begins = |step: &Step| {
        matches!(step.send, Some(Sent::Begin | Sent::Uni | Sent::Call))
            || matches!(step.awaits, Some(Awaited::Begin | Awaited::Uni))
    };
    if !it.step.first().is_some_and(begins) {
        let hint = "the first step has send = \"begin\", or await = \"begin\" where it answers";
        issues.push(Issue::new(path, "no dialogue begins", hint));
    }
    for (at, step) in it.step.iter().enumerate() {
        let path = format!("{path}.step[{at}]");
        if let Some(role) = &step.role
            && !roles().any(|known| known == role)
        {
            issues.push(unknown(format!("{path}.role"), role, "role", roles()));
        }
        if let Some(find) = &step.find
            && !tables().any(|known| known == find.table)
        {
            issues.push(unknown(format!("{path}.find.table"), &find.table, "table", tables()));
        }
        if at > 0 && matches!(step.awaits, Some(Awaited::Begin | Awaited::Uni)) {
            let hint = "only the first step waits for it: make a scenario of it";
            issues.push(Issue::new(format!("{path}.await"), "a play answers once", hint));
        }
        shape(step, &path, issues);
    }
}

/// Whether the keys of a step belong together.
fn shape(step: &Step, path: &str, issues: &mut Vec<Issue>) {
    let kinds = [step.send.is_some(), step.awaits.is_some(), step.pause_ms.is_some()];
    if kinds.iter().filter(|it| **it).count() != 1 {
        let what = "a step is one of `send`, `await`, `pause_ms`";
        issues.push(Issue::new(path, what, "write another step for what follows"));
        return;
    }
    let mut needless = |key: &str, is: bool, of: &str| {
        if is {
            let what = format!("`{key}` is for steps with {of}");
            issues.push(Issue::new(format!("{path}.{key}"), what, "leave it out"));
        }
    };
    let awaits = step.awaits.is_some();
    let begins = matches!(step.send, Some(Sent::Begin | Sent::Uni));
    needless("called", !begins && step.called.is_some(), "send = \"begin\"");
    needless("calling", !begins && step.calling.is_some(), "send = \"begin\"");
    let calls = step.send == Some(Sent::Call);
    needless("subscriber", !calls && step.subscriber.is_some(), "send = \"call\"");
    needless("check", !awaits && !step.check.is_empty(), "`await`");
    needless("capture", !awaits && !step.capture.is_empty(), "`await`");
    needless("find", !awaits && step.find.is_some(), "`await`");
    needless("within_ms", !awaits && step.within_ms.is_some(), "`await`");
    needless("time", !awaits && step.time.is_some(), "`await`");
    let silent = step.pause_ms.is_some()
        || matches!(step.send, Some(Sent::Prearranged | Sent::Abort | Sent::Call | Sent::Release))
        || !matches!(
            step.awaits,
            None | Some(
                Awaited::Begin | Awaited::Uni | Awaited::Continue | Awaited::End | Awaited::Abort
            )
        );
    needless("component", silent && !step.component.is_empty(), "messages that have some");
    if begins && step.called.is_none() {
        let hint = "called = { ssn = 6, gt = \"{msisdn}\" }";
        issues.push(Issue::new(path, "whom it is to is not said", hint));
    }
    for (at, it) in step.component.iter().enumerate() {
        component(it, awaits, &format!("{path}.component[{at}]"), issues);
    }
}

fn component(it: &Component, awaits: bool, path: &str, issues: &mut Vec<Issue>) {
    let kinds = [it.invoke.is_some(), it.result.is_some(), it.error.is_some(), it.reject.is_some()];
    if kinds.iter().filter(|it| **it).count() != 1 {
        let what = "a component is one of `invoke`, `result`, `error`, `reject`";
        issues.push(Issue::new(path, what, "invoke = \"sendRoutingInfoForSM\""));
    }
    let mut needless = |key: &str, is: bool, of: &str| {
        if is {
            let what = format!("`{key}` is for {of}");
            issues.push(Issue::new(format!("{path}.{key}"), what, "leave it out"));
        }
    };
    needless("argument", it.argument.is_some() && it.invoke.is_none(), "an `invoke`");
    needless("linked", it.linked.is_some() && it.invoke.is_none(), "an `invoke`");
    needless("value", it.value.is_some() && it.result.is_none(), "a `result`");
    needless("parameter", it.parameter.is_some() && it.error.is_none(), "an `error`");
    needless("check", !awaits && !it.check.is_empty(), "what is waited for");
    needless("capture", !awaits && !it.capture.is_empty(), "what is waited for");
    let values = it.argument.is_some() || it.value.is_some() || it.parameter.is_some();
    needless("argument", awaits && values, "what is sent; `check` says what has to stand there");
}
