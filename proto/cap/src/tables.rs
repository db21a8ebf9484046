//! The tables of the documentation.

use crate::context::Context;
use crate::error::Error;
use crate::operation::Operation;
use core::fmt::Write as _;
use tcap::operation::Parameter;

fn parameter(parameter: Option<Parameter>) -> String {
    parameter.map_or_else(String::new, |it| {
        format!("{}{}", it.kind.name, if it.is_optional { " (optional)" } else { "" })
    })
}

fn range(versions: (u8, u8)) -> String {
    match versions {
        (from, to) if from == to => from.to_string(),
        (from, to) => format!("{from} to {to}"),
    }
}

fn names<T: Copy>(of: &[T], name: impl Fn(T) -> &'static str) -> String {
    of.iter().map(|it| name(*it)).collect::<Vec<_>>().join(", ")
}

/// Contexts, operations and errors as tables in Markdown.
#[must_use]
pub fn tables() -> String {
    let mut text = "## Application contexts\n\n".to_owned();
    text.push_str("| name | phase | object identifier | initiator invokes | responder invokes |\n");
    text.push_str("|---|---|---|---|---|\n");
    for context in Context::ALL {
        for phase in context.phases() {
            let oid = ber::Oid::new(&phase.oid).map_or_else(str::to_owned, |it| it.to_string());
            let (ours, theirs) = (phase.initiator, phase.responder);
            let (ours, theirs) = (names(ours, Operation::name), names(theirs, Operation::name));
            let (name, phase) = (context.name(), phase.phase);
            let _ = writeln!(text, "| {name} | {phase} | {oid} | {ours} | {theirs} |");
        }
    }
    text.push_str("\n## Operations\n\n");
    text.push_str(
        "| code | name | phases | class | timer | argument | result | errors | section |\n",
    );
    text.push_str("|---|---|---|---|---|---|---|---|---|\n");
    for operation in Operation::ALL {
        for it in operation.signatures() {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {:?} | {} | {} | {} | {} | {} |",
                operation.code(),
                operation.name(),
                range(it.versions),
                it.class,
                operation.timer().name,
                parameter(it.argument),
                parameter(it.result),
                names(it.errors, Error::name),
                operation.spec(),
            );
        }
    }
    text.push_str("\n## Errors\n\n| code | name | phases | parameter |\n|---|---|---|---|\n");
    for error in Error::ALL {
        for (versions, it) in error.parameters() {
            let (code, name, versions) = (error.code(), error.name(), range(*versions));
            let _ = writeln!(text, "| {code} | {name} | {versions} | {} |", parameter(*it));
        }
    }
    text
}
