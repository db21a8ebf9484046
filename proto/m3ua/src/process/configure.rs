//! Peers and Application Servers come and go.

use super::{Process, Server};
use crate::codec::{MessageType, Notification, RoutingContext, ServerState, TrafficMode};
use crate::effects::Out;
use crate::id::{PeerId, ServerId};
use crate::process::peer::Peer;
use crate::process::server::{Member, MemberState};
use crate::settings::{
    MEMBERS_MAX, PeerSettings, Refused, SERVERS_PER_PEER_MAX, ServerSettings, Side,
};
use crate::timers::Timer;
use machine::Time;

impl Process {
    /// Adds a peer; its association is told by [`crate::In::CommunicationUp`].
    ///
    /// # Errors
    /// There are as many as there may be.
    pub fn add_peer(&mut self, settings: PeerSettings) -> Result<PeerId, Refused> {
        if self.peers.len() >= self.settings.peers_max {
            return Err(Refused::Full);
        }
        Ok(self.peers.insert(Peer::new(settings)))
    }

    /// Takes a peer away, as if its association were lost.
    pub fn remove_peer(&mut self, now: Time, peer: PeerId, out: &mut Vec<Out>) {
        self.now = now;
        self.association_lost(peer);
        for server in self.peers.find(peer).map(|peer| peer.servers.clone()).unwrap_or_default() {
            self.leave(server, peer);
        }
        self.peers.remove(peer);
        out.append(&mut self.out);
    }

    /// Adds an Application Server.
    ///
    /// # Errors
    /// There are as many as there may be; the key is none, overlaps another one, or the Routing
    /// Context is taken.
    pub fn add_server(&mut self, settings: ServerSettings) -> Result<ServerId, Refused> {
        self.insert_server(settings, None)
    }

    pub(super) fn insert_server(
        &mut self,
        mut settings: ServerSettings,
        registrant: Option<PeerId>,
    ) -> Result<ServerId, Refused> {
        if self.servers.len() >= self.settings.servers_max {
            return Err(Refused::Full);
        }
        settings.key.normalise();
        if !settings.key.fits() {
            return Err(Refused::Key);
        }
        if self.servers.overlapping(&settings.key, settings.side, None).is_some() {
            return Err(Refused::Overlap);
        }
        let is_there = settings.side == Side::There;
        let context = settings.routing_context.filter(|_| is_there);
        if context.is_some_and(|context| self.servers.is_taken(context)) {
            return Err(Refused::RoutingContext);
        }
        Ok(self.servers.insert(Server::new(settings, registrant)))
    }

    /// Takes an Application Server away; MSUs that wait for it are discarded.
    pub fn remove_server(&mut self, now: Time, id: ServerId, out: &mut Vec<Out>) {
        self.now = now;
        self.drop_server(id);
        out.append(&mut self.out);
    }

    pub(super) fn drop_server(&mut self, id: ServerId) {
        let Some(server) = self.servers.find(id) else { return };
        for peer in server.members.iter().map(|member| member.peer).collect::<Vec<_>>() {
            self.dismiss(id, peer);
            self.leave(id, peer);
        }
        self.expire(id);
        self.timers.cancel(Timer::Recovery(id));
        self.servers.remove(id);
    }

    /// Makes a peer an ASP of an Application Server, or this process one at that peer.
    ///
    /// # Errors
    /// Neither exists, they do not go together, there is no room, or the Application Servers of
    /// the peer could not be told apart.
    pub fn assign(
        &mut self,
        now: Time,
        id: ServerId,
        peer: PeerId,
        out: &mut Vec<Out>,
    ) -> Result<(), Refused> {
        self.now = now;
        let context = {
            let (Some(server), Some(found)) = (self.servers.find(id), self.peers.find(peer)) else {
                return Err(Refused::Unknown);
            };
            let is_asked = found.asks_for(server.settings.side).ok_or(Refused::Side)?;
            if server.member(peer).is_some() {
                return Err(Refused::Exists);
            }
            let context = server.settings.routing_context;
            let others = self.servers_of(peer, is_asked);
            let others = others.into_iter().filter_map(|other| self.servers.find(other));
            let mut others = others.filter(|other| !other.settings.registers);
            let is_clear = match context {
                _ if server.settings.registers => true,
                Some(context) => {
                    !found.contexts.contains_key(&(is_asked, context))
                        && others.all(|other| other.settings.routing_context.is_some())
                }
                None => others.next().is_none(),
            };
            if !is_clear {
                return Err(Refused::RoutingContext);
            }
            context.filter(|_| !server.settings.registers)
        };
        self.join(id, peer, context)?;
        self.settle(id, None);
        self.drive_member(id, peer);
        out.append(&mut self.out);
        Ok(())
    }

    /// A peer is no ASP of an Application Server any more, or this process none at that peer.
    pub fn unassign(&mut self, now: Time, id: ServerId, peer: PeerId, out: &mut Vec<Out>) {
        self.now = now;
        self.dismiss(id, peer);
        self.leave(id, peer);
        out.append(&mut self.out);
    }

    /// An active ASP hears that it is so no more (RFC 4666 §4.3.4.4).
    fn dismiss(&mut self, id: ServerId, peer: PeerId) {
        let (Some(server), Some(found)) = (self.servers.find(id), self.peers.find(peer)) else {
            return;
        };
        let asks = found.asks_for(server.settings.side) == Some(false);
        let member = server.member(peer).filter(|it| asks && it.state == MemberState::Active);
        let Some(context) = member.map(|member| member.routing_context) else { return };
        self.send(peer, MessageType::AspInactiveAck, |writer| {
            writer.routing_contexts(context.into_iter()).end();
        });
    }

    /// Changes how the traffic of an Application Server is dealt, while it is served: mode, ASPs
    /// that it needs, whether this process takes over. When override comes, the ASP that was
    /// assigned first of those that are active keeps the traffic and the others are told.
    pub fn change_server(
        &mut self,
        now: Time,
        id: ServerId,
        settings: &ServerSettings,
        out: &mut Vec<Out>,
    ) {
        self.now = now;
        let Some(server) = self.servers.find_mut(id) else { return };
        server.settings.mode = settings.mode;
        server.settings.asps_min = settings.asps_min;
        server.settings.takes_over = settings.takes_over;
        server.mode = settings.mode.or(server.mode);
        let is_override = server.traffic_mode() == TrafficMode::Override;
        let active = server.members.iter().filter(|it| it.state == MemberState::Active);
        let mut active = active.map(|member| member.peer);
        let keeps = active.next();
        let others: Vec<PeerId> = if is_override { active.collect() } else { Vec::new() };
        let asks = |process: &Self, peer: &PeerId| {
            process.peers.find(*peer).is_some_and(super::peer::Peer::asks)
        };
        let others: Vec<PeerId> = others.into_iter().filter(|peer| asks(self, peer)).collect();
        for other in &others {
            self.set_member(id, *other, MemberState::Inactive);
        }
        let keeper = keeps.and_then(|peer| self.peers.find(peer)?.asp_identifier);
        let told = Notification::AlternateAspActive;
        self.notify(id, told, keeper, |peer| others.contains(&peer));
        self.settle(id, None);
        self.notify_lack(id);
        out.append(&mut self.out);
    }

    /// Makes it a member; the caller settles.
    pub(super) fn join(
        &mut self,
        id: ServerId,
        peer: PeerId,
        context: Option<RoutingContext>,
    ) -> Result<(), Refused> {
        let (Some(server), Some(found)) = (self.servers.find_mut(id), self.peers.find_mut(peer))
        else {
            return Err(Refused::Unknown);
        };
        if server.members.len() >= MEMBERS_MAX || found.servers.len() >= SERVERS_PER_PEER_MAX {
            return Err(Refused::Full);
        }
        let is_asked = found.asks_for(server.settings.side).ok_or(Refused::Side)?;
        let mut member = Member::new(peer, context);
        member.wants_active = server.settings.starts && is_asked;
        server.members.push(member);
        found.servers.push(id);
        if let Some(context) = context {
            found.contexts.insert((is_asked, context), id);
        }
        let is_up = if is_asked { found.is_up_there } else { found.is_up_here };
        if is_up {
            self.set_member(id, peer, MemberState::Inactive);
        }
        Ok(())
    }

    /// A peer is no ASP of an Application Server any more. One that was made by registrations
    /// goes with the last of them.
    pub(super) fn leave(&mut self, id: ServerId, peer: PeerId) {
        self.set_member(id, peer, MemberState::Down);
        self.timers.cancel(Timer::MemberAck(id, peer));
        if let Some(found) = self.peers.find_mut(peer) {
            found.servers.retain(|server| *server != id);
            found.contexts.retain(|_, server| *server != id);
        }
        let Some(server) = self.servers.find_mut(id) else { return };
        if let Some(index) = server.members.iter().position(|member| member.peer == peer) {
            server.members.remove(index);
            server.flows.forget(index);
            server.members_changed(false);
        }
        self.settle(id, None);
        self.remove_if_abandoned(id);
    }

    /// A registered Application Server without ASPs goes, but not before T(r): an ASP that was
    /// lost may register anew.
    pub(super) fn remove_if_abandoned(&mut self, id: ServerId) {
        let abandoned = self.servers.find(id).filter(|server| {
            let is_pending = server.state == ServerState::Pending;
            server.registrant.is_some() && server.members.is_empty() && !is_pending
        });
        if abandoned.is_some() {
            self.drop_server(id);
        }
    }
}
