//! An independent implementation says the same: AWS-LC.

use aws_lc_rs::{aead, hmac};
use cipher::{BackEnd, Encryption, Extra, Integrity, Job, Key, KeyLength, Op, Outcome, Suite, run};
use proptest::collection::vec;
use proptest::prelude::*;

fn hmac_of(integrity: Integrity, key: &[u8], octets: &[u8]) -> Vec<u8> {
    let algorithm = match integrity {
        Integrity::HmacSha256 => hmac::HMAC_SHA256,
        Integrity::HmacSha384 => hmac::HMAC_SHA384,
        Integrity::HmacSha512 => hmac::HMAC_SHA512,
        Integrity::HmacSha1 | Integrity::Null => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
    };
    hmac::sign(&hmac::Key::new(algorithm, key), octets).as_ref().to_vec()
}

/// Encrypted data and the whole tag.
fn gcm_of(key: &[u8], iv: &[u8; 16], aad: &[u8], data: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let algorithm = if key.len() == 16 { &aead::AES_128_GCM } else { &aead::AES_256_GCM };
    let key = aead::LessSafeKey::new(aead::UnboundKey::new(algorithm, key).expect("a key"));
    let nonce = aead::Nonce::try_assume_unique_for_key(&iv[..12]).expect("96 bits");
    let mut data = data.to_vec();
    let tag = key.seal_in_place_separate_tag(nonce, aead::Aad::from(aad), &mut data);
    (data, tag.expect("it fits").as_ref().to_vec())
}

fn integrities() -> impl Strategy<Value = Integrity> {
    prop_oneof![
        Just(Integrity::HmacSha1),
        Just(Integrity::HmacSha256),
        Just(Integrity::HmacSha384),
        Just(Integrity::HmacSha512),
    ]
}

/// Key, IV, AAD, data, extra.
type Packet = (Vec<u8>, [u8; 16], Vec<u8>, Vec<u8>, Vec<u8>);

fn packets() -> impl Strategy<Value = Vec<Packet>> {
    let key = prop_oneof![vec(any::<u8>(), 16), vec(any::<u8>(), 32)];
    let text = vec(any::<u8>(), 0..600);
    let aad = vec(any::<u8>(), 0..60);
    vec((key, any::<[u8; 16]>(), aad, text, vec(any::<u8>(), 0..=12)), 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn codes_equal_those_of_aws_lc(
        integrity in integrities(),
        key in vec(any::<u8>(), 1..200),
        packets in packets(),
    ) {
        for back_end in BackEnd::ALL.into_iter().filter(|it| it.is_available()) {
            let tag = u8::try_from(integrity.octets()).expect("short");
            let suite = Suite::new(Encryption::Null, integrity, tag).expect("a suite");
            let context = Key::with_back_end(back_end, suite, &[], &key).expect("a key");
            for (_, iv, aad, data, extra) in &packets {
                let mut buffer = [&aad[..], data, &vec![0; usize::from(tag)]].concat();
                let mut job = Job::new(&context, Op::Protect, *iv);
                job.aad = 0..aad.len();
                job.data = aad.len()..aad.len() + data.len();
                job.tag = job.data.end;
                job.extra = Extra::new(extra).expect("short");
                let at = job.tag;
                run(&mut buffer, std::slice::from_mut(&mut job));
                prop_assert_eq!(job.outcome, Outcome::Done);
                let expected = hmac_of(integrity, &key, &[&aad[..], data, extra].concat());
                prop_assert_eq!(&buffer[at..], &expected[..]);
            }
        }
    }

    #[test]
    fn gcm_equals_that_of_aws_lc(packets in packets()) {
        for back_end in BackEnd::ALL.into_iter().filter(|it| it.is_available()) {
            let keys: Vec<_> = packets.iter().map(|(key, ..)| {
                let length = KeyLength::of(key.len()).expect("a length of AES");
                let suite = Suite::new(Encryption::AesGcm(length), Integrity::Null, 16);
                Key::with_back_end(back_end, suite.expect("a suite"), key, &[]).expect("a key")
            }).collect();
            let (mut buffer, mut expected, mut jobs) = (Vec::new(), Vec::new(), Vec::new());
            for (context, (key, iv, aad, data, extra)) in keys.iter().zip(&packets) {
                let mut job = Job::new(context, Op::Protect, *iv);
                job.base = buffer.len();
                job.aad = 0..aad.len();
                job.data = aad.len()..aad.len() + data.len();
                job.tag = job.data.end;
                job.extra = Extra::new(extra).expect("short");
                jobs.push(job);
                buffer.extend([&aad[..], data, &[0; 16]].concat());
                let (data, tag) = gcm_of(key, iv, &[&aad[..], extra].concat(), data);
                expected.extend([&aad[..], &data, &tag].concat());
            }
            run(&mut buffer, &mut jobs);
            prop_assert!(jobs.iter().all(|it| it.outcome == Outcome::Done));
            prop_assert_eq!(buffer, expected);
        }
    }
}
