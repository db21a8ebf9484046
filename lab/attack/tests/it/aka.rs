//! Half-done registrations before somebody who challenges each, on the loopback: what a P-CSCF has
//! to take for the beginning of a registration, and that nothing follows.

use aka::digest::Challenge;
use attack::{SocketAttack, SocketKind, run_by_sockets};
use secagree::rules::{Asked, unprotected};
use secagree::{List, Preference};
use sip::{Header, Message, Method};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr, SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

const TARGET: &str = "127.206.0.1:0";
const SOURCES: &str = "127.66.1.0/29";
const RATE: u32 = 1_000;
const TIME: Duration = Duration::from_secs(2);
/// For what is still on its way when the attack is over.
const QUIET: Duration = Duration::from_millis(300);

/// What came to the target.
#[derive(Debug, Default)]
struct Came {
    /// Registrations of each source.
    sources: BTreeMap<IpAddr, u32>,
    calls: BTreeSet<Vec<u8>>,
    identities: BTreeSet<Vec<u8>>,
    indices: BTreeSet<(u32, u32)>,
    /// Requests that answer a challenge, or are no first REGISTER.
    others: u32,
}

impl Came {
    fn take(&mut self, from: SocketAddr, message: &Message<'_>) {
        let credentials = message.header(Header::Authorization).unwrap_or_default();
        let has_response = !credentials.ends_with(b"response=\"\"");
        let is_first = message.method() == Method::Register && message.cseq().number == 1;
        if !is_first || has_response || !self.calls.insert(message.call_id().to_vec()) {
            self.others += 1;
            return;
        }
        let own = message.via().host.to_vec();
        assert_eq!(String::from_utf8_lossy(&own), from.ip().to_string(), "it says who it is");
        *self.sources.entry(from.ip()).or_default() += 1;
        self.identities.insert(credentials.to_vec());
        let client = List::read(message.values(Header::SecurityClient)).unwrap();
        let asked = Asked { require: true, proxy_require: true, supported: true, vias: 1 };
        // What a P-CSCF asks before it keeps an offer: each costs it a place.
        let choice = unprotected(asked, &client, &Preference::usual()).unwrap();
        assert!(choice.of.is_sound());
        self.indices.insert((choice.of.spi_c.0, choice.of.spi_s.0));
    }
}

/// The challenge that a home network would send, as the P-CSCF passes it on.
fn challenge(message: &Message<'_>) -> String {
    let of = |header| String::from_utf8_lossy(message.header(header).unwrap_or_default());
    format!(
        "SIP/2.0 401 Unauthorized\r\nVia: {}\r\nFrom: {}\r\nTo: {};tag=h\r\nCall-ID: {}\r\n\
         CSeq: 1 REGISTER\r\nWWW-Authenticate: Digest realm=\"ims.example.org\", \
         nonce=\"{}\", algorithm=AKAv1-MD5, qop=\"auth\"\r\n\
         Security-Server: ipsec-3gpp;q=0.9;alg=hmac-sha-1-96;ealg=aes-cbc;spi-c=4000;spi-s=4001;\
         port-c=5064;port-s=5062\r\nContent-Length: 0\r\n\r\n",
        of(Header::Via),
        of(Header::From),
        of(Header::To),
        String::from_utf8_lossy(message.call_id()),
        "A".repeat(43) + "=",
    )
}

#[test]
fn registrations_of_many_phones_begin_from_many_sources_and_no_challenge_is_ever_answered() {
    let target = UdpSocket::bind(TARGET).unwrap();
    target.set_read_timeout(Some(QUIET)).unwrap();
    let SocketAddr::V4(address) = target.local_addr().unwrap() else { panic!("of IPv4") };
    let attack = SocketAttack {
        kind: SocketKind::HalfAka,
        target: address,
        sources: SOURCES.parse().unwrap(),
        other: None,
        rate: RATE,
        time: TIME,
    };
    let attacker = std::thread::spawn(move || run_by_sockets(&attack));
    let (mut came, mut bytes) = (Came::default(), [0; 2_048]);
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        match target.recv_from(&mut bytes) {
            Ok((octets, from)) => {
                let message = Message::parse(&bytes[..octets]).unwrap();
                came.take(from, &message);
                let text = challenge(&message);
                let answer = Message::parse(text.as_bytes()).unwrap();
                let value = answer.header(Header::WwwAuthenticate).unwrap();
                assert!(Challenge::read(value).is_ok(), "a phone would answer it");
                target.send_to(text.as_bytes(), from).unwrap();
            }
            Err(_) if attacker.is_finished() => break,
            Err(_) => assert!(Instant::now() < end, "it does not end"),
        }
    }
    let report = attacker.join().unwrap().unwrap();
    let count = came.calls.len() as u64;
    assert_eq!(came.others, 0, "no answer, and nothing twice");
    assert!(count > 100 && count <= report.frames, "{count} of {report:?}");
    assert!(report.frames <= u64::from(RATE) * (TIME.as_secs() + 1), "{report:?}");
    assert_eq!(came.identities.len() as u64, count, "each of another private identity");
    assert_eq!(came.indices.len() as u64, count, "each offers indices of its own");
    // A /29 has eight addresses, and each takes its turn.
    let (least, most) = (came.sources.values().min(), came.sources.values().max());
    assert_eq!(came.sources.len(), 8, "{:?}", came.sources);
    assert!(most.zip(least).is_some_and(|(most, least)| *most <= 2 * *least + 8), "{came:?}");
}

#[test]
fn one_on_somebody_outside_of_the_lab_is_refused() {
    let attack = SocketAttack {
        kind: SocketKind::HalfAka,
        target: SocketAddrV4::new([192, 0, 2, 1].into(), 5_060),
        sources: SOURCES.parse().unwrap(),
        other: None,
        rate: 1,
        time: TIME,
    };
    assert!(run_by_sockets(&attack).unwrap_err().to_string().contains("refused"));
}
