//! Why somebody who is heard is no neighbour, or none of use: said once in the log, and whenever
//! somebody asks.

use super::OspfRouter;
use crate::doubts::FRESH;
use machine::{Duration, Time};
use ospf::{Doubt, Doubted, InterfaceSettings, NeighbourState};
use std::net::Ipv4Addr;

/// The reason that stands against a neighbour: it is one all the same.
pub(super) const ODD: [&str; 1] = [Doubt::Broadcast.name()];

/// What of an interface is another thing, so that its adjacencies begin anew.
pub(crate) fn difference(old: &InterfaceSettings, new: &InterfaceSettings) -> &'static str {
    match () {
        () if old.area != new.area => "its area is another one",
        () if old.is_passive != new.is_passive => "its interface is passive from now on, or was",
        () if (old.address, old.length) != (new.address, new.length) => {
            "its interface has another address"
        }
        () if old.link != new.link => "the kind of its link is another one",
        () if (old.hello_s, old.dead_s) != (new.hello_s, new.dead_s) => {
            "its interface has other intervals"
        }
        () => "its interface has another MTU",
    }
}

impl OspfRouter {
    /// What came last by an interface and cannot be, while that counts: from the neighbour itself
    /// only what still stands against it.
    pub(crate) fn doubted(&self, now: Time, interface: u32) -> Option<Doubted> {
        let it = self.instance.doubted(interface)?;
        let dead_s = self.instance.settings_of(interface)?.dead_s;
        let is_fresh = now.since(it.at) < FRESH.max(Duration::from_secs(dead_s.into()));
        let state = self.history.since.get(&(interface, it.source)).map(|(_, state)| *state);
        // Databases were described all the same.
        let is_over = matches!(it.why, Doubt::Mtu(..)) && state == Some(NeighbourState::Full);
        Some(it).filter(|_| is_fresh && !is_over)
    }

    /// The same of one address.
    pub(crate) fn doubted_of(&self, now: Time, id: (u32, Ipv4Addr)) -> Option<Doubt> {
        self.doubted(now, id.0).filter(|it| it.source == id.1).map(|it| it.why)
    }

    /// A packet came by an interface: the log says once what cannot be.
    pub(crate) fn say_doubt(&mut self, now: Time, interface: u32) {
        let Some(it) = self.doubted(now, interface).filter(|it| it.at == now) else { return };
        if !self.doubts.say(interface, it.why.name()) {
            return;
        }
        let (function, name) = (&*self.function, self.name_of(interface));
        let (address, router_id, why) = (it.source, Ipv4Addr::from(it.router), it.why.to_string());
        tracing::warn!(
            target: "igp", function, interface = name, %address, %router_id, why,
            "heard, and no neighbour as it should be"
        );
    }
}
