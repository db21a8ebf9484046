//! Digits within a direction: events and tones into each other.
//!
//! ```text
//!   comes as    goes as events          goes as tones        by signalling
//!   event       event, its own clock    tones                noticed
//!   tones       event; sound is muted   tones                noticed; sound is muted
//! ```
//! Every digit is noticed. Digits that signalling brings are played one after the other.

use super::{Path, Scratch};
use crate::dtmf::{self, Heard, Tones, VOLUME};
use crate::resample::{Rate, Resampler};
use crate::stream::{Digits, End, Events, Notice, Output};
use machine::{Duration, Time};
use rtp::Header;
use rtp::event::{self, Detected, Event, Generator};
use std::collections::VecDeque;

/// Digits that wait to be played at most.
const WAITING_MAX: usize = 32;
/// Milliseconds of a digit that is played, at least and at most (Q.24 §2; TS 24.008: 70 to 65 s).
const PLAYED_MS: core::ops::RangeInclusive<u16> = 50..=5_000;
/// Between two digits.
const PAUSE_MS: u32 = 60;
const PAUSE: Duration = Duration::from_millis(PAUSE_MS as u64);
/// Milliseconds of tones that one event adds at most.
const STEP_MS_MAX: u32 = 200;
/// Of an event's begin sound may have been played that came before it: so much of it is no tone.
const BEGUN_MS_MAX: u32 = 20;
/// An event of which nothing came for so long has ended: senders tell of it every 50 ms or more
/// often (RFC 4733 §2.5.1.2).
const GONE: Duration = Duration::from_millis(200);

/// How digits go on.
#[derive(Debug, Clone, Copy)]
enum Way {
    Events(Events),
    Tones,
    Notices,
}

/// What a direction knows of digits.
#[derive(Debug)]
pub(super) struct DigitsOf {
    way: Way,
    /// Where tones are listened for.
    tones: Option<ToneDetector>,
    /// Digits of events that come.
    detector: event::Detector,
    /// The event that is passed on: its timestamp as it comes and as it goes.
    passed: Option<(u32, u32)>,
    /// Where the event that was played last ends, as it goes.
    ended: Option<u32>,
    /// The event that is played as tones.
    toned: Option<Toned>,
    playing: Option<Playing>,
    waiting: VecDeque<(u8, u16)>,
}

#[derive(Debug)]
struct ToneDetector {
    resampler: Resampler,
    detector: dtmf::Detector,
}

/// Tones that follow an event as it grows.
#[derive(Debug)]
struct Toned {
    /// The event's timestamp.
    timestamp: u32,
    tones: Tones,
    made_ms: u32,
    is_over: bool,
    /// Sound came behind it: its end, told again, is nothing new.
    is_past: bool,
    /// When its last packet came.
    at: Time,
}

/// A digit that is played by time.
#[derive(Debug)]
struct Playing {
    next: Time,
    what: What,
}

#[derive(Debug)]
enum What {
    Event { generator: Generator, ends: bool },
    Tones { tones: Tones, left_ms: u16 },
    Pause,
}

impl DigitsOf {
    pub(super) fn new(from: &End, to: &End, rate: Rate) -> Self {
        let way = match (to.digits, to.events) {
            (Digits::Info, _) => Way::Notices,
            (Digits::Pass | Digits::Events, Some(events)) => Way::Events(events),
            _ => Way::Tones,
        };
        // Tones that go on as tones need nobody to hear them.
        let listens = from.digits == Digits::Tones && !matches!(way, Way::Tones);
        let tones = || ToneDetector {
            resampler: Resampler::new(rate, Rate::Narrow),
            detector: dtmf::Detector::default(),
        };
        Self {
            way,
            tones: listens.then(tones),
            detector: event::Detector::default(),
            passed: None,
            ended: None,
            toned: None,
            playing: None,
            waiting: VecDeque::new(),
        }
    }

    /// Whether tones are played that no event of the sender makes.
    pub(super) const fn plays_tones(&self) -> bool {
        matches!(self.playing, Some(Playing { what: What::Tones { .. }, .. }))
    }

    /// Whether an event is played that has not ended: no sound is sent beside it.
    pub(super) const fn plays_event(&self) -> bool {
        matches!(self.playing, Some(Playing { what: What::Event { ends: false, .. }, .. }))
    }

    /// Whether tones stand in the place of what the sender says beside its event.
    pub(super) fn is_in_tone(&self) -> bool {
        self.toned.as_ref().is_some_and(|it| !it.is_past)
    }

    /// Whether that event goes on: nothing beside it is heard, wherever it stands.
    pub(super) fn is_toning(&self, now: Time) -> bool {
        self.toned.as_ref().is_some_and(|it| !it.is_over && now < it.at + GONE)
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        let playing = self.playing.as_ref().map(|it| it.next);
        playing.into_iter().chain(self.detector.deadline()).min()
    }

    /// A digit is to be played; whether there is room for it.
    pub(super) fn play(&mut self, now: Time, code: u8, lasts_ms: u16) -> bool {
        let is_playable = dtmf::frequencies(code).is_some()
            && self.waiting.len() < WAITING_MAX
            && !matches!(self.way, Way::Notices);
        if is_playable {
            let lasts_ms = lasts_ms.clamp(*PLAYED_MS.start(), *PLAYED_MS.end());
            self.waiting.push_back((code, lasts_ms));
            let pause = || Playing { next: now, what: What::Pause };
            self.playing.get_or_insert_with(pause);
        }
        is_playable
    }
}

impl Path {
    fn notice(&mut self, code: u8, lasted_ms: u32, out: &mut Output) {
        if dtmf::frequencies(code).is_none() {
            return;
        }
        self.counts.digits += 1;
        let lasted_ms = u16::try_from(lasted_ms).unwrap_or(u16::MAX);
        let (stream, from) = (self.outgoing.stream(), self.outgoing.to().other());
        out.notices.push(Notice::Digit { stream, from, code, lasted_ms });
    }

    /// The timestamp of what the sender says next, as it goes.
    fn here(&self) -> u32 {
        let ms = self.samples.len() / usize::from(self.encoder.rate().per_ms());
        let ticks = u32::try_from(ms).unwrap_or(0) * self.outgoing.ticks_per_ms();
        self.outgoing.timestamp().wrapping_add(ticks)
    }

    /// An event came.
    pub(super) fn event(&mut self, now: Time, header: Header, payload: &[u8], out: &mut Output) {
        let Some(clock) = self.from.events.map(|it| (it.clock_hz / 1_000).max(1)) else { return };
        let mut detected = Vec::new();
        let read = self.digits.detector.packet(now, header.timestamp, payload, &mut detected);
        let first = Event::read_all(payload).ok().and_then(|mut it| it.next());
        let (Ok(()), Some(event)) = (read, first) else {
            self.counts.malformed += 1;
            return;
        };
        self.notice_all(&detected, clock, out);
        match self.digits.way {
            Way::Events(events) => self.pass_event(header.timestamp, event, events, out),
            Way::Tones => {
                let lasted_ms = u32::from(event.duration) / clock;
                self.tone(now, header.timestamp, event, lasted_ms, out);
            }
            Way::Notices => {}
        }
    }

    fn notice_all(&mut self, detected: &[Detected], clock: u32, out: &mut Output) {
        for it in detected {
            if let &Detected::Ended { code, duration } = it {
                self.notice(code, duration / clock, out);
            }
        }
    }

    fn pass_event(&mut self, timestamp: u32, event: Event, events: Events, out: &mut Output) {
        let same = self.digits.passed.filter(|(came, _)| *came == timestamp);
        let goes = same.map_or_else(
            || {
                let from_per_ms = self.from.format.codec.clock() / 1_000;
                let ahead = timestamp.wrapping_sub(self.expected.unwrap_or(timestamp));
                // Behind, or further than any pause of a sender that talks: here.
                let ahead = if ahead > 60_000 * from_per_ms { 0 } else { ahead };
                let ticks = u64::from(ahead) * u64::from(self.outgoing.ticks_per_ms());
                let ticks = u32::try_from(ticks / u64::from(from_per_ms)).unwrap_or(0);
                self.here().wrapping_add(ticks)
            },
            |(_, goes)| goes,
        );
        self.digits.passed = Some((timestamp, goes));
        let from_hz = self.from.events.map_or(8_000, |it| it.clock_hz).max(1);
        let duration = u64::from(event.duration) * u64::from(events.clock_hz);
        let duration = u16::try_from(duration / u64::from(from_hz)).unwrap_or(u16::MAX);
        let octets = Event { duration, ..event }.octets();
        self.outgoing.packet(events.send, same.is_none(), goes, out, |out| {
            out.extend_from_slice(&octets);
            true
        });
    }

    /// An event that has lasted so long is heard as tones.
    fn tone(&mut self, now: Time, timestamp: u32, event: Event, lasted_ms: u32, out: &mut Output) {
        let rate = self.encoder.rate();
        let is_same = self.digits.toned.as_ref().is_some_and(|it| it.timestamp == timestamp);
        if !is_same {
            let volume = if event.volume == 0 { VOLUME } else { event.volume };
            let Some(tones) = Tones::new(event.code, volume, rate) else { return };
            let ahead = timestamp.wrapping_sub(self.expected.unwrap_or(timestamp));
            let is_behind = ahead > u32::MAX / 2;
            if ahead > 0 && !is_behind {
                self.pause(now, ahead, out);
            }
            let begun = if is_behind { ahead.wrapping_neg() } else { 0 };
            let made_ms = (begun / (self.from.format.codec.clock() / 1_000)).min(BEGUN_MS_MAX);
            let (is_over, is_past) = (false, false);
            let toned = Toned { timestamp, tones, made_ms, is_over, is_past, at: now };
            self.digits.toned = Some(toned);
        }
        let Some(toned) = self.digits.toned.as_mut().filter(|it| !it.is_over) else { return };
        toned.at = now;
        let least = if event.is_end { u32::from(*PLAYED_MS.start()) } else { 0 };
        let step = lasted_ms.max(least).saturating_sub(toned.made_ms).min(STEP_MS_MAX);
        if !self.budget.takes(now, Duration::from_millis(step.into())) {
            self.counts.over += 1;
            return;
        }
        let samples = usize::try_from(step).unwrap_or(0) * usize::from(rate.per_ms());
        toned.tones.generate(samples, event.is_end, &mut self.samples);
        toned.made_ms += step;
        toned.is_over = event.is_end;
        let ticks = toned.made_ms * (self.from.format.codec.clock() / 1_000);
        self.expected = Some(timestamp.wrapping_add(ticks));
        self.flush(out);
    }

    /// Sound of the sender: where tones are listened for, digits are taken out of it.
    pub(super) fn hear(&mut self, now: Time, scratch: &mut Scratch, out: &mut Output) {
        // Sound behind an event: what that played as tones is over.
        if let Some(toned) = &mut self.digits.toned {
            toned.is_past = toned.is_over;
        }
        let Some(tones) = &mut self.digits.tones else { return };
        scratch.narrow.clear();
        tones.resampler.resample(&scratch.samples, &mut scratch.narrow);
        let mut heard = Vec::new();
        tones.detector.hear(&scratch.narrow, &mut heard);
        if tones.detector.digit().is_some() || tones.detector.is_suspicious() {
            scratch.samples.fill(0);
        }
        for it in heard {
            match it {
                Heard::Began { code, ago } => {
                    // What was heard last is not on the time line yet.
                    let last = scratch.narrow.len();
                    self.begin_event(now, code, ago.saturating_sub(last));
                }
                Heard::Ended { code, lasted } => {
                    let lasted_ms = u32::try_from(lasted / 8).unwrap_or(u32::MAX);
                    self.notice(code, lasted_ms, out);
                    self.end_event(lasted_ms);
                }
            }
        }
    }

    /// A digit was heard that began so many samples of 8 kHz before what is coded next.
    fn begin_event(&mut self, now: Time, code: u8, ago: usize) {
        let Way::Events(events) = self.digits.way else { return };
        let ago = u32::try_from(ago / 8).unwrap_or(0) * self.outgoing.ticks_per_ms();
        let start = self.here().wrapping_sub(ago);
        let interval = events.clock_hz / 1_000 * u32::from(self.to.packet_ms);
        let interval = u16::try_from(interval).unwrap_or(u16::MAX);
        let generator = Generator::new(code, VOLUME, start, interval);
        self.digits.playing =
            Some(Playing { next: now, what: What::Event { generator, ends: false } });
    }

    fn end_event(&mut self, lasted_ms: u32) {
        let Way::Events(events) = self.digits.way else { return };
        if let Some(Playing { what: What::Event { generator, ends }, .. }) =
            &mut self.digits.playing
        {
            generator.end(lasted_ms.saturating_mul(events.clock_hz / 1_000));
            *ends = true;
        }
    }

    /// Plays what is due of digits.
    pub(super) fn play_digits(&mut self, now: Time, out: &mut Output) {
        if self.digits.detector.deadline().is_some_and(|at| at <= now) {
            let mut detected = Vec::new();
            self.digits.detector.tick(now, &mut detected);
            let clock = self.from.events.map_or(8, |it| (it.clock_hz / 1_000).max(1));
            self.notice_all(&detected, clock, out);
        }
        let Some(mut playing) = self.digits.playing.take_if(|it| it.next <= now) else { return };
        let packet = Duration::from_millis(self.to.packet_ms.into());
        playing.next = now + packet;
        let is_over = match &mut playing.what {
            What::Event { generator, .. } => {
                if let (Some(it), Way::Events(events)) = (generator.next(), self.digits.way) {
                    self.outgoing.packet(events.send, it.marker, it.timestamp, out, |octets| {
                        octets.extend_from_slice(&it.event.octets());
                        true
                    });
                }
                generator.is_over()
            }
            What::Tones { tones, left_ms } => {
                let ms = (*left_ms).min(self.to.packet_ms);
                let samples = self.encoder.rate().samples(ms);
                tones.generate(samples, ms == *left_ms, &mut self.samples);
                *left_ms -= ms;
                *left_ms == 0
            }
            What::Pause => {
                self.digits.playing = self.next_digit(now);
                return;
            }
        };
        if matches!(playing.what, What::Tones { .. }) {
            self.flush(out);
        }
        if is_over {
            playing = Playing { next: now + PAUSE, what: What::Pause };
        }
        self.digits.playing = Some(playing);
    }

    /// The digit that waits longest.
    fn next_digit(&mut self, now: Time) -> Option<Playing> {
        let (code, lasts_ms) = self.digits.waiting.pop_front()?;
        let what = match self.digits.way {
            Way::Events(events) => {
                let per_ms = events.clock_hz / 1_000;
                let interval = per_ms * u32::from(self.to.packet_ms);
                let interval = u16::try_from(interval).unwrap_or(u16::MAX);
                // While nobody talks the time line stands still; two events must not be one.
                let here = self.here();
                let start = self.digits.ended.filter(|it| it.wrapping_sub(here) <= u32::MAX / 2);
                let start = start.unwrap_or(here);
                let lasts = (u32::from(lasts_ms) + PAUSE_MS) * self.outgoing.ticks_per_ms();
                self.digits.ended = Some(start.wrapping_add(lasts));
                let mut generator = Generator::new(code, VOLUME, start, interval);
                generator.end(u32::from(lasts_ms) * per_ms);
                What::Event { generator, ends: false }
            }
            _ => {
                let tones = Tones::new(code, VOLUME, self.encoder.rate())?;
                What::Tones { tones, left_ms: lasts_ms }
            }
        };
        Some(Playing { next: now, what })
    }
}
