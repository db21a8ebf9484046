//! What a session controller and a media controller say to each other.

use crate::call::Call;
use crate::laws::{answer, below, offer, policy};
use anchor::row::{
    Done, Envelope, Event, HEAD_OCTETS, Load, MESSAGE_OCTETS_MAX, Message, Quality, Standing,
    Statistics, StreamId, read, write,
};
use anchor::{Block, Guard, Side, Stream, Trace};
use core::net::IpAddr;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use srtp::dtls::{Fingerprint, Hash};
use std::collections::BTreeMap;

/// Streams that calls of any kind agree on.
fn streams(seed: u64) -> Vec<Stream> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut call = Call::seeded(policy(&mut random), policy(&mut random), seed);
    let Ok(told) = call.try_offer(Side::A, &offer(&mut random, 3)) else { return Vec::new() };
    let _ = call.try_answer(Side::B, 0, &answer(&mut random, &told));
    let mut streams: Vec<_> = call.session.streams().map(|(_, it)| it.clone()).collect();
    for end in streams.iter_mut().flat_map(|stream| &mut stream.ends) {
        end.latching_anywhere = random.next_u32().is_multiple_of(2);
        let hosts: [IpAddr; 2] = [[192, 0, 2, 7].into(), [0x2001, 0, 0, 0, 0, 0, 0, 7].into()];
        end.signaller = hosts.get(below(&mut random, 3)).copied();
    }
    streams
}

fn stream_id(call: u64) -> StreamId {
    StreamId { call, line: 1 }
}

fn messages() -> Vec<Message> {
    let stream = stream_id(0x0102_0304_0506_0708);
    let statistics =
        Statistics { packets: 1 << 40, octets: 7, lost: 1, dropped: 0, jitter_us: 250 };
    let events = [
        Event::Latched("[2001:db8::1]:4000".parse().expect("a place")),
        Event::Latched("192.0.2.1:4000".parse().expect("a place")),
        Event::OneWay,
        Event::TimedOut,
        Event::Digit(16, 160),
        Event::Quality(Quality {
            statistics,
            round_trip_us: 1,
            r_tenths: 932,
            mos_hundredths: 441,
        }),
        Event::Unprotected(u32::MAX),
    ];
    let addresses = ["192.0.2.1", "2001:db8::1"].map(|ip| ip.parse().expect("an address"));
    let addresses: Vec<(u16, IpAddr)> = (0..).zip(addresses).collect();
    let fingerprint = Some(Box::new(Fingerprint::of(Hash::Sha256, b"certificate")));
    let blocks = vec![Block { address: 3, first: 65_534, pairs: 1 }];
    let mut all = vec![
        Message::Hello { version: 1, name: "msc-1".into(), epoch: u64::MAX, fingerprint: None },
        Message::Hello { version: 1, name: "msc-1".into(), epoch: 0, fingerprint },
        Message::Challenge { nonce: [7; 32] },
        Message::Prove { nonce: [9; 32], proofs: vec![[1; 32].into(), [2; 32].into()] },
        Message::Lease { group: "access".into(), pairs: 4_096 },
        Message::Grant { group: "access".into(), is_v6: true, addresses, blocks },
        Message::Remove { stream, generation: 9 },
        Message::Begin,
        Message::End,
        Message::Play { stream, end: Side::B, serial: 7, digit: 11, ms: 100 },
        Message::Ask { stream },
        Message::Report { stream, statistics: None },
        Message::Report { stream, statistics: Some([statistics, Statistics::default()]) },
        Message::Load(Load { streams: 1, is_draining: true, ..Load::default() }),
        Message::Load(Load { traces: true, ..Load::default() }),
        Message::Ack { number: 0 },
    ];
    all.extend(events.map(|event| Message::Event { stream, end: Side::A, event }));
    for seed in 0..60 {
        let trace =
            if seed % 2 == 0 { Trace::of(seed, b"a84b4c76e66710") } else { Trace::default() };
        all.extend(streams(seed).into_iter().map(|what| Message::Put {
            stream,
            generation: 3,
            what: Box::new(Stream { trace: trace.clone(), ..what }),
        }));
    }
    all
}

#[test]
fn every_message_is_read_as_it_was_written_and_not_before_it_is_whole() {
    let (mut guards, mut longest) = ([0; 3], 0);
    for message in messages() {
        if let Message::Put { what, .. } = &message {
            for end in &what.ends {
                guards[match end.guard {
                    Guard::None => 0,
                    Guard::Keys { .. } => 1,
                    Guard::Dtls { .. } => 2,
                }] += 1;
            }
        }
        let envelope = Envelope { number: 7, message };
        let mut text = Vec::new();
        write(&envelope, &mut text).expect("short enough");
        longest = longest.max(text.len());
        for cut in 0..text.len() {
            assert_eq!(read(&text[..cut]), Ok(None));
        }
        assert_eq!(read(&text), Ok(Some((envelope, text.len()))));
    }
    assert!(guards.iter().all(|count| *count > 3), "{guards:?}");
    // A stream with keys on both ends and a dozen payload types.
    assert!(longest < 1_500, "{longest}");
}

#[test]
fn what_is_changed_on_its_way_is_refused_or_is_another_message() {
    let all = messages();
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let mut refused = 0;
    for round in 0..20_000 {
        let message = all[round % all.len()].clone();
        let mut text = Vec::new();
        write(&Envelope { number: 1, message }, &mut text).expect("short enough");
        for _ in 0..=below(&mut random, 3) {
            let at = below(&mut random, text.len());
            text[at] = random.next_u32() as u8;
        }
        match read(&text) {
            Err(_) => refused += 1,
            Ok(None) => {}
            Ok(Some((Envelope { message: Message::Unknown, .. }, _))) => {}
            Ok(Some((envelope, _))) => {
                let mut again = Vec::new();
                write(&envelope, &mut again).expect("short enough");
                assert_eq!(read(&again), Ok(Some((envelope, again.len()))));
            }
        }
    }
    assert!(refused > 1_000, "{refused}");
}

#[test]
fn lengths_are_bounded_and_later_kinds_are_skipped() {
    let too_long = (MESSAGE_OCTETS_MAX as u32 + 1).to_be_bytes();
    assert!(read(&too_long).is_err());
    assert!(read(&[0, 0, 0, 8]).is_err());
    let mut text = Vec::new();
    write(&Envelope { number: 5, message: Message::Begin }, &mut text).expect("short");
    text[4] = 200;
    let skipped = Envelope { number: 5, message: Message::Unknown };
    assert_eq!(read(&text), Ok(Some((skipped, HEAD_OCTETS))));
    let group = "x".repeat(70_000).into();
    let long = Envelope { number: 1, message: Message::Lease { group, pairs: 1 } };
    let before = text.clone();
    assert!(write(&long, &mut text).is_err());
    assert_eq!(text, before);
}

#[test]
fn a_media_controller_has_what_its_session_controller_says_whatever_comes_twice() {
    for seed in 0..300 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut said: BTreeMap<StreamId, (u32, u32)> = BTreeMap::new();
        let mut standing = Standing::default();
        let (mut generation, mut held) = (0, BTreeMap::new());
        let mut note = |id: StreamId, done: Done<u32>| match done {
            Done::Added => assert!(held.insert(id, ()).is_none()),
            Done::Changed(_) => assert!(held.contains_key(&id)),
            Done::Removed(_) => assert!(held.remove(&id).is_some()),
            Done::Nothing => {}
        };
        for _ in 0..200 {
            let id = stream_id(u64::from(random.next_u32() % 8));
            match random.next_u32() % 8 {
                0..4 => {
                    generation += 1;
                    let value = random.next_u32();
                    said.insert(id, (generation, value));
                    for _ in 0..=random.next_u32() % 2 {
                        note(id, standing.put(id, generation, value));
                    }
                }
                4..6 => {
                    if let Some((generation, _)) = said.remove(&id) {
                        note(id, standing.remove(id, generation));
                        note(id, standing.remove(id, generation));
                    }
                }
                // The connection broke: things happened, then everything is said again.
                _ => {
                    for _ in 0..random.next_u32() % 4 {
                        let id = stream_id(u64::from(random.next_u32() % 8));
                        generation += 1;
                        if random.next_u32() & 1 == 0 {
                            said.insert(id, (generation, random.next_u32()));
                        } else {
                            said.remove(&id);
                        }
                    }
                    standing.begin();
                    for (id, (generation, value)) in &said {
                        note(*id, standing.put(*id, *generation, *value));
                    }
                    for (id, value) in standing.end() {
                        note(id, Done::Removed(value));
                    }
                    assert!(standing.end().is_empty());
                }
            }
            let has: BTreeMap<_, _> = standing.iter().map(|it| (it.0, (it.1, *it.2))).collect();
            assert_eq!(has, said, "seed {seed}");
        }
        assert_eq!(held.len(), standing.len());
    }
}

#[test]
fn another_epoch_counts_generations_anew_and_what_is_not_said_again_has_its_time() {
    let mut standing = Standing::default();
    assert_eq!(standing.put(stream_id(1), 9, 'a'), Done::Added);
    assert_eq!(standing.put(stream_id(2), 9, 'b'), Done::Added);
    assert_eq!(standing.put(stream_id(1), 1, 'c'), Done::Nothing);
    standing.renew();
    standing.begin();
    assert_eq!(standing.put(stream_id(1), 1, 'c'), Done::Changed('a'));
    assert_eq!(standing.end(), []);
    assert_eq!([1, 2].map(|n| standing.is_former(stream_id(n))), [false, true]);
    assert_eq!(standing.end_former(), [(stream_id(2), 'b')]);
    assert!(!standing.has_former());
    standing.begin();
    assert_eq!(standing.end(), [(stream_id(1), 'c')]);
}
