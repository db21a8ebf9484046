//! By the crates m3ua, sccp, tcap and gsm_map.

use gsm_map::operations::sri_sm::{RoutingInfoForSmArg, RoutingInfoForSmRes};
use gsm_map::types::LocationInfoWithLmsi;
use std::hint::black_box;
use their_m3ua::{M3uaMessage, ProtocolData};
use their_sccp::UnitData;
use their_tcap::{
    Component, DialoguePdu, DialoguePortion, End, ReturnResult, ReturnResultValue, TcapMessage,
};

/// Reads the question and returns the answer.
#[inline(never)]
pub fn turn(message: &[u8]) -> Vec<u8> {
    let message = M3uaMessage::decode(message).expect("M3UA");
    let context = message.routing_context();
    let data = message.protocol_data().expect("DATA");
    let asked = UnitData::decode(&data.user_data).expect("SCCP");
    let TcapMessage::Begin(begin) = their_tcap::decode(&asked.data).expect("TCAP") else {
        panic!("a BEGIN");
    };
    let dialogue = begin.dialogue_portion.as_ref().expect("an AARQ").dialogue_pdu();
    let Ok(Some(DialoguePdu::Aarq { application_context_name, .. })) = dialogue else {
        panic!("an AARQ");
    };
    let components = begin.components.expect("a component");
    let Some(Component::Invoke(invoke)) = components.into_iter().next() else {
        panic!("an invoke");
    };
    let parameter = invoke.parameter.expect("it has one");
    let argument: RoutingInfoForSmArg = gsm_map::decode(parameter.as_bytes()).expect("MAP");
    black_box(&argument.msisdn);
    let node = vec![0x91, 0x44, 0x67, 0xab];
    let result = RoutingInfoForSmRes::new(
        vec![0x62, 2, 0x10, 0x32, 0x54, 0x76, 0x98, 0xf0].into(),
        LocationInfoWithLmsi::new(node.into()),
    );
    let value = ReturnResultValue {
        operation_code: invoke.operation_code,
        parameter: Some(their_rasn::types::Any::new(gsm_map::encode(&result).expect("MAP"))),
    };
    let component = ReturnResult { invoke_id: invoke.invoke_id, result: Some(value) };
    let end = TcapMessage::End(End {
        dtid: begin.otid,
        dialogue_portion: Some(DialoguePortion::aare_accept(&application_context_name)),
        components: Some(vec![Component::ReturnResultLast(component)]),
    });
    let unit = UnitData {
        called_party: asked.calling_party,
        calling_party: asked.called_party,
        data: their_tcap::encode(&end).expect("TCAP"),
        ..asked
    };
    let answer = unit.encode().expect("SCCP");
    let data = ProtocolData::new(data.dpc, data.opc, 3, 2, 0, data.sls, answer);
    M3uaMessage::data(None, context, data, None).encode()
}
