//! What the router needs of the machine, and what another configuration takes away from it.

use super::{ForwarderStart, Pe};
use config::need::{NET_ADMIN, Need, Wanted};
use config::{Issue, interrupted};
use dataplane::section::{network, prefix};
use std::net::IpAddr;

impl Pe {
    /// What its forwarder needs, where this process starts it.
    #[must_use]
    pub fn needs(&self) -> Vec<Wanted> {
        // A forwarder of somebody else's has the rights, not this process.
        if self.forwarder == ForwarderStart::External {
            return Vec::new();
        }
        let mut needs: Vec<Wanted> = Vec::new();
        if self.host.is_some() {
            let reason = "packets for the router's own addresses reach the kernel";
            needs.push(("host", Need::Kernel("/dev/net/tun"), reason));
            needs.push(("host", Need::Capability(NET_ADMIN), reason));
        }
        let of_ports = dataplane::section::needs(&self.port);
        let new = of_ports.into_iter().filter(|it| !needs.iter().any(|known| known.1 == it.1));
        let new: Vec<Wanted> = new.collect();
        needs.extend(new);
        needs.push(("packets", Need::HugePages, "routes and packets lie in much memory"));
        needs
    }

    /// What may be, and is perhaps not meant: subnets that two interfaces of one routing table have
    /// (packets to them leave by one of both), labels that others than the core may send, and VPNs
    /// without an interface that takes labels.
    #[must_use]
    pub fn advice(&self) -> Vec<Issue> {
        let mut seen: Vec<(Option<&str>, (IpAddr, u8), &str)> = Vec::new();
        let mut found: Vec<Issue> = self.ospf.iter().flat_map(|ospf| ospf.advice("ospf")).collect();
        found.extend(self.isis.iter().flat_map(|isis| isis.advice("isis")));
        for (i, interface) in self.interface.iter().enumerate() {
            for (n, text) in interface.addresses.iter().enumerate() {
                let Some(subnet) = prefix(text).map(network) else { continue };
                let vrf = interface.vrf.as_deref();
                let same = seen.iter().find(|it| it.0 == vrf && it.1 == subnet);
                if let Some((.., other)) = same.filter(|it| it.2 != interface.name) {
                    let (network, length) = subnet;
                    let what = format!(
                        "`{other}` has the subnet {network}/{length} in this routing table \
                         already: packets to it leave by one of both"
                    );
                    let hint = "give each a subnet of its own, or one of them a `vrf`";
                    let at = format!("interface[{i}].addresses[{n}]");
                    found.push(Issue::new(at, what, hint));
                }
                seen.push((vrf, subnet, &interface.name));
            }
        }
        self.advise_labels(&mut found);
        self.advise_vpns(&mut found);
        found
    }

    /// What forwards no more when `new` takes the place of this section: a sentence each.
    #[must_use]
    pub fn interruptions(&self, new: &Self) -> Vec<Issue> {
        fn gone<T>(old: &[T], new: &[T], name: fn(&T) -> &String) -> Vec<String> {
            let stays = |it: &&T| !new.iter().any(|other| name(other) == name(it));
            old.iter().filter(stays).map(|it| name(it).clone()).collect()
        }
        let said = [
            interrupted(
                "interface",
                "interfaces",
                "forward no more",
                &gone(&self.interface, &new.interface, |it| &it.name),
            ),
            interrupted(
                "routing table",
                "routing tables",
                "go with their routes",
                &gone(&self.vrf, &new.vrf, |it| &it.name),
            ),
        ];
        let ports = dataplane::section::interruptions(&self.port, &new.port).into_iter();
        let ospf = self.ospf.iter().flat_map(|it| it.interruptions(new.ospf.as_ref()));
        let isis = self.isis.iter().flat_map(|it| it.interruptions(new.isis.as_ref()));
        let all = ports.chain(said.into_iter().flatten()).chain(self.readdressed(new));
        let ldp = self.ldp.iter().flat_map(|it| it.interruptions(new.ldp.as_ref()));
        let bgp = self.bgp.iter().flat_map(|it| it.interruptions(new.bgp.as_ref()));
        let all = all.chain(ospf).chain(isis).chain(ldp).chain(bgp);
        all.map(|what| Issue::new("name", what, "")).collect()
    }

    /// Addresses that stay none of an interface that stays, and those that change their table.
    fn readdressed(&self, new: &Self) -> Vec<String> {
        let mut said = Vec::new();
        for old in &self.interface {
            let name = &old.name;
            let Some(new) = new.interface.iter().find(|it| it.name == *name) else { continue };
            if old.vrf != new.vrf {
                let table = new.vrf.as_deref().unwrap_or("the global one");
                said.push(format!(
                    "this interface moves to another routing table: {name} ({table})"
                ));
                continue;
            }
            let gone = old.addresses.iter().filter(|it| !new.addresses.contains(it));
            said.extend(gone.map(|address| {
                format!(
                    "the address {address} of {name} goes: who speaks to it is answered no more"
                )
            }));
        }
        said
    }
}
