//! A peer: its association, the state of the ASP behind it or of this process there (RFC 4666
//! §4.3.1).

use crate::codec::{MessageType, RoutingContext};
use crate::id::ServerId;
use crate::settings::{PeerSettings, Role, Side};
use machine::Time;
use std::collections::BTreeMap;

#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) settings: PeerSettings,
    /// The association is up; outbound streams, `None` without streams.
    pub(crate) association: Option<Option<u16>>,
    /// This process is up at the peer: asked for and acknowledged.
    pub(crate) is_up_there: bool,
    /// The peer is up here.
    pub(crate) is_up_here: bool,
    /// This process wants to be up there.
    pub(crate) wants_up: bool,
    /// ASP Up or ASP Down that waits for its answer, and how often it was sent.
    pub(crate) asked: Option<(MessageType, u16)>,
    /// The management has locked it out.
    pub(crate) is_blocked: bool,
    /// What the ASP there calls itself.
    pub(crate) asp_identifier: Option<u32>,
    /// When anything came from it.
    pub(crate) heard: Time,
    /// The Application Servers it has part in.
    pub(crate) servers: Vec<ServerId>,
    /// Those by name, for names that this process asks for (`true`) and for those that the peer
    /// asks for.
    pub(crate) contexts: BTreeMap<(bool, RoutingContext), ServerId>,
    /// Beats sent.
    pub(crate) beats: u64,
    /// Level of congestion that the transport told.
    pub(crate) congestion: u8,
}

impl Peer {
    pub(crate) fn new(settings: PeerSettings) -> Self {
        Self {
            wants_up: settings.starts,
            settings,
            association: None,
            is_up_there: false,
            is_up_here: false,
            asked: None,
            is_blocked: false,
            asp_identifier: None,
            heard: Time::ZERO,
            servers: Vec::new(),
            contexts: BTreeMap::new(),
            beats: 0,
            congestion: 0,
        }
    }

    /// Whether this process sends ASP Up and ASP Active to it.
    #[inline]
    pub(crate) const fn is_asked(&self) -> bool {
        matches!(self.settings.role, Role::Asp | Role::IpspClient | Role::IpspDouble)
    }

    /// Whether it sends them here.
    pub(crate) const fn asks(&self) -> bool {
        matches!(self.settings.role, Role::Sgp | Role::IpspServer | Role::IpspDouble)
    }

    /// Whether this process asks for Application Servers of that side; else the peer does. `None`
    /// when the role has no part in such.
    pub(crate) const fn asks_for(&self, side: Side) -> Option<bool> {
        match (self.settings.role, side) {
            (Role::Asp, Side::Here) | (Role::IpspDouble, Side::Here) => Some(true),
            (Role::Sgp, Side::There) | (Role::IpspDouble, Side::There) => Some(false),
            (Role::IpspClient, Side::There) => Some(true),
            (Role::IpspServer, Side::There) => Some(false),
            _ => None,
        }
    }

    /// The stream for a flow: never 0, which is for management, unless there is no other (RFC
    /// 4666 §1.4.7).
    #[inline]
    pub(crate) fn stream(&self, sls: u8) -> u16 {
        match self.association.flatten() {
            Some(streams) if streams > 1 => 1 + u16::from(sls) % (streams - 1),
            _ => 0,
        }
    }
}
