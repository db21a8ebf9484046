//! The lines that the registrar puts into messages: toward the core our Contact, Expires and
//! Path, toward the client its own contacts and what the core told about it.

use crate::binding::{Binding, is_emergency, write_features};
use crate::registrar::{Registrar, header_expires};
use machine::Time;
use machine::identity::TOKEN_BYTES;
use machine::narrow::millis;
use machine::slots::Key;
use sip::view::{Contact, OPTION_OUTBOUND};
use sip::write::{decimal as number, line};
use sip::{Header, HeaderSet, Message, NameAddr};

/// What a REGISTER loses on its way to the core; [`Registrar::write_core`] writes it anew.
pub const DROPPED: HeaderSet = HeaderSet::of(&[Header::Contact, Header::Expires, Header::Path]);

impl Registrar {
    /// Appends Contact, Expires, Path and Supported of the REGISTER that goes to the core;
    /// `host` is `host:port` of our listener on that side, with `;transport=` if it needs one.
    pub fn write_core(&self, out: &mut Vec<u8>, pending: Key, host: &[u8]) {
        let Some(record) = self.pending.at(pending) else { return };
        let Ok(request) = Message::parse(&record.request) else { return };
        let mut keys = record.keys.iter();
        let mut expires_s = None;
        let mut path = None;
        for value in request.values(Header::Contact) {
            match Contact::parse(value) {
                Ok(Contact::All) => {
                    line(out, "Contact", b"*");
                    expires_s = Some(0);
                }
                Ok(Contact::Address(contact)) => {
                    let Some(&key) = keys.next() else { continue };
                    let token = self.token(key);
                    path = path.or(Some((token, contact.reg_id().is_some())));
                    let asked = contact.expires_s().or_else(|| header_expires(&request));
                    let core_s = if asked == Some(0) { 0 } else { self.core_expires_s() };
                    expires_s = Some(expires_s.unwrap_or(0).max(core_s));
                    write_core_contact(out, &contact, &token, host, core_s);
                }
                Err(_) => {}
            }
        }
        if let Some(expires_s) = expires_s {
            out.extend_from_slice(b"Expires: ");
            number(out, expires_s.into());
            out.extend_from_slice(b"\r\n");
        }
        if let Some((token, is_outbound)) = path {
            write_path(out, &token, host, is_outbound);
            line(out, "Supported", b"path");
        }
        for path in request.lines_of(Header::Path) {
            out.extend_from_slice(path.raw);
        }
    }

    /// Appends the lines of a 200 to the client: its contacts with the seconds they have left
    /// (§10.3 step 8), a Service-Route over us if the core gave one, its names. `host` is that of
    /// our listener on the client's side.
    pub fn write_answer(&self, out: &mut Vec<u8>, now: Time, aor: &[u8], host: &[u8]) {
        let mut newest: Option<&Binding> = None;
        for (_, binding) in self.bindings_of(aor) {
            out.extend_from_slice(b"Contact: ");
            out.extend_from_slice(binding.contact());
            out.extend_from_slice(b";expires=");
            let left_ms = millis(binding.expires.since(now));
            number(out, left_ms.div_ceil(1000));
            out.extend_from_slice(b"\r\n");
            if newest.is_none_or(|newest| newest.expires <= binding.expires) {
                newest = Some(binding);
            }
        }
        let Some(binding) = newest else { return };
        if !binding.service_route().is_empty() {
            out.extend_from_slice(b"Service-Route: <sip:");
            out.extend_from_slice(host);
            out.extend_from_slice(b";lr>\r\n");
        }
        if !binding.associated().is_empty() {
            line(out, "P-Associated-URI", binding.associated());
        }
        if binding.is_outbound {
            line(out, "Require", OPTION_OUTBOUND);
        }
    }
}

/// Our contact for a client's: the token in place of its user, our listener in place of its host,
/// the features it announces as they are.
fn write_core_contact(
    out: &mut Vec<u8>,
    contact: &NameAddr<'_>,
    token: &[u8; TOKEN_BYTES],
    host: &[u8],
    expires_s: u32,
) {
    out.extend_from_slice(b"Contact: <sip:");
    out.extend_from_slice(token);
    out.push(b'@');
    out.extend_from_slice(host);
    // That it registers for an emergency is the core's to know (TS 24.229 §5.1.6.2).
    if is_emergency(contact) {
        out.extend_from_slice(b";sos");
    }
    out.push(b'>');
    write_features(out, contact);
    out.extend_from_slice(b";expires=");
    number(out, expires_s.into());
    out.extend_from_slice(b"\r\n");
}

/// `Path: <sip:token@host;lr>`, with `ob` for a client that keeps its flow (RFC 5626 §5.1).
fn write_path(out: &mut Vec<u8>, token: &[u8; TOKEN_BYTES], host: &[u8], is_outbound: bool) {
    out.extend_from_slice(b"Path: <sip:");
    out.extend_from_slice(token);
    out.push(b'@');
    out.extend_from_slice(host);
    out.extend_from_slice(if is_outbound { b";lr;ob>\r\n" } else { b";lr>\r\n" });
}
