//! Messages that are legal, and written so that a careless reader does not see what they do.

use crate::build::{
    FRENCH, FRENCH_IMSI, From, OWN_IMSI, ask, begin, code, context, element, fs11, go_on, opening,
    refused_by, rules, screen, tbcd, title, with_imsi,
};
use screening::{Subject, Way};
use tcap::codec::{Code, TransactionId, Writer};

const CATEGORY_1: &str = "cat1-any-time";

fn interrogation() -> Vec<u8> {
    begin(
        Some(&context("anyTimeInfoEnquiryContext", 3)),
        &[(code("anyTimeInterrogation"), &with_imsi(OWN_IMSI))],
    )
}

/// The same message with every constructed element of indefinite length.
fn indefinite(octets: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = octets;
    while let [tag, length, ..] = *rest {
        assert!(length < 128, "short lengths");
        let (contents, after) = rest[2..].split_at(usize::from(length));
        if tag & 0x20 == 0 {
            out.extend_from_slice(&rest[..2 + contents.len()]);
        } else {
            out.extend_from_slice(&[tag, 0x80]);
            out.extend_from_slice(&indefinite(contents));
            out.extend_from_slice(&[0, 0]);
        }
        rest = after;
    }
    out
}

/// The same message with every length in three octets.
fn long_lengths(octets: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = octets;
    while let [tag, length, ..] = *rest {
        let (contents, after) = rest[2..].split_at(usize::from(length));
        let contents = if tag & 0x20 == 0 { contents.to_vec() } else { long_lengths(contents) };
        out.extend_from_slice(&[tag, 0x82]);
        out.extend_from_slice(&(contents.len() as u16).to_be_bytes());
        out.extend_from_slice(&contents);
        rest = after;
    }
    out
}

fn from() -> From<'static> {
    From::vlr_to_hlr(FRENCH)
}

fn by(data: &[u8]) -> Option<String> {
    refused_by(&screen(&fs11()), &from(), data)
}

#[test]
fn lengths_that_are_indefinite_or_longer_than_they_need_be_hide_nothing() {
    let plain = interrogation();
    for written in [plain.clone(), indefinite(&plain), long_lengths(&plain)] {
        assert_eq!(by(&written).as_deref(), Some(CATEGORY_1), "{written:02x?}");
    }
    assert_eq!(by(&indefinite(&long_free())).as_deref(), Some("cat2-own-subscriber"));
}

/// An operation of category 2 about an own subscriber.
fn long_free() -> Vec<u8> {
    let argument = element(0x30, &element(0x80, &tbcd(OWN_IMSI)));
    begin(
        Some(&context("subscriberInfoEnquiryContext", 3)),
        &[(code("provideSubscriberInfo"), &argument)],
    )
}

#[test]
fn an_imsi_in_pieces_is_put_together() {
    let digits = tbcd(OWN_IMSI);
    let pieces = [element(0x04, &digits[..3]), element(0x04, &digits[3..])].concat();
    let argument = element(0x30, &element(0xa0, &pieces));
    let data = begin(
        Some(&context("subscriberInfoEnquiryContext", 3)),
        &[(code("provideSubscriberInfo"), &argument)],
    );
    assert_eq!(by(&data).as_deref(), Some("cat2-own-subscriber"));
}

#[test]
fn of_two_subscribers_in_one_argument_none_is_believed() {
    let twice = [element(0x80, &tbcd("208101234567890")), element(0x80, &tbcd(OWN_IMSI))].concat();
    let data = begin(
        Some(&context("subscriberInfoEnquiryContext", 3)),
        &[(code("provideSubscriberInfo"), &element(0x30, &twice))],
    );
    assert_eq!(by(&data).as_deref(), Some("unreadable"));
}

#[test]
fn an_operation_as_an_object_identifier_is_refused() {
    let mut data = Vec::new();
    let contents = context("anyTimeInfoEnquiryContext", 3);
    let oid = ber::Oid::new(&[4, 0, 0, 1, 71]).expect("an identifier");
    let writer = Writer::begin(TransactionId::of(1)).request(&contents, &[]);
    writer.write(&mut data, |out| out.invoke(1, None, Code::Global(oid), None));
    assert_eq!(by(&data).as_deref(), Some("hidden-operation"));
}

#[test]
fn an_operation_with_needless_octets_is_not_read() {
    let plain = interrogation();
    let at = plain.windows(3).position(|it| it == [2, 1, 71]).expect("the operation");
    let mut padded = Vec::new();
    // Within one octet of length each: invoke, component portion and message grow by one.
    padded.extend_from_slice(&plain[..at]);
    padded.extend_from_slice(&[2, 2, 0, 71]);
    padded.extend_from_slice(&plain[at + 3..]);
    for before in 0..at {
        let is_around = usize::from(plain[before]) + before + 1 == plain.len()
            && matches!(plain[before - 1], 0x62 | 0x6c | 0xa1);
        if before > 0 && is_around {
            padded[before] += 1;
        }
    }
    assert_eq!(by(&padded).as_deref(), Some("unreadable"));
}

#[test]
fn behind_a_harmless_component_the_next_one_is_seen() {
    let oid = context("networkLocUpContext", 3);
    let argument = with_imsi(OWN_IMSI);
    let (good, bad) = (code("updateLocation"), code("anyTimeInterrogation"));
    for invokes in
        [[(good, &argument[..]), (bad, &argument)], [(bad, &argument), (good, &argument)]]
    {
        assert_eq!(by(&begin(Some(&oid), &invokes)).as_deref(), Some(CATEGORY_1));
    }
}

#[test]
fn without_a_dialogue_portion_the_operation_is_seen() {
    let data = begin(None, &[(code("anyTimeInterrogation"), &with_imsi(OWN_IMSI))]);
    assert_eq!(by(&data).as_deref(), Some(CATEGORY_1));
}

#[test]
fn in_the_context_of_another_operation_or_protocol_it_is_seen() {
    let capable = [4, 0, 0, 1, 21, 3, 4];
    let unknown = [42, 3, 4, 5];
    let other = context("networkLocUpContext", 3);
    for oid in [&capable[..], &unknown, &other] {
        let data = begin(Some(oid), &[(code("anyTimeInterrogation"), &with_imsi(OWN_IMSI))]);
        assert_eq!(by(&data).as_deref(), Some(CATEGORY_1), "{oid:?}");
    }
}

#[test]
fn an_empty_beginning_passes_and_what_follows_it_is_seen() {
    let empty = begin(Some(&context("anyTimeInfoEnquiryContext", 3)), &[]);
    assert_eq!(by(&empty), None);
    let next = go_on(&[(code("anyTimeInterrogation"), &with_imsi(OWN_IMSI))]);
    assert_eq!(by(&next).as_deref(), Some(CATEGORY_1));
}

#[test]
fn the_subsystem_of_who_calls_makes_no_operation_one_of_cap() {
    let next = go_on(&[(code("anyTimeInterrogation"), &with_imsi(OWN_IMSI))]);
    for calling_subsystem in [146, 147] {
        let from = From { calling_subsystem, ..from() };
        let by = refused_by(&screen(&fs11()), &from, &next);
        assert_eq!(by.as_deref(), Some(CATEGORY_1));
    }
}

#[test]
fn a_unidirectional_message_and_an_end_that_invokes_are_seen() {
    let argument = with_imsi(OWN_IMSI);
    let invoke = |writer: Writer<'_>| {
        let mut data = Vec::new();
        let code = Code::Local(code("anyTimeInterrogation"));
        writer.write(&mut data, |out| out.invoke(1, None, code, Some(&argument)));
        data
    };
    assert_eq!(by(&invoke(Writer::unidirectional())).as_deref(), Some(CATEGORY_1));
    assert_eq!(by(&invoke(Writer::end(TransactionId::of(9)))).as_deref(), Some(CATEGORY_1));
}

#[test]
fn parts_out_of_order_or_twice_and_what_follows_the_message_are_not_read() {
    let plain = interrogation();
    let mut followed = plain.clone();
    followed.extend_from_slice(&[0x04, 0x00]);
    assert_eq!(by(&followed).as_deref(), Some("unreadable"));
    // The transaction behind the components.
    let (head, rest) = plain.split_at(2);
    let (otid, parts) = rest.split_at(2 + usize::from(rest[1]));
    let swapped = [head, parts, otid].concat();
    assert_eq!(by(&swapped).as_deref(), Some("unreadable"));
    for cut in 0..plain.len() {
        assert_eq!(by(&plain[..cut]).as_deref(), Some("unreadable"), "{cut}");
    }
}

#[test]
fn a_message_for_another_subsystem_by_its_title_is_looked_at() {
    let (called, calling) = (title("491710000001", 254), title(FRENCH, 7));
    let way = Way { opc: 1, dpc: 2, called: &called, calling: &calling };
    assert!(way.has_tcap(), "a translation may change the subsystem");
    let here = sccp::codec::Address::subsystem(None, 254);
    assert!(!Way { called: &here, ..way }.has_tcap());
    assert!(Subject::read(way, &interrogation()).is_ok());
}

#[test]
fn a_subscriber_told_by_the_dialogue_alone_is_known() {
    let screen = crate::build::rules(
        "[[rule]]\nname = \"own\"\nsubscriber = \"own\"\naction = \"discard\"\n",
    );
    let user = opening(OWN_IMSI);
    let mut data = Vec::new();
    let oid = context("networkUnstructuredSsContext", 2);
    let writer = Writer::begin(TransactionId::of(1)).request(&oid, &user);
    let code = Code::Local(code("processUnstructuredSS-Request"));
    writer.write(&mut data, |out| out.invoke(1, None, code, None));
    let verdict = ask(&screen, &from(), &data).expect("it is read");
    assert!(verdict.action.refuses());
}

/// An order to insert data of a subscriber, with these octets as its IMSI, and more behind it.
fn insert(imsi: &[u8], more: &[u8]) -> Vec<u8> {
    let argument = element(0x30, &[&element(0x80, imsi)[..], more].concat());
    let oid = context("subscriberDataMngtContext", 3);
    begin(Some(&oid), &[(code("insertSubscriberData"), &argument)])
}

#[test]
fn an_imsi_that_is_none_is_not_taken_for_no_imsi() {
    let sixteen = tbcd(&format!("{OWN_IMSI}0"));
    let nine = [&tbcd(OWN_IMSI)[..], &[0xff]].concat();
    let mut letter = tbcd(OWN_IMSI);
    letter[5] |= 0x0c;
    let short = tbcd("2620");
    assert_eq!(by(&insert(&tbcd(OWN_IMSI), &[])).as_deref(), Some("cat2-own-subscriber"));
    for imsi in [&sixteen[..], &letter, &short, &[]] {
        assert_eq!(by(&insert(imsi, &[])).as_deref(), Some("unreadable"), "{imsi:02x?}");
    }
    // Fillers alone say nothing else.
    assert_eq!(by(&insert(&nine, &[])).as_deref(), Some("cat2-own-subscriber"));
    let oid = context("networkUnstructuredSsContext", 2);
    let mut data = Vec::new();
    let user = opening(&format!("{OWN_IMSI}0"));
    let writer = Writer::begin(TransactionId::of(1)).request(&oid, &user);
    let code = Code::Local(code("processUnstructuredSS-Request"));
    writer.write(&mut data, |out| out.invoke(1, None, code, None));
    assert_eq!(by(&data).as_deref(), Some("unreadable"));
}

#[test]
fn an_argument_that_breaks_off_hides_no_subscriber() {
    for more in [&[0x04, 0x05][..], &[0x9f], &[0x84, 0x82, 0x01]] {
        assert_eq!(by(&insert(&tbcd(OWN_IMSI), more)).as_deref(), Some("unreadable"), "{more:x?}");
    }
}

/// A short message: its destination, its text, and what stands behind that.
fn short_message(destination: &[u8], behind: &[u8]) -> Vec<u8> {
    let origin = element(0x82, &[0x91, 0x94, 0x71, 0x21]);
    element(0x30, &[destination, &origin, &element(0x04, &[0x11, 0, 3, 0x91]), behind].concat())
}

#[test]
fn the_subscriber_of_a_short_message_stands_behind_its_text() {
    let screen = rules("[[rule]]\nname = \"own\"\nsubscriber = \"own\"\n");
    let by = |name: &str, of: &str, argument: &[u8]| {
        let oid = context(of, 3);
        refused_by(&screen, &from(), &begin(Some(&oid), &[(code(name), argument)]))
    };
    let sent = |destination: &[u8], behind: &[u8]| {
        by("mo-ForwardSM", "shortMsgMO-RelayContext", &short_message(destination, behind))
    };
    let centre = element(0x84, &[0x91, 0x94, 0x71, 0x01]);
    let imsi = |digits: &str| element(0x04, &tbcd(digits));
    assert_eq!(sent(&centre, &imsi(OWN_IMSI)).as_deref(), Some("own"));
    assert_eq!(sent(&centre, &imsi(FRENCH_IMSI)), None);
    // Correlation has the tag of another destination, and is none.
    let correlation = element(0xa0, &element(0x82, b"sip:a@b"));
    assert_eq!(sent(&centre, &[imsi(OWN_IMSI), correlation].concat()).as_deref(), Some("own"));
    let foreign = element(0x80, &tbcd(FRENCH_IMSI));
    assert_eq!(sent(&foreign, &imsi(OWN_IMSI)).as_deref(), Some("unreadable"), "two of them");
    let only_by_ip = [0x80, 0];
    let terminated = short_message(&element(0x80, &tbcd(OWN_IMSI)), &only_by_ip);
    let by = by("mt-ForwardSM", "shortMsgMT-RelayContext", &terminated);
    assert_eq!(by.as_deref(), Some("own"), "a mark with the tag of a destination is none");
}

#[test]
fn what_is_not_well_formed_behind_it_saves_nothing_that_is_refused() {
    let (argument, oid) = (with_imsi(OWN_IMSI), context("anyTimeInfoEnquiryContext", 3));
    let ask = (code("anyTimeInterrogation"), &argument[..]);
    let mut data = begin(Some(&oid), &[ask, ask]);
    let second = data.len() - argument.len() - 8;
    assert_eq!(data[second], 0xa1, "an invoke");
    data[second] = 0xa9;
    assert_eq!(by(&data).as_deref(), Some(CATEGORY_1));
    let twice = [element(0x80, &tbcd(FRENCH_IMSI)), element(0x80, &tbcd(OWN_IMSI))].concat();
    let twice = element(0x30, &twice);
    let oid = context("subscriberInfoEnquiryContext", 3);
    let data = begin(Some(&oid), &[(code("provideSubscriberInfo"), &twice[..]), ask]);
    assert_eq!(by(&data).as_deref(), Some(CATEGORY_1));
}

#[test]
fn the_context_of_cap_makes_no_operation_one_of_cap_at_another_subsystem() {
    let capable = [4, 0, 0, 1, 21, 3, 4];
    let data = begin(Some(&capable), &[(code("anyTimeInterrogation"), &with_imsi(OWN_IMSI))]);
    for (called_subsystem, wanted) in
        [(146, None), (147, None), (6, Some(CATEGORY_1)), (8, Some(CATEGORY_1))]
    {
        let from = From { called_subsystem, ..from() };
        let by = refused_by(&screen(&fs11()), &from, &data);
        assert_eq!(by.as_deref(), wanted, "{called_subsystem}");
    }
}

#[test]
fn a_title_with_the_digits_of_an_own_subscriber_is_an_own_one() {
    let mut calling = title(OWN_IMSI, 7);
    calling.title.as_mut().expect("a title").plan = 6;
    let called = title(crate::build::OWN, 6);
    let way = Way { opc: 1, dpc: 2, called: &called, calling: &calling };
    let oid = context("networkLocUpContext", 3);
    let data = begin(Some(&oid), &[(code("updateLocation"), &with_imsi(FRENCH_IMSI))]);
    let subject = Subject::read(way, &data).expect("it is read");
    let screen = screen(&fs11());
    let places = screen.last_places(1);
    let verdict = screen.judge(machine::Time::from_millis(1), &subject, &places).expect("read");
    let by = verdict.rule.and_then(|it| screen.rule(it)).map(|it| it.0);
    assert_eq!(by, Some("own-title-from-outside"));
}
