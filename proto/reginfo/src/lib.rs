//! Registration information: what a registrar tells of the contacts of an address of record
//! (RFC 3680 §5), `application/reginfo+xml`.
//!
//! ```text
//! reginfo version, full or partial
//!   registration aor, state: init, active, terminated
//!     contact id, state: active, terminated; event: why
//!       uri
//! ```
//! What is not needed to know who is registered (display names, priorities) is passed over, and so
//! are elements of other namespaces (§5.3). Documents are bounded in octets and in nodes; one with
//! a document type is refused, so that no entity is ever expanded. Attributes of an element, its
//! depth and the namespaces in its scope are bounded before anything is parsed.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]

mod bounds;
mod read;
mod words;
mod write;

pub use read::{ATTRIBUTES_MAX, DEPTH_MAX, NAMESPACES_MAX, NODES_MAX, OCTETS_MAX};
pub use words::{ContactState, Event, RegistrationState, State};

/// The media type of a document.
pub const MEDIA_TYPE: &str = "application/reginfo+xml";
/// Its namespace.
pub const NAMESPACE: &str = "urn:ietf:params:xml:ns:reginfo";

/// A document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reginfo {
    /// Grows by one from document to document of a subscription.
    pub version: u32,
    /// Whether it has all registrations, or those that have changed.
    pub state: State,
    /// What is known of each address of record.
    pub registrations: Vec<Registration>,
}

/// An address of record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// Its URI.
    pub aor: String,
    /// Names it in this and later documents.
    pub id: String,
    /// Whether anything is registered.
    pub state: RegistrationState,
    /// Its contacts.
    pub contacts: Vec<Contact>,
}

/// A contact of an address of record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contact {
    /// Names it in this and later documents.
    pub id: String,
    /// Whether it is registered.
    pub state: ContactState,
    /// What has brought it to its state.
    pub event: Event,
    /// Seconds until it ends.
    pub expires_s: Option<u64>,
    /// Where it is reached.
    pub uri: String,
}
