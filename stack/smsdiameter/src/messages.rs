//! Short messages by S6c and SGd (TS 29.338): what flows ask of peers, and what peers ask of them.
//!
//! ```text
//!   PeerQuestion ─→ ask_peer ─→ SRR, RDR, ALR, OFR, TFR ─→ Peers
//!   Event::Replied ←─ replied ←─ SRA, RDA, ALA, OFA, TFA
//!   Event::Asked ←─ serve ←─ SRR, RDR, TFR
//!   END, U-ABORT ─→ give ─→ SRA, RDA, TFA
//! ```
//! A request of a peer is a dialogue with one operation to the flow that answers it.

use crate::applications::{Applications, Event};
use crate::destinations::{DestinationKeys, Place};
use crate::home::{PeerQuestion, by_diameter, is_by_diameter};
use crate::metrics::HomeMetric;
use crate::sh::{Pending, To, begin};
use bytes::Bytes;
use diameter::codec::{Message, ResultCode, Writer};
use diameter::{Outcome, Outgoing, PeerId, RequestId};
use diameter_stack::Peers;
use machine::Time;
use map::Operation;
use mapsms::argument::Argument;
use mapsms::asking::{Reply, Silence};
use mapsms::by_diameter::names::Names;
use mapsms::by_diameter::serve::{Own, operation, read};
use mapsms::by_diameter::{Named, VERSION, answer, ask, serve};
use mapsms::identity::Msisdn;
use mapsms::informed::MwStatus;
use mapsms::invoked::Invoked;
use runtime::Effects;
use std::collections::BTreeMap;
use tcu::{Component, Request};

/// A request of a peer that a flow answers.
#[derive(Debug)]
struct Served {
    request: RequestId,
    octets: Bytes,
    operation: Operation,
}

/// Requests of peers under way; as many as there are flows for them.
#[derive(Debug, Default)]
pub(crate) struct Dialogues {
    last: u64,
    served: BTreeMap<u64, Served>,
}

impl Dialogues {
    fn open(&mut self, served: Served) -> u64 {
        self.last = self.last.wrapping_add(1);
        let dialogue = by_diameter(self.last);
        self.served.insert(dialogue, served);
        dialogue
    }

    /// The request of a dialogue.
    pub(crate) fn octets_of(&self, dialogue: u64) -> Option<Bytes> {
        self.served.get(&dialogue).map(|it| it.octets.clone())
    }

    /// Those of a node that is no more are answered by nobody.
    pub(crate) fn forget(&mut self) {
        self.served.clear();
    }
}

/// What came of a request, and the nodes that its answer told with their names.
fn reply_of(operation: Operation, outcome: &Outcome) -> (Reply, Vec<Named>) {
    let silence = |why| (Reply::Silence(why), Vec::new());
    let octets = match outcome {
        Outcome::Answer(octets) => octets,
        Outcome::Malformed(..) => return silence(Silence::Aborted),
        Outcome::NotSent(_) => return silence(Silence::Undelivered),
        Outcome::Expired => return silence(Silence::Timeout),
    };
    let Ok(message) = Message::read(octets) else { return silence(Silence::Aborted) };
    match answer::read(operation, &message) {
        // Whoever takes messages or reports says nothing of other nodes.
        Ok(result) if operation == Operation::SendRoutingInfoForSm => {
            (Reply::Result(result), answer::names(&message))
        }
        Ok(result) => (Reply::Result(result), Vec::new()),
        Err(it) => (Reply::Error(Some(it.error), it.parameter), Vec::new()),
    }
}

/// What an answer tells of the messages that wait for a subscriber, beside what it answers.
fn informed_of(operation: Operation, outcome: &Outcome) -> Option<MwStatus> {
    let Outcome::Answer(octets) = outcome else { return None };
    let message = Message::read(octets).ok()?;
    (operation == Operation::SendRoutingInfoForSm).then(|| answer::informed(&message)).flatten()
}

/// The service centre in whose name is asked.
fn centre_of(invoked: &Invoked) -> Option<Msisdn> {
    let (Invoked::Routing { centre, .. }
    | Invoked::Deliver { centre, .. }
    | Invoked::Report { centre, .. }) = invoked;
    Msisdn::of_address_string(centre.octets())
}

impl Applications {
    /// Asks a peer what a flow asks, on whose trail that is.
    pub fn ask_peer(
        &mut self,
        now: Time,
        question: PeerQuestion,
        trail: Option<u64>,
        out: &mut Effects,
    ) {
        let PeerQuestion { reference, argument, place } = question;
        let pending = Pending::Peer { reference, operation: argument.operation(VERSION) };
        let written = self.put(&argument, &place);
        let (Some(message), Some(peers)) = (written, &mut self.peers) else {
            return self.ended(pending, &Outcome::NotSent(ResultCode::UnableToDeliver));
        };
        self.tokens += 1;
        self.pending.insert(self.tokens, pending);
        self.metrics.add(HomeMetric::PeersAsked, 1);
        trail.into_iter().for_each(|it| self.legs.is_of(&message, true, it));
        peers.request(now, Outgoing { token: self.tokens, message, timeout: None }, out);
    }

    fn put(&mut self, argument: &Argument, place: &Place) -> Option<Vec<u8>> {
        let of = ask::command(argument)?;
        let session = self.sessions.as_mut()?.next_id();
        let own = self.peers.as_ref()?.node().settings();
        let to = To { realm: &place.realm, host: place.host.as_deref() };
        let mut octets = Vec::new();
        let writer = begin(own, &mut octets, of, &session, &to);
        ask::write(argument, writer)?.end().ok().map(|()| octets)
    }

    /// What a flow asked has come to its end.
    pub(crate) fn replied(&mut self, reference: u64, operation: Operation, outcome: &Outcome) {
        let (reply, names) = reply_of(operation, outcome);
        let informed = informed_of(operation, outcome);
        if !matches!(reply, Reply::Result(_)) {
            self.metrics.add(HomeMetric::PeersFailed, 1);
        }
        self.events.push_back(Event::Replied { reference, reply, names, informed });
    }

    /// A request of a peer: a flow answers it, or it is refused; false: it is another one.
    pub(crate) fn serve(
        &mut self,
        now: Time,
        from: (RequestId, PeerId),
        octets: &Bytes,
        out: &mut Effects,
    ) -> bool {
        let (request, peer) = from;
        let Ok(message) = Message::read(octets) else { return false };
        let operation = operation(&message).filter(|_| self.askers.is_any());
        let Some(operation) = operation else { return false };
        let invoked = match read(operation, &message) {
            Ok(invoked) => invoked,
            Err(unfit) => {
                self.metrics.add(HomeMetric::PeersRefused, 1);
                self.answer(now, request, &message, |it| unfit.write(it), out);
                return true;
            }
        };
        let node = self.peers.as_ref().map(Peers::node);
        let comes = |it: &DestinationKeys| {
            let to = (&*it.realm, it.host.as_deref());
            node.is_some_and(|node| node.is_on_way(peer, to, it.role.application()))
        };
        let may = |it: &Msisdn| self.askers.admits(&message, &invoked, it, comes);
        let centre = centre_of(&invoked).filter(may);
        let Some(centre) = centre else {
            self.metrics.add(HomeMetric::PeersRefused, 1);
            let code = ResultCode::AuthorizationRejected;
            self.answer(now, request, &message, |it| it.result(code), out);
            return true;
        };
        self.metrics.add(HomeMetric::PeersServed, 1);
        let served = Served { request, octets: octets.clone(), operation };
        let (dialogue, title) = (self.dialogues.open(served), centre);
        self.events.push_back(Event::Asked { dialogue, title, operation, invoked });
        true
    }

    /// Answers the request of a peer, whose dialogue that is; false: it is another one's.
    pub fn give(&mut self, now: Time, said: &Request, names: &Names, out: &mut Effects) -> bool {
        let Some(dialogue) = said.dialogue().filter(|it| is_by_diameter(*it)) else { return false };
        let components: &[Component] = match said {
            Request::End { portion, .. } => &portion.components,
            _ => &[],
        };
        let Some(served) = self.dialogues.served.remove(&dialogue) else { return true };
        let Ok(message) = Message::read(&served.octets) else { return true };
        let Some(own) = self.own() else { return true };
        let of = self.askers.home_of(&message);
        let named = |it: &Msisdn| names.at(&of, it).cloned();
        let (request, operation) = (served.request, served.operation);
        self.answer(
            now,
            request,
            &message,
            |it| serve::answer(operation, components, &own, named, it),
            out,
        );
        true
    }

    fn own(&self) -> Option<Own> {
        let settings = self.peers.as_ref()?.node().settings();
        let (host, realm) = (settings.host.clone(), settings.realm.clone());
        Some(Own { number: Msisdn::of(self.askers.own())?, host, realm })
    }

    fn answer(
        &mut self,
        now: Time,
        request: RequestId,
        message: &Message<'_>,
        write: impl FnOnce(Writer<'_>) -> Writer<'_>,
        out: &mut Effects,
    ) {
        let Some(peers) = &mut self.peers else { return };
        let mut octets = Vec::new();
        if write(peers.answer_to(message, &mut octets, false)).end().is_ok() {
            peers.answer(now, request, octets, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use diameter::codec::Header;
    use diameter::row::{Application, Command};
    use diameter::rows::base::USER_NAME;
    use diameter::rows::{s6c, sgd};

    /// An answer that names an MME, whatever it answers.
    fn answered(of: (&Application, &Command), code: ResultCode) -> Outcome {
        let mut octets = Vec::new();
        Writer::request(&mut octets, of.1, of.0.id).end().unwrap();
        let header: Header = Message::read(&octets).unwrap().header;
        let mut octets = Vec::new();
        Writer::answer(&mut octets, &header)
            .result(code)
            .put(&USER_NAME, "234150000000123")
            .group(&s6c::SERVING_NODE, |out| {
                out.put(&s6c::MME_NAME, "mme1.home");
                out.put(&s6c::MME_REALM, "home");
                out.put(&s6c::MME_NUMBER_FOR_MT_SMS, [0x44, 0x97, 0x00, 0x00]);
            })
            .end()
            .unwrap();
        Outcome::Answer(octets.into())
    }

    #[test]
    fn nodes_are_named_by_routing_information_that_was_given_and_by_nothing_else() {
        let routing = (&s6c::S6C, &s6c::SEND_ROUTING_INFO_FOR_SM);
        let report = (&s6c::S6C, &s6c::REPORT_SM_DELIVERY_STATUS);
        let submit = (&sgd::SGD, &sgd::MO_FORWARD_SHORT_MESSAGE);
        let deliver = (&sgd::SGD, &sgd::MT_FORWARD_SHORT_MESSAGE);
        for (of, operation, code, named) in [
            (routing, Operation::SendRoutingInfoForSm, ResultCode::Success, 1),
            (routing, Operation::SendRoutingInfoForSm, ResultCode::UnableToComply, 0),
            (report, Operation::ReportSmDeliveryStatus, ResultCode::Success, 0),
            (submit, Operation::MoForwardSm, ResultCode::Success, 0),
            (deliver, Operation::MtForwardSm, ResultCode::Success, 0),
        ] {
            let (_, names) = reply_of(operation, &answered(of, code));
            assert_eq!(names.len(), named, "{operation:?} {code:?}");
        }
        assert_eq!(reply_of(Operation::MtForwardSm, &Outcome::Expired).1, []);
    }
}
