//! What is known of one flow, in the cell of its port: whoever handles a packet of it, or changes
//! it, holds the cell.

use crate::branch::Branches;
use crate::departure::Way;
use crate::flow::{Flow, PayloadTypes};
use crate::police::{Upward, Used};
use crate::program::{DIGITS_MAX, Digit, Place};
use core::net::SocketAddr;
use machine::{Time, narrow};
use rtp::event::{Detected, Detector};
use rtp::{Header, Packet};
use srtp::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// The number of no flow, and of no sender.
pub(crate) const NONE: u32 = u32::MAX;

/// In place of the number of a sender: packets leave in the clear. [`NONE`] there: none leaves, for
/// keys are being agreed.
pub(crate) const CLEAR: u32 = u32::MAX - 1;

/// How packets leave from a flow's own place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Own {
    /// The flow's number.
    pub number: u32,
    /// The place.
    pub at: Place,
    /// Who protects them, or [`CLEAR`], or [`NONE`].
    pub sender: u32,
    /// How they are marked, 0 to 63; `None`: as they came.
    pub dscp: Option<u8>,
}

/// What is special to payload types, as many flows have it.
#[derive(Debug)]
pub(crate) struct Special {
    /// Payload types that become another one.
    pub becomes: Vec<(u8, u8)>,
    /// Payload types that go up.
    pub up: PayloadTypes,
    /// How many of those, at most.
    pub up_rate: Upward,
    /// Payload types of digits.
    pub digits: PayloadTypes,
    /// All of them.
    pub all: PayloadTypes,
}

/// The names of sources where they change on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Names {
    /// The source that comes here, which leaves under another name.
    pub own: Option<u32>,
    /// As whom whoever is here knows the source of the other side, and its own name.
    pub other: Option<(u32, u32)>,
}

/// What few flows have come to.
#[derive(Debug, Default)]
pub(crate) struct Extras {
    /// Packets that leave from other places.
    pub branches: Branches,
    /// The names of sources, for reports.
    pub names: Names,
    /// Packets that could not be opened.
    pub unprotected: u64,
    /// How many of its packets went up.
    pub up: Used,
    detector: Detector,
    /// What was dialled and not told yet.
    pub dialled: Vec<Digit>,
}

impl Extras {
    /// Notes the digits of a packet; whether there is one to be told.
    pub fn hear(&mut self, now: Time, clock: rtp::ClockRate, packet: &[u8]) -> bool {
        let mut detected = Vec::new();
        if let Ok(packet) = Packet::read(packet) {
            let Header { timestamp, .. } = packet.header;
            // What is no event ends here: it goes where its payload type goes.
            let _ = self.detector.packet(now, timestamp, packet.payload, &mut detected);
        }
        self.note(clock, &detected)
    }

    /// Ends a digit of which no packet comes any more; whether there is one to be told.
    pub fn tick(&mut self, now: Time, clock: rtp::ClockRate) -> bool {
        let mut detected = Vec::new();
        self.detector.tick(now, &mut detected);
        self.note(clock, &detected)
    }

    fn note(&mut self, clock: rtp::ClockRate, detected: &[Detected]) -> bool {
        for it in detected {
            if let Detected::Ended { code, duration } = *it
                && self.dialled.len() < DIGITS_MAX
            {
                let duration_ms = narrow::millis(clock.duration(duration));
                let duration_ms = narrow::at_most(duration_ms, u32::MAX);
                self.dialled.push(Digit { code, duration_ms });
            }
        }
        !self.dialled.is_empty()
    }
}

/// A flow with all that its packets need, and little more: each line of it is waited for, and there
/// are very many. Where it is knows who has its number.
#[derive(Debug)]
pub(crate) struct Known {
    /// Its port: a number may have become another flow's.
    pub port: u16,
    /// Who protects what leaves from its place, or [`CLEAR`], or [`NONE`].
    pub sender: u32,
    /// How that is marked, 0 to 63; `None`: as it came.
    pub dscp: Option<u8>,
    /// Its number stands in the ring of what is to be told.
    pub is_noted: bool,
    /// A flow whose other side this is, or [`NONE`].
    pub from: u32,
    /// The flow of its RTCP where that has a port of its own, or that of its RTP; or [`NONE`].
    pub pair: u32,
    /// What opens packets that come: nobody those in the clear, nobody yet while keys are agreed.
    pub receiver: Option<Box<Receiver>>,
    /// Whether they come in the clear.
    pub comes_clear: bool,
    /// What is special to payload types; `None`: nothing.
    pub special: Option<Arc<Special>>,
    /// What few have, since a packet brought it.
    pub extras: Option<Box<Extras>>,
    /// Where it goes on; `None` as long as there is no other side.
    pub way: Option<Way>,
    /// What comes to the place.
    pub flow: Flow,
}

impl Known {
    /// How packets leave from its place. `is_media`: whether a place is a port of media's.
    pub fn leaving(&self, number: u32, at: Place, is_media: impl Fn(&Place) -> bool) -> Way {
        let own = Own { number, at, sender: self.sender, dscp: self.dscp };
        let (destination, is_back) = self.destination(at.vrf, is_media);
        Way::of(&own, destination, is_back)
    }

    /// Where packets go that leave from its place, and whether that is a port of media's.
    pub fn destination(&self, vrf: u32, is_media: impl Fn(&Place) -> bool) -> (SocketAddr, bool) {
        let destination = self.flow.latched().destination();
        let (address, port) = (destination.ip(), destination.port());
        (destination, is_media(&Place { vrf, address, port }))
    }

    /// Whether the header of RTP may change on its way.
    #[inline]
    pub fn changes(&self) -> bool {
        self.flow.rewrites() || self.special.as_ref().is_some_and(|it| !it.becomes.is_empty())
    }

    /// Packets that could not be opened.
    pub fn unprotected(&self) -> u64 {
        self.extras.as_ref().map_or(0, |extras| extras.unprotected)
    }

    /// Whether no packet of it is opened or protected.
    pub fn is_clear(&self) -> bool {
        let branches = self.extras.iter().flat_map(|it| it.branches.ways());
        self.comes_clear && self.way.iter().chain(branches).all(|way| way.sender >= CLEAR)
    }

    /// The branch of a packet as it came; `None`: it has none.
    #[inline]
    pub fn branch(&self, packet: &[u8]) -> Option<u8> {
        self.extras.as_ref()?.branches.of(packet)
    }

    /// The way of a branch, or of what has none.
    #[inline]
    pub fn way_of(&self, branch: Option<u8>) -> Option<&Way> {
        match branch {
            None => self.way.as_ref(),
            Some(branch) => self.extras.as_ref()?.branches.way(branch),
        }
    }
}

/// Lines of a cell.
pub(crate) const CELL_LINES: usize = 6;

/// The cell of a flow: of nobody, or of one. On lines of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Cell(Mutex<Option<Known>>);

/// A cell that is held.
pub(crate) type Held<'a> = MutexGuard<'a, Option<Known>>;

impl Cell {
    /// Holds it, waiting for whoever does.
    pub fn hold(&self) -> Held<'_> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds it if nobody does.
    pub fn try_hold(&self) -> Option<Held<'_>> {
        tried(self.0.try_lock())
    }
}

/// A lock that was tried. What a worker that panicked left stands: each step leaves it whole.
pub(crate) fn tried<'a, T>(
    lock: Result<MutexGuard<'a, T>, TryLockError<MutexGuard<'a, T>>>,
) -> Option<MutexGuard<'a, T>> {
    match lock {
        Ok(held) => Some(held),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_with_all_that_its_packets_need_is_six_lines() {
        assert!(size_of::<Cell>() <= CELL_LINES * 64, "{}", size_of::<Cell>());
        assert!(size_of::<Receiver>() <= 5 * 64, "{}", size_of::<Receiver>());
    }
}
