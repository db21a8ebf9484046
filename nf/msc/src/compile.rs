//! From the section to what the forwarder is told beside streams: ports, interfaces, addresses,
//! default routes, and the ranges of ports that are media's.

use crate::addresses::Addresses;
use crate::config::{Interface, Msc};
use crate::flows;
use dataplane::section::prefix;
use dataplane::{Desired, Kind, Numbers, Rank};
use media::program::{Duty, FEATURE, Said};
use nodes::Program;
use nodes::program::{self, Address, Hop, Mode, Removed, Urpf};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Numbers everything and makes of a section what the forwarder is told.
pub(crate) fn compile(
    msc: &Msc,
    duty: Option<Duty>,
    of_pair: Vec<Said>,
    addresses: &mut Addresses,
    numbers: &mut Numbers,
) -> Desired {
    numbers.begin();
    // Addresses of groups are those of whichever node of a pair serves.
    let has_groups = matches!(duty, None | Some(Duty::Serves(_)));
    let mut it = Compiler { msc, numbers, has_groups, out: Desired::default() };
    it.ports();
    for said in of_pair {
        let name = Removed::Item(FEATURE.to_owned(), said.name().key());
        it.out.put(Rank::Table, name, flows::said(&said));
    }
    addresses.number(it.tables());
    for interface in &msc.interface {
        it.interface(interface);
    }
    for range in flows::ranges(addresses) {
        let said = Said::Range(range);
        let name = Removed::Item(FEATURE.to_owned(), said.name().key());
        it.out.put(Rank::Tool, name, flows::said(&said));
    }
    let out = it.out;
    numbers.end();
    out
}

struct Compiler<'a> {
    msc: &'a Msc,
    numbers: &'a mut Numbers,
    has_groups: bool,
    out: Desired,
}

impl Compiler<'_> {
    fn ports(&mut self) {
        for port in &self.msc.port {
            let number = self.numbers.of_port(&port.name);
            self.out.ports.insert(number, port.spec(number));
        }
    }

    fn tables(&mut self) -> BTreeMap<String, u32> {
        let mut tables = BTreeMap::new();
        for vrf in &self.msc.vrf {
            let number = self.numbers.of(Kind::Vrf, &vrf.name);
            self.out.put(Rank::Table, Removed::Vrf(number), Program::Vrf { vrf: number });
            tables.insert(vrf.name.clone(), number);
        }
        tables
    }

    fn interface(&mut self, section: &Interface) {
        let index = self.numbers.of(Kind::Interface, &section.name);
        let port = self.numbers.of_port(section.port.as_ref().unwrap_or(&section.name));
        let name = section.vrf.as_ref();
        let vrf = name.map_or(0, |name| self.numbers.of(Kind::Vrf, name));
        let program = program::Interface {
            index,
            port,
            outer: section.vlan,
            inner: None,
            mode: Mode::Routed { vrf },
            mtu: 0,
            mac: None,
            mpls: false,
            transit_only: false,
            urpf: Urpf::Off,
            proxy_arp: false,
            directed_broadcast: false,
            speaks: Vec::new(),
        };
        let name = Removed::Interface(index);
        self.out.put(Rank::Interface, name, Program::Interface(program));
        let own: Vec<_> = section.addresses.iter().filter_map(|text| prefix(text)).collect();
        for (address, length) in &own {
            self.address(index, *address, *length);
        }
        // Addresses of groups that no interface has as its own are ones beside those.
        let groups = if self.has_groups { &self.msc.group[..] } else { &[] };
        for group in groups {
            for ip in &group.addresses {
                let is_own = own.iter().any(|(address, _)| address == ip);
                let here = self.msc.interface_of(group, *ip);
                if !is_own && here.is_some_and(|it| it.name == section.name) {
                    self.address(index, *ip, if ip.is_ipv4() { 32 } else { 128 });
                }
            }
        }
        for gateway in &section.gateways {
            self.gateway(index, vrf, *gateway);
        }
    }

    fn address(&mut self, interface: u32, address: IpAddr, length: u8) {
        let name = Removed::Address(interface, address, length);
        let program = Address { interface, address, length };
        self.out.put(Rank::Address, name, Program::Address(program));
    }

    /// The router by which everything else of a table is reached.
    fn gateway(&mut self, interface: u32, vrf: u32, gateway: IpAddr) {
        let id = self.numbers.of(Kind::Hop, &format!("via {interface} {gateway}"));
        let hop = Hop::Via { interface, gateway: Some(gateway), labels: Vec::new() };
        self.out.put(Rank::Hop, Removed::Hop(id), Program::Hop { id, hop });
        match gateway {
            IpAddr::V4(_) => {
                self.out.routes4.insert((vrf, std::net::Ipv4Addr::UNSPECIFIED, 0), id);
            }
            IpAddr::V6(_) => {
                self.out.routes6.insert((vrf, std::net::Ipv6Addr::UNSPECIFIED, 0), id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::Streams;
    use machine::Time;

    #[test]
    fn a_section_becomes_addresses_and_a_default_route() {
        let text = r#"
name = "msc1"
[[port]]
name = "ge0"
driver = "af_packet"
[[interface]]
name = "ge0"
addresses = ["192.0.2.1/24", "2001:db8::1/64"]
gateways = ["192.0.2.254"]
[[group]]
name = "access"
addresses = ["192.0.2.1", "2001:db8::1"]
[[group]]
name = "core"
addresses = ["192.0.2.2"]
"#;
        let msc: Msc = toml::from_str(text).expect("a section");
        let mut streams = Streams::new();
        streams.configure(Time::ZERO, &msc);
        let numbers = &mut Numbers::default();
        let desired = compile(&msc, None, Vec::new(), &mut streams.addresses, numbers);
        let own = desired.things.values().filter_map(|it| match it {
            Program::Address(it) => Some(format!("{}/{}", it.address, it.length)),
            _ => None,
        });
        let own: Vec<String> = own.collect();
        // The address of a group that is no interface's own is one beside those.
        assert_eq!(own, ["192.0.2.1/24", "192.0.2.2/32", "2001:db8::1/64"]);
        assert_eq!(desired.routes4.len(), 1);
    }
}
