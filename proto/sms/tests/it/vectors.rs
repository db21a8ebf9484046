//! Messages as terminals and centres send them, and what they say.

use crate::messages::{json, octets, rp_json};
use sms::rp::{Message, is_content_type, reference_of};
use sms::{Address, Characters, Kind, Parameter};

#[test]
fn a_deliver_says_who_sent_what_when() {
    let octets = octets("040b914477000910f20000626011122040800bc8329bfd065ddf723619");
    let read = Kind::Deliver.read(&octets).unwrap();
    assert_eq!(read.address(), Address::international("44770090012").as_ref());
    assert!(read.flag(Parameter::MoreMessages), "no more messages wait");
    assert_eq!(read.user_data().unwrap().text().unwrap().unwrap(), "Hello World");
    assert_eq!(
        json(Kind::Deliver, &octets),
        "{\"TP-MTI\":\"SMS-DELIVER\",\"TP-MMS\":true,\"TP-LP\":false,\"TP-SRI\":false,\
         \"TP-UDHI\":false,\"TP-RP\":false,\"TP-OA\":{\"type\":\"international\",\"plan\":\"ISDN\",\
         \"digits\":\"44770090012\"},\"TP-PID\":0,\"TP-DCS\":0,\
         \"TP-SCTS\":\"26-06-11T21:02:04+02:00\",\"TP-UD\":{\"text\":\"Hello World\"}}"
    );
}

#[test]
fn a_part_of_a_concatenated_text_says_which_it_is() {
    let octets = octets("41060791447700f000080c0500034202010422043d0438");
    let read = Kind::Submit.read(&octets);
    let read = read.unwrap();
    let data = read.user_data().unwrap();
    assert_eq!(data.coding.characters(), Characters::Ucs2);
    let part = data.header().unwrap().concatenation().unwrap();
    assert_eq!((part.reference, part.maximum, part.sequence), (0x42, 2, 1));
    assert!(json(Kind::Submit, &octets).contains(
        "{\"element\":\"concatenated short messages, 8-bit reference number\",\
         \"reference\":66,\"maximum\":2,\"sequence\":1}"
    ));
}

#[test]
fn the_body_of_a_sip_message_is_an_rp_message() {
    assert!(is_content_type("Application/vnd.3GPP.sms; charset=x"));
    assert!(!is_content_type("application/vnd.3gpp.sms+xml"));
    let body = octets("0402016041040080000016");
    let error = rp_json(&octets("05020160410400800000"[..].get(..8).unwrap()));
    assert!(error.contains("\"RP-Cause\":\"invalid mandatory information\""), "{error}");
    assert_eq!(reference_of(&body), Some(2));
    assert_eq!(reference_of(&octets("0502")), None, "it came from a network");
    let smma = octets("0617");
    assert_eq!(rp_json(&smma), "{\"RP-MTI\":\"RP-SMMA\",\"RP-Message-Reference\":23}");
    assert_eq!(Message::read(&smma).unwrap().tpdu_kind(), None);
}
