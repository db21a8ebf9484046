//! MTP-TRANSFER: an MSU to the Application Server of its key, or to a Signalling Gateway on the
//! way to its destination; an MSU that came to the user (RFC 4666 §1.4.2.4, §4.3.4.3).

use super::complaint::Complaint;
use super::{Member, MemberState, Process, Server};
use crate::codec::{
    Data, ErrorCode, MessageType, PAYLOAD_BYTES_MAX, ProtocolData, RoutingContext, ServerState,
    TrafficMode,
};
use crate::effects::{Indication, Out, Transfer};
use crate::id::{PeerId, ServerId};
use crate::metrics::Metric;
use crate::settings::Role;
use bytes::Bytes;
use std::collections::VecDeque;

/// What a waiting MSU costs beside its user data, octets.
const MESSAGE_BYTES: usize = 96;

/// Who has less than this part of what may wait takes from who has most.
const LITTLE: usize = 64;

/// Who answers for what waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holder {
    /// An Application Server that was configured.
    Server(ServerId),
    /// The peer that registered Application Servers, for all of them together.
    Registrant(PeerId),
}

/// Where an MSU of the user would go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Course {
    /// To these ASPs of the Application Server whose key it belongs to: the owner of its flow, or
    /// all in broadcast mode.
    Asps(ServerId, Vec<PeerId>),
    /// It waits for an ASP (AS-PENDING).
    Waits(ServerId),
    /// No ASP is active for its key.
    NoAsp(ServerId),
    /// No key: to a Signalling Gateway.
    Gateway(PeerId),
    /// No key, and no Signalling Gateway reaches it.
    NoGateway,
}

fn holder(id: ServerId, server: &Server) -> Holder {
    server.registrant.map_or(Holder::Server(id), Holder::Registrant)
}

impl Process {
    pub(super) fn transfer(&mut self, transfer: Transfer) {
        if transfer.payload.len() > PAYLOAD_BYTES_MAX {
            return self.count(Metric::Oversized);
        }
        match self.server_for(&transfer) {
            Some(server) => self.send_to_server(server, transfer),
            None => self.send_to_gateway(&transfer),
        }
    }

    fn unroutable(&mut self, transfer: &Transfer) {
        self.count(Metric::Unroutable);
        self.indicate(Indication::Unroutable(transfer.network, transfer.dpc));
    }

    fn send_to_server(&mut self, id: ServerId, transfer: Transfer) {
        let Some(server) = self.servers.find_mut(id) else { return };
        match server.state {
            ServerState::Active => self.dispatch(id, &transfer),
            ServerState::Pending => {
                let limits = &self.settings.parameters;
                let bytes = transfer.payload.len();
                let (messages_max, bytes_max) =
                    (limits.pending_messages_max, limits.pending_bytes_max);
                let has_room = server.waiting.has_room(bytes, messages_max, bytes_max);
                let (holder, all_max) = (holder(id, server), limits.pending_total_bytes_max);
                if !has_room || !self.take_room(holder, bytes + MESSAGE_BYTES, all_max) {
                    return self.count(Metric::Shed);
                }
                if let Some(server) = self.servers.find_mut(id) {
                    server.waiting.push(transfer);
                    self.count(Metric::Buffered);
                }
            }
            ServerState::Inactive | ServerState::Down => self.unroutable(&transfer),
        }
    }

    /// Takes so much of what may wait. Who has little sheds the newest of who has most: a few that
    /// each have as much as they leave would leave nothing.
    fn take_room(&mut self, holder: Holder, octets: usize, max: usize) -> bool {
        let own = self.backlog.of(&holder) + octets;
        while own <= max / LITTLE && own > max.saturating_sub(self.backlog.sum()) {
            let most = self.backlog.most().map(|(most, held)| (*most, held));
            let Some((most, held)) = most else { break };
            if held <= own || !self.shed_newest(most) {
                break;
            }
        }
        self.backlog.take(holder, octets, max)
    }

    fn shed_newest(&mut self, holder: Holder) -> bool {
        let waiting = |id: &ServerId| self.servers.find(*id).map_or(0, |it| it.waiting.len());
        let id = match holder {
            Holder::Server(id) => Some(id),
            Holder::Registrant(peer) => {
                let own = |id: &&ServerId| {
                    self.servers.find(**id).is_some_and(|it| it.registrant == Some(peer))
                };
                let found = self.peers.find(peer);
                let servers = found.into_iter().flat_map(|it| it.servers.iter());
                servers.filter(own).max_by_key(|id| waiting(id)).copied()
            }
        };
        let server = id.and_then(|id| self.servers.find_mut(id));
        let Some(bytes) = server.and_then(|server| server.waiting.drop_newest()) else {
            return false;
        };
        self.backlog.give_back(&holder, bytes + MESSAGE_BYTES);
        self.count(Metric::Shed);
        true
    }

    /// To the ASP that owns the flow, or to all of them.
    fn dispatch(&mut self, id: ServerId, transfer: &Transfer) {
        let Some(server) = self.servers.find_mut(id) else { return };
        if server.traffic_mode() == TrafficMode::Broadcast {
            let correlation = server.tag(transfer.sls);
            let active = server.members.iter().filter(|it| it.state == MemberState::Active);
            let to: Vec<_> = active.map(|it| (it.peer, it.routing_context)).collect();
            for (peer, context) in to {
                self.send_data(peer, context, correlation, transfer);
            }
            return;
        }
        let owner = server.flows.owner(transfer.sls);
        let Some(member) = owner.and_then(|index| server.members.get(index)) else {
            return self.unroutable(transfer);
        };
        let (peer, context) = (member.peer, member.routing_context);
        self.send_data(peer, context, None, transfer);
    }

    #[inline]
    fn send_data(
        &mut self,
        peer: PeerId,
        routing_context: Option<RoutingContext>,
        correlation: Option<u32>,
        transfer: &Transfer,
    ) {
        let Some(found) = self.peers.find(peer) else { return };
        let Transfer { network, opc, dpc, si, ni, mp, sls, ref payload } = *transfer;
        let data = Data {
            network,
            routing_context,
            protocol_data: ProtocolData { opc, dpc, si, ni, mp, sls, payload },
            correlation,
        };
        let mut bytes = Vec::with_capacity(data.written_bytes());
        data.write(&mut bytes);
        let stream = found.stream(sls);
        self.count(Metric::MessagesOut);
        self.count(Metric::DataOut);
        self.out.push(Out::Send(peer, stream, Bytes::from(bytes)));
    }

    /// AS-PENDING has ended well: what waited goes first.
    pub(super) fn recover(&mut self, id: ServerId) {
        for transfer in self.take_waiting(id) {
            self.count(Metric::Recovered);
            self.dispatch(id, &transfer);
        }
    }

    /// AS-PENDING has ended without an ASP: what waited is discarded.
    pub(super) fn expire(&mut self, id: ServerId) {
        let waiting = self.take_waiting(id);
        self.metrics.add(Metric::Expired, waiting.len() as u64);
    }

    fn take_waiting(&mut self, id: ServerId) -> VecDeque<Transfer> {
        let Some(server) = self.servers.find_mut(id) else { return VecDeque::new() };
        let (waiting, bytes) = server.waiting.take();
        let octets = bytes + MESSAGE_BYTES * waiting.len();
        self.backlog.give_back(&holder(id, server), octets);
        waiting
    }

    /// Where an MSU would go now; nothing is sent.
    #[must_use]
    pub fn course(&self, transfer: &Transfer) -> Course {
        let Some(id) = self.server_for(transfer) else {
            return match self.gateway_for(transfer) {
                Some(member) => Course::Gateway(member.peer),
                None => Course::NoGateway,
            };
        };
        let Some(server) = self.servers.find(id) else { return Course::NoAsp(id) };
        let active = || server.members.iter().filter(|it| it.state == MemberState::Active);
        match server.state {
            ServerState::Pending => Course::Waits(id),
            ServerState::Inactive | ServerState::Down => Course::NoAsp(id),
            ServerState::Active if server.traffic_mode() == TrafficMode::Broadcast => {
                Course::Asps(id, active().map(|it| it.peer).collect())
            }
            ServerState::Active => {
                let owner = server.flows.owner(transfer.sls);
                match owner.and_then(|index| server.members.get(index)) {
                    Some(member) => Course::Asps(id, vec![member.peer]),
                    None => Course::NoAsp(id),
                }
            }
        }
    }

    /// To an SGP of the best Signalling Gateway.
    fn send_to_gateway(&mut self, transfer: &Transfer) {
        let chosen = self.gateway_for(transfer).map(|it| (it.peer, it.routing_context));
        match chosen {
            Some((peer, context)) => self.send_data(peer, context, None, transfer),
            None => self.unroutable(transfer),
        }
    }

    /// The SGP of the best Signalling Gateway: the one that owns the flow if it is among the best.
    fn gateway_for(&self, transfer: &Transfer) -> Option<&Member> {
        let server = self.servers.find(self.servers.from(transfer)?)?;
        let network = transfer.network;
        let rank = |peer: PeerId| -> Option<(u8, u8)> {
            let settings = &self.peers.find(peer)?.settings;
            let gateway = self.gateways.get(&(network, settings.gateway))?;
            let rank = gateway.rank(transfer.dpc)?;
            (settings.role == Role::Asp).then_some((rank, settings.priority))
        };
        // Who has asked to leave sends no more.
        let leaves = |member: &Member| {
            let peer = self.peers.find(member.peer).and_then(|peer| peer.asked);
            member.asked.is_some() || peer.is_some()
        };
        let is_active = |it: &&Member| it.state == MemberState::Active && !leaves(it);
        let active = || server.members.iter().filter(is_active);
        let best = active().filter_map(|member| rank(member.peer)).min()?;
        let owner = server.flows.owner(transfer.sls);
        let owner = owner.and_then(|index| server.members.get(index));
        let is_best = |member: &&Member| is_active(member) && rank(member.peer) == Some(best);
        owner.filter(is_best).or_else(|| {
            let among = || active().filter(is_best);
            among().nth(usize::from(transfer.sls) % among().count().max(1))
        })
    }

    /// DATA came.
    #[inline]
    pub(super) fn on_data(
        &mut self,
        peer: PeerId,
        data: &Data<'_>,
        bytes: &Bytes,
    ) -> Result<(), Complaint> {
        let Some(found) = self.peers.find(peer) else { return Ok(()) };
        let is_asked = found.is_asked();
        let id = match data.routing_context {
            Some(context) => {
                let id = found.contexts.get(&(is_asked, context)).copied();
                id.ok_or_else(|| {
                    Complaint::context(ErrorCode::InvalidRoutingContext, vec![context])
                })?
            }
            None => match self.servers_of(peer, is_asked)[..] {
                [only] => only,
                _ => return Err(Complaint::new(ErrorCode::NoConfiguredAs)),
            },
        };
        let Some(server) = self.servers.find(id) else { return Ok(()) };
        // A message may name no other network than that of its Application Server (§3.8.1): a peer
        // would speak where nobody has said what may come from it.
        let network = server.settings.key.network;
        if let Some(named) = data.network
            && Some(named) != network
        {
            return Err(Complaint::network(named));
        }
        let Some(member) = server.member(peer) else { return Ok(()) };
        // DATA has a stream of its own: it may overtake the ASP Active Ack and be overtaken by ASP
        // Inactive, ASP Down and their Acks. It is not lost for that.
        let is_near = matches!(member.asked, Some((MessageType::AspActive, _)))
            || self.now < member.drains_until;
        if member.state != MemberState::Active && !is_near {
            self.count(Metric::DataDiscarded);
            let contexts = data.routing_context.into_iter().collect();
            let complaint = Complaint::context(ErrorCode::UnexpectedMessage, contexts);
            // An ASP discards it silently (§3.8.1).
            return if is_asked { Ok(()) } else { Err(complaint) };
        }
        if found.settings.role == Role::Sgp
            && !self.ss7_takes(peer, network, data.protocol_data.dpc)
        {
            self.count(Metric::DataDiscarded);
            return Ok(());
        }
        let ProtocolData { opc, dpc, si, ni, mp, sls, payload } = data.protocol_data;
        let payload = bytes.slice_ref(payload);
        let transfer = Transfer { network, opc, dpc, si, ni, mp, sls, payload };
        self.count(Metric::DataIn);
        self.indicate(Indication::Transfer(peer, id, data.correlation, transfer));
        Ok(())
    }
}
