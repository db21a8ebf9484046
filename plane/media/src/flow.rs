//! What comes to one port.

use crate::latch::{Latch, Seen};
use crate::peer::Peer;
use crate::police::{Police, Rate, Upward, Used};
use machine::Time;
use rtp::rtcp::{Compound, Form};
use rtp::{ClockRate, Datagram, Header, Packet, Reception, Rewrite};
use std::sync::Arc;

/// Streams of one flow that are counted apart; of more the one that was silent longest gives way.
pub const STREAMS_MAX: usize = 2;
/// Sources that a flow may be held to, at most; of more it takes any.
pub const SOURCES_MAX: usize = 32;
/// The first octet of RTP without contributing sources, extension and padding.
const PLAIN: u8 = 0x80;
/// Octets of the headers of IPv6 and UDP, with which a session description counts.
const HEADERS: u16 = 48;

wire::rows! {
    /// Why a packet is dropped.
    pub enum Reason {
        /// Nothing that comes to such a port.
        NoMedia = "no media packet", "RFC 7983 §7";
        /// RTP where RTCP is wanted, or the other way round.
        OtherUse = "not what the port is for", "RFC 5761 §4";
        /// Of another source than was taken.
        OtherSource = "source is not the latched one", "RFC 7362 §5";
        /// From where nobody was signalled.
        Stranger = "source was not signalled", "RFC 7362 §5";
        /// The direction is on hold, or was not agreed.
        Inactive = "direction is not active", "RFC 8866 §6.7";
        /// A payload type that was not agreed.
        PayloadType = "payload type was not agreed", "RFC 3264 §6.1";
        /// A source that was not agreed.
        Ssrc = "SSRC was not agreed", "RFC 5576 §4.1";
        /// Beyond the bandwidth.
        Bandwidth = "beyond the agreed bandwidth", "RFC 8866 §5.8";
        /// A header or a report that cannot be.
        Malformed = "malformed RTP or RTCP", "RFC 3550 A.1, A.2";
        /// STUN where no connectivity checks were agreed.
        NoStun = "STUN is not wanted", "RFC 8445 §7.3";
        /// DTLS where no keys are agreed by it.
        NoDtls = "DTLS is not wanted", "RFC 5763 §5";
        /// More of STUN and DTLS than anybody needs.
        HandedUp = "beyond the rate of STUN and DTLS", "RFC 8445 §14";
    }
}

wire::rows! {
    /// What a port is for.
    pub enum Use {
        /// RTP alone.
        Rtp = "RTP", "RFC 3550 §11";
        /// RTCP alone.
        Rtcp = "RTCP", "RFC 3550 §11";
        /// Both.
        Muxed = "RTP and RTCP", "RFC 5761 §4";
        /// Anything: nobody looks into a packet. T.38 as UDPTL, and what nobody here knows.
        Datagrams = "datagrams", "T.38 §9";
    }
}

/// Payload types, 0 to 127.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PayloadTypes(u128);

impl PayloadTypes {
    /// All of them.
    pub const ALL: Self = Self(u128::MAX);

    /// The same with one more; one above 127 is none.
    #[must_use]
    pub const fn with(self, payload_type: u8) -> Self {
        if payload_type > 127 { self } else { Self(self.0 | 1 << payload_type) }
    }

    /// Of a bit for each, that of type 0 is the lowest.
    #[must_use]
    pub const fn of_bits(bits: u128) -> Self {
        Self(bits)
    }

    /// A bit for each, that of type 0 is the lowest.
    #[must_use]
    pub const fn bits(self) -> u128 {
        self.0
    }

    /// Whether it is one of them.
    #[must_use]
    pub const fn has(self, payload_type: u8) -> bool {
        payload_type <= 127 && self.0 >> payload_type & 1 == 1
    }
}

/// Sources that were agreed: any, or these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sources {
    of: [u32; SOURCES_MAX],
    /// How many of them; zero: any.
    count: u8,
}

impl Default for Sources {
    fn default() -> Self {
        Self::ANY
    }
}

impl Sources {
    /// Any.
    pub const ANY: Self = Self { of: [0; SOURCES_MAX], count: 0 };

    /// These; any, if there are none or more than [`SOURCES_MAX`].
    #[must_use]
    pub fn of(sources: impl IntoIterator<Item = u32>) -> Self {
        let mut all: Vec<u32> = sources.into_iter().take(2 * SOURCES_MAX).collect();
        all.sort_unstable();
        all.dedup();
        let mut own = Self::ANY;
        if all.len() <= SOURCES_MAX {
            own.of[..all.len()].copy_from_slice(&all);
            own.count = u8::try_from(all.len()).unwrap_or(0);
        }
        own
    }

    /// Both; any, if one of them is any.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        if self.all().is_empty() || other.all().is_empty() {
            return Self::ANY;
        }
        Self::of(self.all().iter().chain(other.all()).copied())
    }

    /// All of them; none: any.
    #[must_use]
    pub fn all(&self) -> &[u32] {
        &self.of[..usize::from(self.count).min(SOURCES_MAX)]
    }

    /// Whether it is one of them.
    #[inline]
    #[must_use]
    pub fn has(&self, source: u32) -> bool {
        self.count == 0 || self.all().contains(&source)
    }
}

/// What was agreed of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// What the port is for.
    pub of: Use,
    /// Whether packets may come (`sendrecv`, or the direction that leads here).
    pub is_active: bool,
    /// The payload types that were agreed.
    pub payload_types: PayloadTypes,
    /// Those of them whose timestamps say nothing of jitter: telephone events (RFC 4733 §2.2.1).
    pub untimed: PayloadTypes,
    /// The sources that were agreed.
    pub ssrcs: Sources,
    /// The clock of the payload.
    pub clock: ClockRate,
    /// How much may come.
    pub rate: Rate,
    /// What changes in the header of RTP.
    pub rewrite: Rewrite,
}

impl Settings {
    /// All of it in words, by which what is the same is found; `None` of what names a source.
    pub(crate) fn name(&self) -> Option<[u64; 9]> {
        let Rewrite { ssrc: None, payload_type, sequence, timestamp } = self.rewrite else {
            return None;
        };
        let [types_low, types_high] = machine::narrow::halves(self.payload_types.bits());
        let [untimed_low, untimed_high] = machine::narrow::halves(self.untimed.bits());
        let becomes = payload_type.map_or(u64::MAX, u64::from);
        (self.ssrcs == Sources::ANY).then_some([
            u64::from(self.is_active) << 32 | self.of as u64,
            types_low,
            types_high,
            untimed_low,
            untimed_high,
            self.clock.hertz().into(),
            self.rate.octet_ps(),
            becomes,
            u64::from(sequence) << 32 | u64::from(timestamp),
        ])
    }
}

/// A packet that came to a port.
#[derive(Debug)]
pub struct Arrived<'a> {
    /// When.
    pub now: Time,
    /// From where.
    pub source: Peer,
    /// The payload of UDP; of SRTP what was deciphered.
    pub payload: &'a mut [u8],
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on, changed in place: as RTP, or as RTCP. `relatched`: packets of the other
    /// direction go to its source from now on.
    Forward {
        /// Whether it is RTCP.
        is_rtcp: bool,
        /// Whether its source was taken with it.
        relatched: bool,
    },
    /// It is for the control: STUN or DTLS.
    Up(Datagram),
    /// It is dropped.
    Drop(Reason),
}

/// What passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Passed {
    /// Packets of RTP.
    pub packets: u64,
    /// Octets of UDP's payload of them.
    pub octets: u64,
    /// Packets of RTCP.
    pub reports: u64,
    /// Packets that were dropped.
    pub dropped: u64,
    /// When the last one passed; the epoch if none did.
    pub last: Time,
}

/// What comes to one port.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Most flows have what others have.
    settings: Arc<Settings>,
    latch: Latch,
    police: Police,
    up: Used,
    /// Whether STUN, whether DTLS does.
    stun_up: bool,
    dtls_up: bool,
    /// Whether the header of RTP changes.
    rewrites: bool,
    /// The stream that spoke last.
    stream: Option<Reception>,
    /// The one before it: few flows have two.
    other: Option<Box<Reception>>,
    passed: Passed,
}

impl Flow {
    /// A flow of which nothing came yet.
    #[must_use]
    pub fn new(settings: impl Into<Arc<Settings>>, latch: Latch) -> Self {
        let settings = settings.into();
        let (police, passed) = (Police::default(), Passed::default());
        let (up, stun_up, dtls_up) = (Used::default(), false, false);
        let (stream, other) = (None, None);
        let rewrites = settings.rewrite != Rewrite::default();
        Self { settings, latch, police, up, stun_up, dtls_up, rewrites, stream, other, passed }
    }

    /// Something else was agreed. What was counted stays; another clock begins another comparison
    /// of arrival times.
    pub fn agreed(&mut self, settings: impl Into<Arc<Settings>>) {
        let settings = settings.into();
        let (before, after) = (self.settings.clock, settings.clock);
        if before != after {
            self.streams().for_each(|it| it.clock_changed(before, after));
        }
        self.rewrites = settings.rewrite != Rewrite::default();
        self.settings = settings;
    }

    /// Whether the header of RTP changes.
    #[inline]
    pub(crate) const fn rewrites(&self) -> bool {
        self.rewrites
    }

    /// Whether STUN, whether DTLS is for the control; what is not is dropped.
    pub const fn goes_up(&mut self, stun: bool, dtls: bool) {
        (self.stun_up, self.dtls_up) = (stun, dtls);
    }

    /// Where its packets come from.
    pub const fn latch(&mut self) -> &mut Latch {
        &mut self.latch
    }

    /// Where its packets come from, to be read.
    #[must_use]
    pub const fn latched(&self) -> &Latch {
        &self.latch
    }

    /// What was agreed.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A packet was dropped before it was judged: nobody can read it.
    pub const fn unreadable(&mut self) {
        self.passed.dropped += 1;
    }

    /// What passed.
    #[must_use]
    pub const fn passed(&self) -> &Passed {
        &self.passed
    }

    /// The stream that spoke last.
    #[must_use]
    pub const fn stream(&self) -> Option<&Reception> {
        self.stream.as_ref()
    }

    /// The streams that were counted, the one that spoke last first.
    pub fn streams(&mut self) -> impl Iterator<Item = &mut Reception> {
        self.stream.iter_mut().chain(self.other.as_deref_mut())
    }

    /// A packet came.
    #[inline]
    pub fn packet(&mut self, arrived: Arrived<'_>) -> Verdict {
        let verdict = self.judge(arrived);
        self.passed.dropped += u64::from(matches!(verdict, Verdict::Drop(_)));
        verdict
    }

    #[inline]
    fn judge(&mut self, arrived: Arrived<'_>) -> Verdict {
        let Arrived { now, source, payload } = arrived;
        if self.settings.of == Use::Datagrams {
            return self.datagram(now, source, payload.len());
        }
        let is_rtcp = match (Datagram::of(payload), self.settings.of) {
            (Datagram::Rtp, Use::Rtp | Use::Muxed) => false,
            (Datagram::Rtcp, Use::Rtcp | Use::Muxed) => true,
            (Datagram::Rtp | Datagram::Rtcp, _) => return Verdict::Drop(Reason::OtherUse),
            (Datagram::Stun, _) if !self.stun_up => return Verdict::Drop(Reason::NoStun),
            (Datagram::Dtls, _) if !self.dtls_up => return Verdict::Drop(Reason::NoDtls),
            (it @ (Datagram::Stun | Datagram::Dtls), _) => {
                let is_within = self.up.passes(now, Upward::CONTROL);
                return if is_within { Verdict::Up(it) } else { Verdict::Drop(Reason::HandedUp) };
            }
            _ => return Verdict::Drop(Reason::NoMedia),
        };
        // Of RTCP no header is asked for.
        let header = Header::peek(payload).unwrap_or_default();
        // What is no packet of the session decides nothing, least of all where it is from.
        if let Some(reason) = self.violation(is_rtcp, &header, payload) {
            return Verdict::Drop(reason);
        }
        // Reports need nothing to have been agreed of them: beside media they tell nothing of where
        // that comes from, and on hold nothing does.
        let takes = self.settings.is_active && !(is_rtcp && self.settings.of == Use::Muxed);
        let octets = u16::try_from(payload.len()).unwrap_or(u16::MAX);
        let relatched = match self.admit(now, source, octets, takes) {
            Ok(relatched) => relatched,
            Err(reason) => return Verdict::Drop(reason),
        };
        if is_rtcp {
            self.passed.reports += 1;
        } else {
            self.passed.packets += 1;
            self.passed.octets += u64::from(octets);
            self.count(now, &header);
            if self.rewrites {
                self.settings.rewrite.apply(payload);
            }
        }
        Verdict::Forward { is_rtcp, relatched }
    }

    /// Whether its source was taken with a packet that is what was agreed; why it is dropped.
    /// `takes`: it may take one.
    #[inline]
    fn admit(&mut self, now: Time, from: Peer, octets: u16, takes: bool) -> Result<bool, Reason> {
        let seen = match takes {
            true => self.latch.packet(now, from),
            false => self.latch.beside(now, from),
        };
        let relatched = match seen {
            Seen::Known => false,
            Seen::Taken => true,
            Seen::Other => return Err(Reason::OtherSource),
            Seen::Stranger => return Err(Reason::Stranger),
        };
        if !self.police.passes(now, octets.saturating_add(HEADERS), self.settings.rate) {
            return Err(Reason::Bandwidth);
        }
        self.passed.last = now;
        Ok(relatched)
    }

    /// A packet of which nothing is asked but from where it comes.
    fn datagram(&mut self, now: Time, source: Peer, octets: usize) -> Verdict {
        if !self.settings.is_active {
            return Verdict::Drop(Reason::Inactive);
        }
        let octets = u16::try_from(octets).unwrap_or(u16::MAX);
        match self.admit(now, source, octets, true) {
            Ok(relatched) => {
                self.passed.packets += 1;
                self.passed.octets += u64::from(octets);
                Verdict::Forward { is_rtcp: false, relatched }
            }
            Err(reason) => Verdict::Drop(reason),
        }
    }

    /// Why a packet is none of what was agreed.
    #[inline]
    fn violation(&self, is_rtcp: bool, header: &Header, payload: &[u8]) -> Option<Reason> {
        let settings = &*self.settings;
        // Reports flow in both directions while media does not (RFC 3264 §5.1).
        if is_rtcp {
            let is_one = Compound::read(payload, Form::ReducedSize).is_ok();
            return (!is_one).then_some(Reason::Malformed);
        }
        match () {
            () if !settings.is_active => Some(Reason::Inactive),
            () if !settings.payload_types.has(header.payload_type) => Some(Reason::PayloadType),
            () if !settings.ssrcs.has(header.ssrc) => Some(Reason::Ssrc),
            // Of most packets all behind the fixed header is payload.
            () if payload.first() == Some(&PLAIN) => None,
            () if Packet::read(payload).is_err() => Some(Reason::Malformed),
            () => None,
        }
    }

    /// Counts a packet of RTP with its stream.
    #[inline]
    fn count(&mut self, now: Time, header: &Header) {
        let Header { payload_type, sequence, timestamp, ssrc, .. } = *header;
        let arrival = self.settings.clock.ticks(now);
        if self.stream.as_ref().is_none_or(|it| it.ssrc() != ssrc) {
            return self.count_another(header, arrival);
        }
        if let Some(stream) = &mut self.stream {
            match self.settings.untimed.has(payload_type) {
                true => stream.sequence(sequence),
                false => stream.packet(sequence, timestamp, arrival),
            };
        }
    }

    /// Counts a packet of another stream than the last one was of.
    #[inline(never)]
    fn count_another(&mut self, header: &Header, arrival: u32) {
        let Header { payload_type, sequence, timestamp, ssrc, .. } = *header;
        if let (Some(first), Some(other)) = (&mut self.stream, &mut self.other)
            && other.ssrc() == ssrc
        {
            core::mem::swap(first, other);
            match self.settings.untimed.has(payload_type) {
                true => first.sequence(sequence),
                false => first.packet(sequence, timestamp, arrival),
            };
            return;
        }
        let before = self.stream.replace(Reception::new(ssrc, sequence, timestamp, arrival));
        if let Some(before) = before {
            // The one that was silent longest gives way.
            self.other = Some(Box::new(before));
        }
    }
}
