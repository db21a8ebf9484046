//! The SUBSCRIBE (TS 24.229 §5.2.3, RFC 3680 §4, RFC 6665 §4.1.2).

use crate::charging;
use crate::config::Ipsec;
use crate::watch::Watch;
use machine::identity::TOKEN_BYTES;
use sip::write::{decimal, line};
use sip::{Header, Method, Writer};
use sip_stack::realm::Listener;

/// Hops that it may pass.
const HOPS: u64 = 70;
const SUBSCRIBE: &[u8] = b"SUBSCRIBE";

/// Appends it: with our tag and Call-ID, by a listener, under a branch.
pub(super) fn write(
    watch: &Watch,
    [tag, call_id]: [[u8; TOKEN_BYTES]; 2],
    listener: &Listener,
    branch: &[u8],
    section: Option<&Ipsec>,
    out: &mut Vec<u8>,
) {
    let (far, has_dialog) = (&watch.far, watch.has_dialog());
    let target = if has_dialog { &far.target } else { &watch.identity };
    let mut more = Vec::new();
    if let Some(section) = section {
        let own = listener.local.ip();
        charging::write(section, Method::Subscribe, own, watch.secret.rotate_left(29), &mut more);
    }
    let own = [b"<sip:", &*listener.uri_host, b">"].concat();
    // As in the Path of the registration: by it the core knows that this is its P-CSCF.
    let asserted = [b"<sip:", &*watch.path, b"@", &listener.uri_host, b";lr>"].concat();
    line(&mut more, "P-Asserted-Identity", &asserted);
    line(&mut more, "Contact", &own);
    line(&mut more, "Event", b"reg");
    line(&mut more, "Accept", reginfo::MEDIA_TYPE.as_bytes());

    let mut writer = Writer::request(out, SUBSCRIBE, far.routes.request_uri(target));
    writer.copy_raw(&listener.via);
    writer.copy_raw(branch);
    writer.copy_raw(b"\r\n");
    writer.number(Header::MaxForwards, HOPS);
    if has_dialog {
        far.routes.write(&mut writer, target);
    }
    writer.header(Header::From, &[&*own, b";tag=", &tag].concat());
    writer.header_with(Header::To, |out| {
        out.push(b'<');
        out.extend_from_slice(&watch.identity);
        out.push(b'>');
        if has_dialog {
            out.extend_from_slice(b";tag=");
            out.extend_from_slice(&far.tag);
        }
    });
    writer.header(Header::CallId, &call_id);
    writer.header_with(Header::CSeq, |out| {
        decimal(out, watch.cseq.into());
        out.push(b' ');
        out.extend_from_slice(SUBSCRIBE);
    });
    writer.number(Header::Expires, watch.asked_s().into());
    writer.copy_raw(&more);
    writer.end();
}
