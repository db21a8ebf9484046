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
pub(crate) use read::{read_to_application, read_to_gateway};
pub(crate) use write::{p_abort_name, write_to_application, write_to_gateway};

const SPEC: &str = "docs/applications.md, lines of JSON";

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
