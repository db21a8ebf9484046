//! This process as an SGP, or as the IPSP that is asked: ASP Up, ASP Down, ASP Active and ASP
//! Inactive of peers, and who is told by NTFY of what follows (RFC 4666 §4.3.4).

use super::complaint::Complaint;
use super::{MemberState, Process};
use crate::codec::{
    ErrorCode, Message, MessageType, Notification, RoutingContext, Tag, TrafficMode,
};
use crate::effects::Indication;
use crate::id::{PeerId, ServerId};
use crate::metrics::Metric;
use crate::settings::Role;

impl Process {
    /// ASP Up (RFC 4666 §4.3.4.1).
    pub(super) fn on_asp_up(
        &mut self,
        peer: PeerId,
        message: &Message<'_>,
    ) -> Result<(), Complaint> {
        let Some(found) = self.peers.find(peer) else { return Ok(()) };
        if found.settings.role == Role::IpspClient {
            return self.on_ipsp_up(peer, message);
        }
        if !found.asks() {
            return Err(Complaint::unexpected(message));
        }
        if found.is_blocked {
            return Err(Complaint::new(ErrorCode::RefusedManagementBlocking));
        }
        let identifier = message.word(Tag::AspIdentifier);
        if identifier.is_none() && self.settings.parameters.requires_asp_identifier {
            return Err(Complaint::new(ErrorCode::AspIdentifierRequired));
        }
        if identifier.is_some_and(|identifier| self.is_used_beside(peer, identifier)) {
            return Err(Complaint::new(ErrorCode::InvalidAspIdentifier));
        }
        self.up_here(peer, identifier, message)
    }

    /// ASP Up from an IPSP that is asked: both begin at once, or it began anew. In a single
    /// exchange it says as much as its answer would (RFC 4666 §4.3.4.1.2).
    fn on_ipsp_up(&mut self, peer: PeerId, message: &Message<'_>) -> Result<(), Complaint> {
        let Some(found) = self.peers.find(peer) else { return Ok(()) };
        if found.is_blocked || !found.wants_up {
            return Err(Complaint::new(ErrorCode::RefusedManagementBlocking));
        }
        let ours = found.settings.asp_identifier;
        self.send(peer, MessageType::AspUpAck, |writer| {
            writer.optional(Tag::AspIdentifier, ours).end();
        });
        self.on_asp_up_ack(peer, message)
    }

    fn up_here(
        &mut self,
        peer: PeerId,
        identifier: Option<u32>,
        message: &Message<'_>,
    ) -> Result<(), Complaint> {
        let Some(found) = self.peers.find_mut(peer) else { return Ok(()) };
        found.asp_identifier = identifier;
        let was_up = core::mem::replace(&mut found.is_up_here, true);
        // Between IPSPs of a double exchange the answer names the one that answers (§3.5.2).
        let ours = found.settings.asp_identifier.filter(|_| found.is_asked());
        self.send(peer, MessageType::AspUpAck, |writer| {
            writer.optional(Tag::AspIdentifier, ours).end();
        });
        if !was_up {
            self.indicate(Indication::AspUp(peer, true));
        }
        let servers = self.servers_of(peer, false);
        let was_active = servers.iter().any(|server| self.is_active(peer, *server));
        if was_up && !was_active {
            return Ok(());
        }
        for server in servers {
            let before = self.server_state(server);
            self.set_member(server, peer, MemberState::Inactive);
            self.settle(server, None);
            if was_active {
                self.end_registration(server, peer);
            } else if before == self.server_state(server) {
                self.notify_one(server, peer);
            }
        }
        // An ASP that is active and comes up has lost its state: it is told (§4.3.4.1).
        if was_active { Err(Complaint::unexpected(message)) } else { Ok(()) }
    }

    /// Whether another ASP that shares an Application Server with `peer` has that identifier.
    fn is_used_beside(&self, peer: PeerId, identifier: u32) -> bool {
        let servers = self.servers_of(peer, false);
        let servers = servers.iter().filter_map(|server| self.servers.find(*server));
        let others = servers.flat_map(|server| &server.members).map(|member| member.peer);
        others.filter(|other| *other != peer).any(|other| {
            let other = self.peers.find(other).filter(|other| other.is_up_here);
            other.is_some_and(|other| other.asp_identifier == Some(identifier))
        })
    }

    /// ASP Down (RFC 4666 §4.3.4.2): acknowledged in every state.
    pub(super) fn on_asp_down(
        &mut self,
        peer: PeerId,
        message: &Message<'_>,
    ) -> Result<(), Complaint> {
        match self.role(peer) {
            Some(Role::IpspClient) => {
                self.send(peer, MessageType::AspDownAck, |writer| writer.end());
                self.on_asp_down_ack(peer);
            }
            Some(Role::Sgp | Role::IpspServer | Role::IpspDouble) => self.down_here(peer),
            _ => return Err(Complaint::unexpected(message)),
        }
        Ok(())
    }

    fn down_here(&mut self, peer: PeerId) {
        let Some(found) = self.peers.find_mut(peer) else { return };
        let was_up = core::mem::take(&mut found.is_up_here);
        self.send(peer, MessageType::AspDownAck, |writer| writer.end());
        if was_up {
            self.indicate(Indication::AspUp(peer, false));
        }
        for server in self.servers_of(peer, false) {
            self.set_member(server, peer, MemberState::Down);
            self.settle(server, None);
            self.notify_lack(server);
            self.end_registration(server, peer);
        }
    }

    /// The management locks a peer out: it is down at once and stays so (RFC 4666 §4.7).
    pub(super) fn block(&mut self, peer: PeerId, is_blocked: bool) {
        let Some(found) = self.peers.find_mut(peer) else { return self.count(Metric::Stray) };
        found.is_blocked = is_blocked;
        if is_blocked && found.is_up_here {
            self.down_here(peer);
        }
    }

    /// The association of an ASP was lost (RFC 4666 §3.8.2: ASP Failure).
    pub(super) fn asp_failed(&mut self, server: ServerId, peer: PeerId, failed: Option<u32>) {
        let member = self.servers.find(server).and_then(|server| server.member(peer));
        if member.is_none_or(|member| member.state == MemberState::Down) {
            return;
        }
        self.set_member(server, peer, MemberState::Down);
        self.notify(server, Notification::AspFailure, failed, |_| true);
        self.settle(server, failed);
        self.notify_lack(server);
        self.end_registration(server, peer);
    }

    /// ASP Active (RFC 4666 §4.3.4.3).
    pub(super) fn on_asp_active(
        &mut self,
        peer: PeerId,
        message: &Message<'_>,
    ) -> Result<(), Complaint> {
        let (servers, unknown) = self.asked_about(peer, message)?;
        if self.peers.find(peer).is_some_and(|peer| peer.is_blocked) {
            let contexts = message.routing_contexts().collect();
            return Err(Complaint::context(ErrorCode::RefusedManagementBlocking, contexts));
        }
        let number = message.word(Tag::TrafficModeType);
        let mode = number.and_then(TrafficMode::of);
        let mut wrong = Vec::new();
        let (mut taken, mut contexts) = (Vec::new(), Vec::new());
        for id in servers {
            let Some(server) = self.servers.find_mut(id) else { continue };
            let context = server.member(peer).and_then(|member| member.routing_context);
            let is_other = number.is_some()
                && (mode.is_none() || server.mode.is_some_and(|fixed| Some(fixed) != mode));
            if is_other {
                wrong.push(context);
                continue;
            }
            server.mode = server.mode.or(mode);
            taken.push(id);
            contexts.extend(context);
        }
        if !taken.is_empty() {
            self.activate(peer, &taken, &contexts, number);
        }
        if !wrong.is_empty() {
            let contexts = wrong.into_iter().flatten().collect();
            return Err(Complaint::context(ErrorCode::UnsupportedTrafficModeType, contexts));
        }
        refuse_unknown(unknown)
    }

    fn activate(
        &mut self,
        peer: PeerId,
        servers: &[ServerId],
        contexts: &[RoutingContext],
        mode: Option<u32>,
    ) {
        let mut overridden = Vec::new();
        for id in servers {
            let Some(server) = self.servers.find(*id) else { continue };
            if server.traffic_mode() == TrafficMode::Override {
                let members = server.members.iter();
                let others =
                    members.filter(|it| it.state == MemberState::Active && it.peer != peer);
                overridden.extend(others.map(|member| (*id, member.peer)));
            }
        }
        for (id, other) in &overridden {
            self.set_member(*id, *other, MemberState::Inactive);
        }
        for id in servers {
            self.set_member(*id, peer, MemberState::Active);
        }
        self.send(peer, MessageType::AspActiveAck, |writer| {
            writer
                .optional(Tag::TrafficModeType, mode)
                .routing_contexts(contexts.iter().copied())
                .end();
        });
        let identifier = self.peers.find(peer).and_then(|peer| peer.asp_identifier);
        for (id, other) in overridden {
            self.notify(id, Notification::AlternateAspActive, identifier, |peer| peer == other);
        }
        for id in servers {
            if self.role(peer) == Some(Role::IpspClient) {
                self.member_active(*id, peer, None);
            }
            self.settle(*id, None);
            self.notify_lack(*id);
        }
    }

    /// ASP Inactive (RFC 4666 §4.3.4.4).
    pub(super) fn on_asp_inactive(
        &mut self,
        peer: PeerId,
        message: &Message<'_>,
    ) -> Result<(), Complaint> {
        let (servers, unknown) = self.asked_about(peer, message)?;
        let mut contexts = Vec::new();
        for id in &servers {
            let member = self.servers.find(*id).and_then(|server| server.member(peer));
            contexts.extend(member.and_then(|member| member.routing_context));
            if self.role(peer) != Some(Role::IpspClient) {
                self.set_member(*id, peer, MemberState::Inactive);
            }
        }
        if !servers.is_empty() {
            self.send(peer, MessageType::AspInactiveAck, |writer| {
                writer.routing_contexts(contexts.into_iter()).end();
            });
        }
        for id in servers {
            if self.role(peer) == Some(Role::IpspClient) {
                self.member_inactive(id, peer);
            }
            self.settle(id, None);
            self.notify_lack(id);
        }
        refuse_unknown(unknown)
    }

    /// The Application Servers that ASP Active or ASP Inactive is about, and the names that
    /// nobody knows.
    fn asked_about(
        &self,
        peer: PeerId,
        message: &Message<'_>,
    ) -> Result<(Vec<ServerId>, Vec<RoutingContext>), Complaint> {
        let is_client = self.role(peer) == Some(Role::IpspClient);
        let is_up = |peer: &super::peer::Peer| match is_client {
            true => peer.is_up_there,
            false => peer.asks() && peer.is_up_here,
        };
        if !self.peers.find(peer).is_some_and(is_up) {
            return Err(Complaint::unexpected(message));
        }
        let (servers, unknown) = self.servers_named(peer, is_client, message);
        if servers.is_empty() && unknown.is_empty() {
            return Err(Complaint::new(ErrorCode::NoConfiguredAs));
        }
        Ok((servers, unknown))
    }

    /// Tells those ASPs of an Application Server that are up and that `concerns` picks.
    pub(super) fn notify(
        &mut self,
        id: ServerId,
        what: Notification,
        identifier: Option<u32>,
        concerns: impl Fn(PeerId) -> bool,
    ) {
        let Some(server) = self.servers.find(id) else { return };
        let members = server.members.iter();
        let told = members.filter(|member| {
            let asks = self.peers.find(member.peer).and_then(|peer| {
                peer.asks_for(server.settings.side).map(|is_asked| !is_asked && peer.is_up_here)
            });
            member.state != MemberState::Down && asks == Some(true) && concerns(member.peer)
        });
        let told: Vec<(PeerId, Option<RoutingContext>)> =
            told.map(|member| (member.peer, member.routing_context)).collect();
        for (peer, context) in told {
            self.count(Metric::NotifiesOut);
            self.send(peer, MessageType::Ntfy, |writer| {
                writer
                    .word(Tag::Status, what.number())
                    .optional(Tag::AspIdentifier, identifier)
                    .routing_contexts(context.into_iter())
                    .end();
            });
        }
    }

    /// Tells every ASP the state of an Application Server.
    pub(super) fn notify_state(&mut self, id: ServerId, failed: Option<u32>) {
        let state = self.server_state(id).and_then(Notification::of_state);
        if let Some(what) = state {
            self.notify(id, what, failed, |_| true);
        }
    }

    /// Tells one ASP, which has just come up.
    pub(super) fn notify_one(&mut self, id: ServerId, peer: PeerId) {
        let state = self.server_state(id).and_then(Notification::of_state);
        if let Some(what) = state {
            self.notify(id, what, None, |other| other == peer);
        }
    }

    /// Tells the inactive ASPs that fewer are active than the load needs.
    pub(super) fn notify_lack(&mut self, id: ServerId) {
        let Some(server) = self.servers.find(id).filter(|server| server.lacks_asps()) else {
            return;
        };
        let inactive = server.members.iter().filter(|it| it.state == MemberState::Inactive);
        let inactive: Vec<PeerId> = inactive.map(|member| member.peer).collect();
        let what = Notification::InsufficientResources;
        self.notify(id, what, None, |peer| inactive.contains(&peer));
    }
}

fn refuse_unknown(unknown: Vec<RoutingContext>) -> Result<(), Complaint> {
    if unknown.is_empty() {
        return Ok(());
    }
    Err(Complaint::context(ErrorCode::InvalidRoutingContext, unknown))
}
