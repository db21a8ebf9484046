//! By seed: whatever the batch, each back end does to the buffer what the portable one does, and
//! whoever changes an octet of a packet is refused.

use cipher::KeyLength::{Bits128, Bits192, Bits256};
use cipher::{BackEnd, Encryption, Extra, Integrity, Job, Key, Op, Outcome, Suite, run};
use proptest::prelude::*;
use std::ops::Range;

const ENCRYPTIONS: [Encryption; 10] = [
    Encryption::Null,
    Encryption::AesCtr(Bits128),
    Encryption::AesCtr(Bits192),
    Encryption::AesCtr(Bits256),
    Encryption::AesCbc(Bits128),
    Encryption::AesCbc(Bits192),
    Encryption::AesCbc(Bits256),
    Encryption::AesGcm(Bits128),
    Encryption::AesGcm(Bits192),
    Encryption::AesGcm(Bits256),
];
const INTEGRITIES: [Integrity; 5] = [
    Integrity::Null,
    Integrity::HmacSha1,
    Integrity::HmacSha256,
    Integrity::HmacSha384,
    Integrity::HmacSha512,
];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn octets(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// A packet to be, without the context of its key.
#[derive(Debug)]
struct Packet {
    suite: Suite,
    keys: [Vec<u8>; 2],
    op: Op,
    iv: [u8; 16],
    base: usize,
    aad: Range<usize>,
    data: Range<usize>,
    tag: usize,
    extra: Extra,
    tampered: bool,
}

impl Packet {
    /// A packet that begins at `base`; where it ends.
    fn new(random: &mut Random, suite: Suite, longest: usize, base: usize) -> (Self, usize) {
        let mut len = random.below(longest + 1);
        if matches!(suite.encryption(), Encryption::AesCbc(_)) {
            len &= !15;
        }
        let aad = random.of(&[0, 8, 12, 12, 12, 16, 20, 28, 70, 300]);
        let tag = suite.tag_len();
        let gap = random.of(&[0, 0, 0, 4, 8]);
        // In the order of most packets, or with the tag or the data first.
        let (aad, data, tag, end) = match random.below(8) {
            0 => (tag..tag + aad, tag + aad..tag + aad + len, 0, tag + aad + len),
            1 => (len..len + aad, 0..len, len + aad, len + aad + tag),
            _ => {
                let from = aad + gap;
                (0..aad, from..from + len, from + len + gap, from + len + gap + tag)
            }
        };
        let hmac = if suite.integrity() == Integrity::Null { 0 } else { 1 + random.below(150) };
        let mut iv: [u8; 16] = random.octets(16).try_into().expect("16 octets");
        if random.below(4) == 0 {
            // Close before an overflow of the counter, of the last 32 bits or of all.
            let ones = random.of(&[4, 16]);
            iv[16 - ones..].fill(0xff);
            iv[15] -= random.below(20) as u8;
        }
        let packet = Self {
            suite,
            keys: [random.octets(suite.key_len()), random.octets(hmac)],
            op: random.of(&[Op::Protect, Op::Unprotect]),
            iv,
            base,
            aad,
            data,
            tag,
            extra: {
                let len = random.of(&[0, 0, 4, 8, 12, 1]);
                Extra::new(&random.octets(len)).expect("short")
            },
            tampered: false,
        };
        (packet, base + end + random.below(70))
    }

    fn key(&self, back_end: BackEnd) -> Key {
        Key::with_back_end(back_end, self.suite, &self.keys[0], &self.keys[1]).expect("a key")
    }

    fn job<'k>(&self, key: &'k Key, op: Op) -> Job<'k> {
        Job {
            base: self.base,
            aad: self.aad.clone(),
            data: self.data.clone(),
            tag: self.tag,
            extra: self.extra,
            ..Job::new(key, op, self.iv)
        }
    }

    /// Changes a bit of what is authenticated, if anything is.
    fn tamper(&mut self, random: &mut Random, buffer: &mut [u8]) {
        let parts =
            [self.aad.clone(), self.data.clone(), self.tag..self.tag + self.suite.tag_len()];
        let part = &parts[random.below(3)];
        if self.suite.tag_len() > 0 && !part.is_empty() {
            buffer[self.base + part.start + random.below(part.len())] ^= 1 << random.below(8);
            self.tampered = true;
        }
    }
}

fn suite(random: &mut Random) -> Suite {
    let encryption = random.of(&ENCRYPTIONS);
    let (integrity, tag) = match encryption {
        Encryption::AesGcm(_) => (Integrity::Null, random.of(&[16, 12, 8])),
        _ => {
            let integrity = random.of(&INTEGRITIES);
            let whole = u8::try_from(integrity.octets()).expect("short");
            (integrity, if whole == 0 { 0 } else { random.of(&[4, 10, 12, 16, whole]) })
        }
    };
    Suite::new(encryption, integrity, tag).expect("a suite")
}

/// Packets and the buffer that holds them: those that arrive were protected by the portable back
/// end, and some were changed on their way.
fn batch(random: &mut Random, suites: usize) -> (Vec<Packet>, Vec<u8>) {
    let suites: Vec<_> = (0..suites).map(|_| suite(random)).collect();
    let longest = random.of(&[0, 40, 200, 700, 2048]);
    let (mut packets, mut end) = (Vec::new(), random.below(70));
    for _ in 0..1 + random.below(64) {
        let suite = random.of(&suites);
        let (packet, next) = Packet::new(random, suite, longest, end);
        packets.push(packet);
        end = next;
    }
    let mut buffer = random.octets(end);
    for packet in packets.iter_mut().filter(|it| it.op == Op::Unprotect) {
        let key = packet.key(BackEnd::Portable);
        let mut job = packet.job(&key, Op::Protect);
        run(&mut buffer, std::slice::from_mut(&mut job));
        assert_eq!(job.outcome, Outcome::Done, "{packet:?}");
        if random.below(4) == 0 {
            packet.tamper(random, &mut buffer);
        }
    }
    (packets, buffer)
}

/// Runs a batch, and looks whether anything was written outside of the buffer.
fn outcomes(packets: &[Packet], keys: &[Key], buffer: &mut [u8]) -> Vec<Outcome> {
    let jobs = packets.iter().zip(keys);
    let mut jobs: Vec<_> = jobs.map(|(packet, key)| packet.job(key, packet.op)).collect();
    let mut wide = [&[0xa5; 64][..], buffer, &[0xa5; 64]].concat();
    run(&mut wide[64..64 + buffer.len()], &mut jobs);
    let outside = wide[..64].iter().chain(&wide[64 + buffer.len()..]);
    assert!(outside.eq(&[0xa5; 128]), "outside of the buffer");
    buffer.copy_from_slice(&wide[64..64 + buffer.len()]);
    jobs.iter().map(|it| it.outcome).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn each_back_end_does_what_the_portable_one_does(seed in any::<u64>(), suites in 1..6usize) {
        let mut random = Random(seed);
        let (packets, before) = batch(&mut random, suites);
        let mut expected = before.clone();
        let keys: Vec<_> = packets.iter().map(|it| it.key(BackEnd::Portable)).collect();
        let done = outcomes(&packets, &keys, &mut expected);
        for (packet, outcome) in packets.iter().zip(&done) {
            let right = if packet.tampered { Outcome::Forged } else { Outcome::Done };
            prop_assert_eq!(*outcome, right, "{:?}", packet);
        }
        let all: Vec<_> = BackEnd::ALL.into_iter().filter(|it| it.is_available()).collect();
        for back_end in all.iter().map(Some).chain([None]) {
            // Of one back end, or of all mixed.
            let key = |it: &Packet| it.key(*back_end.unwrap_or(&random.of(&all)));
            let keys: Vec<_> = packets.iter().map(key).collect();
            let mut buffer = before.clone();
            prop_assert_eq!(&outcomes(&packets, &keys, &mut buffer), &done);
            for packet in &packets {
                let all = packet.base..buffer.len();
                prop_assert!(buffer[all.clone()] == expected[all], "{:?} {:?}", back_end, packet);
            }
            prop_assert!(buffer == expected, "{:?}: octets before all packets", back_end);
        }
    }

    #[test]
    fn what_was_protected_comes_back_and_what_was_forged_stays_as_it_came(seed in any::<u64>()) {
        let mut random = Random(seed);
        for back_end in BackEnd::ALL.into_iter().filter(|it| it.is_available()) {
            let (mut packets, plain) = batch(&mut random, 4);
            packets.iter_mut().for_each(|it| (it.op, it.tampered) = (Op::Protect, false));
            let keys: Vec<_> = packets.iter().map(|it| it.key(back_end)).collect();
            let mut buffer = plain.clone();
            let done = outcomes(&packets, &keys, &mut buffer);
            prop_assert!(done.iter().all(|it| *it == Outcome::Done));
            for packet in &mut packets {
                packet.op = Op::Unprotect;
                if random.below(3) == 0 {
                    packet.tamper(&mut random, &mut buffer);
                }
            }
            let sent = buffer.clone();
            let done = outcomes(&packets, &keys, &mut buffer);
            for (packet, outcome) in packets.iter().zip(done) {
                let data = packet.base + packet.data.start..packet.base + packet.data.end;
                let (right, octets) = match packet.tampered {
                    true => (Outcome::Forged, &sent),
                    false => (Outcome::Done, &plain),
                };
                prop_assert_eq!(outcome, right, "{:?}", packet);
                prop_assert!(buffer[data.clone()] == octets[data], "{:?} {:?}", back_end, packet);
            }
        }
    }
}
