//! Routing Key Management, the side that asks (RFC 4666 §4.4).

use super::Process;
use crate::codec::{
    DeregistrationResult, DeregistrationStatus, Message, MessageType, RegistrationResult,
    RegistrationStatus, Tag, TrafficMode,
};
use crate::effects::Indication;
use crate::id::{PeerId, ServerId};
use crate::metrics::Metric;
use crate::timers::Timer;

impl Process {
    pub(super) fn want_deregistered(&mut self, peer: PeerId, server: ServerId) {
        let Some(member) = self.member_mut(server, peer) else { return self.count(Metric::Stray) };
        member.wants_active = false;
        member.gives_back = member.is_registered;
        self.drive_member(server, peer);
    }

    pub(super) fn send_reg_req(&mut self, id: ServerId, peer: PeerId) {
        let Some(server) = self.servers.find(id) else { return };
        let key = server.settings.key.clone();
        let mode = server.settings.mode.map(TrafficMode::number);
        let wanted = server.settings.routing_context.map(|context| context.0);
        self.send(peer, MessageType::RegReq, |writer| {
            let writer = writer.group(Tag::RoutingKey, |mut inner| {
                inner = inner
                    .word(Tag::LocalRoutingKeyIdentifier, id.number())
                    .optional(Tag::RoutingContext, wanted)
                    .optional(Tag::TrafficModeType, mode)
                    .optional(Tag::NetworkAppearance, key.network.map(|network| network.0));
                for destination in &key.destinations {
                    inner = inner.word(Tag::DestinationPointCode, destination.dpc.number());
                    if !destination.service_indicators.is_empty() {
                        let indicators = &destination.service_indicators;
                        inner = inner.octets(Tag::ServiceIndicators, indicators);
                    }
                    let originating = destination.originating.iter().map(|it| it.number());
                    inner = inner.words(Tag::OriginatingPointCodeList, originating);
                }
                inner
            });
            writer.end();
        });
    }

    pub(super) fn on_reg_rsp(
        &mut self,
        peer: PeerId,
        message: &Message<'_>,
    ) -> Result<(), super::complaint::Complaint> {
        for (at, value) in message.all(Tag::RegistrationResult) {
            let result = RegistrationResult::read(at, value)?;
            let asked = self.servers_of(peer, true).into_iter().find(|id| {
                let server = self.servers.find(*id);
                let member = server.and_then(|server| server.member(peer));
                let asked = member.and_then(|member| member.asked);
                id.number() == result.identifier && matches!(asked, Some((MessageType::RegReq, _)))
            });
            self.indicate(Indication::Registered(peer, asked, result.status));
            let Some(id) = asked else { continue };
            let is_registered = result.status == RegistrationStatus::Registered.number();
            let place = (true, result.routing_context);
            let is_free = self.peers.find_mut(peer).is_some_and(|found| {
                is_registered && *found.contexts.entry(place).or_insert(id) == id
            });
            if !is_free {
                let again = self.now + self.settings.parameters.t_refused;
                self.timers.arm(Timer::MemberAck(id, peer), again);
                continue;
            }
            self.timers.cancel(Timer::MemberAck(id, peer));
            if let Some(member) = self.member_mut(id, peer) {
                member.asked = None;
                member.is_registered = true;
                member.routing_context = Some(result.routing_context);
            }
            self.count(Metric::Registrations);
            self.drive_member(id, peer);
        }
        Ok(())
    }

    /// The name that a registration gave is gone with it.
    pub(super) fn forget_registration(&mut self, id: ServerId, peer: PeerId) {
        let Some(member) = self.member_mut(id, peer) else { return };
        member.is_registered = false;
        let given = member.routing_context.take();
        if let (Some(context), Some(found)) = (given, self.peers.find_mut(peer)) {
            found.contexts.remove(&(true, context));
        }
    }

    pub(super) fn on_dereg_rsp(
        &mut self,
        peer: PeerId,
        message: &Message<'_>,
    ) -> Result<(), super::complaint::Complaint> {
        for (at, value) in message.all(Tag::DeregistrationResult) {
            let result = DeregistrationResult::read(at, value)?;
            let contexts = self.peers.find(peer).map(|peer| &peer.contexts);
            let id = contexts.and_then(|it| it.get(&(true, result.routing_context))).copied();
            self.indicate(Indication::Deregistered(peer, id, result.status));
            let Some(id) = id else { continue };
            let Some(member) = self.member_mut(id, peer) else { continue };
            if !matches!(member.asked, Some((MessageType::DeregReq, _))) {
                continue;
            }
            member.asked = None;
            member.gives_back = false;
            let is_leaving = self.peers.find(peer).is_some_and(|peer| !peer.wants_up);
            let gone = [
                DeregistrationStatus::Deregistered,
                DeregistrationStatus::InvalidRoutingContext,
                DeregistrationStatus::NotRegistered,
            ];
            let is_gone = gone.iter().any(|status| status.number() == result.status);
            // Whoever leaves does not ask twice.
            if is_gone || is_leaving {
                self.forget_registration(id, peer);
            }
            self.timers.cancel(Timer::MemberAck(id, peer));
            match is_leaving {
                true => self.drive_peer(peer),
                false => self.drive_member(id, peer),
            }
        }
        Ok(())
    }
}
