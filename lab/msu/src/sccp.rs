//! SCCP and TCAP of an ASP on a command line: a UDT or XUDT with octets, or with the BEGIN of an
//! operation of MAP, and in words what comes back.

use ::sccp::codec::{Address, Class, Form, Management, Message, ReturnCause, Title, Unit, Word};
use anyhow::{Context as _, bail};
use ber::{Element, Writer};
use m3ua::Transfer;
use m3ua::codec::PointCode;
use map::{Context, Error, Operation};
use std::fmt::Write as _;
use tcap::codec::{Code, Component, Diagnostic, Dialogue, PAbortCause, Payload, TransactionId};
use tcap::operation::Parameter;

/// Hop counter of an XUDT.
const HOPS: u8 = 15;
/// The only invoke of a BEGIN.
const INVOKE: i8 = 1;

/// What the messages hold.
#[derive(Debug, Clone)]
pub enum Content {
    /// These octets.
    Octets(Vec<u8>),
    /// A BEGIN that asks for an operation.
    Asks(Asks),
}

/// An operation that is asked for.
#[derive(Debug, Clone)]
pub struct Asks {
    operation: Operation,
    context: Context,
    version: u8,
    argument: Option<Vec<u8>>,
}

/// What is sent by SCCP.
#[derive(Debug, Clone)]
pub struct Sccp {
    /// Where to.
    pub called: Address,
    /// Where from.
    pub calling: Address,
    /// An XUDT; else a UDT.
    pub is_extended: bool,
    /// What is in it.
    pub content: Content,
}

impl Asks {
    /// An operation of MAP by its name, in that version of its application context, with an
    /// argument as JSON or as the hexadecimal digits of a whole element; without a version the
    /// highest.
    ///
    /// # Errors
    /// There is none of that name or version, or the argument is not its argument.
    pub fn new(name: &str, version: Option<u8>, argument: Option<&str>) -> anyhow::Result<Self> {
        let operation = Operation::named(name).with_context(|| {
            let known = Operation::ALL.iter().map(|it| it.name());
            let hint = config::meant(name, known, "");
            format!("MAP has no operation `{name}`; {hint}")
        })?;
        let of = |context: &Context| {
            let begins = context.versions().iter().filter(|it| it.initiator.contains(&operation));
            begins.map(|it| (*context, it.version)).collect::<Vec<_>>()
        };
        let all: Vec<(Context, u8)> = Context::ALL.iter().flat_map(of).collect();
        let wanted = all.iter().filter(|it| version.is_none_or(|version| version == it.1));
        let Some((context, version)) = wanted.max_by_key(|it| it.1).copied() else {
            let versions: Vec<String> = all.iter().map(|it| it.1.to_string()).collect();
            bail!("no dialogue begins with {name} in that version: in {}", versions.join(", "));
        };
        let signature = operation.signature(version).context("no signature")?;
        let argument = argument.map(|text| octets_of(signature.argument, text)).transpose()?;
        let element = argument.as_deref().map(Element::only).transpose();
        let element = element.map_err(|wrong| anyhow::anyhow!("the argument: {wrong}"))?;
        let spec = operation.spec();
        let checked = tcap::operation::check(signature.argument, element.as_ref(), spec);
        checked.map_err(|wrong| {
            let kind = signature.argument.map_or("none", |it| it.kind.name);
            anyhow::anyhow!("the argument of {name} is {kind}: {wrong}")
        })?;
        Ok(Self { operation, context, version, argument })
    }

    fn write(&self, number: u32, out: &mut Vec<u8>) {
        let begin = tcap::codec::Writer::begin(TransactionId::of(number));
        let context = self.context.oid(self.version);
        // Version 1 has no dialogue portion (TS 29.002 §12.1).
        let begin = if self.version == 1 { begin } else { begin.request(&context, &[]) };
        begin.write(out, |out| {
            let code = Code::Local(self.operation.code());
            out.invoke(INVOKE, None, code, self.argument.as_deref());
        });
    }
}

/// The octets of a parameter: from hexadecimal digits, or from JSON.
fn octets_of(parameter: Option<Parameter>, text: &str) -> anyhow::Result<Vec<u8>> {
    if let Some(octets) = hex(text) {
        return Ok(octets);
    }
    let Some(Parameter { kind, .. }) = parameter else { bail!("the operation has no argument") };
    let mut octets = Vec::new();
    let read = kind.from_json(text, None, &mut Writer::new(&mut octets));
    read.map_err(|wrong| anyhow::anyhow!("the argument, {}: {wrong}", kind.name))?;
    Ok(octets)
}

/// Octets from hexadecimal digits.
#[must_use]
pub fn hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    let octet = |two: &[u8]| {
        let two = std::str::from_utf8(two).ok().filter(|two| two.len() == 2)?;
        u8::from_str_radix(two, 16).ok()
    };
    (!text.is_empty()).then(|| digits.map(octet).collect::<Option<_>>()).flatten()
}

impl Sccp {
    /// The message of that number.
    ///
    /// # Errors
    /// It is too long for one message.
    pub fn payload(&self, number: u32) -> anyhow::Result<Vec<u8>> {
        let mut data = Vec::new();
        match &self.content {
            Content::Octets(octets) => data.extend_from_slice(octets),
            Content::Asks(asks) => asks.write(number.saturating_add(1), &mut data),
        }
        let unit = Unit {
            form: if self.is_extended { Form::Extended } else { Form::Basic },
            word: Word::Data(Class { is_sequenced: false, returns: true }),
            hops: if self.is_extended { HOPS } else { 0 },
            called: self.called,
            calling: self.calling,
            segmentation: None,
            importance: None,
            data: &data,
        };
        let mut payload = Vec::new();
        unit.write(&mut payload).context("the data are too long for one message")?;
        Ok(payload)
    }

    /// The version of the application context that was asked in.
    const fn version(&self) -> u8 {
        match &self.content {
            Content::Asks(asks) => asks.version,
            Content::Octets(_) => 3,
        }
    }

    /// What came, in lines; none: it is no message of SCCP.
    #[must_use]
    pub fn show(&self, msu: &Transfer, show: &dyn Fn(PointCode) -> String) -> String {
        let message = Message::read(&msu.payload);
        let unit = message.as_ref().ok().and_then(|message| Unit::of(message).ok().flatten());
        let Some(unit) = unit else {
            return "  no connectionless message of SCCP".to_owned();
        };
        // An address without any is that of the label.
        let address = |it: &Address, of: PointCode| {
            let digits = it.title.map(|title| title.digits.to_string());
            let place = digits.unwrap_or_else(|| show(it.point_code.unwrap_or(of)));
            it.subsystem.map_or(place.clone(), |number| format!("{place}/{number}"))
        };
        let (kind, service) = match (unit.form, unit.word) {
            (Form::Basic, Word::Data(_)) => ("UDT", None),
            (Form::Extended, Word::Data(_)) => ("XUDT", None),
            (Form::Long, Word::Data(_)) => ("LUDT", None),
            (Form::Basic, Word::Service(cause)) => ("UDTS", Some(cause)),
            (Form::Extended, Word::Service(cause)) => ("XUDTS", Some(cause)),
            (Form::Long, Word::Service(cause)) => ("LUDTS", Some(cause)),
        };
        let (calling, called) = (address(&unit.calling, msu.opc), address(&unit.called, msu.dpc));
        let mut text = format!("  {kind}  {calling} → {called}");
        if let Some(cause) = service {
            let name = ReturnCause::of(cause).map_or("", ReturnCause::name);
            let _ = write!(text, "  it comes back: {cause}, {name}");
            return text;
        }
        if unit.calling.subsystem == Some(::sccp::codec::MANAGEMENT_SSN) {
            text.push_str(&managed(unit.data, show));
        } else if let Ok(message) = tcap::codec::Message::read(unit.data) {
            text.push_str(&transaction(&message, self.version()));
        }
        text
    }
}

fn managed(data: &[u8], show: &dyn Fn(PointCode) -> String) -> String {
    let Ok(it) = Management::read(data) else { return String::new() };
    format!("\n  {}  subsystem {} of {}", it.kind.name(), it.subsystem, show(it.point_code))
}

fn transaction(message: &tcap::codec::Message<'_>, mut version: u8) -> String {
    let mut text = format!("\n  {}", message.kind.name());
    let identifier = |id: Option<TransactionId>| id.and_then(TransactionId::number);
    if let Some(number) = identifier(message.dtid) {
        let _ = write!(text, "  of transaction {number}");
    }
    if let Some(number) = message.p_abort {
        let cause = u8::try_from(number).ok().and_then(PAbortCause::of);
        let _ = write!(text, "  by TCAP: {}", cause.map_or("", PAbortCause::name));
    }
    if let Some(Ok(dialogue)) = message.dialogue.map(|it| Dialogue::read(&it)) {
        text.push_str(&show_dialogue(&dialogue, &mut version));
    }
    for component in message.components() {
        text.push_str("\n  ");
        match component {
            Ok(component) => text.push_str(&show_component(&component, version)),
            Err(rejected) => {
                let _ = write!(text, "unreadable: {:?}", rejected.problem);
            }
        }
    }
    text
}

fn show_dialogue(dialogue: &Dialogue<'_>, version: &mut u8) -> String {
    let mut named = |contents: &[u8]| match Context::of_oid(contents) {
        Some((context, of)) => {
            *version = of;
            format!("{} version {of}", context.name())
        }
        None => "another application context".to_owned(),
    };
    match dialogue {
        Dialogue::Request { context, .. } => format!("  AARQ {}", named(context.contents())),
        Dialogue::Unidirectional { context, .. } => {
            format!("  AUDT {}", named(context.contents()))
        }
        Dialogue::Response { context, is_refused, diagnostic, .. } => {
            let context = named(context.contents());
            let why = match diagnostic {
                Diagnostic::User(0) | Diagnostic::Provider(0) => "no reason",
                Diagnostic::User(2) => "the application context is not supported",
                Diagnostic::Provider(2) => "no common dialogue portion",
                _ => "no reason given",
            };
            match is_refused {
                true => format!("  AARE refused: {why}; {context}"),
                false => format!("  AARE accepted {context}"),
            }
        }
        Dialogue::Abort { .. } => "  ABRT".to_owned(),
        Dialogue::Other(..) => "  something of the user".to_owned(),
    }
}

fn show_component(component: &Component<'_>, version: u8) -> String {
    let operation = |code: &Code<'_>| match code {
        Code::Local(number) => Operation::of(*number),
        Code::Global(_) => None,
    };
    let number = |code: &Code<'_>| match code {
        Code::Local(number) => number.to_string(),
        Code::Global(_) => "global".to_owned(),
    };
    match &component.payload {
        Payload::Invoke { code, parameter, .. } => {
            let found = operation(code);
            let signature = found.and_then(|it| it.signature(version));
            let name = found.map_or_else(|| number(code), |it| it.name().to_owned());
            let value = value(signature.and_then(|it| it.argument), parameter.as_ref());
            format!("invoke {name} {value}")
        }
        Payload::ReturnResult { result: None, .. } => "result".to_owned(),
        Payload::ReturnResult { is_last, result: Some((code, parameter)) } => {
            let found = operation(code);
            let signature = found.and_then(|it| it.signature(version));
            let name = found.map_or_else(|| number(code), |it| it.name().to_owned());
            let part = if *is_last { "" } else { "part of the " };
            let value = value(signature.and_then(|it| it.result), parameter.as_ref());
            format!("{part}result of {name} {value}")
        }
        Payload::ReturnError { code, parameter } => {
            let found = match code {
                Code::Local(number) => Error::of(*number),
                Code::Global(_) => None,
            };
            let name = found.map_or_else(|| number(code), |it| it.name().to_owned());
            let value = value(found.and_then(|it| it.parameter(version)), parameter.as_ref());
            format!("error {name} {value}")
        }
        Payload::Reject(problem) => format!("reject: {problem:?}"),
    }
}

/// A value as JSON; as hexadecimal digits where it is not what belongs there.
fn value(of: Option<Parameter>, element: Option<&Element<'_>>) -> String {
    let Some(element) = element else { return String::new() };
    let mut json = String::new();
    let is_read = of.is_some_and(|it| {
        tcap::operation::check(of, Some(element), "").is_ok()
            && it.kind.to_json(element, &mut json).is_ok()
    });
    match is_read {
        true => json,
        false => element.whole().iter().map(|octet| format!("{octet:02x}")).collect(),
    }
}

/// An address by a title, or by a subsystem alone.
#[must_use]
pub fn address(title: Option<Title>, subsystem: u8) -> Address {
    match title {
        Some(title) => Address::title(title, subsystem),
        None => Address::subsystem(None, subsystem),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::sccp::codec::Digits;

    fn asks(argument: &str) -> anyhow::Result<Asks> {
        Asks::new("sendRoutingInfoForSM", None, Some(argument))
    }

    /// A message from the point code 4 to 1, as it is told.
    fn shown(sccp: &Sccp, payload: &[u8]) -> String {
        let code = |number| PointCode::new(number).unwrap();
        let payload = bytes::Bytes::copy_from_slice(payload);
        let (opc, dpc) = (code(4), code(1));
        let msu = Transfer { network: None, opc, dpc, si: 3, ni: 2, mp: 0, sls: 0, payload };
        sccp.show(&msu, &|code| code.number().to_string())
    }

    const ARGUMENT: &str =
        r#"{"msisdn":"91447700900123","sm-RP-PRI":true,"serviceCentreAddress":"914477"}"#;

    fn sent(content: Content) -> Sccp {
        let title = Title::e164(Digits::parse("447700900123").unwrap());
        let (called, calling) = (address(Some(title), 6), address(None, 8));
        Sccp { called, calling, is_extended: false, content }
    }

    #[test]
    fn an_operation_is_written_by_its_name_and_read_as_it_was_written() {
        let sccp = sent(Content::Asks(asks(ARGUMENT).unwrap()));
        let payload = sccp.payload(7).unwrap();
        let told = shown(&sccp, &payload);
        let wanted = format!(
            "  UDT  4/8 → 447700900123/6\n  Begin  AARQ shortMsgGatewayContext version 3\n  \
             invoke sendRoutingInfoForSM {ARGUMENT}"
        );
        assert_eq!(told, wanted);
        // The same by its octets.
        let octets = octets_of(
            Operation::named("sendRoutingInfoForSM").unwrap().signature(3).unwrap().argument,
            ARGUMENT,
        );
        let digits: String = octets.unwrap().iter().map(|it| format!("{it:02x}")).collect();
        let same = sent(Content::Asks(asks(&digits).unwrap()));
        assert_eq!(same.payload(7).unwrap(), payload);
    }

    #[test]
    fn what_comes_back_is_told_with_its_cause() {
        let sccp = sent(Content::Octets(vec![1, 2, 3]));
        let payload = sccp.payload(0).unwrap();
        let message = Message::read(&payload).unwrap();
        let unit = Unit::of(&message).unwrap().unwrap();
        let mut back = Vec::new();
        unit.returned(ReturnCause::UnequippedUser, HOPS).write(&mut back).unwrap();
        let told = shown(&sccp, &back);
        assert_eq!(told, "  UDTS  447700900123/6 → 1/8  it comes back: 4, unequipped user");
    }

    #[test]
    fn an_answer_is_told_by_the_names_of_map() {
        let sccp = sent(Content::Asks(asks(ARGUMENT).unwrap()));
        let context = Context::ShortMsgGateway.oid(3);
        let mut data = Vec::new();
        let end = tcap::codec::Writer::end(TransactionId::of(7)).accept(&context, &[]);
        end.write(&mut data, |out| {
            out.error(1, Code::Local(Error::named("unknownSubscriber").unwrap().code()), None);
        });
        let message = tcap::codec::Message::read(&data).unwrap();
        let wanted = "\n  End  of transaction 7  AARE accepted shortMsgGatewayContext version 3\n  \
                      error unknownSubscriber ";
        assert_eq!(transaction(&message, sccp.version()), wanted);
        let mut data = Vec::new();
        let abort =
            tcap::codec::Writer::p_abort(TransactionId::of(7), PAbortCause::ResourceLimitation);
        abort.write(&mut data, |_| ());
        let message = tcap::codec::Message::read(&data).unwrap();
        let wanted = "\n  Abort  of transaction 7  by TCAP: resourceLimitation";
        assert_eq!(transaction(&message, 3), wanted);
    }

    #[test]
    fn what_is_none_of_map_is_refused_with_what_there_is() {
        let told = |name: &str, version, argument| {
            Asks::new(name, version, argument).unwrap_err().to_string()
        };
        let wanted = "MAP has no operation `sendRoutingInfoForSm`; did you mean \
                      `sendRoutingInfoForSM`?";
        assert_eq!(told("sendRoutingInfoForSm", None, None), wanted);
        let wanted = "no dialogue begins with sendRoutingInfoForSM in that version: in 3, 2, 1";
        assert_eq!(told("sendRoutingInfoForSM", Some(4), None), wanted);
        let lacks = told("sendRoutingInfoForSM", None, None);
        assert!(lacks.starts_with("the argument of sendRoutingInfoForSM is "), "{lacks}");
        let wrong = told("sendRoutingInfoForSM", None, Some("{\"msisdn\":7}"));
        assert!(wrong.starts_with("the argument, "), "{wrong}");
    }
}
