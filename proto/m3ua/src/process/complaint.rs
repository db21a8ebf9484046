//! ERR: what it says (RFC 4666 §3.8.1).

use super::Network;
use crate::codec::{
    Affected, ErrorCode, Message, NetworkAppearance, RoutingContext, Tag, Violation, Writer,
};

/// Octets of the offending message that an ERR shows.
const DIAGNOSTIC_BYTES_MAX: usize = 256;

/// What an ERR says.
#[derive(Debug)]
pub(super) struct Complaint {
    pub(super) code: ErrorCode,
    pub(super) contexts: Vec<RoutingContext>,
    pub(super) network: Network,
    pub(super) affected: Vec<Affected>,
}

impl Complaint {
    pub(super) const fn new(code: ErrorCode) -> Self {
        Self { code, contexts: Vec::new(), network: None, affected: Vec::new() }
    }

    pub(super) const fn context(code: ErrorCode, contexts: Vec<RoutingContext>) -> Self {
        Self { code, contexts, network: None, affected: Vec::new() }
    }

    pub(super) fn network(network: NetworkAppearance) -> Self {
        let code = ErrorCode::InvalidNetworkAppearance;
        Self { network: Some(network), ..Self::new(code) }
    }

    /// The message is known but not expected now; its Routing Contexts go back.
    pub(super) fn unexpected(message: &Message<'_>) -> Self {
        let contexts = message.routing_contexts().collect();
        Self::context(ErrorCode::UnexpectedMessage, contexts)
    }

    /// What the ERR about the message `bytes` has.
    pub(super) fn write(&self, writer: Writer<'_>, bytes: &[u8]) {
        writer
            .word(Tag::ErrorCode, self.code.number())
            .routing_contexts(self.contexts.iter().copied())
            .optional(Tag::NetworkAppearance, self.network.map(|network| network.0))
            .affected(&self.affected)
            .octets(Tag::DiagnosticInformation, &bytes[..bytes.len().min(DIAGNOSTIC_BYTES_MAX)])
            .end();
    }
}

impl From<Violation> for Complaint {
    fn from(violation: Violation) -> Self {
        Self::new(violation.code)
    }
}
