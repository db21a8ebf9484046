//! The place of a node in its pair, and what it leaves to the other one.

use sip::{Header, Message, Method};

/// What a node does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Duty {
    /// It serves: there is no other node, or that one stands by.
    #[default]
    Serves,
    /// The other node serves.
    StandsBy,
}

/// Requests that are left unanswered, so that they come again at the other node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Left {
    /// None.
    #[default]
    Nothing,
    /// Registrations and messages, but for delivery reports.
    Beginnings,
    /// All.
    Requests,
}

/// The place of a node in its pair.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Place {
    pub duty: Duty,
    pub left: Left,
}

impl Place {
    pub(crate) fn is_standby(self) -> bool {
        self.duty == Duty::StandsBy
    }

    /// Whether a request is left to the other node.
    pub(crate) fn leaves(self, message: &Message<'_>) -> bool {
        match self.left {
            _ if message.method() == Method::Options => false,
            Left::Nothing => false,
            Left::Beginnings => message.first(Header::InReplyTo).is_none(),
            Left::Requests => true,
        }
    }
}
