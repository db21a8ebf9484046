//! Speech: what its packets are, how it goes on, and what is found of it behind a relay.

use crate::plans::{ETHERNET, UDP, ipv4, ipv6};
use graph::{Pool, STRIDE, Slot};
use machine::Time;
use packet_load::{
    Analyser, Codec, Generator, Guard, Layer, Part, Plan, Refused, Report, Stream, Suppression,
    Values, Vary, Voice,
};
use rtp::Header;
use srtp::{KeyEntry, Parameters, Receiver, Suite};

const SSRC: u32 = 0x1000_0000;
const FLOWS: u32 = 10;
/// Octets before RTP, by IPv4 and IPv6.
const HEAD_V4: usize = 42;
const HEAD_V6: usize = 62;

fn speech(network: Layer, voice: Voice) -> Stream {
    let mut stream = Stream::speech("speech", vec![ETHERNET, network, UDP], SSRC, voice);
    stream.flows = FLOWS;
    stream
}

fn secure(codec: Codec, suite: Suite) -> Voice {
    Voice { sent: Some(Guard::by_seed(suite, FLOWS, 9)), ..Voice::of(codec) }
}

fn both(stream: Stream) -> (Generator, Analyser) {
    let generator = Plan::of(stream, 5).generator().unwrap();
    let analyser = generator.analyser();
    (generator, analyser)
}

fn packets(generator: &mut Generator, count: usize) -> Vec<Vec<u8>> {
    let mut room = vec![0; generator.longest()];
    let one = |number: usize| {
        let length = generator.write(Time::from_nanos(number as u64 * 1_000), &mut room);
        room[..length].to_vec()
    };
    (0..count).map(one).collect()
}

/// Whether the checksum of UDP over IPv4 is right (RFC 768).
fn has_right_sum(frame: &[u8]) -> bool {
    let udp = &frame[34..];
    let pseudo = [&frame[26..34], &[0, 17], &udp[4..6], udp].concat();
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    let sum: u32 = pseudo.chunks(2).map(word).sum();
    (sum & 0xffff) + (sum >> 16) == 0xffff
}

/// What a controller makes of SRTP: RTP in a frame of its own.
struct Opens(Vec<Receiver>);

impl Opens {
    fn new(suite: Suite) -> Self {
        let guard = Guard::by_seed(suite, FLOWS, 9);
        let keys = guard.keys.iter().map(|key| [KeyEntry::alone(key.clone())]);
        Self(keys.map(|keys| Receiver::new(Parameters::of(suite), &keys).unwrap()).collect())
    }

    fn relay(&mut self, frame: &[u8]) -> Vec<u8> {
        let mut packet = frame[HEAD_V4..].to_vec();
        let ssrc = Header::peek(&packet).unwrap().ssrc;
        let length = self.0[(ssrc - SSRC) as usize].unprotect(&mut packet).unwrap();
        let mut plain = [&frame[..HEAD_V4], &packet[..length]].concat();
        let udp = ((8 + length) as u16).to_be_bytes();
        plain[38..40].copy_from_slice(&udp);
        plain
    }
}

fn voice(report: &Report) -> packet_load::VoiceReport {
    report.all.voice.unwrap()
}

#[test]
fn each_flow_counts_its_packets_and_ticks_on_from_trial_to_trial() {
    for (network, head) in [(ipv4(), HEAD_V4), (ipv6(), HEAD_V6)] {
        let (mut generator, _) = both(speech(network, Voice::of(Codec::G711)));
        let mut last: [Option<Header>; FLOWS as usize] = [None; FLOWS as usize];
        for trial in 0..3 {
            generator.begin(trial);
            for frame in packets(&mut generator, 640) {
                assert_eq!(frame.len(), head + 12 + 160);
                let header = Header::peek(&frame[head..]).unwrap();
                let place = &mut last[(header.ssrc - SSRC) as usize];
                assert_eq!((header.payload_type, header.marker), (8, place.is_none()));
                if let Some(before) = place.replace(header) {
                    assert_eq!(header.sequence, before.sequence.wrapping_add(1));
                    assert_eq!(header.timestamp, before.timestamp.wrapping_add(160));
                }
            }
        }
        assert!(last.iter().all(Option::is_some));
    }
}

#[test]
fn the_same_seed_gives_the_same_speech_protected_alike_one_by_one_and_together() {
    for suite in [Suite::AesCm128HmacSha1_80, Suite::AeadAes128Gcm] {
        let stream = || {
            let mut voice = secure(Codec::G729, suite);
            voice.suppression = Some(Suppression::CONVERSATION);
            speech(ipv4(), voice)
        };
        let (mut one, mut other) = (both(stream()).0, both(stream()).0);
        let mut pool = Pool::new(100, STRIDE);
        let mut slots = [Slot::default(); 100];
        assert_eq!(pool.take_all(&mut slots), 100);
        one.fill(Time::from_nanos(7_000), &mut pool, &slots);
        let mut room = vec![0; other.longest()];
        for slot in slots {
            let length = other.write(Time::from_nanos(7_000), &mut room);
            assert_eq!(pool.bytes(slot), &room[..length]);
            assert!(has_right_sum(&room[..length]));
        }
    }
}

#[test]
fn what_a_relay_opened_is_told_with_its_delay_and_in_order() {
    for suite in [Suite::AesCm128HmacSha1_80, Suite::AeadAes256Gcm] {
        let (mut generator, mut analyser) = both(speech(ipv4(), secure(Codec::G711, suite)));
        let mut relay = Opens::new(suite);
        for trial in 0..2 {
            generator.begin(trial);
            analyser.begin(trial);
            for (number, frame) in packets(&mut generator, 1_000).iter().enumerate() {
                assert!(has_right_sum(frame));
                let at = Time::from_nanos((number as u64 + 70) * 1_000);
                analyser.receive(at, &relay.relay(frame));
            }
            let report = analyser.settle(&generator);
            let all = &report.all;
            assert_eq!((all.sent, all.received, all.lost, report.foreign), (1_000, 1_000, 0, 0));
            assert_eq!((all.reordered, all.delays.min_ns, all.delays.max_ns), (0, 70_000, 70_000));
            assert_eq!((voice(&report).jitter_max_ns, voice(&report).opened), (0, 0));
        }
    }
}

#[test]
fn what_arrives_as_srtp_is_opened_and_what_is_wrong_in_it_told() {
    let guard = Guard::by_seed(Suite::AesCm128HmacSha1_80, FLOWS, 3);
    let voice_of =
        Voice { sent: Some(guard.clone()), received: Some(guard), ..Voice::of(Codec::G711) };
    let (mut generator, mut analyser) = both(speech(ipv4(), voice_of));
    for (number, frame) in packets(&mut generator, 1_000).iter_mut().enumerate() {
        match number {
            // Never came, came twice, was changed.
            100..110 => continue,
            200..215 => analyser.receive(Time::from_millis(1), frame),
            300..320 => frame[100] ^= 1,
            _ => {}
        }
        analyser.receive(Time::from_millis(1), frame);
    }
    let report = analyser.settle(&generator);
    let told = voice(&report);
    assert_eq!((told.opened, told.replayed, told.forged, told.refused), (970, 15, 20, 0));
    assert_eq!((report.all.lost, report.all.received, report.foreign), (30, 970, 35));
}

#[test]
fn pauses_are_not_sent_but_for_their_noise_which_may_be_lost_too() {
    let suppression = Some(Suppression::CONVERSATION);
    let stream = speech(ipv4(), Voice { suppression, ..Voice::of(Codec::G729) });
    let pps = stream.speech_pps();
    assert!((200.0..220.0).contains(&pps), "{pps}");
    let (mut generator, mut analyser) = both(stream);
    let all = packets(&mut generator, 20_000);
    let is_noise = |frame: &&Vec<u8>| frame.len() == HEAD_V4 + 12 + 2;
    let noise = all.iter().filter(is_noise).count() as u64;
    assert!(all.iter().all(|frame| has_right_sum(frame)));
    let steps = |frame: &Vec<u8>| Header::peek(&frame[HEAD_V4..]).unwrap().timestamp / 160;
    let of_first = all.iter().filter(|frame| frame[53] == 0);
    let (first, last) = (of_first.clone().next().unwrap(), of_first.clone().next_back().unwrap());
    let share = of_first.count() as f64 / f64::from(steps(last) - steps(first));
    assert!((0.3..0.55).contains(&share), "{share}");
    let mut dropped = 0;
    for frame in &all {
        if is_noise(&frame) && dropped < 3 {
            dropped += 1;
            continue;
        }
        analyser.receive(Time::from_millis(20), frame);
    }
    assert_eq!(analyser.received(), 20_000 - 3);
    let report = analyser.settle(&generator);
    let told = voice(&report);
    assert_eq!((told.noise_sent, told.noise_received), (noise, noise - 3));
    assert_eq!((report.all.sent, report.all.lost, report.all.received), (20_000, 3, 19_997));
}

#[test]
fn jitter_is_that_of_rfc_3550() {
    let mut stream = speech(ipv4(), Voice::of(Codec::G711));
    stream.flows = 1;
    let (mut generator, mut analyser) = both(stream);
    let mut jitter = 0.0;
    for (number, frame) in packets(&mut generator, 400).iter().enumerate() {
        let late = 1_000 * (number as u64 % 2);
        analyser.receive(Time::from_nanos((number as u64 + 50 + late) * 1_000), frame);
        jitter += if number == 0 { 0.0 } else { (1e6 - jitter) / 16.0 };
    }
    let report = analyser.settle(&generator);
    let told = voice(&report);
    assert!((told.jitter_max_ns as f64 - jitter).abs() < 50.0, "{told:?} {jitter}");
    assert_eq!((told.variation.min_ns, told.variation.max_ns), (1_000_000, 1_000_000));
}

#[test]
fn speech_that_cannot_be_is_refused() {
    let refusal = |change: fn(&mut Stream)| {
        let mut stream = speech(ipv4(), secure(Codec::G711, Suite::AeadAes128Gcm));
        change(&mut stream);
        Plan::of(stream, 1).generator().map(drop).unwrap_err()
    };
    assert_eq!(refusal(|it| it.voice = None), Refused::Voice(0));
    assert_eq!(refusal(|it| it.flows = FLOWS + 1), Refused::Voice(0));
    assert_eq!(refusal(|it| _ = it.layers.pop()), Refused::Voice(0));
    assert_eq!(refusal(|it| it.sizes = packet_load::Sizes::imix()), Refused::Voice(0));
    assert_eq!(refusal(|it| _ = it.layers.remove(2)), Refused::Layer { stream: 0, layer: 2 });
}

/// A plan whose flows go to these addresses, SRTP from end to end under those keys.
fn towards(network: u128, guard: &Guard) -> Plan {
    let guard = || Some(guard.clone());
    let voice = Voice { sent: guard(), received: guard(), ..Voice::of(Codec::G729) };
    let mut stream = speech(ipv4(), voice);
    let addresses = (0..u128::from(FLOWS)).map(|flow| network + flow).collect();
    let values = Values::Table(addresses);
    stream.vary.push(Vary { layer: 1, part: Part::Destination, values });
    Plan::of(stream, 5)
}

#[test]
fn speech_that_is_agreed_on_anew_goes_elsewhere_under_other_keys_and_counts_on() {
    let suite = Suite::AesCm128HmacSha1_80;
    let (old, mut keys) =
        (Guard::by_seed(suite, FLOWS, 3), Guard::by_seed(suite, FLOWS, 3).keys.to_vec());
    keys[4] = Guard::by_seed(suite, 1, 8).keys[0].clone();
    let new = Guard { suite, keys: keys.into() };
    let mut generator = towards(0x0a01_0000, &old).generator().unwrap();
    let mut analyser = generator.analyser();
    let mut last = [None::<u16>; FLOWS as usize];
    let mut pass = |generator: &mut Generator, analyser: &mut Analyser, net: [u8; 3]| {
        for (number, frame) in packets(generator, 333).iter().enumerate() {
            let header = Header::peek(&frame[HEAD_V4..]).unwrap();
            let flow = header.ssrc - SSRC;
            assert_eq!((&frame[30..33], u32::from(frame[33])), (&net[..], flow));
            assert!(has_right_sum(frame));
            let before = last[flow as usize].replace(header.sequence);
            assert!(before.is_none_or(|it| it.wrapping_add(1) == header.sequence));
            analyser.receive(Time::from_nanos((number as u64 + 70) * 1_000), frame);
        }
    };
    pass(&mut generator, &mut analyser, [10, 1, 0]);
    generator.follow(&towards(0x0a02_0000, &new), &mut analyser).unwrap();
    pass(&mut generator, &mut analyser, [10, 2, 0]);
    // What is not the same speech is refused, and nothing of it is followed.
    let mut other = towards(0x0a03_0000, &new);
    other.streams[0].flows -= 1;
    assert_eq!(generator.follow(&other, &mut analyser), Err(Refused::Flows));
    let gcm = towards(0x0a03_0000, &Guard::by_seed(Suite::AeadAes128Gcm, FLOWS, 3));
    assert_eq!(generator.follow(&gcm, &mut analyser), Err(Refused::Voice(0)));
    pass(&mut generator, &mut analyser, [10, 2, 0]);
    let report = analyser.settle(&generator);
    assert_eq!((report.all.sent, report.all.received, report.foreign), (999, 999, 0));
    assert_eq!((voice(&report).opened, voice(&report).forged), (999, 0));
}
