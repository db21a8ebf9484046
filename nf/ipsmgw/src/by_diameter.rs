//! Diameter in a gateway: what its section lends to [`smsdiameter`], and what comes from there.

pub(crate) mod keys;

use crate::config::{Ipsmgw, Mode};
use crate::effects::In as Input;
use machine::Duration;
use runtime::In;
use smsdiameter::{DestinationKeys, Event, Section};

impl Ipsmgw {
    /// What the applications of Diameter are lent.
    pub(crate) fn by_diameter(&self) -> Section<'_> {
        let destinations: &[DestinationKeys] = match self.mode {
            Mode::Local => &[],
            Mode::Gateway => &self.diameter_destination,
        };
        Section {
            diameter: self.diameter_section(),
            home: self.hss.as_ref(),
            charging: self.charging.as_ref(),
            destinations,
            number: &self.number,
            allowed: &self.signalling.allowed,
            flow_time: Duration::from_secs(self.timers.flow_s.into()),
            is_captured: self.capture.is_some(),
        }
    }
}

impl From<Event> for Input {
    fn from(event: Event) -> Self {
        match event {
            Event::Home { ticket, answer } => Self::Home { ticket, answer },
            Event::Reachable(msisdn) => Self::Retry(Some(msisdn)),
            Event::Charged { ticket, charged } => Self::Charged { ticket, charged },
            Event::Replied { reference, reply, names, informed } => {
                Self::PeerReplied { reference, reply, names, informed }
            }
            Event::Asked { dialogue, title, operation, invoked } => {
                Self::PeerAsks { dialogue, title, operation, invoked }
            }
        }
    }
}

/// Whether something happened on a port of Diameter.
pub(crate) const fn is_of(input: &In<'_>) -> bool {
    let port = match input {
        In::Message { flow, .. }
        | In::Up { flow }
        | In::Proved { flow, .. }
        | In::Down { flow, .. }
        | In::Returned { flow, .. }
        | In::Written { flow, .. } => flow.port,
        In::Ready { port } => *port,
        _ => return false,
    };
    keys::owns(port)
}
