//! The report's two flows: what who begins and who answers say.

use bytes::Bytes;
use machine::Time;
use sccp::codec::Address;
use std::time::Duration;
use tcu::{Code, Component, Indication, Portion, Request, Service};

/// sendRoutingInfoForSM, requestReportBCSMEvent, eventReportBCSM, initialDP, continue.
const SRI: i64 = 45;
const REQUEST_REPORT: i64 = 23;
const EVENT_REPORT: i64 = 24;
const INITIAL_DP: i64 = 0;
const CONTINUE: i64 = 31;

const SRI_ARGUMENT: &str = "30158007914477000910328101ff820791447700000009";
const SRI_RESULT: &str = "3015040832140500000021f3a009810791447700000010";
const CALL: &str = "302f800101830804134477000910329c01029f320832140500000021f3\
                    9f3707914477000000109f380791447700099099";
const EVENTS: &str = "301ca01a300b800107810101a203800102300b800109810101a203800101";
const ANSWER: &str = "300d800107a303810102a403800101";
const RELEASE: &str = "300d800109a303810101a403800101";

/// A kind of dialogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// BEGIN and END: where a short message goes.
    Routing,
    /// Four messages: a call is monitored; its answer and its release come after these times.
    Call(Duration, Duration),
}

impl Flow {
    /// What jSS7's generator calls it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Routing => "sri",
            Self::Call(..) => "call",
        }
    }

    /// The subsystem that is asked, an HLR or a gsmSCF.
    pub(super) const fn subsystem(self) -> u8 {
        match self {
            Self::Routing => 6,
            Self::Call(..) => 146,
        }
    }

    fn context(self) -> Bytes {
        match self {
            Self::Routing => Bytes::copy_from_slice(&map::Context::ShortMsgGateway.oid(3)),
            Self::Call(..) => {
                let phase = cap::Context::GsmSsf.phase(2).expect("phase 2 has it");
                Bytes::copy_from_slice(&phase.oid)
            }
        }
    }

    /// What begins one, from `own` to `far`.
    pub(super) fn begin(self, own: u8, far: Address) -> Request {
        let (code, argument) = match self {
            Self::Routing => (SRI, SRI_ARGUMENT),
            Self::Call(..) => (INITIAL_DP, CALL),
        };
        let portion = Portion {
            context: Some(self.context()),
            user_information: Bytes::new(),
            components: vec![invoke(1, code, Some(octets(argument)))],
        };
        let calling = Address::subsystem(None, own);
        Request::Begin { reference: 0, called: far, calling, state: None, portion }
    }

    /// A report of the one who began a call.
    pub(super) fn report(dialogue: u64, is_release: bool) -> Request {
        let (id, event) = if is_release { (3, RELEASE) } else { (2, ANSWER) };
        let portion = Portion::of(vec![invoke(id, EVENT_REPORT, Some(octets(event)))]);
        Request::Continue { dialogue, state: None, portion }
    }
}

/// Both sides know that a dialogue is over.
pub(super) fn over(dialogue: u64) -> Request {
    Request::End { dialogue, is_prearranged: true, portion: Portion::default() }
}

fn octets(digits: &str) -> Bytes {
    let digits = digits.as_bytes().chunks(2).map(|it| std::str::from_utf8(it).unwrap_or_default());
    digits.map(|it| u8::from_str_radix(it, 16).unwrap_or_default()).collect()
}

fn invoke(id: i8, code: i64, parameter: Option<Bytes>) -> Component {
    let code = Code::Local(code);
    Component::Invoke { id, linked: None, code, parameter, class: None, time_ms: None }
}

/// HLR and gsmSCF: answers both flows.
pub(super) struct Answers {
    result: Bytes,
    events: Bytes,
    release: Bytes,
}

impl Answers {
    pub(super) fn new() -> Self {
        Self { result: octets(SRI_RESULT), events: octets(EVENTS), release: octets(RELEASE) }
    }
}

impl Service for Answers {
    fn indicated(&mut self, _now: Time, it: Indication, wants: &mut Vec<Request>) {
        let (Some(dialogue), Some(portion)) = (it.dialogue(), it.portion()) else { return };
        let Some(Component::Invoke { id, code, parameter, .. }) = portion.components.first() else {
            return;
        };
        match code {
            Code::Local(SRI) => {
                let result = Some((code.clone(), Some(self.result.clone())));
                let portion =
                    Portion::of(vec![Component::Result { id: *id, is_last: true, result }]);
                wants.push(Request::End { dialogue, is_prearranged: false, portion });
            }
            Code::Local(INITIAL_DP) => {
                let portion = Portion::of(vec![
                    invoke(1, REQUEST_REPORT, Some(self.events.clone())),
                    invoke(2, CONTINUE, None),
                ]);
                wants.push(Request::Continue { dialogue, state: None, portion });
            }
            _ if parameter.as_ref() == Some(&self.release) => wants.push(over(dialogue)),
            _ => {}
        }
    }
}
