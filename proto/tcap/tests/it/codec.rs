//! What is read and written, and how what is wrong is answered.

use crate::every::{self, CONTEXT, USER, id};
use ber::Element;
use proptest::prelude::*;
use tcap::codec::{
    Code, Component, ComponentWriter, Diagnostic, Dialogue, GeneralProblem, Message, MessageType,
    PAbortCause, Payload, Problem, TransactionId, Writer,
};

fn octets(hex: &str) -> Vec<u8> {
    let hex = hex.replace(' ', "");
    let digit = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect()
}

/// A begin of USSD from a trace, as it stands in the tests of jSS7 (`TcBeginTest`); its component
/// portion is of indefinite length, and written again it is the one that jSS7 writes.
const TRACED: &str = "627448041a0002e16b542852060700118605010101a047604580020780a109060704000001\
    001302be34283206070400000101010 1a027a0258008330805091317 65f08107918167838038f4820791053907\
    7063f683079181678380 48f76c80a11202010002013b300a04010f04052a596c36020000";
const WRITTEN: &str = "627248041a0002e16b542852060700118605010101a047604580020780a109060704000001\
    001302be34283206070400000101010 1a027a0258008330805091317 65f08107918167838038f4820791053907\
    7063f683079181678380 48f76c14a11202010002013b300a04010f04052a596c3602";

#[test]
fn a_message_of_a_trace_is_read_and_written_as_others_do() {
    let traced = octets(TRACED);
    let message = Message::read(&traced).unwrap();
    assert_eq!(message.otid.and_then(TransactionId::number), Some(436_208_353));
    let Dialogue::Request { is_version_1: true, context, user_information } =
        Dialogue::read(&message.dialogue.unwrap()).unwrap()
    else {
        panic!("it is an AARQ")
    };
    assert_eq!(context.to_string(), "0.4.0.0.1.0.19.2");
    let map = Dialogue::read(&user_information.iter().next().unwrap()).unwrap();
    assert!(matches!(map, Dialogue::Other(oid, _) if oid.to_string() == "0.4.0.0.1.1.1.1"));
    let invoke = message.components().next().unwrap().unwrap();
    let Payload::Invoke { linked_id: None, code: Code::Local(59), parameter } = invoke.payload
    else {
        panic!("it is processUnstructuredSS-Request")
    };
    assert_eq!((invoke.invoke_id, parameter.unwrap().contents().len()), (Some(0), 10));
    assert_eq!(again(&message), octets(WRITTEN));
}

/// The begin of an SRI-for-SM (shortMsgGatewayContext-v3) that pycrate 0.8.1 reads.
#[test]
fn a_message_is_written_as_another_implementation_reads_it() {
    let argument = octets("3013800791446710203040810100820591446799aa");
    let mut written = Vec::new();
    Writer::begin(id(0x0102_0304)).request(CONTEXT, &[]).write(&mut written, |out| {
        out.invoke(1, None, Code::Local(45), Some(&argument));
    });
    let read = "62454804010203046b1e281c060700118605010101a011600f80020780a109060704000001001403\
        6c1da11b02010102012d3013800791446710203040810100820591446799aa";
    assert_eq!(written, octets(read));
}

fn copy(message: &Message<'_>, out: &mut ComponentWriter<'_, '_>) {
    for component in message.components() {
        let Component { invoke_id, payload } = component.unwrap();
        let id = invoke_id.unwrap_or_default();
        let whole = |it: Option<ber::Element<'_>>| it.map(|it| it.whole().to_vec());
        match payload {
            Payload::Invoke { linked_id, code, parameter } => {
                out.invoke(id, linked_id, code, whole(parameter).as_deref());
            }
            Payload::ReturnResult { is_last, result } => {
                let parameter = result.and_then(|it| whole(it.1));
                out.result(id, is_last, result.map(|it| (it.0, parameter.as_deref())));
            }
            Payload::ReturnError { code, parameter } => {
                out.error(id, code, whole(parameter).as_deref());
            }
            Payload::Reject(problem) => out.reject(invoke_id, problem),
        }
    }
}

fn again(message: &Message<'_>) -> Vec<u8> {
    let writer = match (message.kind, message.otid, message.dtid, message.p_abort) {
        (MessageType::Begin, Some(otid), ..) => Writer::begin(otid),
        (MessageType::Continue, Some(otid), Some(dtid), _) => Writer::go_on(otid, dtid),
        (MessageType::End, _, Some(dtid), _) => Writer::end(dtid),
        (MessageType::Abort, _, Some(dtid), Some(cause)) => {
            Writer::p_abort(dtid, PAbortCause::of(cause as u8).unwrap())
        }
        (MessageType::Abort, _, Some(dtid), None) => Writer::abort(dtid),
        _ => Writer::unidirectional(),
    };
    let dialogue = message.dialogue.map(|it| Dialogue::read(&it).unwrap());
    let writer = match &dialogue {
        None | Some(Dialogue::Other(..)) => writer,
        Some(
            Dialogue::Request { context, user_information, .. }
            | Dialogue::Unidirectional { context, user_information, .. },
        ) => writer.request(context.contents(), user_information.octets()),
        Some(Dialogue::Response { context, is_refused, diagnostic, user_information }) => {
            let (context, user) = (context.contents(), user_information.octets());
            match is_refused {
                true => writer.refuse(context, *diagnostic, user),
                false => writer.accept(context, user),
            }
        }
        Some(Dialogue::Abort { by_provider, user_information }) => {
            writer.abrt(*by_provider, user_information.octets())
        }
    };
    let mut out = Vec::new();
    writer.write(&mut out, |out| copy(message, out));
    out
}

#[test]
fn every_message_is_written_as_it_is_read() {
    for (kind, octets) in every::messages() {
        let message = Message::read(&octets).unwrap();
        assert_eq!(message.kind, kind);
        assert_eq!(again(&message), octets, "{}", kind.name());
    }
}

#[test]
fn a_dialogue_portion_says_what_was_asked_and_answered() {
    let mut octets = Vec::new();
    let refusal = Writer::abort(id(1)).refuse(CONTEXT, Diagnostic::User(2), USER);
    refusal.write(&mut octets, |_| ());
    let message = Message::read(&octets).unwrap();
    let Dialogue::Response { context, is_refused, diagnostic, user_information } =
        Dialogue::read(&message.dialogue.unwrap()).unwrap()
    else {
        panic!("it is an AARE")
    };
    assert_eq!(context.to_string(), "0.4.0.0.1.0.20.3");
    assert_eq!((is_refused, diagnostic), (true, Diagnostic::User(2)));
    assert_eq!(user_information.iter().count(), 1);
    assert_eq!(user_information.octets(), USER);
}

/// Transaction portions that are wrong: the cause of the abort, and where it goes to.
#[test]
fn what_is_wrong_with_a_transaction_portion_says_how_it_is_answered() {
    use PAbortCause as P;
    let table: &[(&str, P, Option<u32>)] = &[
        ("", P::BadlyFormatted, None),
        ("6206480401020304ff", P::BadlyFormatted, None),
        ("630648040102030400", P::BadlyFormatted, None),
        ("6306480401020304", P::UnrecognizedMessageType, Some(0x0102_0304)),
        ("a206480401020304", P::UnrecognizedMessageType, Some(0x0102_0304)),
        ("62064904010203046c00", P::BadlyFormatted, None),
        ("6206490401020304", P::IncorrectPortion, None),
        ("6506480401020304", P::IncorrectPortion, Some(0x0102_0304)),
        ("6406480401020304", P::IncorrectPortion, Some(0x0102_0304)),
        ("6700", P::IncorrectPortion, None),
        ("6100", P::IncorrectPortion, None),
        ("620748050102030405", P::BadlyFormatted, None),
        ("620c480401020304480401020304", P::BadlyFormatted, Some(0x0102_0304)),
        ("620c4804010203044a0400000000", P::BadlyFormatted, Some(0x0102_0304)),
        ("62094804010203044a0101", P::IncorrectPortion, Some(0x0102_0304)),
        ("620848040102030405ff", P::BadlyFormatted, Some(0x0102_0304)),
        ("62084804010203046b00", P::BadlyFormatted, Some(0x0102_0304)),
    ];
    for (hex, cause, otid) in table {
        let octets = octets(hex);
        let violation = Message::read(&octets).unwrap_err();
        let told = violation.otid.and_then(TransactionId::number);
        assert_eq!((violation.cause, told), (*cause, *otid), "{hex}: {}", violation.malformed);
    }
}

/// Components that are wrong: what their reject says.
#[test]
fn what_is_wrong_with_a_component_says_how_it_is_rejected() {
    use GeneralProblem as P;
    let table: &[(&str, Option<i8>, P)] = &[
        ("a506020101020101", None, P::UnrecognizedComponent),
        ("6106020101020101", None, P::UnrecognizedComponent),
        ("8106020101020101", None, P::BadlyStructuredComponent),
        ("a100", None, P::MistypedComponent),
        ("a103020101", Some(1), P::MistypedComponent),
        ("a10702020101020101", None, P::MistypedComponent),
        ("a10a02010102010105000500", Some(1), P::MistypedComponent),
        ("a107020101020101ff", Some(1), P::BadlyStructuredComponent),
        ("a1080201010401010500", Some(1), P::MistypedComponent),
        ("a1050500020101", None, P::MistypedComponent),
        ("a206020101020101", Some(1), P::MistypedComponent),
        ("a2050201013000", Some(1), P::MistypedComponent),
        ("a206020101300105", Some(1), P::BadlyStructuredComponent),
        ("a303020101", Some(1), P::MistypedComponent),
        ("a403020101", Some(1), P::MistypedComponent),
        ("a405050084010a", None, P::MistypedComponent),
    ];
    for (hex, invoke_id, problem) in table {
        let octets = octets(hex);
        let rejected = Component::read(&ber::Element::only(&octets).unwrap()).unwrap_err();
        let expected = (*invoke_id, Problem::General(*problem));
        assert_eq!((rejected.invoke_id, rejected.problem), expected, "{hex}");
        assert_eq!(rejected.is_reject, hex.starts_with("a4"));
    }
}

#[test]
fn components_before_one_that_is_not_well_formed_are_read() {
    let octets = [0x62, 18, 0x48, 4, 1, 2, 3, 4, 0x6c, 10, 0xa1, 6, 2, 1, 1, 2, 1, 2, 0xa1, 9];
    let message = Message::read(&octets).unwrap();
    let read: Vec<_> = message.components().collect();
    assert!(matches!(
        read[0],
        Ok(Component { invoke_id: Some(1), payload: Payload::Invoke { code: Code::Local(2), .. } })
    ));
    let problem = Problem::General(GeneralProblem::BadlyStructuredComponent);
    assert_eq!((read.len(), read[1].unwrap_err().problem), (2, problem));
}

#[test]
fn reading_allocates_nothing() {
    let messages = every::messages();
    let info = allocation_counter::measure(|| {
        for (_, octets) in &messages {
            let message = Message::read(octets).unwrap();
            assert!(message.dialogue.is_none_or(|it| Dialogue::read(&it).is_ok()));
            assert!(message.components().all(|it| it.is_ok()));
        }
    });
    assert_eq!(info.count_total, 0);
}

proptest! {
    #[test]
    fn a_message_cut_or_changed_breaks_nothing(
        which: prop::sample::Index, cut: prop::sample::Index, at: prop::sample::Index, to: u8,
    ) {
        let all = every::messages();
        let mut octets = all[which.index(all.len())].1.clone();
        prop_assert!(Message::read(&octets[..cut.index(octets.len())]).is_err());
        let at = at.index(octets.len());
        octets[at] = to;
        match Message::read(&octets) {
            Ok(message) => {
                let _ = message.dialogue.map(|it| Dialogue::read(&it).is_ok());
                let _ = message.components().filter(Result::is_ok).count();
            }
            Err(violation) => prop_assert!(violation.malformed.at <= octets.len()),
        }
    }
}

/// An AARQ whose single-ASN1-type has its length in the long form: it is read by its rows.
fn in_long_form(external: &[u8]) -> Vec<u8> {
    let (head, rest) = external.split_at(11);
    let mut octets = head.to_vec();
    octets[1] += 1;
    octets.extend([rest[0], 0x81]);
    octets.extend(&rest[1..]);
    octets
}

fn said(external: &[u8]) -> Option<(bool, String, Vec<u8>)> {
    match Dialogue::read(&Element::only(external).ok()?).ok()? {
        Dialogue::Request { is_version_1, context, user_information } => {
            Some((is_version_1, context.to_string(), user_information.octets().to_vec()))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_usual_request_says_what_its_rows_say_whatever_octet_changes() {
    for count in [1, 7, 63, 64, 65, 80] {
        let context = [&[4][..], &vec![1; count - 1]].concat();
        let mut message = Vec::new();
        Writer::begin(TransactionId::of(7)).request(&context, &[]).write(&mut message, |_| ());
        let external = Message::read(&message).unwrap().dialogue.unwrap().whole().to_vec();
        let whole = said(&external).unwrap();
        assert!(whole.0 && whole.2.is_empty());
        assert_eq!(said(&in_long_form(&external)), Some(whole), "{count}");
        for at in 12..external.len() {
            for change in [1, 2, 0x20, 0x40, 0x80, 0xff] {
                let mut changed = external.clone();
                changed[at] ^= change;
                let by_rows = said(&in_long_form(&changed));
                assert_eq!(said(&changed), by_rows, "{count}: {at} {change:02x}");
            }
        }
    }
}
