//! Hops that routes lead to, made where everything is said, or where a single thing changes.

use crate::config::{Interface, Pe, network, prefix};
use dataplane::{Dataplane, Edit, Kind, Rank};
use igp::{Prefix, Way};
use ldp_stack::IMPLICIT_NULL;
use nodes::Program;
use nodes::program::{Hop, Push, Removed, Tunnel};
use std::net::IpAddr;

/// What makes hops: everything at once, or a single change.
pub(crate) trait Hops {
    /// The number of a hop of that name, which is said where it was not.
    fn hop(&mut self, rank: Rank, name: &str, hop: Hop) -> u32;

    /// Whether the plane has a hop of that name.
    fn has(&self, rank: Rank, name: &str) -> bool;
}

/// A single change, and how many hops it has made.
pub(crate) struct Editing<'a, 'b>(pub(crate) &'a mut Edit<'b>, pub(crate) &'a mut usize);

impl Hops for Editing<'_, '_> {
    fn hop(&mut self, rank: Rank, name: &str, hop: Hop) -> u32 {
        let id = self.0.number(Kind::Hop, name);
        if !self.0.said().things.contains_key(&(rank, Removed::Hop(id))) {
            *self.1 += 1;
        }
        self.0.put(rank, Removed::Hop(id), Program::Hop { id, hop });
        id
    }

    fn has(&self, rank: Rank, name: &str) -> bool {
        let id = self.0.known(Kind::Hop, name);
        id.is_some_and(|id| self.0.said().things.contains_key(&(rank, Removed::Hop(id))))
    }
}

/// The hops of equal ways, each behind the label that the next router wants, if it wants one.
pub(crate) fn members_of(ways: &[(Way, Option<u32>)], hops: &mut impl Hops) -> Vec<(u32, u32)> {
    let each = ways.iter().map(|(way, label)| {
        let over = plain(way, hops);
        behind(over, label.as_slice(), hops)
    });
    each.map(|hop| (hop, 1)).collect()
}

/// The hop of a way that the section may name as well.
pub(crate) fn plain(way: &Way, hops: &mut impl Hops) -> u32 {
    let (interface, gateway, labels) = (way.interface, Some(way.gateway), Vec::<u32>::new());
    let name = format!("via {interface} {gateway:?} {labels:?}");
    hops.hop(Rank::Hop, &name, Hop::Via { interface, gateway, labels })
}

/// A hop over another one, behind labels; implicit null is none.
pub(crate) fn behind(over: u32, labels: &[u32], hops: &mut impl Hops) -> u32 {
    let labels: Vec<u32> = labels.iter().copied().filter(|it| *it != IMPLICIT_NULL).collect();
    if labels.is_empty() {
        return over;
    }
    let push = Push { over, labels, tunnel: Tunnel::Uniform, ..Push::default() };
    hops.hop(Rank::Pushed, &format!("{push:?}"), Hop::Push(push))
}

/// One hop, or flows shared among equal ones.
pub(crate) fn shared(members: Vec<(u32, u32)>, hops: &mut impl Hops) -> u32 {
    match &members[..] {
        [(only, _)] => *only,
        _ => {
            let name = format!("group false {members:?}");
            hops.hop(Rank::Composed, &name, Hop::Group { members, resilient: false })
        }
    }
}

/// The prefix that a text names.
pub(crate) fn prefix_of(text: &str) -> Option<Prefix> {
    let (address, length) = prefix(text).map(network)?;
    Some(Prefix::new(address, length))
}

/// Whether packets come and go by an interface.
pub(crate) fn is_up(pe: &Pe, it: &Interface, dataplane: &Dataplane) -> bool {
    dataplane.is_controlled() && pe.port_of(it).is_none_or(|port| dataplane.is_up(port))
}

/// The interface of a routing table whose subnet has an address.
pub(crate) fn subnet_of<'a>(
    pe: &'a Pe,
    vrf: Option<&str>,
    gateway: IpAddr,
) -> Option<&'a Interface> {
    pe.interface.iter().filter(|interface| interface.vrf.as_deref() == vrf).find(|interface| {
        let subnets = interface.addresses.iter().filter_map(|text| prefix(text));
        let mut subnets = subnets.filter(|(own, _)| own.is_ipv4() == gateway.is_ipv4());
        subnets.any(|(own, length)| network((own, length)) == network((gateway, length)))
    })
}
