//! What the section of a function says of short messages in Diameter.

use crate::charging::ChargingKeys;
use crate::destinations::DestinationKeys;
use crate::home::HomeKeys;
use machine::Duration;

/// What a function lends of its section, whose keys are its own.
#[derive(Debug, Clone, Copy)]
pub struct Section<'a> {
    /// Who it is in Diameter, its peers and routes; none: it speaks no Diameter.
    pub diameter: Option<diameter_stack::config::Section<'a>>,
    /// What it asks by Sh.
    pub home: Option<&'a HomeKeys>,
    /// Who debits what it takes (Ro).
    pub charging: Option<&'a ChargingKeys>,
    /// Who is reached by S6c and SGd; of those some may ask.
    pub destinations: &'a [DestinationKeys],
    /// The function's own number.
    pub number: &'a str,
    /// Digits with one of which the numbers of service centres begin in whose name may be asked,
    /// `*` for all.
    pub allowed: &'a [String],
    /// How long a flow may take at all.
    pub flow_time: Duration,
    /// Whether the service assurance is told what passes.
    pub is_captured: bool,
}

impl<'a> Section<'a> {
    /// The realm of the home subscriber server: its own, else that of this node.
    #[must_use]
    pub fn home_realm(&self) -> Option<&'a str> {
        let own = || self.diameter.map(|it| it.node.realm.as_str());
        self.home.and_then(|it| it.realm.as_deref()).or_else(own)
    }

    /// How long the charging system has: an answer that no flow waits for any more would have
    /// debited for nothing.
    pub(crate) fn charging_time(&self) -> Duration {
        let half = self.flow_time / 2;
        let own = self.diameter.map(|it| it.node.timers.request_ms);
        own.map_or(half, |it| half.min(Duration::from_millis(it.into())))
    }
}
