//! Where sessions begin and end: addresses of the router, by their routing tables.

use super::own::Here;
use crate::config::{Bgp, Pe, network, prefix};
use runtime::Flow;
use std::net::IpAddr;

/// The number of the global table.
const GLOBAL: u32 = 0;

/// Subnets and addresses of a router.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// Addresses that peers connect to.
    listens: Vec<IpAddr>,
    /// All that there are.
    own: Vec<IpAddr>,
    identifier: Option<IpAddr>,
    subnets: Vec<(IpAddr, u8)>,
}

impl Places {
    pub(crate) fn of(pe: &Pe, section: &Bgp) -> Self {
        let own = pe.global_addresses();
        let identifier = IpAddr::from(section.identifier);
        let routed = pe.interface.iter().filter(|it| it.vrf.is_none());
        Self {
            listens: pe.bgp_addresses(),
            identifier: Some(identifier).filter(|it| own.contains(it)),
            subnets: routed.flat_map(|it| &it.addresses).filter_map(|it| prefix(it)).collect(),
            own,
        }
    }

    /// Addresses that peers connect to, by their tables.
    pub(crate) fn own(&self) -> impl Iterator<Item = (u32, IpAddr)> + '_ {
        self.own.iter().map(|it| (GLOBAL, *it))
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
    pub(crate) fn from(&self, flow: &Flow) -> Option<(u32, IpAddr)> {
        let far = flow.remote.ip();
        let local = Some(flow.local.ip()).filter(|it| !it.is_unspecified());
        let next_door = || {
            let around = |it: &&(IpAddr, u8)| contains(**it, far);
            self.subnets.iter().filter(around).max_by_key(|it| it.1).map(|it| it.0)
        };
        let of_family = |it: &IpAddr| it.is_ipv4() == far.is_ipv4();
        let own = local
            .or_else(next_door)
            .or_else(|| self.identifier.filter(of_family))
            .or_else(|| self.listens.iter().copied().find(of_family))
            .or_else(|| self.own.iter().copied().find(of_family));
        own.filter(|it| self.own.contains(it)).map(|it| (GLOBAL, it))
    }
}

/// Whether an address lies in the subnet of another one.
fn contains(subnet: (IpAddr, u8), address: IpAddr) -> bool {
    let (own, length) = subnet;
    own.is_ipv4() == address.is_ipv4() && network((own, length)) == network((address, length))
}
