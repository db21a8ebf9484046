//! Order, loss, changes and requests in streams.

use crate::sound::{Bed, STREAM, coded, decoded, end, signal_to_noise, speech};
use codec::{Codec, Rate, Side};
use rtp::Header;

#[test]
fn what_overtook_is_played_in_its_place() {
    let ends = [end(Codec::Pcma, ""), end(Codec::Pcmu, "")];
    let mut bed = Bed::new(ends).expect("nothing is needed");
    let (_, mut packets) = coded(&ends[0], Codec::Pcmu, 20);
    for at in (2..30).step_by(5) {
        packets.swap(at, at + 1);
    }
    for (header, payload) in &packets {
        bed.packet(Side::A, *header, payload);
        bed.pass(7);
    }
    bed.pass(200);
    let left = bed.take(Side::B);
    assert!(left.iter().zip(0..).all(|((header, _), at)| header.sequence == at));
    let (decibels, _) =
        signal_to_noise(&speech(Rate::Narrow), &decoded(&ends[1], Codec::Pcma, &left), 0);
    assert!(decibels > 30.0, "{decibels}");
    assert_eq!(bed.transcoder.counts().lost, 0);
}

#[test]
fn what_is_lost_is_concealed_and_the_time_lines_stay_together() {
    for from in [Codec::Pcma, Codec::G722, Codec::Opus, Codec::Amr, Codec::AmrWb] {
        let ends = [end(from, "useinbandfec=1"), end(Codec::Pcmu, "")];
        let Some(mut bed) = Bed::new(ends) else { continue };
        let (_, packets) = coded(&ends[0], Codec::Pcmu, 20);
        for (at, (header, payload)) in packets.iter().enumerate() {
            if !(at % 10 == 5 || at % 10 == 6) {
                bed.packet(Side::A, *header, payload);
            }
            bed.pass(20);
        }
        let left = bed.take(Side::B);
        // Nothing tells that the last two are lost.
        let wanted = packets.len() - 2;
        assert_eq!(left.len(), wanted, "{from:?}: a packet in the place of each");
        assert_eq!(bed.transcoder.counts().lost, 6);
        for (at, (header, payload)) in (0_u32..).zip(&left) {
            assert_eq!((header.timestamp, header.marker), (at * 160, at == 0), "{from:?}");
            let silence = payload.iter().filter(|&&it| it == 0xFF || it == 0x7F).count();
            assert!(silence < 150, "{from:?}: packet {at} has sound");
        }
    }
}

#[test]
fn a_pause_lasts_as_long_on_the_other_side_and_ends_with_a_marker() {
    let ends = [end(Codec::Pcma, ""), end(Codec::Opus, "")];
    let Some(mut bed) = Bed::new(ends) else { return };
    let (_, packets) = coded(&ends[0], Codec::Opus, 20);
    for (at, (header, payload)) in packets.iter().enumerate() {
        let pause = if at < 10 { 0 } else { 8_000 };
        let header = Header { timestamp: header.timestamp + pause, marker: at == 10, ..*header };
        bed.packet(Side::A, header, payload);
        bed.pass(20);
    }
    let left = bed.take(Side::B);
    assert_eq!(left.len(), packets.len());
    assert_eq!(left[9].0.timestamp, 9 * 960);
    assert_eq!(left[10].0.timestamp, 10 * 960 + 48_000);
    assert!(left.iter().enumerate().all(|(at, it)| it.0.marker == (at == 0 || at == 10)));
}

#[test]
fn a_source_that_begins_anew_goes_on_in_the_same_stream() {
    let ends = [end(Codec::Pcma, ""), end(Codec::Pcmu, "")];
    let mut bed = Bed::new(ends).expect("nothing is needed");
    let (_, packets) = coded(&ends[0], Codec::Pcmu, 20);
    for (at, (header, payload)) in packets.iter().enumerate() {
        let ssrc = if at < 10 { 1 } else { 2 };
        let timestamp = header.timestamp.wrapping_add(ssrc * 0x7777_7777);
        bed.packet(Side::A, Header { ssrc, timestamp, ..*header }, payload);
        bed.pass(20);
    }
    let left = bed.take(Side::B);
    assert_eq!(left.len(), packets.len());
    for (at, (header, _)) in (0_u16..).zip(&left) {
        assert_eq!((header.sequence, header.ssrc), (at, 1));
        // By the clock of arrival 20 ms have passed.
        let since = if at < 10 { 0 } else { 160 };
        assert_eq!(header.timestamp, u32::from(at) * 160 + since);
    }
}

#[test]
fn a_stream_that_is_said_again_goes_on_and_a_changed_one_keeps_its_numbers() {
    let ends = [end(Codec::Pcma, ""), end(Codec::Pcmu, "")];
    let mut bed = Bed::new(ends).expect("nothing is needed");
    let (_, packets) = coded(&ends[0], Codec::Pcmu, 20);
    let mut changed = ends;
    changed[1].packet_ms = 40;
    for (at, (header, payload)) in packets.iter().take(20).enumerate() {
        let said = if at < 10 { ends } else { changed };
        assert_eq!(bed.transcoder.put(STREAM, said), Ok(()));
        bed.packet(Side::A, *header, payload);
        bed.pass(20);
    }
    let left = bed.take(Side::B);
    let numbers: Vec<(u16, u32)> = left.iter().map(|it| (it.0.sequence, it.0.timestamp)).collect();
    let first = (0..10).map(|at| (at, u32::from(at) * 160));
    let then = (0..5).map(|at| (10 + at, 1_600 + u32::from(at) * 320));
    assert_eq!(numbers, first.chain(then).collect::<Vec<_>>());
    assert!(bed.transcoder.remove(STREAM) && !bed.transcoder.remove(STREAM));
    let (header, payload) = &packets[20];
    bed.packet(Side::A, *header, payload);
    assert_eq!((bed.take(Side::B).len(), bed.transcoder.counts().unknown), (0, 1));
}

#[test]
fn a_mode_that_one_end_asks_for_is_sent_to_it() {
    let ends = [end(Codec::Amr, "octet-align=1;mode-set=0,2,7"), end(Codec::Pcmu, "")];
    let Some(mut bed) = Bed::new(ends) else { return };
    let (_, sound) = coded(&ends[1], Codec::Amr, 20);
    let mode = |bed: &mut Bed, at: usize| {
        bed.packet(Side::B, sound[at].0, &sound[at].1);
        let left = bed.take(Side::A);
        left[0].1[1] >> 3 & 15
    };
    assert_eq!(mode(&mut bed, 0), 7);
    let (_, speech) = coded(&ends[0], Codec::Pcmu, 20);
    let (header, mut payload) = speech[0].clone();
    // The request: 5.9 kbit/s and less.
    payload[0] = 0x30;
    bed.packet(Side::A, header, &payload);
    assert_eq!(bed.take(Side::B).len(), 1);
    assert_eq!(mode(&mut bed, 1), 2, "the highest of the set that is not above it");
}
