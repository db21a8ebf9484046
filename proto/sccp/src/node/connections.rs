//! Messages of connections, which this node does not have: refused, or answered as of an unknown
//! reference (Q.714 §3.2.2, table B.2).

use super::Node;
use crate::codec::{
    Address, ErrorCause, Message, MessageType, Parameter, RefusalCause, ReturnCause, Routing,
    Writer,
};
use crate::facts::Fact;

impl Node {
    /// Answers a message of a connection.
    pub(super) fn refuse(&mut self, message: &Message<'_>, msu: &m3ua::Transfer) {
        self.count(Fact::ConnectionsRefused);
        let source = message.value(Parameter::SourceReference).unwrap_or_default();
        let destination = message.value(Parameter::DestinationReference).unwrap_or_default();
        let (kind, fixed) = match message.kind {
            MessageType::ConnectionRequest => {
                let cause = [self.refusal(message).number()];
                (MessageType::ConnectionRefused, [source, &cause].concat())
            }
            MessageType::Released => (MessageType::ReleaseComplete, [source, destination].concat()),
            MessageType::ConnectionConfirm
            | MessageType::ResetRequest
            | MessageType::ResetConfirm => {
                let cause = [ErrorCause::UnassignedReference.number()];
                (MessageType::Error, [source, &cause].concat())
            }
            _ => return,
        };
        let mut payload = Vec::new();
        Writer::begin(&mut payload, kind, &fixed).end();
        self.transfer(msu.opc, msu.sls, payload);
    }

    fn refusal(&self, message: &Message<'_>) -> RefusalCause {
        let called = message.value(Parameter::Called).unwrap_or_default();
        let Ok(called) = Address::read(called, message.at(Parameter::Called)) else {
            return RefusalCause::DestinationUnknown;
        };
        if called.routing == Routing::Title {
            return RefusalCause::DestinationUnknown;
        }
        match self.unavailable(called.subsystem.unwrap_or_default()) {
            Some(ReturnCause::SubsystemFailure) => RefusalCause::SubsystemFailure,
            Some(_) => RefusalCause::UnequippedUser,
            None => RefusalCause::NoService,
        }
    }
}
