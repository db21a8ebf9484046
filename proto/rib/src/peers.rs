//! The peers of a base: what was negotiated with them, what waits for them.

use crate::{Audience, Neighbour, PeerId, Terms};
use bgp::codec::Context;
use bgp::family::{Family, FamilySet};

/// What is counted of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PeerCounters {
    /// UPDATEs that came.
    pub updates_received: u64,
    /// UPDATEs that were encoded for it.
    pub updates_sent: u64,
    /// Routes that were announced by it.
    pub announced: u64,
    /// Routes that were withdrawn by it.
    pub withdrawn: u64,
    /// Routes that were taken as withdrawn since the UPDATE offended (RFC 7606 §2), or since the
    /// peer has as many paths of the key as it may.
    pub treated_as_withdrawn: u64,
    /// Routes that had come through here before, or that were for customers only (RFC 4456 §8,
    /// RFC 4271 §9, RFC 9234 §5).
    pub looped: u64,
    /// Routes that its import policy refused.
    pub refused: u64,
    /// Attribute sets whose next hop is none that it may name (RFC 4271 §6.3), where next hops are
    /// followed: they cannot be reached.
    pub foreign_next_hops: u64,
}

/// A peer whose session is up.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) audience: Audience,
    pub(crate) neighbour: Neighbour,
    pub(crate) context: Context,
    pub(crate) message_max: usize,
    pub(crate) add_path_send: FamilySet,
    pub(crate) four_octet_as: bool,
    pub(crate) long_lived: FamilySet,
    /// Beginning and end of a refresh are marked (RFC 7313).
    pub(crate) enhanced_refresh: bool,
    /// Octets that were encoded for it and that the transport did not take yet.
    pub(crate) waiting: u64,
    /// Octets of them that wait as copies, at most.
    pub(crate) copied: u64,
    /// Families whose routes it is told once its route targets are known (RFC 4684 §6).
    pub(crate) held: FamilySet,
    pub(crate) counters: PeerCounters,
}

impl Peer {
    /// What it has in common with others in that family.
    pub(crate) fn terms(&self, family: Family) -> Terms {
        let about = &self.neighbour;
        let families = self.context.families;
        let is_peer = self.audience == Audience::Peer;
        Terms {
            audience: self.audience,
            kind: about.kind,
            export: about.export,
            location: about.location,
            role: about.role,
            aigp: self.context.aigp,
            message_max: self.message_max,
            add_path: self.add_path_send.has(family),
            four_octet_as: self.four_octet_as,
            extended_next_hop: self.context.extended_next_hop.has(family),
            constrained: is_peer && is_constrained(family) && families.has(Family::RouteTarget),
            long_lived: self.long_lived.has(family),
            next_hop_self: about.own_next_hop(family),
            site: about.customer.site,
            overridden: about.customer.as_override.then_some(about.asn),
            drops_core_attributes: about.customer.drops_core_attributes,
        }
    }
}

/// Whether routes of a family are sent by route target where the peer says which it wants.
pub(crate) const fn is_constrained(family: Family) -> bool {
    use Family::{Evpn, Vpls, Vpnv4, Vpnv4FlowSpec, Vpnv6, Vpnv6FlowSpec};
    matches!(family, Vpnv4 | Vpnv6 | Evpn | Vpls | Vpnv4FlowSpec | Vpnv6FlowSpec)
}

/// Peers by number.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    slots: Vec<Option<Box<Peer>>>,
}

impl Peers {
    pub(crate) fn find(&self, peer: PeerId) -> Option<&Peer> {
        self.slots.get(peer.0 as usize)?.as_deref()
    }

    pub(crate) fn find_mut(&mut self, peer: PeerId) -> Option<&mut Peer> {
        self.slots.get_mut(peer.0 as usize)?.as_deref_mut()
    }

    pub(crate) fn insert(&mut self, number: PeerId, peer: Peer) {
        let at = number.0 as usize;
        if self.slots.len() <= at {
            self.slots.resize_with(at + 1, || None);
        }
        self.slots[at] = Some(Box::new(peer));
    }

    pub(crate) fn remove(&mut self, peer: PeerId) -> Option<Box<Peer>> {
        self.slots.get_mut(peer.0 as usize)?.take()
    }

    /// The numbers of those who are like that.
    pub(crate) fn numbers(&self, is_wanted: impl Fn(&Peer) -> bool) -> Vec<PeerId> {
        let known = (0..).zip(&self.slots).filter_map(|(at, it)| Some((at, it.as_ref()?)));
        known.filter(|(_, it)| is_wanted(it)).map(|(at, _)| PeerId(at)).collect()
    }

    /// Octets that wait for a peer; none for one that is gone.
    pub(crate) fn waiting(&self, peer: PeerId) -> u64 {
        self.find(peer).map_or(0, |it| it.waiting)
    }
}
