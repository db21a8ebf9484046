//! The sessions of the peers: what they are told, and what becomes of what they want.

use crate::Speaker;
use crate::config::PeerSettings;
use crate::effects::{Ended, Established, Out as Event, Sent};
use crate::peers::{EndingSource, Held, Peer};
use crate::policy_table::{PolicyBinding, PolicyTable};
use bgp::codec::{Asn, Data, EXTENDED_MESSAGE_BYTES_MAX, MessageType, Messages, Notice, Violation};
use bgp::family::FamilySet;
use bgp::{Cause, ConnectionId, In, Indication, Negotiated, Out, PeerAs};
use bytes::Bytes;
use machine::{Machine, Time};
use rib::{Kind, Neighbour, PeerId};
use runtime::Effects;
use std::net::IpAddr;

/// The number of no policy: the tables refuse whatever it would judge.
const REFUSES_ALL: u32 = u32::MAX;

impl Speaker {
    /// Tells the session of a peer something; what it wants is done.
    pub(crate) fn tell(&mut self, now: Time, id: PeerId, input: In, out: &mut Effects) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        let mut outs = Vec::new();
        peer.session.step(now, input, &mut outs);
        self.carry_out_all(now, id, outs, out);
        self.settle(id);
    }

    /// The wheel has fired for a peer.
    pub(crate) fn fire(&mut self, now: Time, id: PeerId, serial: u64, out: &mut Effects) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        if !peer.fires(now, serial) {
            return;
        }
        if let Some(Held::Excess(Some(at))) = peer.held
            && at <= now
        {
            peer.held = None;
        }
        if peer.is_due(now) {
            let mut outs = Vec::new();
            peer.session.tick(now, &mut outs);
            self.carry_out_all(now, id, outs, out);
        }
        self.start(now, id, out);
    }

    /// The session is wanted, if nothing holds it; nothing happens when it is already.
    pub(crate) fn start(&mut self, now: Time, id: PeerId, out: &mut Effects) {
        let is_held = self.peers.get(id).is_none_or(|peer| peer.held.is_some());
        if is_held || self.is_draining {
            return self.settle(id);
        }
        self.tell(now, id, In::Start, out);
    }

    /// After anything happened to a peer: its next time is known, or it is forgotten.
    pub(crate) fn settle(&mut self, id: PeerId) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        if peer.is_forgotten() {
            self.peers.remove(id);
        } else if let Some((at, serial)) = peer.arm() {
            self.clock.arm(at, (id, serial));
        }
    }

    fn carry_out_all(&mut self, now: Time, id: PeerId, outs: Vec<Out>, out: &mut Effects) {
        let mut outs = outs.into_iter().peekable();
        while let Some(wanted) = outs.next() {
            // An attempt that is to begin anew goes on: of what is opened and closed in one step
            // nothing is left.
            if wanted == Out::Abandon && outs.next_if_eq(&Out::Connect).is_some() {
                continue;
            }
            self.carry_out(now, id, wanted, out);
        }
    }

    /// Does what a session wants.
    pub(crate) fn carry_out(&mut self, now: Time, id: PeerId, wanted: Out, out: &mut Effects) {
        match wanted {
            Out::Updates(connection, range) => self.received.updates(connection, range),
            Out::Send(connection, message) => self.send(now, id, connection, &message, out),
            Out::Close(connection) => {
                if let Some(flow) = self.peers.disconnect(id, connection) {
                    out.close(flow);
                }
            }
            Out::Connect => {
                if let Some(target) = self.peers.get(id).and_then(|it| it.settings.target) {
                    self.counts.attempts += 1;
                    out.open(target);
                }
            }
            Out::Abandon => {
                if let Some(target) = self.peers.get(id).and_then(|it| it.settings.target) {
                    out.close(target);
                }
            }
            Out::Indicate(indication) => self.indicated(now, id, indication),
        }
    }

    fn send(
        &mut self,
        now: Time,
        id: PeerId,
        connection: ConnectionId,
        message: &[u8],
        out: &mut Effects,
    ) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        let Some(flow) = peer.connections.get(&connection).map(|it| it.flow) else { return };
        out.send(flow, |buffer| buffer.extend_from_slice(message));
        if peer.up == Some(connection) {
            // Until the kernel has taken it: SendHoldTimer.
            peer.session.handed_over(now, connection, 0);
        }
        if manages_session(message) {
            let (name, message) = (peer.settings.name.clone(), message.into());
            self.events.push_back(Event::Sent(Box::new(Sent { name, flow, message })));
        }
    }

    /// Sends a peer UPDATEs; whether its session stands.
    pub fn send_updates(
        &mut self,
        now: Time,
        id: PeerId,
        bytes: Bytes,
        updates: u64,
        out: &mut Effects,
    ) -> bool {
        let Some(peer) = self.peers.get_mut(id) else { return false };
        let Some((connection, flow)) = peer.flow() else { return false };
        out.send_shared(flow, bytes);
        peer.session.handed_over(now, connection, updates);
        self.settle(id);
        true
    }

    /// The router: whom an indication concerns.
    fn indicated(&mut self, now: Time, id: PeerId, indication: Indication) {
        match indication {
            Indication::State(_) => {
                if let Some(peer) = self.peers.get_mut(id) {
                    peer.since = now;
                }
            }
            Indication::Up(connection, negotiated) => self.up(id, connection, negotiated),
            Indication::Down(cause, retained) => self.down(now, id, cause, retained),
            Indication::Failed(cause) => {
                self.counts.failed += 1;
                self.ended(now, id, &cause);
            }
            Indication::Offended(violation) => {
                self.counts.offended += 1;
                self.offended(now, id, &violation);
            }
            Indication::Refresh(family, kind) => {
                self.counts.refreshes += 1;
                self.events.push_back(Event::Refresh(id, family, kind));
            }
            Indication::LongLived(families) => {
                self.events.push_back(Event::LongLived(id, families));
            }
            Indication::Purge(families) => self.events.push_back(Event::Purge(id, families)),
        }
    }

    /// Routes may be exchanged with a peer.
    fn up(&mut self, id: PeerId, connection: ConnectionId, negotiated: Box<Negotiated>) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        self.counts.established += 1;
        if peer.settings.is_dynamic {
            let flaps = self.departed.came_back(peer.settings.address);
            peer.flaps_before = flaps.saturating_sub(peer.session.counters().dropped);
        }
        peer.policies.into_iter().for_each(|number| self.policies.release(number));
        let flow = peer.connections.get(&connection).map(|it| it.flow);
        let local = flow.map(|flow| flow.local.ip());
        let is_internal = negotiated.is_internal();
        let asn = negotiated.peer.asn;
        let names = [&peer.settings.import, &peer.settings.export];
        peer.policies = names.map(|name| match (name, local) {
            (Some(name), Some(own)) => {
                self.policies.bind(binding(name, own, asn, &peer.settings, &self.policies))
            }
            // Its end that a rule may set is not known, nor what the policy would have refused.
            (Some(_), None) => REFUSES_ALL,
            (None, _) => without_policy(&peer.settings, is_internal),
        });
        let neighbour = neighbour(peer, &negotiated, local);
        let event = Established { neighbour, negotiated: (*negotiated).clone(), local, flow };
        (peer.up, peer.negotiated) = (Some(connection), Some(negotiated));
        (peer.local, peer.session_flow) = (local, flow);
        (peer.warned, peer.ended) = (FamilySet::EMPTY, FamilySet::EMPTY);
        self.events.push_back(Event::Up(id, Box::new(event)));
    }

    /// Standing sessions get the numbers of the policies that their peers are to have: of others
    /// than before, or of the same that have begun to look at who a peer is, which the number of
    /// all its sessions does not know. Whose numbers are others now.
    pub(crate) fn bind_anew(&mut self) -> Vec<(PeerId, [u32; 2])> {
        let mut rebound = Vec::new();
        for id in self.peers.ids() {
            let Some(peer) = self.peers.get_mut(id) else { continue };
            let Some(negotiated) = &peer.negotiated else { continue };
            let (asn, is_internal) = (negotiated.peer.asn, negotiated.is_internal());
            let Some(own) = peer.local else { continue };
            let names = [peer.settings.import.as_ref(), peer.settings.export.as_ref()];
            let before = peer.policies;
            for (number, name) in peer.policies.iter_mut().zip(names) {
                let wanted = name.map(|it| binding(it, own, asn, &peer.settings, &self.policies));
                if wanted.as_ref().is_some_and(|it| self.policies.serves(*number, it)) {
                    continue;
                }
                // The old number is given back last: another binding has another number, or the
                // tables would see no change.
                let old = core::mem::replace(
                    number,
                    match wanted {
                        Some(binding) => self.policies.bind(binding),
                        None => without_policy(&peer.settings, is_internal),
                    },
                );
                self.policies.release(old);
            }
            if peer.policies != before {
                rebound.push((id, peer.policies));
            }
        }
        rebound
    }

    /// A session ended; routes of some families stay for a time.
    fn down(&mut self, now: Time, id: PeerId, cause: Cause, retained: FamilySet) {
        self.counts.dropped += 1;
        self.ended(now, id, &cause);
        let Some(peer) = self.peers.get_mut(id) else { return };
        if !self.is_draining {
            self.departed.note(now, &self.resolved, peer);
        }
        let reason = peer.ending.as_ref().map_or_else(String::new, |it| it.text.clone());
        let (negotiated, local) = (peer.negotiated.take(), peer.local.take());
        peer.up = None;
        peer.warned = FamilySet::EMPTY;
        let policies = core::mem::take(&mut peer.policies);
        policies.into_iter().for_each(|number| self.policies.release(number));
        let (name, address) = (peer.settings.name.clone(), peer.settings.address);
        let flow = peer.session_flow.take();
        let event = Ended { cause, reason, retained, name, address, negotiated, local, flow };
        self.events.push_back(Event::Down(id, Box::new(event)));
    }

    fn ended(&mut self, now: Time, id: PeerId, cause: &Cause) {
        match cause {
            Cause::Sent(Notice::HOLD_TIMER_EXPIRED) => self.counts.hold_expired += 1,
            Cause::Sent(Notice::SEND_HOLD_TIMER_EXPIRED) => self.counts.send_hold_expired += 1,
            _ => {}
        }
        let text = match cause {
            Cause::Sent(notice) => {
                // What offended says more than what was answered.
                let last = self.peers.get(id).and_then(|it| it.ending.as_ref());
                let same = last.filter(|it| it.source == EndingSource::Offence && it.at == now);
                match same {
                    Some(same) => format!("sent {notice} ({})", same.text),
                    None => format!("sent {notice}"),
                }
            }
            Cause::Received(notice, None) => format!("received {notice}"),
            Cause::Received(notice, Some(text)) => format!("received {notice}: \"{text}\""),
            // Told by the runtime, with its reason.
            Cause::Lost => return,
            Cause::Replaced => "the peer opened another connection".to_owned(),
        };
        let source = match cause {
            Cause::Sent(_) | Cause::Received(..) => EndingSource::Notification,
            Cause::Lost | Cause::Replaced => EndingSource::Other,
        };
        self.note_of(now, id, text, source);
    }

    /// Remembers what a peer sent that it must not; the NOTIFICATION follows.
    pub(crate) fn offended(&mut self, now: Time, id: PeerId, violation: &Violation) {
        let Some(peer) = self.peers.get(id) else { return };
        let settings = peer.session.settings();
        let text = match violation.data {
            Data::OfAs(theirs) => {
                let ours = settings.offer.asn;
                let wanted = match settings.peer_as {
                    PeerAs::Is(asn) => format!("here its `asn` is {asn}"),
                    PeerAs::Internal => format!("here it is to be of our AS, {ours}"),
                    PeerAs::External => format!("here it is to be of another AS than {ours}"),
                    PeerAs::Any => format!("our AS is {ours}"),
                };
                format!("it says AS {theirs}, {wanted}")
            }
            _ => format!("it offended: {}", violation.malformed),
        };
        self.note_of(now, id, text, EndingSource::Offence);
    }
}

/// Whether a message is neither an UPDATE nor a KEEPALIVE.
fn manages_session(message: &[u8]) -> bool {
    use MessageType::{Keepalive, Update};
    let first = Messages::new(message, EXTENDED_MESSAGE_BYTES_MAX).next();
    first.is_some_and(|(kind, _)| !matches!(kind, Update | Keepalive))
}

/// What a peer whose session stands is to the tables.
fn neighbour(peer: &Peer, negotiated: &Negotiated, local: Option<IpAddr>) -> Neighbour {
    let is_internal = negotiated.is_internal();
    let settings = &peer.settings;
    Neighbour {
        kind: match (is_internal, settings.client) {
            (true, true) => Kind::Client,
            (true, false) => Kind::NonClient,
            (false, _) => Kind::External,
        },
        identifier: negotiated.peer.identifier,
        address: settings.address,
        asn: negotiated.peer.asn,
        import: peer.policies[0],
        export: peer.policies[1],
        location: settings.location,
        allow_own_as: settings.allow_own_as,
        role: settings.session.offer.role.filter(|_| !is_internal),
        // RFC 4271 §5.1.3: always where the peer is external.
        next_hop_self: local.filter(|_| !is_internal || settings.next_hop_self),
        own_ipv6: None,
        customer: settings.customer,
        subnets: Vec::new(),
    }
}

/// The number where no policy is named.
fn without_policy(settings: &PeerSettings, is_internal: bool) -> u32 {
    if settings.refuses(is_internal) { REFUSES_ALL } else { 0 }
}

/// For whom a policy judges: the peer counts only if the policy looks at it.
fn binding(
    name: &str,
    own: IpAddr,
    asn: Asn,
    settings: &PeerSettings,
    policies: &PolicyTable,
) -> PolicyBinding {
    let peer = policies.looks_at_peer(name).then(|| {
        let group = settings.group.clone().unwrap_or_default();
        (settings.name.clone(), group, settings.address, asn)
    });
    PolicyBinding { policy: name.to_owned(), own, peer }
}
