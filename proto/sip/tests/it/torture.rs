//! RFC 4475 and RFC 5118: every torture message is accepted or refused as its section says, and
//! refused for the reason it names.

use sip::{Header, Message, Method, Scheme, Start};
use std::path::PathBuf;

/// What must become of a message.
enum Expect {
    /// Accepted, every known header well-formed, and what the section points out is understood.
    Valid(fn(&Message<'_>)),
    /// Accepted for routing; holding every header to its grammar finds this violation.
    Odd(&'static str, fn(&Message<'_>)),
    /// Refused: the violation, its section, and the text it stands at.
    Malformed(&'static str, &'static str, &'static [u8]),
}
use Expect::{Malformed, Odd, Valid};

type Case = (&'static str, &'static str, Expect);

fn bytes(directory: &str, name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/vectors")
        .join(directory)
        .join(format!("{name}.sip"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn run(directory: &str, cases: &[Case]) {
    for (name, section, expect) in cases {
        let bytes = bytes(directory, name);
        let parsed = Message::parse(&bytes);
        match (expect, parsed) {
            (Valid(understood), Ok(message)) => {
                assert_eq!(message.check(), Ok(()), "{name} (section {section})");
                understood(&message);
            }
            (Odd(what, understood), Ok(message)) => {
                let violation = message.check().expect_err(name);
                assert_eq!(&violation.what, what, "{name} (section {section})");
                understood(&message);
            }
            (Malformed(what, spec, text), Err(violation)) => {
                assert_eq!(&violation.what, what, "{name} (section {section})");
                assert_eq!(&violation.spec, spec, "{name} (section {section})");
                let at = &bytes[violation.at..];
                let shown = String::from_utf8_lossy(&at[..at.len().min(40)]);
                assert!(at.starts_with(text), "{name}: offence at {shown:?}");
            }
            (_, Ok(_)) => panic!("{name} (section {section}) was accepted"),
            (_, Err(violation)) => panic!("{name} (section {section}) was refused: {violation}"),
        }
    }
    let stored = std::fs::read_dir(
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(directory),
    );
    assert_eq!(stored.expect("the directory stands").count(), cases.len(), "every file has a case");
}

fn values<'a>(message: &Message<'a>, header: Header) -> Vec<&'a [u8]> {
    message.values(header).collect()
}

#[test]
fn every_message_of_rfc_4475_is_treated_as_its_section_says() {
    let mut cases = valid();
    cases.extend(invalid());
    cases.extend(semantic());
    run("rfc4475", &cases);
}

#[test]
fn every_message_of_rfc_5118_is_treated_as_its_section_says() {
    run("rfc5118", &ipv6());
}

/// §3.1.1: valid messages.
fn valid() -> Vec<Case> {
    vec![
        ("wsinv", "3.1.1.1", Valid(wsinv)),
        ("intmeth", "3.1.1.2", Valid(intmeth)),
        (
            "esc01",
            "3.1.1.3",
            Valid(|m| {
                let uri = m.uri().expect("a request has one");
                assert_eq!(uri.user, Some(&b"sips%3Auser%40example.com"[..]));
                assert_eq!(uri.host, b"example.net");
                let to = m.to().parse_uri().expect("To is a sip: URI");
                assert!(to == sip::Uri::parse(b"sip:user@example.com").expect("well-formed"));
            }),
        ),
        (
            "escnull",
            "3.1.1.4",
            Valid(|m| {
                let contacts = values(m, Header::Contact);
                assert_eq!(contacts.len(), 2);
                assert_eq!(contacts[1], b"<sip:%00%00@host5.example.com>");
            }),
        ),
        (
            "esc02",
            "3.1.1.5",
            Valid(|m| {
                assert_eq!(m.method(), Method::Other);
                assert_eq!(m.cseq().name, b"RE%47IST%45R");
                assert_eq!(values(m, Header::Contact).len(), 2);
                assert_eq!(m.named(b"C%6Fntact").count(), 1);
            }),
        ),
        (
            "lwsdisp",
            "3.1.1.6",
            Valid(|m| {
                assert_eq!(m.from().display, b"caller");
                assert_eq!(m.from().uri, b"sip:caller@example.com");
            }),
        ),
        (
            "longreq",
            "3.1.1.7",
            Valid(|m| {
                assert_eq!(values(m, Header::Via).len(), 34);
                assert_eq!(m.via().host, b"sip33.example.com");
                assert_eq!(m.body().len(), 150);
            }),
        ),
        (
            "dblreq",
            "3.1.1.8",
            Valid(|m| {
                assert_eq!(m.method(), Method::Register);
                assert_eq!(m.body(), b"", "the octets behind the message are dropped");
                assert!(m.raw().ends_with(b"Content-Length: 0\r\n\r\n"));
            }),
        ),
        (
            "semiuri",
            "3.1.1.9",
            Valid(|m| {
                let uri = m.uri().expect("a request has one");
                assert_eq!(uri.user, Some(&b"user;par=u%40example.net"[..]));
                assert_eq!((uri.host, uri.params), (&b"example.com"[..], &b""[..]));
                assert_eq!(values(m, Header::Accept).len(), 6);
            }),
        ),
        (
            "transports",
            "3.1.1.10",
            Valid(|m| {
                let transports: Vec<_> = m
                    .values(Header::Via)
                    .map(|value| sip::Via::parse(value).expect("checked").transport)
                    .collect();
                assert_eq!(transports, [&b"UDP"[..], b"SCTP", b"TLS", b"UNKNOWN", b"TCP"]);
            }),
        ),
        (
            "mpart01",
            "3.1.1.11",
            Valid(|m| {
                assert_eq!(m.body().len(), 553);
                assert!(m.body().starts_with(b"--7a9cbec02ceef655\r\n"));
            }),
        ),
        (
            "unreason",
            "3.1.1.12",
            Valid(|m| match m.start() {
                Start::Response { status: 200, reason } => {
                    assert!(reason.starts_with("= 2**3 * 5**2 но сто".as_bytes()));
                }
                other => panic!("{other:?}"),
            }),
        ),
        (
            "noreason",
            "3.1.1.13",
            Valid(|m| assert_eq!(m.start(), Start::Response { status: 100, reason: b"" })),
        ),
    ]
}

fn wsinv(m: &Message<'_>) {
    let Start::Request { method, uri, .. } = m.start() else { panic!("a request") };
    assert_eq!(
        (method, uri),
        (Method::Invite, &b"sip:vivekg@chair-dnrc.example.com;unknownparam"[..])
    );
    assert_eq!(m.to().uri, b"sip:vivekg@chair-dnrc.example.com");
    assert_eq!(m.to_tag(), Some(&b"1918181833n"[..]));
    assert_eq!(m.from().display, br#""J Rosenberg \\\"""#);
    assert_eq!(m.from_tag(), Some(&b"98asjd8"[..]));
    assert_eq!(m.max_forwards(), Some(68));
    assert_eq!((m.cseq().number, m.cseq().method), (9, Method::Invite));
    let vias: Vec<_> =
        m.values(Header::Via).map(|v| sip::Via::parse(v).expect("checked")).collect();
    let hosts: Vec<_> = vias.iter().map(|via| via.host).collect();
    assert_eq!(hosts, [&b"192.0.2.2"[..], b"spindle.example.com", b"192.168.255.111"]);
    assert_eq!(vias[2].branch, Some(&b"z9hG4bK30239"[..]));
    assert!(!m.via().is_branch_unique(), "390skdjuw is a branch of RFC 2543");
    assert_eq!(m.header(Header::Subject), Some(&b""[..]));
    let odd: Vec<_> = m.named(b"unknownheaderwithunusualvalue").collect();
    assert_eq!(odd, [&b";;,,;;,;"[..]]);
    let folded: Vec<_> = m.named(b"NewFangledHeader").collect();
    assert_eq!(folded, [&b"newfangled value\r\n continued newfangled value"[..]]);
    let contact = m.values(Header::Contact).next().expect("a Contact");
    let contact = sip::NameAddr::parse(contact).expect("checked");
    assert_eq!(contact.param(b"newparam"), Some(&b"newvalue"[..]));
    assert_eq!(contact.q_thousandths(), Some(330));
    assert_eq!(m.body().len(), 150);
}

fn intmeth(m: &Message<'_>) {
    let Start::Request { method, name, .. } = m.start() else { panic!("a request") };
    assert_eq!(
        (method, name),
        (Method::Other, &b"!interesting-Method0123456789_*+`.%indeed'~"[..])
    );
    let uri = m.uri().expect("a request has one");
    assert_eq!(uri.user, Some(&b"1_unusual.URI~(to-be!sure)&isn't+it$/crazy?,/;;*"[..]));
    assert_eq!(uri.password, Some(&b"&it+has=1,weird!*pas$wo~d_too.(doesn't-it)"[..]));
    assert_eq!(m.to().display, b"\"BEL:\\\x07 NUL:\\\x00 DEL:\\\x7F\"");
    assert_eq!(m.from().display, b"token1~` token2'+_ token3*%!.-");
    assert_eq!(m.from_tag(), Some(&b"_token~1'+`*%!-."[..]));
    assert_eq!(m.call_id(), b"intmeth.word%ZK-!.*_+'@word`~)(><:\\/\"][?}{");
    assert_eq!(m.max_forwards(), Some(255));
    assert_eq!(m.named(b"extensionHeader-!.%*+_`'~").count(), 1);
}

/// §3.1.2: invalid messages.
fn invalid() -> Vec<Case> {
    const TWICE: &str = "header stands twice";
    const NOT_IN_URI: &str = "URI holds an octet it may not, or no > ends it";
    vec![
        (
            "badinv01",
            "3.1.2.1",
            Malformed("parameter without a name", "RFC 3261 §25.1", b";,;,,\r\n"),
        ),
        (
            "clerr",
            "3.1.2.2",
            Malformed("Content-Length is larger than the body", "RFC 3261 §18.3", b"9999\r\n"),
        ),
        (
            "ncl",
            "3.1.2.3",
            Malformed(
                "Content-Length is not a number within the limit",
                "RFC 3261 §20.14",
                b"-999\r\n",
            ),
        ),
        (
            "scalar02",
            "3.1.2.4",
            Malformed(
                "CSeq number is not below 2^31",
                "RFC 3261 §8.1.1.5",
                b"36893488147419103232",
            ),
        ),
        (
            "scalarlg",
            "3.1.2.5",
            Malformed("CSeq number is not below 2^31", "RFC 3261 §8.1.1.5", b"9292394834772304"),
        ),
        (
            "quotbal",
            "3.1.2.6",
            Malformed("quoted string without its end", "RFC 3261 §20.10", b"\"Mr. J. User <sip:"),
        ),
        (
            "ltgtruri",
            "3.1.2.7",
            Malformed("URI without a scheme", "RFC 3261 §19.1.1", b"<sip:user@example.com> SIP"),
        ),
        (
            "lwsruri",
            "3.1.2.8",
            Malformed("URI holds an octet it may not", "RFC 3261 §19.1.1", b" lr SIP/2.0"),
        ),
        (
            "lwsstart",
            "3.1.2.9",
            Malformed("URI without a scheme", "RFC 3261 §19.1.1", b" sip:user@example.com  SIP"),
        ),
        (
            "trws",
            "3.1.2.10",
            Malformed("request line does not end in SIP/2.0", "RFC 3261 §7.1", b"\r\nVia"),
        ),
        (
            "escruri",
            "3.1.2.11",
            Malformed(
                "Request-URI with headers",
                "RFC 3261 §19.1.1",
                b"sip:user@example.com?Route",
            ),
        ),
        ("baddate", "3.1.2.12", Odd("date is not in GMT as RFC 1123 has it", |_| ())),
        (
            "regbadct",
            "3.1.2.13",
            Odd("URI with a comma, question mark or space stands outside of < >", |m| {
                assert_eq!(m.method(), Method::Register);
            }),
        ),
        (
            "badaspec",
            "3.1.2.14",
            Malformed(NOT_IN_URI, "RFC 3261 §20.10", b" sip:t.watson@example.org >"),
        ),
        (
            "baddn",
            "3.1.2.15",
            Malformed(
                "URI with a comma, question mark or space stands outside of < >",
                "RFC 3261 §20.10",
                b", Alexander <sip:",
            ),
        ),
        ("badvers", "3.1.2.16", Malformed(sip::WRONG_VERSION, "RFC 3261 §7.1", b"SIP/7.0\r\n")),
        (
            "mismatch01",
            "3.1.2.17",
            Malformed(
                "CSeq names another method than the request",
                "RFC 3261 §8.1.1.5",
                b"8 INVITE",
            ),
        ),
        (
            "mismatch02",
            "3.1.2.18",
            Malformed(
                "CSeq names another method than the request",
                "RFC 3261 §8.1.1.5",
                b"8 INVITE",
            ),
        ),
        (
            "bigcode",
            "3.1.2.19",
            Malformed("status is not 100 to 699", "RFC 3261 §7.2", b"4294967301 better"),
        ),
        ("multi01", "3.3.8", Malformed(TWICE, "RFC 3261 §7.3.1", b"CSeq: 59 INVITE")),
        ("mcl01", "3.3.9", Malformed(TWICE, "RFC 3261 §7.3.1", b"Content-Length: 5\r\n")),
        ("insuf", "3.3.1", Malformed("no From", "RFC 3261 §8.1.1", b"\r\nv=0")),
    ]
}

/// §3.2 to §3.4: well-formed messages that the layers above must treat with care.
fn semantic() -> Vec<Case> {
    vec![
        ("badbranch", "3.2.1", Valid(|m| assert!(!m.via().is_branch_unique()))),
        ("unkscm", "3.3.2", Valid(|m| assert_eq!(m.refusal(), Some(416)))),
        ("novelsc", "3.3.3", Valid(|m| assert_eq!(m.refusal(), Some(416)))),
        (
            "unksm2",
            "3.3.4",
            Valid(|m| {
                let scheme = |uri| sip::Uri::parse(uri).expect("checked").scheme;
                assert_eq!(m.refusal(), None, "a registrar decides what it thinks of the contact");
                assert_eq!(scheme(m.to().uri), Scheme::Other);
                assert_eq!(scheme(m.from().uri), Scheme::Other);
            }),
        ),
        (
            "bext01",
            "3.3.5",
            Valid(|m| {
                assert!(m.lists(Header::Require, b"nothingsupportsthiseither"));
                assert_eq!(values(m, Header::ProxyRequire).len(), 2);
            }),
        ),
        (
            "invut",
            "3.3.6",
            Valid(|m| {
                let kind = m.header(Header::ContentType);
                assert_eq!(kind, Some(&b"application/unknownformat"[..]));
            }),
        ),
        (
            "regaut01",
            "3.3.7",
            Valid(|m| {
                let value = m.header(Header::Authorization);
                assert!(value.is_some_and(|value| value.starts_with(b"NoOneKnowsThisScheme ")));
            }),
        ),
        (
            "bcast",
            "3.3.10",
            Valid(|m| {
                assert_eq!(values(m, Header::Via).len(), 2, "two Vias: the response is not ours");
                assert_eq!(m.via().host, b"192.0.2.198");
            }),
        ),
        (
            "zeromf",
            "3.3.11",
            Valid(|m| {
                assert_eq!(m.max_forwards(), Some(0));
                assert_eq!(m.refusal(), None, "an OPTIONS without hops is answered, not forwarded");
            }),
        ),
        (
            "cparam01",
            "3.3.12",
            Valid(|m| assert_eq!(contact(m).param(b"unknownparam"), Some(&b""[..]))),
        ),
        (
            "cparam02",
            "3.3.13",
            Valid(|m| {
                assert_eq!(contact(m).param(b"unknownparam"), None);
                let uri = contact(m).parse_uri().expect("checked");
                assert_eq!(uri.param(b"unknownparam"), Some(&b""[..]));
            }),
        ),
        (
            "regescrt",
            "3.3.14",
            Valid(|m| {
                let uri = contact(m).parse_uri().expect("checked");
                assert_eq!(uri.headers, b"Route=%3Csip:sip.example.com%3E");
            }),
        ),
        (
            "sdp01",
            "3.3.15",
            Valid(|m| {
                assert!(!m.lists(Header::Accept, b"application/sdp") && m.has(Header::Accept))
            }),
        ),
        (
            "inv2543",
            "3.4.1",
            Valid(|m| {
                assert_eq!((m.from_tag(), m.max_forwards()), (None, None));
                assert_eq!(m.via().branch, None);
                assert_eq!(
                    m.to().param(b"user"),
                    Some(&b"phone"[..]),
                    "no brackets: not the URI's"
                );
                assert!(m.body().starts_with(b"v=0"), "the body goes on to the datagram's end");
            }),
        ),
    ]
}

fn contact<'a>(message: &Message<'a>) -> sip::NameAddr<'a> {
    let value = message.values(Header::Contact).next().expect("a Contact");
    sip::NameAddr::parse(value).expect("checked")
}

/// RFC 5118 §4.
fn ipv6() -> Vec<Case> {
    vec![
        (
            "ipv6-good",
            "4.1",
            Valid(|m| {
                let uri = m.uri().expect("a request has one");
                assert_eq!((uri.host, uri.port), (&b"[2001:db8::10]"[..], None));
            }),
        ),
        (
            "ipv6-bad",
            "4.2",
            Malformed("port is not 0 to 65535", "RFC 3261 §19.1.1", b"db8::10 SIP/2.0"),
        ),
        (
            "port-ambiguous",
            "4.3",
            Valid(|m| {
                let uri = m.uri().expect("a request has one");
                assert_eq!((uri.host, uri.port), (&b"[2001:db8::10:5070]"[..], None));
            }),
        ),
        (
            "port-unambiguous",
            "4.4",
            Valid(|m| {
                let uri = m.uri().expect("a request has one");
                assert_eq!((uri.host, uri.port), (&b"[2001:db8::10]"[..], Some(5070)));
            }),
        ),
        (
            "via-received-param-with-delim",
            "4.5",
            Valid(|m| assert_eq!(m.via().received, Some(&b"[2001:db8::9:255]"[..]))),
        ),
        (
            "via-received-param-no-delim",
            "4.5",
            Valid(|m| assert_eq!(m.via().received, Some(&b"2001:db8::9:255"[..]))),
        ),
        ("ipv6-in-sdp", "4.6", Valid(|m| assert_eq!(m.via().host, b"[2001:db8::20]"))),
        (
            "mult-ip-in-header",
            "4.7",
            Valid(|m| {
                assert_eq!(values(m, Header::Via).len(), 3);
                assert_eq!(m.via().port, Some(6050));
            }),
        ),
        ("mult-ip-in-sdp", "4.8", Valid(|m| assert!(m.body().starts_with(b"v=0\r\n")))),
        (
            "ipv4-mapped-ipv6",
            "4.9",
            Valid(|m| {
                let uri = contact(m).parse_uri().expect("checked");
                assert_eq!(uri.ipv6(), "::ffff:192.0.2.2".parse().ok());
            }),
        ),
        ("ipv6-bug-abnf-3-colons", "4.10", Valid(embedded_ipv4)),
        ("ipv6-correct-abnf-2-colons", "4.10", Valid(embedded_ipv4)),
    ]
}

fn embedded_ipv4(m: &Message<'_>) {
    let uri = m.uri().expect("a request has one");
    assert_eq!(uri.ipv6(), "2001:db8::192.0.2.1".parse().ok());
}

#[test]
fn every_refused_request_gets_the_answer_its_section_asks_for() {
    for (name, _, expect) in invalid() {
        let bytes = bytes("rfc4475", name);
        let Malformed(..) = expect else { continue };
        let violation = Message::parse(&bytes).expect_err(name);
        let mut out = Vec::new();
        let status = sip::refuse(&bytes, &violation, b"t4475", &mut out);
        let expected = match name {
            "badvers" => Some(505),
            "bigcode" | "scalarlg" => None,
            _ => Some(400),
        };
        assert_eq!(status, expected, "{name}");
        assert_eq!(out.is_empty(), expected.is_none(), "{name}");
    }
}
