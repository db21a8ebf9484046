//! Every message, with every dialogue portion and every component that it may have.

use ber::Oid;
use tcap::codec::{
    Code, ComponentWriter, Diagnostic, GeneralProblem, InvokeProblem, MessageType, PAbortCause,
    Problem, ReturnErrorProblem, ReturnResultProblem, TransactionId, Writer,
};

/// shortMsgGatewayContext-v3: 0.4.0.0.1.0.20.3.
pub const CONTEXT: &[u8] = &[4, 0, 0, 1, 0, 20, 3];
/// An EXTERNAL: map-DialoguePDU with nothing in it (0.4.0.0.1.1.1.1, MAP-Open).
pub const USER: &[u8] = &[0x28, 13, 6, 7, 4, 0, 0, 1, 1, 1, 1, 0xa0, 2, 0xa0, 0];

pub fn id(number: u32) -> TransactionId {
    TransactionId::of(number)
}

/// RoutingInfoForSM-Arg and -Res, by pycrate.
const ARGUMENT: &[u8] = &[
    0x30, 19, 0x80, 7, 0x91, 0x44, 0x67, 0x10, 0x20, 0x30, 0x40, 0x81, 1, 0, 0x82, 5, 0x91, 0x44,
    0x67, 0x99, 0xaa,
];
const RESULT: &[u8] = &[
    0x30, 18, 4, 8, 0x62, 2, 0x10, 0x32, 0x54, 0x76, 0x98, 0xf0, 0xa0, 6, 0x81, 4, 0x91, 0x44,
    0x67, 0xab,
];

/// Every component.
pub fn components(out: &mut ComponentWriter<'_, '_>) {
    let global = Code::Global(Oid::new(CONTEXT).unwrap());
    out.invoke(1, None, Code::Local(45), Some(ARGUMENT));
    out.invoke(-128, Some(127), global, None);
    out.result(3, true, Some((Code::Local(45), Some(RESULT))));
    out.result(4, true, None);
    out.result(5, false, Some((global, None)));
    out.error(6, Code::Local(27), Some(&[0x30, 0]));
    out.error(7, global, None);
    out.reject(Some(9), problems()[0]);
}

pub fn problems() -> Vec<Problem> {
    let general = GeneralProblem::ALL.iter().map(|row| Problem::General(*row));
    let invoke = InvokeProblem::ALL.iter().map(|row| Problem::Invoke(*row));
    let result = ReturnResultProblem::ALL.iter().map(|row| Problem::ReturnResult(*row));
    let error = ReturnErrorProblem::ALL.iter().map(|row| Problem::ReturnError(*row));
    general.chain(invoke).chain(result).chain(error).collect()
}

/// Every message.
pub fn messages() -> Vec<(MessageType, Vec<u8>)> {
    let none = |_: &mut ComponentWriter<'_, '_>| ();
    let mut all = Vec::new();
    let mut add = |kind, writer: Writer<'_>, has_components: bool| {
        let mut octets = Vec::new();
        match has_components {
            true => writer.write(&mut octets, components),
            false => writer.write(&mut octets, none),
        }
        all.push((kind, octets));
    };
    use MessageType as M;
    let (own, other) = (id(0x0102_0304), TransactionId::read(&[7]).unwrap());
    add(M::Unidirectional, Writer::unidirectional(), true);
    add(M::Unidirectional, Writer::unidirectional().request(CONTEXT, USER), true);
    for has in [false, true] {
        add(M::Begin, Writer::begin(own), has);
        add(M::Begin, Writer::begin(own).request(CONTEXT, &[]), has);
        add(M::Begin, Writer::begin(own).request(CONTEXT, USER), has);
        add(M::Continue, Writer::go_on(own, other), has);
        add(M::Continue, Writer::go_on(own, other).accept(CONTEXT, USER), has);
        add(M::End, Writer::end(other), has);
        add(M::End, Writer::end(other).accept(CONTEXT, &[]), has);
    }
    for problem in problems() {
        let mut octets = Vec::new();
        Writer::end(other).write(&mut octets, |out| {
            out.reject(Some(9), problem);
            out.reject(None, problem);
        });
        all.push((M::End, octets));
    }
    let mut add = |kind, writer: Writer<'_>, _: bool| {
        let mut octets = Vec::new();
        writer.write(&mut octets, none);
        all.push((kind, octets));
    };
    for diagnostic in [Diagnostic::User(2), Diagnostic::Provider(2)] {
        add(M::Abort, Writer::abort(other).refuse(CONTEXT, diagnostic, USER), false);
    }
    add(M::Abort, Writer::abort(other), false);
    add(M::Abort, Writer::abort(other).abrt(false, USER), false);
    add(M::Abort, Writer::abort(other).abrt(true, &[]), false);
    for cause in PAbortCause::ALL {
        add(M::Abort, Writer::p_abort(other, *cause), false);
    }
    all
}
