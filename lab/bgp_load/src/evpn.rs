//! Ethernet VPNs as the report has them: 2,000 instances over 200 provider edges, each instance in
//! four of them, and the MACs dealt out evenly.

use crate::digest::{self, Attributes, Sum};
use crate::keys::{Keys, NOBODY};
use crate::plan::Plan;
use crate::table::{Feed, LIMITS, Origin, head};
use bgp::codec::{Asn, AttributeType, Identifier, write_attribute};
use bgp::family::{Family, Layout, Routes};
use bgp::pack::{Announcement, Withdrawal, end_of_rib};

/// Instances at most: their number stands in two octets of a MAC.
pub const EVIS_MAX: usize = 65_535;
/// Octets of a MAC/IP route without IP address (RFC 7432 §7.2), type and length included.
const MAC_ROUTE_BYTES: usize = 35;
/// VXLAN as encapsulation (RFC 9012 §4.1).
const ENCAPSULATION: [u8; 8] = [3, 0x0C, 0, 0, 0, 0, 0, 8];
/// Ingress replication (RFC 6514 §5).
const INGRESS_REPLICATION: u8 = 6;
/// Bits of a route target membership (RFC 4684 §4).
const MEMBERSHIP_BITS: u8 = 96;

/// Who has which instance.
#[derive(Debug, Clone, Copy)]
pub struct Evpn {
    /// Instances, at most [`EVIS_MAX`].
    pub evis: usize,
    /// Provider edges.
    pub clients: usize,
    /// Provider edges of each instance.
    pub sites: usize,
    /// MACs of all instances together.
    pub macs: usize,
    /// The AS of all.
    pub asn: Asn,
    /// The reflector's cluster.
    pub cluster: Identifier,
}

impl Evpn {
    /// The provider edges of an instance.
    pub fn members(&self, evi: usize) -> impl Iterator<Item = usize> + use<> {
        let (clients, sites) = (self.clients.max(1), self.sites.min(self.clients));
        (0..sites).map(move |site| (evi + site * clients / sites.max(1)) % clients)
    }

    /// The instances of a provider edge.
    pub fn evis_of(&self, client: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.evis).filter(move |evi| self.members(*evi).any(|member| member == client))
    }

    /// The route distinguisher of an instance at a provider edge: its address and a number.
    fn distinguisher(client: usize, evi: usize) -> [u8; 8] {
        let [a, b, c, d] = Plan::identifier(client).to_be_bytes();
        let [high, low] = (evi as u16).to_be_bytes();
        [0, 1, a, b, c, d, high, low]
    }

    fn route_target(&self, evi: usize) -> [u8; 8] {
        let [high, low] = (self.asn as u16).to_be_bytes();
        let [a, b, c, d] = (evi as u32 + 1).to_be_bytes();
        [0, 2, high, low, a, b, c, d]
    }

    /// The MACs of an instance at one of its sites: first and behind the last.
    fn macs_at(&self, evi: usize, site: usize) -> std::ops::Range<usize> {
        let share = |count: usize, parts: usize, part: usize| count * part / parts.max(1);
        let all = share(self.macs, self.evis, evi + 1) - share(self.macs, self.evis, evi);
        share(all, self.sites, site)..share(all, self.sites, site + 1)
    }

    fn attributes(&self, evi: usize) -> Vec<u8> {
        let mut out = head(0, &[]);
        let preference = 100u32.to_be_bytes();
        write_attribute(AttributeType::LocalPref.flags(), 5, &preference, &mut out);
        let communities = [self.route_target(evi), ENCAPSULATION].concat();
        let flags = AttributeType::ExtendedCommunities.flags();
        write_attribute(flags, 16, &communities, &mut out);
        out
    }

    /// The octets of the MAC routes of an instance at a provider edge.
    fn mac_routes(
        &self,
        client: usize,
        evi: usize,
        site: usize,
    ) -> impl Iterator<Item = [u8; MAC_ROUTE_BYTES]> + use<> {
        let distinguisher = Self::distinguisher(client, evi);
        let label = ((evi as u32 + 1) << 8).to_be_bytes();
        let [high, low] = (evi as u16).to_be_bytes();
        let [_, s] = (site as u16).to_be_bytes();
        self.macs_at(evi, site).map(move |number| {
            let [_, n1, n2, n3] = (number as u32).to_be_bytes();
            let mut wire = [0; MAC_ROUTE_BYTES];
            (wire[0], wire[1]) = (2, MAC_ROUTE_BYTES as u8 - 2);
            wire[2..10].copy_from_slice(&distinguisher);
            wire[24] = 48;
            wire[25..31].copy_from_slice(&[0x02 | (s & 0x3F) << 2, high, low, n1, n2, n3]);
            wire[32..35].copy_from_slice(&label[..3]);
            wire
        })
    }

    /// The route that asks for broadcast (RFC 7432 §7.3), and its PMSI_TUNNEL.
    fn multicast(client: usize, evi: usize) -> ([u8; 19], [u8; 9]) {
        let mut wire = [0; 19];
        (wire[0], wire[1]) = (3, 17);
        wire[2..10].copy_from_slice(&Self::distinguisher(client, evi));
        wire[14] = 32;
        let address = Plan::identifier(client).to_be_bytes();
        wire[15..19].copy_from_slice(&address);
        let label = ((evi as u32 + 1) << 8).to_be_bytes();
        let mut tunnel = [0, INGRESS_REPLICATION, label[0], label[1], label[2], 0, 0, 0, 0];
        tunnel[5..].copy_from_slice(&address);
        (wire, tunnel)
    }

    /// What a provider edge announces; `into` is told the sum of each instance.
    pub fn announce(&self, client: usize, keys: &mut Keys, into: &mut Vec<(usize, Sum)>) -> Feed {
        let origin = Origin { client, cluster: self.cluster };
        let feeder = u16::try_from(client).unwrap_or(NOBODY);
        let (mut octets, mut all, mut routes, mut last) = (Vec::new(), Sum::default(), 0, None);
        for (evi, site) in self.places(client) {
            let (mut sum, next_hop) = (Sum::default(), Plan::next_hop(client));
            let plain = self.attributes(evi);
            let (multicast, tunnel) = Self::multicast(client, evi);
            let mut with_tunnel = plain.clone();
            let flags = AttributeType::PmsiTunnel.flags();
            write_attribute(flags, 22, &tunnel, &mut with_tunnel);
            let parts = [(&with_tunnel, true), (&plain, false)];
            for (attributes, is_multicast) in parts {
                let digest = Attributes::of(attributes).with(AttributeType::NextHop, &next_hop);
                let digest = origin.reflected(digest);
                let packing = Announcement::multiprotocol(
                    LIMITS,
                    Family::Evpn,
                    &next_hop,
                    attributes,
                    &mut octets,
                );
                // Attributes of less than a hundred octets leave room.
                let Ok(mut packing) = packing else { continue };
                let mut put = |wire: &[u8]| {
                    let (key, payload) = split(wire);
                    let tag = digest.tag(&payload);
                    sum.add(key, tag);
                    last = keys.number(key, feeder).map(|number| (number, tag));
                    routes += u64::from(packing.route(0, wire).is_ok());
                };
                if is_multicast {
                    put(&multicast);
                } else {
                    self.mac_routes(client, evi, site).for_each(|wire| put(&wire));
                }
                packing.finish();
            }
            all = all.and(sum);
            into.push((evi, sum));
        }
        end_of_rib(Family::Evpn, &mut octets);
        Feed { octets: octets.into(), sum: all, routes, last }
    }

    /// The instances of a provider edge, and which of their sites it is.
    fn places(&self, client: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.evis).filter_map(move |evi| {
            self.members(evi).position(|member| member == client).map(|site| (evi, site))
        })
    }

    /// All that a provider edge announced, withdrawn.
    #[must_use]
    pub fn withdraw(&self, client: usize) -> Feed {
        let mut octets = Vec::new();
        let mut packing = Withdrawal::multiprotocol(LIMITS, Family::Evpn, &mut octets);
        let mut routes = 0;
        for (evi, site) in self.places(client) {
            routes += u64::from(packing.route(0, &Self::multicast(client, evi).0).is_ok());
            for wire in self.mac_routes(client, evi, site) {
                routes += u64::from(packing.route(0, &wire).is_ok());
            }
        }
        packing.finish();
        Feed { octets: octets.into(), sum: Sum::default(), routes, last: None }
    }

    /// The route targets that a provider edge wants routes of (RFC 4684 §4).
    #[must_use]
    pub fn memberships(&self, client: usize) -> Feed {
        let mut octets = Vec::new();
        let mut attributes = head(0, &[]);
        let preference = 100u32.to_be_bytes();
        write_attribute(AttributeType::LocalPref.flags(), 5, &preference, &mut attributes);
        let next_hop = Plan::next_hop(client);
        let family = Family::RouteTarget;
        let mut routes = 0;
        if let Ok(mut packing) =
            Announcement::multiprotocol(LIMITS, family, &next_hop, &attributes, &mut octets)
        {
            for evi in self.evis_of(client) {
                let mut wire = vec![MEMBERSHIP_BITS];
                wire.extend_from_slice(&self.asn.to_be_bytes());
                wire.extend_from_slice(&self.route_target(evi));
                routes += u64::from(packing.route(0, &wire).is_ok());
            }
            packing.finish();
        }
        end_of_rib(family, &mut octets);
        Feed { octets: octets.into(), sum: Sum::default(), routes, last: None }
    }
}

/// The number of the key of an EVPN route, and its payload.
fn split(wire: &[u8]) -> (u64, Vec<u8>) {
    let (mut key, mut payload) = (Vec::with_capacity(40), Vec::with_capacity(16));
    for route in Routes::new(Family::Evpn, Layout::default(), wire) {
        route.split(&mut key, &mut payload);
    }
    (digest::key(Family::Evpn, 0, &key), payload)
}
