//! Digits in streams that are transcoded.

use crate::sound::{Bed, STREAM, coded, end};
use codec::dtmf::{Detector, Heard, Tones};
use codec::g711::Law;
use codec::{Codec, Digits, End, Events, Notice, Rate, Side};
use machine::{Duration, Time};
use rtp::Header;
use rtp::event::{Event, Generator};

const EVENTS: Events = Events { receive: 101, send: 102, clock_hz: 8_000 };

fn with_events(mut end: End, clock_hz: u32) -> End {
    end.events = Some(Events { clock_hz, ..EVENTS });
    end
}

/// Sound, an event of 100 ms in its middle, and sound again.
fn talk(bed: &mut Bed, ends: &[End; 2], code: u8) {
    let (_, packets) = coded(&ends[0], ends[1].format.codec, 20);
    let mut sequence = 0;
    let mut send = |bed: &mut Bed, header: Header, payload: &[u8]| {
        bed.packet(Side::A, Header { sequence, ..header }, payload);
        sequence += 1;
        bed.pass(20);
    };
    for (header, payload) in &packets[..10] {
        send(bed, *header, payload);
    }
    let start = packets[10].0.timestamp;
    let mut generator = Generator::new(code, 10, start, 160);
    generator.end(800);
    for it in generator {
        let header = Header {
            payload_type: 101,
            marker: it.marker,
            timestamp: it.timestamp,
            ..packets[0].0
        };
        send(bed, header, &it.event.octets());
    }
    // Five packets of the event and two more repeats of its end.
    for (header, payload) in &packets[17..27] {
        send(bed, *header, payload);
    }
}

fn heard(payloads: impl Iterator<Item = Vec<u8>>) -> Vec<Heard> {
    let (mut detector, mut out) = (Detector::default(), Vec::new());
    for payload in payloads {
        let mut samples = Vec::new();
        Law::Mu.decode(&payload, &mut samples);
        detector.hear(&samples, &mut out);
    }
    out
}

#[test]
fn an_event_passes_with_the_clock_of_the_other_side() {
    let ends =
        [with_events(end(Codec::Pcma, ""), 8_000), with_events(end(Codec::Opus, ""), 48_000)];
    let Some(mut bed) = Bed::new(ends) else { return };
    talk(&mut bed, &ends, 5);
    assert_eq!(bed.out.notices.len(), 1);
    let Notice::Digit { code, from, lasted_ms, .. } = bed.out.notices[0];
    assert_eq!((code, from, lasted_ms), (5, Side::A, 100));
    let left = bed.take(Side::B);
    assert!(left.iter().zip(0..).all(|(it, at)| it.0.sequence == at), "one row of numbers");
    let events: Vec<_> = left.iter().filter(|it| it.0.payload_type == 102).collect();
    assert_eq!(events.len(), 7);
    assert!(events.iter().all(|it| it.0.timestamp == 10 * 960));
    assert!(events.iter().enumerate().all(|(at, it)| it.0.marker == (at == 0)));
    let last = Event::read_all(&events[6].1).unwrap().next().unwrap();
    assert_eq!((last.code, last.is_end, last.duration), (5, true, 4_800));
    let after = left.iter().filter(|it| it.0.payload_type != 102).nth(10).unwrap();
    assert_eq!((after.0.timestamp, after.0.marker), (17 * 960, true));
}

#[test]
fn an_event_is_heard_as_tones_where_the_other_side_has_no_events() {
    for code in [0, 7, 11, 15] {
        let ends = [with_events(end(Codec::Pcma, ""), 8_000), end(Codec::Pcmu, "")];
        let mut bed = Bed::new(ends).expect("nothing is needed");
        talk(&mut bed, &ends, code);
        let left = bed.take(Side::B);
        assert!(left.iter().all(|it| it.0.payload_type == ends[1].send));
        let heard = heard(left.iter().map(|it| it.1.clone()));
        assert_eq!(heard.len(), 2, "{code}: {heard:?}");
        assert!(matches!(heard[0], Heard::Began { code: it, .. } if it == code));
        let Heard::Ended { lasted, .. } = heard[1] else { panic!("{heard:?}") };
        assert!((70 * 8..=110 * 8).contains(&lasted), "{lasted}");
        let after = left[left.len() - 10].0;
        assert_eq!(after.timestamp, 17 * 160);
    }
}

/// As baresip does it: its sound goes on beside the event, in the same row of numbers. Digit by
/// digit, and no more sound leaves than time has passed.
#[test]
fn events_beside_sound_that_goes_on_are_tones_in_its_place() {
    for sound_first in [true, false] {
        let ends = [with_events(end(Codec::Pcma, ""), 8_000), end(Codec::Pcmu, "")];
        let mut bed = Bed::new(ends).expect("nothing is needed");
        let (_, packets) = coded(&ends[0], ends[1].format.codec, 20);
        let mut sequence = 0;
        let mut send = |bed: &mut Bed, header: Header, payload: &[u8]| {
            bed.packet(Side::A, Header { sequence, ..header }, payload);
            sequence += 1;
        };
        let digits = [1, 5, 9, 11, 0, 3];
        for turn in 0..150_u32 {
            let (header, payload) = &packets[turn as usize % packets.len()];
            let header = Header { timestamp: turn * 160, ..*header };
            if sound_first {
                send(&mut bed, header, payload);
            }
            // A digit of 200 ms in every 400, and its end three times.
            let (place, at) = (turn / 20, turn % 20);
            if let Some(code) = digits.get(place as usize).filter(|_| (5..18).contains(&at)) {
                let (begun, last) = (place * 20 + 5, (at - 5).min(10));
                let (is_end, duration) = (at > 14, (last * 160) as u16);
                let event = Event { code: *code, is_end, volume: 10, duration };
                let event_header =
                    Header { payload_type: 101, timestamp: begun * 160, marker: at == 5, ..header };
                send(&mut bed, event_header, &event.octets());
            }
            if !sound_first {
                send(&mut bed, header, payload);
            }
            bed.pass(20);
        }
        let left = bed.take(Side::B);
        let heard = heard(left.iter().map(|it| it.1.clone()));
        let codes: Vec<u8> = heard
            .iter()
            .filter_map(|it| if let Heard::Began { code, .. } = it { Some(*code) } else { None })
            .collect();
        assert_eq!(codes, digits, "{heard:?}");
        for it in &heard {
            if let Heard::Ended { lasted, .. } = it {
                assert!((160 * 8..=210 * 8).contains(lasted), "{heard:?}");
            }
        }
        assert!((140..=150).contains(&left.len()), "{}", left.len());
    }
}

#[test]
fn tones_become_an_event_and_are_taken_out_of_the_sound() {
    for from in [Codec::Pcmu, Codec::G722] {
        let mut ends = [end(from, ""), with_events(end(Codec::Pcmu, ""), 8_000)];
        ends[0].digits = Digits::Tones;
        let mut bed = Bed::new(ends).expect("nothing is needed");
        let rate = from.rate().unwrap();
        let mut sound = vec![0; rate.samples(200)];
        Tones::new(9, 8, rate).unwrap().generate(rate.samples(120), true, &mut sound);
        sound.resize(rate.samples(600), 0);
        let mut encoder =
            codec::Encoder::new(&ends[0].format, rate, &codec::Library::default()).unwrap();
        for (at, samples) in (0..).zip(sound.chunks(rate.samples(20))) {
            let mut payload = Vec::new();
            encoder.encode(samples, &mut payload);
            let timestamp = u32::from(at) * 160;
            let payload_type = ends[0].receive;
            let header = Header { payload_type, sequence: at, timestamp, ssrc: 1, marker: at == 0 };
            bed.packet(Side::A, header, &payload);
            bed.pass(20);
        }
        assert_eq!(bed.out.notices.len(), 1);
        let Notice::Digit { code, lasted_ms, .. } = bed.out.notices[0];
        assert_eq!(code, 9);
        assert!((100..=130).contains(&lasted_ms), "{lasted_ms}");
        let left = bed.take(Side::B);
        assert!(left.iter().zip(0..).all(|(it, at)| it.0.sequence == at));
        let events: Vec<_> = left.iter().filter(|it| it.0.payload_type == 102).collect();
        let start = events[0].0.timestamp;
        assert!((1_500..=1_720).contains(&start), "{start}: it began at 1,600");
        assert!(events.iter().all(|it| it.0.timestamp == start));
        let ends_seen = events.iter().filter(|it| it.1[1] & 0x80 != 0).count();
        assert_eq!((ends_seen, events[0].0.marker), (3, true));
        let tones = heard(left.iter().filter(|it| it.0.payload_type != 102).map(|it| it.1.clone()));
        assert_eq!(tones, [], "no tones are left in the sound");
    }
}

#[test]
fn a_digit_of_signalling_is_played_as_an_event_or_as_tones() {
    let ends = [with_events(end(Codec::Pcma, ""), 8_000), end(Codec::Pcmu, "")];
    let mut bed = Bed::new(ends).expect("nothing is needed");
    let play = |bed: &mut Bed, to, code| {
        let now = bed.now;
        bed.transcoder.digit(now, STREAM, to, code, 100)
    };
    assert!(play(&mut bed, Side::A, 1) && play(&mut bed, Side::A, 2));
    assert!(!play(&mut bed, Side::A, 16), "no digit");
    bed.pass(600);
    let events = bed.take(Side::A);
    assert!(events.iter().all(|it| it.0.payload_type == 102));
    let codes: Vec<u8> = events.iter().filter(|it| it.0.marker).map(|it| it.1[0]).collect();
    assert_eq!((codes, events.len()), (vec![1, 2], 14));
    assert!(events[0].0.timestamp != events[7].0.timestamp, "two events");
    assert!(play(&mut bed, Side::B, 3));
    bed.pass(400);
    let tones = heard(bed.take(Side::B).into_iter().map(|it| it.1).chain([vec![0xFF; 800]]));
    assert!(matches!(tones[..], [Heard::Began { code: 3, .. }, Heard::Ended { .. }]), "{tones:?}");
    for _ in 0..100 {
        play(&mut bed, Side::B, 3);
    }
    assert!(!play(&mut bed, Side::B, 3), "so many do not wait");
}

#[test]
fn an_end_by_signalling_gets_notices_alone() {
    let mut ends = [with_events(end(Codec::Pcma, ""), 8_000), end(Codec::Pcmu, "")];
    ends[1].digits = Digits::Info;
    let mut bed = Bed::new(ends).expect("nothing is needed");
    talk(&mut bed, &ends, 4);
    assert_eq!(bed.out.notices.len(), 1);
    assert_eq!(bed.take(Side::B).len(), 20, "sound alone");
}

#[test]
fn an_event_whose_end_is_lost_is_over_after_its_time() {
    let ends = [with_events(end(Codec::Pcma, ""), 8_000), end(Codec::Pcmu, "")];
    let mut bed = Bed::new(ends).expect("nothing is needed");
    let event = Event { code: 6, is_end: false, volume: 10, duration: 400 };
    let header = Header { payload_type: 101, ssrc: 1, ..Header::default() };
    bed.packet(Side::A, header, &event.octets());
    let before: Time = bed.now;
    bed.pass(300);
    assert!(bed.now.since(before) >= Duration::from_millis(300));
    assert!(matches!(bed.out.notices[..], [Notice::Digit { code: 6, lasted_ms: 50, .. }]));
    assert_eq!(Rate::Narrow.samples(50), 400);
}
