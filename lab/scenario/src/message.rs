//! Words of a message as `tcu` reads and writes them: lines of JSON (docs/applications.md).

use crate::template::Name;
use bytes::Bytes;
use sccp::codec::Address;
use serde_json::Value;
use tcu::{Component, Indication, Portion, Request, Speech, Spelling, ToApplication, ToGateway};

/// Letters around what is wrong that are shown.
const NEAR: usize = 24;

fn request(line: &str, speech: Speech) -> Result<Request, String> {
    match Spelling::Json.read_request(line.as_bytes(), &|_| speech) {
        Ok(ToGateway::Request(request)) => Ok(request),
        Ok(ToGateway::Hello(_)) => Err("a greeting is no request".into()),
        Err(wrong) => {
            let near: String =
                line.get(wrong.at..).unwrap_or_default().chars().take(NEAR).collect();
            Err(format!("{} at `{near}`", wrong.what))
        }
    }
}

fn portion_of(request: Request) -> Portion {
    match request {
        Request::Uni { portion, .. }
        | Request::Begin { portion, .. }
        | Request::Continue { portion, .. }
        | Request::End { portion, .. }
        | Request::UAbort { portion, .. } => portion,
        _ => Portion::default(),
    }
}

/// The component that JSON is; without a speech it says itself what is spoken (version 1 of MAP).
pub(crate) fn component(json: &str, speech: Option<Speech>) -> Result<Component, String> {
    let line = match speech {
        Some(_) => format!(r#"{{"tc":"continue","dialogue":0,"components":[{json}]}}"#),
        None => {
            let ends = r#""called":{"ssn":1},"calling":{"ssn":1}"#;
            format!(r#"{{"tc":"uni",{ends},"components":[{json}]}}"#)
        }
    };
    let portion = portion_of(request(&line, speech.unwrap_or_default())?);
    portion.components.into_iter().next().ok_or_else(|| "there is no component".into())
}

/// An address.
pub(crate) fn address(json: &str) -> Result<Address, String> {
    let line = format!(r#"{{"tc":"uni","called":{json},"calling":{{"ssn":1}}}}"#);
    match request(&line, Speech::Unknown)? {
        Request::Uni { called, .. } => Ok(called),
        _ => Err("no address".into()),
    }
}

/// User information: a list of EXTERNALs, or one.
pub(crate) fn information(json: &str) -> Result<Bytes, String> {
    let list = if json.starts_with('[') { json.to_owned() } else { format!("[{json}]") };
    let line = format!(r#"{{"tc":"continue","dialogue":0,"user_information":{list}}}"#);
    Ok(portion_of(request(&line, Speech::Unknown)?).user_information)
}

/// The contents octets of an application context by its name.
pub(crate) fn context(name: &str) -> Result<Bytes, String> {
    let name = Value::String(name.to_owned());
    let line = format!(r#"{{"tc":"u-abort","dialogue":0,"context":{name}}}"#);
    portion_of(request(&line, Speech::Unknown)?).context.ok_or_else(|| "no context".into())
}

/// An indication as an object of JSON.
pub(crate) fn shown(it: &Indication, speech: Speech) -> Value {
    let mut line = Vec::new();
    Spelling::Json.write(&ToApplication::Indication(it.clone()), speech, &mut line);
    serde_json::from_slice(&line).unwrap_or_default()
}

/// A component as an object of JSON, without a dialogue around it.
pub(crate) fn shown_component(it: &Component, speech: Speech) -> Value {
    let portion = Portion::of(vec![it.clone()]);
    let mut value = shown(&Indication::Continue { dialogue: 0, portion }, speech);
    let component = value.get_mut("components").and_then(|it| it.get_mut(0));
    component.map(Value::take).unwrap_or_default()
}

/// Names of MAP and CAP that begin an object: a number stands for itself.
pub(crate) fn code(name: &str) -> Value {
    name.parse::<i64>().map_or_else(|_| Value::String(name.to_owned()), Value::from)
}

/// A constant, by name.
pub(crate) fn constant(value: &Value) -> Name {
    Name::Constant(value.clone())
}
