//! A signalling process (RFC 4666 §1.2): its peers, its Application Servers, one deadline for all.

mod asp;
mod audit;
mod complaint;
mod configure;
mod network;
mod peer;
mod receive;
mod register;
mod registration;
mod server;
mod servers;
mod sgp;
mod status;
mod transfer;

pub use network::Availability;
pub use status::{DestinationStatus, MemberStatus, PeerStatus, ServerStatus};
pub use transfer::Course;

use crate::codec::{
    Affected, MessageType, NetworkAppearance, PointCode, RoutingContext, ServerState, Writer,
};
use crate::effects::{In, Indication, Out, Transfer};
use crate::id::{PeerId, ServerId, Table};
use crate::metrics::Metric;
use crate::parameters::Parameters;
use crate::settings::Side;
use crate::timers::{Timer, Timers};
use bytes::Bytes;
use event::Metrics;
use machine::shares::Shares;
use machine::{Machine, Time};
use network::{Gateway, Ss7Network};
use peer::Peer;
use server::{Member, MemberState, Server};
use servers::Servers;
use std::collections::BTreeMap;
use transfer::Holder;

/// Which SS7 network; `None` where there is only one.
type Network = Option<NetworkAppearance>;

/// What a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Peers at most.
    pub peers_max: usize,
    /// Application Servers at most, those that are registered included.
    pub servers_max: usize,
    /// Timers, limits, policies.
    pub parameters: Parameters,
}

/// A signalling process: ASP, SGP or IPSP, by the role it has towards each peer.
///
/// It is infallible: a peer's violation is answered by an ERR, counted and told to the management.
#[derive(Debug)]
pub struct Process {
    settings: Settings,
    peers: Table<PeerId, Peer>,
    servers: Servers,
    /// Signalling Gateways that this process reaches as an ASP.
    gateways: BTreeMap<(Network, u16), Gateway>,
    /// The SS7 networks behind this process as an SGP.
    ss7: BTreeMap<Network, Ss7Network>,
    timers: Timers,
    /// Octets that wait, by who answers for them.
    backlog: Shares<Holder>,
    metrics: Metrics<Metric>,
    now: Time,
    out: Vec<Out>,
}

impl Process {
    /// A process without peers and Application Servers.
    ///
    /// # Errors
    /// The name of the first parameter outside of its range.
    pub fn new(settings: Settings) -> Result<Self, &'static str> {
        settings.parameters.validate()?;
        Ok(Self {
            settings,
            peers: Table::new(),
            servers: Servers::new(),
            gateways: BTreeMap::new(),
            ss7: BTreeMap::new(),
            timers: Timers::default(),
            backlog: Shares::default(),
            metrics: Metrics::new(),
            now: Time::ZERO,
            out: Vec::new(),
        })
    }

    /// The parameters as they are now.
    #[must_use]
    pub const fn parameters(&self) -> &Parameters {
        &self.settings.parameters
    }

    /// What was counted.
    #[must_use]
    pub const fn metrics(&self) -> &Metrics<Metric> {
        &self.metrics
    }

    /// State of an Application Server.
    #[must_use]
    pub fn server_state(&self, server: ServerId) -> Option<ServerState> {
        Some(self.servers.find(server)?.state)
    }

    /// The Application Servers, those that were registered included.
    pub fn servers(&self) -> impl Iterator<Item = ServerId> + '_ {
        self.servers.iter().map(|(id, _)| id)
    }

    /// The state of a peer; `None` when there is none.
    #[must_use]
    pub fn peer_status(&self, peer: PeerId) -> Option<PeerStatus> {
        self.peers.find(peer).map(PeerStatus::of)
    }

    /// The state of an Application Server; `None` when there is none.
    #[must_use]
    pub fn server_status(&self, server: ServerId) -> Option<ServerStatus<'_>> {
        self.servers.find(server).map(ServerStatus::of)
    }

    /// The Application Server of peers whose key an MSU belongs to.
    #[inline]
    #[must_use]
    pub fn server_for(&self, transfer: &Transfer) -> Option<ServerId> {
        self.servers.of_transfer(transfer)
    }

    /// Whether a peer has part in an Application Server.
    #[must_use]
    pub fn is_member(&self, peer: PeerId, server: ServerId) -> bool {
        self.servers.is_member(peer, server)
    }

    /// The destinations in a range that are in keys of Application Servers of peers: how many of
    /// these can take traffic now, and how many there are.
    #[must_use]
    pub fn served(
        &self,
        network: Option<NetworkAppearance>,
        range: Affected,
    ) -> Vec<(PointCode, usize, usize)> {
        self.servers.served(network, range)
    }

    /// Whether a peer is a member of an Application Server of that destination.
    #[must_use]
    pub fn serves(&self, peer: PeerId, network: Option<NetworkAppearance>, dpc: PointCode) -> bool {
        let mut servers = self.servers.at(network, dpc).unwrap_or_default().iter();
        servers.any(|it| self.servers.is_member(peer, *it))
    }

    /// The level of congestion of a destination, as it was told by [`In::Status`].
    #[must_use]
    pub fn congestion(&self, network: Option<NetworkAppearance>, dpc: PointCode) -> u8 {
        self.ss7.get(&network).map_or(0, |table| table.congestion.value(dpc))
    }

    /// Whether this process is an ASP in that network: then a gateway may have a way.
    #[must_use]
    pub fn has_gateways(&self, network: Option<NetworkAppearance>) -> bool {
        self.gateways.range((network, 0)..=(network, u16::MAX)).next().is_some()
    }

    /// Application Servers at most from now on; those that there are stay.
    pub const fn set_servers_max(&mut self, servers_max: usize) {
        self.settings.servers_max = servers_max;
    }

    /// Destinations that are unavailable, restricted or congested, as gateways told it and as the
    /// SS7 network behind this process did, and those that are well within a range that is not:
    /// `max` at most, of each teller the wider ranges first.
    #[must_use]
    pub fn destinations(&self, max: usize) -> Vec<DestinationStatus> {
        status::destinations(&self.gateways, &self.ss7, max)
    }

    /// MSUs that wait for an Application Server.
    #[must_use]
    pub fn waiting(&self, server: ServerId) -> usize {
        self.servers.find(server).map_or(0, |server| server.waiting.len())
    }

    /// Octets of all MSUs that wait, with what each costs beside its user data.
    #[must_use]
    pub const fn waiting_octets(&self) -> usize {
        self.backlog.sum()
    }

    /// Whether the ASP of that association is active for an Application Server.
    #[must_use]
    pub fn is_active(&self, peer: PeerId, server: ServerId) -> bool {
        let member = self.servers.find(server).and_then(|server| server.member(peer));
        member.is_some_and(|member| member.state == MemberState::Active)
    }

    /// The name of an Application Server at a peer, once it is known.
    #[must_use]
    pub fn routing_context(&self, peer: PeerId, server: ServerId) -> Option<RoutingContext> {
        self.servers.find(server)?.member(peer)?.routing_context
    }

    fn indicate(&mut self, indication: Indication) {
        self.out.push(Out::Indicate(indication));
    }

    fn count(&self, metric: Metric) {
        self.metrics.add(metric, 1);
    }

    /// Sends a message that is not DATA, on stream 0: all of them may stand there.
    fn send(&mut self, peer: PeerId, kind: MessageType, fill: impl FnOnce(Writer<'_>)) {
        let is_up = self.peers.find(peer).is_some_and(|peer| peer.association.is_some());
        if !is_up {
            return self.count(Metric::Stray);
        }
        let mut bytes = Vec::with_capacity(64);
        fill(Writer::begin(&mut bytes, kind));
        self.count(Metric::MessagesOut);
        self.out.push(Out::Send(peer, 0, Bytes::from(bytes)));
    }

    /// The members of the Application Servers of a peer for which this process asks (`true`), or
    /// for which the peer does.
    fn servers_of(&self, peer: PeerId, is_asked: bool) -> Vec<ServerId> {
        let Some(found) = self.peers.find(peer) else { return Vec::new() };
        let asked = |server: &&ServerId| {
            let server = self.servers.find(**server);
            let side = server.map(|server| server.settings.side);
            side.and_then(|side| found.asks_for(side)) == Some(is_asked)
        };
        found.servers.iter().filter(asked).copied().collect()
    }

    fn member_mut(&mut self, server: ServerId, peer: PeerId) -> Option<&mut Member> {
        self.servers.find_mut(server)?.member_mut(peer)
    }

    /// An ASP has another state in an Application Server. [`Process::settle`] draws the
    /// consequences, after the acknowledgement is sent.
    fn set_member(&mut self, id: ServerId, peer: PeerId, state: MemberState) {
        let drained = self.now + self.settings.parameters.t_ack;
        let Some(server) = self.servers.find_mut(id) else { return };
        let Some(member) = server.member_mut(peer) else { return };
        let was = core::mem::replace(&mut member.state, state);
        if was == state {
            return;
        }
        if was == MemberState::Active {
            member.drains_until = drained;
        }
        let is_active = state == MemberState::Active;
        server.members_changed(is_active);
        if is_active || was == MemberState::Active {
            self.indicate(Indication::AspActive(peer, id, is_active));
        }
    }

    /// The state of an Application Server follows those of its ASPs. `failed` is the identifier of
    /// an ASP that was lost.
    fn settle(&mut self, id: ServerId, failed: Option<u32>) {
        let Some(server) = self.servers.find(id) else { return };
        let (state, next) = match server.settings.side {
            Side::There => (server.state, server.next_state()),
            Side::Here => {
                let is_up = server.count(MemberState::Inactive) > 0;
                let is_active = server.count(MemberState::Active) > 0;
                let next = match (is_active, is_up) {
                    (true, _) => ServerState::Active,
                    (false, true) => ServerState::Inactive,
                    (false, false) => ServerState::Down,
                };
                (server.state, next)
            }
        };
        if state != next {
            self.enter(id, next, failed);
        }
        self.gateways_changed(id);
    }

    fn enter(&mut self, id: ServerId, next: ServerState, failed: Option<u32>) {
        let Some(server) = self.servers.find_mut(id) else { return };
        let side = server.settings.side;
        let was = core::mem::replace(&mut server.state, next);
        match next {
            ServerState::Active => self.count(Metric::ServersActive),
            ServerState::Pending => self.count(Metric::ServersPending),
            _ => {}
        }
        self.indicate(Indication::Server(id, next));
        if side == Side::Here {
            return;
        }
        match next {
            ServerState::Pending => {
                self.timers.arm(Timer::Recovery(id), self.now + self.settings.parameters.t_r);
            }
            _ => self.timers.cancel(Timer::Recovery(id)),
        }
        self.notify_state(id, failed);
        match (was, next) {
            (ServerState::Pending, ServerState::Active) => self.recover(id),
            (ServerState::Pending, _) => self.expire(id),
            _ => {}
        }
        let serves = |state| matches!(state, ServerState::Active | ServerState::Pending);
        if serves(was) != serves(next) {
            self.key_served(id, serves(next));
        }
    }

    fn fire(&mut self, timer: Timer) {
        match timer {
            Timer::Ack(peer) => self.peer_unanswered(peer),
            Timer::MemberAck(server, peer) => self.member_unanswered(server, peer),
            Timer::Recovery(server) => {
                let found = self.servers.find(server);
                if let Some(next) = found.map(Server::state_after_recovery) {
                    self.enter(server, next, None);
                    self.remove_if_abandoned(server);
                }
            }
            Timer::Beat(peer) => self.beat(peer),
            Timer::Audit => self.audit_again(),
        }
    }
}

impl Machine for Process {
    type In = In;
    type Out = Out;

    fn step(&mut self, now: Time, input: In, out: &mut Vec<Out>) {
        self.now = now;
        match input {
            In::Message(peer, stream, bytes) => self.receive(peer, stream, &bytes),
            In::Transfer(transfer) => self.transfer(transfer),
            In::CommunicationUp(peer, streams) => self.association_up(peer, streams),
            In::CommunicationLost(peer) => self.association_lost(peer),
            In::CommunicationRestart(peer) => self.association_restarted(peer),
            In::TransportCongestion(peer, level) => self.transport_congested(peer, level),
            In::Pause(network, affected) => self.ss7_pause(network, affected),
            In::Resume(network, affected) => self.ss7_resume(network, affected),
            In::Restrict(network, affected) => self.ss7_restrict(network, affected),
            In::Status(network, affected, cause) => self.ss7_status(network, affected, cause),
            In::RestartBegins(network) => self.restart_begins(network),
            In::RestartEnds(network) => self.restart_ends(network),
            In::Audit(peer, network, affected) => self.audit(peer, network, &affected),
            In::Unreachable(peer, network, dpc, user) => {
                self.tell_unreachable(peer, network, dpc, user);
            }
            In::AspUp(peer) => self.want_up(peer, true),
            In::AspDown(peer) => self.want_up(peer, false),
            In::AspActive(peer, server) => self.want_active(peer, server, true),
            In::AspInactive(peer, server) => self.want_active(peer, server, false),
            In::Deregister(peer, server) => self.want_deregistered(peer, server),
            In::Block(peer, is_blocked) => self.block(peer, is_blocked),
            In::SetParameters(parameters) => {
                if parameters.validate().is_ok() {
                    self.settings.parameters = parameters;
                    self.arm_beats();
                    self.arm_audit();
                }
            }
        }
        out.append(&mut self.out);
    }

    fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        self.now = now;
        while let Some(timer) = self.timers.pop(now) {
            self.fire(timer);
        }
        out.append(&mut self.out);
    }

    fn deadline(&self) -> Option<Time> {
        self.timers.deadline()
    }
}
