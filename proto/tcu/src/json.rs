//! Messages as lines of JSON: an object each, `tc` says what it is.
//!
//! Operations, errors, contexts and parameters bear their ASN.1 names where MAP or CAP has rows for
//! them; else they are numbers, object identifiers with dots, and elements in hexadecimal digits
//! (`raw`).

mod address;
mod component;
mod object;
mod read;
mod write;

pub use component::problem_name;
pub use object::PointCodes;
pub(crate) use read::{named, read_to_application, read_to_gateway};
pub(crate) use write::{Out, p_abort_name, write_to_application, write_to_gateway};

const SPEC: &str = "docs/applications.md, lines of JSON";

/// The parameter of a component where it stands by its names: the member that it is, its type, and
/// its element. None: there is none, or it stands in hexadecimal digits (`raw`).
#[must_use]
pub fn parameter_of(
    component: &crate::Component,
    speech: crate::Speech,
) -> Option<(&'static str, ber::Placed<'_>)> {
    component::parameter_of(component, speech)
}

/// A component of a message as it stands in [`Portion::components`](crate::Portion) of a line: by
/// the names of `speech`. None for one without the identifier that it must have.
#[must_use]
pub fn component_json(
    component: &tcap::codec::Component<'_>,
    message: &bytes::Bytes,
    speech: crate::Speech,
) -> Option<String> {
    let component = crate::service::owned(component, message)?;
    let mut text = String::new();
    component::write_component(&component, speech, &mut text);
    Some(text)
}

/// A component as it is shown.
#[cfg(test)]
pub(crate) fn shown(component: &crate::Component, speech: crate::Speech) -> String {
    let mut text = String::new();
    component::write_component(component, speech, &mut text);
    text
}
