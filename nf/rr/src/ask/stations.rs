//! Monitoring stations, as they are shown.

use crate::stations::Stations;
use serde_json::{Value, json};

impl Stations {
    /// A row for each station.
    pub(super) fn show(&self) -> Value {
        let rows = self.all.iter().map(|station| {
            let counters = station.sender.counters();
            let is_up = station.sender.state() == bmp::State::Up;
            let ending = station.ending.as_ref().filter(|_| !is_up);
            json!({
                "station": station.section.name,
                "address": station.target.remote.to_string(),
                "state": station.sender.state().name(),
                "tables": station.section.tables,
                "complete": station.sender.is_complete(),
                "waiting_octets": station.sender.waiting_bytes(),
                "sent_octets": counters.sent_bytes,
                "connects": counters.connects,
                "established": counters.established,
                "overflows": counters.overflows,
                "why": ending.map(|ending| &ending.text),
            })
        });
        rows.collect()
    }
}
