//! Requests of SIP as an S-CSCF writes them, and as the gateway does.

use crate::network::{CENTRE, number, rp, submit};
use ipsmgw::{Body, Imsi, Msisdn, Route, Sending, Sent};
use sip::{Header, Message};
use smsip::Envelope;

const INNER: &str = "REGISTER sip:ims.example.org SIP/2.0\r\n\
    Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1\r\n\
    From: <sip:+447700900123@ims.example.org>;tag=1\r\n\
    To: <sip:+447700900123@ims.example.org>\r\n\
    Call-ID: inner\r\nCSeq: 2 REGISTER\r\nMax-Forwards: 70\r\n\
    Contact: <sip:alice@192.0.2.1:5060>;+g.3gpp.smsip;expires=600, <sip:other@192.0.2.1>\r\n\
    Authorization: Digest username=\"234150000000123@ims.mnc015.mcc234.3gppnetwork.org\",\
     realm=\"ims.example.org\", nonce=\"\", uri=\"sip:ims.example.org\", response=\"\"\r\n\
    Content-Length: 0\r\n\r\n";

fn third_party(expires: u32, content_type: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "REGISTER sip:gw.ims.example.org SIP/2.0\r\n\
         Via: SIP/2.0/UDP 192.0.2.9:6060;branch=z9hG4bK7\r\n\
         From: <sip:scscf.ims.example.org:6060>;tag=7\r\n\
         To: <sip:+447700900123@ims.example.org>\r\nCall-ID: outer\r\nCSeq: 1 REGISTER\r\n\
         Max-Forwards: 70\r\nContact: <sip:scscf.ims.example.org:6060>\r\n\
         Expires: {expires}\r\nContent-Type: {content_type}\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

fn multipart(parts: &[(&str, &str)]) -> String {
    let part = |it: &(&str, &str)| format!("--b\r\nContent-Type: {}\r\n\r\n{}\r\n", it.0, it.1);
    parts.iter().map(part).collect::<String>() + "--b--\r\n"
}

#[test]
fn a_third_party_register_says_who_where_and_whether_the_terminal_takes_messages() {
    let info = "<?xml version=\"1.0\"?><ims-3gpp version=\"1\"><service-info>msisdn=\
        447700900123</service-info></ims-3gpp>";
    let body = multipart(&[("message/sip", INNER), ("application/3gpp-ims+xml", info)]);
    let octets = third_party(600_000, "multipart/mixed;boundary=\"b\"", &body);
    let register = smsip::register(&Message::parse(&octets).unwrap()).unwrap();
    assert_eq!(register.identity, "sip:+447700900123@ims.example.org");
    assert_eq!(register.s_cscf, "sip:scscf.ims.example.org:6060");
    assert_eq!((register.expires_s, register.msisdn), (600_000, Msisdn::of("447700900123")));
    assert_eq!(register.imsi, Imsi::of("234150000000123"));
    assert_eq!(register.contacts, Some(vec!["sip:alice@192.0.2.1:5060".to_owned()]));
    let octets = third_party(0, "message/sip", INNER);
    let register = smsip::register(&Message::parse(&octets).unwrap()).unwrap();
    assert_eq!((register.expires_s, register.msisdn), (0, None));
    assert_eq!(register.contacts.map(|it| it.len()), Some(1));
    let octets = third_party(600, "text/plain", "x");
    let register = smsip::register(&Message::parse(&octets).unwrap()).unwrap();
    assert_eq!(register.contacts, None, "it was not told");
}

#[test]
fn what_is_written_into_other_lines_has_no_line_breaks() {
    let message = |call_id: &str| {
        format!(
            "MESSAGE sip:+447700000099@ims.example.org SIP/2.0\r\n\
             Via: SIP/2.0/UDP 192.0.2.9:6060;branch=z9hG4bK8\r\n\
             From: <sip:+447700900123@ims.example.org>;tag=1\r\n\
             To: <sip:+447700000099@ims.example.org>\r\nCall-ID: {call_id}\r\n\
             CSeq: 1 MESSAGE\r\nMax-Forwards: 70\r\nContent-Length: 0\r\n\r\n"
        )
    };
    let read =
        |text: &str| Message::parse(text.as_bytes()).ok().and_then(|it| smsip::received(&it, 1));
    assert_eq!(read(&message("one")).unwrap().call_id, "one");
    assert!(read(&message("one\r\n X-Two: 2")).is_none());
    assert!(read(&message("one\u{7}two")).is_none());
}

#[test]
fn parts_that_say_nothing_count_as_parts() {
    let info = "<ims-3gpp><service-info>447700900123</service-info></ims-3gpp>";
    let told = multipart(&[("application/3gpp-ims+xml", info)]);
    for (empty, found) in [(7, Msisdn::of("447700900123")), (8, None)] {
        let body = "--b\r\nX: y\r\n\r\n".repeat(empty) + &told;
        let octets = third_party(600, "multipart/mixed;boundary=b", &body);
        let register = smsip::register(&Message::parse(&octets).unwrap()).unwrap();
        assert_eq!(register.msisdn, found, "{empty}");
    }
}

#[test]
fn what_a_terminal_writes_into_its_own_register_is_no_part_and_no_identity_but_its_own() {
    let info = |digits: &str| format!("<ims-3gpp><service-info>{digits}</service-info></ims-3gpp>");
    let forged = format!(
        "X: y\r\n--b\r\nContent-Type: application/3gpp-ims+xml\r\n\r\n{}\r\n",
        info("447700900666")
    );
    let with_body = INNER.replace(
        "Content-Length: 0\r\n\r\n",
        &format!("Content-Length: {}\r\n\r\n{forged}", forged.len()),
    );
    let own = info("447700900123");
    let body =
        multipart(&[("message/sip", &with_body), ("application/3gpp-ims+xml", own.as_str())]);
    let octets = third_party(600, "multipart/mixed;boundary=b", &body);
    let register = smsip::register(&Message::parse(&octets).unwrap()).unwrap();
    assert_eq!(register.msisdn, Msisdn::of("447700900123"));
    let two = [("application/3gpp-ims+xml", own.as_str()); 2];
    let octets = third_party(600, "multipart/mixed;boundary=b", &multipart(&two));
    assert!(smsip::register(&Message::parse(&octets).unwrap()).is_none(), "which one counts?");
    for (name, found) in [
        ("Digest xusername=\"234150000000666@x.3gppnetwork.org\", username=", true),
        ("Digest username=\"234150000000666@x.3gppnetwork.org\", username=", false),
        ("Digest realm=\"a, username=b\", username=", true),
    ] {
        let inner = INNER.replace("Digest username=", name);
        let octets = third_party(600, "message/sip", &inner);
        let register = smsip::register(&Message::parse(&octets).unwrap()).unwrap();
        let imsi = Imsi::of("234150000000123").filter(|_| found);
        assert_eq!(register.imsi, imsi, "{name}");
    }
}

#[test]
fn service_information_is_a_number_or_names_one() {
    for (info, digits) in [
        ("447700900123", Some("447700900123")),
        ("+447700900123", Some("447700900123")),
        ("<![CDATA[<sms><MSISDN>447700900123</MSISDN></sms>]]>", Some("447700900123")),
        ("service 7 of 9", None),
        ("", None),
        ("msisdn=none", None),
        ("<msisdn-type>1</msisdn-type><msisdn>447700900123</msisdn>", Some("447700900123")),
    ] {
        let body = format!("<ims-3gpp><service-info>{info}</service-info></ims-3gpp>");
        let octets = third_party(600, "application/3gpp-ims+xml", &body);
        let register = smsip::register(&Message::parse(&octets).unwrap()).unwrap();
        assert_eq!(register.msisdn.as_ref().map(Msisdn::digits), digits, "{info}");
    }
}

#[test]
fn a_message_is_written_so_that_it_is_read_as_it_was() {
    let tpdu = submit(1, "447700900999", "Hi");
    let body = rp(&sms::rp::Message::from_terminal(1, number(CENTRE), &tpdu));
    let sending = Sending {
        number: Sent { flow: 7, attempt: 1 },
        to: "sip:+447700900123@ims.example.org".into(),
        route: Route::Serving("sip:scscf.ims.example.org:6060".into()),
        call_id: "0a".into(),
        in_reply_to: Some("call-1".into()),
        body: Body::Rp(body.clone()),
        trail: 7,
    };
    let envelope = Envelope {
        own: "sip:gw.ims.example.org",
        domain: "ims.example.org",
        host: "gw.ims.example.org",
        via: b"SIP/2.0/UDP 192.0.2.9:5060;branch=z9hG4bKx",
        tag: "t",
    };
    let mut octets = Vec::new();
    smsip::write(&sending, &envelope, &mut octets);
    let message = Message::parse(&octets).unwrap();
    assert_eq!(message.header(Header::Route), Some(&b"<sip:scscf.ims.example.org:6060;lr>"[..]));
    assert_eq!(message.header(Header::RequestDisposition), Some(&b"no-fork"[..]));
    let read = smsip::received(&message, 7).unwrap();
    assert_eq!(
        (read.call_id, read.in_reply_to),
        ("0a@gw.ims.example.org".into(), sending.in_reply_to)
    );
    assert_eq!((read.asserted, read.body), (vec!["sip:gw.ims.example.org".to_owned()], body));
    assert!(sms::rp::is_content_type(&read.content_type));
}
