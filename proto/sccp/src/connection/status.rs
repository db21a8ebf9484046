//! What is shown of connections.

use super::section::{Reset, State};
use super::table::Connections;
use crate::codec::{ConnectionClass, LocalReference};
use m3ua::codec::PointCode;
use machine::Time;

/// A section, as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionStatus {
    /// Its local reference.
    pub reference: LocalReference,
    /// The node that it is with.
    pub remote: PointCode,
    /// The reference there, where it is known.
    pub other: Option<LocalReference>,
    /// Its class: until it is agreed, the one that was proposed.
    pub class: ConnectionClass,
    /// `requested`, `offered`, `active`, `resetting` or `releasing`.
    pub state: &'static str,
    /// The subsystem here that has it; none: it is coupled.
    pub subsystem: Option<u8>,
    /// The section that it is coupled with.
    pub coupled: Option<LocalReference>,
    /// Octets that wait in it, with what each piece costs.
    pub waiting_octets: usize,
    /// When something was sent last, and came last.
    pub sent: Time,
    /// When something came last.
    pub received: Time,
}

impl Connections {
    /// The sections, by their references.
    pub(crate) fn status(&self) -> impl Iterator<Item = ConnectionStatus> {
        self.sections().map(|(reference, it)| ConnectionStatus {
            reference,
            remote: it.way.remote,
            other: it.other,
            class: it.class,
            state: match it.state {
                State::Requested(_) => "requested",
                State::Offered(_) => "offered",
                State::Active(Reset::None) => "active",
                State::Active(_) => "resetting",
                State::Abandoned(_) | State::Releasing { .. } => "releasing",
            },
            subsystem: it.subsystem,
            coupled: self.couples.get(&reference).copied(),
            waiting_octets: it.octets(),
            sent: it.sent,
            received: it.received,
        })
    }
}
