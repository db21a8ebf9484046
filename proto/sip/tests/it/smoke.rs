//! Fuzz smoke: mutations of the torture messages, by seed. Nothing may panic, and what is
//! accepted obeys the laws. `TANDEM_FUZZ_MESSAGES` sets how many messages (default 200,000).

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use sip::{Framing, Header, Message, NameAddr, Uri, Via, frame, view};

const MESSAGES: u64 = 200_000;
const SEED: u64 = 0x5350;
const MUTATIONS_MAX: u32 = 6;
/// Octets that grammars of SIP hang on.
const SHARP: &[u8] = b"\r\n \t:;,<>\"\\@=?[]%/()0\x00\x7F\xFF";

fn corpus() -> Vec<Vec<u8>> {
    let mut corpus = Vec::new();
    for directory in ["rfc4475", "rfc5118"] {
        let path = format!("{}/tests/vectors/{directory}", env!("CARGO_MANIFEST_DIR"));
        let mut paths: Vec<_> = std::fs::read_dir(path)
            .expect("the directory stands")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        paths.sort();
        corpus.extend(paths.iter().map(|path| std::fs::read(path).expect("a file")));
    }
    corpus
}

fn below(random: &mut ChaCha8Rng, limit: usize) -> usize {
    (random.next_u64() % limit.max(1) as u64) as usize
}

/// One small damage: an octet set, a piece dropped, doubled, moved in from another message.
fn mutate(bytes: &mut Vec<u8>, other: &[u8], random: &mut ChaCha8Rng) {
    let at = below(random, bytes.len());
    let length = below(random, 40).min(bytes.len() - at);
    match random.next_u32() % 6 {
        0 if !bytes.is_empty() => bytes[at] = SHARP[below(random, SHARP.len())],
        1 if !bytes.is_empty() => bytes[at] = random.next_u32() as u8,
        2 => bytes.insert(at, SHARP[below(random, SHARP.len())]),
        3 => drop(bytes.drain(at..at + length)),
        4 => {
            let piece = bytes[at..at + length].to_vec();
            bytes.splice(at..at, piece);
        }
        _ => {
            let from = below(random, other.len());
            let piece = other[from..(from + length).min(other.len())].to_vec();
            bytes.splice(at..at, piece);
        }
    }
}

/// Reads all there is to read; says whether the message was accepted.
fn read_all(bytes: &[u8]) -> bool {
    if let Framing::Message(length) = frame(bytes) {
        assert!(length <= sip::MESSAGE_BYTES_MAX);
    }
    let message = match Message::parse(bytes) {
        Ok(message) => message,
        Err(violation) => {
            assert!(violation.at <= bytes.len(), "{violation}");
            let mut out = Vec::new();
            if sip::refuse(bytes, &violation, b"t", &mut out).is_some() {
                assert!(out.starts_with(b"SIP/2.0 "));
            }
            return false;
        }
    };
    let raw: usize = message.lines().map(|line| line.raw.len()).sum();
    assert_eq!(message.start_line().len() + raw, message.head_end());
    assert_eq!(message.head_end() + 2 + message.body().len(), message.raw().len());
    let again = Message::parse(message.raw()).expect("a message without its excess is a message");
    assert_eq!(again.raw(), message.raw());
    if let Err(violation) = message.check() {
        assert!(violation.at <= message.raw().len(), "{violation}");
    }
    for line in message.lines() {
        assert!(message.named(line.name).any(|value| value == line.value));
        message.values(line.header).for_each(read_value);
    }
    assert!(message.values(Header::Via).next().is_some());
    true
}

fn read_value(value: &[u8]) {
    if let Ok(address) = NameAddr::parse(value) {
        let _ = (address.tag(), address.expires_s(), address.q_thousandths(), address.reg_id());
        let _ = (address.instance(), address.is_outbound());
        if let Ok(uri) = Uri::parse(address.uri) {
            let same = uri;
            assert!(uri == same);
            let _ = (uri.digits().count(), uri.ipv6(), uri.is_phone());
        }
    }
    let _ = (Via::parse(value), view::privacy(value), view::rseq(value), view::min_se(value));
    let _ = (view::RAck::parse(value), view::Replaces::parse(value), view::Event::parse(value));
    let _ = (view::SubscriptionState::parse(value), view::Reason::parse(value));
    let _ = (view::RetryAfter::parse(value), view::SessionExpires::parse(value));
}

#[test]
fn no_mutated_message_makes_the_parser_panic() {
    let count = std::env::var("TANDEM_FUZZ_MESSAGES")
        .map_or(MESSAGES, |text| text.parse().expect("TANDEM_FUZZ_MESSAGES is a number"));
    let corpus = corpus();
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let mut accepted: u64 = 0;
    let mut bytes = Vec::new();
    for _ in 0..count {
        bytes.clear();
        bytes.extend_from_slice(&corpus[below(&mut random, corpus.len())]);
        let other = below(&mut random, corpus.len());
        for _ in 0..=random.next_u32() % MUTATIONS_MAX {
            mutate(&mut bytes, &corpus[other], &mut random);
        }
        accepted += u64::from(read_all(&bytes));
    }
    assert!(accepted > count / 20, "only {accepted} of {count} were accepted: too much damage");
    assert!(accepted < count - count / 20, "{accepted} of {count} were accepted: no damage");
}
