//! What can be seen of a process: peers, Application Servers, and destinations that are not as
//! they should be.

use super::network::{Availability, shown};
use super::{Member, MemberState, Process};
use crate::codec::{
    Affected, NetworkAppearance, PointCode, RoutingContext, ServerState, TrafficMode,
};
use crate::effects::Transfer;
use crate::id::{PeerId, ServerId};
use crate::settings::ServerSettings;

/// A peer as the operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerStatus {
    /// The association is up.
    pub is_associated: bool,
    /// This process is up at the peer.
    pub is_up_there: bool,
    /// The peer is up here.
    pub is_up_here: bool,
    /// The management has locked it out.
    pub is_blocked: bool,
    /// What the ASP there calls itself.
    pub asp_identifier: Option<u32>,
    /// Level of congestion that the transport told.
    pub congestion: u8,
    /// The Application Servers it has part in.
    pub servers: Vec<ServerId>,
}

/// An ASP of an Application Server as the operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberStatus {
    /// The ASP, or the peer at which this process is one.
    pub peer: PeerId,
    /// The name of the Application Server there.
    pub routing_context: Option<RoutingContext>,
    /// ASP-INACTIVE or ASP-ACTIVE.
    pub is_up: bool,
    /// ASP-ACTIVE.
    pub is_active: bool,
    /// It came by registration.
    pub is_registered: bool,
}

/// An Application Server as the operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerStatus<'a> {
    /// As configured or registered.
    pub settings: &'a ServerSettings,
    /// State.
    pub state: ServerState,
    /// The traffic mode once it is known.
    pub mode: Option<TrafficMode>,
    /// It was made by a registration.
    pub is_dynamic: bool,
    /// MSUs that wait.
    pub waiting: usize,
    /// Its ASPs.
    pub members: Vec<MemberStatus>,
}

/// A range of destinations that is unavailable, restricted or congested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DestinationStatus {
    /// Which SS7 network.
    pub network: Option<NetworkAppearance>,
    /// Which destinations.
    pub affected: Affected,
    /// The Signalling Gateway that told it; `None`: the SS7 network behind this process.
    pub gateway: Option<u16>,
    /// How they can be reached; `None`: only their congestion was told.
    pub availability: Option<Availability>,
    /// Level of congestion.
    pub congestion: u8,
}

impl Process {
    /// The Application Servers, those that were registered included.
    pub fn servers(&self) -> impl Iterator<Item = ServerId> + '_ {
        self.servers.iter().map(|(id, _)| id)
    }

    /// The state of a peer; `None` when there is none.
    #[must_use]
    pub fn peer_status(&self, peer: PeerId) -> Option<PeerStatus> {
        let found = self.peers.find(peer)?;
        Some(PeerStatus {
            is_associated: found.association.is_some(),
            is_up_there: found.is_up_there,
            is_up_here: found.is_up_here,
            is_blocked: found.is_blocked,
            asp_identifier: found.asp_identifier,
            congestion: found.congestion,
            servers: found.servers.clone(),
        })
    }

    /// The state of an Application Server; `None` when there is none.
    #[must_use]
    pub fn server_status(&self, server: ServerId) -> Option<ServerStatus<'_>> {
        let found = self.servers.find(server)?;
        let member = |member: &Member| MemberStatus {
            peer: member.peer,
            routing_context: member.routing_context,
            is_up: member.state != MemberState::Down,
            is_active: member.state == MemberState::Active,
            is_registered: member.is_registered,
        };
        Some(ServerStatus {
            settings: &found.settings,
            state: found.state,
            mode: found.mode,
            is_dynamic: found.registrant.is_some(),
            waiting: found.waiting.len(),
            members: found.members.iter().map(member).collect(),
        })
    }

    /// The Application Server of peers whose key an MSU belongs to.
    #[inline]
    #[must_use]
    pub fn server_for(&self, transfer: &Transfer) -> Option<ServerId> {
        let near = self.keys.get(&(true, transfer.network, transfer.dpc))?;
        near.iter().copied().find(|id| {
            let server = self.servers.find(*id);
            server.is_some_and(|server| {
                server.settings.key.takes(transfer.dpc, transfer.si, transfer.opc)
            })
        })
    }

    /// Whether a peer has part in an Application Server.
    #[must_use]
    pub fn is_member(&self, peer: PeerId, server: ServerId) -> bool {
        self.servers.find(server).is_some_and(|server| server.member(peer).is_some())
    }

    /// The destinations in a range that are in keys of Application Servers of peers: how many of
    /// these can take traffic now, and how many there are.
    #[must_use]
    pub fn served(
        &self,
        network: Option<NetworkAppearance>,
        range: Affected,
    ) -> Vec<(PointCode, usize, usize)> {
        let (first, last) = range.bounds();
        let near = self.keys.range((true, network, first)..=(true, network, last));
        let takes = |id: &&ServerId| {
            let state = self.server_state(**id);
            matches!(state, Some(ServerState::Active | ServerState::Pending))
        };
        near.map(|((_, _, dpc), servers)| {
            (*dpc, servers.iter().filter(takes).count(), servers.len())
        })
        .collect()
    }

    /// Whether a peer is a member of an Application Server of that destination.
    #[must_use]
    pub fn serves(&self, peer: PeerId, network: Option<NetworkAppearance>, dpc: PointCode) -> bool {
        let servers = self.keys.get(&(true, network, dpc));
        servers.is_some_and(|servers| servers.iter().any(|it| self.is_member(peer, *it)))
    }

    /// The level of congestion of a destination, as it was told by [`crate::In::Status`].
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
        let gateways = self.gateways.iter().flat_map(|((network, number), gateway)| {
            shown(&gateway.availability, &gateway.congestion).map(
                |(affected, availability, congestion)| {
                    let gateway = Some(*number);
                    let network = *network;
                    DestinationStatus { network, affected, gateway, availability, congestion }
                },
            )
        });
        let ss7 = self.ss7.iter().flat_map(|(network, table)| {
            shown(&table.availability, &table.congestion).map(
                |(affected, availability, congestion)| {
                    let network = *network;
                    DestinationStatus { network, affected, gateway: None, availability, congestion }
                },
            )
        });
        let mut all: Vec<DestinationStatus> = gateways.chain(ss7).collect();
        all.sort_by_key(|it| {
            let range = (core::cmp::Reverse(it.affected.mask), it.affected.point_code);
            (it.gateway.is_none(), it.network, it.gateway, range)
        });
        all.truncate(max);
        all
    }
}
