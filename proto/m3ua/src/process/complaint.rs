//! ERR: what it says and when it is sent, and what one that came means (RFC 4666 §3.8.1).

use super::{Network, Process};
use crate::codec::{
    Affected, ErrorCode, Message, MessageType, NetworkAppearance, Offence, RoutingContext, Tag,
};
use crate::effects::Indication;
use crate::facts::Fact;
use crate::id::PeerId;
use crate::timers::Timer;

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
}

impl From<Offence> for Complaint {
    fn from(offence: Offence) -> Self {
        Self::new(offence.code)
    }
}

impl Process {
    /// Sends an ERR about the message `bytes`.
    pub(super) fn complain(&mut self, peer: PeerId, complaint: &Complaint, bytes: &[u8]) {
        self.count(Fact::ErrorsOut);
        self.indicate(Indication::Offended(peer, complaint.code));
        self.send(peer, MessageType::Err, |writer| {
            writer
                .word(Tag::ErrorCode, complaint.code.number())
                .routing_contexts(complaint.contexts.iter().copied())
                .optional(Tag::NetworkAppearance, complaint.network.map(|network| network.0))
                .affected(&complaint.affected)
                .octets(Tag::DiagnosticInformation, &bytes[..bytes.len().min(DIAGNOSTIC_BYTES_MAX)])
                .end();
        });
    }

    /// An ERR came: what was refused is asked for again after a longer time.
    pub(super) fn on_err(&mut self, peer: PeerId, message: &Message<'_>) {
        self.count(Fact::ErrorsIn);
        let number = message.word(Tag::ErrorCode).unwrap_or_default();
        self.indicate(Indication::Error(peer, number));
        let again = self.now + self.settings.parameters.t_refused;
        let code = ErrorCode::of(number);
        let refuses_up = matches!(
            code,
            Some(
                ErrorCode::InvalidVersion
                    | ErrorCode::RefusedManagementBlocking
                    | ErrorCode::AspIdentifierRequired
                    | ErrorCode::InvalidAspIdentifier
            )
        );
        let asked = self.peers.find(peer).and_then(|peer| peer.asked);
        if let Some((MessageType::AspUp, _)) = asked.filter(|_| refuses_up) {
            return self.timers.arm(Timer::Ack(peer), again);
        }
        let refuses_member = matches!(
            code,
            Some(
                ErrorCode::RefusedManagementBlocking
                    | ErrorCode::UnsupportedTrafficModeType
                    | ErrorCode::InvalidRoutingContext
                    | ErrorCode::NoConfiguredAs
                    | ErrorCode::UnsupportedMessageClass
            )
        );
        if !refuses_member {
            return;
        }
        let contexts: Vec<RoutingContext> = message.routing_contexts().collect();
        for server in self.servers_of(peer, true) {
            let member = self.servers.find(server).and_then(|server| server.member(peer));
            let is_meant = |context| contexts.is_empty() || contexts.contains(&context);
            let refused = member.filter(|member| {
                member.asked.is_some() && member.routing_context.is_none_or(is_meant)
            });
            if refused.is_some() {
                self.timers.arm(Timer::MemberAck(server, peer), again);
            }
        }
    }
}
