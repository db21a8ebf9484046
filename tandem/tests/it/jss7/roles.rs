//! An application that is HLR, VLR, USSD service, gsmSSF and gsmSCF at once, as jSS7's own is
//! (`lab/peers/jss7/Values.java`): the same operations with the same values.

use bytes::Bytes;
use machine::Time;
use std::collections::HashMap;
use std::sync::mpsc::Sender;
use tcu::{Code, Component, Indication, Portion, Request, Service, Speech};

const USSD: &str = r#"{"ussd-DataCodingScheme":"0f","ussd-String":"aa180c3602"}"#;
const SRI: &str =
    r#"{"msisdn":"91447700091032","sm-RP-PRI":true,"serviceCentreAddress":"91447700000009"}"#;
const LOCATION: &str =
    r#"{"imsi":"32140500000021f3","msc-Number":"91447700000010","vlr-Number":"91447700000020"}"#;
const CALL: &str = concat!(
    r#"{"serviceKey":1,"callingPartyNumber":"0413447700091032","#,
    r#""eventTypeBCSM":"collectedInfo","iMSI":"32140500000021f3","#,
    r#""mscAddress":"91447700000010","calledPartyBCDNumber":"91447700099099"}"#,
);

/// What is said, the same by both sides: an operation, its argument, its result.
const SAID: [(&str, &str, &str); 8] = [
    (
        "sendRoutingInfoForSM",
        SRI,
        concat!(
            r#"{"imsi":"32140500000021f3","#,
            r#""locationInfoWithLMSI":{"networkNode-Number":"91447700000010"}}"#,
        ),
    ),
    ("updateLocation", LOCATION, r#"{"hlr-Number":"91447700000060"}"#),
    (
        "insertSubscriberData",
        r#"{"msisdn":"91447700091032"}"#,
        // jSS7 reads no result without any component.
        r#"{"regionalSubscriptionResponse":"networkNode-AreaRestricted"}"#,
    ),
    (
        "processUnstructuredSS-Request",
        USSD,
        r#"{"ussd-DataCodingScheme":"0f","ussd-String":"c2303bec1e97413797ac06"}"#,
    ),
    (
        "unstructuredSS-Request",
        r#"{"ussd-DataCodingScheme":"0f","ussd-String":"c2303bec1e9775a0180b447fc34175b80e2403"}"#,
        r#"{"ussd-DataCodingScheme":"0f","ussd-String":"31"}"#,
    ),
    ("initialDP", CALL, ""),
    (
        "requestReportBCSMEvent",
        concat!(
            r#"{"bcsmEvents":[{"eventTypeBCSM":"oAnswer","#,
            r#""monitorMode":"notifyAndContinue","legID":{"sendingSideID":"02"}},"#,
            r#"{"eventTypeBCSM":"oDisconnect","monitorMode":"notifyAndContinue","#,
            r#""legID":{"sendingSideID":"01"}}]}"#,
        ),
        "",
    ),
    ("continue", "", ""),
];
/// The reports of a call.
pub const ANSWER: &str = concat!(
    r#"{"eventTypeBCSM":"oAnswer","legID":{"receivingSideID":"02"},"#,
    r#""miscCallInfo":{"messageType":"notification"}}"#,
);
pub const RELEASE: &str = concat!(
    r#"{"eventTypeBCSM":"oDisconnect","legID":{"receivingSideID":"01"},"#,
    r#""miscCallInfo":{"messageType":"notification"}}"#,
);

/// The argument of an operation, in JSON.
pub fn argument(operation: &str) -> &'static str {
    SAID.iter().find(|it| it.0 == operation).map(|it| it.1).unwrap()
}

/// Its result.
pub fn result(operation: &str) -> &'static str {
    SAID.iter().find(|it| it.0 == operation).map(|it| it.2).unwrap()
}

fn is_cap(operation: &str) -> bool {
    cap::Operation::named(operation).is_some()
}

/// The speech of the dialogues that an operation begins.
pub fn speech(operation: &str) -> Speech {
    match operation {
        "sendRoutingInfoForSM" => Speech::Map(map::Context::ShortMsgGateway, 3),
        "updateLocation" => Speech::Map(map::Context::NetworkLocUp, 3),
        "initialDP" => Speech::Cap(cap::Context::GsmSsf, 2),
        _ => Speech::Map(map::Context::NetworkUnstructuredSs, 2),
    }
}

/// Number, argument and result of an operation by its rows.
fn rows(
    speech: Speech,
    name: &str,
) -> (i64, Option<&'static ber::Type>, Option<&'static ber::Type>) {
    match speech {
        Speech::Map(_, version) => {
            let row = map::Operation::named(name).unwrap();
            let it = row.signature(version).unwrap();
            (row.code(), it.argument.map(|it| it.kind), it.result.map(|it| it.kind))
        }
        Speech::Cap(_, phase) => {
            let row = cap::Operation::named(name).unwrap();
            let it = row.signature(phase).unwrap();
            (row.code(), it.argument.map(|it| it.kind), it.result.map(|it| it.kind))
        }
        Speech::Unknown => panic!("{name}"),
    }
}

fn octets(kind: Option<&ber::Type>, json: &str) -> Option<Bytes> {
    if json.is_empty() {
        return None;
    }
    let mut octets = Vec::new();
    kind.unwrap().from_json(json, None, &mut ber::Writer::new(&mut octets)).unwrap();
    Some(octets.into())
}

/// The octets of an argument, or of a result, as we write them.
pub fn written(speech: Speech, operation: &str, json: &str, is_result: bool) -> String {
    let (_, argument, result) = rows(speech, operation);
    let octets = octets(if is_result { result } else { argument }, json).unwrap_or_default();
    octets.iter().map(|it| format!("{it:02x}")).collect()
}

fn json(kind: Option<&ber::Type>, octets: Option<&Bytes>) -> String {
    let Some(octets) = octets else { return String::new() };
    let (mut json, kind) = (String::new(), kind.unwrap());
    let element = ber::Element::only(octets).unwrap();
    kind.check_tagged(&element).unwrap();
    kind.to_json(&element, &mut json).unwrap();
    json
}

fn invoke(speech: Speech, id: i8, operation: &str, json: &str) -> Component {
    let (code, kind, _) = rows(speech, operation);
    let (code, parameter) = (Code::Local(code), octets(kind, json));
    Component::Invoke { id, linked: None, code, parameter, class: None, time_ms: None }
}

/// What begins a dialogue with `operation` at a subsystem, or by a title.
pub fn begin(number: u64, operation: &str, called: sccp::codec::Address, own: u8) -> Request {
    let speech = speech(operation);
    let context: Bytes = match speech {
        Speech::Map(context, version) => context.oid(version).to_vec().into(),
        Speech::Cap(context, phase) => context.phase(phase).unwrap().oid.to_vec().into(),
        Speech::Unknown => Bytes::new(),
    };
    let mut user_information = Vec::new();
    if operation == "processUnstructuredSS-Request" {
        // jSS7 takes no dialogue of USSD without it.
        map::dialogue::write(&mut user_information, |out| {
            use map::types::{MapDialoguePdu, MapOpenInfo};
            out.within::<MapOpenInfo>(MapDialoguePdu::MapOpen, |out| {
                let imsi = [0x96, 0x32, 0x14, 0x05, 0, 0, 0, 0x21, 0xf3];
                out.octets(MapOpenInfo::DestinationReference, &imsi);
                let msc = [0x91, 0x44, 0x77, 0, 0, 0, 0x10];
                out.octets(MapOpenInfo::OriginationReference, &msc);
            });
        });
    }
    let components = vec![invoke(speech, 1, operation, argument(operation))];
    let user_information = user_information.into();
    let portion = Portion { context: Some(context), user_information, components };
    let calling = sccp::codec::Address::subsystem(None, own);
    Request::Begin { reference: number, called, calling, state: None, portion }
}

/// What it says next, in which way.
#[derive(Default)]
struct Answer {
    components: Vec<Component>,
    ends: bool,
    prearranged: bool,
}

/// The roles; what they hear is told in words.
pub struct Roles {
    pub told: Sender<String>,
    pub begun: HashMap<u64, Speech>,
    dialogues: HashMap<u64, (Speech, i8)>,
}

impl Roles {
    pub fn new(told: Sender<String>) -> Self {
        Self { told, begun: HashMap::new(), dialogues: HashMap::new() }
    }

    fn tell(&self, line: String) {
        // Nobody listens any more when the test is over.
        let _ = self.told.send(line);
    }

    fn heard(&mut self, dialogue: u64, it: &Component, answer: &mut Answer) {
        let (speech, first) = self.dialogues[&dialogue];
        let name = |code: &Code| match (code, speech) {
            (Code::Local(code), Speech::Cap(..)) => cap::Operation::of(*code).unwrap().name(),
            (Code::Local(code), _) => map::Operation::of(*code).unwrap().name(),
            _ => panic!("{it:?}"),
        };
        match it {
            Component::Invoke { id, code, parameter, .. } => {
                let name = name(code);
                let words = json(rows(speech, name).1, parameter.as_ref());
                self.tell(format!("invoke {name} {words}").trim().to_owned());
                self.asked(dialogue, *id, (name, &words), answer);
            }
            Component::Result { result: Some((code, parameter)), .. } => {
                let name = name(code);
                let words = json(rows(speech, name).2, parameter.as_ref());
                self.tell(format!("result {name} {words}"));
                let last = match name {
                    "insertSubscriberData" => "updateLocation",
                    "unstructuredSS-Request" => "processUnstructuredSS-Request",
                    _ => return,
                };
                answer.components.push(answered(speech, first, last));
                answer.ends = true;
            }
            other => self.tell(format!("{other:?}")),
        }
    }

    fn asked(&mut self, dialogue: u64, id: i8, it: (&str, &str), answer: &mut Answer) {
        let (operation, words) = it;
        let (speech, first) = self.dialogues.get_mut(&dialogue).unwrap();
        let mut ask = |id, operation| {
            answer.components.push(invoke(*speech, id, operation, argument(operation)));
        };
        match operation {
            "updateLocation" | "processUnstructuredSS-Request" => {
                *first = id;
                let is_location = operation == "updateLocation";
                let next =
                    if is_location { "insertSubscriberData" } else { "unstructuredSS-Request" };
                ask(1, next);
            }
            "initialDP" => {
                ask(1, "requestReportBCSMEvent");
                ask(2, "continue");
            }
            "eventReportBCSM" => answer.prearranged = words.contains("oDisconnect"),
            _ if is_cap(operation) => {}
            _ => {
                answer.components.push(answered(*speech, id, operation));
                answer.ends = operation == "sendRoutingInfoForSM";
            }
        }
    }
}

fn answered(speech: Speech, id: i8, operation: &str) -> Component {
    let (code, _, kind) = rows(speech, operation);
    let parameter = octets(kind, result(operation));
    Component::Result { id, is_last: true, result: Some((Code::Local(code), parameter)) }
}

impl Service for Roles {
    fn indicated(&mut self, _now: Time, it: Indication, wants: &mut Vec<Request>) {
        let Some(dialogue) = it.dialogue() else { return };
        match &it {
            Indication::Begun { reference, .. } => {
                self.dialogues.insert(dialogue, (self.begun[reference], 0));
            }
            Indication::Begin { portion, .. } => {
                let speech = Speech::of(portion.context.as_deref(), &portion.components);
                self.dialogues.insert(dialogue, (speech, 0));
            }
            Indication::Continue { .. } | Indication::End { .. } => {}
            other => self.tell(format!("{other:?}")),
        }
        let Some(portion) = it.portion() else { return };
        let mut answer = Answer::default();
        let goes_on =
            |it: &Component| matches!(it, Component::Invoke { code, .. } if *code == CONTINUE);
        for component in &portion.components {
            self.heard(dialogue, component, &mut answer);
        }
        if it.is_last() {
            self.tell("end".into());
            return;
        }
        if portion.components.iter().any(goes_on)
            && matches!(self.dialogues[&dialogue].0, Speech::Cap(..))
        {
            self.call(dialogue, wants);
        } else if answer.ends || answer.prearranged {
            let (is_prearranged, portion) = (answer.prearranged, Portion::of(answer.components));
            wants.push(Request::End { dialogue, is_prearranged, portion });
        } else if !answer.components.is_empty() {
            let portion = Portion::of(answer.components);
            wants.push(Request::Continue { dialogue, state: None, portion });
        }
    }
}

const CONTINUE: Code = Code::Local(31);

impl Roles {
    /// A call is answered and released, and both sides know that it is over.
    fn call(&self, dialogue: u64, wants: &mut Vec<Request>) {
        let speech = self.dialogues[&dialogue].0;
        for (id, event) in [(2, ANSWER), (3, RELEASE)] {
            let portion = Portion::of(vec![invoke(speech, id, "eventReportBCSM", event)]);
            wants.push(Request::Continue { dialogue, state: None, portion });
        }
        wants.push(Request::End { dialogue, is_prearranged: true, portion: Portion::default() });
    }
}
