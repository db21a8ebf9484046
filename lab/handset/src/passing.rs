//! A home that passes calls on between its phones: a proxy without state (RFC 3261 §16.11) for
//! phones of one P-CSCF.
//!
//! ```text
//!   phone ── P-CSCF ── INVITE ──→ home ── INVITE, Via and Record-Route of ours ──→ P-CSCF ── phone
//!                  ←── answer ←──      ←── answer, whose first Via is ours ←──
//! ```

use crate::text::line;
use machine::identity::{hash_combine, hex};
use sip::{Header, Message};
use std::net::SocketAddr;

/// Branches of ours begin so; the rest is made of that of the request, so that copies and a CANCEL
/// get the same one.
const BRANCH: &[u8] = b"z9hG4bKpassed";

/// A request as it goes on to `uri`; who passes on what begins a dialog stays on its way.
pub(crate) fn onward(message: &Message<'_>, own: SocketAddr, uri: &[u8], stays: bool) -> Vec<u8> {
    let branch = hex(hash_combine(0, message.via().branch.unwrap_or_default()));
    let mut out = [message.method().name().as_bytes(), b" ", uri, b" SIP/2.0\r\n"].concat();
    let via = [format!("SIP/2.0/UDP {own};branch=").as_bytes(), BRANCH, &branch].concat();
    line(&mut out, "Via", &via);
    if stays {
        line(&mut out, "Record-Route", format!("<sip:{own};lr>").as_bytes());
    }
    let hops = message.max_forwards().unwrap_or(70).saturating_sub(1);
    line(&mut out, "Max-Forwards", hops.to_string().as_bytes());
    let is_ours = |header| matches!(header, Header::Route | Header::MaxForwards);
    let rest = message.rows().filter(|(header, _)| !is_ours(*header));
    rest.for_each(|(_, raw)| out.extend_from_slice(raw));
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(message.body());
    out
}

/// An answer as it goes back, if it is one to what was passed on.
pub(crate) fn backward(message: &Message<'_>) -> Option<Vec<u8>> {
    message.via().branch.filter(|it| it.starts_with(BRANCH))?;
    let mut out = message.start_line().to_vec();
    let mut first = true;
    for (header, raw) in message.rows() {
        let is_ours = header == Header::Via && core::mem::take(&mut first);
        if !is_ours {
            out.extend_from_slice(raw);
        }
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(message.body());
    Some(out)
}
