//! By the codecs of this house.

use ber::Writer as Ber;
use m3ua::codec::{Data, Message, PointCode, ProtocolData, RoutingContext};
use map::types::{LocationInfoWithLmsi, RoutingInfoForSmArg, RoutingInfoForSmRes};
use map::{Context, Operation};
use sccp::codec::{Address, Class, Digits, Form, Title, Unit, Word};
use std::hint::black_box;
use tcap::codec::{Code, Dialogue, Payload, TransactionId, Writer};

fn point_code(number: u32) -> PointCode {
    PointCode::new(number).expect("24 bits")
}

/// Octets that are used again for every message.
#[derive(Default)]
pub struct Buffers {
    result: Vec<u8>,
    tcap: Vec<u8>,
    sccp: Vec<u8>,
    pub m3ua: Vec<u8>,
}

fn unit(called: Address, calling: Address, data: &[u8]) -> Unit<'_> {
    Unit {
        form: Form::Basic,
        word: Word::Data(Class { is_sequenced: true, returns: true }),
        hops: 0,
        called,
        calling,
        segmentation: None,
        importance: None,
        data,
    }
}

fn wrap(opc: u32, dpc: u32, payload: &[u8], out: &mut Vec<u8>) {
    let (opc, dpc) = (point_code(opc), point_code(dpc));
    let protocol_data = ProtocolData { opc, dpc, si: 3, ni: 2, mp: 0, sls: 5, payload };
    let routing_context = Some(RoutingContext(1));
    out.clear();
    Data { network: None, routing_context, protocol_data, correlation: None }.write(out);
}

/// The question.
pub fn request() -> Vec<u8> {
    let mut argument = Vec::new();
    Ber::new(&mut argument).record::<RoutingInfoForSmArg>(|out| {
        out.octets(RoutingInfoForSmArg::Msisdn, &[0x91, 0x44, 0x67, 0x10, 0x20, 0x30, 0x40]);
        out.boolean(RoutingInfoForSmArg::SmRpPri, true);
        out.octets(RoutingInfoForSmArg::ServiceCentreAddress, &[0x91, 0x44, 0x67, 0x99, 0xaa]);
    });
    let mut begin = Vec::new();
    let context = Context::ShortMsgGateway.oid(3);
    Writer::begin(TransactionId::of(7)).request(&context, &[]).write(&mut begin, |out| {
        out.invoke(1, None, Code::Local(45), Some(&argument));
    });
    let title = |digits| Title::e164(Digits::parse(digits).expect("digits"));
    let called = Address::title(title("44671020304"), 6);
    let mut payload = Vec::new();
    let calling = Address::title(title("446799"), 8);
    unit(called, calling, &begin).write(&mut payload).expect("it fits");
    let mut message = Vec::new();
    wrap(1, 2, &payload, &mut message);
    message
}

/// Reads the question and writes the answer into `to.m3ua`.
#[inline(never)]
pub fn turn(message: &[u8], to: &mut Buffers) {
    let message = Message::read(message).expect("M3UA");
    let data = Data::of(&message).expect("DATA").protocol_data;
    let message = sccp::codec::Message::read(data.payload).expect("SCCP");
    let asked = Unit::of(&message).expect("a unit").expect("connectionless");
    let begin = tcap::codec::Message::read(asked.data).expect("TCAP");
    let dialogue = begin.dialogue.expect("an AARQ");
    let Ok(Dialogue::Request { context, .. }) = Dialogue::read(&dialogue) else { panic!("AARQ") };
    let (_, version) = Context::of_oid(context.contents()).expect("of MAP");
    let invoke = begin.components().next().expect("a component").expect("an invoke");
    let Payload::Invoke { code: Code::Local(code), parameter, .. } = invoke.payload else {
        panic!("an invoke");
    };
    let operation = Operation::of(code).expect("known");
    black_box(operation.signature(version).expect("in its context"));
    let argument = RoutingInfoForSmArg::read(parameter.expect("it has one")).expect("MAP");
    black_box(argument.octets(RoutingInfoForSmArg::Msisdn));
    to.result.clear();
    Ber::new(&mut to.result).record::<RoutingInfoForSmRes>(|out| {
        out.octets(RoutingInfoForSmRes::Imsi, &[0x62, 2, 0x10, 0x32, 0x54, 0x76, 0x98, 0xf0]);
        out.within::<LocationInfoWithLmsi>(RoutingInfoForSmRes::LocationInfoWithLmsi, |out| {
            out.octets(LocationInfoWithLmsi::NetworkNodeNumber, &[0x91, 0x44, 0x67, 0xab]);
        });
    });
    to.tcap.clear();
    let end = Writer::end(begin.otid.expect("of a BEGIN"));
    end.accept(context.contents(), &[]).write(&mut to.tcap, |out| {
        let id = invoke.invoke_id.unwrap_or_default();
        out.result(id, true, Some((Code::Local(code), Some(&to.result))));
    });
    to.sccp.clear();
    unit(asked.calling, asked.called, &to.tcap).write(&mut to.sccp).expect("it fits");
    wrap(data.dpc.number(), data.opc.number(), &to.sccp, &mut to.m3ua);
}
