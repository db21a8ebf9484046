//! Router advertisements of interfaces.

use super::Compiler;
use crate::config::{self, network, preferred_s, prefix, valid_s};
use dataplane::Rank;
use nodes::Program;
use nodes::program::{self, Preference, Removed};
use std::net::{IpAddr, Ipv6Addr};

/// Prefixes of this length are those that hosts make addresses of (RFC 4291 §2.5.1).
pub(crate) const HOST_BITS: u8 = 64;

impl Compiler<'_> {
    pub(super) fn advertise(&mut self, interface: u32, section: &config::Interface) {
        let Some(it) = &section.advertise else { return };
        let program = program::Advertisement {
            interface,
            interval_max_s: it.interval_s,
            interval_min_s: interval_min_s(it.interval_s),
            lifetime_s: it.lifetime_s.unwrap_or(it.interval_s * 3),
            hop_limit: it.hop_limit,
            managed: it.managed,
            other: it.other,
            reachable_ms: it.reachable_ms,
            retransmit_ms: it.retransmit_ms,
            mtu: it.mtu.unwrap_or(0).into(),
            preference: match it.preference {
                config::Preference::Low => Preference::Low,
                config::Preference::Medium => Preference::Medium,
                config::Preference::High => Preference::High,
            },
            prefixes: prefixes(it, section),
            resolvers: it.resolvers.clone(),
        };
        let name = Removed::Advertisement(interface);
        self.out.put(Rank::Use, name, Program::Advertisement(program));
    }
}

/// MinRtrAdvInterval: a third, three seconds at least.
fn interval_min_s(interval_s: u16) -> u16 {
    (interval_s / 3).max(3)
}

fn prefixes(it: &config::Advertise, section: &config::Interface) -> Vec<program::AdvertisedPrefix> {
    if it.prefix.is_empty() {
        let own = subnets(section).map(|(prefix, length)| program::AdvertisedPrefix {
            prefix,
            length,
            valid_s: valid_s(),
            preferred_s: preferred_s(),
            on_link: true,
            autonomous: length == HOST_BITS,
        });
        return own.collect();
    }
    let said = it.prefix.iter().filter_map(|it| {
        let (address, length) = prefix(&it.prefix)?;
        let (prefix, length) = ip6(address, length)?;
        Some(program::AdvertisedPrefix {
            prefix,
            length,
            valid_s: it.valid_s,
            preferred_s: it.preferred_s,
            on_link: it.on_link,
            autonomous: it.autonomous.unwrap_or(length == HOST_BITS),
        })
    });
    said.collect()
}

/// The IPv6 subnets of an interface's addresses, each once.
fn subnets(section: &config::Interface) -> impl Iterator<Item = (Ipv6Addr, u8)> {
    let own = section.addresses.iter().filter_map(|text| {
        let (address, length) = network(prefix(text)?);
        ip6(address, length)
    });
    let own = own.filter(|(prefix, _)| !prefix.is_unicast_link_local());
    own.collect::<std::collections::BTreeSet<_>>().into_iter()
}

fn ip6(address: IpAddr, length: u8) -> Option<(Ipv6Addr, u8)> {
    match address {
        IpAddr::V6(address) => Some((address, length)),
        IpAddr::V4(_) => None,
    }
}
