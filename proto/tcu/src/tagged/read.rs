//! Reading.

use super::SPEC;
use super::field::Found;
use super::kind::{Kind, Tag};
use crate::frame::HEAD;
use crate::message::{Hello, Misread, Named, ToApplication, ToGateway, Welcome};
use crate::network::{NetworkIndication, NetworkRequest, Parts};
use crate::primitive::{
    Code, Component, Indication, PointCodeStatus, Portion, Refusal, Request, STATE_OCTETS_MAX,
};
use ber::{Element, Oid, Reader};
use bytes::Bytes;
use m3ua::codec::PointCode;
use sccp::codec::Address;
use tcap::codec::{Diagnostic, Problem};
use tcap::{OperationClass, PAbort};
use wire::Malformed;

/// Kind and fields of a framed message.
fn opened(message: &[u8]) -> Result<(Kind, Found<'_>), Malformed> {
    let body = message.get(HEAD..).unwrap_or_default();
    let Some((kind, fields)) = body.split_first() else {
        return Err(Malformed::new(HEAD, "the kind of the message lacks", SPEC));
    };
    let kind = Kind::of(*kind).ok_or(Malformed::new(HEAD, "no such kind of message", SPEC))?;
    Ok((kind, Found::read(fields, HEAD + 1)?))
}

fn names(of: &Found<'_>) -> Result<Named, Malformed> {
    let number = |tag| Ok(of.array(tag)?.map(u64::from_be_bytes));
    Ok(Named { dialogue: number(Tag::Dialogue)?, reference: number(Tag::Reference)? })
}

/// What a message is of, as far as it can be read.
pub(crate) fn named(message: &[u8]) -> Named {
    opened(message).and_then(|(_, of)| names(&of)).unwrap_or_default()
}

pub(crate) fn read_to_gateway(message: &[u8]) -> Result<ToGateway, Malformed> {
    let (kind, of) = opened(message)?;
    Ok(ToGateway::Request(match kind {
        Kind::Hello => return hello(&of).map(ToGateway::Hello),
        Kind::Uni => {
            let (called, calling) = addresses(&of)?;
            Request::Uni { called, calling, portion: portion(&of)? }
        }
        Kind::Begin => {
            let (called, calling) = addresses(&of)?;
            let (reference, state) = (of.need_long(Tag::Reference)?, state(&of)?);
            Request::Begin { reference, called, calling, state, portion: portion(&of)? }
        }
        Kind::Continue => {
            let (dialogue, state) = (of.need_long(Tag::Dialogue)?, state(&of)?);
            Request::Continue { dialogue, state, portion: portion(&of)? }
        }
        Kind::End => {
            let dialogue = of.need_long(Tag::Dialogue)?;
            let is_prearranged = of.has(Tag::Prearranged);
            Request::End { dialogue, is_prearranged, portion: portion(&of)? }
        }
        Kind::UAbort => {
            let dialogue = of.need_long(Tag::Dialogue)?;
            Request::UAbort { dialogue, portion: portion(&of)? }
        }
        Kind::UserCancel => {
            let (dialogue, id) = (of.need_long(Tag::Dialogue)?, need_id(&of)?);
            Request::Cancel { dialogue, id }
        }
        Kind::TimerReset => {
            let (dialogue, id) = (of.need_long(Tag::Dialogue)?, need_id(&of)?);
            let time_ms = of.array(Tag::Time)?.map(u32::from_be_bytes);
            Request::TimerReset { dialogue, id, time_ms }
        }
        Kind::Keep => {
            of.need(Tag::State)?;
            let state = state(&of)?.unwrap_or_default();
            Request::Keep { dialogue: of.need_long(Tag::Dialogue)?, state }
        }
        Kind::State => Request::State { in_service: of.need_octet(Tag::Is)? != 0 },
        other => {
            let request = NetworkRequest::of(other, network(&of)?);
            Request::Network(request.map_err(|what| Malformed::new(HEAD, what, SPEC))?)
        }
    }))
}

pub(crate) fn read_to_application(message: &[u8]) -> Result<ToApplication, Malformed> {
    let (kind, of) = opened(message)?;
    Ok(match kind {
        Kind::Challenge => ToApplication::Challenge(of.octets(Tag::Proof).unwrap_or_default()),
        Kind::Welcome => ToApplication::Welcome(Welcome {
            version: of.need_octet(Tag::Version)?,
            function: of.text(Tag::Function)?,
            subsystem: of.need_octet(Tag::Subsystem)?,
            message_octets_max: u32::from_be_bytes(of.need_array(Tag::MessageOctetsMax)?),
            state_octets_max: u32::from_be_bytes(of.need_array(Tag::StateOctetsMax)?),
        }),
        Kind::Malformed => ToApplication::Malformed(Misread {
            what: of.text(Tag::What)?,
            at: u32::from_be_bytes(of.need_array(Tag::At)?),
            of: names(&of)?,
        }),
        Kind::Bye => ToApplication::Bye(of.text(Tag::What)?),
        other => ToApplication::Indication(indication(other, &of)?),
    })
}

fn indication(kind: Kind, of: &Found<'_>) -> Result<Indication, Malformed> {
    let dialogue = || of.need_long(Tag::Dialogue);
    Ok(match kind {
        Kind::Uni => {
            let (called, calling) = addresses(of)?;
            Indication::Uni { called, calling, portion: portion(of)? }
        }
        Kind::Begin => {
            let (called, calling) = addresses(of)?;
            let is_again = of.has(Tag::Again);
            let (dialogue, portion) = (dialogue()?, portion(of)?);
            Indication::Begin { dialogue, called, calling, is_again, portion }
        }
        Kind::Continue => Indication::Continue { dialogue: dialogue()?, portion: portion(of)? },
        Kind::End => Indication::End { dialogue: dialogue()?, portion: portion(of)? },
        Kind::UAbort => {
            let refused = diagnostic(of)?;
            Indication::UAbort { dialogue: dialogue()?, refused, portion: portion(of)? }
        }
        Kind::PAbort => Indication::PAbort { dialogue: dialogue()?, cause: p_abort(of)? },
        Kind::Notice => {
            Indication::Notice { dialogue: dialogue()?, cause: of.need_octet(Tag::Cause)? }
        }
        Kind::LocalReject => {
            let (dialogue, id) = (dialogue()?, id(of, Tag::InvokeId)?);
            Indication::LocalReject { dialogue, id, problem: problem(of)? }
        }
        Kind::LocalCancel => Indication::Cancel { dialogue: dialogue()?, id: need_id(of)? },
        Kind::Begun => {
            Indication::Begun { reference: of.need_long(Tag::Reference)?, dialogue: dialogue()? }
        }
        Kind::Refused => Indication::Refused {
            reference: of.long(Tag::Reference)?,
            dialogue: of.long(Tag::Dialogue)?,
            why: refusal(of)?,
        },
        Kind::Resume => {
            let (own, peer) = addresses(of)?;
            let context = of.octets(Tag::Context);
            let state = of.octets(Tag::State).unwrap_or_default();
            Indication::Resume { dialogue: dialogue()?, own, peer, context, state }
        }
        Kind::Slow => Indication::Slow(of.need_octet(Tag::Is)? != 0),
        Kind::State => Indication::State {
            point_code: point_code(of)?,
            subsystem: of.need_octet(Tag::Subsystem)?,
            in_service: of.need_octet(Tag::Is)? != 0,
        },
        Kind::PointCode => {
            Indication::PointCode { point_code: point_code(of)?, status: status(of)? }
        }
        other => {
            let indication = NetworkIndication::of(other, network(of)?);
            Indication::Network(indication.map_err(|what| Malformed::new(HEAD, what, SPEC))?)
        }
    })
}

/// What a primitive of the network service carries.
fn network(of: &Found<'_>) -> Result<Parts, Malformed> {
    let address = |tag| if of.has(tag) { address(of, tag).map(Some) } else { Ok(None) };
    Ok(Parts {
        reference: of.long(Tag::Reference)?,
        connection: of.array(Tag::Connection)?.map(u32::from_be_bytes),
        called: address(Tag::Called)?,
        calling: address(Tag::Calling)?,
        class: of.octet(Tag::Class)?,
        cause: of.octet(Tag::Cause)?,
        is: of.octet(Tag::Is)?.map(|it| it != 0),
        data: of.octets(Tag::Data).unwrap_or_default(),
    })
}

fn hello(of: &Found<'_>) -> Result<Hello, Malformed> {
    of.need(Tag::Application)?;
    Ok(Hello {
        version: of.need_octet(Tag::Version)?,
        application: of.text(Tag::Application)?,
        group: of.text(Tag::Group)?,
        instance: of.text(Tag::Instance)?,
        proof: of.octets(Tag::Proof),
    })
}

fn state(of: &Found<'_>) -> Result<Option<Bytes>, Malformed> {
    let state = of.octets(Tag::State);
    match state.as_ref().is_some_and(|it| it.len() > STATE_OCTETS_MAX) {
        true => Err(Malformed::new(of.need(Tag::State)?.0, "a state of over 256 octets", SPEC)),
        false => Ok(state),
    }
}

fn address(of: &Found<'_>, tag: Tag) -> Result<Address, Malformed> {
    let (at, octets) = of.need(tag)?;
    Address::read(octets, at)
}

fn addresses(of: &Found<'_>) -> Result<(Address, Address), Malformed> {
    Ok((address(of, Tag::Called)?, address(of, Tag::Calling)?))
}

fn point_code(of: &Found<'_>) -> Result<PointCode, Malformed> {
    let number = u32::from_be_bytes(of.need_array(Tag::PointCode)?);
    PointCode::new(number).ok_or_else(|| Malformed::new(of.at, "no point code", SPEC))
}

fn status(of: &Found<'_>) -> Result<PointCodeStatus, Malformed> {
    Ok(match of.need_octet(Tag::Is)? {
        0 => PointCodeStatus::Inaccessible,
        1 => PointCodeStatus::Accessible,
        2 => PointCodeStatus::SccpUnavailable,
        3 => PointCodeStatus::SccpAvailable,
        4 => PointCodeStatus::Congested(of.octet(Tag::Level)?.unwrap_or_default()),
        _ => return Err(Malformed::new(of.at, "no such status", SPEC)),
    })
}

fn refusal(of: &Found<'_>) -> Result<Refusal, Malformed> {
    Ok(match of.need_octet(Tag::Why)? {
        0 => Refusal::Full,
        1 => Refusal::Unknown,
        2 => Refusal::State,
        3 => Refusal::InvokeId,
        4 => Refusal::Long,
        5 => Refusal::Calling,
        _ => return Err(Malformed::new(of.at, "no such refusal", SPEC)),
    })
}

fn id(of: &Found<'_>, tag: Tag) -> Result<Option<i8>, Malformed> {
    Ok(of.octet(tag)?.map(u8::cast_signed))
}

fn need_id(of: &Found<'_>) -> Result<i8, Malformed> {
    of.need_octet(Tag::InvokeId).map(u8::cast_signed)
}

fn nine(octets: [u8; 9]) -> (u8, i64) {
    let [first, a, b, c, d, e, f, g, h] = octets;
    (first, i64::from_be_bytes([a, b, c, d, e, f, g, h]))
}

fn problem(of: &Found<'_>) -> Result<Problem, Malformed> {
    match nine(of.need_array(Tag::Problem)?) {
        (tag @ 0..=3, number) => Ok(Problem::of(tag, number)),
        _ => Err(Malformed::new(of.need(Tag::Problem)?.0, "no kind of problem", SPEC)),
    }
}

fn diagnostic(of: &Found<'_>) -> Result<Option<Diagnostic>, Malformed> {
    Ok(of.array(Tag::Diagnostic)?.map(nine).map(|(by, number)| match by {
        0 => Diagnostic::User(number),
        _ => Diagnostic::Provider(number),
    }))
}

fn p_abort(of: &Found<'_>) -> Result<PAbort, Malformed> {
    Ok(match of.need_octet(Tag::By)? {
        0 => PAbort::Cause(i64::from_be_bytes(of.need_array(Tag::Cause)?)),
        1 => PAbort::AbnormalDialogue,
        2 => PAbort::NoCommonDialoguePortion,
        _ => PAbort::Idle,
    })
}

fn portion(of: &Found<'_>) -> Result<Portion, Malformed> {
    let context = of.octets(Tag::Context);
    if let Some(context) = &context {
        oid(context, of.need(Tag::Context)?.0)?;
    }
    let user_information = of.octets(Tag::UserInformation).unwrap_or_default();
    if !user_information.is_empty() {
        let at = of.need(Tag::UserInformation)?.0;
        externals(&user_information).map_err(|it| it.shifted(at))?;
    }
    let components = of.components().iter().map(|(at, octets)| component(octets, *at));
    Ok(Portion { context, user_information, components: components.collect::<Result<_, _>>()? })
}

/// Whole elements, one behind the other.
fn externals(octets: &[u8]) -> Result<(), Malformed> {
    Reader::new(octets).try_for_each(|it| match it {
        Ok(element) if element.tag() == ber::Tag::EXTERNAL => Ok(()),
        Ok(element) => Err(element.violation("user information is an EXTERNAL", SPEC)),
        Err(violation) => Err(violation),
    })
}

fn oid(contents: &[u8], at: usize) -> Result<(), Malformed> {
    Oid::new(contents).map(drop).map_err(|what| Malformed::new(at, what, SPEC))
}

fn component(octets: &[u8], at: usize) -> Result<Component, Malformed> {
    let of = Found::read(octets, at)?;
    Ok(match of.need_octet(Tag::ComponentKind)? {
        1 => Component::Invoke {
            id: need_id(&of)?,
            linked: id(&of, Tag::Linked)?,
            code: code(&of)?.ok_or(Malformed::new(at, "the operation lacks", SPEC))?,
            parameter: parameter(&of)?,
            class: class(&of)?,
            time_ms: of.array(Tag::Time)?.map(u32::from_be_bytes),
        },
        kind @ (2 | 7) => {
            let parameter = parameter(&of)?;
            let result = code(&of)?.map(|code| (code, parameter));
            Component::Result { id: need_id(&of)?, is_last: kind == 2, result }
        }
        3 => Component::Error {
            id: need_id(&of)?,
            code: code(&of)?.ok_or(Malformed::new(at, "the error lacks", SPEC))?,
            parameter: parameter(&of)?,
        },
        4 => Component::Reject { id: id(&of, Tag::InvokeId)?, problem: problem(&of)? },
        _ => return Err(Malformed::new(at, "no such component", SPEC)),
    })
}

fn code(of: &Found<'_>) -> Result<Option<Code>, Malformed> {
    if let Some(number) = of.array(Tag::Local)? {
        return Ok(Some(Code::Local(i64::from_be_bytes(number))));
    }
    let Some(contents) = of.octets(Tag::Global) else { return Ok(None) };
    oid(&contents, of.need(Tag::Global)?.0)?;
    Ok(Some(Code::Global(contents)))
}

fn parameter(of: &Found<'_>) -> Result<Option<Bytes>, Malformed> {
    let Some(octets) = of.octets(Tag::Parameter) else { return Ok(None) };
    let at = of.need(Tag::Parameter)?.0;
    Element::only(&octets).map_err(|it| it.shifted(at))?;
    Ok(Some(octets))
}

fn class(of: &Found<'_>) -> Result<Option<OperationClass>, Malformed> {
    Ok(match of.octet(Tag::Class)? {
        None => None,
        Some(1) => Some(OperationClass::One),
        Some(2) => Some(OperationClass::Two),
        Some(3) => Some(OperationClass::Three),
        Some(4) => Some(OperationClass::Four),
        Some(_) => return Err(Malformed::new(of.at, "no class of operations", SPEC)),
    })
}
