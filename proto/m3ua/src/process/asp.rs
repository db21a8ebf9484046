//! This process as an ASP: ASP Up, ASP Active and their answers, and NTFY (RFC 4666 §4.3.4).
//!
//! The management says what is wanted; what there is differs from it until the peer has
//! acknowledged. `drive_…` sends the next message that brings them together, one at a time, and
//! T(ack) sends it again.

use super::complaint::Complaint;
use super::{MemberState, Process};
use crate::codec::{ErrorCode, Message, MessageType, Notification, Tag, TrafficMode};
use crate::effects::Indication;
use crate::id::{PeerId, ServerId};
use crate::metrics::Metric;
use crate::timers::Timer;

impl Process {
    /// The management wants this process to be up or down at a peer. What was asked for already
    /// is asked for again at once: it may have been refused.
    pub(super) fn want_up(&mut self, peer: PeerId, wants_up: bool) {
        let Some(found) = self.peers.find_mut(peer) else { return self.count(Metric::Stray) };
        found.wants_up = wants_up;
        match found.asked {
            Some((MessageType::AspUp, _)) if wants_up => self.ask_peer(peer, MessageType::AspUp, 0),
            _ => self.drive_peer(peer),
        }
    }

    /// The same for an Application Server.
    pub(super) fn want_active(&mut self, peer: PeerId, server: ServerId, wants_active: bool) {
        let Some(member) = self.member_mut(server, peer) else { return self.count(Metric::Stray) };
        member.wants_active = wants_active;
        match member.asked {
            Some((kind @ (MessageType::AspActive | MessageType::RegReq), _)) if wants_active => {
                self.ask_member(server, peer, kind, 0);
            }
            _ => self.drive_member(server, peer),
        }
    }

    /// Asks for what is wanted of a peer, unless an answer is awaited.
    pub(super) fn drive_peer(&mut self, peer: PeerId) {
        let Some(found) = self.peers.find(peer) else { return };
        if !found.is_asked() || found.association.is_none() || found.asked.is_some() {
            return;
        }
        match (found.wants_up, found.is_up_there) {
            (true, false) => self.ask_peer(peer, MessageType::AspUp, 0),
            (false, true) => self.leave_peer(peer),
            (false, false) => self.timers.cancel(Timer::Ack(peer)),
            (true, true) => {
                for server in self.servers_of(peer, true) {
                    self.drive_member(server, peer);
                }
            }
        }
    }

    /// What was registered is given back before this process goes down (RFC 4666 §4.4.2).
    fn leave_peer(&mut self, peer: PeerId) {
        let holds = |it: &Self, server| it.is_registered_at(server, peer);
        let mut held = self.servers_of(peer, true);
        held.retain(|server| holds(self, *server));
        for server in &held {
            self.drive_member(*server, peer);
        }
        if !held.iter().any(|server| holds(self, *server)) {
            self.ask_peer(peer, MessageType::AspDown, 0);
        }
    }

    fn is_registered_at(&self, server: ServerId, peer: PeerId) -> bool {
        let member = self.servers.find(server).and_then(|server| server.member(peer));
        member.is_some_and(|it| it.is_registered && it.state != MemberState::Down)
    }

    fn ask_peer(&mut self, peer: PeerId, kind: MessageType, tries: u16) {
        let Some(found) = self.peers.find_mut(peer) else { return };
        found.asked = Some((kind, tries));
        let identifier = found.settings.asp_identifier.filter(|_| kind == MessageType::AspUp);
        self.timers.arm(Timer::Ack(peer), self.now + self.settings.parameters.t_ack);
        self.send(peer, kind, |writer| writer.optional(Tag::AspIdentifier, identifier).end());
    }

    /// Asks for what is wanted of an Application Server at a peer, unless an answer is awaited.
    pub(super) fn drive_member(&mut self, id: ServerId, peer: PeerId) {
        let (Some(server), Some(found)) = (self.servers.find(id), self.peers.find(peer)) else {
            return;
        };
        let is_leaving = !found.wants_up;
        let is_ready = found.is_up_there && found.asked.is_none();
        let is_asked = found.asks_for(server.settings.side) == Some(true);
        let member = server.member(peer).filter(|_| is_ready && is_asked);
        let Some(member) = member.filter(|member| member.asked.is_none()) else { return };
        if is_leaving && !member.is_registered {
            return;
        }
        let needs_registration = server.settings.registers && !member.is_registered;
        let kind = match (member.wants_active && !is_leaving, member.state) {
            (true, MemberState::Inactive) if needs_registration => MessageType::RegReq,
            (true, MemberState::Inactive) => MessageType::AspActive,
            (false, MemberState::Active) => MessageType::AspInactive,
            (false, MemberState::Inactive) if member.gives_back || is_leaving => {
                MessageType::DeregReq
            }
            _ => return self.timers.cancel(Timer::MemberAck(id, peer)),
        };
        self.ask_member(id, peer, kind, 0);
    }

    fn ask_member(&mut self, id: ServerId, peer: PeerId, kind: MessageType, tries: u16) {
        let Some(server) = self.servers.find_mut(id) else { return };
        let mode = server.settings.mode.map(TrafficMode::number);
        let Some(member) = server.member_mut(peer) else { return };
        member.asked = Some((kind, tries));
        let context = member.routing_context;
        self.timers.arm(Timer::MemberAck(id, peer), self.now + self.settings.parameters.t_ack);
        match kind {
            MessageType::RegReq => self.send_reg_req(id, peer),
            _ => {
                let mode = mode.filter(|_| kind == MessageType::AspActive);
                self.send(peer, kind, |writer| {
                    writer
                        .optional(Tag::TrafficModeType, mode)
                        .routing_contexts(context.into_iter())
                        .end();
                });
            }
        }
    }

    /// Whether something may be sent once more.
    fn may_retry(&self, tries: u16) -> bool {
        self.settings.parameters.ack_retries_max.is_none_or(|max| tries < max)
    }

    /// T(ack) of ASP Up or ASP Down.
    pub(super) fn peer_unanswered(&mut self, peer: PeerId) {
        let Some(found) = self.peers.find_mut(peer) else { return };
        let Some((kind, tries)) = found.asked.take() else { return };
        if found.wants_up != (kind == MessageType::AspUp) {
            return self.drive_peer(peer);
        }
        if self.may_retry(tries) {
            self.count(Metric::Retransmissions);
            return self.ask_peer(peer, kind, tries.saturating_add(1));
        }
        self.count(Metric::Unanswered);
        self.indicate(Indication::Unanswered(peer, kind));
        if kind == MessageType::AspDown {
            self.down_there(peer);
        }
    }

    /// T(ack) of what was asked for an Application Server.
    pub(super) fn member_unanswered(&mut self, id: ServerId, peer: PeerId) {
        let member = self.servers.find(id).and_then(|server| server.member(peer));
        let Some((kind, tries)) = member.and_then(|member| member.asked) else { return };
        let is_leaving = self.peers.find(peer).is_some_and(|peer| !peer.wants_up);
        if is_leaving && tries > 0 {
            return self.end_leaving(id, peer);
        }
        let asks_for_traffic = matches!(kind, MessageType::AspActive | MessageType::RegReq);
        let wants = member.is_some_and(|member| member.wants_active && !is_leaving);
        if member.is_some() && wants != asks_for_traffic {
            if let Some(member) = self.member_mut(id, peer) {
                member.asked = None;
            }
            return self.drive_member(id, peer);
        }
        if self.may_retry(tries) {
            self.count(Metric::Retransmissions);
            return self.ask_member(id, peer, kind, tries.saturating_add(1));
        }
        if let Some(member) = self.member_mut(id, peer) {
            member.asked = None;
            member.gives_back = false;
        }
        self.count(Metric::Unanswered);
        self.indicate(Indication::Unanswered(peer, kind));
        if kind == MessageType::AspInactive {
            self.set_member(id, peer, MemberState::Inactive);
            self.settle(id, None);
        }
    }

    /// A peer that does not take a registration back is left all the same.
    fn end_leaving(&mut self, id: ServerId, peer: PeerId) {
        self.count(Metric::Unanswered);
        self.timers.cancel(Timer::MemberAck(id, peer));
        if let Some(member) = self.member_mut(id, peer) {
            member.asked = None;
        }
        self.forget_registration(id, peer);
        self.drive_peer(peer);
    }

    /// ASP Up Ack. One that was not asked for says that the ASP is inactive; if it was not, that is
    /// an error (RFC 4666 §4.3.4.1).
    pub(super) fn on_asp_up_ack(
        &mut self,
        peer: PeerId,
        message: &Message<'_>,
    ) -> Result<(), Complaint> {
        let was_active =
            self.servers_of(peer, true).iter().any(|server| self.is_active(peer, *server));
        let Some(found) = self.peers.find_mut(peer) else { return Ok(()) };
        if matches!(found.asked, Some((MessageType::AspDown, _))) {
            return Ok(());
        }
        found.asked = None;
        if let Some(identifier) = message.word(Tag::AspIdentifier) {
            found.asp_identifier = Some(identifier);
        }
        let was_up = core::mem::replace(&mut found.is_up_there, true);
        self.timers.cancel(Timer::Ack(peer));
        if !was_up {
            self.indicate(Indication::AspUp(peer, true));
        }
        for server in self.servers_of(peer, true) {
            self.set_member(server, peer, MemberState::Inactive);
            self.settle(server, None);
        }
        self.drive_peer(peer);
        if was_active { Err(Complaint::unexpected(message)) } else { Ok(()) }
    }

    /// ASP Down Ack. One that was not asked for is believed, and the way back is taken after
    /// T(ack) (RFC 4666 §4.3.4.2).
    pub(super) fn on_asp_down_ack(&mut self, peer: PeerId) {
        let again = self.now + self.settings.parameters.t_ack;
        let Some(found) = self.peers.find_mut(peer) else { return };
        let was_asked = matches!(found.asked.take(), Some((MessageType::AspDown, _)));
        self.timers.cancel(Timer::Ack(peer));
        if found.wants_up && !was_asked {
            found.asked = Some((MessageType::AspUp, 0));
            self.timers.arm(Timer::Ack(peer), again);
        }
        self.down_there(peer);
        self.drive_peer(peer);
    }

    fn down_there(&mut self, peer: PeerId) {
        let Some(found) = self.peers.find_mut(peer) else { return };
        if core::mem::take(&mut found.is_up_there) {
            self.indicate(Indication::AspUp(peer, false));
        }
        for server in self.servers_of(peer, true) {
            self.member_down(server, peer);
            self.settle(server, None);
        }
    }

    /// ASP Active Ack and ASP Inactive Ack.
    pub(super) fn on_member_ack(
        &mut self,
        peer: PeerId,
        kind: MessageType,
        message: &Message<'_>,
    ) -> Result<(), Complaint> {
        let mode = message.word(Tag::TrafficModeType).and_then(TrafficMode::of);
        let (mut servers, unknown) = self.servers_named(peer, true, message);
        if message.value(Tag::RoutingContext).is_none() && servers.len() > 1 {
            // Without a context it is for what was asked for.
            servers.retain(|server| {
                let member = self.servers.find(*server).and_then(|server| server.member(peer));
                let asked = member.and_then(|member| member.asked);
                asked.is_some_and(|(asked, _)| answers(kind, asked))
            });
        }
        for server in servers {
            match kind {
                MessageType::AspActiveAck => self.member_active(server, peer, mode),
                _ => self.member_inactive(server, peer),
            }
        }
        if unknown.is_empty() {
            Ok(())
        } else {
            Err(Complaint::context(ErrorCode::InvalidRoutingContext, unknown))
        }
    }

    pub(super) fn member_active(&mut self, id: ServerId, peer: PeerId, mode: Option<TrafficMode>) {
        let Some(server) = self.servers.find_mut(id) else { return };
        server.mode = server.mode.or(mode);
        let Some(member) = server.member_mut(peer) else { return };
        // One that is not wanted any more is believed too, and answered by ASP Inactive.
        let is_awaited = matches!(member.asked, None | Some((MessageType::AspActive, _)));
        if !is_awaited || member.state == MemberState::Down {
            return;
        }
        member.asked = None;
        self.timers.cancel(Timer::MemberAck(id, peer));
        self.set_member(id, peer, MemberState::Active);
        self.settle(id, None);
        self.drive_member(id, peer);
    }

    /// ASP Inactive Ack. One that was not asked for is believed, and the way back is taken after
    /// T(ack) (RFC 4666 §4.3.4.4).
    pub(super) fn member_inactive(&mut self, id: ServerId, peer: PeerId) {
        let again = self.now + self.settings.parameters.t_ack;
        let Some(member) = self.member_mut(id, peer) else { return };
        let was_active = member.state == MemberState::Active;
        match member.asked {
            Some((MessageType::AspInactive, _)) => {
                member.asked = None;
                self.timers.cancel(Timer::MemberAck(id, peer));
            }
            None if was_active && member.wants_active => {
                member.asked = Some((MessageType::AspActive, 0));
                self.timers.arm(Timer::MemberAck(id, peer), again);
            }
            _ => {}
        }
        if was_active {
            self.set_member(id, peer, MemberState::Inactive);
            self.settle(id, None);
        }
        self.drive_member(id, peer);
    }

    /// NTFY came.
    pub(super) fn on_ntfy(&mut self, peer: PeerId, message: &Message<'_>) -> Result<(), Complaint> {
        if !self.peers.find(peer).is_some_and(super::peer::Peer::is_asked) {
            return Err(Complaint::unexpected(message));
        }
        self.count(Metric::NotifiesIn);
        let what = message.word(Tag::Status).and_then(Notification::of);
        let what = what.ok_or(Complaint::new(ErrorCode::InvalidParameterValue))?;
        let identifier = message.word(Tag::AspIdentifier);
        let (servers, unknown) = self.servers_named(peer, true, message);
        if servers.is_empty() {
            self.indicate(Indication::Notified(peer, None, what, identifier));
        }
        for server in servers {
            self.indicate(Indication::Notified(peer, Some(server), what, identifier));
            self.heed(server, peer, what);
        }
        if unknown.is_empty() {
            Ok(())
        } else {
            Err(Complaint::context(ErrorCode::InvalidRoutingContext, unknown))
        }
    }

    fn heed(&mut self, id: ServerId, peer: PeerId, what: Notification) {
        let Some(server) = self.servers.find_mut(id) else { return };
        let takes_over = server.settings.takes_over;
        let Some(member) = server.member_mut(peer) else { return };
        match what {
            // Another one has the traffic now: to ask for it back would be a tug of war.
            Notification::AlternateAspActive if member.state == MemberState::Active => {
                member.wants_active = false;
                self.set_member(id, peer, MemberState::Inactive);
                self.settle(id, None);
            }
            Notification::Pending | Notification::InsufficientResources if takes_over => {
                member.wants_active = true;
                self.drive_member(id, peer);
            }
            _ => {}
        }
    }
}

const fn answers(answer: MessageType, asked: MessageType) -> bool {
    matches!(
        (asked, answer),
        (MessageType::AspActive, MessageType::AspActiveAck)
            | (MessageType::AspInactive, MessageType::AspInactiveAck)
    )
}
