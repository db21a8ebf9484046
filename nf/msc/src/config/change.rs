//! What the controller needs of the machine, and what another configuration takes away from it.

use super::{ForwarderStart, Msc};
use config::need::{Need, Wanted};
use config::{Issue, interrupted};
use dataplane::section;

impl Msc {
    /// What its forwarder needs, where this process starts it.
    #[must_use]
    pub fn needs(&self) -> Vec<Wanted> {
        // A forwarder of somebody else's has the rights, not this process.
        if self.forwarder.start == ForwarderStart::External {
            return Vec::new();
        }
        let mut needs = section::needs(&self.port);
        needs.push(("forwarder.packets", Need::HugePages, "packets lie in much memory"));
        needs
    }

    /// What ends when `new` takes the place of this section: a sentence each.
    #[must_use]
    pub fn interruptions(&self, new: &Self) -> Vec<Issue> {
        let mut said = section::interruptions(&self.port, &new.port);
        let addresses = |section: &Self| -> Vec<String> {
            let of_groups = section.group.iter().flat_map(|group| {
                group.addresses.iter().map(|address| format!("{address} of {}", group.name))
            });
            of_groups.collect()
        };
        let after = addresses(new);
        let gone: Vec<String> =
            addresses(self).into_iter().filter(|address| !after.contains(address)).collect();
        said.extend(interrupted("address", "addresses", "go with their streams", &gone));
        said.into_iter().map(|what| Issue::new("name", what, "")).collect()
    }
}
