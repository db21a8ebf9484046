//! The links of routing tables, as protocols are told them.

use crate::config::{Interface, Pe, mac, prefix};
use crate::hops::is_up;
use dataplane::{Dataplane, Kind};
use igp::Link;

/// The tags of frames of one VLAN, and of two.
const TAG: [u8; 2] = [0x81, 0];
const SERVICE_TAG: [u8; 2] = [0x88, 0xa8];

/// The links of a routing table; `None`: of the global one.
pub(crate) fn links_of(pe: &Pe, dataplane: &Dataplane, vrf: Option<&str>) -> Vec<Link> {
    let routed = pe.interface.iter().filter(|it| it.vrf.as_deref() == vrf);
    let links = routed.filter(|it| !pe.carries_frames(&it.name)).filter_map(|it| {
        Some(Link {
            name: it.name.clone(),
            index: dataplane.numbers().known(Kind::Interface, &it.name)?,
            address: pe.address4(it),
            addresses: it.addresses.iter().filter_map(|text| prefix(text)).collect(),
            mac: mac_of(pe, it, dataplane),
            tags: tags_of(it),
            mtu: pe.mtu_of(it),
            is_up: is_up(pe, it, dataplane),
            is_dear: false,
        })
    });
    links.collect()
}

/// The MAC address of an interface: its own, or its port's once that is open.
pub(crate) fn mac_of(pe: &Pe, it: &Interface, dataplane: &Dataplane) -> Option<[u8; 6]> {
    let own = it.mac.as_deref().and_then(mac);
    own.or_else(|| dataplane.mac(pe.port_of(it)?))
}

/// The VLAN tags of an interface's frames.
fn tags_of(it: &Interface) -> Vec<u8> {
    let inner = it.inner_vlan.map(|vlan| (TAG, vlan));
    let outer = it.vlan.map(|vlan| (if inner.is_some() { SERVICE_TAG } else { TAG }, vlan));
    let all = outer.into_iter().chain(inner);
    all.flat_map(|(tag, vlan)| [tag, vlan.to_be_bytes()]).flatten().collect()
}
