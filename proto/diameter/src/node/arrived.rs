//! Requests that come: refused, relayed, redirected, or given to the application, which answers.

use super::Node;
use super::room::{Holder, Room};
use super::route::{Decision, Destination};
use crate::codec::{Flags, HEADER_OCTETS, Header, Message, ResultCode, Violation, append, stamp};
use crate::effects::{Indication, RequestId};
use crate::metrics::Metric;
use crate::rows::base;
use crate::settings::{Connection, PeerId};
use bytes::Bytes;
use machine::Time;
use machine::slots::{Key, Reuse, Slots};

/// Ways that one answer goes, when its request came by several.
const WAYS_MAX: usize = 4;

/// A request that the application has.
#[derive(Debug, Default)]
pub(crate) struct Held {
    message: Bytes,
    header: Option<Header>,
    peer: Option<PeerId>,
    /// By which connections it came, and its Hop-by-Hop Identifier there.
    ways: Vec<(PeerId, Connection, u32)>,
    /// What it is known by when it comes again.
    mark: u64,
}

impl Reuse for Held {
    fn reuse(&mut self) {
        self.message = Bytes::new();
        self.header = None;
        self.peer = None;
        self.ways.clear();
    }
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Arrived {
    slots: Slots<Held>,
    room: Room,
}

impl Arrived {
    pub(crate) fn new(max: u32, now: Time) -> Self {
        Self { slots: Slots::new(max, now), room: Room::default() }
    }

    pub(crate) fn set_max(&mut self, max: u32) {
        self.slots.set_max(max);
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.slots.deadline()
    }

    fn finish(&mut self, key: Key) {
        if let Some(held) = self.slots.at(key)
            && let Some(peer) = held.peer
        {
            self.room.give_back(Holder::Peer(peer), held.message.len());
        }
        self.slots.give_back(key);
    }
}

/// Octets of a host or realm at most (RFC 1035 §2.3.4).
const NAME_MAX: usize = 255;

/// What a relay too has to look at: every AVP, and the names by which it looks for the way.
fn walk(message: &Message<'_>) -> Result<(), Violation> {
    for avp in message.avps() {
        let avp = avp?;
        let is_name = avp.is(&base::DESTINATION_HOST) || avp.is(&base::DESTINATION_REALM);
        if is_name && avp.data.len() > NAME_MAX {
            return Err(avp.value("a name longer than names are", "RFC 6733 §4.3.1"));
        }
    }
    Ok(())
}

impl Node {
    /// A request of a peer.
    pub(super) fn asked(&mut self, id: PeerId, way: Connection, octets: &Bytes) {
        let message = match Message::read(octets) {
            Ok(message) => message,
            Err(violation) => return self.refuse(id, way, octets, violation),
        };
        if let Err(violation) = walk(&message) {
            return self.refuse(id, way, octets, violation);
        }
        let own = self.settings.host.as_bytes();
        let mut route = message.avps().all(&base::ROUTE_RECORD);
        if route.any(|it| it.data.eq_ignore_ascii_case(own)) {
            self.count(Metric::Loops);
            let violation = Self::refused(ResultCode::LoopDetected, "the request was here before");
            return self.refuse(id, way, octets, violation);
        }
        let to = Destination::of(&message);
        match self.decide(&message, &to) {
            Decision::Local => self.take_in(id, way, octets, &message),
            Decision::Forward => self.forward(id, way, &message, to),
            Decision::Redirect(hosts, time) => self.redirect(id, way, octets, &hosts, time),
            Decision::Refuse(code, what) => {
                self.refuse(id, way, octets, Self::refused(code, what));
            }
        }
    }

    /// Answers a request with what is wrong.
    pub(super) fn refuse(&mut self, id: PeerId, way: Connection, octets: &[u8], why: Violation) {
        if why.code.is_protocol_error() {
            self.count(Metric::ErrorsOut);
        }
        if !why.failed.is_empty() || why.malformed.at > 0 {
            self.count(Metric::Malformed);
            self.indicate(Indication::Complaint(Some(id), why.clone()));
        }
        let answer = self.refusal(octets, &why);
        if !answer.is_empty() {
            self.give_answer(id, way, answer.into());
        }
    }

    /// RFC 6733 §6.1.9: the sender is noted in Route-Record, and the request goes on.
    fn forward(&mut self, id: PeerId, way: Connection, message: &Message<'_>, to: Destination) {
        let octets = message.octets();
        let sender = self.peers.find(id).map(|peer| peer.settings.host.clone());
        let mut next = octets.to_vec();
        let has_room =
            append(&mut next, &base::ROUTE_RECORD, sender.unwrap_or_default().as_bytes());
        let sent = match has_room {
            true => self.relay(id, way, next, &message.header, to),
            false => Err(ResultCode::UnableToDeliver),
        };
        match sent {
            Ok(()) => self.count(Metric::RequestsRelayed),
            Err(code) => {
                let what = "no peer takes the request";
                self.refuse(id, way, octets, Self::refused(code, what));
            }
        }
    }

    /// RFC 6733 §6.1.8.
    fn redirect(
        &mut self,
        id: PeerId,
        way: Connection,
        octets: &[u8],
        hosts: &[String],
        time: u32,
    ) {
        let what = "the request goes to another host";
        let violation = Self::refused(ResultCode::RedirectIndication, what);
        let mut answer = self.refusal(octets, &violation);
        let mut is_whole = !answer.is_empty();
        for host in hosts {
            is_whole &= append(&mut answer, &base::REDIRECT_HOST, host.as_bytes());
        }
        if time > 0 {
            // REALM_AND_APPLICATION
            is_whole &= append(&mut answer, &base::REDIRECT_HOST_USAGE, &3u32.to_be_bytes());
            is_whole &= append(&mut answer, &base::REDIRECT_MAX_CACHE_TIME, &time.to_be_bytes());
        }
        if !is_whole {
            let what = "no room for the hosts that the request goes to";
            let violation = Self::refused(ResultCode::UnableToDeliver, what);
            return self.refuse(id, way, octets, violation);
        }
        self.count(Metric::RequestsRedirected);
        self.count(Metric::ErrorsOut);
        self.give_answer(id, way, answer.into());
    }

    /// A request for this node's application.
    fn take_in(&mut self, id: PeerId, way: Connection, octets: &Bytes, message: &Message<'_>) {
        if let Err(violation) = self.dictionary.check(message) {
            return self.refuse(id, way, octets, violation);
        }
        let header = message.header;
        if !self.settings.applications.contains(&header.application) {
            let what = "an application that this node does not speak";
            let violation = Self::refused(ResultCode::ApplicationUnsupported, what);
            return self.refuse(id, way, octets, violation);
        }
        self.count(Metric::RequestsIn);
        let mark = self.duplicates.mark(message);
        if self.comes_again(id, way, &header, mark) {
            return;
        }
        let parameters = self.settings.parameters;
        let (most, octets_most) = (parameters.arrived_max, parameters.arrived_octets_max);
        let holder = Holder::Peer(id);
        let has_room =
            !self.is_closing && self.arrived.room.take(holder, octets.len(), most, octets_most);
        let taken = if has_room { self.arrived.slots.take() } else { None };
        let Some((key, held)) = taken else {
            if has_room {
                self.arrived.room.give_back(holder, octets.len());
            }
            self.count(Metric::Shed);
            let violation = Self::refused(ResultCode::TooBusy, "no room for the request");
            return self.refuse(id, way, octets, violation);
        };
        held.message = octets.clone();
        held.header = Some(header);
        held.peer = Some(id);
        held.ways.push((id, way, header.hop_by_hop));
        held.mark = mark;
        self.arrived.slots.arm(key, self.now + parameters.t_answer);
        self.duplicates.begin(mark, key);
        self.indicate(Indication::Request(RequestId(key), id, octets.clone()));
    }

    /// A request that was here before is answered as it was, or with the one that is under way.
    fn comes_again(&mut self, id: PeerId, way: Connection, header: &Header, mark: u64) -> bool {
        use super::duplicates::Known;
        match self.duplicates.find(mark, self.now) {
            None => return false,
            Some(Known::Answered(octets)) => {
                let mut answer = octets.to_vec();
                stamp(&mut answer, 0, header.hop_by_hop, header.end_to_end);
                self.give_answer(id, way, answer.into());
            }
            Some(Known::UnderWay(key)) => {
                let Some(held) = self.arrived.slots.at_mut(key) else { return false };
                if held.ways.len() < WAYS_MAX {
                    held.ways.push((id, way, header.hop_by_hop));
                }
            }
        }
        self.count(Metric::Duplicates);
        true
    }

    /// The application answers.
    pub(super) fn answer(&mut self, request: RequestId, octets: Vec<u8>) {
        let RequestId(key) = request;
        let Some(held) = self.arrived.slots.at(key) else {
            return self.count(Metric::AnswersLost);
        };
        let (Some(header), Some(peer)) = (held.header, held.peer) else { return };
        let (ways, mark) = (held.ways.clone(), held.mark);
        self.arrived.finish(key);
        let mut octets = octets;
        if octets.len() < HEADER_OCTETS {
            self.duplicates.forget(mark);
            return self.count(Metric::AnswersLost);
        }
        octets[4] &= !(Flags::REQUEST | Flags::RETRANSMITTED);
        for (peer, way, hop_by_hop) in ways {
            stamp(&mut octets, 0, hop_by_hop, header.end_to_end);
            self.give_answer(peer, way, Bytes::copy_from_slice(&octets));
        }
        let parameters = &self.settings.parameters;
        let until = self.now + parameters.t_duplicates;
        self.duplicates.end(mark, peer, octets.into(), until, parameters.duplicates_octets_max);
    }

    /// Requests that the application has not answered.
    pub(super) fn arrived_due(&mut self) {
        let mut due = Vec::new();
        self.arrived.slots.expire(self.now, &mut due);
        for key in due {
            let Some(held) = self.arrived.slots.at(key) else { continue };
            self.count(Metric::Unanswered);
            let violation =
                Self::refused(ResultCode::UnableToComply, "the application has not answered");
            let answer = self.refusal(&held.message.clone(), &violation);
            self.answer(RequestId(key), answer);
        }
    }
}
