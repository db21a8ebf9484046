//! Numbers: extended ones, windows, grants, and what goes on behind them.

use crate::{Ends, Keys, Random, algorithms, parameters};
use esp::{Dropped, Inbound, Notice, Outbound, Parameters, Usage};
use std::collections::BTreeSet;

fn number(packet: &[u8]) -> u32 {
    u32::from_be_bytes(packet[24..28].try_into().expect("four"))
}

#[test]
fn no_number_is_used_twice_whatever_happens_to_those_who_send() {
    for (seed, algorithm) in (0..).zip(algorithms()) {
        let mut random = Random(seed);
        let parameters = Parameters { block: 16, window: 1024, ..parameters(algorithm) };
        let keys = Keys::new(algorithm, &mut random);
        let (mut granted, mut seen) = (0, BTreeSet::new());
        let mut ends = Ends::new(&parameters, seed);
        ends.into = [Inbound::new(parameters.clone(), keys.material()).expect("it fits")];
        for _ in 0..20 {
            // The one before it is gone; what it granted itself was told.
            let usage = Usage::default();
            let out =
                Outbound::resume(parameters.clone(), keys.material(), [1; 16], granted, usage);
            ends.out = [out.expect("it fits")];
            assert_eq!(ends.send(&random.packet(false)), Err(Dropped::NotGranted));
            for _ in 0..random.below(60) {
                for notice in ends.notices() {
                    if let Notice::Wanted { up_to, .. } = notice
                        && random.below(4) > 0
                    {
                        granted = up_to;
                        ends.out[0].grant(up_to);
                    }
                }
                match ends.send(&random.packet(false)) {
                    Ok(sent) => {
                        assert!(seen.insert(number(&sent)), "twice");
                        assert!(u64::from(number(&sent)) <= granted);
                        ends.open(&sent).expect("it is new and near");
                    }
                    Err(why) => assert_eq!(why, Dropped::NotGranted),
                }
            }
        }
        assert!(seen.len() > 100);
    }
}

#[test]
fn who_takes_over_a_receiver_takes_no_packet_that_was_told_as_seen() {
    let algorithm = algorithms().next().expect("one");
    let parameters = Parameters { block: 32, ..parameters(algorithm) };
    let mut random = Random(5);
    let keys = Keys::new(algorithm, &mut random);
    let mut ends = Ends::new(&parameters, 1);
    let out = Outbound::resume(
        Parameters { block: 0, ..parameters.clone() },
        keys.material(),
        [1; 16],
        0,
        Usage::default(),
    );
    ends.out = [out.expect("it fits")];
    ends.into = [Inbound::new(parameters.clone(), keys.material()).expect("it fits")];
    let mut sent = Vec::new();
    let mut told = 0;
    for _ in 0..100 {
        let packet = ends.send(&random.packet(false)).expect("it passes");
        ends.open(&packet).expect("it passes");
        sent.push(packet);
        for notice in ends.notices() {
            let Notice::Edge { edge, .. } = notice else { continue };
            told = edge;
        }
    }
    assert_eq!((told, ends.into[0].edge()), (96, 100));
    let usage = ends.into[0].usage();
    for (beyond, replayed) in [(0, 4), (32, 0)] {
        let edge = told + beyond;
        let next = Inbound::resume(parameters.clone(), keys.material(), edge, usage);
        ends.into = [next.expect("it fits")];
        let passed = sent.iter().filter(|packet| ends.open(packet).is_ok()).count();
        assert_eq!(passed, replayed);
    }
    assert_eq!(usage.packets, 100);
    let fresh = (0..40).map(|_| ends.send(&random.packet(false)).expect("it passes"));
    let fresh: Vec<_> = fresh.collect();
    assert_eq!(fresh.iter().filter(|packet| ends.open(packet).is_ok()).count(), 12);
}

#[test]
fn who_follows_another_goes_on_behind_its_promise_and_takes_nothing_that_it_has_seen() {
    for (seed, algorithm) in (0..).zip(algorithms()) {
        let mut random = Random(seed);
        let parameters = Parameters { block: 8, ..parameters(algorithm) };
        let keys = Keys::new(algorithm, &mut random);
        let out = || {
            let mut out =
                Outbound::new(parameters.clone(), keys.material(), [1; 16]).expect("fits");
            out.grant(out.wanted());
            out
        };
        let into = || Inbound::new(parameters.clone(), keys.material()).expect("it fits");
        let mut ends = Ends::new(&parameters, seed);
        let mut other = (out(), into());
        (ends.out, ends.into) = ([out()], [into()]);
        let mut sent = Vec::new();
        for _ in 0..30 {
            let packet = ends.send(&random.packet(false)).expect("it was promised");
            ends.open(&packet).expect("it is new");
            sent.push(packet);
            // It is told, and granted at once.
            let (promised, left) = (ends.out[0].promised(), ends.out[0].usage());
            assert!(promised >= ends.out[0].used());
            other.0.follow(promised, left);
            other.1.follow(ends.into[0].edge(), ends.into[0].usage());
            ends.out[0].grant(promised);
            assert!(other.0.used() >= ends.out[0].used() && other.0.promised() > promised);
        }
        let promised = ends.out[0].promised();
        (ends.out, ends.into) = ([other.0], [other.1]);
        let next = ends.send(&random.packet(false)).expect("the next block is its own");
        assert_eq!(u64::from(number(&next)), promised + 1);
        assert!(sent.iter().all(|packet| ends.open(packet).is_err()), "all were seen");
        assert!(ends.open(&next).is_ok());
        assert_eq!(ends.out[0].usage().packets, 31);
    }
}

#[test]
fn numbers_end_and_never_begin_again() {
    for algorithm in algorithms() {
        let mut random = Random(2);
        let keys = Keys::new(algorithm, &mut random);
        for (extended, last) in [(false, u64::from(u32::MAX)), (true, u64::MAX - 1)] {
            let parameters = Parameters { extended, sole_key: true, ..parameters(algorithm) };
            let usage = Usage::default();
            let from = last - 3;
            let out = Outbound::resume(parameters.clone(), keys.material(), [1; 16], from, usage);
            let into = Inbound::resume(parameters.clone(), keys.material(), from, usage);
            let mut ends = Ends::new(&parameters, 1);
            (ends.out, ends.into) = ([out.expect("it fits")], [into.expect("it fits")]);
            for _ in 0..3 {
                let packet = random.packet(false);
                let sent = ends.send(&packet).expect("it passes");
                assert_eq!(ends.open(&sent), Ok(Some(packet)), "{algorithm:?} {extended}");
            }
            assert_eq!(ends.send(&random.packet(false)), Err(Dropped::Exhausted));
            assert_eq!(ends.send(&random.packet(false)), Err(Dropped::Exhausted));
        }
    }
}

#[test]
fn the_upper_half_is_not_sent_and_counts_in_the_code() {
    for algorithm in algorithms() {
        let mut random = Random(3);
        let keys = Keys::new(algorithm, &mut random);
        let parameters =
            Parameters { extended: true, sole_key: true, window: 256, ..parameters(algorithm) };
        let from = (7 << 32) - 20;
        let usage = Usage::default();
        let out = Outbound::resume(parameters.clone(), keys.material(), [1; 16], from, usage);
        let into = Inbound::resume(parameters.clone(), keys.material(), from, usage);
        let mut ends = Ends::new(&parameters, 1);
        (ends.out, ends.into) = ([out.expect("it fits")], [into.expect("it fits")]);
        let mut sent: Vec<_> = (0..40)
            .map(|_| {
                let packet = random.packet(false);
                (ends.send(&packet).expect("it passes"), packet)
            })
            .collect();
        assert_eq!(number(&sent[39].0), 20, "the lower half begins again");
        // In any order, over the place where the half begins again.
        for left in (1..=sent.len()).rev() {
            let (packet, plain) = sent.swap_remove(random.below(left as u64) as usize);
            assert_eq!(ends.open(&packet), Ok(Some(plain)), "{algorithm:?}");
            assert_eq!(ends.open(&packet), Err(Dropped::Replayed));
        }
        // Who is in another half finds another code.
        let packet = ends.send(&random.packet(false)).expect("it passes");
        let into = Inbound::resume(parameters, keys.material(), 9 << 32, usage);
        ends.into = [into.expect("it fits")];
        assert_eq!(ends.open(&packet), Err(Dropped::Forged));
    }
}

#[test]
fn packets_in_any_order_pass_once_within_the_window() {
    let algorithm = algorithms().nth(8).expect("it is there");
    for (seed, window) in [64, 128, 1024].into_iter().enumerate() {
        let mut random = Random(seed as u64);
        let mut ends = Ends::new(&Parameters { window, ..parameters(algorithm) }, 1);
        let mut way = Vec::new();
        let (mut seen, mut highest) = (BTreeSet::new(), 0);
        for _ in 0..4_000 {
            let sent = ends.send(&random.packet_of(false, 4)).expect("it passes");
            way.extend(vec![sent; random.below(3) as usize]);
            while way.len() > 2 * usize::from(window) {
                let packet = way.swap_remove(random.below(way.len() as u64) as usize);
                let number = u64::from(number(&packet));
                let verdict = ends.open(&packet).map(|_| ());
                let expected = match () {
                    () if number + u64::from(window) <= highest => Err(Dropped::Old),
                    () if seen.contains(&number) => Err(Dropped::Replayed),
                    () => Ok(()),
                };
                assert_eq!(verdict, expected);
                if verdict.is_ok() {
                    seen.insert(number);
                    highest = highest.max(number);
                }
            }
        }
        assert!(seen.len() > 500);
    }
    // Without a window each passes as often as it comes.
    let mut ends = Ends::new(&Parameters { window: 0, ..parameters(algorithm) }, 1);
    let sent = ends.send(&Random(1).packet(false)).expect("it passes");
    assert!(ends.open(&sent).is_ok() && ends.open(&sent).is_ok());
}

#[test]
fn associations_with_one_key_never_share_an_iv() {
    for algorithm in algorithms().filter(|it| it.iv() > 0) {
        let mut random = Random(6);
        let keys = Keys::new(algorithm, &mut random);
        let mut ivs = BTreeSet::new();
        for spi in [0x0102_0304, 0x0102_0305, 0x7102_0304, 0xffff_ffff] {
            let parameters = Parameters { spi: esp::Spi(spi), ..parameters(algorithm) };
            let mut ends = Ends::new(&parameters, 1);
            let out = Outbound::new(parameters, keys.material(), [9; 16]).expect("it fits");
            ends.out = [out];
            for _ in 0..300 {
                let sent = ends.send(&random.packet_of(false, 9)).expect("it passes");
                let iv = sent[28..28 + algorithm.iv()].to_vec();
                assert!(ivs.insert(iv), "{algorithm:?}");
            }
        }
    }
}

#[test]
fn a_cipher_with_blocks_of_64_bits_ends_before_two_of_them_are_the_same() {
    // Four associations of a phone may have one key.
    let most = |sole_key| esp::BLOCKS_OF_64_MAX / if sole_key { 1 } else { 4 };
    for (algorithm, sole_key) in algorithms().flat_map(|it| [(it, false), (it, true)]) {
        let mut random = Random(2);
        let keys = Keys::new(algorithm, &mut random);
        let is_short = matches!(algorithm.encryption(), esp::Encryption::TripleDesCbc);
        let usage = Usage { packets: 1, octets: most(sole_key) - 1 };
        let parameters = Parameters { sole_key, ..parameters(algorithm) };
        let out = Outbound::resume(parameters.clone(), keys.material(), [1; 16], 9, usage);
        let into = Inbound::resume(parameters.clone(), keys.material(), 9, usage);
        let mut ends = Ends::new(&parameters, 1);
        (ends.out, ends.into) = ([out.expect("it fits")], [into.expect("it fits")]);
        let sent = ends.send(&random.packet(false)).expect("one more");
        assert!(ends.open(&sent).is_ok());
        let hard = esp::Notice::Hard { association: 0 };
        assert_eq!(ends.notices().contains(&hard), is_short, "{algorithm:?}");
        let next = ends.send(&random.packet(false));
        assert_eq!(next.err(), is_short.then_some(Dropped::Expired), "{algorithm:?}");
    }
}

#[test]
fn an_edge_beyond_all_numbers_that_was_told_is_the_last_one() {
    for (extended, last) in [(false, u64::from(u32::MAX)), (true, u64::MAX - 1)] {
        let algorithm = algorithms().next().expect("there is one");
        let keys = Keys::new(algorithm, &mut Random(3));
        let parameters = Parameters { extended, sole_key: true, ..parameters(algorithm) };
        let mut into = Inbound::new(parameters, keys.material()).expect("it fits");
        into.follow(u64::MAX, Usage::default());
        assert_eq!(into.edge(), last);
    }
}
