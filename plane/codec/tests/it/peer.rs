//! FFmpeg's own decoders of AMR and AMR-WB, where it is installed, hear what is coded here.

use crate::sound::{coded, end, likeness, samples, signal_to_noise, speech};
use codec::amr::{Band, Frames, Packing};
use codec::{Codec, Encoder};
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Samples of a file in the storage format of RFC 4867 §5.
fn heard(kind: &str, file: &[u8]) -> Option<Vec<i16>> {
    let words = ["-hide_banner", "-loglevel", "error", "-f", "amr", "-c:a", kind, "-i", "-"];
    let child = Command::new("ffmpeg")
        .args(words)
        .args(["-f", "s16le", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = child.ok()?;
    child.stdin.take()?.write_all(file).ok()?;
    let output = child.wait_with_output().ok()?;
    assert!(output.status.success());
    Some(samples(&output.stdout))
}

#[test]
fn another_decoder_hears_what_is_coded_here() {
    for (codec, band, magic, kind) in [
        (Codec::Amr, Band::Narrow, &b"#!AMR\n"[..], "amrnb"),
        (Codec::AmrWb, Band::Wide, &b"#!AMR-WB\n"[..], "amrwb"),
    ] {
        let end = end(codec, "");
        let rate = codec.rate().expect("it has one");
        if Encoder::new(&end.format, rate, &crate::sound::library()).is_err() {
            continue;
        }
        let mut file = magic.to_vec();
        for (_, payload) in coded(&end, codec, 20).1 {
            for frame in Frames::read(band, Packing::BandwidthEfficient, &payload).expect("one") {
                file.push(frame.kind << 3 | 4);
                file.extend_from_slice(frame.speech(band));
            }
        }
        let Some(heard) = heard(kind, &file) else {
            eprintln!("not tested: ffmpeg is not there");
            return;
        };
        let sound = speech(rate);
        let (decibels, delay) = signal_to_noise(&sound, &heard, rate.samples(25));
        let like = likeness(&sound, &heard[delay..], rate);
        eprintln!("{codec:?}: {decibels:.1} dB, {like:.2}");
        assert!(like > 0.85, "{codec:?}: {like}");
    }
}
