//! A binding: an address of record, a contact, and the flow that reaches it.
//!
//! Its texts share one allocation; with the usual lengths a binding costs some 500 octets, its
//! places in the indices included.

use machine::Time;
use machine::narrow::index;
use machine::slots::Reuse;
use runtime::Flow;
use sip::{NameAddr, Params};
use sip_stack::RealmId;

/// Octets of a User-Agent that are kept.
pub const AGENT_BYTES_MAX: usize = 48;
/// Octets of all texts of one binding.
pub const TEXT_BYTES_MAX: usize = 4096;

/// The texts of a binding.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Text {
    /// The address of record in its one form.
    Aor,
    /// The contact as the client wrote it, without `expires`.
    Contact,
    /// The client's User-Agent, cut.
    Agent,
    /// The core's Service-Route, a list.
    ServiceRoute,
    /// The core's P-Associated-URI, a list.
    Associated,
}

const TEXTS: usize = 5;

/// No slot.
pub(crate) const NONE: u32 = u32::MAX;

/// The neighbours of a binding in the chain of its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Links {
    pub(crate) before: u32,
    pub(crate) after: u32,
}

impl Default for Links {
    fn default() -> Self {
        Self { before: NONE, after: NONE }
    }
}

/// What is known of one contact.
#[derive(Debug)]
pub struct Binding {
    text: Box<[u8]>,
    ends: [u16; TEXTS],
    /// Whether the client keeps its flow (RFC 5626): an instance and a flow number.
    pub(crate) is_outbound: bool,
    pub(crate) links: Links,
    /// The realm the client is in.
    pub realm: RealmId,
    /// The number of the last REGISTER that counted.
    pub cseq: u32,
    /// Seconds the client was given last.
    pub granted_s: u32,
    /// Where the last REGISTER came from; requests to the contact go there, wherever its URI
    /// points (NAT traversal).
    pub flow: Flow,
    /// Keyed hash of the Call-ID of its REGISTERs.
    pub call_id: u64,
    /// When the core accepted it first; [`Time::MAX`] while it has not.
    pub registered: Time,
    /// When it ends unless the client refreshes it.
    pub expires: Time,
    /// When the core forgets it.
    pub core_expires: Time,
    /// From when on a REGISTER goes to the core again.
    pub core_refresh: Time,
    /// When the core was asked for it last, while it has not answered; [`Time::ZERO`] otherwise.
    pub(crate) asked: Time,
}

impl Default for Binding {
    fn default() -> Self {
        Self {
            text: Box::default(),
            ends: [0; TEXTS],
            is_outbound: false,
            links: Links::default(),
            realm: RealmId(0),
            cseq: 0,
            granted_s: 0,
            flow: Flow::NOWHERE,
            call_id: 0,
            registered: Time::MAX,
            expires: Time::MAX,
            core_expires: Time::MAX,
            core_refresh: Time::MAX,
            asked: Time::ZERO,
        }
    }
}

impl Reuse for Binding {
    fn reuse(&mut self) {
        *self = Self::default();
    }
}

impl Binding {
    pub(crate) fn text(&self, which: Text) -> &[u8] {
        let which = which as usize;
        let start = if which == 0 { 0 } else { self.ends[which - 1] };
        &self.text[usize::from(start)..usize::from(self.ends[which])]
    }

    /// Writes all texts anew; whether they fit.
    pub(crate) fn set_texts(&mut self, texts: [&[u8]; TEXTS]) -> bool {
        let length: usize = texts.iter().map(|text| text.len()).sum();
        if length > TEXT_BYTES_MAX {
            return false;
        }
        let mut end = 0;
        for (slot, text) in self.ends.iter_mut().zip(texts) {
            end += index(text.len());
            *slot = end;
        }
        self.text = texts.concat().into();
        true
    }

    /// Whether the core accepted it.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.registered != Time::MAX
    }

    /// The address of record: `user@host`, or digits.
    #[must_use]
    pub fn aor(&self) -> &[u8] {
        self.text(Text::Aor)
    }

    /// The contact as the client wrote it: `<sip:…>;params`.
    #[must_use]
    pub fn contact(&self) -> &[u8] {
        self.text(Text::Contact)
    }

    /// The URI that a request to the client has.
    #[must_use]
    pub fn contact_uri(&self) -> &[u8] {
        NameAddr::parse(self.contact()).map_or(b"", |contact| contact.uri)
    }

    /// Whether it was registered for emergencies alone (TS 24.229 §5.1.6.2).
    #[must_use]
    pub fn is_emergency(&self) -> bool {
        NameAddr::parse(self.contact()).is_ok_and(|contact| is_emergency(&contact))
    }

    /// The client's User-Agent.
    #[must_use]
    pub fn user_agent(&self) -> &[u8] {
        self.text(Text::Agent)
    }

    /// The Service-Route that the core gave (RFC 3608): the Route of the client's requests.
    #[must_use]
    pub fn service_route(&self) -> &[u8] {
        self.text(Text::ServiceRoute)
    }

    /// The P-Associated-URI that the core gave: the client's other names.
    #[must_use]
    pub fn associated(&self) -> &[u8] {
        self.text(Text::Associated)
    }

    /// Whether `flow` is where the binding was registered from.
    #[must_use]
    pub fn is_from(&self, flow: &Flow) -> bool {
        same_source(&self.flow, flow)
    }

    /// Octets on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.text.len()
    }
}

/// Whether two flows have the same far end through the same listener.
pub(crate) fn same_source(one: &Flow, two: &Flow) -> bool {
    let ends = |flow: &Flow| (flow.remote, flow.port, flow.transport, flow.conn);
    ends(one) == ends(two)
}

/// Appends a contact in the form that is kept: brackets, every parameter but `expires`.
pub(crate) fn write_contact(out: &mut Vec<u8>, contact: &NameAddr<'_>) {
    out.push(b'<');
    out.extend_from_slice(contact.uri);
    out.push(b'>');
    write_features(out, contact);
}

/// Appends every parameter of a contact but `expires`.
pub(crate) fn write_features(out: &mut Vec<u8>, contact: &NameAddr<'_>) {
    Params::new(contact.params).write_without(out, b"expires");
}

/// Whether two contacts are the same binding: the same instance and flow number (RFC 5626 §6),
/// or the same URI.
pub(crate) fn same_contact(one: &NameAddr<'_>, two: &NameAddr<'_>) -> bool {
    match (one.instance(), two.instance()) {
        (Some(a), Some(b)) if one.reg_id().is_some() || two.reg_id().is_some() => {
            a == b && one.reg_id() == two.reg_id()
        }
        _ => one.uri == two.uri,
    }
}

/// Whether a contact is registered for emergencies.
pub(crate) fn is_emergency(contact: &NameAddr<'_>) -> bool {
    contact.parse_uri().is_ok_and(|uri| uri.param(b"sos").is_some())
}
