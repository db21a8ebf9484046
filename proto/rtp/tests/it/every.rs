//! A packet of each type with everything in it, and what must be read of it.

use rtp::rtcp::xr::{self, Block, BlockType, Dlrr, HopLimit, HopLimits, Interval, Losses, Spread};
use rtp::rtcp::{
    Application, Feedback, Goodbye, Item, ItemType, Packet, PacketType, ReportBlock, SenderInfo,
    write_description, write_missing, write_report,
};
use rtp::{Ntp, Words};

/// A block.
pub const BLOCK: ReportBlock = ReportBlock {
    ssrc: 7,
    fraction_lost: 10,
    cumulative_lost: 3,
    highest: 0x1_0007,
    jitter: 20,
    last_sr: 0xB705_2000,
    delay_since_last_sr: 0x5_4000,
};
/// A sender's information.
pub const INFO: SenderInfo =
    SenderInfo { ntp: Ntp(0xB44D_B705_2000_0000), timestamp: 160, packets: 9, octets: 1_440 };
/// Sources.
const SOURCES: [u8; 8] = [0, 0, 0, 7, 0, 0, 0, 9];
/// What a block of run lengths is about.
const INTERVAL: Interval = Interval { ssrc: 7, thinning: 0, begin: 65_000, end: 100 };

/// A summary.
pub fn summary() -> xr::StatisticsSummary {
    xr::StatisticsSummary {
        ssrc: 7,
        begin: 1,
        end: 200,
        losses: Losses { lost: Some(3), duplicates: Some(1) },
        jitter: Some(Spread { min: 1, max: 90, mean: 20, deviation: 8 }),
        hops: Some(HopLimits {
            of: HopLimit::Ipv4,
            seen: Spread { min: 60, max: 64, mean: 62, deviation: 1 },
        }),
    }
}

/// Metrics.
pub fn metrics() -> xr::VoipMetrics {
    xr::VoipMetrics {
        ssrc: 7,
        loss_rate: 5,
        discard_rate: 1,
        burst_density: 60,
        gap_density: 2,
        burst_ms: 400,
        gap_ms: 9_000,
        round_trip_ms: 80,
        end_system_ms: 60,
        signal_level: -20,
        noise_level: -60,
        echo_return_loss: 55,
        gmin: 16,
        r_factor: 88,
        external_r_factor: xr::NO_SCORE,
        mos_lq: 42,
        mos_cq: 41,
        concealment: xr::Concealment::Standard,
        jitter_buffer: xr::JitterBuffer {
            is_adaptive: Some(true),
            rate: 5,
            nominal_ms: 60,
            maximum_ms: 80,
            absolute_maximum_ms: 200,
        },
    }
}

/// Whether a packet came.
pub fn came(number: u16) -> bool {
    !number.is_multiple_of(37) && !(40..60).contains(&number)
}

fn extended(out: &mut Vec<u8>) {
    xr::write_extended_report(5, out, |out| {
        xr::write_run_lengths(BlockType::LossRle, INTERVAL, came, out);
        xr::write_run_lengths(BlockType::DuplicateRle, INTERVAL, |_| true, out);
        let interval = Interval { begin: 1, end: 4, ..INTERVAL };
        xr::write_receipt_times(interval, [100, 260, 420], out);
        xr::write_reference_time(INFO.ntp, out);
        xr::write_dlrr(&[Dlrr { ssrc: 7, last_rr: 5, delay_since_last_rr: 9 }], out);
        summary().write(out);
        metrics().write(out);
    });
}

/// A packet of each type, in one datagram.
pub fn compound() -> Vec<u8> {
    let mut out = Vec::new();
    write_report(5, Some(&INFO), &[BLOCK, ReportBlock { ssrc: 8, ..BLOCK }], &mut out);
    write_report(5, None, &[BLOCK], &mut out);
    let item = |kind: ItemType, text| Item { number: kind.number(), text };
    let items = [item(ItemType::Cname, &b"alice@192.0.2.1"[..]), item(ItemType::Tool, b"Tandem")];
    write_description(&[(5, &items), (6, &items[..1])], &mut out);
    let mut missing = Vec::new();
    write_missing([10, 12, 30], &mut missing);
    let feedback = Feedback { format: 1, sender: 5, media: 7, information: &missing };
    feedback.write(PacketType::TransportFeedback, &mut out);
    let feedback = Feedback { format: 1, sender: 5, media: 7, information: &[] };
    feedback.write(PacketType::PayloadFeedback, &mut out);
    Application { subtype: 3, ssrc: 5, name: *b"TNDM", data: &[1, 2, 3, 4] }.write(&mut out);
    extended(&mut out);
    Goodbye { sources: Words::of(&SOURCES), reason: Some(b"camera malfunction") }.write(&mut out);
    out
}

fn check_blocks(report: &xr::ExtendedReport<'_>) {
    assert_eq!(report.ssrc, 5);
    let mut kinds = Vec::new();
    for raw in report.blocks {
        kinds.push(raw.number);
        match Block::read(&raw).unwrap() {
            Block::LossRle(it) => {
                assert!(it.packets().all(|(number, is_there)| is_there == came(number)));
                assert_eq!(it.packets().count(), 636);
            }
            Block::DuplicateRle(it) => assert!(it.packets().all(|(_, is_one)| is_one)),
            Block::ReceiptTimes(it) => assert!(it.times.eq([100, 260, 420])),
            Block::ReferenceTime(it) => assert_eq!(it, INFO.ntp),
            Block::Dlrr(it) => assert!(it.map(|it| it.delay_since_last_rr).eq([9])),
            Block::StatisticsSummary(it) => assert_eq!(it, summary()),
            Block::VoipMetrics(it) => assert_eq!(it, metrics()),
            Block::Unknown(it) => panic!("{it:?}"),
        }
    }
    assert!(kinds.into_iter().eq(BlockType::ALL.iter().map(|it| it.number())));
}

/// What must be read of each packet of [`compound`].
pub fn checks() -> Vec<fn(&Packet<'_>)> {
    vec![
        |packet| {
            let Packet::Report(it) = packet else { panic!("{packet:?}") };
            assert_eq!((it.ssrc, it.sender), (5, Some(INFO)));
            assert!(it.blocks.eq([BLOCK, ReportBlock { ssrc: 8, ..BLOCK }]));
        },
        |packet| {
            let Packet::Report(it) = packet else { panic!("{packet:?}") };
            assert_eq!((it.ssrc, it.sender), (5, None));
            assert!(it.blocks.eq([BLOCK]) && it.extension.is_empty());
        },
        |packet| {
            let Packet::SourceDescription(it) = packet else { panic!("{packet:?}") };
            let texts: Vec<_> =
                it.flat_map(|it| it.items.map(move |i| (it.ssrc, i.text))).collect();
            let name = &b"alice@192.0.2.1"[..];
            assert_eq!(texts, [(5, name), (5, b"Tandem"), (6, name)]);
        },
        |packet| {
            let Packet::TransportFeedback(it) = packet else { panic!("{packet:?}") };
            assert_eq!((it.format, it.sender, it.media), (1, 5, 7));
            assert!(it.missing().eq([10, 12, 30]));
        },
        |packet| {
            let Packet::PayloadFeedback(it) = packet else { panic!("{packet:?}") };
            assert_eq!((it.format, it.information.len()), (1, 0));
        },
        |packet| {
            let Packet::Application(it) = packet else { panic!("{packet:?}") };
            assert_eq!((it.subtype, &it.name, it.data), (3, b"TNDM", &[1, 2, 3, 4][..]));
        },
        |packet| {
            let Packet::ExtendedReport(it) = packet else { panic!("{packet:?}") };
            check_blocks(it);
        },
        |packet| {
            let Packet::Goodbye(it) = packet else { panic!("{packet:?}") };
            assert!(it.sources.eq([7, 9]));
            assert_eq!(it.reason, Some(&b"camera malfunction"[..]));
        },
    ]
}
