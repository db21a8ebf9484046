//! The contexts of a direction's streams, one an SSRC (RFC 3711 §3.2.3), and the ledger of indices
//! that the law of this crate stands on: **no index is used twice under one key**.
//!
//! [`Unused`] is an index that was never used under the present keys. [`Stream::spend`] and
//! [`Stream::spend_rtcp`] alone make one and write into the ledger that it is used; it can neither
//! be copied nor made otherwise, and nothing is encrypted without one.

use crate::index::{Index, Seen, Window};
use crate::packet::Refused;
use crate::sender::{SKIP_MAX, Skip};

/// Streams that a direction follows. None is forgotten under a key: its indices would be used again
/// when its SSRC comes back.
pub const STREAMS_MAX: usize = 32;
/// Of these, streams of which nothing but RTCP is known: who names sources in RTCP alone leaves
/// room for those that send RTP.
pub const RTCP_ALONE_MAX: usize = 8;
/// Where rollover counters become one.
const WRAP: u64 = 1 << 16;
/// What a stream counts the indices around it in.
const WRAP_UNIT: u16 = 64;
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
    /// What one that took over from here and has told nothing yet may be at.
    #[must_use]
    pub fn skipped(self, skip: Skip) -> Self {
        let by = skip.indices();
        let last = |index: Index| Index::of(index.number() + u64::from(by)).unwrap_or(Index::MAX);
        Self {
            ssrc: self.ssrc,
            highest: self.highest.map(last),
            rtcp: self.rtcp.map(|it| it.saturating_add(by.into()).min(RTCP_INDEX_MAX)),
            moved: self.moved.wrapping_add(by),
        }
    }

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
    /// So many times 64 indices on each side of the first wrap may have been used by another one,
    /// which began the stream shortly before it and told nobody.
    wrap: u8,
    /// Whether no packet of RTP, of RTCP came yet under keys that changed: counters may have begun
    /// again.
    pub settling: Settling,
    pub rtp: Window,
    pub rtcp: Window,
}

/// Which of both protocols did not show yet whether its counter began again: one octet with room
/// for `None`, for there are many streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Settling {
    #[default]
    None,
    Rtp,
    Rtcp,
    Both,
}

impl Settling {
    pub const fn both(is_settling: bool) -> Self {
        if is_settling { Self::Both } else { Self::None }
    }

    pub const fn rtp(self) -> bool {
        matches!(self, Self::Rtp | Self::Both)
    }

    pub const fn rtcp(self) -> bool {
        matches!(self, Self::Rtcp | Self::Both)
    }

    pub const fn end_rtp(&mut self) {
        *self = if self.rtcp() { Self::Rtcp } else { Self::None };
    }

    pub const fn end_rtcp(&mut self) {
        *self = if self.rtp() { Self::Rtp } else { Self::None };
    }
}

/// So many indices, at least, in units of those around a wrap.
fn wrap_of(indices: u16) -> u8 {
    u8::try_from(indices.min(SKIP_MAX).div_ceil(WRAP_UNIT)).unwrap_or(u8::MAX)
}

impl Stream {
    pub fn new(ssrc: u32) -> Self {
        let (rtp, rtcp) = (Window::default(), Window::default());
        Self { ssrc, moved: 0, wrap: 0, settling: Settling::default(), rtp, rtcp }
    }

    /// One of which another one may have used `ahead` indices, of RTP wherever it began and of RTCP
    /// from the first one on.
    pub fn unheard(ssrc: u32, ahead: u16) -> Self {
        let rtcp = ahead.checked_sub(1).map(|last| Window::after(u64::from(last)));
        Self {
            moved: ahead,
            wrap: wrap_of(ahead),
            rtcp: rtcp.unwrap_or_default(),
            ..Self::new(ssrc)
        }
    }

    /// As it was told, `skip` indices later; nothing up to there is new.
    pub fn restored(state: &StreamState, skip: u16) -> Self {
        let ahead = |highest: u64| Window::after(highest.saturating_add(u64::from(skip)));
        let skip_unheard = if state.highest.is_none() { skip } else { 0 };
        let moved_unheard = state.moved.saturating_add(skip_unheard);
        Self {
            ssrc: state.ssrc,
            moved: state.moved.wrapping_add(skip),
            // Whether it was moved because nobody had told of it is not told: it may have been.
            wrap: wrap_of(moved_unheard),
            settling: Settling::default(),
            rtp: state.highest.map_or(Window::default(), |index| ahead(index.number())),
            rtcp: state.rtcp.map_or(Window::default(), |index| ahead(u64::from(index))),
        }
    }

    /// Goes on `skip` indices behind a state that is no earlier than its own.
    pub fn pass(&mut self, state: &StreamState, skip: u16) {
        let wrap = self.wrap;
        *self = Self::restored(state, skip);
        self.wrap = self.wrap.max(wrap);
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

    /// Indices on each side of the first wrap that another one may have used.
    fn around_wrap(&self) -> u16 {
        u16::from(self.wrap) * WRAP_UNIT
    }

    /// Whether another one may have used an index around the first wrap.
    fn is_around_wrap(&self, index: u64) -> bool {
        let wrap = u64::from(self.around_wrap());
        (WRAP - wrap..WRAP + wrap).contains(&index)
    }

    /// The index for a packet of RTP that comes with this sequence number.
    pub fn spend(&mut self, sequence: u16) -> Result<Unused, Refused> {
        if self.rtp.highest().is_none() && sequence >= self.around_wrap() {
            // Whoever began it so few packets ago did so behind the wrap.
            self.wrap = 0;
        }
        let mut index = self.moved_index(sequence).ok_or(Refused::Exhausted)?.number();
        if self.is_around_wrap(index) {
            if self.rtp.highest().is_some_and(|highest| index <= highest) {
                return Err(Refused::Replayed);
            }
            // All that may have been used is passed at once, as at a takeover.
            let by = 2 * self.around_wrap();
            index += u64::from(by);
            self.moved = self.moved.wrapping_add(by);
        }
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

/// The streams of a direction. There are few: they are looked through. Most directions have one in
/// all their life, which stands here itself, so that its packets wait for no more memory.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Streams {
    first: Option<Stream>,
    #[allow(clippy::box_collection, reason = "few have more, and for the others it is one word")]
    more: Option<Box<Vec<Stream>>>,
}

impl Streams {
    #[inline]
    pub fn find(&self, ssrc: u32) -> Option<&Stream> {
        match &self.first {
            Some(first) if first.ssrc == ssrc => Some(first),
            _ => self.more().iter().find(|stream| stream.ssrc == ssrc),
        }
    }

    #[inline]
    pub fn find_mut(&mut self, ssrc: u32) -> Option<&mut Stream> {
        match &mut self.first {
            Some(first) if first.ssrc == ssrc => Some(first),
            _ => self.more.as_mut()?.iter_mut().find(|stream| stream.ssrc == ssrc),
        }
    }

    fn more(&self) -> &[Stream] {
        self.more.as_deref().map_or(&[], Vec::as_slice)
    }

    pub fn has_room(&self) -> bool {
        self.iter().count() < STREAMS_MAX
    }

    /// Whether one more stream may be taken up of which nothing but RTCP is known.
    pub fn has_room_for_rtcp(&self) -> bool {
        let alone = self.iter().filter(|stream| stream.highest().is_none());
        self.has_room() && alone.count() < RTCP_ALONE_MAX
    }

    /// Takes up a stream that is not there.
    pub fn insert(&mut self, stream: Stream) -> Result<&mut Stream, Refused> {
        if !self.has_room() {
            return Err(Refused::TooManyStreams);
        }
        if self.first.is_none() {
            return Ok(self.first.insert(stream));
        }
        let more = self.more.get_or_insert_default();
        if more.len() == more.capacity() {
            more.reserve_exact(more.len().max(1));
        }
        let at = more.len();
        more.push(stream);
        Ok(&mut more[at])
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.first.iter_mut().chain(self.more.iter_mut().flat_map(|more| more.iter_mut()))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Stream> {
        self.first.iter().chain(self.more())
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Octets on the heap.
    pub fn heap(&self) -> usize {
        let octets = |more: &Vec<Stream>| size_of_val(more) + more.capacity() * size_of::<Stream>();
        self.more.as_deref().map_or(0, octets)
    }
}
