//! Sounds to be coded, how well they come back, and a stream to put them through.

use codec::{Codec, End, Format, Library, Output, Rate, Resampler, Side, Transcoder};
use machine::{Duration, Time};
use rtp::{Header, Packet};

/// Samples out of a file of 16 bits each, the low octet first.
pub fn samples(octets: &[u8]) -> Vec<i16> {
    octets.as_chunks::<2>().0.iter().map(|it| i16::from_le_bytes(*it)).collect()
}

/// Half a second of something like speech and a quarter of a rising tone, at 16 kHz.
pub fn speech_16k() -> Vec<i16> {
    samples(include_bytes!("../vectors/speech-16k.raw"))
}

/// The same at another rate.
pub fn speech(rate: Rate) -> Vec<i16> {
    let mut out = Vec::new();
    Resampler::new(Rate::Wide, rate).resample(&speech_16k(), &mut out);
    out
}

/// Decibels of the signal above what differs, at the delay where that is least, and that delay in
/// samples.
pub fn signal_to_noise(wanted: &[i16], got: &[i16], delay_most: usize) -> (f64, usize) {
    let ratio = |delay: usize| {
        let pairs = || wanted.iter().zip(&got[delay.min(got.len())..]);
        let power: f64 = pairs().map(|(&a, _)| f64::from(a).powi(2)).sum();
        let noise: f64 = pairs().map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum();
        10.0 * (power / noise.max(1.0)).log10()
    };
    let best = (0..=delay_most).map(|delay| (ratio(delay), delay));
    best.max_by(|a, b| a.0.total_cmp(&b.0)).expect("there is one")
}

/// How alike two sounds are to an ear: the correlation of their loudness, in decibels, in each of
/// ten bands of the telephone's width and in each 20 ms.
pub fn likeness(wanted: &[i16], got: &[i16], rate: Rate) -> f64 {
    let loudness = |samples: &[i16]| -> Vec<f64> {
        let frames = samples.chunks_exact(rate.samples(20));
        let bands = |frame: &[i16]| -> Vec<f64> {
            (1..=10).map(|band| power_at(frame, f64::from(band) * 320.0, rate)).collect()
        };
        frames.flat_map(bands).map(|power| 10.0 * (power + 1_000.0).log10()).collect()
    };
    let (wanted, got) = (loudness(wanted), loudness(got));
    let count = wanted.len().min(got.len()) as f64;
    let pairs = || wanted.iter().zip(&got);
    let mean = |of: &dyn Fn((&f64, &f64)) -> f64| pairs().map(of).sum::<f64>() / count;
    let (a, b) = (mean(&|it| *it.0), mean(&|it| *it.1));
    let both = mean(&|it| (it.0 - a) * (it.1 - b));
    both / (mean(&|it| (it.0 - a).powi(2)) * mean(&|it| (it.1 - b).powi(2))).sqrt()
}

/// The power around a frequency.
fn power_at(samples: &[i16], hertz: f64, rate: Rate) -> f64 {
    let step = core::f64::consts::TAU * hertz / f64::from(rate.hertz());
    let length = samples.len() as f64;
    let parts = samples.iter().enumerate().map(|(at, &sample)| {
        // A window, so that neighbours do not leak.
        let window = (core::f64::consts::PI * (at as f64 + 0.5) / length).sin().powi(2);
        let (sin, cos) = (step * at as f64).sin_cos();
        (f64::from(sample) * window * cos, f64::from(sample) * window * sin)
    });
    let (real, imaginary) = parts.fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    (real * real + imaginary * imaginary) / length
}

/// The libraries of this machine, and whether all are there: what they code is tested where they
/// are, and said where they are not.
pub fn library() -> Library {
    let (library, absent) = Library::load();
    for it in absent {
        eprintln!("not tested: {} of {} is not there: {}", it.file, it.package, it.why);
    }
    library
}

/// An end of a codec.
pub fn end(codec: Codec, parameters: &str) -> End {
    let format = Format::with_parameters(codec, parameters).expect("parameters that are built");
    End::new(format, 96 + codec.number(), u32::from(codec.number()))
}

/// The stream of a test, and the clock that goes with it.
pub struct Bed {
    pub transcoder: Transcoder,
    pub now: Time,
    pub out: Output,
}

pub const STREAM: u32 = 7;

impl Bed {
    /// One stream; `None` if a library is not there.
    pub fn new(ends: [End; 2]) -> Option<Self> {
        let now = Time::from_millis(1_000_000);
        let mut transcoder = Transcoder::new(library(), 10, now);
        transcoder.put(STREAM, ends).ok()?;
        Some(Self { transcoder, now, out: Output::default() })
    }

    /// Lets milliseconds pass, one by one.
    pub fn pass(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now += Duration::from_millis(1);
            self.transcoder.tick(self.now, &mut self.out);
        }
    }

    /// A packet comes.
    pub fn packet(&mut self, from: Side, header: Header, payload: &[u8]) {
        let mut octets = Vec::new();
        Packet { header, payload, ..Packet::default() }.write(&mut octets);
        self.transcoder.packet(self.now, STREAM, from, &octets, &mut self.out);
    }

    /// Takes what came out towards an end.
    pub fn take(&mut self, to: Side) -> Vec<(Header, Vec<u8>)> {
        let packets = self.out.packets().filter(|it| it.1 == to).map(|(_, _, octets)| {
            let packet = Packet::read(octets).expect("a packet");
            (packet.header, packet.payload.to_vec())
        });
        let packets = packets.collect();
        self.out.clear();
        packets
    }
}

/// Packets of an end as a sender makes them of sound.
pub fn coded(end: &End, beside: Codec, packet_ms: u16) -> (Rate, Vec<(Header, Vec<u8>)>) {
    let rate = end.format.codec.rate_beside(beside);
    let mut encoder = codec::Encoder::new(&end.format, rate, &library()).expect("it is there");
    let ticks = end.format.codec.clock() / 1_000 * u32::from(packet_ms);
    let sound = speech(rate);
    let frames = sound.chunks_exact(rate.samples(packet_ms));
    let packets = (0..).zip(frames).map(|(sequence, samples)| {
        let mut payload = Vec::new();
        encoder.encode(samples, &mut payload);
        let timestamp = 1_000_u32.wrapping_add(u32::from(sequence) * ticks);
        let header = Header {
            marker: sequence == 0,
            payload_type: end.receive,
            sequence,
            timestamp,
            ssrc: 0xA,
        };
        (header, payload)
    });
    (rate, packets.collect())
}

/// Sound of packets that left towards an end.
pub fn decoded(end: &End, beside: Codec, packets: &[(Header, Vec<u8>)]) -> Vec<i16> {
    let rate = end.format.codec.rate_beside(beside);
    let mut decoder = codec::Decoder::new(&end.format, rate, &library()).expect("it is there");
    let mut out = Vec::new();
    for (header, payload) in packets {
        assert_eq!(header.payload_type, end.send);
        decoder.decode(payload, &mut out).expect("a payload");
    }
    out
}
