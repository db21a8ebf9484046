//! Telephone events: what is sent follows RFC 4733, and what comes is one digit for each that was
//! sent, whatever is lost on the way.

use crate::random::Random;
use machine::{Duration, Time};
use rtp::event::{Detected, Detector, Emission, Event, Generator, PATIENCE, code, key};

fn packets(digit: u8, start: u32, duration: u32, interval: u16) -> Vec<Emission> {
    let mut generator = Generator::new(digit, 10, start, interval);
    generator.end(duration);
    generator.take(10_000).collect()
}

#[test]
fn keys_have_the_events_of_rfc_4733() {
    assert_eq!("0123456789*#ABCD".chars().map(code).collect::<Vec<_>>(), {
        (0..16).map(Some).collect::<Vec<_>>()
    });
    assert_eq!((code('d'), code('x'), key(11), key(16)), (Some(15), None, Some('#'), None));
}

#[test]
fn an_event_is_read_as_it_was_written() {
    let event = Event { code: 11, is_end: true, volume: 10, duration: 1_760 };
    assert_eq!(event.octets(), [11, 0x8A, 0x06, 0xE0]);
    assert_eq!(Event::read_all(&event.octets()).unwrap().collect::<Vec<_>>(), [event]);
    for length in [0, 3, 5, 68] {
        assert!(Event::read_all(&vec![0; length]).is_err(), "{length}");
    }
}

#[test]
fn the_packets_of_a_digit_have_one_timestamp_a_marker_and_three_ends() {
    let sent = packets(5, 1_000, 640, 160);
    let durations: Vec<_> = sent.iter().map(|it| (it.event.duration, it.event.is_end)).collect();
    assert_eq!(
        durations,
        [(160, false), (320, false), (480, false), (640, true), (640, true), (640, true)]
    );
    assert!(sent.iter().all(|it| it.timestamp == 1_000));
    assert!(sent.iter().map(|it| it.marker).eq([true, false, false, false, false, false]));
    assert_eq!(packets(5, 0, 100, 160).len(), 3, "one that is over before its first packet");
}

#[test]
fn a_key_that_is_held_goes_on_in_segments() {
    let sent = packets(1, 0, 150_000, 800);
    let starts: Vec<u32> = {
        let mut starts: Vec<u32> = sent.iter().map(|it| it.timestamp).collect();
        starts.dedup();
        starts
    };
    assert_eq!(starts, [0, 65_535, 131_070]);
    assert_eq!(sent.iter().filter(|it| it.marker).count(), 1);
    assert_eq!(sent.iter().filter(|it| it.event.is_end).count(), 3);
    assert_eq!(sent.last().unwrap().event.duration, (150_000u32 - 131_070) as u16);
    assert_eq!(sent.iter().filter(|it| it.event.duration == u16::MAX).count(), 2);
    assert_eq!(detect(&sent, 100), [(1, 150_000)]);
}

#[test]
fn one_that_is_ended_late_ends_where_it_is() {
    let mut generator = Generator::new(9, 10, 0, 160);
    let sent: Vec<_> = generator.by_ref().take(5).collect();
    assert_eq!(sent[4].event.duration, 800);
    generator.end(300);
    let ends: Vec<_> = generator.collect();
    assert_eq!(ends.len(), 3);
    assert!(ends.iter().all(|it| it.event.duration == 800 && it.event.is_end));
}

/// The digits that are detected when these packets come one after the other.
fn detect(packets: &[Emission], interval_ms: u64) -> Vec<(u8, u32)> {
    let (mut detector, mut out) = (Detector::default(), Vec::new());
    let mut now = Time::from_millis(1);
    for packet in packets {
        now += Duration::from_millis(interval_ms);
        detector.tick(now, &mut out);
        detector.packet(now, packet.timestamp, &packet.event.octets(), &mut out).unwrap();
        assert!(detector.deadline().is_none_or(|at| at > now));
    }
    detector.tick(now + PATIENCE, &mut out);
    assert_eq!(detector.deadline(), None);
    digits(&out)
}

/// Each event that began has ended, before the next one began.
fn digits(out: &[Detected]) -> Vec<(u8, u32)> {
    assert_eq!(out.len() % 2, 0, "{out:?}");
    let pairs = out.chunks(2).map(|pair| match pair {
        [Detected::Began { code: began, .. }, Detected::Ended { code, duration }]
            if began == code =>
        {
            (*code, *duration)
        }
        _ => panic!("{out:?}"),
    });
    pairs.collect()
}

#[test]
fn each_packet_alone_is_the_digit() {
    for packet in packets(7, 5, 800, 160) {
        assert_eq!(detect(&[packet], 20), [(7, u32::from(packet.event.duration))]);
    }
}

#[test]
fn the_same_digit_twice_is_two_digits_and_what_comes_again_is_none() {
    let (one, two) = (packets(3, 0, 640, 160), packets(3, 1_600, 320, 160));
    let mut both = [&one[..], &two[..]].concat();
    assert_eq!(detect(&both, 20), [(3, 640), (3, 320)]);
    both.extend_from_slice(&one);
    both.extend_from_slice(&two);
    assert_eq!(detect(&both, 20), [(3, 640), (3, 320)]);
    // Without any end of the first one.
    let cut = [&one[..2], &two[..]].concat();
    assert_eq!(detect(&cut, 20), [(3, 320), (3, 320)]);
}

#[test]
fn events_in_one_packet_follow_each_other() {
    let mut payload = Event { code: 1, is_end: true, volume: 9, duration: 400 }.octets().to_vec();
    payload.extend(Event { code: 2, is_end: true, volume: 9, duration: 240 }.octets());
    let (mut detector, mut out) = (Detector::default(), Vec::new());
    for _ in 0..3 {
        detector.packet(Time::ZERO, 77, &payload, &mut out).unwrap();
    }
    assert_eq!(digits(&out), [(1, 400), (2, 240)]);
}

#[test]
fn by_seed_digits_come_out_once_and_in_order_whatever_is_lost_repeated_or_late() {
    for seed in 0..2_000 {
        let mut random = Random(seed);
        let mut start = random.next() as u32;
        let (mut sent, mut wanted) = (Vec::new(), Vec::new());
        for _ in 0..1 + random.below(6) {
            let digit = random.below(16) as u8;
            let duration = 1 + random.below(8_000) as u32;
            let all = packets(digit, start, duration, 160);
            let keep = random.below(all.len() as u64) as usize;
            let mut longest = 0;
            for (number, packet) in all.iter().enumerate() {
                // One of each comes, of the others three of four; some of them twice.
                if number == keep || random.below(4) > 0 {
                    longest = longest.max(u32::from(packet.event.duration));
                    (0..1 + random.below(5) / 4).for_each(|_| sent.push(*packet));
                }
            }
            wanted.push((digit, longest));
            // The next one follows a pause in which none of this comes any more.
            start = start.wrapping_add(duration + 400 + random.below(80_000) as u32);
        }
        // Some change places with their neighbour, within a digit.
        for at in 1..sent.len() {
            let is_late = random.below(8) == 0 && sent[at].timestamp == sent[at - 1].timestamp;
            if is_late && !sent[at].event.is_end {
                sent.swap(at, at - 1);
            }
        }
        assert_eq!(detect(&sent, 20), wanted, "seed {seed}");
    }
}
