//! Reading.

use crate::words::{ContactState, Event, RegistrationState, State};
use crate::{Contact, NAMESPACE, Reginfo, Registration};
use roxmltree::{Document, Error, Node, ParsingOptions};
use wire::Malformed;

/// Octets of a document at most.
pub const OCTETS_MAX: usize = 65_536;
/// Elements, texts and comments of a document at most.
pub const NODES_MAX: u32 = 8_192;
/// Attributes of an element at most, declarations of namespaces among them.
pub const ATTRIBUTES_MAX: usize = 32;
/// Elements that stand in each other at most.
pub const DEPTH_MAX: usize = 32;
/// Declarations of namespaces in the scope of an element at most.
pub const NAMESPACES_MAX: usize = 32;

const DOCUMENT: &str = "RFC 3680 §5.4";

/// A violation at the place of a node.
fn violation(at: Node<'_, '_>, what: &'static str, spec: &'static str) -> Malformed {
    Malformed::new(at.range().start, what, spec)
}

impl Reginfo {
    /// Reads a document.
    ///
    /// # Errors
    /// It is too long or has too many nodes, attributes of an element, elements in each other or
    /// namespaces in a scope, is no well-formed XML of UTF-8, has a document type,
    /// its root is another element, or something that §5 wants is missing.
    pub fn read(octets: &[u8]) -> Result<Self, Malformed> {
        if octets.len() > OCTETS_MAX {
            return Err(Malformed::new(OCTETS_MAX, "the document is too long", DOCUMENT));
        }
        crate::bounds::check(octets)?;
        let text = core::str::from_utf8(octets)
            .map_err(|why| Malformed::new(why.valid_up_to(), "it is no UTF-8", DOCUMENT))?;
        let options = ParsingOptions { nodes_limit: NODES_MAX, ..ParsingOptions::default() };
        let document = Document::parse_with_options(text, options).map_err(|why| {
            let what = match why {
                Error::DtdDetected => "it has a document type",
                Error::NodesLimitReached => "it has too many nodes",
                _ => "it is no well-formed XML",
            };
            Malformed::new(0, what, DOCUMENT)
        })?;
        let root = document.root_element();
        if !root.has_tag_name((NAMESPACE, "reginfo")) {
            return Err(violation(root, "its root is no reginfo", "RFC 3680 §5.1"));
        }
        let version = attribute(root, "version").and_then(|it| it.trim().parse().ok());
        let version = version.ok_or_else(|| violation(root, "no version", "RFC 3680 §5.1"))?;
        let state = word(root, "state", State::read, "RFC 3680 §5.1")?;
        let registrations = children(root, "registration").map(registration);
        Ok(Self { version, state, registrations: registrations.collect::<Result<_, _>>()? })
    }
}

fn attribute<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    node.attribute(name)
}

/// An attribute that must be there with one of its words.
fn word<T>(
    node: Node<'_, '_>,
    name: &str,
    read: fn(&str) -> Option<T>,
    spec: &'static str,
) -> Result<T, Malformed> {
    let found = attribute(node, name).and_then(|text| read(text.trim()));
    found.ok_or_else(|| violation(node, "a state or an event is missing or none", spec))
}

/// An attribute that must be there.
fn text(node: Node<'_, '_>, name: &str, spec: &'static str) -> Result<String, Malformed> {
    let found = attribute(node, name).map(str::trim).filter(|text| !text.is_empty());
    found.map(str::to_owned).ok_or_else(|| violation(node, "an attribute is missing", spec))
}

/// The elements of that name below a node.
fn children<'a, 'input: 'a>(
    node: Node<'a, 'input>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children().filter(move |child| child.has_tag_name((NAMESPACE, name)))
}

fn registration(node: Node<'_, '_>) -> Result<Registration, Malformed> {
    const SPEC: &str = "RFC 3680 §5.2";
    Ok(Registration {
        aor: text(node, "aor", SPEC)?,
        id: text(node, "id", SPEC)?,
        state: word(node, "state", RegistrationState::read, SPEC)?,
        contacts: children(node, "contact").map(contact).collect::<Result<_, _>>()?,
    })
}

fn contact(node: Node<'_, '_>) -> Result<Contact, Malformed> {
    const SPEC: &str = "RFC 3680 §5.3";
    // Comments and entities may stand between its parts.
    let parts = |uri: Node<'_, '_>| -> String {
        uri.descendants().filter(Node::is_text).filter_map(|it| it.text()).collect()
    };
    let uri = children(node, "uri").next().map(parts);
    let uri = uri.map(|uri| uri.trim().to_owned()).filter(|uri| !uri.is_empty());
    Ok(Contact {
        id: text(node, "id", SPEC)?,
        state: word(node, "state", ContactState::read, SPEC)?,
        event: word(node, "event", Event::read, SPEC)?,
        expires_s: attribute(node, "expires").and_then(|text| text.trim().parse().ok()),
        uri: uri.ok_or_else(|| violation(node, "a contact without its URI", SPEC))?,
    })
}
