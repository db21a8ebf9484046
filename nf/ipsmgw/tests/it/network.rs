//! Messages as neighbours write them, and what they read of the gateway's.

use ber::{Element, Writer};
use bytes::Bytes;
use map::types::{
    LocationInfoWithLmsi, MoForwardSmArg, MtForwardSmArg, RoutingInfoForSmArg, RoutingInfoForSmRes,
    SmRpDa, SmRpOa,
};
use map::{Context, Operation};
use sccp::codec::{Address, Digits, Title};
use sms::rp::Message;
use sms::{Coding, Kind, Made, Parameter, RpAddress, Time, Tpdu, Value};
use tcu::{Code, Component, Portion};

pub const CENTRE: &str = "447800000009";
pub const GATEWAY: &str = "447700000099";
pub const MSC: &str = "447700000001";

pub fn number(digits: &str) -> RpAddress {
    RpAddress::international(digits).unwrap()
}

pub fn address(digits: &str, subsystem: u8) -> Address {
    Address::title(Title::e164(Digits::parse(digits).unwrap()), subsystem)
}

/// A message from `of`, to a terminal.
pub fn deliver(of: &str, text: &str) -> Vec<u8> {
    let made = Made::text(Coding::GSM7, &[], text).unwrap();
    let tpdu = Tpdu::new(Kind::Deliver)
        .with(
            Parameter::OriginatingAddress,
            Value::Address(sms::Address::international(of).unwrap()),
        )
        .octet(Parameter::ProtocolIdentifier, 0)
        .octet(Parameter::DataCodingScheme, 0)
        .with(Parameter::ServiceCentreTime, Value::Time(Time::of_unix(1_795_737_882, 0)))
        .with(Parameter::UserData, Value::UserData(made.as_read(Coding::GSM7, false)));
    written(&tpdu)
}

/// A message from a terminal.
pub fn submit(reference: u8, to: &str, text: &str) -> Vec<u8> {
    let made = Made::text(Coding::GSM7, &[], text).unwrap();
    let tpdu = Tpdu::new(Kind::Submit)
        .octet(Parameter::MessageReference, reference)
        .with(
            Parameter::DestinationAddress,
            Value::Address(sms::Address::international(to).unwrap()),
        )
        .octet(Parameter::ProtocolIdentifier, 0)
        .octet(Parameter::DataCodingScheme, 0)
        .with(Parameter::UserData, Value::UserData(made.as_read(Coding::GSM7, false)));
    written(&tpdu)
}

fn written(tpdu: &Tpdu<'_>) -> Vec<u8> {
    let mut octets = Vec::new();
    tpdu.write(&mut octets).unwrap();
    octets
}

pub fn rp(message: &Message<'_>) -> Vec<u8> {
    let mut octets = Vec::new();
    message.write(&mut octets).unwrap();
    octets
}

pub fn text_of(kind: Kind, tpdu: &[u8]) -> String {
    kind.read(tpdu).unwrap().user_data().unwrap().text().unwrap().unwrap()
}

fn invoke(operation: Operation, octets: Vec<u8>) -> Component {
    let (code, parameter) = (Code::Local(operation.code()), Some(octets.into()));
    Component::Invoke { id: 1, linked: None, code, parameter, class: None, time_ms: None }
}

pub fn portion(context: Context, version: u8, components: Vec<Component>) -> Portion {
    let context = (version > 1).then(|| Bytes::copy_from_slice(&context.oid(version)));
    Portion { context, components, ..Portion::default() }
}

pub fn routing_invoke(msisdn: &str) -> Component {
    routing_of(msisdn, CENTRE)
}

/// The same of that service centre.
pub fn routing_of(msisdn: &str, centre: &str) -> Component {
    routing_by(msisdn, number(centre).octets())
}

/// The same of a service centre with that address.
pub fn routing_by(msisdn: &str, centre: &[u8]) -> Component {
    let mut octets = Vec::new();
    Writer::new(&mut octets).record::<RoutingInfoForSmArg>(|out| {
        out.octets(RoutingInfoForSmArg::Msisdn, number(msisdn).octets());
        out.boolean(RoutingInfoForSmArg::SmRpPri, true);
        out.octets(RoutingInfoForSmArg::ServiceCentreAddress, centre);
    });
    invoke(Operation::SendRoutingInfoForSm, octets)
}

pub fn deliver_invoke(imsi: &[u8], tpdu: &[u8], version: u8) -> Component {
    let mut octets = Vec::new();
    Writer::new(&mut octets).record::<MtForwardSmArg>(|out| {
        out.within::<SmRpDa>(MtForwardSmArg::SmRpDa, |out| out.octets(SmRpDa::Imsi, imsi));
        out.within::<SmRpOa>(MtForwardSmArg::SmRpOa, |out| {
            out.octets(SmRpOa::ServiceCentreAddressOa, number(CENTRE).octets());
        });
        out.octets(MtForwardSmArg::SmRpUi, tpdu);
    });
    let third = version >= 3;
    invoke(if third { Operation::MtForwardSm } else { Operation::MoForwardSm }, octets)
}

/// The argument of mt-ForwardSM, and whether more messages follow it.
pub fn mt_argument(imsi: &[u8], text: &str, has_more: bool) -> Bytes {
    let mut octets = Vec::new();
    Writer::new(&mut octets).record::<MtForwardSmArg>(|out| {
        out.within::<SmRpDa>(MtForwardSmArg::SmRpDa, |out| out.octets(SmRpDa::Imsi, imsi));
        out.within::<SmRpOa>(MtForwardSmArg::SmRpOa, |out| {
            out.octets(SmRpOa::ServiceCentreAddressOa, number(CENTRE).octets());
        });
        out.octets(MtForwardSmArg::SmRpUi, &deliver("447700900999", text));
        if has_more {
            out.null(MtForwardSmArg::MoreMessagesToSend);
        }
    });
    octets.into()
}

pub fn report_invoke(msisdn: &str, outcome: i64) -> Component {
    use map::types::ReportSmDeliveryStatusArg as Arg;
    let mut octets = Vec::new();
    Writer::new(&mut octets).record::<Arg>(|out| {
        out.octets(Arg::Msisdn, number(msisdn).octets());
        out.octets(Arg::ServiceCentreAddress, number(CENTRE).octets());
        out.integer(Arg::SmDeliveryOutcome, outcome);
    });
    invoke(Operation::ReportSmDeliveryStatus, octets)
}

/// What an HLR says: an IMSI and the MSC.
pub fn routing_value(imsi: &[u8], node: &str) -> Bytes {
    let mut octets = Vec::new();
    Writer::new(&mut octets).record::<RoutingInfoForSmRes>(|out| {
        out.octets(RoutingInfoForSmRes::Imsi, imsi);
        let row = RoutingInfoForSmRes::LocationInfoWithLmsi;
        out.within::<LocationInfoWithLmsi>(row, |out| {
            out.octets(LocationInfoWithLmsi::NetworkNodeNumber, number(node).octets());
        });
    });
    octets.into()
}

/// IMSI and node of routing information.
pub fn routing_read(value: &[u8]) -> (Vec<u8>, String) {
    let it = RoutingInfoForSmRes::read(Element::only(value).unwrap()).unwrap();
    let imsi = it.octets(RoutingInfoForSmRes::Imsi).unwrap().iter().collect();
    let location = it.get(RoutingInfoForSmRes::LocationInfoWithLmsi).unwrap();
    let location = LocationInfoWithLmsi::read(location).unwrap();
    let node: Vec<u8> =
        location.octets(LocationInfoWithLmsi::NetworkNodeNumber).unwrap().iter().collect();
    (imsi, RpAddress::of(&node).unwrap().text())
}

/// The TPDU of a forwarded message.
pub fn forwarded(argument: &[u8]) -> Vec<u8> {
    let it = MoForwardSmArg::read(Element::only(argument).unwrap()).unwrap();
    it.octets(MoForwardSmArg::SmRpUi).unwrap().iter().collect()
}

/// The invoke of components: operation and argument.
pub fn invoked(components: &[Component]) -> Option<(Operation, Bytes)> {
    components.iter().find_map(|it| match it {
        Component::Invoke { code: Code::Local(code), parameter, .. } => {
            Some((Operation::of(*code)?, parameter.clone()?))
        }
        _ => None,
    })
}

pub fn result(operation: Operation, value: Option<Bytes>) -> Component {
    let code = Code::Local(operation.code());
    Component::Result { id: 1, is_last: true, result: value.map(|it| (code, Some(it))) }
}

pub fn error(error: map::Error, parameter: Option<Bytes>) -> Component {
    Component::Error { id: 1, code: Code::Local(error.code()), parameter }
}
