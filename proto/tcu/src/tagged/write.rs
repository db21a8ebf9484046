//! Writing.

use super::field::Fields;
use super::kind::{Kind, Tag};
use crate::frame::{HEAD, MARK};
use crate::message::{Hello, Misread, ToApplication, ToGateway, Welcome};
use crate::network::Parts;
use crate::primitive::{Code, Component, Indication, PointCodeStatus, Portion, Refusal, Request};
use sccp::codec::Address;
use tcap::codec::{Diagnostic, Problem};
use tcap::{OperationClass, PAbort};

/// Appends a frame of that kind with the fields that `write` writes.
fn framed(kind: Kind, out: &mut Vec<u8>, write: impl FnOnce(&mut Fields<'_>)) {
    let start = out.len();
    out.extend_from_slice(&[MARK, 0, 0, 0, kind.number()]);
    write(&mut Fields { out });
    let length = u32::try_from(out.len() - start - HEAD).unwrap_or(u32::MAX);
    let [_, a, b, c] = length.to_be_bytes();
    if let Some(place) = out.get_mut(start + 1..start + HEAD) {
        place.copy_from_slice(&[a, b, c]);
    }
}

pub(crate) fn write_to_application(message: &ToApplication, out: &mut Vec<u8>) {
    match message {
        ToApplication::Challenge(nonce) => {
            framed(Kind::Challenge, out, |to| to.put(Tag::Proof, nonce));
        }
        ToApplication::Welcome(it) => framed(Kind::Welcome, out, |to| welcome(it, to)),
        ToApplication::Malformed(it) => framed(Kind::Malformed, out, |to| misread(it, to)),
        ToApplication::Bye(why) => framed(Kind::Bye, out, |to| to.put(Tag::What, why.as_bytes())),
        ToApplication::Indication(it) => indication(it, out),
    }
}

pub(crate) fn write_to_gateway(message: &ToGateway, out: &mut Vec<u8>) {
    match message {
        ToGateway::Hello(it) => framed(Kind::Hello, out, |to| hello(it, to)),
        ToGateway::Request(it) => request(it, out),
    }
}

fn misread(it: &Misread, to: &mut Fields<'_>) {
    to.put(Tag::What, it.what.as_bytes());
    to.put(Tag::At, &it.at.to_be_bytes());
    let of = [(Tag::Dialogue, it.of.dialogue), (Tag::Reference, it.of.reference)];
    for (tag, number) in of {
        if let Some(number) = number {
            to.put(tag, &number.to_be_bytes());
        }
    }
}

fn hello(it: &Hello, to: &mut Fields<'_>) {
    to.put(Tag::Version, &[it.version]);
    to.put(Tag::Application, it.application.as_bytes());
    to.put(Tag::Group, it.group.as_bytes());
    to.put(Tag::Instance, it.instance.as_bytes());
    to.put_if(Tag::Proof, it.proof.as_ref());
}

fn welcome(it: &Welcome, to: &mut Fields<'_>) {
    to.put(Tag::Version, &[it.version]);
    to.put(Tag::Function, it.function.as_bytes());
    to.put(Tag::Subsystem, &[it.subsystem]);
    to.put(Tag::MessageOctetsMax, &it.message_octets_max.to_be_bytes());
    to.put(Tag::StateOctetsMax, &it.state_octets_max.to_be_bytes());
}

pub(crate) fn indication(it: &Indication, out: &mut Vec<u8>) {
    match it {
        Indication::Uni { called, calling, portion: what } => framed(Kind::Uni, out, |to| {
            addresses(called, calling, to);
            portion(what, to);
        }),
        Indication::Begin { dialogue, called, calling, is_again, portion: what } => {
            framed(Kind::Begin, out, |to| {
                to.put(Tag::Dialogue, &dialogue.to_be_bytes());
                addresses(called, calling, to);
                if *is_again {
                    to.put(Tag::Again, &[]);
                }
                portion(what, to);
            });
        }
        Indication::Continue { dialogue, portion: what } => {
            of_dialogue(Kind::Continue, *dialogue, out, |to| portion(what, to));
        }
        Indication::End { dialogue, portion: what } => {
            of_dialogue(Kind::End, *dialogue, out, |to| portion(what, to));
        }
        Indication::UAbort { dialogue, refused, portion: what } => {
            of_dialogue(Kind::UAbort, *dialogue, out, |to| {
                if let Some(refused) = refused {
                    diagnostic(*refused, to);
                }
                portion(what, to);
            });
        }
        Indication::PAbort { dialogue, cause } => {
            of_dialogue(Kind::PAbort, *dialogue, out, |to| p_abort(*cause, to));
        }
        Indication::Notice { dialogue, cause } => {
            of_dialogue(Kind::Notice, *dialogue, out, |to| to.put(Tag::Cause, &[*cause]));
        }
        Indication::LocalReject { dialogue, id, problem: why } => {
            of_dialogue(Kind::LocalReject, *dialogue, out, |to| {
                octet(Tag::InvokeId, id.map(i8::cast_unsigned), to);
                problem(*why, to);
            });
        }
        Indication::Cancel { dialogue, id } => {
            of_dialogue(Kind::LocalCancel, *dialogue, out, |to| {
                to.put(Tag::InvokeId, &[id.cast_unsigned()]);
            });
        }
        other => more(other, out),
    }
}

/// Indications beside those of dialogues.
fn more(it: &Indication, out: &mut Vec<u8>) {
    match it {
        Indication::State { point_code, subsystem, in_service } => {
            framed(Kind::State, out, |to| {
                to.put(Tag::PointCode, &point_code.number().to_be_bytes());
                to.put(Tag::Subsystem, &[*subsystem]);
                to.put(Tag::Is, &[u8::from(*in_service)]);
            });
        }
        Indication::PointCode { point_code, status } => framed(Kind::PointCode, out, |to| {
            to.put(Tag::PointCode, &point_code.number().to_be_bytes());
            let (number, level) = match status {
                PointCodeStatus::Inaccessible => (0, None),
                PointCodeStatus::Accessible => (1, None),
                PointCodeStatus::SccpUnavailable => (2, None),
                PointCodeStatus::SccpAvailable => (3, None),
                PointCodeStatus::Congested(level) => (4, Some(*level)),
            };
            to.put(Tag::Is, &[number]);
            octet(Tag::Level, level, to);
        }),
        Indication::Begun { reference, dialogue } => {
            of_dialogue(Kind::Begun, *dialogue, out, |to| {
                to.put(Tag::Reference, &reference.to_be_bytes());
            });
        }
        Indication::Refused { reference, dialogue, why } => framed(Kind::Refused, out, |to| {
            long(Tag::Reference, *reference, to);
            long(Tag::Dialogue, *dialogue, to);
            to.put(
                Tag::Why,
                &[match why {
                    Refusal::Full => 0,
                    Refusal::Unknown => 1,
                    Refusal::State => 2,
                    Refusal::InvokeId => 3,
                    Refusal::Long => 4,
                    Refusal::Calling => 5,
                }],
            );
        }),
        Indication::Resume { dialogue, own, peer, context, state } => {
            of_dialogue(Kind::Resume, *dialogue, out, |to| {
                addresses(own, peer, to);
                to.put_if(Tag::Context, context.as_ref());
                to.put(Tag::State, state);
            });
        }
        Indication::Slow(is) => {
            framed(Kind::Slow, out, |to| to.put(Tag::Is, &[u8::from(*is)]));
        }
        Indication::Network(it) => {
            let (kind, parts) = it.parts();
            network(kind, &parts, out);
        }
        _ => {}
    }
}

/// A primitive of the network service.
fn network(kind: Kind, it: &Parts, out: &mut Vec<u8>) {
    framed(kind, out, |to| {
        long(Tag::Reference, it.reference, to);
        if let Some(connection) = it.connection {
            to.put(Tag::Connection, &connection.to_be_bytes());
        }
        for (tag, address) in [(Tag::Called, &it.called), (Tag::Calling, &it.calling)] {
            if let Some(address) = address {
                let mut octets = Vec::with_capacity(24);
                address.write(&mut octets);
                to.put(tag, &octets);
            }
        }
        octet(Tag::Class, it.class, to);
        octet(Tag::Cause, it.cause, to);
        octet(Tag::Is, it.is.map(u8::from), to);
        if !it.data.is_empty() {
            to.put(Tag::Data, &it.data);
        }
    });
}

fn request(it: &Request, out: &mut Vec<u8>) {
    match it {
        Request::Uni { called, calling, portion: what } => framed(Kind::Uni, out, |to| {
            addresses(called, calling, to);
            portion(what, to);
        }),
        Request::Begin { reference, called, calling, state, portion: what } => {
            framed(Kind::Begin, out, |to| {
                to.put(Tag::Reference, &reference.to_be_bytes());
                addresses(called, calling, to);
                to.put_if(Tag::State, state.as_ref());
                portion(what, to);
            });
        }
        Request::Continue { dialogue, state, portion: what } => {
            of_dialogue(Kind::Continue, *dialogue, out, |to| {
                to.put_if(Tag::State, state.as_ref());
                portion(what, to);
            });
        }
        Request::End { dialogue, is_prearranged, portion: what } => {
            of_dialogue(Kind::End, *dialogue, out, |to| {
                if *is_prearranged {
                    to.put(Tag::Prearranged, &[]);
                }
                portion(what, to);
            });
        }
        Request::UAbort { dialogue, portion: what } => {
            of_dialogue(Kind::UAbort, *dialogue, out, |to| portion(what, to));
        }
        Request::Cancel { dialogue, id } => of_dialogue(Kind::UserCancel, *dialogue, out, |to| {
            to.put(Tag::InvokeId, &[id.cast_unsigned()]);
        }),
        Request::TimerReset { dialogue, id, time_ms } => {
            of_dialogue(Kind::TimerReset, *dialogue, out, |to| {
                to.put(Tag::InvokeId, &[id.cast_unsigned()]);
                if let Some(ms) = time_ms {
                    to.put(Tag::Time, &ms.to_be_bytes());
                }
            });
        }
        Request::Keep { dialogue, state } => {
            of_dialogue(Kind::Keep, *dialogue, out, |to| to.put(Tag::State, state));
        }
        Request::State { in_service } => {
            framed(Kind::State, out, |to| to.put(Tag::Is, &[u8::from(*in_service)]));
        }
        Request::Network(it) => {
            let (kind, parts) = it.parts();
            network(kind, &parts, out);
        }
    }
}

fn of_dialogue(kind: Kind, dialogue: u64, out: &mut Vec<u8>, write: impl FnOnce(&mut Fields<'_>)) {
    framed(kind, out, |to| {
        to.put(Tag::Dialogue, &dialogue.to_be_bytes());
        write(to);
    });
}

fn octet(tag: Tag, value: Option<u8>, to: &mut Fields<'_>) {
    if let Some(value) = value {
        to.put(tag, &[value]);
    }
}

fn long(tag: Tag, value: Option<u64>, to: &mut Fields<'_>) {
    if let Some(value) = value {
        to.put(tag, &value.to_be_bytes());
    }
}

fn addresses(called: &Address, calling: &Address, to: &mut Fields<'_>) {
    for (tag, address) in [(Tag::Called, called), (Tag::Calling, calling)] {
        let mut octets = Vec::with_capacity(24);
        address.write(&mut octets);
        to.put(tag, &octets);
    }
}

fn portion(what: &Portion, to: &mut Fields<'_>) {
    to.put_if(Tag::Context, what.context.as_ref());
    if !what.user_information.is_empty() {
        to.put(Tag::UserInformation, &what.user_information);
    }
    for component in &what.components {
        to.within(Tag::Component, |to| component_of(component, to));
    }
}

fn component_of(it: &Component, to: &mut Fields<'_>) {
    match it {
        Component::Invoke { id, linked, code, parameter, class, time_ms } => {
            to.put(Tag::ComponentKind, &[1]);
            to.put(Tag::InvokeId, &[id.cast_unsigned()]);
            octet(Tag::Linked, linked.map(i8::cast_unsigned), to);
            coded(code, parameter.as_ref(), to);
            octet(Tag::Class, class.map(number_of), to);
            if let Some(ms) = time_ms {
                to.put(Tag::Time, &ms.to_be_bytes());
            }
        }
        Component::Result { id, is_last, result } => {
            to.put(Tag::ComponentKind, &[if *is_last { 2 } else { 7 }]);
            to.put(Tag::InvokeId, &[id.cast_unsigned()]);
            if let Some((code, parameter)) = result {
                coded(code, parameter.as_ref(), to);
            }
        }
        Component::Error { id, code, parameter } => {
            to.put(Tag::ComponentKind, &[3]);
            to.put(Tag::InvokeId, &[id.cast_unsigned()]);
            coded(code, parameter.as_ref(), to);
        }
        Component::Reject { id, problem: why } => {
            to.put(Tag::ComponentKind, &[4]);
            octet(Tag::InvokeId, id.map(i8::cast_unsigned), to);
            problem(*why, to);
        }
    }
}

fn coded(code: &Code, parameter: Option<&bytes::Bytes>, to: &mut Fields<'_>) {
    match code {
        Code::Local(number) => to.put(Tag::Local, &number.to_be_bytes()),
        Code::Global(contents) => to.put(Tag::Global, contents),
    }
    to.put_if(Tag::Parameter, parameter);
}

const fn number_of(class: OperationClass) -> u8 {
    match class {
        OperationClass::One => 1,
        OperationClass::Two => 2,
        OperationClass::Three => 3,
        OperationClass::Four => 4,
    }
}

/// An octet and eight more.
fn nine(first: u8, number: i64) -> [u8; 9] {
    let mut octets = [first; 9];
    octets[1..].copy_from_slice(&number.to_be_bytes());
    octets
}

fn problem(why: Problem, to: &mut Fields<'_>) {
    let (tag, number) = why.parts();
    to.put(Tag::Problem, &nine(tag, number));
}

fn diagnostic(of: Diagnostic, to: &mut Fields<'_>) {
    let (by, number) = match of {
        Diagnostic::User(number) => (0, number),
        Diagnostic::Provider(number) => (1, number),
    };
    to.put(Tag::Diagnostic, &nine(by, number));
}

fn p_abort(cause: PAbort, to: &mut Fields<'_>) {
    let (by, number) = match cause {
        PAbort::Cause(number) => (0, number),
        PAbort::AbnormalDialogue => (1, 0),
        PAbort::NoCommonDialoguePortion => (2, 0),
        PAbort::Idle => (3, 0),
    };
    to.put(Tag::By, &[by]);
    to.put(Tag::Cause, &number.to_be_bytes());
}
