//! Messages and the association: what came goes to whom it concerns (RFC 4666 §4).

use super::complaint::Complaint;
use super::{MemberState, Process};
use crate::codec::{
    Data, ErrorCode, Message, MessageClass, MessageType, RoutingContext, Tag, VERSION,
};
use crate::effects::{Indication, Out};
use crate::id::{PeerId, ServerId};
use crate::metrics::Metric;
use crate::parameters::Registration;
use crate::settings::Role;
use crate::timers::Timer;
use bytes::Bytes;
use std::collections::BTreeSet;

type Handled = Result<(), Complaint>;

impl Process {
    #[inline]
    pub(super) fn receive(&mut self, peer: PeerId, stream: u16, bytes: &Bytes) {
        let now = self.now;
        let Some(found) = self.peers.find_mut(peer).filter(|peer| peer.association.is_some())
        else {
            return self.count(Metric::Stray);
        };
        found.heard = now;
        let has_streams = found.association.flatten().is_some_and(|streams| streams > 1);
        self.count(Metric::MessagesIn);
        let message = match Message::read(bytes) {
            Ok(message) => message,
            Err(violation) => {
                let complaint = match self.is_class_refused(peer, bytes) {
                    true => Complaint::new(ErrorCode::UnsupportedMessageClass),
                    false => violation.into(),
                };
                // An ERR is never answered by an ERR, not even a malformed one (§3.8.1).
                if bytes.get(2..4) != Some(&MessageType::Err.number().to_be_bytes()[..]) {
                    self.complain(peer, &complaint, bytes);
                }
                return;
            }
        };
        if message.passed_over > 0 {
            self.metrics.add(Metric::ParametersIgnored, message.passed_over.into());
        }
        let handled = if has_streams && is_misplaced(message.kind, stream) {
            Err(Complaint::new(ErrorCode::InvalidStreamIdentifier))
        } else if message.kind == MessageType::Data {
            Data::of(&message)
                .map_err(Complaint::from)
                .and_then(|data| self.on_data(peer, &data, bytes))
        } else {
            self.handle(peer, &message)
        };
        if let Err(complaint) = handled
            && message.kind != MessageType::Err
        {
            self.complain(peer, &complaint, bytes);
        }
    }

    /// Whether a malformed message is of a class that is not spoken here: what is in it does not
    /// matter then.
    fn is_class_refused(&self, peer: PeerId, bytes: &[u8]) -> bool {
        let is_ours = bytes.first() == Some(&VERSION);
        let is_rkm = bytes.get(2) == Some(&MessageClass::Rkm.number());
        let is_refused = self.settings.parameters.registration == Registration::Unsupported
            && self.peers.find(peer).is_some_and(super::peer::Peer::asks);
        let length = bytes.get(4..8).and_then(|it| <[u8; 4]>::try_from(it).ok());
        let is_whole = length.is_some_and(|it| u32::from_be_bytes(it) as usize <= bytes.len());
        is_ours && is_rkm && is_refused && is_whole
    }

    fn handle(&mut self, peer: PeerId, message: &Message<'_>) -> Handled {
        match message.kind {
            MessageType::Err => self.on_err(peer, message),
            MessageType::Ntfy => return self.on_ntfy(peer, message),
            MessageType::Beat => self.on_beat(peer, message),
            MessageType::BeatAck | MessageType::Data => {}
            MessageType::AspUp => return self.on_asp_up(peer, message),
            MessageType::AspDown => return self.on_asp_down(peer, message),
            MessageType::AspActive => return self.on_asp_active(peer, message),
            MessageType::AspInactive => return self.on_asp_inactive(peer, message),
            MessageType::AspUpAck
            | MessageType::AspDownAck
            | MessageType::AspActiveAck
            | MessageType::AspInactiveAck => return self.on_ack(peer, message),
            MessageType::RegReq
            | MessageType::RegRsp
            | MessageType::DeregReq
            | MessageType::DeregRsp => return self.on_rkm(peer, message),
            MessageType::Duna
            | MessageType::Dava
            | MessageType::Daud
            | MessageType::Scon
            | MessageType::Dupu
            | MessageType::Drst => return self.on_ssnm(peer, message),
        }
        Ok(())
    }

    fn on_ack(&mut self, peer: PeerId, message: &Message<'_>) -> Handled {
        if !self.peers.find(peer).is_some_and(super::peer::Peer::is_asked) {
            return Err(Complaint::unexpected(message));
        }
        match message.kind {
            MessageType::AspUpAck => return self.on_asp_up_ack(peer, message),
            MessageType::AspDownAck => self.on_asp_down_ack(peer),
            kind => return self.on_member_ack(peer, kind, message),
        }
        Ok(())
    }

    fn on_rkm(&mut self, peer: PeerId, message: &Message<'_>) -> Handled {
        let Some(found) = self.peers.find(peer) else { return Ok(()) };
        let (is_asked, asks, is_up) = (found.is_asked(), found.asks(), found.is_up_here);
        match message.kind {
            MessageType::RegRsp if is_asked => return self.on_reg_rsp(peer, message),
            MessageType::DeregRsp if is_asked => return self.on_dereg_rsp(peer, message),
            MessageType::RegReq | MessageType::DeregReq if asks => {}
            _ => return Err(Complaint::unexpected(message)),
        }
        if self.settings.parameters.registration == Registration::Unsupported {
            return Err(Complaint::new(ErrorCode::UnsupportedMessageClass));
        }
        if !is_up {
            return Err(Complaint::unexpected(message));
        }
        match message.kind {
            MessageType::RegReq => self.on_reg_req(peer, message),
            _ => self.on_dereg_req(peer, message),
        }
        Ok(())
    }

    /// The Application Servers that the Routing Contexts of a message name, or those that the
    /// configuration knows when it has none.
    ///
    /// The second list is that of names nobody knows.
    pub(super) fn servers_named(
        &self,
        peer: PeerId,
        is_asked: bool,
        message: &Message<'_>,
    ) -> (Vec<ServerId>, Vec<RoutingContext>) {
        let Some(found) = self.peers.find(peer) else { return (Vec::new(), Vec::new()) };
        if message.value(Tag::RoutingContext).is_none() {
            return (self.servers_of(peer, is_asked), Vec::new());
        }
        let (mut servers, mut unknown) = (Vec::new(), Vec::new());
        let mut seen = BTreeSet::new();
        for context in message.routing_contexts() {
            match found.contexts.get(&(is_asked, context)) {
                Some(server) if !seen.insert(*server) => {}
                Some(server) => servers.push(*server),
                None => unknown.push(context),
            }
        }
        (servers, unknown)
    }

    pub(super) fn association_up(&mut self, peer: PeerId, streams: Option<u16>) {
        if self.peers.find(peer).is_some_and(|peer| peer.association.is_some()) {
            self.association_lost(peer);
        }
        let now = self.now;
        let Some(found) = self.peers.find_mut(peer) else { return self.count(Metric::Stray) };
        found.association = Some(streams);
        found.heard = now;
        self.count(Metric::AssociationsUp);
        if let Some(t_beat) = self.settings.parameters.t_beat {
            self.timers.arm(Timer::Beat(peer), now + t_beat);
        }
        self.drive_peer(peer);
    }

    pub(super) fn association_lost(&mut self, peer: PeerId) {
        let Some(found) = self.peers.find_mut(peer) else { return self.count(Metric::Stray) };
        if found.association.take().is_none() {
            return;
        }
        found.asked = None;
        found.congestion = 0;
        let was_up = core::mem::take(&mut found.is_up_here);
        let was_up = core::mem::take(&mut found.is_up_there) || was_up;
        let failed = found.asp_identifier.take();
        self.count(Metric::AssociationsLost);
        self.timers.cancel(Timer::Ack(peer));
        self.timers.cancel(Timer::Beat(peer));
        if was_up {
            self.indicate(Indication::AspUp(peer, false));
        }
        for server in self.servers_of(peer, true) {
            self.member_down(server, peer);
            self.settle(server, None);
        }
        for server in self.servers_of(peer, false) {
            self.asp_failed(server, peer, failed);
        }
    }

    /// The peer began anew: everything it knew of this process is gone (RFC 4666 §4.3.1).
    pub(super) fn association_restarted(&mut self, peer: PeerId) {
        let association = self.peers.find(peer).and_then(|peer| peer.association);
        let Some(streams) = association else { return self.count(Metric::Stray) };
        self.association_lost(peer);
        self.association_up(peer, streams);
    }

    /// This process is down at that peer, for one Application Server.
    pub(super) fn member_down(&mut self, server: ServerId, peer: PeerId) {
        self.timers.cancel(Timer::MemberAck(server, peer));
        let mut given = None;
        if let Some(member) = self.member_mut(server, peer) {
            member.asked = None;
            if core::mem::take(&mut member.is_registered) {
                given = member.routing_context.take();
            }
        }
        if let (Some(context), Some(found)) = (given, self.peers.find_mut(peer)) {
            found.contexts.remove(&(true, context));
        }
        self.set_member(server, peer, MemberState::Down);
    }

    /// BEAT: what came goes back (RFC 4666 §4.3.4.6).
    fn on_beat(&mut self, peer: PeerId, message: &Message<'_>) {
        let data = message.value(Tag::HeartbeatData);
        self.send(peer, MessageType::BeatAck, |writer| match data {
            Some(data) => writer.octets(Tag::HeartbeatData, data).end(),
            None => writer.end(),
        });
    }

    /// T(beat): a peer that was silent for two of them is lost.
    pub(super) fn beat(&mut self, peer: PeerId) {
        let (now, Some(t_beat)) = (self.now, self.settings.parameters.t_beat) else { return };
        let Some(found) = self.peers.find_mut(peer).filter(|peer| peer.association.is_some())
        else {
            return;
        };
        if now.since(found.heard) >= 2 * t_beat {
            self.count(Metric::HeartbeatsLost);
            self.out.push(Out::Abort(peer));
            return self.association_lost(peer);
        }
        found.beats += 1;
        let data = found.beats.to_be_bytes();
        self.send(peer, MessageType::Beat, |writer| {
            writer.octets(Tag::HeartbeatData, &data).end();
        });
        self.timers.arm(Timer::Beat(peer), now + t_beat);
    }

    /// Heartbeats begin or end with their parameter.
    pub(super) fn arm_beats(&mut self) {
        for (peer, _) in self.peers.iter().filter(|(_, peer)| peer.association.is_some()) {
            match self.settings.parameters.t_beat {
                Some(t_beat) => self.timers.arm(Timer::Beat(peer), self.now + t_beat),
                None => self.timers.cancel(Timer::Beat(peer)),
            }
        }
    }

    /// Sends an ERR about the message `bytes`.
    fn complain(&mut self, peer: PeerId, complaint: &Complaint, bytes: &[u8]) {
        self.count(Metric::ErrorsOut);
        self.indicate(Indication::Offended(peer, complaint.code));
        self.send(peer, MessageType::Err, |writer| complaint.write(writer, bytes));
    }

    /// An ERR came: what was refused is asked for again after a longer time.
    fn on_err(&mut self, peer: PeerId, message: &Message<'_>) {
        self.count(Metric::ErrorsIn);
        let number = message.word(Tag::ErrorCode).unwrap_or_default();
        self.indicate(Indication::Error(peer, number));
        let again = self.now + self.settings.parameters.t_refused;
        let code = ErrorCode::of(number);
        let refuses_up = matches!(
            code,
            Some(
                ErrorCode::InvalidVersion
                    | ErrorCode::RefusedManagementBlocking
                    | ErrorCode::AspIdentifierRequired
                    | ErrorCode::InvalidAspIdentifier
            )
        );
        let asked = self.peers.find(peer).and_then(|peer| peer.asked);
        if let Some((MessageType::AspUp, _)) = asked.filter(|_| refuses_up) {
            return self.timers.arm(Timer::Ack(peer), again);
        }
        let refuses_member = matches!(
            code,
            Some(
                ErrorCode::RefusedManagementBlocking
                    | ErrorCode::UnsupportedTrafficModeType
                    | ErrorCode::InvalidRoutingContext
                    | ErrorCode::NoConfiguredAs
                    | ErrorCode::UnsupportedMessageClass
            )
        );
        if !refuses_member {
            return;
        }
        let contexts: Vec<RoutingContext> = message.routing_contexts().collect();
        for server in self.servers_of(peer, true) {
            let member = self.servers.find(server).and_then(|server| server.member(peer));
            let is_meant = |context| contexts.is_empty() || contexts.contains(&context);
            let refused = member.filter(|member| {
                member.asked.is_some() && member.routing_context.is_none_or(is_meant)
            });
            if refused.is_some() {
                self.timers.arm(Timer::MemberAck(server, peer), again);
            }
        }
    }

    /// The role towards a peer.
    pub(super) fn role(&self, peer: PeerId) -> Option<Role> {
        self.peers.find(peer).map(|peer| peer.settings.role)
    }
}

/// DATA never stands on stream 0, ASPSM, MGMT and RKM nowhere else (RFC 4666 §1.4.7).
const fn is_misplaced(kind: MessageType, stream: u16) -> bool {
    match kind.class() {
        MessageClass::Transfer => stream == 0,
        _ => kind.wants_stream_zero() && stream != 0,
    }
}
