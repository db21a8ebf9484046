//! Writing.

use super::address;
use super::component::{problem_name, write_context, write_portion};
use super::object::{Members, PointCodes};
use crate::message::{ToApplication, ToGateway};
use crate::names::Speech;
use crate::network::{Parts, name_of_is};
use crate::primitive::{Indication, PointCodeStatus, Portion, Refusal, Request};
use crate::tagged::Kind;
use tcap::PAbort;
use tcap::codec::{Diagnostic, PAbortCause};

/// Where lines go, and how point codes are written in them.
pub(crate) struct Out<'a> {
    pub(crate) octets: &'a mut Vec<u8>,
    pub(crate) point_codes: PointCodes,
}

/// Appends a line: an object of that kind with the members that `write` writes.
fn line(kind: Kind, out: &mut Out<'_>, write: impl FnOnce(&mut Members<'_>)) {
    let mut text = String::with_capacity(256);
    let mut to = Members::begin(&mut text, out.point_codes);
    to.string("tc", kind.name());
    write(&mut to);
    to.end();
    text.push('\n');
    out.octets.extend_from_slice(text.as_bytes());
}

fn of_dialogue(kind: Kind, dialogue: u64, out: &mut Out<'_>, write: impl FnOnce(&mut Members<'_>)) {
    line(kind, out, |to| {
        to.number("dialogue", dialogue);
        write(to);
    });
}

pub(crate) fn write_to_application(message: &ToApplication, speech: Speech, out: &mut Out<'_>) {
    match message {
        ToApplication::Challenge(nonce) => {
            line(Kind::Challenge, out, |to| to.octets("nonce", nonce));
        }
        ToApplication::Welcome(it) => line(Kind::Welcome, out, |to| {
            to.number("version", it.version);
            to.string("function", &it.function);
            to.number("subsystem", it.subsystem);
            to.number("message_octets_max", it.message_octets_max);
            to.number("state_octets_max", it.state_octets_max);
        }),
        ToApplication::Malformed(it) => line(Kind::Malformed, out, |to| {
            to.string("what", &it.what);
            to.number("at", it.at);
            for (name, number) in [("dialogue", it.of.dialogue), ("reference", it.of.reference)] {
                if let Some(number) = number {
                    to.number(name, number);
                }
            }
        }),
        ToApplication::Bye(why) => line(Kind::Bye, out, |to| to.string("why", why)),
        ToApplication::Indication(it) => indication(it, speech, out),
    }
}

pub(crate) fn write_to_gateway(message: &ToGateway, speech: Speech, out: &mut Out<'_>) {
    match message {
        ToGateway::Hello(it) => line(Kind::Hello, out, |to| {
            to.number("version", it.version);
            to.string("application", &it.application);
            to.string("group", &it.group);
            to.string("instance", &it.instance);
            if let Some(proof) = &it.proof {
                to.octets("proof", proof);
            }
        }),
        ToGateway::Request(it) => request(it, speech, out),
    }
}

fn indication(it: &Indication, speech: Speech, out: &mut Out<'_>) {
    let portion = |of: &Portion, to: &mut Members<'_>| write_portion(to, of, speech);
    match it {
        Indication::Uni { called, calling, portion: what } => line(Kind::Uni, out, |to| {
            address::write(to, "called", called);
            address::write(to, "calling", calling);
            portion(what, to);
        }),
        Indication::Begin { dialogue, called, calling, is_again, portion: what } => {
            of_dialogue(Kind::Begin, *dialogue, out, |to| {
                address::write(to, "called", called);
                address::write(to, "calling", calling);
                if *is_again {
                    to.boolean("again", true);
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
                    to.string("refused", &diagnostic_name(*refused));
                }
                portion(what, to);
            });
        }
        Indication::PAbort { dialogue, cause } => {
            of_dialogue(Kind::PAbort, *dialogue, out, |to| {
                to.string("cause", &p_abort_name(*cause));
            });
        }
        Indication::Notice { dialogue, cause } => {
            of_dialogue(Kind::Notice, *dialogue, out, |to| to.number("cause", cause));
        }
        Indication::LocalReject { dialogue, id, problem } => {
            of_dialogue(Kind::LocalReject, *dialogue, out, |to| {
                if let Some(id) = id {
                    to.number("invoke", id);
                }
                to.string("problem", &problem_name(*problem));
            });
        }
        Indication::Cancel { dialogue, id } => {
            of_dialogue(Kind::LocalCancel, *dialogue, out, |to| to.number("invoke", id));
        }
        other => more(other, out),
    }
}

/// Indications beside those of messages.
fn more(it: &Indication, out: &mut Out<'_>) {
    match it {
        Indication::State { point_code, subsystem, in_service } => {
            line(Kind::State, out, |to| {
                to.point_code("pc", *point_code);
                to.number("ssn", subsystem);
                to.boolean("in_service", *in_service);
            });
        }
        Indication::PointCode { point_code, status } => line(Kind::PointCode, out, |to| {
            to.point_code("pc", *point_code);
            to.string("status", status_name(*status));
            if let PointCodeStatus::Congested(level) = status {
                to.number("level", level);
            }
        }),
        Indication::Begun { reference, dialogue } => {
            of_dialogue(Kind::Begun, *dialogue, out, |to| to.number("reference", reference));
        }
        Indication::Refused { reference, dialogue, why } => line(Kind::Refused, out, |to| {
            if let Some(reference) = reference {
                to.number("reference", reference);
            }
            if let Some(dialogue) = dialogue {
                to.number("dialogue", dialogue);
            }
            to.string("why", refusal_name(*why));
        }),
        Indication::Resume { dialogue, own, peer, context, state } => {
            of_dialogue(Kind::Resume, *dialogue, out, |to| {
                address::write(to, "own", own);
                address::write(to, "peer", peer);
                write_context(to, context.as_ref());
                to.octets("state", state);
            });
        }
        Indication::Slow(is) => line(Kind::Slow, out, |to| to.boolean("slow", *is)),
        Indication::Network(it) => {
            let (kind, parts) = it.parts();
            network(kind, &parts, out);
        }
        _ => {}
    }
}

/// A primitive of the network service.
fn network(kind: Kind, it: &Parts, out: &mut Out<'_>) {
    line(kind, out, |to| {
        if let Some(reference) = it.reference {
            to.number("reference", reference);
        }
        if let Some(connection) = it.connection {
            to.number("connection", connection);
        }
        for (name, address) in [("called", &it.called), ("calling", &it.calling)] {
            if let Some(address) = address {
                address::write(to, name, address);
            }
        }
        for (name, number) in [("class", it.class), ("cause", it.cause)] {
            if let Some(number) = number {
                to.number(name, number);
            }
        }
        if let Some(is) = it.is {
            to.boolean(name_of_is(kind), is);
        }
        if !it.data.is_empty() {
            to.octets("data", &it.data);
        }
    });
}

fn request(it: &Request, speech: Speech, out: &mut Out<'_>) {
    let portion = |of: &Portion, to: &mut Members<'_>| write_portion(to, of, speech);
    let state = |state: &Option<bytes::Bytes>, to: &mut Members<'_>| {
        if let Some(state) = state {
            to.octets("state", state);
        }
    };
    match it {
        Request::Uni { called, calling, portion: what } => line(Kind::Uni, out, |to| {
            address::write(to, "called", called);
            address::write(to, "calling", calling);
            portion(what, to);
        }),
        Request::Begin { reference, called, calling, state: of, portion: what } => {
            line(Kind::Begin, out, |to| {
                to.number("reference", reference);
                address::write(to, "called", called);
                address::write(to, "calling", calling);
                state(of, to);
                portion(what, to);
            });
        }
        Request::Continue { dialogue, state: of, portion: what } => {
            of_dialogue(Kind::Continue, *dialogue, out, |to| {
                state(of, to);
                portion(what, to);
            });
        }
        Request::End { dialogue, is_prearranged, portion: what } => {
            of_dialogue(Kind::End, *dialogue, out, |to| {
                if *is_prearranged {
                    to.boolean("prearranged", true);
                }
                portion(what, to);
            });
        }
        Request::UAbort { dialogue, portion: what } => {
            of_dialogue(Kind::UAbort, *dialogue, out, |to| portion(what, to));
        }
        Request::Cancel { dialogue, id } => {
            of_dialogue(Kind::UserCancel, *dialogue, out, |to| to.number("invoke", id));
        }
        Request::TimerReset { dialogue, id, time_ms } => {
            of_dialogue(Kind::TimerReset, *dialogue, out, |to| {
                to.number("invoke", id);
                if let Some(ms) = time_ms {
                    to.number("timeout_ms", ms);
                }
            });
        }
        Request::Keep { dialogue, state } => {
            of_dialogue(Kind::Keep, *dialogue, out, |to| to.octets("state", state));
        }
        Request::State { in_service } => {
            line(Kind::State, out, |to| to.boolean("in_service", *in_service));
        }
        Request::Network(it) => {
            let (kind, parts) = it.parts();
            network(kind, &parts, out);
        }
    }
}

pub(super) const fn status_name(status: PointCodeStatus) -> &'static str {
    match status {
        PointCodeStatus::Inaccessible => "inaccessible",
        PointCodeStatus::Accessible => "accessible",
        PointCodeStatus::SccpUnavailable => "SCCP unavailable",
        PointCodeStatus::SccpAvailable => "SCCP available",
        PointCodeStatus::Congested(_) => "congested",
    }
}

/// Refusals by their names.
pub(super) const REFUSALS: [(Refusal, &str); 6] = [
    (Refusal::Full, "full"),
    (Refusal::Unknown, "unknown dialogue"),
    (Refusal::State, "not now"),
    (Refusal::InvokeId, "invoke identifier"),
    (Refusal::Long, "too long"),
    (Refusal::Calling, "calling address of another"),
];

fn refusal_name(why: Refusal) -> &'static str {
    REFUSALS.iter().find(|it| it.0 == why).map_or("", |it| it.1)
}

fn diagnostic_name(of: Diagnostic) -> String {
    match of {
        Diagnostic::User(number) => format!("user/{number}"),
        Diagnostic::Provider(number) => format!("provider/{number}"),
    }
}

pub(crate) fn p_abort_name(cause: PAbort) -> String {
    match cause {
        PAbort::AbnormalDialogue => "abnormalDialogue".to_owned(),
        PAbort::NoCommonDialoguePortion => "noCommonDialoguePortion".to_owned(),
        PAbort::Idle => "idle".to_owned(),
        PAbort::Cause(number) => match u8::try_from(number).ok().and_then(PAbortCause::of) {
            Some(row) => row.name().to_owned(),
            None => number.to_string(),
        },
    }
}
