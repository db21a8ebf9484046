//! Who does not keep to the agreement, and who is no phone.

use crate::world::{CLEAR, PCSCF, PROTECTED, Phone, TLS, World, section};
use handset::{Carrier, Handset, Packet, State};
use ims::{Ipsec, Metric};
use machine::Duration;
use runtime::{Flow, PortId, Transport};
use secagree::Preference;
use sim::LinkSpec;
use std::net::SocketAddr;

fn registered(seed: u64) -> World {
    let phones = vec![Phone::new(1, None, Preference::usual())];
    let spec = LinkSpec::perfect(Duration::from_millis(10));
    let mut world = World::new(seed, phones, section(), spec);
    world.act(0, Handset::register);
    world.run(Duration::from_secs(5));
    assert_eq!(world.phones[0].handset.state(), State::Registered);
    world
}

fn request(method: &str, lines: &str) -> Vec<u8> {
    format!(
        "{method} sip:b@ims.example.org SIP/2.0\r\n\
         Via: SIP/2.0/UDP 10.0.0.11:6100;branch=z9hG4bKx\r\nFrom: <sip:a@x>;tag=1\r\n\
         To: <sip:a@x>\r\nCall-ID: c\r\nCSeq: 9 {method}\r\n{lines}Content-Length: 0\r\n\r\n"
    )
    .into_bytes()
}

/// A datagram in the clear, from a phone's address or another one.
fn clear(world: &mut World, from: &str, to_port: u16, bytes: Vec<u8>) {
    let packet = Packet {
        carrier: Carrier::Clear,
        from: from.parse().unwrap(),
        to: SocketAddr::from((PCSCF, to_port)),
        bytes,
    };
    world.fly(packet);
    world.run(Duration::from_secs(1));
}

fn refused(world: &mut World) -> String {
    String::from_utf8(world.pcscf.refused.pop().unwrap_or_default()).unwrap()
}

#[test]
pub fn what_comes_in_the_clear_to_a_protected_port_is_dropped_and_counted() {
    let mut world = registered(1);
    let before = world.air.len();
    for port in [5_062, 5_064] {
        clear(&mut world, "10.0.0.11:6200", port, request("INVITE", ""));
    }
    assert_eq!(world.pcscf.access.esp_count(ipsec::Metric::Clear), 2);
    assert_eq!(world.air.len(), before + 2, "nothing was answered");
    assert_eq!(world.pcscf.passed, []);
}

#[test]
pub fn a_registration_without_an_agreement_is_refused_by_its_section() {
    let mut world = registered(2);
    clear(&mut world, "10.0.0.99:5060", 5_060, request("REGISTER", ""));
    let answer = refused(&mut world);
    assert!(answer.starts_with("SIP/2.0 421 ") && answer.contains("Require: sec-agree\r\n"));
    clear(&mut world, "10.0.0.99:5060", 5_060, request("REGISTER", "Supported: sec-agree\r\n"));
    let answer = refused(&mut world);
    assert!(answer.starts_with("SIP/2.0 494 ") && answer.contains("Security-Server: ipsec-3gpp;"));
    let asks = "Require: sec-agree\r\nProxy-Require: sec-agree\r\n";
    clear(&mut world, "10.0.0.99:5060", 5_060, request("REGISTER", asks));
    assert!(refused(&mut world).starts_with("SIP/2.0 494 "));
    let weak = "Security-Client: ipsec-3gpp;alg=hmac-md5-96;ealg=des-ede3-cbc;spi-c=1000;\
                spi-s=1001;port-c=2000;port-s=2001\r\n";
    clear(&mut world, "10.0.0.99:5060", 5_060, request("REGISTER", &format!("{asks}{weak}")));
    assert!(refused(&mut world).starts_with("SIP/2.0 494 "));
    clear(&mut world, "10.0.0.99:5060", 5_060, request("INVITE", ""));
    assert!(refused(&mut world).starts_with("SIP/2.0 403 "));
    let access = &world.pcscf.access;
    assert_eq!(access.count(Metric::NotAsked), 1);
    assert_eq!(access.count(Metric::Disagreed), 3);
    assert_eq!(access.count(Metric::Unprotected), 1);
    let why: Vec<_> = access.explain(world.now, None, 9).into_iter().map(|it| it.why).collect();
    // The INVITE is no registration.
    assert_eq!(why.len(), 4);
    assert!(why[3].contains("RFC 3329"), "{why:?}");
}

/// The message that the function passed on last.
fn passed(world: &mut World) -> String {
    let text = world.pcscf.passed.pop().map(|(_, text)| text);
    String::from_utf8(text.unwrap_or_default()).unwrap()
}

/// What the function sends to a host in the clear; what leaves.
fn sent(world: &mut World, port: PortId, remote: &str, text: &[u8]) -> Vec<Packet> {
    let local = SocketAddr::from((PCSCF, 5_060));
    let flow = Flow::to(port, Transport::Udp, local, remote.parse().unwrap());
    let mut out = Vec::new();
    world.pcscf.send(world.now, flow, text, &mut out);
    out
}

/// An answer of another end than the phone.
fn answer(status: &str, method: &str, lines: &str) -> Vec<u8> {
    format!(
        "SIP/2.0 {status}\r\nVia: SIP/2.0/UDP 10.0.0.11:6100;branch=z9hG4bKx\r\n\
         From: <sip:a@x>;tag=1\r\nTo: <sip:a@x>;tag=2\r\nCall-ID: c\r\nCSeq: 9 {method}\r\n\
         {lines}Content-Length: 0\r\n\r\n"
    )
    .into_bytes()
}

#[test]
pub fn an_emergency_call_passes_without_an_agreement_from_its_invite_to_its_end() {
    let mut world = registered(3);
    let host = "10.0.0.99:5060";
    let in_dialog = |method: &str| {
        let text = String::from_utf8(request(method, "")).unwrap();
        text.replace("To: <sip:a@x>", "To: <sip:a@x>;tag=2").into_bytes()
    };
    // Before the call there is nothing to go on with.
    for method in ["ACK", "BYE"] {
        clear(&mut world, host, 5_060, in_dialog(method));
        assert_eq!(world.pcscf.passed, []);
    }
    clear(&mut world, host, 5_060, answer("200 OK", "BYE", ""));
    assert_eq!(world.pcscf.passed, []);
    assert!(sent(&mut world, CLEAR, host, &in_dialog("BYE")).is_empty());
    let invite = String::from_utf8(request("INVITE", "")).unwrap();
    let sos = |urn: &str| invite.replace("INVITE sip:b@ims.example.org", &format!("INVITE {urn}"));
    for other in ["urn:service:sosx", "sip:sos@x"] {
        world.pcscf.refused.clear();
        clear(&mut world, host, 5_060, sos(other).into_bytes());
        assert!(refused(&mut world).starts_with("SIP/2.0 403 "));
    }
    let options = sos("urn:service:sos").replace("INVITE", "OPTIONS");
    clear(&mut world, host, 5_060, options.into_bytes());
    assert!(refused(&mut world).starts_with("SIP/2.0 403 "));
    clear(&mut world, host, 5_060, sos("urn:service:sos.police").into_bytes());
    assert!(passed(&mut world).starts_with("INVITE urn:service:sos.police"));
    let ok = answer("200 OK", "INVITE", "");
    assert_eq!(sent(&mut world, CLEAR, host, &ok)[0].bytes, ok);
    for method in ["ACK", "PRACK", "UPDATE"] {
        clear(&mut world, host, 5_060, in_dialog(method));
        assert!(passed(&mut world).starts_with(method));
    }
    // Another host has no part in it.
    clear(&mut world, "10.0.0.98:5060", 5_060, in_dialog("BYE"));
    assert_eq!(world.pcscf.passed, []);
    // Two hours later the other side hangs up.
    world.run(Duration::from_secs(7_200));
    assert_eq!(sent(&mut world, CLEAR, host, &in_dialog("BYE")).len(), 1);
    clear(&mut world, host, 5_060, answer("200 OK", "BYE", ""));
    assert!(passed(&mut world).starts_with("SIP/2.0 200"));
    world.run(Duration::from_secs(40));
    clear(&mut world, host, 5_060, in_dialog("BYE"));
    assert_eq!(world.pcscf.passed, []);
    assert_eq!(world.pcscf.access.count(Metric::Emergency), 1);
}

/// An INVITE that calls for help, of that Call-ID.
fn sos(call: &str) -> Vec<u8> {
    let invite = String::from_utf8(request("INVITE", "")).unwrap();
    let invite = invite.replace("INVITE sip:b@ims.example.org", "INVITE urn:service:sos");
    invite.replace("Call-ID: c", &format!("Call-ID: {call}")).into_bytes()
}

#[test]
fn an_emergency_call_opens_the_clear_for_its_own_dialog_alone() {
    let mut world = registered(3);
    let host = "10.0.0.99:5060";
    clear(&mut world, host, 5_060, sos("c"));
    assert!(passed(&mut world).starts_with("INVITE urn:service:sos"));
    // Again, as phones send it.
    clear(&mut world, host, 5_060, sos("c"));
    assert!(passed(&mut world).starts_with("INVITE urn:service:sos"));
    for method in ["INVITE", "MESSAGE", "SUBSCRIBE", "REFER", "OPTIONS", "CANCEL", "BYE"] {
        world.pcscf.refused.clear();
        clear(&mut world, host, 5_060, request(method, ""));
        assert!(refused(&mut world).starts_with("SIP/2.0 403 "), "{method}");
        assert_eq!(world.pcscf.passed, [], "{method}");
    }
    for method in ["MESSAGE", "SUBSCRIBE", "REFER"] {
        let text = String::from_utf8(request(method, "")).unwrap();
        let text = text.replace("To: <sip:a@x>", "To: <sip:a@x>;tag=2");
        clear(&mut world, host, 5_060, text.into_bytes());
        assert_eq!(world.pcscf.passed, [], "{method}");
    }
    let cancel = String::from_utf8(sos("c")).unwrap().replace("INVITE", "CANCEL");
    clear(&mut world, host, 5_060, cancel.into_bytes());
    assert!(passed(&mut world).starts_with("CANCEL urn:service:sos"));
}

#[test]
fn what_a_phone_says_itself_does_not_answer_its_emergency_call() {
    let mut world = registered(3);
    let of = |text: Vec<u8>, call: u32| {
        let text = String::from_utf8(text).unwrap();
        text.replace("Call-ID: c", &format!("Call-ID: {call}"))
    };
    for number in 0..9_000_u32 {
        let host = std::net::Ipv4Addr::from_bits(0x0b00_0000 + number);
        let remote = SocketAddr::from((host, 5_060));
        let flow = Flow::to(CLEAR, Transport::Udp, SocketAddr::from((PCSCF, 5_060)), remote);
        for text in [
            String::from_utf8(sos(&number.to_string())).unwrap(),
            of(answer("200 OK", "INVITE", ""), number),
        ] {
            let message = sip::Message::parse(text.as_bytes()).unwrap();
            let now = world.now;
            world.pcscf.access.request(now, &flow, &message, &mut Vec::new());
        }
    }
    let host = "10.0.0.99:5060";
    clear(&mut world, host, 5_060, sos("c"));
    assert!(passed(&mut world).starts_with("INVITE urn:service:sos"));
    assert_eq!(sent(&mut world, CLEAR, host, &answer("200 OK", "INVITE", "")).len(), 1);
    // The callee hangs up; a copy of the 200 for the INVITE does not begin it anew.
    let bye = || request("BYE", "");
    assert_eq!(sent(&mut world, CLEAR, host, &bye()).len(), 1);
    clear(&mut world, host, 5_060, answer("200 OK", "BYE", ""));
    assert_eq!(sent(&mut world, CLEAR, host, &answer("200 OK", "INVITE", "")).len(), 1);
    world.run(Duration::from_secs(40));
    assert!(sent(&mut world, CLEAR, host, &bye()).is_empty());
}

#[test]
fn where_the_realm_takes_no_emergency_calls_they_are_refused() {
    let phones = vec![Phone::new(1, None, Preference::usual())];
    let spec = LinkSpec::perfect(Duration::from_millis(1));
    let mut world = World::new(3, phones, Ipsec { emergency: false, ..section() }, spec);
    let invite = String::from_utf8(request("INVITE", "")).unwrap();
    let sos = invite.replace("INVITE sip:b@ims.example.org", "INVITE urn:service:sos");
    clear(&mut world, "10.0.0.99:5060", 5_060, sos.into_bytes());
    assert!(refused(&mut world).starts_with("SIP/2.0 403 "));
    assert_eq!(world.pcscf.passed, []);
}

#[test]
fn over_tls_nothing_is_agreed_and_nothing_is_said_to_be_protected() {
    let own = "Authorization: Digest username=\"a@x\", realm=\"x\", uri=\"sip:x\", \
               integrity-protected=\"tls-yes\"\r\n";
    let asks = "Require: sec-agree\r\nSecurity-Client: ipsec-3gpp;alg=hmac-sha-1-96;\
                ealg=aes-cbc;spi-c=1000;spi-s=1001;port-c=2000;port-s=2001\r\n";
    for required in [true, false] {
        let spec = LinkSpec::perfect(Duration::from_millis(1));
        let mut world = World::new(3, Vec::new(), Ipsec { required, ..section() }, spec);
        let remote = SocketAddr::from(([10, 0, 0, 11], 40_000));
        let flow = Flow::to(TLS, Transport::Tls, SocketAddr::from((PCSCF, 5_061)), remote);
        let mut judge = |method: &str, lines: &str| {
            let bytes = request(method, lines);
            let message = sip::Message::parse(&bytes).unwrap();
            let mut text = Vec::new();
            world.pcscf.access.request(world.now, &flow, &message, &mut text);
            String::from_utf8(text).unwrap()
        };
        let forbidden = "SIP/2.0 403 ";
        assert!(judge("REGISTER", &format!("{asks}{own}")).starts_with(forbidden));
        let (register, invite) = (judge("REGISTER", own), judge("INVITE", ""));
        if required {
            assert!(register.starts_with(forbidden) && invite.starts_with(forbidden));
        } else {
            assert!(register.contains("integrity-protected=\"no\"") && invite.is_empty());
            assert!(!register.contains("tls-yes"), "{register}");
        }
    }
}

#[test]
fn a_registration_that_the_core_accepts_in_the_clear_is_none() {
    let mut world = registered(3);
    world.pcscf.is_core_silent = true;
    clear(&mut world, "10.0.0.11:5060", 5_060, offering(1, 11));
    // One with its number and another name is not the one that was looked at.
    let other =
        String::from_utf8(offering(1, 11)).unwrap().replace("To: <sip:a@x>", "To: <sip:v@x>");
    clear(&mut world, "10.0.0.11:5060", 5_060, other.into_bytes());
    assert!(refused(&mut world).starts_with("SIP/2.0 400 "));
    let bare = String::from_utf8(request("REGISTER", "")).unwrap().replace("ID: c", "ID: c1");
    clear(&mut world, "10.0.0.11:5060", 5_060, bare.into_bytes());
    assert!(refused(&mut world).starts_with("SIP/2.0 421 "));
    assert_eq!(world.pcscf.told.len(), 3);
    let accepted =
        String::from_utf8(answer("200 OK", "REGISTER", "P-Associated-URI: <sip:a@x>\r\n"));
    let accepted = accepted.unwrap().replace("ID: c", "ID: c1");
    let out = sent(&mut world, CLEAR, "10.0.0.11:5060", accepted.as_bytes());
    let text = String::from_utf8(out[0].bytes.clone()).unwrap();
    assert!(text.starts_with("SIP/2.0 494 ") && text.contains("Security-Server: "), "{text}");
    assert!(text.contains("CSeq: 9 REGISTER") && !text.contains("P-Associated-URI"));
    assert_eq!(world.pcscf.access.show(None, 9).len(), 1);
    // And nobody is called there.
    assert!(sent(&mut world, CLEAR, "10.0.0.11:5060", &request("INVITE", "")).is_empty());
}

#[test]
pub fn keys_of_no_answer_reach_a_phone_or_the_function() {
    let mut world = registered(3);
    let keys = "ck=\"000102030405060708090a0b0c0d0e0f\", IK = \"000102030405060708090a0b0c0d0e0f\"";
    let value = format!("Digest realm=\"x\", nonce=\"bmNr\", algorithm=AKAv1-MD5, {keys}");
    let lines = [
        ("407 Proxy Authentication Required", format!("Proxy-Authenticate: {value}\r\n")),
        ("401 Unauthorized", format!("www-authenticate\t: {value}\r\n")),
        ("403 Forbidden", format!("WWW-Authenticate: Digest realm=\"x, {keys}\r\n")),
    ];
    let has_keys = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).to_lowercase();
        text.contains("ck=") || text.contains("0a0b0c")
    };
    for (status, lines) in &lines {
        for method in ["REGISTER", "INVITE"] {
            for blank in ["", "\r\n\r\n"] {
                let bytes = [blank.as_bytes(), &answer(status, method, lines)].concat();
                let mut out = Vec::new();
                let now = world.now;
                let verdict = world.pcscf.access.unkeyed(now, &bytes, true, &mut out);
                assert_eq!(verdict, ims::Verdict::Changed, "{status} {blank:?}");
                assert!(!has_keys(&out), "{status}");
                for port in [CLEAR, TLS, PROTECTED] {
                    let out = sent(&mut world, port, "10.0.0.11:6100", &bytes);
                    assert!(out.iter().all(|packet| !has_keys(&packet.bytes)), "{status}");
                    assert_eq!(out.len(), 1, "{status} {method} {port:?}");
                }
            }
        }
        let broken = String::from_utf8(answer(status, "REGISTER", lines)).unwrap();
        let broken = broken.replace("CSeq: 9", "CSeq: x");
        let before = world.pcscf.access.count(Metric::Unreadable);
        let now = world.now;
        let verdict = world.pcscf.access.unkeyed(now, broken.as_bytes(), true, &mut Vec::new());
        assert_eq!(verdict, ims::Verdict::Dropped);
        for port in [CLEAR, PROTECTED] {
            assert!(sent(&mut world, port, "10.0.0.11:6100", broken.as_bytes()).is_empty());
        }
        assert_eq!(world.pcscf.access.count(Metric::Unreadable), before + 3);
    }
}

#[test]
pub fn what_looks_like_a_key_within_a_value_is_none_and_leaves_as_it_is() {
    let mut world = registered(3);
    let nonce = format!("{}/ck=", "A".repeat(40));
    let values = [
        "Digest realm=\"x ck=y\", nonce=\"n\"".to_owned(),
        format!("Digest realm=\"x\", nonce=\"{nonce}\", algorithm=AKAv1-MD5"),
    ];
    for value in &values {
        for (status, name) in [
            ("407 Proxy Authentication Required", "Proxy-Authenticate"),
            ("401 Unauthorized", "WWW-Authenticate"),
        ] {
            for method in ["REGISTER", "INVITE"] {
                let bytes = answer(status, method, &format!("{name}: {value}\r\n"));
                let (now, mut out) = (world.now, Vec::new());
                let verdict = world.pcscf.access.unkeyed(now, &bytes, true, &mut out);
                assert_eq!((verdict, out.len()), (ims::Verdict::Passes, 0), "{value}");
                for port in [CLEAR, TLS] {
                    let out = sent(&mut world, port, "10.0.0.11:6100", &bytes);
                    assert_eq!(out[0].bytes, bytes);
                }
                assert_eq!(sent(&mut world, PROTECTED, "10.0.0.11:6100", &bytes).len(), 1);
            }
        }
    }
    // Keys beside it are taken all the same, and serve.
    let keys = "ck=\"000102030405060708090a0b0c0d0e0f\", ik=\"000102030405060708090a0b0c0d0e0f\"";
    let line = format!("WWW-Authenticate: {}, {keys}\r\n", values[1]);
    let bytes = answer("401 Unauthorized", "REGISTER", &line);
    let before = world.pcscf.access.count(Metric::KeysTaken);
    let (now, mut out) = (world.now, Vec::new());
    let verdict = world.pcscf.access.unkeyed(now, &bytes, true, &mut out);
    assert_eq!(verdict, ims::Verdict::Changed);
    assert_eq!(world.pcscf.access.count(Metric::KeysTaken), before + 1);
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains(&values[1]) && !text.contains("0a0b0c"), "{text}");
    let out = sent(&mut world, CLEAR, "10.0.0.11:6100", &bytes);
    assert_eq!(out[0].bytes, text.as_bytes());
}

#[test]
fn an_agreement_stands_a_week_at_most_and_answers_are_known_by_what_they_say() {
    let mut phone = Phone::new(1, None, Preference::usual());
    let mut config = phone.handset.config().clone();
    config.expires_s = u32::MAX;
    phone.handset = Handset::new(config);
    let spec = LinkSpec::perfect(Duration::from_millis(1));
    let mut world = World::new(3, vec![phone], section(), spec);
    world.act(0, Handset::register);
    world.run(Duration::from_secs(1));
    let row = world.current(0).remove(0);
    assert!(row.expires_at_us <= 604_831_000_000, "{}", row.expires_at_us);
    // A call's answer whose Call-ID looks like the number of a registration is none of one.
    let text = String::from_utf8(answer("403 Forbidden", "INVITE", "")).unwrap();
    let text = text.replace("Call-ID: c", "Subject: 1 REGISTER\r\nCall-ID: c");
    assert_eq!(sent(&mut world, PROTECTED, &row.ue, text.as_bytes()).len(), 1);
    assert_eq!(world.current(0).len(), 1);
}

#[test]
pub fn what_was_offered_must_come_again_under_protection() {
    let mut world = registered(4);
    let row = world.current(0).remove(0);
    let flow = Flow::to(
        PROTECTED,
        Transport::Udp,
        SocketAddr::from((PCSCF, 5_062)),
        row.ue.parse().unwrap(),
    );
    // As if it came by the associations: it waited for its turn.
    let judge = |world: &mut World, lines: &str| {
        let bytes = request("INVITE", lines);
        let message = sip::Message::parse(&bytes).unwrap();
        let mut text = Vec::new();
        let now = world.now;
        let verdict = world.pcscf.access.request(now, &flow, &message, &mut text);
        (verdict, String::from_utf8(text).unwrap())
    };
    let asks = "Require: sec-agree\r\nProxy-Require: sec-agree\r\n";
    let (verdict, text) = judge(&mut world, asks);
    assert_eq!(verdict, ims::Verdict::Refused);
    assert!(text.starts_with("SIP/2.0 494 "), "{text}");
    let weaker = format!(
        "{asks}Security-Verify: ipsec-3gpp;q=0.9;alg=hmac-sha-1-96;ealg=null;spi-c={};spi-s={};\
         port-c=5064;port-s=5062\r\n",
        row.spi_in[1], row.spi_in[0]
    );
    assert!(judge(&mut world, &weaker).1.starts_with("SIP/2.0 494 "));
    assert_eq!(world.pcscf.access.count(Metric::Downgraded), 2);
}

/// How the P-CSCF judges what came by a phone's associations and waited for its turn.
fn by_associations(world: &mut World, ue: &str, bytes: &[u8]) -> (ims::Verdict, String) {
    let local = SocketAddr::from((PCSCF, 5_062));
    let flow = Flow::to(PROTECTED, Transport::Udp, local, ue.parse().unwrap());
    let mut text = Vec::new();
    let message = sip::Message::parse(bytes).unwrap();
    let verdict = world.pcscf.access.request(world.now, &flow, &message, &mut text);
    (verdict, String::from_utf8(text).unwrap())
}

#[test]
fn what_ends_transactions_passes_by_associations_whose_registration_was_accepted() {
    let [ack, cancel] = ["ACK", "CANCEL"].map(|method| request(method, ""));
    let mut world = registered(41);
    let ue = world.current(0).remove(0).ue;
    for bytes in [&ack, &cancel] {
        assert_eq!(by_associations(&mut world, &ue, bytes).0, ims::Verdict::Passes);
    }
    // The core says nothing of the response of another phone.
    let spec = LinkSpec::perfect(Duration::from_millis(10));
    let mut world = World::new(42, vec![Phone::new(1, None, Preference::usual())], section(), spec);
    world.act(0, Handset::register);
    world.run(Duration::from_millis(25));
    world.pcscf.is_core_silent = true;
    world.run(Duration::from_secs(1));
    let row = world.pcscf.access.show(None, 9).remove(0);
    assert_eq!(row.state, "answered");
    assert_eq!(by_associations(&mut world, &row.ue, &ack).0, ims::Verdict::Dropped);
    let (verdict, text) = by_associations(&mut world, &row.ue, &cancel);
    assert_eq!(verdict, ims::Verdict::Refused);
    assert!(text.starts_with("SIP/2.0 403 "), "{text}");
    assert_eq!(world.pcscf.access.count(Metric::Unprotected), 2);
}

#[test]
fn an_empty_response_is_disbelief_while_a_challenge_waits_and_at_no_other_time() {
    let mut world = registered(43);
    let impi = world.phones[0].handset.config().subscriber.impi.clone();
    let empty = |number: u32| {
        let text = String::from_utf8(offering(number, 11)).unwrap();
        let credentials = format!(
            "Authorization: Digest username=\"{impi}\", realm=\"x\", nonce=\"n\", uri=\"sip:x\", \
             response=\"\"\r\n"
        );
        text.replace("Content-Length", &format!("{credentials}Content-Length")).into_bytes()
    };
    let disbelieved = |world: &mut World, number: u32| {
        let bytes = empty(number);
        let remote = SocketAddr::from(([10, 0, 0, 11], 5_060));
        let flow = Flow::to(CLEAR, Transport::Udp, SocketAddr::from((PCSCF, 5_060)), remote);
        let message = sip::Message::parse(&bytes).unwrap();
        world.pcscf.access.request(world.now, &flow, &message, &mut Vec::new());
        let rows = world.pcscf.access.explain(world.now, Some(&impi), 99);
        rows.iter().filter(|row| row.why.contains("its MAC is wrong")).count()
    };
    // Many say that they are this phone, and none of them was challenged.
    assert_eq!((0..20).map(|number| disbelieved(&mut world, number)).max(), Some(0));
    world.phones[0].handset.restart();
    world.act(0, Handset::register);
    world.run(Duration::from_millis(25));
    assert_eq!(disbelieved(&mut world, 20), 1);
    world.run(Duration::from_secs(5));
    assert_eq!(world.phones[0].handset.state(), State::Registered);
    assert_eq!(disbelieved(&mut world, 21), 1, "the challenge was answered");
}

/// What offers an agreement from that host.
fn offering(number: u32, host: u8) -> Vec<u8> {
    let offer = "Require: sec-agree\r\nProxy-Require: sec-agree\r\n\
                 Security-Client: ipsec-3gpp;alg=hmac-sha-1-96;ealg=aes-cbc;spi-c=1000;spi-s=1001;\
                 port-c=2000;port-s=2001\r\n";
    let text = String::from_utf8(request("REGISTER", offer)).unwrap();
    let via = format!("10.0.0.{host}:6100");
    let text = text.replace("Call-ID: c", &format!("Call-ID: c{number}"));
    text.replace("10.0.0.11:6100", &via).into_bytes()
}

/// How it is judged, and nobody answers it.
fn judged(world: &mut World, number: u32, host: u8) -> ims::Verdict {
    let bytes = offering(number, host);
    let message = sip::Message::parse(&bytes).unwrap();
    let remote = SocketAddr::from(([10, 0, 0, host], 5_060));
    let flow = Flow::to(CLEAR, Transport::Udp, SocketAddr::from((PCSCF, 5_060)), remote);
    world.pcscf.access.request(world.now, &flow, &message, &mut Vec::new())
}

#[test]
pub fn registrations_under_way_are_bounded_by_source_and_the_heaviest_makes_way() {
    let section = Ipsec { under_way_of_source_max: 5, under_way_max: 20, ..section() };
    let phones = vec![Phone::new(1, None, Preference::usual())];
    let spec = LinkSpec::perfect(Duration::from_millis(1));
    let mut world = World::new(5, phones, section, spec);
    for number in 0..10 {
        clear(&mut world, "10.0.0.99:5060", 5_060, offering(number, 99));
    }
    // The home network knows nobody of that name: what was offered ends with its 403.
    assert_eq!(world.pcscf.access.show_shard().under_way, 0);
    for number in 0..6 {
        assert_eq!(judged(&mut world, number, 100), ims::Verdict::Changed);
    }
    assert_eq!(world.pcscf.access.show_shard().under_way, 5, "the oldest has made way");
    for host in 101..140 {
        assert_eq!(judged(&mut world, 0, host), ims::Verdict::Changed);
    }
    assert_eq!(world.pcscf.access.show_shard().under_way, 20);
    assert_eq!(world.pcscf.access.count(Metric::MadeWay), 25);
    assert_eq!(world.pcscf.access.count(Metric::OfSource), 0);
    // Another that offers much takes its own place, not that of others.
    for number in 1..5 {
        judged(&mut world, number, 139);
    }
    let rows = world.pcscf.access.show(None, 99);
    let hosts: std::collections::BTreeSet<_> = rows.iter().map(|row| &row.ue).collect();
    assert!(hosts.len() >= 18, "{hosts:?}");
    world.run(Duration::from_secs(60));
    assert_eq!(world.pcscf.access.show_shard().under_way, 0);
    world.act(0, Handset::register);
    world.run(Duration::from_secs(5));
    assert_eq!(world.phones[0].handset.state(), State::Registered);
}

#[test]
pub fn registrations_that_strangers_forge_in_the_name_of_a_phones_source_do_not_keep_it_off() {
    let section = Ipsec { under_way_of_source_max: 5, ..section() };
    let phones = vec![Phone::new(1, None, Preference::usual())];
    let spec = LinkSpec::perfect(Duration::from_millis(10));
    let mut world = World::new(5, phones, section, spec);
    for round in 1..4 {
        for number in 0..20 {
            judged(&mut world, round * 100 + number, 11);
        }
        assert!(world.pcscf.access.show_shard().under_way <= 5 + 1);
        world.act(0, Handset::register);
        world.run(Duration::from_secs(1));
        assert_eq!(world.phones[0].handset.state(), State::Registered, "round {round}");
        let counts = world.pcscf.access.count(Metric::Established);
        assert_eq!(counts, u64::from(round), "the core has challenged it each time");
    }
    // By its associations it may not offer without end either.
    world.pcscf.is_core_silent = true;
    let impi = world.phones[0].handset.config().subscriber.impi.clone();
    let row = world.current(0).remove(0);
    let before = world.pcscf.access.show_shard().under_way;
    for number in 0..40 {
        let lines = format!(
            "Authorization: Digest username=\"{impi}\", realm=\"x\", nonce=\"\", uri=\"sip:x\"\r\n\
             Security-Client: ipsec-3gpp;alg=hmac-sha-1-96;ealg=aes-cbc;spi-c={};spi-s=9001;\
             port-c=2000;port-s=2001\r\n",
            9_100 + number
        );
        let text = String::from_utf8(request("REGISTER", &lines)).unwrap();
        let text = text.replace("Call-ID: c", &format!("Call-ID: again{number}"));
        world.act(0, |handset, _, out| handset.send(text.as_bytes(), out));
        world.run(Duration::from_millis(100));
    }
    let told = world.pcscf.told.iter().filter(|it| it.windows(5).any(|it| it == b"again"));
    assert_eq!(told.count(), 40);
    assert!(world.pcscf.access.show_shard().under_way <= before + 4, "{}", row.ue);
}

#[test]
fn a_phone_that_has_proven_its_card_makes_no_way_for_strangers() {
    let section = Ipsec { under_way_max: 20, ..section() };
    let phones = vec![Phone::new(1, None, Preference::usual())];
    let spec = LinkSpec::perfect(Duration::from_millis(10));
    let mut world = World::new(5, phones, section, spec);
    world.act(0, Handset::register);
    world.run(Duration::from_millis(25));
    world.pcscf.is_core_silent = true;
    world.run(Duration::from_millis(10));
    let state = |world: &World| world.pcscf.access.show(None, 1).first().map(|row| row.state);
    assert_eq!(state(&world), Some("answered"));
    for host in 20..90 {
        judged(&mut world, 0, host);
    }
    assert_eq!(world.pcscf.access.show_shard().under_way, 20);
    assert_eq!(state(&world), Some("answered"));
    world.pcscf.is_core_silent = false;
    world.run(Duration::from_secs(5));
    assert_eq!(world.phones[0].handset.state(), State::Registered);
}

#[test]
fn one_card_has_three_sets_at_most_whatever_becomes_of_them() {
    let phones = vec![Phone::new(1, None, Preference::usual())];
    let spec = LinkSpec::perfect(Duration::from_millis(1));
    let mut world = World::new(5, phones, section(), spec);
    let impi = world.phones[0].handset.config().subscriber.impi.clone();
    for round in 0..30 {
        if round % 3 != 0 {
            world.phones[0].handset.restart();
        }
        world.act(0, Handset::register);
        world.run(Duration::from_millis(100));
        assert_eq!(world.phones[0].handset.state(), State::Registered, "round {round}");
        let states: Vec<_> =
            world.pcscf.access.show(Some(&impi), 99).iter().map(|row| row.state).collect();
        assert!(states.len() <= 3, "{states:?}");
        assert_eq!(states.iter().filter(|state| **state == "current").count(), 1, "{states:?}");
        assert!(world.pcscf.access.esp_count(ipsec::Metric::SetsLive) <= 3);
    }
    world.pcscf.home.refuse(true);
    for _ in 0..30 {
        world.phones[0].handset.restart();
        world.act(0, Handset::register);
        world.run(Duration::from_millis(100));
        assert!(world.pcscf.access.esp_count(ipsec::Metric::SetsLive) <= 3);
    }
}

#[test]
pub fn agreements_that_stand_are_bounded_by_source_and_another_registration_is_none_more() {
    let nat = |shift| Some(([198, 51, 100, 9].into(), shift));
    let phones = (1..6).map(|n| Phone::new(n, nat(n as u16 * 1_000), Preference::usual()));
    let spec = LinkSpec::perfect(Duration::from_millis(1));
    let section = Ipsec { sets_of_source_max: 3, ..section() };
    let mut world = World::new(5, phones.collect(), section, spec);
    for phone in [0, 1, 2, 3, 0] {
        world.act(phone, Handset::register);
        world.run(Duration::from_secs(1));
        let is_registered = world.phones[phone].handset.state() == State::Registered;
        assert_eq!(is_registered, phone != 3, "{phone}");
    }
    assert!(refused(&mut world).starts_with("SIP/2.0 503 "));
    world.act(1, Handset::deregister);
    world.act(0, Handset::deregister);
    world.run(Duration::from_secs(40));
    world.act(4, Handset::register);
    world.run(Duration::from_secs(1));
    assert_eq!(world.phones[4].handset.state(), State::Registered);
}

#[test]
fn no_phone_takes_the_flow_of_another_one_by_an_address_that_they_share() {
    for attacker_first in [false, true] {
        let shared = [198, 51, 100, 9];
        let honest = Phone::new(1, Some((shared.into(), 10_000)), Preference::usual());
        // It says that it has the shared address itself, and asks for the other one's port.
        let mut attacker = Phone::new(2, None, Preference::usual());
        let mut config = attacker.handset.config().clone();
        config.address = shared.into();
        attacker.handset = Handset::new(config);
        let spec = LinkSpec::perfect(Duration::from_millis(1));
        let mut world = World::new(7, vec![honest, attacker], section(), spec);
        let mut order = [0, 1];
        if attacker_first {
            order = [1, 0];
        }
        for phone in order.into_iter().chain(order) {
            world.act(phone, Handset::register);
            world.run(Duration::from_secs(1));
        }
        for phone in [0, 1] {
            assert_eq!(world.phones[phone].handset.state(), State::Registered);
            assert_eq!(world.current(phone).len(), 1);
        }
        let flows = [0, 1].map(|phone| world.flow(phone));
        assert_ne!(flows[0].remote, flows[1].remote);
        for (phone, flow) in flows.into_iter().enumerate() {
            let mut out = Vec::new();
            world.phones[phone].events.clear();
            world.pcscf.send(world.now, flow, &request("OPTIONS", ""), &mut out);
            out.into_iter().for_each(|packet| world.fly(packet));
            world.run(Duration::from_secs(1));
            let events = &world.phones[phone].events;
            assert!(matches!(events[..], [handset::Event::Came(_)]), "{phone}: {events:?}");
        }
    }
}

#[test]
fn the_flow_of_a_phone_that_has_moved_is_nobody_elses_until_its_registration_is_over() {
    let shared = |shift| Some(([198, 51, 100, 9].into(), shift));
    let phones = (1..5).map(|n| Phone::new(n, shared(n as u16 * 5_000), Preference::usual()));
    let spec = LinkSpec::perfect(Duration::from_millis(1));
    let mut world = World::new(7, phones.collect(), section(), spec);
    world.act(0, Handset::register);
    world.run(Duration::from_secs(1));
    let before = world.flow(0);
    world.phones[0].nat = Some(([198, 51, 100, 77].into(), 1_000));
    world.phones[0].handset.restart();
    world.act(0, Handset::register);
    world.run(Duration::from_secs(40));
    assert_ne!(world.flow(0), before);
    assert_eq!(world.pcscf.access.show(None, 9).len(), 1, "it has left its flow");
    world.act(1, Handset::register);
    world.run(Duration::from_secs(1));
    assert_ne!(world.flow(1), before, "calls to the old contact would be his");
    // It comes back to its own.
    world.phones[0].nat = shared(5_000);
    world.phones[0].handset.restart();
    world.act(0, Handset::register);
    world.run(Duration::from_secs(1));
    assert_eq!(world.flow(0), before);
    // What it takes back itself, and what is over, is free.
    world.act(0, Handset::deregister);
    world.run(Duration::from_secs(40));
    world.act(2, Handset::register);
    world.run(Duration::from_secs(1));
    assert_eq!(world.flow(2), before);
    world.run(Duration::from_secs(700));
    world.act(3, Handset::register);
    world.run(Duration::from_secs(1));
    assert_eq!(world.flow(3), before);
}

#[test]
pub fn another_private_identity_by_a_phones_associations_is_refused() {
    let mut world = registered(6);
    let row = world.current(0).remove(0);
    let impi = world.phones[0].handset.config().subscriber.impi.clone();
    let server = {
        let set = world.pcscf.access.show(Some(&impi), 1);
        assert_eq!(set.len(), 1);
        row.ue
    };
    let register = String::from_utf8(request(
        "REGISTER",
        "Authorization: Digest username=\"other@x\", realm=\"x\", nonce=\"\", uri=\"sip:x\", \
         response=\"\"\r\n",
    ))
    .unwrap();
    world.act(0, |handset, _, out| handset.send(register.as_bytes(), out));
    world.run(Duration::from_secs(1));
    let answer = refused(&mut world);
    assert!(answer.starts_with("SIP/2.0 403 "), "{server}: {answer}");
}

#[test]
fn the_core_is_told_of_a_registration_what_was_compared_and_nothing_else() {
    let mut world = registered(6);
    let impi = world.phones[0].handset.config().subscriber.impi.clone();
    let own = format!("username=\"{impi}\", realm=\"x\", nonce=\"\", uri=\"sip:x\"");
    let other = own.replace(&impi, "victim@x");
    let lines = |values: &[&str]| {
        let lines = values.iter().map(|value| format!("Authorization: {value}\r\n"));
        lines.collect::<String>()
    };
    let judge = |world: &mut World, is_protected: bool, lines: &str| {
        let offer = "Require: sec-agree\r\nSecurity-Client: ipsec-3gpp;alg=hmac-sha-1-96;\
                     ealg=aes-cbc;spi-c=1000;spi-s=1001;port-c=2000;port-s=2001\r\n";
        let lines = if is_protected { lines.to_owned() } else { format!("{offer}{lines}") };
        let register = request("REGISTER", &lines);
        let told = world.pcscf.told.len();
        match is_protected {
            true => {
                world.act(0, |handset, _, out| handset.send(&register, out));
                world.run(Duration::from_secs(1));
            }
            false => clear(world, "10.0.0.11:5060", 5_060, register),
        }
        let told = world.pcscf.told.get(told).cloned().unwrap_or_default();
        (refused(world), String::from_utf8(told).unwrap())
    };
    for is_protected in [true, false] {
        let said = if is_protected { "yes" } else { "no" };
        let good = format!("Digest\t{own}, Integrity-protected=\"yes\"");
        let (_, told) = judge(&mut world, is_protected, &lines(&[&good]));
        let credentials: Vec<_> =
            told.lines().filter(|line| line.starts_with("Authorization")).collect();
        let wanted = format!("Authorization: Digest {own}, integrity-protected=\"{said}\"");
        assert_eq!(credentials, [wanted], "{told}");
        for bad in [
            lines(&[&format!("Digest {own}"), &format!("Digest {other}")]),
            lines(&[&format!("Digest {own}"), "Digest username=\"victim@x"]),
            lines(&[&format!("Digest {own}, opaque=\"x, integrity-protected=\"yes\"")]),
            lines(&[&format!("Digest {own}, Digest {other}")]),
            lines(&["Basic abc"]),
            lines(&[&format!("Digest {own}, username*=UTF-8''victim%40x")]),
            format!("{}Proxy-Authorization: Digest \"\r\n", lines(&[&format!("Digest {own}")])),
            lines(&[&format!("Digest {}", own.replace(&impi, &"x".repeat(300)))]),
        ] {
            let (refused, told) = judge(&mut world, is_protected, &bad);
            assert!(refused.starts_with("SIP/2.0 400 "), "{is_protected} {bad}: {refused}");
            assert_eq!(told, "", "{bad}");
        }
    }
}

#[test]
pub fn packets_that_were_recorded_do_nothing_when_they_come_again() {
    let mut world = registered(7);
    let recorded = world.air.clone();
    let counts = world.pcscf.home.counts();
    for packet in recorded.into_iter().filter(|it| it.carrier == Carrier::Esp) {
        world.fly(packet);
    }
    world.run(Duration::from_secs(5));
    assert_eq!(world.pcscf.home.counts(), counts);
    assert_eq!(world.pcscf.access.esp_count(ipsec::Metric::Replayed), 1);
    assert_eq!(world.phones[0].handset.state(), State::Registered);
}

#[test]
pub fn a_wrong_response_ends_its_associations_and_no_others() {
    let mut world = registered(8);
    let first = world.current(0);
    // Somebody with another card says that he is this subscriber.
    let mut other = Phone::new(1, None, Preference::usual());
    let mut config = other.handset.config().clone();
    config.address = [10, 0, 0, 77].into();
    config.subscriber.k = [9; 16];
    other.handset = Handset::new(config);
    world.phones.push(other);
    world.act(1, Handset::register);
    world.run(Duration::from_secs(5));
    assert!(matches!(world.phones[1].handset.state(), State::Failed(_)));
    let why = world.pcscf.access.explain(world.now, None, 9);
    assert!(why.iter().any(|row| row.why.contains("its MAC is wrong")), "{why:?}");
    // Though he says what the phone has said, word for word, he has a challenge of his own.
    assert_eq!(world.pcscf.home.counts().challenges, 2);
    assert_eq!(world.current(0), first);
    world.run(Duration::from_secs(300));
    assert_eq!(world.pcscf.access.show(None, 10).len(), 1);
    let why = world.pcscf.access.explain(world.now, None, 1).remove(0).why;
    assert_eq!(why, "the challenge was not answered in time");
}

#[test]
pub fn a_challenge_that_the_core_repeats_makes_no_second_set_of_the_same_keys() {
    for is_protected in [false, true] {
        let mut world = registered(8);
        world.pcscf.home.repeat_challenges(true);
        if !is_protected {
            world.phones[0].handset.restart();
        }
        world.act(0, Handset::register);
        // Its card does not take the challenge again and asks for another one.
        world.run(Duration::from_secs(5));
        let access = &world.pcscf.access;
        let counts =
            [Metric::Repeated, Metric::Challenged, Metric::Established].map(|it| access.count(it));
        assert_eq!(counts, [1, 2, 2], "protected: {is_protected}");
        assert_eq!(world.pcscf.home.counts().resynchronised, 1);
        let rows = world.pcscf.access.explain(world.now, None, 9);
        assert!(rows.iter().any(|row| row.why.contains("has repeated a challenge")), "{rows:?}");
        assert_eq!(world.phones[0].handset.state(), State::Registered);
        // Whose sets are over has used its keys all the same.
        world.act(0, Handset::deregister);
        world.run(Duration::from_secs(60));
        assert_eq!(world.pcscf.access.show(None, 9).len(), 0);
        let before = world.pcscf.access.count(Metric::Repeated);
        world.phones[0].handset.restart();
        world.act(0, Handset::register);
        world.run(Duration::from_secs(5));
        assert_eq!(world.pcscf.access.count(Metric::Repeated), before + 1);
    }
}

#[test]
fn challenges_that_a_registered_phone_does_not_answer_are_bounded() {
    let mut world = registered(9);
    let impi = world.phones[0].handset.config().subscriber.impi.clone();
    for number in 0..40 {
        let lines = format!(
            "Authorization: Digest username=\"{impi}\", realm=\"ims.example.org\", nonce=\"\", \
             uri=\"sip:x\"\r\n\
             Security-Client: ipsec-3gpp;alg=hmac-sha-1-96;ealg=aes-cbc;spi-c={};spi-s=9001;\
             port-c=2000;port-s=2001\r\n",
            9_100 + number
        );
        let text = String::from_utf8(request("REGISTER", &lines)).unwrap();
        let text = text.replace("Call-ID: c", &format!("Call-ID: again{number}"));
        let text = text.replace("bKx", &format!("bKx{number}"));
        world.act(0, |handset, _, out| handset.send(text.as_bytes(), out));
        world.run(Duration::from_millis(100));
    }
    assert_eq!(world.pcscf.access.count(Metric::Challenged), 41);
    assert_eq!(world.pcscf.access.show_shard().under_way, 4);
    assert_eq!(world.current(0).len(), 1);
}

#[test]
fn of_one_private_identity_all_sets_are_shown_also_those_that_others_began_in_its_name() {
    let phones =
        vec![Phone::new(1, None, Preference::usual()), Phone::new(2, None, Preference::usual())];
    let spec = LinkSpec::perfect(Duration::from_millis(10));
    let mut world = World::new(41, phones, section(), spec);
    for phone in 0..2 {
        world.act(phone, Handset::register);
    }
    world.run(Duration::from_secs(5));
    let impi = world.phones[0].handset.config().subscriber.impi.clone();
    let states = |world: &World, impi: &str| -> Vec<&'static str> {
        world.pcscf.access.show(Some(impi), 9).iter().map(|row| row.state).collect()
    };
    assert_eq!(states(&world, &impi), ["current"]);
    // Somebody says to be that phone, and the core is slow.
    world.pcscf.is_core_silent = true;
    let asks = "Require: sec-agree\r\nProxy-Require: sec-agree\r\n\
                Security-Client: ipsec-3gpp;alg=hmac-sha-1-96;ealg=aes-cbc;spi-c=1000;\
                spi-s=1001;port-c=2000;port-s=2001\r\n";
    let claim = format!(
        "{asks}Authorization: Digest username=\"{impi}\", realm=\"x\", nonce=\"\", \
         uri=\"sip:x\", response=\"\"\r\n"
    );
    let text = String::from_utf8(request("REGISTER", &claim)).unwrap();
    let text = text.replace("10.0.0.11:6100", "10.0.0.99:5060");
    clear(&mut world, "10.0.0.99:5060", 5_060, text.into_bytes());
    assert_eq!(states(&world, &impi), ["current", "offered"]);
    assert_eq!(world.pcscf.access.show(Some(&impi), 1).len(), 1);
    assert_eq!(world.pcscf.access.show(None, 9).len(), 3);
    assert!(states(&world, "nobody").is_empty());
    world.run(Duration::from_secs(60));
    assert_eq!(states(&world, &impi), ["current"], "the offer is over");
    world.run(Duration::from_secs(700));
    assert!(world.pcscf.access.show(Some(&impi), 9).iter().all(|row| row.state != "old"));
}

#[test]
fn flows_of_phones_whose_agreements_a_takeover_has_ended_are_nobody_elses() {
    let shared = |shift| Some(([198, 51, 100, 9].into(), shift));
    let phones = (1..3).map(|n| Phone::new(n, shared(n as u16 * 5_000), Preference::usual()));
    let spec = LinkSpec::perfect(Duration::from_millis(1));
    let mut world = World::new(7, phones.collect(), section(), spec);
    world.act(0, Handset::register);
    world.run(Duration::from_secs(1));
    let before = world.flow(0);
    assert!(!world.pcscf.access.is_nobodys(&before));
    world.pcscf.access.take_over(false);
    assert_eq!(world.pcscf.access.show(None, 9).len(), 0);
    assert!(!world.pcscf.access.is_nobodys(&before), "it is kept");
    world.act(1, Handset::register);
    world.run(Duration::from_secs(1));
    assert_ne!(world.flow(1), before, "calls to the other one would be his");
    world.phones[0].handset.restart();
    world.act(0, Handset::register);
    world.run(Duration::from_secs(1));
    assert_eq!(world.flow(0), before);
    let remote = "198.51.100.9:999".parse().unwrap();
    assert!(world.pcscf.access.is_nobodys(&Flow { remote, ..before }));
    assert!(!world.pcscf.access.is_nobodys(&Flow { port: CLEAR, remote, ..before }));
}
