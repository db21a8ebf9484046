//! The OPTIONS that finds out whether a target answers (RFC 3261 §11).

use crate::realm::Listener;
use crate::write;
use machine::identity::hex;
use runtime::Flow;

/// Writes one to the far end of `flow`; `branch` is that of its transaction, `call` names it.
pub fn write(out: &mut Vec<u8>, listener: &Listener, flow: &Flow, branch: &[u8], call: u64) {
    let remote = flow.remote.to_string();
    let (uri, name) = (remote.as_bytes(), hex(call));
    out.extend_from_slice(b"OPTIONS sip:");
    out.extend_from_slice(uri);
    out.extend_from_slice(b" SIP/2.0\r\n");
    out.extend_from_slice(&listener.via);
    out.extend_from_slice(branch);
    out.extend_from_slice(b"\r\nMax-Forwards: 1\r\nFrom: <sip:probe@");
    out.extend_from_slice(listener.sent_by.as_bytes());
    out.extend_from_slice(b">;tag=");
    out.extend_from_slice(&name[..8]);
    out.extend_from_slice(b"\r\nTo: <sip:");
    out.extend_from_slice(uri);
    out.extend_from_slice(b">\r\nCall-ID: ");
    out.extend_from_slice(&name);
    out.extend_from_slice(b"\r\nCSeq: 1 OPTIONS\r\n");
    write::no_body(out);
}
