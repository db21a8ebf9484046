//! What is secret in messages of MAP and CAP, and what cannot be read, is kept nowhere; what of a
//! message is very long is shown in short.

use crate::bench::Bench;
use crate::dialogues::{
    ANSWERS, ASKED, ASKS, End, Envelope, HLR, RELAY, SEND_AUTHENTICATION_INFO, SMSC, STP_WEST,
    begin, m3ua, octets, result, tcap,
};
use m3ua::codec::{Data, PointCode, ProtocolData};
use sas::trail::Outcome;
use tcap::codec::{Code, TransactionId, Writer};

const SECRET: &str = "c0c1c2c3c4c5c6c7c8c9cacbcccdcecf";
const OCTETS: [u8; 4] = [0xc4, 0xc5, 0xc6, 0xc7];

fn asked() -> TransactionId {
    TransactionId::of(ASKED)
}

/// Vectors of authentication of 4G.
fn vectors() -> Vec<u8> {
    let json = format!(
        r#"{{"eps-AuthenticationSetList":[{{"rand":"000102030405060708090a0b0c0d0e0f",
        "xres":"a1a2a3a4a5a6a7a8","autn":"e0e1e2e3e4e5e6e7e8e9eaebecedeeef",
        "kasme":"{SECRET}{SECRET}"}}]}}"#
    );
    octets(SEND_AUTHENTICATION_INFO, false, &json)
}

fn end_with(operation: i64, parameter: &[u8]) -> Vec<u8> {
    let code = Code::Local(operation);
    let writer = Writer::end(asked());
    tcap(writer, |out| out.result(1, true, Some((code, Some(parameter)))))
}

/// The octets that are kept of a payload.
fn kept(payload: &[u8]) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    bench.m3ua(HLR, STP_WEST, payload);
    let trails = bench.search(&[]).trails;
    assert_eq!(trails.len(), 1);
    let (_, entries) = bench.detail(trails[0].id);
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].payload.len(), payload.len());
    entries[0].payload.clone()
}

fn has(octets: &[u8], what: &[u8]) -> bool {
    octets.windows(what.len()).any(|window| window == what)
}

fn envelope() -> Envelope {
    Envelope::from(ANSWERS.point_code, RELAY)
}

/// A message of SCCP in one of M3UA.
fn sccp(payload: &[u8]) -> Vec<u8> {
    msu(3, payload)
}

/// An MSU of a user of MTP3 in a message of M3UA.
fn msu(si: u8, payload: &[u8]) -> Vec<u8> {
    let code = |number| PointCode::new(number).unwrap();
    let (opc, dpc) = (code(ANSWERS.point_code), code(ASKS.point_code));
    let protocol_data = ProtocolData { opc, dpc, si, ni: 2, mp: 0, sls: 5, payload };
    let mut out = Vec::new();
    Data { network: None, routing_context: None, protocol_data, correlation: None }.write(&mut out);
    out
}

#[test]
fn keys_and_passwords_are_known_by_their_types() {
    let group = format!(
        r#"{{"teleservice":"91","asciCallReference":"21","codec-Info":"0102030405",
        "cipheringAlgorithm":"01","groupKey":"c4c5c6c7c8c9cacb","vstk":"{SECRET}"}}"#
    );
    let group = octets(39, true, &group);
    let group = tcap(Writer::begin(asked()), |out| {
        out.invoke(1, None, Code::Local(39), Some(&group));
    });
    // A PIN, in digits: what is asked for has no context here, and no subsystem of CAP.
    let pin = [0x80, 5, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8];
    let password = [0x12, 4, b'4', b'7', b'1', b'1'];
    let table: [(&str, Vec<u8>, &[u8]); 4] = [
        ("kasme", end_with(SEND_AUTHENTICATION_INFO, &vectors()), &OCTETS),
        ("vstk", group, &OCTETS),
        ("digitsResponse", end_with(48, &pin), &OCTETS),
        ("password", end_with(18, &password), b"4711"),
    ];
    for (name, data, secret) in table {
        let payload = m3ua(ANSWERS, ASKS, envelope(), &data);
        assert!(has(&payload, secret), "{name}");
        assert!(!has(&kept(&payload), secret), "{name}");
    }
    // A later release knows another key.
    let mut vectors_of_later = vectors();
    let extension = [&[0x97, 4][..], &OCTETS].concat();
    vectors_of_later.extend_from_slice(&extension);
    vectors_of_later[1] += 6;
    let later = m3ua(ANSWERS, ASKS, envelope(), &end_with(56, &vectors_of_later));
    assert!(!has(&kept(&later), &extension));
    let rand = kept(&m3ua(ANSWERS, ASKS, envelope(), &end_with(56, &vectors())));
    assert!(has(&rand, &[4, 5, 6, 7, 8, 9, 0x0a]), "what is no secret stays");
}

#[test]
fn user_information_is_kept_where_it_is_that_of_map() {
    let context = [4, 0, 0, 1, 0, 20, 3];
    let opened = |pdu: &[u8]| {
        let mut external = Vec::new();
        map::dialogue::wrap(&mut external, pdu);
        external
    };
    let open = opened(&[0xa0, 6, 0x80, 4, 0x91, 0x44, 0x77, 0x10]);
    let later =
        opened(&[0xa0, 12, 0x80, 4, 0x91, 0x44, 0x77, 0x10, 0x99, 4, 0xc4, 0xc5, 0xc6, 0xc7]);
    let other = [&[0x28, 12, 6, 2, 0x2a, 3, 0xa0, 6, 4, 4][..], &OCTETS].concat();
    let kept_of = |user: &[u8]| {
        let data = tcap(Writer::begin(asked()).request(&context, user), |_| ());
        let payload = m3ua(ASKS, ANSWERS, envelope(), &data);
        let kept = kept(&payload);
        assert!(has(&kept, &context), "the context stays");
        kept
    };
    let number = [0x44, 0x77, 0x10];
    assert!(has(&kept_of(&open), &number), "who asks is no secret");
    assert!(!has(&kept_of(&later), &OCTETS));
    assert!(!has(&kept_of(&other), &OCTETS));
    let both = kept_of(&[&open[..], &other].concat());
    assert!(has(&both, &number) && !has(&both, &OCTETS));
}

#[test]
fn of_other_users_of_mtp3_what_people_say_is_kept_nowhere() {
    let answer = [&[1, 0, 0x09, 1, 0x0a, 3, 0x03, 0x10, 0x44, 0x20, 4][..], &OCTETS, &[0]].concat();
    for (si, circuit) in [(5, 0), (13, 2)] {
        let payload = msu(si, &[&[0; 2][..circuit], &answer].concat());
        let kept = kept(&payload);
        assert!(has(&kept, &[0x0a, 3, 0x03, 0x10, 0x44]) && !has(&kept, &OCTETS), "{si}");
    }
    for si in [4, 6, 9, 14] {
        assert!(!has(&kept(&msu(si, &answer)), &OCTETS), "{si}");
    }
    assert!(has(&kept(&msu(0, &answer)), &OCTETS), "management of MTP3 has no users");
}

#[test]
fn of_what_is_not_understood_no_user_data_are_kept() {
    let whole = end_with(SEND_AUTHENTICATION_INFO, &vectors());
    let managed = End { subsystem: 1, ..ASKS };
    // An octet behind the component, a tag that no component has, an operation of nobody.
    let code = Code::Local(SEND_AUTHENTICATION_INFO);
    let mut component = Vec::new();
    let mut components = |tag: u8, tail: &[u8], code: Code<'_>| {
        let data = tcap(Writer::end(asked()), |out| {
            out.result(1, true, Some((code, Some(&vectors()))));
        });
        let at = data.iter().position(|octet| *octet == 0x6c).unwrap();
        component.clear();
        component.extend_from_slice(&data[at + 2..]);
        assert_eq!(component[0], 0xa2);
        component[0] = tag;
        component[1] += u8::try_from(tail.len()).unwrap();
        component.extend_from_slice(tail);
        tcap(Writer::end(asked()), |out| out.component_as_is(&component))
    };
    let cut = &whole[..whole.len() - 1];
    let messages = [
        m3ua(ANSWERS, managed, envelope(), &whole),
        m3ua(ANSWERS, ASKS, envelope(), &components(0xa2, &[5, 0], code)),
        m3ua(ANSWERS, ASKS, envelope(), &components(0xa9, &[], code)),
        m3ua(ANSWERS, ASKS, envelope(), &components(0xa2, &[], Code::Local(127))),
        m3ua(ANSWERS, ASKS, envelope(), cut),
        // DT1: what radio networks say on a connection.
        sccp(&[&[6, 1, 2, 3, 0, 1, 6][..], &OCTETS, &[0, 0]].concat()),
        // No message of SCCP.
        sccp(&[&[0xee][..], &OCTETS].concat()),
    ];
    for (at, payload) in messages.iter().enumerate() {
        assert!(has(payload, &OCTETS), "{at}");
        assert!(!has(&kept(payload), &OCTETS), "{at}");
    }
    // The agent has cut it off.
    let payload = m3ua(ANSWERS, ASKS, envelope(), &whole);
    assert!(!has(&kept(&payload[..payload.len() - 9]), &OCTETS));
}

#[test]
fn a_question_from_the_subsystem_of_management_is_a_dialogue_like_any_other() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let managed = End { subsystem: 1, ..ASKS };
    bench.m3ua(SMSC, STP_WEST, &m3ua(managed, ANSWERS, envelope(), &begin()));
    bench.m3ua(STP_WEST, SMSC, &m3ua(ANSWERS, managed, envelope(), &result()));
    let trail = bench.only(&[("kind", "dialogue")]);
    assert_eq!((trail.outcome, trail.places.len()), (Outcome::Ok, 2));
    // Management itself is none.
    bench.m3ua(SMSC, STP_WEST, &m3ua(managed, managed, envelope(), &[3, 6, 1, 2, 0]));
    bench.only(&[("kind", "dialogue")]);
}

#[test]
fn many_components_and_long_names_are_shown_in_short() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let name = [0x2a; 65];
    let long = Code::Global(ber::Oid::new(&name).unwrap());
    let data = tcap(Writer::begin(asked()), |out| {
        out.invoke(1, None, long, None);
        for id in 0..99 {
            out.invoke(id, None, Code::Local(2), None);
        }
    });
    // More than a UDT takes.
    bench.m3ua(SMSC, STP_WEST, &long_unit(&data));
    let (page, _) = bench.detail(bench.only(&[("kind", "dialogue")]).id);
    let title = page.messages[0].method.clone().unwrap();
    assert!(title.starts_with("Begin operation of a long name, updateLocation"), "{title}");
    assert!(title.ends_with(", ... and 36 more"), "{title}");
    assert_eq!(page.messages[0].components.len(), 64);
    assert!(page.messages[0].text.contains("\n... and 36 more\n"));
}

fn long_unit(data: &[u8]) -> Vec<u8> {
    let payload = m3ua(ASKS, ANSWERS, envelope(), &[]);
    let message = m3ua::codec::Message::read(&payload).unwrap();
    let short = Data::of(&message).unwrap().protocol_data.payload;
    let short = sccp::codec::Message::read(short).unwrap();
    let unit = sccp::codec::Unit::of(&short).unwrap().unwrap();
    let form = sccp::codec::Form::Long;
    let mut out = Vec::new();
    sccp::codec::Unit { form, hops: 12, data, ..unit }.write(&mut out).unwrap();
    sccp(&out)
}
