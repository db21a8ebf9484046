//! The sessions of the peers: what they are told, and what becomes of what they want.

use crate::Reflector;
use crate::config::Speaker;
use crate::facts::Fact;
use crate::judges::{Bench, Judges};
use crate::peers::Held;
use bgp::codec::Notice;
use bgp::family::FamilySet;
use bgp::{Cause, ConnectionId, In, Indication, Negotiated, Out};
use machine::{Machine, Time};
use rib::{Kind, Neighbour, PeerId};
use runtime::Effects;
use std::net::IpAddr;
use trail::Event;

impl Reflector {
    /// Tells the session of a peer something; what it wants is done.
    pub(crate) fn tell(&mut self, now: Time, id: PeerId, input: In, out: &mut Effects) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        let mut outs = Vec::new();
        peer.session.step(now, input, &mut outs);
        self.carry_out(now, id, &mut outs, (&[], out));
        self.settle(id);
    }

    /// The wheel has fired for a peer.
    pub(crate) fn fire(&mut self, now: Time, id: PeerId, out: &mut Effects) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        peer.fired();
        if let Some(Held::Excess(Some(at))) = peer.held
            && at <= now
        {
            peer.held = None;
        }
        if peer.is_due(now) {
            let mut outs = Vec::new();
            peer.session.tick(now, &mut outs);
            self.carry_out(now, id, &mut outs, (&[], out));
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
        } else if let Some(at) = peer.arm() {
            self.clock.arm(at, id);
        }
    }

    /// Does what a session wants, in order; `bytes` are those that its UPDATEs lie in.
    pub(crate) fn carry_out(
        &mut self,
        now: Time,
        id: PeerId,
        outs: &mut Vec<Out>,
        (bytes, out): (&[u8], &mut Effects),
    ) {
        for wanted in outs.drain(..) {
            match wanted {
                Out::Updates(connection, range) => {
                    let messages = bytes.get(range).unwrap_or_default();
                    self.updates(now, id, (connection, messages), out);
                }
                Out::Send(connection, message) => self.send(now, id, connection, &message, out),
                Out::Close(connection) => {
                    if let Some(flow) = self.peers.disconnect(id, connection) {
                        out.close(flow);
                    }
                }
                Out::Connect => {
                    if let Some(target) = self.peers.get(id).and_then(|it| it.speaker.target) {
                        self.facts.add(Fact::Attempts, 1);
                        out.open(target);
                    }
                }
                Out::Abandon => {
                    if let Some(target) = self.peers.get(id).and_then(|it| it.speaker.target) {
                        out.close(target);
                    }
                }
                Out::Indicate(indication) => self.indicated(now, id, indication),
            }
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
        let Some(link) = peer.links.get(&connection) else { return };
        let flow = link.flow;
        out.send(flow, |buffer| buffer.extend_from_slice(message));
        if peer.up == Some(connection) {
            // Until the kernel has taken it: SendHoldTimer.
            peer.session.step(now, In::Blocked(connection), &mut Vec::new());
        }
        self.trail_messages(now, &flow, message, true);
    }

    /// The router: whom an indication concerns.
    fn indicated(&mut self, now: Time, id: PeerId, indication: Indication) {
        match indication {
            Indication::State(_) => {
                if let Some(peer) = self.peers.get_mut(id) {
                    peer.since = now;
                }
            }
            Indication::Up(connection, negotiated) => self.up(now, id, connection, negotiated),
            Indication::Down(cause, retained) => self.down(now, id, &cause, retained),
            Indication::Failed(cause) => {
                self.facts.add(Fact::Failed, 1);
                self.ended(now, id, &cause);
            }
            Indication::Offended(offence) => {
                self.facts.add(Fact::Offended, 1);
                self.note(now, id, format!("it offended: {}", offence.malformed));
            }
            Indication::Refresh(family, kind) => {
                self.facts.add(Fact::Refreshes, 1);
                self.rib.refresh(id, family, kind);
                self.has_work = true;
            }
            Indication::LongLived(families) => {
                self.rib.long_lived(id, families);
                self.has_work = true;
            }
            Indication::Purge(families) => {
                self.rib.purge(id, families);
                self.has_work = true;
            }
        }
    }

    /// Routes may be exchanged with a peer.
    fn up(&mut self, now: Time, id: PeerId, connection: ConnectionId, negotiated: Box<Negotiated>) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        peer.judges.into_iter().for_each(|number| self.judges.leave(number));
        let ours = peer.links.get(&connection).map(|link| link.flow.local.ip());
        self.facts.add(Fact::Established, 1);
        let is_internal = negotiated.is_internal();
        let kind = match (is_internal, peer.speaker.client) {
            (true, true) => Kind::Client,
            (true, false) => Kind::NonClient,
            (false, _) => Kind::External,
        };
        let asn = negotiated.peer.asn;
        let names = [&peer.speaker.import, &peer.speaker.export];
        peer.judges = names.map(|name| match (name, ours) {
            (Some(name), Some(own)) => {
                self.judges.take(bench(name, (own, asn), &peer.speaker, &self.judges))
            }
            _ if peer.speaker.refuses(is_internal) => REFUSES_ALL,
            _ => 0,
        });
        let neighbour = Neighbour {
            kind,
            identifier: negotiated.peer.identifier,
            address: peer.speaker.address,
            asn,
            import: peer.judges[0],
            export: peer.judges[1],
            location: peer.speaker.location,
            allow_own_as: peer.speaker.allow_own_as,
            role: peer.speaker.settings.offer.role.filter(|_| !is_internal),
            // RFC 4271 §5.1.3: always where the peer is external.
            next_hop_self: ours.filter(|_| !is_internal || peer.speaker.next_hop_self),
        };
        self.rib.up(now, id, neighbour, &negotiated);
        (peer.up, peer.negotiated) = (Some(connection), Some(negotiated));
        peer.here = ours;
        (peer.warned, peer.ended) = (FamilySet::EMPTY, FamilySet::EMPTY);
        self.stations_peer_up(now, id);
        self.trail_session(now, id, Event::SessionEstablished, "");
        self.record_state(now, id, true);
        self.has_work = true;
    }

    /// Policies that begin to look at peers judge those of standing sessions by who they are. Until
    /// now all sessions of such a policy had one number, which knows no peer. Whether there were
    /// any.
    pub(crate) fn seat_anew(&mut self) -> bool {
        let mut is_other = false;
        for id in self.peers.ids() {
            let Some(peer) = self.peers.get_mut(id) else { continue };
            let about = peer.here.zip(peer.negotiated.as_ref().map(|it| it.peer.asn));
            let names = [peer.speaker.import.as_ref(), peer.speaker.export.as_ref()];
            let Some(about) = about else { continue };
            let before = peer.judges;
            for (number, name) in peer.judges.iter_mut().zip(names) {
                let Some(name) = name.filter(|_| self.judges.lacks_peer(*number)) else { continue };
                self.judges.leave(*number);
                *number = self.judges.take(bench(name, about, &peer.speaker, &self.judges));
            }
            if peer.judges != before {
                self.rib.renumber(id, peer.judges[0], peer.judges[1]);
                is_other = true;
            }
        }
        is_other
    }

    /// A session ended; routes of some families stay for a time.
    fn down(&mut self, now: Time, id: PeerId, cause: &Cause, retained: FamilySet) {
        self.facts.add(Fact::Dropped, 1);
        self.trail_session(now, id, Event::SessionEnded, &words(cause));
        self.stations_peer_down(now, id, cause);
        self.record_state(now, id, false);
        self.rib.down(id, retained);
        self.has_work = true;
        if let Some(peer) = self.peers.get_mut(id) {
            (peer.up, peer.negotiated, peer.here) = (None, None, None);
            peer.warned = FamilySet::EMPTY;
            let judges = core::mem::take(&mut peer.judges);
            judges.into_iter().for_each(|number| self.judges.leave(number));
        }
        self.ended(now, id, cause);
    }

    fn ended(&mut self, now: Time, id: PeerId, cause: &Cause) {
        match cause {
            Cause::Sent(Notice::HOLD_TIMER_EXPIRED) => self.facts.add(Fact::HoldExpired, 1),
            Cause::Sent(Notice::SEND_HOLD_TIMER_EXPIRED) => {
                self.facts.add(Fact::SendHoldExpired, 1);
            }
            _ => {}
        }
        let text = match cause {
            Cause::Sent(notice) => {
                // What offended says more than what was answered.
                let offended = self.peers.get(id).and_then(|it| it.ending.as_ref());
                let same = offended.filter(|it| it.at == now && it.text.starts_with("it offended"));
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
        self.note(now, id, text);
    }
}

/// Why a session ended, in brief.
fn words(cause: &Cause) -> String {
    match cause {
        Cause::Sent(notice) => format!("sent {notice}"),
        Cause::Received(notice, _) => format!("received {notice}"),
        Cause::Lost => "the connection was lost".to_owned(),
        Cause::Replaced => "the peer opened another connection".to_owned(),
    }
}

/// For whom a policy judges: the peer counts only if the policy looks at it.
/// The number of no policy: the rib refuses whatever it would judge.
const REFUSES_ALL: u32 = u32::MAX;

fn bench(name: &str, (own, asn): (IpAddr, u32), speaker: &Speaker, judges: &Judges) -> Bench {
    let peer = judges.looks_at_peer(name).then(|| {
        let group = speaker.group.clone().unwrap_or_default();
        (speaker.name.clone(), group, speaker.address, asn)
    });
    Bench { policy: name.to_owned(), own, peer }
}
