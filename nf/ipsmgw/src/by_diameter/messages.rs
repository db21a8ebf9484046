//! Short messages by S6c and SGd (TS 29.338): what flows ask of peers, and what peers ask of them.
//!
//! ```text
//!   Out::AskPeer ─→ ask_peer ─→ SRR, RDR, ALR, OFR, TFR ─→ Peers
//!   In::PeerReplied ←─ told ←─ replied ←─ SRA, RDA, ALA, OFA, TFA
//!   In::PeerAsks ←─ told ←─ serve ←─ SRR, RDR, TFR
//!   Out::Request (END, U-ABORT) ─→ give ─→ SRA, RDA, TFA
//! ```
//! A request of a peer is a dialogue with one operation to the flow that answers it.

use super::ByDiameter;
use super::destinations::{DestinationKeys, Place};
use super::home::{PeerQuestion, by_diameter, is_by_diameter};
use super::metrics::HomeMetric;
use super::sh::{Pending, To, begin};
use crate::effects::In as Input;
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
use mapsms::by_diameter::{VERSION, answer, ask, serve};
use mapsms::identity::Msisdn;
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

    /// Those of a node that is no more are answered by nobody.
    pub(crate) fn forget(&mut self) {
        self.served.clear();
    }
}

/// The service centre in whose name is asked.
fn centre_of(invoked: &Invoked) -> Option<Msisdn> {
    let (Invoked::Routing { centre, .. }
    | Invoked::Deliver { centre, .. }
    | Invoked::Report { centre, .. }) = invoked;
    Msisdn::of_address_string(centre.octets())
}

impl ByDiameter {
    /// Asks a peer what a flow asks.
    pub(crate) fn ask_peer(&mut self, now: Time, question: PeerQuestion, out: &mut Effects) {
        let PeerQuestion { reference, argument, place } = question;
        let pending = Pending::Peer { reference, operation: argument.operation(VERSION) };
        let written = self.put(&argument, &place);
        let (Some(message), Some(peers)) = (written, &mut self.peers) else {
            return self.ended(pending, &Outcome::NotSent(ResultCode::UnableToDeliver));
        };
        self.tokens += 1;
        self.pending.insert(self.tokens, pending);
        self.metrics.add(HomeMetric::PeersAsked, 1);
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
        let mut names = Vec::new();
        let reply = match outcome {
            Outcome::Answer(octets) => match Message::read(octets) {
                Ok(message) => {
                    let read = answer::read(operation, &message);
                    // Whoever takes messages or reports says nothing of other nodes.
                    if operation == Operation::SendRoutingInfoForSm && read.is_ok() {
                        names = answer::names(&message);
                    }
                    read.map_or_else(|it| Reply::Error(Some(it.error), it.parameter), Reply::Result)
                }
                Err(_) => Reply::Silence(Silence::Aborted),
            },
            Outcome::Malformed(..) => Reply::Silence(Silence::Aborted),
            Outcome::NotSent(_) => Reply::Silence(Silence::Undelivered),
            Outcome::Expired => Reply::Silence(Silence::Timeout),
        };
        if !matches!(reply, Reply::Result(_)) {
            self.metrics.add(HomeMetric::PeersFailed, 1);
        }
        self.told.push_back(Input::PeerReplied { reference, reply, names });
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
        let centre = centre_of(&invoked).filter(|it| self.askers.admits(&message, it, comes));
        let Some(centre) = centre else {
            self.metrics.add(HomeMetric::PeersRefused, 1);
            let code = ResultCode::AuthorizationRejected;
            self.answer(now, request, &message, |it| it.result(code), out);
            return true;
        };
        self.metrics.add(HomeMetric::PeersServed, 1);
        let served = Served { request, octets: octets.clone(), operation };
        let (dialogue, title) = (self.dialogues.open(served), centre);
        self.told.push_back(Input::PeerAsks { dialogue, title, operation, invoked });
        true
    }

    /// Answers the request of a peer, whose dialogue that is; false: it is another one's.
    pub(crate) fn give(
        &mut self,
        now: Time,
        said: &Request,
        names: &Names,
        out: &mut Effects,
    ) -> bool {
        let Some(dialogue) = said.dialogue().filter(|it| is_by_diameter(*it)) else { return false };
        let components: &[Component] = match said {
            Request::End { portion, .. } => &portion.components,
            _ => &[],
        };
        let Some(served) = self.dialogues.served.remove(&dialogue) else { return true };
        let Ok(message) = Message::read(&served.octets) else { return true };
        let Some(own) = self.own() else { return true };
        let named = |it: &Msisdn| names.at(it).cloned();
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
