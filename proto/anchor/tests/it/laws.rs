//! Laws, by seed.

use crate::call::{Call, at, version};
use anchor::{Block, Change, CodecName, Dtmf, Local, Policy, Pool, Protection, Side, Srtp, Stream};
use core::time::Duration;
use machine::Time;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use std::collections::BTreeMap;

pub fn below(random: &mut ChaCha8Rng, count: usize) -> usize {
    random.next_u32() as usize % count
}

fn one<T: Copy>(random: &mut ChaCha8Rng, list: &[T]) -> T {
    list[below(random, list.len())]
}

pub fn policy(random: &mut ChaCha8Rng) -> Policy {
    let protections = [Protection::Off, Protection::Optional, Protection::Required];
    let mut policy = Policy {
        srtp: Srtp {
            protection: one(random, &protections),
            dtls: random.next_u32() & 1 == 0,
            opportunistic: random.next_u32() & 1 == 0,
            ..Srtp::default()
        },
        dtmf: one(random, Dtmf::ALL),
        bundle: random.next_u32() & 1 == 0,
        unknown: random.next_u32() & 1 == 0,
        ..Policy::default()
    };
    for name in ["opus", "G722", "AMR-WB"] {
        if random.next_u32() & 3 == 0 {
            policy.codecs.transcode.extend(CodecName::read(name.as_bytes()));
        }
    }
    policy
}

const AUDIO: [(&str, &str); 7] = [
    ("0", "PCMU/8000"),
    ("8", "PCMA/8000"),
    ("9", "G722/8000"),
    ("96", "opus/48000/2"),
    ("97", "AMR-WB/16000"),
    ("98", "G729/8000"),
    ("101", "telephone-event/8000"),
];
const KEY: &str = "WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz";

fn line(random: &mut ChaCha8Rng, port: u16) -> String {
    let profile = one(random, &["RTP/AVP", "RTP/AVP", "RTP/SAVP", "UDP/TLS/RTP/SAVPF", "RTP/AVPF"]);
    let port = if random.next_u32() & 7 == 0 { 0 } else { port };
    let mut formats: Vec<_> = AUDIO.iter().filter(|_| random.next_u32() & 1 == 0).collect();
    if formats.is_empty() {
        formats.push(&AUDIO[1]);
    }
    let numbers: Vec<_> = formats.iter().map(|(number, _)| *number).collect();
    let mut text = match random.next_u32() & 7 {
        0 => return format!("m=image {port} udptl t38\n"),
        1 => return format!("m=message {port} TCP/MSRP *\n"),
        2 => return format!("m=video {port} {profile} 99\na=rtpmap:99 VP8/90000\n"),
        _ => format!("m=audio {port} {profile} {}\n", numbers.join(" ")),
    };
    for (number, name) in formats {
        text += &format!("a=rtpmap:{number} {name}\n");
    }
    if profile == "RTP/SAVP" || random.next_u32() & 7 == 0 {
        text += &format!("a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:{KEY}\n");
    }
    if profile.starts_with("UDP") {
        text += &format!("a=fingerprint:sha-256 {}\n", vec!["11"; 32].join(":"));
        text += one(random, &["a=setup:actpass\n", "a=setup:active\n", "a=setup:passive\n", ""]);
    }
    text += one(random, &["", "", "a=sendonly\n", "a=recvonly\n", "a=inactive\n", "a=sendrecv\n"]);
    text += one(random, &["", "a=rtcp-mux\n", "a=x-own:1\n", "b=AS:80\n", "a=ptime:20\n"]);
    text
}

pub fn offer(random: &mut ChaCha8Rng, lines: usize) -> String {
    let lines: String = (0..lines).map(|at| line(random, 4_000 + 2 * at as u16)).collect();
    at(one(random, &["192.0.2.1", "192.0.2.2", "2001:db8::7", "0.0.0.0"]), &lines)
}

/// An answer as a phone would give it: some formats and keys of each stream.
pub fn answer(random: &mut ChaCha8Rng, told: &str) -> String {
    let mut lines = String::new();
    let mut keeps_key = true;
    for line in told.lines().skip_while(|line| !line.starts_with("m=")) {
        if let Some(media) = line.strip_prefix("m=") {
            let mut words: Vec<&str> = media.split(' ').collect();
            if words[1] != "0" {
                words[1] = if random.next_u32() & 7 == 0 { "0" } else { "6000" };
            }
            let keep =
                4.min(words.len()) + below(random, words.len().max(4) - 3).min(words.len() - 4);
            words.truncate(keep.max(4));
            lines += &format!("m={}\n", words.join(" "));
            keeps_key = true;
        } else if line.starts_with("a=crypto") {
            let mut words: Vec<&str> = line.split(' ').collect();
            let key = format!("inline:{KEY}");
            words[2] = &key;
            if keeps_key {
                lines += &format!("{}\n", words.join(" "));
            }
            keeps_key = false;
        } else if line == "a=setup:actpass" {
            lines += one(random, &["a=setup:active\n", "a=setup:passive\n"]);
        } else if line.starts_with("a=") && !line.starts_with("a=candidate") {
            lines += &format!("{line}\n");
        }
    }
    at("192.0.2.9", &lines)
}

fn mutate(random: &mut ChaCha8Rng, text: &str) -> String {
    let mut octets = text.as_bytes().to_vec();
    for _ in 0..=below(random, 4) {
        let start = below(random, octets.len());
        let end = (start + 1 + below(random, 24)).min(octets.len());
        match random.next_u32() % 3 {
            0 => drop(octets.drain(start..end)),
            1 => {
                let piece = octets[start..end].to_vec();
                octets.splice(start..start, piece);
            }
            _ => octets[start] = b' ' + (random.next_u32() % 95) as u8,
        }
        if octets.is_empty() {
            break;
        }
    }
    String::from_utf8_lossy(&octets).into_owned()
}

/// The port and the formats of a stream in a description.
fn said(text: &str, at: usize) -> (u16, Vec<String>) {
    let line = text.lines().filter_map(|line| line.strip_prefix("m=")).nth(at).expect("a stream");
    let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
    (words[1].parse().expect("a port"), words[3..].to_vec())
}

fn agrees(stream: &Stream, at: usize, from: Side, texts: [&str; 4]) {
    let [offered, told, answered, heard] = texts;
    let to = from.other();
    assert_eq!(stream.end(to).local.port, said(told, at).0, "{told}");
    assert_eq!(stream.end(from).local.port, said(heard, at).0, "{heard}");
    for (side, text) in [(from, offered), (to, answered)] {
        if let Some(remote) = stream.end(side).remote {
            assert_eq!(remote.port(), said(text, at).0);
        }
    }
    // Whoever sends a number gets it from what it was told; whoever gets one has asked for it.
    let asked = |side: Side| said(if side == from { offered } else { answered }, at).1;
    for payload in stream.payloads.iter().filter(|it| it.action != anchor::Action::Digit) {
        let asked = asked(payload.from.other());
        let is_asked = asked.iter().any(|number| number.parse() == Ok(payload.becomes));
        assert!(is_asked, "{payload:?} {offered} {answered}");
    }
    for number in said(heard, at).1.iter().filter(|_| stream.flow == anchor::Flow::Rtp) {
        let known =
            stream.payloads.iter().any(|it| it.from == from && it.number.to_string() == *number);
        assert!(known, "{number} of {heard}: {:?}", stream.payloads);
    }
}

#[derive(Default)]
struct Seen {
    versions: [BTreeMap<u64, String>; 2],
}

impl Seen {
    /// A version that was sent before has the same text, and none is lower than the one before.
    fn check(&mut self, to: Side, text: &str) {
        let number = version(text);
        let versions = &mut self.versions[to.index()];
        assert!(versions.last_key_value().is_none_or(|(last, _)| *last <= number), "{text}");
        let before = versions.insert(number, text.to_owned());
        assert!(before.is_none_or(|before| before == text), "{text}");
    }
}

fn round(call: &mut Call, seen: &mut Seen, random: &mut ChaCha8Rng, lines: &mut usize) -> bool {
    let from = one(random, &Side::BOTH);
    *lines = (*lines + below(random, 2)).clamp(1, 6);
    let text = offer(random, *lines);
    let text = if random.next_u32() & 7 == 0 { mutate(random, &text) } else { text };
    let Ok(told) = call.try_offer(from, &text) else {
        return false;
    };
    *lines = told.matches("m=").count();
    seen.check(from.other(), &told);
    if random.next_u32() & 7 == 0 {
        call.take_over();
    }
    if random.next_u32() & 7 == 0 {
        call.reject();
        return false;
    }
    let reply = answer(random, &told);
    let reply = if random.next_u32() & 7 == 0 { mutate(random, &reply) } else { reply };
    let before: BTreeMap<u8, Stream> =
        call.session.streams().map(|(at, stream)| (at, stream.clone())).collect();
    match call.try_answer(from.other(), 0, &reply) {
        Err(_) => {
            call.reject();
            let after = call.session.streams().map(|(at, stream)| (at, stream.clone())).collect();
            assert_eq!(before, after, "a refusal changes nothing");
            false
        }
        Ok((heard, changes)) => {
            seen.check(from, &heard);
            for (at, stream) in call.session.streams() {
                agrees(stream, at.into(), from, [&text, &told, &reply, &heard]);
                let changed = match before.get(&at) {
                    None => Some(Change::Added(at)),
                    Some(old) if old != stream => Some(Change::Changed(at)),
                    Some(_) => None,
                };
                let reported = changes
                    .iter()
                    .find(|it| **it == Change::Added(at) || **it == Change::Changed(at));
                assert_eq!(reported.copied(), changed);
            }
            if random.next_u32() & 3 > 0 {
                call.settle(0);
            }
            if random.next_u32() & 7 == 0 {
                call.take_over();
            }
            true
        }
    }
}

#[test]
fn offers_and_answers_of_any_kind_keep_versions_ports_and_streams_in_order() {
    let mut agreed = 0;
    for seed in 0..1_500 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut call = Call::seeded(policy(&mut random), policy(&mut random), seed);
        let (mut seen, mut lines) = (Seen::default(), 1);
        for _ in 0..8 {
            agreed += usize::from(round(&mut call, &mut seen, &mut random, &mut lines));
            let held: Vec<_> = call.session.locals().map(|(_, local)| local).collect();
            assert_eq!(held.len(), call.ports.taken.len(), "seed {seed}");
        }
        call.end();
    }
    assert!(agreed > 2_000, "{agreed}");
}

#[test]
fn a_pool_gives_no_pair_twice_keeps_the_quarantine_and_loses_none() {
    for seed in 0..300 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut pool = Pool::new(Duration::from_secs(5));
        let (mut now, mut taken, mut resting) = (0, Vec::new(), BTreeMap::new());
        let block = |at: u16| Block { address: at % 2, first: 10_000 + 100 * at, pairs: 8 };
        assert!(pool.add(block(0)));
        for _ in 0..400 {
            now += u64::from(random.next_u32() % 1_000);
            let at = Time::from_millis(now);
            match random.next_u32() % 16 {
                0 => drop(pool.add(block((random.next_u32() % 4) as u16))),
                1 => pool.end(block((random.next_u32() % 4) as u16)),
                2 => {
                    let block = block((random.next_u32() % 4) as u16);
                    let port = block.first + (random.next_u32() % 16) as u16;
                    let local = Local { address: block.address, port };
                    let is_ours = pool.blocks().any(|it| it == block) && port.is_multiple_of(2);
                    assert_eq!(pool.claim(local), is_ours && !taken.contains(&local));
                    if is_ours && !taken.contains(&local) {
                        taken.push(local);
                    }
                }
                3..9 => {
                    let Some(local) = pool.take(at) else { continue };
                    assert!(!taken.contains(&local), "seed {seed}");
                    let since = resting.remove(&local);
                    assert!(since.is_none_or(|since| now / 1_000 - since / 1_000 >= 5));
                    taken.push(local);
                }
                _ if taken.is_empty() => {}
                _ => {
                    let local = taken.swap_remove(below(&mut random, taken.len()));
                    assert!(pool.give_back(local, at) && !pool.give_back(local, at));
                    resting.insert(local, now);
                }
            }
            // A block that went forgets what rested in it.
            resting.retain(|local, _| {
                pool.blocks().any(|block| {
                    let range = block.first..block.first + 16;
                    block.address == local.address && range.contains(&local.port)
                })
            });
            assert_eq!(pool.in_use() as usize, taken.len());
        }
        let late = Time::from_millis(now + 60_000);
        while let Some(local) = pool.take(late) {
            taken.push(local);
        }
        let count = taken.len();
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), count, "seed {seed}");
    }
}
