//! A gsmSCF that lets calls go on and monitors them: their answer, and that who calls releases them
//! (TS 29.078 §11, phases 1 and later).

use super::Service;
use crate::primitive::{Code, Component, Indication, Portion, Request};
use ber::{Element, Fill, Writer};
use bytes::Bytes;
use cap::types::{BcsmEvent, EventReportBcsmArg, LegId, RequestReportBcsmEventArg};
use machine::Time;
use tcap::codec::{InvokeProblem, Problem};

const INITIAL_DP: i64 = 0;
const REQUEST_REPORT: i64 = 23;
const EVENT_REPORT: i64 = 24;
const CONTINUE: i64 = 31;

/// Values of EventTypeBCSM, with the LegType that they are of: who is called has answered, who
/// calls has released.
const MONITORED: [(i64, [u8; 1]); 2] = [(O_ANSWER, [2]), (O_DISCONNECT, [1])];
const O_ANSWER: i64 = 7;
const O_DISCONNECT: i64 = 9;
/// MonitorMode notifyAndContinue.
const NOTIFY: i64 = 1;

/// Monitors calls; both sides know that a dialogue is over when the release is reported.
#[derive(Debug, Clone, Copy, Default)]
pub struct Monitor;

impl Service for Monitor {
    fn indicated(&mut self, _now: Time, it: Indication, wants: &mut Vec<Request>) {
        if !matches!(it, Indication::Begin { .. } | Indication::Continue { .. }) {
            return;
        }
        let (Some(dialogue), Some(portion)) = (it.dialogue(), it.portion()) else { return };
        // One message is answered by one: who sends it has said where that goes.
        let (mut answers, mut is_asked) = (Vec::new(), false);
        for component in &portion.components {
            let Component::Invoke { id, code, parameter, .. } = component else { continue };
            match code {
                Code::Local(INITIAL_DP) if is_asked => {
                    answers.push(reject(*id, InvokeProblem::ResourceLimitation));
                }
                Code::Local(INITIAL_DP) => {
                    is_asked = true;
                    answers.push(invoke(1, REQUEST_REPORT, Some(events())));
                    answers.push(invoke(2, CONTINUE, None));
                }
                Code::Local(EVENT_REPORT) => match event(parameter.as_ref()) {
                    Some(O_DISCONNECT) => {
                        let (is_prearranged, portion) = (true, Portion::default());
                        wants.push(Request::End { dialogue, is_prearranged, portion });
                        return;
                    }
                    Some(_) => {}
                    None => answers.push(reject(*id, InvokeProblem::MistypedParameter)),
                },
                _ => answers.push(reject(*id, InvokeProblem::UnrecognizedOperation)),
            }
        }
        if !answers.is_empty() {
            let portion = Portion::of(answers);
            wants.push(Request::Continue { dialogue, state: None, portion });
        }
    }
}

fn invoke(id: i8, code: i64, parameter: Option<Bytes>) -> Component {
    let code = Code::Local(code);
    Component::Invoke { id, linked: None, code, parameter, class: None, time_ms: None }
}

const fn reject(id: i8, problem: InvokeProblem) -> Component {
    Component::Reject { id: Some(id), problem: Problem::Invoke(problem) }
}

/// What the call reports.
fn event(parameter: Option<&Bytes>) -> Option<i64> {
    let it = EventReportBcsmArg::read(Element::only(parameter?).ok()?).ok()?;
    it.integer(EventReportBcsmArg::EventTypeBcsm)
}

fn events() -> Bytes {
    let mut octets = Vec::with_capacity(48);
    Writer::new(&mut octets).record::<RequestReportBcsmEventArg>(
        |out: &mut Fill<'_, '_, RequestReportBcsmEventArg>| {
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
        },
    );
    octets.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(components: Vec<Component>) -> Vec<Request> {
        let (portion, mut wants) = (Portion::of(components), Vec::new());
        let it = Indication::Continue { dialogue: 7, portion };
        Monitor.indicated(Time::ZERO, it, &mut wants);
        wants
    }

    #[test]
    fn a_call_goes_on_and_its_events_are_asked_for() {
        let wants = told(vec![invoke(1, INITIAL_DP, None)]);
        let [Request::Continue { dialogue: 7, portion, .. }] = &*wants else { panic!("{wants:?}") };
        let [Component::Invoke { parameter: Some(asked), .. }, Component::Invoke { code, .. }] =
            &*portion.components
        else {
            panic!("{portion:?}")
        };
        let hex: String = asked.iter().map(|it| format!("{it:02x}")).collect();
        assert_eq!(hex, "301ca01a300b800107810101a203800102300b800109810101a203800101");
        assert_eq!(*code, Code::Local(CONTINUE));
    }

    #[test]
    fn a_release_ends_the_dialogue_and_what_is_not_understood_is_rejected_by_one_message() {
        let report = |event: u8| {
            let octets = Bytes::copy_from_slice(&[0x30, 3, 0x80, 1, event]);
            told(vec![invoke(2, EVENT_REPORT, Some(octets))])
        };
        assert_eq!(report(7), []);
        assert!(matches!(*report(9), [Request::End { dialogue: 7, is_prearranged: true, .. }]));
        let rejected = told(vec![invoke(2, EVENT_REPORT, None), invoke(3, 99, None)]);
        let [Request::Continue { dialogue: 7, portion, .. }] = &*rejected else {
            panic!("{rejected:?}")
        };
        let problems = portion.components.iter().map(|it| match it {
            Component::Reject { problem: Problem::Invoke(it), .. } => *it,
            other => panic!("{other:?}"),
        });
        let wanted = [InvokeProblem::MistypedParameter, InvokeProblem::UnrecognizedOperation];
        assert_eq!(problems.collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn a_call_that_begins_many_times_in_one_message_is_monitored_once() {
        let wants = told((0..100).map(|id| invoke(id, INITIAL_DP, None)).collect());
        let [Request::Continue { portion, .. }] = &*wants else { panic!("{wants:?}") };
        let asks = portion.components.iter().filter(|it| matches!(it, Component::Invoke { .. }));
        assert_eq!((asks.count(), portion.components.len()), (2, 101));
    }
}
