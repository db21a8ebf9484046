//! A stream in one direction, with its figures over the whole.

use crate::entry;
use crate::media::Places;
use crate::media::said::{Block, Trouble, What};
use crate::trail::{number, push_number, push_text, text};
use machine::narrow::at_most;
use rtp::quality::{Codec, Path, rate};
use serde::Serialize;
use std::net::SocketAddr;
use std::time::Duration;
use utoipa::ToSchema;

/// Streams that are kept of one trail.
pub const STREAMS_MAX: usize = 16;
/// A report that does not say how long a time it is about counts as this long.
const REPORT_MS: u64 = 5_000;
/// No report counts more than one about this long.
const REPORT_MS_MAX: u64 = 3_600_000;
/// Packets that are counted of a stream.
const SUM_MAX: u64 = 1 << 62;
/// The clock of a codec that is not known, Hz.
const CLOCK: u64 = 8_000;
/// How long a packet is as a rule.
const PACKET: Duration = Duration::from_millis(20);

/// An end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The one that called.
    A,
    /// The one that was called.
    B,
}

impl Side {
    /// The word of events.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
        }
    }

    /// The opposite one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// Whose packets, and who counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Id {
    /// What came from an end, as a function counted it.
    From {
        /// The end.
        side: Side,
        /// Its `m=` line, from 0.
        line: u8,
    },
    /// What a host heard of a source, as it reported by RTCP.
    Heard {
        /// The host.
        at: SocketAddr,
        /// The source.
        ssrc: u32,
    },
}

/// What was measured; `None` is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, ToSchema)]
pub struct Figures {
    /// Packets that came.
    pub packets: Option<u64>,
    /// Packets that never came.
    pub lost: Option<u64>,
    /// Those of all, thousandths.
    pub loss_permille: Option<u32>,
    /// Jitter, microseconds (RFC 3550 §6.4.1).
    pub jitter_us: Option<u32>,
    /// Round trip, microseconds.
    pub round_trip_us: Option<u32>,
    /// R factor on the scale of narrowband, tenths (G.107).
    pub r_tenths: Option<u16>,
    /// Mean opinion score, hundredths.
    pub mos_hundredths: Option<u16>,
}

impl Figures {
    /// What a block of RTCP says, with a codec as in `rtpmap`.
    pub(crate) fn of(block: &Block, codec: &str) -> Self {
        let clock = codec.split('/').nth(1).and_then(|clock| clock.parse().ok());
        let clock = clock.filter(|&hertz: &u64| hertz > 0).unwrap_or(CLOCK);
        let jitter_us = u64::from(block.jitter_ticks) * 1_000_000 / clock;
        let loss = f64::from(block.lost_of_256) / 256.0;
        let round_trip = block.round_trip_ms.map(Duration::from_millis);
        let (r_tenths, mos_hundredths) = rating(codec, loss, jitter_us, round_trip).unzip();
        Self {
            packets: None,
            lost: Some(block.lost),
            loss_permille: Some(u32::from(block.lost_of_256) * 1_000 / 256),
            jitter_us: Some(at_most(jitter_us, u32::MAX)),
            round_trip_us: block
                .round_trip_ms
                .map(|ms| at_most(ms.saturating_mul(1_000), u32::MAX)),
            r_tenths,
            mos_hundredths,
        }
    }
}

/// R in tenths and MOS in hundredths; `None`: the codec is none that can be rated.
fn rating(
    codec: &str,
    loss: f64,
    jitter_us: u64,
    round_trip: Option<Duration>,
) -> Option<(u16, u16)> {
    let name = codec.split('/').next().unwrap_or_default();
    let codec = Codec::named(name.as_bytes())?;
    let buffer = Duration::from_micros(jitter_us.saturating_mul(2));
    let way = round_trip.unwrap_or_default() / 2;
    let delay = way.saturating_add(PACKET).saturating_add(buffer);
    let rating = rate(codec, &Path { delay, loss, ..Path::default() });
    #[allow(clippy::cast_possible_truncation, reason = "R is at most 100, MOS 4.5")]
    #[allow(clippy::cast_sign_loss, reason = "neither is below 0")]
    let rounded = |value: f64| value.round() as u16;
    Some((rounded(rating.r_of_100() * 10.0), rounded(rating.mos() * 100.0)))
}

/// A mean over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Mean {
    sum: u64,
    weight: u64,
}

impl Mean {
    pub(crate) fn add(&mut self, value: Option<impl Into<u64>>, weight: u64) {
        let Some(value) = value else { return };
        self.sum = self.sum.saturating_add(value.into().saturating_mul(weight));
        self.weight = self.weight.saturating_add(weight);
    }

    fn set(&mut self, value: Option<impl Into<u64>>) {
        if let Some(value) = value {
            *self = Self { sum: value.into(), weight: 1 };
        }
    }

    pub(crate) fn value<T: TryFrom<u64>>(self, most: T) -> Option<T> {
        Some(at_most(self.sum.checked_div(self.weight)?, most))
    }
}

/// What was counted over the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Totals {
    packets: Option<u64>,
    lost: Option<u64>,
    loss: Mean,
    jitter: Mean,
    round_trip: Mean,
    r: Mean,
    mos: Mean,
    /// The worst report; 0: none.
    mos_min: u16,
}

/// A stream in one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// Whose packets, and who counted them.
    pub id: Id,
    /// The end that sends them, if it is known.
    pub from: Option<Side>,
    /// The `m=` line, from 0.
    pub line: u8,
    /// As in the `m=` line; empty: not known.
    pub kind: Box<str>,
    /// As in `rtpmap`; empty: not known.
    pub codec: Box<str>,
    /// What protects it, `RTP` for nothing; empty: not known.
    pub suite: Box<str>,
    /// When it began, or was first heard of, microseconds since the UNIX epoch.
    pub began_us: u64,
    /// When it ended; 0: that was not said.
    pub ended_us: u64,
    /// For some time nothing came while the other end was heard.
    pub was_one_way: bool,
    /// Nothing came for longer than the stream allows.
    pub timed_out: bool,
    /// Packets that SRTP refused.
    pub unprotected: u64,
    totals: Totals,
}

impl Stream {
    /// One that was first heard of then.
    pub(crate) fn new(id: Id, at_us: u64, places: &Places) -> Self {
        let place = match id {
            Id::From { .. } => None,
            Id::Heard { at, .. } => places.find(at),
        };
        let known = |text: Option<&str>| text.unwrap_or_default().into();
        // What a host hears comes from the other end, in a codec that both agreed on.
        let from = place.map(|place| place.side.other());
        let codec = place.or_else(|| places.any()).map(|place| &*place.codec);
        let (from, line) = match id {
            Id::From { side, line } => (Some(side), line),
            Id::Heard { .. } => (from, place.map_or(0, |place| place.line)),
        };
        let codec = codec.filter(|_| matches!(id, Id::Heard { .. }));
        Self {
            id,
            from,
            line,
            kind: known(place.map(|place| &*place.kind)),
            codec: known(codec),
            suite: known(place.map(|place| &*place.suite)),
            began_us: at_us,
            ended_us: 0,
            was_one_way: false,
            timed_out: false,
            unprotected: 0,
            totals: Totals::default(),
        }
    }

    /// Whether it is what somebody heard of a source.
    pub(crate) fn is_of(&self, source: u32) -> bool {
        matches!(self.id, Id::Heard { ssrc, .. } if ssrc == source)
    }

    /// Its source sent so many packets.
    pub(crate) fn sent(&mut self, packets: u64) {
        self.totals.packets = Some(packets.saturating_sub(self.totals.lost.unwrap_or(0)));
    }

    /// Takes in what is said of it; returns whether that is more than figures.
    pub(crate) fn take(&mut self, at_us: u64, what: &What) -> bool {
        match what {
            What::Terms(terms) => {
                let before = (self.codec.clone(), self.suite.clone());
                for (own, said) in [
                    (&mut self.kind, &terms.kind),
                    (&mut self.codec, &terms.codec),
                    (&mut self.suite, &terms.suite),
                ] {
                    if !said.is_empty() {
                        own.clone_from(said);
                    }
                }
                before != (self.codec.clone(), self.suite.clone())
            }
            What::Report { figures, codec, duration_ms } => {
                self.learn_codec(codec);
                self.report(figures, *duration_ms);
                false
            }
            What::Block(block) => {
                self.totals.lost = Some(block.lost);
                self.report(&Figures { lost: None, ..Figures::of(block, &self.codec) }, None);
                false
            }
            What::Ended { figures, codec, .. } => {
                self.learn_codec(codec);
                self.whole(figures);
                self.ended_us = at_us;
                true
            }
            What::Trouble(trouble) => self.trouble(*trouble),
            What::Sent(_) | What::Told => false,
        }
    }

    fn learn_codec(&mut self, codec: &str) {
        if !codec.is_empty() {
            self.codec = codec.into();
        }
    }

    fn report(&mut self, figures: &Figures, duration_ms: Option<u64>) {
        let weight = duration_ms.unwrap_or(REPORT_MS).clamp(1, REPORT_MS_MAX);
        let totals = &mut self.totals;
        let sum = |own: &mut Option<u64>, more: Option<u64>| {
            let add = |more| own.unwrap_or(0).saturating_add(more).min(SUM_MAX);
            *own = more.map(add).or(*own);
        };
        sum(&mut totals.packets, figures.packets);
        sum(&mut totals.lost, figures.lost);
        totals.loss.add(figures.loss_permille, weight);
        totals.jitter.add(figures.jitter_us, weight);
        totals.round_trip.add(figures.round_trip_us, weight);
        totals.r.add(figures.r_tenths, weight);
        totals.mos.add(figures.mos_hundredths, weight);
        if let Some(mos) = figures.mos_hundredths.filter(|&mos| mos > 0) {
            totals.mos_min = if totals.mos_min == 0 { mos } else { totals.mos_min.min(mos) };
        }
    }

    /// What was counted over the whole stands for all reports.
    fn whole(&mut self, figures: &Figures) {
        let totals = &mut self.totals;
        totals.packets = figures.packets.or(totals.packets);
        totals.lost = figures.lost.or(totals.lost);
        totals.loss.set(figures.loss_permille);
        totals.jitter.set(figures.jitter_us);
        totals.round_trip.set(figures.round_trip_us);
        totals.r.set(figures.r_tenths);
        totals.mos.set(figures.mos_hundredths);
    }

    fn trouble(&mut self, trouble: Trouble) -> bool {
        let before = (self.was_one_way, self.timed_out, self.unprotected > 0);
        match trouble {
            Trouble::OneWay => self.was_one_way = true,
            Trouble::TimedOut => self.timed_out = true,
            Trouble::Unprotected(count) => {
                self.unprotected = self.unprotected.saturating_add(count);
            }
        }
        before != (self.was_one_way, self.timed_out, self.unprotected > 0)
    }

    /// Its figures over the whole.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let totals = &self.totals;
        let counted = totals.packets.zip(totals.lost).and_then(|(packets, lost)| {
            let all = packets.saturating_add(lost);
            Some(at_most(lost.saturating_mul(1_000).checked_div(all)?, u32::MAX))
        });
        Figures {
            packets: totals.packets,
            lost: totals.lost,
            loss_permille: counted.or(totals.loss.value(u32::MAX)),
            jitter_us: totals.jitter.value(u32::MAX),
            round_trip_us: totals.round_trip.value(u32::MAX),
            r_tenths: totals.r.value(u16::MAX),
            mos_hundredths: totals.mos.value(u16::MAX).filter(|&mos: &u16| mos > 0),
        }
    }

    /// The MOS of its worst report, hundredths.
    #[must_use]
    pub fn mos_min(&self) -> Option<u16> {
        (self.totals.mos_min > 0).then_some(self.totals.mos_min)
    }

    /// Appends it to a record.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self.id {
            Id::From { side, line } => out.extend_from_slice(&[0, side as u8, line]),
            Id::Heard { at, ssrc } => {
                out.push(1);
                entry::push_address(out, at);
                out.extend_from_slice(&ssrc.to_le_bytes());
            }
        }
        let from = self.from.map_or(2, |side| side as u8);
        let troubles = u8::from(self.was_one_way) | u8::from(self.timed_out) << 1;
        out.extend_from_slice(&[from, self.line, troubles]);
        [&self.kind, &self.codec, &self.suite].into_iter().for_each(|text| push_text(out, text));
        let totals = &self.totals;
        // What is not known is 0, what is known one more.
        let count = |value: Option<u64>| value.map_or(0, |value| value.saturating_add(1));
        let means = [totals.loss, totals.jitter, totals.round_trip, totals.r, totals.mos];
        [self.began_us, self.ended_us, self.unprotected, u64::from(totals.mos_min)]
            .into_iter()
            .chain([count(totals.packets), count(totals.lost)])
            .chain(means.into_iter().flat_map(|mean| [mean.sum, mean.weight]))
            .for_each(|number| push_number(out, number));
    }

    /// Reads what [`Stream::encode`] wrote and moves on.
    pub(crate) fn decode(rest: &mut &[u8]) -> Option<Self> {
        let side = |octet| match octet {
            0 => Some(Side::A),
            1 => Some(Side::B),
            _ => None,
        };
        let [tag] = octets(rest)?;
        let id = if tag == 0 {
            let [of, line] = octets(rest)?;
            Id::From { side: side(of)?, line }
        } else {
            let (at, after) = entry::address(rest)?;
            *rest = after;
            Id::Heard { at, ssrc: u32::from_le_bytes(octets(rest)?) }
        };
        let [from, line, troubles] = octets(rest)?;
        let (kind, codec, suite) = (text(rest)?, text(rest)?, text(rest)?);
        let mut next = || number(rest);
        let (began_us, ended_us, unprotected) = (next()?, next()?, next()?);
        let mos_min = at_most(next()?, u16::MAX);
        let (packets, lost) = (next()?.checked_sub(1), next()?.checked_sub(1));
        let mut mean = || Some(Mean { sum: next()?, weight: next()? });
        let [loss, jitter, round_trip, r, mos] = [mean()?, mean()?, mean()?, mean()?, mean()?];
        Some(Self {
            id,
            from: side(from),
            line,
            kind,
            codec,
            suite,
            began_us,
            ended_us,
            was_one_way: troubles & 1 != 0,
            timed_out: troubles & 2 != 0,
            unprotected,
            totals: Totals { packets, lost, loss, jitter, round_trip, r, mos, mos_min },
        })
    }
}

fn octets<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*head)
}
