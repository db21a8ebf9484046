//! What is written is read, in both spellings; what is no message is refused with its place.

use crate::values::{Draw, SHORT_MESSAGE};
use tcu::{
    Component, Cut, Indication, MESSAGE_OCTETS_MAX, Request, Speech, Spelling, ToApplication,
    ToGateway, cut,
};

const SEEDS: u64 = 4_000;
const BOTH: [Spelling; 2] = [Spelling::Tagged, Spelling::Json];

/// What the dialogue of a message speaks: that of its context, or MAP where it has none and cannot
/// say it by its first operation.
fn of_indication(message: &ToApplication) -> Speech {
    match message {
        ToApplication::Indication(it) => {
            let opens = matches!(it, Indication::Begin { .. } | Indication::Uni { .. });
            match it.portion() {
                Some(portion) if opens => {
                    Speech::of(portion.context.as_deref(), &portion.components)
                }
                _ => Speech::of_context(SHORT_MESSAGE),
            }
        }
        _ => Speech::Unknown,
    }
}

fn of_request(message: &ToGateway) -> Speech {
    match message {
        ToGateway::Request(Request::Begin { portion, .. } | Request::Uni { portion, .. }) => {
            Speech::of(portion.context.as_deref(), &portion.components)
        }
        _ => Speech::of_context(SHORT_MESSAGE),
    }
}

#[test]
fn what_is_written_is_read() {
    let known = |_: u64| Speech::of_context(SHORT_MESSAGE);
    for seed in 0..SEEDS {
        let mut draw = Draw::new(seed);
        let (there, back) = (draw.of_gateway(), draw.of_application());
        for spelling in BOTH {
            let mut octets = Vec::new();
            spelling.write(&there, of_indication(&there), &mut octets);
            assert_eq!(cut(&octets), Cut::Message(octets.len()), "seed {seed}");
            assert_eq!(Spelling::of(&octets), spelling);
            let text = String::from_utf8_lossy(&octets).into_owned();
            assert_eq!(spelling.read(&octets, &known), Ok(there.clone()), "seed {seed}: {text}");
            octets.clear();
            spelling.write_request(&back, of_request(&back), &mut octets);
            assert_eq!(cut(&octets), Cut::Message(octets.len()), "seed {seed}");
            let text = String::from_utf8_lossy(&octets).into_owned();
            assert_eq!(
                spelling.read_request(&octets, &known),
                Ok(back.clone()),
                "seed {seed}: {text}"
            );
        }
    }
}

#[test]
fn what_is_damaged_is_refused_with_its_place_and_never_panics() {
    let known = |_: u64| Speech::of_context(SHORT_MESSAGE);
    for seed in 0..SEEDS {
        let mut draw = Draw::new(seed);
        let back = draw.of_application();
        for spelling in BOTH {
            let mut octets = Vec::new();
            spelling.write_request(&back, of_request(&back), &mut octets);
            for _ in 0..4 {
                let place = draw.below(octets.len() as u32) as usize;
                match draw.below(3) {
                    0 => octets[place] ^= 1 << draw.below(8),
                    1 => octets.truncate(place + 1),
                    _ => octets.insert(place, b'"'),
                }
                if let Err(violation) = spelling.read_request(&octets, &known) {
                    assert!(violation.at <= octets.len() + 4, "{violation}");
                }
                let _ = spelling.read(&octets, &known);
            }
        }
    }
}

#[test]
fn an_operation_bears_its_asn_1_names_and_a_wrong_one_is_told_by_its_place() {
    let line = [
        r#"{"tc":"begin","reference":1,"called":{"ssn":6,"gt":"447700900123"},"#,
        r#""calling":{"pc":1,"ssn":8},"context":"shortMsgGatewayContext-v3","#,
        r#""components":[{"invoke":1,"operation":"sendRoutingInfoForSM","argument":"#,
        r#"{"msisdn":"91447700900123","sm-RP-PRI":true,"serviceCentreAddress":"914477"}}]}"#,
    ];
    let mut line = line.concat().into_bytes();
    line.push(b'\n');
    let none = |_: u64| Speech::Unknown;
    let read = Spelling::Json.read_request(&line, &none).unwrap();
    let ToGateway::Request(Request::Begin { portion, .. }) = &read else { panic!("{read:?}") };
    let [Component::Invoke { parameter: Some(parameter), .. }] = &portion.components[..] else {
        panic!("{portion:?}")
    };
    assert_eq!(parameter[..4], [0x30, 17, 0x80, 7]);
    let mut again = Vec::new();
    Spelling::Json.write_request(&read, of_request(&read), &mut again);
    assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(&line));
    let wrong = |from: &str, to: &str| {
        let text = String::from_utf8(line.clone()).unwrap().replace(from, to);
        let violation = Spelling::Json.read_request(text.as_bytes(), &none).unwrap_err();
        (violation.what, text[violation.at..].chars().take(8).collect::<String>())
    };
    assert_eq!(wrong("msisdn", "msisdm"), ("no name of the type", "\"msisdm\"".to_owned()));
    let place = "\"sendRou".to_owned();
    let what = "the dialogue's context has nothing of that name";
    assert_eq!(wrong("sendRoutingInfoForSM", "sendRoutingX"), (what, place));
    let what = "no such member here";
    assert_eq!(
        wrong("\"reference\":1,", "\"reference\":1,\"more\":[],"),
        (what, "[],\"call".to_owned())
    );
    assert_eq!(wrong("447700900123\"}", "44x\"}").0, "no digits, or more than 32");
}

#[test]
fn a_dialogue_of_version_1_is_read_by_its_first_operation() {
    let line = [
        r#"{"tc":"begin","reference":1,"called":{"ssn":6},"calling":{"ssn":8},"components":"#,
        r#"[{"invoke":1,"operation":"sendRoutingInfoForSM","argument":{"msisdn":"914477","#,
        r#""sm-RP-PRI":true,"serviceCentreAddress":"9144"}}]}"#,
    ];
    let line = line.concat();
    let read = Spelling::Json.read_request(line.as_bytes(), &|_| Speech::Unknown).unwrap();
    assert_eq!(of_request(&read), Speech::Map(map::Context::ShortMsgGateway, 1));
}

#[test]
fn what_has_no_end_is_broken() {
    let mut long = vec![b'{'; MESSAGE_OCTETS_MAX - 1];
    assert_eq!(cut(&long), Cut::Partial);
    long.push(b'{');
    assert!(matches!(cut(&long), Cut::Broken(_)));
}
