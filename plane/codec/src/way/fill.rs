//! Silence of a sender that sends none of it, made by time: by comfort noise that was described, or
//! by what the decoder makes of nothing.

use super::{Path, Scratch};
use crate::decoder::Decoder;
use crate::noise::Generator;
use crate::stream::Output;
use machine::{Duration, Time};
use rtp::Header;
use rtp::comfort_noise::ComfortNoise;

/// How much later than due it is made, so that sound which comes again does not meet it.
const LAG: Duration = Duration::from_millis(20);
/// How long a silence is filled after its last description: of noise, and of codecs that describe
/// it again after half a second at most.
const NOISE_LASTS: Duration = Duration::from_secs(60);
const DECODER_LASTS: Duration = Duration::from_secs(2);
/// Packets that are made up for at once, when time has stood still.
const LATE_MAX: u8 = 4;

/// A silence.
#[derive(Debug)]
pub(super) struct Fill {
    /// Of noise; `None`: by the decoder.
    noise: Option<Generator>,
    next: Time,
    until: Time,
}

impl Fill {
    pub(super) fn by_decoder(now: Time, packet_ms: u16) -> Self {
        let next = now + Duration::from_millis(packet_ms.into()) + LAG;
        Self { noise: None, next, until: now + DECODER_LASTS }
    }

    pub(super) const fn at(&self) -> Time {
        self.next
    }

    /// Appends about so many samples of it.
    pub(super) fn make(&mut self, decoder: &mut Decoder, samples: usize, out: &mut Vec<i16>) {
        match &mut self.noise {
            Some(noise) => noise.generate(samples, out),
            None => decoder.conceal(samples, None, out),
        }
    }
}

impl Path {
    /// The sender describes its silence.
    pub(super) fn noise(&mut self, now: Time, header: Header, payload: &[u8], out: &mut Output) {
        let Ok(noise) = ComfortNoise::read(payload) else {
            self.counts.malformed += 1;
            return;
        };
        let ahead = header.timestamp.wrapping_sub(self.expected.unwrap_or(header.timestamp));
        if ahead <= u32::MAX / 2 && self.fill.is_none() {
            if ahead > 0 {
                self.pause(now, ahead, out);
            }
            self.expected = Some(header.timestamp);
        }
        match self.to.noise {
            Some(payload_type) => {
                // The coefficients are those of the sender's rate.
                let is_same = self.resampler.is_same();
                let coefficients = if is_same { noise.coefficients } else { &[] };
                let timestamp = self.outgoing.timestamp();
                self.outgoing.packet(payload_type, false, timestamp, out, |octets| {
                    ComfortNoise { level: noise.level, coefficients }.write(octets);
                    true
                });
                self.outgoing.pause(0);
                self.fill = None;
            }
            None => {
                let mut generator = match self.fill.take().and_then(|it| it.noise) {
                    Some(generator) => generator,
                    None => Generator::new(header.ssrc ^ header.timestamp),
                };
                generator.describe(&noise);
                let next = now + Duration::from_millis(self.to.packet_ms.into()) + LAG;
                let until = now + NOISE_LASTS;
                self.fill = Some(Fill { noise: Some(generator), next, until });
            }
        }
    }

    /// Makes the silence that is due.
    pub(super) fn fill(&mut self, now: Time, scratch: &mut Scratch, out: &mut Output) {
        let packet = Duration::from_millis(self.to.packet_ms.into());
        for _ in 0..LATE_MAX {
            let Some(fill) = self.fill.as_mut().filter(|it| it.next <= now) else { return };
            if now > fill.until {
                self.fill = None;
                return;
            }
            fill.next += packet;
            if !self.budget.takes(now, packet) {
                // The sender has sent more than that meanwhile.
                continue;
            }
            scratch.samples.clear();
            let rate = self.decoder.rate();
            fill.make(&mut self.decoder, rate.samples(self.to.packet_ms), &mut scratch.samples);
            let ms = u32::try_from(scratch.samples.len()).unwrap_or(0) / u32::from(rate.per_ms());
            let ticks = ms * (self.from.format.codec.clock() / 1_000);
            self.expected = self.expected.map(|it| it.wrapping_add(ticks));
            self.deliver(now, scratch, out);
        }
        // Time stood still: what was not made then is not made any more.
        if let Some(fill) = self.fill.as_mut().filter(|it| it.next <= now) {
            fill.next = now + packet;
        }
    }
}
