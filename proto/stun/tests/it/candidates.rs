//! Candidates and credentials as lines of SDP.

use stun::ice::{Candidate, Credentials, Host, Transport, host_priority};

/// RFC 8839 §5.1 and appendix A, browsers, and what RFC 6544 adds.
const LINES: &[&str] = &[
    "1 1 udp 2130706431 203.0.113.141 8998 typ host",
    "2 1 udp 1694498815 192.0.2.3 45664 typ srflx raddr 203.0.113.141 rport 8998",
    "1 1 udp 2130706431 fe80::6676:baff:fe9c:ee4a 8998 typ host",
    "3 2 udp 1694498815 2001:db8:8101:3a55:4858:a2a9:22ff:99b9 45664 typ relay raddr :: rport 0",
    "842163049 1 udp 1677729535 198.51.100.7 46154 typ srflx raddr 0.0.0.0 rport 0 generation 0 \
     ufrag EEtu network-cost 999",
    "1 1 udp 2122262783 9b36eaac-bb2e-49bb-bb78-21c41c499900.local 62209 typ host generation 0",
    "1 1 TCP 2128609279 192.0.2.1 9 typ host tcptype active",
];

#[test]
fn candidates_are_written_as_they_were_read() {
    for line in LINES {
        let candidate =
            Candidate::read(line).unwrap_or_else(|violation| panic!("{line}: {violation}"));
        let mut out = String::new();
        candidate.write_line(&mut out);
        assert_eq!(out, format!("a=candidate:{line}\r\n"));
    }
    let read = |at: usize| Candidate::read(LINES[at]).unwrap();
    assert_eq!(read(1).related(), Some(("203.0.113.141".parse().unwrap(), 8_998)));
    assert_eq!(read(0).related(), None);
    assert_eq!((read(3).component, read(3).kind), (2, "relay"));
    assert!(matches!(read(5).host, Host::Name(_)));
    assert_eq!(read(6).transport, Transport::Other("TCP"));
    assert_eq!(read(4).rest.split(' ').count(), 10);
}

#[test]
fn what_is_no_candidate_is_told_with_its_place() {
    for (line, at, what) in [
        ("", 0, "the foundation lacks"),
        ("a.b 1 udp 1 192.0.2.1 1 typ host", 0, "the foundation is none"),
        ("1 0 udp 1 192.0.2.1 1 typ host", 2, "the component is none"),
        ("1 257 udp 1 192.0.2.1 1 typ host", 2, "the component is none"),
        ("1 +1 udp 1 192.0.2.1 1 typ host", 2, "the component is none"),
        ("1 1", 4, "the transport lacks"),
        ("1 1 udp 2147483648 192.0.2.1 1 typ host", 8, "the priority is none"),
        ("1 1 udp 1 192.0.2.1;x 1 typ host", 10, "the address is none"),
        ("1 1 udp 1 192.0.2.1 65536 typ host", 20, "the port is none"),
        ("1 1 udp 1 192.0.2.1 1 type host", 22, "the type lacks"),
        ("1 1 udp 1 192.0.2.1 1 typ", 26, "the type lacks"),
        ("1 1 udp 1 192.0.2.1 1 typ a:b", 26, "the type is none"),
        ("1  1 udp 1 192.0.2.1 1 typ host", 2, "the component is none"),
    ] {
        let violation = Candidate::read(line).unwrap_err();
        assert_eq!((violation.at, violation.what), (at, what), "{line}");
    }
}

#[test]
fn what_is_cut_off_or_changed_never_panics() {
    for line in LINES {
        for cut in 0..line.len() {
            if let Err(violation) = Candidate::read(&line[..cut]) {
                assert!(violation.at <= cut + 1, "{line}: {violation}");
            }
            for octet in [' ', ':', '0', 'é'] {
                let mut changed: String = line[..cut].to_owned();
                changed.push(octet);
                changed.push_str(&line[cut + 1..]);
                let _ = Candidate::read(&changed).map(|it| it.related());
            }
        }
    }
}

#[test]
fn a_host_candidate_has_the_priority_of_rfc_8445() {
    assert_eq!((host_priority(1), host_priority(2)), (2_130_706_431, 2_130_706_430));
    let mut out = String::new();
    Candidate::host(1, "192.0.2.1".parse().unwrap(), 4_000).write_line(&mut out);
    assert_eq!(out, "a=candidate:1 1 udp 2130706431 192.0.2.1 4000 typ host\r\n");
}

#[test]
fn credentials_are_those_of_the_grammar_and_new_ones_are_of_it() {
    let password = b"asd88fgpdd777uzjYhagZg";
    let read = Credentials::read(b"8hhY", password).unwrap();
    assert_eq!((read.fragment(), read.password()), ("8hhY", "asd88fgpdd777uzjYhagZg"));
    for (fragment, password) in [
        (&b"8hh"[..], &password[..]),
        (b"8hhY", b"short"),
        (b"8h:Y", password),
        (&[b'x'; 257], password),
        (b"8hhY", &[b'x'; 257]),
        (b"8hh\r", password),
    ] {
        assert!(Credentials::read(fragment, password).is_err());
    }
    let one = Credentials::generate([1; 32]);
    assert_eq!(one, Credentials::generate([1; 32]));
    assert_ne!(one, Credentials::generate([2; 32]));
    let again = Credentials::read(one.fragment().as_bytes(), one.password().as_bytes());
    assert_eq!(again, Ok(one.clone()));
    let mut lines = String::new();
    one.write_lines(&mut lines);
    assert_eq!(lines.len(), "a=ice-ufrag:12345678\r\na=ice-pwd:123456789012345678901234\r\n".len());
    assert!(!format!("{one:?}").contains(one.password()), "a password is not printed");
}
