//! A connection section: this node's half of a connection.

use super::flow::Flow;
use super::parameters::ConnectionParameters;
use crate::codec::{ConnectionClass, LocalReference};
use bytes::Bytes;
use m3ua::PeerId;
use m3ua::codec::PointCode;
use machine::Time;
use std::collections::VecDeque;

/// The way of a section's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    /// The point code of this node that it is at.
    pub(crate) own: PointCode,
    /// Where its messages go.
    pub(crate) remote: PointCode,
}

/// Whose share of references and octets a section has: the association that it came by, and the
/// point code of MTP3 within; no address says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) by: Option<PeerId>,
    pub(crate) opc: PointCode,
}

/// Whether a reset is under way (Q.714 §3.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reset {
    /// No: data flow.
    None,
    /// RSR was sent; until then RSC has to come.
    Asked(Time),
    /// RSR came; the user has to respond.
    Told,
}

/// What a section waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// CR was sent: for CC or CREF.
    Requested(Time),
    /// The same, and the user wants it no more.
    Abandoned(Time),
    /// CR came: for the user.
    Offered(Time),
    /// Data flow, but for a reset.
    Active(Reset),
    /// RLSD was sent: for RLC.
    Releasing {
        /// The number of the release cause.
        cause: u8,
        /// When it is sent again.
        again: Time,
        /// When that is given up, T(int).
        until: Time,
    },
}

/// What another node that stands by knows of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Known {
    /// A number for its fields; zero: nothing was told.
    pub(crate) fields: u64,
    /// Octets of what came of which more follows.
    pub(crate) came: usize,
}

/// This node's half of a connection.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) way: Way,
    pub(crate) source: Source,
    pub(crate) class: ConnectionClass,
    /// The other half.
    pub(crate) other: Option<LocalReference>,
    /// CR left by a subsystem number: the node that it was sent to answers, and no other. Behind
    /// a title another one may.
    pub(crate) is_bound: bool,
    /// The subsystem here that has it.
    pub(crate) subsystem: Option<u8>,
    pub(crate) state: State,
    pub(crate) flow: Flow,
    /// Segments that wait for credit, and whether more follow.
    pub(crate) waiting: VecDeque<(bool, Bytes)>,
    /// Expedited data that wait for an EA; of the first one ED was sent when there is a time.
    pub(crate) expedited: VecDeque<Bytes>,
    /// Until then the EA has to come.
    pub(crate) expedited_until: Option<Time>,
    /// The user takes no more for a while.
    pub(crate) is_busy: bool,
    /// Data of which more follow.
    pub(crate) came: Vec<u8>,
    /// When something was sent last, and came last.
    pub(crate) sent: Time,
    pub(crate) received: Time,
    /// The time that it has in the table of those that are due.
    pub(crate) armed: Time,
    /// What was told of it to who stands by.
    pub(crate) told: Known,
}

impl Section {
    pub(crate) fn new(
        way: Way,
        source: Source,
        class: ConnectionClass,
        credit: u8,
        state: State,
        now: Time,
    ) -> Box<Self> {
        Box::new(Self {
            way,
            source,
            class,
            other: None,
            is_bound: false,
            subsystem: None,
            state,
            flow: Flow::new(credit),
            waiting: VecDeque::new(),
            expedited: VecDeque::new(),
            expedited_until: None,
            is_busy: false,
            came: Vec::new(),
            sent: now,
            received: now,
            armed: now,
            told: Known::default(),
        })
    }

    /// When the next of its timers runs out.
    pub(crate) fn due(&self, parameters: &ConnectionParameters) -> Time {
        match self.state {
            State::Requested(until) | State::Abandoned(until) | State::Offered(until) => until,
            State::Releasing { again, until, .. } => again.min(until),
            State::Active(reset) => {
                let inactivity = (self.sent + parameters.inactivity_send)
                    .min(self.received + parameters.inactivity_receive);
                let reset = match reset {
                    Reset::Asked(until) => Some(until),
                    Reset::None | Reset::Told => None,
                };
                reset.into_iter().chain(self.expedited_until).fold(inactivity, Time::min)
            }
        }
    }

    /// Octets that wait, with what each piece costs.
    pub(crate) fn octets(&self) -> usize {
        let waiting = self.waiting.iter().map(|it| cost(it.1.len())).sum::<usize>();
        let expedited = self.expedited.iter().map(|it| cost(it.len())).sum::<usize>();
        waiting + expedited + self.came.len()
    }

    /// Takes a section to its release.
    pub(crate) fn release(&mut self, now: Time, cause: u8, parameters: &ConnectionParameters) {
        let again = now + parameters.release;
        self.state = State::Releasing { cause, again, until: again + parameters.release_most };
    }
}

/// What a piece costs that waits.
pub(crate) const fn cost(octets: usize) -> usize {
    octets + 64
}
