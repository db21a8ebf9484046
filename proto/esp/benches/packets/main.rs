//! Packets of 500 octets in transport mode in batches of 32, of 10,000 associations one after the
//! other: no cache holds their keys next to the core. Beside it what the ciphers alone take in
//! AWS-LC, whose code is OpenSSL's, and in Intel's multi-buffer library.
//!
//! ```text
//!   cargo bench -p tandem-esp [--features ipsec-mb] -- [part of a line's name]
//! ```
//!
//! What is printed is the median of several runs, and the best; all lines take turns.
#![allow(missing_docs)]
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "it measures and prints")]

#[cfg(feature = "ipsec-mb")]
#[allow(unsafe_code, reason = "it calls a library")]
mod ipsec_mb;

use aws_lc_rs::cipher::{AES_128, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::{aead, hmac};
use esp::{
    Algorithm, Encryption, HEADROOM, Inbound, Integrity, KeyLength, Material, Outbound, Packet,
    Parameters, Report, Spi, TAILROOM, protect, unprotect,
};
use std::hint::black_box;
use std::time::{Duration, Instant};

const ASSOCIATIONS: usize = 10_000;
const BATCH: usize = 32;
const LENGTH: usize = 500;
/// Octets between two packets: no power of two, whose places in the cache would be the same.
const STRIDE: usize = 704;
const RUNS: usize = 9;
const RUN: Duration = Duration::from_millis(60);

fn octets<const N: usize>(seed: usize) -> [u8; N] {
    std::array::from_fn(|at| (seed * 131 + at * 31 + (seed >> 8)).to_le_bytes()[0])
}

/// A line: its name, what does a batch, and what a packet took in each run.
struct Line {
    name: String,
    call: Box<dyn FnMut()>,
    runs: Vec<f64>,
}

impl Line {
    /// Calls for a while.
    fn run(&mut self) {
        let (began, mut calls) = (Instant::now(), 0u32);
        while began.elapsed() < RUN {
            (0..16).for_each(|_| (self.call)());
            calls += 16;
        }
        self.runs.push(began.elapsed().as_nanos() as f64 / f64::from(calls) / BATCH as f64);
    }

    fn print(&mut self) {
        self.runs.sort_by(f64::total_cmp);
        let (median, best, name) = (self.runs[RUNS / 2], self.runs[0], &self.name);
        let rate = 1_000.0 / median;
        println!("{name:<44} {median:>7.1} ns a packet, best {best:>7.1}: {rate:>5.2} Mpps");
    }
}

/// What is measured. All lines take turns: what else runs on the machine is beside all of them.
struct Bench {
    asked: Option<String>,
    lines: Vec<Line>,
}

impl Bench {
    fn line(&mut self, name: &str, mut call: impl FnMut() + 'static) {
        if self.asked.as_ref().is_some_and(|it| !name.contains(it.as_str())) {
            return;
        }
        for _ in 0..ASSOCIATIONS / BATCH {
            call();
        }
        self.lines.push(Line { name: name.to_owned(), call: Box::new(call), runs: Vec::new() });
    }

    fn run(&mut self) {
        for _ in 0..RUNS {
            self.lines.iter_mut().for_each(Line::run);
        }
        self.lines.iter_mut().for_each(Line::print);
    }

    fn ours(&mut self, name: &str, algorithm: Algorithm) {
        let mut ends = Ends::new(algorithm, ASSOCIATIONS);
        self.line(&format!("{name}, protect"), move || ends.protect());
        let mut ends = Ends::new(algorithm, BATCH);
        self.line(&format!("{name}, protect, 32 associations"), move || ends.protect());
        let mut ends = Ends::new(algorithm, ASSOCIATIONS);
        self.line(&format!("{name}, protect and unprotect"), move || {
            ends.protect();
            unprotect(&mut ends.into[..], &mut ends.buffer, &mut ends.packets, &mut ends.report);
            assert!(ends.packets.iter().all(|it| it.verdict.is_ok()));
        });
    }

    fn aws_lc(&mut self) {
        let key = |at| aead::UnboundKey::new(&aead::AES_128_GCM, &octets::<16>(at));
        let keys: Vec<_> =
            (0..ASSOCIATIONS).map(|at| aead::LessSafeKey::new(key(at).expect("a key"))).collect();
        let mut buffer = vec![5; STRIDE * BATCH];
        let mut next = 0;
        self.line("GCM, AWS-LC's cipher alone", move || {
            for packet in buffer.chunks_mut(STRIDE) {
                let (header, rest) = packet.split_at_mut(8);
                let (data, rest) = rest.split_at_mut(LENGTH);
                let nonce = aead::Nonce::assume_unique_for_key([7; 12]);
                let aad = aead::Aad::from(header);
                let tag = keys[next].seal_in_place_separate_tag(nonce, aad, data);
                rest[..16].copy_from_slice(tag.expect("it fits").as_ref());
                next = (next + 1) % ASSOCIATIONS;
            }
        });
        let keys: Vec<_> = (0..ASSOCIATIONS)
            .map(|at| {
                let key = UnboundCipherKey::new(&AES_128, &octets::<16>(at)).expect("a key");
                let hmac = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &octets::<20>(at));
                (EncryptingKey::cbc(key).expect("a mode"), hmac)
            })
            .collect();
        let (mut buffer, mut next) = (vec![5; STRIDE * BATCH], 0);
        self.line("CBC, SHA1, AWS-LC's ciphers alone", move || {
            for packet in buffer.chunks_mut(STRIDE) {
                let (key, hmac) = &keys[next];
                let iv = EncryptionContext::Iv128(FixedLength::from(&[7; 16]));
                let data = &mut packet[24..24 + 496];
                key.less_safe_encrypt(data, iv).expect("whole blocks");
                let tag = hmac::sign(hmac, &packet[..24 + 496]);
                packet[24 + 496..][..12].copy_from_slice(&tag.as_ref()[..12]);
                next = (next + 1) % ASSOCIATIONS;
            }
        });
    }
}

/// Both ends of all associations.
struct Ends {
    out: Vec<Outbound>,
    into: Vec<Inbound>,
    buffer: Vec<u8>,
    packets: Vec<Packet>,
    report: Report,
    next: usize,
}

impl Ends {
    fn new(algorithm: Algorithm, count: usize) -> Self {
        let parameters =
            |at: usize| Parameters::new(Spi(256 + u32::try_from(at).expect("few")), algorithm);
        let (encryption, integrity) = (algorithm.encryption(), algorithm.integrity());
        let keys = |at: usize| (octets::<64>(at), octets::<64>(at + 7));
        let material = |keys: &([u8; 64], [u8; 64])| {
            let (a, b) = (
                keys.0[..encryption.key_octets()].to_vec(),
                keys.1[..integrity.key_octets()].to_vec(),
            );
            (a, b)
        };
        let out = |at| {
            let (a, b) = material(&keys(at));
            let material = Material { encryption: &a, integrity: &b };
            Outbound::new(parameters(at), material, [3; 16]).expect("it fits")
        };
        let into = |at| {
            let (a, b) = material(&keys(at));
            let material = Material { encryption: &a, integrity: &b };
            Inbound::new(parameters(at), material).expect("it fits")
        };
        Self {
            out: (0..count).map(out).collect(),
            into: (0..count).map(into).collect(),
            buffer: vec![0; BATCH * STRIDE],
            packets: Vec::new(),
            report: Report::default(),
            next: 0,
        }
    }

    /// Packets of the next associations, protected.
    fn protect(&mut self) {
        self.packets.clear();
        for number in 0..BATCH {
            let room = number * STRIDE..(number + 1) * STRIDE;
            let at = room.start + HEADROOM;
            let header = &mut self.buffer[at..at + 20];
            header.fill(0);
            header[0] = 0x45;
            header[2..4].copy_from_slice(&500u16.to_be_bytes());
            (header[8], header[9]) = (64, 253);
            self.packets.push(Packet::new(self.next, room, at, LENGTH));
            self.next = (self.next + 1) % self.out.len();
        }
        protect(&mut self.out[..], &mut self.buffer, &mut self.packets, &mut self.report);
        assert!(black_box(&self.packets).iter().all(|it| it.verdict.is_ok()));
    }
}

const _: () = assert!(HEADROOM + LENGTH + TAILROOM <= STRIDE);

fn main() {
    let asked = std::env::args().skip(1).find(|it| !it.starts_with("--"));
    let mut bench = Bench { asked, lines: Vec::new() };
    let cbc = Encryption::AesCbc(KeyLength::Bits128);
    let cbc_256 = Encryption::AesCbc(KeyLength::Bits256);
    let gcm = Encryption::AesGcm16(KeyLength::Bits128);
    let gmac = Integrity::AesGmac(KeyLength::Bits128);
    for (name, encryption, integrity) in [
        ("GCM", gcm, Integrity::Combined),
        ("CBC, SHA1", cbc, Integrity::HmacSha1_96),
        ("CBC-256, SHA256", cbc_256, Integrity::HmacSha256_128),
        ("null, SHA1", Encryption::Null, Integrity::HmacSha1_96),
        ("null, GMAC", Encryption::Null, gmac),
    ] {
        bench.ours(name, Algorithm::new(encryption, integrity).expect("they go together"));
    }
    bench.aws_lc();
    #[cfg(feature = "ipsec-mb")]
    ipsec_mb::measure(&mut bench);
    bench.run();
}
