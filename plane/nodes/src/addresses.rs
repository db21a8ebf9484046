//! The system's own addresses as workers read them; replaced whole when one changes.

use crate::program::Mac;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Own addresses at most, of all interfaces.
pub const ADDRESSES_MAX: usize = 65_536;

/// All-nodes, all-routers and the like: what every router listens to on every link.
const GROUPS_6: [u16; 6] = [1, 2, 5, 6, 13, 22];

/// What an interface has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// IPv4 addresses, the first is the one that speaks.
    pub ipv4: Vec<Ipv4Addr>,
    /// IPv6 addresses of wider scope, the first is the one that speaks.
    pub ipv6: Vec<Ipv6Addr>,
    /// Link-local addresses.
    pub link_local: Vec<Ipv6Addr>,
}

/// The addresses of all interfaces.
#[derive(Default)]
pub struct Addresses {
    interfaces: BTreeMap<u32, Own>,
}

impl Addresses {
    /// From what each interface has.
    #[must_use]
    pub const fn new(interfaces: BTreeMap<u32, Own>) -> Self {
        Self { interfaces }
    }

    /// What an interface has.
    #[must_use]
    pub fn of(&self, interface: u32) -> Option<&Own> {
        self.interfaces.get(&interface)
    }

    /// Whether the interface has this address.
    #[must_use]
    pub fn has(&self, interface: u32, address: IpAddr) -> bool {
        let Some(own) = self.of(interface) else { return false };
        match address {
            IpAddr::V4(address) => own.ipv4.contains(&address),
            IpAddr::V6(address) => own.ipv6.contains(&address) || own.link_local.contains(&address),
        }
    }

    /// The address in whose name the interface's errors are sent.
    #[must_use]
    pub fn ipv4(&self, interface: u32) -> Option<Ipv4Addr> {
        self.of(interface)?.ipv4.first().copied()
    }

    /// As [`Addresses::ipv4`]: of wider scope than the link if there is one.
    #[must_use]
    pub fn ipv6(&self, interface: u32) -> Option<Ipv6Addr> {
        let own = self.of(interface)?;
        own.ipv6.first().or_else(|| own.link_local.first()).copied()
    }

    /// The address in whose name errors go to senders of the interface's own link.
    #[must_use]
    pub fn link_local(&self, interface: u32) -> Option<Ipv6Addr> {
        self.of(interface)?.link_local.first().copied()
    }

    /// Whether the interface listens to a group of its link: all nodes, all routers, and the
    /// solicited-node groups of its addresses (RFC 4291 §2.7.1).
    #[must_use]
    pub fn listens(&self, interface: u32, group: Ipv6Addr) -> bool {
        let Some(own) = self.of(interface) else { return false };
        let words = group.segments();
        if words[0] != 0xff02 {
            return false;
        }
        if words[1..7] == [0; 6] {
            return GROUPS_6.contains(&words[7]);
        }
        own.ipv6.iter().chain(&own.link_local).any(|address| solicited(*address) == group)
    }
}

/// The group in which a neighbour is asked for this address.
#[must_use]
pub fn solicited(address: Ipv6Addr) -> Ipv6Addr {
    let last = address.octets();
    Ipv6Addr::new(
        0xff02,
        0,
        0,
        0,
        0,
        1,
        0xff00 | u16::from(last[13]),
        u16::from_be_bytes([last[14], last[15]]),
    )
}

/// The MAC address of an IPv6 group (RFC 2464 §7).
#[must_use]
pub fn group_mac(group: Ipv6Addr) -> Mac {
    let last = group.octets();
    [0x33, 0x33, last[12], last[13], last[14], last[15]]
}

/// The link-local address of a MAC address (RFC 4291, appendix A).
#[must_use]
pub fn link_local(mac: Mac) -> Ipv6Addr {
    let [a, b, c, d, e, f] = mac;
    let word = |high: u8, low: u8| u16::from_be_bytes([high, low]);
    Ipv6Addr::new(0xfe80, 0, 0, 0, word(a ^ 2, b), word(c, 0xff), word(0xfe, d), word(e, f))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_listens_to_the_groups_of_its_addresses() {
        let own = Own {
            ipv6: vec!["2001:db8::1:2:3".parse().unwrap()],
            link_local: vec![link_local([0x02, 0, 0, 0xaa, 0xbb, 0xcc])],
            ..Own::default()
        };
        assert_eq!(own.link_local[0].to_string(), "fe80::ff:feaa:bbcc");
        let addresses = Addresses::new(BTreeMap::from([(3, own)]));
        for (group, heard) in [
            ("ff02::1", true),
            ("ff02::2", true),
            ("ff02::5", true),
            ("ff02::1:ff02:3", true),
            ("ff02::1:ffaa:bbcc", true),
            ("ff02::1:ff02:4", false),
            ("ff02::99", false),
            ("ff05::1", false),
        ] {
            assert_eq!(addresses.listens(3, group.parse().unwrap()), heard, "{group}");
        }
        assert!(!addresses.listens(4, "ff02::1".parse().unwrap()));
        let group: Ipv6Addr = "ff02::1:ff02:3".parse().unwrap();
        assert_eq!(group_mac(group), [0x33, 0x33, 0xff, 0x02, 0, 3]);
    }
}
