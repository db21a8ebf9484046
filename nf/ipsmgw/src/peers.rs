//! Dialogues that peers begin: who may, in which context, and what they ask.

use crate::delivery::{Content, Delivery};
use crate::effects::Out;
use crate::flow::{Flow, key};
use crate::gateway::Gateway;
use crate::metrics::Metric;
use crate::notice::Notice;
use crate::peer_operation::{Read, invoke_of, read};
use crate::routing::Routing;
use crate::shared::{Event, abort};
use crate::step::Asked;
use bytes::Bytes;
use machine::Time;
use map::negotiation::{Verdict, judge};
use map::{Context, Operation};
use mapsms::argument::Argument;
use mapsms::asking::Reply;
use mapsms::by_diameter::names::Names;
use mapsms::by_diameter::{Named, VERSION};
use mapsms::identity::Msisdn;
use mapsms::informed::MwStatus;
use mapsms::invoked::Invoked;
use sccp::codec::Address;
use smsdiameter::{digits_of, home_of};
use tcu::{Component, Portion, Request};

/// The one invoke of a request of Diameter.
const INVOKE: i8 = 1;

/// The context and version of a dialogue, if they are spoken here.
const fn speaks(context: Context, version: u8) -> bool {
    match context {
        Context::ShortMsgGateway | Context::ShortMsgMtRelay => true,
        // Version 1 has one operation for both ways (GSM 09.02 §14.6.5).
        Context::ShortMsgMoRelay => version == 1,
        _ => false,
    }
}

/// The operation that a request of Diameter is.
pub(crate) const fn asked(dialogue: u64, operation: Operation) -> Asked {
    Asked { dialogue, version: VERSION, invoke: INVOKE, operation }
}

impl Gateway {
    /// A peer begins a dialogue.
    pub(crate) fn peer_begins(
        &mut self,
        dialogue: u64,
        calling: &Address,
        portion: &Portion,
        out: &mut Vec<Out>,
    ) {
        let first = invoke_of(&portion.components).map(|it| it.1);
        let verdict = judge(portion.context.as_deref(), first, speaks);
        let title = self.title_of(calling);
        let (context, version, title) = match (verdict, title) {
            (Verdict::Accept(context, version), Some(title)) => (context, version, title),
            (Verdict::Refuse(context, version), Some(_)) => {
                let context = Some(Bytes::copy_from_slice(&context.oid(version)));
                return self.refuse(dialogue, Portion { context, ..Portion::default() }, out);
            }
            _ => return self.refuse(dialogue, Portion::default(), out),
        };
        match read(dialogue, context, version, &portion.components) {
            Some(Read::Operation(asked, invoked)) => self.invoked(asked, invoked, title, out),
            Some(Read::Answer(component)) => self.answered(dialogue, component, out),
            // The operation is long, and follows (TS 29.002 §23.2.1).
            None if context == Context::ShortMsgMtRelay => {
                let delivery = Delivery::awaited(dialogue, version);
                let flow = Flow::Delivery(Box::new(delivery));
                self.opened(dialogue, &title, flow, None, out);
            }
            None => self.refuse(dialogue, Portion::default(), out),
        }
    }

    /// The title of an address that may ask here: it is a number and allowed, and not the gateway's
    /// own, as that of a question of its own which came back is.
    fn title_of(&self, calling: &Address) -> Option<Msisdn> {
        let digits = digits_of(calling)?;
        let settings = &self.shared.settings;
        let title = Msisdn::of(&digits).filter(|it| *it != settings.number)?;
        settings.is_allowed(&digits).then_some(title)
    }

    /// A peer of Diameter that may ask does. Its node gives up an answer that comes too late.
    pub(crate) fn peer_asks(
        &mut self,
        now: Time,
        asked: Asked,
        invoked: Invoked,
        title: Msisdn,
        out: &mut Vec<Out>,
    ) {
        let flow = Self::flow_of(asked, invoked, &title);
        let latest = self.shared.settings.home.answer_time.map(|it| now + it);
        self.opened(asked.dialogue, &title, flow, latest, out);
    }

    /// A peer of Diameter was asked: what came of it, if somebody still waits for it.
    pub(crate) fn peer_replied(
        &mut self,
        reference: u64,
        reply: Reply,
        names: Vec<Named>,
        informed: Option<MwStatus>,
    ) {
        let Some(flow) = self.shared.begins.remove(&reference) else { return };
        let at = self.flows.at_mut(key(flow)).and_then(Flow::asking).and_then(Option::as_mut);
        if let Some(Argument::Routing { msisdn, .. }) = at.map(|it| it.argument()) {
            let source = home_of(&self.shared.settings.home.destinations, msisdn);
            names.into_iter().for_each(|it| self.shared.known.names.learn(&source, it));
        }
        if let Some(status) = informed {
            self.shared.events.push_back((flow, Event::Informed(status)));
        }
        self.shared.events.push_back((flow, Event::Replied(reply)));
    }

    /// Nodes that are known by their names in Diameter.
    pub(crate) const fn names(&self) -> &Names {
        &self.shared.known.names
    }

    fn refuse(&self, dialogue: u64, portion: Portion, out: &mut Vec<Out>) {
        self.shared.metrics.add(Metric::DialoguesRefused, 1);
        out.push(abort(dialogue, portion));
    }

    fn answered(&self, dialogue: u64, component: Component, out: &mut Vec<Out>) {
        self.shared.metrics.add(Metric::Malformed, 1);
        let portion = Portion::of(vec![component]);
        let end = Request::End { dialogue, is_prearranged: false, portion };
        out.push(Out::Request(Box::new(end)));
    }

    fn invoked(&mut self, asked: Asked, invoked: Invoked, title: Msisdn, out: &mut Vec<Out>) {
        let flow = Self::flow_of(asked, invoked, &title);
        self.opened(asked.dialogue, &title, flow, None, out);
    }

    fn flow_of(asked: Asked, invoked: Invoked, title: &Msisdn) -> Flow {
        match invoked {
            Invoked::Routing { msisdn, centre, has_priority } => {
                let asker = title.clone();
                let routing = Routing::new(asked, asker, msisdn, centre, has_priority);
                Flow::Routing(Box::new(routing))
            }
            Invoked::Deliver { imsi, centre, tpdu, has_more } => {
                let content = Content { imsi, centre, tpdu, has_more };
                Flow::Delivery(Box::new(Delivery::new(asked, content)))
            }
            Invoked::Report { msisdn, centre, outcome, diagnostic } => {
                let asker = title.clone();
                let notice = Notice::report(asked, asker, msisdn, centre, outcome, diagnostic);
                Flow::Notice(Box::new(notice))
            }
        }
    }

    fn opened(
        &mut self,
        dialogue: u64,
        title: &Msisdn,
        flow: Flow,
        latest: Option<Time>,
        out: &mut Vec<Out>,
    ) {
        if !self.adopt(dialogue, title, flow, latest) {
            out.push(abort(dialogue, Portion::default()));
        }
    }
}
