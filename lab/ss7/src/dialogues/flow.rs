//! The report's two flows: what who begins and who answers say. Each side writes its parameters
//! anew and reads those of the other by the types of MAP and CAP, as jSS7 does.

use ber::{Element, Fill, Record, Rows, Writer};
use bytes::Bytes;
use cap::types::{
    BcsmEvent, EventReportBcsmArg, InitialDpArgPhase2, LegId, MiscCallInfo, ReceivingSideId,
    RequestReportBcsmEventArg,
};
use machine::Time;
use map::types::{LocationInfoWithLmsi, RoutingInfoForSmArg, RoutingInfoForSmRes};
use sccp::codec::Address;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tcu::{Code, Component, Indication, Portion, Request, Service};

/// sendRoutingInfoForSM, requestReportBCSMEvent, eventReportBCSM, initialDP, continue.
const SRI: i64 = 45;
const REQUEST_REPORT: i64 = 23;
const EVENT_REPORT: i64 = 24;
const INITIAL_DP: i64 = 0;
const CONTINUE: i64 = 31;

/// Values of EventTypeBCSM, and of MonitorMode and MiscCallInfo's messageType.
const COLLECTED_INFO: i64 = 2;
const O_ANSWER: i64 = 7;
const O_DISCONNECT: i64 = 9;
const NOTIFY: i64 = 1;
/// LegType of who calls and who is called.
const CALLING_LEG: [u8; 1] = [1];
const CALLED_LEG: [u8; 1] = [2];

const MSISDN: [u8; 7] = [0x91, 0x44, 0x77, 0x00, 0x09, 0x10, 0x32];
const CENTRE: [u8; 7] = [0x91, 0x44, 0x77, 0x00, 0x00, 0x00, 0x09];
const MSC: [u8; 7] = [0x91, 0x44, 0x77, 0x00, 0x00, 0x00, 0x10];
const IMSI: [u8; 8] = [0x32, 0x14, 0x05, 0x00, 0x00, 0x00, 0x21, 0xf3];
const CALLING: [u8; 8] = [0x04, 0x13, 0x44, 0x77, 0x00, 0x09, 0x10, 0x32];
const CALLED: [u8; 7] = [0x91, 0x44, 0x77, 0x00, 0x09, 0x90, 0x99];

fn digits(octets: &[u8]) -> String {
    let halves = octets.iter().flat_map(|it| [it & 15, it >> 4]);
    halves.filter(|it| *it < 10).filter_map(|it| char::from_digit(it.into(), 10)).collect()
}

/// The number of whom these flows ask about.
pub(super) fn msisdn() -> String {
    digits(&MSISDN[1..])
}

/// Whom these flows ask about, as the file of an HLR inside the gateway has it.
pub(super) fn subscribers() -> String {
    let (msisdn, imsi, msc) = (msisdn(), digits(&IMSI), digits(&MSC[1..]));
    format!("msisdn,imsi,msc,msrn\n{msisdn},{imsi},{msc},\n")
}

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
        let portion = Portion {
            context: Some(self.context()),
            user_information: Bytes::new(),
            components: vec![self.question()],
        };
        let calling = Address::subsystem(None, own);
        Request::Begin { reference: 0, called: far, calling, state: None, portion }
    }

    /// The component that begins one.
    pub(super) fn question(self) -> Component {
        match self {
            Self::Routing => invoke(1, SRI, Some(asked())),
            Self::Call(..) => invoke(1, INITIAL_DP, Some(call())),
        }
    }

    /// Whether these components, of the message that ends the dialogue or of one that goes on, are
    /// what it was begun for.
    pub(super) fn is_answer(self, is_end: bool, components: &[Component]) -> bool {
        match (self, components) {
            (Self::Routing, [Component::Result { id: 1, is_last: true, result: Some(it) }]) => {
                let is_found = it.1.as_ref().and_then(|it| is_found(it)).is_some();
                is_end && it.0 == Code::Local(SRI) && is_found
            }
            (
                Self::Call(..),
                [
                    Component::Invoke { code: Code::Local(REQUEST_REPORT), parameter, .. },
                    Component::Invoke { code: Code::Local(CONTINUE), .. },
                ],
            ) => !is_end && parameter.as_ref().and_then(|it| are_events(it)).is_some(),
            _ => false,
        }
    }

    /// A report of the one who began a call.
    pub(super) fn report(dialogue: u64, is_release: bool) -> Request {
        let id = if is_release { 3 } else { 2 };
        let portion = Portion::of(vec![invoke(id, EVENT_REPORT, Some(event(is_release)))]);
        Request::Continue { dialogue, state: None, portion }
    }
}

/// Both sides know that a dialogue is over.
pub(super) fn over(dialogue: u64) -> Request {
    Request::End { dialogue, is_prearranged: true, portion: Portion::default() }
}

fn invoke(id: i8, code: i64, parameter: Option<Bytes>) -> Component {
    let code = Code::Local(code);
    Component::Invoke { id, linked: None, code, parameter, class: None, time_ms: None }
}

fn written<R: Rows>(write: impl FnOnce(&mut Fill<'_, '_, R>)) -> Bytes {
    let mut octets = Vec::with_capacity(64);
    Writer::new(&mut octets).record::<R>(write);
    octets.into()
}

fn asked() -> Bytes {
    written::<RoutingInfoForSmArg>(|out| {
        out.octets(RoutingInfoForSmArg::Msisdn, &MSISDN);
        out.boolean(RoutingInfoForSmArg::SmRpPri, true);
        out.octets(RoutingInfoForSmArg::ServiceCentreAddress, &CENTRE);
    })
}

fn found() -> Bytes {
    written::<RoutingInfoForSmRes>(|out| {
        out.octets(RoutingInfoForSmRes::Imsi, &IMSI);
        out.within::<LocationInfoWithLmsi>(RoutingInfoForSmRes::LocationInfoWithLmsi, |out| {
            out.octets(LocationInfoWithLmsi::NetworkNodeNumber, &MSC);
        });
    })
}

fn call() -> Bytes {
    written::<InitialDpArgPhase2>(|out| {
        out.integer(InitialDpArgPhase2::ServiceKey, 1);
        out.octets(InitialDpArgPhase2::CallingPartyNumber, &CALLING);
        out.integer(InitialDpArgPhase2::EventTypeBcsm, COLLECTED_INFO);
        out.octets(InitialDpArgPhase2::IMsi, &IMSI);
        out.octets(InitialDpArgPhase2::MscAddress, &MSC);
        out.octets(InitialDpArgPhase2::CalledPartyBcdNumber, &CALLED);
    })
}

/// What is monitored: a call's answer by who is called, and that who calls releases it.
const MONITORED: [(i64, [u8; 1]); 2] = [(O_ANSWER, CALLED_LEG), (O_DISCONNECT, CALLING_LEG)];

fn events() -> Bytes {
    written::<RequestReportBcsmEventArg>(|out| {
        out.list(RequestReportBcsmEventArg::BcsmEvents, |out| {
            for (event, leg) in MONITORED {
                out.record::<BcsmEvent>(|out| {
                    out.integer(BcsmEvent::EventTypeBcsm, event);
                    out.integer(BcsmEvent::MonitorMode, NOTIFY);
                    out.within::<LegId>(BcsmEvent::LegId, |out| {
                        out.octets(LegId::SendingSideId, &leg);
                    });
                });
            }
        });
    })
}

fn event(is_release: bool) -> Bytes {
    let (event, leg) = MONITORED[usize::from(is_release)];
    written::<EventReportBcsmArg>(|out| {
        out.integer(EventReportBcsmArg::EventTypeBcsm, event);
        out.within::<ReceivingSideId>(EventReportBcsmArg::LegId, |out| {
            out.octets(ReceivingSideId::ReceivingSideId, &leg);
        });
        out.within::<MiscCallInfo>(EventReportBcsmArg::MiscCallInfo, |out| {
            out.integer(MiscCallInfo::MessageType, NOTIFY);
        });
    })
}

fn is<R: Rows, const N: usize>(of: &Record<'_, R, N>, row: R, value: &[u8]) -> bool {
    of.octets(row).and_then(|it| it.whole()) == Some(value)
}

fn is_asked(octets: &[u8]) -> Option<()> {
    let it = RoutingInfoForSmArg::read(Element::only(octets).ok()?).ok()?;
    let is_right = is(&it, RoutingInfoForSmArg::Msisdn, &MSISDN)
        && it.boolean(RoutingInfoForSmArg::SmRpPri) == Some(true)
        && is(&it, RoutingInfoForSmArg::ServiceCentreAddress, &CENTRE);
    is_right.then_some(())
}

fn is_found(octets: &[u8]) -> Option<()> {
    let it = RoutingInfoForSmRes::read(Element::only(octets).ok()?).ok()?;
    let place = it.get(RoutingInfoForSmRes::LocationInfoWithLmsi)?;
    let place = LocationInfoWithLmsi::read(place).ok()?;
    let is_right = is(&it, RoutingInfoForSmRes::Imsi, &IMSI)
        && is(&place, LocationInfoWithLmsi::NetworkNodeNumber, &MSC);
    is_right.then_some(())
}

fn is_call(octets: &[u8]) -> Option<()> {
    let it = InitialDpArgPhase2::read(Element::only(octets).ok()?).ok()?;
    let is_right = it.integer(InitialDpArgPhase2::ServiceKey) == Some(1)
        && it.integer(InitialDpArgPhase2::EventTypeBcsm) == Some(COLLECTED_INFO)
        && is(&it, InitialDpArgPhase2::CallingPartyNumber, &CALLING)
        && is(&it, InitialDpArgPhase2::IMsi, &IMSI)
        && is(&it, InitialDpArgPhase2::MscAddress, &MSC)
        && is(&it, InitialDpArgPhase2::CalledPartyBcdNumber, &CALLED);
    is_right.then_some(())
}

fn are_events(octets: &[u8]) -> Option<()> {
    let it = RequestReportBcsmEventArg::read(Element::only(octets).ok()?).ok()?;
    let mut events = it.list(RequestReportBcsmEventArg::BcsmEvents);
    for (event, leg) in MONITORED {
        let it = BcsmEvent::read(events.next()?).ok()?;
        let is_right = it.integer(BcsmEvent::EventTypeBcsm) == Some(event)
            && it.integer(BcsmEvent::MonitorMode) == Some(NOTIFY)
            && it.get(BcsmEvent::LegId)?.contents() == leg;
        is_right.then_some(())?;
    }
    events.next().is_none().then_some(())
}

/// Whether a report tells the release of a call, or its answer.
fn is_release(octets: &[u8]) -> Option<bool> {
    let it = EventReportBcsmArg::read(Element::only(octets).ok()?).ok()?;
    let event = it.integer(EventReportBcsmArg::EventTypeBcsm)?;
    let leg = it.get(EventReportBcsmArg::LegId)?.contents();
    let at = MONITORED.iter().position(|known| *known == (event, leg.try_into().unwrap_or([0])))?;
    Some(at == 1)
}

/// What either side has counted of dialogues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    /// Questions that were answered.
    pub(super) answered: u64,
    /// Calls whose answer was reported.
    pub(super) reported: u64,
    /// Calls whose release was reported.
    pub(super) released: u64,
    /// What was not what this flow says.
    pub(super) wrong: u64,
}

impl Counts {
    /// What was counted since then.
    pub(super) const fn since(self, before: Self) -> Self {
        Self {
            answered: self.answered - before.answered,
            reported: self.reported - before.reported,
            released: self.released - before.released,
            wrong: self.wrong - before.wrong,
        }
    }
}

/// What who answers has counted so far, for another thread.
#[derive(Debug, Default)]
pub(super) struct Heard {
    answered: AtomicU64,
    reported: AtomicU64,
    released: AtomicU64,
    wrong: AtomicU64,
}

impl Heard {
    pub(super) fn counts(&self) -> Counts {
        let of = |it: &AtomicU64| it.load(Ordering::Relaxed);
        Counts {
            answered: of(&self.answered),
            reported: of(&self.reported),
            released: of(&self.released),
            wrong: of(&self.wrong),
        }
    }
}

/// HLR and gsmSCF: answers both flows.
pub(super) struct Answers(pub(super) Arc<Heard>);

impl Answers {
    /// What a component asks for; none if it is not of these flows, or does not say what it should.
    fn answer(&self, dialogue: u64, it: &Component) -> Option<Request> {
        let Component::Invoke { id, code, parameter: Some(parameter), .. } = it else {
            return None;
        };
        match code {
            Code::Local(SRI) => {
                is_asked(parameter)?;
                let result = Some((code.clone(), Some(found())));
                let portion =
                    Portion::of(vec![Component::Result { id: *id, is_last: true, result }]);
                self.0.answered.fetch_add(1, Ordering::Relaxed);
                Some(Request::End { dialogue, is_prearranged: false, portion })
            }
            Code::Local(INITIAL_DP) => {
                is_call(parameter)?;
                let portion = Portion::of(vec![
                    invoke(1, REQUEST_REPORT, Some(events())),
                    invoke(2, CONTINUE, None),
                ]);
                self.0.answered.fetch_add(1, Ordering::Relaxed);
                Some(Request::Continue { dialogue, state: None, portion })
            }
            _ => None,
        }
    }

    /// Whether a component reports the release of a call, or its answer.
    fn reports(it: &Component) -> Option<bool> {
        match it {
            Component::Invoke {
                code: Code::Local(EVENT_REPORT),
                parameter: Some(parameter),
                ..
            } => is_release(parameter),
            _ => None,
        }
    }
}

impl Service for Answers {
    fn indicated(&mut self, _now: Time, it: Indication, wants: &mut Vec<Request>) {
        let (Some(dialogue), Some(portion)) = (it.dialogue(), it.portion()) else { return };
        // Who begins leaves calls that stand at the end of a run.
        if !matches!(it, Indication::Begin { .. } | Indication::Continue { .. }) {
            return;
        }
        for component in &portion.components {
            match Self::reports(component) {
                Some(true) => {
                    self.0.released.fetch_add(1, Ordering::Relaxed);
                    wants.push(over(dialogue));
                }
                Some(false) => {
                    self.0.reported.fetch_add(1, Ordering::Relaxed);
                }
                None => match self.answer(dialogue, component) {
                    Some(request) => wants.push(request),
                    None => {
                        self.0.wrong.fetch_add(1, Ordering::Relaxed);
                    }
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLS: Flow = Flow::Call(Duration::ZERO, Duration::ZERO);

    fn hex(octets: &[u8]) -> String {
        octets.iter().map(|it| format!("{it:02x}")).collect()
    }

    fn told(answers: &mut Answers, components: Vec<Component>) -> Vec<Request> {
        let mut wants = Vec::new();
        let portion = Portion::of(components);
        let it = Indication::Continue { dialogue: 7, portion };
        answers.indicated(Time::ZERO, it, &mut wants);
        wants
    }

    #[test]
    fn what_is_said_has_the_octets_of_the_report_s_flows() {
        assert_eq!(hex(&asked()), "30158007914477000910328101ff820791447700000009");
        assert_eq!(hex(&found()), "3015040832140500000021f3a009810791447700000010");
        assert_eq!(
            hex(&call()),
            "302f800101830804134477000910329c01029f320832140500000021f3\
             9f3707914477000000109f380791447700099099"
        );
        assert_eq!(hex(&events()), "301ca01a300b800107810101a203800102300b800109810101a203800101");
        assert_eq!(hex(&event(false)), "300d800107a303810102a403800101");
        assert_eq!(hex(&event(true)), "300d800109a303810101a403800101");
    }

    #[test]
    fn services_inside_answer_as_the_report_s_flows_want() {
        let known = tcu::Subscribers::parse(&subscribers()).expect("it is a file of an HLR");
        let mut hlr = tcu::Hlr::new(Arc::new(known), &["*".to_owned()]);
        let ask = |service: &mut dyn Service, flow: Flow| {
            let (mut wants, far) = (Vec::new(), Address::subsystem(None, flow.subsystem()));
            let Request::Begin { called, calling, portion, .. } = flow.begin(8, far) else {
                panic!("it begins")
            };
            let it = Indication::Begin { dialogue: 7, called, calling, is_again: false, portion };
            service.indicated(Time::ZERO, it, &mut wants);
            wants
        };
        let wants = ask(&mut hlr, Flow::Routing);
        let [Request::End { portion, .. }] = &*wants else { panic!("{wants:?}") };
        assert!(Flow::Routing.is_answer(true, &portion.components), "{portion:?}");
        let wants = ask(&mut tcu::Monitor, CALLS);
        let [Request::Continue { portion, .. }] = &*wants else { panic!("{wants:?}") };
        assert!(CALLS.is_answer(false, &portion.components), "{portion:?}");
        for is_release in [false, true] {
            let Request::Continue { portion, .. } = Flow::report(7, is_release) else { panic!() };
            let (it, mut wants) = (Indication::Continue { dialogue: 7, portion }, Vec::new());
            tcu::Monitor.indicated(Time::ZERO, it, &mut wants);
            assert_eq!(wants, Vec::from_iter(is_release.then(|| over(7))));
        }
    }

    #[test]
    fn only_what_was_asked_for_is_an_answer() {
        let mut answers = Answers(Arc::default());
        let wants = told(&mut answers, vec![Flow::Routing.question()]);
        let [Request::End { portion, .. }] = &*wants else { panic!("{wants:?}") };
        let right = &portion.components;
        assert!(Flow::Routing.is_answer(true, right));
        assert!(!Flow::Routing.is_answer(false, right) && !CALLS.is_answer(true, right));
        let error = Component::Error { id: 1, code: Code::Local(27), parameter: None };
        let other = Some((Code::Local(SRI), Some(asked())));
        let other = Component::Result { id: 1, is_last: true, result: other };
        let none = Component::Result { id: 1, is_last: true, result: None };
        for wrong in [vec![], vec![error], vec![other], vec![none]] {
            assert!(!Flow::Routing.is_answer(true, &wrong), "{wrong:?}");
        }

        let wants = told(&mut answers, vec![CALLS.question()]);
        let [Request::Continue { portion, .. }] = &*wants else { panic!("{wants:?}") };
        assert!(CALLS.is_answer(false, &portion.components));
        assert!(!CALLS.is_answer(false, &portion.components[1..]));
        assert!(!CALLS.is_answer(true, &[]));
    }

    #[test]
    fn who_answers_counts_what_it_was_told_and_what_is_wrong() {
        let mut answers = Answers(Arc::default());
        for is_release in [false, true] {
            let Request::Continue { portion, .. } = Flow::report(7, is_release) else { panic!() };
            let wants = told(&mut answers, portion.components);
            assert_eq!(wants.len(), usize::from(is_release));
        }
        told(&mut answers, vec![invoke(1, SRI, Some(found()))]);
        told(&mut answers, vec![invoke(2, EVENT_REPORT, Some(call()))]);
        told(&mut answers, vec![CALLS.question()]);
        let counts = Counts { answered: 1, reported: 1, released: 1, wrong: 2 };
        assert_eq!(answers.0.counts(), counts);
    }
}
