//! The vectors of RFC 5769 and of RFC 8489 appendix B.

use stun::{Algorithm, AttributeType, BINDING, Class, Integrity, Message};

/// Octets in hexadecimal.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(octet).collect()
}

/// The password of RFC 5769 §2.1 to §2.3.
pub const PASSWORD: &[u8] = b"VOkJxbRl1RmTxUk/WvJxBt";

/// RFC 5769 §2.1.
pub const REQUEST: &str = "
    00010058 2112a442 b7e7a701bc34d686fa87dfae
    80220010 5354554e207465737420636c69656e74
    00240004 6e0001ff
    80290008 932ff9b151263b36
    00060009 6576746a3a68367659202020
    00080014 9aeaa70cbfd8cb56781ef2b5b2d3f249c1b571a2
    80280004 e57a3bcf";

/// RFC 5769 §2.2.
const IPV4_RESPONSE: &str = "
    0101003c 2112a442 b7e7a701bc34d686fa87dfae
    8022000b 7465737420766563746f7220
    00200008 0001a147e112a643
    00080014 2b91f599fd9e90c38c7489f92af9ba53f06be7d7
    80280004 c07d4c96";

/// RFC 5769 §2.3.
const IPV6_RESPONSE: &str = "
    01010048 2112a442 b7e7a701bc34d686fa87dfae
    8022000b 7465737420766563746f7220
    00200014 0002a1470113a9faa5d3f179bc25f4b5bed2b9d9
    00080014 a382954e4be67bf11784c97c8292c275bfe3ed41
    80280004 c8fb0b4c";

/// RFC 5769 §2.4.
const LONG_TERM: &str = "
    00010060 2112a442 78ad3433c6ad72c029da412e
    00060012 e3839ee38388e383aae38383e382afe382b90000
    0015001c 662f2f3439396b39353464364f4c33346f4c3946535476793634 7341
    0014000b 6578616d706c652e6f726700
    00080014 f67024656dd64a3e02b8e0712e85c9a28ca89666";

/// RFC 8489 §B.1.
const LONG_TERM_SHA256: &str = "
    00010088 2112a442 78ad3433c6ad72c029da412e
    001e0020 4a3cf38fef6992bda952c6780417da0f24819415569e60b205c46e41407f1704
    00150029 6f624d61744a6f733241414143662f2f3439396b39353464364f4c33346f4c3946535476793634
             7341000000
    0014000b 6578616d706c652e6f726700
    001c0020 fd8c273860d2e18ebca4c89b6973befa7ee8ecc69e9642db326fab65a0b955ba";

/// The key of both: MD5 of user name, realm and password (RFC 8489 §9.2.2).
const LONG_TERM_KEY: &str = "e8ca7ad59d5eb0518e312911d2dab2a9";

#[test]
fn the_request_of_rfc_5769_is_read_and_whole() {
    let octets = hex(REQUEST);
    let message = Message::read(&octets).unwrap();
    assert_eq!((message.class, message.method), (Class::Request, BINDING));
    assert_eq!(message.value(AttributeType::Software), Some(&b"STUN test client"[..]));
    assert_eq!(message.value(AttributeType::Username), Some(&b"evtj:h6vY"[..]));
    assert_eq!(message.value(AttributeType::Priority), Some(&[0x6E, 0, 1, 0xFF][..]));
    assert_eq!(message.integrity(PASSWORD), Integrity::Holds(Algorithm::Sha1));
    assert_eq!(message.integrity(b"another"), Integrity::Wrong);
    assert_eq!(message.fingerprint(), Some(true));
    assert_eq!(message.attributes().count(), 6);
}

#[test]
fn the_responses_of_rfc_5769_say_where_the_request_came_from() {
    for (text, address) in [
        (IPV4_RESPONSE, "192.0.2.1:32853"),
        (IPV6_RESPONSE, "[2001:db8:1234:5678:11:2233:4455:6677]:32853"),
    ] {
        let octets = hex(text);
        let message = Message::read(&octets).unwrap();
        assert_eq!(message.class, Class::Success);
        assert_eq!(message.mapped_address(), Ok(Some(address.parse().unwrap())));
        assert_eq!(message.integrity(PASSWORD), Integrity::Holds(Algorithm::Sha1));
        assert_eq!(message.fingerprint(), Some(true));
    }
}

#[test]
fn requests_under_a_key_of_the_long_term_mechanism_are_whole() {
    let key = hex(LONG_TERM_KEY);
    for (text, algorithm) in [(LONG_TERM, Algorithm::Sha1), (LONG_TERM_SHA256, Algorithm::Sha256)] {
        let octets = hex(text);
        let message = Message::read(&octets).unwrap();
        assert_eq!(message.integrity(&key), Integrity::Holds(algorithm));
        assert_eq!(message.fingerprint(), None);
        assert_eq!(message.value(AttributeType::Realm), Some(&b"example.org"[..]));
    }
}

#[test]
fn a_changed_octet_breaks_what_guards_it() {
    let octets = hex(REQUEST);
    for at in 0..octets.len() {
        let mut changed = octets.clone();
        changed[at] ^= 1;
        let Ok(message) = Message::read(&changed) else { continue };
        let is_whole = matches!(message.integrity(PASSWORD), Integrity::Holds(_))
            && message.fingerprint() == Some(true);
        assert!(!is_whole, "octet {at}");
    }
}
