//! RFC 3263 against a small DNS in memory: every way from a URI to its targets.

use sip::Uri;
use sip::locate::{Answer, Carrier, Locator, Out, QUERIES_MAX, Query};
use std::collections::HashMap;
use std::net::IpAddr;

const ALL: [Carrier; 3] = [Carrier::Udp, Carrier::Tcp, Carrier::Tls];

/// A zone: `"NAPTR example.com"`, `"SRV _sip._udp.example.com"`, `"HOST a.example.com"`.
type Zone = HashMap<&'static str, Vec<&'static str>>;

fn answer(zone: &Zone, query: &Query) -> Answer {
    let words = |key: String| -> Vec<Vec<String>> {
        let rows = zone.get(key.as_str()).cloned().unwrap_or_default();
        rows.iter().map(|row| row.split(' ').map(str::to_owned).collect()).collect()
    };
    let number = |word: &String| word.parse::<u16>().unwrap();
    match query {
        Query::Naptr(name) => Answer::Naptr(
            words(format!("NAPTR {name}"))
                .iter()
                .map(|w| (number(&w[0]), number(&w[1]), w[2].clone(), w[3].clone(), w[4].clone()))
                .collect(),
        ),
        Query::Srv(name) => Answer::Srv(
            words(format!("SRV {name}"))
                .iter()
                .map(|w| (number(&w[0]), number(&w[1]), number(&w[2]), w[3].clone()))
                .collect(),
        ),
        Query::Host(name) => Answer::Host(
            words(format!("HOST {name}")).iter().map(|w| w[0].parse::<IpAddr>().unwrap()).collect(),
        ),
    }
}

/// The targets as text, or why there are none; and what was asked on the way.
fn locate(zone: &Zone, uri: &str, carriers: &[Carrier], seed: u64) -> (String, Vec<String>) {
    let uri = Uri::parse(uri.as_bytes()).unwrap();
    let (mut locator, mut out) = Locator::start(&uri, carriers, seed);
    let mut asked = Vec::new();
    loop {
        match out {
            Out::Query(query) => {
                assert!(asked.len() < QUERIES_MAX);
                asked.push(format!("{query:?}"));
                out = locator.answer(answer(zone, &query));
            }
            Out::Found(targets) => {
                let text: Vec<String> =
                    targets.iter().map(|t| format!("{:?} {}", t.carrier, t.address)).collect();
                return (text.join(", "), asked);
            }
            Out::Nowhere(why) => return (why.to_owned(), asked),
        }
    }
}

fn found(zone: &Zone, uri: &str) -> String {
    locate(zone, uri, &ALL, 1).0
}

#[test]
fn a_numeric_host_needs_no_dns() {
    let zone = Zone::new();
    let cases = [
        ("sip:192.0.2.1", "Udp 192.0.2.1:5060"),
        ("sip:192.0.2.1:5070", "Udp 192.0.2.1:5070"),
        ("sip:a@192.0.2.1;transport=tcp", "Tcp 192.0.2.1:5060"),
        ("sip:a@192.0.2.1;transport=TLS", "Tls 192.0.2.1:5061"),
        ("sips:192.0.2.1", "Tls 192.0.2.1:5061"),
        ("sips:192.0.2.1;transport=tcp", "Tls 192.0.2.1:5061"),
        ("sip:[2001:db8::1]", "Udp [2001:db8::1]:5060"),
        ("sip:example.com;maddr=192.0.2.9", "Udp 192.0.2.9:5060"),
    ];
    for (uri, expected) in cases {
        assert_eq!(locate(&zone, uri, &ALL, 1), (expected.to_owned(), vec![]), "{uri}");
    }
}

#[test]
fn what_we_cannot_speak_leads_nowhere() {
    let zone = Zone::new();
    for uri in ["sips:192.0.2.1;transport=udp", "sip:192.0.2.1;transport=sctp", "tel:+4930"] {
        let (text, asked) = locate(&zone, uri, &ALL, 1);
        assert!(asked.is_empty() && !text.contains("192.0.2.1:"), "{uri}: {text}");
    }
    let (text, _) = locate(&zone, "sips:192.0.2.1", &[Carrier::Udp], 1);
    assert_eq!(text, "its transport is not spoken here");
}

#[test]
fn an_explicit_port_asks_for_addresses_only() {
    let zone = Zone::from([("HOST example.com", vec!["192.0.2.1", "2001:db8::1"])]);
    let (text, asked) = locate(&zone, "sip:example.com:5070", &ALL, 1);
    assert_eq!(text, "Udp 192.0.2.1:5070, Udp [2001:db8::1]:5070");
    assert_eq!(asked, [r#"Host("example.com")"#]);
}

#[test]
fn naptr_chooses_the_transport_and_srv_the_servers() {
    // The example of RFC 3263 §4.1.
    let zone = Zone::from([
        (
            "NAPTR example.com",
            vec![
                "50 50 s SIPS+D2T _sips._tcp.example.com.",
                "90 50 s SIP+D2T _sip._tcp.example.com.",
                "100 50 s SIP+D2U _sip._udp.example.com.",
            ],
        ),
        (
            "SRV _sip._tcp.example.com",
            vec!["0 1 5060 server1.example.com.", "1 1 5062 server2.example.com."],
        ),
        ("HOST server1.example.com", vec!["192.0.2.1"]),
        ("HOST server2.example.com", vec!["192.0.2.2"]),
    ]);
    let (text, asked) = locate(&zone, "sip:example.com", &[Carrier::Tcp, Carrier::Udp], 1);
    assert_eq!(text, "Tcp 192.0.2.1:5060, Tcp 192.0.2.2:5062");
    assert_eq!(asked.len(), 4);
}

#[test]
fn without_naptr_the_srv_of_each_transport_is_tried_in_our_order() {
    let zone = Zone::from([
        ("SRV _sip._tcp.example.com", vec!["0 1 5065 a.example.com"]),
        ("SRV _sips._tcp.example.com", vec!["0 1 5061 a.example.com"]),
        ("HOST a.example.com", vec!["192.0.2.1"]),
    ]);
    assert_eq!(found(&zone, "sip:example.com"), "Tcp 192.0.2.1:5065");
    assert_eq!(found(&zone, "sips:example.com"), "Tls 192.0.2.1:5061");
}

#[test]
fn without_srv_the_address_of_the_domain_is_tried_at_the_default_port() {
    let zone = Zone::from([("HOST example.com", vec!["192.0.2.1"])]);
    assert_eq!(found(&zone, "sip:example.com"), "Udp 192.0.2.1:5060");
    assert_eq!(found(&zone, "sips:example.com"), "Tls 192.0.2.1:5061");
    assert_eq!(found(&zone, "sip:example.com;transport=tcp"), "Tcp 192.0.2.1:5060");
    assert_eq!(found(&zone, "sip:nowhere.example"), "its name leads to no address");
}

#[test]
fn a_service_that_is_not_offered_is_not_guessed_at() {
    let zone = Zone::from([
        ("SRV _sip._udp.example.com", vec!["0 0 0 ."]),
        ("HOST example.com", vec!["192.0.2.1"]),
    ]);
    let (text, _) = locate(&zone, "sip:example.com;transport=udp", &ALL, 1);
    assert_eq!(text, "its name leads to no address");
}

#[test]
fn weights_share_the_load_and_priorities_come_first() {
    let zone = Zone::from([
        (
            "SRV _sip._udp.example.com",
            vec!["10 30 1 a.example.com", "10 70 2 b.example.com", "20 99 3 c.example.com"],
        ),
        ("HOST a.example.com", vec!["192.0.2.1"]),
        ("HOST b.example.com", vec!["192.0.2.2"]),
        ("HOST c.example.com", vec!["192.0.2.3"]),
    ]);
    let mut first_b = 0;
    for seed in 0..1_000 {
        let (text, _) = locate(&zone, "sip:example.com;transport=udp", &ALL, seed);
        assert!(text.ends_with("Udp 192.0.2.3:3"), "{text}");
        assert_eq!(text.matches("Udp").count(), 3);
        first_b += u32::from(text.starts_with("Udp 192.0.2.2:2"));
    }
    assert!((650..=750).contains(&first_b), "{first_b} of 1000");
}

#[test]
fn the_same_seed_gives_the_same_order() {
    let zone = Zone::from([(
        "SRV _sip._udp.example.com",
        vec!["1 1 1 192.0.2.1", "1 1 2 192.0.2.2", "1 0 3 192.0.2.3"],
    )]);
    for seed in 0..50 {
        let run = || locate(&zone, "sip:example.com;transport=udp", &ALL, seed).0;
        assert_eq!(run(), run());
    }
}

#[test]
fn an_answer_of_the_wrong_kind_ends_nothing_and_loops_nowhere() {
    let uri = Uri::parse(b"sip:example.com").unwrap();
    let (mut locator, mut out) = Locator::start(&uri, &ALL, 1);
    let mut rounds = 0;
    while let Out::Query(_) = out {
        out = locator.answer(Answer::Host(vec![]));
        rounds += 1;
        assert!(rounds < QUERIES_MAX);
    }
    assert_eq!(out, Out::Nowhere("its name leads to no address"));
}
