//! What a receiver counts is what one finds who keeps every packet and looks at the whole.

use crate::random::Random;
use rtp::rtcp::ReportBlock;
use rtp::{Arrival, Bursts, ClockRate, GMIN, NtpMiddle, Reception};
use std::collections::BTreeSet;
use std::time::Duration;

/// A receiver that forgets nothing: the packets of each stretch of numbers, by extended number.
struct Slow {
    stretches: Vec<BTreeSet<i64>>,
    bad: Option<u16>,
    duplicates: u32,
    reordered: u32,
    late: u32,
    jitter: i64,
    transit: Option<i64>,
}

impl Slow {
    fn new(sequence: u16, transit: i64) -> Self {
        let stretches = vec![BTreeSet::from([i64::from(sequence)])];
        let transit = Some(transit);
        Self { stretches, bad: None, duplicates: 0, reordered: 0, late: 0, jitter: 0, transit }
    }

    fn packet(&mut self, sequence: u16, transit: i64) -> Arrival {
        let stretch = self.stretches.last_mut().unwrap();
        let highest = *stretch.last().unwrap();
        // The extended number that is nearest to the highest one, as RFC 3550 A.1 sees it.
        let ahead = (i64::from(sequence) - highest).rem_euclid(65_536);
        let came = match ahead {
            1 => Arrival::Next,
            2..3_000 => Arrival::Ahead(ahead as u16 - 1),
            _ => match 65_536 - ahead {
                65_536 => Arrival::Duplicate,
                back @ 0..64 if stretch.contains(&(highest - back)) => Arrival::Duplicate,
                0..64 => Arrival::Reordered,
                64..=100 => Arrival::Late,
                _ if self.bad == Some(sequence) => Arrival::Restarted,
                _ => Arrival::Astray,
            },
        };
        match came {
            Arrival::Next | Arrival::Ahead(_) => _ = stretch.insert(highest + ahead),
            Arrival::Reordered => {
                self.reordered += 1;
                stretch.insert(highest + ahead - 65_536);
            }
            Arrival::Duplicate => self.duplicates += 1,
            Arrival::Late => self.late += 1,
            Arrival::Astray => self.bad = Some(sequence.wrapping_add(1)),
            Arrival::Restarted => {
                (self.bad, self.transit) = (None, None);
                self.stretches.push(BTreeSet::from([i64::from(sequence)]));
            }
        }
        let is_timed = !matches!(came, Arrival::Duplicate | Arrival::Late | Arrival::Astray);
        if let Some(before) = is_timed.then(|| self.transit.replace(transit)).flatten() {
            // RFC 3550 A.8, with sixteen times the jitter.
            self.jitter += (transit - before).abs() - ((self.jitter + 8) >> 4);
        }
        came
    }

    /// Whether each packet that was sent came.
    fn sent(&self) -> Vec<bool> {
        let stretches = self.stretches.iter().flat_map(|it| {
            let (first, last) = (*it.first().unwrap(), *it.last().unwrap());
            (first..=last).map(|number| it.contains(&number))
        });
        stretches.collect()
    }

    fn bursts(&self) -> Bursts {
        let sent = self.sent();
        let losses: Vec<usize> = (0..sent.len()).filter(|&at| !sent[at]).collect();
        let mut clusters: Vec<Vec<usize>> = Vec::new();
        for loss in losses.iter().copied() {
            match clusters.last_mut() {
                Some(it) if loss - it.last().unwrap() <= usize::from(GMIN) => it.push(loss),
                _ => clusters.push(vec![loss]),
            }
        }
        clusters.retain(|it| it.len() > 1);
        let packets: usize = clusters.iter().map(|it| it.last().unwrap() - it[0] + 1).sum();
        let lost: usize = clusters.iter().map(Vec::len).sum();
        let ends = clusters.last().is_some_and(|it| *it.last().unwrap() + 1 == sent.len());
        let runs = losses.iter().filter(|&&at| at == 0 || sent[at - 1]).count();
        Bursts {
            bursts: clusters.len() as u32,
            gaps: clusters.len() as u32 + u32::from(!ends),
            burst_packets: packets as u32,
            burst_losses: lost as u32,
            gap_packets: (sent.len() - packets) as u32,
            gap_losses: (losses.len() - lost) as u32,
            loss_runs: runs as u32,
        }
    }
}

/// The next number that comes, on a network that loses, repeats, delays, and a sender that begins
/// anew.
fn next(random: &mut Random, sent: &mut u16, losses: u64) -> u16 {
    match random.below(1_000) {
        0..40 => sent.wrapping_sub(random.below(20) as u16),
        40..45 => sent.wrapping_sub(random.below(120) as u16),
        45..47 => random.next() as u16,
        47 => {
            *sent = random.next() as u16;
            *sent
        }
        48..50 => {
            *sent = sent.wrapping_add(random.below(3_000) as u16);
            *sent
        }
        50..60 => {
            *sent = sent.wrapping_add(1 + random.below(losses) as u16);
            *sent
        }
        _ => {
            *sent = sent.wrapping_add(1 + u16::from(random.below(100) < losses / 8));
            *sent
        }
    }
}

#[test]
fn by_seed_everything_is_counted_as_by_one_that_forgets_nothing() {
    for seed in 0..300 {
        let mut random = Random(seed);
        let losses = 1 + random.below(150);
        let mut sent = random.next() as u16;
        let mut arrival = random.next() as u32;
        let start = sent;
        let mut fast = Reception::new(7, start, 0, arrival);
        let mut slow = Slow::new(start, 0);
        let origin = arrival;
        for _ in 0..random.below(4_000) {
            let sequence = next(&mut random, &mut sent, losses);
            let timestamp = u32::from(sequence.wrapping_sub(start)) * 160;
            arrival = arrival.wrapping_add(random.below(320) as u32);
            let transit = i64::from(arrival.wrapping_sub(origin)) - i64::from(timestamp);
            let came = fast.packet(sequence, timestamp, arrival);
            assert_eq!(came, slow.packet(sequence, transit), "seed {seed}");
        }
        let figures = fast.figures();
        let all = slow.sent();
        let received = all.iter().filter(|it| **it).count() as u32;
        assert_eq!(figures.expected, all.len() as u32, "seed {seed}");
        assert_eq!(figures.received, received, "seed {seed}");
        assert_eq!(figures.lost, figures.expected - received);
        let counts = (figures.duplicates, figures.reordered, figures.late);
        assert_eq!(counts, (slow.duplicates, slow.reordered, slow.late), "seed {seed}");
        assert_eq!(i64::from(figures.jitter), slow.jitter >> 4, "seed {seed}");
        assert_eq!(figures.bursts, slow.bursts(), "seed {seed}");
        let report = fast.report(NtpMiddle(0));
        let came = received + slow.duplicates + slow.late;
        assert_eq!(report.cumulative_lost, figures.expected as i32 - came as i32);
        assert_eq!(report.highest as u16, {
            let stretch = slow.stretches.last().unwrap();
            *stretch.last().unwrap() as u16
        });
    }
}

#[test]
fn numbers_that_begin_anew_are_extended() {
    let mut it = Reception::new(1, 65_534, 0, 0);
    for n in 1..70_000u32 {
        let came = it.sequence(65_534u16.wrapping_add(n as u16));
        assert_eq!(came, Arrival::Next);
    }
    assert_eq!(it.expected(), 70_000);
    assert_eq!(it.report(NtpMiddle(0)).highest, 65_534 + 69_999);
    assert_eq!(it.figures().lost, 0);
}

#[test]
fn the_fraction_lost_is_that_of_the_interval() {
    let mut it = Reception::new(1, 0, 0, 0);
    (1..100).for_each(|n| _ = it.sequence(n));
    assert_eq!(it.report(NtpMiddle(0)).fraction_lost, 0);
    // A quarter of the next hundred is lost.
    (100..200).filter(|n| n % 4 != 0).for_each(|n| _ = it.sequence(n));
    let block = it.report(NtpMiddle(0));
    assert_eq!((block.fraction_lost, block.cumulative_lost), (64, 25));
    let block = it.report(NtpMiddle(0));
    assert_eq!((block.fraction_lost, block.cumulative_lost), (0, 25), "nothing came since");
    (0..30).for_each(|_| _ = it.sequence(199));
    let block = it.report(NtpMiddle(0));
    assert_eq!((block.fraction_lost, block.cumulative_lost), (0, -5), "more came than was sent");
}

#[test]
fn jitter_is_that_of_rfc_3550_a_8() {
    let mut it = Reception::new(1, 0, 0, 0);
    let mut by_formula = 0.0f64;
    let mut transit = 0.0f64;
    for n in 1..2_000u32 {
        let late = (n % 5) * 40;
        it.packet(n as u16, n * 160, n * 160 + late);
        let change = (f64::from(late) - transit).abs();
        transit = f64::from(late);
        by_formula += (change - by_formula) / 16.0;
    }
    assert!((f64::from(it.figures().jitter) - by_formula).abs() < 2.0, "{by_formula}");
}

#[test]
fn a_clock_that_is_set_and_one_of_another_rate_are_no_jitter() {
    let mut it = Reception::new(1, 0, 0, 0);
    it.packet(1, 160, 165);
    let before = it.figures().jitter;
    it.packet(2, 2_000_000_000, 320);
    assert_eq!(it.figures().jitter, before);
    let mut it = Reception::new(1, 0, 0, 0);
    (1..200)
        .for_each(|n| _ = it.packet(n, u32::from(n) * 160, u32::from(n) * 160 + n as u32 % 2 * 80));
    let before = it.figures().jitter;
    it.clock_changed(ClockRate::TELEPHONY, ClockRate::new(16_000).unwrap());
    it.packet(200, 5, 1_000_000);
    assert_eq!(it.figures().jitter / 2, before);
}

#[test]
fn a_packet_from_before_the_first_belongs_to_the_stream() {
    let mut it = Reception::new(1, 10, 0, 0);
    assert_eq!(it.sequence(8), Arrival::Reordered);
    assert_eq!((it.expected(), it.figures().lost), (3, 1));
    assert_eq!(it.sequence(9), Arrival::Reordered);
    assert_eq!((it.expected(), it.figures().lost), (3, 0));
}

#[test]
fn reports_tell_when_the_senders_came_and_give_the_round_trip() {
    let mut it = Reception::new(7, 10, 0, 0);
    let block = it.report(NtpMiddle(500));
    assert_eq!((block.last_sr, block.delay_since_last_sr), (0, 0));
    it.sender_report(NtpMiddle(0xB705_2000), NtpMiddle(1_000));
    let block = it.report(NtpMiddle(1_000 + 65_536));
    assert_eq!((block.last_sr, block.delay_since_last_sr), (0xB705_2000, 65_536));
    // The receiver behind us answers two seconds later, one of which it waited.
    let about = ReportBlock { delay_since_last_sr: 65_536, ..block };
    let now = NtpMiddle(1_000 + 2 * 65_536);
    assert_eq!(it.reported(&about, now), Some(Duration::from_secs(1)));
    assert_eq!(it.figures().round_trip, Some(Duration::from_secs(1)));
    assert_eq!(it.reported(&ReportBlock { ssrc: 8, ..about }, now), None);
    assert_eq!(it.reported(&ReportBlock { last_sr: 5, ..about }, now), None);
    let late = ReportBlock { delay_since_last_sr: 3 * 65_536, ..about };
    assert_eq!(it.reported(&late, now), None, "it waited longer than it is ago");
    assert_eq!(it.figures().round_trip, Some(Duration::from_secs(1)));
}

#[test]
fn a_stream_direction_has_96_octets() {
    assert!(size_of::<Reception>() <= 96, "{}", size_of::<Reception>());
}
