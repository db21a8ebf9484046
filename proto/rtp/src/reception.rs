//! What a receiver knows of a stream (RFC 3550 §6.4.1, appendix A.1, A.3 and A.8): losses,
//! duplicates, packets out of order, jitter, bursts, and when the last report of its sender came.
//!
//! ```text
//!    ── settled: counted as bursts and gaps ──┤ window: 64 packets that may still come ├ highest
//!    1 1 1 1 1 1 1 1 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 0 1 1 1 1 1 1 1 1 1 1 1 1 1 0 1 1 1 1
//! ```
//! A stream direction has 96 octets. Nothing is looked up, allocated or divided for a packet.

use crate::bursts::{Bursts, Counting};
use crate::clock::{self, NtpMiddle};
use crate::rtcp::ReportBlock;
use machine::{Duration, narrow};

/// Packets that may lack before the next one of the same stream (RFC 3550 A.1).
pub const MAX_DROPOUT: u16 = 3_000;
/// Packets that one may come late by (RFC 3550 A.1).
pub const MAX_MISORDER: u16 = 100;
/// Packets behind the highest of which each is known to have come or not.
const WINDOW: u32 = 64;
/// Ticks from one packet to the next by which no network changes its delay: the sender's clock was
/// set (five hours of telephony).
const CLOCK_SET_TICKS: u32 = 1 << 27;

/// What of the packets before is there to compare with: one octet with room for `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Has {
    Nothing,
    Transit,
    BadSequence,
    Both,
}

impl Has {
    const fn of(transit: bool, bad_sequence: bool) -> Self {
        match (transit, bad_sequence) {
            (false, false) => Self::Nothing,
            (true, false) => Self::Transit,
            (false, true) => Self::BadSequence,
            (true, true) => Self::Both,
        }
    }

    const fn transit(self) -> bool {
        matches!(self, Self::Transit | Self::Both)
    }

    const fn bad_sequence(self) -> bool {
        matches!(self, Self::BadSequence | Self::Both)
    }
}

/// How a packet came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The one behind the highest.
    Next,
    /// Ahead of it: others lack, so many.
    Ahead(u16),
    /// One that lacked.
    Reordered,
    /// One that had come already.
    Duplicate,
    /// So late that nobody knows whether it had come.
    Late,
    /// Out of every order, and not counted: if the next one goes on there, the sender began anew.
    Astray,
    /// The sender began anew with the packet before.
    Restarted,
}

/// What a receiver knows of one synchronization source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reception {
    /// Bit n: the packet n before the highest came.
    window: u64,
    ssrc: u32,
    /// The first packet's number, extended by how often the numbers began anew.
    base: u32,
    /// The highest number, extended.
    highest: u32,
    /// Packets of the window and before it that came in time, without duplicates.
    received: u32,
    duplicates: u32,
    reordered: u32,
    late: u32,
    /// What was expected and what came when the last report was written.
    expected_prior: u32,
    received_prior: u32,
    /// Sixteen times the jitter in ticks.
    jitter: u32,
    /// Arrival less timestamp, in ticks, of the packet before.
    transit: u32,
    /// The middle of the NTP timestamp of the sender's last report, and when it was here.
    last_sr: u32,
    last_sr_at: NtpMiddle,
    /// The last round trip in units of 1/65,536 s; zero for none.
    round_trip: u32,
    bursts: Counting,
    /// Packets that the window is about: fewer at the beginning.
    real: u8,
    has: Has,
    /// What comes behind the packet that was astray.
    bad_sequence: u16,
}

impl Reception {
    /// A stream of which the first packet came: its source, number and timestamp, and the time by
    /// its payload's clock ([`crate::ClockRate::ticks`]). The packet is counted.
    #[must_use]
    pub const fn new(ssrc: u32, sequence: u16, timestamp: u32, arrival: u32) -> Self {
        Self {
            window: 1,
            ssrc,
            base: sequence as u32,
            highest: sequence as u32,
            received: 1,
            duplicates: 0,
            reordered: 0,
            late: 0,
            expected_prior: 0,
            received_prior: 0,
            jitter: 0,
            transit: arrival.wrapping_sub(timestamp),
            last_sr: 0,
            last_sr_at: NtpMiddle(0),
            round_trip: 0,
            bursts: Counting::NEW,
            real: 1,
            has: Has::Transit,
            bad_sequence: 0,
        }
    }

    /// The synchronization source.
    #[must_use]
    pub const fn ssrc(&self) -> u32 {
        self.ssrc
    }

    /// A packet of the stream came: its number and timestamp, and the time by its payload's clock.
    #[inline]
    pub fn packet(&mut self, sequence: u16, timestamp: u32, arrival: u32) -> Arrival {
        let came = self.sequence(sequence);
        if !matches!(came, Arrival::Duplicate | Arrival::Late | Arrival::Astray) {
            self.timing(arrival.wrapping_sub(timestamp));
        }
        came
    }

    /// A packet of the stream came whose timestamp does not say when it was sampled: a telephone
    /// event keeps that of its beginning (RFC 4733 §2.2.1).
    #[inline]
    pub fn sequence(&mut self, sequence: u16) -> Arrival {
        let ahead = sequence.wrapping_sub(self.highest_sequence());
        if ahead == 1 {
            self.advance(1);
            self.received = self.received.wrapping_add(1);
            return Arrival::Next;
        }
        if (2..MAX_DROPOUT).contains(&ahead) {
            self.advance(u32::from(ahead));
            self.received = self.received.wrapping_add(1);
            return Arrival::Ahead(ahead - 1);
        }
        self.behind(sequence, ahead.wrapping_neg())
    }

    /// The payload's clock is another one from here on (RFC 7160 §4.2), as `to` to `from` ticks a
    /// second: the jitter is kept, and the next packet begins a new comparison.
    pub fn clock_changed(&mut self, from: clock::ClockRate, to: clock::ClockRate) {
        let scaled = u64::from(self.jitter) * u64::from(to.hertz()) / u64::from(from.hertz());
        self.jitter = narrow::at_most(scaled, u32::MAX);
        self.has = Has::of(false, self.has.bad_sequence());
    }

    #[inline]
    const fn highest_sequence(&self) -> u16 {
        let [_, _, high, low] = self.highest.to_be_bytes();
        u16::from_be_bytes([high, low])
    }

    /// The highest number goes on.
    #[inline]
    fn advance(&mut self, by: u32) {
        self.highest = self.highest.wrapping_add(by);
        if by == 1 && u32::from(self.real) == WINDOW {
            match self.window >> (WINDOW - 1) {
                1 => self.bursts.received(1),
                _ => self.bursts.lost(1),
            }
            self.window = self.window << 1 | 1;
            return;
        }
        self.advance_far(by);
    }

    fn advance_far(&mut self, by: u32) {
        let real = u32::from(self.real);
        let leaving = (real + by).saturating_sub(WINDOW);
        self.settle(leaving.min(real));
        // Those that were skipped and are older than the window already.
        self.bursts.lost(leaving.saturating_sub(real));
        self.window = if by >= WINDOW { 1 } else { self.window << by | 1 };
        self.real = narrow::at_most(u64::from((real + by).min(WINDOW)), u8::MAX);
    }

    /// The oldest `count` of the window will not come any more.
    fn settle(&mut self, count: u32) {
        let mut left = count;
        // The oldest of them in the highest bit.
        let mut bits = self.window << (WINDOW - u32::from(self.real));
        while left > 0 {
            let ones = bits.leading_ones().min(left);
            self.bursts.received(ones);
            (bits, left) = (bits.checked_shl(ones).unwrap_or(0), left - ones);
            let zeros = bits.leading_zeros().min(left);
            self.bursts.lost(zeros);
            (bits, left) = (bits.checked_shl(zeros).unwrap_or(0), left - zeros);
        }
    }

    /// A packet that is not ahead: `behind` before the highest, or anywhere.
    fn behind(&mut self, sequence: u16, behind: u16) -> Arrival {
        let back = u32::from(behind);
        if back < WINDOW {
            let bit = 1u64 << back;
            if self.window & bit != 0 {
                self.duplicates = self.duplicates.wrapping_add(1);
                return Arrival::Duplicate;
            }
            if back >= u32::from(self.real) {
                // One from before the first: the stream began there.
                self.base = self.base.wrapping_sub(back + 1 - u32::from(self.real));
                self.real = narrow::at_most(u64::from(back + 1), u8::MAX);
            }
            self.window |= bit;
            self.received = self.received.wrapping_add(1);
            self.reordered = self.reordered.wrapping_add(1);
            return Arrival::Reordered;
        }
        if behind <= MAX_MISORDER {
            self.late = self.late.wrapping_add(1);
            return Arrival::Late;
        }
        if self.has.bad_sequence() && sequence == self.bad_sequence {
            self.restart(sequence);
            return Arrival::Restarted;
        }
        self.has = Has::of(self.has.transit(), true);
        self.bad_sequence = sequence.wrapping_add(1);
        Arrival::Astray
    }

    /// The numbers go on elsewhere (RFC 3550 A.1). What was counted so far stays.
    fn restart(&mut self, sequence: u16) {
        let expected = self.expected();
        self.settle(u32::from(self.real));
        self.highest = (self.highest & 0xFFFF_0000).wrapping_add(0x1_0000) | u32::from(sequence);
        self.base = self.highest.wrapping_sub(expected);
        self.received = self.received.wrapping_add(1);
        (self.window, self.real) = (1, 1);
        self.has = Has::Nothing;
    }

    /// RFC 3550 A.8.
    #[inline]
    fn timing(&mut self, transit: u32) {
        let change = (transit.wrapping_sub(self.transit).cast_signed()).unsigned_abs();
        self.transit = transit;
        if !self.has.transit() || change >= CLOCK_SET_TICKS {
            self.has = Has::of(true, self.has.bad_sequence());
            return;
        }
        self.jitter = (self.jitter + change).wrapping_sub((self.jitter + 8) >> 4);
    }

    /// Packets that the sender sent, by their numbers.
    #[must_use]
    pub const fn expected(&self) -> u32 {
        self.highest.wrapping_sub(self.base).wrapping_add(1)
    }

    /// What came, with duplicates and what came late.
    const fn came(&self) -> u32 {
        self.received.wrapping_add(self.duplicates).wrapping_add(self.late)
    }

    /// A sender report of the source came at `at`, of which `ntp` is the middle of the timestamp.
    pub fn sender_report(&mut self, ntp: NtpMiddle, at: NtpMiddle) {
        (self.last_sr, self.last_sr_at) = (ntp.0, at);
    }

    /// Someone who receives the stream reported at `now`; the round trip from here to there and
    /// back. `None` if the report is not about the sender report that came here last.
    ///
    /// Where the sender report was written here, its own timestamp is when it was here.
    pub fn reported(&mut self, block: &ReportBlock, now: NtpMiddle) -> Option<Duration> {
        if block.ssrc != self.ssrc || block.last_sr != self.last_sr || self.last_sr == 0 {
            return None;
        }
        let passed = self.last_sr_at.0;
        let delay = block.delay_since_last_sr;
        let units = now.0.wrapping_sub(passed).wrapping_sub(delay);
        if units > i32::MAX as u32 {
            return None;
        }
        // Zero says that there was none.
        self.round_trip = units.max(1);
        Some(clock::duration(units))
    }

    /// A report block about the stream (RFC 3550 §6.4.1, A.3); the next one says what happened
    /// since.
    #[must_use]
    pub fn report(&mut self, now: NtpMiddle) -> ReportBlock {
        let (expected, came) = (self.expected(), self.came());
        let of_interval = expected.wrapping_sub(self.expected_prior);
        let lost = of_interval.saturating_sub(came.wrapping_sub(self.received_prior));
        let fraction = match lost {
            0 => 0,
            lost => (u64::from(lost) << 8) / u64::from(of_interval),
        };
        (self.expected_prior, self.received_prior) = (expected, came);
        let delay = if self.last_sr == 0 { 0 } else { now.since(self.last_sr_at) };
        ReportBlock {
            ssrc: self.ssrc,
            fraction_lost: narrow::at_most(fraction, u8::MAX),
            cumulative_lost: expected.wrapping_sub(came).cast_signed(),
            highest: self.highest,
            jitter: self.jitter >> 4,
            last_sr: self.last_sr,
            delay_since_last_sr: delay,
        }
    }

    /// What is known of the stream so far.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let mut settled = *self;
        settled.settle(u32::from(self.real));
        let expected = self.expected();
        let lost = expected.saturating_sub(self.received);
        Figures {
            expected,
            received: self.received,
            lost,
            duplicates: self.duplicates,
            reordered: self.reordered,
            late: self.late,
            jitter: self.jitter >> 4,
            round_trip: (self.round_trip > 0).then(|| clock::duration(self.round_trip)),
            bursts: settled.bursts.figures(expected, lost),
        }
    }
}

/// What is known of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Packets that were sent, by their numbers.
    pub expected: u32,
    /// Of them came.
    pub received: u32,
    /// Of them did not come, or came later than any receiver waits.
    pub lost: u32,
    /// Packets that came again.
    pub duplicates: u32,
    /// Packets that came behind a later one.
    pub reordered: u32,
    /// Packets that came 64 and more behind; they count as lost.
    pub late: u32,
    /// Interarrival jitter in ticks of the payload's clock.
    pub jitter: u32,
    /// The last round trip to whoever receives it.
    pub round_trip: Option<Duration>,
    /// Its bursts and gaps.
    pub bursts: Bursts,
}

impl Figures {
    /// The fraction of packets that is lost, 0 to 1.
    #[must_use]
    pub fn loss(&self) -> f64 {
        if self.expected == 0 { 0.0 } else { f64::from(self.lost) / f64::from(self.expected) }
    }
}

const _: () = assert!(size_of::<Option<Reception>>() <= 96);
