//! JSON both ways.

use crate::random::random;
use diameter::Dictionary;
use diameter::codec::Message;

#[test]
fn every_row_is_read_from_the_json_that_it_was_written_as() {
    let dictionary = Dictionary::default();
    for application in dictionary.applications() {
        for command in application.commands {
            for (seed, is_request) in (0..30).flat_map(|seed| [(seed, true), (seed, false)]) {
                let (mut octets, mut json) = (Vec::new(), String::new());
                command.sample(application.id, is_request, &mut random(seed), &mut octets).unwrap();
                dictionary.to_json(&Message::read(&octets).unwrap(), &mut json).unwrap();
                let back = dictionary.from_json(&json).unwrap_or_else(|it| panic!("{it}: {json}"));
                assert_eq!(back, octets, "{json}");
            }
        }
    }
}

#[test]
fn what_is_not_what_the_row_says_is_shown_and_read_all_the_same() {
    let dictionary = Dictionary::default();
    let json = concat!(
        r#"{"command":"DWR","application":"Base","flags":"R","hop-by-hop":1,"end-to-end":2,"#,
        r#""avps":[{"Origin-Host":{"octets":"ff"}},{"Origin-Realm":"example","flags":"MP"},"#,
        r#"{"AVP 77":"0102","flags":"M"},{"AVP 10415:77":"","flags":"V"},"#,
        r#"{"Disconnect-Cause":9},{"Origin-State-Id":{"octets":"000000"}}]}"#,
    );
    let octets = dictionary.from_json(json).unwrap();
    let mut back = String::new();
    dictionary.to_json(&Message::read(&octets).unwrap(), &mut back).unwrap();
    assert_eq!(back, json);
}

#[test]
fn a_vendor_of_zero_and_bits_that_are_reserved_are_passed_over() {
    // RFC 6733 §4.1: V with a Vendor-Id of zero is an AVP of the IETF; reserved bits are ignored.
    let head = [
        1, 0, 0, 52, 0x80, 0, 1, 24, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, //
        0, 0, 1, 8, 0xc0, 0, 0, 16, 0, 0, 0, 0, b'a', b'.', b'e', b'x', //
        0, 0, 1, 22, 0x5f, 0, 0, 12, 0, 0, 0, 7,
    ];
    let mut octets = head.to_vec();
    octets[3] = octets.len() as u8;
    let dictionary = Dictionary::default();
    let mut json = String::new();
    dictionary.to_json(&Message::read(&octets).unwrap(), &mut json).unwrap();
    assert!(
        json.contains(r#"{"Origin-Host":"a.ex","flags":"VM"},{"Origin-State-Id":7}"#),
        "{json}"
    );
    let back = dictionary.from_json(&json).unwrap();
    assert_eq!(back[..40], octets[..40]);
    assert_eq!(back[40], 0x40);
}

#[test]
fn what_is_wrong_in_json_is_told_with_its_place() {
    let dictionary = Dictionary::default();
    let head = r#"{"command":"DWR","application":"Base","flags":"R","avps":["#;
    let table = [
        (r#"{"Origin-Hose":"a"}"#, "no AVP of that name"),
        (r#"{"Origin-Host":7}"#, "a string lacks"),
        (r#"{"Disconnect-Cause":"TIRED"}"#, "no value of that name"),
        (r#"{"Origin-State-Id":4294967296}"#, "a number beyond 32 bits"),
        (r#"{"AVP x":""}"#, "no AVP of that name"),
        (r#"{"AVP 1:7":""}"#, "V and the vendor do not go together"),
        (r#"{"Origin-Host":"a","flags":"X"}"#, "no flags of an AVP"),
        (r#"{"Origin-Host":"a","Origin-Realm":"b"}"#, "a second AVP in one object"),
        ("{}", "an AVP lacks"),
        (r#"{"Host-IP-Address":"a"}"#, "no IP address"),
        (r#"{"Event-Timestamp":-99999999}"#, "a time before 1968"),
    ];
    for (avp, what) in table {
        let violation = dictionary.from_json(&format!("{head}{avp}]}}")).unwrap_err();
        assert_eq!(violation.what, what, "{avp}");
        assert!(violation.at >= head.len(), "{avp}");
    }
    let whole = [
        (r#"{"command":"XYZ"}"#, "no command of that name"),
        (r#"{"application":"Gx"}"#, "no application of that name"),
        (r#"{"flags":"Q"}"#, "no flags of a message"),
        (r#"{"colour":1}"#, "no part of a message"),
        ("{} {}", "something follows the value"),
    ];
    for (json, what) in whole {
        assert_eq!(dictionary.from_json(json).unwrap_err().what, what, "{json}");
    }
    let deep = format!("{head}{}{}]}}", r#"{"Failed-AVP":["#.repeat(20), "]}".repeat(20));
    assert_eq!(dictionary.from_json(&deep).unwrap_err().what, "too deep");
}
