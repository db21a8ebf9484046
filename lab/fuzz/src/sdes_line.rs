//! Lines of `a=crypto` as one stream has them, a line feed between: what is read is written and
//! read the same, a violation stands inside its line, and what is chosen and answered fits its
//! offer. What DTLS says in SDP reads without a panic, and a fingerprint as it was written.

use srtp::dtls::{Description, Fingerprint};
use srtp::sdes::{self, Policy};
use srtp::{MasterKey, Suite};

pub fn run(octets: &[u8]) {
    let lines = || octets.split(|&octet| octet == b'\n');
    if let Ok(Some(fingerprint)) = Fingerprint::parse(octets) {
        assert_eq!(Fingerprint::parse(fingerprint.to_string().as_bytes()), Ok(Some(fingerprint)));
    }
    let _ = Description::read(|_| lines());
    let offer = match sdes::read_all(lines()) {
        Ok(offer) => offer,
        Err(violation) => {
            assert!(violation.at <= octets.len());
            return;
        }
    };
    for line in offer.lines() {
        let mut written = Vec::new();
        line.write(&mut written);
        let again = sdes::read_all([&written[..]].into_iter()).expect("what was written reads");
        assert_eq!(again.lines(), std::slice::from_ref(line));
        assert!(line.parameters().are_sound());
        let sender = srtp::Sender::new(line.parameters(), &line.entries());
        assert!(sender.is_ok(), "what was read can be used: {sender:?}");
    }
    let policy = Policy {
        allows_unencrypted: true,
        allows_unauthenticated: true,
        allows_key_derivation: true,
        ..Policy::of(Suite::ALL.to_vec())
    };
    let Some(choice) = sdes::choose(&offer, &policy) else {
        assert!(offer.lines().is_empty());
        return;
    };
    assert_eq!(choice.line(), &offer.lines()[0]);
    let suite = choice.line().suite;
    let key = MasterKey::of(suite, &vec![0xa5; MasterKey::octets_of(suite)]).expect("it fits");
    if let Some(agreed) = sdes::answer(choice, key) {
        let mut written = Vec::new();
        agreed.ours.write(&mut written);
        let answered = sdes::read_all([&written[..]].into_iter()).expect("the answer reads");
        assert!(sdes::accept(&offer, &answered).is_ok());
    }
}
