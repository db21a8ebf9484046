//! What the SS7 network says in MAP, and the messages that terminals and the service centre send.

use crate::nodes::{CENTRE, MSC, Subscriber};
use ber::{Element, Writer};
use bytes::Bytes;
use map::types::{
    LocationInfoWithLmsi, MtForwardSmArg, RoutingInfoForSmArg, RoutingInfoForSmRes, SmRpDa, SmRpOa,
};
use map::{Context, Operation};
use mapsms::identity::Imsi;
use sccp::codec::{Address, Digits, Title};
use sms::rp::{Kind as RpKind, Message};
use sms::{Coding, Kind, Made, Parameter, RpAddress, Time, Tpdu, Value};
use tcu::{Code, Component, Portion, Request};

const VERSION: u8 = 3;
/// Who writes to everybody.
const SENDER: &str = "447700900999";
/// A time of a service centre.
const WHEN: i64 = 1_795_737_882;

fn number(digits: &str) -> RpAddress {
    RpAddress::international(digits).expect("it is a number")
}

/// A title of SCCP, and a subsystem.
pub(crate) fn address(digits: &str, subsystem: u8) -> Address {
    let digits = Digits::parse(digits).expect("they are digits");
    Address::title(Title::e164(digits), subsystem)
}

fn written(tpdu: &Tpdu<'_>) -> Vec<u8> {
    let mut octets = Vec::new();
    tpdu.write(&mut octets).expect("it has all that it needs");
    octets
}

fn text(tpdu: Tpdu<'_>, session: u64) -> Vec<u8> {
    let text = format!("message {session}");
    let made = Made::text(Coding::GSM7, &[], &text).expect("it is short");
    written(&tpdu.with(Parameter::UserData, Value::UserData(made.as_read(Coding::GSM7, false))))
}

fn to_sender() -> sms::Address {
    sms::Address::international(SENDER).expect("it is a number")
}

/// An RP message with a text of a terminal to the service centre.
pub(crate) fn submission(session: u64) -> Vec<u8> {
    submission_to(session, SENDER)
}

/// The same for somebody.
pub(crate) fn submission_to(session: u64, digits: &str) -> Vec<u8> {
    let reference = low(session);
    let to = sms::Address::international(digits).expect("it is a number");
    let tpdu = Tpdu::new(Kind::Submit)
        .octet(Parameter::MessageReference, reference)
        .with(Parameter::DestinationAddress, Value::Address(to))
        .octet(Parameter::ProtocolIdentifier, 0)
        .octet(Parameter::DataCodingScheme, 0);
    let tpdu = text(tpdu, session);
    rp(&Message::from_terminal(reference, number(CENTRE), &tpdu))
}

fn delivery(session: u64) -> Vec<u8> {
    let tpdu = Tpdu::new(Kind::Deliver)
        .with(Parameter::OriginatingAddress, Value::Address(to_sender()))
        .octet(Parameter::ProtocolIdentifier, 0)
        .octet(Parameter::DataCodingScheme, 0)
        .with(Parameter::ServiceCentreTime, Value::Time(Time::of_unix(WHEN, 0)));
    text(tpdu, session)
}

/// What an RP message of the gateway is to a terminal.
pub(crate) enum Heard {
    /// A message, and what the terminal says that has taken it.
    Message(Vec<u8>),
    /// That one of the terminal was taken, or was not.
    Report(bool),
}

pub(crate) fn heard(octets: &[u8]) -> Option<Heard> {
    let message = Message::read(octets).ok()?;
    match message.kind {
        RpKind::DataToTerminal => Some(Heard::Message(rp(&message.answer(None, None)))),
        RpKind::AckToTerminal => Some(Heard::Report(true)),
        RpKind::ErrorToTerminal => Some(Heard::Report(false)),
        _ => None,
    }
}

/// The session that a message to a terminal is of.
pub(crate) fn session_of(octets: &[u8]) -> Option<u64> {
    let message = Message::read(octets).ok()?;
    let tpdu = Kind::Deliver.read(message.user_data?).ok()?;
    let text = tpdu.user_data()?.text().ok()??;
    text.strip_prefix("message ")?.parse().ok()
}

fn rp(message: &Message<'_>) -> Vec<u8> {
    let mut octets = Vec::new();
    message.write(&mut octets).expect("it has all that it needs");
    octets
}

fn low(session: u64) -> u8 {
    session.to_le_bytes()[0]
}

fn begin(reference: u64, called: Address, context: Context, invoke: Component) -> Request {
    let portion = Portion {
        context: Some(Bytes::copy_from_slice(&context.oid(VERSION))),
        components: vec![invoke],
        ..Portion::default()
    };
    let calling = address(CENTRE, crate::nodes::CENTRE_SUBSYSTEM);
    Request::Begin { reference, called, calling, state: None, portion }
}

fn invoke(operation: Operation, octets: Vec<u8>) -> Component {
    let (code, parameter) = (Code::Local(operation.code()), Some(octets.into()));
    Component::Invoke { id: 1, linked: None, code, parameter, class: None, time_ms: None }
}

/// The service centre asks where a subscriber is.
pub(crate) fn routing(reference: u64, who: Subscriber) -> Request {
    let mut octets = Vec::new();
    Writer::new(&mut octets).record::<RoutingInfoForSmArg>(|out| {
        out.octets(RoutingInfoForSmArg::Msisdn, number(&who.digits()).octets());
        out.boolean(RoutingInfoForSmArg::SmRpPri, true);
        out.octets(RoutingInfoForSmArg::ServiceCentreAddress, number(CENTRE).octets());
    });
    let called = address(&who.digits(), crate::nodes::HLR_SUBSYSTEM);
    let invoke = invoke(Operation::SendRoutingInfoForSm, octets);
    begin(reference, called, Context::ShortMsgGateway, invoke)
}

/// The service centre delivers to an IMSI at a node, both as it was told.
pub(crate) fn forward(reference: u64, imsi: &[u8], node: &str, session: u64) -> Request {
    let (mut octets, tpdu) = (Vec::new(), delivery(session));
    Writer::new(&mut octets).record::<MtForwardSmArg>(|out| {
        out.within::<SmRpDa>(MtForwardSmArg::SmRpDa, |out| out.octets(SmRpDa::Imsi, imsi));
        out.within::<SmRpOa>(MtForwardSmArg::SmRpOa, |out| {
            out.octets(SmRpOa::ServiceCentreAddressOa, number(CENTRE).octets());
        });
        out.octets(MtForwardSmArg::SmRpUi, &tpdu);
    });
    let called = address(node, crate::nodes::MSC_SUBSYSTEM);
    begin(reference, called, Context::ShortMsgMtRelay, invoke(Operation::MtForwardSm, octets))
}

/// IMSI and node of routing information.
pub(crate) fn found(components: &[Component]) -> Option<(Vec<u8>, String)> {
    let value = components.iter().find_map(|it| match it {
        Component::Result { result: Some((_, Some(value))), .. } => Some(value),
        _ => None,
    })?;
    let it = RoutingInfoForSmRes::read(Element::only(value).ok()?).ok()?;
    let imsi = it.octets(RoutingInfoForSmRes::Imsi)?.iter().collect();
    let location = it.get(RoutingInfoForSmRes::LocationInfoWithLmsi)?;
    let location = LocationInfoWithLmsi::read(location).ok()?;
    let node: Vec<u8> = location.octets(LocationInfoWithLmsi::NetworkNodeNumber)?.iter().collect();
    Some((imsi, RpAddress::of(&node).ok()?.text()))
}

/// What HLR, service centre and MSC say to an operation: that it is done; of routing information,
/// where the subscriber is.
pub(crate) fn answer(dialogue: u64, components: &[Component]) -> Option<Request> {
    let results = components.iter().filter_map(|it| match it {
        Component::Invoke { id, code, .. } => {
            let is_routing = *code == Code::Local(Operation::SendRoutingInfoForSm.code());
            let result = is_routing.then(|| (code.clone(), Some(location())));
            Some(Component::Result { id: *id, is_last: true, result })
        }
        _ => None,
    });
    let results: Vec<_> = results.collect();
    // What follows an empty BEGIN is waited for.
    if results.is_empty() {
        return Some(Request::Continue { dialogue, state: None, portion: Portion::default() });
    }
    Some(Request::End { dialogue, is_prearranged: false, portion: Portion::of(results) })
}

fn location() -> Bytes {
    let imsi = Imsi::of("234150000000123").expect("it is one").tbcd();
    let mut octets = Vec::new();
    Writer::new(&mut octets).record::<RoutingInfoForSmRes>(|out| {
        out.octets(RoutingInfoForSmRes::Imsi, &imsi);
        let row = RoutingInfoForSmRes::LocationInfoWithLmsi;
        out.within::<LocationInfoWithLmsi>(row, |out| {
            out.octets(LocationInfoWithLmsi::NetworkNodeNumber, number(MSC).octets());
        });
    });
    octets.into()
}

/// Whether an operation was done.
pub(crate) fn is_done(components: &[Component]) -> bool {
    matches!(components, [Component::Result { is_last: true, .. }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_answered_and_a_terminal_takes_what_it_is_sent() {
        let who = Subscriber { node: 0, is_circuits: true, number: 7 };
        let Request::Begin { portion, .. } = routing(1, who) else { panic!("it begins") };
        let Some(Request::End { portion, .. }) = answer(3, &portion.components) else {
            panic!("it is answered at once")
        };
        let (imsi, node) = found(&portion.components).expect("it says where");
        assert_eq!(node, MSC);
        let Request::Begin { portion, .. } = forward(2, &imsi, &node, 9) else { panic!("") };
        let Some(Request::End { portion, .. }) = answer(4, &portion.components) else { panic!("") };
        assert!(is_done(&portion.components) && found(&portion.components).is_none());
        let tpdu = delivery(9);
        let message = rp(&Message::to_terminal(7, number(CENTRE), &tpdu));
        let Some(Heard::Message(report)) = heard(&message) else { panic!("it is a message") };
        let read = Message::read(&report).expect("it is an RP message");
        assert_eq!((read.kind, read.reference), (RpKind::AckFromTerminal, 7));
        assert!(heard(&submission(8)).is_none(), "terminals are sent none of these");
    }
}
