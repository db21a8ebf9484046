//! Payloads that nobody would send, by seed.

use crate::sound::{Bed, coded, end};
use codec::{Codec, Digits, Events, Side};
use rtp::Header;

/// A generator that is the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as u32
    }

    fn below(&mut self, most: u32) -> u32 {
        self.next() % most
    }
}

const CODECS: [Codec; 6] =
    [Codec::Pcmu, Codec::Pcma, Codec::G722, Codec::Opus, Codec::Amr, Codec::AmrWb];

#[test]
fn whatever_is_sent_no_more_comes_out_than_went_in() {
    for seed in 0..100 {
        let mut random = Random(seed);
        let mut pick = |parameters| {
            let codec = CODECS[random.below(6) as usize];
            let mut end = end(codec, parameters);
            end.events = Some(Events { receive: 101, send: 101, clock_hz: 8_000 });
            end.noise = (random.below(2) == 0).then_some(13);
            end.digits = *Digits::ALL.get(random.below(4) as usize).unwrap();
            end.packet_ms = random.below(80) as u16;
            if random.below(4) == 0 {
                end.playout = codec::intake::Playout::Even { most_ms: 100 };
            }
            end
        };
        let ends = [pick(""), pick("octet-align=1")];
        let Some(mut bed) = Bed::new(ends) else { continue };
        let (_, good) = coded(&ends[0], ends[1].format.codec, 20);
        let (mut sent_ms, mut header) = (0_u64, good[0].0);
        for _ in 0..300 {
            header.sequence = header.sequence.wrapping_add(match random.below(20) {
                0 => random.next() as u16,
                1 => 2,
                2 => u16::MAX,
                _ => 1,
            });
            header.timestamp = header.timestamp.wrapping_add(match random.below(20) {
                0 => random.next(),
                _ => ends[0].format.codec.clock() / 50,
            });
            header.payload_type = match random.below(10) {
                0 => 101,
                1 => 13,
                2 => random.below(128) as u8,
                _ => ends[0].receive,
            };
            header.ssrc = if random.below(50) == 0 { random.next() } else { header.ssrc };
            let payload = match random.below(3) {
                0 => {
                    let length = random.below(1_600);
                    (0..length).map(|_| random.next() as u8).collect()
                }
                1 => {
                    let mut payload = good[random.below(good.len() as u32) as usize].1.clone();
                    let at = random.below(payload.len() as u32) as usize;
                    payload[at] = random.next() as u8;
                    payload
                }
                _ => good[random.below(good.len() as u32) as usize].1.clone(),
            };
            bed.packet(Side::A, Header { ..header }, &payload);
            let pass = random.below(40).into();
            bed.pass(pass);
            // What one packet may hold, and what is made in the place of others.
            sent_ms += 200 + 240 + pass;
        }
        let left = bed.take(Side::B);
        assert!(left.len() as u64 <= sent_ms / 10, "seed {seed}: {}", left.len());
        for (at, it) in (0_u16..).zip(&left) {
            assert_eq!(it.0.sequence, at, "seed {seed}");
            assert!(it.1.len() <= 1_500);
        }
    }
}

#[test]
fn packets_that_are_none_are_counted_and_nothing_comes_of_them() {
    let ends = [end(Codec::Pcma, ""), end(Codec::Pcmu, "")];
    let mut bed = Bed::new(ends).expect("nothing is needed");
    let now = bed.now;
    for octets in [&[][..], &[0x80; 5], &[0x00; 40], &[0xBF; 13]] {
        bed.transcoder.packet(now, crate::sound::STREAM, Side::A, octets, &mut bed.out);
    }
    let header = Header { payload_type: ends[0].receive, ssrc: 1, ..Header::default() };
    bed.packet(Side::A, header, &[]);
    bed.packet(Side::A, header, &[0xD5; 1_501]);
    bed.packet(Side::A, header, &[0xD5; 1_000]);
    bed.packet(Side::A, Header { payload_type: 0, sequence: 1, ..header }, &[0xD5; 160]);
    let counts = bed.transcoder.counts();
    assert_eq!((counts.malformed, counts.foreign, counts.sent), (7, 1, 0));
    assert!(bed.take(Side::B).is_empty());
}

/// Sends 800 packets a second for five seconds, each with a timestamp that `step` ticks lie before;
/// how many packets leave, and how many were beyond the budget.
fn flooded(ends: [codec::End; 2], step: u32, payload: &[u8]) -> Option<(usize, u64)> {
    let mut bed = Bed::new(ends)?;
    let mut left = 0;
    for number in 0..4_000_u32 {
        let header = Header {
            payload_type: ends[0].receive,
            sequence: (number & 0xFFFF) as u16,
            timestamp: number.wrapping_mul(step),
            ssrc: 1,
            marker: false,
        };
        bed.packet(Side::A, header, payload);
        bed.pass(u64::from(number % 4 != 0) + u64::from(number % 2));
        left += bed.take(Side::B).len();
    }
    Some((left, bed.transcoder.counts().over))
}

#[test]
fn no_more_is_coded_than_time_passes_however_much_a_payload_says_that_it_holds() {
    // A table of contents of twelve frames without data: 240 ms in 13 octets.
    let mut nothing = [0xFC; 13];
    (nothing[0], nothing[12]) = (0xF0, 0x7C);
    // Six frames of 20 ms that have no octet (code 3, RFC 6716 §3.2.5): 120 ms in 2 octets.
    let empty = [0xFB, 6];
    let aligned = "octet-align=1";
    let cases: [(Codec, &str, &[u8]); 4] = [
        (Codec::Amr, aligned, &nothing),
        (Codec::AmrWb, aligned, &nothing),
        (Codec::Opus, "", &empty),
        (Codec::Pcma, "", &[0xD5; 960]),
    ];
    for (codec, parameters, payload) in cases {
        let ends = [end(codec, parameters), end(Codec::Pcmu, "")];
        // On time, standing still, behind by little, and in steps that look like pauses.
        for step in [codec.clock() / 800, 0, codec.clock() / 50, codec.clock() / 4] {
            let Some((left, over)) = flooded(ends, step, payload) else { continue };
            // Five seconds, half a second at once, and what a fast clock is let.
            assert!(left <= 290, "{codec:?} {step}: {left}");
            assert!(over >= 3_900 - 290, "{codec:?} {step}: {over}");
        }
    }
}

#[test]
fn what_stands_in_the_place_of_little_sound_is_within_the_same_budget() {
    let mut ends = [end(Codec::Pcma, ""), end(Codec::Pcmu, "")];
    ends[1].packet_ms = 60;
    // An octet and a pause, again and again: each ends a packet of 60 ms in silence.
    let (left, _) = flooded(ends, 8_000, &[0xD5]).expect("nothing is needed");
    assert!(left <= 290 / 3, "{left}");
}
