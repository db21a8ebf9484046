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

#![allow(unsafe_code, reason = "loads, stores and instructions that not every processor has")]

mod aes_block;
mod back_end;
mod job;
mod key;
mod portable;
mod suite;
#[cfg(target_arch = "x86_64")]
mod wide;

pub use aes_block::Aes;
pub use back_end::BackEnd;
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
