//! Which VRFs import which route targets.

use crate::VrfId;
use bgp::codec::{AttributeType, Attributes, ExtendedCommunity};
use hashbrown::HashMap;

/// VRFs by the targets that they import.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    importers: HashMap<ExtendedCommunity, Vec<VrfId>>,
}

/// The route targets of a route.
pub(crate) fn of_route(attributes: &[u8]) -> impl Iterator<Item = ExtendedCommunity> {
    let value = Attributes::new(attributes).value(AttributeType::ExtendedCommunities);
    let all = ExtendedCommunity::all(value.unwrap_or_default());
    all.filter(|community| community.is_route_target())
}

impl Targets {
    /// A VRF imports a target; whether it is the first one.
    pub(crate) fn add(&mut self, target: ExtendedCommunity, vrf: VrfId) -> bool {
        let importers = self.importers.entry(target).or_default();
        importers.push(vrf);
        importers.len() == 1
    }

    /// A VRF imports a target no more; whether it was the last one.
    pub(crate) fn remove(&mut self, target: ExtendedCommunity, vrf: VrfId) -> bool {
        let Some(importers) = self.importers.get_mut(&target) else { return false };
        importers.retain(|it| *it != vrf);
        let is_last = importers.is_empty();
        if is_last {
            self.importers.remove(&target);
        }
        is_last
    }

    /// The VRFs that import a route with these attributes, each once, in their order.
    pub(crate) fn importers(&self, attributes: &[u8], out: &mut Vec<VrfId>) {
        out.clear();
        for target in of_route(attributes) {
            out.extend(self.importers.get(&target).into_iter().flatten());
        }
        out.sort_unstable();
        out.dedup();
    }
}
