//! What the forwarder tells of streams: counters, quality, and who is silent.
//!
//! ```text
//!   Notice ─→ statistics ─ REPORT_EVERY ─→ Report: loss, jitter, R, MOS over that time
//!          └→ snapshot: what a forwarder that comes next goes on with
//! ```

use crate::unprotected::Unprotected;
use anchor::row::{Quality, Statistics};
use anchor::{Codec, Local, Side, Stream};
use core::net::SocketAddr;
use hashbrown::HashMap;
use machine::{Duration, Time};
use media::program::{Snapshot, Statistics as Counted};
use rtp::ClockRate;
use rtp::quality::{self, Path};
use std::collections::BTreeMap;

/// Between two reports of the quality of an end to its session controller.
pub(crate) const REPORT_EVERY: Duration = Duration::from_secs(60);
/// Between two in its trail. The forwarder tells what passed every second while flows are few, else
/// every five seconds, a little less or more.
const TRACE_EVERY: Duration = Duration::from_millis(4_500);
/// A mean opinion score below this is poor, hundredths.
pub(crate) const POOR_HUNDREDTHS: u16 = 350;
/// Ends whose poor quality, or silence, is remembered at most.
const REMEMBERED_MAX: usize = 4_096;
/// What a packet of speech lasts where nobody says.
const PACKET: Duration = Duration::from_millis(20);

/// The ports of RTP, and of RTCP where that has its own.
pub(crate) fn with_rtcp(local: Local) -> impl Iterator<Item = Local> {
    let ports = [Some(local.port), local.port.checked_add(1)].into_iter().flatten();
    ports.map(move |port| Local { port, ..local })
}

/// What a report counts from.
#[derive(Debug, Clone, Copy)]
struct Since {
    counted: Counted,
    at: Time,
}

impl Since {
    fn nothing(at: Time) -> Self {
        Self { counted: Counted::default(), at }
    }
}

/// What is known of an end.
#[derive(Debug, Clone)]
struct Measured {
    /// Since when.
    began: Time,
    /// How its speech is coded, and the clock of its payload.
    codec: Option<Codec>,
    clock: ClockRate,
    /// The last figures.
    counted: Counted,
    /// Those of the report before, and when it was.
    reported: Since,
    /// The same of the last one in the trail.
    traced: Since,
    /// From where its packets come.
    latched: Option<SocketAddr>,
    /// The last score, hundredths; 0: none.
    mos_hundredths: u16,
    timed_out: bool,
}

/// The quality of an end over a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Report {
    /// What is told.
    pub quality: Quality,
    /// Lost packets in thousandths.
    pub loss_permille: u16,
    /// Over how long.
    pub duration: Duration,
    /// The codec.
    pub codec: Option<Codec>,
    /// Whether it can be rated: speech came.
    pub is_rated: bool,
}

/// Reports of an end that are due.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Due {
    /// In its trail.
    pub traced: Option<Report>,
    /// To its session controller.
    pub told: Option<Report>,
}

/// What is left to be said of an end that is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Last {
    /// Since the last report in its trail, if packets came.
    pub traced: Option<Report>,
    /// Since the last one to its session controller.
    pub rest: Option<Report>,
    /// Over the whole.
    pub whole: Report,
}

/// What a row about an end shows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shown {
    pub statistics: Statistics,
    pub latched: Option<SocketAddr>,
    pub mos_hundredths: u16,
    pub is_silent: bool,
    pub timed_out: bool,
}

/// What is known of all ends.
#[derive(Debug, Default)]
pub(crate) struct Measures {
    ends: HashMap<Local, Measured>,
    snapshots: HashMap<Local, Snapshot>,
    /// Since when an end is silent while the other one speaks.
    silent: BTreeMap<Local, Time>,
    /// When an end was reported to be poor.
    poor: BTreeMap<Local, Time>,
    /// Since when this controller is there.
    began: Time,
    /// What came without its protection.
    pub unprotected: Unprotected,
    /// Packets since they were last taken.
    pub passed: u64,
    pub dropped: u64,
}

impl Measures {
    /// Of a controller that is there from now on.
    pub fn new(began: Time) -> Self {
        Self { began, ..Self::default() }
    }

    /// A stream stands, or is another one, which may be coded in another way.
    pub fn stands(&mut self, now: Time, local: Local, stream: &Stream, side: Side) {
        let (codec, clock) = coded(stream, side);
        let measured = self.of(now, local, stream, side);
        (measured.codec, measured.clock) = (codec, clock);
    }

    /// New figures of an end of that stream; reports that are due.
    pub fn count(
        &mut self,
        now: Time,
        local: Local,
        stream: &Stream,
        side: Side,
        counted: Counted,
    ) -> Due {
        let is_older = Duration::from_millis(counted.age_ms) > now.since(self.began);
        let measured = self.of(now, local, stream, side);
        if measured.counted == Counted::default() && is_older {
            // What passed before is none of this controller's time.
            measured.counted = counted;
            let since = Since { counted, at: now };
            (measured.reported, measured.traced) = (since, since);
        }
        let before = measured.counted;
        measured.counted = counted;
        let more = counted.packets.saturating_sub(before.packets);
        measured.timed_out &= more == 0;
        let due = if more > 0 { measured.due(now) } else { Due::default() };
        self.passed += more;
        self.dropped += counted.dropped.saturating_sub(before.dropped);
        if let Some(report) = &due.told {
            self.rate(now, local, report);
        }
        due
    }

    fn of(&mut self, now: Time, local: Local, stream: &Stream, side: Side) -> &mut Measured {
        self.ends.entry(local).or_insert_with(|| {
            let (codec, clock) = coded(stream, side);
            Measured {
                began: now,
                codec,
                clock,
                counted: Counted::default(),
                reported: Since::nothing(now),
                traced: Since::nothing(now),
                latched: None,
                mos_hundredths: 0,
                timed_out: false,
            }
        })
    }

    /// An end turned out to be elsewhere.
    pub fn latched(
        &mut self,
        now: Time,
        local: Local,
        stream: &Stream,
        side: Side,
        source: SocketAddr,
    ) {
        self.of(now, local, stream, side).latched = Some(source);
    }

    /// No packet came from an end for as long as its stream says.
    pub fn timed_out(&mut self, now: Time, local: Local, stream: &Stream, side: Side) {
        self.of(now, local, stream, side).timed_out = true;
    }

    /// An end is silent while the other one speaks; whether that is new.
    pub fn silent(&mut self, now: Time, local: Local) -> bool {
        let has_room = self.silent.len() < REMEMBERED_MAX;
        has_room && self.silent.insert(local, now).is_none()
    }

    /// Packets come from an end that was silent; since when it was.
    pub fn speaks(&mut self, local: Local) -> Option<Time> {
        self.silent.remove(&local)
    }

    fn rate(&mut self, now: Time, local: Local, report: &Report) {
        let is_poor = report.is_rated && report.quality.mos_hundredths < POOR_HUNDREDTHS;
        if !is_poor {
            self.poor.remove(&local);
        } else if self.poor.len() < REMEMBERED_MAX {
            self.poor.insert(local, now);
        }
    }

    /// What a forwarder that comes next goes on with. It is known by the number of the address: the
    /// place depends on how that forwarder numbers routing tables, which may not be known yet.
    pub fn keep(&mut self, local: Local, snapshot: Snapshot) {
        self.snapshots.insert(local, snapshot);
    }

    /// All of that is told anew.
    pub fn forget_snapshots(&mut self) {
        self.snapshots.clear();
    }

    /// Another forwarder has taken over from there.
    pub fn take_over(&mut self) {
        let all = self.snapshots.values_mut();
        all.for_each(|it| *it = core::mem::take(it).taken_over());
    }

    /// The same.
    pub fn snapshot(&self, local: Local) -> Option<&Snapshot> {
        self.snapshots.get(&local)
    }

    /// An end has no stream any more; what there is to be said of it.
    pub fn end(&mut self, now: Time, local: Local) -> Option<Last> {
        with_rtcp(local).for_each(|local| drop(self.snapshots.remove(&local)));
        self.silent.remove(&local);
        self.poor.remove(&local);
        let measured = self.ends.remove(&local)?;
        let came = measured.counted.packets;
        let since = |it: Since| (came > it.counted.packets).then(|| measured.report(now, it));
        Some(Last {
            traced: since(measured.traced),
            rest: since(measured.reported),
            whole: measured.report(now, Since::nothing(measured.began)),
        })
    }

    /// What a row about an end shows.
    pub fn shown(&self, local: Local) -> Shown {
        let Some(measured) = self.ends.get(&local) else { return Shown::default() };
        Shown {
            statistics: measured.statistics(),
            latched: measured.latched,
            mos_hundredths: measured.mos_hundredths,
            is_silent: self.silent.contains_key(&local),
            timed_out: measured.timed_out,
        }
    }

    /// Ends that are silent while the other one speaks: how many, and one of them.
    pub fn silent_ones(&self) -> (usize, Option<Local>) {
        (self.silent.len(), self.silent.keys().next().copied())
    }

    /// Ends whose last report was poor, and all that are measured.
    pub fn poor_ones(&self) -> (usize, usize) {
        (self.poor.len(), self.ends.len())
    }
}

impl Measured {
    fn statistics(&self) -> Statistics {
        let stream = self.counted.stream.unwrap_or_default();
        Statistics {
            packets: self.counted.packets,
            octets: self.counted.octets,
            lost: stream.lost.into(),
            dropped: self.counted.dropped,
            jitter_us: micros(self.clock.duration(stream.jitter)),
        }
    }

    /// The reports that are due; the next ones count from here.
    fn due(&mut self, now: Time) -> Due {
        let mut due = Due::default();
        if now.since(self.traced.at) >= TRACE_EVERY {
            due.traced = Some(self.report(now, self.traced));
            self.traced = Since { counted: self.counted, at: now };
        }
        if now.since(self.reported.at) >= REPORT_EVERY {
            due.told = Some(self.report(now, self.reported));
            self.reported = Since { counted: self.counted, at: now };
        }
        if let Some(report) = due.told.or(due.traced) {
            self.mos_hundredths = report.quality.mos_hundredths;
        }
        due
    }

    /// The quality since that much was counted.
    fn report(&self, now: Time, since: Since) -> Report {
        let Since { counted: before, at: since } = since;
        let stream = self.counted.stream.unwrap_or_default();
        // Of another source than before all counts.
        let same = before.stream.filter(|it| it.ssrc == stream.ssrc).unwrap_or_default();
        let expected = stream.expected.saturating_sub(same.expected);
        let lost = stream.lost.saturating_sub(same.lost);
        let loss = if expected == 0 { 0.0 } else { f64::from(lost) / f64::from(expected) };
        let jitter = self.clock.duration(stream.jitter);
        let round_trip = Duration::from_micros(stream.round_trip_us.into());
        let delay = round_trip / 2 + PACKET + jitter.saturating_mul(2);
        let named = |codec: Codec| quality::Codec::named(codec.name().as_bytes());
        let rating = self.codec.and_then(named).filter(|_| expected > 0);
        let rating =
            rating.map(|codec| quality::rate(codec, &Path { delay, loss, ..Path::default() }));
        let of = self.statistics();
        let statistics = Statistics {
            packets: of.packets.saturating_sub(before.packets),
            octets: of.octets.saturating_sub(before.octets),
            lost: lost.into(),
            dropped: of.dropped.saturating_sub(before.dropped),
            jitter_us: of.jitter_us,
        };
        let quality = Quality {
            statistics,
            round_trip_us: stream.round_trip_us,
            r_tenths: rating.as_ref().map_or(0, |it| rounded(it.r_of_100() * 10.0)),
            mos_hundredths: rating.as_ref().map_or(0, |it| rounded(it.mos() * 100.0)),
        };
        Report {
            quality,
            loss_permille: rounded(loss * 1_000.0),
            duration: now.since(since),
            codec: self.codec,
            is_rated: rating.is_some(),
        }
    }
}

/// How speech of an end is coded, and the clock of its payload.
fn coded(stream: &Stream, side: Side) -> (Option<Codec>, ClockRate) {
    let mut of_side = stream.payloads.iter().filter(|payload| payload.from == side);
    let is_speech = |codec: &Codec| !codec.shape().is_auxiliary;
    let payload = of_side.find(|it| it.codec.as_ref().is_some_and(is_speech));
    let clock = payload.and_then(|it| ClockRate::new(it.clock));
    (payload.and_then(|it| it.codec), clock.unwrap_or(ClockRate::TELEPHONY))
}

fn micros(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}

/// A number of 0 to 1,000.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped")]
fn rounded(number: f64) -> u16 {
    number.round().clamp(0.0, 1_000.0) as u16
}
