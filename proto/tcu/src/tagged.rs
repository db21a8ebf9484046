//! Messages as tagged fields.
//!
//! ```text
//!   0x16, length (3) │ kind (1) │ tag (1), length (2), value │ …
//! ```
//! Numbers are big-endian, in as many octets as their field has. A field that is not known is
//! passed over; one that comes twice counts once, the first time, but components.

mod field;
mod kind;
mod read;
mod write;

pub use kind::{Kind, Tag};
pub(crate) use read::{named, read_to_application, read_to_gateway};
pub(crate) use write::{indication as write_indication, write_to_application, write_to_gateway};

const SPEC: &str = "docs/applications.md, tagged fields";

/// Whether a framed message begins a dialogue.
pub(crate) fn is_begin(message: &[u8]) -> bool {
    message.get(crate::frame::HEAD) == Some(&Kind::Begin.number())
}
