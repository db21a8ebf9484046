//! Streams a core for each pair of codecs: both directions of a call, 20 ms a packet. A thousand
//! streams of G.711 and G.722, a hundred of the others, each with a state of its own, as many as a
//! cache does not hold.
//!
//! `cargo bench -p tandem-codec` prints a table; it runs each pair for a second of
//! the processor's time.
#![allow(missing_docs, clippy::print_stdout, clippy::disallowed_methods)]

use codec::{Codec, Encoder, End, Format, Library, Output, Side, Transcoder};
use machine::{Duration, Time};
use rtp::{Header, Packet};

const PAIRS: [(Codec, Codec); 10] = [
    (Codec::Pcma, Codec::Pcmu),
    (Codec::Pcma, Codec::G722),
    (Codec::Pcma, Codec::Opus),
    (Codec::Pcma, Codec::Amr),
    (Codec::Pcma, Codec::AmrWb),
    (Codec::G722, Codec::Opus),
    (Codec::G722, Codec::AmrWb),
    (Codec::Opus, Codec::Amr),
    (Codec::Opus, Codec::AmrWb),
    (Codec::Amr, Codec::AmrWb),
];
const SECONDS: f64 = 1.0;
const PACKET_MS: u16 = 20;

/// Seconds that this thread has worked: what else the machine does is not counted.
fn seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanoseconds = text.split_whitespace().next().and_then(|it| it.parse::<f64>().ok());
    nanoseconds.expect("a number") / 1e9
}

/// Packets of an end, as many as the sound has.
fn packets(end: &End, beside: Codec, library: &Library) -> Option<Vec<Vec<u8>>> {
    let rate = end.format.codec.rate_beside(beside);
    let mut encoder = Encoder::new(&end.format, rate, library).ok()?;
    let octets = include_bytes!("../tests/vectors/speech-16k.raw");
    let wide: Vec<i16> =
        octets.as_chunks::<2>().0.iter().map(|it| i16::from_le_bytes(*it)).collect();
    let mut sound = Vec::new();
    codec::Resampler::new(codec::Rate::Wide, rate).resample(&wide, &mut sound);
    let payloads = sound.chunks_exact(rate.samples(PACKET_MS)).map(|samples| {
        let mut payload = Vec::new();
        encoder.encode(samples, &mut payload);
        payload
    });
    Some(payloads.collect())
}

/// Calls that one core carries; `None` if a library lacks.
fn calls(pair: (Codec, Codec), library: Library) -> Option<f64> {
    let end = |codec: Codec| {
        let parameters = if codec == Codec::Opus { "maxaveragebitrate=24000" } else { "" };
        let format = Format::with_parameters(codec, parameters).expect("it is built");
        End::new(format, 96 + codec.number(), codec.number().into())
    };
    let ends = [end(pair.0), end(pair.1)];
    let sounds = [packets(&ends[0], pair.1, &library)?, packets(&ends[1], pair.0, &library)?];
    let is_light = |codec| matches!(codec, Codec::Pcma | Codec::Pcmu | Codec::G722);
    let streams = if is_light(pair.0) && is_light(pair.1) { 1_000 } else { 100 };
    let mut now = Time::from_millis(1_000);
    let mut transcoder = Transcoder::new(library, streams, now);
    let number = |stream: usize| u32::try_from(stream).expect("few");
    (0..streams).for_each(|it| transcoder.put(number(it), ends).expect("it is there"));
    let (mut out, mut octets, mut sequence) = (Output::default(), Vec::new(), 0_u16);
    let begun = seconds();
    while seconds() - begun < SECONDS {
        for stream in 0..streams {
            for (side, (end, sound)) in [Side::A, Side::B].into_iter().zip(ends.iter().zip(&sounds))
            {
                let ticks = end.format.codec.clock() / 1_000 * u32::from(PACKET_MS);
                let header = Header {
                    marker: false,
                    payload_type: end.receive,
                    sequence,
                    timestamp: ticks.wrapping_mul(sequence.into()),
                    ssrc: 1,
                };
                let payload = &sound[usize::from(sequence) % sound.len()];
                octets.clear();
                Packet { header, payload, ..Packet::default() }.write(&mut octets);
                transcoder.packet(now, number(stream), side, &octets, &mut out);
            }
            out.clear();
        }
        now += Duration::from_millis(PACKET_MS.into());
        transcoder.tick(now, &mut out);
        sequence = sequence.wrapping_add(1);
    }
    let packets = f64::from(sequence) * streams as f64;
    assert!(transcoder.counts().sent as f64 > 1.9 * packets, "all is coded");
    Some(packets * f64::from(PACKET_MS) / 1_000.0 / (seconds() - begun))
}

fn main() {
    let (library, absent) = Library::load();
    absent.iter().for_each(|it| println!("{} is not there: {}", it.file, it.why));
    println!("{:28} {:>12} {:>18}", "both directions of a call", "calls a core", "µs a packet");
    for pair in PAIRS {
        let Some(calls) = calls(pair, library) else { continue };
        let name = format!("{} and {}", pair.0.name(), pair.1.name());
        let micros = 1e6 / (calls * 2.0 * 1_000.0 / f64::from(PACKET_MS));
        println!("{name:28} {calls:>12.0} {micros:>18.2}");
    }
}
