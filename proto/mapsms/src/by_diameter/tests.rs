//! Requests pass the dictionary and say what was asked; answers say what was answered.

use super::serve::{Own, Unfit};
use super::{Named, NodeKind, answer, ask, errors, serve, tbcd};
use crate::argument::Argument;
use crate::identity::{Imsi, Msisdn};
use crate::invoked::{Invoked, Refused, delivery_result, routing_of, routing_result};
use diameter::Dictionary;
use diameter::codec::{Message, ResultCode, Writer};
use diameter::row::Row;
use diameter::rows::{base, s6c, sgd};
use map::types::{SmDeliveryOutcome, SmEnumeratedDeliveryFailureCause as Cause};
use map::{Error, Operation};
use tcu::{Code, Component};

fn number(digits: &str) -> Msisdn {
    Msisdn::of(digits).unwrap()
}

fn own() -> Own {
    let (host, realm) = ("sms1.ims.example.org".into(), "ims.example.org".into());
    Own { number: number("447700000099"), host, realm }
}

fn request(argument: &Argument) -> Vec<u8> {
    let mut octets = Vec::new();
    let (application, command) = ask::command(argument).unwrap();
    let writer = Writer::request(&mut octets, command, application.id)
        .put(&base::SESSION_ID, "sms1;1;1")
        .integer(&base::AUTH_SESSION_STATE, 1)
        .put(&base::ORIGIN_HOST, "sms1.ims.example.org")
        .put(&base::ORIGIN_REALM, "ims.example.org")
        .put(&base::DESTINATION_REALM, "home");
    ask::write(argument, writer).unwrap().end().unwrap();
    let message = Message::read(&octets).unwrap();
    Dictionary::default().check(&message).unwrap();
    octets
}

fn named(node: &Msisdn) -> Option<Named> {
    let (host, realm) = ("mme1.home".into(), "home".into());
    let is_known = node.digits() == "447900000002";
    is_known.then(|| Named { kind: NodeKind::Mme, number: node.clone(), host, realm })
}

fn begun<'a>(request: &[u8], octets: &'a mut Vec<u8>) -> Writer<'a> {
    let request = Message::read(request).unwrap();
    let mut writer = Writer::answer(octets, &request.header);
    for row in [&base::SESSION_ID, &base::AUTH_SESSION_STATE] {
        writer.avps().copy(request.avps().find(row).unwrap().whole);
    }
    writer.put(&base::ORIGIN_HOST, "a").put(&base::ORIGIN_REALM, "b")
}

fn answer_of(request: &[u8], components: &[Component], operation: Operation) -> Vec<u8> {
    let mut octets = Vec::new();
    let writer = begun(request, &mut octets);
    serve::answer(operation, components, &own(), named, writer).end().unwrap();
    Dictionary::default().check(&Message::read(&octets).unwrap()).unwrap();
    octets
}

fn centre() -> sms::RpAddress {
    number("447800000001").address_string()
}

/// What is asked, and as what it is served.
fn served_ones() -> [(Argument, Invoked); 3] {
    let (msisdn, centre, has_priority) = (number("447700900123"), centre(), true);
    let (imsi, tpdu) = (Imsi::of("234150000000123").unwrap(), vec![4, 11, 145]);
    let (outcome, diagnostic) = (SmDeliveryOutcome::of(1).unwrap(), Some(11));
    [
        (
            Argument::Routing { msisdn: msisdn.clone(), centre, has_priority },
            Invoked::Routing { msisdn: msisdn.clone(), centre, has_priority },
        ),
        (
            Argument::Deliver { imsi: imsi.clone(), centre, tpdu: tpdu.clone() },
            Invoked::Deliver { imsi, centre, tpdu, has_more: false },
        ),
        (
            Argument::Report { msisdn: msisdn.clone(), centre, outcome, diagnostic },
            Invoked::Report { msisdn, centre, outcome, diagnostic },
        ),
    ]
}

#[test]
fn what_is_asked_is_served_as_it_was_meant() {
    for (argument, invoked) in served_ones() {
        let octets = request(&argument);
        let message = Message::read(&octets).unwrap();
        let operation = serve::operation(&message).unwrap();
        assert_eq!(operation, argument.operation(3));
        assert!(serve::read(operation, &message).unwrap() == invoked);
    }
}

#[test]
fn a_submission_and_an_alert_are_written_and_nobody_serves_them_here() {
    let (msisdn, centre) = (number("447700900123"), centre());
    let imsi = Imsi::of("234150000000123");
    let submit = Argument::Submit { centre, msisdn: msisdn.clone(), imsi, tpdu: vec![1, 2, 3] };
    let alert = Argument::Alert { msisdn: msisdn.clone(), centre: number("447800000001") };
    for argument in [submit, alert] {
        let octets = request(&argument);
        let message = Message::read(&octets).unwrap();
        assert!(serve::operation(&message).is_none());
        let user = message.avps().find(&s6c::USER_IDENTIFIER).unwrap().group();
        let digits = user.find(&diameter::rows::sh::MSISDN).unwrap().data;
        assert_eq!(digits, tbcd(msisdn.digits()));
    }
    let (gateway, is_registered) = (number("447700000099"), true);
    let registration = Argument::Registration { msisdn, gateway, is_registered };
    assert!(ask::command(&registration).is_none());
}

fn result(value: Option<bytes::Bytes>, operation: Operation) -> Component {
    let code = Code::Local(operation.code());
    Component::Result { id: 1, is_last: true, result: value.map(|it| (code, Some(it))) }
}

#[test]
fn routing_information_names_this_gateway_nodes_with_names_and_nodes_with_numbers() {
    let [(routing, _), ..] = served_ones();
    let imsi = Imsi::of("234150000000999").unwrap();
    let operation = Operation::SendRoutingInfoForSm;
    let node = |digits: &str, row: &Row| {
        let value = routing_result(&imsi, &number(digits));
        let octets = answer_of(&request(&routing), &[result(Some(value), operation)], operation);
        let message = Message::read(&octets).unwrap();
        let node = message.avps().find(&s6c::SERVING_NODE).unwrap().group();
        (node.find(row).unwrap().data.to_vec(), answer::read(operation, &message))
    };
    let (name, told) = node("447700000099", &s6c::IP_SM_GW_NAME);
    assert_eq!(name, b"sms1.ims.example.org");
    assert_eq!(told, Err(Refused::of(Error::AbsentSubscriberSm)), "no MSC, SGSN or MME");
    let (name, told) = node("447900000002", &s6c::MME_NAME);
    assert_eq!(name, b"mme1.home");
    let told = told.unwrap().unwrap();
    assert_eq!(routing_of(&told), Some((imsi.clone(), vec![number("447900000002")])));
    let (digits, _) = node("447900000001", &s6c::MSC_NUMBER);
    assert_eq!(digits, tbcd("447900000001"));
}

#[test]
fn other_results_say_the_same_on_both_sides() {
    let [_, (deliver, _), (report, _)] = served_ones();
    let operation = Operation::MtForwardSm;
    let value = delivery_result(3, Some(&[0, 0]));
    let octets = answer_of(&request(&deliver), &[result(value.clone(), operation)], operation);
    assert_eq!(answer::read(operation, &Message::read(&octets).unwrap()), Ok(value));
    let operation = Operation::ReportSmDeliveryStatus;
    let octets = answer_of(&request(&report), &[result(None, operation)], operation);
    assert_eq!(answer::read(operation, &Message::read(&octets).unwrap()), Ok(None));
}

#[test]
fn errors_say_the_same_on_both_sides() {
    let [_, (deliver, _), _] = served_ones();
    let operation = Operation::MtForwardSm;
    for refused in [
        Refused::of(Error::UnknownSubscriber),
        Refused::absent(11),
        Refused::of(Error::SubscriberBusyForMtSms),
        Refused::of(Error::FacilityNotSupported),
        Refused::of(Error::IllegalSubscriber),
        Refused::of(Error::IllegalEquipment),
        Refused::delivery(3, Cause::MemoryCapacityExceeded, Some(&[0, 211])),
        Refused::of(Error::TeleserviceNotProvisioned),
        Refused::of(Error::CallBarred),
        Refused::of(Error::MessageWaitingListFull),
        Refused::of(Error::SystemFailure),
    ] {
        let octets = answer_of(&request(&deliver), &[refused.clone().component(1)], operation);
        let message = Message::read(&octets).unwrap();
        assert_eq!(answer::read(operation, &message), Err(refused));
    }
    // Nothing at all is that the node cannot comply; two errors have one code.
    let octets = answer_of(&request(&deliver), &[], operation);
    let message = Message::read(&octets).unwrap();
    let code = message.avps().find(&base::RESULT_CODE).unwrap();
    assert_eq!(code.unsigned32().ok(), Some(ResultCode::UnableToComply.number()));
    assert_eq!(errors::read(Some(5001), &message).error, Error::UnknownSubscriber);
}

#[test]
fn nodes_are_told_with_their_names_in_their_order() {
    let [(routing, _), ..] = served_ones();
    let octets = request(&routing);
    let mut told = Vec::new();
    let writer = begun(&octets, &mut told)
        .result(ResultCode::Success)
        .put(&base::USER_NAME, "234150000000123")
        .group(&s6c::SERVING_NODE, |out| {
            out.put(&s6c::MME_NAME, "mme1.home");
            out.put(&s6c::MME_REALM, "home");
            out.put(&s6c::MME_NUMBER_FOR_MT_SMS, tbcd("447900000002"));
        })
        .group(&s6c::ADDITIONAL_SERVING_NODE, |out| {
            out.put(&s6c::MSC_NUMBER, tbcd("44790000001"));
        });
    writer.end().unwrap();
    let message = Message::read(&told).unwrap();
    let value = answer::read(Operation::SendRoutingInfoForSm, &message).unwrap().unwrap();
    let nodes = vec![number("447900000002"), number("44790000001")];
    assert_eq!(routing_of(&value).unwrap().1, nodes);
    assert_eq!(answer::names(&message), [named(&nodes[0]).unwrap()]);
}

/// The request without an AVP, or with it empty.
fn changed(octets: &[u8], row: &Row, is_there: bool) -> Vec<u8> {
    let message = Message::read(octets).unwrap();
    let mut changed = Vec::new();
    let mut writer = Writer::begin(&mut changed, &message.header);
    for avp in message.avps().filter_map(Result::ok).filter(|it| !it.is(row)) {
        writer.avps().copy(avp.whole);
    }
    if is_there {
        writer.avps().put(row, []);
    }
    writer.end().unwrap();
    changed
}

#[test]
fn a_request_that_lacks_what_it_needs_is_answered_with_that() {
    let rows = [&s6c::SC_ADDRESS, &sgd::SM_RP_UI, &s6c::USER_IDENTIFIER];
    for ((argument, _), row) in served_ones().iter().zip(rows) {
        let octets = request(argument);
        let without = changed(&octets, row, false);
        let message = Message::read(&without).unwrap();
        let unfit = serve::read(argument.operation(3), &message).err().unwrap();
        assert_eq!(unfit.code, ResultCode::MissingAvp);
        let mut told = Vec::new();
        unfit.write(begun(&octets, &mut told)).end().unwrap();
        let message = Message::read(&told).unwrap();
        Dictionary::default().check(&message).unwrap();
        let failed = message.avps().find(&base::FAILED_AVP).unwrap().group();
        assert!(failed.find(row).is_some());
        let empty = changed(&octets, &s6c::SC_ADDRESS, true);
        let unfit = serve::read(argument.operation(3), &Message::read(&empty).unwrap());
        let is_invalid = |it: Unfit| it.code == ResultCode::InvalidAvpValue;
        assert!(unfit.err().is_some_and(is_invalid));
    }
}
