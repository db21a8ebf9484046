//! What is written, refused and told to the media plane, octet for octet, over calls by seed and
//! over kept findings of the fuzz target: a change of it is meant, and changes [`BEFORE`].

use crate::call::Call;
use crate::laws::{answer, below, offer, policy};
use anchor::row::write_stream;
use anchor::{CodecName, Fork, Heard, Ice, Kinds, Origin, Policy, RtcpMux, Side};
use core::fmt::Write;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use xxhash_rust::xxh3::xxh3_64;

/// Digests of what was written: of calls, 100 seeds each, and of all findings.
const BEFORE: [u64; 13] = [
    0x5f7e_98a9_1cc9_5a73,
    0x24d0_953b_e98d_3f6f,
    0x146c_302e_d7a7_96b2,
    0x97e9_6bd3_0631_f7d9,
    0xacc2_8e5d_126a_244a,
    0xcb13_d772_33ba_ade9,
    0x791a_c389_17e4_bdf0,
    0x2916_5835_038c_658a,
    0xa19e_af9a_a874_7882,
    0xa4c2_4548_2da4_46ed,
    0x230d_be68_99ee_c8e5,
    0xa694_9180_ad4a_982a,
    0x4ee2_f02e_168d_f47b,
];

/// A policy with what the laws leave as it is.
fn wide(random: &mut ChaCha8Rng) -> Policy {
    let mut policy = policy(random);
    let bits = random.next_u32();
    policy.ice = [Ice::Follow, Ice::Remove, Ice::Accept, Ice::Offer][bits as usize & 3];
    policy.rtcp_mux =
        [RtcpMux::Follow, RtcpMux::Off, RtcpMux::Accept, RtcpMux::Offer][(bits >> 2) as usize & 3];
    policy.bandwidth.police = bits & 16 != 0;
    policy.other = bits & 32 != 0;
    policy.rtcp_attribute = bits & 64 != 0;
    policy.origin = [Origin::Own, Origin::Pass, Origin::PassAtOwnAddress][(bits >> 7) as usize % 3];
    if bits >> 12 & 7 == 0 {
        policy.bandwidth.kbps_max = Some(64);
    }
    if bits >> 15 & 7 == 0 {
        policy.codecs.deny.extend(CodecName::read(b"PCMU"));
    }
    if bits >> 18 & 7 == 0 {
        policy.codecs.mask.extend(CodecName::read(b"G729"));
    }
    if bits >> 21 & 7 == 0 {
        policy.kinds = Kinds { video: false, ..policy.kinds };
    }
    if bits >> 24 & 7 == 0 {
        policy.packet_ms = Some(40);
    }
    policy
}

/// Lines that make a description richer.
fn rich(random: &mut ChaCha8Rng, text: &str) -> String {
    const LINES: [&str; 14] = [
        "a=ice-ufrag:abcd\r\na=ice-pwd:asecretpasswordof22chr\r\n\
         a=candidate:1 1 UDP 1 192.0.2.1 9 typ host",
        "a=mid:one",
        "a=mid:two",
        "a=ssrc:1234 cname:x",
        "a=rtcp:4011 IN IP4 192.0.2.77",
        "a=rtcp:4011",
        "a=rtcp-fb:* nack",
        "a=rtcp-fb:96 nack pli",
        "a=fmtp:96 useinbandfec=1",
        "a=fmtp:101 0-16",
        "a=rtpmap:100 red/8000\r\na=fmtp:100 0/8",
        "b=TIAS:64000",
        "c=IN IP4 192.0.2.44",
        "a=label:7",
    ];
    let mut told = String::new();
    for line in text.split_inclusive("\r\n") {
        if line.starts_with("t=") && random.next_u32() & 3 == 0 {
            told += "b=AS:500\r\n";
            told += line;
            told += "a=group:BUNDLE one two\r\na=x-head:1\r\na=sendonly\r\n";
            continue;
        }
        told += line;
        if line.starts_with("m=") || line.starts_with("a=rtpmap") {
            while random.next_u32() & 3 == 0 {
                told += LINES[below(random, LINES.len())];
                told += "\r\n";
            }
        }
    }
    told
}

fn note(call: &Call, said: &mut Vec<u8>, what: &str) {
    said.extend_from_slice(what.as_bytes());
    for (line, stream) in call.session.streams() {
        said.push(line);
        write_stream(stream, said);
    }
}

/// A call of a few offers and answers.
fn calls(seed: u64, said: &mut Vec<u8>) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut call = Call::seeded(wide(&mut random), wide(&mut random), seed);
    let mut lines = 1 + below(&mut random, 3);
    for _ in 0..3 {
        let from = if random.next_u32() & 1 == 0 { Side::A } else { Side::B };
        lines += below(&mut random, 2);
        let text = offer(&mut random, lines);
        let text = if random.next_u32() & 1 == 0 { rich(&mut random, &text) } else { text };
        let told = match call.try_offer(from, &text) {
            Ok(told) => told,
            Err(why) => {
                note(&call, said, &format!("{why:?}"));
                continue;
            }
        };
        note(&call, said, &told);
        for fork in 0..1 + below(&mut random, 2) as u16 {
            let text = answer(&mut random, &told);
            let text = if random.next_u32() & 1 == 0 { rich(&mut random, &text) } else { text };
            match call.try_answer(from.other(), fork, &text) {
                Ok((told, changes)) => note(&call, said, &format!("{told}{changes:?}")),
                Err(why) => note(&call, said, &format!("{why:?}")),
            }
        }
        match random.next_u32() % 3 {
            0 => call.reject(),
            1 => drop(call.settle(0)),
            _ => {}
        }
        let mut record = Vec::new();
        call.session.record(&mut record);
        said.extend(record);
    }
}

/// A finding, as the fuzz target reads it.
fn finding(octets: &[u8], seed: u64, said: &mut Vec<u8>) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut call = Call::seeded(wide(&mut random), wide(&mut random), seed);
    for text in octets.get(2..).unwrap_or_default().split(|octet| *octet == 0).take(32) {
        let Some((&how, text)) = text.split_first() else {
            call.reject();
            continue;
        };
        let from = if how & 1 == 0 { Side::A } else { Side::B };
        let heard = Heard { fork: Fork(u16::from(how >> 4)), ..Heard::new(from, text) };
        let mut out = Vec::new();
        let done = call.with(|session, means| {
            if how & 2 == 0 {
                session.offer(heard, means, &mut out).map(|()| Vec::new())
            } else {
                session.answer(heard, means, &mut out)
            }
        });
        said.extend(out);
        note(&call, said, &format!("{done:?}"));
        if how & 4 != 0 {
            call.settle(u16::from(how >> 4));
        }
    }
}

#[test]
fn what_is_written_is_what_was_written_before() {
    let mut now = Vec::new();
    for hundred in 0..12 {
        let mut said = Vec::new();
        (0..100).for_each(|seed| calls(hundred * 100 + seed, &mut said));
        assert!(said.len() > 100_000);
        now.push(xxh3_64(&said));
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/findings");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").map(|it| it.expect("a file").path()).collect();
    paths.sort();
    let mut said = Vec::new();
    for path in paths {
        let octets = std::fs::read(path).expect("a file");
        for seed in 0..40 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut changed = octets.clone();
            for _ in 0..seed.min(3) {
                let at = below(&mut random, changed.len());
                changed[at] = random.next_u32() as u8;
            }
            finding(&changed, seed, &mut said);
        }
    }
    now.push(xxh3_64(&said));
    let mut text = String::new();
    now.iter().for_each(|digest| write!(text, "{digest:#018x}, ").expect("memory"));
    assert!(now == BEFORE, "{text}");
}
