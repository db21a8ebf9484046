//! Monitoring stations look on: told like peers, in groups of their own.

use crate::peers::{Peer, PeerCounters, is_constrained};
use crate::{Audience, Customer, Kind, Neighbour, PEERS_MAX, PeerId, Rib};
use bgp::codec::{Context, MESSAGE_BYTES_MAX, Peering};
use bgp::family::FamilySet;
use core::net::{IpAddr, Ipv4Addr};

impl Rib {
    /// A station is told what a peer is sent (RFC 8671), or without one what was chosen of some
    /// families (RFC 9069): everything, then every change, as if it were a peer. Like one it is
    /// taken out by [`Rib::down`]. What a peer is sent by route target is not shown. The families
    /// of which it is told.
    pub fn watch(&mut self, station: PeerId, of: Option<PeerId>, families: FamilySet) -> FamilySet {
        if station.0 as usize >= PEERS_MAX || self.peers.find(station).is_some() {
            return FamilySet::EMPTY;
        }
        let peer = match of {
            None => self.looks_at_choice(families),
            Some(of) => match self.peers.find(of) {
                Some(peer) => looks_at_peer(peer),
                None => return FamilySet::EMPTY,
            },
        };
        let families = peer.context.families.and(families);
        self.peers.insert(station, peer);
        families.iter().for_each(|family| self.join(station, family));
        families
    }

    /// One who is told what was chosen.
    fn looks_at_choice(&self, families: FamilySet) -> Peer {
        let address = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        Peer {
            audience: Audience::LocRib,
            neighbour: Neighbour {
                kind: Kind::Client,
                identifier: self.own.identifier,
                address,
                asn: self.own.asn,
                import: 0,
                export: 0,
                location: 0,
                allow_own_as: 0,
                role: None,
                next_hop_self: None,
                own_ipv6: None,
                customer: Customer::default(),
                subnets: Vec::new(),
            },
            context: Context {
                peering: Peering::Internal,
                four_octet_as: true,
                families,
                add_path: FamilySet::EMPTY,
                extended_next_hop: families,
                multiple_labels: families,
                aigp: true,
                first_as: None,
            },
            message_max: MESSAGE_BYTES_MAX,
            add_path_send: FamilySet::EMPTY,
            four_octet_as: true,
            long_lived: families,
            enhanced_refresh: false,
            waiting: 0,
            copied: 0,
            held: FamilySet::EMPTY,
            counters: PeerCounters::default(),
        }
    }
}

/// One who is told what a peer is sent.
fn looks_at_peer(peer: &Peer) -> Peer {
    let families = peer.context.families;
    let has_targets = families.has(bgp::family::Family::RouteTarget);
    let shown = families.iter().filter(|family| !(has_targets && is_constrained(*family)));
    Peer {
        audience: Audience::AdjRibOut,
        neighbour: Neighbour { import: 0, ..peer.neighbour.clone() },
        context: Context { families: shown.collect(), ..peer.context },
        message_max: peer.message_max,
        add_path_send: peer.add_path_send,
        four_octet_as: peer.four_octet_as,
        long_lived: peer.long_lived,
        enhanced_refresh: false,
        waiting: 0,
        copied: 0,
        held: FamilySet::EMPTY,
        counters: PeerCounters::default(),
    }
}
