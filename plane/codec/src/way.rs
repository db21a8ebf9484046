//! One direction of a stream.
//!
//! ```text
//!   packet → intake → decoder → digits? → resampler → samples of a packet → encoder → packet
//!              │ lost: concealed            ↑
//!              └ silence: filled by time ───┘
//! ```
//! No more is coded than time passes ([`budget`]), whatever a sender says that its packets hold.
//!
//! Two time lines run beside each other: `expected` is the timestamp that follows on what came, and
//! [`Outgoing`] has that of what is sent. What lacks in the first lacks as long in the second.

mod budget;
mod digits;
mod fill;

use crate::decoder::{Decoder, PAYLOAD_OCTETS_MAX};
use crate::encoder::{Coded, Encoder};
use crate::intake::{Intake, Played, Verdict};
use crate::library::Library;
use crate::noise;
use crate::outgoing::Outgoing;
use crate::resample::Resampler;
use crate::stream::{Counts, End, Output, Refused, Side};
use budget::Budget;
use digits::DigitsOf;
use fill::Fill;
use machine::{Duration, Time};
use rtp::{Header, Packet};

/// What lacks longer than so many milliseconds is a pause.
const CONCEAL_MS: u32 = 100;
/// A timestamp so many milliseconds behind is that of another clock.
const BEHIND_MS: u32 = 1_000;
/// Frames of a silence between two descriptions of it at most, and the decibels by which it changes
/// until then.
const DESCRIBE_FRAMES: u16 = 50;
const DESCRIBE_DECIBELS: u8 = 4;

/// Room that directions share while they work.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    samples: Vec<i16>,
    narrow: Vec<i16>,
}

/// A direction.
#[derive(Debug)]
pub(crate) struct Way {
    intake: Intake,
    path: Path,
}

/// What a packet goes through behind the intake.
#[derive(Debug)]
pub(crate) struct Path {
    from: End,
    to: End,
    decoder: Decoder,
    encoder: Encoder,
    resampler: Resampler,
    /// The timestamp that follows on what came.
    expected: Option<u32>,
    /// When the last packet came.
    came: Time,
    /// Samples that do not make a packet yet.
    samples: Vec<i16>,
    outgoing: Outgoing,
    budget: Budget,
    fill: Option<Fill>,
    digits: DigitsOf,
    quiet: Quiet,
    counts: Counts,
    /// The mode that the sender asks for.
    request: Option<u8>,
}

/// Silence towards an end that takes descriptions of it.
#[derive(Debug, Default)]
struct Quiet {
    detector: noise::Detector,
    /// Frames since the last description, and its level.
    described: Option<(u16, u8)>,
}

impl Way {
    /// The direction between two ends, to that side.
    pub(crate) fn new(
        stream: u32,
        from: &End,
        to: &End,
        side: Side,
        library: &Library,
    ) -> Result<Self, Refused> {
        let (codec, other) = (from.format.codec, to.format.codec);
        let decoder = Decoder::new(&from.format, codec.rate_beside(other), library);
        let encoder = Encoder::new(&to.format, other.rate_beside(codec), library);
        let (decoder, encoder) =
            (decoder.map_err(Refused::Lacks)?, encoder.map_err(Refused::Lacks)?);
        let to = End { packet_ms: encoder.packet_ms(to.packet_ms), ..*to };
        Ok(Self {
            intake: Intake::new(from.playout, codec.clock()),
            path: Path {
                digits: DigitsOf::new(from, &to, decoder.rate()),
                resampler: Resampler::new(decoder.rate(), encoder.rate()),
                from: *from,
                to,
                decoder,
                encoder,
                expected: None,
                came: Time::ZERO,
                samples: Vec::new(),
                outgoing: Outgoing::new(stream, side, &to),
                budget: Budget::default(),
                fill: None,
                quiet: Quiet::default(),
                counts: Counts::default(),
                request: None,
            },
        })
    }

    /// Goes on with the numbers of the one that it takes the place of.
    pub(crate) const fn go_on(&mut self, before: &Self) {
        self.path.outgoing.go_on(&before.path.outgoing);
        self.path.budget = before.path.budget;
    }

    /// A packet came.
    pub(crate) fn packet(
        &mut self,
        now: Time,
        packet: &Packet<'_>,
        scratch: &mut Scratch,
        out: &mut Output,
    ) {
        let Self { intake, path } = self;
        path.counts.received += 1;
        if packet.payload.is_empty() || packet.payload.len() > PAYLOAD_OCTETS_MAX {
            path.counts.malformed += 1;
            return;
        }
        let played = Played { header: packet.header, payload: packet.payload, lost: 0 };
        match intake.packet(now, packet.header, packet.payload) {
            Verdict::Next => path.play(now, &played, scratch, out),
            Verdict::Restarted => {
                path.restart(now);
                path.play(now, &played, scratch, out);
            }
            Verdict::Kept => {}
            Verdict::Dropped => path.counts.late += 1,
        }
        self.drain(now, scratch, out);
    }

    fn drain(&mut self, now: Time, scratch: &mut Scratch, out: &mut Output) {
        while let Some(played) = self.intake.next(now) {
            self.path.play(now, &played, scratch, out);
        }
    }

    /// Lets time pass.
    pub(crate) fn tick(&mut self, now: Time, scratch: &mut Scratch, out: &mut Output) {
        self.drain(now, scratch, out);
        self.path.fill(now, scratch, out);
        self.path.play_digits(now, out);
    }

    /// When `tick` wants to be called next.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let path = [self.path.fill.as_ref().map(Fill::at), self.path.digits.deadline()];
        path.into_iter().chain([self.intake.deadline()]).flatten().min()
    }

    /// Sends a digit to the end; whether there was room for it.
    pub(crate) fn digit(&mut self, now: Time, code: u8, lasts_ms: u16) -> bool {
        self.path.digits.play(now, code, lasts_ms)
    }

    /// The mode that the sender asks for, once.
    pub(crate) const fn take_request(&mut self) -> Option<u8> {
        self.path.request.take()
    }

    /// The end that this direction leads to asks for this mode.
    pub(crate) fn requested(&mut self, mode: u8) {
        self.path.encoder.request(mode);
    }

    /// The numbers of the last packet, if one left since they were told.
    pub(crate) fn reached(&mut self) -> Option<(u16, u32)> {
        self.path.outgoing.reached()
    }

    /// What was counted since the last time.
    pub(crate) fn take_counts(&mut self) -> Counts {
        let sent = core::mem::take(&mut self.path.outgoing.sent);
        Counts { sent, ..core::mem::take(&mut self.path.counts) }
    }
}

impl Path {
    fn play(&mut self, now: Time, played: &Played<'_>, scratch: &mut Scratch, out: &mut Output) {
        let &Played { header, payload, lost } = played;
        self.counts.lost += u64::from(lost);
        let kind = Some(header.payload_type);
        if kind == Some(self.from.receive) {
            self.sound(now, played, scratch, out);
        } else if kind == self.from.events.map(|it| it.receive) {
            self.event(now, header, payload, out);
        } else if kind == self.from.noise {
            self.noise(now, header, payload, out);
        } else {
            self.counts.foreign += 1;
        }
        self.came = now;
    }

    fn sound(&mut self, now: Time, played: &Played<'_>, scratch: &mut Scratch, out: &mut Output) {
        let &Played { header: Header { timestamp, .. }, payload, lost } = played;
        if self.digits.is_toning(now) {
            return;
        }
        // A payload that is none costs nothing but to be found out.
        if let Ok(ticks) = self.decoder.ticks(payload)
            && !self.budget.takes(now, self.from.format.codec.lasts(ticks))
        {
            self.counts.over += 1;
            return;
        }
        if !self.align(now, timestamp, Some((lost, payload)), scratch, out) {
            return;
        }
        scratch.samples.clear();
        let decoded = match self.decoder.decode(payload, &mut scratch.samples) {
            Ok(decoded) => decoded,
            Err(_) => {
                self.counts.malformed += 1;
                return;
            }
        };
        self.expected = Some(timestamp.wrapping_add(decoded.ticks));
        self.request = decoded.request.or(self.request);
        self.fill = decoded.is_silent.then(|| Fill::by_decoder(now, self.to.packet_ms));
        self.deliver(now, scratch, out);
    }

    /// Brings the time lines to where a packet begins: what lacks is concealed if packets of it are
    /// lost, filled if it was silence, and else a pause. Whether the packet is to be played.
    fn align(
        &mut self,
        now: Time,
        timestamp: u32,
        sound: Option<(u16, &[u8])>,
        scratch: &mut Scratch,
        out: &mut Output,
    ) -> bool {
        let Some(expected) = self.expected else { return true };
        let ticks_per_ms = self.from.format.codec.clock() / 1_000;
        let ahead = timestamp.wrapping_sub(expected);
        let is_behind = ahead > u32::MAX / 2;
        if is_behind && ahead.wrapping_neg() > BEHIND_MS * ticks_per_ms {
            self.restart(now);
        } else if is_behind {
            // Less was filled than came, or tones stand in its place.
            return !self.digits.is_in_tone();
        } else if ahead > 0 {
            let (lost, next) = sound.map_or((0, None), |(lost, next)| (lost, Some(next)));
            let is_short = ahead <= CONCEAL_MS * ticks_per_ms;
            let samples = ahead / ticks_per_ms * u32::from(self.decoder.rate().per_ms());
            let samples = usize::try_from(samples).unwrap_or(0);
            scratch.samples.clear();
            let lacks = self.from.format.codec.lasts(ahead);
            let is_short = is_short && (self.fill.is_some() || lost > 0);
            match (&mut self.fill, is_short && self.budget.takes(now, lacks)) {
                (Some(fill), true) => fill.make(&mut self.decoder, samples, &mut scratch.samples),
                (None, true) => self.decoder.conceal(samples, next, &mut scratch.samples),
                (_, false) => {
                    self.pause(now, ahead, out);
                    return true;
                }
            }
            self.deliver(now, scratch, out);
        }
        true
    }

    /// The sender begins anew: by the clock of arrival time has passed.
    fn restart(&mut self, now: Time) {
        if self.expected.take().is_some() {
            let passed = now.since(self.came).min(Duration::from_secs(60));
            let ms = u32::try_from(passed.as_millis()).unwrap_or(0);
            self.samples.clear();
            self.outgoing.pause(ms * self.outgoing.ticks_per_ms());
        }
        self.fill = None;
    }

    /// So many ticks of the sender's clock nothing is sent.
    fn pause(&mut self, now: Time, ticks: u32, out: &mut Output) {
        let from_per_ms = self.from.format.codec.clock() / 1_000;
        let to_per_ms = self.outgoing.ticks_per_ms();
        let ticks = u64::from(ticks) * u64::from(to_per_ms) / u64::from(from_per_ms);
        let mut ticks = u32::try_from(ticks).unwrap_or(u32::MAX);
        let frame = self.frame();
        if !self.samples.is_empty() {
            // What has begun ends in silence.
            let lacks = (frame - self.samples.len()) / usize::from(self.encoder.rate().per_ms());
            let lacks = u32::try_from(lacks).unwrap_or(0);
            if self.budget.takes(now, Duration::from_millis(lacks.into())) {
                self.samples.resize(frame, 0);
                self.flush(out);
                ticks = ticks.saturating_sub(lacks * to_per_ms);
            } else {
                self.samples.clear();
            }
        }
        self.outgoing.pause(ticks);
    }

    /// Samples of a packet.
    fn frame(&self) -> usize {
        self.encoder.rate().samples(self.to.packet_ms)
    }

    /// The scratch samples go on to the encoder.
    fn deliver(&mut self, now: Time, scratch: &mut Scratch, out: &mut Output) {
        self.hear(now, scratch, out);
        if self.digits.plays_tones() {
            // Tones take the place of what comes.
            return;
        }
        self.resampler.resample(&scratch.samples, &mut self.samples);
        self.flush(out);
    }

    /// Sends the packets whose samples are whole.
    fn flush(&mut self, out: &mut Output) {
        let frame = self.frame();
        let samples = core::mem::take(&mut self.samples);
        let mut frames = samples.chunks_exact(frame);
        for samples in &mut frames {
            self.send(samples, out);
        }
        let whole = samples.len() - frames.remainder().len();
        self.samples = samples;
        self.samples.drain(..whole);
    }

    /// Sends a packet of sound, or what stands in its place.
    fn send(&mut self, samples: &[i16], out: &mut Output) {
        let ticks = u32::from(self.to.packet_ms) * self.outgoing.ticks_per_ms();
        let is_silent = self.to.format.has_dtx
            && self.to.noise.is_some()
            && self.quiet.detector.is_silence(samples, self.to.packet_ms);
        if self.digits.plays_event() {
            self.outgoing.advance(ticks);
        } else if is_silent {
            self.send_silence(samples, out);
            self.outgoing.pause(ticks);
        } else {
            self.quiet.described = None;
            let encoder = &mut self.encoder;
            let mut coded = Coded::Nothing;
            self.outgoing.sound(self.to.send, out, |octets| {
                coded = encoder.encode(samples, octets);
                coded != Coded::Nothing
            });
            match coded {
                Coded::Sound => self.outgoing.advance(ticks),
                Coded::Silence | Coded::Nothing => self.outgoing.pause(ticks),
            }
        }
    }

    /// Describes a silence that has begun, or has changed, or was not described for long.
    fn send_silence(&mut self, samples: &[i16], out: &mut Output) {
        let level = noise::level(samples);
        let is_due = self.quiet.described.is_none_or(|(frames, before)| {
            frames >= DESCRIBE_FRAMES || level.abs_diff(before) >= DESCRIBE_DECIBELS
        });
        let Some(payload_type) = self.to.noise.filter(|_| is_due) else {
            if let Some((frames, _)) = &mut self.quiet.described {
                *frames += 1;
            }
            return;
        };
        let timestamp = self.outgoing.timestamp();
        self.outgoing.packet(payload_type, false, timestamp, out, |octets| {
            noise::describe(samples, octets);
            true
        });
        self.quiet.described = Some((0, level));
    }
}
