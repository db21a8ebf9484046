//! What the home subscriber server answers.

use crate::live::subscriber;
use diameter::Dictionary;
use diameter::codec::Message;
use diameter::rows::{base, cx, ro, sh};
use hss::Hss;
use serde_json::Value;

struct Home {
    hss: Hss,
    dictionary: Dictionary,
}

impl Home {
    fn new() -> Self {
        let hss = Hss::new("hss.home", "home", [subscriber()], 7);
        Self { hss, dictionary: Dictionary::default() }
    }

    /// The answer to a request in JSON, checked against its rows.
    fn ask(&mut self, json: &str) -> Vec<u8> {
        let octets = self.dictionary.from_json(json).unwrap();
        let message = Message::read(&octets).unwrap();
        self.dictionary.check(&message).unwrap();
        let answer = self.hss.answer(&message);
        self.dictionary.check(&Message::read(&answer).unwrap()).unwrap();
        answer
    }
}

fn code(answer: &[u8]) -> u32 {
    let avps = Message::read(answer).unwrap().avps();
    let result = avps.find(&base::RESULT_CODE).and_then(|it| it.unsigned32().ok());
    let experimental = avps
        .find(&base::EXPERIMENTAL_RESULT)
        .and_then(|it| it.group().find(&base::EXPERIMENTAL_RESULT_CODE)?.unsigned32().ok());
    result.or(experimental).unwrap()
}

fn cx_request(command: &str, rest: &str) -> String {
    let head = crate::live::head(command, "Cx", cx::CX.id, "scscf.home", "home");
    format!("{head},{{\"Public-Identity\":\"sip:a@home\"}},{rest}]}}")
}

const VISITED: &str = "{\"User-Name\":\"a@home\"},{\"Visited-Network-Identifier\":\"76\"}";

fn assignment(kind: &str) -> String {
    let rest = format!(
        "{{\"User-Name\":\"a@home\"}},{{\"Server-Name\":\"sip:scscf.home\"}},\
         {{\"Server-Assignment-Type\":\"{kind}\"}},\
         {{\"User-Data-Already-Available\":\"USER_DATA_NOT_AVAILABLE\"}}"
    );
    cx_request("SAR", &rest)
}

#[test]
fn a_user_registers_is_found_and_goes() {
    let mut home = Home::new();
    assert_eq!(code(&home.ask(&cx_request("UAR", VISITED))), 2001, "first registration");
    let lir = cx_request("LIR", "{\"Session-Priority\":\"PRIORITY-1\"}");
    assert_eq!(code(&home.ask(&lir)), 5003);
    let answer = home.ask(&assignment("REGISTRATION"));
    assert_eq!(code(&answer), 2001);
    let profile = Message::read(&answer).unwrap().avps().find(&cx::USER_DATA).unwrap();
    assert!(profile.data.starts_with(b"<?xml"));
    let answer = home.ask(&lir);
    let server = Message::read(&answer).unwrap().avps().find(&cx::SERVER_NAME).unwrap();
    assert_eq!(server.text(), Ok("sip:scscf.home"));
    assert_eq!(code(&home.ask(&assignment("USER_DEREGISTRATION"))), 2001);
    assert_eq!(code(&home.ask(&lir)), 5003);
}

#[test]
fn vectors_are_those_of_the_card_and_each_is_another() {
    let mut home = Home::new();
    let mut seen = Vec::new();
    for _ in 0..2 {
        let answer = home.ask(&crate::live::mar("scscf.home", "home"));
        assert_eq!(code(&answer), 2001);
        let item = Message::read(&answer).unwrap().avps().find(&cx::SIP_AUTH_DATA_ITEM).unwrap();
        let challenge = item.group().find(&cx::SIP_AUTHENTICATE).unwrap().data;
        assert_eq!(challenge.len(), 32);
        seen.push(challenge.to_vec());
    }
    assert_ne!(seen[0], seen[1]);
    let other = crate::live::mar("scscf.home", "home").replace("AKAv1", "Nothing");
    assert_eq!(code(&home.ask(&other)), 5006);
    let other = crate::live::mar("scscf.home", "home").replace("\"a@home\"", "\"b@home\"");
    assert_eq!(code(&home.ask(&other)), 5001);
}

fn sh_request(command: &str, rest: &str) -> String {
    let head = crate::live::head(command, "Sh", sh::SH.id, "as.home", "home");
    format!("{head},{{\"User-Identity\":[{{\"Public-Identity\":\"sip:a@home\"}}]}},{rest}]}}")
}

#[test]
fn transparent_data_are_kept_in_their_order() {
    let mut home = Home::new();
    let put = |number: u32, data: &str| {
        let xml = format!(
            "<Sh-Data><RepositoryData><ServiceIndication>sms</ServiceIndication><SequenceNumber>\
             {number}</SequenceNumber><ServiceData>{data}</ServiceData></RepositoryData></Sh-Data>"
        );
        let hex: String = xml.bytes().map(|it| format!("{it:02x}")).collect();
        sh_request(
            "PUR",
            &format!("{{\"Data-Reference\":\"RepositoryData\"}},{{\"Sh-User-Data\":\"{hex}\"}}"),
        )
    };
    assert_eq!(code(&home.ask(&put(1, "one"))), 5105, "what is not there begins with 0");
    assert_eq!(code(&home.ask(&put(0, "one"))), 2001);
    assert_eq!(code(&home.ask(&put(2, "three"))), 5105);
    assert_eq!(code(&home.ask(&put(1, &"x".repeat(64 << 10)))), 5008);
    assert_eq!(code(&home.ask(&put(1, "two"))), 2001);
    let udr = sh_request(
        "UDR",
        "{\"Service-Indication\":\"736d73\"},{\"Data-Reference\":\"RepositoryData\"}",
    );
    let answer = home.ask(&udr);
    let data = Message::read(&answer).unwrap().avps().find(&sh::USER_DATA).unwrap();
    assert!(String::from_utf8_lossy(data.data).contains("<ServiceData>two</ServiceData>"));
    let other = sh_request("UDR", "{\"Data-Reference\":\"CSRN\"}");
    assert_eq!(code(&home.ask(&other)), 5102);
    let none = |number| {
        let whole = "<ServiceData></ServiceData>".bytes();
        let hex: String = whole.map(|it| format!("{it:02x}")).collect();
        put(number, "").replace(&hex, "")
    };
    assert_eq!(code(&home.ask(&none(2))), 2001, "data that are not there take away what is");
    assert_eq!(code(&home.ask(&none(0))), 5101);
    assert_eq!(code(&home.ask(&udr)), 5102);
}

#[test]
fn what_this_server_has_not_is_refused_as_the_protocol_says() {
    let mut home = Home::new();
    let rest = "{\"Destination-Host\":\"hss.home\"},{\"User-Name\":\"a@home\"},\
                {\"Deregistration-Reason\":[{\"Reason-Code\":\"PERMANENT_TERMINATION\"}]}";
    let answer = home.ask(&cx_request("RTR", rest));
    assert_eq!((code(&answer), answer[4] & 0x20), (3001, 0x20));
}

#[test]
fn a_log_has_no_key_and_xml_no_markup_of_others() {
    let mut home = Home::new();
    let text = format!("{:?} {:?}", subscriber(), home.hss);
    assert!(text.contains("a@home") && !text.contains("70, 70") && !text.contains("205, 205"));
    home.ask(&assignment("REGISTRATION").replace("sip:scscf.home", "sip:<&>"));
    let answer = home.ask(&sh_request("UDR", "{\"Data-Reference\":\"S-CSCFName\"}"));
    let data = Message::read(&answer).unwrap().avps().find(&sh::USER_DATA).unwrap();
    let text = String::from_utf8_lossy(data.data).into_owned();
    assert!(text.contains("<SCSCFName>sip:&lt;&amp;&gt;</SCSCFName>"), "{text}");
}

#[test]
fn whoever_wants_to_know_is_told_once_that_a_user_can_be_reached() {
    let mut home = Home::new();
    let snr = |kind: &str| {
        sh_request(
            "SNR",
            &format!(
                "{{\"Subs-Req-Type\":\"{kind}\"}},{{\"Data-Reference\":\"UEReachabilityForIP\"}},\
                 {{\"One-Time-Notification\":\"ONE_TIME_NOTIFICATION_REQUESTED\"}}"
            ),
        )
    };
    assert_eq!(code(&home.ask(&snr("Subscribe"))), 2001);
    let told = home.hss.reachable("sip:a@home", || String::from("hss.home;1;1"));
    assert_eq!(told.len(), 1);
    let message = Message::read(&told[0]).unwrap();
    assert_eq!(home.dictionary.check(&message).unwrap().request, "PNR");
    let mut json = String::new();
    home.dictionary.to_json(&message, &mut json).unwrap();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(crate::live::avp(&json["avps"], "Destination-Host"), "as.home");
    assert!(home.hss.reachable("sip:a@home", String::new).is_empty());
    home.ask(&snr("Subscribe"));
    home.ask(&snr("Unsubscribe"));
    assert!(home.hss.reachable("sip:a@home", String::new).is_empty());
}

const ALICE: &str = "447700900123";

/// A CCR of an immediate event.
fn event(session: u32, action: &str, number: &str, units: u32) -> String {
    format!(
        "{{\"command\":\"CCR\",\"application\":\"Ro\",\"flags\":\"RP\",\"hop-by-hop\":1,\
         \"end-to-end\":1,\"avps\":[{{\"Session-Id\":\"sms1;1;{session}\"}},\
         {{\"Origin-Host\":\"sms1.home\"}},{{\"Origin-Realm\":\"home\"}},\
         {{\"Destination-Realm\":\"home\"}},{{\"Auth-Application-Id\":4}},\
         {{\"Service-Context-Id\":\"32274@3gpp.org\"}},\
         {{\"CC-Request-Type\":\"EVENT_REQUEST\"}},{{\"CC-Request-Number\":0}},\
         {{\"Subscription-Id\":[{{\"Subscription-Id-Type\":\"END_USER_E164\"}},\
         {{\"Subscription-Id-Data\":\"{number}\"}}]}},{{\"Requested-Action\":\"{action}\"}},\
         {{\"Multiple-Services-Credit-Control\":[{{\"Requested-Service-Unit\":\
         [{{\"CC-Service-Specific-Units\":{units}}}]}}]}}]}}"
    )
}

#[test]
fn an_event_is_debited_and_refunded_once_and_an_account_is_never_below_nothing() {
    let mut home = Home::new();
    home.hss.open_account(ALICE, 5);
    for (session, action, number, units, expected, left) in [
        (1, "DIRECT_DEBITING", ALICE, 3, 2001, 2),
        // The same once more.
        (1, "DIRECT_DEBITING", ALICE, 3, 2001, 2),
        (2, "DIRECT_DEBITING", ALICE, 3, 4012, 2),
        (2, "DIRECT_DEBITING", ALICE, 3, 4012, 2),
        (3, "REFUND_ACCOUNT", ALICE, 3, 2001, 5),
        (3, "REFUND_ACCOUNT", ALICE, 3, 2001, 5),
        (4, "DIRECT_DEBITING", "447700900999", 1, 5030, 5),
        (5, "PRICE_ENQUIRY", ALICE, 1, 5031, 5),
        (6, "DIRECT_DEBITING", ALICE, 5, 2001, 0),
    ] {
        let answer = home.ask(&event(session, action, number, units));
        assert_eq!(code(&answer), expected, "{session}");
        assert_eq!(home.hss.balance(ALICE), Some(left), "{session}");
    }
    for (session, units, enough) in [(7, 0, 0), (8, 1, 1)] {
        let answer = home.ask(&event(session, "CHECK_BALANCE", ALICE, units));
        let message = Message::read(&answer).unwrap();
        let said = message.avps().find(&ro::CHECK_BALANCE_RESULT).unwrap();
        assert_eq!(said.integer32(), Ok(enough));
    }
}
