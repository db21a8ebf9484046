//! Values of WWW-Authenticate and Authorization, nonces and tokens of AKA: nothing panics, what is
//! read is written and read back the same, a proxy leaves no key, a card believes no token that its
//! home network has not made, and no server takes what answers another challenge.

use aka::digest::{
    Algorithm, Challenge, Credentials, Nonce, Outcome, Qops, Request, Server, answer, take_keys,
};
use aka::{
    Amf, Autn, Auts, Card, Freshness, Generator, GeneratorState, Home, Milenage, Rand, Reject,
    Scheme,
};

fn milenage() -> aka::Algorithm {
    aka::Algorithm::Milenage(Milenage::new(&[0x5a; 16], &[0xa5; 16]))
}

fn card() -> Card {
    Card::new(milenage(), Freshness::usual())
}

fn challenge(value: &[u8]) {
    let mut clean = Vec::new();
    let taken = take_keys(value, &mut clean);
    let Ok(read) = Challenge::read(value) else {
        assert!(taken.is_err() && clean.is_empty());
        return;
    };
    assert_eq!(taken.expect("it is a challenge"), read.keys);
    let without = Challenge::read(&clean).expect("it stays one");
    assert_eq!(without, Challenge { keys: None, ..read.clone() });
    let mut written = Vec::new();
    read.write(&mut written);
    assert_eq!(Challenge::read(&written), Ok(read.clone()));
    // Nobody but its home network knows the key: a challenge from elsewhere is not answered.
    let answered = answer(&mut card(), &read, b"user", b"sip:home", b"cnonce", Request::REGISTER);
    assert!(matches!(answered.outcome, Outcome::WrongNetwork | Outcome::NoChallenge));
}

fn credentials(value: &[u8]) {
    let Ok(read) = Credentials::read(value) else { return };
    let mut written = Vec::new();
    read.write(&mut written);
    assert_eq!(Credentials::read(&written), Ok(read.clone()));
    let generator = Generator::new(Scheme::Counter, 5, GeneratorState::default());
    let mut home = Home::new(milenage(), Amf::default(), generator);
    let vector = home.vector(Rand([3; 16]), 0).expect("a number is left");
    let mut server = Server::new(Algorithm::AKA_V1_MD5, b"user", b"home", Qops::AUTH, vector, b"");
    assert!(server.check(&read, b"sip:home", Request::REGISTER).is_err());
}

fn tokens(octets: &[u8]) {
    if let Some(autn) = Autn::new(octets) {
        assert_eq!(autn.octets(), octets);
        assert_eq!(card().answer(&Rand([1; 16]), &autn), Err(Reject::Mac));
    }
    if let Some(auts) = Auts::new(octets) {
        assert_eq!(auts.octets(), octets);
    }
    for mac in [8, 16, 32, octets.len()] {
        if let Some(nonce) = Nonce::read(octets, mac) {
            assert_eq!(Nonce::read(nonce.text().as_bytes(), mac), Some(nonce));
        }
    }
}

pub fn run(octets: &[u8]) {
    let Some((kind, rest)) = octets.split_first() else { return };
    match kind % 3 {
        0 => challenge(rest),
        1 => credentials(rest),
        _ => tokens(rest),
    }
}
