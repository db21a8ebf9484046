//! Where a flood may be sent: an interface that cannot reach anyone outside.

use crate::Attack;
use crate::namespace::{is_in_the_lab, run_ip};
use anyhow::Context;
use serde_json::Value;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

/// Octets of a link-layer address.
const MAC_OCTETS: usize = 6;
/// Looks for the target's link-layer address, and the pause between them.
const LOOKS_MAX: usize = 20;
const LOOK: Duration = Duration::from_millis(50);
/// The discard port (RFC 863): a datagram to it makes the kernel ask for the link-layer address.
const DISCARD: u16 = 9;

/// An interface, and the link-layer addresses of a frame on it.
#[derive(Debug, Clone)]
pub struct Place {
    interface: String,
    is_loopback: bool,
    own: [u8; MAC_OCTETS],
    target: [u8; MAC_OCTETS],
}

impl Place {
    /// A place in the calling thread's network namespace. `mac` is the target's link-layer
    /// address; without it the kernel is asked for that of `target`.
    ///
    /// # Errors
    /// When the interface is neither loopback nor a veth in a namespace that the lab made; when
    /// the link-layer address cannot be found.
    pub fn find(interface: &str, target: Ipv4Addr, mac: Option<&str>) -> anyhow::Result<Self> {
        let shown = run_ip(&["-json", "-details", "link", "show", "dev", interface])?;
        let link: Value = serde_json::from_str(&shown).context("ip(8) did not print JSON")?;
        let link = &link[0];
        let is_loopback = link["link_type"] == "loopback";
        let is_veth = link["linkinfo"]["info_kind"] == "veth";
        anyhow::ensure!(
            is_loopback || (is_veth && is_in_the_lab()?),
            "{interface} is neither loopback nor a veth in a namespace that the lab made: refused"
        );
        let own = read_mac(link["address"].as_str().unwrap_or_default())?;
        let target = match mac {
            _ if is_loopback => own,
            Some(mac) => read_mac(mac)?,
            None => neighbour(interface, target)?,
        };
        Ok(Self { interface: interface.to_owned(), is_loopback, own, target })
    }

    /// Whether a flood may be sent from here: on loopback only between loopback addresses.
    ///
    /// # Errors
    /// A sentence that says why not.
    pub fn allows(&self, attack: &Attack) -> anyhow::Result<()> {
        let local = attack.target.ip().is_loopback() && attack.sources.are_loopback();
        anyhow::ensure!(
            !self.is_loopback || local,
            "on loopback, target and sources are loopback addresses"
        );
        Ok(())
    }

    /// The interface's name.
    #[must_use]
    pub fn interface(&self) -> &str {
        &self.interface
    }

    pub(crate) const fn own_mac(&self) -> [u8; MAC_OCTETS] {
        self.own
    }

    pub(crate) const fn target_mac(&self) -> [u8; MAC_OCTETS] {
        self.target
    }

    #[cfg(test)]
    pub(crate) fn for_tests() -> Self {
        Self { interface: "lo".into(), is_loopback: true, own: [0; 6], target: [0; 6] }
    }
}

fn read_mac(text: &str) -> anyhow::Result<[u8; MAC_OCTETS]> {
    let octets: Result<Vec<u8>, _> =
        text.split(':').map(|octet| u8::from_str_radix(octet, 16)).collect();
    let octets = octets.ok().and_then(|octets| octets.try_into().ok());
    octets.with_context(|| format!("`{text}` is no link-layer address"))
}

/// The link-layer address of a neighbour, as the kernel finds it.
fn neighbour(interface: &str, target: Ipv4Addr) -> anyhow::Result<[u8; MAC_OCTETS]> {
    for _ in 0..LOOKS_MAX {
        UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?.send_to(&[], (target, DISCARD))?;
        std::thread::sleep(LOOK);
        let shown = run_ip(&["-json", "neigh", "show", &target.to_string(), "dev", interface])?;
        let rows: Value = serde_json::from_str(&shown).unwrap_or_default();
        if let Some(mac) = rows[0]["lladdr"].as_str() {
            return read_mac(mac);
        }
    }
    anyhow::bail!("{target} is no neighbour on {interface}; name its link-layer address by --mac")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    #[test]
    fn a_link_layer_address_is_read() {
        assert_eq!(read_mac("02:00:00:00:0a:ff").unwrap(), [2, 0, 0, 0, 10, 255]);
        assert!(read_mac("02:00:00:00:0a").is_err() && read_mac("").is_err());
    }

    #[test]
    fn on_loopback_nobody_else_is_flooded() {
        let attack = |target: &str, sources: &str| Attack {
            kind: Kind::Icmp,
            target: target.parse().unwrap(),
            ports: 1,
            sources: sources.parse().unwrap(),
            rate: 1,
            time: Duration::ZERO,
        };
        let place = Place::for_tests();
        assert!(place.allows(&attack("127.0.0.1:5060", "127.1.0.0/16")).is_ok());
        assert!(place.allows(&attack("10.0.0.1:5060", "127.1.0.0/16")).is_err());
        assert!(place.allows(&attack("127.0.0.1:5060", "10.0.0.0/8")).is_err());
    }
}
