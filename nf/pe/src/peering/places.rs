//! Where sessions begin and end: addresses of the router, by their routing tables.

use super::own::Here;
use crate::config::{Bgp, Pe, network, prefix};
use runtime::Flow;
use std::net::IpAddr;

/// Subnets and addresses of a router in one of its routing tables.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// Addresses that peers connect to.
    listens: Vec<IpAddr>,
    /// All that there are.
    own: Vec<IpAddr>,
    identifier: Option<IpAddr>,
    /// By interface.
    subnets: Vec<Vec<(IpAddr, u8)>>,
}

impl Places {
    /// Of a table; `None`: of the global one.
    pub(crate) fn of(pe: &Pe, section: &Bgp, vrf: Option<&str>) -> Self {
        let own = pe.addresses_of(vrf);
        let identifier = IpAddr::from(section.identifier);
        let routed = pe.interface.iter().filter(|it| it.vrf.as_deref() == vrf);
        Self {
            listens: if vrf.is_none() { pe.bgp_addresses() } else { own.clone() },
            identifier: Some(identifier).filter(|it| own.contains(it)),
            subnets: routed
                .map(|it| it.addresses.iter().filter_map(|it| prefix(it)).collect())
                .collect(),
            own,
        }
    }

    /// Addresses that peers connect to.
    pub(crate) fn own(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.own.iter().copied()
    }

    /// The subnets of the interface that a peer is next door by; none, where it is not.
    pub(crate) fn around(&self, peer: IpAddr) -> Vec<(IpAddr, u8)> {
        let peer = peer.to_canonical();
        let near = |it: &&Vec<(IpAddr, u8)>| it.iter().any(|subnet| contains(*subnet, peer));
        self.subnets.iter().find(near).cloned().unwrap_or_default()
    }

    /// Where own routes lead to.
    pub(crate) fn here(&self) -> Here {
        let first = |is_four: bool| {
            let own = self.identifier.into_iter().chain(self.listens.iter().copied());
            own.chain(self.own.iter().copied()).find(|it| it.is_ipv4() == is_four)
        };
        Here { four: first(true), six: first(false) }
    }

    /// From where a connection begins: the address that the peer is to see, else that of the
    /// interface where it is, else the identifier, else any of its family.
    pub(crate) fn from(&self, flow: &Flow) -> Option<IpAddr> {
        let far = flow.remote.ip();
        let local = Some(flow.local.ip()).filter(|it| !it.is_unspecified());
        let next_door = || {
            let around = |it: &&(IpAddr, u8)| contains(**it, far);
            self.subnets.iter().flatten().filter(around).max_by_key(|it| it.1).map(|it| it.0)
        };
        let of_family = |it: &IpAddr| it.is_ipv4() == far.is_ipv4();
        let own = local
            .or_else(next_door)
            .or_else(|| self.identifier.filter(of_family))
            .or_else(|| self.listens.iter().copied().find(of_family))
            .or_else(|| self.own.iter().copied().find(of_family));
        own.filter(|it| self.own.contains(it))
    }
}

/// Whether an address lies in the subnet of another one.
fn contains(subnet: (IpAddr, u8), address: IpAddr) -> bool {
    let (own, length) = subnet;
    own.is_ipv4() == address.is_ipv4() && network((own, length)) == network((address, length))
}
