//! Ciphers and authentication codes over batches of packets with a key each.
//!
//! ```text
//! Suite + octets of a key ─→ Key ─┐
//! iv, aad, data, tag, extra ──────┴→ Job, Job, Job … + one buffer ─→ run ─→ Outcome of each
//! ```
//!
//! A batch holds packets of different streams: packets are short, and only several at once fill
//! the lanes of a wide processor. Nothing here knows a protocol: what an IV is made of, how long a
//! tag is and where it stands says who calls.
//!
//! A tag is compared in constant time, and nothing is decrypted before its tag was found right.
//! What [`Key`] holds is overwritten when it is dropped; round keys that a batch makes for itself
//! are left on the stack, where the next batch writes over them.
//!
//! # Back ends
//!
//! [`BackEnd::Wide`] needs AVX-512, VAES and VPCLMULQDQ; [`BackEnd::Portable`] runs everywhere. The
//! latter is made of RustCrypto's crates: AWS-LC is twice as fast in GCM and no faster in the rest,
//! but has no tags of 8 and 12 octets, and no contexts that can be kept small.
//!
//! Nanoseconds a packet of 172 octets, protected, at best, on one core of a Zen 4 with a time-stamp
//! counter of 2.6 GHz (`cargo bench -p tandem-cipher`):
//!
//! | AES-CM-128, HMAC-SHA1-80 | alone | 8 | 32 | 256 | 32 of 65,536 keys | octets of a key |
//! |---|---|---|---|---|---|---|
//! | wide | 380 | 149 | 98 | 101 | 108 | 104 |
//! | portable (RustCrypto) | 362 | 361 | 363 | 362 | | 1200 |
//! | AWS-LC | 436 | 382 | 384 | 396 | | |
//! | libipsec-mb 1.3 | 831 | 222 | 132 | 117 | | |
//!
//! | AES-GCM-128 | alone | 8 | 32 | 256 | 32 of 65,536 keys | octets of a key |
//! |---|---|---|---|---|---|---|
//! | wide | 75 | 61 | 62 | 63 | 73 | 104 |
//! | portable (RustCrypto) | 235 | 234 | 234 | 236 | | above 1200 |
//! | AWS-LC | 120 | 110 | 109 | 109 | | |
//! | libipsec-mb 1.3 | 76 | 69 | 69 | 68 | | 1008 |
//!
//! Round keys are made for each packet anew. Kept in the context they made keys of 256 octets, and
//! a packet took 88 ns (GCM 52) while all keys were in the cache, but 175 (138) with 65,536 of
//! them: of many calls it is the key that is waited for. libipsec-mb is measured with the feature
//! `ipsec-mb` and is no back end: it wins only in GCM with few keys, by a few nanoseconds.

#![allow(unsafe_code, reason = "loads, stores and instructions that not every processor has")]

mod aes_block;
mod back_end;
mod fetch;
mod job;
mod key;
mod portable;
mod suite;
#[cfg(target_arch = "x86_64")]
mod wide;

pub use aes_block::Aes;
pub use back_end::BackEnd;
pub use fetch::fetch;
pub use job::{EXTRA_MAX, Extra, Job, Op, Outcome};
pub use key::Key;
pub use suite::{Encryption, Integrity, KeyLength, Suite, Unfit};

use key::Schedule;

/// Runs a batch in one buffer. Jobs of a batch may not lie over each other; where they do, the
/// results are octets without a meaning.
///
/// What became of each stands in its [`Job::outcome`]. A job fails alone.
pub fn run(buffer: &mut [u8], jobs: &mut [Job<'_>]) {
    #[cfg(target_arch = "x86_64")]
    wide::run(buffer, jobs);
    for job in jobs {
        if let Schedule::Portable(schedule) = job.key.schedule() {
            job.outcome = match job.places(buffer.len()) {
                Some(places) => schedule.run(buffer, job, &places),
                None => Outcome::Malformed,
            };
        }
    }
}

/// Runs one job.
pub fn run_one(buffer: &mut [u8], job: &mut Job<'_>) -> Outcome {
    run(buffer, std::slice::from_mut(job));
    job.outcome
}
