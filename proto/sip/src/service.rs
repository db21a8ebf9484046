//! Service URNs (RFC 5031): names of services that help is called by, for the core to find.

use crate::{Header, Message};

/// The service that help is called by, and all below it (§4.2).
const SOS: &[u8] = b"urn:service:sos";
/// What the names of all services begin with.
const SERVICE: &[u8] = b"urn:service:";

fn begins(text: &[u8], start: &[u8]) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// Whether a URI names a service.
#[must_use]
pub fn is_service(uri: &[u8]) -> bool {
    begins(uri, SERVICE)
}

/// Whether a URI names the service that help is called by.
pub(crate) fn is_sos(uri: &[u8]) -> bool {
    begins(uri, SOS)
}

/// Whether a To value holds that URI.
pub(crate) fn holds_sos(to: &[u8]) -> bool {
    let uri = memchr::memchr(b'<', to).map_or(to, |at| &to[at + 1..]);
    is_sos(uri)
}

/// Whether a request calls for help: it goes there, or where its sender `is_believed`, it once went
/// there, and was routed since. Who is not believed could write that To into any call.
#[must_use]
pub fn is_emergency(message: &Message<'_>, is_believed: bool) -> bool {
    message.request_uri().is_some_and(is_sos)
        || is_believed && message.header(Header::To).is_some_and(holds_sos)
}
