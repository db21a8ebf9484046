//! Trust between realms (RFC 3325, RFC 7315 §5): which headers may not cross, and how a
//! Request-URI that names us is turned towards the next hop.

use crate::realm::{RealmId, Realms};
use crate::route::Way;
use crate::write::Set;
use sip::{Header, Message, Scheme};

/// Believed only from, and told only to, the trust domain.
const CHARGING: Set = Set::of(&[Header::PChargingVector, Header::PChargingFunctionAddresses]);
const IDENTITY: Set = Set::of(&[Header::PAssertedIdentity]);
const PREFERRED: Set = Set::of(&[Header::PPreferredIdentity]);

impl Realms {
    /// The headers that a message loses on its way from one realm to another.
    /// `believed`: whether what the sender asserts is.
    pub(crate) fn distrusted(&self, believed: bool, to: RealmId, message: &Message<'_>) -> Set {
        let to = self.row(to).trusted;
        let mut drop = Set::default();
        if !believed {
            drop = drop.and(IDENTITY).and(CHARGING);
        }
        if !to {
            drop = drop.and(PREFERRED).and(CHARGING);
            if message.has(Header::Privacy) && wants_privacy(message) {
                drop = drop.and(IDENTITY);
            }
        }
        drop
    }

    /// The Request-URI on the far side: as it came, unless its host is one of our doors; then
    /// the next hop's address takes its place.
    pub(crate) fn write_uri(&self, out: &mut Vec<u8>, message: &Message<'_>, way: &Way) {
        let Some(uri) = message.uri() else { return };
        let is_sip = matches!(uri.scheme, Scheme::Sip | Scheme::Sips);
        if !is_sip || !self.is_ours(uri.host, uri.port) {
            return out.extend_from_slice(uri.raw);
        }
        let host = (uri.host.as_ptr() as usize).saturating_sub(uri.raw.as_ptr() as usize);
        out.extend_from_slice(&uri.raw[..host]);
        out.extend_from_slice(way.flow.remote.to_string().as_bytes());
        for param in sip::Params::new(uri.params) {
            if param.name.eq_ignore_ascii_case(b"transport") {
                continue;
            }
            out.push(b';');
            out.extend_from_slice(param.name);
            if let Some(value) = param.value {
                out.push(b'=');
                out.extend_from_slice(value);
            }
        }
        if way.flow.transport.is_stream() && uri.scheme != Scheme::Sips {
            out.extend_from_slice(b";transport=");
            let word = crate::realm::transport_word(way.flow.transport);
            out.extend_from_slice(word.as_bytes());
        }
    }
}

/// `Privacy: id` or more (RFC 3325 §9.3, RFC 3323 §4.2).
fn wants_privacy(message: &Message<'_>) -> bool {
    let value = message.header(Header::Privacy).unwrap_or_default();
    value
        .split(|&b| b == b';' || b == b',')
        .any(|word| word.trim_ascii().eq_ignore_ascii_case(b"id"))
}
