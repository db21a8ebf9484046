//! Packets of voice under a key each: G.729 (32 octets), G.711 (172 and 180) and long ones, alone
//! and in batches, by each back end and by what others offer; and with so many keys that no cache
//! holds them.
//!
//! ```text
//!   cargo bench -p tandem-cipher [--features ipsec-mb] -- [part of a line's name]
//! ```
//!
//! What is printed is the best of many short runs, a packet: on a machine that others use too, the
//! mean tells of them. Clocks are those of the time-stamp counter.
#![allow(missing_docs)]
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "it measures and prints")]
#![allow(unsafe_code, reason = "it reads the time-stamp counter")]

#[cfg(feature = "ipsec-mb")]
mod ipsec_mb;

use aws_lc_rs::cipher::{AES_128, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::{aead, hmac};
use cipher::KeyLength::Bits128;
use cipher::{BackEnd, Encryption, Extra, Integrity, Job, Key, Op, Suite, run};
use std::hint::black_box;
use std::time::{Duration, Instant};

const HEADER: usize = 12;
const STRIDE: usize = 2048;
const BATCHES: [usize; 4] = [1, 8, 32, 256];
const PAYLOADS: [usize; 4] = [32, 172, 180, 1400];
/// Keys of a machine with many calls, and packets that arrive together.
const CALLS: usize = 65_536;
const ARRIVED: usize = 32;
/// A run takes about so long, and the best of all runs in that time counts.
const RUN: Duration = Duration::from_micros(20);
const TIME: Duration = Duration::from_millis(100);

const CM: Encryption = Encryption::AesCtr(Bits128);
const GCM: Encryption = Encryption::AesGcm(Bits128);

fn octets<const N: usize>(seed: usize) -> [u8; N] {
    std::array::from_fn(|at| (seed * 131 + at * 31 + (seed >> 8)) as u8)
}

fn clocks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of 64 bits has the instruction.
    return unsafe { std::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// Nanoseconds and clocks of one call, at best.
fn best(mut call: impl FnMut()) -> (f64, f64) {
    let began = Instant::now();
    call();
    let calls = (RUN.as_nanos() / began.elapsed().as_nanos().max(1)).max(1);
    let mut best = (f64::MAX, f64::MAX);
    let began = Instant::now();
    while began.elapsed() < TIME {
        let from = (Instant::now(), clocks());
        for _ in 0..calls {
            call();
        }
        let clocks = (clocks() - from.1) as f64 / calls as f64;
        let nanoseconds = from.0.elapsed().as_nanos() as f64 / calls as f64;
        best = (best.0.min(nanoseconds), best.1.min(clocks));
    }
    best
}

/// What is measured: a name, and whether its line was asked for.
struct Bench {
    asked: Option<String>,
}

impl Bench {
    fn line(&self, name: &str, (payload, batch): (usize, usize), call: impl FnMut()) {
        let name = format!("{name}, {payload} octets, batch of {batch}");
        if self.asked.as_ref().is_some_and(|it| !name.contains(it.as_str())) {
            return;
        }
        let (nanoseconds, clocks) = best(call);
        let (ns, clocks) = (nanoseconds / batch as f64, clocks / batch as f64);
        println!("{name:<66} {ns:>8.1} ns {clocks:>8.0} clocks a packet");
    }

    fn ours(&self, back_end: BackEnd, suite: Suite, op: Op, shape: (usize, usize)) {
        let (payload, batch) = shape;
        let key = |at| {
            let hmac: &[u8] =
                if suite.integrity() == Integrity::Null { &[] } else { &octets::<20>(at) };
            let octets = &octets::<16>(at)[..suite.key_len()];
            Key::with_back_end(back_end, suite, octets, hmac).expect("a key")
        };
        let keys: Vec<_> = (0..batch).map(key).collect();
        let job = |(at, key): (usize, _)| Job {
            base: at * STRIDE,
            aad: 0..HEADER,
            data: HEADER..HEADER + payload,
            tag: HEADER + payload,
            extra: if suite.tag_len() == 16 { Extra::NONE } else { Extra::from(7) },
            ..Job::new(key, Op::Protect, [at as u8; 16])
        };
        let mut jobs: Vec<_> = keys.iter().enumerate().map(job).collect();
        let mut buffer = vec![5; STRIDE * batch];
        let encryption = match suite.encryption() {
            Encryption::AesGcm(_) => "GCM",
            Encryption::AesCbc(_) => "CBC",
            Encryption::AesCtr(_) => "CM",
            Encryption::Null => "null",
        };
        let name = format!("{encryption}, {:?}, {op:?} {back_end:?}", suite.integrity());
        // What was protected is taken back before it is protected again, and half of the time
        // counted; so the tag is always right.
        if op == Op::Unprotect {
            let halves = || {
                for op in [Op::Protect, Op::Unprotect] {
                    jobs.iter_mut().for_each(|job| job.op = op);
                    run(black_box(&mut buffer), black_box(&mut jobs));
                }
            };
            return self.line(&format!("{name} after Protect"), shape, halves);
        }
        self.line(&name, shape, || run(black_box(&mut buffer), black_box(&mut jobs)));
    }

    /// Each batch takes the next ones of very many keys.
    fn many_calls(&self, suite: Suite, payload: usize) {
        let name = format!("{:?}, {CALLS} keys", suite.encryption());
        if self.asked.as_ref().is_some_and(|it| !name.contains(it.as_str())) {
            return;
        }
        let hmac: &[u8] = if suite.integrity() == Integrity::Null { &[] } else { &[7; 20] };
        let key = |at| Key::new(suite, &octets::<16>(at)[..suite.key_len()], hmac).expect("a key");
        let keys: Vec<_> = (0..CALLS).map(key).collect();
        // An odd step goes through all keys, and no two neighbours are in one batch.
        let job = |at: usize| Job {
            base: at % ARRIVED * STRIDE,
            aad: 0..HEADER,
            data: HEADER..HEADER + payload,
            tag: HEADER + payload,
            ..Job::new(&keys[at * 25_033 % CALLS], Op::Protect, [at as u8; 16])
        };
        let mut jobs: Vec<_> = (0..CALLS).map(job).collect();
        let mut buffer = vec![5; STRIDE * ARRIVED];
        let mut next = 0;
        self.line(&name, (payload, ARRIVED), || {
            run(black_box(&mut buffer), black_box(&mut jobs[next..next + ARRIVED]));
            next = (next + ARRIVED) % CALLS;
        });
        self.line(&format!("{name} fetched ahead"), (payload, ARRIVED), || {
            let later = (next + ARRIVED) % CALLS;
            jobs[later..later + ARRIVED].iter().for_each(|job| job.key.prefetch());
            run(black_box(&mut buffer), black_box(&mut jobs[next..next + ARRIVED]));
            next = later;
        });
    }

    fn aws_lc_gcm(&self, (payload, batch): (usize, usize)) {
        let key = |at| aead::UnboundKey::new(&aead::AES_128_GCM, &octets::<16>(at));
        let key = |at| aead::LessSafeKey::new(key(at).expect("a key"));
        let keys: Vec<_> = (0..batch).map(key).collect();
        let mut buffer = vec![5; STRIDE * batch];
        self.line("GCM, Null, Protect AWS-LC", (payload, batch), || {
            for (key, packet) in keys.iter().zip(buffer.chunks_mut(STRIDE)) {
                let (header, rest) = packet.split_at_mut(HEADER);
                let (data, rest) = rest.split_at_mut(payload);
                let nonce = aead::Nonce::assume_unique_for_key([7; 12]);
                let tag = key.seal_in_place_separate_tag(nonce, aead::Aad::from(header), data);
                rest[..16].copy_from_slice(tag.expect("it fits").as_ref());
            }
        });
    }

    fn aws_lc_cm(&self, (payload, batch): (usize, usize)) {
        let key = |at| {
            let key = UnboundCipherKey::new(&AES_128, &octets::<16>(at)).expect("a key");
            let hmac = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &octets::<20>(at));
            (EncryptingKey::ctr(key).expect("a mode"), hmac)
        };
        let keys: Vec<_> = (0..batch).map(key).collect();
        let mut buffer = vec![5; STRIDE * batch];
        self.line("CM, HmacSha1, Protect AWS-LC", (payload, batch), || {
            for ((key, hmac), packet) in keys.iter().zip(buffer.chunks_mut(STRIDE)) {
                let iv = EncryptionContext::Iv128(FixedLength::from(&[7; 16]));
                let data = &mut packet[HEADER..HEADER + payload];
                key.less_safe_encrypt(data, iv).expect("it fits");
                let mut code = hmac::Context::with_key(hmac);
                code.update(&packet[..HEADER + payload]);
                code.update(&[0; 4]);
                let tag = code.sign();
                packet[HEADER + payload..][..10].copy_from_slice(&tag.as_ref()[..10]);
            }
        });
    }
}

fn main() {
    let asked = std::env::args().skip(1).find(|it| !it.starts_with("--"));
    let bench = Bench { asked };
    let suite =
        |encryption, integrity, tag| Suite::new(encryption, integrity, tag).expect("a suite");
    let cm = suite(CM, Integrity::HmacSha1, 10);
    let gcm = suite(GCM, Integrity::Null, 16);
    let code = suite(Encryption::Null, Integrity::HmacSha1, 10);
    let bare = suite(CM, Integrity::Null, 0);
    for shape in PAYLOADS.into_iter().flat_map(|it| BATCHES.map(|of| (it, of))) {
        for back_end in BackEnd::ALL.into_iter().filter(|it| it.is_available()) {
            bench.ours(back_end, cm, Op::Protect, shape);
            bench.ours(back_end, cm, Op::Unprotect, shape);
            bench.ours(back_end, code, Op::Protect, shape);
            bench.ours(back_end, bare, Op::Protect, shape);
            bench.ours(back_end, gcm, Op::Protect, shape);
            bench.ours(back_end, gcm, Op::Unprotect, shape);
        }
        bench.aws_lc_cm(shape);
        bench.aws_lc_gcm(shape);
        #[cfg(feature = "ipsec-mb")]
        ipsec_mb::measure(&bench, shape);
    }
    bench.many_calls(cm, 172);
    bench.many_calls(gcm, 172);
}
