//! What a direction takes of memory.

use crate::{Random, opened, opened_rtcp, pair, sent, sent_rtcp};
use cipher::{Encryption, Integrity, KeyLength};
use srtp::{KeyEntry, Parameters, Suite, Transform};

/// Octets of a direction with one stream, session keys and all.
const DIRECTION_OCTETS_MAX: usize = 512;
/// Octets of it that are not what the cipher makes of a key.
const OWN_OCTETS_MAX: usize = 208;
/// Octets of a call that is SRTP on both sides: four directions.
const CALL_OCTETS_MAX: usize = 2_048;

fn of(suite: Suite) -> (usize, usize) {
    let mut random = Random(1);
    let parameters = Parameters::of(suite);
    let (mut sender, mut receiver) = pair(parameters, &[KeyEntry::alone(random.key(suite))]);
    for sequence in 0..10 {
        let packet = sent(&mut sender, &random.rtp(7, sequence)).unwrap();
        opened(&mut receiver, &packet).unwrap();
        let report = sent_rtcp(&mut sender, &random.rtcp(7)).unwrap();
        opened_rtcp(&mut receiver, &report).unwrap();
    }
    (sender.size(), receiver.size())
}

/// Octets of what the cipher makes of a key of that suite, all of it.
fn cipher_octets(suite: Suite) -> usize {
    let length = KeyLength::of(suite.key_octets()).expect("a length of AES");
    let (encryption, integrity, secret) = match suite.transform() {
        Transform::AesGcm => (Encryption::AesGcm(length), Integrity::Null, &[][..]),
        Transform::AesCm => (Encryption::AesCtr(length), Integrity::HmacSha1, &[1; 20][..]),
        Transform::Null => (Encryption::Null, Integrity::HmacSha1, &[1; 20][..]),
    };
    let tag = u8::try_from(suite.tag_octets()).expect("a tag is short");
    let made = cipher::Suite::new(encryption, integrity, tag).expect("it is sound");
    let key = cipher::Key::new(made, &[1; 32][..made.key_len()], secret).expect("it fits");
    key.size()
}

#[test]
fn a_call_with_srtp_on_both_sides_fits_two_kilobytes() {
    for &suite in Suite::ALL {
        let (sender, receiver) = of(suite);
        let cipher = cipher_octets(suite);
        println!("{}: {sender} and {receiver} octets, {cipher} the cipher's", suite.name());
        assert!(sender.max(receiver) - cipher <= OWN_OCTETS_MAX, "{sender} and {receiver}");
        // The back end that runs everywhere has larger keys than those of one processor.
        if cipher + OWN_OCTETS_MAX <= DIRECTION_OCTETS_MAX {
            assert!(2 * (sender + receiver) <= CALL_OCTETS_MAX);
        }
    }
}
