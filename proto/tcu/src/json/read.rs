//! Reading.

use super::SPEC;
use super::address;
use super::component::{problem_of, read_context, read_portion};
use super::object::Object;
use super::write::REFUSALS;
use crate::message::{Hello, Misread, Named, ToApplication, ToGateway, Welcome};
use crate::names::Speech;
use crate::network::{NetworkIndication, NetworkRequest, Parts, name_of_is};
use crate::primitive::{Indication, PointCodeStatus, Request, STATE_OCTETS_MAX};
use crate::tagged::Kind;
use ber::json::Text;
use bytes::Bytes;
use m3ua::codec::PointCode;
use tcap::PAbort;
use tcap::codec::{Diagnostic, PAbortCause};
use wire::Malformed;

type Speaks<'a> = &'a dyn Fn(u64) -> Speech;

/// Kind and members of a line.
fn opened(message: &[u8]) -> Result<(Kind, Object<'_>), Malformed> {
    let text = core::str::from_utf8(message);
    let text = text.map_err(|it| Malformed::new(it.valid_up_to(), "no UTF-8", SPEC))?;
    let mut text = Text::new(text);
    let mut object = Object::read(&mut text)?;
    text.end()?;
    let mut word = object.need("tc", "`tc` lacks: what it is")?;
    let at = word.at();
    let word = word.string()?;
    match Kind::ALL.iter().find(|it| it.name() == word) {
        Some(kind) => Ok((*kind, object)),
        None => Err(Malformed::new(at, "no such kind of message", SPEC)),
    }
}

fn names(of: &mut Object<'_>) -> Result<Named, Malformed> {
    Ok(Named { dialogue: of.number("dialogue")?, reference: of.number("reference")? })
}

/// What a message is of, as far as it can be read.
pub(crate) fn named(message: &[u8]) -> Named {
    opened(message).and_then(|(_, mut of)| names(&mut of)).unwrap_or_default()
}

pub(crate) fn read_to_gateway(message: &[u8], speaks: Speaks<'_>) -> Result<ToGateway, Malformed> {
    let (kind, mut of) = opened(message)?;
    let read = match kind {
        Kind::Hello => ToGateway::Hello(hello(&mut of)?),
        other => ToGateway::Request(request(other, &mut of, speaks)?),
    };
    of.end()?;
    Ok(read)
}

fn request(kind: Kind, of: &mut Object<'_>, speaks: Speaks<'_>) -> Result<Request, Malformed> {
    Ok(match kind {
        Kind::Uni => Request::Uni {
            called: address::read(of, "called")?,
            calling: address::read(of, "calling")?,
            portion: read_portion(of, None)?,
        },
        Kind::Begin => Request::Begin {
            reference: of.need_number("reference", "the reference lacks")?,
            called: address::read(of, "called")?,
            calling: address::read(of, "calling")?,
            state: state(of)?,
            portion: read_portion(of, None)?,
        },
        Kind::Continue => {
            let dialogue = dialogue(of)?;
            let (state, portion) = (state(of)?, read_portion(of, Some(speaks(dialogue)))?);
            Request::Continue { dialogue, state, portion }
        }
        Kind::End => {
            let dialogue = dialogue(of)?;
            let is_prearranged = of.boolean("prearranged")?.unwrap_or(false);
            let portion = read_portion(of, Some(speaks(dialogue)))?;
            Request::End { dialogue, is_prearranged, portion }
        }
        Kind::UAbort => {
            let dialogue = dialogue(of)?;
            Request::UAbort { dialogue, portion: read_portion(of, Some(speaks(dialogue)))? }
        }
        Kind::UserCancel => Request::Cancel { dialogue: dialogue(of)?, id: invoke(of)? },
        Kind::TimerReset => Request::TimerReset {
            dialogue: dialogue(of)?,
            id: invoke(of)?,
            time_ms: of.number("timeout_ms")?,
        },
        Kind::Keep => {
            let state = state(of)?.ok_or_else(|| of.violation("the state lacks"))?;
            Request::Keep { dialogue: dialogue(of)?, state }
        }
        Kind::State => {
            let is = of.boolean("in_service")?;
            let in_service = is.ok_or_else(|| of.violation("`in_service` lacks"))?;
            Request::State { in_service }
        }
        other => {
            let parts = network(other, of)?;
            let request = NetworkRequest::of(other, parts);
            Request::Network(request.map_err(|what| of.violation(what))?)
        }
    })
}

pub(crate) fn read_to_application(
    message: &[u8],
    speaks: Speaks<'_>,
) -> Result<ToApplication, Malformed> {
    let (kind, mut of) = opened(message)?;
    let text = |of: &mut Object<'_>, name: &str| Ok(of.string(name)?.unwrap_or_default());
    let read = match kind {
        Kind::Challenge => ToApplication::Challenge(of.octets("nonce")?.unwrap_or_default()),
        Kind::Welcome => ToApplication::Welcome(Welcome {
            version: of.need_number("version", "the version lacks")?,
            function: text(&mut of, "function")?,
            subsystem: of.need_number("subsystem", "the subsystem lacks")?,
            message_octets_max: of.need_number("message_octets_max", "a limit lacks")?,
            state_octets_max: of.need_number("state_octets_max", "a limit lacks")?,
        }),
        Kind::Malformed => ToApplication::Malformed(Misread {
            what: text(&mut of, "what")?,
            at: of.need_number("at", "the place lacks")?,
            of: names(&mut of)?,
        }),
        Kind::Bye => ToApplication::Bye(text(&mut of, "why")?),
        other => ToApplication::Indication(indication(other, &mut of, speaks)?),
    };
    of.end()?;
    Ok(read)
}

fn indication(
    kind: Kind,
    of: &mut Object<'_>,
    speaks: Speaks<'_>,
) -> Result<Indication, Malformed> {
    Ok(match kind {
        Kind::Uni => Indication::Uni {
            called: address::read(of, "called")?,
            calling: address::read(of, "calling")?,
            portion: read_portion(of, None)?,
        },
        Kind::Begin => Indication::Begin {
            dialogue: dialogue(of)?,
            called: address::read(of, "called")?,
            calling: address::read(of, "calling")?,
            is_again: of.boolean("again")?.unwrap_or(false),
            portion: read_portion(of, None)?,
        },
        Kind::Continue => {
            let dialogue = dialogue(of)?;
            Indication::Continue { dialogue, portion: read_portion(of, Some(speaks(dialogue)))? }
        }
        Kind::End => {
            let dialogue = dialogue(of)?;
            Indication::End { dialogue, portion: read_portion(of, Some(speaks(dialogue)))? }
        }
        Kind::UAbort => {
            let dialogue = dialogue(of)?;
            let refused = match of.string("refused")? {
                None => None,
                Some(name) => Some(diagnostic(&name).ok_or_else(|| of.violation("no diagnostic"))?),
            };
            let portion = read_portion(of, Some(speaks(dialogue)))?;
            Indication::UAbort { dialogue, refused, portion }
        }
        Kind::PAbort => {
            let cause = of.string("cause")?.as_deref().and_then(p_abort);
            let cause = cause.ok_or_else(|| of.violation("no cause of that name"))?;
            Indication::PAbort { dialogue: dialogue(of)?, cause }
        }
        Kind::Notice => Indication::Notice {
            dialogue: dialogue(of)?,
            cause: of.need_number("cause", "the cause lacks")?,
        },
        Kind::LocalReject => {
            let problem = of.string("problem")?.as_deref().and_then(problem_of);
            let problem = problem.ok_or_else(|| of.violation("no problem of that name"))?;
            Indication::LocalReject { dialogue: dialogue(of)?, id: of.number("invoke")?, problem }
        }
        Kind::LocalCancel => Indication::Cancel { dialogue: dialogue(of)?, id: invoke(of)? },
        other => more(other, of)?,
    })
}

fn more(kind: Kind, of: &mut Object<'_>) -> Result<Indication, Malformed> {
    Ok(match kind {
        Kind::State => Indication::State {
            point_code: point_code(of)?,
            subsystem: of.need_number("ssn", "the subsystem lacks")?,
            in_service: of.boolean("in_service")?.unwrap_or(false),
        },
        Kind::PointCode => {
            let word = of.string("status")?.unwrap_or_default();
            let status = match &*word {
                "inaccessible" => PointCodeStatus::Inaccessible,
                "accessible" => PointCodeStatus::Accessible,
                "SCCP unavailable" => PointCodeStatus::SccpUnavailable,
                "SCCP available" => PointCodeStatus::SccpAvailable,
                "congested" => {
                    PointCodeStatus::Congested(of.need_number("level", "the level lacks")?)
                }
                _ => return Err(of.violation("no status of that name")),
            };
            Indication::PointCode { point_code: point_code(of)?, status }
        }
        Kind::Begun => Indication::Begun {
            reference: of.need_number("reference", "the reference lacks")?,
            dialogue: dialogue(of)?,
        },
        Kind::Refused => {
            let word = of.string("why")?.unwrap_or_default();
            let why = REFUSALS.iter().find(|it| it.1 == word);
            let why = why.ok_or_else(|| of.violation("no refusal of that name"))?.0;
            let (reference, dialogue) = (of.number("reference")?, of.number("dialogue")?);
            Indication::Refused { reference, dialogue, why }
        }
        Kind::Resume => Indication::Resume {
            dialogue: dialogue(of)?,
            own: address::read(of, "own")?,
            peer: address::read(of, "peer")?,
            context: read_context(of)?,
            state: of.octets("state")?.unwrap_or_default(),
        },
        Kind::Slow => Indication::Slow(of.boolean("slow")?.unwrap_or(false)),
        other => {
            let parts = network(other, of)?;
            let indication = NetworkIndication::of(other, parts);
            Indication::Network(indication.map_err(|what| of.violation(what))?)
        }
    })
}

/// What a primitive of the network service carries.
fn network(kind: Kind, of: &mut Object<'_>) -> Result<Parts, Malformed> {
    let address = |of: &mut Object<'_>, name: &str| match of.find(name) {
        None => Ok(None),
        Some(_) => address::read(of, name).map(Some),
    };
    Ok(Parts {
        reference: of.number("reference")?,
        connection: of.number("connection")?,
        called: address(of, "called")?,
        calling: address(of, "calling")?,
        class: of.number("class")?,
        cause: of.number("cause")?,
        is: of.boolean(name_of_is(kind))?,
        data: of.octets("data")?.unwrap_or_default(),
    })
}

fn hello(of: &mut Object<'_>) -> Result<Hello, Malformed> {
    let application = of.string("application")?;
    Ok(Hello {
        version: of.need_number("version", "the version lacks")?,
        application: application.ok_or_else(|| of.violation("the application's name lacks"))?,
        group: of.string("group")?.unwrap_or_default(),
        instance: of.string("instance")?.unwrap_or_default(),
        proof: of.octets("proof")?,
    })
}

fn dialogue(of: &mut Object<'_>) -> Result<u64, Malformed> {
    of.need_number("dialogue", "the dialogue lacks")
}

fn invoke(of: &mut Object<'_>) -> Result<i8, Malformed> {
    of.need_number("invoke", "the invoke identifier lacks")
}

fn state(of: &mut Object<'_>) -> Result<Option<Bytes>, Malformed> {
    let state = of.octets("state")?;
    match state.as_ref().is_some_and(|it| it.len() > STATE_OCTETS_MAX) {
        true => Err(of.violation("a state of over 256 octets")),
        false => Ok(state),
    }
}

fn point_code(of: &mut Object<'_>) -> Result<PointCode, Malformed> {
    of.point_code("pc", 24)?.ok_or_else(|| of.violation("the point code lacks"))
}

fn diagnostic(name: &str) -> Option<Diagnostic> {
    let (by, number) = name.split_once('/')?;
    let number = number.parse().ok()?;
    match by {
        "user" => Some(Diagnostic::User(number)),
        "provider" => Some(Diagnostic::Provider(number)),
        _ => None,
    }
}

fn p_abort(name: &str) -> Option<PAbort> {
    let named = PAbortCause::ALL.iter().find(|it| it.name() == name);
    Some(match name {
        "abnormalDialogue" => PAbort::AbnormalDialogue,
        "noCommonDialoguePortion" => PAbort::NoCommonDialoguePortion,
        "idle" => PAbort::Idle,
        _ => match named {
            Some(row) => PAbort::Cause(row.number().into()),
            None => PAbort::Cause(name.parse().ok()?),
        },
    })
}
