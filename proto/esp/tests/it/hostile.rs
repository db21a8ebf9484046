//! Nothing that comes panics, opens what was not sent, or changes a state that it has no right to.

use crate::{Ends, Random, algorithms, parameters};
use esp::{Dropped, Mode, Packet, Parameters, Passed, Report, Tunnel, Udp, arrival, unprotect};

#[test]
fn every_bit_that_is_changed_is_seen_and_changes_nothing() {
    for algorithm in algorithms() {
        for extended in [false, true] {
            let mut ends =
                Ends::new(&Parameters { extended, sole_key: true, ..parameters(algorithm) }, 1);
            let packet = Random(1).packet_of(false, 30);
            let sent = ends.send(&packet).expect("it passes");
            for bit in 20 * 8..sent.len() * 8 {
                let mut forged = sent.clone();
                forged[bit / 8] ^= 1 << (bit % 8);
                let expected = match bit / 8 {
                    20..24 => Dropped::OtherSpi,
                    // A number that is before all others in the half before.
                    24..28 if ends.open(&forged) == Err(Dropped::Old) => Dropped::Old,
                    24..28 if ends.open(&forged) == Err(Dropped::Replayed) => Dropped::Replayed,
                    _ => Dropped::Forged,
                };
                assert_eq!(ends.open(&forged), Err(expected), "{algorithm:?} bit {bit}");
            }
            assert_eq!((ends.into[0].edge(), ends.into[0].usage().packets), (0, 0));
            assert_eq!(ends.open(&sent), Ok(Some(packet)));
        }
    }
}

#[test]
fn nothing_that_comes_panics() {
    let [a, b] = ["198.51.100.1", "198.51.100.2"].map(|it| it.parse().expect("an address"));
    for (seed, algorithm) in (0..).zip(algorithms()) {
        let mut random = Random(seed);
        let udp = Some(Udp { local: 4500, remote: 4500 });
        let tunnel = Mode::Tunnel(Tunnel::between(a, b));
        for parameters in [
            parameters(algorithm),
            Parameters { udp, ..parameters(algorithm) },
            Parameters {
                mode: tunnel.clone(),
                extended: true,
                sole_key: true,
                ..parameters(algorithm)
            },
            Parameters { mode: tunnel, udp, window: 0, ..parameters(algorithm) },
        ] {
            let mut ends = Ends::new(&parameters, seed);
            let mut passed = 0;
            for _ in 0..2_000 {
                let is_v6 = random.below(2) == 1;
                let plain = random.packet(is_v6);
                let mut packet = ends.send(&plain).expect("it passes");
                for _ in 0..random.below(3) {
                    let at = random.below(packet.len().min(70) as u64) as usize;
                    packet[at] = random.next().to_be_bytes()[0];
                }
                if random.below(3) == 0 {
                    packet.truncate(random.below(packet.len() as u64 + 1) as usize);
                }
                let _ = arrival(&packet);
                passed += usize::from(ends.open(&packet).is_ok());
                let _ = ends.send(&packet);
            }
            assert!(passed > 300, "{passed}");
        }
    }
}

/// What a sender with the right key may put inside: padding and next header that are none.
#[test]
fn what_is_wrong_inside_is_dropped_with_its_reason() {
    let algorithm = algorithms().next().expect("null, so that it can be written by hand");
    let [a, b] = ["198.51.100.1", "198.51.100.2"].map(|it| it.parse().expect("an address"));
    let tunnel =
        |a, b| Parameters { mode: Mode::Tunnel(Tunnel::between(a, b)), ..parameters(algorithm) };
    let inner = Random(1).packet_of(false, 21);
    for (payload, is_tunnel, expected) in [
        (&[1, 2, 2, 17][..], false, Ok(Some(0))),
        (&[9, 2, 2, 17], false, Err(Dropped::Padding)),
        (&[1, 1, 2, 17], false, Err(Dropped::Padding)),
        (&[0, 0, 3, 17], false, Err(Dropped::Padding)),
        (&[0, 0, 255, 17], false, Err(Dropped::Padding)),
        (&[1, 2, 2, 59], false, Ok(None)),
        (&[1, 2, 2, 4], true, Err(Dropped::NextHeader)),
        (&[1, 2, 2, 17], true, Err(Dropped::NextHeader)),
        (&[1, 2, 2, 59], true, Ok(None)),
        (&[&inner[..], &[1, 1, 41]].concat(), true, Err(Dropped::NextHeader)),
        (&[&inner[..], &[1, 1, 4]].concat(), true, Ok(Some(inner.len()))),
    ] {
        let receiver = if is_tunnel { tunnel(b, a) } else { parameters(algorithm) };
        let mut ends = Ends::of([parameters(algorithm), receiver], 1);
        // As the packet of an association whose trailer is the payload's end: the code is made by
        // one that sends it as it is.
        let mut sent = ends.send(&crate::ip(a, b, 253, payload)).expect("it passes");
        let end = 28 + payload.len();
        let own = sent.len() - end - 12;
        sent.drain(end..end + own);
        let length = u16::try_from(sent.len()).expect("short").to_be_bytes();
        sent[2..4].copy_from_slice(&length);
        let code = hmac_sha1(&Keyed::of(algorithm), &sent[20..end]);
        sent[end..].copy_from_slice(&code[..12]);
        let opened =
            ends.open(&sent).map(|it| it.map(|it| it.len() - if is_tunnel { 0 } else { 20 }));
        assert_eq!(opened, expected, "{payload:?}");
        assert_eq!(ends.into[0].edge(), 1, "its number is seen");
    }
}

struct Keyed(Vec<u8>);

impl Keyed {
    fn of(algorithm: esp::Algorithm) -> Self {
        Self(crate::Keys::new(algorithm, &mut Random(1)).integrity)
    }
}

fn hmac_sha1(key: &Keyed, text: &[u8]) -> Vec<u8> {
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &key.0);
    aws_lc_rs::hmac::sign(&key, text).as_ref().to_vec()
}

#[test]
fn a_batch_with_two_copies_passes_one_of_them() {
    for algorithm in algorithms() {
        let mut ends = Ends::new(&parameters(algorithm), 1);
        let packet = ends.send(&Random(1).packet(false)).expect("it passes");
        let mut buffer = packet.repeat(3);
        let mut packets: Vec<_> = (0..3)
            .map(|at| {
                let begin = at * packet.len();
                Packet::new(0, begin..begin + packet.len(), begin, packet.len())
            })
            .collect();
        let mut report = Report::default();
        unprotect(&mut ends.into[..], &mut buffer, &mut packets, &mut report);
        let verdicts: Vec<_> = packets.iter().map(|it| it.verdict).collect();
        let replayed = Err(Dropped::Replayed);
        assert_eq!(verdicts, [Ok(Passed::Data), replayed, replayed]);
        assert_eq!(report.counters.dropped(Dropped::Replayed), 2);
    }
}
