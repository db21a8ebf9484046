//! Cipher block chaining of packets of all lengths and all keys together: what each back end makes
//! of them is what the portable one makes of each alone.

use cipher::KeyLength::{Bits128, Bits192, Bits256};
use cipher::{BackEnd, Encryption, Integrity, Job, Key, Op, Outcome, Suite, run, run_one};

/// Blocks of packets: none, the same of all, and all kinds.
fn blocks(kind: usize, at: usize) -> usize {
    match kind {
        0 => 31,
        1 => at % 5,
        2 => (at * 37 + 11) % 90,
        _ => usize::from(at == 0) * 200 + 1,
    }
}

#[test]
fn packets_that_are_encrypted_together_are_as_if_each_were_alone() {
    for back_end in BackEnd::ALL.into_iter().filter(|it| it.is_available()) {
        for (kind, count) in
            (0..4).flat_map(|kind| [1, 2, 3, 15, 16, 17, 40, 100].map(|it| (kind, it)))
        {
            let key = |back_end, at: usize| {
                let length = [Bits128, Bits128, Bits256, Bits192][at * 7 / 3 % 4];
                let (integrity, tag): (_, u8) =
                    [(Integrity::HmacSha1, 12), (Integrity::Null, 0)][at % 2];
                let suite =
                    Suite::new(Encryption::AesCbc(length), integrity, tag).expect("a suite");
                let octets: Vec<u8> = (0..length.octets()).map(|it| (it * 5 + at) as u8).collect();
                let hmac: &[u8] = if tag == 0 { &[] } else { &[at as u8; 20] };
                Key::with_back_end(back_end, suite, &octets, hmac).expect("a key")
            };
            let keys: Vec<_> = (0..count).map(|at| key(back_end, at)).collect();
            let alone: Vec<_> = (0..count).map(|at| key(BackEnd::Portable, at)).collect();
            let mut base = 3;
            let mut jobs = Vec::new();
            for (at, key) in keys.iter().enumerate() {
                let data = 8..8 + 16 * blocks(kind, at);
                let tag = data.end;
                jobs.push(Job {
                    base,
                    aad: 0..8,
                    data,
                    tag,
                    ..Job::new(key, Op::Protect, [at as u8; 16])
                });
                base += tag + 20;
            }
            let mut buffer: Vec<u8> = (0..base).map(|at| (at * 7 + at / 251) as u8).collect();
            let plain = buffer.clone();
            let mut expected = buffer.clone();
            for (job, key) in jobs.iter().zip(&alone) {
                let outcome = run_one(&mut expected, &mut Job { key, ..job.clone() });
                assert_eq!(outcome, Outcome::Done);
            }
            run(&mut buffer, &mut jobs);
            assert!(jobs.iter().all(|it| it.outcome == Outcome::Done));
            assert!(buffer == expected, "{back_end:?}, {kind}, {count}");
            jobs.iter_mut().for_each(|it| it.op = Op::Unprotect);
            run(&mut buffer, &mut jobs);
            for job in &jobs {
                assert_eq!(job.outcome, Outcome::Done);
                let data = job.base + job.data.start..job.base + job.data.end;
                assert!(buffer[data.clone()] == plain[data]);
            }
        }
    }
}
