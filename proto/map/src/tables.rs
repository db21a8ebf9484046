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
    text.push_str(
        "| number | name | version | initiator invokes | responder invokes | section |\n",
    );
    text.push_str("|---|---|---|---|---|---|\n");
    for context in Context::ALL {
        for version in context.versions() {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} |",
                context.number(),
                context.name(),
                version.version,
                names(version.initiator, Operation::name),
                names(version.responder, Operation::name),
                context.spec(),
            );
        }
    }
    text.push_str("\n## Operations\n\n");
    text.push_str(
        "| code | name | versions | class | timer | argument | result | errors | section |\n",
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
    text.push_str("\n## Errors\n\n| code | name | versions | parameter |\n|---|---|---|---|\n");
    for error in Error::ALL {
        for (versions, it) in error.parameters() {
            let (code, name, versions) = (error.code(), error.name(), range(*versions));
            let _ = writeln!(text, "| {code} | {name} | {versions} | {} |", parameter(*it));
        }
    }
    text
}
