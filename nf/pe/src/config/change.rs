//! What the router needs of the machine, and what another configuration takes away from it.

use super::{ForwarderStart, Pe};
use config::need::{NET_ADMIN, Need, Wanted};
use config::{Issue, interrupted};

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
        ports.chain(said.into_iter().flatten()).map(|what| Issue::new("name", what, "")).collect()
    }
}
