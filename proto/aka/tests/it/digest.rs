//! Digest: both ends, a proxy between them, and what is printed.

use crate::{Random, array, hex, twins};
use aka::digest::{
    Algorithm, Challenge, Credentials, Nonce, Outcome, Qops, Refused, Request, Server, answer,
    take_keys,
};
use aka::{
    Amf, Autn, Auts, Card, Freshness, Generator, GeneratorState, Home, Milenage, Rand, Scheme,
    Secret, Vector,
};

const REALM: &[u8] = b"ims.mnc001.mcc001.3gppnetwork.org";
const USER: &[u8] = b"001010000000001@ims.mnc001.mcc001.3gppnetwork.org";
const URI: &[u8] = b"sip:ims.mnc001.mcc001.3gppnetwork.org";

const NAMES: [&str; 8] = [
    "AKAv1-MD5",
    "AKAv1-MD5-sess",
    "AKAv2-MD5",
    "AKAv2-MD5-sess",
    "AKAv1-SHA-256",
    "AKAv1-SHA-256-sess",
    "AKAv2-SHA-256",
    "AKAv2-SHA-256-sess",
];

struct Ends {
    home: Home,
    card: Card,
}

impl Ends {
    fn new(seed: u64, seq: u64) -> Self {
        let [home, card] = twins(seed);
        let state = GeneratorState { seq, ind: 0, ahead: 0 };
        let home = Home::new(home, Amf::default(), Generator::new(Scheme::Counter, 5, state));
        Self { home, card: Card::new(card, Freshness::usual()) }
    }

    fn server(&mut self, algorithm: Algorithm, qops: Qops) -> Server {
        let vector = self.home.vector(Rand([9; 16]), 0).expect("a number is left");
        Server::new(algorithm, USER, REALM, qops, vector, b"for us")
    }
}

fn written(challenge: &Challenge<'_>) -> Vec<u8> {
    let mut value = Vec::new();
    challenge.write(&mut value);
    assert_eq!(Challenge::read(&value).as_ref(), Ok(challenge));
    value
}

/// The credentials over the wire to the server.
fn sent<'a>(credentials: &Credentials<'_>, value: &'a mut Vec<u8>) -> Credentials<'a> {
    value.clear();
    credentials.write(value);
    let read = Credentials::read(value).expect("it is read back");
    assert_eq!(read, *credentials);
    read
}

#[test]
fn a_phone_registers_and_a_proxy_takes_the_keys() {
    for (seed, name) in (0..).zip(NAMES) {
        let algorithm = Algorithm::named(name.to_lowercase().as_bytes()).expect("a name");
        assert_eq!(algorithm.name(), name);
        for qops in [Qops::default(), Qops::AUTH, Qops { auth: false, auth_int: true }] {
            let mut ends = Ends::new(seed, 1);
            let mut server = ends.server(algorithm, qops);
            let (from_server, mut to_phone) = (written(&server.challenge(true)), Vec::new());
            let keys = take_keys(&from_server, &mut to_phone).expect("a challenge");
            assert_eq!(to_phone, written(&server.challenge(false)));
            let challenge = Challenge::read(&to_phone).expect("a challenge");
            assert_eq!(challenge.keys, None);
            let request = Request { method: b"REGISTER", body: b"v=0" };
            let answered = answer(&mut ends.card, &challenge, USER, URI, b"c\"n", request);
            let Outcome::Answered(of_phone) = answered.outcome else { panic!("{name}") };
            assert_eq!(keys.as_ref(), Some(&of_phone));
            let (mut credentials, mut value) = (answered.credentials.expect("some"), Vec::new());
            let of_server = server.check(&sent(&credentials, &mut value), URI, request);
            assert_eq!(of_server.as_ref(), Ok(&of_phone), "{name} {qops:?}");
            // Once more, and of another request.
            let again = server.check(&credentials, URI, request);
            assert_eq!(again, Err(Refused::Replayed), "{name} {qops:?}");
            credentials.nonce_count = credentials.qop.map(|_| 2);
            let other = server.check(&credentials, URI, request);
            assert!(matches!(other, Err(Refused::Replayed | Refused::Response)), "{other:?}");
        }
    }
}

#[test]
fn what_is_not_the_answer_is_refused_with_its_reason() {
    let mut ends = Ends::new(1, 1);
    let mut server = ends.server(Algorithm::AKA_V1_MD5, Qops::AUTH);
    let value = written(&server.challenge(false));
    let challenge = Challenge::read(&value).expect("a challenge");
    let answered = answer(&mut ends.card, &challenge, USER, URI, b"cn", Request::REGISTER);
    let right = answered.credentials.expect("some");
    let mut check = |change: &dyn Fn(&mut Credentials<'_>)| {
        let mut credentials = right.clone();
        change(&mut credentials);
        server.check(&credentials, URI, Request::REGISTER).map(|_| ())
    };
    assert_eq!(check(&|it| it.realm = b"x"[..].into()), Err(Refused::Realm));
    assert_eq!(check(&|it| it.nonce = b""[..].into()), Err(Refused::Nonce));
    assert_eq!(check(&|it| it.algorithm = Some(Algorithm::AKA_V2_MD5)), Err(Refused::Algorithm));
    assert_eq!(check(&|it| it.qop = None), Err(Refused::Qop));
    assert_eq!(check(&|it| it.cnonce = None), Err(Refused::Qop));
    assert_eq!(check(&|it| it.response.clear()), Err(Refused::NoResponse));
    assert_eq!(check(&|it| it.response[3] ^= 1), Err(Refused::Response));
    assert_eq!(check(&|it| it.response = vec![0; 32]), Err(Refused::Response));
    assert_eq!(check(&|it| it.username = b"x"[..].into()), Err(Refused::Username));
    assert_eq!(check(&|it| it.uri = b"x"[..].into()), Err(Refused::Uri));
    assert_eq!(check(&|_| {}), Ok(()));
    assert_eq!(check(&|_| {}), Err(Refused::Replayed));
}

#[test]
fn a_vector_answers_for_no_other_subscriber_and_no_other_request() {
    let mut ends = Ends::new(1, 1);
    let mut server = ends.server(Algorithm::AKA_V1_MD5, Qops::AUTH);
    let value = written(&server.challenge(false));
    let challenge = Challenge::read(&value).expect("a challenge");
    // Whoever has the card digests what it likes: both answers are right but for what they name.
    let mut other = Ends::new(1, 1);
    let request = Request::REGISTER;
    let named = answer(&mut other.card, &challenge, b"another@home", URI, b"cn", request);
    let named = named.credentials.expect("some");
    assert_eq!(server.check(&named, URI, request), Err(Refused::Username));
    let elsewhere = b"sip:elsewhere";
    let answered = answer(&mut ends.card, &challenge, USER, elsewhere, b"cn", request);
    let answered = answered.credentials.expect("some");
    assert_eq!(server.check(&answered, URI, request), Err(Refused::Uri));
    assert!(server.check(&answered, elsewhere, request).is_ok());
}

#[test]
fn a_challenge_is_over_after_a_few_wrong_responses() {
    let mut ends = Ends::new(1, 1);
    let mut server = ends.server(Algorithm::AKA_V1_MD5, Qops::AUTH);
    let value = written(&server.challenge(false));
    let challenge = Challenge::read(&value).expect("a challenge");
    let register = Request::REGISTER;
    let right = answer(&mut ends.card, &challenge, USER, URI, b"cn", register);
    let right = right.credentials.expect("some");
    for guess in 0..3 {
        let wrong = Credentials { response: vec![guess; 16], ..right.clone() };
        assert_eq!(server.check(&wrong, URI, register), Err(Refused::Response));
    }
    assert_eq!(server.check(&right, URI, register), Err(Refused::Over));
}

#[test]
fn a_stale_number_is_resynchronised_and_another_network_is_not_answered() {
    let mut ends = Ends::new(2, 1 << 20);
    let vector = ends.home.vector(Rand([3; 16]), 0).expect("a number is left");
    ends.card.answer(&vector.rand, &vector.autn).expect("it is fresh");
    let mut forgot = Ends::new(2, 0);
    let mut server = forgot.server(Algorithm::AKA_V1_MD5, Qops::AUTH);
    let value = written(&server.challenge(false));
    let challenge = Challenge::read(&value).expect("a challenge");
    let answered = answer(&mut ends.card, &challenge, USER, URI, b"cn", Request::REGISTER);
    assert_eq!(answered.outcome, Outcome::Resynchronising);
    let (credentials, mut value) = (answered.credentials.expect("some"), Vec::new());
    let credentials = sent(&credentials, &mut value);
    let Err(Refused::Resynchronise(auts)) = server.check(&credentials, URI, Request::REGISTER)
    else {
        panic!("it has AUTS");
    };
    forgot.home.resynchronise(server.rand(), &auts, 0).expect("it is the card's");
    let mut server = forgot.server(Algorithm::AKA_V1_MD5, Qops::AUTH);
    let value = written(&server.challenge(false));
    let challenge = Challenge::read(&value).expect("a challenge");
    let answered = answer(&mut ends.card, &challenge, USER, URI, b"cn", Request::REGISTER);
    let credentials = answered.credentials.expect("some");
    server.check(&credentials, URI, Request::REGISTER).expect("it is right");

    let mut others = Ends::new(5, 1 << 21);
    let mut server = others.server(Algorithm::AKA_V1_MD5, Qops::AUTH);
    let value = written(&server.challenge(false));
    let challenge = Challenge::read(&value).expect("a challenge");
    let answered = answer(&mut ends.card, &challenge, USER, URI, b"cn", Request::REGISTER);
    assert_eq!(answered.outcome, Outcome::WrongNetwork);
    let credentials = answered.credentials.expect("some");
    assert_eq!(server.check(&credentials, URI, Request::REGISTER), Err(Refused::NoResponse));
}

#[test]
fn a_challenge_of_another_kind_is_none() {
    let mut ends = Ends::new(1, 1);
    for value in [
        "Digest realm=\"r\", nonce=\"n\", algorithm=MD5",
        "Digest realm=\"r\", nonce=\"AAAA\", algorithm=AKAv1-MD5",
        "Digest realm=\"r\", nonce=\"!\", algorithm=AKAv1-MD5",
    ] {
        let challenge = Challenge::read(value.as_bytes()).expect("a challenge");
        let answered = answer(&mut ends.card, &challenge, USER, URI, b"c", Request::REGISTER);
        assert_eq!((answered.credentials, answered.outcome), (None, Outcome::NoChallenge));
    }
    assert!(Challenge::read(b"Digest realm=\"r\"").is_err());
    assert!(Credentials::read(b"Digest realm=\"r\", uri=\"u\"").is_err());
    let with = |more: &str| format!("Digest username=\"u\", realm=\"r\", uri=\"u\", {more}");
    for more in ["response=\"zz\"", "nc=1", "qop=other", "auts=\"AAAA\""] {
        assert!(Credentials::read(with(more).as_bytes()).is_err(), "{more}");
    }
    let keys = "Digest realm=\"r\", nonce=\"n\", ck=\"00\", ik=\"00\"";
    let mut out = Vec::new();
    assert!(take_keys(keys.as_bytes(), &mut out).is_err() && out.is_empty());
}

/// RFC 3310 §3.4. Its examples are made up: AUTS has eleven octets there, and a card's has
/// fourteen.
#[test]
fn the_message_of_rfc_3310_is_read_but_for_its_token() {
    let value = "Digest username=\"jon.dough@mobile.biz\",realm=\"RoamingUsers@mobile.biz\",\
        nonce=\"CjPk9mRqNuT25eRkajM09uTl9nM09uTl9nMz5OX25PZz==\",uri=\"sip:home.mobile.biz\",\
        qop=auth-int,nc=00000001,cnonce=\"0a4f113b\",\
        response=\"4429ffe49393c02397450934607c4ef1\",\
        opaque=\"5ccc069c403ebaf9f0171e9517f40e41\",auts=\"5PYxMuX2NOT2NeQ=\"";
    let violation = Credentials::read(value.as_bytes()).expect_err("eleven octets");
    assert_eq!(violation.at, value.find("\"5PYx").expect("it is there"));
    let value = value.replace("5PYxMuX2NOT2NeQ=", "5PYxMuX2NOT2NeQ5PYx");
    assert!(Credentials::read(value.as_bytes()).is_err());
    let value = value.replace("5PYxMuX2NOT2NeQ5PYx", "5PYxMuX2NOT2NeQ5PYw=");
    let credentials = Credentials::read(value.as_bytes()).expect("it is read");
    assert_eq!(&*credentials.username, b"jon.dough@mobile.biz");
    assert_eq!(credentials.auts, Auts::new(&hex("e4f63132e5f634e4f635e439 3d8c")));
}

/// A phone's answer by another implementation: Python's `hmac` and `hashlib` over set 1 of
/// TS 35.208.
#[test]
fn passwords_and_keys_are_those_of_another_implementation() {
    let keys = |digits: &str| Secret::new(&hex(digits)).expect("short");
    let vector = Vector {
        rand: Rand(array("23553cbe9637a89d218ae64dae47bf35")),
        autn: Autn::new(&hex("55f328b43577b9b94a9ffac354dfafb3")).expect("a token"),
        xres: keys("a54211d5e3ba50bf"),
        ck: keys("b40ba9a3c58b2a05bbf0d987b21bf8cb"),
        ik: keys("f769bcd751044604127672711c6d3441"),
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/digest.py");
    let output = std::process::Command::new("/usr/bin/python3").args(["-B", script]).output();
    let output = output.expect("python3 is installed (Debian: python3)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).expect("text");
    assert_eq!(said.lines().count(), 2);
    for (line, algorithm) in said.lines().zip([Algorithm::AKA_V1_MD5, Algorithm::AKA_V2_MD5]) {
        let [nonce, value, ck, ik] = line.split('|').collect::<Vec<_>>()[..] else { panic!() };
        let mut server = Server::new(algorithm, USER, REALM, Qops::AUTH, vector.clone(), b"");
        assert_eq!(server.challenge(false).nonce, nonce.as_bytes());
        let credentials = Credentials::read(value.as_bytes()).expect("credentials");
        let session = server.check(&credentials, URI, Request::REGISTER).expect("it is right");
        assert_eq!((session.ck, session.ik), (keys(ck), keys(ik)));
    }
    let milenage = Milenage::new(
        &array("465b5ce8b199b49faa5f0a2ee238a6bc"),
        &array("cd63cb71954a9f4e48a5994e37a02baf"),
    );
    let mut card = Card::new(aka::Algorithm::Milenage(milenage), Freshness::usual());
    let nonce = Nonce::read(b"I1U8vpY3qJ0hiuZNrke/NVXzKLQ1d7m5Sp/6w1Tfr7M=", 8).expect("one");
    assert_eq!((&nonce.rand, &nonce.autn), (&vector.rand, &vector.autn));
    // Its number is too far from nothing: a card in use takes it.
    let reject = card.answer(&nonce.rand, &nonce.autn).expect_err("Δ");
    assert!(matches!(reject, aka::Reject::Synchronisation(_)));
}

#[test]
fn nothing_that_is_read_panics() {
    let mut random = Random(11);
    let seeds: [&[u8]; 2] = [
        b"Digest username=\"u\\\"\", realm=\"r\", nonce=\"n\", uri=\"u\", response=\"\", \
            nc=00000001",
        b"Digest realm=\"r\", nonce=\"n\", ck=\"00\", ik=\"\", qop=\"auth,auth-int\", stale=true",
    ];
    for _ in 0..20_000 {
        let mut value = seeds[random.below(2) as usize].to_vec();
        for _ in 0..=random.below(4) {
            let at = random.below(value.len() as u64) as usize;
            match random.below(3) {
                0 => value[at] = b"\"\\=, a\0\xff"[random.below(8) as usize],
                1 => drop(value.remove(at)),
                _ => value.insert(at, b"\"\\=, a\0\xff"[random.below(8) as usize]),
            }
        }
        if let Ok(read) = Credentials::read(&value) {
            let mut again = Vec::new();
            read.write(&mut again);
            assert_eq!(Credentials::read(&again), Ok(read));
        }
        if let Ok(read) = Challenge::read(&value) {
            let mut again = Vec::new();
            read.write(&mut again);
            assert_eq!(
                Challenge::read(&again).map(|it| it.realm.to_vec()),
                Ok(read.realm.to_vec())
            );
        }
        let mut out = Vec::new();
        if take_keys(&value, &mut out).is_ok() {
            let clean = Challenge::read(&out).expect("a challenge stays one");
            assert_eq!(clean.keys, None);
        }
    }
}
