//! How well sound comes through each codec, and through each pair of them.

use crate::sound::{Bed, coded, decoded, end, library, likeness, signal_to_noise, speech};
use codec::{Codec, Decoder, Encoder, Rate, Side};

/// Codecs that are there, each with the parameters that change its payload, and the decibels that
/// its sound has above its noise at least. AMR does not keep the wave: likeness counts there.
const CODECS: [(Codec, &str, f64); 8] = [
    (Codec::Pcmu, "", 33.0),
    (Codec::Pcma, "", 33.0),
    (Codec::G722, "", 18.0),
    (Codec::Opus, "maxaveragebitrate=24000", 7.0),
    (Codec::Amr, "", -3.0),
    (Codec::Amr, "octet-align=1;mode-set=7", -3.0),
    (Codec::AmrWb, "", -3.0),
    (Codec::AmrWb, "octet-align=1;mode-set=2,8", -3.0),
];

#[test]
fn sound_comes_back_from_each_codec() {
    for (codec, parameters, least) in CODECS {
        let end = end(codec, parameters);
        let rate = codec.rate().unwrap_or(Rate::Wide);
        let Ok(mut encoder) = Encoder::new(&end.format, rate, &library()) else { continue };
        let mut decoder = Decoder::new(&end.format, rate, &library()).expect("both are there");
        let sound = speech(rate);
        let mut back = Vec::new();
        for samples in sound.chunks_exact(rate.samples(20)) {
            let mut payload = Vec::new();
            encoder.encode(samples, &mut payload);
            let decoded = decoder.decode(&payload, &mut back).expect("a payload");
            assert_eq!(decoded.ticks, codec.clock() / 50, "{codec:?}");
        }
        assert_eq!(back.len(), sound.chunks_exact(rate.samples(20)).count() * rate.samples(20));
        let (decibels, delay) = signal_to_noise(&sound, &back, rate.samples(25));
        let like = likeness(&sound, &back[delay..], rate);
        eprintln!("{codec:?} {parameters:?}: {decibels:.1} dB, {like:.2}, delay {delay} samples");
        assert!(decibels > least && like > 0.85, "{codec:?} {parameters:?}: {decibels} {like}");
    }
}

#[test]
fn sound_passes_between_each_pair_of_codecs_packet_by_packet() {
    for (from, from_parameters, _) in CODECS {
        for (to, to_parameters, _) in CODECS {
            let ends = [end(from, from_parameters), end(to, to_parameters)];
            let Some(mut bed) = Bed::new(ends) else { continue };
            let (rate, packets) = coded(&ends[0], to, 20);
            let mut left = Vec::new();
            for (header, payload) in &packets {
                bed.packet(Side::A, *header, payload);
                let now = bed.take(Side::B);
                // A packet comes, a packet leaves: the delay is that of the codecs alone.
                assert_eq!(now.len(), 1, "{from:?} {to:?}");
                left.extend(now);
                bed.pass(20);
            }
            for (at, (header, _)) in (0_u16..).zip(&left) {
                let ticks = to.clock() / 50 * u32::from(at);
                assert_eq!((header.sequence, header.timestamp), (at, ticks));
                assert_eq!((header.ssrc, header.marker), (u32::from(to.number()), at == 0));
            }
            let sound = speech(rate);
            let back = decoded(&ends[1], from, &left);
            let mut same = Vec::new();
            let back_rate = to.rate_beside(from);
            codec::Resampler::new(back_rate, rate).resample(&back, &mut same);
            let (decibels, delay) = signal_to_noise(&sound, &same, rate.samples(40));
            let like = likeness(&sound, &same[delay..], rate);
            eprintln!("{from:?} to {to:?}: {decibels:.1} dB, {like:.2}, delay {delay} samples");
            assert!(like > 0.8, "{from:?} to {to:?}: {like}");
        }
    }
}

#[test]
fn packets_of_any_time_become_packets_of_any_other() {
    for from in [Codec::Pcma, Codec::G722, Codec::Opus, Codec::Amr] {
        for (from_ms, to_ms) in [(10, 20), (20, 30), (30, 20), (20, 60), (40, 10), (60, 40)] {
            let is_possible = from_ms % 20 == 0 || from != Codec::Amr;
            let is_possible = is_possible && (from != Codec::Opus || from_ms != 30);
            let mut ends = [end(from, ""), end(Codec::Pcmu, "")];
            ends[1].packet_ms = to_ms;
            let Some(mut bed) = Bed::new(ends).filter(|_| is_possible) else { continue };
            let (_, packets) = coded(&ends[0], Codec::Pcmu, from_ms);
            for (header, payload) in &packets {
                bed.packet(Side::A, *header, payload);
                bed.pass(from_ms.into());
            }
            let left = bed.take(Side::B);
            let ms = packets.len() * usize::from(from_ms);
            assert_eq!(left.len(), ms / usize::from(to_ms), "{from:?} {from_ms} {to_ms}");
            for (at, (header, payload)) in (0_u32..).zip(&left) {
                assert_eq!(payload.len(), usize::from(to_ms) * 8);
                assert_eq!(header.timestamp, at * u32::from(to_ms) * 8);
            }
        }
    }
}
