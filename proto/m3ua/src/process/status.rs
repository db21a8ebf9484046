//! What can be seen of a process: peers, Application Servers, and destinations that are not as
//! they should be.

use super::network::{Availability, Gateway, Ss7Network, shown};
use super::peer::Peer;
use super::server::Server;
use super::{Member, MemberState, Network};
use crate::codec::{Affected, NetworkAppearance, RoutingContext, ServerState, TrafficMode};
use crate::id::{PeerId, ServerId};
use crate::settings::ServerSettings;
use std::collections::BTreeMap;

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

impl PeerStatus {
    pub(super) fn of(peer: &Peer) -> Self {
        Self {
            is_associated: peer.association.is_some(),
            is_up_there: peer.is_up_there,
            is_up_here: peer.is_up_here,
            is_blocked: peer.is_blocked,
            asp_identifier: peer.asp_identifier,
            congestion: peer.congestion,
            servers: peer.servers.clone(),
        }
    }
}

impl MemberStatus {
    fn of(member: &Member) -> Self {
        Self {
            peer: member.peer,
            routing_context: member.routing_context,
            is_up: member.state != MemberState::Down,
            is_active: member.state == MemberState::Active,
            is_registered: member.is_registered,
        }
    }
}

impl<'a> ServerStatus<'a> {
    pub(super) fn of(server: &'a Server) -> Self {
        Self {
            settings: &server.settings,
            state: server.state,
            mode: server.mode,
            is_dynamic: server.registrant.is_some(),
            waiting: server.waiting.len(),
            members: server.members.iter().map(MemberStatus::of).collect(),
        }
    }
}

/// What gateways and the SS7 network behind this process have told: of each teller the wider ranges
/// first.
pub(super) fn destinations(
    gateways: &BTreeMap<(Network, u16), Gateway>,
    ss7: &BTreeMap<Network, Ss7Network>,
    max: usize,
) -> Vec<DestinationStatus> {
    let row = |network: Network, gateway: Option<u16>, (affected, availability, congestion)| {
        DestinationStatus { network, affected, gateway, availability, congestion }
    };
    let gateways = gateways.iter().flat_map(|((network, number), gateway)| {
        let told = shown(&gateway.availability, &gateway.congestion);
        told.map(move |it| row(*network, Some(*number), it))
    });
    let ss7 = ss7.iter().flat_map(|(network, table)| {
        shown(&table.availability, &table.congestion).map(move |it| row(*network, None, it))
    });
    let mut all: Vec<DestinationStatus> = gateways.chain(ss7).collect();
    all.sort_by_key(|it| {
        let range = (core::cmp::Reverse(it.affected.mask), it.affected.point_code);
        (it.gateway.is_none(), it.network, it.gateway, range)
    });
    all.truncate(max);
    all
}
