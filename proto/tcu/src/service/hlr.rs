//! An HLR that says where subscribers are: sendRoutingInfoForSM and sendRoutingInfo, version 3
//! (TS 29.002 §10.1, §12.1).

use super::Service;
use super::subscribers::{Number, Subscriber, Subscribers};
use crate::primitive::{Code, Component, Indication, Portion, Request};
use ber::{Element, Record, Rows, Tag, Writer};
use bytes::Bytes;
use machine::Time;
use map::types::{
    LocationInfoWithLmsi, RoutingInfoForSmArg, RoutingInfoForSmRes, SendRoutingInfoArg,
    SendRoutingInfoRes,
};
use sccp::codec::{Address, Digits};
use std::sync::Arc;
use tcap::codec::{InvokeProblem, Problem};

const SEND_ROUTING_INFO: i64 = 22;
const SEND_ROUTING_INFO_FOR_SM: i64 = 45;
/// Errors (TS 29.002 §17.6).
const UNKNOWN_SUBSCRIBER: i64 = 1;
const ABSENT_SUBSCRIBER_SM: i64 = 6;
const ABSENT_SUBSCRIBER: i64 = 27;
/// The version of contexts that it has.
const VERSION: u8 = 3;
/// Octets of an ISDN-AddressString, at most.
const ISDN_OCTETS_MAX: usize = 9;

/// Answers from a table of subscribers, those who may ask.
#[derive(Debug, Clone)]
pub struct Hlr {
    subscribers: Arc<Subscribers>,
    answers_all: bool,
    allowed: Vec<Digits>,
}

impl Hlr {
    /// One with these subscribers, which those may ask for whose titles begin with one of
    /// `allowed`; `*`: anybody.
    #[must_use]
    pub fn new(subscribers: Arc<Subscribers>, allowed: &[String]) -> Self {
        let answers_all = allowed.iter().any(|it| it == "*");
        let allowed = allowed.iter().filter_map(|it| Digits::parse(it)).collect();
        Self { subscribers, answers_all, allowed }
    }

    /// Whether who has that address may ask.
    fn may_ask(&self, calling: &Address) -> bool {
        let begins = |digits: Digits| self.allowed.iter().any(|it| digits.first(it.len()) == *it);
        self.answers_all || calling.title.as_ref().is_some_and(|it| begins(it.digits))
    }

    /// What an invoke is answered with.
    fn answer(&self, id: i8, code: Code, parameter: Option<&Bytes>) -> Component {
        let asked = match code {
            Code::Local(SEND_ROUTING_INFO_FOR_SM) => {
                msisdn(parameter, RoutingInfoForSmArg::read, RoutingInfoForSmArg::Msisdn)
            }
            Code::Local(SEND_ROUTING_INFO) => {
                msisdn(parameter, SendRoutingInfoArg::read, SendRoutingInfoArg::Msisdn)
            }
            _ => return reject(id, InvokeProblem::UnrecognizedOperation),
        };
        let Some(asked) = asked else { return reject(id, InvokeProblem::MistypedParameter) };
        let error = |code| Component::Error { id, code: Code::Local(code), parameter: None };
        let Some(found) = self.subscribers.of(asked) else { return error(UNKNOWN_SUBSCRIBER) };
        let is_for_sm = code == Code::Local(SEND_ROUTING_INFO_FOR_SM);
        let result = match (is_for_sm, found.msc(), found.msrn()) {
            (true, Some(msc), _) => for_short_messages(found, msc),
            (true, None, _) => return error(ABSENT_SUBSCRIBER_SM),
            (false, _, Some(msrn)) => for_calls(found, msrn),
            (false, _, None) => return error(ABSENT_SUBSCRIBER),
        };
        Component::Result { id, is_last: true, result: Some((code, Some(result))) }
    }
}

impl Service for Hlr {
    fn indicated(&mut self, _now: Time, it: Indication, wants: &mut Vec<Request>) {
        let Indication::Begin { dialogue, calling, portion, .. } = it else { return };
        if !self.may_ask(&calling) {
            let portion = Portion::default();
            return wants.push(Request::UAbort { dialogue, portion });
        }
        // A context of another version is refused, with the one that may be asked for.
        if let Some(context) = &portion.context
            && let Some((version, before)) = context.split_last()
            && *version != VERSION
        {
            let context = Some([before, &[VERSION]].concat().into());
            let portion = Portion { context, ..Portion::default() };
            return wants.push(Request::UAbort { dialogue, portion });
        }
        let answered = portion.components.into_iter().filter_map(|it| match it {
            Component::Invoke { id, code, parameter, .. } => {
                Some(self.answer(id, code, parameter.as_ref()))
            }
            _ => None,
        });
        let portion = Portion::of(answered.collect());
        wants.push(Request::End { dialogue, is_prearranged: false, portion });
    }
}

const fn reject(id: i8, problem: InvokeProblem) -> Component {
    Component::Reject { id: Some(id), problem: Problem::Invoke(problem) }
}

/// The MSISDN in an argument; none where that is not of its type.
fn msisdn<'a, R: Rows, const N: usize>(
    parameter: Option<&'a Bytes>,
    read: impl FnOnce(Element<'a>) -> Result<Record<'a, R, N>, wire::Malformed>,
    row: R,
) -> Option<Number> {
    let argument = read(Element::only(parameter?).ok()?).ok()?;
    let mut room = [0; ISDN_OCTETS_MAX];
    Number::of_isdn(argument.octets(row)?.copy(&mut room)?)
}

fn for_short_messages(of: &Subscriber, msc: Number) -> Bytes {
    let mut octets = Vec::with_capacity(32);
    Writer::new(&mut octets).record::<RoutingInfoForSmRes>(|out| {
        of.imsi().as_tbcd(|it| out.octets(RoutingInfoForSmRes::Imsi, it));
        out.within::<LocationInfoWithLmsi>(RoutingInfoForSmRes::LocationInfoWithLmsi, |out| {
            msc.as_isdn(|it| out.octets(LocationInfoWithLmsi::NetworkNodeNumber, it));
        });
    });
    octets.into()
}

fn for_calls(of: &Subscriber, msrn: Number) -> Bytes {
    let mut octets = Vec::with_capacity(32);
    Writer::new(&mut octets).record::<SendRoutingInfoRes>(|out| {
        of.imsi().as_tbcd(|it| out.octets(SendRoutingInfoRes::Imsi, it));
        // extendedRoutingInfo, routingInfo, roamingNumber: choices without tags of their own.
        msrn.as_isdn(|it| {
            let mut number = Vec::with_capacity(ISDN_OCTETS_MAX + 2);
            Writer::new(&mut number).octets(Tag::OCTET_STRING, it);
            out.element(&number);
        });
    });
    octets.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Speech;
    use crate::json::shown;
    use sccp::codec::Title;

    fn hlr(allowed: &str) -> Hlr {
        let text = "msisdn,imsi,msc,msrn\n\
            447700900123,234150000000123,447700000001,447700800001\n\
            447700900124,234150000000124,,\n";
        Hlr::new(Arc::new(Subscribers::parse(text).unwrap()), &[allowed.to_owned()])
    }

    fn begun(context: map::Context, version: u8, components: Vec<Component>) -> Vec<Request> {
        let nobody = Address::subsystem(None, 6);
        let context = Some(Bytes::copy_from_slice(&context.oid(version)));
        let portion = Portion { context, ..Portion::of(components) };
        let (called, calling) = (nobody, nobody);
        let it = Indication::Begin { dialogue: 7, called, calling, is_again: false, portion };
        let mut wants = Vec::new();
        hlr("*").indicated(Time::ZERO, it, &mut wants);
        wants
    }

    fn asked(code: i64, msisdn: u8) -> Component {
        let msisdn = [0x91, 0x44, 0x77, 0x00, 0x09, 0x10, msisdn];
        let mut octets = Vec::new();
        match code {
            SEND_ROUTING_INFO => Writer::new(&mut octets).record::<SendRoutingInfoArg>(|out| {
                out.octets(SendRoutingInfoArg::Msisdn, &msisdn);
                out.integer(SendRoutingInfoArg::InterrogationType, 0);
                out.octets(SendRoutingInfoArg::GmscOrGsmScfAddress, &msisdn);
            }),
            _ => Writer::new(&mut octets).record::<RoutingInfoForSmArg>(|out| {
                out.octets(RoutingInfoForSmArg::Msisdn, &msisdn);
                out.boolean(RoutingInfoForSmArg::SmRpPri, true);
                out.octets(RoutingInfoForSmArg::ServiceCentreAddress, &msisdn);
            }),
        }
        let (code, parameter) = (Code::Local(code), Some(octets.into()));
        Component::Invoke { id: 1, linked: None, code, parameter, class: None, time_ms: None }
    }

    /// What is answered, with the names of MAP.
    fn answered(context: map::Context, components: Vec<Component>) -> String {
        let wants = begun(context, VERSION, components);
        let [Request::End { dialogue: 7, is_prearranged: false, portion }] = &*wants else {
            panic!("{wants:?}")
        };
        let speech = Speech::of_context(&context.oid(VERSION));
        let all = portion.components.iter().map(|it| shown(it, speech));
        all.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn where_a_subscriber_is_is_answered_by_the_file() {
        let sm = map::Context::ShortMsgGateway;
        let text = answered(sm, vec![asked(SEND_ROUTING_INFO_FOR_SM, 0x32)]);
        assert!(text.contains("\"networkNode-Number\":\"91447700000010\""), "{text}");
        assert!(text.contains("\"imsi\":\"32140500000021f3\""), "{text}");
        let text = answered(sm, vec![asked(SEND_ROUTING_INFO_FOR_SM, 0x42)]);
        assert!(text.contains("absentSubscriberSM"), "{text}");
        let text = answered(sm, vec![asked(SEND_ROUTING_INFO_FOR_SM, 0x99)]);
        assert!(text.contains("unknownSubscriber"), "{text}");
        let calls = map::Context::LocationInfoRetrieval;
        let text = answered(calls, vec![asked(SEND_ROUTING_INFO, 0x32)]);
        assert!(text.contains("\"roamingNumber\":\"91447700080010\""), "{text}");
        let text = answered(calls, vec![asked(SEND_ROUTING_INFO, 0x42)]);
        assert!(text.contains("absentSubscriber"), "{text}");
    }

    #[test]
    fn what_it_has_not_is_rejected_and_other_versions_are_refused() {
        let sm = map::Context::ShortMsgGateway;
        let (code, parameter) = (Code::Local(SEND_ROUTING_INFO_FOR_SM), None);
        let (linked, class, time_ms) = (None, None, None);
        let bare = Component::Invoke { id: 1, linked, code, parameter, class, time_ms };
        let (code, parameter) = (Code::Local(66), None);
        let other = Component::Invoke { id: 2, linked, code, parameter, class, time_ms };
        let text = answered(sm, vec![bare, other]);
        assert!(text.contains("mistypedParameter"), "{text}");
        assert!(text.contains("unrecognizedOperation"), "{text}");
        let wants = begun(sm, 2, vec![asked(SEND_ROUTING_INFO_FOR_SM, 0x32)]);
        let [Request::UAbort { dialogue: 7, portion }] = &*wants else { panic!("{wants:?}") };
        assert_eq!(portion.context.as_deref(), Some(&sm.oid(VERSION)[..]));
    }

    #[test]
    fn who_has_no_title_that_is_allowed_is_told_nothing() {
        let nobody = Address::subsystem(None, 6);
        let titled = |digits| {
            let title = Some(Title::e164(Digits::parse(digits).unwrap()));
            Address { title, ..nobody }
        };
        let is_told = |allowed: &str, calling: Address| {
            let components = vec![asked(SEND_ROUTING_INFO_FOR_SM, 0x32)];
            let portion = Portion::of(components);
            let (called, is_again, mut wants) = (nobody, false, Vec::new());
            let it = Indication::Begin { dialogue: 7, called, calling, is_again, portion };
            hlr(allowed).indicated(Time::ZERO, it, &mut wants);
            match &*wants {
                [Request::End { .. }] => true,
                [Request::UAbort { dialogue: 7, .. }] => false,
                other => panic!("{other:?}"),
            }
        };
        assert!(is_told("4478", titled("447800")) && is_told("4478", titled("4478")));
        assert!(!is_told("4478", titled("447900")) && !is_told("4478", titled("447")));
        assert!(!is_told("4478", nobody) && is_told("*", nobody));
    }
}
