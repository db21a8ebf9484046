//! What a job may ask for, and what is refused.

use cipher::KeyLength::Bits128;
use cipher::{
    BackEnd, Encryption, Extra, Integrity, Job, Key, Op, Outcome, Suite, Unfit, run, run_one,
};

const GCM: Encryption = Encryption::AesGcm(Bits128);
const CTR: Encryption = Encryption::AesCtr(Bits128);
const CBC: Encryption = Encryption::AesCbc(Bits128);

fn key(encryption: Encryption, integrity: Integrity, tag: u8) -> Key {
    let suite = Suite::new(encryption, integrity, tag).expect("a suite");
    let hmac: &[u8] = if integrity == Integrity::Null { &[] } else { &[9; 20] };
    Key::new(suite, &[7; 16], hmac).expect("a key")
}

#[test]
fn a_key_of_another_length_than_its_suite_says_is_refused() {
    let suite = Suite::new(CTR, Integrity::HmacSha1, 10).expect("a suite");
    assert_eq!(Key::new(suite, &[0; 32], &[0; 20]).err(), Some(Unfit::KeyLength));
    assert_eq!(Key::new(suite, &[0; 16], &[]).err(), Some(Unfit::IntegrityKey));
    let suite = Suite::new(GCM, Integrity::Null, 16).expect("a suite");
    assert_eq!(Key::new(suite, &[0; 16], &[0; 20]).err(), Some(Unfit::IntegrityKey));
}

#[test]
fn a_key_does_not_show_itself() {
    let shown = format!("{:?}", key(CTR, Integrity::HmacSha1, 10));
    assert!(shown.contains("AesCtr") && !shown.contains('7') && !shown.contains('9'), "{shown}");
}

#[test]
fn a_range_outside_of_the_buffer_or_over_another_is_refused_and_changes_nothing() {
    let key = key(CTR, Integrity::HmacSha1, 10);
    let ranges = [
        (0, 0..12, 12..50, 55),
        (1, 0..12, 12..50, 54),
        (usize::MAX, 0..12, 12..50, 50),
        (0, 0..12, 12..50, usize::MAX),
        (0, 0..12, 12..usize::MAX, 50),
        (0, 0..12, 12..65, 50),
        (0, 0..12, 11..50, 50),
        (0, 0..12, 12..51, 50),
        (0, 0..12, 12..40, 3),
        #[expect(clippy::reversed_empty_ranges, reason = "it is what is refused")]
        (0, 12..0, 12..50, 50),
    ];
    for (base, aad, data, tag) in ranges {
        for op in [Op::Protect, Op::Unprotect] {
            let mut buffer = [3; 64];
            let ranges = Job { base, aad: aad.clone(), data: data.clone(), tag, ..bare(&key, op) };
            assert_eq!(run_one(&mut buffer, &mut ranges.clone()), Outcome::Malformed, "{ranges:?}");
            assert_eq!(buffer, [3; 64]);
        }
    }
}

fn bare(key: &Key, op: Op) -> Job<'_> {
    Job::new(key, op, [1; 16])
}

#[test]
fn chaining_takes_whole_blocks_only() {
    let key = key(CBC, Integrity::Null, 0);
    for (length, outcome) in [(0, Outcome::Done), (16, Outcome::Done), (17, Outcome::Malformed)] {
        let mut job = Job { data: 0..length, ..bare(&key, Op::Protect) };
        assert_eq!(run_one(&mut [3; 64], &mut job), outcome);
    }
}

#[test]
fn a_job_of_a_batch_fails_alone() {
    let key = key(GCM, Integrity::Null, 16);
    let mut buffer = [5; 4 * 100];
    let job = |base, op| Job { base, aad: 0..12, data: 12..60, tag: 60, ..bare(&key, op) };
    let mut jobs: Vec<_> = (0..4).map(|at| job(at * 100, Op::Protect)).collect();
    run(&mut buffer, &mut jobs);
    assert!(jobs.iter().all(|job| job.outcome == Outcome::Done));
    buffer[100 + 70] ^= 1;
    let forged = buffer[100..200].to_vec();
    jobs.iter_mut().for_each(|job| job.op = Op::Unprotect);
    jobs[2].tag = 1000;
    run(&mut buffer, &mut jobs);
    let outcomes: Vec<_> = jobs.iter().map(|job| job.outcome).collect();
    assert_eq!(outcomes, [Outcome::Done, Outcome::Forged, Outcome::Malformed, Outcome::Done]);
    assert_eq!(buffer[100..200], forged, "nothing of a forged packet is decrypted");
    assert_eq!(buffer[..60], [5; 60]);
}

#[test]
fn extra_octets_are_authenticated_as_if_they_stood_behind_the_others() {
    for (encryption, integrity) in
        [(CTR, Integrity::HmacSha1), (GCM, Integrity::Null), (CBC, Integrity::HmacSha512)]
    {
        let key = key(encryption, integrity, 16);
        let mut packet = [6; 100];
        let mut job = Job { aad: 0..20, data: 20..52, tag: 60, ..bare(&key, Op::Protect) };
        job.extra = Extra::from(0x0102_0304);
        assert_eq!(run_one(&mut packet, &mut job), Outcome::Done);
        job.op = Op::Unprotect;
        job.extra = Extra::from(0x0102_0305);
        assert_eq!(run_one(&mut packet, &mut job), Outcome::Forged);
        job.extra = Extra::new(&[1, 2, 3, 4]).expect("four fit");
        assert_eq!(run_one(&mut packet, &mut job), Outcome::Done);
        assert_eq!(packet[20..60], [6; 40], "what stands before the tag is not touched");
    }
    assert!(Extra::new(&[0; 12]).is_some());
    assert!(Extra::new(&[0; 13]).is_none());
    assert!(Extra::new(&[0; 300]).is_none());
}

#[test]
fn keys_of_voice_take_few_lines_of_a_cache() {
    for (back_end, encryption, integrity, tag, most) in [
        (BackEnd::Wide, CTR, Integrity::HmacSha1, 10, 104),
        (BackEnd::Wide, GCM, Integrity::Null, 16, 104),
        (BackEnd::Portable, CTR, Integrity::HmacSha1, 10, 1536),
        (BackEnd::Portable, GCM, Integrity::Null, 16, 1536),
    ] {
        let suite = Suite::new(encryption, integrity, tag).expect("a suite");
        let hmac: &[u8] = if integrity == Integrity::Null { &[] } else { &[9; 20] };
        match Key::with_back_end(back_end, suite, &[7; 16], hmac) {
            Ok(key) => assert!(key.size() <= most, "{back_end:?}: {} octets", key.size()),
            Err(error) => assert_eq!(error, Unfit::BackEnd),
        }
    }
}
