//! Both ends under loss, reordering, duplicates, wraps and forgeries, by seed.

use crate::{Random, opened, opened_rtcp, pair, sent, sent_rtcp};
use srtp::{
    Allowance, KeyDerivationRate, KeyEntry, MasterKey, Mki, PAST_KEYS_MAX, Parameters,
    RTCP_ALONE_MAX, Receiver, Refused, Rollover, STREAMS_MAX, Sender, Suite, Unusable,
};

/// Every way to protect packets that is sound.
fn every() -> Vec<Parameters> {
    let mut all = Vec::new();
    for &suite in Suite::ALL {
        let usual = Parameters::of(suite);
        for bits in 0..16u8 {
            let parameters = Parameters {
                encrypts_rtp: usual.encrypts_rtp && bits & 1 == 0,
                encrypts_rtcp: usual.encrypts_rtcp && bits & 2 == 0,
                authenticates_rtp: bits & 4 == 0,
                kdr: match bits & 8 {
                    0 => KeyDerivationRate::ONCE,
                    _ => KeyDerivationRate::every_power(6).unwrap(),
                },
                ..usual
            };
            if parameters.are_sound() && !all.contains(&parameters) {
                all.push(parameters);
            }
        }
    }
    all
}

#[test]
fn what_is_sent_arrives_once_and_unchanged_over_a_lossy_path() {
    for (seed, parameters) in (0..).zip(every()) {
        let mut random = Random(seed);
        let keys = [KeyEntry::alone(random.key(parameters.suite))];
        let (mut sender, mut receiver) = pair(parameters, &keys);
        let mut on_the_way: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let (mut sequence, mut arrived, mut refused) = (random.next() as u16 & 0x7fff, 0, 0);
        for _ in 0..800 {
            // Great steps: the path wraps many times.
            sequence = sequence.wrapping_add(1 + random.below(300) as u16);
            let plain = random.rtp(7, sequence);
            let packet = sent(&mut sender, &plain).expect("its index is new");
            assert_eq!(packet.len(), plain.len() + sender.overhead());
            if random.below(10) > 0 {
                on_the_way.push((plain.clone(), packet.clone()));
            }
            if random.below(10) == 0 {
                on_the_way.push((plain, packet));
            }
            while on_the_way.len() > 4 {
                let at = random.below(on_the_way.len() as u64) as usize;
                let (plain, packet) = on_the_way.swap_remove(at);
                match opened(&mut receiver, &packet) {
                    Ok(read) => {
                        assert_eq!(read, plain);
                        arrived += 1;
                    }
                    // Without tags nobody can tell how far counters are.
                    Err(Refused::Replayed | Refused::Old) => refused += 1,
                    Err(why) => panic!("{parameters:?}: {why}"),
                }
            }
        }
        assert!(arrived > 350 && refused > 30, "{parameters:?}: {arrived} {refused}");
        let (there, here) = (sender.stream(7).unwrap(), receiver.stream(7).unwrap());
        assert!(there.highest >= here.highest && here.highest.unwrap().roc() > 0);
    }
}

#[test]
fn reports_arrive_once_and_unchanged() {
    for (seed, parameters) in (100..).zip(every()) {
        let mut random = Random(seed);
        let keys = [KeyEntry::alone(random.key(parameters.suite))];
        let (mut sender, mut receiver) = pair(parameters, &keys);
        for number in 0..150 {
            let plain = random.rtcp(number % 3);
            let packet = sent_rtcp(&mut sender, &plain).expect("its index is new");
            assert_eq!(packet.len(), plain.len() + sender.rtcp_overhead());
            assert_eq!(opened_rtcp(&mut receiver, &packet), Ok(plain));
            assert_eq!(opened_rtcp(&mut receiver, &packet), Err(Refused::Replayed));
        }
    }
}

#[test]
fn no_bit_of_a_packet_can_be_changed() {
    for (seed, parameters) in (200..).zip(every()).filter(|(_, it)| it.authenticates_rtp) {
        let mut random = Random(seed);
        let keys = [KeyEntry::alone(random.key(parameters.suite))];
        let (mut sender, mut receiver) = pair(parameters, &keys);
        let first = sent(&mut sender, &random.rtp(7, 1_000)).unwrap();
        opened(&mut receiver, &first).unwrap();
        let plain = random.rtp(7, 1_001);
        let packet = sent(&mut sender, &plain).unwrap();
        let report = random.rtcp(7);
        let sealed = sent_rtcp(&mut sender, &report).unwrap();
        let before = format!("{:?}", receiver.streams().collect::<Vec<_>>());
        for bit in 0..packet.len() * 8 {
            let mut changed = packet.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(opened(&mut receiver, &changed).is_err(), "{parameters:?}: bit {bit}");
        }
        for bit in 0..sealed.len() * 8 {
            let mut changed = sealed.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(opened_rtcp(&mut receiver, &changed).is_err(), "{parameters:?}: bit {bit}");
        }
        for cut in 0..packet.len() {
            assert!(opened(&mut receiver, &packet[..cut]).is_err());
        }
        for cut in 0..sealed.len() {
            assert!(opened_rtcp(&mut receiver, &sealed[..cut]).is_err());
        }
        let after = format!("{:?}", receiver.streams().collect::<Vec<_>>());
        assert_eq!(before, after, "a forged packet changed something");
        assert_eq!(opened(&mut receiver, &packet), Ok(plain));
        assert_eq!(opened_rtcp(&mut receiver, &sealed), Ok(report));
    }
}

const SUITE: Suite = Suite::AesCm128HmacSha1_80;
const USUAL: Parameters = Parameters::of(SUITE);

/// The index is what makes a key stream: it differs for any two packets that leave.
#[test]
fn a_second_packet_with_the_same_number_does_not_leave() {
    let mut random = Random(1);
    let (mut sender, _) = pair(USUAL, &[KeyEntry::alone(random.key(SUITE))]);
    for sequence in [5, 6, 9, 7] {
        sent(&mut sender, &random.rtp(7, sequence)).unwrap();
    }
    for sequence in [5, 7, 9] {
        let other = random.rtp(7, sequence);
        assert_eq!(sent(&mut sender, &other), Err(Refused::Replayed));
    }
    sent(&mut sender, &random.rtp(7, 200)).unwrap();
    assert_eq!(sent(&mut sender, &random.rtp(7, 8)), Err(Refused::Old));
    sent(&mut sender, &random.rtp(8, 200)).expect("another source has indices of its own");
}

#[test]
fn the_same_keys_again_change_nothing() {
    let mut random = Random(2);
    let keys = [KeyEntry::alone(random.key(SUITE))];
    let (mut sender, mut receiver) = pair(USUAL, &keys);
    for sequence in (65_000..65_536).step_by(50) {
        let packet = sent(&mut sender, &random.rtp(7, sequence as u16)).unwrap();
        opened(&mut receiver, &packet).unwrap();
    }
    let hold = sent(&mut sender, &random.rtp(8, 3)).unwrap();
    opened(&mut receiver, &hold).unwrap();
    let later = sent(&mut sender, &random.rtp(7, 10)).unwrap();
    for rollover in [Rollover::Kept, Rollover::Reset] {
        sender.rekey(USUAL, &keys, rollover).unwrap();
        receiver.rekey(USUAL, &keys).unwrap();
    }
    assert_eq!(sender.stream(7).unwrap().highest.unwrap().roc(), 1);
    opened(&mut receiver, &later).unwrap();
    assert_eq!(opened(&mut receiver, &later), Err(Refused::Replayed));
    assert_eq!(sent(&mut sender, &random.rtp(7, 10)), Err(Refused::Replayed));
}

#[test]
fn new_keys_are_followed_whether_counters_go_on_or_begin_again() {
    for (seed, rollover) in [Rollover::Kept, Rollover::Reset].into_iter().enumerate() {
        let mut random = Random(seed as u64);
        let keys = [KeyEntry::alone(random.key(SUITE))];
        let (mut sender, mut receiver) = pair(USUAL, &keys);
        for sequence in (0..100_000u32).step_by(1_000) {
            let packet = sent(&mut sender, &random.rtp(7, sequence as u16)).unwrap();
            opened(&mut receiver, &packet).unwrap();
            let report = random.rtcp(7);
            let report = sent_rtcp(&mut sender, &report).unwrap();
            opened_rtcp(&mut receiver, &report).unwrap();
        }
        let late = sent(&mut sender, &random.rtp(7, 33_500)).unwrap();
        let changed = [KeyEntry::alone(random.key(SUITE))];
        receiver.rekey(USUAL, &changed).unwrap();
        opened(&mut receiver, &late).expect("it was sent before the change");
        sender.rekey(USUAL, &changed, rollover).unwrap();
        let mut packets = Vec::new();
        for sequence in 33_501..33_600 {
            let plain = random.rtp(7, sequence);
            let packet = sent(&mut sender, &plain).unwrap();
            assert_eq!(opened(&mut receiver, &packet), Ok(plain), "{rollover:?}");
            packets.push(packet);
            let plain = random.rtcp(7);
            let report = sent_rtcp(&mut sender, &plain).unwrap();
            assert_eq!(opened_rtcp(&mut receiver, &report), Ok(plain), "{rollover:?}");
            assert!(opened_rtcp(&mut receiver, &report).is_err());
        }
        for packet in &packets {
            assert!(opened(&mut receiver, packet).is_err(), "{rollover:?}: it comes again");
        }
        let roc = u32::from(rollover == Rollover::Kept);
        assert_eq!(receiver.stream(7).unwrap().highest.unwrap().roc(), roc);
        assert!(opened(&mut receiver, &late).is_err());
    }
}

#[test]
fn counters_do_not_begin_again_under_a_key_that_was_used() {
    let mut random = Random(3);
    let mki = |value| Mki::new(value, 1);
    let entry = |key: &MasterKey, value| KeyEntry {
        key: key.clone(),
        mki: mki(value),
        allowance: Allowance::FULL,
    };
    let (one, two) = (random.key(SUITE), random.key(SUITE));
    let mut sender = Sender::new(USUAL, &[entry(&one, 1)]).unwrap();
    let both = [entry(&two, 2), entry(&one, 1)];
    assert_eq!(sender.rekey(USUAL, &both, Rollover::Reset), Err(Unusable::Used));
    sender.rekey(USUAL, &both, Rollover::Kept).unwrap();
    // The same octets for another suite give the same key stream.
    let short = Suite::AesCm128HmacSha1_32;
    let again = MasterKey::of(short, two.expose()).unwrap();
    let again = [entry(&again, 2)];
    assert_eq!(sender.rekey(Parameters::of(short), &again, Rollover::Reset), Err(Unusable::Used));
    sender.rekey(Parameters::of(short), &again, Rollover::Kept).unwrap();
    sender.rekey(USUAL, &[entry(&random.key(SUITE), 3)], Rollover::Reset).unwrap();
}

#[test]
fn a_key_that_comes_back_goes_on_or_is_refused() {
    let mut random = Random(31);
    let [a, b, c] = [(); 3].map(|()| [KeyEntry::alone(random.key(SUITE))]);
    let mut sender = Sender::new(USUAL, &a).unwrap();
    sent(&mut sender, &random.rtp(7, 1)).unwrap();
    // Where counters go on, what it was used with lies behind.
    sender.rekey(USUAL, &b, Rollover::Kept).unwrap();
    sender.rekey(USUAL, &a, Rollover::Kept).unwrap();
    assert_eq!(sent(&mut sender, &random.rtp(7, 1)), Err(Refused::Replayed));
    // Where they began again it does not.
    assert_eq!(sender.rekey(USUAL, &b, Rollover::Reset), Err(Unusable::Used));
    sender.rekey(USUAL, &c, Rollover::Reset).unwrap();
    for rollover in [Rollover::Reset, Rollover::Kept] {
        for key in [&a, &b] {
            assert_eq!(sender.rekey(USUAL, key, rollover), Err(Unusable::Used));
        }
    }
    sent(&mut sender, &random.rtp(7, 1)).expect("it is as it was");
}

#[test]
fn keys_that_are_remembered_are_bounded_and_more_never_begin_again() {
    let mut random = Random(32);
    let mut key = || [KeyEntry::alone(random.key(SUITE))];
    let mut sender = Sender::new(USUAL, &key()).unwrap();
    let size = sender.size();
    for _ in 0..PAST_KEYS_MAX {
        sender.rekey(USUAL, &key(), Rollover::Reset).unwrap();
    }
    sender.rekey(USUAL, &key(), Rollover::Kept).unwrap();
    assert_eq!(sender.rekey(USUAL, &key(), Rollover::Reset), Err(Unusable::Used));
    for _ in 0..100 {
        sender.rekey(USUAL, &key(), Rollover::Kept).expect("a call goes on");
    }
    assert!(sender.size() < size + 2_048);
}

#[test]
fn what_is_left_of_a_key_is_left_of_it_however_often_it_is_said_again() {
    let mut random = Random(34);
    let of = |key, value| KeyEntry {
        mki: Mki::new(value, 1),
        allowance: Allowance::of_lifetime(10),
        key,
    };
    let [a, b, c] = [(); 3].map(|()| random.key(SUITE));
    let (mut sender, mut receiver) = pair(USUAL, &[of(a.clone(), 1), of(b, 2)]);
    for sequence in 0..7 {
        let packet = sent(&mut sender, &random.rtp(7, sequence)).unwrap();
        opened(&mut receiver, &packet).unwrap();
    }
    let keys = [of(a, 1), of(c, 3)];
    sender.rekey(USUAL, &keys, Rollover::Kept).unwrap();
    receiver.rekey(USUAL, &keys).unwrap();
    let left = |keys: Vec<&KeyEntry>| -> Vec<u64> {
        keys.iter().map(|entry| entry.allowance.rtp).collect()
    };
    assert_eq!(left(sender.keys().collect()), [3, 10]);
    assert_eq!(left(receiver.keys().collect()), [3, 10]);
}

#[test]
fn sources_that_only_report_leave_room_for_those_that_send() {
    let mut random = Random(33);
    let (mut sender, mut receiver) = pair(USUAL, &[KeyEntry::alone(random.key(SUITE))]);
    for ssrc in 0..40 {
        let told = sent_rtcp(&mut sender, &random.rtcp(ssrc));
        assert_eq!(told.is_ok(), ssrc < RTCP_ALONE_MAX as u32);
        if let Ok(report) = told {
            opened_rtcp(&mut receiver, &report).unwrap();
        }
    }
    for ssrc in 0..STREAMS_MAX as u32 {
        let packet = sent(&mut sender, &random.rtp(ssrc, 1)).expect("there is room");
        opened(&mut receiver, &packet).expect("and at the other end");
        let report = sent_rtcp(&mut sender, &random.rtcp(ssrc)).expect("who sends may report");
        opened_rtcp(&mut receiver, &report).unwrap();
    }
}

#[test]
fn several_master_keys_are_told_apart_by_their_identifiers() {
    for (seed, suite) in (0..).zip([SUITE, Suite::AeadAes256Gcm, Suite::AesCm128HmacSha1_32]) {
        for octets in [1, 4, 128] {
            let mut random = Random(seed);
            let parameters = Parameters::of(suite);
            let entry = |random: &mut Random, value, packets| KeyEntry {
                key: random.key(suite),
                mki: Mki::new(value, octets),
                allowance: Allowance::of_lifetime(packets),
            };
            let keys = [entry(&mut random, 3, 10), entry(&mut random, 200, 20)];
            let (mut sender, mut receiver) = pair(parameters, &keys);
            for sequence in 0..30 {
                assert!(sender.left().rtp > 0);
                let plain = random.rtp(7, sequence);
                let packet = sent(&mut sender, &plain).unwrap();
                let mut unknown = packet.clone();
                let tag = suite.tag_octets();
                let behind = if suite == Suite::AeadAes256Gcm { 0 } else { tag };
                let mki = packet.len() - behind - 1;
                assert_eq!(packet[mki], if sequence < 10 { 3 } else { 200 });
                unknown[mki] = 77;
                assert_eq!(opened(&mut receiver, &unknown), Err(Refused::UnknownMki));
                assert_eq!(opened(&mut receiver, &packet), Ok(plain));
            }
            assert_eq!(sender.left().rtp, 0);
            assert_eq!(sent(&mut sender, &random.rtp(7, 30)), Err(Refused::Exhausted));
            let plain = random.rtcp(7);
            let report = sent_rtcp(&mut sender, &plain).unwrap();
            assert_eq!(opened_rtcp(&mut receiver, &report), Ok(plain));
        }
    }
}

#[test]
fn keys_that_cannot_be_told_apart_are_refused() {
    let mut random = Random(4);
    let mut entry = |mki| KeyEntry { key: random.key(SUITE), mki, allowance: Allowance::FULL };
    let wrong = [
        vec![entry(None), entry(None)],
        vec![entry(Mki::new(1, 1)), entry(None)],
        vec![entry(Mki::new(1, 1)), entry(Mki::new(1, 1))],
        vec![entry(Mki::new(1, 1)), entry(Mki::new(2, 2))],
    ];
    for keys in wrong {
        assert_eq!(Receiver::new(USUAL, &keys).unwrap_err(), Unusable::Identifiers);
    }
    let many: Vec<_> = (0..5).map(|value| entry(Mki::new(value, 1))).collect();
    assert_eq!(Sender::new(USUAL, &many).unwrap_err(), Unusable::Number);
    assert_eq!(Sender::new(USUAL, &[]).unwrap_err(), Unusable::Number);
    let other = Parameters::of(Suite::AeadAes128Gcm);
    assert_eq!(Sender::new(other, &[entry(None)]).unwrap_err(), Unusable::Parameters);
}

#[test]
fn a_direction_follows_so_many_sources_and_forged_ones_take_no_place() {
    let mut random = Random(5);
    let (mut sender, mut receiver) = pair(USUAL, &[KeyEntry::alone(random.key(SUITE))]);
    for ssrc in 0..STREAMS_MAX as u32 {
        let mut forged = random.rtp(1_000 + ssrc, 1);
        forged.extend([0; 10]);
        assert_eq!(opened(&mut receiver, &forged), Err(Refused::Forged));
        let packet = sent(&mut sender, &random.rtp(ssrc, 1)).unwrap();
        opened(&mut receiver, &packet).unwrap();
    }
    assert_eq!(receiver.streams().count(), STREAMS_MAX);
    assert_eq!(sent(&mut sender, &random.rtp(99, 1)), Err(Refused::TooManyStreams));
    let mut forged = random.rtp(99, 1);
    forged.extend([0; 10]);
    assert_eq!(opened(&mut receiver, &forged), Err(Refused::TooManyStreams));
    let packet = sent(&mut sender, &random.rtp(3, 2)).unwrap();
    opened(&mut receiver, &packet).expect("those that are known go on");
}

#[test]
fn a_receiver_that_missed_the_first_wrap_still_hears() {
    let mut random = Random(6);
    let (mut sender, mut receiver) = pair(USUAL, &[KeyEntry::alone(random.key(SUITE))]);
    sent(&mut sender, &random.rtp(7, 65_530)).unwrap();
    let plain = random.rtp(7, 4);
    let packet = sent(&mut sender, &plain).unwrap();
    assert_eq!(opened(&mut receiver, &packet), Ok(plain));
    assert_eq!(receiver.stream(7).unwrap().highest.unwrap().roc(), 1);
}

#[test]
fn what_is_no_packet_or_has_no_room_is_refused() {
    let mut random = Random(7);
    let (mut sender, mut receiver) = pair(USUAL, &[KeyEntry::alone(random.key(SUITE))]);
    let plain = random.rtp(7, 1);
    let mut tight = [&plain[..], &[0; 9]].concat();
    assert_eq!(sender.protect(&mut tight, plain.len()), Err(Refused::NoRoom));
    assert_eq!(sender.protect(&mut tight, 4_000), Err(Refused::NoRoom));
    assert_eq!(sender.protect(&mut tight, 11), Err(Refused::Malformed));
    assert_eq!(sender.protect_rtcp(&mut tight, 7), Err(Refused::Malformed));
    assert_eq!(sender.stream(7), None, "no index was spent");
    assert_eq!(receiver.unprotect(&mut [0x80; 12]), Err(Refused::Malformed));
    assert_eq!(receiver.unprotect_rtcp(&mut [0x80; 21]), Err(Refused::Malformed));
}

#[test]
fn rtcp_is_encrypted_as_was_agreed_or_refused() {
    let mut random = Random(8);
    let key = [KeyEntry::alone(random.key(SUITE))];
    let clear = Parameters { encrypts_rtcp: false, ..USUAL };
    let (mut sender, mut plain) = pair(clear, &key);
    let mut receiver = Receiver::new(USUAL, &key).unwrap();
    let report = random.rtcp(7);
    let packet = sent_rtcp(&mut sender, &report).unwrap();
    assert_eq!(packet[..report.len()], report);
    assert_eq!(opened_rtcp(&mut receiver, &packet), Err(Refused::WrongEncryption));
    assert_eq!(opened_rtcp(&mut plain, &packet), Ok(report));
}
