//! A standby goes on: nothing that the one before it used is used again, and receivers follow.

use crate::{Random, opened, opened_rtcp, pair, sent, sent_rtcp};
use srtp::{
    KeyEntry, Parameters, Past, Receiver, Refused, Rollover, SKIP_MAX, Sender, Skip, StreamState,
    Suite, Unusable,
};
use std::collections::BTreeSet;

const SUITE: Suite = Suite::AesCm128HmacSha1_80;
const USUAL: Parameters = Parameters::of(SUITE);

/// The number that a packet has on the wire.
fn number(packet: &[u8]) -> u16 {
    u16::from_be_bytes([packet[2], packet[3]])
}

#[test]
fn a_standby_uses_no_index_again_and_its_receiver_loses_nothing_more() {
    for seed in 0..60 {
        let mut random = Random(seed);
        let keys = [KeyEntry::alone(random.key(SUITE))];
        let (mut sender, mut receiver) = pair(USUAL, &keys);
        let mut sequence = random.next() as u16 & 0x7fff;
        let mut used = BTreeSet::new();
        for takeover in 0..6 {
            let told = random.below(400);
            let mut state = Vec::new();
            for step in 0..told + 1 + random.below(50) {
                sequence = sequence.wrapping_add(1 + random.below(60) as u16);
                let plain = random.rtp(7, sequence);
                let packet = sent(&mut sender, &plain).expect("its index is new");
                let index = sender.stream(7).unwrap().highest.unwrap();
                assert!(used.insert(index), "{index:?} twice (seed {seed}, {takeover})");
                assert_eq!(index.sequence(), number(&packet));
                let mut read = opened(&mut receiver, &packet).expect("it follows");
                read[2..4].copy_from_slice(&plain[2..4]);
                assert_eq!(read, plain, "nothing but the number has moved");
                let report = random.rtcp(7);
                let sealed = sent_rtcp(&mut sender, &report).unwrap();
                assert_eq!(opened_rtcp(&mut receiver, &sealed), Ok(report));
                if step == told {
                    state = sender.streams().collect();
                }
            }
            // At most 50 packets since it told, of at most 60 indices each.
            let skip = Skip::by(50 * 61).unwrap();
            sender = Sender::resume(USUAL, &keys, &state, skip).unwrap();
        }
    }
}

#[test]
fn packets_that_both_may_have_sent_leave_once() {
    let mut random = Random(9);
    let keys = [KeyEntry::alone(random.key(SUITE))];
    let mut active = Sender::new(USUAL, &keys).unwrap();
    for sequence in 100..200 {
        sent(&mut active, &random.rtp(7, sequence)).unwrap();
    }
    let state: Vec<StreamState> = active.streams().collect();
    sent(&mut active, &random.rtp(7, 200)).unwrap();
    let mut standby = Sender::resume(USUAL, &keys, &state, Skip::by(10).unwrap()).unwrap();
    for sequence in 190..200 {
        assert!(sent(&mut standby, &random.rtp(7, sequence)).is_err(), "{sequence} was told");
    }
    // The copy of what the active one sent last leaves with another number.
    let packet = sent(&mut standby, &random.rtp(7, 200)).unwrap();
    assert_eq!(number(&packet), 210);
    // A source that nobody told of begins ahead as well.
    let packet = sent(&mut standby, &random.rtp(8, 1)).unwrap();
    assert_eq!(number(&packet), 11);
}

#[test]
fn a_planned_change_moves_nothing() {
    let mut random = Random(10);
    let keys = [KeyEntry::alone(random.key(SUITE))];
    let (mut active, mut receiver) = pair(USUAL, &keys);
    for sequence in 65_500..65_536 {
        let packet = sent(&mut active, &random.rtp(7, sequence as u16)).unwrap();
        opened(&mut receiver, &packet).unwrap();
    }
    let entries: Vec<_> = active.keys().cloned().collect();
    let state: Vec<_> = active.streams().collect();
    drop(active);
    let mut standby = Sender::resume(USUAL, &entries, &state, Skip::NONE).unwrap();
    assert_eq!(standby.streams().collect::<Vec<_>>(), state);
    assert_eq!(sent(&mut standby, &random.rtp(7, 65_535)), Err(Refused::Replayed));
    let plain = random.rtp(7, 0);
    let packet = sent(&mut standby, &plain).unwrap();
    assert_eq!(opened(&mut receiver, &packet), Ok(plain));
}

#[test]
fn a_receiver_goes_on_where_the_other_one_stopped() {
    for seed in 0..20 {
        let mut random = Random(seed);
        let keys = [KeyEntry::alone(random.key(SUITE))];
        let (mut sender, mut active) = pair(USUAL, &keys);
        let mut state: Vec<StreamState> = Vec::new();
        let (mut packets, mut reports) = (Vec::new(), Vec::new());
        for step in 0..300u64 {
            let packet = sent(&mut sender, &random.rtp(7, (step * 500) as u16)).unwrap();
            opened(&mut active, &packet).unwrap();
            packets.push(packet);
            let report = sent_rtcp(&mut sender, &random.rtcp(7)).unwrap();
            opened_rtcp(&mut active, &report).unwrap();
            reports.push(report);
            if step == 280 {
                state = active.streams().collect();
            }
        }
        // What is told later and in whatever order ends in the same state.
        let mut merged = state[0];
        let now: Vec<_> = active.streams().collect();
        merged.merge(&now[0]);
        assert_eq!(merged, now[0]);
        merged.merge(&state[0]);
        assert_eq!(merged, now[0]);
        let mut standby = Receiver::resume(USUAL, &keys, &state).unwrap();
        assert_eq!(standby.streams().collect::<Vec<_>>(), state);
        for (packet, report) in packets.iter().zip(&reports).take(281) {
            assert!(opened(&mut standby, packet).is_err());
            assert!(opened_rtcp(&mut standby, report).is_err());
        }
        let plain = random.rtp(7, (300u64 * 500) as u16);
        let packet = sent(&mut sender, &plain).unwrap();
        assert_eq!(opened(&mut standby, &packet), Ok(plain), "the rollover counter is known");
    }
}

#[test]
fn a_skip_is_stated_and_bounded() {
    assert_eq!(Skip::by(0), None);
    assert_eq!(Skip::by(SKIP_MAX + 1), None);
    assert!(Skip::by(1).is_some() && Skip::by(SKIP_MAX).is_some());
    let mut random = Random(11);
    let keys = [KeyEntry::alone(random.key(SUITE))];
    // The last indices of all are not passed.
    let highest = srtp::Index::of(srtp::Index::MAX.number() - 5);
    let state = StreamState { ssrc: 7, highest, rtcp: Some(srtp::RTCP_INDEX_MAX - 1), moved: 0 };
    let mut standby = Sender::resume(USUAL, &keys, &[state], Skip::by(10).unwrap()).unwrap();
    for sequence in [0, 1, 5, 65_530, 65_535, 40_000] {
        assert!(sent(&mut standby, &random.rtp(7, sequence)).is_err());
    }
    assert_eq!(sent_rtcp(&mut standby, &random.rtcp(7)), Err(Refused::Exhausted));
}

/// Whatever a standby sends of a stream that nobody told of, however shortly before the wrap it
/// began, the one before it has not sent.
#[test]
fn a_stream_that_began_just_before_its_numbers_wrap_uses_no_index_twice() {
    for (began, sent_before) in [(65_530u32, 20), (65_535, 1), (65_500, 100), (0, 3), (64_000, 90)]
    {
        let mut random = Random(u64::from(began));
        let keys = [KeyEntry::alone(random.key(SUITE))];
        let mut active = Sender::new(USUAL, &keys).unwrap();
        let mut used = BTreeSet::new();
        let mut sequence = began as u16;
        for _ in 0..sent_before {
            sent(&mut active, &random.rtp(7, sequence)).unwrap();
            assert!(used.insert(active.stream(7).unwrap().highest.unwrap()));
            sequence = sequence.wrapping_add(1);
        }
        // Nobody was told of the stream, nor is a third one of how the second took it up.
        let mut state = Vec::new();
        for _ in 0..2 {
            let skip = Skip::by(100).unwrap();
            let mut standby = Sender::resume(USUAL, &keys, &state, skip).unwrap();
            let mut receiver = Receiver::new(USUAL, &keys).unwrap();
            for step in 0..70_000 {
                let packet = sent(&mut standby, &random.rtp(7, sequence)).unwrap();
                let index = standby.stream(7).unwrap().highest.unwrap();
                assert!(used.insert(index), "{index:?} twice, of one begun at {began}");
                if state.is_empty() {
                    opened(&mut receiver, &packet).expect("whoever heard it from here on follows");
                }
                sequence = sequence.wrapping_add(1);
                if step == 200 && state.is_empty() {
                    state = standby.streams().collect();
                    break;
                }
            }
        }
    }
}

#[test]
fn a_receiver_follows_a_stream_over_what_a_standby_leaves_out() {
    let mut random = Random(12);
    let keys = [KeyEntry::alone(random.key(SUITE))];
    let skip = Skip::by(SKIP_MAX).unwrap();
    let mut standby = Sender::resume(USUAL, &keys, &[], skip).unwrap();
    let mut receiver = Receiver::new(USUAL, &keys).unwrap();
    let mut last = None;
    for sequence in 10..=65_000u16 {
        let packet = sent(&mut standby, &random.rtp(7, sequence)).unwrap();
        opened(&mut receiver, &packet).unwrap();
        let highest = receiver.stream(7).unwrap().highest;
        assert!(highest > last);
        last = highest;
    }
    assert_eq!(last.unwrap().roc(), 1);
}

#[test]
fn reports_of_a_stream_that_nobody_told_of_begin_ahead_too() {
    let mut random = Random(13);
    let keys = [KeyEntry::alone(random.key(SUITE))];
    let mut active = Sender::new(USUAL, &keys).unwrap();
    for _ in 0..10 {
        sent_rtcp(&mut active, &random.rtcp(7)).unwrap();
    }
    let mut standby = Sender::resume(USUAL, &keys, &[], Skip::by(10).unwrap()).unwrap();
    sent_rtcp(&mut standby, &random.rtcp(7)).unwrap();
    assert_eq!(active.stream(7).unwrap().rtcp, Some(9));
    assert_eq!(standby.stream(7).unwrap().rtcp, Some(10));
}

#[test]
fn a_standby_knows_which_keys_were_used_and_how_far_its_own_skip_went() {
    let mut random = Random(14);
    let [first, second, third] = [(); 3].map(|()| [KeyEntry::alone(random.key(SUITE))]);
    let mut active = Sender::resume(USUAL, &first, &[], Skip::by(50).unwrap()).unwrap();
    active.rekey(USUAL, &second, Rollover::Kept).unwrap();
    let mut octets = Vec::new();
    active.past().expect("keys and a skip").write(&mut octets);
    let past = Past::read(&octets).expect("it was written");
    let exposed = first[0].key.expose();
    assert!(!octets.windows(4).any(|window| exposed.windows(4).any(|key| key == window)));
    let state: Vec<_> = active.streams().collect();
    let standby = Sender::resume(USUAL, &second, &state, Skip::NONE).unwrap();
    let mut standby = standby.with_past(past);
    let packet = sent(&mut standby, &random.rtp(9, 1)).unwrap();
    assert_eq!(number(&packet), 51, "the skip of the one before counts on");
    assert_eq!(standby.rekey(USUAL, &first, Rollover::Reset), Err(Unusable::Used));
    standby.rekey(USUAL, &third, Rollover::Reset).unwrap();
    for cut in 0..octets.len() {
        assert!(Past::read(&octets[..cut]).is_none() || cut % 8 == 4, "{cut}");
    }
}

#[test]
fn one_that_advances_uses_no_index_that_another_one_used() {
    let mut random = Random(15);
    let keys = [KeyEntry::alone(random.key(SUITE))];
    let mut other = Sender::new(USUAL, &keys).unwrap();
    for sequence in 1..=40 {
        sent(&mut other, &random.rtp(9, sequence)).unwrap();
        sent_rtcp(&mut other, &random.rtcp(7)).unwrap();
    }
    let told: Vec<_> = other.streams().collect();
    let mut sender = Sender::new(USUAL, &keys).unwrap();
    sent(&mut sender, &random.rtp(9, 5)).unwrap();
    sent(&mut sender, &random.rtp(8, 5)).unwrap();
    sender.advance(&told, Skip::NONE);
    assert!(sent(&mut sender, &random.rtp(9, 40)).is_err());
    assert_eq!(number(&sent(&mut sender, &random.rtp(9, 41)).unwrap()), 41);
    sent_rtcp(&mut sender, &random.rtcp(7)).unwrap();
    assert_eq!(sender.stream(7).unwrap().rtcp, Some(40));
    // What it was told it had passed already: nothing moves.
    sender.advance(&told, Skip::NONE);
    assert_eq!(number(&sent(&mut sender, &random.rtp(9, 42)).unwrap()), 42);
    assert_eq!(number(&sent(&mut sender, &random.rtp(8, 4)).unwrap()), 4, "late, and new");
    sender.advance(&told, Skip::by(100).unwrap());
    for (ssrc, sequence, left) in [(9, 43, 143), (8, 6, 106), (3, 1, 101)] {
        assert_eq!(number(&sent(&mut sender, &random.rtp(ssrc, sequence)).unwrap()), left);
    }
}

#[test]
fn two_pasts_become_one_that_forgets_nothing() {
    let mut random = Random(16);
    let mut pasts = Vec::new();
    let mut used = Vec::new();
    for rounds in [3, 40, 40] {
        let mut key = || [KeyEntry::alone(random.key(SUITE))];
        let first = key();
        let mut sender = Sender::new(USUAL, &first).unwrap();
        used.push(first);
        for _ in 0..rounds {
            let next = key();
            sender.rekey(USUAL, &next, Rollover::Kept).unwrap();
            used.push(next);
        }
        used.pop();
        pasts.push(sender.past().unwrap());
    }
    let fresh = [(); 2].map(|()| [KeyEntry::alone(random.key(SUITE))]);
    let mut sender = Sender::new(USUAL, &fresh[0]).unwrap();
    pasts[..2].iter().for_each(|past| sender.remember(past));
    for key in &used[..43] {
        assert_eq!(sender.rekey(USUAL, key, Rollover::Reset), Err(Unusable::Used));
    }
    sender.remember(&pasts[2]);
    let why = sender.rekey(USUAL, &fresh[1], Rollover::Reset);
    assert_eq!(why, Err(Unusable::Used), "more than can be remembered");
}
