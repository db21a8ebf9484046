//! Requests that were sent and wait for their answers: this node's own and those that it relays.
//!
//! ```text
//!  In::Request ─┐                     ┌→ answer: once to whoever asked, the slot is free
//!  relayed ─────┴→ slot → peer ───────┼→ refused by an agent: the next peer
//!                   ↑       │         └→ time is over
//!                   │       ↓ its watchdog is missed, its connection is lost
//!                   └── failover: the T bit, another peer; none: it waits for one
//! ```
//! The Hop-by-Hop Identifier names slot and generation: an answer that comes twice, or late, finds
//! another generation.

use super::Node;
use super::connect::End;
use super::room::{Holder, Room};
use super::route::Destination;
use crate::codec::{Flags, Header, Message, ResultCode, stamp};
use crate::effects::{Indication, Outcome, Outgoing};
use crate::metrics::Metric;
use crate::rows::base;
use crate::settings::{Connection, PeerId};
use bytes::Bytes;
use machine::identity::Layout;
use machine::narrow::half;
use machine::slots::{Key, Reuse, Slots};
use machine::{Duration, Time};

/// Shards, slots and generations of a Hop-by-Hop Identifier; the rest is the check.
const LAYOUT: Layout = Layout::of_32(6, 18, 4);
/// Peers that one request is given to at most.
const TRIES_MAX: usize = 8;

/// Who asks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Origin {
    #[default]
    Nobody,
    Own(u64),
    Relayed {
        peer: PeerId,
        way: Connection,
        hop_by_hop: u32,
    },
}

impl Origin {
    /// Whose room it takes.
    const fn holder(self) -> Holder {
        match self {
            Self::Relayed { peer, .. } => Holder::Peer(peer),
            Self::Own(_) | Self::Nobody => Holder::Own,
        }
    }
}

/// A request under way.
#[derive(Debug, Default)]
pub(crate) struct Request {
    origin: Origin,
    message: Vec<u8>,
    to: Destination,
    command: u32,
    end_to_end: u32,
    /// The peer that has it; `None`: it waits for one.
    peer: Option<PeerId>,
    /// Peers that may answer.
    asked: Vec<PeerId>,
    /// Peers that have refused to deliver it, and the one that it came from.
    without: Vec<PeerId>,
}

impl Reuse for Request {
    fn reuse(&mut self) {
        self.origin = Origin::Nobody;
        self.message.clear();
        self.to = Destination::default();
        self.peer = None;
        self.asked.clear();
        self.without.clear();
    }
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Requests {
    slots: Slots<Request>,
    room: Room,
    /// Those that wait for a peer; some may be over.
    waiting: Vec<Key>,
    secret: u64,
    shard: u16,
}

impl Requests {
    pub(crate) fn new(max: u32, secret: u64, shard: u16, now: Time) -> Self {
        let (slots, room) = (Slots::new(max, now), Room::default());
        Self { slots, room, waiting: Vec::new(), secret, shard }
    }

    pub(crate) fn set_max(&mut self, max: u32) {
        self.slots.set_max(max);
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) const fn octets(&self) -> usize {
        self.room.octets()
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.slots.deadline()
    }

    /// The request that an answer belongs to.
    fn find(&self, hop_by_hop: u32) -> Option<Key> {
        let number = LAYOUT.read(self.secret, hop_by_hop.into())?;
        let key = self.slots.user_of(number.index)?;
        (number.shard == self.shard && LAYOUT.is_of(number, key)).then_some(key)
    }

    fn finish(&mut self, key: Key) {
        if let Some(request) = self.slots.at(key) {
            self.room.give_back(request.origin.holder(), request.message.len());
        }
        self.slots.give_back(key);
    }
}

impl Node {
    /// The application asks.
    pub(super) fn ask(&mut self, outgoing: Outgoing) {
        let Outgoing { token, mut message, timeout } = outgoing;
        let end_to_end = self.next_end_to_end();
        stamp(&mut message, Flags::REQUEST, 0, end_to_end);
        let read = Message::read(&message).ok();
        let known = read.map(|it| (it.header, Destination::of(&it)));
        let sent = match known {
            None => Err(ResultCode::UnableToComply),
            Some(_) if self.is_closing => Err(ResultCode::UnableToDeliver),
            Some((header, to)) => self.begin(Origin::Own(token), message, &header, to, timeout),
        };
        match sent {
            Ok(()) => self.count(Metric::RequestsOut),
            Err(code) => {
                self.count(Metric::NotSent);
                self.indicate(Indication::Answer(token, Outcome::NotSent(code)));
            }
        }
    }

    /// A request of a peer goes on to another one.
    pub(super) fn relay(
        &mut self,
        peer: PeerId,
        way: Connection,
        message: Vec<u8>,
        header: &Header,
        to: Destination,
    ) -> Result<(), ResultCode> {
        let origin = Origin::Relayed { peer, way, hop_by_hop: header.hop_by_hop };
        self.begin(origin, message, header, to, None)
    }

    fn begin(
        &mut self,
        origin: Origin,
        message: Vec<u8>,
        header: &Header,
        to: Destination,
        timeout: Option<Duration>,
    ) -> Result<(), ResultCode> {
        let holder = origin.holder();
        let without = match holder {
            Holder::Peer(peer) => vec![peer],
            Holder::Own => Vec::new(),
        };
        let chosen = self.choose(&to, &without)?;
        let parameters = self.settings.parameters;
        let (octets, requests) = (message.len(), &mut self.requests);
        let (most, octets_most) = (parameters.requests_max, parameters.requests_octets_max);
        if !requests.room.take(holder, octets, most, octets_most) {
            self.count(Metric::Shed);
            return Err(ResultCode::TooBusy);
        }
        let Some((key, request)) = requests.slots.take() else {
            requests.room.give_back(holder, octets);
            self.count(Metric::Shed);
            return Err(ResultCode::TooBusy);
        };
        request.origin = origin;
        request.message = message;
        request.to = to;
        request.command = header.command;
        request.end_to_end = header.end_to_end;
        request.without = without;
        let timeout = timeout.unwrap_or(parameters.t_request);
        requests.slots.arm(key, self.now + timeout);
        self.give(key, chosen, false);
        Ok(())
    }

    /// Sends a request to a peer; `again`: it may have been answered before.
    fn give(&mut self, key: Key, id: PeerId, again: bool) {
        let requests = &mut self.requests;
        let number = LAYOUT.write(requests.secret, requests.shard, key).map(half);
        let (Some(number), Some(request)) = (number, requests.slots.at_mut(key)) else { return };
        let Some(way) = self.peers.find(id).and_then(|peer| peer.way) else { return };
        let flags = if again { Flags::RETRANSMITTED } else { 0 };
        stamp(&mut request.message, flags, number, request.end_to_end);
        let before = request.peer.replace(id);
        if !request.asked.contains(&id) {
            request.asked.push(id);
        }
        let octets = Bytes::copy_from_slice(&request.message);
        self.outstanding(before, false);
        self.outstanding(Some(id), true);
        self.send(way, Some(id), octets);
    }

    fn outstanding(&mut self, peer: Option<PeerId>, is_more: bool) {
        let Some(peer) = peer.and_then(|id| self.peers.find_mut(id)) else { return };
        let count = &mut peer.counts.outstanding;
        *count = if is_more { *count + 1 } else { count.saturating_sub(1) };
    }

    /// An answer came from a peer.
    pub(super) fn answered(&mut self, id: PeerId, octets: &Bytes, message: &Message<'_>) {
        let header = &message.header;
        if header.flags.has(Flags::ERROR) {
            self.count(Metric::ErrorsIn);
        }
        let fits = |request: &Request| {
            request.asked.contains(&id)
                && request.end_to_end == header.end_to_end
                && request.command == header.command
        };
        let key = self.requests.find(header.hop_by_hop);
        let key = key.filter(|key| self.requests.slots.at(*key).is_some_and(fits));
        let Some(key) = key else { return self.count(Metric::Stray) };
        if !self.reroute(key, id, message) {
            self.deliver(key, octets);
        }
    }

    /// A peer refuses to deliver, or names another one: the request goes there, without the T bit
    /// as nobody has served it (RFC 6733 §6.2.1, §7.1.3, §6.1.8).
    fn reroute(&mut self, key: Key, id: PeerId, message: &Message<'_>) -> bool {
        if !message.header.flags.has(Flags::ERROR) {
            return false;
        }
        let result = message.avps().find(&base::RESULT_CODE).and_then(|it| it.unsigned32().ok());
        let named = match result.and_then(ResultCode::of) {
            Some(ResultCode::UnableToDeliver | ResultCode::TooBusy | ResultCode::LoopDetected) => {
                None
            }
            Some(ResultCode::RedirectIndication) => match self.redirected(message) {
                Some(named) => Some(named),
                None => return false,
            },
            _ => return false,
        };
        let is_meant = |host: &Vec<u8>| self.peers.find(id).is_some_and(|peer| peer.is(host));
        let Some(request) = self.requests.slots.at(key) else { return false };
        // Another peer may have it meanwhile, and the host that was asked for has spoken itself.
        let is_answer = request.to.host.as_ref().is_some_and(is_meant) && named.is_none();
        if request.peer != Some(id) {
            return request.peer.is_some();
        }
        if is_answer || request.asked.len() >= TRIES_MAX {
            return false;
        }
        let mut without = request.without.clone();
        without.push(id);
        let to = request.to.clone();
        let next = match named {
            Some(named) if !without.contains(&named) && self.is_ready(named, to.application) => {
                Some(named)
            }
            Some(_) => None,
            None => self.choose(&to, &without).ok(),
        };
        let Some(next) = next else { return false };
        if let Some(request) = self.requests.slots.at_mut(key) {
            request.without = without;
        }
        self.count(Metric::Rerouted);
        self.give(key, next, false);
        true
    }

    /// The first host of a redirect that is a peer.
    fn redirected(&self, message: &Message<'_>) -> Option<PeerId> {
        let host = |uri: &str| {
            let host = uri.split_once("://")?.1.split([':', ';']).next()?;
            self.peers.of_host(host.as_bytes())
        };
        let mut all = message.avps().all(&base::REDIRECT_HOST);
        all.find_map(|avp| host(avp.text().ok()?))
    }

    /// The answer goes to whoever asked.
    fn deliver(&mut self, key: Key, octets: &Bytes) {
        let Some(request) = self.requests.slots.at(key) else { return };
        let (origin, peer) = (request.origin, request.peer);
        self.outstanding(peer, false);
        self.requests.finish(key);
        match origin {
            Origin::Own(token) => {
                let checked =
                    Message::read(octets).and_then(|it| self.dictionary.check(&it).map(drop));
                let outcome = match checked {
                    Ok(()) => Outcome::Answer(octets.clone()),
                    Err(violation) => {
                        self.count(Metric::Malformed);
                        Outcome::Malformed(octets.clone(), violation)
                    }
                };
                self.indicate(Indication::Answer(token, outcome));
            }
            Origin::Relayed { peer, way, hop_by_hop } => {
                let mut answer = octets.to_vec();
                if let Some(header) = super::answer::header(octets) {
                    stamp(&mut answer, 0, hop_by_hop, header.end_to_end);
                }
                self.give_answer(peer, way, answer.into());
            }
            Origin::Nobody => {}
        }
    }

    /// Sends an answer, if the connection of its request stands.
    pub(super) fn give_answer(&mut self, peer: PeerId, way: Connection, octets: Bytes) {
        let stands = self.connections.get(&way).is_some_and(|it| it.end != End::Stranger);
        match stands {
            true => self.send(way, Some(peer), octets),
            false => self.count(Metric::AnswersLost),
        }
    }

    /// What a peer has goes to others (RFC 6733 §5.5.4). `stands`: its connection does, and it may
    /// answer yet.
    pub(super) fn fail_over(&mut self, id: PeerId, stands: bool) {
        let of_peer = |it: &(Key, &Request)| it.1.peer == Some(id);
        let keys: Vec<Key> =
            self.requests.slots.iter().filter(of_peer).map(|(key, _)| key).collect();
        for key in keys {
            let is_given = self.fail_over_one(key, Some(id));
            if stands {
                continue;
            }
            // An answer comes on the connection of its request, or not at all.
            let request = self.requests.slots.at_mut(key);
            request.into_iter().for_each(|it| it.asked.retain(|asked| *asked != id));
            if !is_given {
                self.leave_waiting(key, id);
            }
        }
    }

    /// A request that no peer takes now waits for one.
    fn leave_waiting(&mut self, key: Key, id: PeerId) {
        self.outstanding(Some(id), false);
        if let Some(request) = self.requests.slots.at_mut(key) {
            request.peer = None;
        }
        self.requests.waiting.push(key);
    }

    fn fail_over_one(&mut self, key: Key, from: Option<PeerId>) -> bool {
        let Some(request) = self.requests.slots.at(key) else { return true };
        let (to, mut without) = (request.to.clone(), request.without.clone());
        without.extend(from);
        let Ok(next) = self.choose(&to, &without) else { return false };
        if let Some(peer) = from.and_then(|id| self.peers.find_mut(id)) {
            peer.counts.failed_over += 1;
        }
        self.count(Metric::FailedOver);
        self.give(key, next, true);
        true
    }

    /// A peer can be sent requests: what waits for one may go there.
    pub(super) fn resume(&mut self, id: PeerId) {
        if self.peers.find(id).is_none_or(|peer| peer.readiness().is_none()) {
            return;
        }
        for key in core::mem::take(&mut self.requests.waiting) {
            let waits = self.requests.slots.at(key).is_some_and(|it| it.peer.is_none());
            if waits && !self.fail_over_one(key, None) {
                self.requests.waiting.push(key);
            }
        }
    }

    /// Requests whose time is over.
    pub(super) fn requests_due(&mut self) {
        let mut due = Vec::new();
        self.requests.slots.expire(self.now, &mut due);
        if due.is_empty() {
            return;
        }
        for key in due {
            let Some(request) = self.requests.slots.at(key) else { continue };
            let (origin, peer, message) = (request.origin, request.peer, request.message.clone());
            self.outstanding(peer, false);
            self.requests.finish(key);
            self.count(Metric::Expired);
            match origin {
                Origin::Own(token) => {
                    self.indicate(Indication::Answer(token, Outcome::Expired));
                }
                Origin::Relayed { peer, way, hop_by_hop } => {
                    let what = "nobody has answered in time";
                    let violation = Self::refused(ResultCode::UnableToDeliver, what);
                    let mut answer = self.refusal(&message, &violation);
                    if let Some(header) = super::answer::header(&message) {
                        stamp(&mut answer, 0, hop_by_hop, header.end_to_end);
                    }
                    self.count(Metric::ErrorsOut);
                    self.give_answer(peer, way, answer.into());
                }
                Origin::Nobody => {}
            }
        }
        let Requests { slots, waiting, .. } = &mut self.requests;
        waiting.retain(|key| slots.at(*key).is_some());
    }
}
