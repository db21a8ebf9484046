//! Silence that is described instead of sent.

use crate::sound::{Bed, coded, end};
use codec::{Codec, Side, noise};
use rtp::Header;
use rtp::comfort_noise::ComfortNoise;

fn noisy(level: u8) -> Vec<u8> {
    let mut payload = Vec::new();
    ComfortNoise { level, coefficients: &[] }.write(&mut payload);
    payload
}

#[test]
fn comfort_noise_is_passed_to_who_takes_it() {
    let mut ends = [end(Codec::Pcma, ""), end(Codec::Pcmu, "")];
    (ends[0].noise, ends[1].noise) = (Some(13), Some(19));
    let mut bed = Bed::new(ends).expect("nothing is needed");
    let (_, packets) = coded(&ends[0], Codec::Pcmu, 20);
    bed.packet(Side::A, packets[0].0, &packets[0].1);
    let header = Header { payload_type: 13, ..packets[1].0 };
    bed.packet(Side::A, header, &noisy(55));
    bed.pass(500);
    let timestamp = packets[0].0.timestamp + 8_000;
    bed.packet(Side::A, Header { timestamp, sequence: 2, ..packets[2].0 }, &packets[2].1);
    let left = bed.take(Side::B);
    assert_eq!(left.len(), 3, "nothing is made up");
    assert_eq!((left[1].0.payload_type, &left[1].1[..], left[1].0.timestamp), (19, &[55][..], 160));
    assert_eq!((left[2].0.timestamp, left[2].0.marker), (8_000, true));
}

#[test]
fn comfort_noise_is_made_for_who_does_not_take_it() {
    let mut ends = [end(Codec::Pcma, ""), end(Codec::G722, "")];
    ends[0].noise = Some(13);
    let mut bed = Bed::new(ends).expect("nothing is needed");
    let (_, packets) = coded(&ends[0], Codec::G722, 20);
    bed.packet(Side::A, packets[0].0, &packets[0].1);
    let header = Header { payload_type: 13, ..packets[1].0 };
    bed.packet(Side::A, header, &noisy(45));
    bed.pass(1_000);
    let timestamp = packets[0].0.timestamp + 8_160 + 160;
    bed.packet(Side::A, Header { timestamp, sequence: 2, ..packets[2].0 }, &packets[2].1);
    let left = bed.take(Side::B);
    assert_eq!(left.len(), 53, "as many as there is time, and the sound");
    for (at, (header, _)) in (0_u32..).zip(&left) {
        assert_eq!((header.timestamp, header.marker), (at * 160, at == 0), "without a hole");
    }
    let (mut decoder, mut samples) = (codec::g722::Decoder::default(), Vec::new());
    left[5..50].iter().for_each(|it| decoder.decode(&it.1, &mut samples));
    assert!(noise::level(&samples).abs_diff(45) <= 2, "{}", noise::level(&samples));
}

#[test]
fn a_silence_that_is_not_described_any_more_ends() {
    let mut ends = [end(Codec::Pcma, ""), end(Codec::Pcmu, "")];
    ends[0].noise = Some(13);
    let mut bed = Bed::new(ends).expect("nothing is needed");
    bed.packet(Side::A, Header { payload_type: 13, ssrc: 1, ..Header::default() }, &noisy(50));
    bed.pass(70_000);
    let left = bed.take(Side::B);
    assert!((2_990..=3_001).contains(&left.len()), "{}", left.len());
    bed.pass(1_000);
    assert_eq!((bed.take(Side::B).len(), bed.transcoder.deadline()), (0, None));
}

#[test]
fn silence_is_described_to_who_takes_that_and_sound_begins_with_a_marker() {
    let mut ends = [end(Codec::Pcma, ""), end(Codec::Pcmu, "")];
    ends[1].noise = Some(13);
    ends[1].format.has_dtx = true;
    let mut bed = Bed::new(ends).expect("nothing is needed");
    let (_, packets) = coded(&ends[0], Codec::Pcmu, 20);
    let send = |bed: &mut Bed, at: u16, payload: &[u8]| {
        let header = Header { sequence: at, timestamp: u32::from(at) * 160, ..packets[0].0 };
        bed.packet(Side::A, header, payload);
        bed.pass(20);
    };
    for at in 0..10 {
        send(&mut bed, at, &packets[usize::from(at)].1);
    }
    for at in 10..110 {
        send(&mut bed, at, &[0xD5; 160]);
    }
    send(&mut bed, 110, &packets[10].1);
    let left = bed.take(Side::B);
    let described = left.iter().filter(|it| it.0.payload_type == 13).count();
    assert!((1..=3).contains(&described), "{described}");
    assert!(left.len() < 25, "10 of sound, 200 ms more, and little else: {}", left.len());
    let last = left.last().unwrap().0;
    assert_eq!((last.timestamp, last.marker, last.payload_type), (110 * 160, true, ends[1].send));
}

#[test]
fn silence_of_amr_is_made_up_for_who_has_none() {
    let mut ends = [end(Codec::Amr, "octet-align=1"), end(Codec::Pcmu, "")];
    ends[0].format.has_dtx = true;
    let Some(mut bed) = Bed::new(ends) else { return };
    let mut encoder =
        codec::Encoder::new(&ends[0].format, codec::Rate::Narrow, &crate::sound::library())
            .expect("it is there");
    let mut noise = noise::Generator::new(1);
    noise.describe(&ComfortNoise { level: 60, coefficients: &[] });
    let (mut sent, mut sequence) = (0, 0);
    for at in 0..100 {
        let (mut samples, mut payload) = (Vec::new(), Vec::new());
        noise.generate(160, &mut samples);
        if encoder.encode(&samples, &mut payload) != codec::Coded::Nothing {
            let header = Header {
                payload_type: ends[0].receive,
                sequence,
                timestamp: at * 160,
                ssrc: 1,
                marker: at == 0,
            };
            bed.packet(Side::A, header, &payload);
            sequence += 1;
            sent += 1;
        }
        bed.pass(20);
    }
    assert!(sent < 60, "{sent}: the sender is silent");
    let left = bed.take(Side::B).len();
    assert!((96..=101).contains(&left), "{left}");
}
