//! Components, application contexts and user information.

use super::SPEC;
use super::object::{Members, Object, PointCodes};
use crate::names::{Speech, Which, context_name, context_of};
use crate::primitive::{Code, Component, Portion};
use ber::json::{Text, hex};
use ber::{Described as _, Element, Oid, Reader, Writer};
use bytes::Bytes;
use map::types::MapDialoguePdu;
use tcap::OperationClass;
use tcap::codec::{
    GeneralProblem, InvokeProblem, Problem, ReturnErrorProblem, ReturnResultProblem,
};
use tcap::operation::{Parameter, check};
use wire::Malformed;

pub(super) fn write_portion(to: &mut Members<'_>, portion: &Portion, speech: Speech) {
    write_context(to, portion.context.as_ref());
    if !portion.user_information.is_empty() {
        let all = Reader::new(&portion.user_information).flatten();
        to.list("user_information", all, |it, out| write_external(&it, out));
    }
    if !portion.components.is_empty() {
        to.list("components", portion.components.iter(), |it, out| {
            write_component(it, speech, out);
        });
    }
}

pub(super) fn write_context(to: &mut Members<'_>, context: Option<&Bytes>) {
    if let Some(context) = context {
        to.string("context", &context_name(context));
    }
}

/// An EXTERNAL: the dialogue PDU of MAP by its names, another one in hexadecimal digits.
fn write_external(external: &Element<'_>, out: &mut String) {
    let start = out.len();
    if let Ok(Some((_, pdu))) = map::dialogue::read(*external)
        && is_canonical(external, &pdu)
        && MapDialoguePdu::TYPE.to_json(&pdu, out).is_ok()
    {
        return;
    }
    out.truncate(start);
    hex(out, external.whole().iter().copied());
}

/// Whether the dialogue PDU alone says what the EXTERNAL is.
fn is_canonical(external: &Element<'_>, pdu: &Element<'_>) -> bool {
    external_of(pdu.whole()) == external.whole()
}

fn external_of(pdu: &[u8]) -> Vec<u8> {
    let mut octets = Vec::with_capacity(pdu.len() + 16);
    map::dialogue::wrap(&mut octets, pdu);
    octets
}

fn read_external(text: &mut Text<'_>, into: &mut Vec<u8>) -> Result<(), Malformed> {
    let at = {
        text.peek();
        text.at()
    };
    if text.peek() == Some(b'"') {
        let octets = text.hex()?;
        let element = Element::only(&octets).map_err(|it| Malformed { at, ..it })?;
        if element.tag() != ber::Tag::EXTERNAL {
            return Err(Malformed::new(at, "user information is an EXTERNAL", SPEC));
        }
        into.extend_from_slice(&octets);
        return Ok(());
    }
    text.skip()?;
    let mut pdu = Vec::new();
    let value = text.since(at);
    let read = MapDialoguePdu::TYPE.from_json(value, None, &mut Writer::new(&mut pdu));
    read.map_err(|it| it.shifted(at))?;
    into.extend_from_slice(&external_of(&pdu));
    Ok(())
}

/// Reads what a message carries; `speech` is that of its dialogue, unless a context says it.
pub(super) fn read_portion(
    of: &mut Object<'_>,
    speech: Option<Speech>,
) -> Result<Portion, Malformed> {
    let context = read_context(of)?;
    let mut user_information = Vec::new();
    if let Some(mut text) = of.find("user_information") {
        text.elements(|text| read_external(text, &mut user_information))?;
    }
    let mut speech = match (&context, speech) {
        (_, Some(speech)) => Some(speech),
        (Some(context), None) => Some(Speech::of_context(context)),
        (None, None) => None,
    };
    let mut components = Vec::new();
    if let Some(mut text) = of.find("components") {
        text.elements(|text| {
            let component = read_component(text, &mut speech)?;
            components.push(component);
            Ok(())
        })?;
    }
    Ok(Portion { context, user_information: user_information.into(), components })
}

pub(super) fn read_context(of: &mut Object<'_>) -> Result<Option<Bytes>, Malformed> {
    let Some(mut text) = of.find("context") else { return Ok(None) };
    let at = text.at();
    let name = text.string()?;
    match context_of(&name) {
        Some(contents) => Ok(Some(contents.into())),
        None => Err(Malformed::new(at, "no application context of that name", SPEC)),
    }
}

pub(super) fn write_component(it: &Component, speech: Speech, out: &mut String) {
    let mut to = Members::begin(out, PointCodes::Numbers);
    match it {
        Component::Invoke { id, linked, code, parameter, class, time_ms } => {
            to.number("invoke", id);
            if let Some(linked) = linked {
                to.number("linked", linked);
            }
            write_code(&mut to, "operation", code, |code| speech.operation_name(code));
            let kind = local(code).and_then(|it| speech.parameter(it, Which::Argument));
            write_parameter(&mut to, "argument", parameter.as_ref(), kind);
            if let Some(class) = class {
                to.number("class", number_of(*class));
            }
            if let Some(ms) = time_ms {
                to.number("timeout_ms", ms);
            }
        }
        Component::Result { id, is_last, result } => {
            to.number("result", id);
            if !is_last {
                to.boolean("part", true);
            }
            if let Some((code, parameter)) = result {
                write_code(&mut to, "operation", code, |code| speech.operation_name(code));
                let kind = local(code).and_then(|it| speech.parameter(it, Which::Result));
                write_parameter(&mut to, "value", parameter.as_ref(), kind);
            }
        }
        Component::Error { id, code, parameter } => {
            to.number("error", id);
            write_code(&mut to, "name", code, |code| speech.error_name(code));
            let kind = local(code).and_then(|it| speech.of_error(it));
            write_parameter(&mut to, "parameter", parameter.as_ref(), kind);
        }
        Component::Reject { id, problem } => {
            match id {
                Some(id) => to.number("reject", id),
                None => to.name("reject").push_str("null"),
            }
            to.string("problem", &problem_name(*problem));
        }
    }
    to.end();
}

/// The member, the type and the element of a parameter that is written by its names.
pub(super) fn parameter_of(
    it: &Component,
    speech: Speech,
) -> Option<(&'static str, ber::Placed<'_>)> {
    let (member, kind, octets) = match it {
        Component::Invoke { code, parameter, .. } => {
            ("argument", speech.parameter(local(code)?, Which::Argument), parameter)
        }
        Component::Result { result: Some((code, parameter)), .. } => {
            ("value", speech.parameter(local(code)?, Which::Result), parameter)
        }
        Component::Error { code, parameter, .. } => {
            ("parameter", speech.of_error(local(code)?), parameter)
        }
        Component::Result { result: None, .. } | Component::Reject { .. } => return None,
    };
    let (kind, element) = (kind?, Element::only(octets.as_ref()?).ok()?);
    check(Some(kind), Some(&element), SPEC).ok()?;
    Some((member, (kind.kind, element)))
}

const fn local(code: &Code) -> Option<i64> {
    match code {
        Code::Local(number) => Some(*number),
        Code::Global(_) => None,
    }
}

fn write_code(
    to: &mut Members<'_>,
    member: &str,
    code: &Code,
    name: impl FnOnce(i64) -> Option<&'static str>,
) {
    match code {
        Code::Local(number) => match name(*number) {
            Some(name) => to.string(member, name),
            None => to.number(member, number),
        },
        Code::Global(contents) => {
            let text = Oid::new(contents).map(|oid| oid.to_string()).unwrap_or_default();
            to.string(member, &text);
        }
    }
}

/// A parameter by its names; in hexadecimal digits where there are none, or it does not fit them.
fn write_parameter(
    to: &mut Members<'_>,
    member: &str,
    parameter: Option<&Bytes>,
    kind: Option<Parameter>,
) {
    let Some(octets) = parameter else { return };
    let element = Element::only(octets).ok();
    if let (Some(element), Some(kind)) = (element, kind)
        && check(Some(kind), Some(&element), SPEC).is_ok()
    {
        let mut value = String::new();
        if kind.kind.to_json(&element, &mut value).is_ok() {
            to.name(member).push_str(&value);
            return;
        }
    }
    to.octets("raw", octets);
}

fn read_component(
    text: &mut Text<'_>,
    speech: &mut Option<Speech>,
) -> Result<Component, Malformed> {
    let mut of = Object::read(text)?;
    let component = if let Some(id) = of.number("invoke")? {
        read_invoke(&mut of, id, speech)?
    } else if let Some(id) = of.number("result")? {
        let known = speech.unwrap_or_default();
        let is_last = !of.boolean("part")?.unwrap_or(false);
        let code = read_code(&mut of, "operation", |name| known.operation(name))?;
        let kind = code.as_ref().and_then(local).and_then(|it| known.parameter(it, Which::Result));
        let parameter = read_parameter(&mut of, "value", kind)?;
        let result = match (code, parameter) {
            (Some(code), parameter) => Some((code, parameter)),
            (None, None) => None,
            (None, Some(_)) => return Err(of.violation("the operation of the result lacks")),
        };
        Component::Result { id, is_last, result }
    } else if let Some(id) = of.number("error")? {
        let known = speech.unwrap_or_default();
        let code = read_code(&mut of, "name", |name| known.error(name))?;
        let code = code.ok_or_else(|| of.violation("the name of the error lacks"))?;
        let kind = local(&code).and_then(|it| known.of_error(it));
        Component::Error { id, parameter: read_parameter(&mut of, "parameter", kind)?, code }
    } else {
        let mut id = of.need("reject", "neither invoke, result, error nor reject")?;
        let id = match id.has("null") {
            true => None,
            false => of.number("reject")?,
        };
        let problem = of.string("problem")?.as_deref().and_then(problem_of);
        let problem = problem.ok_or_else(|| of.violation("no problem of that name"))?;
        Component::Reject { id, problem }
    };
    of.end()?;
    Ok(component)
}

fn read_invoke(
    of: &mut Object<'_>,
    id: i8,
    speech: &mut Option<Speech>,
) -> Result<Component, Malformed> {
    let linked = of.number("linked")?;
    // Without a context the first operation says what is spoken.
    let known = match *speech {
        Some(known) => known,
        None => {
            let mut place = of.need("operation", "the operation lacks")?;
            let known = match place.peek() {
                Some(b'"') => Speech::first_named(&place.string()?),
                _ => Speech::first(place.integer().ok()),
            };
            *speech = Some(known);
            known
        }
    };
    let code = read_code(of, "operation", |name| known.operation(name))?;
    let code = code.ok_or_else(|| of.violation("the operation lacks"))?;
    let kind = local(&code).and_then(|it| known.parameter(it, Which::Argument));
    let parameter = read_parameter(of, "argument", kind)?;
    let class = match of.number("class")? {
        None => None,
        Some(1) => Some(OperationClass::One),
        Some(2) => Some(OperationClass::Two),
        Some(3) => Some(OperationClass::Three),
        Some(4) => Some(OperationClass::Four),
        Some(_) => return Err(of.violation("a class is 1 to 4")),
    };
    let time_ms = of.number("timeout_ms")?;
    Ok(Component::Invoke { id, linked, code, parameter, class, time_ms })
}

/// A code by its name, by its number, or as an object identifier.
fn read_code(
    of: &mut Object<'_>,
    member: &str,
    named: impl FnOnce(&str) -> Option<i64>,
) -> Result<Option<Code>, Malformed> {
    let Some(mut text) = of.find(member) else { return Ok(None) };
    let at = text.at();
    if text.peek() != Some(b'"') {
        return text.integer().map(|it| Some(Code::Local(it)));
    }
    let name = text.string()?;
    if name.starts_with(|it: char| it.is_ascii_digit()) {
        let contents = ber::parse_oid(&name);
        let contents = contents.ok_or(Malformed::new(at, "no object identifier", SPEC))?;
        return Ok(Some(Code::Global(contents.into())));
    }
    match named(&name) {
        Some(number) => Ok(Some(Code::Local(number))),
        None => Err(Malformed::new(at, "the dialogue's context has nothing of that name", SPEC)),
    }
}

fn read_parameter(
    of: &mut Object<'_>,
    member: &str,
    kind: Option<Parameter>,
) -> Result<Option<Bytes>, Malformed> {
    if let Some(mut text) = of.find("raw") {
        let at = text.at();
        let octets = text.hex()?;
        Element::only(&octets).map_err(|it| Malformed { at, ..it })?;
        return Ok(Some(octets.into()));
    }
    let Some(mut text) = of.find(member) else { return Ok(None) };
    let at = text.at();
    let kind = kind.ok_or(Malformed::new(at, "nothing is known of it here: give `raw`", SPEC))?;
    text.skip()?;
    let value = text.since(at);
    let mut octets = Vec::new();
    let read = kind.kind.from_json(value, None, &mut Writer::new(&mut octets));
    read.map_err(|it| it.shifted(at))?;
    let element = Element::only(&octets).map_err(|it| Malformed { at, ..it })?;
    check(Some(kind), Some(&element), SPEC).map_err(|it| Malformed { at, ..it })?;
    Ok(Some(octets.into()))
}

const fn number_of(class: OperationClass) -> u8 {
    match class {
        OperationClass::One => 1,
        OperationClass::Two => 2,
        OperationClass::Three => 3,
        OperationClass::Four => 4,
    }
}

/// What a problem is called: `invoke/mistypedParameter`; `1/9` where it has no name.
#[must_use]
pub fn problem_name(problem: Problem) -> String {
    match problem {
        Problem::General(it) => format!("component/{}", it.name()),
        Problem::Invoke(it) => format!("invoke/{}", it.name()),
        Problem::ReturnResult(it) => format!("result/{}", it.name()),
        Problem::ReturnError(it) => format!("error/{}", it.name()),
        Problem::Other(tag, number) => format!("{tag}/{number}"),
    }
}

pub(super) fn problem_of(name: &str) -> Option<Problem> {
    let (kind, word) = name.split_once('/')?;
    Some(match kind {
        "component" => Problem::General(*GeneralProblem::ALL.iter().find(|it| it.name() == word)?),
        "invoke" => Problem::Invoke(*InvokeProblem::ALL.iter().find(|it| it.name() == word)?),
        "result" => {
            Problem::ReturnResult(*ReturnResultProblem::ALL.iter().find(|it| it.name() == word)?)
        }
        "error" => {
            Problem::ReturnError(*ReturnErrorProblem::ALL.iter().find(|it| it.name() == word)?)
        }
        tag => {
            let tag: u8 = tag.parse().ok().filter(|it| *it <= 3)?;
            Problem::of(tag, word.parse().ok()?)
        }
    })
}
