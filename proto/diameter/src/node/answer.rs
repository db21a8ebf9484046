//! Answers that the node itself makes (RFC 6733 §6.2, §7.2).

use super::Node;
use super::watchdog::answer_header;
use crate::codec::{Avps, Flags, HEADER_OCTETS, Header, Message, ResultCode, Violation, Writer};
use crate::rows::base;

/// The header of a message, whatever is wrong with it; `None`: it is cut off.
pub(super) fn header(octets: &[u8]) -> Option<Header> {
    octets.first_chunk::<HEADER_OCTETS>().map(Message::header_of)
}

impl Node {
    /// The answer to a request that is refused: with the E bit where the code is one of a protocol
    /// error, with Session-Id and Proxy-Info of the request, and what offends as Failed-AVP.
    pub(super) fn refusal(&self, request: &[u8], violation: &Violation) -> Vec<u8> {
        let mut octets = Vec::with_capacity(256);
        let Some(header) = header(request) else { return octets };
        let mut answer = answer_header(&header);
        if violation.code.is_protocol_error() {
            answer.flags.0 |= Flags::ERROR;
        }
        // What can be read of it: a broken AVP ends the walk.
        let avps = Avps::new(&request[HEADER_OCTETS..], HEADER_OCTETS);
        let mut writer = Writer::begin(&mut octets, &answer);
        if let Some(session) = avps.find(&base::SESSION_ID) {
            writer.avps().copy(session.whole);
        }
        writer = writer
            .put(&base::ORIGIN_HOST, &self.settings.host)
            .put(&base::ORIGIN_REALM, &self.settings.realm)
            .result(violation.code)
            .put(&base::ERROR_MESSAGE, violation.malformed.what);
        if !violation.failed.is_empty() {
            writer = writer.group(&base::FAILED_AVP, |out| out.copy(&violation.failed));
        }
        for proxy in avps.all(&base::PROXY_INFO) {
            writer.avps().copy(proxy.whole);
        }
        if writer.end().is_err() {
            return self.refusal_alone(request, violation);
        }
        octets
    }

    /// The same with nothing of the request: what offends was too long to be shown.
    fn refusal_alone(&self, request: &[u8], violation: &Violation) -> Vec<u8> {
        let head = &request[..HEADER_OCTETS.min(request.len())];
        let bare = Violation { failed: Vec::new(), ..violation.clone() };
        self.refusal(head, &bare)
    }

    /// A violation of a request as a whole.
    pub(super) fn refused(code: ResultCode, what: &'static str) -> Violation {
        Violation::new(code, 0, what, code.spec())
    }
}
