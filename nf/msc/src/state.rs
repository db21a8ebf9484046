//! What a controller holds, for whoever compares two of them: the nodes of a pair, or one of them
//! with what it was told. It only reads.

use crate::MediaController;
use crate::pair::Role;
use anchor::row::StreamId;
use anchor::{Local, Side};
use machine::Time;
use media::program::Place;
use question::Condition;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// What a controller holds.
#[derive(Clone, Copy)]
pub struct State<'a>(pub(crate) &'a MediaController);

impl State<'_> {
    /// The life within which session controllers keep their keys; `None` while it is not known
    /// whether an earlier one goes on.
    #[must_use]
    pub const fn epoch(&self) -> Option<u64> {
        self.0.epoch
    }

    /// Whether it was not told yet which of the two nodes of its pair it is.
    #[must_use]
    pub fn waits_for_its_role(&self) -> bool {
        self.0.pair.role == Role::Waiting
    }

    /// Whether records of a snapshot were not told yet.
    #[must_use]
    pub fn has_more_to_tell(&self) -> bool {
        self.0.pair.deadline() == Some(Time::ZERO)
    }

    /// Streams of session controllers and of NG.
    #[must_use]
    pub fn streams(&self) -> usize {
        self.0.streams.total()
    }

    /// Calls of NG.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.0.driven.len()
    }

    /// The ports of a side of a call of NG.
    #[must_use]
    pub fn ports(&self, call: u64, side: Side) -> Vec<Local> {
        self.0.driven.locals(call, side)
    }

    /// Pairs of ports that there are, of the addresses with these numbers.
    #[must_use]
    pub fn pairs(&self, addresses: &[u16]) -> u32 {
        self.0.streams.book.figures(addresses).pairs
    }

    /// Pairs of ports with a stream, of the addresses with these numbers.
    #[must_use]
    pub fn pairs_in_use(&self, addresses: &[u16]) -> u32 {
        self.0.streams.book.figures(addresses).in_use
    }

    /// The blocks of each session controller, those that end included: address and first port.
    #[must_use]
    pub fn leases(&self) -> BTreeMap<String, Vec<(u16, u16)>> {
        let all = self.0.controllers.iter();
        all.map(|(of, it)| (it.name.to_string(), self.0.streams.book.held_by(of).collect()))
            .collect()
    }

    /// Where the forwarder hears what comes to a port.
    #[must_use]
    pub fn place(&self, port: Local) -> Option<Place> {
        self.0.streams.addresses.place(port.address, port.port)
    }

    /// The number of the address of a place.
    #[must_use]
    pub fn address(&self, place: &Place) -> Option<u16> {
        self.0.streams.addresses.number_of(place)
    }

    /// The number of a stream at the transcoder, if it passes there.
    #[must_use]
    pub fn transcoded(&self, stream: StreamId) -> Option<u32> {
        self.0.transcoding.number_of(stream)
    }

    /// Where packets to a port really come from.
    #[must_use]
    pub fn latched(&self, port: Local) -> Option<SocketAddr> {
        self.0.measures.shown(port).latched
    }

    /// Ends whose last report was poor, and all that are measured.
    #[must_use]
    pub fn poor_ones(&self) -> (usize, usize) {
        self.0.measures.poor_ones()
    }

    /// What of media the forwarder refused of late.
    #[must_use]
    pub fn refused_of_late(&self, now: Time) -> Option<&str> {
        self.0.refused_of_late(now)
    }

    /// The conditions that stand.
    #[must_use]
    pub fn alarms(&self, now: Time) -> Vec<Condition> {
        self.0.alarms(now)
    }
}
