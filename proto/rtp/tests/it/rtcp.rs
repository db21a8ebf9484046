//! RTCP: what is written is read as it was; what cannot be read is told; no octets make it panic.

use crate::every;
use crate::random::Random;
use proptest::prelude::*;
use rtp::rtcp::xr::{self, Block, BlockType, Interval, write_run_lengths};
use rtp::rtcp::{
    BLOCKS_MAX, Compound, Feedback, Form, Item, ItemType, Packet, PacketType, PayloadFormat, Remb,
    ReportBlock, SenderInfo, TransportFormat, rewrite_sources, write_description, write_missing,
    write_picture_request, write_report,
};
use rtp::{Ntp, Words};

/// Reads all packets and all that is in them.
fn walk(datagram: &[u8], form: Form) -> Result<usize, rtp::Malformed> {
    let mut count = 0;
    for raw in Compound::read(datagram, form)? {
        count += 1;
        match Packet::read(&raw)? {
            Packet::Report(it) => assert_eq!(it.blocks.count(), usize::from(raw.count)),
            Packet::SourceDescription(it) => {
                assert_eq!(it.inspect(|it| _ = it.items.count()).count(), raw.count.into());
            }
            Packet::Goodbye(it) => assert_eq!(it.sources.count(), usize::from(raw.count)),
            Packet::TransportFeedback(it) => it.missing().for_each(drop),
            Packet::PayloadFeedback(it) => {
                it.picture_requests().for_each(drop);
                it.bitrate()?.map(|it| it.streams.count());
            }
            Packet::ExtendedReport(it) => {
                for raw in it.blocks {
                    match Block::read(&raw)? {
                        Block::LossRle(it) | Block::DuplicateRle(it) => {
                            let length = usize::from(it.end.wrapping_sub(it.begin));
                            assert!(it.packets().count() <= length);
                        }
                        Block::ReceiptTimes(it) => it.times.for_each(drop),
                        Block::Dlrr(it) => it.for_each(drop),
                        _ => {}
                    }
                }
            }
            Packet::Application(_) | Packet::Unknown(_) => {}
        }
    }
    Ok(count)
}

#[test]
fn every_packet_is_read_as_it_was_written() {
    let datagram = every::compound();
    let mut seen: Vec<u8> =
        Compound::read(&datagram, Form::Compound).unwrap().map(|it| it.number).collect();
    assert_eq!(walk(&datagram, Form::Compound), Ok(seen.len()));
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.iter().copied().eq(PacketType::ALL.iter().map(|it| it.number())));
    let packets: Vec<_> = Compound::read(&datagram, Form::Compound).unwrap().collect();
    for (raw, check) in packets.iter().zip(every::checks()) {
        check(&Packet::read(raw).unwrap());
    }
}

#[test]
fn a_report_of_more_blocks_than_fit_is_followed_by_others() {
    let blocks: Vec<_> = (0..70).map(|ssrc| ReportBlock { ssrc, ..every::BLOCK }).collect();
    let mut out = Vec::new();
    write_report(5, Some(&SenderInfo::default()), &blocks, &mut out);
    let mut all = Vec::new();
    let mut kinds = Vec::new();
    for raw in Compound::read(&out, Form::Compound).unwrap() {
        kinds.push((raw.number, usize::from(raw.count)));
        let Packet::Report(report) = Packet::read(&raw).unwrap() else { panic!() };
        assert_eq!(report.ssrc, 5);
        all.extend(report.blocks);
    }
    assert_eq!(all, blocks);
    assert_eq!(kinds, [(200, BLOCKS_MAX), (201, BLOCKS_MAX), (201, 8)]);
}

#[test]
fn cumulative_loss_is_written_with_its_sign_and_within_24_bits() {
    for (lost, read) in [
        (0, 0),
        (-1, -1),
        (0x7F_FFFF, 0x7F_FFFF),
        (0x80_0000, 0x7F_FFFF),
        (-0x80_0000, -0x80_0000),
        (i32::MIN, -0x80_0000),
    ] {
        let mut out = Vec::new();
        write_report(5, None, &[ReportBlock { cumulative_lost: lost, ..every::BLOCK }], &mut out);
        let raw = Compound::read(&out, Form::Compound).unwrap().next().unwrap();
        let Packet::Report(mut report) = Packet::read(&raw).unwrap() else { panic!() };
        assert_eq!(report.blocks.next().unwrap().cumulative_lost, read);
    }
}

#[test]
fn the_rules_of_compound_packets_hold() {
    let violation = |octets: &[u8], form| Compound::read(octets, form).unwrap_err().what;
    let mut report = Vec::new();
    write_report(5, None, &[], &mut report);
    assert_eq!(report, [0x80, 201, 0, 1, 0, 0, 0, 5]);
    let bye = [0x81, 203, 0, 1, 0, 0, 0, 5];
    assert_eq!(violation(&bye, Form::Compound), "the first packet is no report");
    assert_eq!(walk(&bye, Form::ReducedSize), Ok(1));
    assert_eq!(walk(&[&report[..], &bye].concat(), Form::Compound), Ok(2));
    assert_eq!(violation(&[], Form::ReducedSize), "the header of a packet is cut off");
    for cut in 1..16 {
        let both = [&report[..], &bye].concat();
        assert_eq!(Compound::read(&both[..cut], Form::Compound).is_err(), cut != 8, "{cut}");
    }
    let mut other = report.clone();
    other[0] = 0x40;
    assert_eq!(violation(&other, Form::Compound), "the version is not 2");
    // Padding: of the last packet only, at most what it has, a multiple of four, not zero.
    let padded = |count: u8| [0xA0, 201, 0, 2, 0, 0, 0, 5, 0, 0, 0, count];
    assert_eq!(walk(&padded(4), Form::Compound), Ok(1));
    let behind = [&padded(4)[..], &report].concat();
    assert_eq!(violation(&behind, Form::Compound), "a packet follows one with padding");
    for count in [0, 1, 3, 12, 255] {
        assert_eq!(violation(&padded(count), Form::Compound), "the padding has no such length");
    }
    let all = padded(8);
    let raw = Compound::read(&all, Form::Compound).unwrap().next().unwrap();
    assert_eq!(Packet::read(&raw).unwrap_err().what, "the reporter is cut off");
}

#[test]
fn missing_packets_are_told_in_as_few_entries_as_fit() {
    let missing = [65_530, 65_531, 10, 11, 27, 28];
    let mut information = Vec::new();
    write_missing(missing, &mut information);
    // 65,530 with what is at most 16 ahead, which across the end is 10; 11 with 27; 28.
    assert_eq!(information.len(), 12);
    let feedback = Feedback { format: 1, sender: 1, media: 2, information: &information };
    assert!(feedback.missing().eq(missing));
    assert_eq!(TransportFormat::of(1), Some(TransportFormat::Nack));
}

#[test]
fn a_rate_is_told_with_eighteen_bits() {
    let streams = [0, 0, 0, 7, 0, 0, 0, 8];
    for (rate, read) in [
        (0, 0),
        (262_143, 262_143),
        (262_145, 262_144),
        (2_500_000, 2_500_000),
        (u64::MAX, 0x3FFFF << 46),
    ] {
        let mut information = Vec::new();
        let remb = Remb { bits_per_s: rate, streams: Words::of(&streams) };
        remb.write_information(&mut information);
        let format = PayloadFormat::ApplicationLayer.number();
        let feedback = Feedback { format, sender: 1, media: 0, information: &information };
        let found = feedback.bitrate().unwrap().unwrap();
        assert_eq!(found.bits_per_s, read);
        assert!(found.streams.eq([7, 8]));
        assert!(Feedback { information: &information[..10], ..feedback }.bitrate().is_err());
        assert_eq!(Feedback { format: 1, ..feedback }.bitrate(), Ok(None));
        assert_eq!(Feedback { information: b"GOOG", ..feedback }.bitrate(), Ok(None));
    }
    // More than anyone has is the most.
    let huge = [b'R', b'E', b'M', b'B', 0, 0xFF, 0xFF, 0xFF];
    let feedback = Feedback { format: 15, sender: 1, media: 0, information: &huge };
    assert_eq!(feedback.bitrate().unwrap().unwrap().bits_per_s, u64::MAX);
    let mut requests = Vec::new();
    write_picture_request(9, 3, &mut requests);
    let feedback = Feedback { format: 4, sender: 1, media: 0, information: &requests };
    assert!(feedback.picture_requests().eq([(9, 3)]));
}

#[test]
fn run_lengths_by_seed_tell_what_came() {
    for seed in 0..500 {
        let mut random = Random(seed);
        let came: Vec<bool> = {
            let mut one = true;
            let changes = 1 + random.below(40);
            (0..65_536)
                .map(|_| {
                    one ^= random.below(changes) == 0;
                    one
                })
                .collect()
        };
        let begin = random.next() as u16;
        let most = [10, 300, 65_536][random.below(3) as usize];
        let length = random.below(most) as u16;
        let thinning = random.below(16).saturating_sub(8) as u8;
        let interval = Interval { ssrc: 3, thinning, begin, end: begin.wrapping_add(length) };
        let mut out = Vec::new();
        xr::write_extended_report(1, &mut out, |out| {
            write_run_lengths(BlockType::LossRle, interval, |n| came[usize::from(n)], out);
        });
        let raw = Compound::read(&out, Form::ReducedSize).unwrap().next().unwrap();
        let Packet::ExtendedReport(mut report) = Packet::read(&raw).unwrap() else { panic!() };
        let block = report.blocks.next().unwrap();
        let Block::LossRle(runs) = Block::read(&block).unwrap() else { panic!() };
        let told: Vec<_> = runs.packets().collect();
        let wanted = (0..length).map(|n| begin.wrapping_add(n));
        let wanted = wanted.filter(|n| n.is_multiple_of(1 << thinning));
        let wanted: Vec<_> = wanted.map(|n| (n, came[usize::from(n)])).collect();
        assert_eq!(told, wanted, "seed {seed}");
    }
}

/// Every source that the packets of a datagram name, in their order.
fn sources(datagram: &[u8]) -> Vec<u32> {
    let mut all = Vec::new();
    for raw in Compound::read(datagram, Form::ReducedSize).unwrap() {
        match Packet::read(&raw).unwrap() {
            Packet::Report(it) => {
                all.push(it.ssrc);
                all.extend(it.blocks.map(|it| it.ssrc));
            }
            Packet::SourceDescription(it) => all.extend(it.map(|it| it.ssrc)),
            Packet::Goodbye(it) => all.extend(it.sources),
            Packet::Application(it) => all.push(it.ssrc),
            Packet::TransportFeedback(it) => all.extend([it.sender, it.media]),
            Packet::PayloadFeedback(it) => {
                all.extend([it.sender, it.media]);
                if it.format == PayloadFormat::Fir.number() {
                    all.extend(it.picture_requests().map(|it| it.0));
                }
                all.extend(it.bitrate().unwrap().into_iter().flat_map(|it| it.streams));
            }
            Packet::ExtendedReport(it) => {
                all.push(it.ssrc);
                for raw in it.blocks {
                    match Block::read(&raw).unwrap() {
                        Block::LossRle(it) | Block::DuplicateRle(it) => all.push(it.ssrc),
                        Block::ReceiptTimes(it) => all.push(it.interval.ssrc),
                        Block::Dlrr(it) => all.extend(it.map(|it| it.ssrc)),
                        Block::StatisticsSummary(it) => all.push(it.ssrc),
                        Block::VoipMetrics(it) => all.push(it.ssrc),
                        Block::ReferenceTime(_) | Block::Unknown(_) => {}
                    }
                }
            }
            Packet::Unknown(_) => {}
        }
    }
    all
}

#[test]
fn what_passes_names_the_sources_of_the_other_side_and_is_else_the_same() {
    let mut octets = every::compound();
    let (mut request, mut remb) = (Vec::new(), Vec::new());
    (1..4).for_each(|ssrc| write_picture_request(ssrc, 1, &mut request));
    Remb { bits_per_s: 1_000, streams: Words::of(&[0, 0, 0, 8, 0, 0, 0, 7]) }
        .write_information(&mut remb);
    for (format, information) in [(4, &request), (15, &remb)] {
        let feedback = Feedback { format, sender: 5, media: 7, information };
        feedback.write(PacketType::PayloadFeedback, &mut octets);
    }
    let before = octets.clone();
    let named = sources(&before);
    assert_eq!(named.len(), 30, "{named:?}");
    rewrite_sources(&mut octets, |it| it + 1_000);
    assert!(sources(&octets).iter().copied().eq(named.iter().map(|it| it + 1_000)));
    assert_eq!(octets.iter().zip(&before).filter(|(a, b)| a != b).count(), 2 * named.len());
    rewrite_sources(&mut octets, |it| it - 1_000);
    assert_eq!(octets, before);
    // A request for a picture names its stream in the entry alone.
    let mut octets = Vec::new();
    Feedback { format: 4, sender: 5, media: 0, information: &request }
        .write(PacketType::PayloadFeedback, &mut octets);
    rewrite_sources(&mut octets, |it| it + 1);
    assert_eq!(sources(&octets), [6, 0, 2, 3, 4]);
}

#[test]
fn a_description_ends_each_chunk_with_zeros() {
    for length in 0..9 {
        let text = vec![b'x'; length];
        let items = [Item { number: ItemType::Cname.number(), text: &text }];
        let mut out = Vec::new();
        write_description(&[(1, &items), (2, &[]), (3, &items)], &mut out);
        let raw = Compound::read(&out, Form::ReducedSize).unwrap().next().unwrap();
        let Packet::SourceDescription(chunks) = Packet::read(&raw).unwrap() else { panic!() };
        let read: Vec<_> =
            chunks.map(|it| (it.ssrc, it.items.map(|it| it.text.len()).collect())).collect();
        assert_eq!(read, [(1, vec![length]), (2, vec![]), (3, vec![length])]);
    }
}

#[test]
fn metrics_are_those_of_what_was_counted() {
    let mut it = rtp::Reception::new(7, 0, 0, 0);
    (1..1_000u16).filter(|n| !(500..520).contains(n)).for_each(|n| _ = it.sequence(n));
    let figures = it.figures();
    let metrics = xr::VoipMetrics::of(7, &figures, machine::Duration::from_millis(20));
    assert_eq!((metrics.loss_rate, metrics.burst_density, metrics.gap_density), (5, 255, 0));
    assert_eq!((metrics.burst_ms, metrics.gap_ms), (400, 9_800));
    assert_eq!((metrics.r_factor, metrics.signal_level), (xr::NO_SCORE, xr::NO_LEVEL));
    assert_eq!(Ntp::default().middle().0, 0);
}

proptest! {
    #[test]
    fn any_octets_are_read_without_panic(
        kind in 199u8..209,
        count in any::<u8>(),
        mut body in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        body.truncate(body.len() / 4 * 4);
        let mut octets = vec![0x80 | count & 0x1F, kind];
        octets.extend_from_slice(&(body.len() as u16 / 4).to_be_bytes());
        octets.extend_from_slice(&body);
        if let Err(violation) = walk(&octets, Form::ReducedSize) {
            prop_assert!(violation.at <= octets.len());
        }
        let _ = walk(&body, Form::Compound);
    }

    #[test]
    fn damage_is_told_and_never_panics(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut octets = every::compound();
        for (index, octet) in changes {
            let at = index.index(octets.len());
            octets[at] = octet;
        }
        if let Err(violation) = walk(&octets, Form::ReducedSize) {
            prop_assert!(violation.at <= octets.len(), "{}", violation);
        }
        let length = octets.len();
        rewrite_sources(&mut octets, |it| !it);
        prop_assert_eq!(octets.len(), length);
    }
}
