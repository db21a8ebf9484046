//! What the router needs of the machine, and what another configuration takes away from it.

use super::{Driver, ForwarderStart, Pe, Port};
use config::need::{BPF, Capability, NET_ADMIN, NET_RAW, Need, Wanted};
use config::{Issue, interrupted};

impl Pe {
    /// What its forwarder needs, where this process starts it.
    #[must_use]
    pub fn needs(&self) -> Vec<Wanted> {
        // A forwarder of somebody else's has the rights, not this process.
        if self.forwarder == ForwarderStart::External {
            return Vec::new();
        }
        let mut needs = Vec::new();
        if self.host.is_some() {
            let reason = "packets for the router's own addresses reach the kernel";
            needs.push(("host", Need::Kernel("/dev/net/tun"), reason));
            needs.push(("host", Need::Capability(NET_ADMIN), reason));
        }
        for port in &self.port {
            let (rights, reason): (&[Capability], _) = match port.driver {
                Driver::AfXdp => (&[NET_ADMIN, NET_RAW, BPF], "ports with AF_XDP"),
                Driver::AfPacket => (&[NET_RAW], "ports with AF_PACKET"),
                Driver::Tap => (&[NET_ADMIN], "ports that are TAP devices"),
                Driver::Memif => (&[], ""),
            };
            for right in rights.iter().copied().map(Need::Capability) {
                if !needs.iter().any(|(_, known, _)| *known == right) {
                    needs.push(("port", right, reason));
                }
            }
            if port.driver == Driver::Tap {
                needs.push(("port", Need::Kernel("/dev/net/tun"), reason));
            }
        }
        needs.push(("packets", Need::HugePages, "routes and packets lie in much memory"));
        needs
    }

    /// What forwards no more when `new` takes the place of this section: a sentence each.
    #[must_use]
    pub fn interruptions(&self, new: &Self) -> Vec<Issue> {
        fn gone<T>(old: &[T], new: &[T], name: fn(&T) -> &String) -> Vec<String> {
            let stays = |it: &&T| !new.iter().any(|other| name(other) == name(it));
            old.iter().filter(stays).map(|it| name(it).clone()).collect()
        }
        let is_changed = |it: &&Port| {
            let same = new.port.iter().find(|other| other.name == it.name);
            same.is_some_and(|other| !other.opens_like(it))
        };
        let changed: Vec<String> =
            self.port.iter().filter(is_changed).map(|it| it.name.clone()).collect();
        let said = [
            interrupted("port", "ports", "close", &gone(&self.port, &new.port, |it| &it.name)),
            interrupted("port", "ports", "open anew", &changed),
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
        said.into_iter().flatten().map(|what| Issue::new("name", what, "")).collect()
    }
}

impl Port {
    /// Whether the forwarder opens the same as for that one; otherwise it closes the port first.
    fn opens_like(&self, other: &Self) -> bool {
        // A device that is left out is the one of the port's name.
        let whole = |it: &Self| {
            let device = it.device.clone().unwrap_or_else(|| it.name.clone());
            Self { device: Some(device), ..it.clone() }
        };
        whole(self) == whole(other)
    }
}
