//! Any octets as an RTP packet, as its payloads and as what a receiver counts: nothing panics, what
//! is read is written as it was, and no more was received than was sent.

use machine::{Duration, Time};
use rtp::comfort_noise::ComfortNoise;
use rtp::event::Detector;
use rtp::{Datagram, Header, NtpMiddle, Packet, Reception, Rewrite};

pub fn run(bytes: &[u8]) {
    let _ = Datagram::of(bytes);
    if let Ok(packet) = Packet::read(bytes) {
        assert_eq!(Header::peek(bytes), Some(packet.header));
        if let Some(extension) = packet.extension {
            extension.elements().for_each(drop);
        }
        let mut again = Vec::new();
        packet.write(&mut again);
        let back = Packet::read(&again).expect("what is written can be read");
        assert_eq!((back.header, back.payload), (packet.header, packet.payload));
        assert!(back.csrcs.eq(packet.csrcs));
        let rewrite = Rewrite { ssrc: Some(1), payload_type: Some(8), sequence: 9, timestamp: 9 };
        assert!(rewrite.apply(&mut again));
        assert_eq!(Packet::read(&again).map(|it| it.payload), Ok(packet.payload));
    }
    let _ = ComfortNoise::read(bytes);
    events(bytes);
    reception(bytes);
}

/// Five octets say when a packet of events comes and with what timestamp.
fn events(bytes: &[u8]) {
    let (mut detector, mut out, mut now) = (Detector::default(), Vec::new(), Time::ZERO);
    let mut rest = bytes;
    while let Some(([wait, times @ ..], tail)) = rest.split_first_chunk::<5>() {
        now += Duration::from_millis(u64::from(*wait));
        detector.tick(now, &mut out);
        let (payload, tail) = tail.split_at(tail.len().min(4));
        let _ = detector.packet(now, u32::from_be_bytes(*times), payload, &mut out);
        rest = tail;
    }
    detector.tick(now + Duration::from_secs(1), &mut out);
    assert!(out.len().is_multiple_of(2), "each that begins ends: {out:?}");
}

/// Four octets say the number of a packet and how it is timed.
fn reception(bytes: &[u8]) {
    let mut it = Reception::new(1, 0, 0, 0);
    for (at, &[n0, n1, timestamp, arrival]) in (0u32..).zip(bytes.as_chunks::<4>().0) {
        let times = (u32::from(timestamp) << 16, u32::from(arrival) << 16);
        it.packet(u16::from_be_bytes([n0, n1]), times.0, times.1);
        let figures = it.figures();
        assert!(figures.received <= figures.expected);
        let bursts = figures.bursts;
        assert_eq!(bursts.burst_losses + bursts.gap_losses, figures.lost);
        assert_eq!(bursts.burst_packets + bursts.gap_packets, figures.expected);
        let _ = it.report(NtpMiddle(at));
    }
}
