//! Why somebody who is heard is no neighbour, or none of use: said once in the log, and whenever
//! somebody asks.

use super::IsisRouter;
use crate::doubts::FRESH;
use isis::{AdjacencyState, CircuitSettings, Doubt, Doubted, Neighbouring, SystemId};
use machine::{Duration, Time};

/// Reasons that stand against a neighbour: it is one all the same.
pub(super) const ODD: [&str; 2] = ["database", "mtu"];

/// What of a circuit is another thing, so that its adjacencies begin anew.
pub(super) fn difference(old: &CircuitSettings, new: &CircuitSettings) -> &'static str {
    match () {
        () if old.is_passive != new.is_passive => "its interface is passive from now on, or was",
        () if old.link != new.link => "the kind of its link is another one",
        () if old.levels != new.levels => "its interface has another level",
        () if old.snpa != new.snpa => "its interface has another MAC address",
        () => "its interface has another MTU",
    }
}

impl IsisRouter {
    /// What came last by a circuit and cannot be, while that counts.
    pub(super) fn doubted(&self, now: Time, circuit: u32) -> Option<&Doubted> {
        let it = self.instance.doubted(circuit)?;
        let settings = self.instance.settings_of(circuit)?;
        let holds_s = u64::from(settings.hello_s) * u64::from(settings.multiplier);
        let is_fresh = now.since(it.at) < FRESH.max(Duration::from_secs(holds_s));
        // What is odd of a neighbour counts while it is one.
        let is_neighbour = || self.instance.neighbourhood(circuit, now).any(|of| is_of(it, &of));
        let is_odd = matches!(it.why, Doubt::Database(..) | Doubt::Mtu(..));
        Some(it).filter(|_| is_fresh && (!is_odd || is_neighbour()))
    }

    /// What stands against a neighbour now.
    pub(super) fn against(&self, now: Time, circuit: u32, it: &Neighbouring) -> Option<String> {
        let doubted = self.doubted(now, circuit).filter(|doubted| is_of(doubted, it));
        if let Some(doubted) = doubted {
            return Some(doubted.why.to_string());
        }
        let settings = self.instance.settings_of(circuit)?;
        (it.state == AdjacencyState::Initializing).then(|| unheard(it.padded, settings))
    }

    /// What stands now against one that is no neighbour any more.
    pub(crate) fn against_lost(&self, now: Time, circuit: u32, system: SystemId) -> Option<String> {
        let doubted = self.doubted(now, circuit).filter(|it| it.system == system);
        let heard = || self.instance.neighbourhood(circuit, now).find(|it| it.system == system);
        match doubted {
            Some(it) => Some(it.why.to_string()),
            None => heard().and_then(|it| self.against(now, circuit, &it)),
        }
    }

    /// A PDU came by a circuit: the log says once what cannot be.
    pub(super) fn say_doubt(&mut self, now: Time, circuit: u32) {
        let found = self.doubted(now, circuit).filter(|it| it.at == now);
        let found = found.map(|it| (it.system, it.why.name(), it.why.to_string()));
        let Some((system, name, why)) = found else { return };
        if !self.doubts.say(circuit, name) {
            return;
        }
        let (function, interface) = (&*self.function, self.name_of(circuit));
        tracing::warn!(
            target: "igp", function, interface, %system, why,
            "heard, and no neighbour as it should be"
        );
    }
}

/// Whether what is doubted came from a neighbour.
pub(super) fn is_of(doubted: &Doubted, it: &Neighbouring) -> bool {
    (doubted.system, doubted.source) == (it.system, it.snpa)
}

/// Why one that is heard is no neighbour yet: its hellos do not name this router. Hellos are padded
/// so that those are lost that a link does not bear (ISO 10589 §8.2.3).
fn unheard(there: u16, settings: &CircuitSettings) -> String {
    let mut text = "it does not hear this router, or does not believe it".to_owned();
    let here = if settings.pads_hellos { settings.mtu } else { 0 };
    if there != 0 && there < here {
        text += &format!(
            ": its hellos are padded to {there} octets, and those that it gets to {here}, perhaps \
             more than its MTU"
        );
    }
    text
}
