//! The contexts of a direction's streams, one an SSRC (RFC 3711 §3.2.3), and the ledger of indices
//! that the law of this crate stands on: **no index is used twice under one key**.
//!
//! [`Unused`] is an index that was never used under the present keys. [`Stream::spend`] and
//! [`Stream::spend_rtcp`] alone make one and write into the ledger that it is used; it can neither
//! be copied nor made otherwise, and nothing is encrypted without one.

use crate::index::{Index, Seen, Window};
use crate::packet::Refused;

/// Streams that a direction follows. None is forgotten under a key: its indices would be used again
/// when its SSRC comes back.
pub const STREAMS_MAX: usize = 32;
/// The highest index of RTCP (RFC 3711 §3.4).
pub const RTCP_INDEX_MAX: u32 = (1 << 31) - 1;

/// An index that was never used under the present keys, to be used by who gets it.
#[derive(Debug)]
pub(crate) struct Unused(u64);

impl Unused {
    /// The number, for the one packet that it is for.
    pub fn into_number(self) -> u64 {
        self.0
    }
}

/// What a standby is told of a stream: plain data, as far as the one that tells it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamState {
    /// The synchronisation source.
    pub ssrc: u32,
    /// The highest index of RTP: rollover counter and sequence number.
    pub highest: Option<Index>,
    /// The highest index of RTCP.
    pub rtcp: Option<u32>,
    /// By how much sequence numbers are moved ahead of those that came (see [`crate::Skip`]).
    pub moved: u16,
}

impl StreamState {
    /// Takes what is told later, in whatever order: the highest counts.
    pub fn merge(&mut self, later: &Self) {
        if later.highest >= self.highest {
            (self.highest, self.moved) = (later.highest, later.moved);
        }
        self.rtcp = self.rtcp.max(later.rtcp);
    }
}

/// The context of one SSRC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stream {
    pub ssrc: u32,
    pub moved: u16,
    /// Whether no packet of RTP, of RTCP came yet under keys that changed: counters may have begun
    /// again.
    pub settling: Settling,
    pub rtp: Window,
    pub rtcp: Window,
}

/// Which of both protocols did not show yet whether its counter began again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Settling {
    pub rtp: bool,
    pub rtcp: bool,
}

impl Stream {
    pub fn new(ssrc: u32) -> Self {
        let (rtp, rtcp) = (Window::default(), Window::default());
        Self { ssrc, moved: 0, settling: Settling::default(), rtp, rtcp }
    }

    /// As it was told, `skip` indices later; nothing up to there is new.
    pub fn restored(state: &StreamState, skip: u16) -> Self {
        let ahead = |highest: u64| Window::after(highest.saturating_add(u64::from(skip)));
        Self {
            ssrc: state.ssrc,
            moved: state.moved.wrapping_add(skip),
            settling: Settling::default(),
            rtp: state.highest.map_or(Window::default(), |index| ahead(index.number())),
            rtcp: state.rtcp.map_or(Window::default(), |index| ahead(u64::from(index))),
        }
    }

    pub fn state(&self) -> StreamState {
        StreamState {
            ssrc: self.ssrc,
            highest: self.highest(),
            rtcp: self.rtcp.highest().and_then(|index| u32::try_from(index).ok()),
            moved: self.moved,
        }
    }

    pub fn highest(&self) -> Option<Index> {
        self.rtp.highest().and_then(Index::of)
    }

    /// The index of a packet that comes with this sequence number and leaves `moved` ahead of it.
    fn moved_index(&self, sequence: u16) -> Option<Index> {
        match self.highest() {
            Some(highest) => Index::estimate(Some(highest), sequence.wrapping_add(self.moved)),
            // What another one may have sent of a stream that nobody was told of lies before.
            None => Index::of(u64::from(sequence) + u64::from(self.moved)),
        }
    }

    /// The index for a packet of RTP that comes with this sequence number.
    pub fn spend(&mut self, sequence: u16) -> Result<Unused, Refused> {
        let index = self.moved_index(sequence).ok_or(Refused::Exhausted)?.number();
        match self.rtp.take(index) {
            Seen::New => Ok(Unused(index)),
            Seen::Replayed => Err(Refused::Replayed),
            Seen::Old => Err(Refused::Old),
        }
    }

    /// The next index of RTCP.
    pub fn spend_rtcp(&mut self) -> Result<Unused, Refused> {
        let index = self.rtcp.highest().map_or(0, |highest| highest.saturating_add(1));
        if index > u64::from(RTCP_INDEX_MAX) || self.rtcp.take(index) != Seen::New {
            return Err(Refused::Exhausted);
        }
        Ok(Unused(index))
    }
}

/// The streams of a direction. There are few: they are looked through.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Streams(Vec<Stream>);

impl Streams {
    pub fn find(&self, ssrc: u32) -> Option<&Stream> {
        self.0.iter().find(|stream| stream.ssrc == ssrc)
    }

    pub fn find_mut(&mut self, ssrc: u32) -> Option<&mut Stream> {
        self.0.iter_mut().find(|stream| stream.ssrc == ssrc)
    }

    pub fn has_room(&self) -> bool {
        self.0.len() < STREAMS_MAX
    }

    /// Takes up a stream that is not there.
    pub fn insert(&mut self, stream: Stream) -> Result<&mut Stream, Refused> {
        if !self.has_room() {
            return Err(Refused::TooManyStreams);
        }
        // Most directions have one stream in all their life.
        if self.0.len() == self.0.capacity() {
            self.0.reserve_exact(self.0.len().max(1));
        }
        let at = self.0.len();
        self.0.push(stream);
        Ok(&mut self.0[at])
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.0.iter_mut()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Stream> {
        self.0.iter()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn heap(&self) -> usize {
        self.0.capacity() * size_of::<Stream>()
    }
}
